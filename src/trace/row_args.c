/* SPDX-License-Identifier: Apache-2.0
 * row_args.c - a list for each row, which becomes a set of the table at the end.
 *
 * Sets are added in the order of the rows, so that the table is the same whatever order rows end in.
 */
#include "trace/row_args.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

void orma_row_args_done(struct orma_row_args *args)
{
	struct orma_map_slot *slot;
	for (size_t position = 0; (slot = orma_base_map_next(&args->lists, &position));) {
		orma_arg_list_done(slot->value);
		orma_base_free(slot->value);
	}
	orma_base_map_done(&args->lists);
}

struct orma_arg_list *orma_row_args_get(struct orma_row_args *args, int64_t row)
{
	struct orma_arg_list *list = orma_base_map_get(&args->lists, (uint64_t)row);
	if (list)
		return list;
	list = orma_base_zalloc(sizeof(*list));
	if (!list)
		return NULL;
	list->tables = args->tables;
	if (orma_base_map_put(&args->lists, (uint64_t)row, list) < 0) {
		orma_base_free(list);
		return NULL;
	}
	return list;
}

static int compare_rows(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int orma_row_args_end(struct orma_row_args *args)
{
	uint64_t *rows = orma_base_alloc_array(args->lists.count + 1, sizeof(*rows));
	struct orma_map_slot *slot;
	size_t count = 0;
	int r = rows ? 0 : -ENOMEM;
	for (size_t position = 0; r == 0 && (slot = orma_base_map_next(&args->lists, &position));)
		rows[count++] = slot->key;
	if (r == 0)
		qsort(rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < count && r == 0; i++) {
		int64_t set;
		r = orma_arg_sets_add(args->sets, orma_base_map_get(&args->lists, rows[i]), &set);
		if (r == 0 && set != ORMA_CELL_NULL)
			r = orma_store_column_set(args->column, rows[i], set);
	}
	orma_base_free(rows);
	return r;
}
