/* SPDX-License-Identifier: Apache-2.0
 * sql_engine.h - a database of relations that answers PerfettoSQL.
 *
 * An engine belongs to one thread at a time; orma_sql_interrupt() may be called by any, and by a signal handler.
 * Queries cannot write or open files, but SQLite may keep what does not fit its cache in a temporary file of its own.
 */
#ifndef ORMA_SQL_SQL_ENGINE_H
#define ORMA_SQL_SQL_ENGINE_H

#include <orma/error.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "base/str.h"
#include "sql/relation.h"

struct orma_sql;

struct orma_sql_options {
	/* The strings of the trace; tables that queries make add theirs. Outlives the engine. */
	struct orma_string_pool *pool;
	/* Tables and rows of queries beyond it go to files. NULL = no limit. Outlives the engine. */
	struct orma_memory_budget *budget;
	void *ctx; /* for the functions, which may be NULL */
	/* Returns the text of a module, like `slices.with_context`; .data = NULL when there is none. */
	struct orma_str (*module_text)(void *ctx, const char *name);
	/* Returns the name of the n-th module, NULL behind the last, for `include perfetto module a.*`. */
	const char *(*module_name)(void *ctx, size_t idx);
	/*
	 * Called with a name that a query uses and that is unknown. Returns 1 when it has made the table, view or function, 0
	 * when it knows none, or a negative errno value.
	 */
	int (*define)(void *ctx, struct orma_sql *sql, const char *name, struct orma_error *reterr);
	/* Modules whose names begin so may make what is protected; NULL = none may. */
	const char *own_modules;
	bool (*should_stop)(void *ctx); /* asked now and then during a query */
	bool checks_views;              /* the values of views with a schema are those of a table */
	bool allows_files;              /* `attach` and `vacuum into` */
};

/* 0, -ENOMEM, or -EINVAL when SQLite cannot be used, told in reterr. */
int orma_sql_new(const struct orma_sql_options *options, struct orma_sql **ret,
		 struct orma_error *reterr);
void orma_sql_free(struct orma_sql *sql);
/* For functions and tables that are made with SQLite's own interface. */
sqlite3 *orma_sql_db(struct orma_sql *sql);

/* Adds a table with the relation's name; takes a reference to it. Replaces an older one. 0 or -ENOMEM. */
int orma_sql_add_relation(struct orma_sql *sql, struct orma_relation *relation);
/* NULL = there is none of this name. Borrowed while it is not dropped or replaced. */
struct orma_relation *orma_sql_find_relation(const struct orma_sql *sql, const char *name);
/* The relations in no order; NULL behind the last. */
const struct orma_relation *orma_sql_relation_at(const struct orma_sql *sql, size_t idx);

/*
 * From now on, statements can neither drop nor replace the table or view of this name, which a module will make. 0 or
 * -ENOMEM.
 */
int orma_sql_protect(struct orma_sql *sql, const char *name);
/* The same for every table and view that exists. 0, -ENOMEM, or -EINVAL with a message. */
int orma_sql_protect_all(struct orma_sql *sql, struct orma_error *reterr);

/*
 * Prepares one statement of SQLite, with macros already expanded; makes what `define` knows. 0, -ENOMEM, -ECANCELED, or
 * -EINVAL with a message.
 */
int orma_sql_prepare(struct orma_sql *sql, struct orma_str text, sqlite3_stmt **ret,
		     struct orma_error *reterr);
/*
 * Called with each statement that has parameters like ?1 when it is prepared, to give them values. 0 or a negative errno
 * value. NULL = they are NULL.
 */
void orma_sql_set_binder(struct orma_sql *sql, int (*bind)(void *ctx, sqlite3_stmt *statement),
			 void *ctx);
/* Runs a whole script whose rows do not matter, such as the text of a module. Errors as of a script. */
int orma_sql_execute(struct orma_sql *sql, struct orma_str text, struct orma_error *reterr);
/*
 * `pause` is called now and then on the thread of a query while SQLite runs it, between two calls of tables and functions. It may
 * read the relations' tables and must not use the engine. NULL = nobody is called.
 */
void orma_sql_set_pause(struct orma_sql *sql, void (*pause)(void *ctx), void *ctx);
/* Stops the query that runs, if there is one. */
void orma_sql_interrupt(struct orma_sql *sql);

#endif
