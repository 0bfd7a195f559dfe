/* SPDX-License-Identifier: Apache-2.0
 * regex.h - the daemon's engine for regular expressions.
 */
#ifndef ORMA_TOOL_REGEX_PCRE2_H
#define ORMA_TOOL_REGEX_PCRE2_H

#include <orma/service.h>

/* PCRE2; NULL when it was not there when orma was built (then the service takes POSIX ones). */
extern const struct orma_regex_ops *const orma_tool_regex_ops;

#endif
