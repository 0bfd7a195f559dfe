/* SPDX-License-Identifier: Apache-2.0
 * task_times.c - one pass over what ran on each CPU, and one over the states of threads.
 */
#include "answers/task_times.h"

#include <errno.h>

#include "answers/column_scan.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

enum { CPUS_MAX = 4096, OTHERS_MAX = 32, LOOK_BACK_ROWS = 1 << 14 };

static bool is_idle(const struct orma_trace_database *database, int64_t utid)
{
	return orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_IS_IDLE,
					(uint64_t)utid) == 1;
}

static int read_sched(struct orma_trace_database *database, struct orma_task_times *times)
{
	static const size_t columns[] = {ORMA_SCHED_TS, ORMA_SCHED_DUR, ORMA_SCHED_UTID,
					 ORMA_SCHED_UCPU};
	struct orma_column_scan scan;
	uint64_t seen[CPUS_MAX / 64] = {0};
	times->first_ns = INT64_MAX;
	int r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_SCHED], columns,
				       ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++) {
			int64_t ts = scan.cells[0][i], dur = scan.cells[1][i];
			uint64_t utid = (uint64_t)scan.cells[2][i],
				 ucpu = (uint64_t)scan.cells[3][i];
			if (dur < 0)
				dur = ORMA_MAX(database->end_ns - ts, (int64_t)0);
			if (utid >= times->thread_count)
				continue;
			times->first_ns = ORMA_MIN(times->first_ns, ts);
			times->end_ns = ORMA_MAX(times->end_ns, ts + dur);
			times->switches++;
			times->threads[utid].runs++;
			orma_add_ns(&times->threads[utid].running_ns, dur);
			if (ucpu < CPUS_MAX)
				seen[ucpu / 64] |= UINT64_C(1) << ucpu % 64;
		}
	orma_column_scan_done(&scan);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(seen); i++)
		times->cpus += (uint64_t)__builtin_popcountll(seen[i]);
	for (size_t i = 0; i < times->thread_count; i++)
		if (!is_idle(database, (int64_t)i))
			orma_add_ns(&times->busy_ns, times->threads[i].running_ns);
	return r;
}

static void keep_delay(struct orma_task_times *times, size_t limit,
		       const struct orma_sched_delay *delay)
{
	size_t place = times->longest_count;
	if (place == limit) {
		if (limit == 0 || delay->length_ns <= times->longest[place - 1].length_ns)
			return;
		place--;
	} else {
		times->longest_count++;
	}
	for (; place > 0 && times->longest[place - 1].length_ns < delay->length_ns; place--)
		times->longest[place] = times->longest[place - 1];
	times->longest[place] = *delay;
}

/* Returns the cell of a string, or one that no row has. */
static int64_t cell_of(const struct orma_trace_database *database, const char *text)
{
	uint32_t id = orma_store_pool_find(&database->tables.strings, orma_base_str(text));
	return id > 0 ? id : ORMA_CELL_NULL + 1;
}

static int read_states(struct orma_trace_database *database, struct orma_task_times *times,
		       size_t limit)
{
	static const size_t columns[] = {ORMA_THREAD_STATE_TS, ORMA_THREAD_STATE_DUR,
					 ORMA_THREAD_STATE_UTID, ORMA_THREAD_STATE_STATE};
	int64_t runnable = cell_of(database, "R"), preempted = cell_of(database, "R+");
	struct orma_column_scan scan;
	int r = orma_thread_states_finish(&database->importer.sched.states);
	if (r == 0)
		r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_THREAD_STATE],
					   columns, ORMA_ARRAY_SIZE(columns), 0);
	if (r < 0)
		return r;
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count && r == 0; i++) {
			int64_t state = scan.cells[3][i], dur = scan.cells[1][i];
			uint64_t utid = (uint64_t)scan.cells[2][i];
			struct orma_sched_delay delay = {.row = scan.first_row + i,
							 .ts = scan.cells[0][i],
							 .length_ns = dur,
							 .utid = (int64_t)utid};
			if ((state != runnable && state != preempted) ||
			    utid >= times->thread_count || is_idle(database, (int64_t)utid))
				continue;
			/* One that has not ended when the trace does is not known to be long. */
			if (dur < 0)
				continue;
			struct orma_task_time *thread = &times->threads[utid];
			orma_add_ns(&thread->runnable_ns, dur);
			orma_add_ns(&times->delay_ns, dur);
			thread->max_delay_ns = ORMA_MAX(thread->max_delay_ns, dur);
			r = orma_sample_add(&times->delays, dur);
			keep_delay(times, limit, &delay);
		}
	orma_column_scan_done(&scan);
	return r;
}

/* The CPU is that of the thread's next state, which begins when the delay ends. */
static void find_cpu(const struct orma_trace_database *database, struct orma_sched_delay *delay)
{
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_THREAD_STATE].columns;
	int64_t end = delay->ts + delay->length_ns;
	uint64_t count = orma_store_column_rows(&columns[ORMA_THREAD_STATE_TS]);
	uint64_t row = orma_column_lower_bound(&columns[ORMA_THREAD_STATE_TS], end);
	delay->ucpu = delay->other_utid = -1;
	delay->is_preempted = orma_store_column_get(&columns[ORMA_THREAD_STATE_WAKER_UTID],
						    delay->row) == ORMA_CELL_NULL;
	for (; row < count && orma_store_column_get(&columns[ORMA_THREAD_STATE_TS], row) == end;
	     row++) {
		int64_t ucpu = orma_store_column_get(&columns[ORMA_THREAD_STATE_UCPU], row);
		if (orma_store_column_get(&columns[ORMA_THREAD_STATE_UTID], row) == delay->utid &&
		    ucpu != ORMA_CELL_NULL) {
			delay->ucpu = ucpu;
			return;
		}
	}
}

/* Finds what ran longest on the CPU during the delay. */
static void find_other(const struct orma_trace_database *database, struct orma_sched_delay *delay)
{
	const struct orma_column *columns = database->tables.all[ORMA_TABLE_SCHED].columns;
	int64_t end = delay->ts + delay->length_ns;
	uint64_t row = orma_column_lower_bound(&columns[ORMA_SCHED_TS], end);
	struct {
		int64_t utid, ns;
	} others[OTHERS_MAX] = {{0, 0}};
	for (uint64_t looked = 0; row-- > 0 && looked < LOOK_BACK_ROWS; looked++) {
		if (orma_store_column_get(&columns[ORMA_SCHED_UCPU], row) != delay->ucpu)
			continue;
		int64_t ts = orma_store_column_get(&columns[ORMA_SCHED_TS], row);
		int64_t dur = orma_store_column_get(&columns[ORMA_SCHED_DUR], row);
		int64_t utid = orma_store_column_get(&columns[ORMA_SCHED_UTID], row);
		int64_t ns = ORMA_MIN(dur < 0 ? end : ts + dur, end) - ORMA_MAX(ts, delay->ts);
		size_t i = 0;
		while (i < OTHERS_MAX && others[i].ns > 0 && others[i].utid != utid)
			i++;
		if (i < OTHERS_MAX && ns > 0) {
			others[i].utid = utid;
			others[i].ns += ns;
		}
		if (ts <= delay->ts)
			break;
	}
	for (size_t i = 0; i < OTHERS_MAX; i++)
		if (others[i].ns > delay->other_ns) {
			delay->other_ns = others[i].ns;
			delay->other_utid = others[i].utid;
		}
}

int orma_task_times_read(struct orma_trace_database *database, size_t longest,
			 struct orma_task_times *ret)
{
	*ret = (struct orma_task_times){.thread_count = (size_t)orma_store_table_rows(
						&database->tables.all[ORMA_TABLE_THREAD])};
	ret->threads = orma_base_alloc_array(ret->thread_count + 1, sizeof(*ret->threads));
	int r = ret->threads ? read_sched(database, ret) : -ENOMEM;
	if (r == 0)
		r = read_states(database, ret, ORMA_MIN(longest, (size_t)ORMA_DELAYS_MAX));
	for (size_t i = 0; i < ret->longest_count && r == 0; i++) {
		find_cpu(database, &ret->longest[i]);
		if (ret->longest[i].ucpu >= 0)
			find_other(database, &ret->longest[i]);
	}
	return r;
}

void orma_task_times_done(struct orma_task_times *times)
{
	orma_base_free(times->threads);
	orma_sample_done(&times->delays);
	*times = (struct orma_task_times){0};
}
