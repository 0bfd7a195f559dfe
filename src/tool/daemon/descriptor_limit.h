/* SPDX-License-Identifier: Apache-2.0
 * descriptor_limit.h - daemons may open more files than the usual limit allows.
 */
#ifndef ORMA_TOOL_DESCRIPTOR_LIMIT_H
#define ORMA_TOOL_DESCRIPTOR_LIMIT_H

#include <stdint.h>

/* Raises the limit of this process to `wanted`, or as far as the hard limit allows. Programs that it
 * executes later have the new limit too. */
void orma_tool_raise_descriptor_limit(uint64_t wanted);
/* Sets the soft limit, at most to the hard one. Returns what it was; 0 = it cannot be changed. */
uint64_t orma_tool_set_descriptor_limit(uint64_t wanted);

#endif
