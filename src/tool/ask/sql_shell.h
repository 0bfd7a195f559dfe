/* SPDX-License-Identifier: Apache-2.0
 * sql_shell.h - queries and commands that a user types.
 */
#ifndef ORMA_TOOL_SQL_SHELL_H
#define ORMA_TOOL_SQL_SHELL_H

#include "tool/ask/ask.h"

/* Reads from standard input until its end or .quit; an error does not end it. Returns the exit status. */
int orma_sql_shell_run(struct orma_ask *ask, enum orma_ask_format format);

#endif
