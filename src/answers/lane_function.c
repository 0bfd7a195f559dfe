/* SPDX-License-Identifier: Apache-2.0
 * lane_function.c - internal_layout(ts, dur) over (order by ts rows between unbounded preceding and current row): the
 * lowest lane in which nothing else is at that time.
 */
#include <errno.h>

#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

struct lanes {
	int64_t *ends; /* when each lane is free again */
	size_t count, capacity;
	size_t last;
	int64_t last_ts;
};

static int add_lane(struct lanes *lanes)
{
	if (lanes->count == lanes->capacity) {
		size_t capacity = ORMA_MAX(lanes->capacity * 2, (size_t)8);
		int64_t *ends = orma_base_realloc_array(lanes->ends, capacity, sizeof(*ends));
		if (!ends)
			return -ENOMEM;
		lanes->ends = ends;
		lanes->capacity = capacity;
	}
	lanes->ends[lanes->count++] = INT64_MIN;
	return 0;
}

static const char *take_lane(struct lanes *lanes, int64_t ts, int64_t dur)
{
	int64_t end;
	if (ts < lanes->last_ts)
		return "internal_layout: times must be in ascending order, and not negative";
	if (dur < -1)
		return "internal_layout: a duration must not be negative, but for -1";
	lanes->last_ts = ts;
	lanes->last = 0;
	while (lanes->last < lanes->count && lanes->ends[lanes->last] > ts)
		lanes->last++;
	if (lanes->last == lanes->count && add_lane(lanes) < 0)
		return "internal_layout: out of memory";
	if (dur == -1 || __builtin_add_overflow(ts, dur, &end))
		end = INT64_MAX;
	lanes->ends[lanes->last] = end;
	return NULL;
}

static void lane_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct lanes *lanes = sqlite3_aggregate_context(context, sizeof(*lanes));
	(void)argc;
	if (!lanes) {
		sqlite3_result_error_nomem(context);
		return;
	}
	const char *error = sqlite3_value_type(argv[0]) == SQLITE_INTEGER &&
					    sqlite3_value_type(argv[1]) == SQLITE_INTEGER
				    ? take_lane(lanes, sqlite3_value_int64(argv[0]),
						sqlite3_value_int64(argv[1]))
				    : "internal_layout: takes a time and a duration";
	if (error)
		sqlite3_result_error(context, error, -1);
}

static void lane_value(sqlite3_context *context)
{
	const struct lanes *lanes = sqlite3_aggregate_context(context, 0);
	if (lanes)
		sqlite3_result_int64(context, (sqlite3_int64)lanes->last);
}

static void lane_inverse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc, (void)argv;
	sqlite3_result_error(context,
			     "internal_layout: the window must be `rows between unbounded "
			     "preceding and current row`",
			     -1);
}

static void lane_final(sqlite3_context *context)
{
	struct lanes *lanes = sqlite3_aggregate_context(context, 0);
	lane_value(context);
	if (lanes)
		orma_base_free(lanes->ends);
}

int orma_lane_function_add(struct orma_trace_database *database)
{
	return sqlite3_create_window_function(orma_sql_db(database->sql), "internal_layout", 2,
					      SQLITE_UTF8, NULL, lane_step, lane_final, lane_value,
					      lane_inverse, NULL) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}
