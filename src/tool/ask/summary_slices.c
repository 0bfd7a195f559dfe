/* SPDX-License-Identifier: Apache-2.0
 * summary_slices.c - which slices take the time, and why the slowest ones did.
 *
 * A slice is slow when it takes much longer than others of its name: the time beyond the median of the name decides. By
 * length alone the slowest would be the slices that last as long as the program. A name that occurs once has nothing to
 * compare with, so such slices follow, by their length.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answers/task_names.h"
#include "base/assert.h"
#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/arg_text.h"
#include "tool/ask/summary_facts.h"
#include "tool/ask/units.h"

/* --- tables ----------------------------------------------------------------------------------- */

static const struct orma_fact_column group_columns[] = {
	{"name", "name", ORMA_FACT_TEXT},      {"category", "category", ORMA_FACT_TEXT},
	{"count", "count", ORMA_FACT_COUNT},   {"total_ns", "total", ORMA_FACT_NS},
	{"self_ns", "self", ORMA_FACT_NS},     {"p50_ns", "p50", ORMA_FACT_NS},
	{"p99_ns", "p99", ORMA_FACT_NS},       {"max_ns", "max", ORMA_FACT_NS},
	{"unfinished", NULL, ORMA_FACT_COUNT},
};

static int64_t by_total(const struct orma_slice_group *group)
{
	return group->total_ns;
}

static int64_t by_self(const struct orma_slice_group *group)
{
	return group->self_ns;
}

static int64_t by_max(const struct orma_slice_group *group)
{
	return group->max_ns;
}

/* Finds the groups with the largest sizes, the largest first; those of size 0 are left out. Returns how many there are. */
static size_t find_top(struct orma_summary *summary,
		       int64_t size_of(const struct orma_slice_group *),
		       struct orma_slice_group **ret)
{
	const size_t top = summary->top;
	size_t count = 0;
	ORMA_ASSERT(top > 0);
	for (uint32_t i = 0; i < summary->slices.count; i++) {
		struct orma_slice_group *group = &summary->slices.items[i];
		int64_t size = size_of(group);
		size_t place = count;
		if (size <= 0 || (count == top && size <= size_of(ret[count - 1])))
			continue;
		place -= count == top;
		count += count < top;
		for (; place > 0 && size_of(ret[place - 1]) < size; place--)
			ret[place] = ret[place - 1];
		ret[place] = group;
	}
	return count;
}

static int add_group(struct orma_summary *summary, struct orma_fact_table *table,
		     struct orma_slice_group *group)
{
	struct orma_fact *cells = orma_fact_table_add(table);
	if (!cells)
		return -ENOMEM;
	struct orma_str name = orma_trace_database_text(summary->database, group->name);
	cells[0] = orma_fact_text(name.data ? name : ORMA_STR("[no name]"));
	cells[1] = orma_fact_text(orma_trace_database_text(summary->database, group->category));
	cells[2] = orma_fact_integer((int64_t)group->count);
	cells[3] = orma_fact_integer(group->total_ns);
	cells[4] = orma_fact_integer(ORMA_MAX(group->self_ns, (int64_t)0));
	cells[5] = orma_fact_integer(orma_sample_quantile(&group->lengths, 500));
	cells[6] = orma_fact_integer(orma_sample_quantile(&group->lengths, 990));
	cells[7] = orma_fact_integer(group->max_ns);
	cells[8] = orma_fact_integer((int64_t)group->unfinished);
	return 0;
}

/* --- slices that do not end ------------------------------------------------------------------- */

static const struct orma_fact_column open_columns[] = {
	{"id", NULL, ORMA_FACT_ID},
	{"name", "name", ORMA_FACT_TEXT},
	{"category", NULL, ORMA_FACT_TEXT},
	{"thread", "thread", ORMA_FACT_TEXT},
	{"tid", "tid", ORMA_FACT_ID},
	{"process", "process", ORMA_FACT_TEXT},
	{"pid", "pid", ORMA_FACT_ID},
	{"ts", NULL, ORMA_FACT_NS},
	{"open_ns", "open for", ORMA_FACT_NS},
};

static int add_open(struct orma_summary *summary, uint64_t row)
{
	const struct orma_trace_database *database = summary->database;
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SLICE].columns;
	uint64_t track = (uint64_t)orma_store_column_get(&columns[ORMA_SLICE_TRACK_ID], row);
	int64_t utid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, track);
	int64_t upid = utid >= 0 ? orma_thread_process(database, utid)
				 : orma_trace_database_cell(database, ORMA_TABLE_TRACK,
							    ORMA_TRACK_UPID, track);
	struct orma_task_name thread = orma_thread_name(database, utid),
			      process = orma_process_name(database, upid);
	int64_t ts = orma_store_column_get(&columns[ORMA_SLICE_TS], row);
	struct orma_fact *cells = orma_fact_table_add(&summary->open);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_integer((int64_t)row);
	cells[1] = orma_fact_text(orma_trace_database_text(
		database, orma_store_column_get(&columns[ORMA_SLICE_NAME], row)));
	cells[2] = orma_fact_text(orma_trace_database_text(
		database, orma_store_column_get(&columns[ORMA_SLICE_CATEGORY], row)));
	cells[3] = orma_fact_text(thread.name);
	cells[4] = (struct orma_fact){.is_known = thread.id >= 0, .integer = thread.id};
	cells[5] = orma_fact_text(process.name);
	cells[6] = (struct orma_fact){.is_known = process.id >= 0, .integer = process.id};
	cells[7] = orma_fact_integer(ts);
	cells[8] = orma_fact_integer(database->end_ns - ts);
	return 0;
}

static int find_open(struct orma_summary *summary)
{
	int r = 0;
	summary->open = (struct orma_fact_table){.key = "unfinished_slices",
						 .title = "Slices that the trace does not see end",
						 .columns = open_columns,
						 .column_count = ORMA_ARRAY_SIZE(open_columns),
						 .arena = &summary->arena};
	size_t count = ORMA_MIN(summary->slices.open_count, summary->top);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_open(summary, summary->slices.open_rows[i]);
	return r;
}

/* --- the slowest slices ----------------------------------------------------------------------- */

static int64_t excess_of(const struct orma_slow_slice *slow)
{
	return slow->cause.length_ns - slow->usual_ns;
}

/* Slices whose name occurs once come last. */
static int compare_slow(const void *a, const void *b)
{
	const struct orma_slow_slice *x = a, *y = b;
	bool x_is_alone = x->group->count == 1, y_is_alone = y->group->count == 1;
	if (x_is_alone != y_is_alone)
		return x_is_alone ? 1 : -1;
	int64_t x_size = x_is_alone ? x->cause.length_ns : excess_of(x),
		y_size = y_is_alone ? y->cause.length_ns : excess_of(y);
	if (x_size != y_size)
		return x_size > y_size ? -1 : 1;
	return x->cause.row < y->cause.row ? -1 : x->cause.row > y->cause.row;
}

static void collect_slow(struct orma_summary *summary, struct orma_slice_group *group)
{
	int64_t usual_ns = orma_sample_quantile(&group->lengths, 500);
	for (uint32_t i = 0; i < group->slowest_count; i++) {
		struct orma_slow_slice *slow = &summary->slowest[summary->slowest_count];
		bool is_unusual = group->slowest_ns[i] - usual_ns >= usual_ns / 2;
		if ((!is_unusual && group->count > 1) || group->slowest_ns[i] == 0)
			continue;
		*slow = (struct orma_slow_slice){.group = group, .usual_ns = usual_ns};
		slow->cause.row = group->slowest[i];
		slow->cause.length_ns = group->slowest_ns[i];
		summary->slowest_count++;
	}
}

/* System calls have no category. Most of them are long because they wait, so they count when there is nothing else. */
static void collect_all(struct orma_summary *summary, bool only_with_category)
{
	for (uint32_t i = 0; i < summary->slices.count; i++) {
		struct orma_slice_group *group = &summary->slices.items[i];
		if (group->is_chosen && (!only_with_category || group->category != ORMA_CELL_NULL))
			collect_slow(summary, group);
	}
}

static int find_slowest(struct orma_summary *summary)
{
	size_t chosen = 0;
	for (uint32_t i = 0; i < summary->slices.count; i++)
		chosen += summary->slices.items[i].is_chosen;
	summary->slowest = orma_base_arena_alloc(
		&summary->arena, (chosen * ORMA_SLOWEST_MAX + 1) * sizeof(*summary->slowest));
	if (!summary->slowest)
		return -ENOMEM;
	collect_all(summary, true);
	if (summary->slowest_count == 0)
		collect_all(summary, false);
	if (summary->slowest_count > 0)
		qsort(summary->slowest, summary->slowest_count, sizeof(*summary->slowest),
		      compare_slow);
	summary->slowest_count = ORMA_MIN(summary->slowest_count, summary->top);
	struct orma_slice_cause *causes = orma_base_arena_alloc(
		&summary->arena, (summary->slowest_count + 1) * sizeof(*causes));
	if (!causes)
		return -ENOMEM;
	for (size_t i = 0; i < summary->slowest_count; i++)
		causes[i] = summary->slowest[i].cause;
	int r = orma_slice_causes_find(summary->database, causes, summary->slowest_count);
	for (size_t i = 0; i < summary->slowest_count; i++)
		summary->slowest[i].cause = causes[i];
	return r;
}

int orma_summary_find_slices(struct orma_summary *summary)
{
	struct orma_slice_group *top[3][ORMA_SUMMARY_TOP_MAX];
	size_t counts[3];
	struct orma_fact_table empty = {.columns = group_columns,
					.column_count = ORMA_ARRAY_SIZE(group_columns),
					.arena = &summary->arena};
	summary->by_total = summary->by_self = empty;
	summary->by_total.key = "slices_by_total";
	summary->by_total.title = "Slices by total time";
	summary->by_self.key = "slices_by_self";
	summary->by_self.title = "Slices by self time (without the slices inside)";
	int r = orma_slice_groups_read(summary->database, &summary->slices);
	if (r < 0)
		return r;
	counts[0] = find_top(summary, by_total, top[0]);
	counts[1] = find_top(summary, by_self, top[1]);
	counts[2] = find_top(summary, by_max, top[2]);
	for (size_t kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < counts[kind]; i++)
			top[kind][i]->is_chosen = true;
	r = orma_slice_groups_measure(summary->database, &summary->slices);
	for (size_t i = 0; i < counts[0] && r == 0; i++)
		r = add_group(summary, &summary->by_total, top[0][i]);
	for (size_t i = 0; i < counts[1] && r == 0; i++)
		r = add_group(summary, &summary->by_self, top[1][i]);
	if (r == 0)
		r = find_open(summary);
	return r == 0 ? find_slowest(summary) : r;
}

/* --- the slowest, for people ------------------------------------------------------------------ */

static void add_part(struct orma_buf *line, const char *what, int64_t ns)
{
	char text[ORMA_UNIT_BYTES];
	if (ns > 0)
		(void)orma_base_buf_printf(line, "%s%s %s", line->size > 0 ? ", " : "", what,
					   orma_units_duration(ns, text));
}

/* "running 1.2 ms, waiting for a CPU 0.3 ms, asleep 6.9 ms (woken by db (77))" */
static void describe_states(const struct orma_summary *summary,
			    const struct orma_slice_cause *cause, struct orma_buf *line)
{
	const struct orma_trace_database *database = summary->database;
	struct orma_task_name waker = orma_thread_name(database, cause->waker_utid);
	struct orma_str function = orma_trace_database_text(database, cause->blocked_function);
	add_part(line, "running", cause->running_ns);
	add_part(line, "waiting for a CPU", cause->runnable_ns);
	add_part(line, "asleep", cause->asleep_ns);
	add_part(line, "blocked in the kernel", cause->uninterruptible_ns);
	if (cause->io_ns > 0)
		(void)orma_base_buf_append_str(line, " (for I/O)");
	if (function.size > 0)
		(void)orma_base_buf_printf(line, ", mostly in %.*s",
					   (int)ORMA_MIN(function.size, (size_t)256),
					   function.data);
	if (cause->waker_utid >= 0) {
		/* On an idle CPU only an interrupt can wake a thread, mostly a timer's. */
		bool is_idle =
			orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_IS_IDLE,
						 (uint64_t)cause->waker_utid) == 1;
		(void)orma_base_buf_append_str(line,
					       is_idle ? "; woken by an interrupt" : "; woken by ");
		if (!is_idle)
			(void)orma_task_name_append(&waker, line);
	}
}

static void describe_child(const struct orma_summary *summary, const struct orma_slice_cause *cause,
			   struct orma_buf *line)
{
	char time[ORMA_UNIT_BYTES];
	struct orma_str name = orma_trace_database_text(summary->database, cause->child_name);
	if (cause->child_ns * 10 < cause->length_ns * 3 || name.size == 0)
		return; /* less than three tenths explain nothing */
	(void)orma_base_buf_printf(line, "inside it: %.*s, %s",
				   (int)ORMA_MIN(name.size, (size_t)256), name.data,
				   orma_units_duration(cause->child_ns, time));
	if (cause->child_count > 1)
		(void)orma_base_buf_printf(line, " in %" PRIu64 " slices", cause->child_count);
}

static void write_detail(const struct orma_summary_sink *sink, const struct orma_buf *line)
{
	if (line->size > 0)
		sink->detail(sink->ctx, orma_base_buf_str(line));
}

static void describe_factor(const struct orma_slow_slice *slow, struct orma_buf *line)
{
	double factor = (double)slow->cause.length_ns / (double)slow->usual_ns;
	char usual[ORMA_UNIT_BYTES], count[ORMA_UNIT_BYTES];
	orma_units_duration(slow->usual_ns, usual);
	if (slow->group->count == 1 || slow->usual_ns == 0)
		return;
	if (factor < 100)
		(void)orma_base_buf_printf(line, "%.1f times the usual %s", factor, usual);
	else
		(void)orma_base_buf_printf(line, "%s times the usual %s",
					   orma_units_count((uint64_t)factor, count), usual);
}

static void write_slow(const struct orma_summary *summary, const struct orma_slow_slice *slow,
		       const struct orma_summary_sink *sink)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	const struct orma_slice_cause *cause = &slow->cause;
	struct orma_trace_database *database = summary->database;
	struct orma_task_name thread = orma_thread_name(database, cause->utid),
			      process = orma_process_name(database, cause->upid);
	struct orma_str name = orma_trace_database_text(database, slow->group->name);
	char length[ORMA_UNIT_BYTES];
	(void)orma_base_buf_append(&line, name.size > 0 ? name.data : "[no name]",
				   name.size > 0 ? ORMA_MIN(name.size, (size_t)200) : 9);
	(void)orma_base_buf_printf(&line, " at %.6f s",
				   (double)(cause->ts - database->start_ns) / 1e9);
	if (cause->utid >= 0) {
		(void)orma_base_buf_append_str(&line, ", thread ");
		(void)orma_task_name_append(&thread, &line);
	}
	if (cause->upid >= 0 && process.id != thread.id) {
		(void)orma_base_buf_append_str(&line, cause->utid >= 0 ? " of " : ", process ");
		(void)orma_task_name_append(&process, &line);
	}
	sink->item(sink->ctx, orma_units_duration(cause->length_ns, length),
		   orma_base_buf_str(&line));
	line.size = 0;
	describe_factor(slow, &line);
	describe_states(summary, cause, &line);
	write_detail(sink, &line);
	line.size = 0;
	describe_child(summary, cause, &line);
	write_detail(sink, &line);
	line.size = 0;
	if (orma_arg_set_append_text(database, orma_slice_arg_set(database, cause->row), &line) ==
	    0)
		write_detail(sink, &line);
}

void orma_summary_write_slowest(struct orma_summary *summary, const struct orma_summary_sink *sink)
{
	if (summary->slowest_count == 0)
		return;
	sink->title(sink->ctx, "Slowest slices, compared with the median of their names");
	for (size_t i = 0; i < summary->slowest_count; i++)
		write_slow(summary, &summary->slowest[i], sink);
}

/* --- the slowest, for programs ---------------------------------------------------------------- */

static const struct orma_fact_column slow_columns[] = {
	{"id", NULL, ORMA_FACT_ID},         {"name", NULL, ORMA_FACT_TEXT},
	{"category", NULL, ORMA_FACT_TEXT}, {"ts", NULL, ORMA_FACT_NS},
	{"dur_ns", NULL, ORMA_FACT_NS},     {"usual_ns", NULL, ORMA_FACT_NS},
	{"thread", NULL, ORMA_FACT_TEXT},   {"tid", NULL, ORMA_FACT_ID},
	{"process", NULL, ORMA_FACT_TEXT},  {"pid", NULL, ORMA_FACT_ID},
	{"running_ns", NULL, ORMA_FACT_NS}, {"runnable_ns", NULL, ORMA_FACT_NS},
	{"asleep_ns", NULL, ORMA_FACT_NS},  {"uninterruptible_ns", NULL, ORMA_FACT_NS},
	{"io_ns", NULL, ORMA_FACT_NS},      {"blocked_function", NULL, ORMA_FACT_TEXT},
	{"waker", NULL, ORMA_FACT_TEXT},    {"waker_tid", NULL, ORMA_FACT_ID},
	{"child", NULL, ORMA_FACT_TEXT},    {"child_ns", NULL, ORMA_FACT_NS},
};

static struct orma_fact known_integer(bool is_known, int64_t integer)
{
	return (struct orma_fact){.is_known = is_known, .integer = integer};
}

static int append_slow(struct orma_summary *summary, const struct orma_slow_slice *slow,
		       struct orma_buf *json)
{
	const struct orma_slice_cause *cause = &slow->cause;
	struct orma_trace_database *database = summary->database;
	struct orma_task_name thread = orma_thread_name(database, cause->utid),
			      process = orma_process_name(database, cause->upid),
			      waker = orma_thread_name(database, cause->waker_utid);
	const struct orma_fact cells[] = {
		orma_fact_integer((int64_t)cause->row),
		orma_fact_text(orma_trace_database_text(database, slow->group->name)),
		orma_fact_text(orma_trace_database_text(database, slow->group->category)),
		orma_fact_integer(cause->ts),
		orma_fact_integer(cause->length_ns),
		known_integer(slow->group->count > 1, slow->usual_ns),
		orma_fact_text(thread.name),
		known_integer(thread.id >= 0, thread.id),
		orma_fact_text(process.name),
		known_integer(process.id >= 0, process.id),
		known_integer(cause->has_states, cause->running_ns),
		known_integer(cause->has_states, cause->runnable_ns),
		known_integer(cause->has_states, cause->asleep_ns),
		known_integer(cause->has_states, cause->uninterruptible_ns),
		known_integer(cause->has_states, cause->io_ns),
		orma_fact_text(orma_trace_database_text(database, cause->blocked_function)),
		orma_fact_text(waker.name),
		known_integer(waker.id >= 0, waker.id),
		orma_fact_text(orma_trace_database_text(database, cause->child_name)),
		known_integer(cause->child_name != ORMA_CELL_NULL, cause->child_ns),
	};
	int r = orma_fact_row_append_json(slow_columns, ORMA_ARRAY_SIZE(slow_columns), cells, json);
	if (r < 0)
		return r;
	json->size--; /* the arguments go before the closing brace */
	r = orma_json_append_key(json, "args");
	if (r == 0)
		r = orma_arg_set_append_json(database, orma_slice_arg_set(database, cause->row),
					     json);
	return r ? r : orma_base_buf_append_str(json, "}");
}

int orma_summary_append_slowest(struct orma_summary *summary, struct orma_buf *json)
{
	int r = orma_json_append_key(json, "slowest_slices");
	if (r == 0)
		r = orma_base_buf_append_str(json, "[");
	for (size_t i = 0; i < summary->slowest_count && r == 0; i++)
		r = append_slow(summary, &summary->slowest[i], json);
	return r ? r : orma_base_buf_append_str(json, "]");
}
