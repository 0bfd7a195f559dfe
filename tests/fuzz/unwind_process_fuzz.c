/* SPDX-License-Identifier: Apache-2.0
 * unwind_process_fuzz.c - any series of mappings, unmappings, forks and execs, in an address space
 * of 256 pages, beside a model: an array that says which mapping each page belongs to.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/unwind_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAGES      256u
#define PAGE_SHIFT 12

static uint8_t model[PAGES]; /* the letter of the path; 0 = nothing */

static void check(struct orma_unwind_process *process)
{
	struct orma_unwind_space space = orma_unwind_process_space(process, NULL);

	for (size_t i = 0; i < space.module_count; i++)
		if (space.modules[i].start >= space.modules[i].end ||
		    (i > 0 && space.modules[i].start < space.modules[i - 1].end))
			abort();
	for (uint64_t page = 0; page < PAGES; page++) {
		const struct orma_unwind_mapping *mapping =
			orma_unwind_process_find(process, page << PAGE_SHIFT);
		uint8_t letter = mapping ? (uint8_t)mapping->path.data[1] : 0;

		if (letter != model[page] || (mapping && (mapping->start > page << PAGE_SHIFT ||
							  mapping->end <= page << PAGE_SHIFT)))
			abort();
	}
}

static void apply(struct orma_unwind_process **process, const uint8_t *op)
{
	/* Paths with a bracket have no file to open. */
	char path[] = {'[', (char)('a' + op[3] % 26), ']', 0};
	uint64_t first = op[1], count = op[2] % 32u;
	struct orma_process_map map = {
		.start = first << PAGE_SHIFT,
		.end = (first + count) << PAGE_SHIFT,
		.is_executable = (op[0] & 8) == 0,
		.path = {path, 3},
		.offset = (uint64_t)op[3] << PAGE_SHIFT,
	};
	struct orma_unwind_process *child;

	switch (op[0] % 8) {
	case 5:
		orma_unwind_process_exec(*process);
		memset(model, 0, sizeof(model));
		return;
	case 6:
		if (orma_unwind_process_fork(*process, 2, &child) < 0)
			return;
		orma_unwind_process_free(*process);
		*process = child;
		return;
	case 7:
		if (orma_unwind_process_unmap(*process, map.start, map.end) < 0)
			return;
		map.is_executable = false;
		break;
	default:
		if (orma_unwind_process_map(*process, &map) < 0)
			return;
	}
	for (uint64_t page = first; page < first + count && page < PAGES; page++)
		model[page] = map.is_executable ? (uint8_t)path[1] : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_unwind_files *files;
	struct orma_unwind_process *process;

	if (orma_unwind_files_new(NULL, &files) < 0 ||
	    orma_unwind_process_new(files, 1, &process) < 0)
		abort();
	memset(model, 0, sizeof(model));
	for (size_t at = 0; at + 4 <= size && at < 4096; at += 4) {
		apply(&process, data + at);
		check(process);
	}
	/* The same bytes as a text: whatever it gives is in order. */
	orma_unwind_process_set_maps(process, (struct orma_str){(const char *)data, size});
	struct orma_unwind_space space = orma_unwind_process_space(process, NULL);
	for (size_t i = 1; i < space.module_count; i++)
		if (space.modules[i].start < space.modules[i - 1].end)
			abort();
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
	return 0;
}
