/* SPDX-License-Identifier: Apache-2.0
 * native_select.c - cuts a statement at its keywords. A statement that has words of other shapes is not read at all.
 */
#include <errno.h>

#include "base/macros.h"
#include "sql/native_select.h"

static int read_tokens(struct orma_select *select)
{
	static const char *const strangers[] = {
		"select",   "union", "except", "intersect", "over",   "filter", "window",
		"distinct", "with",  "exists", "collate",   "values", "raise",
	};
	size_t offset = 0;
	for (;;) {
		struct orma_token next = orma_sql_token_next(select->text, offset);
		if (next.kind == ORMA_TOKEN_END)
			return 0;
		if (select->token_count == ORMA_SELECT_TOKENS_MAX ||
		    next.kind == ORMA_TOKEN_UNFINISHED || next.kind == ORMA_TOKEN_VARIABLE)
			return ORMA_NO_MATCH;
		bool is_distinct = select->token_count == 1 && orma_sql_token_is(&next, "distinct");
		if (select->token_count > 0 && next.kind == ORMA_TOKEN_WORD && !is_distinct &&
		    orma_select_is_one_of(next.text, strangers, ORMA_ARRAY_SIZE(strangers)))
			return ORMA_NO_MATCH;
		select->tokens[select->token_count++] = next;
		offset = orma_sql_token_end(&next);
	}
}

size_t orma_sql_select_find(const struct orma_select *select, size_t i, size_t end, char sign,
			    const char *word)
{
	size_t depth = 0;
	for (; i < end; i++) {
		if (depth == 0 && ((sign && orma_select_is_sign(select, i, sign)) ||
				   (word && orma_select_is_word(select, i, word))))
			return i;
		depth += orma_select_is_sign(select, i, '(');
		depth -= depth > 0 && orma_select_is_sign(select, i, ')');
	}
	return end;
}

/* Finds the clauses, which come in this order. */
static int find_clauses(struct orma_select *select)
{
	static const char *const words[] = {"from", "where", "group", "having", "order", "limit"};
	size_t *const places[] = {&select->from,   &select->where, &select->group,
				  &select->having, &select->order, &select->limit};
	size_t at = 1;
	if (!orma_select_is_word(select, 0, "select"))
		return ORMA_NO_MATCH;
	select->is_distinct = orma_select_is_word(select, 1, "distinct");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++) {
		size_t found = orma_sql_select_find(select, at, select->token_count, 0, words[i]);
		*places[i] = SIZE_MAX;
		if (found == select->token_count)
			continue;
		bool takes_by = places[i] == &select->group || places[i] == &select->order;
		if (takes_by && !orma_select_is_word(select, found + 1, "by"))
			return ORMA_NO_MATCH;
		*places[i] = at = found + (takes_by ? 2 : 1);
	}
	return select->from == SIZE_MAX ? ORMA_NO_MATCH : 0;
}

size_t orma_sql_select_clause_end(const struct orma_select *select, size_t begin)
{
	const size_t places[] = {select->where, select->group, select->having, select->order,
				 select->limit};
	size_t end = select->token_count;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(places); i++) {
		bool takes_by = i == 1 || i == 3;
		if (places[i] != SIZE_MAX && places[i] > begin)
			end = ORMA_MIN(end, places[i] - (takes_by ? 2 : 1));
	}
	return end;
}

/* `table`, `table alias`, `table as alias`. */
static int read_table(struct orma_select *select)
{
	size_t at = select->from, end = orma_sql_select_clause_end(select, select->from);
	if (at >= end || !orma_select_is_name(&select->tokens[at]))
		return ORMA_NO_MATCH;
	select->table = select->alias = orma_select_text(&select->tokens[at++]);
	if (at < end && orma_select_is_word(select, at, "as"))
		at++;
	if (at < end && orma_select_is_name(&select->tokens[at]))
		select->alias = orma_select_text(&select->tokens[at++]);
	return at == end ? 0 : ORMA_NO_MATCH;
}

static void split_alias(const struct orma_select *select, struct orma_select_item *item)
{
	size_t last = item->end - 1;
	if (item->end - item->begin < 2 || !orma_select_is_name(&select->tokens[last]) ||
	    orma_select_is_word(select, last, "end"))
		return;
	const struct orma_token *before = &select->tokens[last - 1];
	bool ends_value = orma_select_is_name(before) || before->kind == ORMA_TOKEN_NUMBER ||
			  before->kind == ORMA_TOKEN_STRING || orma_sql_token_is_sign(before, ')');
	if (!ends_value)
		return;
	item->alias = orma_select_text(&select->tokens[last]);
	item->end = last - (orma_sql_token_is(before, "as") ? 1 : 0);
}

static int read_items(struct orma_select *select)
{
	size_t end = select->from - 1;
	for (size_t at = select->is_distinct ? 2 : 1; at <= end; at++) {
		if (select->item_count == ORMA_SELECT_ITEMS_MAX)
			return ORMA_NO_MATCH;
		struct orma_select_item *item = &select->items[select->item_count++];
		*item = (struct orma_select_item){
			.begin = at, .end = orma_sql_select_find(select, at, end, ',', NULL)};
		at = item->end;
		if (item->begin == item->end)
			return ORMA_NO_MATCH;
		split_alias(select, item);
	}
	return select->item_count > 0 ? 0 : ORMA_NO_MATCH;
}

int orma_sql_select_read(struct orma_str text, struct orma_select *ret)
{
	ret->text = text;
	ret->token_count = ret->item_count = ret->name_count = ret->call_count = 0;
	int r = read_tokens(ret);
	if (r == 0)
		r = find_clauses(ret);
	if (r == 0)
		ret->is_join = read_table(ret) < 0;
	return r < 0 ? r : read_items(ret);
}

int orma_sql_select_take_column(const struct orma_select *select, size_t *at, size_t end)
{
	size_t i = *at, found = SIZE_MAX;
	struct orma_str table = {NULL, 0};
	for (size_t n = 0; n < select->call_count; n++)
		if (select->calls[n].begin == i && select->calls[n].end <= end) {
			*at = select->calls[n].end;
			return select->calls[n].column;
		}
	if (i + 2 < end && orma_select_is_name(&select->tokens[i]) &&
	    orma_select_is_sign(select, i + 1, '.')) {
		table = orma_select_text(&select->tokens[i]);
		i += 2;
	}
	if (i >= end || !orma_select_is_name(&select->tokens[i]) ||
	    orma_select_is_sign(select, i + 1, '('))
		return -1;
	struct orma_str name = orma_select_text(&select->tokens[i]);
	for (size_t n = 0; n < select->name_count; n++) {
		const struct orma_select_name *column = &select->names[n];
		if (!orma_select_is_same(name, column->name) ||
		    (table.data && !orma_select_is_same(table, column->table.data ? column->table
										  : select->alias)))
			continue;
		/* Both tables of a join have it. */
		if (found < SIZE_MAX && column->table.data)
			return -1;
		found = found < SIZE_MAX ? found : n;
	}
	if (found == SIZE_MAX || select->names[found].column < 0)
		return -1;
	*at = i + 1;
	return select->names[found].column;
}

int orma_sql_select_plain_column(const struct orma_select *select, size_t begin, size_t end)
{
	int column = orma_sql_select_take_column(select, &begin, end);
	return begin == end ? column : -1;
}
