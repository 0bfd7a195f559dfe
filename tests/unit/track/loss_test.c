/* SPDX-License-Identifier: Apache-2.0
 * loss_test.c - which ends are left out after begins were lost on tracks that are not a thread's, and how
 * losses are counted.
 */
#include <stdio.h>

#include "harness.h"
#include "track/async_slices.h"
#include "track/interned_name.h"
#include "track/loss.h"

ORMA_TEST(nothing_is_kept_of_slices_while_nothing_is_lost)
{
	orma_track_async_begin(0, 7, true);
	CHECK(!orma_track_has_async_slices());
	CHECK(orma_track_async_end(0, 7));
	CHECK(orma_track_async_end(0, 7));
}

ORMA_TEST(the_end_of_a_lost_begin_is_left_out_and_those_inside_and_around_are_not)
{
	orma_track_async_begin(0, 7, true);
	orma_track_async_begin(0, 7, false);
	orma_track_async_begin(0, 7, true);
	/* Another track, and another instance of the same one. */
	CHECK(orma_track_async_end(0, 8));
	CHECK(orma_track_async_end(1, 7));
	CHECK(orma_track_async_end(0, 7));
	CHECK(!orma_track_async_end(0, 7));
	CHECK(!orma_track_has_async_slices());
	CHECK(orma_track_async_end(0, 7));
}

ORMA_TEST(an_instance_that_begins_anew_takes_its_tracks_along)
{
	orma_track_async_begin(0, 7, false);
	orma_track_async_begin(1, 7, false);
	orma_track_async_forget(0);
	CHECK(orma_track_async_end(0, 7));
	CHECK(!orma_track_async_end(1, 7));
	CHECK(!orma_track_has_async_slices());
}

ORMA_TEST(tracks_beyond_the_limit_are_not_judged)
{
	for (uint64_t uuid = 1; uuid <= ORMA_TRACK_ASYNC_MAX + 10; uuid++)
		orma_track_async_begin(0, uuid, false);
	for (uint64_t uuid = 1; uuid <= ORMA_TRACK_ASYNC_MAX + 10; uuid++)
		CHECK(orma_track_async_end(0, uuid) == (uuid > ORMA_TRACK_ASYNC_MAX));
	CHECK(!orma_track_has_async_slices());
}

ORMA_TEST(losses_are_counted_by_category_and_the_last_slot_is_for_the_others)
{
	static struct orma_track_sequence sequence;
	static char names[ORMA_TRACK_LOSSES_MAX + 3][16];
	const uint32_t last = ORMA_TRACK_LOSSES_MAX - 1;

	for (uint32_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		struct orma_category category = {.name = names[i]};

		snprintf(names[i], sizeof(names[i]), "category %u", (unsigned)i);
		orma_track_loss_add(&sequence, &category, 100 + i);
		orma_track_loss_add(&sequence, &category, 200 + i);
	}
	for (uint32_t i = 0; i < last; i++) {
		CHECK_INT(sequence.losses[i].events, 2);
		CHECK_INT(sequence.losses[i].begin_ns, 100 + i);
		CHECK_STR(orma_track_name_get(sequence.losses[i].name)->text, names[i]);
	}
	CHECK_INT(sequence.losses[last].name, 0);
	CHECK_INT(sequence.losses[last].events, 2 * (ORMA_ARRAY_SIZE(names) - last));
}
