/* SPDX-License-Identifier: Apache-2.0
 * functions.h - PerfettoSQL's functions that need no trace.
 */
#ifndef ORMA_SQL_FUNCTIONS_H
#define ORMA_SQL_FUNCTIONS_H

#include <sqlite3.h>
#include <stddef.h>

#include "base/str.h"

struct orma_sql;

/* One of them, for sqlite3_create_function_v2(). */
struct orma_sql_function_spec {
	const char *name;
	int arg_count; /* -1 = any number */
	void (*call)(sqlite3_context *context, int argc, sqlite3_value **argv);
};

/* 0 or -ENOMEM. */
int orma_sql_add_functions(struct orma_sql *sql);

/* Parts of it. */
int orma_sql_add_percentiles(struct orma_sql *sql);
int orma_sql_add_newer_functions(struct orma_sql *sql);
extern const struct orma_sql_function_spec orma_sql_text_functions[];
extern const size_t orma_sql_text_function_count;
extern const struct orma_sql_function_spec orma_sql_regex_functions[];
extern const size_t orma_sql_regex_function_count;

/* The type of the pointer that a function returns which is called for its effect: its row is not shown. */
#define ORMA_SQL_VOID "VOID"
void orma_sql_result_void(sqlite3_context *context);

/* The text of an argument, as its bytes; .data = NULL for NULL, and when there is no memory. */
struct orma_str orma_sql_text_of(sqlite3_value *value);

#endif
