/* SPDX-License-Identifier: Apache-2.0
 * native_parse.c - matches tokens of a statement against the one shape that is computed natively.
 *
 * Whatever is not understood ends the match. The rules that SQLite resolves names by differ between the clauses; a name
 * that could mean two things ends it as well.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/native.h"
#include "sql/sql_token.h"
#include "sql/value_filter.h"

/* Smaller tables are not worth it, and SQLite's own way is the reference. */
enum { TOKENS_MAX = 400, ITEMS_MAX = 32, LITERALS_MAX = 64, ROWS_MIN = 20000 };

enum { NO_MATCH = -ENOTSUP };

struct item {
	size_t begin, end; /* tokens of the expression */
	struct orma_str alias;
};

struct match {
	struct orma_sql *sql;
	struct orma_str text;
	struct orma_token tokens[TOKENS_MAX];
	size_t token_count;
	struct orma_native_query *query;
	struct orma_str table, alias; /* names of the relation */
	struct item items[ITEMS_MAX];
	size_t item_count;
	/* Where the clauses begin, behind their keywords, and end; SIZE_MAX = absent. */
	size_t from, where, group, having, order, limit;
};

static struct orma_str name_of(const struct orma_token *token)
{
	if (token->kind == ORMA_TOKEN_NAME)
		return (struct orma_str){token->text.data + 1, token->text.size - 2};
	return token->text;
}

static bool is_name(const struct orma_token *token)
{
	return token->kind == ORMA_TOKEN_WORD || token->kind == ORMA_TOKEN_NAME;
}

static bool is_same(struct orma_str a, struct orma_str b)
{
	return a.size == b.size && (a.size == 0 || strncasecmp(a.data, b.data, a.size) == 0);
}

static bool is_sign(const struct match *match, size_t i, char sign)
{
	return i < match->token_count && orma_sql_token_is_sign(&match->tokens[i], sign);
}

static bool is_word(const struct match *match, size_t i, const char *word)
{
	return i < match->token_count && orma_sql_token_is(&match->tokens[i], word);
}

static bool is_one_of(struct orma_str name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_same(name, orma_base_str(words[i])))
			return true;
	return false;
}

static int read_tokens(struct match *match)
{
	static const char *const strangers[] = {
		"select", "join",     "union", "except", "intersect", "over",   "filter",
		"window", "distinct", "with",  "exists", "collate",   "values", "raise",
	};
	size_t offset = 0;
	for (;;) {
		struct orma_token next = orma_sql_token_next(match->text, offset);
		if (next.kind == ORMA_TOKEN_END)
			return 0;
		if (match->token_count == TOKENS_MAX || next.kind == ORMA_TOKEN_UNFINISHED ||
		    next.kind == ORMA_TOKEN_VARIABLE)
			return NO_MATCH;
		bool is_distinct = match->token_count == 1 && orma_sql_token_is(&next, "distinct");
		if (match->token_count > 0 && next.kind == ORMA_TOKEN_WORD && !is_distinct &&
		    is_one_of(next.text, strangers, ORMA_ARRAY_SIZE(strangers)))
			return NO_MATCH;
		match->tokens[match->token_count++] = next;
		offset = orma_sql_token_end(&next);
	}
}

/* Returns the end of what begins at `i`: the next token outside of parentheses that is this sign or keyword. */
static size_t find(const struct match *match, size_t i, size_t end, char sign, const char *word)
{
	size_t depth = 0;
	for (; i < end; i++) {
		if (depth == 0 &&
		    ((sign && is_sign(match, i, sign)) || (word && is_word(match, i, word))))
			return i;
		depth += is_sign(match, i, '(');
		depth -= depth > 0 && is_sign(match, i, ')');
	}
	return end;
}

/* Finds the clauses, which come in this order. */
static int find_clauses(struct match *match)
{
	static const char *const words[] = {"from", "where", "group", "having", "order", "limit"};
	size_t *const places[] = {&match->from,   &match->where, &match->group,
				  &match->having, &match->order, &match->limit};
	size_t at = 1;
	if (!is_word(match, 0, "select"))
		return NO_MATCH;
	match->query->is_distinct = is_word(match, 1, "distinct");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++) {
		size_t found = find(match, at, match->token_count, 0, words[i]);
		*places[i] = SIZE_MAX;
		if (found == match->token_count)
			continue;
		bool takes_by = places[i] == &match->group || places[i] == &match->order;
		if (takes_by && !is_word(match, found + 1, "by"))
			return NO_MATCH;
		*places[i] = at = found + (takes_by ? 2 : 1);
	}
	return match->from == SIZE_MAX ? NO_MATCH : 0;
}

/* The end of the clause that begins at `begin`. */
static size_t clause_end(const struct match *match, size_t begin)
{
	const size_t places[] = {match->where, match->group, match->having, match->order,
				 match->limit};
	size_t end = match->token_count;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(places); i++) {
		bool takes_by = i == 1 || i == 3;
		if (places[i] != SIZE_MAX && places[i] > begin)
			end = ORMA_MIN(end, places[i] - (takes_by ? 2 : 1));
	}
	return end;
}

/* A table or view of the schema hides a relation of the same name, unless it is the relation's own. */
static bool is_hidden(struct orma_sql *sql, struct orma_str name)
{
	sqlite3_stmt *query;
	bool is_found = true;
	if (sqlite3_prepare_v2(
		    sql->db,
		    "select 1 from (select name, sql from sqlite_schema union all "
		    "select name, sql from sqlite_temp_schema) where name = ?1 collate nocase "
		    "and sql not like 'create virtual table %using " ORMA_SQL_TABLE_MODULE "'",
		    -1, &query, NULL) != SQLITE_OK)
		return true;
	if (sqlite3_bind_text(query, 1, name.data, (int)name.size, SQLITE_STATIC) == SQLITE_OK)
		is_found = sqlite3_step(query) != SQLITE_DONE;
	sqlite3_finalize(query);
	return is_found;
}

/* `table`, `table alias`, `table as alias`. */
static int match_from(struct match *match)
{
	size_t at = match->from, end = clause_end(match, match->from);
	char name[200];
	if (at >= end || !is_name(&match->tokens[at]))
		return NO_MATCH;
	match->table = match->alias = name_of(&match->tokens[at++]);
	if (match->table.size >= sizeof(name))
		return NO_MATCH;
	if (at < end && is_word(match, at, "as"))
		at++;
	if (at < end && is_name(&match->tokens[at]))
		match->alias = name_of(&match->tokens[at++]);
	if (at != end)
		return NO_MATCH;
	memcpy(name, match->table.data, match->table.size);
	name[match->table.size] = '\0';
	struct orma_relation *relation = orma_sql_find_relation(match->sql, name);
	if (!relation || orma_sql_relation_rows(relation) < ROWS_MIN ||
	    is_hidden(match->sql, match->table))
		return NO_MATCH;
	match->query->relation = relation;
	return 0;
}

/* If a column is named at `*at`, moves behind it and returns its number; else -1. */
static int take_column(const struct match *match, size_t *at, size_t end)
{
	size_t i = *at;
	if (i + 2 < end && is_name(&match->tokens[i]) && is_sign(match, i + 1, '.')) {
		if (!is_same(name_of(&match->tokens[i]), match->alias))
			return -1;
		i += 2;
	}
	if (i >= end || !is_name(&match->tokens[i]) || is_sign(match, i + 1, '('))
		return -1;
	struct orma_str name = name_of(&match->tokens[i]);
	const struct orma_relation *relation = match->query->relation;
	for (size_t column = 0; column < relation->column_count; column++)
		if (is_same(name, orma_base_str(relation->columns[column].name))) {
			*at = i + 1;
			return (int)column;
		}
	return -1;
}

/* The column that an expression is; -1 = it is another one. */
static int plain_column(const struct match *match, size_t begin, size_t end)
{
	int column = take_column(match, &begin, end);
	return begin == end ? column : -1;
}

static void split_alias(const struct match *match, struct item *item)
{
	size_t last = item->end - 1;
	if (item->end - item->begin < 2 || !is_name(&match->tokens[last]) ||
	    is_word(match, last, "end"))
		return;
	const struct orma_token *before = &match->tokens[last - 1];
	bool ends_value = is_name(before) || before->kind == ORMA_TOKEN_NUMBER ||
			  before->kind == ORMA_TOKEN_STRING || orma_sql_token_is_sign(before, ')');
	if (!ends_value)
		return;
	item->alias = name_of(&match->tokens[last]);
	item->end = last - (orma_sql_token_is(before, "as") ? 1 : 0);
}

static int match_items(struct match *match)
{
	size_t end = match->from - 1;
	for (size_t at = match->query->is_distinct ? 2 : 1; at <= end; at++) {
		if (match->item_count == ITEMS_MAX)
			return NO_MATCH;
		struct item *item = &match->items[match->item_count++];
		*item = (struct item){.begin = at, .end = find(match, at, end, ',', NULL)};
		at = item->end;
		if (item->begin == item->end)
			return NO_MATCH;
		split_alias(match, item);
		/* A name for another thing than the column of this name: clauses differ in which they mean. */
		size_t begin = 0;
		int column = -1;
		for (size_t i = 0; item->alias.data && i < match->query->relation->column_count;
		     i++)
			if (is_same(item->alias,
				    orma_base_str(match->query->relation->columns[i].name)))
				column = (int)i;
		begin = item->begin;
		if (column >= 0 && plain_column(match, begin, item->end) != column)
			return NO_MATCH;
	}
	return match->item_count > 0 ? 0 : NO_MATCH;
}

static const struct item *item_of_alias(const struct match *match, struct orma_str name)
{
	for (size_t i = 0; i < match->item_count; i++)
		if (match->items[i].alias.data && is_same(match->items[i].alias, name))
			return &match->items[i];
	return NULL;
}

/* A column, the alias of an item that is one, or the number of such an item. */
static int group_column(const struct match *match, size_t begin, size_t end)
{
	int column = plain_column(match, begin, end);
	const struct item *item = NULL;
	if (column >= 0 || begin + 1 != end)
		return column;
	const struct orma_token *token = &match->tokens[begin];
	if (token->kind == ORMA_TOKEN_NUMBER && token->text.size == 1) {
		size_t number = (size_t)(token->text.data[0] - '1');
		item = number < match->item_count ? &match->items[number] : NULL;
	} else if (is_name(token)) {
		item = item_of_alias(match, name_of(token));
	}
	return item ? plain_column(match, item->begin, item->end) : -1;
}

static int add_group(struct match *match, int column)
{
	struct orma_native_query *query = match->query;
	if (column < 0 || query->group_count == ORMA_NATIVE_GROUPS_MAX ||
	    query->relation->columns[column].type == ORMA_COLUMN_DOUBLE)
		return NO_MATCH;
	query->groups[query->group_count++] = (size_t)column;
	return 0;
}

/* `select distinct` of columns is a grouping by them. */
static int match_distinct(struct match *match)
{
	int r = match->group == SIZE_MAX && match->having == SIZE_MAX ? 0 : NO_MATCH;
	for (size_t i = 0; r == 0 && i < match->item_count; i++)
		r = add_group(match,
			      plain_column(match, match->items[i].begin, match->items[i].end));
	return r;
}

static int match_groups(struct match *match)
{
	if (match->query->is_distinct)
		return match_distinct(match);
	if (match->group == SIZE_MAX)
		return 0;
	size_t end = clause_end(match, match->group);
	for (size_t at = match->group; at <= end; at++) {
		size_t term_end = find(match, at, end, ',', NULL);
		int column = group_column(match, at, term_end);
		int r = add_group(match, column);
		if (r < 0)
			return r;
		at = term_end;
	}
	return 0;
}

static int emit(struct match *match, struct orma_str text)
{
	int r = orma_base_buf_append(&match->query->sql, text.data, text.size);
	return r == 0 ? orma_base_buf_append(&match->query->sql, " ", 1) : r;
}

static int emit_aggregate(struct match *match, enum orma_aggregate_kind kind, int column)
{
	struct orma_native_query *query = match->query;
	size_t i = 0;
	while (i < query->aggregate_count &&
	       (query->aggregates[i].kind != kind || query->aggregates[i].column != column))
		i++;
	if (i == ORMA_NATIVE_AGGREGATES_MAX)
		return NO_MATCH;
	if (i == query->aggregate_count)
		query->aggregates[query->aggregate_count++] =
			(struct orma_native_aggregate){kind, column};
	/* The plus takes away the column's affinity, which an aggregate has not. */
	return orma_base_buf_printf(&query->sql, "(+a%zu) ", i);
}

/*
 * Emits an aggregate whose name is at `*at`, if it is one of ours with one column, and moves behind it. 1, 0 when it is
 * another function, or NO_MATCH.
 */
static int translate_aggregate(struct match *match, size_t *at, size_t end)
{
	static const struct {
		const char *name;
		enum orma_aggregate_kind kind;
	} names[] = {{"count", ORMA_AGGREGATE_COUNT},
		     {"sum", ORMA_AGGREGATE_SUM},
		     {"min", ORMA_AGGREGATE_MIN},
		     {"max", ORMA_AGGREGATE_MAX},
		     {"avg", ORMA_AGGREGATE_AVG}};
	size_t i = *at + 2;
	for (size_t n = 0; n < ORMA_ARRAY_SIZE(names); n++) {
		if (!is_word(match, *at, names[n].name))
			continue;
		enum orma_aggregate_kind kind = names[n].kind;
		int column = -1;
		if (kind == ORMA_AGGREGATE_COUNT && is_sign(match, i, '*'))
			i++;
		else if ((column = take_column(match, &i, end)) < 0)
			return kind == ORMA_AGGREGATE_MIN || kind == ORMA_AGGREGATE_MAX ? 0
											: NO_MATCH;
		if (!is_sign(match, i, ')'))
			return kind == ORMA_AGGREGATE_MIN || kind == ORMA_AGGREGATE_MAX ? 0
											: NO_MATCH;
		if (column >= 0 && kind != ORMA_AGGREGATE_COUNT &&
		    match->query->relation->columns[column].type == ORMA_COLUMN_STRING)
			return NO_MATCH;
		int r = emit_aggregate(match, kind, column);
		*at = i + 1;
		return r < 0 ? r : 1;
	}
	return 0;
}

/* Functions and keywords that mean the same over the table of groups. `min` and `max` have several arguments here. */
static bool is_known(struct orma_str name, bool is_function)
{
	static const char *const functions[] = {"abs",     "coalesce", "format", "ifnull", "iif",
						"instr",   "length",   "lower",  "nullif", "printf",
						"replace", "round",    "substr", "trim",   "upper",
						"cast",    "min",      "max"};
	static const char *const keywords[] = {
		"and",   "as",    "asc",    "between", "case", "desc", "else", "end",
		"first", "glob",  "in",     "integer", "is",   "last", "like", "not",
		"null",  "nulls", "offset", "or",      "real", "text", "then", "when"};
	return is_function ? is_one_of(name, functions, ORMA_ARRAY_SIZE(functions))
			   : is_one_of(name, keywords, ORMA_ARRAY_SIZE(keywords));
}

/* Emits one name, or an aggregate, and moves behind it. `allows_aliases` where names of items can be used. */
static int translate_name(struct match *match, size_t *at, size_t end, bool allows_aliases)
{
	const struct orma_native_query *query = match->query;
	const struct orma_token *token = &match->tokens[*at];
	if (is_sign(match, *at + 1, '(')) {
		int r = translate_aggregate(match, at, end);
		if (r != 0)
			return r < 0 ? r : 0;
		if (token->kind != ORMA_TOKEN_WORD ||
		    (!is_known(token->text, true) && !is_word(match, *at, "in") &&
		     !is_known(token->text, false)))
			return NO_MATCH;
		(*at)++;
		return emit(match, token->text);
	}
	int column = take_column(match, at, end);
	if (column >= 0) {
		for (size_t i = 0; i < query->group_count; i++)
			if (query->groups[i] == (size_t)column)
				return orma_base_buf_printf(&match->query->sql, "g%zu ", i);
		return NO_MATCH;
	}
	bool is_alias = allows_aliases && item_of_alias(match, name_of(token));
	if (!is_alias && (token->kind != ORMA_TOKEN_WORD || !is_known(token->text, false)))
		return NO_MATCH;
	(*at)++;
	return emit(match, token->text);
}

static int translate(struct match *match, size_t begin, size_t end, bool allows_aliases)
{
	int r = 0;
	for (size_t at = begin; r == 0 && at < end;) {
		const struct orma_token *token = &match->tokens[at];
		if (is_name(token)) {
			r = translate_name(match, &at, end, allows_aliases);
		} else {
			/* Signs of two characters must stay together. */
			bool is_pair = token->kind == ORMA_TOKEN_SIGN && at + 1 < end &&
				       match->tokens[at + 1].kind == ORMA_TOKEN_SIGN &&
				       match->tokens[at + 1].offset == token->offset + 1 &&
				       strchr("<>=!|", token->text.data[0]);
			r = is_pair ? orma_base_buf_append(&match->query->sql, token->text.data, 1)
				    : emit(match, token->text);
			at++;
		}
	}
	return r;
}

/* SQLite names a column after its expression's text. */
static int emit_alias(struct match *match, const struct item *item)
{
	struct orma_str name = item->alias;
	if (!name.data && plain_column(match, item->begin, item->end) >= 0)
		name = name_of(&match->tokens[item->end - 1]);
	if (!name.data) {
		size_t begin = match->tokens[item->begin].offset;
		name = (struct orma_str){match->text.data + begin,
					 orma_sql_token_end(&match->tokens[item->end - 1]) - begin};
	}
	char *text = sqlite3_mprintf("as \"%.*w\"", (int)name.size, name.data);
	int r = text ? orma_base_buf_append_str(&match->query->sql, text) : -ENOMEM;
	sqlite3_free(text);
	return r;
}

static int translate_clause(struct match *match, size_t begin, const char *keyword)
{
	if (begin == SIZE_MAX)
		return 0;
	int r = orma_base_buf_printf(&match->query->sql, " %s ", keyword);
	return r < 0 ? r : translate(match, begin, clause_end(match, begin), true);
}

static int write_sql(struct match *match, const char *table)
{
	struct orma_buf *sql = &match->query->sql;
	int r = orma_base_buf_append_str(sql, "select ");
	for (size_t i = 0; r == 0 && i < match->item_count; i++) {
		if (i > 0)
			r = orma_base_buf_append_str(sql, ", ");
		if (r == 0)
			r = translate(match, match->items[i].begin, match->items[i].end, false);
		if (r == 0)
			r = emit_alias(match, &match->items[i]);
	}
	if (r == 0)
		r = orma_base_buf_printf(sql, " from \"%s\"", table);
	if (r == 0)
		r = translate_clause(match, match->having, "where");
	if (r == 0)
		r = translate_clause(match, match->order, "order by");
	if (r == 0)
		r = translate_clause(match, match->limit, "limit");
	if (r == 0 && match->query->is_distinct && match->query->aggregate_count > 0)
		r = NO_MATCH;
	/* Without groups or aggregates it is an ordinary query. */
	if (r == 0 && match->query->aggregate_count == 0 && match->query->group_count == 0)
		r = NO_MATCH;
	return r;
}

/* Evaluates the literals between two tokens, with commas, to values that are to be freed. Returns their number. */
static int read_literals(struct match *match, size_t begin, size_t end, sqlite3_value **ret)
{
	size_t expected = 1;
	for (size_t i = begin; i < end; i++) {
		const struct orma_token *token = &match->tokens[i];
		bool is_literal =
			token->kind == ORMA_TOKEN_NUMBER || token->kind == ORMA_TOKEN_STRING;
		expected += is_sign(match, i, ',');
		if (!is_literal && !is_sign(match, i, ',') && !is_sign(match, i, '-'))
			return NO_MATCH;
	}
	if (begin >= end || expected > LITERALS_MAX)
		return NO_MATCH;
	size_t from = match->tokens[begin].offset;
	char *text = sqlite3_mprintf("select %.*s",
				     (int)(orma_sql_token_end(&match->tokens[end - 1]) - from),
				     match->text.data + from);
	sqlite3_stmt *query = NULL;
	int count = NO_MATCH;
	if (text && sqlite3_prepare_v2(match->sql->db, text, -1, &query, NULL) == SQLITE_OK &&
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

static int add_filter(struct match *match, enum orma_plan_op op, size_t column,
		      sqlite3_value *value)
{
	struct orma_native_query *query = match->query;
	const struct orma_plan_term term = {.op = op, .column_idx = column};
	bool is_text = query->relation->columns[column].type == ORMA_COLUMN_STRING;
	bool needs_text = is_text && op != ORMA_PLAN_IS_NULL && op != ORMA_PLAN_NOT_NULL;
	bool is_pattern = op == ORMA_PLAN_GLOB || op == ORMA_PLAN_LIKE || op == ORMA_PLAN_REGEXP;
	if (query->filter_count == ORMA_NATIVE_FILTERS_MAX || !value || (is_pattern && !is_text) ||
	    (needs_text && sqlite3_value_type(value) != SQLITE_TEXT))
		return NO_MATCH;
	int r = orma_sql_value_filter(query->relation, &term, value,
				      &query->filters[query->filter_count++], NULL);
	return r == -EINVAL ? NO_MATCH : r;
}

/* The operator at `*at`; moves behind it. */
static bool take_operator(const struct match *match, size_t *at, enum orma_plan_op *ret)
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
		while (n < size && is_sign(match, *at + n, signs[i].text[n]) &&
		       (n == 0 || match->tokens[*at + n].offset == match->tokens[*at].offset + n))
			n++;
		if (n == size) {
			*at += size;
			*ret = signs[i].op;
			return true;
		}
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		if (is_word(match, *at, words[i].text)) {
			(*at)++;
			*ret = words[i].op;
			return true;
		}
	return false;
}

static int compare_literal(struct match *match, enum orma_plan_op op, size_t column, size_t begin,
			   size_t end)
{
	sqlite3_value *values[LITERALS_MAX];
	int count = read_literals(match, begin, end, values);
	if (count < 0)
		return count;
	int r = count == 1 ? add_filter(match, op, column, values[0]) : NO_MATCH;
	free_literals(values, count);
	return r;
}

/* `column in (1, 2, 3)` */
static int match_list(struct match *match, size_t column, size_t begin, size_t end)
{
	struct orma_native_query *query = match->query;
	sqlite3_value *values[LITERALS_MAX];
	int count = read_literals(match, begin, end, values), r = 0;
	if (count < 0)
		return count;
	int64_t *set = orma_base_alloc_array(LITERALS_MAX, sizeof(*set));
	size_t found = 0;
	if (!set || query->filter_count == ORMA_NATIVE_FILTERS_MAX)
		r = set ? NO_MATCH : -ENOMEM;
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
static int match_condition(struct match *match, size_t at, size_t end)
{
	enum orma_plan_op op;
	int column = take_column(match, &at, end);
	if (column < 0)
		return NO_MATCH;
	if (is_word(match, at, "is")) {
		bool is_not = is_word(match, at + 1, "not");
		at += is_not ? 2 : 1;
		struct orma_native_query *query = match->query;
		if (!is_word(match, at, "null") || at + 1 != end ||
		    query->filter_count == ORMA_NATIVE_FILTERS_MAX)
			return NO_MATCH;
		query->filters[query->filter_count++] = (struct orma_filter){
			.kind = is_not ? ORMA_FILTER_NOT_NULL : ORMA_FILTER_IS_NULL,
			.column_idx = (size_t)column,
			.is_double = query->relation->columns[column].type == ORMA_COLUMN_DOUBLE};
		return 0;
	}
	if (is_word(match, at, "in")) {
		if (!is_sign(match, at + 1, '(') || end < at + 3 || !is_sign(match, end - 1, ')'))
			return NO_MATCH;
		return match_list(match, (size_t)column, at + 2, end - 1);
	}
	if (!take_operator(match, &at, &op))
		return NO_MATCH;
	return compare_literal(match, op, (size_t)column, at, end);
}

static int match_where(struct match *match)
{
	if (match->where == SIZE_MAX)
		return 0;
	size_t end = clause_end(match, match->where);
	int r = 0;
	for (size_t at = match->where; r == 0 && at <= end; at++) {
		size_t column_end = at, term_end;
		int column = take_column(match, &column_end, end);
		if (column >= 0 && is_word(match, column_end, "between")) {
			/* The first `and` is the range's own. */
			size_t middle = find(match, column_end, end, 0, "and");
			term_end = middle < end ? find(match, middle + 1, end, 0, "and") : end;
			r = compare_literal(match, ORMA_PLAN_GREATER_OR_EQUAL, (size_t)column,
					    column_end + 1, middle);
			if (r == 0)
				r = compare_literal(match, ORMA_PLAN_LESS_OR_EQUAL, (size_t)column,
						    middle + 1, term_end);
		} else {
			term_end = find(match, at, end, 0, "and");
			r = match_condition(match, at, term_end);
		}
		at = term_end;
	}
	return r;
}

int orma_sql_native_parse(struct orma_sql *sql, struct orma_str text, const char *table,
			  struct orma_native_query *ret)
{
	*ret = (struct orma_native_query){.relation = NULL};
	struct match *match = orma_base_alloc(sizeof(*match));
	if (!match)
		return -ENOMEM;
	match->sql = sql;
	match->text = text;
	match->query = ret;
	match->token_count = match->item_count = 0;
	int r = read_tokens(match);
	if (r == 0)
		r = find_clauses(match);
	if (r == 0)
		r = match_from(match);
	if (r == 0)
		r = match_items(match);
	if (r == 0)
		r = match_groups(match);
	if (r == 0)
		r = write_sql(match, table);
	if (r == 0)
		r = match_where(match);
	orma_base_free(match);
	if (r < 0)
		return r == NO_MATCH ? 0 : r;
	return 1;
}

void orma_sql_native_done(struct orma_native_query *query)
{
	for (size_t i = 0; i < query->filter_count; i++)
		orma_sql_filter_done(&query->filters[i]);
	orma_base_buf_done(&query->sql);
}
