/* SPDX-License-Identifier: Apache-2.0
 * export_collapsed.c - a line for each stack, as flamegraph.pl and speedscope read it: `process;thread;outer;inner 12`.
 *
 * The number is the value of the profile that was chosen, or for slices the nanoseconds that a slice took without the slices in
 * it. Stacks are a tree that is kept in memory: as much as the file has, about.
 */
#include <errno.h>
#include <string.h>

#include "answers/task_names.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/map.h"
#include "tool/export/export_file.h"
#include "tool/export/export_profile.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

struct node {
	struct node *parent, *same_hash, *next; /* a list of all nodes, the newest first */
	int64_t count;
	size_t size;
	char name[];
};

struct tree {
	struct orma_arena arena;
	struct orma_map nodes; /* by the hash of their parents and names */
	struct node *newest;
	int error; /* 0 or -ENOMEM */
};

/* Limits of slices and of the frames of a stack. Frames beyond are left out at the root. */
enum { DEPTH_MAX = 512, FRAMES_MAX = 4096 };

/* A semicolon separates frames, and a line feed stacks. */
static char plain(char c)
{
	return (char)(c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c);
}

/* Returns the child of that name, which is made when it is new; NULL is the root as a parent, and no memory as a child. */
static struct node *child_of(struct tree *tree, struct node *parent, struct orma_str name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &parent, sizeof(parent));
	hash = orma_base_fnv1a(hash, name.data, name.size);
	struct node *same = orma_base_map_get(&tree->nodes, hash), *node = same;
	for (; node; node = node->same_hash) {
		bool is_it = node->parent == parent && node->size == name.size;
		for (size_t i = 0; is_it && i < name.size; i++)
			is_it = node->name[i] == plain(name.data[i]);
		if (is_it)
			return node;
	}
	node = orma_base_arena_alloc(&tree->arena, sizeof(*node) + name.size);
	if (!node || orma_base_map_put(&tree->nodes, hash, node) < 0) {
		tree->error = -ENOMEM;
		return NULL;
	}
	*node = (struct node){
		.parent = parent, .same_hash = same, .next = tree->newest, .size = name.size};
	for (size_t i = 0; i < name.size; i++)
		node->name[i] = plain(name.data[i]);
	tree->newest = node;
	return node;
}

static struct node *named_child(struct tree *tree, struct node *parent, sqlite3_stmt *row,
				int column)
{
	struct orma_str name = {(const char *)sqlite3_column_text(row, column),
				(size_t)sqlite3_column_bytes(row, column)};
	return name.size > 0 ? child_of(tree, parent, name) : parent;
}

static int write_stack(struct orma_export_file *file, const struct node *leaf)
{
	const struct node *frames[FRAMES_MAX];
	const struct node *node = leaf;
	size_t count = 0;
	char number[32];
	int status = 0;
	do
		frames[count++] = node;
	while ((node = node->parent) && count < ORMA_ARRAY_SIZE(frames));
	for (size_t i = count; i > 0 && status == 0; i--) {
		status = orma_export_file_write(file, frames[i - 1]->name, frames[i - 1]->size);
		if (status == 0 && i > 1)
			status = orma_export_file_write(file, ";", 1);
	}
	snprintf(number, sizeof(number), " %lld\n", (long long)leaf->count);
	return status ? status : orma_export_file_write(file, number, strlen(number));
}

/* --- slices -------------------------------------------------------------------------------- */

struct open_slices {
	struct node *thread;
	struct node *nodes[DEPTH_MAX]; /* by depth */
};

static struct open_slices *slices_of(struct tree *tree, struct orma_map *tracks, sqlite3_stmt *row)
{
	uint64_t track = (uint64_t)sqlite3_column_int64(row, 0);
	struct open_slices *open = orma_base_map_get(tracks, track);
	if (open)
		return open;
	open = orma_base_arena_alloc(&tree->arena, sizeof(*open));
	if (!open || orma_base_map_put(tracks, track, open) < 0) {
		tree->error = -ENOMEM;
		return NULL;
	}
	*open = (struct open_slices){
		.thread = named_child(tree, named_child(tree, NULL, row, 4), row, 5)};
	return open;
}

/* 0 or -ENOMEM. */
static int add_slice(struct tree *tree, struct orma_map *tracks, sqlite3_stmt *row)
{
	struct open_slices *open = slices_of(tree, tracks, row);
	int64_t depth = sqlite3_column_int64(row, 1), dur = sqlite3_column_int64(row, 2);
	if (!open || depth < 0 || depth >= DEPTH_MAX)
		return tree->error;
	struct node *parent = depth > 0 ? open->nodes[depth - 1] : NULL;
	struct node *node = named_child(tree, parent ? parent : open->thread, row, 3);
	if (!node)
		return tree->error;
	open->nodes[depth] = node;
	node->count += dur;
	if (parent)
		parent->count -= dur;
	return tree->error;
}

static int add_slices(struct orma_trace_database *database, struct tree *tree)
{
	struct orma_map tracks = {0};
	int r = 0, more = -1;
	/* A slice without an end lasts as long as the trace. */
	sqlite3_stmt *row = orma_export_prepare(
		database,
		"select s.track_id, s.depth, iif(s.dur < 0, b.end_ts - s.ts, s.dur), "
		"coalesce(s.name, '[no name]'), coalesce(p.name, tp.name), coalesce(t.name, "
		"k.name) "
		"from slice s join trace_bounds b join __intrinsic_track k on k.id = s.track_id "
		"left join thread t on t.utid = k.utid left join process tp on tp.upid = t.upid "
		"left join process p on p.upid = k.upid order by s.id");
	while (row && r == 0 && (more = orma_export_step(row)) > 0)
		r = add_slice(tree, &tracks, row);
	sqlite3_finalize(row);
	orma_base_map_done(&tracks);
	return r < 0 ? orma_tool_fail("%s", strerror(-r)) : more < 0 ? ORMA_EXIT_FAILURE : 0;
}

/* --- samples ------------------------------------------------------------------------------- */

static struct node *child_named(struct tree *tree, struct node *parent, struct orma_str name)
{
	return name.size > 0 ? child_of(tree, parent, name) : parent;
}

/* Finds the node of the thread, below that of its process. */
static struct node *thread_of(struct tree *tree, const struct orma_trace_database *database,
			      const struct orma_profile_row *row)
{
	char id[32];
	int64_t upid = row->upid >= 0 ? row->upid : orma_thread_process(database, row->utid);
	struct orma_task_name thread = orma_thread_name(database, row->utid);
	if (thread.name.size == 0 && thread.id >= 0) {
		snprintf(id, sizeof(id), "%lld", (long long)thread.id);
		thread.name = orma_base_str(id);
	}
	struct node *process = child_named(tree, NULL, orma_process_name(database, upid).name);
	return tree->error ? NULL : child_named(tree, process, thread.name);
}

static int64_t callsite_cell(const struct orma_trace_database *database, size_t column,
			     int64_t callsite)
{
	return orma_trace_database_cell(database, ORMA_TABLE_STACK_CALLSITE, column,
					(uint64_t)callsite);
}

static void add_row(struct tree *tree, const struct orma_export_profile *profile,
		    const struct orma_profile_row *row)
{
	const struct orma_trace_database *database = profile->functions.database;
	int64_t callsites[DEPTH_MAX];
	size_t count = 0;
	struct node *node = thread_of(tree, database, row);
	for (int64_t at = row->callsite; at >= 0 && count < DEPTH_MAX;
	     at = callsite_cell(database, ORMA_STACK_CALLSITE_PARENT_ID, at))
		callsites[count++] = at;
	while (count > 0 && !tree->error) {
		uint32_t line_count;
		const struct orma_stack_line *lines = orma_stack_functions_frame(
			&profile->functions,
			callsite_cell(database, ORMA_STACK_CALLSITE_FRAME_ID, callsites[--count]),
			&line_count);
		for (uint32_t i = line_count; i > 0 && !tree->error; i--)
			node = child_named(tree, node,
					   profile->functions.items[lines[i - 1].function].name);
	}
	if (node && !tree->error)
		node->count += row->values[profile->value];
}

static int add_samples(struct orma_trace_database *database, struct tree *tree,
		       const struct orma_export_options *options)
{
	struct orma_export_profile profile;
	int status = orma_export_profile_read(&profile, database, options);
	for (uint32_t i = 0; status == 0 && profile.chosen && i < profile.chosen->row_count; i++)
		add_row(tree, &profile, &profile.chosen->rows[i]);
	orma_export_profile_done(&profile);
	return status == 0 && tree->error ? orma_tool_fail("%s", strerror(-tree->error)) : status;
}

static int write_tree(const struct tree *tree, const char *path)
{
	struct orma_export_file file;
	int status = orma_export_file_open(&file, path);
	if (status)
		return status;
	for (const struct node *node = tree->newest; node && status == 0; node = node->next)
		if (node->count > 0)
			status = write_stack(&file, node);
	if (status == 0)
		status = orma_export_file_finish(&file);
	orma_export_file_done(&file);
	return status;
}

int orma_export_collapsed(struct orma_trace_database *database,
			  const struct orma_export_options *options)
{
	struct tree tree = {.newest = NULL};
	int status = options->has_slices ? 0 : add_samples(database, &tree, options);
	/* A trace without samples has slices. */
	if (status == 0 && !tree.newest)
		status = add_slices(database, &tree);
	if (status == 0)
		status = write_tree(&tree, options->path);
	orma_base_map_done(&tree.nodes);
	orma_base_arena_done(&tree.arena);
	return status;
}
