/* SPDX-License-Identifier: Apache-2.0
 * module_docs_test.c - what the comments of modules say.
 */
#include "sql/module_docs.h"

#include "base/buf.h"
#include "harness.h"

static void write_entries(struct orma_buf *out, const struct orma_doc_entry *entry)
{
	for (; entry; entry = entry->next)
		orma_base_buf_printf(out, " %.*s:%.*s:%.*s", (int)entry->name.size,
				     entry->name.data, (int)entry->type.size, entry->type.data,
				     (int)entry->description.size, entry->description.data);
}

/* Each object as a line. */
static const char *docs_of(const char *text)
{
	static struct orma_buf out;
	struct orma_arena arena = {0};
	struct orma_doc doc;
	size_t offset = 0;
	out.size = 0;
	while (orma_sql_next_doc(orma_base_str(text), &offset, &arena, &doc) > 0) {
		orma_base_buf_printf(&out, "%s %.*s|%.*s|", doc.kind, (int)doc.name.size,
				     doc.name.data, (int)doc.description.size,
				     doc.description.data);
		write_entries(&out, doc.args);
		orma_base_buf_printf(&out, "|%.*s|%.*s|", (int)doc.return_type.size,
				     doc.return_type.data, (int)doc.return_description.size,
				     doc.return_description.data);
		write_entries(&out, doc.columns);
		orma_base_buf_append_str(&out, "\n");
	}
	orma_base_arena_done(&arena);
	return orma_base_buf_cstr(&out);
}

ORMA_TEST(comments_describe_what_comes_behind_them)
{
	CHECK_STR(docs_of("-- About the module.\n\n-- A table;\n-- of two lines.\n"
			  "CREATE PERFETTO TABLE t(\n  -- Its id.\n  id ID, \n  n "
			  "joinid(thread.id)) AS\n"
			  "-- not a description\nselect 1;\n"
			  "create perfetto index i on t(id); create table other(x); select ';';\n"
			  "-- A view.\ncreate or replace perfetto view v as select 2"),
		  "TABLE t|A table; of two lines.|||| id:ID:Its id. n:JOINID(thread.id):\n"
		  "VIEW v|A view.||||\n");
	CHECK_STR(
		docs_of("create perfetto function f(-- How many.\n count long, rest any...)\n"
			"-- Their sum.\nreturns long delegates to g;\n"
			"create perfetto function h() returns table(-- One.\nx long) as select 1;\n"
			"-- Puts one in.\ncreate perfetto macro m(x ColumnName)\n-- An "
			"expression.\n"
			"returns _ProjectionFragment as $x"),
		"FUNCTION f|| count:LONG:How many. rest:ANY...:|LONG|Their sum.|\n"
		"TABLE_FUNCTION h|||TABLE|| x:LONG:One.\n"
		"MACRO m|Puts one in.| x:ColumnName:|_ProjectionFragment|An expression.|\n");
	CHECK_STR(docs_of(""), "");
	CHECK_STR(docs_of("create perfetto"), "");
}

ORMA_TEST(statements_that_are_cut_have_an_end)
{
	static const char text[] =
		"-- a\ncreate perfetto function f(-- b\nx long, y joinid(t.x)...) -- c\nreturns "
		"table(z long) as select 'x';";
	for (size_t size = 0; size < sizeof(text); size++) {
		char cut[sizeof(text)];
		memcpy(cut, text, size);
		cut[size] = 0;
		docs_of(cut);
	}
}
