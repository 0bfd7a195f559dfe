/* SPDX-License-Identifier: Apache-2.0
 * nesting_test.c - which ends of open slices are in the trace, compared with a list of their begins.
 */
#include "track/nesting.h"

#include "base/alloc.h"
#include "harness.h"

#define DEPTH_MAX 5000

/* The nesting, and the list of begins that it is compared with. */
struct pair {
	struct orma_track_nesting nesting;
	uint32_t depth;
	bool is_written[DEPTH_MAX];
};

/* Returns whether the begin was written. */
static bool begin(struct pair *pair, bool has_room)
{
	bool is_written = has_room && orma_track_nesting_may_begin(&pair->nesting);

	if (is_written)
		orma_track_nesting_begin(&pair->nesting);
	else
		orma_track_nesting_begin_lost(&pair->nesting);
	CHECK(pair->depth < DEPTH_MAX);
	pair->is_written[pair->depth++] = is_written;
	CHECK_INT(pair->nesting.depth, pair->depth);
	return is_written;
}

static void end(struct pair *pair)
{
	bool is_written = pair->depth > 0 && pair->is_written[--pair->depth];

	CHECK(orma_track_nesting_is_written(&pair->nesting) == is_written);
	CHECK(orma_track_nesting_end(&pair->nesting) == is_written);
	CHECK_INT(pair->nesting.depth, pair->depth);
}

static void end_all(struct pair *pair)
{
	while (pair->depth > 0)
		end(pair);
	end(pair);
	CHECK_INT(pair->nesting.gap_count, 0);
	CHECK(!pair->nesting.grown);
	CHECK(orma_track_nesting_may_begin(&pair->nesting));
}

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state >> 33) % limit;
}

ORMA_TEST(ends_are_written_when_their_begins_are_whatever_the_order)
{
	static struct pair pair;

	for (int round = 0; round < 200; round++) {
		uint32_t lost_of_ten = random_below(10);

		for (int i = 0; i < 500; i++) {
			if (random_below(3) > 0)
				begin(&pair, random_below(10) >= lost_of_ten);
			else
				end(&pair);
		}
		end_all(&pair);
	}
}

ORMA_TEST(without_memory_begins_are_lost_until_the_last_gap_has_ended)
{
	static struct pair pair;

	orma_base_alloc_fail_nth(1);
	for (int i = 0; i < ORMA_TRACK_GAPS_EMBEDDED; i++) {
		CHECK(begin(&pair, true));
		CHECK(!begin(&pair, false));
	}
	orma_base_alloc_fail_nth(0);
	/* There is memory again, but the nesting asks for it only with the next gap. */
	for (int i = 0; i < 10; i++)
		CHECK(!begin(&pair, true));
	CHECK_INT(pair.nesting.gap_count, ORMA_TRACK_GAPS_EMBEDDED);
	for (int i = 0; i < 11; i++)
		end(&pair);
	CHECK(begin(&pair, true));
	CHECK(!begin(&pair, false));
	CHECK(begin(&pair, true));
	CHECK(pair.nesting.grown);
	end_all(&pair);
}

ORMA_TEST(beyond_the_last_gap_begins_are_lost_and_the_ends_still_match)
{
	struct orma_track_nesting nesting = {0};
	uint32_t written = 0;

	for (uint32_t i = 0; i < 2 * ORMA_TRACK_GAPS_MAX + 100; i++) {
		if (i % 2 == 0 && orma_track_nesting_may_begin(&nesting)) {
			orma_track_nesting_begin(&nesting);
			written++;
		} else {
			orma_track_nesting_begin_lost(&nesting);
		}
	}
	CHECK_INT(nesting.gap_count, ORMA_TRACK_GAPS_MAX);
	CHECK_INT(written, ORMA_TRACK_GAPS_MAX);
	while (nesting.depth > 0)
		written -= orma_track_nesting_end(&nesting);
	CHECK_INT(written, 0);
	CHECK(!nesting.grown);
}

ORMA_TEST(a_begin_that_is_lost_where_no_gap_can_be_leaves_the_others_as_they_are)
{
	static struct pair pair;

	orma_base_alloc_fail_nth(1);
	for (int i = 0; i < ORMA_TRACK_GAPS_EMBEDDED; i++) {
		begin(&pair, true);
		begin(&pair, false);
	}
	orma_base_alloc_fail_nth(0);
	/* Two threads asked at the same time whether they may begin, and now both do. */
	orma_track_nesting_begin(&pair.nesting);
	orma_track_nesting_begin_lost(&pair.nesting);
	CHECK(orma_track_nesting_end(&pair.nesting));
	CHECK(orma_track_nesting_end(&pair.nesting));
	end_all(&pair);
}

ORMA_TEST(memory_goes_with_the_nesting)
{
	struct orma_track_nesting nesting = {0};

	for (int i = 0; i < 100; i++) {
		orma_track_nesting_begin(&nesting);
		orma_track_nesting_begin_lost(&nesting);
	}
	CHECK(nesting.grown);
	orma_track_nesting_done(&nesting);
	CHECK_INT(nesting.depth, 0);
	CHECK(!orma_track_nesting_end(&nesting));
}
