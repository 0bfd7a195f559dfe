/* SPDX-License-Identifier: Apache-2.0
 * process_maps.c - reads /proc/PID/maps, and takes its lines apart.
 *
 *   55d0c8a00000-55d0c8a21000 r-xp 00002000 fe:01 1234567    /usr/bin/name (deleted)
 *
 * The kernel writes the numbers. The process chooses the path, which may have any byte but a line feed.
 * The text may be cut anywhere. A line of another form is skipped and counted. Invariant: the mappings
 * that are returned are in order of addresses and do not overlap, so they can be searched by halving.
 */
#include "unwind/process_maps.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"

#define TEXT_BYTES_MAX (16u << 20)

static const struct orma_str deleted = {" (deleted)", sizeof(" (deleted)") - 1};

/* Reads the file of any thread that has memory. */
static int read_of_threads(int32_t pid, struct orma_buf *ret)
{
	size_t before = ret->size;
	char path[64];
	const struct dirent *entry;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	while (r == 0 && ret->size == before && folder && (entry = readdir(folder))) {
		int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", (int)pid, (int)tid);
		r = tid > 0 ? orma_base_file_read(AT_FDCWD, path, TEXT_BYTES_MAX, ret) : 0;
		/* The thread has ended in the meantime. */
		if (r == -ENOENT || r == -ESRCH)
			r = 0;
	}
	if (folder)
		closedir(folder);
	return r;
}

int orma_process_maps_read(int32_t pid, struct orma_buf *ret)
{
	size_t before = ret->size;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	int r = orma_base_file_read(AT_FDCWD, path, TEXT_BYTES_MAX, ret);
	if (r == 0 && ret->size == before)
		r = read_of_threads(pid, ret);
	if (r == 0 && ret->size == before)
		r = -ESRCH;
	return r == -ENOENT ? -ESRCH : r;
}

static int digit_of(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	if (letter >= 'a' && letter <= 'f')
		return letter - 'a' + 10;
	return 16;
}

/* Takes a number and the letter behind it. */
static bool take_number(struct orma_str *line, int base, char behind, uint64_t *ret)
{
	uint64_t value = 0;
	size_t at = 0;

	for (; at < line->size && digit_of(line->data[at]) < base; at++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_of(line->data[at]), &value))
			return false;
	if (at == 0 || at == line->size || line->data[at] != behind)
		return false;
	line->data += at + 1;
	line->size -= at + 1;
	*ret = value;
	return true;
}

static void take_path(struct orma_str line, struct orma_process_map *map)
{
	while (line.size > 0 && line.data[0] == ' ') {
		line.data++;
		line.size--;
	}
	if (line.size > deleted.size &&
	    memcmp(line.data + line.size - deleted.size, deleted.data, deleted.size) == 0) {
		map->is_deleted = true;
		line.size -= deleted.size;
	}
	map->path = line;
}

/* A space follows the inode, also if there is no path. */
static bool parse_line(struct orma_str line, struct orma_process_map *ret)
{
	uint64_t major, minor;
	struct orma_process_map map = {0};

	if (!take_number(&line, 16, '-', &map.start) || !take_number(&line, 16, ' ', &map.end) ||
	    map.start >= map.end || line.size < 5 || line.data[4] != ' ')
		return false;
	map.is_executable = line.data[2] == 'x';
	line.data += 5;
	line.size -= 5;
	if (!take_number(&line, 16, ' ', &map.offset) || !take_number(&line, 16, ':', &major) ||
	    !take_number(&line, 16, ' ', &minor) || !take_number(&line, 10, ' ', &map.inode) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	map.device_major = (uint32_t)major;
	map.device_minor = (uint32_t)minor;
	take_path(line, &map);
	*ret = map;
	return true;
}

bool orma_process_maps_next(struct orma_process_maps *maps, struct orma_process_map *ret)
{
	while (maps->rest.size > 0) {
		const char *end = memchr(maps->rest.data, '\n', maps->rest.size);
		size_t size = end ? (size_t)(end - maps->rest.data) : maps->rest.size;
		struct orma_str line = {maps->rest.data, size};
		struct orma_process_map map;

		maps->rest.data += end ? size + 1 : size;
		maps->rest.size -= end ? size + 1 : size;
		/* A line without a line feed was cut. */
		if (end && parse_line(line, &map) && map.start >= maps->last_end) {
			maps->last_end = map.end;
			*ret = map;
			return true;
		}
		maps->bad_count++;
	}
	return false;
}

int orma_process_map_bias(const struct orma_process_map *map, const struct orma_elf_file *file,
			  uint64_t *ret)
{
	for (uint16_t i = 0; i < file->load_count; i++) {
		const struct orma_elf_load *load = &file->loads[i];
		/* The loader maps whole pages, so the mapping may begin before the segment. */
		uint64_t first = load->offset & ~UINT64_C(0xffff);

		if ((load->flags & PF_X) && map->offset >= first &&
		    map->offset - first < load->file_size + (load->offset - first)) {
			*ret = map->start - (load->address - load->offset + map->offset);
			return 0;
		}
	}
	return -ENODATA;
}
