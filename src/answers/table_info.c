/* SPDX-License-Identifier: Apache-2.0
 * table_info.c - perfetto_table_info(name): the columns of a table of `create perfetto table`, and which types would hold
 * their values.
 */
#include <errno.h>

#include "answers/operators.h"
#include "answers/trace_database.h"
#include "base/error_message.h"
#include "base/macros.h"

/* How values follow each other, with Perfetto's numbers. */
enum { SORTED_ID = 0, SORTED = 2, UNSORTED = 3 };

struct column_info {
	int64_t min, max, last;
	bool has_nulls, is_sorted, is_row;
};

static int read_column(const struct orma_relation *relation, size_t column, struct column_info *ret)
{
	uint64_t rows = orma_sql_relation_rows(relation);
	*ret = (struct column_info){.min = INT64_MAX,
				    .max = INT64_MIN,
				    .last = INT64_MIN,
				    .is_sorted = true,
				    .is_row = true};
	for (uint64_t row = 0; row < rows;) {
		int64_t cells[ORMA_BLOCK_ROWS];
		int count = orma_sql_relation_read(relation, column, row / ORMA_BLOCK_ROWS, cells);
		if (count <= 0)
			return count;
		for (int i = 0; i < count; i++, row++) {
			ret->is_row = ret->is_row && cells[i] == (int64_t)row;
			ret->has_nulls = ret->has_nulls || cells[i] == ORMA_CELL_NULL;
			ret->is_sorted = ret->is_sorted && cells[i] >= ret->last;
			ret->last = cells[i];
			if (cells[i] == ORMA_CELL_NULL)
				continue;
			ret->min = ORMA_MIN(ret->min, cells[i]);
			ret->max = ORMA_MAX(ret->max, cells[i]);
		}
	}
	return 0;
}

static const char *type_of(const struct orma_relation_column *column,
			   const struct column_info *info)
{
	if (column->type == ORMA_COLUMN_STRING)
		return "string";
	if (column->type == ORMA_COLUMN_DOUBLE)
		return "double";
	if (info->is_row)
		return "id";
	if (info->min >= 0 && info->max <= UINT32_MAX)
		return "uint32";
	return info->min >= INT32_MIN && info->max <= INT32_MAX ? "int32" : "int64";
}

static int put_text(struct orma_row_set *rows, size_t column, const char *text)
{
	uint32_t id;
	int r = orma_store_pool_add(rows->pool, orma_base_str(text), &id);
	if (r == 0)
		orma_row_set_put(rows, column, SQLITE_TEXT, id);
	return r;
}

static int add_row(struct orma_row_set *rows, const char *name, const char *type, bool has_nulls,
		   int order)
{
	int64_t id = (int64_t)rows->row_count;
	int r = orma_row_set_add(rows);
	if (r < 0)
		return r;
	orma_row_set_put_int(rows, 0, id);
	orma_row_set_put_int(rows, 3, has_nulls);
	orma_row_set_put_int(rows, 4, order);
	r = put_text(rows, 1, name);
	return r == 0 ? put_text(rows, 2, type) : r;
}

static int run(struct orma_row_call *call)
{
	const struct orma_trace_database *database = call->ctx;
	const char *name = call->argc > 0 ? (const char *)sqlite3_value_text(call->argv[0]) : NULL;
	const struct orma_relation *relation =
		name ? orma_sql_find_relation(database->sql, name) : NULL;
	if (!relation)
		return orma_base_error_set(call->reterr, -EINVAL,
					   "perfetto_table_info: there is no table %s",
					   name ? name : "");
	int r = 0;
	for (size_t i = 0; i < relation->column_count && r == 0; i++) {
		const struct orma_relation_column *column = &relation->columns[i];
		struct column_info info;
		if (column->flags & ORMA_RELATION_ROW)
			continue;
		r = read_column(relation, i, &info);
		if (r < 0)
			break;
		bool is_id = info.is_row && column->type == ORMA_COLUMN_INT;
		bool is_sorted = info.is_sorted && column->type == ORMA_COLUMN_INT;
		r = add_row(call->ret, column->name, type_of(column, &info), info.has_nulls,
			    is_id       ? SORTED_ID
			    : is_sorted ? SORTED
					: UNSORTED);
	}
	return r == 0 ? add_row(call->ret, "_auto_id", "id", false, SORTED_ID) : r;
}

const struct orma_row_operator orma_table_info = {
	.name = "perfetto_table_info",
	.columns = "id, name, col_type, nullable, sorted",
	.column_count = 5,
	.arg_count = 1,
	.rows = 10,
	.run = run,
};
