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
}

/* ---- the walk ---- */

struct walk {
	struct orma_cgroup_instance *instance;
	const struct orma_cgroup_hierarchy *hierarchy;
	int root; /* descriptor */
	uint32_t number;
	struct orma_cgroup *first, *last; /* the queue */
};

static void push(struct walk *walk, struct orma_cgroup *group)
{
	/* Roots of a configuration may lie inside of each other. */
	if (!group || group->walk == walk->number)
		return;
	group->walk = walk->number;
	group->queue_next = NULL;
	if (walk->last)
		walk->last->queue_next = group;
	else
		walk->first = group;
	walk->last = group;
}

static struct orma_cgroup *pop(struct walk *walk)
{
	struct orma_cgroup *group = walk->first;

	if (!group)
		return NULL;
	walk->first = group->queue_next;
	if (!walk->first)
		walk->last = NULL;
	return group;
}

static void push_children(struct walk *walk, struct orma_cgroup *group, int dir)
{
	struct orma_cgroup_instance *instance = walk->instance;
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
		push(walk, meet(instance, group, (struct orma_str){path, size + name.size}));
	}
}

static void visit(struct walk *walk, struct orma_cgroup *group)
{
	struct orma_cgroup_probe *probe = walk->instance->probe;
	ORMA_AUTO(orma_base_fd_closep)
	int dir = orma_probes_dir_open(walk->root, group->path[0] ? group->path : ".");

	/* The group has gone meanwhile, or has no controller of this tree. */
	if (dir < 0)
		return;
	orma_cgroup_files_read(walk->hierarchy, dir, walk->instance->config.kinds,
			       probe->ns_per_tick, &probe->text, &group->now);
	push_children(walk, group, dir);
}

/* Returns false when there is no such tree. */
static bool walk_hierarchy(struct orma_cgroup_instance *instance,
			   const struct orma_cgroup_hierarchy *hierarchy)
{
	const struct orma_cgroup_config *config = &instance->config;
	ORMA_AUTO(orma_base_fd_closep)
	int root = orma_probes_dir_open(instance->probe->sys_fd, hierarchy->path);

	if (root < 0 || (hierarchy->marker && faccessat(root, hierarchy->marker, F_OK, 0) < 0))
		return false;
	struct walk walk = {.instance = instance,
			    .hierarchy = hierarchy,
			    .root = root,
			    .number = ++instance->walk_count};
	for (size_t i = 0; i < config->root_count; i++)
		push(&walk, meet_root(instance, config->roots[i]));
	struct orma_cgroup *group;
	while ((group = pop(&walk)))
		visit(&walk, group);
	return true;
}

static void keep_totals(struct orma_cgroup_instance *instance)
{
	for (struct orma_cgroup *group = instance->first; group; group = group->next)
		group->before = group->now;
	instance->before_ns = instance->now_ns;
}

void orma_cgroup_tree_read(struct orma_cgroup_instance *instance)
{
	bool is_found = false;

	keep_totals(instance);
	instance->generation++;
	instance->now_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	for (size_t i = 0; i < ORMA_CGROUP_HIERARCHY_COUNT; i++) {
		bool is_this = walk_hierarchy(instance, &orma_cgroup_hierarchies[i]);
		is_found |= is_this;
		if (is_this && orma_cgroup_hierarchies[i].is_alone)
			break;
	}
	drop_gone(instance);
	if (!is_found && !instance->is_none_logged)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.cgroup_stats: there are no control groups in "
			      "/sys/fs/cgroup; nothing is recorded");
	instance->is_none_logged |= !is_found;
}
