/* SPDX-License-Identifier: Apache-2.0
 * regex_pcre2.h - the daemon's engine for regular expressions.
 */
#ifndef ORMA_TOOL_REGEX_PCRE2_H
#define ORMA_TOOL_REGEX_PCRE2_H

#include <orma/service.h>

/* NULL when orma was built without PCRE2; the service then takes POSIX expressions. */
extern const struct orma_regex_ops *const orma_tool_regex_ops;

#endif
