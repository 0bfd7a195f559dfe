/* SPDX-License-Identifier: Apache-2.0
 * trace_input.h - opens the trace files that a user names.
 */
#ifndef ORMA_TOOL_TRACE_INPUT_H
#define ORMA_TOOL_TRACE_INPUT_H

/* Returns the name for messages: "-" is "standard input". */
const char *orma_trace_input_name(const char *path);
/* Opens a file for reading, or returns STDIN_FILENO for "-". -errno; -EISDIR: it is a folder. */
int orma_trace_input_open(const char *path);
/* Closes what orma_trace_input_open() has opened. */
void orma_trace_input_close(int fd);
/* Says why the file cannot be opened, and what to do. Returns ORMA_EXIT_FAILURE. */
int orma_trace_input_fail(const char *path, int error);

#endif
