/* SPDX-License-Identifier: Apache-2.0
 * sql_complete.c - the word before the cursor decides: behind FROM and JOIN stand tables, behind MODULE modules, behind
 * `x.` the columns of the table x or of the table that the statement calls x. Elsewhere it may be a column of any table
 * that the statement names, a function, or a keyword.
 */
#include "tool/ask/sql_complete.h"

#include <ctype.h>

#include "answers/trace_database.h"
#include "sql/sql_token.h"
#include "tool/ask/name_list.h"

/* A table that the statement names, and what it calls it. */
struct named_table {
	struct orma_str table, alias;
};

enum { TABLES_MAX = 16 };

struct statement {
	struct orma_str text;
	struct orma_token before, before_that; /* the words before the place */
	struct named_table tables[TABLES_MAX];
	size_t table_count;
};

static bool is_name(const struct orma_token *token)
{
	return token->kind == ORMA_TOKEN_WORD;
}

static bool opens_tables(const struct orma_token *token)
{
	return orma_sql_token_is(token, "from") || orma_sql_token_is(token, "join");
}

/* Words that may stand behind a table, so that they are not its other name. */
static bool follows_table(const struct orma_token *token)
{
	static const char *const words[] = {
		"where", "join",  "left",  "cross", "inner", "natural", "on",     "using", "group",
		"order", "limit", "union", "full",  "right", "window",  "having", "except"};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (orma_sql_token_is(token, words[i]))
			return true;
	return false;
}

static void add_table(struct statement *statement, const struct orma_token *table, size_t offset)
{
	struct orma_token next = orma_sql_token_next(statement->text, offset);
	if (orma_sql_token_is(&next, "as"))
		next = orma_sql_token_next(statement->text, orma_sql_token_end(&next));
	bool has_alias = is_name(&next) && !follows_table(&next);
	if (statement->table_count < TABLES_MAX)
		statement->tables[statement->table_count++] =
			(struct named_table){table->text, has_alias ? next.text : table->text};
}

/* Reads the whole text; a semicolon before the place begins a new statement, and one behind it ends the statement. */
static void read_statement(struct statement *statement, size_t place)
{
	struct orma_token last = {.kind = ORMA_TOKEN_END};
	for (size_t offset = 0;;) {
		struct orma_token token = orma_sql_token_next(statement->text, offset);
		if (token.kind == ORMA_TOKEN_END || token.kind == ORMA_TOKEN_UNFINISHED)
			return;
		offset = orma_sql_token_end(&token);
		if (token.offset < place) {
			statement->before_that = statement->before;
			statement->before = token;
		}
		if (orma_sql_token_is_sign(&token, ';')) {
			if (token.offset >= place)
				return;
			statement->table_count = 0;
		}
		if (opens_tables(&last) && is_name(&token))
			add_table(statement, &token, offset);
		last = token;
	}
}

static bool is_word_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '$' || (byte & 0x80);
}

static size_t word_begin(struct orma_str text, size_t end, bool allows_dots)
{
	while (end > 0 &&
	       (is_word_byte(text.data[end - 1]) || (allows_dots && text.data[end - 1] == '.')))
		end--;
	return end;
}

static bool is_same(struct orma_str a, struct orma_str b)
{
	return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

/* Columns of the table that stands before the dot. */
static int add_of_qualifier(struct orma_trace_database *database, const struct statement *statement,
			    struct orma_str qualifier, struct orma_str prefix, struct orma_buf *ret)
{
	for (size_t i = 0; i < statement->table_count; i++)
		if (is_same(statement->tables[i].alias, qualifier))
			qualifier = statement->tables[i].table;
	return orma_names_add_columns(database, qualifier, prefix, ret);
}

static int add_all(struct orma_trace_database *database, const struct statement *statement,
		   struct orma_str prefix, struct orma_buf *ret)
{
	int r = 0;
	for (size_t i = 0; i < statement->table_count && r == 0; i++)
		r = orma_names_add_columns(database, statement->tables[i].table, prefix, ret);
	for (size_t i = 0; i < statement->table_count && r == 0; i++) {
		struct orma_str alias = statement->tables[i].alias;
		if (alias.size >= prefix.size &&
		    is_same((struct orma_str){alias.data, prefix.size}, prefix))
			r = orma_base_buf_append(ret, alias.data, alias.size);
		if (r == 0 && ret->size > 0 && ret->data[ret->size - 1])
			r = orma_base_buf_append(ret, "", 1);
	}
	/* With no letter typed, only columns are few enough to be of use. */
	if (r == 0 && (prefix.size > 0 || statement->table_count == 0))
		r = orma_names_add_keywords(prefix, ret);
	if (r == 0 && prefix.size > 0)
		r = orma_names_add_functions(database, prefix, ret);
	return r;
}

int orma_sql_complete(struct orma_trace_database *database, struct orma_str text, size_t *begin,
		      struct orma_buf *ret)
{
	struct statement statement = {.text = text};
	size_t end = *begin;
	*begin = word_begin(text, end, false);
	size_t dotted = word_begin(text, end, true);
	read_statement(&statement, dotted);
	struct orma_str prefix = {text.data + *begin, end - *begin};
	int r;
	if (orma_sql_token_is(&statement.before, "module") &&
	    orma_sql_token_is(&statement.before_that, "perfetto")) {
		*begin = dotted;
		prefix = (struct orma_str){text.data + dotted, end - dotted};
		r = orma_names_add_modules(database, prefix, ret);
	} else if (*begin > dotted) {
		struct orma_str qualifier = {text.data + dotted, *begin - 1 - dotted};
		r = add_of_qualifier(database, &statement, qualifier, prefix, ret);
	} else if (opens_tables(&statement.before)) {
		r = orma_names_add_tables(database, prefix, ret);
		if (r == 0 && prefix.size > 0)
			r = orma_names_add_functions(database, prefix, ret);
	} else {
		r = add_all(database, &statement, prefix, ret);
	}
	return r == 0 ? orma_names_sort(ret) : r;
}
