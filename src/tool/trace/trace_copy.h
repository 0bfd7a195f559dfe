/* SPDX-License-Identifier: Apache-2.0
 * trace_copy.h - copies traces of any format into one trace.
 */
#ifndef ORMA_TOOL_TRACE_COPY_H
#define ORMA_TOOL_TRACE_COPY_H

/* Writes all packets of the traces into a file; NULL or "-" is standard output. Returns the exit status. */
int orma_trace_copy(const char *output, char **paths, int count);

#endif
