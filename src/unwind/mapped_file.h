/* SPDX-License-Identifier: Apache-2.0
 * mapped_file.h - opens the files that other processes have mapped, if they are still the same.
 *
 * Threads: all functions are thread-safe, and may wait for a file system.
 */
#ifndef ORMA_UNWIND_MAPPED_FILE_H
#define ORMA_UNWIND_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/process_maps.h"

/* The parts of struct stat that tell files and their versions apart. Without padding, because it is compared as bytes. */
struct orma_file_identity {
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
	uint64_t owner; /* a user, or ORMA_OWNED_BY_DEVICE and a device */
};

#define ORMA_OWNED_BY_DEVICE (UINT64_C(1) << 63)

bool orma_file_identity_is_same(const struct orma_file_identity *a,
				const struct orma_file_identity *b);
uint64_t orma_file_identity_hash(const struct orma_file_identity *identity);

/*
 * Opens the file of a mapping of the process `pid` through /proc/PID/map_files, else through the
 * root folder of the process, or ours when it has ended. A descriptor;
 * -ENOENT (no file, or the process has ended), -ESTALE (another file is there now), -ENOEXEC (no
 * regular file) or another -errno.
 */
int orma_mapped_file_open(int32_t pid, const struct orma_process_map *map,
			  struct orma_file_identity *ret);
/* Opens a file again by its path. A descriptor, -ESTALE (another file is there now) or another
 * -errno. */
int orma_mapped_file_reopen(const struct orma_file_identity *identity, struct orma_str path);

#endif
