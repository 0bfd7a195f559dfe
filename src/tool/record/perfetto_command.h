/* SPDX-License-Identifier: Apache-2.0
 * perfetto_command.h - the command line of Perfetto's recorder, also for tracebox.
 */
#ifndef ORMA_TOOL_PERFETTO_COMMAND_H
#define ORMA_TOOL_PERFETTO_COMMAND_H

#include <stdbool.h>

/* Returns the exit status. `may_serve`: without a daemon, the recorder is its own. */
int orma_perfetto_run(int argc, char **argv, bool may_serve);

#endif
