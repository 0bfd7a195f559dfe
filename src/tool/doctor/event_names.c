/* SPDX-License-Identifier: Apache-2.0
 * event_names.c - looks names up and suggests others.
 *
 * The events with a message of their own are the members of FtraceEvent, and event_groups.h has
 * their groups, so no second list of names is kept. A kernel has more events than those. Its
 * tracefs decides, if this user may read it.
 */
#include "tool/doctor/event_names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "probes/ftrace/event_groups.h"
#include "schema/gen/ftrace_event.pb.h"
#include "tool/control/offered_sources.h"
#include "tool/doctor/system_files.h"
#include "tool/tool.h"

/* --- data sources ----------------------------------------------------------------------------- */

static const char *const known_sources[] = {
	"track_event",         "linux.ftrace",         "linux.frozen_ftrace",
	"linux.process_stats", "linux.sys_stats",      "linux.system_info",
	"linux.sysfs_power",   "linux.cgroup_stats",   "linux.systemd_journald",
	"linux.perf",          "linux.inode_file_map", "perfetto.metatrace",
	"orma.self",
};

bool orma_doctor_is_known_source(const struct orma_doctor_daemon *daemon, const char *name,
				 struct orma_arena *arena, const char **ret_closest)
{
	size_t offered = daemon->state ? daemon->state->data_sources.count : 0, count = 0;
	const char **names = orma_base_arena_alloc(
		arena, (ORMA_ARRAY_SIZE(known_sources) + offered) * sizeof(*names));

	*ret_closest = NULL;
	if (!names || orma_doctor_daemon_offers(daemon, orma_base_str(name)))
		return true;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(known_sources); i++) {
		if (strcmp(name, known_sources[i]) == 0)
			return true;
		names[count++] = known_sources[i];
	}
	if (offered)
		count += orma_tool_list_offered(daemon->state, arena, names + count, offered);
	*ret_closest = orma_tool_closest(name, names, count);
	return false;
}

/* --- ftrace events ---------------------------------------------------------------------------- */

static const char *group_of(uint32_t field_id)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(orma_ftrace_event_groups); i++)
		if (field_id >= orma_ftrace_event_groups[i].first_field &&
		    field_id <= orma_ftrace_event_groups[i].last_field)
			return orma_ftrace_event_groups[i].group;
	return NULL;
}

/* Fills `ret` with the names "group/name" of the typed events, in the arena. Returns how many. */
static size_t list_typed(struct orma_arena *arena, const char ***ret)
{
	const struct orma_proto_desc *desc = &orma_pb_ftrace_event_desc;
	const char **names = orma_base_arena_alloc(arena, desc->field_count * sizeof(*names));
	size_t count = 0;
	char text[128];

	for (size_t i = 0; names && i < desc->field_count; i++) {
		const char *group = group_of(desc->fields[i].id);
		const char *event = orma_proto_field_name(desc, &desc->fields[i]);
		size_t prefix = group ? strlen(group) : 0;
		if (!group)
			continue;
		/* The group hypervisor has members that begin with its name; see event_groups.h. */
		if (strcmp(group, "hypervisor") == 0 && strncmp(event, group, prefix) == 0)
			event += prefix + 1;
		snprintf(text, sizeof(text), "%.40s/%.80s", group, event);
		names[count] = orma_base_arena_strdup(arena, orma_base_str(text));
		count += names[count] != NULL;
	}
	*ret = names;
	return count;
}

static bool is_typed(const char *name, const char *const *typed, size_t count)
{
	const char *slash = strchr(name, '/');
	size_t group_size = slash ? (size_t)(slash - name) + 1 : 0;
	bool is_group = slash && strcmp(slash, "/*") == 0;

	for (size_t i = 0; i < count; i++)
		if (is_group ? strncmp(typed[i], name, group_size) == 0
		    : slash  ? strcmp(typed[i], name) == 0
			     : strcmp(strchr(typed[i], '/') + 1, name) == 0)
			return true;
	return false;
}

/* Looks in tracefs. Returns false when it cannot be read, or the name has no group. */
static bool ask_kernel(const char *root, const char *name, bool *ret_is_there)
{
	char tracefs[PATH_MAX], path[2 * PATH_MAX];
	const char *slash = strchr(name, '/');
	int size = slash && strcmp(slash, "/*") == 0 ? (int)(slash - name) : (int)strlen(name);

	if (!slash || strstr(name, "..") || !orma_system_find_tracefs(root, tracefs))
		return false;
	snprintf(path, sizeof(path), "%s/events", tracefs);
	if (!orma_system_file_is_readable(root, path))
		return false;
	snprintf(path, sizeof(path), "%s/events/%.*s", tracefs, size, name);
	*ret_is_there = orma_system_file_is_readable(root, path);
	return true;
}

enum orma_doctor_event orma_doctor_find_event(const char *root, const char *name,
					      struct orma_arena *arena, const char **ret_closest)
{
	const char **typed;
	size_t count = list_typed(arena, &typed);
	bool is_there, is_certain = ask_kernel(root, name, &is_there);

	*ret_closest = NULL;
	if (is_certain ? is_there : is_typed(name, typed, count))
		return ORMA_DOCTOR_EVENT_KNOWN;
	*ret_closest = orma_tool_closest(name, typed, count);
	return is_certain ? ORMA_DOCTOR_EVENT_MISSING : ORMA_DOCTOR_EVENT_UNCERTAIN;
}
