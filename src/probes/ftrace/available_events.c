/* SPDX-License-Identifier: Apache-2.0
 * available_events.c - indexes the kernel's list available_events.
 *
 * Owns its text and its index. A kernel has a hundred groups, so looking into each of them for each name of a config takes
 * seconds. The list is one file, "GROUP:NAME" on each line, which only the root has. It changes when modules and probes
 * come and go, so it is kept only as long as a session is being set up. It lacks the events of the group ftrace.
 */
#include "probes/ftrace/available_events.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "proto/text_lexer.h"

#define LIST_BYTES_MAX (8u << 20)

static uint64_t name_key(const char *name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, name, strlen(name));
}

static int index_lines(struct orma_available_events *names)
{
	char *line = (char *)names->text.data, *end = line + names->text.size, *next;
	int r = 0;

	for (; line < end && r == 0; line = next) {
		char *stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			break;
		next = stop + 1;
		*stop = '\0';
		char *colon = strchr(line, ':');
		if (!colon || strncmp(line, "perfetto_", 9) == 0)
			continue;
		*colon = '\0';
		uint64_t key = name_key(colon + 1);
		if (!orma_base_map_get(&names->by_name, key))
			r = orma_base_map_put(&names->by_name, key, line);
	}
	return r;
}

static int read_list(struct orma_available_events *names, int events_fd)
{
	static const char *const lists[] = {"../available_events", "../../../available_events"};
	int r = -ENOENT;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lists) && r == -ENOENT; i++)
		r = orma_base_file_read(events_fd, lists[i], LIST_BYTES_MAX, &names->text);
	if (r == 0)
		r = index_lines(names);
	if (r < 0)
		orma_available_events_done(names);
	names->is_read = r == 0;
	return r;
}

int orma_available_events_find(struct orma_available_events *names, int events_fd, const char *name,
			       const char **ret_group)
{
	int r = names->is_read ? 0 : read_list(names, events_fd);

	if (r < 0)
		return r;
	const char *group = orma_base_map_get(&names->by_name, name_key(name));
	if (!group || strcmp(group + strlen(group) + 1, name) != 0)
		return -ENOENT;
	*ret_group = group;
	return 0;
}

const char *orma_available_events_closest(struct orma_available_events *names, int events_fd,
					  struct orma_str wrong, const char **ret_group)
{
	size_t strings = 0;

	if (!names->is_read && read_list(names, events_fd) < 0)
		return NULL;
	for (size_t i = 0; i < names->text.size; i++)
		strings += names->text.data[i] == '\0';
	const char *closest =
		orma_proto_closest_name(wrong, (const char *)names->text.data, strings);
	/* A group may be closer; that is not an event. */
	if (!closest || orma_available_events_find(names, events_fd, closest, ret_group) < 0)
		return NULL;
	return closest;
}

void orma_available_events_done(struct orma_available_events *names)
{
	orma_base_map_done(&names->by_name);
	orma_base_buf_done(&names->text);
	*names = (struct orma_available_events){0};
}
