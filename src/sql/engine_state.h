/* SPDX-License-Identifier: Apache-2.0
 * engine_state.h - what the parts of the engine share.
 */
#ifndef ORMA_SQL_ENGINE_STATE_H
#define ORMA_SQL_ENGINE_STATE_H

#include "sql/authorizer.h"
#include "sql/interrupt.h"
#include "sql/macro.h"
#include "sql/perfetto_statement.h"
#include "sql/sql_engine.h"

/* The module that tables of queries use: `create virtual table x using ...`. */
#define ORMA_SQL_TABLE_MODULE "__orma_table"

struct orma_sql_index_name {
	char *name, *table;
};

struct orma_sql {
	sqlite3 *db;
	struct orma_sql_options options;
	struct orma_sql_rules rules;
	struct orma_interrupt interrupt;
	struct orma_macro_set macros;
	struct orma_relation **relations;
	size_t relation_count, relation_capacity;
	char **modules; /* that are included, or being included */
	size_t module_count, module_capacity;
	struct orma_sql_index_name *indexes;
	size_t index_count, index_capacity;
	const char *
		fault; /* the place in a text that the last failed prepare() was given; NULL = unknown */
	struct orma_sql_function *functions;
	unsigned call_depth;                             /* functions within functions */
	uint64_t native_tried, native_made;              /* statements with native aggregates */
	unsigned script_count;                           /* that run, one within the other */
	int (*bind)(void *ctx, sqlite3_stmt *statement); /* NULL = none */
	void *bind_ctx;
	void (*pause)(void *ctx); /* see orma_sql_set_pause(); NULL = none */
	void *pause_ctx;
	uint64_t row_set_count; /* that queries made; numbers them */
};

/* Makes the relation findable for the module, or forgets it. 0 or -ENOMEM. */
int orma_sql_keep_relation(struct orma_sql *sql, struct orma_relation *relation);
void orma_sql_forget_relation(struct orma_sql *sql, const char *name);
/* Forgets the name of an index of CREATE PERFETTO INDEX; those of a table are forgotten with the table. */
void orma_sql_forget_index(struct orma_sql *sql, size_t idx);
/* Makes room for one more item. 0 or -ENOMEM. */
int orma_sql_grow(void **items, size_t item_size, size_t count, size_t *capacity);
/* Runs statements that the engine itself writes; a format of sqlite3_mprintf(). Errors of prepare() and step(). */
int orma_sql_exec_format(struct orma_sql *sql, struct orma_error *reterr, const char *format, ...);
/* The names of the statement's columns: not empty, words, and none twice. 0 or -EINVAL. */
/* The same for the types of the values, for which the query is run. */
int orma_sql_check_types(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			 sqlite3_stmt *query, struct orma_error *reterr);
int orma_sql_check_names(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			 sqlite3_stmt *query, struct orma_error *reterr);
/* Describes what SQLite says about the statement that failed. Returns a negative errno value. */
int orma_sql_describe(struct orma_sql *sql, int sqlite_code, struct orma_error *reterr);
/* Puts "line L, column C" before the message, and the line of the text behind it. */
void orma_sql_point_at(struct orma_error *error, struct orma_str text, size_t offset);

#endif
