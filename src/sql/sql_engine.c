/* SPDX-License-Identifier: Apache-2.0
 * sql_engine.c - opens SQLite with limits, and with all that PerfettoSQL adds.
 *
 * The database is a temporary one: SQLite keeps it in its cache and writes what does not fit to a file without a name,
 * so that a query that fills tables needs no memory without bound.
 */
#include "sql/sql_engine.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/functions.h"
#include "sql/perfetto_function.h"
#include "sql/relation_vtab.h"
#include "sql/row_operator.h"
#include "sql/span_join.h"
#include "sql/sqlite_error.h"

enum {
	STEPS_BETWEEN_QUESTIONS = 100000, /* SQLite's machine makes them */
	VALUE_MAX_BYTES = 512 << 20,
};

static int pause_or_stop(void *ctx)
{
	struct orma_sql *sql = ctx;
	if (sql->pause)
		sql->pause(sql->pause_ctx);
	return orma_sql_is_interrupted(&sql->interrupt);
}

static struct orma_relation *find_for_module(void *ctx, const char *name)
{
	return orma_sql_find_relation(ctx, name);
}

static void drop_of_module(void *ctx, const char *name)
{
	orma_sql_forget_relation(ctx, name);
}

static int set_up(struct orma_sql *sql)
{
	sqlite3 *db = sql->db;
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, sql->options.allows_files ? 4 : 0);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	if (sqlite3_exec(db, "pragma journal_mode=off; pragma synchronous=off", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return -ENOMEM;
	sqlite3_progress_handler(db, STEPS_BETWEEN_QUESTIONS, pause_or_stop, sql);
	sqlite3_set_authorizer(db, orma_sql_authorize, &sql->rules);
	int r = orma_sql_add_functions(sql);
	if (r == 0)
		r = orma_sql_add_span_joins(sql);
	if (r == 0)
		r = orma_sql_add_window(sql);
	if (r == 0)
		r = orma_sql_add_row_sets(sql);
	if (r < 0)
		return r;
	return orma_sql_relation_register_module(db, ORMA_SQL_TABLE_MODULE, find_for_module,
						 drop_of_module, sql, &sql->interrupt);
}

int orma_sql_new(const struct orma_sql_options *options, struct orma_sql **ret,
		 struct orma_error *reterr)
{
	struct orma_sql *sql = orma_base_zalloc(sizeof(*sql));
	if (!sql)
		return -ENOMEM;
	sql->options = *options;
	sql->rules.allows_files = options->allows_files;
	sql->interrupt.should_stop = options->should_stop;
	sql->interrupt.ctx = options->ctx;
	int r = 0, code = sqlite3_open_v2(
			   "", &sql->db,
			   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		r = orma_base_error_set(reterr, orma_sql_errno_of(code), "SQLite: %s",
					sqlite3_errstr(code));
	if (r == 0)
		r = set_up(sql);
	if (r < 0) {
		orma_sql_free(sql);
		return r;
	}
	*ret = sql;
	return 0;
}

void orma_sql_free(struct orma_sql *sql)
{
	if (!sql)
		return;
	/* Functions keep statements, which would keep the database open. */
	orma_sql_functions_release(sql);
	sqlite3_close_v2(sql->db);
	for (size_t i = 0; i < sql->relation_count; i++)
		orma_sql_relation_unref(sql->relations[i]);
	for (size_t i = 0; i < sql->module_count; i++)
		orma_base_free(sql->modules[i]);
	for (size_t i = 0; i < sql->index_count; i++) {
		orma_base_free(sql->indexes[i].name);
		orma_base_free(sql->indexes[i].table);
	}
	orma_base_free(sql->relations);
	orma_base_free(sql->modules);
	orma_base_free(sql->indexes);
	orma_sql_macros_done(&sql->macros);
	orma_sql_rules_done(&sql->rules);
	orma_base_free(sql);
}

sqlite3 *orma_sql_db(struct orma_sql *sql)
{
	return sql->db;
}

int orma_sql_protect(struct orma_sql *sql, const char *name)
{
	return orma_sql_rules_protect(&sql->rules, name, true);
}

int orma_sql_protect_all(struct orma_sql *sql, struct orma_error *reterr)
{
	sqlite3_stmt *names;
	int r = orma_sql_prepare(
		sql,
		ORMA_STR("select name, 0 from sqlite_master union all select name, 1 from "
			 "pragma_module_list where name like '\\_%' escape '\\'"),
		&names, reterr);
	if (r < 0)
		return r;
	int code;
	while (r == 0 && (code = sqlite3_step(names)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(names, 0);
		bool is_outside = sqlite3_column_int(names, 1) != 0;
		r = name ? orma_sql_rules_protect(&sql->rules, name, is_outside) : -ENOMEM;
	}
	if (r == 0 && code != SQLITE_DONE)
		r = orma_sql_describe(sql, code, reterr);
	sqlite3_finalize(names);
	return r;
}

void orma_sql_set_pause(struct orma_sql *sql, void (*pause)(void *ctx), void *ctx)
{
	sql->pause = pause;
	sql->pause_ctx = ctx;
}

void orma_sql_interrupt(struct orma_sql *sql)
{
	atomic_store_explicit(&sql->interrupt.is_set, true, memory_order_relaxed);
}

int orma_sql_add_relation(struct orma_sql *sql, struct orma_relation *relation)
{
	int r = orma_sql_keep_relation(sql, relation);
	return r < 0 ? r : orma_sql_relation_register(sql->db, relation, &sql->interrupt);
}
