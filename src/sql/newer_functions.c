/* SPDX-License-Identifier: Apache-2.0
 * newer_functions.c - functions that SQLite has had since 3.43 to 3.48: if(), iif() with two arguments, octet_length(), concat(),
 * concat_ws() and string_agg(). Trace Processor's copy of SQLite has them, and Debian's library may lack them. A function is added
 * here only if the library lacks it.
 *
 * string_agg() keeps its texts one behind the other, each with the sizes of its separator and itself, so that a window can drop the
 * first ones; the result is put together when it is wanted.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "sql/engine_state.h"
#include "sql/functions.h"

/* --- conditions ------------------------------------------------------------------------------ */

static bool is_true(sqlite3_value *value)
{
	return sqlite3_value_numeric_type(value) == SQLITE_INTEGER
		       ? sqlite3_value_int64(value) != 0
		       : sqlite3_value_double(value) != 0;
}

/* Pairs of a condition and a value; a single argument at the end is for none of them. */
static void conditional(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int i = 0;
	if (argc < 2) {
		sqlite3_result_error(context, "if: name a condition and a value", -1);
		return;
	}
	while (i + 1 < argc && !is_true(argv[i]))
		i += 2;
	if (i + 1 < argc)
		sqlite3_result_value(context, argv[i + 1]);
	else if (i < argc)
		sqlite3_result_value(context, argv[i]);
}

/* --- texts ----------------------------------------------------------------------------------- */

static void octet_length(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	/* Bytes of a number are those of its text. */
	if (sqlite3_value_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int(context, sqlite3_value_bytes(argv[0]));
}

static int append_text(struct orma_buf *buf, sqlite3_value *value)
{
	struct orma_str text = orma_sql_text_of(value);
	return text.data ? orma_base_buf_append(buf, text.data, text.size) : -ENOMEM;
}

/* Gives the bytes to SQLite, or an error. */
static void give(sqlite3_context *context, struct orma_buf *buf, int r)
{
	if (r < 0)
		sqlite3_result_error_nomem(context);
	else if (buf->size == 0)
		sqlite3_result_text(context, "", 0, SQLITE_STATIC);
	else {
		sqlite3_result_text64(context, (const char *)buf->data, buf->size, orma_base_free,
				      SQLITE_UTF8);
		*buf = (struct orma_buf){0};
	}
	orma_base_buf_done(buf);
}

static void concat(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_buf buf = {0};
	int r = 0;
	for (int i = 0; i < argc && r == 0; i++)
		if (sqlite3_value_type(argv[i]) != SQLITE_NULL)
			r = append_text(&buf, argv[i]);
	give(context, &buf, r);
}

static void concat_ws(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_buf buf = {0};
	bool has_text = false;
	int r = 0;
	if (argc == 0 || sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	for (int i = 1; i < argc && r == 0; i++) {
		if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
			continue;
		if (has_text)
			r = append_text(&buf, argv[0]);
		if (r == 0)
			r = append_text(&buf, argv[i]);
		has_text = true;
	}
	give(context, &buf, r);
}

/* --- string_agg ------------------------------------------------------------------------------ */

struct joined {
	struct orma_buf items;
	size_t first; /* where the first item is */
};

struct item {
	uint32_t separator_size, text_size; /* the bytes of both follow */
};

static void join_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct joined *joined = sqlite3_aggregate_context(context, sizeof(*joined));
	(void)argc;
	if (!joined) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	struct orma_str text = orma_sql_text_of(argv[0]), separator = ORMA_STR("");
	if (sqlite3_value_type(argv[1]) != SQLITE_NULL)
		separator = orma_sql_text_of(argv[1]);
	/* SQLite's texts are shorter than 2 GiB. */
	struct item item = {(uint32_t)separator.size, (uint32_t)text.size};
	int r = text.data && separator.data ? 0 : -ENOMEM;
	if (r == 0)
		r = orma_base_buf_append(&joined->items, &item, sizeof(item));
	if (r == 0)
		r = orma_base_buf_append(&joined->items, separator.data, separator.size);
	if (r == 0)
		r = orma_base_buf_append(&joined->items, text.data, text.size);
	if (r < 0)
		sqlite3_result_error_nomem(context);
}

static struct item item_at(const struct joined *joined, size_t at)
{
	struct item item;
	memcpy(&item, joined->items.data + at, sizeof(item));
	return item;
}

/* The window loses its first row. */
static void join_inverse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct joined *joined = sqlite3_aggregate_context(context, sizeof(*joined));
	(void)argc;
	if (!joined || sqlite3_value_type(argv[0]) == SQLITE_NULL ||
	    joined->first == joined->items.size)
		return;
	struct item item = item_at(joined, joined->first);
	joined->first += sizeof(item) + item.separator_size + item.text_size;
}

static void join_value(sqlite3_context *context)
{
	const struct joined *joined = sqlite3_aggregate_context(context, 0);
	struct orma_buf buf = {0};
	int r = 0;
	if (!joined || joined->first == joined->items.size)
		return;
	for (size_t at = joined->first; at < joined->items.size && r == 0;) {
		struct item item = item_at(joined, at);
		const uint8_t *separator = joined->items.data + at + sizeof(item);
		if (at > joined->first)
			r = orma_base_buf_append(&buf, separator, item.separator_size);
		if (r == 0)
			r = orma_base_buf_append(&buf, separator + item.separator_size,
						 item.text_size);
		at += sizeof(item) + item.separator_size + item.text_size;
	}
	give(context, &buf, r);
}

static void join_final(sqlite3_context *context)
{
	struct joined *joined = sqlite3_aggregate_context(context, 0);
	join_value(context);
	if (joined)
		orma_base_buf_done(&joined->items);
}

/* --- all of them ----------------------------------------------------------------------------- */

static const struct {
	struct orma_sql_function_spec spec;
	int since; /* the version of SQLite that has it, as sqlite3_libversion_number() tells */
} functions[] = {
	{{"octet_length", 1, octet_length}, 3043000},
	{{"concat", -1, concat}, 3044000},
	{{"concat_ws", -1, concat_ws}, 3044000},
	{{"if", -1, conditional}, 3048000},
	/* The one with three arguments stays SQLite's, which evaluates only those that it needs. */
	{{"iif", 2, conditional}, 3048000},
};

int orma_sql_add_newer_functions(struct orma_sql *sql)
{
	const int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS;
	int version = sqlite3_libversion_number(), code = SQLITE_OK;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(functions) && code == SQLITE_OK; i++)
		if (version < functions[i].since)
			code = sqlite3_create_function_v2(sql->db, functions[i].spec.name,
							  functions[i].spec.arg_count,
							  flags | SQLITE_DETERMINISTIC, NULL,
							  functions[i].spec.call, NULL, NULL, NULL);
	if (code == SQLITE_OK && version < 3044000)
		code = sqlite3_create_window_function(sql->db, "string_agg", 2, flags, NULL,
						      join_step, join_final, join_value,
						      join_inverse, NULL);
	return code == SQLITE_OK ? 0 : -ENOMEM;
}
