/* SPDX-License-Identifier: Apache-2.0
 * native_parse.c - matches a statement against the one shape that is computed natively, and writes the statement over
 * the groups.
 *
 * Whatever is not understood ends the match. The rules that SQLite resolves names by differ between the clauses; a name
 * that could mean two things ends it as well.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_lookup.h"

/* An item's name for another thing than the column of this name: clauses differ in which of them they mean. */
static int check_aliases(const struct orma_select *select)
{
	for (size_t i = 0; i < select->item_count; i++) {
		const struct orma_select_item *item = &select->items[i];
		for (size_t n = 0; item->alias.data && n < select->name_count; n++)
			if (orma_select_is_same(item->alias, select->names[n].name) &&
			    (select->names[n].column < 0 ||
			     orma_sql_select_plain_column(select, item->begin, item->end) !=
				     select->names[n].column))
				return ORMA_NO_MATCH;
	}
	return 0;
}

static const struct orma_select_item *item_of_alias(const struct orma_select *select,
						    struct orma_str name)
{
	for (size_t i = 0; i < select->item_count; i++)
		if (select->items[i].alias.data &&
		    orma_select_is_same(select->items[i].alias, name))
			return &select->items[i];
	return NULL;
}

/* A column, the alias of an item that is one, or the number of such an item. */
static int group_column(const struct orma_select *select, size_t begin, size_t end)
{
	int column = orma_sql_select_plain_column(select, begin, end);
	const struct orma_select_item *item = NULL;
	if (column >= 0 || begin + 1 != end)
		return column;
	const struct orma_token *token = &select->tokens[begin];
	if (token->kind == ORMA_TOKEN_NUMBER && token->text.size == 1) {
		size_t number = (size_t)(token->text.data[0] - '1');
		item = number < select->item_count ? &select->items[number] : NULL;
	} else if (orma_select_is_name(token)) {
		item = item_of_alias(select, orma_select_text(token));
	}
	return item ? orma_sql_select_plain_column(select, item->begin, item->end) : -1;
}

static int add_group(struct orma_select *select, int column)
{
	struct orma_native_query *query = select->query;
	if (column < 0 || query->group_count == ORMA_NATIVE_GROUPS_MAX ||
	    query->relation->columns[column].type == ORMA_COLUMN_DOUBLE)
		return ORMA_NO_MATCH;
	query->groups[query->group_count++] = (size_t)column;
	return 0;
}

/* `select distinct` of columns is a grouping by them. */
static int match_distinct(struct orma_select *select)
{
	int r = select->group == SIZE_MAX && select->having == SIZE_MAX ? 0 : ORMA_NO_MATCH;
	for (size_t i = 0; r == 0 && i < select->item_count; i++)
		r = add_group(select, orma_sql_select_plain_column(select, select->items[i].begin,
								   select->items[i].end));
	return r;
}

static int match_groups(struct orma_select *select)
{
	if (select->is_distinct)
		return match_distinct(select);
	if (select->group == SIZE_MAX)
		return 0;
	size_t end = orma_sql_select_clause_end(select, select->group);
	for (size_t at = select->group; at <= end; at++) {
		size_t term_end = orma_sql_select_find(select, at, end, ',', NULL);
		int column = group_column(select, at, term_end);
		int r = add_group(select, column);
		if (r < 0)
			return r;
		at = term_end;
	}
	return 0;
}

static int emit(struct orma_select *select, struct orma_str text)
{
	int r = orma_base_buf_append(&select->query->sql, text.data, text.size);
	return r == 0 ? orma_base_buf_append(&select->query->sql, " ", 1) : r;
}

static int emit_aggregate(struct orma_select *select, enum orma_aggregate_kind kind, int column)
{
	struct orma_native_query *query = select->query;
	int number = orma_sql_select_add_aggregate(query, kind, column);
	if (number == ORMA_NO_MATCH)
		return ORMA_NO_MATCH;
	/* The plus takes away the column's affinity, which an aggregate has not. */
	return orma_base_buf_printf(&query->sql, "(+a%d) ", number);
}

/* True when there is a comma in the parentheses that open before `begin`. */
static bool has_several_arguments(const struct orma_select *select, size_t begin, size_t end)
{
	size_t close = orma_sql_select_find(select, begin, end, ')', NULL);
	return orma_sql_select_find(select, begin, close, ',', NULL) < close;
}

/*
 * Emits an aggregate whose name is at `*at`, if it is one of ours with one column, and moves behind it. 1, 0 when it is
 * another function, or ORMA_NO_MATCH.
 */
static int translate_aggregate(struct orma_select *select, size_t *at, size_t end)
{
	size_t i = *at + 2;
	enum orma_aggregate_kind kind;
	int column = -1;
	if (!orma_sql_select_aggregate(&select->tokens[*at], &kind))
		return 0;
	/* These two are other functions with several arguments. */
	bool is_extreme = kind == ORMA_AGGREGATE_MIN || kind == ORMA_AGGREGATE_MAX;
	if (is_extreme && has_several_arguments(select, i, end))
		return 0;
	if (kind == ORMA_AGGREGATE_COUNT && orma_select_is_sign(select, i, '*'))
		i++;
	else if ((column = orma_sql_select_take_column(select, &i, end)) < 0)
		return ORMA_NO_MATCH;
	if (!orma_select_is_sign(select, i, ')'))
		return ORMA_NO_MATCH;
	if (column >= 0 && kind != ORMA_AGGREGATE_COUNT &&
	    select->query->relation->columns[column].type == ORMA_COLUMN_STRING)
		return ORMA_NO_MATCH;
	int r = emit_aggregate(select, kind, column);
	*at = i + 1;
	return r < 0 ? r : 1;
}

/* Emits one name, or an aggregate, and moves behind it. `allows_aliases` where names of items can be used. */
static int translate_name(struct orma_select *select, size_t *at, size_t end, bool allows_aliases)
{
	const struct orma_native_query *query = select->query;
	const struct orma_token *token = &select->tokens[*at];
	if (orma_select_is_sign(select, *at + 1, '(')) {
		int r = translate_aggregate(select, at, end);
		if (r != 0)
			return r < 0 ? r : 0;
		if (token->kind != ORMA_TOKEN_WORD ||
		    (!orma_sql_select_is_known(token->text, true) &&
		     !orma_select_is_word(select, *at, "in") &&
		     !orma_sql_select_is_known(token->text, false)))
			return ORMA_NO_MATCH;
		(*at)++;
		return emit(select, token->text);
	}
	int column = orma_sql_select_take_column(select, at, end);
	if (column >= 0) {
		for (size_t i = 0; i < query->group_count; i++)
			if (query->groups[i] == (size_t)column)
				return orma_base_buf_printf(&select->query->sql, "g%zu ", i);
		return ORMA_NO_MATCH;
	}
	bool is_alias = allows_aliases && item_of_alias(select, orma_select_text(token));
	if (!is_alias &&
	    (token->kind != ORMA_TOKEN_WORD || !orma_sql_select_is_known(token->text, false)))
		return ORMA_NO_MATCH;
	(*at)++;
	return emit(select, token->text);
}

static int translate(struct orma_select *select, size_t begin, size_t end, bool allows_aliases)
{
	int r = 0;
	for (size_t at = begin; r == 0 && at < end;) {
		const struct orma_token *token = &select->tokens[at];
		if (orma_select_is_name(token)) {
			r = translate_name(select, &at, end, allows_aliases);
		} else {
			/* Signs of two characters must stay together. */
			bool is_pair = token->kind == ORMA_TOKEN_SIGN && at + 1 < end &&
				       select->tokens[at + 1].kind == ORMA_TOKEN_SIGN &&
				       select->tokens[at + 1].offset == token->offset + 1 &&
				       strchr("<>=!|", token->text.data[0]);
			r = is_pair ? orma_base_buf_append(&select->query->sql, token->text.data, 1)
				    : emit(select, token->text);
			at++;
		}
	}
	return r;
}

static int translate_clause(struct orma_select *select, size_t begin, const char *keyword)
{
	if (begin == SIZE_MAX)
		return 0;
	int r = orma_base_buf_printf(&select->query->sql, " %s ", keyword);
	return r < 0 ? r
		     : translate(select, begin, orma_sql_select_clause_end(select, begin), true);
}

static int write_sql(struct orma_select *select, const char *table)
{
	struct orma_buf *sql = &select->query->sql;
	int r = orma_base_buf_append_str(sql, "select ");
	for (size_t i = 0; r == 0 && i < select->item_count; i++) {
		if (i > 0)
			r = orma_base_buf_append_str(sql, ", ");
		if (r == 0)
			r = translate(select, select->items[i].begin, select->items[i].end, false);
		if (r == 0)
			r = orma_sql_select_write_alias(select, &select->items[i], sql);
	}
	if (r == 0)
		r = orma_base_buf_printf(sql, " from \"%s\"", table);
	if (r == 0)
		r = translate_clause(select, select->having, "where");
	if (r == 0)
		r = translate_clause(select, select->order, "order by");
	if (r == 0)
		r = translate_clause(select, select->limit, "limit");
	if (r == 0 && select->is_distinct && select->query->aggregate_count > 0)
		r = ORMA_NO_MATCH;
	/* Without groups or aggregates it is an ordinary query. */
	if (r == 0 && select->query->aggregate_count == 0 && select->query->group_count == 0)
		r = ORMA_NO_MATCH;
	return r;
}

/* Most selects end here, before tables are looked up. */
static bool may_group(const struct orma_select *select)
{
	enum orma_aggregate_kind kind;
	bool groups = select->is_distinct || select->group != SIZE_MAX;
	for (size_t i = 0; !groups && i + 1 < select->from; i++)
		groups = orma_select_is_sign(select, i + 1, '(') &&
			 orma_sql_select_aggregate(&select->tokens[i], &kind);
	return groups;
}

static int match(struct orma_select *select, const char *table, struct orma_arena *arena)
{
	int r = orma_sql_select_read(select->text, select);
	if (r < 0 || !may_group(select))
		return r < 0 ? r : ORMA_NO_MATCH;
	if (select->is_join) {
		r = orma_sql_join_match(select, table, arena);
		if (r != ORMA_NO_MATCH)
			return r;
		orma_sql_native_clear(select->query);
	}
	select->query->is_distinct = select->is_distinct;
	r = select->is_join ? orma_sql_lookup_resolve(select, arena)
			    : orma_sql_select_resolve(select, arena);
	if (r == 0 && !select->is_join)
		r = orma_sql_select_add_calls(select);
	if (r == 0)
		r = check_aliases(select);
	if (r == 0)
		r = match_groups(select);
	if (r == 0)
		r = write_sql(select, table);
	return r < 0 ? r : orma_sql_select_add_filters(select);
}

int orma_sql_native_parse(struct orma_sql *sql, struct orma_str text, const char *table,
			  struct orma_native_query *ret)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	*ret = (struct orma_native_query){.relation = NULL};
	/* Most statements that are none, like those of the prelude, end here. */
	struct orma_token first = orma_sql_token_next(text, 0);
	if (!orma_sql_token_is(&first, "select"))
		return 0;
	struct orma_select *select = orma_base_alloc(sizeof(*select));
	if (!select)
		return -ENOMEM;
	select->sql = sql;
	select->text = text;
	select->query = ret;
	int r = match(select, table, &arena);
	orma_base_free(select);
	if (r < 0)
		return r == ORMA_NO_MATCH ? 0 : r;
	return 1;
}
