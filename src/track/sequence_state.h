/* SPDX-License-Identifier: Apache-2.0
 * sequence_state.h - a sequence: what one thread writes for one instance of "track_event".
 *
 * The state of a sequence says what its reader knows already: names, categories, tracks, and the
 * time of the last packet. Names and categories have one id for the whole process, so that an id
 * means the same in all sequences and "the reader knows it" is one bit.
 */
#ifndef ORMA_TRACK_SEQUENCE_STATE_H
#define ORMA_TRACK_SEQUENCE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "client/thread.h"
#include "track/event_clock.h"
#include "track/nesting.h"
#include "track/pending_ends.h"
#include "track/track_limits.h"
#include "track/track_set.h"

#define ORMA_TRACK_WORD_BITS 64

/* Events that a thread lost of one category. */
struct orma_track_loss {
	uint32_t name;   /* id of the category's name; 0 = of several categories */
	uint32_t events; /* 0 = a free slot */
	uint64_t begin_ns;
};

struct orma_track_known_stacks;

/* Each slot of the data source has one, which its thread owns. Zero = nothing known, nothing
 * open. */
struct orma_track_sequence {
	struct orma_track_nesting nesting; /* the thread's own slices */
	/* Forgotten when incremental state is lost. */
	struct {
		uint64_t
			last_ns; /* time of the last packet with a relative time; never decreases */
		struct orma_track_clock_cache clock;
		/*
		 * Bit = id of a call site whose pre-encoded bytes are valid in this sequence. That
		 * means: the reader can read the sequence, which has lost nothing since; timestamps
		 * are incremental and in ns; nothing is added to events or filtered; and the site's
		 * name, category and remembered keys have been declared. The last bit is never set.
		 */
		uint64_t sites[ORMA_TRACK_SITES_MAX / ORMA_TRACK_WORD_BITS + 1];
		/* All of that except for the names. No bit of `sites` is set without it. */
		bool allows_fast_path;
		uint64_t thread_time_ns; /* as the reader knows it */
		uint64_t thread_time_at_ns;
		uint64_t names[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t keys[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t locations[ORMA_TRACK_NAMES_MAX / ORMA_TRACK_WORD_BITS];
		uint64_t categories[ORMA_TRACK_CATEGORIES_MAX / ORMA_TRACK_WORD_BITS];
		/* Decisions about categories that events name: the hash of the name, with the
		 * answer in its lowest bit. */
		uint64_t dynamic[1 << ORMA_TRACK_DYNAMIC_BITS];
	} known;
	struct orma_track_set tracks;           /* forgotten together with `known` */
	struct orma_track_known_stacks *stacks; /* as well; NULL = none */
	/* Copied from the instance's config when the sequence begins. */
	bool filters_arguments, filters_names;
	bool samples_time; /* see orma_track_put_thread_time() */
	bool is_incremental;
	uint64_t time_step_ns;
	uint64_t unit_ns;
	uint32_t clock_id;
	int32_t tid;

	struct orma_track_pending_ends pending_ends;
	struct orma_track_loss losses[ORMA_TRACK_LOSSES_MAX];
};

static inline bool orma_track_has_bit(const uint64_t *words, uint32_t idx)
{
	return words[idx / ORMA_TRACK_WORD_BITS] >> idx % ORMA_TRACK_WORD_BITS & 1;
}

static inline void orma_track_set_bit(uint64_t *words, uint32_t idx)
{
	words[idx / ORMA_TRACK_WORD_BITS] |= UINT64_C(1) << idx % ORMA_TRACK_WORD_BITS;
}

/* The slot's callbacks. Open slices stay open when the service clears incremental state; `is_new`:
 * the slot is another sequence from now on. */
void orma_track_sequence_lost(void *state, bool is_new);
void orma_track_sequence_done(void *state);

/* Whether the config and the open slices allow the fast path once the sequence has begun. */
bool orma_track_sequence_may_use_fast_path(const struct orma_track_sequence *sequence);
/* Something was lost: every event takes the slow path until the sequence has begun anew. */
void orma_track_sequence_leave_fast_path(struct orma_track_sequence *sequence);

#define ORMA_TRACK_HEAD_BYTES 13 /* time and flags of a packet */
/* With `samples_time`: a field of a TrackEvent on the thread's own track, which holds the thread's
 * CPU time; `at` has room for ORMA_TRACK_TIME_BYTES. */
uint8_t *orma_track_put_thread_time(struct orma_track_sequence *sequence, uint8_t *at,
				    uint64_t now_ns);
#define ORMA_TRACK_TIME_BYTES 11
/* Begins a packet of any size and writes its head. */
struct orma_proto_writer *orma_track_packet_begin(struct orma_packet *slot, uint64_t now_ns);
/* False: the packet was lost. */
bool orma_track_packet_end(struct orma_packet *slot);

static inline void orma_track_slot_close(struct orma_packet *slot)
{
	atomic_signal_fence(memory_order_seq_cst);
	orma_client_slot_leave(slot);
}

#endif
