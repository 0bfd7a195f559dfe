/* SPDX-License-Identifier: Apache-2.0
 * module_docs.c - reads statements only as far as their names and types.
 */
#include "sql/module_docs.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "sql/sql_token.h"

struct reader {
	struct orma_str sql;
	size_t offset;
	struct orma_arena *arena;
	bool is_macro; /* the types of its arguments are names of their own */
	int error;
};

static struct orma_str keep(struct reader *reader, const struct orma_buf *text)
{
	struct orma_str kept = {(const char *)text->data, text->size};
	kept.data = orma_base_arena_strdup(reader->arena, kept);
	if (!kept.data)
		reader->error = -ENOMEM;
	return kept;
}

/* Joins the lines of the comment that ends right before the next token; an empty line begins anew. */
static struct orma_str read_comment(struct reader *reader)
{
	struct orma_token next = orma_sql_token_next(reader->sql, reader->offset);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	const char *at = reader->sql.data + reader->offset, *end = reader->sql.data + next.offset;
	for (unsigned newlines = 0; at < end; at++) {
		newlines += *at == '\n';
		if (*at != '-') {
			text.size = newlines > 1 ? 0 : text.size;
			continue;
		}
		at += strspn(at, "- ");
		size_t size = (size_t)(end - at);
		const char *line_end = memchr(at, '\n', size);
		size = line_end ? (size_t)(line_end - at) : size;
		if (text.size > 0 && reader->error == 0)
			reader->error = orma_base_buf_append(&text, " ", 1);
		if (reader->error == 0)
			reader->error = orma_base_buf_append(&text, at, size);
		at += size;
		newlines = 1;
	}
	return text.size > 0 ? keep(reader, &text) : (struct orma_str){"", 0};
}

static struct orma_token take(struct reader *reader)
{
	struct orma_token next = orma_sql_token_next(reader->sql, reader->offset);
	reader->offset = orma_sql_token_end(&next);
	return next;
}

static bool take_word(struct reader *reader, const char *keyword)
{
	return orma_sql_token_accept(reader->sql, &reader->offset, keyword);
}

/* A type in capitals, as Perfetto shows them: `JOINID(thread.id)`. Ends before a comma, a parenthesis or a keyword. */
static struct orma_str read_type(struct reader *reader)
{
	struct orma_token first = orma_sql_token_next(reader->sql, reader->offset);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	reader->offset = orma_sql_token_end(&first);
	for (size_t i = 0; i < first.text.size && reader->error == 0; i++) {
		char c = first.text.data[i];
		if (!reader->is_macro)
			c = (char)toupper((unsigned char)c);
		reader->error = orma_base_buf_append(&text, &c, 1);
	}
	size_t begin = reader->offset;
	if (orma_sql_token_accept_sign(reader->sql, &reader->offset, '(') &&
	    orma_sql_token_skip_parentheses(reader->sql, &reader->offset) && reader->error == 0)
		reader->error = orma_base_buf_append(&text, reader->sql.data + begin,
						     reader->offset - begin);
	while (orma_sql_token_accept_sign(reader->sql, &reader->offset, '.'))
		if (reader->error == 0)
			reader->error = orma_base_buf_append(&text, ".", 1);
	return keep(reader, &text);
}

/* `(name TYPE, ...)`, if it is there. */
static struct orma_doc_entry *read_list(struct reader *reader)
{
	struct orma_doc_entry *first = NULL, **last = &first;
	if (!orma_sql_token_accept_sign(reader->sql, &reader->offset, '(') ||
	    orma_sql_token_accept_sign(reader->sql, &reader->offset, ')'))
		return NULL;
	while (reader->error == 0) {
		struct orma_doc_entry entry = {.description = read_comment(reader)};
		struct orma_token name = take(reader);
		entry.name = name.text;
		entry.type = read_type(reader);
		*last = orma_base_arena_memdup(reader->arena, &entry, sizeof(entry));
		if (!*last || name.kind == ORMA_TOKEN_END)
			break;
		last = &(*last)->next;
		if (!orma_sql_token_accept_sign(reader->sql, &reader->offset, ','))
			break;
	}
	if (reader->error == 0 && last != &first && !*last)
		orma_sql_token_accept_sign(reader->sql, &reader->offset, ')');
	return first;
}

static void read_function(struct reader *reader, struct orma_doc *ret)
{
	ret->args = read_list(reader);
	ret->return_description = read_comment(reader);
	if (!take_word(reader, "returns"))
		return;
	size_t before = reader->offset;
	if (!reader->is_macro && take_word(reader, "table")) {
		ret->kind = "TABLE_FUNCTION";
		ret->return_type = ORMA_STR("TABLE");
		ret->columns = read_list(reader);
		return;
	}
	reader->offset = before;
	ret->return_type = read_type(reader);
}

/* Reads what follows the words `create perfetto`. False for an index, and for anything else. */
static bool read_object(struct reader *reader, struct orma_doc *ret)
{
	static const char *const keywords[] = {"table", "view", "function", "macro"};
	static const char *const kinds[] = {"TABLE", "VIEW", "FUNCTION", "MACRO"};
	for (size_t i = 0; i < 4; i++) {
		if (!take_word(reader, keywords[i]))
			continue;
		ret->kind = kinds[i];
		ret->name = take(reader).text;
		reader->is_macro = i == 3;
		if (i < 2)
			ret->columns = read_list(reader);
		else
			read_function(reader, ret);
		return true;
	}
	return false;
}

static void skip_statement(struct reader *reader)
{
	struct orma_token token;
	do
		token = take(reader);
	while (token.kind != ORMA_TOKEN_END && token.kind != ORMA_TOKEN_UNFINISHED &&
	       !orma_sql_token_is_sign(&token, ';'));
}

int orma_sql_next_doc(struct orma_str module, size_t *offset, struct orma_arena *arena,
		      struct orma_doc *ret)
{
	struct reader reader = {.sql = module, .offset = *offset, .arena = arena};
	bool is_found = false;
	while (!is_found && reader.error == 0) {
		struct orma_token next = orma_sql_token_next(module, reader.offset);
		if (next.kind == ORMA_TOKEN_END || next.kind == ORMA_TOKEN_UNFINISHED)
			break;
		*ret = (struct orma_doc){.description = read_comment(&reader),
					 .return_type = {"", 0},
					 .return_description = {"", 0}};
		is_found = take_word(&reader, "create") &&
			   (!take_word(&reader, "or") || take_word(&reader, "replace")) &&
			   take_word(&reader, "perfetto") && read_object(&reader, ret);
		skip_statement(&reader);
	}
	*offset = reader.offset;
	return reader.error < 0 ? reader.error : is_found;
}
