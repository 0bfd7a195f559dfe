/* SPDX-License-Identifier: Apache-2.0
 * trace_files.h - the files that a trace was read from: one, or archives and what is in them.
 */
#ifndef ORMA_TRACE_TRACE_FILES_H
#define ORMA_TRACE_TRACE_FILES_H

#include <stdbool.h>

#include "base/str.h"

enum { ORMA_TRACE_FILE_NONE = -1 };

struct orma_trace_file {
	char *name;       /* NULL = not known */
	const char *type; /* a constant, as in the trace processor's trace_type */
	uint64_t size_bytes;
	int32_t parent; /* the archive or compressed file that it is in, or ORMA_TRACE_FILE_NONE */
	int32_t order;  /* how many files were read before it, or ORMA_TRACE_FILE_NONE */
	bool is_container;
};

/* {0} is empty. The numbers of files are those of the rows of the table trace_file. */
struct orma_trace_files {
	struct orma_trace_file *items;
	uint32_t count, capacity;
	int32_t next_order;
};

void orma_trace_files_done(struct orma_trace_files *files);
/* Returns the file's number, or a negative errno value. A name without data is not known. */
int32_t orma_trace_files_add(struct orma_trace_files *files, struct orma_str name, int32_t parent);
/* Returns the number of the trace that was read first, 0 if there is none. */
uint32_t orma_trace_files_first(const struct orma_trace_files *files);
/* Notes that a file is read now. */
void orma_trace_files_begin(struct orma_trace_files *files, int32_t file, const char *type,
			    uint64_t size_bytes, bool is_container);

#endif
