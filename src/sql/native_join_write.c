/* SPDX-License-Identifier: Apache-2.0
 * native_join_write.c - writes the statement that reads the groups of the large table in place of its rows.
 *
 * Its text is that of the user's statement, with two changes: aggregates of the large table become aggregates over its
 * groups, and conditions that concern only the large table are left out, because the groups already meet them.
 *
 * A column outside of aggregates must be one that `group by` names. For any other column SQLite may take the value of any
 * row, and over groups it would take another row's than over the table itself.
 */
#include "sql/native_join.h"

#include <errno.h>

#include "base/macros.h"
#include "sql/engine_state.h"

/* Where a name stands decides what it may be. */
enum place { IN_ITEM, IN_CONDITION, IN_GROUP, IN_ORDER };

struct writer {
	struct orma_join *join;
	struct orma_buf *out;
	enum place place;
	size_t end;        /* where the clause ends */
	bool is_aggregate; /* all is within an aggregate, or names what `group by` does */
};

static struct orma_native_query *query_of(const struct writer *writer)
{
	return writer->join->select->query;
}

/* Copies tokens with what is between them and the token before. */
static int copy(const struct writer *writer, size_t begin, size_t end)
{
	const struct orma_select *select = writer->join->select;
	for (size_t i = begin; i < end; i++) {
		const struct orma_str text = select->tokens[i].text;
		size_t from = i > 0 ? orma_sql_token_end(&select->tokens[i - 1]) : 0;
		bool has_space = select->tokens[i].offset > from;
		int r = has_space ? orma_base_buf_append(writer->out, " ", 1) : 0;
		if (r == 0)
			r = orma_base_buf_append(writer->out, text.data, text.size);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_key(struct orma_native_query *query, int column)
{
	for (size_t i = 0; i < query->group_count; i++)
		if (query->groups[i] == (size_t)column)
			return 0;
	if (column < 0 || query->group_count == ORMA_NATIVE_GROUPS_MAX ||
	    query->relation->columns[column].type == ORMA_COLUMN_DOUBLE)
		return ORMA_NO_MATCH;
	query->groups[query->group_count++] = (size_t)column;
	return 0;
}

static const struct orma_select_name *find_name(const struct orma_select *select,
						const struct orma_token *token)
{
	for (size_t i = 0; i < select->name_count; i++)
		if (orma_select_is_same(orma_select_text(token), select->names[i].name))
			return &select->names[i];
	return NULL;
}

static const struct orma_select_item *find_alias(const struct orma_select *select,
						 const struct orma_token *token)
{
	for (size_t i = 0; i < select->item_count; i++)
		if (select->items[i].alias.data &&
		    orma_select_is_same(orma_select_text(token), select->items[i].alias))
			return &select->items[i];
	return NULL;
}

/* How many tokens the reference to a column at `at` has: `name` or `table.name`; 0 = it is none. */
static size_t reference_size(const struct orma_select *select, size_t at, size_t end)
{
	if (at >= end || !orma_select_is_name(&select->tokens[at]))
		return 0;
	bool is_qualified = at + 2 < end && orma_select_is_sign(select, at + 1, '.') &&
			    orma_select_is_name(&select->tokens[at + 2]);
	size_t size = is_qualified ? 3 : 1;
	return orma_select_is_sign(select, at + size, '(') ||
			       orma_select_is_sign(select, at + size, '.')
		       ? 0
		       : size;
}

/* True when tokens of two places are the same, but for a table's name that one of two columns lacks. */
static bool is_same_text(const struct orma_select *select, size_t a, size_t a_end, size_t b,
			 size_t b_end)
{
	size_t a_size = reference_size(select, a, a_end), b_size = reference_size(select, b, b_end);
	if (a_size > 0 && b_size > 0 && a_size != b_size && a + a_size == a_end &&
	    b + b_size == b_end) {
		a = a_end - 1;
		b = b_end - 1;
	}
	if (a_end - a != b_end - b)
		return false;
	for (; a < a_end; a++, b++)
		if (!orma_select_is_same(orma_select_text(&select->tokens[a]),
					 orma_select_text(&select->tokens[b])))
			return false;
	return true;
}

/* True when one of the tables has a column of this name, which in `group by` goes before an alias. */
static bool is_column(const struct orma_join *join, struct orma_str name)
{
	bool is_found = false;
	for (size_t i = 0; !is_found && i < join->table_count; i++) {
		sqlite3_stmt *query = NULL;
		char *text =
			sqlite3_mprintf("select [%.*s] from \"%.*w\"", (int)name.size, name.data,
					(int)join->tables[i].name.size, join->tables[i].name.data);
		is_found = !text || sqlite3_prepare_v2(join->select->sql->db, text, -1, &query,
						       NULL) == SQLITE_OK;
		sqlite3_finalize(query);
		sqlite3_free(text);
	}
	return is_found;
}

/* True when `group by` names the expression: by its text, or the item that it is by alias or number. */
static bool is_grouped(const struct orma_join *join, size_t begin, size_t end,
		       const struct orma_select_item *item)
{
	const struct orma_select *select = join->select;
	if (select->group == SIZE_MAX)
		return false;
	size_t group_end = orma_sql_select_clause_end(select, select->group), term_end;
	for (size_t at = select->group; at < group_end; at = term_end + 1) {
		term_end = orma_sql_select_find(select, at, group_end, ',', NULL);
		const struct orma_token *term = &select->tokens[at];
		if (is_same_text(select, at, term_end, begin, end))
			return true;
		if (!item || term_end != at + 1)
			continue;
		size_t number = (size_t)(term->text.data[0] - '1');
		if (term->kind == ORMA_TOKEN_NUMBER && term->text.size == 1 &&
		    number < select->item_count && &select->items[number] == item)
			return true;
		if (orma_select_is_name(term) && find_alias(select, term) == item &&
		    !is_column(join, orma_select_text(term)))
			return true;
	}
	return false;
}

/* A reference to a column, whose table may be any. */
static int write_reference(struct writer *writer, size_t *at, size_t size)
{
	const struct orma_select *select = writer->join->select;
	size_t begin = *at;
	const struct orma_token *first = &select->tokens[begin], *last = first + size - 1;
	const struct orma_select_name *name = find_name(select, last);
	const struct orma_select_item *item = size == 1 ? find_alias(select, first) : NULL;
	bool is_other = size == 3 && !orma_select_is_same(orma_select_text(first), select->alias);
	*at += size;
	if (size == 3 && !is_other && !name)
		return ORMA_NO_MATCH;
	/* Clauses differ in whether the alias or the column is meant, unless both are one. */
	if (item && name && writer->place != IN_ITEM &&
	    orma_sql_select_plain_column(select, item->begin, item->end) != name->column)
		return ORMA_NO_MATCH;
	bool is_alias = item && !name && writer->place != IN_ITEM && writer->place != IN_CONDITION;
	bool is_bare = !writer->is_aggregate && !is_alias &&
		       (writer->place == IN_ITEM || writer->place == IN_ORDER);
	if (is_bare && !is_grouped(writer->join, begin, *at, NULL))
		return ORMA_NO_MATCH;
	if (name && !is_other) {
		int r = add_key(query_of(writer), name->column);
		if (r < 0)
			return r;
	}
	return copy(writer, begin, *at);
}

static int write_group_aggregate(struct writer *writer, enum orma_aggregate_kind kind, int column)
{
	struct orma_native_query *query = query_of(writer);
	bool is_avg = kind == ORMA_AGGREGATE_AVG;
	int first =
		orma_sql_select_add_aggregate(query, is_avg ? ORMA_AGGREGATE_SUM : kind, column);
	int count = is_avg ? orma_sql_select_add_aggregate(query, ORMA_AGGREGATE_COUNT, column) : 0;
	if (first < 0 || count < 0)
		return ORMA_NO_MATCH;
	switch (kind) {
	case ORMA_AGGREGATE_COUNT:
		return orma_base_buf_printf(writer->out, " ifnull(sum(__orma_a%d), 0)", first);
	case ORMA_AGGREGATE_SUM:
		return orma_base_buf_printf(writer->out, " sum(__orma_a%d)", first);
	case ORMA_AGGREGATE_MIN:
		return orma_base_buf_printf(writer->out, " min(__orma_a%d)", first);
	case ORMA_AGGREGATE_MAX:
		return orma_base_buf_printf(writer->out, " max(__orma_a%d)", first);
	case ORMA_AGGREGATE_AVG:
		return orma_base_buf_printf(
			writer->out, " (sum(__orma_a%d) * 1.0 / sum(__orma_a%d))", first, count);
	}
	return ORMA_NO_MATCH;
}

/* An aggregate of a column of the large table. 1, 0 = it is another function, or ORMA_NO_MATCH. */
static int write_aggregate(struct writer *writer, size_t *at)
{
	const struct orma_select *select = writer->join->select;
	enum orma_aggregate_kind kind;
	size_t i = *at + 2;
	int column = -1;
	if (!orma_sql_select_aggregate(&select->tokens[*at], &kind))
		return 0;
	if (writer->place == IN_CONDITION || writer->place == IN_GROUP)
		return ORMA_NO_MATCH;
	bool is_extreme = kind == ORMA_AGGREGATE_MIN || kind == ORMA_AGGREGATE_MAX;
	if (kind == ORMA_AGGREGATE_COUNT && orma_select_is_sign(select, i, '*'))
		i++;
	else if ((column = orma_sql_select_take_column(select, &i, writer->end)) < 0)
		return ORMA_NO_MATCH;
	if (!orma_select_is_sign(select, i, ')') ||
	    (column >= 0 && kind != ORMA_AGGREGATE_COUNT &&
	     query_of(writer)->relation->columns[column].type == ORMA_COLUMN_STRING))
		return is_extreme ? 0 : ORMA_NO_MATCH;
	*at = i + 1;
	int r = write_group_aggregate(writer, kind, column);
	return r < 0 ? r : 1;
}

/* Writes the clause up to its end. */
static int write(struct writer *writer, size_t begin)
{
	const struct orma_select *select = writer->join->select;
	int r = 0;
	for (size_t at = begin; r >= 0 && at < writer->end;) {
		const struct orma_token *token = &select->tokens[at];
		size_t size = reference_size(select, at, writer->end);
		bool is_called = orma_select_is_sign(select, at + 1, '(');
		bool is_word = token->kind == ORMA_TOKEN_WORD;
		if (orma_select_is_sign(select, at, '.') ||
		    (orma_select_is_sign(select, at, '*') && at == begin))
			return ORMA_NO_MATCH;
		if (is_word && is_called) {
			r = write_aggregate(writer, &at);
			if (r != 0)
				continue;
			if (!orma_sql_select_is_known(token->text, true) &&
			    !orma_sql_select_is_known(token->text, false))
				return ORMA_NO_MATCH;
			r = copy(writer, at, at + 1);
			at++;
		} else if (size > 0 && !(size == 1 && is_word && !find_name(select, token) &&
					 orma_sql_select_is_known(token->text, false))) {
			r = write_reference(writer, &at, size);
		} else if (orma_select_is_name(token) && size == 0) {
			return ORMA_NO_MATCH;
		} else {
			r = copy(writer, at, at + 1);
			at++;
		}
	}
	return r < 0 ? r : 0;
}

/* One of the conditions that are joined by `and`: of the large table alone, or of others as well. */
static int write_condition(struct writer *writer, size_t begin, size_t end)
{
	struct orma_join *join = writer->join;
	size_t clause_end = writer->end;
	int r = orma_sql_select_add_condition(join->select, begin, end);
	if (r == 0)
		return orma_base_buf_append_str(writer->out, " 1");
	if (r == ORMA_NO_MATCH) {
		join->is_narrowed = true;
		writer->end = end;
		r = write(writer, begin);
		writer->end = clause_end;
	}
	return r;
}

static int write_conditions(struct writer *writer, size_t begin, size_t end)
{
	struct orma_select *select = writer->join->select;
	int r = 0;
	writer->place = IN_CONDITION;
	writer->end = end;
	/* `or` is weaker than `and`, and that of `case` may be its own. */
	if (orma_sql_select_find(select, begin, end, 0, "or") < end ||
	    orma_sql_select_find(select, begin, end, 0, "case") < end)
		return write(writer, begin);
	for (size_t at = begin, term_end; r == 0 && at <= end; at = term_end + 1) {
		term_end = orma_sql_select_condition_end(select, at, end);
		r = write_condition(writer, at, term_end);
		if (r == 0 && term_end < end)
			r = orma_base_buf_append_str(writer->out, " and");
	}
	return r;
}

static int write_items(struct writer *writer)
{
	const struct orma_select *select = writer->join->select;
	int r = orma_base_buf_append_str(writer->out, "select");
	writer->place = IN_ITEM;
	for (size_t i = 0; r == 0 && i < select->item_count; i++) {
		const struct orma_select_item *item = &select->items[i];
		size_t size = item->end - item->begin;
		bool is_plain = reference_size(select, item->begin, item->end) == size;
		writer->is_aggregate = is_grouped(writer->join, item->begin, item->end, item);
		writer->end = item->end;
		r = orma_base_buf_append_str(writer->out, i > 0 ? ", " : " ");
		if (r == 0)
			r = write(writer, item->begin);
		if (r == 0 && (item->alias.data || !is_plain))
			r = orma_sql_select_write_alias(select, item, writer->out);
	}
	writer->is_aggregate = false;
	return r;
}

/* Writes `on ...` or `using (...)`, which stands behind a table. */
static int write_join_condition(struct writer *writer, const struct orma_join_table *table)
{
	const struct orma_select *select = writer->join->select;
	int r = copy(writer, table->end, table->on_begin);
	for (size_t i = table->end + 1; r == 0 && i < table->on_begin; i++) {
		const struct orma_select_name *name = find_name(select, &select->tokens[i]);
		if (name)
			r = add_key(select->query, name->column);
	}
	if (r < 0 || table->on_begin == table->on_end)
		return r;
	writer->place = IN_CONDITION;
	writer->end = table->on_end;
	return table->is_left ? write(writer, table->on_begin)
			      : write_conditions(writer, table->on_begin, table->on_end);
}

/* The tables, from `from` on; the large one divides what is written. */
static int write_tables(struct writer *writer)
{
	struct orma_join *join = writer->join;
	size_t at = join->select->from - 1;
	int r = 0;
	join->from_offset = writer->out->size;
	for (size_t i = 0; r == 0 && i < join->table_count; i++) {
		const struct orma_join_table *table = &join->tables[i];
		r = copy(writer, at, i == join->large ? table->begin : table->end);
		if (i == join->large)
			writer->out = &join->after;
		if (r == 0)
			r = write_join_condition(writer, table);
		at = table->on_end;
	}
	join->is_narrowed = false;
	return r;
}

static int write_clause(struct writer *writer, const char *keyword, size_t begin, enum place place)
{
	if (begin == SIZE_MAX)
		return 0;
	int r = orma_base_buf_append_str(writer->out, keyword);
	writer->place = place;
	writer->end = orma_sql_select_clause_end(writer->join->select, begin);
	return r < 0 ? r : write(writer, begin);
}

int orma_sql_join_write(struct orma_join *join)
{
	struct writer state = {.join = join, .out = &join->before}, *writer = &state;
	const struct orma_select *select = join->select;
	int r = write_items(writer);
	if (r == 0)
		r = write_tables(writer);
	if (r == 0 && select->where != SIZE_MAX)
		r = orma_base_buf_append_str(writer->out, " where");
	if (r == 0 && select->where != SIZE_MAX)
		r = write_conditions(writer, select->where,
				     orma_sql_select_clause_end(select, select->where));
	join->where_end = join->after.size;
	if (r == 0)
		r = write_clause(writer, " group by", select->group, IN_GROUP);
	if (r == 0)
		r = write_clause(writer, " having", select->having, IN_ORDER);
	if (r == 0)
		r = write_clause(writer, " order by", select->order, IN_ORDER);
	if (r == 0)
		r = write_clause(writer, " limit", select->limit, IN_ORDER);
	return r;
}
