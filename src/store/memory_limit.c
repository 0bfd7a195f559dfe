/* SPDX-License-Identifier: Apache-2.0
 * memory_limit.c - the limits of the control groups that this process is in.
 *
 * /proc/self/cgroup has a line ID:CONTROLLERS:PATH for each hierarchy. Version 2 has one, without names of controllers, and
 * its limits are in memory.max; in version 1, the one of the controller "memory" has memory.limit_in_bytes. A limit holds
 * for all groups below, so the least of the path counts. A container often sees its own group as the root of /sys/fs/cgroup
 * but the path from outside; then only the root can be read, and is the right one. Hence all that can't be read is skipped.
 *
 * Rejected: memory.stat of version 1, whose hierarchical_memory_limit has the least already, but only where the path can be
 * read; the mount points in /proc/self/mountinfo, because all current systems have them below /sys/fs/cgroup.
 */
#include "store/memory_limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/str.h"

enum { GROUPS_MAX_BYTES = 8 << 10, LIMIT_MAX_BYTES = 64 };

/* Reads the start of a file; the text is empty when there is none. No memory is allocated, so this has no errors. */
static struct orma_str read_start(const char *path, char *buffer, size_t capacity)
{
	struct orma_str text = {buffer, 0};
	int fd = orma_base_fd_avoid_standard(open(path, O_RDONLY | O_CLOEXEC));

	if (fd < 0)
		return text;
	for (ssize_t size; text.size < capacity; text.size += (size_t)size) {
		size = read(fd, buffer + text.size, capacity - text.size);
		if (size <= 0)
			break;
	}
	close(fd);
	return text;
}

/* UINT64_MAX: the file is missing, or says "max". */
static uint64_t read_limit(const char *path)
{
	char buffer[LIMIT_MAX_BYTES];
	struct orma_str text = read_start(path, buffer, sizeof(buffer));
	uint64_t limit;

	if (text.size == 0 || buffer[text.size - 1] != '\n')
		return UINT64_MAX;
	buffer[text.size - 1] = '\0';
	return orma_base_parse_u64(buffer, 10, &limit) < 0 ? UINT64_MAX : limit;
}

/* The least limit of a group and of those that it is in. */
static uint64_t group_limit(const char *folder, struct orma_str group, const char *file)
{
	uint64_t least = UINT64_MAX;
	char path[PATH_MAX];

	for (;;) {
		int size = snprintf(path, sizeof(path), "%s%.*s/%s", folder, (int)group.size,
				    group.data, file);
		if (size > 0 && (size_t)size < sizeof(path))
			least = ORMA_MIN(least, read_limit(path));
		if (group.size == 0)
			return least;
		do
			group.size--;
		while (group.size > 0 && group.data[group.size] != '/');
	}
}

/* Takes the text before the separator, and the separator. False when there is none. */
static bool take_until(struct orma_str *rest, char separator, struct orma_str *ret)
{
	const char *end = rest->size > 0 ? memchr(rest->data, separator, rest->size) : NULL;
	if (!end)
		return false;
	*ret = (struct orma_str){rest->data, (size_t)(end - rest->data)};
	rest->size -= ret->size + 1;
	rest->data = end + 1;
	return true;
}

static bool has_memory(struct orma_str controllers)
{
	struct orma_str name;

	while (take_until(&controllers, ',', &name))
		if (orma_base_str_is(name, "memory"))
			return true;
	return orma_base_str_is(controllers, "memory");
}

static uint64_t groups_limit(const char *root)
{
	char path[PATH_MAX], buffer[GROUPS_MAX_BYTES];
	uint64_t least = UINT64_MAX;
	struct orma_str line, id, controllers;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	struct orma_str rest = read_start(path, buffer, sizeof(buffer));
	while (take_until(&rest, '\n', &line)) {
		if (!take_until(&line, ':', &id) || !take_until(&line, ':', &controllers))
			continue;
		bool is_version_2 = controllers.size == 0;
		if (!is_version_2 && !has_memory(controllers))
			continue;
		snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s", root,
			 is_version_2 ? "" : "/memory");
		uint64_t limit = group_limit(path, line,
					     is_version_2 ? "memory.max" : "memory.limit_in_bytes");
		least = ORMA_MIN(least, limit);
	}
	return least;
}

uint64_t orma_store_memory_limit(const char *root)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t machine = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
	uint64_t groups = groups_limit(root);

	if (groups == UINT64_MAX)
		return machine;
	return machine > 0 ? ORMA_MIN(machine, groups) : groups;
}
