/* SPDX-License-Identifier: Apache-2.0
 * status_command.h - prints a daemon's state, for `orma status` and `perfetto --query`.
 */
#ifndef ORMA_TOOL_STATUS_COMMAND_H
#define ORMA_TOOL_STATUS_COMMAND_H

enum orma_query_form { ORMA_QUERY_SHORT, ORMA_QUERY_LONG, ORMA_QUERY_RAW, ORMA_QUERY_JSON };

/* Returns the exit status. */
int orma_tool_print_query(enum orma_query_form form);

#endif
