/* SPDX-License-Identifier: Apache-2.0
 * probe_files.h - reads the kernel's files and folders into buffers that are reused.
 */
#ifndef ORMA_PROBES_PROBE_FILES_H
#define ORMA_PROBES_PROBE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define ORMA_PROBES_FILE_BYTES_MAX (16u << 20) /* limit on one file; longer ones are -EFBIG */
#define ORMA_PROBES_PATH_BYTES     128

/* Writes "<prefix><number><suffix>" into `path`, and returns it. Prefix and suffix are short; text
 * that does not fit is cut off. */
const char *orma_probes_path(char path[ORMA_PROBES_PATH_BYTES], const char *prefix, uint32_t number,
			     const char *suffix);

/*
 * These functions replace the content of `buf`; `ret` points into it until its next use. 0 or
 * -errno. file_read() reads until the kernel reports the end. file_read_record() is for files that
 * the kernel writes in one piece when there is room (most of /proc/PID, all of sysfs): it saves the
 * read that only finds the end.
 */
int orma_probes_file_read(int dirfd, const char *path, struct orma_buf *buf, struct orma_str *ret);
int orma_probes_file_read_record(int dirfd, const char *path, struct orma_buf *buf,
				 struct orma_str *ret);
/* Opens a file for reading. Returns its descriptor or -errno. */
int orma_probes_file_open(int dirfd, const char *path);
/* Reads the first page of a descriptor that stays open: a file of one short record. */
int orma_probes_file_pread(int fd, struct orma_buf *buf, struct orma_str *ret);
/* Reads from the beginning of a descriptor that stays open. */
int orma_probes_file_reread(int fd, struct orma_buf *buf, struct orma_str *ret);
/* Reads a file that holds one number, with an optional newline. -EBADMSG when it does not. */
int orma_probes_file_read_u64(int dirfd, const char *path, uint64_t *ret);
int orma_probes_file_read_i64(int dirfd, const char *path, int64_t *ret);

/* Opens a folder for use as dirfd. Returns its descriptor or -errno. */
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
/* Lists the N of all entries named "<prefix>N". 0, or -errno with an empty list. */
int orma_probes_dir_numbers(int dirfd, const char *path, const char *prefix,
			    struct orma_probes_numbers *ret);
/* Lists all entries except hidden ones, each ending in a NUL, in the folder's order. 0 or
 * -errno. */
int orma_probes_dir_names(int dirfd, const char *path, struct orma_buf *ret);
/* The same for the folders among them. */
int orma_probes_dir_folders(int dirfd, const char *path, struct orma_buf *ret);

#endif
