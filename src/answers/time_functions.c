/* SPDX-License-Identifier: Apache-2.0
 * time_functions.c - times of the trace on other clocks, and as texts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

#define NS_PER_S INT64_C(1000000000)

/* The readings of a clock at times of the trace; they are read when a function is first called. */
struct clock_time {
	int64_t ts, value;
	uint64_t row;
};

struct clock_times {
	const struct orma_trace_database *database;
	int64_t clock;
	struct clock_time *items; /* NULL = not read */
	size_t count;
};

/* Reads the argument; false for NULL, and for another type, which is an error. */
static bool read_time(sqlite3_context *context, sqlite3_value *value, const char *name,
		      int64_t *ret)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return false;
	if (sqlite3_value_type(value) != SQLITE_INTEGER) {
		char text[60];
		snprintf(text, sizeof(text), "%s: takes a time in nanoseconds", name);
		sqlite3_result_error(context, text, -1);
		return false;
	}
	*ret = sqlite3_value_int64(value);
	return true;
}

static int compare_times(const void *a, const void *b)
{
	const struct clock_time *x = a, *y = b;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Collects the readings of the host's clock, which are sorted and of which the first of equal times stays. */
static int read_clock(struct clock_times *times)
{
	const struct orma_table *table = &times->database->tables.all[ORMA_TABLE_CLOCK_SNAPSHOT];
	const struct orma_column *columns = table->columns;
	uint64_t rows = orma_store_table_rows(table);
	times->items = orma_base_alloc_array((size_t)rows + 1, sizeof(*times->items));
	if (!times->items)
		return -ENOMEM;
	for (uint64_t row = 0; row < rows; row++)
		if (orma_store_column_get(&columns[ORMA_CLOCK_SNAPSHOT_CLOCK_ID], row) ==
			    times->clock &&
		    orma_store_column_get(&columns[ORMA_CLOCK_SNAPSHOT_MACHINE_ID], row) <= 0)
			times->items[times->count++] = (struct clock_time){
				orma_store_column_get(&columns[ORMA_CLOCK_SNAPSHOT_TS], row),
				orma_store_column_get(&columns[ORMA_CLOCK_SNAPSHOT_CLOCK_VALUE],
						      row),
				row};
	if (times->count > 0)
		qsort(times->items, times->count, sizeof(*times->items), compare_times);
	size_t kept = 0;
	for (size_t i = 0; i < times->count; i++)
		if (kept == 0 || times->items[kept - 1].ts != times->items[i].ts)
			times->items[kept++] = times->items[i];
	times->count = kept;
	return 0;
}

static int64_t shift(const struct clock_time *item, int64_t time)
{
	return (int64_t)((uint64_t)item->value + (uint64_t)time - (uint64_t)item->ts);
}

/*
 * The reading of the snapshot before, and the time since, but not more than the next reading: a clock that is set back
 * shall not have times that come later. Before the first snapshot there is its reading only.
 */
static bool convert(sqlite3_context *context, int64_t time, int64_t *ret)
{
	struct clock_times *times = sqlite3_user_data(context);
	*ret = time;
	if (times->database->importer.index.clocks.trace_time == (uint64_t)times->clock)
		return true;
	if (!times->items && read_clock(times) < 0)
		sqlite3_result_error_nomem(context);
	if (times->count == 0)
		return false;
	size_t low = 0, high = times->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool is_before = times->items[middle].ts < time;
		low = is_before ? middle + 1 : low;
		high = is_before ? high : middle;
	}
	const struct clock_time *next = &times->items[low];
	if (low == times->count)
		*ret = shift(next - 1, time);
	else if (low == 0 || next->ts == time)
		*ret = next->value;
	else
		*ret = ORMA_MIN(shift(next - 1, time), next->value);
	return true;
}

/* to_realtime(ts), to_monotonic(ts) */
static void to_clock(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct clock_times *times = sqlite3_user_data(context);
	int64_t time;
	(void)argc;
	if (read_time(context, argv[0],
		      times->clock == ORMA_CLOCK_REALTIME ? "TO_REALTIME" : "TO_MONOTONIC",
		      &time) &&
	    convert(context, time, &time))
		sqlite3_result_int64(context, time);
}

/* 2024-02-29T12:34:56.123456789 */
static void abs_time_str(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int64_t time;
	struct tm parts;
	char date[48], text[64];
	(void)argc;
	if (!read_time(context, argv[0], "ABS_TIME_STR", &time) || !convert(context, time, &time))
		return;
	int64_t ns = time % NS_PER_S;
	ns += ns < 0 ? NS_PER_S : 0;
	time_t seconds = (time_t)((time - ns) / NS_PER_S);
	if (!gmtime_r(&seconds, &parts) ||
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		return;
	snprintf(text, sizeof(text), "%s.%09" PRId64, date, ns);
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void free_times(void *ctx)
{
	struct clock_times *times = ctx;
	orma_base_free(times->items);
	orma_base_free(times);
}

int orma_time_functions_add(struct orma_trace_database *database)
{
	static const struct {
		const char *name;
		int64_t clock;
		void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
	} functions[] = {
		{"to_realtime", ORMA_CLOCK_REALTIME, to_clock},
		{"to_monotonic", ORMA_CLOCK_MONOTONIC, to_clock},
		{"abs_time_str", ORMA_CLOCK_REALTIME, abs_time_str},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(functions); i++) {
		struct clock_times *times = orma_base_zalloc(sizeof(*times));
		if (!times)
			return -ENOMEM;
		times->database = database;
		times->clock = functions[i].clock;
		/* This frees the times also when it fails. */
		if (sqlite3_create_function_v2(orma_sql_db(database->sql), functions[i].name, 1,
					       SQLITE_UTF8 | SQLITE_DETERMINISTIC, times,
					       functions[i].call, NULL, NULL,
					       free_times) != SQLITE_OK)
			return -ENOMEM;
	}
	return 0;
}
