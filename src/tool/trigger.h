/* SPDX-License-Identifier: Apache-2.0
 * trigger.h - activating triggers of running sessions.
 */
#ifndef ORMA_TOOL_TRIGGER_H
#define ORMA_TOOL_TRIGGER_H

#include <stddef.h>

/* Connects as a producer and waits until the service has them: the exit status. */
int orma_tool_activate_triggers(const char *const *names, size_t count);

#endif
