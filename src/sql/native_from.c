/* SPDX-License-Identifier: Apache-2.0
 * native_from.c - the tables of a join, and which of them is the large one.
 */
#include <errno.h>

#include "base/macros.h"
#include "sql/native_join.h"

static bool is_keyword(const struct orma_select *select, size_t at)
{
	static const char *const words[] = {"join", "left",    "inner",   "cross", "outer",
					    "on",   "using",   "natural", "right", "full",
					    "as",   "indexed", "not"};
	return at < select->token_count && select->tokens[at].kind == ORMA_TOKEN_WORD &&
	       orma_select_is_one_of(select->tokens[at].text, words, ORMA_ARRAY_SIZE(words));
}

/* `table [as] alias`; moves behind it. */
static int read_table(const struct orma_select *select, size_t *at, size_t end,
		      struct orma_join_table *ret)
{
	size_t i = *at;
	ret->begin = i;
	if (i >= end || !orma_select_is_name(&select->tokens[i]) || is_keyword(select, i))
		return ORMA_NO_MATCH;
	ret->name = ret->alias = orma_select_text(&select->tokens[i++]);
	/* A name with a schema, or a function. */
	if (i < end && (orma_select_is_sign(select, i, '.') || orma_select_is_sign(select, i, '(')))
		return ORMA_NO_MATCH;
	if (i < end && orma_select_is_word(select, i, "as"))
		i++;
	if (i < end && orma_select_is_name(&select->tokens[i]) && !is_keyword(select, i))
		ret->alias = orma_select_text(&select->tokens[i++]);
	ret->end = *at = i;
	return 0;
}

/* Reads `on ...` or `using (...)`, if there is one, and moves behind it. */
static void read_condition(const struct orma_select *select, size_t *at, size_t end,
			   struct orma_join_table *ret)
{
	static const char *const words[] = {"join",  "left", "inner",  "cross",
					    "right", "full", "natural"};
	ret->on_begin = ret->on_end = *at;
	if (orma_select_is_word(select, *at, "using") &&
	    orma_select_is_sign(select, *at + 1, '(')) {
		size_t close = orma_sql_select_find(select, *at + 2, end, ')', NULL);
		ret->on_begin = ret->on_end = *at = close < end ? close + 1 : end;
		return;
	}
	if (*at >= end || !orma_select_is_word(select, *at, "on"))
		return;
	ret->on_begin = *at + 1;
	ret->on_end = orma_sql_select_find(select, *at + 1, end, ',', NULL);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		ret->on_end = orma_sql_select_find(select, *at + 1, ret->on_end, 0, words[i]);
	*at = ret->on_end;
}

/* `,`, `join`, `inner join`, `cross join`, `left join` or `left outer join`; moves behind it. */
static bool take_operator(const struct orma_select *select, size_t *at, bool *retleft)
{
	*retleft = orma_select_is_word(select, *at, "left");
	if (orma_select_is_sign(select, *at, ',')) {
		(*at)++;
		return true;
	}
	if (*retleft)
		*at += orma_select_is_word(select, *at + 1, "outer") ? 2 : 1;
	else if (orma_select_is_word(select, *at, "inner") ||
		 orma_select_is_word(select, *at, "cross"))
		(*at)++;
	return orma_select_is_word(select, (*at)++, "join");
}

int orma_sql_join_tables(const struct orma_select *select, struct orma_join *join)
{
	size_t at = select->from, end = orma_sql_select_clause_end(select, select->from);
	bool is_left = false;
	for (;;) {
		if (join->table_count == ORMA_JOIN_TABLES_MAX)
			return ORMA_NO_MATCH;
		struct orma_join_table *table = &join->tables[join->table_count++];
		*table = (struct orma_join_table){.is_left = is_left};
		int r = read_table(select, &at, end, table);
		if (r < 0)
			return r;
		read_condition(select, &at, end, table);
		if (at >= end)
			return join->table_count > 1 ? 0 : ORMA_NO_MATCH;
		if (!take_operator(select, &at, &is_left))
			return ORMA_NO_MATCH;
	}
}

/* Makes the table the select's own if it is large. 1, 0 = it is not, or an error. */
static int use_table(struct orma_select *select, const struct orma_join_table *table,
		     struct orma_arena *arena)
{
	select->table = table->name;
	select->alias = table->alias;
	select->name_count = 0;
	int r = orma_sql_select_resolve(select, arena);
	if (r == ORMA_NO_MATCH)
		orma_sql_native_clear(select->query);
	return r == 0 ? 1 : r == ORMA_NO_MATCH ? 0 : r;
}

int orma_sql_join_read(struct orma_select *select, struct orma_arena *arena, struct orma_join *ret)
{
	size_t found = 0;
	ret->select = select;
	int r = orma_sql_join_tables(select, ret);
	for (size_t i = 0; r >= 0 && i < ret->table_count; i++) {
		r = use_table(select, &ret->tables[i], arena);
		if (r > 0) {
			ret->large = i;
			found++;
			orma_sql_native_clear(select->query);
		}
	}
	/* Groups of one table are no help where two are large. */
	if (r >= 0 && (found != 1 || ret->tables[ret->large].is_left))
		r = ORMA_NO_MATCH;
	if (r >= 0)
		r = use_table(select, &ret->tables[ret->large], arena);
	return r < 0 ? r : 0;
}
