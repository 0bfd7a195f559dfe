/* SPDX-License-Identifier: Apache-2.0
 * trace_processor.h - what the options of trace_processor_shell ask for; without_sql.c has the function for binaries that
 * cannot do it.
 */
#ifndef ORMA_TOOL_TRACE_PROCESSOR_H
#define ORMA_TOOL_TRACE_PROCESSOR_H

#include "tool/ask/ask.h"

struct orma_trace_processor_options {
	struct orma_ask_options ask;
	const char *path;
	const char *query, *query_file; /* the former goes before the latter */
	const char *sqlite_file;
	const char *times_file;
	const char *files_folder;
	const char *stdlib; /* a folder whose modules replace others */
	bool is_interactive, is_dev;
};

/* Returns the exit status. */
int orma_trace_processor_run(const struct orma_trace_processor_options *options);

#endif
