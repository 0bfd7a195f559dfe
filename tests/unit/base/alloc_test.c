/* SPDX-License-Identifier: Apache-2.0
 * alloc_test.c - planned failures, overflow of sizes, copies.
 */
#include "base/alloc.h"

#include "harness.h"

ORMA_TEST(the_nth_allocation_fails_and_only_that_one)
{
	orma_test_fail_allocation(3);
	void *first = orma_base_alloc(8);
	void *second = orma_base_zalloc(8);
	CHECK(first && second && !orma_test_allocation_failed());
	CHECK(!orma_base_alloc_array(2, 8));
	CHECK(orma_test_allocation_failed());
	void *third = orma_base_memdup("abc", 4);
	CHECK_STR((char *)third, "abc");
	orma_base_free(first);
	orma_base_free(second);
	orma_base_free(third);
}

ORMA_TEST(every_kind_of_allocation_can_be_made_to_fail)
{
	orma_test_fail_allocation(1);
	CHECK(!orma_base_alloc(1));
	orma_test_fail_allocation(1);
	CHECK(!orma_base_zalloc(1));
	orma_test_fail_allocation(1);
	CHECK(!orma_base_realloc(NULL, 1));
	orma_test_fail_allocation(1);
	CHECK(!orma_base_realloc_array(NULL, 1, 1));
	orma_test_fail_allocation(1);
	CHECK(!orma_base_memdup("a", 1));
	orma_test_fail_allocation(1);
	CHECK(!orma_base_strdup("a"));
}

ORMA_TEST(switching_the_planned_failure_off_forgets_it)
{
	orma_test_fail_allocation(1);
	orma_test_fail_allocation(0);
	void *memory = orma_base_alloc(1);
	CHECK(memory && !orma_test_allocation_failed());
	orma_base_free(memory);
}

ORMA_TEST(sizes_that_overflow_count_as_no_memory)
{
	volatile size_t half = SIZE_MAX / 2 + 1;
	CHECK(!orma_base_alloc_array(half, 2));
	CHECK(!orma_base_realloc_array(NULL, 2, half));
}

ORMA_TEST(zero_bytes_are_an_allocation_like_any_other)
{
	void *memory[] = {orma_base_alloc(0), orma_base_zalloc(0), orma_base_alloc_array(0, 8),
			  orma_base_memdup(NULL, 0), orma_base_realloc(NULL, 0)};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(memory); i++) {
		CHECK(memory[i]);
		orma_base_free(memory[i]);
	}
}

ORMA_TEST(a_scoped_pointer_is_freed_unless_it_was_taken)
{
	char *kept;
	{
		ORMA_AUTO(orma_base_freep) char *taken = orma_base_strdup("kept");
		ORMA_AUTO(orma_base_freep) char *dropped = orma_base_strdup("dropped");
		CHECK(dropped);
		kept = ORMA_TAKE(taken);
		CHECK(!taken);
	}
	CHECK_STR(kept, "kept");
	orma_base_free(kept);
}
