/* SPDX-License-Identifier: Apache-2.0
 * live_set_test.c - the set of sampled blocks, its filter, and the queue of deferred frees.
 */
#include <pthread.h>

#include "harness.h"
#include "heap/live_set.h"

static uint64_t address_of(uint64_t i)
{
	return UINT64_C(0x7f0000000000) + i * 48;
}

static bool put(uint64_t id, uint64_t serial, uint8_t heap)
{
	struct orma_heap_place *place = orma_heap_live_reserve(id);

	if (place)
		orma_heap_live_publish(place, id, &(struct orma_heap_block){serial, heap, 5});
	return place != NULL;
}

ORMA_TEST(a_block_is_found_once)
{
	struct orma_heap_block block;

	CHECK(!orma_heap_may_be_live(address_of(1)));
	CHECK(put(address_of(1), 77, 1));
	CHECK(orma_heap_may_be_live(address_of(1)));
	CHECK(!orma_heap_live_take(address_of(2), 1, &block));
	CHECK(orma_heap_live_take(address_of(1), 1, &block));
	CHECK(block.serial == 77 && block.heap == 1 && block.instances == 5);
	CHECK(!orma_heap_live_take(address_of(1), 1, &block));
	CHECK(!orma_heap_may_be_live(address_of(1)));
}

ORMA_TEST(null_is_not_a_block)
{
	struct orma_heap_block block;

	CHECK(!orma_heap_live_reserve(0));
	CHECK(!orma_heap_live_take(0, 1, &block));
	CHECK(!orma_heap_live_take(1, 1, &block));
}

ORMA_TEST(heaps_do_not_share_their_ids)
{
	struct orma_heap_block block;

	CHECK(put(4711, 1, 2) && put(4711, 2, 3));
	CHECK(!orma_heap_live_take(4711, 4, &block));
	CHECK(orma_heap_live_take(4711, 3, &block) && block.serial == 2);
	CHECK(orma_heap_live_take(4711, 2, &block) && block.serial == 1);
}

ORMA_TEST(a_place_that_was_given_up_is_free_again)
{
	for (unsigned i = 0; i < 100000; i++) {
		struct orma_heap_place *place = orma_heap_live_reserve(address_of(3));

		CHECK(place);
		orma_heap_live_give_up(place);
	}
}

ORMA_TEST(the_set_grows_up_to_its_limit)
{
	uint64_t count = 0;
	struct orma_heap_block block;

	while (count < 2 * (uint64_t)ORMA_HEAP_LIVE_BLOCKS_MAX &&
	       put(address_of(count), count + 1, 1))
		count++;
	CHECK(count > ORMA_HEAP_LIVE_BLOCKS_MAX * 3 / 4);
	CHECK(count <= ORMA_HEAP_LIVE_BLOCKS_MAX);
	for (uint64_t i = 0; i < count; i++)
		CHECK(orma_heap_live_take(address_of(i), 1, &block) && block.serial == i + 1);
	CHECK(put(address_of(5), 1, 1));
}

ORMA_TEST(the_filter_says_no_for_most_blocks_beside_many_that_live)
{
	unsigned hits = 0;

	for (uint64_t i = 0; i < 10000; i++)
		CHECK(put(address_of(i * 100), i + 1, 1));
	for (uint64_t i = 0; i < 10000; i++)
		hits += orma_heap_may_be_live(address_of(i * 100 + 50));
	/* 10,000 of a million places are taken. */
	CHECK(hits < 200);
}

ORMA_TEST(a_page_is_clear_when_its_last_block_is_gone)
{
	struct orma_heap_block block;

	for (uint64_t i = 0; i < 300; i++)
		CHECK(put(address_of(i), i + 1, 1));
	for (uint64_t i = 0; i < 300; i++) {
		CHECK(orma_heap_may_be_live(address_of(i)));
		CHECK(orma_heap_live_take(address_of(i), 1, &block));
	}
	for (size_t i = 0; i < ORMA_HEAP_PAGE_COUNT; i++)
		CHECK_INT(atomic_load(&orma_heap_pages[i]), 0);
	/* A mark stays, whatever comes and goes beside it. */
	orma_heap_live_mark(address_of(0));
	CHECK(put(address_of(1), 1, 1) && orma_heap_live_take(address_of(1), 1, &block));
	CHECK(orma_heap_may_be_live(address_of(0)));
	orma_heap_live_forget();
	CHECK(orma_heap_may_be_live(address_of(0)));
}

ORMA_TEST(a_child_of_a_fork_forgets_everything)
{
	struct orma_heap_block block;

	CHECK(put(address_of(1), 1, 1));
	orma_heap_live_mark(address_of(9));
	CHECK(orma_heap_deferred_push(&(struct orma_heap_block){3, 1, 1}));
	orma_heap_live_forget();
	CHECK(!orma_heap_may_be_live(address_of(1)));
	/* Blocks of the time before the next allocator was found are the child's, too. */
	CHECK(orma_heap_may_be_live(address_of(9)));
	CHECK(!orma_heap_deferred_pop(&block));
	CHECK(put(address_of(1), 2, 1));
	CHECK(orma_heap_live_take(address_of(1), 1, &block) && block.serial == 2);
}

/* --- threads ---------------------------------------------------------------------------------- */

enum { THREADS = 4, BLOCKS = 3000, ROUNDS = 20 };

static void *churn(void *ctx)
{
	uint64_t base = (uint64_t)(uintptr_t)ctx * 10000000;
	struct orma_heap_block block;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < BLOCKS; i++)
			if (!put(address_of(base + i), base + i + 1, 1))
				return (void *)1;
		for (uint64_t i = BLOCKS; i-- > 0;)
			if (!orma_heap_live_take(address_of(base + i), 1, &block) ||
			    block.serial != base + i + 1)
				return (void *)1;
	}
	return NULL;
}

ORMA_TEST(threads_do_not_lose_each_others_blocks)
{
	pthread_t threads[THREADS];
	void *failed;

	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		CHECK_INT(pthread_join(threads[i], &failed), 0);
		CHECK(!failed);
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		CHECK(!orma_heap_may_be_live(address_of(10000000 + i)));
}

ORMA_TEST(deferred_frees_are_kept_in_order_until_there_is_no_room)
{
	struct orma_heap_block block;
	uint64_t pushed = 0;

	for (unsigned round = 0; round < 3; round++) {
		for (pushed = 0;
		     orma_heap_deferred_push(&(struct orma_heap_block){pushed + 1, 1, 1}); pushed++)
			;
		CHECK(pushed >= 1000);
		for (uint64_t i = 0; i < pushed; i++)
			CHECK(orma_heap_deferred_pop(&block) && block.serial == i + 1);
		CHECK(!orma_heap_deferred_pop(&block));
	}
}
