/* SPDX-License-Identifier: Apache-2.0
 * native_call.c - `sum(extract_arg(arg_set_id, 'key'))`: a function of a column and a text becomes a column of the query's relation.
 *
 * The relation says which function that is, and finds the column. It is added to a copy of the relation, which the query owns,
 * because the relation itself has the columns that SQLite knows. A function that the user has defined means something else.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_select.h"
#include "sql/perfetto_function.h"
#include "sql/relation.h"

/* True when the user has defined a function of this name. */
static bool is_defined(const struct orma_sql *sql, const char *name)
{
	for (const struct orma_sql_function *function = sql->functions; function;
	     function = function->next)
		if (strcasecmp(function->prototype.name, name) == 0)
			return true;
	return false;
}

/* Reads `(column, 'text')` from `*at`, and moves behind it. The text is to be freed with sqlite3_free(); NULL = it is another call. */
static char *read_arguments(const struct orma_select *select, size_t *at)
{
	size_t i = *at + 1;
	size_t close = orma_sql_select_find(select, i, select->token_count, ')', NULL);
	if (!orma_select_is_sign(select, *at, '(') ||
	    orma_sql_select_take_column(select, &i, close) !=
		    (int)select->query->relation->call_column ||
	    !orma_select_is_sign(select, i, ',') || i + 2 != close ||
	    close == select->token_count || select->tokens[i + 1].kind != ORMA_TOKEN_STRING)
		return NULL;
	struct orma_str quoted = select->tokens[i + 1].text;
	char *text = sqlite3_malloc64(quoted.size);
	size_t size = 0;
	/* Two quotes stand for one. */
	for (size_t k = 1; text && k + 1 < quoted.size; k++) {
		text[size++] = quoted.data[k];
		k += quoted.data[k] == '\'';
	}
	if (text)
		text[size] = '\0';
	*at = close + 1;
	return text;
}

/* Makes the query's own copy of its relation, with room for one more column. 0 or -ENOMEM. */
static int copy_relation(struct orma_native_query *query)
{
	const struct orma_relation *relation = query->relation;
	struct orma_relation *copy;
	int r = orma_sql_relation_new("", NULL, relation->pool, &copy);
	if (r < 0)
		return r;
	struct orma_relation_column *columns = orma_base_realloc_array(
		copy->columns, relation->column_count + ORMA_SELECT_CALLS_MAX, sizeof(*columns));
	if (!columns) {
		orma_sql_relation_unref(copy);
		return -ENOMEM;
	}
	memcpy(columns, relation->columns, relation->column_count * sizeof(*columns));
	for (size_t i = 0; i < relation->column_count; i++)
		columns[i].index = NULL;
	copy->columns = columns;
	copy->column_count = relation->column_count;
	copy->column_capacity = relation->column_count + ORMA_SELECT_CALLS_MAX;
	copy->table = relation->table;
	copy->row_count = relation->row_count;
	copy->call = relation->call;
	copy->call_ctx = relation->call_ctx;
	copy->call_name = relation->call_name;
	copy->call_column = relation->call_column;
	query->relation = query->joined = copy;
	return 0;
}

static int add_call(struct orma_select *select, size_t begin)
{
	struct orma_native_query *query = select->query;
	struct orma_relation_column column;
	size_t end = begin + 1;
	char *text = read_arguments(select, &end);
	if (!text || select->call_count == ORMA_SELECT_CALLS_MAX) {
		sqlite3_free(text);
		return ORMA_NO_MATCH;
	}
	int r = query->relation->call(query->relation->call_ctx, orma_base_str(text), &column);
	sqlite3_free(text);
	if (r == 0 && !query->joined)
		r = copy_relation(query);
	if (r < 0)
		return r;
	select->calls[select->call_count++] =
		(struct orma_select_call){begin, end, (int)query->joined->column_count};
	query->joined->columns[query->joined->column_count++] = column;
	return 0;
}

int orma_sql_select_add_calls(struct orma_select *select)
{
	const char *name = select->query->relation->call_name;
	int r = 0;
	for (size_t i = 1; name && r == 0 && i < select->token_count; i++)
		if (orma_select_is_word(select, i, name) && orma_select_is_sign(select, i + 1, '('))
			r = is_defined(select->sql, name) ? ORMA_NO_MATCH : add_call(select, i);
	return r;
}
