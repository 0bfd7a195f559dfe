/* SPDX-License-Identifier: Apache-2.0
 * cgroup_tree.c - the control groups that there are, and reading them.
 *
 * Owns the groups of an instance: a list, and a table by the hash of the path. A poll walks each
 * tree in the order of depth, without recursion: a queue begins with the wanted roots, and a group
 * that is visited appends the groups in its folder. Groups that the poll did not meet are freed
 * after it. Invariant: a group's parent was met in the same poll, so no parent is freed before its
 * children.
 *
 * Any user to whom a group is delegated can make groups below it, so their number and the length of
 * a path have limits. A group whose hash another one has is left out; two paths with one hash do
 * not occur by chance.
 *
 * Most groups have no groups inside. The link count of a folder says so (2), which saves listing
 * its fifty files. A poll of a group costs a folder and three system calls for each of its files.
 * Rejected: keeping files open, nine for each group; watching folders with inotify, whose limits
 * are a user's.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/cgroup_stats/cgroup_stats.h"
#include "probes/probe_text.h"

#define LINKS_WITHOUT_FOLDERS 2 /* a folder's own, and its parent's entry */

/* ---- the table ---- */

static uint64_t path_hash(struct orma_str path)
{
	static const char prefix[] = "orma.cgroup/";
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, prefix, sizeof(prefix) - 1);

	hash = orma_base_fnv1a(hash, path.data, path.size);
	return hash ? hash : 1; /* 0 is not a track */
}

static void group_free(struct orma_cgroup *group)
{
	if (!group)
		return;
	orma_base_free(group->path);
	orma_base_free(group);
}

static struct orma_cgroup *group_new(struct orma_cgroup_instance *instance,
				     struct orma_cgroup *parent, struct orma_str path,
				     uint64_t uuid)
{
	struct orma_cgroup *group = orma_base_zalloc(sizeof(*group));

	if (!group)
		return NULL;
	group->parent = parent;
	group->uuid = uuid;
	group->path = orma_base_str_dup(path);
	if (!group->path || orma_base_map_put(&instance->groups, uuid, group) < 0) {
		group_free(group);
		return NULL;
	}
	group->next = instance->first;
	instance->first = group;
	return group;
}

static void log_limit(struct orma_cgroup_instance *instance)
{
	if (!instance->is_limit_logged)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.cgroup_stats: there are more than %u control groups; the "
			      "others are left out (max_groups)",
			      instance->config.max_groups);
	instance->is_limit_logged = true;
}

/* Returns the group of this path, and marks it as met. NULL at the limit, or without memory. */
static struct orma_cgroup *meet(struct orma_cgroup_instance *instance, struct orma_cgroup *parent,
				struct orma_str path)
{
	uint64_t uuid = path_hash(path);
	struct orma_cgroup *group = orma_base_map_get(&instance->groups, uuid);

	if (group && !orma_base_str_is(path, group->path))
		return NULL;
	if (!group && instance->groups.count >= instance->config.max_groups) {
		log_limit(instance);
		return NULL;
	}
	if (!group)
		group = group_new(instance, parent, path, uuid);
	if (group && group->generation != instance->generation) {
		group->generation = instance->generation;
		group->before = group->now;
		group->now.present = 0;
	}
	return group;
}

/* Meets a root of the configuration and the groups above it, which only give it a place in the tree
 * of tracks. */
static struct orma_cgroup *meet_root(struct orma_cgroup_instance *instance, struct orma_str path)
{
	struct orma_cgroup *group = meet(instance, NULL, (struct orma_str){path.data, 0});

	for (size_t size = 1; group && size <= path.size; size++)
		if (size == path.size || path.data[size] == '/')
			group = meet(instance, group, (struct orma_str){path.data, size});
	return group;
}

static void drop_gone(struct orma_cgroup_instance *instance)
{
	for (struct orma_cgroup **at = &instance->first; *at;) {
		struct orma_cgroup *group = *at;
		if (group->generation == instance->generation) {
			at = &group->next;
			continue;
		}
		*at = group->next;
		orma_base_map_remove(&instance->groups, group->uuid);
		group_free(group);
	}
}

void orma_cgroup_tree_done(struct orma_cgroup_instance *instance)
{
	while (instance->first) {
		struct orma_cgroup *group = instance->first;
		instance->first = group->next;
		group_free(group);
	}
	orma_base_map_done(&instance->groups);
	if (instance->poll.step == ORMA_CGROUP_READ)
		orma_base_fd_close(instance->poll.root);
}

/* ---- the walk ---- */

static void push(struct orma_cgroup_instance *instance, struct orma_cgroup *group)
{
	struct orma_cgroup_poll *poll = &instance->poll;

	/* Roots of a configuration may lie inside of each other. */
	if (!group || group->walk == instance->walk_count)
		return;
	group->walk = instance->walk_count;
	group->queue_next = NULL;
	if (poll->last)
		poll->last->queue_next = group;
	else
		poll->first = group;
	poll->last = group;
}

static struct orma_cgroup *pop(struct orma_cgroup_poll *poll)
{
	struct orma_cgroup *group = poll->first;

	if (!group)
		return NULL;
	poll->first = group->queue_next;
	if (!poll->first)
		poll->last = NULL;
	return group;
}

static void push_children(struct orma_cgroup_instance *instance, struct orma_cgroup *group, int dir)
{
	struct orma_buf *names = &instance->probe->names;
	char path[ORMA_CGROUP_PATH_BYTES];
	size_t size = strlen(group->path);
	struct stat status;

	if ((fstat(dir, &status) == 0 && status.st_nlink == LINKS_WITHOUT_FOLDERS) ||
	    orma_probes_dir_folders(dir, ".", names) < 0)
		return;
	memcpy(path, group->path, size);
	if (size > 0)
		path[size++] = '/';
	struct orma_str rest = {(const char *)names->data, names->size}, name;
	while (orma_probes_text_until(&rest, '\0', &name)) {
		if (size + name.size >= sizeof(path))
			continue;
		memcpy(path + size, name.data, name.size);
		push(instance, meet(instance, group, (struct orma_str){path, size + name.size}));
	}
}

static void visit(struct orma_cgroup_instance *instance, struct orma_cgroup *group)
{
	struct orma_cgroup_probe *probe = instance->probe;
	ORMA_AUTO(orma_base_fd_closep)
	int dir = orma_probes_dir_open(instance->poll.root, group->path[0] ? group->path : ".");

	/* The group has gone meanwhile, or has no controller of this tree. */
	if (dir < 0)
		return;
	orma_cgroup_files_read(&orma_cgroup_hierarchies[instance->poll.hierarchy_idx], dir,
			       instance->config.kinds, probe->ns_per_tick, &probe->text,
			       &group->now);
	push_children(instance, group, dir);
}

/* Opens the tree at hierarchy_idx, and queues the wanted roots. Returns false when there is no such
 * tree. */
static bool open_tree(struct orma_cgroup_instance *instance)
{
	const struct orma_cgroup_hierarchy *hierarchy =
		&orma_cgroup_hierarchies[instance->poll.hierarchy_idx];
	const struct orma_cgroup_config *config = &instance->config;
	ORMA_AUTO(orma_base_fd_closep)
	int root = orma_probes_dir_open(instance->probe->sys_fd, hierarchy->path);

	if (root < 0 || (hierarchy->marker && faccessat(root, hierarchy->marker, F_OK, 0) < 0))
		return false;
	instance->poll.root = root;
	root = -1;
	instance->poll.is_found = true;
	instance->walk_count++;
	for (size_t i = 0; i < config->root_count; i++)
		push(instance, meet_root(instance, config->roots[i]));
	return true;
}

static void close_tree(struct orma_cgroup_poll *poll)
{
	poll->root = orma_base_fd_close(poll->root);
	if (orma_cgroup_hierarchies[poll->hierarchy_idx].is_alone)
		poll->hierarchy_idx = ORMA_CGROUP_HIERARCHY_COUNT;
	else
		poll->hierarchy_idx++;
}

static void end_reading(struct orma_cgroup_instance *instance)
{
	drop_gone(instance);
	if (!instance->poll.is_found && !instance->is_none_logged)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.cgroup_stats: there are no control groups in "
			      "/sys/fs/cgroup; nothing is recorded");
	instance->is_none_logged |= !instance->poll.is_found;
}

void orma_cgroup_tree_begin(struct orma_cgroup_instance *instance)
{
	instance->poll = (struct orma_cgroup_poll){.step = ORMA_CGROUP_READ, .root = -1};
	instance->before_ns = instance->now_ns;
	instance->generation++;
	instance->now_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
}

bool orma_cgroup_tree_read(struct orma_cgroup_instance *instance)
{
	struct orma_cgroup_poll *poll = &instance->poll;
	struct orma_cgroup *group;

	while (poll->hierarchy_idx < ORMA_CGROUP_HIERARCHY_COUNT) {
		if (poll->root < 0 && !open_tree(instance)) {
			poll->hierarchy_idx++;
			continue;
		}
		while ((group = pop(poll))) {
			visit(instance, group);
			if (orma_probe_is_turn_over(&instance->base))
				return false;
		}
		close_tree(poll);
	}
	end_reading(instance);
	return true;
}
