/* SPDX-License-Identifier: Apache-2.0
 * regex_functions.c - functions of regular expressions. An expression is compiled once for all rows of a query.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/functions.h"
#include "sql/query_regex.h"
#include "sql/sqlite_error.h"

/* A replacement names groups by one digit. */
enum { GROUPS_MAX = 9 };

static void free_regex(void *regex)
{
	orma_sql_regex_free(regex);
}

/* Returns the compiled expression, which SQLite keeps while the argument is a constant; NULL when it is NULL or wrong. */
static struct orma_regex *compile(sqlite3_context *context, sqlite3_value **argv, int arg,
				  bool ignores_case)
{
	struct orma_error error = {0};
	struct orma_regex *regex = sqlite3_get_auxdata(context, arg);
	if (regex)
		return regex;
	struct orma_str text = orma_sql_text_of(argv[arg]);
	if (!text.data)
		return NULL;
	int r = orma_sql_regex_new(text, ignores_case, &regex, &error);
	if (r < 0) {
		orma_sql_result_refuse(context, r, &error);
		return NULL;
	}
	sqlite3_set_auxdata(context, arg, regex, free_regex);
	/* Without memory, SQLite has freed it. */
	regex = sqlite3_get_auxdata(context, arg);
	if (!regex)
		sqlite3_result_error_nomem(context);
	return regex;
}

/* 1, 0, or a negative errno value when an error was told to SQLite. */
static int search(sqlite3_context *context, const struct orma_regex *regex, struct orma_str text,
		  size_t offset, struct orma_regex_span *spans, size_t span_count)
{
	struct orma_error error = {0};
	int r = orma_sql_regex_search(regex, text, offset, spans, span_count);
	if (r == -EOVERFLOW)
		orma_base_error_set(&error, r, "regexp: matching takes too many steps");
	if (r < 0)
		orma_sql_result_refuse(context, r, &error);
	return r;
}

/* The argument with the text may be NULL, which makes the result NULL. */
static struct orma_str subject_of(sqlite3_context *context, sqlite3_value *value)
{
	struct orma_str text = orma_sql_text_of(value);
	if (!text.data && sqlite3_value_type(value) != SQLITE_NULL)
		sqlite3_result_error_nomem(context);
	return text;
}

static void regexp(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	bool ignores_case = false;
	if (argc > 2) {
		struct orma_str flags = orma_sql_text_of(argv[2]);
		for (size_t i = 0; i < flags.size; i++) {
			if (flags.data[i] != 'i' && flags.data[i] != 'c') {
				sqlite3_result_error(context, "regexp: flags are `i` and `c`", -1);
				return;
			}
			ignores_case = flags.data[i] == 'i';
		}
	}
	struct orma_regex *regex = compile(context, argv, 0, ignores_case);
	struct orma_str text = regex ? subject_of(context, argv[1]) : (struct orma_str){NULL, 0};
	int r = text.data ? search(context, regex, text, 0, NULL, 0) : -ENODATA;
	if (r >= 0)
		sqlite3_result_int(context, r);
}

/* The only group, or the whole match. */
static void regexp_extract(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_regex *regex = compile(context, argv, 1, false);
	struct orma_str text = regex ? subject_of(context, argv[0]) : (struct orma_str){NULL, 0};
	struct orma_regex_span spans[2];
	(void)argc;
	if (text.data && orma_sql_regex_groups(regex) > 1) {
		sqlite3_result_error(context,
				     "regexp_extract: the expression has more than one group", -1);
	} else if (text.data && search(context, regex, text, 0, spans, 2) > 0) {
		/* A group that took no part in the match, as in `a(b)?c`, counts as none. */
		bool has_group = orma_sql_regex_groups(regex) == 1 && spans[1].begin != SIZE_MAX;
		const struct orma_regex_span *span = &spans[has_group ? 1 : 0];
		sqlite3_result_text64(context, text.data + span->begin, span->end - span->begin,
				      SQLITE_TRANSIENT, SQLITE_UTF8);
	}
}

/* The highest number of a group that the replacement names, by \0 to \9; \0 is the whole match. */
static uint32_t highest_group(struct orma_str replacement)
{
	uint32_t highest = 0;
	for (size_t i = 0; i + 1 < replacement.size; i++)
		if (replacement.data[i] == '\\') {
			char next = replacement.data[++i];
			if (next >= '0' && next <= '9')
				highest = ORMA_MAX(highest, (uint32_t)(next - '0'));
		}
	return highest;
}

/* Appends the replacement of one match. A backslash before a backslash is one; before anything else that is no group it stays. */
static int append_replacement(struct orma_buf *out, struct orma_str text,
			      const struct orma_regex_span *spans, struct orma_str replacement)
{
	int r = 0;
	for (size_t i = 0; i < replacement.size && r == 0; i++) {
		const char *at = &replacement.data[i];
		char next = '\0';
		if (*at == '\\' && i + 1 < replacement.size)
			next = at[1];
		if (next >= '0' && next <= '9') {
			const struct orma_regex_span *span = &spans[next - '0'];
			if (span->begin != SIZE_MAX)
				r = orma_base_buf_append(out, text.data + span->begin,
							 span->end - span->begin);
		} else {
			r = orma_base_buf_append(out, at, 1);
		}
		i += (next >= '0' && next <= '9') || next == '\\';
	}
	return r;
}

/* The character after this one begins here. */
static size_t next_character(struct orma_str text, size_t offset)
{
	do
		offset++;
	while (offset < text.size && ((unsigned char)text.data[offset] & 0xc0) == 0x80);
	return offset;
}

static int replace_all(sqlite3_context *context, const struct orma_regex *regex,
		       struct orma_str text, struct orma_str replacement, struct orma_buf *out)
{
	size_t copied = 0, last_end = SIZE_MAX;
	uint32_t groups = highest_group(replacement);
	int r = 0;
	for (size_t offset = 0; r == 0 && offset <= text.size;) {
		struct orma_regex_span spans[GROUPS_MAX + 1];
		r = search(context, regex, text, offset, spans, groups + 1);
		if (r <= 0)
			break;
		r = 0;
		/* An empty match at the end of the one before is none. */
		if (spans->begin == spans->end && spans->begin == last_end) {
			offset = next_character(text, offset);
			continue;
		}
		r = orma_base_buf_append(out, text.data + copied, spans->begin - copied);
		if (r == 0)
			r = append_replacement(out, text, spans, replacement);
		copied = offset = last_end = spans->end;
	}
	return r < 0 ? r : orma_base_buf_append(out, text.data + copied, text.size - copied);
}

static void regexp_replace(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf out = {0};
	struct orma_regex *regex = compile(context, argv, 1, false);
	struct orma_str text = regex ? subject_of(context, argv[0]) : (struct orma_str){NULL, 0};
	struct orma_str replacement = orma_sql_text_of(argv[2]);
	(void)argc;
	if (text.data && replacement.data &&
	    highest_group(replacement) > orma_sql_regex_groups(regex)) {
		sqlite3_result_error(context,
				     "regexp_replace_simple: the replacement names a group that "
				     "the expression does not have",
				     -1);
	} else if (text.data && replacement.data) {
		int r = replace_all(context, regex, text, replacement, &out);
		if (r == -ENOMEM)
			sqlite3_result_error_nomem(context);
		else if (r == 0)
			sqlite3_result_text64(context, out.data ? (const char *)out.data : "",
					      out.size, SQLITE_TRANSIENT, SQLITE_UTF8);
	}
}

const struct orma_sql_function_spec orma_sql_regex_functions[] = {
	{"regexp", 2, regexp},
	{"regexp", 3, regexp},
	{"regexp_extract", 2, regexp_extract},
	{"regexp_replace_simple", 3, regexp_replace},
};
const size_t orma_sql_regex_function_count = ORMA_ARRAY_SIZE(orma_sql_regex_functions);
