/* SPDX-License-Identifier: Apache-2.0
 * trigger_command.h - activates triggers of running sessions.
 */
#ifndef ORMA_TOOL_TRIGGER_COMMAND_H
#define ORMA_TOOL_TRIGGER_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Connects as a producer, and waits until the service has handled the names. Returns the exit
 * status. With `must_be_heard`, a name that no session waits for is reported and is a failure, if
 * the service reports that; Perfetto's does not. */
int orma_tool_activate_triggers(const char *const *names, size_t count, bool must_be_heard);

#endif
