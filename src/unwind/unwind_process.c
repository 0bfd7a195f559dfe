/* SPDX-License-Identifier: Apache-2.0
 * unwind_process.c - the executable mappings of another process, in order of their addresses.
 *
 * Two arrays run side by side: `modules` is what a walk searches, and `mappings` says what each of
 * them is. The invariant: modules rise and do not overlap, and modules[i] lies in mappings[i]. A
 * module is smaller than its mapping when a part of that was unmapped or replaced. Several modules,
 * also of several processes after a fork, may share a mapping.
 *
 * A mapping is loaded (its file opened, its table built) when a walk needs it. Until then its
 * module is pending, because walking through it with frame pointers would give wrong callers. When
 * loading fails it is tried only once. Shared mappings are loaded once; the module of each process
 * takes the result over when its walk needs it. A process that does not wait leaves the module
 * pending while its file is being read, orma_unwind_files_load_ns() at most; one whose patience is spent, until it was.
 *
 * A mapping whose file is read after that is late: it stays as it is, because stacks and names that were written refer to
 * it, and a new mapping with the file takes its place.
 *
 * Generations and ids are numbers of `files`, which never gives one twice.
 *
 * Trust: records and texts are those of the kernel, but the process causes as many as it likes.
 * MAPPINGS_MAX limits them; beyond it mappings are refused, and stacks through them end early.
 */
#include "unwind/unwind_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "unwind/leaf_walk.h"
#include "unwind/perf_map.h"

#define MAPPINGS_MAX      16384u
#define MAPS_BYTES_MAX    (16u << 20)
#define PATH_BYTES_MAX    4096u
#define PERF_MAP_PAUSE_NS UINT64_C(1000000000)

struct mapping {
	struct orma_unwind_mapping base;
	struct orma_process_map map; /* its texts are in `text` */
	uint32_t refs;
	bool is_loaded;
	struct orma_unwind_load *load;            /* NULL = not in progress */
	uint64_t load_end_ns;                     /* when the wait for it is given up */
	const struct orma_unwind_file *late_file; /* was read after that */
	char text[];                              /* the path, NUL */
};

struct orma_unwind_process {
	struct orma_unwind_files *files;
	int32_t pid;
	bool never_waits; /* for files that are being read */
	bool has_late;    /* mappings may be late */
	struct orma_unwind_patience
		*patience; /* NULL = it waits for each file as long as it takes */
	uint64_t generation;
	struct orma_unwind_module *modules;
	struct mapping **mappings;
	size_t count, capacity;
	size_t found; /* the module that was found last; may be beyond the end */
	struct orma_perf_map *perf_map;
	struct orma_perf_map_mark perf_map_mark;
	struct orma_perf_map_load *perf_map_load; /* NULL = none is under way */
	uint64_t perf_map_ns;                     /* when it was read; 0 = never */
};

/* --- a mapping -------------------------------------------------------------------------------- */

static struct mapping *to_mapping(struct orma_unwind_mapping *base)
{
	return ORMA_CONTAINER_OF(base, struct mapping, base);
}

struct orma_unwind_mapping *orma_unwind_mapping_ref(struct orma_unwind_mapping *mapping)
{
	to_mapping(mapping)->refs++;
	return mapping;
}

void orma_unwind_mapping_unref(struct orma_unwind_mapping *base)
{
	struct mapping *mapping = base ? to_mapping(base) : NULL;

	if (!mapping || --mapping->refs > 0)
		return;
	orma_unwind_load_free(mapping->load);
	orma_unwind_file_unref(mapping->late_file);
	orma_unwind_file_unref(mapping->base.file);
	orma_base_free(mapping);
}

static bool has_file(const struct orma_process_map *map)
{
	return (map->path.size > 0 && map->path.data[0] == '/') ||
	       orma_base_str_is(map->path, "[vdso]");
}

static struct mapping *new_mapping(struct orma_unwind_files *files,
				   const struct orma_process_map *map)
{
	size_t path_size = ORMA_MIN(map->path.size, (size_t)PATH_BYTES_MAX);
	struct mapping *mapping = orma_base_zalloc(sizeof(*mapping) + path_size + 1);

	if (!mapping)
		return NULL;
	if (path_size > 0)
		memcpy(mapping->text, map->path.data, path_size);
	mapping->refs = 1;
	mapping->map = *map;
	mapping->map.path = (struct orma_str){mapping->text, path_size};
	mapping->is_loaded = !has_file(map);
	mapping->base = (struct orma_unwind_mapping){
		.id = orma_unwind_files_next_number(files),
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.path = mapping->map.path,
		.load_error = mapping->is_loaded ? -ENOENT : 0,
	};
	return mapping;
}

static bool is_same(const struct mapping *mapping, const struct orma_process_map *map)
{
	const struct orma_process_map *own = &mapping->map;

	return own->start == map->start && own->end == map->end && own->offset == map->offset &&
	       own->inode == map->inode && own->device_major == map->device_major &&
	       own->device_minor == map->device_minor &&
	       orma_base_str_is_equal(own->path, map->path);
}

/* -EAGAIN: all patience is spent. */
static int wait_with_patience(struct mapping *mapping, const struct orma_unwind_process *process,
			      const struct orma_unwind_file **ret)
{
	struct orma_unwind_patience *patience = process->patience;
	uint64_t left_ns = orma_unwind_patience_left(patience, orma_base_clock_ns(CLOCK_MONOTONIC));
	bool is_done = left_ns > 0 && orma_unwind_load_wait(mapping->load, left_ns);

	orma_unwind_patience_spend(patience, orma_base_clock_ns(CLOCK_MONOTONIC));
	return is_done ? orma_unwind_files_poll(process->files, process->pid, &mapping->map,
						&mapping->load, ret)
		       : -EAGAIN;
}

static bool is_late(const struct mapping *mapping)
{
	return mapping->late_file || (mapping->is_loaded && mapping->load);
}

/* As orma_unwind_files_poll(), but -EAGAIN becomes -ETIMEDOUT when too much time has passed. */
static int poll_load(struct mapping *mapping, const struct orma_unwind_process *process,
		     const struct orma_unwind_file **ret)
{
	int r = orma_unwind_files_poll(process->files, process->pid, &mapping->map, &mapping->load,
				       ret);

	if (r != -EAGAIN)
		return r;
	if (process->patience)
		return wait_with_patience(mapping, process, ret);
	if (!process->never_waits)
		return orma_unwind_files_wait(&mapping->load, ret);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (mapping->load_end_ns == 0)
		mapping->load_end_ns = now_ns + orma_unwind_files_load_ns(process->files);
	return now_ns < mapping->load_end_ns ? -EAGAIN : -ETIMEDOUT;
}

/* The reference becomes the mapping's. */
static void take_file(struct mapping *mapping, const struct orma_unwind_file *file)
{
	uint64_t bias;

	mapping->is_loaded = true;
	mapping->base.file = file;
	mapping->base.load_error = file->table_error;
	if (file->elf.build_id_size > 0) {
		mapping->base.build_id = file->elf.build_id;
		mapping->base.build_id_size = file->elf.build_id_size;
	}
	int r = orma_process_map_bias(&mapping->map, &file->elf, &bias);
	if (r < 0)
		mapping->base.load_error = r;
	else
		mapping->base.load_bias = mapping->map.start - mapping->map.offset - bias;
}

/* 0, -EAGAIN (the file is being read) or -ENOMEM; other errors are remembered. */
static int load_mapping(struct mapping *mapping, const struct orma_unwind_process *process)
{
	const struct orma_unwind_file *file = NULL;
	int r = poll_load(mapping, process, &file);

	if (r == -ENOMEM || r == -EAGAIN)
		return r;
	mapping->is_loaded = true;
	mapping->base.load_error = r;
	if (r == 0)
		take_file(mapping, file);
	return 0;
}

static struct orma_unwind_module module_of(const struct mapping *mapping, uint64_t start,
					   uint64_t end)
{
	const struct orma_unwind_mapping *base = &mapping->base;

	return (struct orma_unwind_module){
		.start = start,
		.end = end,
		.bias = base->start - base->offset - base->load_bias,
		.table_number = base->file ? base->file->number : 0,
		.table = base->file && base->load_error == 0 ? base->file->table : NULL,
		.is_pending = !mapping->is_loaded,
	};
}

/* --- the arrays ------------------------------------------------------------------------------- */

/* The number of modules that end at the address or before it. */
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

/* The index of the module at an address, or SIZE_MAX. */
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

static void set_piece(struct orma_unwind_process *process, size_t idx, struct mapping *mapping,
		      uint64_t start, uint64_t end)
{
	process->modules[idx] = module_of(mapping, start, end);
	process->mappings[idx] = mapping;
}

/* Empties the range, and puts a mapping there, which becomes the process's, unless it is NULL.
 * Modules at the edges of the range keep their other parts. */
static int replace_range(struct orma_unwind_process *process, uint64_t start, uint64_t end,
			 struct mapping *added)
{
	struct mapping *left = NULL, *right = NULL;
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
		process->generation = orma_unwind_files_next_number(process->files);
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
	process->files = files;
	process->pid = pid;
	process->generation = orma_unwind_files_next_number(process->files);
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
	return process->pid;
}

int orma_unwind_process_map(struct orma_unwind_process *process, const struct orma_process_map *map)
{
	if (map->start >= map->end)
		return -EINVAL;
	if (!map->is_executable)
		return replace_range(process, map->start, map->end, NULL);
	size_t idx = find_module(process, map->start);
	if (idx != SIZE_MAX && process->modules[idx].start == map->start &&
	    process->modules[idx].end == map->end && is_same(process->mappings[idx], map))
		return 0;
	struct mapping *mapping = new_mapping(process->files, map);
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
	process->generation = orma_unwind_files_next_number(process->files);
	orma_perf_map_load_free(ORMA_TAKE(process->perf_map_load));
	orma_perf_map_free(ORMA_TAKE(process->perf_map));
	process->perf_map_mark = (struct orma_perf_map_mark){0};
	process->perf_map_ns = 0;
}

int orma_unwind_process_fork(const struct orma_unwind_process *parent, int32_t pid,
			     struct orma_unwind_process **ret)
{
	struct orma_unwind_process *child;
	int r = orma_unwind_process_new(parent->files, pid, &child);

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

/* Appends a mapping of a text, which is that of `old` when it is still the same. */
static int append(struct orma_unwind_process *process, const struct orma_unwind_process *old,
		  const struct orma_process_map *map)
{
	size_t idx = find_module(old, map->start);
	struct mapping *mapping =
		idx != SIZE_MAX && is_same(old->mappings[idx], map) ? old->mappings[idx] : NULL;

	if (process->count == MAPPINGS_MAX)
		return 0;
	int r = reserve(process, process->count + 1);
	if (r < 0)
		return r;
	if (mapping)
		orma_unwind_mapping_ref(&mapping->base);
	else
		mapping = new_mapping(process->files, map);
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
	struct orma_unwind_process fresh = {.files = process->files}, old = *process;
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
		process->generation = orma_unwind_files_next_number(process->files);
		fresh = old;
	}
	clear(&fresh);
	orma_base_free(fresh.modules);
	orma_base_free(fresh.mappings);
	return r;
}

int orma_unwind_process_read_maps(struct orma_unwind_process *process)
{
	char path[40];
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)process->pid);
	int r = orma_base_file_read(AT_FDCWD, path, MAPS_BYTES_MAX, &text);
	/* The mappings of a process whose main thread has ended are an empty text. */
	if (r == 0 && text.size == 0)
		r = -ESRCH;
	return r < 0 ? (r == -ENOENT ? -ESRCH : r)
		     : orma_unwind_process_set_maps(process, orma_base_buf_str(&text));
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
	struct mapping *mapping = process->mappings[idx];
	struct orma_unwind_module *module = &process->modules[idx];
	int r = mapping->is_loaded ? 0 : load_mapping(mapping, process);

	if (r == 0 && module->is_pending)
		*module = module_of(mapping, module->start, module->end);
	process->has_late |= is_late(mapping);
	return r;
}

static void replace_late(struct orma_unwind_process *process, size_t idx)
{
	const struct mapping *old = process->mappings[idx];
	const struct orma_unwind_module *module = &process->modules[idx];
	struct mapping *fresh = new_mapping(process->files, &old->map);

	if (!fresh)
		return;
	take_file(fresh, orma_unwind_file_ref(old->late_file));
	if (replace_range(process, module->start, module->end, fresh) < 0)
		orma_unwind_mapping_unref(&fresh->base);
}

/* Takes files that were read too late. Processes may share a mapping, and each takes its file. */
static void take_late(struct orma_unwind_process *process)
{
	bool has_late = false;

	for (size_t i = 0; process->has_late && i < process->count; i++) {
		struct mapping *mapping = process->mappings[i];
		if (is_late(mapping) && mapping->load)
			(void)orma_unwind_files_poll(process->files, process->pid, &mapping->map,
						     &mapping->load, &mapping->late_file);
		if (mapping->late_file)
			replace_late(process, i);
		has_late |= is_late(process->mappings[i]);
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
	process->patience = patience;
}

void orma_unwind_process_set_waits(struct orma_unwind_process *process, bool waits)
{
	process->never_waits = !waits;
}

size_t orma_unwind_process_count_ready(struct orma_unwind_process *process, const uint64_t *pcs,
				       size_t count)
{
	size_t ready = count;

	take_late(process);
	/* All loads begin at once. */
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

		/* Each load leaves one pending module less, so this ends. */
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
	/* Without memory it stays as it is, and is loaded another time. */
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
	if (orma_perf_map_loader_read(orma_unwind_files_perf_maps(process->files), process->pid,
				      &process->perf_map_mark, &process->perf_map_load, &map) < 0 ||
	    !map)
		return name;
	orma_perf_map_free(process->perf_map);
	process->perf_map = map;
	return orma_perf_map_find(map, pc);
}
