/* SPDX-License-Identifier: Apache-2.0
 * perfetto_function.h - functions whose bodies are queries: what scalar ones and those that return tables share.
 */
#ifndef ORMA_SQL_PERFETTO_FUNCTION_H
#define ORMA_SQL_PERFETTO_FUNCTION_H

#include <orma/error.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "sql/perfetto_statement.h"

struct orma_sql;

struct orma_sql_function {
	struct orma_sql *sql;
	struct orma_sql_function *next, *previous; /* in the engine */
	struct orma_arena arena;                   /* holds all that follows */
	struct orma_perfetto_statement prototype;
	struct orma_str body; /* for a variadic function it depends on the call; then it is empty */
	int *parameters; /* the number of each argument's `$name` in the body; 0 = it is not used */
	sqlite3_stmt *idle; /* prepared, and in use by no call; NULL = none */
	unsigned running;   /* calls that have not ended */
	bool is_memoized;
	struct orma_map results; /* sqlite3_value by the only argument, an integer */
};

/* Copies the prototype. 0 or -ENOMEM. */
int orma_sql_function_new(struct orma_sql *sql, const struct orma_perfetto_statement *prototype,
			  struct orma_sql_function **ret);
void orma_sql_function_free(void *function); /* for SQLite */
/* Before the database is closed: all functions give up their statements. */
void orma_sql_functions_release(struct orma_sql *sql);

/*
 * Checks the types of a call's arguments, prepares the body and binds them. 0, -ENOMEM, or -EINVAL with a message. The
 * statement goes back with put().
 */
int orma_sql_function_take(struct orma_sql_function *function, int argc, sqlite3_value **argv,
			   sqlite3_stmt **ret, struct orma_error *reterr);
void orma_sql_function_put(struct orma_sql_function *function, sqlite3_stmt *statement);
/* Keeps the results of calls with one integer: `experimental_memoize('name')`. 0 or -EINVAL. */
int orma_sql_function_memoize(struct orma_sql *sql, const char *name, struct orma_error *reterr);

#endif
