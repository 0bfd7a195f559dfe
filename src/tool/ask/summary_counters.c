/* SPDX-License-Identifier: Apache-2.0
 * summary_counters.c - memory of the machine and of processes, CPU times that the machine counts, and other counters.
 */
#include <errno.h>
#include <stdlib.h>

#include "answers/task_names.h"
#include "base/macros.h"
#include "tool/ask/summary_facts.h"
#include "tool/ask/units.h"

static const struct orma_fact_column memory_columns[] = {
	{"process", "process", ORMA_FACT_TEXT},  {"pid", "pid", ORMA_FACT_ID},
	{"peak_bytes", "peak", ORMA_FACT_BYTES}, {"first_bytes", "first", ORMA_FACT_BYTES},
	{"last_bytes", "last", ORMA_FACT_BYTES}, {"change_bytes", "change", ORMA_FACT_BYTES},
	{"points", "over time", ORMA_FACT_LINE},
};

static const struct orma_fact_column mode_columns[] = {
	{"mode", "mode", ORMA_FACT_TEXT},
	{"cpu_ns", "CPU time", ORMA_FACT_NS},
	{"share", "share", ORMA_FACT_SHARE},
};

static const struct orma_fact_column counter_columns[] = {
	{"name", "counter", ORMA_FACT_TEXT},   {"process", NULL, ORMA_FACT_TEXT},
	{"pid", NULL, ORMA_FACT_ID},           {"thread", NULL, ORMA_FACT_TEXT},
	{"tid", NULL, ORMA_FACT_ID},           {"unit", NULL, ORMA_FACT_TEXT},
	{NULL, "of", ORMA_FACT_TEXT},          {"points", "over time", ORMA_FACT_LINE},
	{"values", "values", ORMA_FACT_COUNT}, {"min", "min", ORMA_FACT_NUMBER},
	{"max", "max", ORMA_FACT_NUMBER},      {"last", "last", ORMA_FACT_NUMBER},
	{"mean", NULL, ORMA_FACT_NUMBER},
};

static struct orma_str track_text(const struct orma_summary *summary, uint64_t track, size_t column)
{
	return orma_trace_database_text(
		summary->database,
		orma_trace_database_cell(summary->database, ORMA_TABLE_TRACK, column, track));
}

static int64_t track_owner(const struct orma_summary *summary, uint64_t track, size_t column)
{
	return orma_trace_database_cell(summary->database, ORMA_TABLE_TRACK, column, track);
}

static struct orma_fact line_of(const struct orma_counter_group *group)
{
	return (struct orma_fact){.is_known = group->points != NULL,
				  .points = group->points,
				  .point_count = ORMA_COUNTER_POINTS};
}

/* Puts a track among the largest ones, which are sorted. Returns how many there are. */
static size_t keep_largest(uint64_t *tracks, double *sizes, size_t count, size_t limit,
			   uint64_t track, double size)
{
	size_t place = count;
	if (limit == 0 || (count == limit && size <= sizes[count - 1]))
		return count;
	place -= count == limit;
	for (; place > 0 && sizes[place - 1] < size; place--) {
		tracks[place] = tracks[place - 1];
		sizes[place] = sizes[place - 1];
	}
	tracks[place] = track;
	sizes[place] = size;
	return count < limit ? count + 1 : count;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The resident memory of processes, which two data sources report under two names. */
static size_t find_resident(struct orma_summary *summary, const char *name, uint64_t *tracks,
			    double *sizes)
{
	size_t count = 0;
	for (uint64_t i = 0; i < summary->counters.track_count; i++)
		if (summary->counters.tracks[i].count > 0 &&
		    track_owner(summary, i, ORMA_TRACK_UPID) >= 0 &&
		    orma_base_str_is(track_text(summary, i, ORMA_TRACK_NAME), name))
			count = keep_largest(tracks, sizes, count, summary->top, i,
					     summary->counters.tracks[i].max);
	return count;
}

static int add_memory(struct orma_summary *summary, uint64_t track)
{
	const struct orma_counter_group *group = &summary->counters.tracks[track];
	struct orma_task_name process =
		orma_process_name(summary->database, track_owner(summary, track, ORMA_TRACK_UPID));
	struct orma_fact *cells = orma_fact_table_add(&summary->memory);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_text(process.name);
	cells[1] = (struct orma_fact){.is_known = process.id >= 0, .integer = process.id};
	cells[2] = orma_fact_number(group->max);
	cells[3] = orma_fact_number(group->first);
	cells[4] = orma_fact_number(group->last);
	cells[5] = orma_fact_number(group->last - group->first);
	cells[6] = line_of(group);
	return 0;
}

/* --- CPU times of /proc/stat ------------------------------------------------------------------ */

static const struct {
	const char *name, *words;
} modes[] = {
	{"cpu.times.user_ns", "programs"},
	{"cpu.times.user_nice_ns", "programs, niced"},
	{"cpu.times.system_mode_ns", "kernel"},
	{"cpu.times.irq_ns", "interrupts"},
	{"cpu.times.softirq_ns", "soft interrupts"},
	{"cpu.times.io_wait_ns", "idle, waiting for I/O"},
	{"cpu.times.steal_ns", "taken by the host"},
	{"cpu.times.idle_ns", "idle"},
};

/* Each CPU has a counter for each mode, which only grows. */
static int find_modes(struct orma_summary *summary)
{
	double times[ORMA_ARRAY_SIZE(modes)] = {0}, all = 0;
	for (uint64_t i = 0; i < summary->counters.track_count; i++) {
		const struct orma_counter_group *group = &summary->counters.tracks[i];
		struct orma_str name = track_text(summary, i, ORMA_TRACK_NAME);
		for (size_t k = 0; group->count > 0 && k < ORMA_ARRAY_SIZE(modes); k++)
			if (orma_base_str_is(name, modes[k].name))
				times[k] += group->last - group->first;
	}
	for (size_t k = 0; k < ORMA_ARRAY_SIZE(modes); k++)
		all += times[k];
	for (size_t k = 0; k < ORMA_ARRAY_SIZE(modes); k++) {
		if (times[k] <= 0 || times[k] > 9e18)
			continue;
		struct orma_fact *cells = orma_fact_table_add(&summary->modes);
		if (!cells)
			return -ENOMEM;
		cells[0] = orma_fact_text(orma_base_str(modes[k].words));
		cells[1] = orma_fact_integer((int64_t)times[k]);
		cells[2] = orma_fact_number(times[k] / all);
	}
	return 0;
}

/* --- other counters --------------------------------------------------------------------------- */

static bool is_of_programs(struct orma_str type)
{
	static const char suffix[] = "track_event";
	size_t size = sizeof(suffix) - 1;
	return type.size >= size && memcmp(type.data + type.size - size, suffix, size) == 0;
}

/* Larger is more worth seeing: what programs count comes before what the system counts, and what changes often before
 * what does so once. The resident memory and CPU times have tables of their own. */
static double interest_of(const struct orma_summary *summary, uint64_t track)
{
	const struct orma_counter_group *group = &summary->counters.tracks[track];
	struct orma_str type = track_text(summary, track, ORMA_TRACK_TYPE);
	double share = (double)group->changes / (double)group->count;
	if (group->changes == 0 || orma_base_str_is(type, "cpustat") ||
	    orma_base_str_is(type, "process_memory") || orma_base_str_is(type, "cpu_idle"))
		return 0;
	if (is_of_programs(type))
		return 100 + share;
	/* A counter that never goes back counts events since the start of the machine. */
	bool is_sum = group->first <= group->min && group->last >= group->max;
	return (is_sum || orma_base_str_is(type, "vmstat") ? 1 : 10) + share;
}

/* Appends "CPU 1" for a counter of a CPU. */
static void append_cpu(struct orma_summary *summary, uint64_t track, struct orma_buf *out)
{
	const struct orma_arg_list *list;
	int64_t set = track_owner(summary, track, ORMA_TRACK_DIMENSION_ARG_SET_ID);
	if (set == ORMA_CELL_NULL || orma_trace_database_args(summary->database, set, &list) < 0)
		return;
	for (uint32_t i = 0; i < list->count; i++)
		if (orma_base_str_is(orma_trace_database_text(summary->database, list->args[i].key),
				     "cpu"))
			(void)orma_base_buf_printf(out, "CPU %lld", (long long)list->args[i].value);
}

/* The numbers of a counter with a unit that people read in other ways. */
static struct orma_fact value_of(struct orma_summary *summary, struct orma_str unit, double value)
{
	struct orma_fact ret = orma_fact_number(value);
	char text[ORMA_UNIT_BYTES];
	if (orma_base_str_is(unit, "bytes"))
		orma_units_size(value, text);
	else if (orma_base_str_is(unit, "ns") && value > -9e18 && value < 9e18)
		orma_units_duration((int64_t)value, text);
	else
		return ret;
	ret.text = orma_base_str(orma_base_arena_strdup(&summary->arena, orma_base_str(text)));
	return ret;
}

static int add_counter(struct orma_summary *summary, uint64_t track)
{
	const struct orma_counter_group *group = &summary->counters.tracks[track];
	struct orma_trace_database *database = summary->database;
	struct orma_str unit = track_text(summary, track, ORMA_TRACK_COUNTER_UNIT);
	int64_t utid = track_owner(summary, track, ORMA_TRACK_UTID);
	int64_t upid = utid >= 0 ? orma_thread_process(database, utid)
				 : track_owner(summary, track, ORMA_TRACK_UPID);
	struct orma_task_name thread = orma_thread_name(database, utid),
			      process = orma_process_name(database, upid);
	struct orma_fact *cells = orma_fact_table_add(&summary->counter_lines);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf owner = {0};
	if (!cells)
		return -ENOMEM;
	if (utid >= 0 || upid >= 0)
		(void)orma_task_name_append(utid >= 0 ? &thread : &process, &owner);
	else
		append_cpu(summary, track, &owner);
	cells[0] = orma_fact_text(track_text(summary, track, ORMA_TRACK_NAME));
	cells[1] = orma_fact_text(process.name);
	cells[2] = (struct orma_fact){.is_known = process.id >= 0, .integer = process.id};
	cells[3] = orma_fact_text(thread.name);
	cells[4] = (struct orma_fact){.is_known = thread.id >= 0, .integer = thread.id};
	cells[5] = orma_fact_text(unit);
	cells[6] = orma_fact_text(orma_base_str(orma_base_arena_strdup(
		&summary->arena, (struct orma_str){(const char *)owner.data, owner.size})));
	cells[7] = line_of(group);
	cells[8] = orma_fact_integer((int64_t)group->count);
	cells[9] = value_of(summary, unit, group->min);
	cells[10] = value_of(summary, unit, group->max);
	cells[11] = value_of(summary, unit, group->last);
	cells[12] = orma_fact_number(group->sum / (double)group->count);
	return 0;
}

static int find_lines(struct orma_summary *summary, const uint64_t *resident, size_t resident_count)
{
	uint64_t tracks[ORMA_SUMMARY_TOP_MAX];
	double sizes[ORMA_SUMMARY_TOP_MAX];
	size_t count = 0;
	for (uint64_t i = 0; i < summary->counters.track_count; i++) {
		double interest =
			summary->counters.tracks[i].count > 0 ? interest_of(summary, i) : 0;
		if (interest > 0)
			count = keep_largest(tracks, sizes, count, summary->top, i, interest);
	}
	for (size_t i = 0; i < count; i++)
		summary->counters.tracks[tracks[i]].is_chosen = true;
	for (size_t i = 0; i < resident_count; i++)
		summary->counters.tracks[resident[i]].is_chosen = true;
	int r = orma_counter_groups_draw(summary->database, &summary->counters);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_counter(summary, tracks[i]);
	for (size_t i = 0; i < resident_count && r == 0; i++)
		r = add_memory(summary, resident[i]);
	return r;
}

int orma_summary_find_counters(struct orma_summary *summary)
{
	uint64_t resident[ORMA_SUMMARY_TOP_MAX];
	double sizes[ORMA_SUMMARY_TOP_MAX];
	summary->memory = (struct orma_fact_table){.key = "memory_by_process",
						   .title = "Resident memory by process",
						   .columns = memory_columns,
						   .column_count = ORMA_ARRAY_SIZE(memory_columns),
						   .arena = &summary->arena};
	summary->modes =
		(struct orma_fact_table){.key = "cpu_by_mode",
					 .title = "What all CPUs did, as the machine counts",
					 .columns = mode_columns,
					 .column_count = ORMA_ARRAY_SIZE(mode_columns),
					 .arena = &summary->arena};
	summary->counter_lines =
		(struct orma_fact_table){.key = "counters",
					 .title = "Counters",
					 .columns = counter_columns,
					 .column_count = ORMA_ARRAY_SIZE(counter_columns),
					 .arena = &summary->arena};
	int r = orma_counter_groups_read(summary->database, &summary->counters);
	if (r < 0)
		return r;
	size_t count = find_resident(summary, "mem.rss", resident, sizes);
	if (count == 0)
		count = find_resident(summary, "mem.rss.anon", resident, sizes);
	r = find_lines(summary, resident, count);
	return r == 0 ? find_modes(summary) : r;
}
