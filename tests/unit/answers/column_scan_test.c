/* SPDX-License-Identifier: Apache-2.0
 * column_scan_test.c - blocks of rows, and those that have one cell, compared with a look at each row.
 */
#include "answers/column_scan.h"

#include "base/macros.h"
#include "harness.h"
#include "trace/tables.h"

/* Three packed blocks and a part of one. In the first 100 rows the depth is 3, and later 0, 1, or in every 500th row 2. */
enum { ROWS = 3 * ORMA_BLOCK_ROWS + 100 };

static int64_t depth_of(int64_t row)
{
	return row < 100 ? 3 : row % 500 == 0 ? 2 : row % 7 == 0;
}

static void fill(struct orma_tables *tables)
{
	struct orma_table *table = &tables->all[ORMA_TABLE_SLICE];
	int64_t cells[32];
	CHECK_INT(orma_tables_init(tables, 0, NULL), 0);
	CHECK(table->column_count <= ORMA_ARRAY_SIZE(cells));
	for (int64_t row = 0; row < ROWS; row++) {
		for (size_t i = 0; i < table->column_count; i++)
			cells[i] = orma_store_null_of(table->specs[i].type);
		cells[ORMA_SLICE_TS] = 10 * row;
		cells[ORMA_SLICE_DUR] = row * 7919 % 1000;
		cells[ORMA_SLICE_DEPTH] = depth_of(row);
		CHECK_INT(orma_store_table_append(table, cells), 0);
	}
	CHECK_INT(orma_tables_seal(tables), 0);
}

ORMA_TEST(rows_with_a_cell_are_those_of_a_look_at_each)
{
	static const size_t columns[] = {ORMA_SLICE_TS, ORMA_SLICE_DUR};
	struct orma_tables tables;
	fill(&tables);
	for (int64_t wanted = -1; wanted < 5; wanted++)
		for (int64_t first = 0; first < ROWS; first += 2 * ORMA_BLOCK_ROWS) {
			struct orma_column_scan scan;
			int64_t row = first;
			CHECK_INT(orma_column_scan_begin_equal(&scan, &tables.all[ORMA_TABLE_SLICE],
							       columns, 2, (uint64_t)first,
							       ORMA_SLICE_DEPTH, wanted),
				  0);
			while (orma_column_scan_next(&scan)) {
				CHECK(scan.row_count > 0);
				for (size_t i = 0; i < scan.row_count; i++, row++) {
					while (row < ROWS && depth_of(row) != wanted)
						row++;
					CHECK_INT(scan.first_row + scan.places[i], row);
					CHECK_INT(scan.cells[0][i], 10 * row);
					CHECK_INT(scan.cells[1][i], row * 7919 % 1000);
				}
			}
			for (; row < ROWS; row++)
				CHECK(depth_of(row) != wanted);
			orma_column_scan_done(&scan);
		}
	orma_tables_done(&tables);
}

ORMA_TEST(without_a_cell_all_rows_are_read)
{
	static const size_t columns[] = {ORMA_SLICE_DEPTH};
	struct orma_tables tables;
	struct orma_column_scan scan;
	int64_t row = ORMA_BLOCK_ROWS;
	fill(&tables);
	CHECK_INT(orma_column_scan_begin(&scan, &tables.all[ORMA_TABLE_SLICE], columns, 1,
					 ORMA_BLOCK_ROWS + 5),
		  0);
	while (orma_column_scan_next(&scan)) {
		CHECK(!scan.places);
		CHECK_INT(scan.first_row, row);
		for (size_t i = 0; i < scan.row_count; i++)
			CHECK_INT(scan.cells[0][i], depth_of(row++));
	}
	CHECK_INT(row, ROWS);
	orma_column_scan_done(&scan);
	orma_tables_done(&tables);
}
