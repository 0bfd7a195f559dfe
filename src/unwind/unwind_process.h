/* SPDX-License-Identifier: Apache-2.0
 * unwind_process.h - the executable mappings of another process, for walks through copies of its stacks, and for naming
 * addresses.
 *
 * The mappings come from /proc/PID/maps, from a copy of its text, or one by one from records of the kernel (PERF_RECORD_MMAP2).
 * Tables are loaded when a walk first needs them. Typical use:
 *
 *	orma_unwind_process_new(files, pid, &process);
 *	orma_unwind_process_read_maps(process);
 *	result = orma_unwind_process_walk(process, &cache, &registers, &stack, pcs, max);
 *	for each pc: mapping = orma_unwind_process_find(process, pc);
 *
 * Threads: a process, its mappings and its children belong to one thread. Several threads may share the files.
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

/* An executable mapping as it was when it was made. It stays valid after it is unmapped, while a reference
 * to it exists. The address in the file of `pc`, which traces call rel_pc, is pc - start + offset +
 * load_bias. */
struct orma_unwind_mapping {
	uint64_t id; /* no other mapping has it; from 1 */
	uint64_t start, end;
	uint64_t offset;    /* in the file */
	uint64_t load_bias; /* address - offset of the segment; 0 until the file is loaded */
	/* As the process sees it, with a NUL after it. Without a file it is "" or "[vdso]". */
	struct orma_str path;
	/* NULL until orma_unwind_process_load(), and if the file cannot be read. The mapping owns it. */
	const struct orma_unwind_file *file;
	/* The file's, or the one in the kernel's record. Size 0 = unknown. The mapping owns it. */
	const uint8_t *build_id;
	size_t build_id_size;
	/* 0, or -errno: the file cannot be read, or has no rules. Walks then follow frame pointers. */
	int load_error;
};

/* Returns the address in the file, which traces call rel_pc. */
static inline uint64_t orma_unwind_mapping_rel_pc(const struct orma_unwind_mapping *mapping,
						  uint64_t pc)
{
	return pc - mapping->start + mapping->offset + mapping->load_bias;
}
struct orma_unwind_mapping *orma_unwind_mapping_ref(struct orma_unwind_mapping *mapping);
/* NULL does nothing. */
void orma_unwind_mapping_unref(struct orma_unwind_mapping *mapping);

/* Makes a process without mappings. The files are borrowed until it is freed. 0 or -ENOMEM. */
int orma_unwind_process_new(struct orma_unwind_files *files, int32_t pid,
			    struct orma_unwind_process **ret);
void orma_unwind_process_free(struct orma_unwind_process *process);
int32_t orma_unwind_process_pid(const struct orma_unwind_process *process);

/* Replaces all mappings by those in /proc/PID/maps, or in a copy of its text. Mappings that have not changed
 * keep their ids and tables. 0, -ENOMEM, -ESRCH, -EACCES or another -errno; on failure the mappings stay as
 * they were. */
int orma_unwind_process_read_maps(struct orma_unwind_process *process);
int orma_unwind_process_set_maps(struct orma_unwind_process *process, struct orma_str text);
/* Adds a mapping, in the place of all that it overlaps. A mapping that is not executable only removes those.
 * 0, -EINVAL (start >= end), -ENOSPC (too many mappings) or -ENOMEM; on failure nothing changes. */
int orma_unwind_process_map(struct orma_unwind_process *process,
			    const struct orma_process_map *map);
/* Removes the range from all mappings. 0, -EINVAL (start >= end), or -ENOMEM or -ENOSPC if a mapping has to
 * be cut in two; on failure nothing changes. */
int orma_unwind_process_unmap(struct orma_unwind_process *process, uint64_t start, uint64_t end);
/* Removes all mappings, because the process has called exec(). */
void orma_unwind_process_exec(struct orma_unwind_process *process);
/* Makes a child, which shares the mappings of its parent. 0 or -ENOMEM. */
int orma_unwind_process_fork(const struct orma_unwind_process *parent, int32_t pid,
			     struct orma_unwind_process **ret);

/* Returns the arguments for orma_unwind_walk(). They are valid until the process changes. If a walk ends with
 * ORMA_UNWIND_END_PENDING, call orma_unwind_process_load() for its last address. Processes with the same
 * files may share a cache. */
struct orma_unwind_space orma_unwind_process_space(const struct orma_unwind_process *process,
						   struct orma_unwind_cache *cache);
/* Returns a number that changes with each change of the mappings, and that no other process has. Equal
 * addresses of equal generations are equal frames. */
uint64_t orma_unwind_process_generation(const struct orma_unwind_process *process);
/* Loads the file of the mapping at `pc`, which a walk lacks or whose build id is needed. If the file cannot
 * be loaded, walks follow frame pointers, and it is not tried again. 0, -ENOENT (nothing is mapped there),
 * -EAGAIN (see orma_unwind_process_set_waits()) or -ENOMEM. */
int orma_unwind_process_load(struct orma_unwind_process *process, uint64_t pc);
/* Sets whether calls wait while a file is opened and its table is built. At first they do. A process that
 * does not wait gets -EAGAIN, walks that end with ORMA_UNWIND_END_PENDING, and mappings without a file. Its
 * caller tries again when orma_unwind_files_event_fd() is readable. A file that could not be read for three
 * seconds counts as unreadable. */
void orma_unwind_process_set_waits(struct orma_unwind_process *process, bool waits);
/* Lets calls wait for files. All processes that share the patience have one limit together. When it is used
 * up, calls return at once. Files are not given up, because a later call waits again when some patience is
 * left. The patience is borrowed. The caller has set its `max_ns`, and `left_ns` to the same value. */
void orma_unwind_process_set_patience(struct orma_unwind_process *process,
				      struct orma_unwind_patience *patience);
/* Loads the files of these addresses. Returns the index of the first address whose file is still being read,
 * or `count`. */
size_t orma_unwind_process_count_ready(struct orma_unwind_process *process, const uint64_t *pcs,
				       size_t count);
/* Walks as orma_unwind_walk() does, and loads the files that it needs. After a load the walk begins again, so
 * the first walk in a process takes several rounds. */
struct orma_unwind_result orma_unwind_process_walk(struct orma_unwind_process *process,
						   struct orma_unwind_cache *cache,
						   const struct orma_unwind_registers *registers,
						   const struct orma_unwind_stack *stack,
						   uint64_t *ret_addresses, size_t max);

/* Finds the mapping at an address, and loads its file. NULL if there is none. Borrowed until the process
 * changes. */
struct orma_unwind_mapping *orma_unwind_process_find(struct orma_unwind_process *process,
						     uint64_t pc);
/* Finds the name of an address in memory without a file, such as the code of a JIT compiler, in /tmp/perf-
 * PID.map. Empty if there is none. If the file has changed, it is read again, at most once a second. While
 * the read takes too long, the earlier names are used. Borrowed until the next call. `now_ns` is the time of
 * any clock that rises. */
struct orma_str orma_unwind_process_jit_name(struct orma_unwind_process *process, uint64_t pc,
					     uint64_t now_ns);

#endif
