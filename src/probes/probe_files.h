/* SPDX-License-Identifier: Apache-2.0
 * probe_files.h - reading the kernel's files and folders into buffers that are used again and again.
 */
#ifndef ORMA_PROBES_PROBE_FILES_H
#define ORMA_PROBES_PROBE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define ORMA_PROBES_FILE_BYTES_MAX (16u << 20) /* of one file; longer ones are -EFBIG */
#define ORMA_PROBES_PATH_BYTES     128

/* "<prefix><number><suffix>" in `path`, which is returned. Prefix and suffix are short: what does
 * not fit is cut. */
const char *orma_probes_path(char path[ORMA_PROBES_PATH_BYTES], const char *prefix, uint32_t number,
			     const char *suffix);

/*
 * All of these replace the content of `buf`; `ret` points into it until its next use. 0 or -errno.
 * file_read() reads until the kernel says that there is no more. file_read_record() is for files
 * that the kernel writes in one piece whenever there is room (most of /proc/PID, all of sysfs): it
 * saves the read that only finds the end.
 */
int orma_probes_file_read(int dirfd, const char *path, struct orma_buf *buf, struct orma_str *ret);
int orma_probes_file_read_record(int dirfd, const char *path, struct orma_buf *buf,
				 struct orma_str *ret);
/* From the beginning of a descriptor that stays open. */
int orma_probes_file_reread(int fd, struct orma_buf *buf, struct orma_str *ret);
/* A file that holds one number, perhaps followed by a newline. -EBADMSG when it does not. */
int orma_probes_file_read_u64(int dirfd, const char *path, uint64_t *ret);
int orma_probes_file_read_i64(int dirfd, const char *path, int64_t *ret);

/* A folder for use as dirfd, or -errno. */
int orma_probes_dir_open(int dirfd, const char *path);

/* {0} is empty. Items ascend. */
struct orma_probes_numbers {
	uint32_t *items;
	size_t count, capacity;
};

void orma_probes_numbers_done(struct orma_probes_numbers *numbers);
int orma_probes_numbers_add(struct orma_probes_numbers *numbers,
			    uint32_t number); /* 0 or -ENOMEM */
bool orma_probes_numbers_has(const struct orma_probes_numbers *numbers, uint32_t number);
/* The N of all entries named "<prefix>N". 0 or -errno, and then the list is empty. */
int orma_probes_dir_numbers(int dirfd, const char *path, const char *prefix,
			    struct orma_probes_numbers *ret);
/* All entries but hidden ones, each ending in a NUL, in the folder's order. */
int orma_probes_dir_names(int dirfd, const char *path, struct orma_buf *ret);

#endif
