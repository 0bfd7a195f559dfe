/* SPDX-License-Identifier: Apache-2.0
 * sql_engine.c - opens SQLite with limits, and finds what queries name.
 *
 * The database is a temporary one: SQLite keeps it in its cache and writes what does not fit to a file without a name,
 * so that a query that fills tables needs no memory without bound.
 */
#include "sql/sql_engine.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/authorizer.h"
#include "sql/engine_state.h"
#include "sql/functions.h"
#include "sql/perfetto_function.h"
#include "sql/relation_vtab.h"
#include "sql/script.h"
#include "sql/span_join.h"
#include "sql/sql_token.h"
#include "sql/sqlite_error.h"

enum {
	STEPS_BETWEEN_QUESTIONS = 100000, /* SQLite's machine makes them */
	DEFINITIONS_MAX = 200,            /* for one statement */
	VALUE_MAX_BYTES = 512 << 20,
	SHOWN_LINE_MAX = 160,
};

static int ask_whether_to_stop(void *ctx)
{
	return orma_sql_is_interrupted(ctx);
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
	sqlite3_progress_handler(db, STEPS_BETWEEN_QUESTIONS, ask_whether_to_stop, &sql->interrupt);
	sqlite3_set_authorizer(db, orma_sql_authorize, &sql->options.allows_files);
	int r = orma_sql_add_functions(sql);
	if (r == 0)
		r = orma_sql_add_span_joins(sql);
	if (r == 0)
		r = orma_sql_add_window(sql);
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
	orma_base_free(sql);
}

sqlite3 *orma_sql_db(struct orma_sql *sql)
{
	return sql->db;
}

struct orma_string_pool *orma_sql_pool(struct orma_sql *sql)
{
	return sql->options.pool;
}

void orma_sql_interrupt(struct orma_sql *sql)
{
	atomic_store_explicit(&sql->interrupt.is_set, true, memory_order_relaxed);
}

int orma_sql_grow(void **items, size_t item_size, size_t count, size_t *capacity)
{
	if (count < *capacity)
		return 0;
	size_t bigger_capacity = ORMA_MAX(*capacity * 2, (size_t)16);
	void *bigger = orma_base_realloc_array(*items, bigger_capacity, item_size);
	if (!bigger)
		return -ENOMEM;
	*items = bigger;
	*capacity = bigger_capacity;
	return 0;
}

static size_t position_of(const struct orma_sql *sql, const char *name)
{
	size_t i = 0;
	while (i < sql->relation_count && strcasecmp(sql->relations[i]->name, name) != 0)
		i++;
	return i;
}

struct orma_relation *orma_sql_find_relation(const struct orma_sql *sql, const char *name)
{
	size_t i = position_of(sql, name);
	return i < sql->relation_count ? sql->relations[i] : NULL;
}

int orma_sql_keep_relation(struct orma_sql *sql, struct orma_relation *relation)
{
	int r = orma_sql_grow((void **)&sql->relations, sizeof(struct orma_relation *),
			      sql->relation_count, &sql->relation_capacity);
	if (r < 0)
		return r;
	orma_sql_forget_relation(sql, relation->name);
	sql->relations[sql->relation_count++] = orma_sql_relation_ref(relation);
	return 0;
}

void orma_sql_forget_relation(struct orma_sql *sql, const char *name)
{
	size_t i = position_of(sql, name);
	if (i == sql->relation_count)
		return;
	orma_sql_relation_unref(sql->relations[i]);
	sql->relations[i] = sql->relations[--sql->relation_count];
}

int orma_sql_add_relation(struct orma_sql *sql, struct orma_relation *relation)
{
	int r = orma_sql_keep_relation(sql, relation);
	return r < 0 ? r : orma_sql_relation_register(sql->db, relation, &sql->interrupt);
}

void orma_sql_point_at(struct orma_error *error, struct orma_str text, size_t offset)
{
	unsigned line, column;
	if (!error || offset > text.size)
		return;
	orma_sql_token_position(text, offset, &line, &column);
	size_t begin = offset, end = offset;
	while (begin > 0 && text.data[begin - 1] != '\n' && offset - begin < SHOWN_LINE_MAX / 2)
		begin--;
	while (end < text.size && text.data[end] != '\n' && end - begin < SHOWN_LINE_MAX)
		end++;
	/* The arrow below the line: tabs stay tabs. */
	char arrow[SHOWN_LINE_MAX];
	size_t at = 0;
	for (size_t i = begin; i < offset && at + 2 < sizeof(arrow); i++)
		if (((unsigned char)text.data[i] & 0xc0) != 0x80)
			arrow[at++] = text.data[i] == '\t' ? '\t' : ' ';
	arrow[at] = '\0';
	struct orma_error whole = *error;
	orma_base_error_set(error, whole.code, "line %u, column %u: %.300s\n  %.*s\n  %s^", line,
			    column, whole.message, (int)(end - begin), text.data + begin, arrow);
}

int orma_sql_describe(struct orma_sql *sql, int sqlite_code, struct orma_error *reterr)
{
	int r = orma_sql_errno_of(sqlite_code);
	if (r == -ENOMEM)
		return r;
	if (r == -ECANCELED)
		return orma_base_error_set(reterr, r, "the query was stopped");
	return orma_base_error_set(reterr, r, "%s", sqlite3_errmsg(sql->db));
}

/* Returns what is unknown according to SQLite's message, without the name of the database; NULL = nothing. */
static const char *unknown_name(const char *message)
{
	static const char *const prefixes[] = {
		"no such table: ", "no such function: ", "no such module: "};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(prefixes); i++)
		if (strncmp(message, prefixes[i], strlen(prefixes[i])) == 0) {
			const char *name = message + strlen(prefixes[i]);
			return strncmp(name, "main.", 5) == 0 ? name + 5 : name;
		}
	return NULL;
}

/* Asks for the definition of a name. 1 = it exists now. */
static int define(struct orma_sql *sql, const char *message, struct orma_error *reterr)
{
	const char *name = unknown_name(message);
	if (!name || !sql->options.define)
		return 0;
	char *copy = orma_base_strdup(name);
	if (!copy)
		return -ENOMEM;
	int r = sql->options.define(sql->options.ctx, sql, copy, reterr);
	orma_base_free(copy);
	return r;
}

int orma_sql_prepare(struct orma_sql *sql, struct orma_str text, sqlite3_stmt **ret,
		     struct orma_error *reterr)
{
	sql->fault = NULL;
	if (text.size > INT32_MAX)
		return -EMSGSIZE;
	for (int tries = 0;; tries++) {
		int code = sqlite3_prepare_v2(sql->db, text.data, (int)text.size, ret, NULL);
		if (code == SQLITE_OK)
			return 0;
		int offset = sqlite3_error_offset(sql->db);
		int r = tries < DEFINITIONS_MAX ? define(sql, sqlite3_errmsg(sql->db), reterr) : 0;
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		/* The question whether `define` knows the name may have changed the message. */
		if (tries > 0 || sql->options.define) {
			code = sqlite3_prepare_v2(sql->db, text.data, (int)text.size, ret, NULL);
			offset = sqlite3_error_offset(sql->db);
			if (code == SQLITE_OK)
				return 0;
		}
		sql->fault = offset >= 0 ? text.data + offset : NULL;
		return orma_sql_describe(sql, code, reterr);
	}
}

int orma_sql_exec_format(struct orma_sql *sql, struct orma_error *reterr, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *text = sqlite3_vmprintf(format, args);
	va_end(args);
	if (!text)
		return -ENOMEM;
	sqlite3_stmt *statement;
	int r = orma_sql_prepare(sql, orma_base_str(text), &statement, reterr);
	if (r == 0) {
		(void)sqlite3_step(statement);
		int code = sqlite3_finalize(statement);
		if (code != SQLITE_OK)
			r = orma_sql_describe(sql, code, reterr);
	}
	sqlite3_free(text);
	return r;
}

int orma_sql_execute(struct orma_sql *sql, struct orma_str text, struct orma_error *reterr)
{
	struct orma_sql_script *script = NULL;
	int r = orma_sql_script_new(sql, text, &script);
	while (r == 0) {
		r = orma_sql_script_next(script, reterr);
		if (r == 0)
			break;
		while (r > 0)
			r = orma_sql_script_step(script, reterr);
	}
	orma_sql_script_free(script);
	return r;
}
