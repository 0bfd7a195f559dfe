/* SPDX-License-Identifier: Apache-2.0
 * engine_state.c - finds what queries name, and says what is wrong with them.
 */
#include "sql/engine_state.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/sql_token.h"
#include "sql/sqlite_error.h"

enum {
	DEFINITIONS_MAX = 200, /* for one statement */
	SHOWN_LINE_MAX = 160,
};

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

const struct orma_relation *orma_sql_relation_at(const struct orma_sql *sql, size_t idx)
{
	return idx < sql->relation_count ? sql->relations[idx] : NULL;
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
	for (i = 0; i < sql->index_count;)
		if (strcasecmp(sql->indexes[i].table, name) == 0)
			orma_sql_forget_index(sql, i);
		else
			i++;
}

void orma_sql_forget_index(struct orma_sql *sql, size_t idx)
{
	orma_base_free(sql->indexes[idx].name);
	orma_base_free(sql->indexes[idx].table);
	sql->indexes[idx] = sql->indexes[--sql->index_count];
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
	if (sqlite_code == SQLITE_AUTH && sql->rules.refused)
		return orma_base_error_set(
			reterr, r,
			"%s belongs to the trace, and can be neither dropped nor "
			"replaced; give what you make another name",
			sql->rules.refused);
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

void orma_sql_set_binder(struct orma_sql *sql, int (*bind)(void *ctx, sqlite3_stmt *statement),
			 void *ctx)
{
	sql->bind = bind;
	sql->bind_ctx = ctx;
}

static int bind_values(struct orma_sql *sql, sqlite3_stmt **statement)
{
	int r = sql->bind && sqlite3_bind_parameter_count(*statement) > 0
			? sql->bind(sql->bind_ctx, *statement)
			: 0;
	if (r < 0) {
		sqlite3_finalize(*statement);
		*statement = NULL;
	}
	return r;
}

int orma_sql_prepare(struct orma_sql *sql, struct orma_str text, sqlite3_stmt **ret,
		     struct orma_error *reterr)
{
	sql->fault = NULL;
	sql->rules.refused = NULL;
	if (text.size > INT32_MAX)
		return -EMSGSIZE;
	for (int tries = 0;; tries++) {
		int code = sqlite3_prepare_v2(sql->db, text.data, (int)text.size, ret, NULL);
		if (code == SQLITE_OK)
			return bind_values(sql, ret);
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
				return bind_values(sql, ret);
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
