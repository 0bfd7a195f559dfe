/* SPDX-License-Identifier: Apache-2.0
 * thread_priority.h - implements set_priority of the service's options.
 */
#ifndef ORMA_TOOL_THREAD_PRIORITY_H
#define ORMA_TOOL_THREAD_PRIORITY_H

#include <orma/service.h>

int orma_tool_set_priority(void *ctx, enum orma_priority_policy policy, uint32_t priority);

#endif
