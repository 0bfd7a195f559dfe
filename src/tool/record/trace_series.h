/* SPDX-License-Identifier: Apache-2.0
 * trace_series.h - summarises what the service wrote by itself: one file, or the files of
 * max_file_count.
 */
#ifndef ORMA_TOOL_TRACE_SERIES_H
#define ORMA_TOOL_TRACE_SERIES_H

#include "tool/record/trace_counter.h"

struct orma_tool_series {
	uint64_t bytes; /* sum of all files */
	uint32_t files;
};

/*
 * Counts the packets of `path`, and of path.1 to path.(max_files - 1) if they belong to the same
 * trace; an earlier recording may have left other files. Errors are those of open() and of
 * orma_tool_trace_read(), also in `reterr`.
 */
int orma_tool_series_count(const char *path, uint32_t max_files, struct orma_tool_counter *counter,
			   struct orma_tool_series *ret, struct orma_error *reterr);

#endif
