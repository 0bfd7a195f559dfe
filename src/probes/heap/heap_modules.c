/* SPDX-License-Identifier: Apache-2.0
 * heap_modules.c - numbers for the mappings of a process.
 *
 * Frames refer to a mapping by its index. So a mapping with a frame is kept until the process is forgotten, also after it was
 * unmapped.
 */
#include "probes/heap/heap_modules.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/heap/heap_limits.h"

int orma_heap_modules_init(struct orma_heap_modules *modules, struct orma_unwind_files *files,
			   struct orma_unwind_patience *patience, int32_t pid)
{
	*modules = (struct orma_heap_modules){0};
	modules->cache = orma_base_zalloc(sizeof(*modules->cache));
	int r = modules->cache ? orma_unwind_process_new(files, pid, &modules->process) : -ENOMEM;
	if (r == 0)
		orma_unwind_process_set_patience(modules->process, patience);
	return r;
}

void orma_heap_modules_done(struct orma_heap_modules *modules)
{
	for (uint32_t i = 0; i < modules->count; i++)
		orma_unwind_mapping_unref(modules->all[i].mapping);
	orma_base_free(modules->all);
	orma_base_map_done(&modules->by_id);
	if (modules->process)
		orma_unwind_process_free(modules->process);
	orma_base_free(modules->cache);
	*modules = (struct orma_heap_modules){0};
}

static int add(struct orma_heap_modules *modules, struct orma_unwind_mapping *mapping)
{
	if (modules->count >= ORMA_HEAP_MODULES_MAX)
		return -ENOBUFS;
	if (modules->count == modules->capacity) {
		uint32_t capacity = ORMA_MAX(modules->capacity * 2, 32u);
		struct orma_heap_module *all =
			orma_base_realloc_array(modules->all, capacity, sizeof(*all));
		if (!all)
			return -ENOMEM;
		modules->all = all;
		modules->capacity = capacity;
	}
	int r = orma_base_map_put(&modules->by_id, mapping->id,
				  (void *)((uintptr_t)modules->count + 1));
	if (r < 0)
		return r;
	modules->all[modules->count++] =
		(struct orma_heap_module){.mapping = orma_unwind_mapping_ref(mapping)};
	return 0;
}

int orma_heap_modules_find(struct orma_heap_modules *modules, uint64_t address, uint32_t *ret)
{
	struct orma_unwind_mapping *mapping = orma_unwind_process_find(modules->process, address);
	int r = 0;

	if (!mapping)
		return -ENOENT;
	uintptr_t number = (uintptr_t)orma_base_map_get(&modules->by_id, mapping->id);
	if (number == 0)
		r = add(modules, mapping);
	*ret = number ? (uint32_t)number - 1 : modules->count - 1;
	return r;
}
