/* SPDX-License-Identifier: Apache-2.0
 * perf_map.h - names of machine code that a process has made: /tmp/perf-PID.map, which JIT compilers
 * and Python write.
 */
#ifndef ORMA_UNWIND_PERF_MAP_H
#define ORMA_UNWIND_PERF_MAP_H

#include <stdint.h>

#include "base/str.h"

struct orma_perf_map;

/* Reads lines of "START SIZE NAME", numbers in hex. A text of any form is accepted. When two lines
 * begin at one address, the later one counts, because code is replaced. 0, -ENODATA (no line makes
 * sense) or -ENOMEM. */
int orma_perf_map_parse(struct orma_str text, struct orma_perf_map **ret);
void orma_perf_map_free(struct orma_perf_map *map);
/* The name of the code at an address; empty when there is none. Belongs to the map. */
struct orma_str orma_perf_map_find(const struct orma_perf_map *map, uint64_t address);

/* The state of a file when it was read. */
struct orma_perf_map_mark {
	uint64_t inode, size;
	int64_t changed_s, changed_ns;
};
/*
 * Reads the file of a process: in its mount namespace, under its pid of its own pid namespace, if
 * it is a regular file of the user that the process runs as, or of root. 0 and a map, or 0 and NULL
 * when the file is as `mark` says, which is updated; -ENOENT, -EPERM (a file of another user),
 * -EFBIG (over 64 MiB), -ENODATA, -ENOMEM or another -errno.
 */
int orma_perf_map_read(int32_t pid, struct orma_perf_map_mark *mark, struct orma_perf_map **ret);

#endif
