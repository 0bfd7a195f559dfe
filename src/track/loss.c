/* SPDX-License-Identifier: Apache-2.0
 * loss.c - counts the events that a thread lost, by category, until it can report them.
 *
 * The counts lie in the sequence's state. catch_up.c reports them as soon as there is room. The
 * last slot counts for all categories that the other slots have no room for.
 */
#include "track/loss.h"

#include "base/assert.h"
#include "track/interned_name.h"

#define OTHERS "(others)"

void orma_track_loss_add(struct orma_track_sequence *sequence, const struct orma_category *category,
			 uint64_t now_ns)
{
	uint32_t name = orma_track_name_intern(category->name);
	struct orma_track_loss *loss = sequence->losses;
	uint32_t idx = 0;

	while (idx + 1 < ORMA_TRACK_LOSSES_MAX && loss[idx].events > 0 && loss[idx].name != name)
		idx++;
	if (loss[idx].events == 0)
		loss[idx].begin_ns = now_ns;
	ORMA_ASSERT(idx < ORMA_TRACK_LOSSES_MAX);
	loss[idx].name = idx + 1 < ORMA_TRACK_LOSSES_MAX ? name : 0;
	loss[idx].events++;
}

const char *orma_track_loss_name(const struct orma_track_loss *loss)
{
	return loss->name ? orma_track_name_get(loss->name)->text : OTHERS;
}
