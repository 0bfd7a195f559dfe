/* SPDX-License-Identifier: Apache-2.0
 * probe_files.c - reads whole files and folders of /proc and /sys with as few system calls as
 * possible.
 *
 * No function keeps a descriptor. Files of these file systems have no size, so a buffer grows until
 * the end is reached. The kernel returns files of many records (vmstat, diskstats, interrupts) in
 * pieces of a page, however large the buffer is. A poll of a big machine opens tens of thousands of
 * files, so all paths are relative to a folder that stays open (openat()), they are composed
 * without printf(), and the caller keeps the buffers. Rejected: opendir(), which allocates 32 KiB
 * each time; keeping all files open, which would exceed the limit on descriptors.
 */
#include "probes/probe_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"

enum { RECORD_STEP_BYTES = 4096, DIR_BYTES = 16384, VALUE_BYTES = 64 };

const char *orma_probes_path(char path[ORMA_PROBES_PATH_BYTES], const char *prefix, uint32_t number,
			     const char *suffix)
{
	char digits[10];
	size_t count = 0, at = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (*prefix && at < ORMA_PROBES_PATH_BYTES - 1)
		path[at++] = *prefix++;
	while (count > 0 && at < ORMA_PROBES_PATH_BYTES - 1)
		path[at++] = digits[--count];
	while (*suffix && at < ORMA_PROBES_PATH_BYTES - 1)
		path[at++] = *suffix++;
	path[at] = '\0';
	return path;
}

int orma_probes_file_open(int dirfd, const char *path)
{
	int fd = orma_base_fd_avoid_standard(openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
	return fd < 0 ? -errno : fd;
}

int orma_probes_file_read(int dirfd, const char *path, struct orma_buf *buf, struct orma_str *ret)
{
	buf->size = 0;
	int r = orma_base_file_read(dirfd, path, ORMA_PROBES_FILE_BYTES_MAX, buf);
	if (r < 0)
		return r;
	*ret = (struct orma_str){(const char *)buf->data, buf->size};
	return 0;
}

int orma_probes_file_pread(int fd, struct orma_buf *buf, struct orma_str *ret)
{
	buf->size = 0;
	int r = orma_base_buf_reserve(buf, RECORD_STEP_BYTES);
	if (r < 0)
		return r;
	ssize_t got;
	do
		got = pread(fd, buf->data, RECORD_STEP_BYTES, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	buf->size = (size_t)got;
	*ret = (struct orma_str){(const char *)buf->data, buf->size};
	return 0;
}

int orma_probes_file_reread(int fd, struct orma_buf *buf, struct orma_str *ret)
{
	buf->size = 0;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	int r = orma_base_fd_read_all(fd, ORMA_PROBES_FILE_BYTES_MAX, buf);
	if (r < 0)
		return r;
	*ret = (struct orma_str){(const char *)buf->data, buf->size};
	return 0;
}

static int read_record(int fd, struct orma_buf *buf)
{
	for (;;) {
		int r = orma_base_buf_reserve(buf, RECORD_STEP_BYTES);
		if (r < 0)
			return r;
		size_t room = buf->capacity - buf->size;
		ssize_t got = read(fd, buf->data + buf->size, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		buf->size += (size_t)got;
		if ((size_t)got < room)
			return 0;
		if (buf->size > ORMA_PROBES_FILE_BYTES_MAX)
			return -EFBIG;
	}
}

int orma_probes_file_read_record(int dirfd, const char *path, struct orma_buf *buf,
				 struct orma_str *ret)
{
	ORMA_AUTO(orma_base_fd_closep) int fd = orma_probes_file_open(dirfd, path);
	if (fd < 0)
		return fd;
	buf->size = 0;
	int r = read_record(fd, buf);
	if (r < 0)
		return r;
	*ret = (struct orma_str){(const char *)buf->data, buf->size};
	return 0;
}

static int read_value(int dirfd, const char *path, char value[VALUE_BYTES], struct orma_str *ret)
{
	ORMA_AUTO(orma_base_fd_closep) int fd = orma_probes_file_open(dirfd, path);
	if (fd < 0)
		return fd;
	ssize_t got;
	do
		got = read(fd, value, VALUE_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	struct orma_str rest = {value, (size_t)got}, line;
	if (!orma_probes_text_line(&rest, &line))
		return -EBADMSG;
	*ret = orma_probes_text_trim(line);
	return 0;
}

int orma_probes_file_read_u64(int dirfd, const char *path, uint64_t *ret)
{
	char value[VALUE_BYTES];
	struct orma_str text = {0};
	int r = read_value(dirfd, path, value, &text);
	if (r < 0)
		return r;
	return orma_probes_text_u64(text, ret) ? 0 : -EBADMSG;
}

int orma_probes_file_read_i64(int dirfd, const char *path, int64_t *ret)
{
	char value[VALUE_BYTES];
	struct orma_str text = {0};
	int r = read_value(dirfd, path, value, &text);
	if (r < 0)
		return r;
	return orma_probes_text_i64(text, ret) ? 0 : -EBADMSG;
}

int orma_probes_dir_open(int dirfd, const char *path)
{
	int fd = orma_base_fd_avoid_standard(
		openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
	return fd < 0 ? -errno : fd;
}

/* ---- folders ---- */

/* An entry as getdents64() writes it. */
struct dir_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size; /* size of the entry, padding included */
	uint8_t type;
	char name[];
};

/* `folder` is the descriptor of the folder that has the entry. */
typedef int entry_fn(void *ctx, int folder, const struct dir_entry *entry);

static int for_each_entry(int dirfd, const char *path, entry_fn *fn, void *ctx)
{
	_Alignas(struct dir_entry) char buf[DIR_BYTES];
	ORMA_AUTO(orma_base_fd_closep) int fd = orma_probes_dir_open(dirfd, path);
	if (fd < 0)
		return fd;
	for (;;) {
		long got = syscall(SYS_getdents64, fd, buf, sizeof(buf));
		if (got <= 0)
			return got < 0 ? -errno : 0;
		for (long at = 0; at < got;) {
			const struct dir_entry *entry = (const void *)(buf + at);
			int r = entry->name[0] == '.' ? 0 : fn(ctx, fd, entry);
			if (r < 0)
				return r;
			at += entry->size;
		}
	}
}

struct number_ctx {
	const char *prefix;
	struct orma_probes_numbers *numbers;
	bool is_ascending;
};

int orma_probes_numbers_add(struct orma_probes_numbers *numbers, uint32_t number)
{
	if (numbers->count == numbers->capacity) {
		size_t capacity = numbers->capacity > 0 ? numbers->capacity * 2 : 64;
		uint32_t *items = orma_base_realloc_array(numbers->items, capacity, sizeof(*items));
		if (!items)
			return -ENOMEM;
		numbers->items = items;
		numbers->capacity = capacity;
	}
	numbers->items[numbers->count++] = number;
	return 0;
}

static int add_number(void *ctx, int folder, const struct dir_entry *entry)
{
	(void)folder;
	const char *name = entry->name;
	struct number_ctx *c = ctx;
	struct orma_probes_numbers *numbers = c->numbers;
	size_t prefix_size = strlen(c->prefix);
	uint32_t number;
	if (strncmp(name, c->prefix, prefix_size) != 0 ||
	    !orma_probes_text_u32(orma_base_str(name + prefix_size), &number))
		return 0;
	if (numbers->count > 0 && numbers->items[numbers->count - 1] > number)
		c->is_ascending = false;
	return orma_probes_numbers_add(numbers, number);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int orma_probes_dir_numbers(int dirfd, const char *path, const char *prefix,
			    struct orma_probes_numbers *ret)
{
	struct number_ctx ctx = {prefix, ret, true};
	ret->count = 0;
	int r = for_each_entry(dirfd, path, add_number, &ctx);
	if (r < 0)
		ret->count = 0;
	else if (!ctx.is_ascending)
		qsort(ret->items, ret->count, sizeof(*ret->items), compare_u32);
	return r;
}

void orma_probes_numbers_done(struct orma_probes_numbers *numbers)
{
	orma_base_free(numbers->items);
	*numbers = (struct orma_probes_numbers){0};
}

bool orma_probes_numbers_has(const struct orma_probes_numbers *numbers, uint32_t number)
{
	return numbers->count > 0 && bsearch(&number, numbers->items, numbers->count,
					     sizeof(*numbers->items), compare_u32) != NULL;
}

static int add_name(void *ctx, int folder, const struct dir_entry *entry)
{
	(void)folder;
	return orma_base_buf_append(ctx, entry->name, strlen(entry->name) + 1);
}

static int list_names(int dirfd, const char *path, entry_fn *fn, struct orma_buf *ret)
{
	ret->size = 0;
	int r = for_each_entry(dirfd, path, fn, ret);
	if (r < 0)
		ret->size = 0;
	return r;
}

int orma_probes_dir_names(int dirfd, const char *path, struct orma_buf *ret)
{
	return list_names(dirfd, path, add_name, ret);
}

static int add_folder(void *ctx, int folder, const struct dir_entry *entry)
{
	struct stat status;
	bool is_folder = entry->type == DT_DIR;

	/* Some file systems do not tell the type of an entry. */
	if (entry->type == DT_UNKNOWN)
		is_folder = fstatat(folder, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISDIR(status.st_mode);
	return is_folder ? add_name(ctx, folder, entry) : 0;
}

int orma_probes_dir_folders(int dirfd, const char *path, struct orma_buf *ret)
{
	return list_names(dirfd, path, add_folder, ret);
}
