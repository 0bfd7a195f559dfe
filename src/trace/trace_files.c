/* SPDX-License-Identifier: Apache-2.0
 * trace_files.c - a list of files in the order in which they were found.
 */
#include "trace/trace_files.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"

void orma_trace_files_done(struct orma_trace_files *files)
{
	for (uint32_t i = 0; i < files->count; i++)
		orma_base_free(files->items[i].name);
	orma_base_free(files->items);
	*files = (struct orma_trace_files){0};
}

int32_t orma_trace_files_add(struct orma_trace_files *files, struct orma_str name, int32_t parent)
{
	int r = orma_store_grow(&files->items, (uint64_t)files->count + 1, &files->capacity,
				sizeof(*files->items));
	char *copy = r == 0 && name.data ? orma_base_str_dup(name) : NULL;
	if (r < 0 || (name.data && !copy))
		return r < 0 ? r : -ENOMEM;
	files->items[files->count] = (struct orma_trace_file){
		.name = copy, .type = "unknown", .parent = parent, .order = ORMA_TRACE_FILE_NONE};
	return (int32_t)files->count++;
}

void orma_trace_files_begin(struct orma_trace_files *files, int32_t file, const char *type,
			    uint64_t size_bytes, bool is_container)
{
	files->items[file].type = type;
	files->items[file].size_bytes = size_bytes;
	files->items[file].is_container = is_container;
	files->items[file].order = files->next_order++;
}

uint32_t orma_trace_files_first(const struct orma_trace_files *files)
{
	const struct orma_trace_file *first = NULL;
	for (uint32_t i = 0; i < files->count; i++) {
		const struct orma_trace_file *file = &files->items[i];
		if (file->order != ORMA_TRACE_FILE_NONE && !file->is_container &&
		    (!first || file->order < first->order))
			first = file;
	}
	return first ? (uint32_t)(first - files->items) : 0;
}
