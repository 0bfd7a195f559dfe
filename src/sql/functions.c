/* SPDX-License-Identifier: Apache-2.0
 * functions.c - numbers, times and aggregates, and the functions that make functions.
 */
#include "sql/functions.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/perfetto_define.h"
#include "sql/perfetto_function.h"
#include "sql/sqlite_error.h"

static bool is_number(sqlite3_value *value)
{
	int type = sqlite3_value_numeric_type(value);
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void natural_logarithm(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_number(argv[0]) && sqlite3_value_double(argv[0]) > 0)
		sqlite3_result_double(context, log(sqlite3_value_double(argv[0])));
}

static void exponential(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_number(argv[0]))
		sqlite3_result_double(context, exp(sqlite3_value_double(argv[0])));
}

static void square_root(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_number(argv[0]))
		sqlite3_result_double(context, sqrt(sqlite3_value_double(argv[0])));
}

/* `HH:MM:SS mmm uuu nnn` of a number of nanoseconds. */
static void to_timecode(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char text[64];
	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	int64_t ns = sqlite3_value_int64(argv[0]);
	uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint64_t seconds = left / 1000000000;
	snprintf(text, sizeof(text), "%s%02llu:%02llu:%02llu %03llu %03llu %03llu",
		 ns < 0 ? "-" : "", (unsigned long long)(seconds / 3600),
		 (unsigned long long)(seconds / 60 % 60), (unsigned long long)(seconds % 60),
		 (unsigned long long)(left / 1000000 % 1000),
		 (unsigned long long)(left / 1000 % 1000), (unsigned long long)(left % 1000));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* Runs the statement that three texts, of a prototype, what it returns, and a body, are put into. */
static void define_function(sqlite3_context *context, sqlite3_value **argv, const char *name,
			    bool returns_table)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf statement = {0};
	struct orma_error error = {0};
	const char *texts[3];
	for (int i = 0; i < 3; i++) {
		texts[i] = orma_sql_text_of(argv[i]).data;
		if (!texts[i]) {
			orma_base_error_set(&error, -EINVAL, "%s: takes three texts", name);
			orma_sql_result_refuse(context, -EINVAL, &error);
			return;
		}
	}
	int r = orma_base_buf_printf(
		&statement, "create or replace perfetto function %s returns %s%s%s as %s", texts[0],
		returns_table ? "table(" : "", texts[1], returns_table ? ")" : "", texts[2]);
	if (r == 0)
		r = orma_sql_execute(
			sqlite3_user_data(context),
			(struct orma_str){(const char *)statement.data, statement.size}, &error);
	if (r < 0)
		orma_sql_result_refuse(context, r, &error);
	else
		orma_sql_result_void(context);
}

/* `create_function('f(x INT)', 'INT', 'select ...')`, the older form of the statement. */
static void create_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	define_function(context, argv, "create_function", false);
}

/* `create_view_function('f(x INT)', 'y INT, z INT', 'select ...')`: the same with a table. */
static void create_view_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	define_function(context, argv, "create_view_function", true);
}

static void memoize(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_str name = orma_sql_text_of(argv[0]);
	struct orma_error error = {0};
	(void)argc;
	int r = orma_sql_function_memoize(sqlite3_user_data(context), name.data ? name.data : "",
					  &error);
	if (r < 0)
		orma_sql_result_refuse(context, r, &error);
	else
		orma_sql_result_void(context);
}

struct last_value {
	sqlite3_value *value;
	int64_t size, place; /* the window's, and the value's in it */
};

static void last_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct last_value *last = sqlite3_aggregate_context(context, sizeof(*last));
	(void)argc;
	if (!last) {
		sqlite3_result_error_nomem(context);
		return;
	}
	last->size++;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	sqlite3_value_free(last->value);
	last->value = sqlite3_value_dup(argv[0]);
	last->place = last->size - 1;
}

/* The window loses its first row. */
static void last_inverse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct last_value *last = sqlite3_aggregate_context(context, sizeof(*last));
	(void)argc, (void)argv;
	if (!last)
		return;
	last->size--;
	if (last->value && last->place-- == 0) {
		sqlite3_value_free(last->value);
		last->value = NULL;
	}
}

static void last_value(sqlite3_context *context)
{
	const struct last_value *last = sqlite3_aggregate_context(context, sizeof(*last));
	if (last && last->value)
		sqlite3_result_value(context, last->value);
}

static void last_final(sqlite3_context *context)
{
	struct last_value *last = sqlite3_aggregate_context(context, 0);
	if (!last)
		return;
	if (last->value)
		sqlite3_result_value(context, last->value);
	sqlite3_value_free(last->value);
	last->value = NULL;
}

struct max_ts {
	bool is_set, is_double;
	int64_t ts, value;
	double double_value;
};

static void max_ts_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct max_ts *max = sqlite3_aggregate_context(context, sizeof(*max));
	int type = sqlite3_value_type(argv[1]);
	(void)argc;
	if (!max) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER) {
		sqlite3_result_error(context, "value_at_max_ts: ts is not an integer", -1);
		return;
	}
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		sqlite3_result_error(context, "value_at_max_ts: the value is not a number", -1);
		return;
	}
	int64_t ts = sqlite3_value_int64(argv[0]);
	/* The last one of equal times counts. */
	if (max->is_set && ts < max->ts)
		return;
	max->is_set = true;
	max->ts = ts;
	max->is_double = type == SQLITE_FLOAT;
	max->value = sqlite3_value_int64(argv[1]);
	max->double_value = sqlite3_value_double(argv[1]);
}

static void max_ts_final(sqlite3_context *context)
{
	const struct max_ts *max = sqlite3_aggregate_context(context, 0);
	if (!max || !max->is_set)
		return;
	if (max->is_double)
		sqlite3_result_double(context, max->double_value);
	else
		sqlite3_result_int64(context, max->value);
}

static const struct orma_sql_function_spec number_functions[] = {
	{"ln", 1, natural_logarithm},
	{"exp", 1, exponential},
	{"sqrt", 1, square_root},
	{"__intrinsic_ln", 1, natural_logarithm},
	{"__intrinsic_exp", 1, exponential},
	{"__intrinsic_sqrt", 1, square_root},
	{"to_timecode", 1, to_timecode},
};

/* These change the schema, so views must not call them. */
static const struct orma_sql_function_spec defining_functions[] = {
	{"create_function", 3, create_function},
	{"create_view_function", 3, create_view_function},
	{"experimental_memoize", 1, memoize},
};

static int add_all(struct orma_sql *sql, const struct orma_sql_function_spec *specs, size_t count,
		   int flags)
{
	for (size_t i = 0; i < count; i++)
		if (sqlite3_create_function_v2(sql->db, specs[i].name, specs[i].arg_count,
					       SQLITE_UTF8 | flags, sql, specs[i].call, NULL, NULL,
					       NULL) != SQLITE_OK)
			return -ENOMEM;
	return 0;
}

int orma_sql_add_functions(struct orma_sql *sql)
{
	const int pure = SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int r = add_all(sql, number_functions, ORMA_ARRAY_SIZE(number_functions), pure);
	if (r == 0)
		r = add_all(sql, defining_functions, ORMA_ARRAY_SIZE(defining_functions),
			    SQLITE_DIRECTONLY);
	if (r == 0)
		r = add_all(sql, orma_sql_text_functions, orma_sql_text_function_count, pure);
	if (r == 0)
		r = add_all(sql, orma_sql_regex_functions, orma_sql_regex_function_count, pure);
	if (r < 0)
		return r;
	int code = sqlite3_create_window_function(sql->db, "last_non_null", 1,
						  SQLITE_UTF8 | SQLITE_INNOCUOUS, NULL, last_step,
						  last_final, last_value, last_inverse, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function_v2(sql->db, "value_at_max_ts", 2, SQLITE_UTF8 | pure,
						  NULL, NULL, max_ts_step, max_ts_final, NULL);
	r = code == SQLITE_OK ? orma_sql_add_percentiles(sql) : -ENOMEM;
	return r ? r : orma_sql_add_newer_functions(sql);
}
