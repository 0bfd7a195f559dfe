/* SPDX-License-Identifier: Apache-2.0
 * column_test.c - columns compared with arrays: appended, changed early and late, sealed, spilled to a file.
 */
#include "store/column.h"

#include <math.h>

#include "base/macros.h"
#include "harness.h"
#include "store/table.h"

enum { ROWS = 5 * ORMA_BLOCK_ROWS + 123 };

static int64_t model[ROWS];

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void check_against_model(const struct orma_column *column, uint64_t rows)
{
	static int64_t cells[ORMA_BLOCK_ROWS];
	uint64_t row = 0;
	for (size_t block = 0; block < orma_store_column_blocks(column); block++) {
		size_t count = orma_store_column_read(column, block, cells);
		for (size_t i = 0; i < count; i++, row++)
			CHECK_INT(cells[i], model[row]);
	}
	CHECK_INT(row, rows);
	CHECK_INT(orma_store_column_rows(column), rows);
	for (row = 0; row < rows; row += 97)
		CHECK_INT(orma_store_column_get(column, row), model[row]);
}

static void change_and_compare(uint32_t raw_blocks, bool is_late)
{
	struct orma_extents extents = {.fd = -1};
	struct orma_column column;
	uint32_t state = 5;
	orma_store_column_init(&column, ORMA_COLUMN_INT, &extents, raw_blocks);
	for (uint64_t row = 0; row < ROWS; row++) {
		model[row] = next_random(&state);
		CHECK_INT(orma_store_column_append(&column, model[row]), 0);
		uint64_t back = next_random(&state) %
				(is_late ? row + 1 : ORMA_MIN(row + 1, (uint64_t)1000));
		model[row - back] = (int64_t)row;
		CHECK_INT(orma_store_column_set(&column, row - back, (int64_t)row), 0);
	}
	CHECK_INT(orma_store_column_seal(&column), 0);
	check_against_model(&column, ROWS);
	orma_store_column_done(&column);
	orma_store_extents_done(&extents);
}

ORMA_TEST(cells_changed_soon_are_as_in_an_array)
{
	change_and_compare(2, false);
}

ORMA_TEST(cells_changed_at_any_time_are_as_in_an_array)
{
	change_and_compare(0, true);
	change_and_compare(2, true);
}

/* Blocks of equal cells have no array, whether they are the tail, raw or packed. */
ORMA_TEST(columns_of_equal_cells_that_change_now_and_then_are_as_in_an_array)
{
	static const enum orma_column_type types[] = {ORMA_COLUMN_INT, ORMA_COLUMN_DOUBLE};
	for (uint32_t changes = 0; changes < 40; changes += 3)
		for (int type = 0; type < 2; type++) {
			struct orma_extents extents = {.fd = -1};
			struct orma_column column;
			uint32_t state = changes;
			int64_t cell = orma_store_null_of(types[type]);
			orma_store_column_init(&column, types[type], &extents, 2);
			for (uint64_t row = 0; row < ROWS; row++) {
				if (changes > 0 && next_random(&state) % ROWS < changes)
					cell = orma_store_cell_of_double((double)(row % 3));
				model[row] = cell;
				CHECK_INT(orma_store_column_append(&column, cell), 0);
				uint64_t back = next_random(&state) % (row + 1);
				CHECK_INT(orma_store_column_get(&column, row), cell);
				if (next_random(&state) % ROWS >= changes)
					continue;
				model[row - back] = orma_store_cell_of_double((double)(row % 5));
				CHECK_INT(orma_store_column_set(&column, row - back,
								model[row - back]),
					  0);
			}
			CHECK_INT(orma_store_column_seal(&column), 0);
			check_against_model(&column, ROWS);
			if (changes == 0)
				CHECK(!column.tail && extents.memory_bytes == 0);
			orma_store_column_done(&column);
			orma_store_extents_done(&extents);
		}
}

/* NULLs at the end of a sparse column are not written, but are there for readers. */
ORMA_TEST(sparse_columns_are_as_in_an_array)
{
	static const struct orma_column_spec specs[] = {
		{"ts", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
		{"args", ORMA_COLUMN_INT, ORMA_COLUMN_SPARSE},
		{"end", ORMA_COLUMN_INT, ORMA_COLUMN_SPARSE | ORMA_COLUMN_CHANGES},
	};
	static int64_t ends[ROWS];
	for (uint32_t gap = 1; gap < 4 * ORMA_BLOCK_ROWS; gap = gap * 3 + 1) {
		struct orma_extents extents = {.fd = -1};
		struct orma_table table;
		uint32_t state = gap;
		CHECK_INT(orma_store_table_init(&table, "slice", specs, 3, &extents), 0);
		for (uint64_t row = 0; row < ROWS; row++) {
			bool is_there = next_random(&state) % gap == 0;
			model[row] = is_there ? (int64_t)row : ORMA_CELL_NULL;
			ends[row] = ORMA_CELL_NULL;
			int64_t cells[] = {(int64_t)row, model[row], ORMA_CELL_NULL};
			CHECK_INT(orma_store_table_append(&table, cells), 0);
			uint64_t changed = row - next_random(&state) % (row + 1);
			CHECK_INT(orma_store_column_get(&table.columns[2], changed), ends[changed]);
			if (next_random(&state) % gap > 0)
				continue;
			ends[changed] = (int64_t)(row / 2);
			CHECK_INT(orma_store_column_set(&table.columns[2], changed, ends[changed]),
				  0);
		}
		CHECK_INT(orma_store_table_seal(&table), 0);
		check_against_model(&table.columns[1], ROWS);
		memcpy(model, ends, sizeof(model));
		check_against_model(&table.columns[2], ROWS);
		orma_store_table_done(&table);
		orma_store_extents_done(&extents);
	}
}

ORMA_TEST(more_changes_than_a_list_of_patches_holds_are_all_made)
{
	struct orma_extents extents = {.fd = -1};
	struct orma_column column;
	orma_store_column_init(&column, ORMA_COLUMN_INT, &extents, 0);
	for (uint64_t row = 0; row < ROWS; row++)
		CHECK_INT(orma_store_column_append(&column, -1), 0);
	for (int round = 0; round < 5; round++)
		for (uint64_t row = 0; row < ROWS; row++) {
			model[row] = (int64_t)(row * 7) + round;
			CHECK_INT(orma_store_column_set(&column, row, model[row]), 0);
		}
	CHECK_INT(orma_store_column_seal(&column), 0);
	check_against_model(&column, ROWS);
	orma_store_column_done(&column);
	orma_store_extents_done(&extents);
}

ORMA_TEST(doubles_keep_every_bit)
{
	static const double odd[] = {0.0,    -0.0,     0.5,       1e300, -1e300, 9007199254740993.0,
				     5e-324, INFINITY, -INFINITY, -3};
	struct orma_extents extents = {.fd = -1};
	for (int is_integral = 0; is_integral < 2; is_integral++) {
		struct orma_column column;
		orma_store_column_init(&column, ORMA_COLUMN_DOUBLE, &extents, 0);
		for (uint64_t row = 0; row < ROWS; row++) {
			double value = is_integral ? (double)(row * 3) : odd[row % 10];
			model[row] =
				row % 11 == 0 ? ORMA_DOUBLE_NULL : orma_store_cell_of_double(value);
			CHECK_INT(orma_store_column_append(&column, model[row]), 0);
		}
		CHECK_INT(orma_store_column_seal(&column), 0);
		check_against_model(&column, ROWS);
		/* Counters are mostly whole numbers, which take a fraction of eight bytes. */
		CHECK_INT((column.blocks[0].flags & ORMA_BLOCK_IS_INTEGRAL) != 0, is_integral);
		orma_store_column_done(&column);
	}
	orma_store_extents_done(&extents);
}

ORMA_TEST(a_column_over_its_budget_lies_in_a_file_and_reads_the_same)
{
	enum { MANY = 200 * ORMA_BLOCK_ROWS };
	struct orma_memory_budget budget = {.limit_bytes = 2 << 20, .folder = orma_test_tmpdir()};
	struct orma_extents extents = {.fd = -1, .budget = &budget};
	struct orma_column column;
	uint64_t state = 1;
	orma_store_column_init(&column, ORMA_COLUMN_INT, &extents, 0);
	for (uint64_t row = 0; row < MANY; row++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		CHECK_INT(orma_store_column_append(&column, (int64_t)state), 0);
	}
	CHECK_INT(orma_store_column_seal(&column), 0);
	CHECK(extents.memory_bytes <= 2 << 20);
	CHECK(extents.file_bytes >= (uint64_t)(MANY - (1 << 19)) * 8);
	state = 1;
	for (uint64_t row = 0; row < MANY; row++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		CHECK_INT(orma_store_column_get(&column, row), (int64_t)state);
	}
	orma_store_column_done(&column);
	orma_store_extents_done(&extents);
	CHECK_INT(budget.used_bytes, 0);
}

ORMA_TEST(a_folder_that_takes_no_file_is_an_error_and_not_a_crash)
{
	struct orma_memory_budget budget = {.limit_bytes = 1 << 20, .folder = "/nonexistent"};
	struct orma_extents extents = {.fd = -1, .budget = &budget};
	const void *at;
	static const uint8_t bytes[1 << 19];
	CHECK_INT(orma_store_extents_add(&extents, bytes, sizeof(bytes), &at), 0);
	CHECK_INT(orma_store_extents_add(&extents, bytes, sizeof(bytes), &at), 0);
	CHECK_INT(orma_store_extents_add(&extents, bytes, sizeof(bytes), &at), -ENOENT);
	orma_store_extents_done(&extents);
}

ORMA_TEST(each_allocation_of_a_table_may_fail)
{
	static const struct orma_column_spec specs[] = {
		{"ts", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
		{"dur", ORMA_COLUMN_INT, ORMA_COLUMN_CHANGES},
	};
	for (uint64_t nth = 1;; nth++) {
		struct orma_extents extents = {.fd = -1};
		struct orma_table table;
		orma_test_fail_allocation(nth);
		int r = orma_store_table_init(&table, "slice", specs, 2, &extents);
		for (int64_t row = 0; row < 2 * ORMA_BLOCK_ROWS && r == 0; row++)
			r = orma_store_table_append(&table, (int64_t[]){row, -1});
		for (uint64_t row = 0; row < 100 && r == 0; row++)
			r = orma_store_column_set(&table.columns[1], row, 5);
		if (r == 0)
			r = orma_store_table_seal(&table);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		orma_store_table_done(&table);
		orma_store_extents_done(&extents);
		if (!has_failed)
			break;
	}
}
