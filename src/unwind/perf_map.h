/* SPDX-License-Identifier: Apache-2.0
 * perf_map.h - the names that JIT compilers and Python give the machine code that they make, in the file
 * /tmp/perf-PID.map.
 *
 * Threads: a map does not change, so several threads may search it.
 */
#ifndef ORMA_UNWIND_PERF_MAP_H
#define ORMA_UNWIND_PERF_MAP_H

#include <stdint.h>

#include "base/str.h"

struct orma_perf_map;

/* Reads lines of "START SIZE NAME", with numbers in hexadecimal. Other lines are ignored. If two lines have
 * the same start, the later one counts, because code is replaced. 0, -ENODATA (no line has this form)
 * or -ENOMEM. */
int orma_perf_map_parse(struct orma_str text, struct orma_perf_map **ret);
void orma_perf_map_free(struct orma_perf_map *map);
/* Returns the name of the code at an address, which belongs to the map; empty if there is none. */
struct orma_str orma_perf_map_find(const struct orma_perf_map *map, uint64_t address);

/* The state of a file when it was read. */
struct orma_perf_map_mark {
	uint64_t inode, size;
	int64_t changed_s, changed_ns;
};
/*
 * Reads the file of a process. It is looked up in the mount namespace of the process, under the pid
 * that the process has in its own pid namespace. It must be a regular file of the user that the process
 * runs as, or of root. `mark` is {0}, or the state of the file at the last call, and is updated. 0 and
 * a map; 0 and NULL if the file has not changed since then; -ENOENT, -EPERM (a file of another user),
 * -EFBIG (over 64 MiB), -ENODATA, -ENOMEM or another -errno.
 */
int orma_perf_map_read(int32_t pid, struct orma_perf_map_mark *mark, struct orma_perf_map **ret);

#endif
