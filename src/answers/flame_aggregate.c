/* SPDX-License-Identifier: Apache-2.0
 * flame_aggregate.c - one value for each box of the values that its frames have in a column.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "answers/flamegraph.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "store/grow.h"
#include "store/string_pool.h"

#define NONE UINT32_MAX

/* A row of the source whose value is part of a box. */
struct member {
	uint32_t node, row;
	uint32_t place; /* keeps the order of those of one box */
};

struct members {
	struct member *items;
	uint32_t count, capacity;
	uint32_t *first_row; /* by frame: the first row that it stands for; NONE = no more */
	uint32_t *next_row;  /* by row */
};

static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static int add_frame(struct members *members, uint32_t node, uint32_t frame)
{
	for (uint32_t row = members->first_row[frame]; row != NONE; row = members->next_row[row]) {
		int r = orma_store_grow(&members->items, (uint64_t)members->count + 1,
					&members->capacity, sizeof(*members->items));
		if (r < 0)
			return r;
		members->items[members->count] = (struct member){node, row, members->count};
		members->count++;
	}
	return 0;
}

static int collect(const struct orma_flamegraph *graph, struct members *members)
{
	size_t rows = graph->source->rows.row_count;
	int r = 0;
	members->first_row = orma_base_alloc_array(rows + 1, sizeof(*members->first_row));
	members->next_row = orma_base_alloc_array(rows + 1, sizeof(*members->next_row));
	if (!members->first_row || !members->next_row)
		return -ENOMEM;
	for (size_t row = 0; row < rows; row++)
		members->first_row[row] = NONE;
	for (size_t row = rows; row-- > 0;) {
		uint32_t frame = graph->retained[row];
		if (frame == NONE || !graph->is_used[row])
			continue;
		members->next_row[row] = members->first_row[frame];
		members->first_row[frame] = (uint32_t)row;
	}
	for (uint32_t frame = 0; frame < rows && r == 0; frame++)
		if (graph->retained[frame] == frame && graph->is_used[frame] &&
		    graph->down_node[frame] != NONE)
			r = add_frame(members, graph->down_node[frame], frame);
	for (uint32_t i = 0; i < graph->part_count && r == 0; i++)
		r = add_frame(members, graph->parts[i].node, graph->parts[i].frame);
	if (r == 0 && members->count > 0)
		qsort(members->items, members->count, sizeof(*members->items), compare);
	return r;
}

static int append(struct orma_buf *text, const struct orma_row_set *rows, size_t at)
{
	char number[40];
	double value;
	if (rows->types[at] == SQLITE_TEXT) {
		struct orma_str part = orma_store_pool_get(rows->pool, (uint32_t)rows->cells[at]);
		return orma_base_buf_append(text, part.data, part.size);
	}
	if (rows->types[at] == SQLITE_INTEGER)
		return orma_base_buf_printf(text, "%" PRId64, rows->cells[at]);
	memcpy(&value, &rows->cells[at], sizeof(value));
	snprintf(number, sizeof(number), "%.15g", value);
	/* A whole number is marked as a double, as SQLite does. */
	const char *mark = strpbrk(number, ".eEnN") ? "" : ".0";
	return orma_base_buf_printf(text, "%s%s", number, mark);
}

static int compare_cells(const void *a, const void *b)
{
	int64_t x, y;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* The values of one box that are not NULL. */
struct group {
	const struct orma_row_set *rows;
	size_t column;
	const struct member *items;
	uint32_t count;
	struct orma_buf cells, text;
};

static int sum(struct group *group, bool is_double, int64_t *ret, struct orma_error *reterr)
{
	double total = 0;
	*ret = 0;
	for (uint32_t i = 0; i < group->count; i++) {
		total += orma_row_set_double(group->rows, group->items[i].row, group->column);
		if (!is_double &&
		    __builtin_add_overflow(
			    *ret, orma_row_set_int(group->rows, group->items[i].row, group->column),
			    ret))
			return orma_base_error_set(reterr, -EINVAL,
						   "flamegraph: a sum of integers overflows");
	}
	if (is_double)
		memcpy(ret, &total, sizeof(total));
	return 0;
}

static int concat(struct group *group)
{
	int r = 0;
	for (uint32_t i = 0; i < group->count && r == 0; i++) {
		r = i > 0 ? orma_base_buf_append(&group->text, ",", 1) : 0;
		if (r == 0)
			r = append(
				&group->text, group->rows,
				orma_row_set_at(group->rows, group->items[i].row, group->column));
	}
	return r;
}

/* The first value, and how many different ones there are when there is more than one. */
static int summarize(struct group *group)
{
	size_t first = orma_row_set_at(group->rows, group->items[0].row, group->column);
	int r = append(&group->text, group->rows, first);
	group->cells.size = 0;
	for (uint32_t i = 0; i < group->count && r == 0; i++) {
		size_t at = orma_row_set_at(group->rows, group->items[i].row, group->column);
		r = orma_base_buf_append(&group->cells, &group->rows->cells[at], sizeof(int64_t));
	}
	if (r < 0)
		return r;
	qsort(group->cells.data, group->count, sizeof(int64_t), compare_cells);
	uint32_t different = 1;
	for (uint32_t i = 1; i < group->count; i++)
		different += compare_cells(group->cells.data + (i - 1) * sizeof(int64_t),
					   group->cells.data + i * sizeof(int64_t)) != 0;
	return different > 1
		       ? orma_base_buf_printf(&group->text, " and %" PRIu32 " others", different)
		       : 0;
}

static int finish_group(const struct orma_flamegraph *graph, enum orma_flame_aggregate kind,
			struct group *group, int64_t *ret_cell, uint8_t *ret_type,
			struct orma_error *reterr)
{
	bool is_double = graph->source->types[group->column] == SQLITE_FLOAT;
	uint32_t id;
	group->text.size = 0;
	if (kind == ORMA_FLAME_SUM) {
		*ret_type = is_double ? SQLITE_FLOAT : SQLITE_INTEGER;
		return sum(group, is_double, ret_cell, reterr);
	}
	int r = kind == ORMA_FLAME_CONCAT_WITH_COMMA ? concat(group) : summarize(group);
	if (r == 0)
		r = orma_store_pool_add(
			group->rows->pool,
			(struct orma_str){group->text.data ? (char *)group->text.data : "",
					  group->text.size},
			&id);
	if (r == 0) {
		*ret_type = SQLITE_TEXT;
		*ret_cell = id;
	}
	return r;
}

int orma_flamegraph_aggregate(const struct orma_flamegraph *graph, size_t aggregate,
			      int64_t *ret_cells, uint8_t *ret_types, struct orma_error *reterr)
{
	const struct orma_flame_config *config = graph->config;
	enum orma_flame_aggregate kind = config->aggregates[aggregate].kind;
	int column =
		orma_flame_source_find(graph->source, config->aggregates[aggregate].name, reterr);
	if (column < 0)
		return column;
	if (kind == ORMA_FLAME_SUM && graph->source->types[column] == SQLITE_TEXT)
		return orma_base_error_set(reterr, -EINVAL, "flamegraph: column %s has no numbers",
					   config->aggregates[aggregate].name);
	struct members members = {0};
	struct group group = {.rows = &graph->source->rows, .column = (size_t)column};
	int r = collect(graph, &members);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < members.count && r == 0; i++)
		if (!orma_row_set_is_null(group.rows, members.items[i].row, group.column))
			members.items[kept++] = members.items[i];
	for (uint32_t i = 0; i < kept && r == 0; i += group.count) {
		uint32_t node = members.items[i].node;
		group.items = &members.items[i];
		for (group.count = 1;
		     i + group.count < kept && members.items[i + group.count].node == node;
		     group.count++)
			;
		r = finish_group(graph, kind, &group, &ret_cells[node], &ret_types[node], reterr);
	}
	orma_base_buf_done(&group.cells);
	orma_base_buf_done(&group.text);
	orma_base_free(members.items);
	orma_base_free(members.first_row);
	orma_base_free(members.next_row);
	return r;
}
