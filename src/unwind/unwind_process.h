/* SPDX-License-Identifier: Apache-2.0
 * unwind_process.h - the code that another process has mapped, for walking copies of its stacks and
 * for saying where each address lies.
 *
 * The mappings come from /proc/PID/maps, from a copy of its text, or one by one from records of the
 * kernel (PERF_RECORD_MMAP2). Tables are loaded when a walk first needs them. Typical use:
 *
 *	orma_unwind_process_new(files, pid, &process);
 *	orma_unwind_process_read_maps(process);
 *	result = orma_unwind_process_walk(process, &cache, &registers, &stack, pcs, max);
 *	for each pc: mapping = orma_unwind_process_find(process, pc);
 *
 * Threads: a process, its mappings and its children belong to one thread. The files may be shared
 *          with others.
 */
#ifndef ORMA_UNWIND_UNWIND_PROCESS_H
#define ORMA_UNWIND_UNWIND_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/patience.h"
#include "unwind/process_maps.h"
#include "unwind/unwind_files.h"
#include "unwind/unwind_walk.h"

struct orma_unwind_process;

/*
 * An executable mapping as it was when it was made. It stays valid after it is unmapped, while
 * somebody has a reference. The address that the file gives to `pc`, which traces call rel_pc, is
 * pc - start + offset + load_bias.
 */
struct orma_unwind_mapping {
	uint64_t id; /* no other mapping has it; from 1 */
	uint64_t start, end;
	uint64_t offset;    /* in the file */
	uint64_t load_bias; /* address - offset of the segment; 0 until the file is loaded */
	struct orma_str
		path; /* as the target sees it; ends with NUL; "" or "[vdso]" without a file */
	/* NULL until orma_unwind_process_load(), and when the file could not be read. */
	const struct orma_unwind_file *file;
	/* The file's, or that of the kernel's record; size 0 = unknown. */
	const uint8_t *build_id;
	size_t build_id_size;
	/* 0; or -errno: the file could not be read, or it has no rules, and its stacks are walked
	 * with frame pointers. */
	int load_error;
};

/* The address in the file, as rel_pc in traces. */
static inline uint64_t orma_unwind_mapping_rel_pc(const struct orma_unwind_mapping *mapping,
						  uint64_t pc)
{
	return pc - mapping->start + mapping->offset + mapping->load_bias;
}
struct orma_unwind_mapping *orma_unwind_mapping_ref(struct orma_unwind_mapping *mapping);
/* NULL does nothing. */
void orma_unwind_mapping_unref(struct orma_unwind_mapping *mapping);

/* A process without mappings. The files are borrowed until it is freed. 0 or -ENOMEM. */
int orma_unwind_process_new(struct orma_unwind_files *files, int32_t pid,
			    struct orma_unwind_process **ret);
void orma_unwind_process_free(struct orma_unwind_process *process);
int32_t orma_unwind_process_pid(const struct orma_unwind_process *process);

/* Replaces all mappings by those of /proc/PID/maps, or of its text. Mappings that are still the
 * same keep their ids and tables. 0, -ENOMEM, or -ESRCH, -EACCES or another -errno; on failure the
 * mappings stay as they were. */
int orma_unwind_process_read_maps(struct orma_unwind_process *process);
int orma_unwind_process_set_maps(struct orma_unwind_process *process, struct orma_str text);
/* One mapping appears and takes the place of all that it overlaps. If it is not executable, it only
 * does the latter. 0, -EINVAL (start >= end), -ENOSPC (too many mappings) or -ENOMEM. */
int orma_unwind_process_map(struct orma_unwind_process *process,
			    const struct orma_process_map *map);
/* 0, or -ENOMEM or -ENOSPC when a mapping would be cut in two; then nothing changes. */
int orma_unwind_process_unmap(struct orma_unwind_process *process, uint64_t start, uint64_t end);
/* The process has become another program: nothing is mapped. */
void orma_unwind_process_exec(struct orma_unwind_process *process);
/* The child has what its parent has. 0 or -ENOMEM. */
int orma_unwind_process_fork(const struct orma_unwind_process *parent, int32_t pid,
			     struct orma_unwind_process **ret);

/* Returns what orma_unwind_walk() needs, valid until the process changes. A walk that ends with
 * ORMA_UNWIND_END_PENDING needs orma_unwind_process_load() for its last address. A cache serves the
 * processes of the same files. */
struct orma_unwind_space orma_unwind_process_space(const struct orma_unwind_process *process,
						   struct orma_unwind_cache *cache);
/* Changes with each change of the mappings, and is never the same for two processes: equal
 * addresses of equal generations are equal frames. */
uint64_t orma_unwind_process_generation(const struct orma_unwind_process *process);
/*
 * Loads the file of the mapping at `pc`: what a walk has missed, or a mapping whose build id is
 * wanted. When it cannot be loaded, walks go on with frame pointers, and it is not tried again. 0,
 * -ENOENT (nothing is mapped there), -EAGAIN (see orma_unwind_process_set_waits()) or -ENOMEM.
 */
int orma_unwind_process_load(struct orma_unwind_process *process, uint64_t pc);
/* May calls wait while a file is opened and its table is built? At first they do. A process that does
 * not wait gets -EAGAIN, walks that end with ORMA_UNWIND_END_PENDING, and mappings without a file; the
 * caller tries again when orma_unwind_files_event_fd() is readable. After three seconds in which a
 * file could not be read, it counts as one that cannot. */
void orma_unwind_process_set_waits(struct orma_unwind_process *process, bool waits);
/*
 * Lets calls wait for files. All processes that share the patience have one limit together. When it is used up, calls return
 * at once. No file is given up, because a later call costs little and waits again when some patience is left. The patience is
 * borrowed. The caller has set its `max_ns`, and `left_ns` to the same value.
 */
void orma_unwind_process_set_patience(struct orma_unwind_process *process,
				      struct orma_unwind_patience *patience);
/* Loads the files of these addresses. Returns the number of addresses before the first one whose file
 * is still being read. */
size_t orma_unwind_process_count_ready(struct orma_unwind_process *process, const uint64_t *pcs,
				       size_t count);
/* orma_unwind_walk(), loading what it needs. Each call of the walk starts again, so a new process
 * takes a few. */
struct orma_unwind_result orma_unwind_process_walk(struct orma_unwind_process *process,
						   struct orma_unwind_cache *cache,
						   const struct orma_unwind_registers *registers,
						   const struct orma_unwind_stack *stack,
						   uint64_t *ret_addresses, size_t max);

/* The mapping at an address, or NULL. Loads its file. Borrowed until the process changes. */
struct orma_unwind_mapping *orma_unwind_process_find(struct orma_unwind_process *process,
						     uint64_t pc);
/* Looks into /tmp/perf-PID.map for the name of an address in memory without a file, such as the code
 * of a JIT compiler; empty when there is none. The file is read again at most once a second,
 * if it has changed; while it is read too slowly, the names are those that were read before. Borrowed until the next call. `now_ns` is any clock that rises. */
struct orma_str orma_unwind_process_jit_name(struct orma_unwind_process *process, uint64_t pc,
					     uint64_t now_ns);

#endif
