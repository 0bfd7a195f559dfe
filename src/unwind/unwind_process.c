/* SPDX-License-Identifier: Apache-2.0
 * unwind_process.c - the executable mappings of another process, in the order of their addresses.
 *
 * There are two parallel arrays: a walk searches `modules`, and `mappings` describes each of them. Invariant: modules rise and do
 * not overlap, and modules[i] lies in mappings[i]. A module is smaller than its mapping if a part of the mapping was unmapped or
 * replaced. Several modules may share a mapping, also those of several processes after a fork.
 *
 * A mapping is loaded (unwind_mapping.c) when a walk needs it. Until then its module is pending, because following frame pointers
 * through it would give wrong callers. The module of each process gets the result when a walk of that process needs it. A late
 * mapping is replaced in each process that has it.
 *
 * Generations and ids are numbers of `files`, which never returns a number twice.
 *
 * Trust: the records and texts come from the kernel, but the process can cause any number of them. MAPPINGS_MAX limits the
 * mappings. Further ones are refused, and stacks through them end early.
 */
#include "unwind/unwind_process.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "unwind/leaf_walk.h"
#include "unwind/perf_map.h"
#include "unwind/unwind_mapping.h"

#define MAPPINGS_MAX      16384u
#define PERF_MAP_PAUSE_NS UINT64_C(1000000000)

struct orma_unwind_process {
	struct orma_mapping_reader reader;
	bool has_late; /* mappings may be late */
	uint64_t generation;
	struct orma_unwind_module *modules;
	struct orma_private_mapping **mappings;
	size_t count, capacity;
	size_t found; /* the module that was found last; may be beyond the end */
	struct orma_perf_map *perf_map;
	struct orma_perf_map_mark perf_map_mark;
	struct orma_perf_map_load *perf_map_load; /* NULL = not in progress */
	uint64_t perf_map_ns;                     /* when it was read; 0 = never */
};

/* --- the arrays ------------------------------------------------------------------------------- */

/* Returns the number of modules that end at the address or before it. */
static size_t count_before(const struct orma_unwind_process *process, uint64_t address)
{
	size_t first = 0, count = process->count;

	while (count > 0) {
		size_t half = count / 2;
		bool is_before = process->modules[first + half].end <= address;

		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	return first;
}

/* Returns the index of the module at an address, or SIZE_MAX. */
static size_t find_module(const struct orma_unwind_process *process, uint64_t address)
{
	size_t idx = count_before(process, address);

	return idx < process->count && process->modules[idx].start <= address ? idx : SIZE_MAX;
}

static int reserve(struct orma_unwind_process *process, size_t count)
{
	size_t capacity = ORMA_MAX(count, process->capacity * 2);

	if (count <= process->capacity)
		return 0;
	void *modules =
		orma_base_realloc_array(process->modules, capacity, sizeof(*process->modules));
	if (!modules)
		return -ENOMEM;
	process->modules = modules;
	void *mappings =
		orma_base_realloc_array(process->mappings, capacity, sizeof(*process->mappings));
	if (!mappings)
		return -ENOMEM;
	process->mappings = mappings;
	process->capacity = capacity;
	return 0;
}

static void clear(struct orma_unwind_process *process)
{
	for (size_t i = 0; i < process->count; i++)
		orma_unwind_mapping_unref(&process->mappings[i]->base);
	process->count = 0;
}

static void set_piece(struct orma_unwind_process *process, size_t idx,
		      struct orma_private_mapping *mapping, uint64_t start, uint64_t end)
{
	process->modules[idx] = orma_private_mapping_module(mapping, start, end);
	process->mappings[idx] = mapping;
}

/* Empties the range, and puts a mapping there, unless that is NULL. The reference becomes the process's.
 * Modules at the edges of the range keep the parts outside of it. */
static int replace_range(struct orma_unwind_process *process, uint64_t start, uint64_t end,
			 struct orma_private_mapping *added)
{
	struct orma_private_mapping *left = NULL, *right = NULL;
	uint64_t left_start = 0, right_end = 0;
	size_t first = count_before(process, start), last = first;

	while (last < process->count && process->modules[last].start < end)
		last++;
	if (first < last && process->modules[first].start < start) {
		left = process->mappings[first];
		left_start = process->modules[first].start;
	}
	if (first < last && process->modules[last - 1].end > end) {
		right = process->mappings[last - 1];
		right_end = process->modules[last - 1].end;
	}
	size_t pieces = (size_t)(left != NULL) + (added != NULL) + (right != NULL);
	size_t count = process->count - (last - first) + pieces;
	if (count > MAPPINGS_MAX && count > process->count)
		return -ENOSPC;
	int r = reserve(process, ORMA_MAX(count, process->count));
	if (r < 0)
		return r;
	if (left)
		orma_unwind_mapping_ref(&left->base);
	if (right)
		orma_unwind_mapping_ref(&right->base);
	for (size_t i = first; i < last; i++)
		orma_unwind_mapping_unref(&process->mappings[i]->base);
	if (last < process->count) {
		memmove(process->modules + first + pieces, process->modules + last,
			(process->count - last) * sizeof(*process->modules));
		memmove(process->mappings + first + pieces, process->mappings + last,
			(process->count - last) * sizeof(*process->mappings));
	}
	if (left)
		set_piece(process, first++, left, left_start, start);
	if (added)
		set_piece(process, first++, added, start, end);
	if (right)
		set_piece(process, first++, right, end, right_end);
	if (last > first || pieces > 0)
		process->generation = orma_unwind_files_next_number(process->reader.files);
	process->count = count;
	return 0;
}

/* --- interface: mappings ---------------------------------------------------------------------- */

int orma_unwind_process_new(struct orma_unwind_files *files, int32_t pid,
			    struct orma_unwind_process **ret)
{
	struct orma_unwind_process *process = orma_base_zalloc(sizeof(*process));

	if (!process)
		return -ENOMEM;
	process->reader.files = files;
	process->reader.pid = pid;
	process->generation = orma_unwind_files_next_number(process->reader.files);
	*ret = process;
	return 0;
}

void orma_unwind_process_free(struct orma_unwind_process *process)
{
	if (!process)
		return;
	clear(process);
	orma_base_free(process->modules);
	orma_base_free(process->mappings);
	orma_perf_map_load_free(process->perf_map_load);
	orma_perf_map_free(process->perf_map);
	orma_base_free(process);
}

int32_t orma_unwind_process_pid(const struct orma_unwind_process *process)
{
	return process->reader.pid;
}

int orma_unwind_process_map(struct orma_unwind_process *process, const struct orma_process_map *map)
{
	if (map->start >= map->end)
		return -EINVAL;
	if (!map->is_executable)
		return replace_range(process, map->start, map->end, NULL);
	size_t idx = find_module(process, map->start);
	if (idx != SIZE_MAX && process->modules[idx].start == map->start &&
	    process->modules[idx].end == map->end &&
	    orma_private_mapping_is_same(process->mappings[idx], map))
		return 0;
	struct orma_private_mapping *mapping = orma_private_mapping_new(process->reader.files, map);
	if (!mapping)
		return -ENOMEM;
	int r = replace_range(process, map->start, map->end, mapping);
	if (r < 0)
		orma_unwind_mapping_unref(&mapping->base);
	return r;
}

int orma_unwind_process_unmap(struct orma_unwind_process *process, uint64_t start, uint64_t end)
{
	return start < end ? replace_range(process, start, end, NULL) : -EINVAL;
}

void orma_unwind_process_exec(struct orma_unwind_process *process)
{
	clear(process);
	process->generation = orma_unwind_files_next_number(process->reader.files);
	orma_perf_map_load_free(ORMA_TAKE(process->perf_map_load));
	orma_perf_map_free(ORMA_TAKE(process->perf_map));
	process->perf_map_mark = (struct orma_perf_map_mark){0};
	process->perf_map_ns = 0;
}

int orma_unwind_process_fork(const struct orma_unwind_process *parent, int32_t pid,
			     struct orma_unwind_process **ret)
{
	struct orma_unwind_process *child;
	int r = orma_unwind_process_new(parent->reader.files, pid, &child);

	if (r < 0)
		return r;
	r = reserve(child, parent->count);
	if (r < 0) {
		orma_unwind_process_free(child);
		return r;
	}
	for (size_t i = 0; i < parent->count; i++) {
		child->modules[i] = parent->modules[i];
		child->mappings[i] = parent->mappings[i];
		orma_unwind_mapping_ref(&child->mappings[i]->base);
	}
	child->has_late = parent->has_late;
	child->count = parent->count;
	*ret = child;
	return 0;
}

/* Appends a mapping of a text. If `old` has the same mapping, it is shared. */
static int append(struct orma_unwind_process *process, const struct orma_unwind_process *old,
		  const struct orma_process_map *map)
{
	size_t idx = find_module(old, map->start);
	struct orma_private_mapping *mapping =
		idx != SIZE_MAX && orma_private_mapping_is_same(old->mappings[idx], map)
			? old->mappings[idx]
			: NULL;

	if (process->count == MAPPINGS_MAX)
		return 0;
	int r = reserve(process, process->count + 1);
	if (r < 0)
		return r;
	if (mapping)
		orma_unwind_mapping_ref(&mapping->base);
	else
		mapping = orma_private_mapping_new(process->reader.files, map);
	if (!mapping)
		return -ENOMEM;
	set_piece(process, process->count++, mapping, map->start, map->end);
	return 0;
}

static bool has_same_code(const struct orma_unwind_process *a, const struct orma_unwind_process *b)
{
	bool result = a->count == b->count;

	for (size_t i = 0; result && i < a->count; i++)
		result = a->mappings[i] == b->mappings[i] &&
			 a->modules[i].start == b->modules[i].start &&
			 a->modules[i].end == b->modules[i].end;
	return result;
}

int orma_unwind_process_set_maps(struct orma_unwind_process *process, struct orma_str text)
{
	struct orma_process_maps maps = {.rest = text};
	struct orma_process_map map;
	struct orma_unwind_process fresh = {.reader = process->reader}, old = *process;
	int r = 0;

	while (r == 0 && orma_process_maps_next(&maps, &map))
		if (map.is_executable)
			r = append(&fresh, process, &map);
	bool is_kept = r < 0 || has_same_code(&fresh, process);
	if (!is_kept) {
		process->modules = fresh.modules;
		process->mappings = fresh.mappings;
		process->count = fresh.count;
		process->capacity = fresh.capacity;
		process->generation = orma_unwind_files_next_number(process->reader.files);
		fresh = old;
	}
	clear(&fresh);
	orma_base_free(fresh.modules);
	orma_base_free(fresh.mappings);
	return r;
}

int orma_unwind_process_read_maps(struct orma_unwind_process *process)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_process_maps_read(process->reader.pid, &text);

	return r < 0 ? r : orma_unwind_process_set_maps(process, orma_base_buf_str(&text));
}

/* --- interface: walking ----------------------------------------------------------------------- */

struct orma_unwind_space orma_unwind_process_space(const struct orma_unwind_process *process,
						   struct orma_unwind_cache *cache)
{
	return (struct orma_unwind_space){
		.modules = process->modules,
		.module_count = process->count,
#ifdef __aarch64__
		.is_arm64 = true,
#endif
		.generation = process->generation,
		.cache = cache ? cache->slots : NULL,
		.cache_count = ORMA_UNWIND_CACHE_SLOTS,
	};
}

uint64_t orma_unwind_process_generation(const struct orma_unwind_process *process)
{
	return process->generation;
}

static int load_module(struct orma_unwind_process *process, size_t idx)
{
	struct orma_private_mapping *mapping = process->mappings[idx];
	struct orma_unwind_module *module = &process->modules[idx];
	int r = mapping->is_loaded ? 0 : orma_private_mapping_load(mapping, &process->reader);

	if (r == 0 && module->is_pending)
		*module = orma_private_mapping_module(mapping, module->start, module->end);
	process->has_late |= orma_private_mapping_is_late(mapping);
	return r;
}

static void replace_late(struct orma_unwind_process *process, size_t idx)
{
	const struct orma_unwind_module *module = &process->modules[idx];
	struct orma_private_mapping *fresh =
		orma_private_mapping_renew(process->mappings[idx], process->reader.files);

	if (!fresh)
		return;
	if (replace_range(process, module->start, module->end, fresh) < 0)
		orma_unwind_mapping_unref(&fresh->base);
}

/* Replaces the mappings whose files were read too late. Each process that shares such a mapping gets a new
 * one. */
static void take_late(struct orma_unwind_process *process)
{
	bool has_late = false;

	for (size_t i = 0; process->has_late && i < process->count; i++) {
		struct orma_private_mapping *mapping = process->mappings[i];
		orma_private_mapping_poll_late(mapping, &process->reader);
		if (mapping->late_file)
			replace_late(process, i);
		has_late |= orma_private_mapping_is_late(process->mappings[i]);
	}
	process->has_late = has_late;
}

int orma_unwind_process_load(struct orma_unwind_process *process, uint64_t pc)
{
	size_t idx = find_module(process, pc);

	return idx == SIZE_MAX ? -ENOENT : load_module(process, idx);
}

void orma_unwind_process_set_patience(struct orma_unwind_process *process,
				      struct orma_unwind_patience *patience)
{
	process->reader.patience = patience;
}

void orma_unwind_process_set_waits(struct orma_unwind_process *process, bool waits)
{
	process->reader.never_waits = !waits;
}

size_t orma_unwind_process_count_ready(struct orma_unwind_process *process, const uint64_t *pcs,
				       size_t count)
{
	size_t ready = count;

	take_late(process);
	/* There is no break, so that all loads begin at once. */
	for (size_t i = 0; i < count; i++)
		if (orma_unwind_process_load(process, pcs[i]) == -EAGAIN && i < ready)
			ready = i;
	return ready;
}

static struct orma_unwind_result walk_once(const struct orma_unwind_space *space,
					   const struct orma_unwind_registers *registers,
					   const struct orma_unwind_stack *stack,
					   uint64_t *ret_addresses, size_t max)
{
	struct orma_unwind_result result =
		orma_unwind_walk(space, registers, stack, ret_addresses, max);
	bool is_guessed = result.fp_count > 0 ||
			  (result.frame_count == 1 && result.end == ORMA_UNWIND_END_NO_RULE);

	if (!is_guessed || max < 2 ||
	    orma_unwind_leaf_walk(space, registers, stack, ret_addresses, max, &result))
		return result;
	return orma_unwind_walk(space, registers, stack, ret_addresses, max);
}

/* Has a JIT compiler made the code at an address? */
static bool is_made_code(const struct orma_unwind_process *process, uint64_t pc)
{
	size_t idx = find_module(process, pc);

	return idx != SIZE_MAX && process->mappings[idx]->base.path.size == 0;
}

static void follow_trampolines(const struct orma_unwind_process *process,
			       const struct orma_unwind_space *space,
			       const struct orma_unwind_registers *registers,
			       const struct orma_unwind_stack *stack, uint64_t *ret_addresses,
			       size_t max, struct orma_unwind_result *result)
{
	struct orma_unwind_registers from = *registers;
	struct orma_unwind_result part = *result;
	size_t first = 0;

	while (part.end == ORMA_UNWIND_END_NO_RULE && part.frame_count > 1 &&
	       is_made_code(process, ret_addresses[first + part.frame_count - 1])) {
		size_t count = part.frame_count;

		if (!orma_unwind_trampoline_walk(space, &from, stack, ret_addresses + first,
						 max - first, &part))
			break;
		first += count;
		result->frame_count = first + part.frame_count;
		result->fp_count += part.fp_count;
		result->end = part.end;
	}
}

struct orma_unwind_result orma_unwind_process_walk(struct orma_unwind_process *process,
						   struct orma_unwind_cache *cache,
						   const struct orma_unwind_registers *registers,
						   const struct orma_unwind_stack *stack,
						   uint64_t *ret_addresses, size_t max)
{
	take_late(process);
	for (;;) {
		struct orma_unwind_space space = orma_unwind_process_space(process, cache);
		struct orma_unwind_result result =
			walk_once(&space, registers, stack, ret_addresses, max);

		follow_trampolines(process, &space, registers, stack, ret_addresses, max, &result);
		/* The loop ends, because each load leaves one pending module less. */
		if (result.end != ORMA_UNWIND_END_PENDING ||
		    orma_unwind_process_load(process, ret_addresses[result.frame_count - 1]) < 0)
			return result;
	}
}

struct orma_unwind_mapping *orma_unwind_process_find(struct orma_unwind_process *process,
						     uint64_t pc)
{
	size_t idx = process->found;

	/* Most callers are in the module of what they call. */
	if (idx >= process->count || pc < process->modules[idx].start ||
	    pc >= process->modules[idx].end)
		idx = find_module(process, pc);
	if (idx == SIZE_MAX)
		return NULL;
	process->found = idx;
	/* Without memory, the mapping stays as it is, and is loaded later. */
	load_module(process, idx);
	return &process->mappings[idx]->base;
}

struct orma_str orma_unwind_process_jit_name(struct orma_unwind_process *process, uint64_t pc,
					     uint64_t now_ns)
{
	struct orma_str name = {0};
	struct orma_perf_map *map = NULL;

	if (process->perf_map)
		name = orma_perf_map_find(process->perf_map, pc);
	if (name.size > 0 ||
	    (process->perf_map_ns > 0 && now_ns - process->perf_map_ns < PERF_MAP_PAUSE_NS))
		return name;
	process->perf_map_ns = now_ns > 0 ? now_ns : 1;
	if (orma_perf_map_loader_read(orma_unwind_files_perf_maps(process->reader.files),
				      process->reader.pid, &process->perf_map_mark,
				      &process->perf_map_load, &map) < 0 ||
	    !map)
		return name;
	orma_perf_map_free(process->perf_map);
	process->perf_map = map;
	return orma_perf_map_find(map, pc);
}
