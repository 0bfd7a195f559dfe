/* SPDX-License-Identifier: Apache-2.0
 * time_functions.c - times of the trace on other clocks, and as texts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "answers/trace_database.h"

#define NS_PER_S INT64_C(1000000000)

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

static bool convert(sqlite3_context *context, uint64_t clock, int64_t time, int64_t *ret)
{
	const struct orma_trace_database *database = sqlite3_user_data(context);
	const struct orma_clocks *clocks = &database->importer.index.clocks;
	struct orma_clock_cache cache = {.is_valid = false};
	return orma_trace_clocks_convert(clocks, clocks->trace_time, time, clock,
					 ORMA_CLOCK_ALL_SNAPSHOTS, &cache,
					 ret) == ORMA_CLOCK_CONVERTED;
}

static void to_realtime(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int64_t time;
	(void)argc;
	if (read_time(context, argv[0], "TO_REALTIME", &time) &&
	    convert(context, ORMA_CLOCK_REALTIME, time, &time))
		sqlite3_result_int64(context, time);
}

static void to_monotonic(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int64_t time;
	(void)argc;
	if (read_time(context, argv[0], "TO_MONOTONIC", &time) &&
	    convert(context, ORMA_CLOCK_MONOTONIC, time, &time))
		sqlite3_result_int64(context, time);
}

/* 2024-02-29T12:34:56.123456789 */
static void abs_time_str(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int64_t time;
	struct tm parts;
	char date[48], text[64];
	(void)argc;
	if (!read_time(context, argv[0], "ABS_TIME_STR", &time) ||
	    !convert(context, ORMA_CLOCK_REALTIME, time, &time))
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

int orma_time_functions_add(struct orma_trace_database *database)
{
	static const struct {
		const char *name;
		void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
	} functions[] = {
		{"to_realtime", to_realtime},
		{"to_monotonic", to_monotonic},
		{"abs_time_str", abs_time_str},
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (sqlite3_create_function(orma_sql_db(database->sql), functions[i].name, 1,
					    SQLITE_UTF8 | SQLITE_DETERMINISTIC, database,
					    functions[i].call, NULL, NULL) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}
