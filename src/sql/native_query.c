/* SPDX-License-Identifier: Apache-2.0
 * native_query.c - the words that mean the same over groups, the names that SQLite gives to columns, and the end of a query.
 */
#include <errno.h>

#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native_select.h"

int orma_sql_select_add_aggregate(struct orma_native_query *query, enum orma_aggregate_kind kind,
				  int column)
{
	size_t i = 0;
	while (i < query->aggregate_count &&
	       (query->aggregates[i].kind != kind || query->aggregates[i].column != column))
		i++;
	if (i == ORMA_NATIVE_AGGREGATES_MAX)
		return ORMA_NO_MATCH;
	if (i == query->aggregate_count)
		query->aggregates[query->aggregate_count++] =
			(struct orma_native_aggregate){kind, column};
	return (int)i;
}

bool orma_sql_select_aggregate(const struct orma_token *token, enum orma_aggregate_kind *ret)
{
	static const struct {
		const char *name;
		enum orma_aggregate_kind kind;
	} names[] = {{"count", ORMA_AGGREGATE_COUNT},
		     {"sum", ORMA_AGGREGATE_SUM},
		     {"min", ORMA_AGGREGATE_MIN},
		     {"max", ORMA_AGGREGATE_MAX},
		     {"avg", ORMA_AGGREGATE_AVG}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		if (orma_sql_token_is(token, names[i].name)) {
			*ret = names[i].kind;
			return true;
		}
	return false;
}

/* `min` and `max` have several arguments here. */
bool orma_sql_select_is_known(struct orma_str name, bool is_function)
{
	static const char *const functions[] = {"abs",     "coalesce", "format", "ifnull", "iif",
						"instr",   "length",   "lower",  "nullif", "printf",
						"replace", "round",    "substr", "trim",   "upper",
						"cast",    "min",      "max"};
	static const char *const keywords[] = {
		"and",   "as",    "asc",    "between", "case", "desc", "else", "end",
		"first", "glob",  "in",     "integer", "is",   "last", "like", "not",
		"null",  "nulls", "offset", "or",      "real", "text", "then", "when"};
	return is_function ? orma_select_is_one_of(name, functions, ORMA_ARRAY_SIZE(functions))
			   : orma_select_is_one_of(name, keywords, ORMA_ARRAY_SIZE(keywords));
}

/* The name of a column as its table has it. */
static struct orma_str column_name(const struct orma_select *select,
				   const struct orma_select_item *item)
{
	struct orma_str name = orma_select_text(&select->tokens[item->end - 1]);
	for (size_t i = 0; i < select->name_count; i++)
		if (orma_select_is_same(name, select->names[i].name))
			return select->names[i].name;
	return name;
}

/* SQLite names a column after its expression's text. */
int orma_sql_select_write_alias(const struct orma_select *select,
				const struct orma_select_item *item, struct orma_buf *out)
{
	struct orma_str name = item->alias;
	if (!name.data && orma_sql_select_plain_column(select, item->begin, item->end) >= 0)
		name = column_name(select, item);
	if (!name.data) {
		size_t begin = select->tokens[item->begin].offset;
		name = (struct orma_str){select->text.data + begin,
					 orma_sql_token_end(&select->tokens[item->end - 1]) -
						 begin};
	}
	char *text = sqlite3_mprintf(" as \"%.*w\"", (int)name.size, name.data);
	int r = text ? orma_base_buf_append_str(out, text) : -ENOMEM;
	sqlite3_free(text);
	return r;
}

void orma_sql_native_clear(struct orma_native_query *query)
{
	while (query->filter_count > 0)
		orma_sql_filter_done(&query->filters[--query->filter_count]);
	orma_sql_relation_unref(query->joined);
	query->relation = query->joined = NULL;
	query->group_count = query->aggregate_count = 0;
}

void orma_sql_native_done(struct orma_native_query *query)
{
	orma_sql_native_clear(query);
	orma_base_buf_done(&query->sql);
	orma_base_buf_done(&query->key_sql);
}
