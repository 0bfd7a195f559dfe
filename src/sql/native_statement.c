/* SPDX-License-Identifier: Apache-2.0
 * native_statement.c - the whole statement, or those of its selects that stand in parentheses, are computed natively.
 *
 * A subquery, or the select of a name of `with`, becomes a select over its groups. It is computed once and before the
 * statement runs; so what a condition around it would have left out is computed as well. One that refers to the
 * statement around it is not recognised, because such a name is no column of its table.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_join.h"

enum { NAME_SIZE = 40 };

static void name_table(uint64_t number, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, "__orma_groups_%llu", (unsigned long long)number);
}

void orma_sql_native_drop(struct orma_sql *sql, struct orma_native_tables *tables)
{
	char name[NAME_SIZE];
	while (tables->count > 0) {
		name_table(tables->numbers[--tables->count], name);
		(void)sqlite3_create_module_v2(sql->db, name, NULL, NULL, NULL);
	}
}

/* Computes one select, and appends what stands for it to `out`. 1, 0 = it is left to SQLite, or an error. */
static int try_select(struct orma_sql *sql, struct orma_str text, struct orma_native_tables *tables,
		      struct orma_buf *out)
{
	struct orma_native_query query;
	char name[NAME_SIZE];
	if (tables->count == ORMA_ARRAY_SIZE(tables->numbers))
		return 0;
	uint64_t number = sql->native_tried++;
	name_table(number, name);
	int r = orma_sql_native_parse(sql, text, name, &query);
	if (r > 0) {
		r = orma_sql_join_narrow(sql, &query);
		if (r == 0)
			r = orma_sql_native_compute(sql, &query, name);
	}
	if (r > 0) {
		tables->numbers[tables->count++] = number;
		r = orma_base_buf_append(out, query.sql.data, query.sql.size);
		r = r < 0 ? r : 1;
	}
	orma_sql_native_done(&query);
	return r;
}

/* True when the token is the name of a table that a `with` of the statement makes: `with name(columns) as materialized (`. */
static bool is_made_by_with(struct orma_str text, const struct orma_token *before,
			    const struct orma_token *token)
{
	bool is_first = orma_sql_token_is(before, "with") || orma_sql_token_is(before, "recursive");
	size_t offset = orma_sql_token_end(token);
	if (!is_first && !orma_sql_token_is_sign(before, ','))
		return false;
	if (orma_sql_token_accept_sign(text, &offset, '(') &&
	    !orma_sql_token_skip_parentheses(text, &offset))
		return false;
	if (!orma_sql_token_accept(text, &offset, "as"))
		return false;
	(void)orma_sql_token_accept(text, &offset, "not");
	(void)orma_sql_token_accept(text, &offset, "materialized");
	return orma_sql_token_accept_sign(text, &offset, '(');
}

static bool has_name(struct orma_str select, struct orma_str name)
{
	struct orma_token token = orma_sql_token_next(select, 0);
	for (; token.kind != ORMA_TOKEN_END && token.kind != ORMA_TOKEN_UNFINISHED;
	     token = orma_sql_token_next(select, orma_sql_token_end(&token)))
		if (orma_select_is_name(&token) &&
		    orma_select_is_same(orma_select_text(&token), name))
			return true;
	return false;
}

/* True when a `with` of the statement gives another meaning to a name in the select. */
static bool hides_table(struct orma_str text, struct orma_str select)
{
	struct orma_token before = {.kind = ORMA_TOKEN_END};
	for (size_t offset = 0;;) {
		struct orma_token token = orma_sql_token_next(text, offset);
		if (token.kind == ORMA_TOKEN_END || token.kind == ORMA_TOKEN_UNFINISHED)
			return false;
		offset = orma_sql_token_end(&token);
		if (orma_select_is_name(&token) && is_made_by_with(text, &before, &token) &&
		    has_name(select, orma_select_text(&token)))
			return true;
		before = token;
	}
}

/* Finds the select in the parentheses that open before `begin`; .data = NULL when there is none. */
static struct orma_str select_at(struct orma_str text, size_t begin)
{
	struct orma_token first = orma_sql_token_next(text, begin);
	size_t end = begin;
	if (!orma_sql_token_is(&first, "select") || !orma_sql_token_skip_parentheses(text, &end))
		return (struct orma_str){NULL, 0};
	return (struct orma_str){text.data + begin, end - 1 - begin};
}

/* Copies the statement to `out`, with what stands for its inner selects. Returns their number, or an error. */
static int rewrite_inner(struct orma_sql *sql, struct orma_str text,
			 struct orma_native_tables *tables, struct orma_buf *out)
{
	size_t copied = 0, offset = 0;
	int count = 0, r;
	bool has_with = false;
	for (;;) {
		struct orma_token token = orma_sql_token_next(text, offset);
		if (token.kind == ORMA_TOKEN_END || token.kind == ORMA_TOKEN_UNFINISHED)
			break;
		offset = orma_sql_token_end(&token);
		has_with = has_with || orma_sql_token_is(&token, "with");
		if (!orma_sql_token_is_sign(&token, '('))
			continue;
		struct orma_str select = select_at(text, offset);
		if (!select.data || (has_with && hides_table(text, select)))
			continue;
		size_t size = out->size;
		r = orma_base_buf_append(out, text.data + copied, offset - copied);
		if (r == 0)
			r = try_select(sql, select, tables, out);
		if (r < 0)
			return r;
		if (r == 0) {
			out->size = size;
			continue;
		}
		copied = offset = offset + select.size;
		count++;
	}
	r = orma_base_buf_append(out, text.data + copied, text.size - copied);
	return r < 0 ? r : count;
}

/* Writes the statement over groups to `out`. 1, 0 = there are none, or an error. */
static int rewrite(struct orma_sql *sql, struct orma_str text, struct orma_native_tables *tables,
		   struct orma_buf *out)
{
	struct orma_token first = orma_sql_token_next(text, 0);
	bool is_select = orma_sql_token_is(&first, "select");
	/* Others keep their text, as `create view` does, or are run more than once. */
	if (!is_select && !orma_sql_token_is(&first, "with"))
		return 0;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf distinct = {0};
	int r = is_select ? orma_sql_native_count_distinct(text, &distinct) : 0;
	if (r > 0) {
		text = (struct orma_str){(const char *)distinct.data, distinct.size};
		r = rewrite_inner(sql, text, tables, out);
		return r < 0 ? r : 1;
	}
	if (r == 0 && is_select)
		r = try_select(sql, text, tables, out);
	if (r == 0)
		r = rewrite_inner(sql, text, tables, out);
	return r < 0 ? r : r > 0;
}

/* An item without an alias has its text as its name, which changes if a select in it does. */
static bool has_same_names(sqlite3_stmt *a, sqlite3_stmt *b)
{
	int count = sqlite3_column_count(a);
	bool is_same = count == sqlite3_column_count(b);
	for (int i = 0; is_same && i < count; i++) {
		const char *name = sqlite3_column_name(a, i), *other = sqlite3_column_name(b, i);
		is_same = name && other && strcmp(name, other) == 0;
	}
	return is_same;
}

int orma_sql_native_prepare(struct orma_sql *sql, struct orma_str text,
			    struct orma_native_tables *tables, sqlite3_stmt **ret,
			    struct orma_error *reterr)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf native = {0};
	sqlite3_stmt *rewritten = NULL;
	int r = rewrite(sql, text, tables, &native);
	if (r == -ECANCELED)
		r = orma_sql_describe(sql, SQLITE_INTERRUPT, reterr);
	if (r > 0)
		r = orma_sql_prepare(sql, (struct orma_str){(const char *)native.data, native.size},
				     &rewritten, NULL) < 0
			    ? 0
			    : 1;
	if (r >= 0) {
		int found = orma_sql_prepare(sql, text, ret, reterr);
		if (found == 0 && r > 0 && has_same_names(rewritten, *ret)) {
			sqlite3_finalize(*ret);
			*ret = rewritten;
			sql->native_made += tables->count;
			return 0;
		}
		r = found;
	}
	sqlite3_finalize(rewritten);
	orma_sql_native_drop(sql, tables);
	return r;
}
