/* SPDX-License-Identifier: Apache-2.0
 * arena_test.c - alignment, limits, growing in place, reuse.
 */
#include "base/arena.h"

#include <stdalign.h>

#include "harness.h"

ORMA_TEST(arena_memory_is_zeroed_and_aligned_whatever_the_sizes)
{
	struct orma_arena arena = {0};
	for (size_t size = 0; size < 3000; size += 7) {
		uint8_t *memory = orma_base_arena_alloc(&arena, size);
		CHECK(memory && (uintptr_t)memory % alignof(max_align_t) == 0);
		for (size_t i = 0; i < size; i++)
			CHECK_INT(memory[i], 0);
		memset(memory, 0xff, size);
	}
	orma_base_arena_done(&arena);
	CHECK(!arena.blocks);
}

ORMA_TEST(an_arena_refuses_what_goes_over_its_limit_and_stays_usable)
{
	struct orma_arena arena = {.limit_bytes = 100};
	CHECK(orma_base_arena_alloc(&arena, 64));
	CHECK(!orma_base_arena_alloc(&arena, 64));
	CHECK(orma_base_arena_alloc(&arena, 32));
	CHECK(!orma_base_arena_alloc(&arena, SIZE_MAX));
	CHECK(!orma_base_arena_alloc(&arena, SIZE_MAX - 64));
	orma_base_arena_done(&arena);
}

ORMA_TEST(the_last_allocation_grows_in_place_with_zeroed_room)
{
	struct orma_arena arena = {0};
	uint32_t *items = orma_base_arena_grow(&arena, NULL, 0, 3 * sizeof(*items));
	items[2] = 5;
	uint32_t *more =
		orma_base_arena_grow(&arena, items, 3 * sizeof(*items), 100 * sizeof(*items));
	CHECK(more == items);
	CHECK_INT(more[2], 5);
	for (int i = 3; i < 100; i++)
		CHECK_INT(more[i], 0);
	orma_base_arena_done(&arena);
}

ORMA_TEST(growing_something_older_copies_it)
{
	struct orma_arena arena = {0};
	char *text = orma_base_arena_strdup(&arena, ORMA_STR("abc"));
	CHECK(orma_base_arena_alloc(&arena, 1));
	char *more = orma_base_arena_grow(&arena, text, 4, 64);
	CHECK(more && more != text);
	CHECK_STR(more, "abc");
	CHECK(orma_base_arena_grow(&arena, more, 64, 10) == more);
	orma_base_arena_done(&arena);
}

ORMA_TEST(growth_over_the_limit_leaves_the_old_array)
{
	struct orma_arena arena = {.limit_bytes = 64};
	char *old = orma_base_arena_memdup(&arena, "abcd", 4);
	CHECK(!orma_base_arena_grow(&arena, old, 4, 100));
	CHECK(memcmp(old, "abcd", 4) == 0);
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_cleared_arena_reuses_one_block_and_zeroes_it_again)
{
	struct orma_arena arena = {0};
	for (int i = 0; i < 100; i++)
		memset(orma_base_arena_alloc(&arena, 1000), 0xff, 1000);
	CHECK(orma_base_arena_alloc(&arena, 1000000));
	orma_base_arena_clear(&arena);
	CHECK_INT(arena.used_bytes, 0);
	orma_test_fail_allocation(1);
	uint8_t *memory = orma_base_arena_alloc(&arena, 1000);
	CHECK(memory && memory[0] == 0 && memory[999] == 0);
	CHECK(!orma_test_allocation_failed());
	orma_base_arena_done(&arena);
	orma_base_arena_clear(&arena);
}

ORMA_TEST(an_arena_without_memory_returns_null)
{
	struct orma_arena arena = {0};
	orma_test_fail_allocation(1);
	CHECK(!orma_base_arena_strdup(&arena, ORMA_STR("abc")));
	CHECK_INT(arena.used_bytes, 0);
	orma_base_arena_done(&arena);
}
