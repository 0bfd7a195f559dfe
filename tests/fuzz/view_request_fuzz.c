/* SPDX-License-Identifier: Apache-2.0
 * view_request_fuzz.c - any bytes as a request of a page for tiles, values of counters, densities or names. The first byte
 * chooses the question, and the others are its body. The trace has slices at two depths and a counter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_state.h"

enum { ROWS = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const questions[] = {"tiles", "counters", "density", "names"};

static void check(int r)
{
	if (r < 0)
		abort();
}

/* Appends a row whose other cells are NULL; `cells` are pairs of a column and its cell. */
static void append(struct orma_tables *tables, enum orma_table_id id, const int64_t *cells,
		   size_t count)
{
	struct orma_table *table = &tables->all[id];
	int64_t row[32];
	for (size_t i = 0; i < table->column_count; i++)
		row[i] = orma_store_null_of(table->specs[i].type);
	for (size_t i = 0; i < count; i += 2)
		row[cells[i]] = cells[i + 1];
	check(orma_store_table_append(table, row));
}
#define APPEND(tables, id, ...)                                                                    \
	append(tables, id, (const int64_t[]){__VA_ARGS__},                                         \
	       sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void make_view(struct orma_trace_database *database, struct orma_view *view)
{
	uint32_t name, category;
	struct orma_tables *tables = &database->tables;
	check(orma_tables_init(tables, 0, NULL));
	database->importer.sched.states.tables = tables;
	database->importer.sched.states.is_direct = true;
	check(orma_store_pool_add(&tables->strings, (struct orma_str){"work", 4}, &name));
	check(orma_store_pool_add(&tables->strings, (struct orma_str){"cpu", 3}, &category));
	for (int track = 0; track < 2; track++)
		APPEND(tables, ORMA_TABLE_TRACK, ORMA_TRACK_NAME, name);
	for (int i = 0; i < ROWS; i++) {
		APPEND(tables, ORMA_TABLE_SLICE, ORMA_SLICE_TS, 100 * (i / 2), ORMA_SLICE_DUR,
		       i % 2 ? 20 : 90, ORMA_SLICE_DEPTH, i % 2, ORMA_SLICE_TRACK_ID, 0,
		       ORMA_SLICE_NAME, name, ORMA_SLICE_CATEGORY, category);
		APPEND(tables, ORMA_TABLE_COUNTER, ORMA_COUNTER_TS, 100 * i, ORMA_COUNTER_TRACK_ID,
		       1, ORMA_COUNTER_VALUE, orma_store_cell_of_double(i));
	}
	check(orma_tables_seal(tables));
	database->end_ns = 100 * ROWS;
	view->database = database;
	check(orma_view_state_init(view));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct orma_trace_database database;
	static struct orma_view view;
	if (!view.database)
		make_view(&database, &view);
	if (size == 0)
		return 0;
	const char *question = questions[data[0] % (sizeof(questions) / sizeof(*questions))];
	const struct orma_view_route *route = orma_view_routes;
	while (strcmp(route->name, question) != 0)
		route++;
	/* A copy, so that a read beyond its end is noticed. */
	char *body = malloc(size);
	memcpy(body, data + 1, size - 1);
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	int r = route->fn(&view, (struct orma_str){body, size - 1}, &answer, &error);
	if (r < 0 && r != -EINVAL && r != -ENOENT)
		abort();
	orma_base_buf_done(&answer);
	free(body);
	return 0;
}
