/* SPDX-License-Identifier: Apache-2.0
 * module_objects.c - __intrinsic_stdlib_objects: what the modules have, as a table to search in. The rows are made of the
 * modules' texts whenever a query asks.
 */
#include <errno.h>

#include "answers/modules.h"
#include "answers/operators.h"
#include "answers/trace_database.h"
#include "base/buf.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "sql/json_text.h"
#include "sql/module_docs.h"

enum { SHORT_BYTES = 160 };

struct object_writer {
	struct orma_row_set *rows;
	struct orma_str package, module;
	struct orma_buf text;
	int error;
};

__attribute__((format(printf, 2, 3))) static void append(struct object_writer *writer,
							 const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (writer->error == 0)
		writer->error = orma_base_buf_vprintf(&writer->text, format, args);
	va_end(args);
}

static void put(struct object_writer *writer, size_t column, struct orma_str text)
{
	uint32_t id;
	if (writer->error == 0)
		writer->error = orma_store_pool_add(writer->rows->pool, text, &id);
	if (writer->error == 0)
		orma_row_set_put(writer->rows, column, SQLITE_TEXT, id);
}

static void put_buffer(struct object_writer *writer, size_t column)
{
	put(writer, column, (struct orma_str){(const char *)writer->text.data, writer->text.size});
}

#define TEXT(text) (int)(text).size, (text).data

/* Words to search for: names with spaces in place of dots and underscores. */
static void append_words(struct object_writer *writer, struct orma_str name)
{
	for (size_t i = 0; i < name.size; i++)
		append(writer, "%c",
		       name.data[i] == '.' || name.data[i] == '_' ? ' ' : name.data[i]);
}

static void append_entries(struct object_writer *writer, const char *heading,
			   const struct orma_doc_entry *entry)
{
	if (entry)
		append(writer, "\n%s:", heading);
	for (; entry; entry = entry->next)
		append(writer, "\n- %.*s (%.*s)%s%.*s", TEXT(entry->name), TEXT(entry->type),
		       entry->description.size > 0 ? ": " : "", TEXT(entry->description));
}

/* All that is known in one text. */
static void put_summary(struct object_writer *writer, size_t column, const struct orma_doc *doc,
			bool is_public)
{
	bool is_module = doc->name.size == 0;
	writer->text.size = 0;
	append(writer, "Package: %.*s\nModule: %.*s", TEXT(writer->package), TEXT(writer->module));
	if (!is_module)
		append(writer, "\nName: %.*s", TEXT(doc->name));
	append(writer, "\nQualified name: %.*s%s%.*s\nSearch aliases: ", TEXT(writer->module),
	       is_module ? "" : ".", TEXT(doc->name));
	append_words(writer, writer->package);
	append(writer, " ");
	append_words(writer, writer->module);
	if (!is_module)
		append(writer, " ");
	append_words(writer, doc->name);
	append(writer, "\nKind: %s %s", is_public ? "public" : "internal", doc->kind);
	if (doc->description.size > 0)
		append(writer, "\nDescription: %.*s", TEXT(doc->description));
	append_entries(writer, "Arguments", doc->args);
	if (doc->return_type.size > 0)
		append(writer, "\nReturns: %.*s%s%.*s", TEXT(doc->return_type),
		       doc->return_description.size > 0 ? ": " : "", TEXT(doc->return_description));
	append_entries(writer, "Columns", doc->columns);
	put_buffer(writer, column);
}

static void append_json(struct object_writer *writer, const char *name, struct orma_str text)
{
	append(writer, "%s", name);
	if (writer->error == 0)
		writer->error = orma_sql_append_json_text(&writer->text, text);
}

static void put_entries(struct object_writer *writer, size_t column,
			const struct orma_doc_entry *entry)
{
	writer->text.size = 0;
	append(writer, "[");
	for (const char *separator = ""; entry; entry = entry->next, separator = ",") {
		append(writer, "%s", separator);
		append_json(writer, "{\"name\":", entry->name);
		append_json(writer, ",\"type\":", entry->type);
		append_json(writer, ",\"description\":", entry->description);
		append(writer, "}");
	}
	append(writer, "]");
	put_buffer(writer, column);
}

static struct orma_str shorten(struct orma_str text)
{
	size_t size = ORMA_MIN(text.size, (size_t)SHORT_BYTES);
	while (size > 0 && size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80)
		size--;
	return (struct orma_str){text.data, size};
}

static int add_object(struct object_writer *writer, const struct orma_doc *doc)
{
	bool is_module = doc->name.size == 0;
	bool is_public = is_module || doc->name.data[0] != '_';
	if (writer->error == 0)
		writer->error = orma_row_set_add(writer->rows);
	if (writer->error < 0)
		return writer->error;
	put(writer, 0, writer->package);
	put(writer, 1, writer->module);
	put(writer, 2, is_module ? writer->module : doc->name);
	writer->text.size = 0;
	append(writer, "%.*s%s%.*s", TEXT(writer->module), is_module ? "" : ".", TEXT(doc->name));
	put_buffer(writer, 3);
	put(writer, 4, orma_base_str(doc->kind));
	orma_row_set_put_int(writer->rows, 5, is_public);
	put(writer, 6, shorten(doc->description));
	put_summary(writer, 7, doc, is_public);
	put(writer, 8, doc->description);
	put(writer, 9, doc->return_type);
	put(writer, 10, doc->return_description);
	put_entries(writer, 11, doc->args);
	put_entries(writer, 12, doc->columns);
	return writer->error;
}

static int add_module(struct object_writer *writer, const char *name, struct orma_str text)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_doc doc = {.kind = "MODULE",
			       .name = {"", 0},
			       .description = {"", 0},
			       .return_type = {"", 0},
			       .return_description = {"", 0}};
	writer->module = orma_base_str(name);
	writer->package = (struct orma_str){name, strcspn(name, ".")};
	int r = add_object(writer, &doc);
	size_t offset = 0;
	while (r == 0) {
		r = orma_sql_next_doc(text, &offset, &arena, &doc);
		if (r <= 0)
			break;
		r = add_object(writer, &doc);
	}
	return r;
}

/* A module of the user's that replaces one of the binary has a name that was there before. */
static bool is_repeated(void *database, size_t idx)
{
	const char *name = orma_module_name(database, idx);
	for (size_t i = 0; i < idx; i++)
		if (strcmp(orma_module_name(database, i), name) == 0)
			return true;
	return false;
}

static int run(struct orma_row_call *call)
{
	struct object_writer writer = {.rows = call->ret};
	const char *name;
	int r = 0;
	for (size_t i = 0; r == 0 && (name = orma_module_name(call->ctx, i)); i++)
		if (!is_repeated(call->ctx, i))
			r = add_module(&writer, name, orma_module_text(call->ctx, name));
	orma_base_buf_done(&writer.text);
	return r;
}

const struct orma_row_operator orma_module_objects = {
	.name = "__intrinsic_stdlib_objects",
	.columns =
		"package, module, name, qualified_name, object_type, exposed, short_description, "
		"summary, description, return_type, return_description, args, cols",
	.column_count = 13,
	.rows = 500,
	.run = run,
};
