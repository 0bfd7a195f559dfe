/* SPDX-License-Identifier: Apache-2.0
 * self_walkers_test.c - which walk gets which walker. Addresses are those of made-up stacks.
 */
#include "unwind/self_walkers.h"

#include <errno.h>

#include "harness.h"

#if UINTPTR_MAX > UINT32_MAX

#define LOW  UINT64_C(0x7ffc00000000)
#define HIGH UINT64_C(0x7ffc00800000)

static struct orma_self_walker *borrow(uintptr_t sp, uintptr_t low, uintptr_t high)
{
	struct orma_self_walker *walker = NULL;

	CHECK_INT(orma_self_walkers_make(), 0);
	CHECK_INT(orma_self_walker_borrow(sp, low, high, &walker), 0);
	CHECK(walker->busy != 0);
	return walker;
}

ORMA_TEST(a_walk_that_was_left_lends_its_walker_to_the_next_one_of_its_stack)
{
	struct orma_self_walker *left = borrow(HIGH - 512, LOW, HIGH);

	CHECK(borrow(HIGH - 512, LOW, HIGH) == left);
	CHECK(borrow(HIGH - 16, LOW, HIGH) == left);
	CHECK(borrow(LOW, LOW, HIGH) != left);
	orma_self_walker_return(left);
	CHECK(borrow(LOW + 4096, LOW, HIGH) == left);
}

ORMA_TEST(a_walk_in_a_signal_handler_gets_another_walker)
{
	struct orma_self_walker *outer = borrow(HIGH - 512, LOW, HIGH),
				*inner = borrow(HIGH - 1024, LOW, HIGH);

	CHECK(inner != outer);
	orma_self_walker_return(inner);
	orma_self_walker_return(outer);
	CHECK(outer->busy == 0 && inner->busy == 0);
}

/* The bounds of the main thread's stack may contain other stacks, if it has no limit. */
ORMA_TEST(a_walk_on_a_stack_within_the_bounds_of_another_is_left_alone)
{
	struct orma_self_walker *inner = borrow(LOW + 0x8000, LOW + 0x4000, LOW + 0x10000);
	struct orma_self_walker *outer = borrow(HIGH - 512, LOW, HIGH);

	CHECK(outer != inner);
	CHECK(borrow(HIGH - 512, LOW, HIGH) == outer);
	CHECK(inner->busy != 0);
}

ORMA_TEST(there_is_a_limit_of_walks_at_a_time)
{
	struct orma_self_walker *walker;
	unsigned count = 0;

	CHECK_INT(orma_self_walker_borrow(HIGH - 512, LOW, HIGH, &walker), -ESTALE);
	CHECK_INT(orma_self_walkers_make(), 0);
	while (orma_self_walker_borrow(HIGH - 512 - count * 512, LOW, HIGH, &walker) == 0)
		count++;
	CHECK_INT(count, 32);
	CHECK_INT(orma_self_walker_borrow(LOW, LOW, HIGH, &walker), -EBUSY);
	orma_self_walkers_forked();
	CHECK_INT(orma_self_walker_borrow(LOW, LOW, HIGH, &walker), 0);
}

#else

ORMA_TEST(no_walks_exist_here)
{
	orma_test_skip("walks on 32 bits");
}

#endif
