/* SPDX-License-Identifier: Apache-2.0
 * native_rows.c - `select id, ts, dur from slice where dur > 5`: rows that can be copied without SQLite stepping over them.
 */
#include "base/alloc.h"
#include "base/macros.h"
#include "sql/native_select.h"
#include "sql/relation.h"

static int add_column(struct orma_native_rows *rows, int column)
{
	if (column < 0 || rows->column_count == ORMA_ARRAY_SIZE(rows->columns))
		return ORMA_NO_MATCH;
	rows->columns[rows->column_count++] = (size_t)column;
	return 0;
}

static int add_items(const struct orma_select *select, struct orma_native_rows *rows)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < select->item_count; i++) {
		const struct orma_select_item *item = &select->items[i];
		r = add_column(rows, orma_sql_select_plain_column(select, item->begin, item->end));
	}
	return r;
}

static int match(struct orma_select *select, struct orma_arena *arena,
		 struct orma_native_rows *rows)
{
	int r = orma_sql_select_read(select->text, select);
	if (r < 0)
		return r;
	if (select->is_join || select->is_distinct || select->group != SIZE_MAX ||
	    select->having != SIZE_MAX || select->order != SIZE_MAX || select->limit != SIZE_MAX)
		return ORMA_NO_MATCH;
	r = orma_sql_select_resolve(select, arena);
	if (r == 0)
		r = add_items(select, rows);
	return r < 0 ? r : orma_sql_select_add_filters(select);
}

int orma_sql_native_rows(struct orma_sql *sql, struct orma_str text, struct orma_native_rows *ret)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	*ret = (struct orma_native_rows){.column_count = 0};
	struct orma_select *select = orma_base_alloc(sizeof(*select));
	if (!select)
		return -ENOMEM;
	select->sql = sql;
	select->text = text;
	select->query = &ret->query;
	int r = match(select, &arena, ret);
	orma_base_free(select);
	if (r < 0)
		return r == ORMA_NO_MATCH ? 0 : r;
	return 1;
}
