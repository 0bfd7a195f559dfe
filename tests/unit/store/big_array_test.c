/* SPDX-License-Identifier: Apache-2.0
 * big_array_test.c - arrays grow in memory up to their budget and in a file behind it, and keep their content.
 */
#include "store/big_array.h"

#include <errno.h>

#include "harness.h"

static void check_growth(struct orma_memory_budget *budget, size_t limit_of_items)
{
	struct orma_big_array array = {.budget = budget};
	size_t count = 0;
	for (size_t items = 1; items <= limit_of_items; items = items * 3 / 2 + 1) {
		CHECK_INT(orma_store_big_array_grow(&array, items * sizeof(uint64_t)), 0);
		uint64_t *numbers = array.data;
		for (size_t i = 0; i < count; i++)
			CHECK(numbers[i] == i * 7);
		for (; count < items; count++)
			numbers[count] = count * 7;
	}
	orma_store_big_array_done(&array);
	CHECK(!array.data);
}

ORMA_TEST(an_array_keeps_its_content_in_memory_and_in_a_file)
{
	struct orma_memory_budget budget = {.limit_bytes = 1 << 20, .folder = orma_test_tmpdir()};
	check_growth(NULL, 200000);
	check_growth(&budget, 1000000);
	CHECK_INT(budget.used_bytes, 0);
}

ORMA_TEST(several_arrays_share_one_budget)
{
	struct orma_memory_budget budget = {.limit_bytes = 1 << 20, .folder = orma_test_tmpdir()};
	struct orma_big_array first = {.budget = &budget}, second = {.budget = &budget},
			      small = {.budget = &budget};
	CHECK_INT(orma_store_big_array_grow(&first, 900 << 10), 0);
	CHECK_INT(orma_store_big_array_grow(&second, 500 << 10), 0);
	CHECK_INT(orma_store_big_array_grow(&small, 100 << 10), 0);
	CHECK_INT(orma_store_big_array_grow(&small, 200 << 10), 0);
	CHECK(first.file == 0 && second.file > 0 && small.file == 0);
	CHECK_INT(budget.used_bytes, (900 << 10) + (200 << 10));
	orma_store_big_array_done(&first);
	orma_store_big_array_done(&second);
	orma_store_big_array_done(&small);
	CHECK_INT(budget.used_bytes, 0);
}

ORMA_TEST(what_cannot_grow_is_an_error_and_keeps_its_content)
{
	struct orma_memory_budget budget = {.limit_bytes = 1 << 20, .folder = "/nonexistent"};
	struct orma_big_array array = {.budget = &budget};
	CHECK_INT(orma_store_big_array_grow(&array, 1 << 19), 0);
	((uint8_t *)array.data)[(1 << 19) - 1] = 5;
	CHECK_INT(orma_store_big_array_grow(&array, 1 << 21), -ENOENT);
	CHECK_INT(orma_store_big_array_grow(&array, SIZE_MAX), -ENOMEM);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_store_big_array_grow(&array, (1 << 19) + 1), -ENOMEM);
	CHECK_INT(array.size_bytes, 1 << 19);
	CHECK_INT(((uint8_t *)array.data)[(1 << 19) - 1], 5);
	orma_store_big_array_done(&array);
}
