/* SPDX-License-Identifier: Apache-2.0
 * debug_file.h - finds programs, libraries and the files with their debugging information.
 *
 * Threads: any. Nothing is kept. A call may wait for a file system.
 */
#ifndef ORMA_SYMBOLS_DEBUG_FILE_H
#define ORMA_SYMBOLS_DEBUG_FILE_H

#include <limits.h>

#include "base/str.h"
#include "unwind/elf_file.h"

/* A file that is open. {.fd = -1} is none. */
struct orma_debug_file {
	int fd;
	struct orma_elf_file elf;
	char path[PATH_MAX];
};

/* Folders that are searched. Each is a root, as / is: it may have usr/lib/x.so, x.so or .build-id. */
struct orma_debug_folders {
	const char *const *paths;
	size_t count;
};

struct orma_build_id {
	uint8_t bytes[ORMA_ELF_BUILD_ID_MAX];
	size_t size; /* 0 = not known: any file of the name is taken */
};

void orma_debug_file_close(struct orma_debug_file *file);

/*
 * Opens the program or library that was mapped. It is searched by its path, and then in each folder by its build id, its path and
 * its name. 0; -ENOENT; -ESTALE: there is only a file with another build id, whose path is in ret->path; or another negative errno
 * value. *ret is closed unless 0 is returned.
 */
int orma_debug_file_open(const char *path, const struct orma_build_id *id,
			 const struct orma_debug_folders *folders, struct orma_debug_file *ret);
/*
 * Opens the separate file with the debugging information of the file `of`, which lies at `path`. It is searched by the build id of
 * `of` below .build-id, and by the name and checksum in its .gnu_debuglink. 0, -ENOENT or another negative errno value.
 */
int orma_debug_file_open_separate(const struct orma_elf_file *of, const char *path,
				  const struct orma_debug_folders *folders,
				  struct orma_debug_file *ret);
/* Opens the separate file by build id alone, for a program that is not on this machine. 0, -ENOENT or another negative errno value. */
int orma_debug_file_open_by_id(const struct orma_build_id *id,
			       const struct orma_debug_folders *folders,
			       struct orma_debug_file *ret);

/* Reads a .gnu_debuglink: the name of a file without folders, and its checksum. 0 or -EBADMSG. */
int orma_debug_link_read(const struct orma_elf_file *file, char ret_name[NAME_MAX + 1],
			 uint32_t *ret_crc);

#endif
