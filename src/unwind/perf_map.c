/* SPDX-License-Identifier: Apache-2.0
 * perf_map.c - reads and searches the names that a process gives to code in its memory.
 *
 *	7f3c1c0a4000 1b0 py::main:/srv/app.py
 *
 * Owns the text and an index of 16 bytes for each line. Invariant: starts rise strictly. Lines are in
 * the order of compilation, and a compiler reuses memory, so the later one of two lines with the same
 * start counts.
 *
 * Trust: the target writes the file. All users can write to /tmp, so a file of another user is refused,
 * as the perf tool does. The last part of the path must not be a symbolic link, because a link that the
 * target places would be followed in our namespace, with our rights. Sizes and counts are limited, and
 * names longer than NAME_BYTES_MAX are cut.
 */
#include "unwind/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"

#define TEXT_BYTES_MAX   (64u << 20)
#define ENTRIES_MAX      (1u << 20)
#define NAME_BYTES_MAX   512u
#define STATUS_BYTES_MAX 65536u

struct entry {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* where it begins in the text; it ends with its line */
};

struct orma_perf_map {
	struct orma_buf text;
	struct entry *entries;
	size_t count;
};

/* --- parsing ---------------------------------------------------------------------------------- */

static int digit_of(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	letter |= 0x20;
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : 16;
}

/* Takes a hexadecimal number and the spaces behind it. */
static bool take_hex(struct orma_str *line, uint64_t *ret)
{
	uint64_t value = 0;
	size_t at = 0;

	if (line->size > 2 && line->data[0] == '0' && (line->data[1] | 0x20) == 'x')
		at = 2;
	size_t first = at;
	for (; at < line->size && digit_of(line->data[at]) < 16; at++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit_of(line->data[at]);
	}
	size_t end = at;
	while (at < line->size && line->data[at] == ' ')
		at++;
	if (end == first || at == end)
		return false;
	line->data += at;
	line->size -= at;
	*ret = value;
	return true;
}

static bool parse_line(struct orma_str line, const char *text, struct entry *ret)
{
	uint64_t start, size;

	if (!take_hex(&line, &start) || !take_hex(&line, &size) || line.size == 0 || size == 0 ||
	    size > UINT32_MAX || start + size < start)
		return false;
	*ret = (struct entry){start, (uint32_t)size, (uint32_t)(line.data - text)};
	return true;
}

/* In order of starts; of equal starts, the later line first. Offsets of names rise with lines. */
static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->name < b->name) - (a->name > b->name);
}

static int collect(struct orma_perf_map *map)
{
	const char *text = (const char *)map->text.data;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf entries = {0};
	size_t count = 0;

	for (size_t at = 0; at < map->text.size && count < ENTRIES_MAX;) {
		const char *end = memchr(text + at, '\n', map->text.size - at);
		struct entry entry;

		/* A line without an end is still being written. */
		if (!end)
			break;
		if (parse_line((struct orma_str){text + at, (size_t)(end - text) - at}, text,
			       &entry)) {
			int r = orma_base_buf_append(&entries, &entry, sizeof(entry));
			if (r < 0)
				return r;
			count++;
		}
		at = (size_t)(end - text) + 1;
	}
	if (count == 0)
		return -ENODATA;
	map->entries = (struct entry *)(void *)entries.data;
	entries = (struct orma_buf){0};
	qsort(map->entries, count, sizeof(*map->entries), compare_entries);
	for (size_t i = 0; i < count; i++)
		if (map->count == 0 || map->entries[map->count - 1].start != map->entries[i].start)
			map->entries[map->count++] = map->entries[i];
	return 0;
}

/* The map takes over the text. */
static int parse(struct orma_buf *text, struct orma_perf_map **ret)
{
	struct orma_perf_map *map = orma_base_zalloc(sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->text = *text;
	*text = (struct orma_buf){0};
	int r = collect(map);
	if (r < 0)
		orma_perf_map_free(map);
	else
		*ret = map;
	return r;
}

int orma_perf_map_parse(struct orma_str text, struct orma_perf_map **ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf copy = {0};
	int r = orma_base_buf_append(&copy, text.data, text.size);

	return r < 0 ? r : parse(&copy, ret);
}

void orma_perf_map_free(struct orma_perf_map *map)
{
	if (!map)
		return;
	orma_base_buf_done(&map->text);
	orma_base_free(map->entries);
	orma_base_free(map);
}

struct orma_str orma_perf_map_find(const struct orma_perf_map *map, uint64_t address)
{
	size_t first = 0, count = map->count;

	while (count > 0) {
		size_t half = count / 2;
		bool is_before = map->entries[first + half].start <= address;

		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	if (first == 0 || address - map->entries[first - 1].start >= map->entries[first - 1].size)
		return (struct orma_str){0};
	const char *name = (const char *)map->text.data + map->entries[first - 1].name;
	const char *end = memchr(name, '\n', map->text.size - map->entries[first - 1].name);
	size_t size = (size_t)(end - name);
	return (struct orma_str){name, ORMA_MIN(size, (size_t)NAME_BYTES_MAX)};
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads /proc/PID/status. The last number of "NSpid:" is the pid in the innermost namespace, and the
 * second number of "Uid:" is the effective user. */
static int read_status(int32_t pid, long *ret_pid, long *ret_user)
{
	char path[40];
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	int r = orma_base_file_read(AT_FDCWD, path, STATUS_BYTES_MAX, &text);
	const char *status = r < 0 ? NULL : orma_base_buf_cstr(&text);
	if (!status)
		return r < 0 ? r : -ENOMEM;
	const char *user = strstr(status, "\nUid:"), *space = strstr(status, "\nNSpid:");
	char *end;
	if (!user)
		return -EBADMSG;
	strtol(user + sizeof("\nUid:") - 1, &end, 10);
	*ret_user = strtol(end, NULL, 10);
	*ret_pid = pid;
	if (!space)
		return 0;
	size_t size = strcspn(space + 1, "\n") + 1;
	while (size > 0 && strchr("0123456789", space[size - 1]))
		size--;
	*ret_pid = strtol(space + size, NULL, 10);
	return 0;
}

static int open_map(int32_t pid, struct stat *ret_stat)
{
	char path[64];
	long own_pid, user;
	int r = read_status(pid, &own_pid, &user);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%ld.map", (int)pid, own_pid);
	ORMA_AUTO(orma_base_fd_closep)
	int place = orma_base_fd_avoid_standard(open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW));
	if (place < 0 || fstat(place, ret_stat) < 0)
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -EPERM;
	if (ret_stat->st_uid != 0 && (long)ret_stat->st_uid != user)
		return -EPERM;
	return orma_base_fd_reopen(place);
}

int orma_perf_map_read(int32_t pid, struct orma_perf_map_mark *mark, struct orma_perf_map **ret)
{
	struct stat st;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	ORMA_AUTO(orma_base_fd_closep) int fd = open_map(pid, &st);

	if (fd < 0)
		return fd;
	struct orma_perf_map_mark now = {st.st_ino, (uint64_t)st.st_size, st.st_mtim.tv_sec,
					 st.st_mtim.tv_nsec};
	*ret = NULL;
	if (memcmp(&now, mark, sizeof(now)) == 0)
		return 0;
	int r = orma_base_fd_read_all(fd, TEXT_BYTES_MAX, &text);
	if (r == 0)
		r = parse(&text, ret);
	if (r == 0)
		*mark = now;
	return r;
}
