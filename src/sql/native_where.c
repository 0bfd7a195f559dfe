/* SPDX-License-Identifier: Apache-2.0
 * native_where.c - conditions of a column and literals, joined by `and`, become filters.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_select.h"
#include "sql/value_filter.h"

enum { LITERALS_MAX = 64 };

/* Evaluates the literals between two tokens, with commas, to values that are to be freed. Returns their number. */
static int read_literals(struct orma_select *select, size_t begin, size_t end, sqlite3_value **ret)
{
	size_t expected = 1;
	for (size_t i = begin; i < end; i++) {
		const struct orma_token *token = &select->tokens[i];
		bool is_literal =
			token->kind == ORMA_TOKEN_NUMBER || token->kind == ORMA_TOKEN_STRING;
		expected += orma_select_is_sign(select, i, ',');
		if (!is_literal && !orma_select_is_sign(select, i, ',') &&
		    !orma_select_is_sign(select, i, '-'))
			return ORMA_NO_MATCH;
	}
	if (begin >= end || expected > LITERALS_MAX)
		return ORMA_NO_MATCH;
	size_t from = select->tokens[begin].offset;
	char *text = sqlite3_mprintf("select %.*s",
				     (int)(orma_sql_token_end(&select->tokens[end - 1]) - from),
				     select->text.data + from);
	sqlite3_stmt *query = NULL;
	int count = ORMA_NO_MATCH;
	if (text && sqlite3_prepare_v2(select->sql->db, text, -1, &query, NULL) == SQLITE_OK &&
	    sqlite3_column_count(query) == (int)expected && sqlite3_step(query) == SQLITE_ROW)
		for (count = 0; count < (int)expected; count++)
			ret[count] = sqlite3_value_dup(sqlite3_column_value(query, count));
	sqlite3_finalize(query);
	sqlite3_free(text);
	return count;
}

static void free_literals(sqlite3_value **values, int count)
{
	for (int i = 0; i < count; i++)
		sqlite3_value_free(values[i]);
}

static int add_filter(struct orma_select *select, enum orma_plan_op op, size_t column,
		      sqlite3_value *value)
{
	struct orma_native_query *query = select->query;
	const struct orma_plan_term term = {.op = op, .column_idx = column};
	bool is_text = query->relation->columns[column].type == ORMA_COLUMN_STRING;
	bool needs_text = is_text && op != ORMA_PLAN_IS_NULL && op != ORMA_PLAN_NOT_NULL;
	/* A number is no text, unless it is a column's that has an affinity. */
	bool is_call = query->relation->columns[column].flags & ORMA_RELATION_CALL;
	bool is_pattern = op == ORMA_PLAN_GLOB || op == ORMA_PLAN_LIKE || op == ORMA_PLAN_REGEXP;
	if (query->filter_count == ORMA_NATIVE_FILTERS_MAX || !value || (is_pattern && !is_text) ||
	    (is_call && sqlite3_value_type(value) != SQLITE_INTEGER) ||
	    (needs_text && sqlite3_value_type(value) != SQLITE_TEXT))
		return ORMA_NO_MATCH;
	int r = orma_sql_value_filter(query->relation, &term, value,
				      &query->filters[query->filter_count++], NULL);
	return r == -EINVAL ? ORMA_NO_MATCH : r;
}

/* The operator at `*at`; moves behind it. */
static bool take_operator(const struct orma_select *select, size_t *at, enum orma_plan_op *ret)
{
	static const struct {
		const char *text;
		enum orma_plan_op op;
	} signs[] = {{"<=", ORMA_PLAN_LESS_OR_EQUAL}, {">=", ORMA_PLAN_GREATER_OR_EQUAL},
		     {"<>", ORMA_PLAN_NOT_EQUAL},     {"!=", ORMA_PLAN_NOT_EQUAL},
		     {"==", ORMA_PLAN_EQUAL},         {"=", ORMA_PLAN_EQUAL},
		     {"<", ORMA_PLAN_LESS},           {">", ORMA_PLAN_GREATER}},
	  words[] = {
		  {"glob", ORMA_PLAN_GLOB}, {"like", ORMA_PLAN_LIKE}, {"regexp", ORMA_PLAN_REGEXP}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(signs); i++) {
		size_t size = strlen(signs[i].text), n = 0;
		while (n < size && orma_select_is_sign(select, *at + n, signs[i].text[n]) &&
		       (n == 0 || select->tokens[*at + n].offset == select->tokens[*at].offset + n))
			n++;
		if (n == size) {
			*at += size;
			*ret = signs[i].op;
			return true;
		}
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		if (orma_select_is_word(select, *at, words[i].text)) {
			(*at)++;
			*ret = words[i].op;
			return true;
		}
	return false;
}

static int compare_literal(struct orma_select *select, enum orma_plan_op op, size_t column,
			   size_t begin, size_t end)
{
	sqlite3_value *values[LITERALS_MAX];
	int count = read_literals(select, begin, end, values);
	if (count < 0)
		return count;
	int r = count == 1 ? add_filter(select, op, column, values[0]) : ORMA_NO_MATCH;
	free_literals(values, count);
	return r;
}

/* `column in (1, 2, 3)` */
static int match_list(struct orma_select *select, size_t column, size_t begin, size_t end)
{
	struct orma_native_query *query = select->query;
	sqlite3_value *values[LITERALS_MAX];
	int count = read_literals(select, begin, end, values), r = 0;
	if (count < 0)
		return count;
	int64_t *set = orma_base_alloc_array(LITERALS_MAX, sizeof(*set));
	size_t found = 0;
	bool is_call = query->relation->columns[column].flags & ORMA_RELATION_CALL;
	if (!set || is_call || query->filter_count == ORMA_NATIVE_FILTERS_MAX)
		r = set ? ORMA_NO_MATCH : -ENOMEM;
	for (int i = 0; r == 0 && i < count; i++) {
		int is_cell = values[i] ? orma_sql_value_cell(query->relation, column, values[i],
							      &set[found])
					: -ENOMEM;
		r = is_cell < 0 ? is_cell : 0;
		found += is_cell > 0;
	}
	free_literals(values, count);
	if (r < 0) {
		orma_base_free(set);
		return r;
	}
	struct orma_filter *filter = &query->filters[query->filter_count++];
	*filter = (struct orma_filter){.column_idx = column,
				       .is_double = query->relation->columns[column].type ==
						    ORMA_COLUMN_DOUBLE};
	return orma_sql_filter_use_set(filter, set, found);
}

/* One condition of `where`. */
static int match_condition(struct orma_select *select, size_t at, size_t end)
{
	enum orma_plan_op op;
	int column = orma_sql_select_take_column(select, &at, end);
	if (column < 0)
		return ORMA_NO_MATCH;
	if (orma_select_is_word(select, at, "is")) {
		bool is_not = orma_select_is_word(select, at + 1, "not");
		at += is_not ? 2 : 1;
		struct orma_native_query *query = select->query;
		if (!orma_select_is_word(select, at, "null") || at + 1 != end ||
		    query->filter_count == ORMA_NATIVE_FILTERS_MAX)
			return ORMA_NO_MATCH;
		query->filters[query->filter_count++] = (struct orma_filter){
			.kind = is_not ? ORMA_FILTER_NOT_NULL : ORMA_FILTER_IS_NULL,
			.column_idx = (size_t)column,
			.is_double = query->relation->columns[column].type == ORMA_COLUMN_DOUBLE};
		return 0;
	}
	if (orma_select_is_word(select, at, "in")) {
		if (!orma_select_is_sign(select, at + 1, '(') || end < at + 3 ||
		    !orma_select_is_sign(select, end - 1, ')'))
			return ORMA_NO_MATCH;
		return match_list(select, (size_t)column, at + 2, end - 1);
	}
	if (!take_operator(select, &at, &op))
		return ORMA_NO_MATCH;
	return compare_literal(select, op, (size_t)column, at, end);
}

size_t orma_sql_select_condition_end(const struct orma_select *select, size_t begin, size_t end)
{
	size_t term_end = orma_sql_select_find(select, begin, end, 0, "and");
	/* The first `and` of a range is its own. */
	if (term_end < end &&
	    orma_sql_select_find(select, begin, term_end, 0, "between") < term_end)
		term_end = orma_sql_select_find(select, term_end + 1, end, 0, "and");
	return term_end;
}

static int add_condition(struct orma_select *select, size_t begin, size_t end)
{
	size_t at = begin;
	int column = orma_sql_select_take_column(select, &at, end);
	if (column < 0 || !orma_select_is_word(select, at, "between"))
		return match_condition(select, begin, end);
	size_t middle = orma_sql_select_find(select, at, end, 0, "and");
	int r = compare_literal(select, ORMA_PLAN_GREATER_OR_EQUAL, (size_t)column, at + 1, middle);
	if (r == 0)
		r = compare_literal(select, ORMA_PLAN_LESS_OR_EQUAL, (size_t)column, middle + 1,
				    end);
	return r;
}

int orma_sql_select_add_condition(struct orma_select *select, size_t begin, size_t end)
{
	struct orma_native_query *query = select->query;
	size_t count = query->filter_count;
	int r = add_condition(select, begin, end);
	while (r < 0 && query->filter_count > count)
		orma_sql_filter_done(&query->filters[--query->filter_count]);
	return r;
}

int orma_sql_select_add_filters(struct orma_select *select)
{
	if (select->where == SIZE_MAX)
		return 0;
	size_t end = orma_sql_select_clause_end(select, select->where), term_end;
	int r = 0;
	for (size_t at = select->where; r == 0 && at <= end; at = term_end + 1) {
		term_end = orma_sql_select_condition_end(select, at, end);
		r = orma_sql_select_add_condition(select, at, term_end);
	}
	return r;
}
