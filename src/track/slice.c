/* SPDX-License-Identifier: Apache-2.0
 * slice.c - the long way of emitting: sequences that have to be begun, slices that lost something.
 *
 * Loss keeps the structure of slices: nesting.c knows of each open slice whether its begin is in the
 * trace. The end of one that is not is not emitted either; the end of one that is, but finds no room,
 * is remembered with its time and what it carries (late.c), and emitted before anything else as soon
 * as there is room.
 *
 * A sequence is either *plain*, and then events may take the short ways (emit.c, each.c) as far as
 * their sites are known, or every event comes here. Any loss ends that, until the sequence has been
 * begun anew.
 *
 * Rejected: telling the reader how many ends are missing (no reader knows how to use that).
 */
#include <errno.h>

#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/event.h"

/* An event inside this, from an allocator that is traced or a signal handler, is left out: the locks
 * that are taken here may be held. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* --- the sequence ----------------------------------------------------------------------------- */

void orma_track_become_not_plain(struct orma_track_sequence *sequence)
{
	if (!sequence->known.is_plain)
		return;
	sequence->known.is_plain = false;
	memset(sequence->known.sites, 0, sizeof(sequence->known.sites));
}

/* Whether events of it may take the short ways once it has been begun. */
static bool can_be_plain(const struct orma_track_sequence *sequence)
{
	return sequence->is_incremental && sequence->unit_ns == 1 && !sequence->filters_arguments &&
	       !sequence->filters_names && !sequence->samples_time &&
	       orma_track_nesting_may_begin(&sequence->nesting);
}

bool orma_track_prepare(struct orma_packet *slot, uint32_t idx, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	uint64_t begin_ns =
		sequence->late.count > 0 ? orma_track_lates_begin_ns(&sequence->late) : now_ns;

	orma_track_clock_check();
	if (!orma_track_sequence_begin(slot, idx, begin_ns) || !orma_track_lates_write(slot) ||
	    !orma_track_losses_write(slot, now_ns))
		return false;
	sequence->known.is_plain = can_be_plain(sequence);
	return true;
}

static bool is_site_known(const struct orma_track_sequence *sequence,
			  const struct orma_call_site *site)
{
	return orma_track_has_bit(sequence->known.sites,
				  __atomic_load_n(&site->id, __ATOMIC_RELAXED));
}

static bool write_and_learn(struct orma_packet *slot, const struct orma_track_event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	bool can_learn = event->site && sequence->known.is_plain &&
			 !is_site_known(sequence, event->site) && orma_track_site_arm(event);
	bool knows_site;

	if (!orma_track_write(slot, event, &knows_site))
		return false;
	if (can_learn && knows_site)
		orma_track_set_bit(sequence->known.sites, event->site->id, true);
	return true;
}

/* --- an event --------------------------------------------------------------------------------- */

/* The track that the event names, when it is not the thread's own; else 0. */
static uint64_t other_track(const struct orma_track_event *event)
{
	struct orma_track_pair pair;
	size_t at = 0;
	uint64_t uuid = 0;

	if (event->type != ORMA_EVENT_BEGIN && event->type != ORMA_EVENT_END)
		return 0;
	while (orma_track_items_next(event->items, event->count, &at, &pair))
		if (!pair.key && pair.value->kind == ORMA_ITEM_TRACK && pair.value->value.track)
			uuid = orma_track_uuid(pair.value->value.track);
	return uuid == 0 || uuid == orma_track_uuid(NULL) ? 0 : uuid;
}

/* An event of `dynamic` is judged by the category that it names; one that names none is of none. */
static bool is_wanted_here(struct orma_track_sequence *sequence, uint32_t idx,
			   const struct orma_track_event *event, uint64_t uuid)
{
	struct orma_track_pair pair;
	const char *name, *tags;
	size_t at = 0;

	/* The end of a slice goes by its beginning. */
	if (event->type == ORMA_EVENT_END)
		return uuid ? orma_track_async_end(idx, uuid)
			    : orma_track_nesting_end(&sequence->nesting);
	if (event->category != &orma_category_dynamic)
		return true;
	while (orma_track_items_next(event->items, event->count, &at, &pair)) {
		if (pair.key || pair.value->kind != ORMA_ITEM_CATEGORY)
			continue;
		name = orma_track_item_category(pair.value, &tags);
		return orma_track_dynamic_is_wanted(sequence, idx, name, tags);
	}
	return false;
}

/* Keeps what has become of it: what is open, what is late, what is lost. */
static void note(struct orma_track_sequence *sequence, uint32_t idx,
		 const struct orma_track_event *event, uint64_t uuid, bool is_lost, bool is_written)
{
	if (event->type == ORMA_EVENT_END) {
		if (is_lost)
			orma_track_late_add(sequence, event, uuid);
		return;
	}
	if (is_lost)
		orma_track_loss_add(sequence, event->category, event->now_ns);
	if (event->type == ORMA_EVENT_BEGIN && uuid)
		orma_track_async_begin(idx, uuid, is_written);
	else if (event->type == ORMA_EVENT_BEGIN && is_written)
		orma_track_nesting_begin(&sequence->nesting);
	else if (event->type == ORMA_EVENT_BEGIN)
		orma_track_nesting_begin_lost(&sequence->nesting);
}

/* False: it is a begin, and nothing could remember whether it is in the trace. */
static bool may_write(const struct orma_track_sequence *sequence, uint32_t idx,
		      const struct orma_track_event *event, uint64_t uuid)
{
	if (event->type != ORMA_EVENT_BEGIN)
		return true;
	return uuid ? orma_track_async_may_begin(idx, uuid)
		    : orma_track_nesting_may_begin(&sequence->nesting);
}

static void emit(struct orma_packet *slot, uint32_t idx, const struct orma_track_event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	uint64_t uuid = other_track(event);
	bool is_wanted = is_wanted_here(sequence, idx, event, uuid);
	bool is_written = false;

	/* Also at an end that is not wanted: the late ones of others may have room now. */
	if (slot->needs_state && !((is_wanted || sequence->late.count > 0) &&
				   orma_track_prepare(slot, idx, event->now_ns)))
		slot->needs_state = true;
	else if (is_wanted && may_write(sequence, idx, event, uuid))
		is_written = write_and_learn(slot, event);
	note(sequence, idx, event, uuid, is_wanted && !is_written, is_written);
	if (slot->needs_state || !can_be_plain(sequence))
		orma_track_become_not_plain(sequence);
	else
		sequence->known.is_plain = true;
}

void orma_track_emit_slow(struct orma_packet *slot, uint32_t idx,
			  const struct orma_track_event *event)
{
	int saved_errno = errno;

	if (is_inside)
		return;
	is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	emit(slot, idx, event);
	atomic_signal_fence(memory_order_seq_cst);
	is_inside = false;
	errno = saved_errno;
}
