/* SPDX-License-Identifier: Apache-2.0
 * trace_input.h - opens the trace files that a user names.
 */
#ifndef ORMA_TOOL_TRACE_INPUT_H
#define ORMA_TOOL_TRACE_INPUT_H

/* Returns the name for messages: "-" is "standard input". */
const char *orma_trace_input_name(const char *path);
/* Opens a file for reading, or a folder that is a trace, or returns STDIN_FILENO for "-". -errno; -EISDIR: it is another
 * folder. */
int orma_trace_input_open(const char *path);
/*
 * Opens a trace of any format as one of packets, which may be a converted copy. Returns the descriptor, or -1 after it has
 * printed why there is none. For a damaged trace, what comes before the damage is converted, and a warning says where it is.
 */
int orma_trace_input_open_packets(const char *path);
/* Closes what one of them has opened. */
void orma_trace_input_close(int fd);
/* Says why the file cannot be opened, and what to do. Returns ORMA_EXIT_FAILURE. */
int orma_trace_input_fail(const char *path, int error);
/* Returns ORMA_EXIT_FAILURE, with a message, if the output is one of the inputs, which would be lost; else 0. The output may be
 * NULL. */
int orma_trace_input_spare(const char *output, char *const *inputs, int count);
/* Returns what a file that is not a trace is, as a clause, or NULL. */
const char *orma_trace_input_words(int fd);

#endif
