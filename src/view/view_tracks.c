/* SPDX-License-Identifier: Apache-2.0
 * view_tracks.c - the tree of the page's rows, made once from the tables of tracks, threads, processes and CPUs.
 *
 * The order is the same in every run: losses; CPUs; processes, those first that say where they want to be, then those with events of
 * their own, then by CPU time to the percent, by name and by pid; tracks and counters of nobody; interrupts; and
 * folded at the end the kernel's threads, and processes that did next to nothing. Within a process the tracks and counters that
 * the program made come first, then the main thread, then the others by tid, then what the system counts for the process, which
 * is folded when it is much. A thread is the strip of its states above its slices.
 */
#include "view/view_tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answers/column_scan.h"
#include "answers/losses.h"
#include "base/alloc.h"
#include "view/track_nodes.h"
#include "view/view_gaps.h"

/* A process counts as quiet below this share of all CPU time. */
enum { QUIET_PER_MILLE = 1, OPEN_PROCESSES = 8, OPEN_COUNTERS = 3 };

struct process {
	int64_t upid; /* -1 = threads of no known process */
	int64_t hint; /* INT64_MAX = none */
	int64_t running_ns;
	unsigned percent;
	struct orma_task_name name;
	bool has_events, has_rows, is_kernel, is_quiet;
};

struct thread {
	int64_t utid, upid, hint, tid;
	bool is_main;
};

struct tree {
	struct orma_track_tree nodes; /* first */
	int64_t *running;             /* by utid, in nanoseconds */
	int64_t busy;                 /* the sum of all */
	struct thread *threads;
	size_t thread_count;
	struct process *processes;
	size_t process_count;
};

static int64_t cell(const struct tree *tree, enum orma_table_id table, size_t column, uint64_t row)
{
	return orma_trace_database_cell(tree->nodes.view->database, table, column, row);
}

static uint64_t table_rows(const struct tree *tree, enum orma_table_id table)
{
	return orma_store_table_rows(&tree->nodes.view->database->tables.all[table]);
}

/* --- threads and processes -------------------------------------------------------------------- */

static bool has_states(const struct tree *tree, int64_t utid)
{
	return orma_track_count_events(&tree->nodes.view->lanes[ORMA_VIEW_THREAD_STATES],
				       (uint32_t)utid) > 0;
}

/* True when a thread or process has slices or states of its own. */
static bool has_events(const struct tree *tree, enum orma_listed_owner owner, int64_t id)
{
	uint32_t end, first = orma_track_list_find(&tree->nodes.tracks, owner, id, &end);
	return first < end && !tree->nodes.tracks.items[first].is_counter;
}

static int add_thread(struct tree *tree, const struct thread *thread, int64_t parent)
{
	struct orma_view *view = tree->nodes.view;
	struct orma_str name =
		orma_track_task_name(&tree->nodes, orma_thread_name(view->database, thread->utid));
	uint32_t end, first = orma_track_list_find(&tree->nodes.tracks, ORMA_TRACK_OF_THREAD,
						   thread->utid, &end);
	if (first == end && !has_states(tree, thread->utid))
		return 0;
	int64_t node =
		name.data ? orma_track_add_node(&tree->nodes, parent, "thread", name) : -ENOMEM;
	if (node < 0)
		return (int)node;
	uint32_t from = (uint32_t)node;
	if (has_states(tree, thread->utid)) {
		int64_t strip = orma_track_add_node(&tree->nodes, node, "states", name);
		if (strip < 0)
			return (int)strip;
		orma_track_set_lane(&tree->nodes, strip, ORMA_VIEW_THREAD_STATES,
				    (uint32_t)thread->utid);
	}
	int r = orma_track_add_all(&tree->nodes, first, end, node);
	for (; from < view->node_count; from++) {
		view->nodes[from].utid = thread->utid;
		view->nodes[from].upid = thread->upid;
	}
	return r;
}

/* Returns the first thread of a process, and *ret_end behind its last; -1 is the process of those without one. */
static size_t threads_of(const struct tree *tree, int64_t upid, size_t *ret_end)
{
	size_t low = 0, high = tree->thread_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tree->threads[middle].upid < upid)
			low = middle + 1;
		else
			high = middle;
	}
	for (*ret_end = low; *ret_end < tree->thread_count && tree->threads[*ret_end].upid == upid;)
		++*ret_end;
	return low;
}

/* Adds the counters [first, end) that the system has of a process. */
static int add_system_counters(struct tree *tree, uint32_t first, uint32_t end, int64_t process)
{
	if (end - first <= OPEN_COUNTERS)
		return orma_track_add_all(&tree->nodes, first, end, process);
	int64_t group = orma_track_add_node(&tree->nodes, process, "group", ORMA_STR("Counters"));
	if (group < 0)
		return (int)group;
	tree->nodes.view->nodes[group].is_open = false;
	return orma_track_add_all(&tree->nodes, first, end, group);
}

static int add_process(struct tree *tree, const struct process *process, int64_t parent,
		       bool is_open)
{
	struct orma_view *view = tree->nodes.view;
	struct orma_str name = orma_track_task_name(&tree->nodes, process->name);
	int64_t node =
		name.data ? orma_track_add_node(&tree->nodes, parent, "process", name) : -ENOMEM;
	if (node < 0)
		return (int)node;
	view->nodes[node].upid = view->nodes[node].density = process->upid;
	view->nodes[node].is_open = is_open;
	uint32_t last, first = orma_track_list_find(&tree->nodes.tracks, ORMA_TRACK_OF_PROCESS,
						    process->upid, &last);
	uint32_t own = first;
	while (own < last && !tree->nodes.tracks.items[own].is_of_system)
		own++;
	int r = orma_track_add_all(&tree->nodes, first, own, node);
	size_t end, i = threads_of(tree, process->upid, &end);
	for (; i < end && r == 0; i++)
		r = add_thread(tree, &tree->threads[i], node);
	return r == 0 ? add_system_counters(tree, own, last, node) : r;
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;
	if (x->upid != y->upid)
		return x->upid < y->upid ? -1 : 1;
	if (x->hint != y->hint)
		return x->hint < y->hint ? -1 : 1;
	if (x->is_main != y->is_main)
		return x->is_main ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

static int find_running(struct tree *tree)
{
	static const size_t columns[] = {ORMA_SCHED_DUR, ORMA_SCHED_UTID};
	uint64_t count = table_rows(tree, ORMA_TABLE_THREAD);
	struct orma_column_scan scan;
	tree->running =
		orma_base_arena_alloc(&tree->nodes.arena, (count + 1) * sizeof(*tree->running));
	if (!tree->running)
		return -ENOMEM;
	int r = orma_column_scan_begin(&scan, tree->nodes.view->lanes[ORMA_VIEW_SCHED].table,
				       columns, ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++) {
			uint64_t utid = (uint64_t)scan.cells[1][i];
			if (utid < count && scan.cells[0][i] > 0)
				orma_add_ns(&tree->running[utid], scan.cells[0][i]);
		}
	orma_column_scan_done(&scan);
	return r;
}

static int find_threads(struct tree *tree)
{
	uint64_t count = table_rows(tree, ORMA_TABLE_THREAD);
	int r = find_running(tree);
	tree->threads =
		orma_base_arena_alloc(&tree->nodes.arena, (count + 1) * sizeof(*tree->threads));
	if (r < 0 || !tree->threads)
		return r < 0 ? r : -ENOMEM;
	for (uint64_t utid = 0; utid < count; utid++) {
		struct thread thread = {
			.utid = (int64_t)utid,
			.upid = orma_thread_process(tree->nodes.view->database, (int64_t)utid),
			.hint = orma_view_int_arg(
				tree->nodes.view,
				cell(tree, ORMA_TABLE_THREAD, ORMA_THREAD_ARG_SET_ID, utid),
				"thread_sort_index_hint", INT64_MAX),
			.tid = cell(tree, ORMA_TABLE_THREAD, ORMA_THREAD_TID, utid),
			.is_main = cell(tree, ORMA_TABLE_THREAD, ORMA_THREAD_IS_MAIN_THREAD,
					utid) == 1};
		/* A CPU that does nothing is seen in the CPU's lane. */
		if (cell(tree, ORMA_TABLE_THREAD, ORMA_THREAD_IS_IDLE, utid) == 1 &&
		    !has_events(tree, ORMA_TRACK_OF_THREAD, (int64_t)utid))
			continue;
		orma_add_ns(&tree->busy, tree->running[utid]);
		tree->threads[tree->thread_count++] = thread;
	}
	if (tree->thread_count > 0)
		qsort(tree->threads, tree->thread_count, sizeof(*tree->threads), compare_threads);
	return 0;
}

/* The kernel's threads are processes whose parent is the one with the pid 2. */
static bool is_kernel(const struct tree *tree, uint64_t upid)
{
	int64_t parent = cell(tree, ORMA_TABLE_PROCESS, ORMA_PROCESS_PARENT_UPID, upid);
	struct orma_str name =
		orma_trace_database_text(tree->nodes.view->database,
					 cell(tree, ORMA_TABLE_PROCESS, ORMA_PROCESS_NAME, upid));
	if (cell(tree, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, upid) == 2)
		return orma_base_str_is(name, "kthreadd");
	return parent >= 0 && (uint64_t)parent < table_rows(tree, ORMA_TABLE_PROCESS) &&
	       cell(tree, ORMA_TABLE_PROCESS, ORMA_PROCESS_PID, (uint64_t)parent) == 2;
}

static void fill_process(const struct tree *tree, struct process *process)
{
	uint64_t upid = (uint64_t)process->upid;
	uint32_t last, first = orma_track_list_find(&tree->nodes.tracks, ORMA_TRACK_OF_PROCESS,
						    process->upid, &last);
	size_t end, i = threads_of(tree, process->upid, &end);
	process->name = orma_process_name(tree->nodes.view->database, process->upid);
	process->hint = orma_view_int_arg(
		tree->nodes.view, cell(tree, ORMA_TABLE_PROCESS, ORMA_PROCESS_ARG_SET_ID, upid),
		"process_sort_index_hint", INT64_MAX);
	process->is_kernel = is_kernel(tree, upid);
	process->has_rows = first < last;
	process->has_events = has_events(tree, ORMA_TRACK_OF_PROCESS, process->upid);
	for (; i < end; i++) {
		uint32_t behind,
			track = orma_track_list_find(&tree->nodes.tracks, ORMA_TRACK_OF_THREAD,
						     tree->threads[i].utid, &behind);
		orma_add_ns(&process->running_ns, tree->running[tree->threads[i].utid]);
		process->has_rows |= track < behind || has_states(tree, tree->threads[i].utid);
		process->has_events |=
			has_events(tree, ORMA_TRACK_OF_THREAD, tree->threads[i].utid);
	}
	double share = tree->busy > 0 ? (double)process->running_ns / (double)tree->busy : 0;
	process->percent = (unsigned)(share * 100 + 0.5);
	process->is_quiet = !process->has_events && share * 1000 < QUIET_PER_MILLE;
}

static int compare_processes(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	if (x->hint != y->hint)
		return x->hint < y->hint ? -1 : 1;
	if (x->has_events != y->has_events)
		return x->has_events ? -1 : 1;
	if (x->percent != y->percent)
		return x->percent > y->percent ? -1 : 1;
	int order = orma_view_compare_names(x->name.name, y->name.name);
	if (order)
		return order;
	if (x->name.id != y->name.id)
		return x->name.id < y->name.id ? -1 : 1;
	return x->upid < y->upid ? -1 : x->upid > y->upid;
}

static int find_processes(struct tree *tree)
{
	uint64_t count = table_rows(tree, ORMA_TABLE_PROCESS);
	tree->processes =
		orma_base_arena_alloc(&tree->nodes.arena, (count + 1) * sizeof(*tree->processes));
	if (!tree->processes)
		return -ENOMEM;
	for (uint64_t upid = 0; upid < count; upid++) {
		struct process *process = &tree->processes[tree->process_count];
		*process = (struct process){.upid = (int64_t)upid};
		fill_process(tree, process);
		tree->process_count += process->has_rows;
	}
	if (tree->process_count > 0)
		qsort(tree->processes, tree->process_count, sizeof(*tree->processes),
		      compare_processes);
	return 0;
}

/* --- the tree --------------------------------------------------------------------------------- */

static int add_losses(struct tree *tree)
{
	struct orma_losses losses;
	int r = orma_losses_find(tree->nodes.view->database, &losses);
	if (r == 0 && (losses.count > 0 || orma_view_has_gaps(tree->nodes.view))) {
		int64_t node = orma_track_add_node(&tree->nodes, -1, "losses", ORMA_STR("Losses"));
		r = node < 0 ? (int)node : 0;
		for (uint32_t i = 0; i < losses.count && r == 0; i++)
			tree->nodes.view->nodes[node].events += (uint64_t)losses.items[i].count;
	}
	orma_losses_done(&losses);
	return r;
}

static int add_cpus(struct tree *tree)
{
	struct orma_view *view = tree->nodes.view;
	const struct orma_lanes *lanes = &view->lanes[ORMA_VIEW_SCHED];
	uint32_t end, first = orma_track_list_find(&tree->nodes.tracks, ORMA_TRACK_OF_CPU, 0, &end);
	bool has_counters = first < end && tree->nodes.tracks.items[end - 1].is_counter;
	if (orma_store_table_rows(lanes->table) == 0 && !has_counters)
		return 0;
	int64_t group = orma_track_add_node(&tree->nodes, -1, "group", ORMA_STR("CPUs"));
	if (group < 0)
		return (int)group;
	view->nodes[group].density = ORMA_VIEW_DENSITY_OF_ALL;
	for (uint32_t ucpu = 0; ucpu < lanes->lane_count; ucpu++) {
		int64_t cpu = cell(tree, ORMA_TABLE_CPU, ORMA_CPU_CPU, ucpu);
		if (orma_track_count_events(lanes, ucpu) == 0)
			continue;
		struct orma_str name = orma_track_number_name(&tree->nodes, "CPU ",
							      cpu >= 0 ? (uint64_t)cpu : ucpu, "");
		int64_t node = name.data ? orma_track_add_node(&tree->nodes, group, "sched", name)
					 : -ENOMEM;
		if (node < 0)
			return (int)node;
		orma_track_set_lane(&tree->nodes, node, ORMA_VIEW_SCHED, ucpu);
		view->nodes[node].ucpu = ucpu;
	}
	/* There are many of them on some machines. */
	int64_t counters = has_counters ? orma_track_add_node(&tree->nodes, group, "group",
							      ORMA_STR("Counters of CPUs"))
					: 0;
	if (!has_counters || counters < 0)
		return (int)counters;
	view->nodes[counters].is_open = false;
	return orma_track_add_kind(&tree->nodes, first, end, true, counters);
}

/* Adds the tracks of CPUs or of nobody that are counters, or that are not, as a group. */
static int add_group(struct tree *tree, enum orma_listed_owner owner, bool is_counter,
		     const char *name, bool is_open)
{
	uint32_t end, first = orma_track_list_find(&tree->nodes.tracks, owner, 0, &end);
	bool is_there = false;
	for (uint32_t i = first; i < end; i++)
		is_there |= tree->nodes.tracks.items[i].is_counter == is_counter;
	int64_t group =
		is_there ? orma_track_add_node(&tree->nodes, -1, "group", orma_base_str(name)) : 0;
	if (!is_there || group < 0)
		return (int)group;
	tree->nodes.view->nodes[group].is_open = is_open;
	return orma_track_add_kind(&tree->nodes, first, end, is_counter, group);
}

/* Adds processes that are, or are not, the kernel's and quiet. The first ones are open unless they are in a group. */
static int add_processes(struct tree *tree, bool is_of_kernel, bool is_quiet, int64_t parent)
{
	unsigned open = parent < 0 ? OPEN_PROCESSES : 0;
	int r = 0;
	for (size_t i = 0; i < tree->process_count && r == 0; i++) {
		const struct process *process = &tree->processes[i];
		if (process->is_kernel != is_of_kernel ||
		    (!is_of_kernel && process->is_quiet != is_quiet))
			continue;
		r = add_process(tree, process, parent, open > 0 && process->has_events);
		open -= open > 0;
	}
	return r;
}

static int add_folded_processes(struct tree *tree, bool is_of_kernel)
{
	uint64_t count = 0;
	for (size_t i = 0; i < tree->process_count; i++)
		count += is_of_kernel
				 ? tree->processes[i].is_kernel
				 : !tree->processes[i].is_kernel && tree->processes[i].is_quiet;
	if (count == 0)
		return 0;
	struct orma_str name = is_of_kernel
				       ? ORMA_STR("Kernel threads")
				       : orma_track_number_name(&tree->nodes, "and ", count,
								count == 1 ? " quiet process"
									   : " quiet processes");
	int64_t group = name.data ? orma_track_add_node(&tree->nodes, -1, "group", name) : -ENOMEM;
	if (group < 0)
		return (int)group;
	tree->nodes.view->nodes[group].is_open = false;
	return add_processes(tree, is_of_kernel, !is_of_kernel, group);
}

/* Threads whose process the trace does not tell. */
static int add_other_threads(struct tree *tree)
{
	size_t end, i = threads_of(tree, -1, &end);
	if (i == end)
		return 0;
	int64_t group = orma_track_add_node(&tree->nodes, -1, "group",
					    ORMA_STR("Threads of unknown processes"));
	int r = group < 0 ? (int)group : 0;
	uint32_t before = tree->nodes.view->node_count;
	for (; i < end && r == 0; i++)
		r = add_thread(tree, &tree->threads[i], group);
	/* None of them may have rows. */
	if (r == 0 && tree->nodes.view->node_count == before)
		tree->nodes.view->node_count--;
	else if (r == 0)
		tree->nodes.view->nodes[group].is_open = tree->process_count == 0;
	return r;
}

static int make_tree(struct tree *tree)
{
	int r = orma_track_list_init(&tree->nodes.tracks, tree->nodes.view, &tree->nodes.arena);
	if (r == 0)
		r = find_threads(tree);
	if (r == 0)
		r = find_processes(tree);
	if (r == 0)
		r = add_losses(tree);
	if (r == 0)
		r = add_cpus(tree);
	if (r == 0)
		r = add_processes(tree, false, false, -1);
	if (r == 0)
		r = add_group(tree, ORMA_TRACK_OF_NOBODY, false, "Tracks", true);
	if (r == 0)
		r = add_group(tree, ORMA_TRACK_OF_NOBODY, true, "Counters", true);
	if (r == 0)
		r = add_group(tree, ORMA_TRACK_OF_CPU, false, "Interrupts and other work of CPUs",
			      false);
	if (r == 0)
		r = add_folded_processes(tree, true);
	if (r == 0)
		r = add_folded_processes(tree, false);
	return r == 0 ? add_other_threads(tree) : r;
}

int orma_view_tracks_init(struct orma_view *view)
{
	struct tree tree = {.nodes = {.view = view}};
	uint32_t lanes = view->first_lanes[ORMA_VIEW_TABLES];
	int r = make_tree(&tree);
	orma_base_arena_done(&tree.nodes.arena);
	if (r < 0)
		return r;
	view->lane_nodes = orma_base_alloc_array((size_t)lanes + 1, sizeof(*view->lane_nodes));
	if (!view->lane_nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->node_count; i++)
		if (view->nodes[i].table)
			view->lane_nodes[view->nodes[i].lane] = i + 1;
	return 0;
}

void orma_view_tracks_done(struct orma_view *view)
{
	orma_base_free(view->nodes);
	orma_base_free(view->lane_nodes);
	orma_base_arena_done(&view->names);
	view->nodes = NULL;
	view->lane_nodes = NULL;
	view->node_count = 0;
}

int64_t orma_view_node_of_lane(const struct orma_view *view, uint32_t lane)
{
	return lane < view->first_lanes[ORMA_VIEW_TABLES] ? (int64_t)view->lane_nodes[lane] - 1
							  : -1;
}
