/* SPDX-License-Identifier: Apache-2.0
 * slow_path.c - the slow path of an event: any event, in any state of its sequence.
 *
 *   1. look up   lookup.c        what the event says; is it wanted; does it close a slice
 *   2. declare   declare.c       packets that must come first: the sequence's, the track's
 *   3. encode    encode_event.c  the event's packet, with the ids that are new in it
 *   4. commit    commit_event.c  end the packet; keep what was learned, opened, or lost
 *
 * Each step calls only what is below it, and no step calls another one. Loss keeps the structure of
 * slices: nesting.c knows of each open slice whether its begin is in the trace. The end of a slice
 * whose begin is not in the trace is not written either. The end of one whose begin is in the
 * trace, but which finds no room, is kept with its time and what it carries (pending_ends.c), and
 * is written before anything else as soon as there is room (catch_up.c).
 *
 * A sequence either allows the fast path (emit.c, instances.c), and then its events take it as soon
 * as their call sites are known, or every event comes here. Any loss closes the fast path until the
 * sequence has begun anew.
 *
 * Rejected: telling the reader how many ends are missing (no reader knows how to use that).
 */
#include "track/slow_path.h"

#include <errno.h>

#include "base/assert.h"
#include "track/commit_event.h"
#include "track/declare.h"

/* Set while this thread is in here. Events that come meanwhile, from a traced allocator or from a
 * signal handler, are left out: locks that the slow path takes may be held. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static void emit(struct orma_packet *slot, uint32_t idx, const struct orma_track_event *event)
{
	struct orma_track_lookup lookup;
	struct orma_track_encoder encoder;
	bool is_declared;

	orma_track_look_up(slot->state, idx, event, &lookup);
	is_declared = orma_track_declare(slot, idx, event, &lookup);
	if (is_declared)
		orma_track_encode_event(&encoder, slot, event, &lookup);
	orma_track_commit(slot, idx, event, &lookup, is_declared ? &encoder : NULL);
}

void orma_track_emit_slow(struct orma_packet *slot, uint32_t idx,
			  const struct orma_track_event *event)
{
	int saved_errno = errno;

	ORMA_ASSERT(idx < ORMA_INSTANCES_MAX);
	if (is_inside)
		return;
	is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	emit(slot, idx, event);
	atomic_signal_fence(memory_order_seq_cst);
	is_inside = false;
	errno = saved_errno;
}
