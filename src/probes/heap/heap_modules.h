/* SPDX-License-Identifier: Apache-2.0
 * heap_modules.h - the executable mappings of a profiled process, current and earlier ones, by index.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_MODULES_H
#define ORMA_PROBES_HEAP_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "probes/heap/heap_stacks.h"
#include "unwind/unwind_process.h"

struct orma_heap_module {
	struct orma_unwind_mapping *mapping;
	struct orma_heap_shown shown;
};

struct orma_heap_modules {
	struct orma_unwind_process *process;
	struct orma_heap_module *all; /* a module keeps its index */
	uint32_t count, capacity;
	struct orma_map by_id; /* index + 1 as a pointer, by the id of the mapping */
	struct orma_unwind_cache *cache;
};

/* 0 or -ENOMEM; orma_heap_modules_done() follows in both cases. */
int orma_heap_modules_init(struct orma_heap_modules *modules, struct orma_unwind_files *files,
			   struct orma_unwind_patience *patience, int32_t pid);
void orma_heap_modules_done(struct orma_heap_modules *modules);
/* The module at an address. 0, -ENOENT (there is none), -ENOBUFS (too many) or -ENOMEM. */
int orma_heap_modules_find(struct orma_heap_modules *modules, uint64_t address, uint32_t *ret);

#endif
