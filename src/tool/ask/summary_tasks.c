/* SPDX-License-Identifier: Apache-2.0
 * summary_tasks.c - which processes and threads used the CPUs, and which ones waited for one.
 */
#include <errno.h>
#include <stdlib.h>

#include "answers/task_names.h"
#include "base/macros.h"
#include "tool/ask/summary_facts.h"

static const struct orma_fact_column process_columns[] = {
	{"process", "process", ORMA_FACT_TEXT},
	{"pid", "pid", ORMA_FACT_ID},
	{"cpu_ns", "CPU time", ORMA_FACT_NS},
	{"cpu_share", "of one CPU", ORMA_FACT_SHARE},
	{"runs", "runs", ORMA_FACT_COUNT},
	{"runnable_ns", "waited", ORMA_FACT_NS},
	{"max_delay_ns", "longest wait", ORMA_FACT_NS},
};

static const struct orma_fact_column thread_columns[] = {
	{"thread", "thread", ORMA_FACT_TEXT},
	{"tid", "tid", ORMA_FACT_ID},
	{"process", "process", ORMA_FACT_TEXT},
	{"pid", "pid", ORMA_FACT_ID},
	{"cpu_ns", "CPU time", ORMA_FACT_NS},
	{"cpu_share", "of one CPU", ORMA_FACT_SHARE},
	{"runs", "runs", ORMA_FACT_COUNT},
	{"runnable_ns", "waited", ORMA_FACT_NS},
	{"max_delay_ns", "longest wait", ORMA_FACT_NS},
};

static const struct orma_fact_column delay_columns[] = {
	{"ts", NULL, ORMA_FACT_NS},         {NULL, "at", ORMA_FACT_NUMBER},
	{"dur_ns", "waited", ORMA_FACT_NS}, {"thread", "thread", ORMA_FACT_TEXT},
	{"tid", "tid", ORMA_FACT_ID},       {"reason", "because", ORMA_FACT_TEXT},
	{"cpu", "CPU", ORMA_FACT_ID},       {"other", "which ran", ORMA_FACT_TEXT},
	{"other_tid", "tid", ORMA_FACT_ID}, {"other_ns", "for", ORMA_FACT_NS},
};

struct row {
	int64_t id; /* utid or upid */
	struct orma_task_time time;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->time.running_ns != y->time.running_ns)
		return x->time.running_ns > y->time.running_ns ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_name(struct orma_fact *cells, const struct orma_task_name *name)
{
	cells[0] = orma_fact_text(name->name);
	cells[1] = (struct orma_fact){.is_known = name->id >= 0, .integer = name->id};
}

static void put_time(const struct orma_summary *summary, struct orma_fact *cells,
		     const struct orma_task_time *time)
{
	int64_t length = summary->tasks.end_ns - summary->tasks.first_ns;
	cells[0] = orma_fact_integer(time->running_ns);
	cells[1] =
		orma_fact_number((double)time->running_ns / (double)ORMA_MAX(length, (int64_t)1));
	cells[2] = orma_fact_integer((int64_t)time->runs);
	cells[3] = orma_fact_integer(time->runnable_ns);
	cells[4] = orma_fact_integer(time->max_delay_ns);
}

static bool is_idle(const struct orma_summary *summary, size_t utid)
{
	return orma_trace_database_cell(summary->database, ORMA_TABLE_THREAD, ORMA_THREAD_IS_IDLE,
					utid) == 1;
}

static void add_time(struct orma_task_time *sum, const struct orma_task_time *time)
{
	sum->running_ns += time->running_ns;
	sum->runnable_ns += time->runnable_ns;
	sum->runs += time->runs;
	sum->max_delay_ns = ORMA_MAX(sum->max_delay_ns, time->max_delay_ns);
}

static int find_threads(struct orma_summary *summary)
{
	size_t count = summary->tasks.thread_count;
	struct row *rows = orma_base_arena_alloc(&summary->arena, (count + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		rows[i].id = (int64_t)i;
		if (!is_idle(summary, i))
			rows[i].time = summary->tasks.threads[i];
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < ORMA_MIN(count, summary->top) && rows[i].time.runs > 0; i++) {
		struct orma_fact *cells = orma_fact_table_add(&summary->threads);
		struct orma_task_name thread = orma_thread_name(summary->database, rows[i].id),
				      process = orma_process_name(
					      summary->database,
					      orma_thread_process(summary->database, rows[i].id));
		if (!cells)
			return -ENOMEM;
		put_name(cells, &thread);
		put_name(cells + 2, &process);
		put_time(summary, cells + 4, &rows[i].time);
	}
	return 0;
}

/* Threads of no known process stand together in the last row. */
static int find_processes(struct orma_summary *summary)
{
	struct orma_trace_database *database = summary->database;
	size_t count = (size_t)orma_store_table_rows(&database->tables.all[ORMA_TABLE_PROCESS]) + 1;
	struct row *rows = orma_base_arena_alloc(&summary->arena, count * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		rows[i].id = i + 1 < count ? (int64_t)i : -1;
	for (size_t i = 0; i < summary->tasks.thread_count; i++) {
		int64_t upid = orma_thread_process(database, (int64_t)i);
		if (!is_idle(summary, i))
			add_time(&rows[upid >= 0 ? (size_t)upid : count - 1].time,
				 &summary->tasks.threads[i]);
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < ORMA_MIN(count, summary->top) && rows[i].time.runs > 0; i++) {
		struct orma_fact *cells = orma_fact_table_add(&summary->processes);
		struct orma_task_name process = orma_process_name(database, rows[i].id);
		if (!cells)
			return -ENOMEM;
		put_name(cells, &process);
		if (rows[i].id < 0)
			cells[0] = orma_fact_text(ORMA_STR("(threads of unknown processes)"));
		put_time(summary, cells + 2, &rows[i].time);
	}
	return 0;
}

static int find_delays(struct orma_summary *summary)
{
	const struct orma_trace_database *database = summary->database;
	for (size_t i = 0; i < summary->tasks.longest_count; i++) {
		const struct orma_sched_delay *delay = &summary->tasks.longest[i];
		struct orma_task_name thread = orma_thread_name(database, delay->utid),
				      other = orma_thread_name(database, delay->other_utid);
		struct orma_fact *cells = orma_fact_table_add(&summary->delays);
		ORMA_AUTO(orma_base_buf_done) struct orma_buf at = {0};
		if (!cells ||
		    orma_base_buf_printf(&at, "%.6f s",
					 (double)(delay->ts - database->start_ns) / 1e9) < 0)
			return -ENOMEM;
		const char *text = orma_base_arena_strdup(
			&summary->arena, (struct orma_str){(const char *)at.data, at.size});
		if (!text)
			return -ENOMEM;
		cells[0] = orma_fact_integer(delay->ts);
		cells[1] = (struct orma_fact){.is_known = true, .text = orma_base_str(text)};
		cells[2] = orma_fact_integer(delay->length_ns);
		put_name(cells + 3, &thread);
		cells[5] = orma_fact_text(delay->is_preempted ? ORMA_STR("preempted")
							      : ORMA_STR("woken"));
		if (delay->ucpu >= 0)
			cells[6] = orma_fact_integer(orma_trace_database_cell(
				database, ORMA_TABLE_CPU, ORMA_CPU_CPU, (uint64_t)delay->ucpu));
		if (delay->other_utid >= 0 && is_idle(summary, (size_t)delay->other_utid))
			cells[7] = orma_fact_text(ORMA_STR("(it was idle)"));
		else
			put_name(cells + 7, &other);
		cells[9] = (struct orma_fact){.is_known = delay->other_utid >= 0,
					      .integer = delay->other_ns};
	}
	return 0;
}

int orma_summary_find_tasks(struct orma_summary *summary)
{
	struct orma_arena *arena = &summary->arena;
	summary->processes = (struct orma_fact_table){"cpu_by_process",
						      "CPU by process",
						      process_columns,
						      ORMA_ARRAY_SIZE(process_columns),
						      arena,
						      NULL,
						      0,
						      0};
	summary->threads = (struct orma_fact_table){"cpu_by_thread",
						    "CPU by thread",
						    thread_columns,
						    ORMA_ARRAY_SIZE(thread_columns),
						    arena,
						    NULL,
						    0,
						    0};
	summary->delays = (struct orma_fact_table){"longest_delays",
						   "Longest scheduling delays",
						   delay_columns,
						   ORMA_ARRAY_SIZE(delay_columns),
						   arena,
						   NULL,
						   0,
						   0};
	int r = orma_task_times_read(summary->database, summary->top, &summary->tasks);
	if (r == 0)
		r = find_processes(summary);
	if (r == 0)
		r = find_threads(summary);
	return r == 0 ? find_delays(summary) : r;
}
