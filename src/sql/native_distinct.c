/* SPDX-License-Identifier: Apache-2.0
 * native_distinct.c - `select count(distinct x) from ...` becomes `select count(x) from (select distinct x from ...)`.
 *
 * SQLite looks each value up among those before it. Distinct values of a table can be found natively, or by a virtual table that
 * SQLite tells of `distinct`, which it does not of the first form. Invariant: both forms have the same row. A statement with clauses
 * that work on the groups, or of several selects, stays as it is.
 */
#include <errno.h>
#include <sqlite3.h>

#include "base/macros.h"
#include "sql/native_select.h"

enum { HEAD_TOKENS = 12 };

/* Reads the tokens up to `from`. Returns their number, with it, or 0 when there are too many. */
static size_t read_head(struct orma_str text, struct orma_token tokens[HEAD_TOKENS])
{
	size_t offset = 0;
	for (size_t i = 0; i < HEAD_TOKENS; i++) {
		tokens[i] = orma_sql_token_next(text, offset);
		if (tokens[i].kind == ORMA_TOKEN_END || tokens[i].kind == ORMA_TOKEN_UNFINISHED)
			return 0;
		if (orma_sql_token_is(&tokens[i], "from"))
			return i + 1;
		offset = orma_sql_token_end(&tokens[i]);
	}
	return 0;
}

/* Finds the column in the head, and the end of the item. False when the head is another one. */
static bool read_item(struct orma_str text, const struct orma_token *tokens, size_t count,
		      struct orma_str *retcolumn, struct orma_str *retname)
{
	size_t at = 5;
	if (count < 7 || !orma_sql_token_is(&tokens[0], "select") ||
	    !orma_sql_token_is(&tokens[1], "count") || !orma_sql_token_is_sign(&tokens[2], '(') ||
	    !orma_sql_token_is(&tokens[3], "distinct") || !orma_select_is_name(&tokens[4]))
		return false;
	if (orma_sql_token_is_sign(&tokens[at], '.') && orma_select_is_name(&tokens[at + 1]))
		at += 2;
	if (at >= count || !orma_sql_token_is_sign(&tokens[at], ')'))
		return false;
	*retcolumn = (struct orma_str){text.data + tokens[4].offset,
				       tokens[at].offset - tokens[4].offset};
	*retname = (struct orma_str){text.data + tokens[1].offset,
				     orma_sql_token_end(&tokens[at]) - tokens[1].offset};
	at += orma_sql_token_is(&tokens[at + 1], "as") ? 2 : 1;
	if (at + 1 == count)
		return true;
	*retname = orma_select_text(&tokens[at]);
	return at + 2 == count && orma_select_is_name(&tokens[at]);
}

/* Finds where the statement ends that goes on at `offset`. False when a word follows that ends the match. */
static bool find_end(struct orma_str text, size_t offset, size_t *ret)
{
	static const char *const strangers[] = {"group",  "having",    "order",
						"limit",  "union",     "except",
						"window", "intersect", "returning"};
	size_t depth = 0;
	for (*ret = offset;; *ret = offset) {
		struct orma_token token = orma_sql_token_next(text, offset);
		if (token.kind == ORMA_TOKEN_END)
			return depth == 0;
		if (token.kind == ORMA_TOKEN_UNFINISHED || token.kind == ORMA_TOKEN_VARIABLE ||
		    orma_sql_token_is_sign(&token, ';') ||
		    (depth == 0 && token.kind == ORMA_TOKEN_WORD &&
		     orma_select_is_one_of(token.text, strangers, ORMA_ARRAY_SIZE(strangers))))
			return false;
		depth += orma_sql_token_is_sign(&token, '(');
		depth -= depth > 0 && orma_sql_token_is_sign(&token, ')');
		offset = orma_sql_token_end(&token);
	}
}

int orma_sql_native_count_distinct(struct orma_str text, struct orma_buf *out)
{
	struct orma_token tokens[HEAD_TOKENS];
	struct orma_str column, name;
	size_t count = read_head(text, tokens), end;
	if (count == 0 || !read_item(text, tokens, count, &column, &name) ||
	    !find_end(text, orma_sql_token_end(&tokens[count - 1]), &end))
		return 0;
	size_t from = tokens[count - 1].offset;
	char *sql = sqlite3_mprintf("select count(__orma_value) as \"%.*w\" from (select distinct "
				    "%.*s as __orma_value %.*s)",
				    (int)name.size, name.data, (int)column.size, column.data,
				    (int)(end - from), text.data + from);
	int r = sql ? orma_base_buf_append_str(out, sql) : -ENOMEM;
	sqlite3_free(sql);
	return r < 0 ? r : 1;
}
