/* SPDX-License-Identifier: Apache-2.0
 * process_maps.h - the mappings of a process: the text of /proc/PID/maps, and what its lines mean.
 *
 * Threads: any. Nothing is kept.
 */
#ifndef ORMA_UNWIND_PROCESS_MAPS_H
#define ORMA_UNWIND_PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "unwind/elf_file.h"

struct orma_process_map {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t inode;  /* 0 = no file */
	uint32_t device_major, device_minor;
	bool is_executable, is_deleted;
	/* Points into the text. The kernel writes a line feed in a path as \012. Without a file it is
	 * empty, or a name such as "[heap]". */
	struct orma_str path;
};

struct orma_process_maps {
	struct orma_str rest; /* the text that has not been read yet */
	uint64_t last_end;
	uint32_t bad_count; /* lines of another form, or out of order */
};

/* Appends the text of /proc/PID/maps. If the main thread has ended, which makes that file empty, it is the file of another
 * thread. 0, -ESRCH (the process has no memory), -EFBIG, -EACCES or another -errno. */
int orma_process_maps_read(int32_t pid, struct orma_buf *ret);
/* True and the next mapping, or false at the end. Starts and ends of mappings rise. */
bool orma_process_maps_next(struct orma_process_maps *maps, struct orma_process_map *ret);
/* Finds the bias of the mapping: an address of the process minus the bias is the address in the file. 0,
 * or -ENODATA if no segment of code lies at the mapping's offset. */
int orma_process_map_bias(const struct orma_process_map *map, const struct orma_elf_file *file,
			  uint64_t *ret);

#endif
