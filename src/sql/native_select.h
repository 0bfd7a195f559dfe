/* SPDX-License-Identifier: Apache-2.0
 * native_select.h - a select statement as tokens and clauses, for what recognises it.
 */
#ifndef ORMA_SQL_NATIVE_SELECT_H
#define ORMA_SQL_NATIVE_SELECT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "sql/native.h"
#include "sql/sql_token.h"

enum {
	ORMA_SELECT_TOKENS_MAX = 400,
	ORMA_SELECT_ITEMS_MAX = 64,
	ORMA_SELECT_NAMES_MAX = 64,
	ORMA_SELECT_CALLS_MAX = 16
};

/* Not recognised: it is left to SQLite. */
enum { ORMA_NO_MATCH = -ENOTSUP };

struct orma_select_item {
	size_t begin, end; /* tokens of the expression */
	struct orma_str alias;
};

struct orma_select {
	struct orma_sql *sql;
	struct orma_str text;
	struct orma_token tokens[ORMA_SELECT_TOKENS_MAX];
	size_t token_count;
	struct orma_native_query *query;
	bool is_distinct, is_join;
	struct orma_str table, alias; /* names of the only table; of a join, the large one */
	/* The columns of that table; those that are no columns of the relation have the number -1. */
	struct orma_select_name {
		struct orma_str name, table; /* .data = NULL when there is only one table */
		int column;
	} names[ORMA_SELECT_NAMES_MAX];
	size_t name_count;
	/* Calls of a function whose values are a column of the relation. */
	struct orma_select_call {
		size_t begin, end; /* tokens */
		int column;
	} calls[ORMA_SELECT_CALLS_MAX];
	size_t call_count;
	struct orma_select_item items[ORMA_SELECT_ITEMS_MAX];
	size_t item_count;
	/* Where the clauses begin, behind their keywords; SIZE_MAX = absent. */
	size_t from, where, group, having, order, limit;
};

/* The text of a name, without quotes. */
static inline struct orma_str orma_select_text(const struct orma_token *token)
{
	if (token->kind == ORMA_TOKEN_NAME)
		return (struct orma_str){token->text.data + 1, token->text.size - 2};
	return token->text;
}

static inline bool orma_select_is_name(const struct orma_token *token)
{
	return token->kind == ORMA_TOKEN_WORD || token->kind == ORMA_TOKEN_NAME;
}

static inline bool orma_select_is_same(struct orma_str a, struct orma_str b)
{
	return a.size == b.size && (a.size == 0 || strncasecmp(a.data, b.data, a.size) == 0);
}

static inline bool orma_select_is_sign(const struct orma_select *select, size_t i, char sign)
{
	return i < select->token_count && orma_sql_token_is_sign(&select->tokens[i], sign);
}

static inline bool orma_select_is_word(const struct orma_select *select, size_t i, const char *word)
{
	return i < select->token_count && orma_sql_token_is(&select->tokens[i], word);
}

static inline bool orma_select_is_one_of(struct orma_str name, const char *const *words,
					 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (orma_select_is_same(name, orma_base_str(words[i])))
			return true;
	return false;
}

/*
 * Reads a statement: its tokens, clauses, the name of its table, and its items. 0 or ORMA_NO_MATCH. `text` outlives
 * `ret`.
 */
int orma_sql_select_read(struct orma_str text, struct orma_select *ret);
/* Returns the next token outside of parentheses that is this sign or keyword, or `end`. */
size_t orma_sql_select_find(const struct orma_select *select, size_t i, size_t end, char sign,
			    const char *word);
/* The end of the clause that begins at `begin`. */
size_t orma_sql_select_clause_end(const struct orma_select *select, size_t begin);
/* If a column is named at `*at`, moves behind it and returns its number; else -1. */
int orma_sql_select_take_column(const struct orma_select *select, size_t *at, size_t end);
/* The column that an expression is; -1 = it is another one. */
int orma_sql_select_plain_column(const struct orma_select *select, size_t begin, size_t end);

/* True when the token is the name of an aggregate that is computed natively. */
bool orma_sql_select_aggregate(const struct orma_token *token, enum orma_aggregate_kind *ret);
/* Returns the number of an aggregate of the query, which is added if the query lacks it; ORMA_NO_MATCH if it has too many. */
int orma_sql_select_add_aggregate(struct orma_native_query *query, enum orma_aggregate_kind kind,
				  int column);
/* True for functions and keywords that mean the same over a table of groups. */
bool orma_sql_select_is_known(struct orma_str name, bool is_function);
/* Writes the name that SQLite gives to an item of the statement. 0 or -ENOMEM. */
int orma_sql_select_write_alias(const struct orma_select *select,
				const struct orma_select_item *item, struct orma_buf *out);

/*
 * Finds the relation behind the statement's table, through views that only choose columns and rows: sets the query's
 * relation and the select's names, which are in the arena, and adds the views' conditions to the query. 0, -ENOMEM or
 * ORMA_NO_MATCH.
 */
int orma_sql_select_resolve(struct orma_select *select, struct orma_arena *arena);
/* Finds the calls of functions that a relation has as columns, and adds these to the query's relation. Errors as above. */
int orma_sql_select_add_calls(struct orma_select *select);
/* Adds a condition to the query, which is one of those that `and` joins. Errors as above; then the query is as it was. */
int orma_sql_select_add_condition(struct orma_select *select, size_t begin, size_t end);
/* Returns the `and` behind the condition at `begin`, or `end`. */
size_t orma_sql_select_condition_end(const struct orma_select *select, size_t begin, size_t end);
/* Adds the conditions of `where` to the query. Errors as above. */
int orma_sql_select_add_filters(struct orma_select *select);

#endif
