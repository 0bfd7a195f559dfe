/* SPDX-License-Identifier: Apache-2.0
 * arbiter_state.h - what arbiter.c, acquire.c, commit.c and trace_writer.c share; nobody else
 * includes it.
 *
 * Picture:
 *
 *   writers (any thread)                                loop thread
 *   acquire -> fill -> complete --push--> queue --pop all--> ready --take_commit--> batch
 *   patches, new and gone writers --push--^
 *
 * queue is a stack of *events* linked through themselves: many push one at a time by
 * compare-exchange, one takes all by exchange; nothing is popped singly, so the ABA problem does
 * not arise. Reversed it is in the order of the pushes, and thus in program order for each writer.
 * It holds a mark instead once the arbiter is abandoned, so that a late push fails instead of
 * getting lost.
 *
 * No event is allocated on the emit path: each chunk slot of the memory has its record, patches
 * come from a pool, a writer brings its own two.
 */
#ifndef ORMA_SHM_ARBITER_STATE_H
#define ORMA_SHM_ARBITER_STATE_H

#include <pthread.h>

#include "shm/arbiter.h"
#include "shm/trace_writer.h"

enum orma_shm_event_kind {
	ORMA_SHM_EVENT_CHUNK,
	ORMA_SHM_EVENT_PATCH,
	ORMA_SHM_EVENT_REGISTRATION,
	ORMA_SHM_EVENT_DEPARTURE,
};

/* Belongs to the writer until it is pushed, to the loop thread afterwards; plain fields travel with
 * that. */
struct orma_shm_event {
	struct orma_shm_event *next; /* in the queue, or in a writer's list */
	uint32_t target_buffer;
	uint8_t kind, layout; /* layout: chunks only */
	/*
	 * Chunks only: set by the writer that takes the chunk, cleared by the loop thread before
	 * the service hears of it. Exchange, acquire and release. Already set means that the
	 * service gave away a chunk of ours: it is not used, so that no list ever holds a record
	 * twice.
	 */
	_Atomic bool is_owned;
};

struct orma_shm_patch {
	struct orma_shm_event event;
	uint32_t chunk_id, offset; /* offset in the chunk's payload */
	uint16_t writer_id;
	bool has_more;                         /* this chunk has further patches */
	uint8_t data[ORMA_PROTO_LENGTH_BYTES]; /* data[0] is 0 until the length is known */
	/* Index + 1 in the pool's free list; atomic because a loser of the race for the head reads
	 * it. */
	_Atomic uint32_t next_free;
};

struct orma_shm_writer_block {
	struct orma_shm_writer writer;
	struct orma_shm_event registration, departure;
	/* The writer itself, then its departure; and its registration while queued. acq_rel: the
	 * last one frees. */
	_Atomic uint32_t ref_count;
};

#define ORMA_SHM_BATCH_MOVES   128
#define ORMA_SHM_BATCH_PATCHES 128
#define ORMA_SHM_BATCH_NOTICES 64
/* Upper bounds of what one entry takes in an encoded message, without the chunk's bytes. */
#define ORMA_SHM_BATCH_ENTRY_BYTES 64u

struct orma_shm_arbiter {
	/* Constant after orma_shm_arbiter_new(). */
	struct orma_shm_arbiter_options options;
	struct orma_shm_view view;
	struct orma_shm_event *slots; /* page_idx * ORMA_SHM_CHUNKS_PER_PAGE + chunk_idx */
	struct orma_shm_patch *patches;
	uint8_t *copies;         /* emulation: bytes of incomplete chunks; the loop thread's */
	uint32_t chunk_bytes[8]; /* by layout */
	uint32_t patch_count;
	uint32_t now_bytes; /* pending bytes that ask for a commit at once */
	int wake_fd;
	_Atomic uint32_t ref_count; /* acq_rel: the last one frees */

	/*
	 * Written when writers come and go; bit id - 1 set = taken. Orders: see
	 * orma_shm_arbiter_take_id(). The array keeps the busy words below away from the constants
	 * above, as the batch does on the other side.
	 */
	_Atomic uint64_t ids[(ORMA_SHM_WRITER_ID_MAX + 64) / 64];

	/* Written by all. Orders: commit.c for queue and wanted; else relaxed, estimates and
	 * counters. */
	_Atomic(struct orma_shm_event *) queue;
	_Atomic uint64_t turnover_bytes; /* handed out since the start */
	_Atomic uint64_t free_patches;   /* head: change count << 32 | index + 1; acq_rel */
	_Atomic uint64_t chunks_acquired, packets_lost, stalls, patches_sent, violations;
	_Atomic pthread_t loop_thread; /* relaxed: only ever compared with oneself */
	_Atomic uint32_t wanted;
	_Atomic uint32_t pending_bytes; /* complete, not taken by the loop thread */
	_Atomic uint32_t in_hand_bytes; /* being written */
	_Atomic uint32_t held_bytes;    /* those of them that only wait for lengths */
	_Atomic uint32_t cursor;        /* page where the next search begins */
	_Atomic uint32_t hints[8];      /* by layout: page that had a free chunk */
	_Atomic uint32_t id_cursor, writers;
	/* Written by the loop thread, read by writers; relaxed: what matters is that the queue is
	 * closed. */
	_Atomic bool is_abandoned;

	/* The loop thread's own. */
	bool is_commit_out;
	struct orma_chunk_move moves[ORMA_SHM_BATCH_MOVES];
	struct orma_chunk_patch patch_entries[ORMA_SHM_BATCH_PATCHES];
	struct orma_patch batch_patches[ORMA_SHM_BATCH_PATCHES];
	struct orma_shm_writer_notice registered[ORMA_SHM_BATCH_NOTICES];
	struct orma_shm_writer_notice unregistered[ORMA_SHM_BATCH_NOTICES];
	size_t move_count, patch_entry_count, batch_patch_count, registered_count,
		unregistered_count;
	size_t batch_bytes;
	struct orma_shm_event *ready_first, *ready_last;
	/* Events of writers whose reservation is not bound, in their order. */
	struct orma_shm_event *waiting_first, *waiting_last;
	uint32_t reservation_count;
	struct {
		bool is_bound;
		uint16_t target_buffer;
	} reservations[ORMA_SHM_RESERVATIONS_MAX];
};

/* --- arbiter.c -------------------------------------------------------------------------------- */

void orma_shm_arbiter_ref(struct orma_shm_arbiter *arbiter);
void orma_shm_arbiter_put(struct orma_shm_arbiter *arbiter);
/* 0 = none left */
uint16_t orma_shm_arbiter_take_id(struct orma_shm_arbiter *arbiter);
void orma_shm_writer_block_put(struct orma_shm_writer_block *block);

/* --- acquire.c -------------------------------------------------------------------------------- */

struct orma_shm_page_header *orma_shm_arbiter_page(const struct orma_shm_arbiter *arbiter,
						   uint32_t page_idx);
uint8_t *orma_shm_arbiter_chunk_start(const struct orma_shm_arbiter *arbiter,
				      const struct orma_shm_event *chunk);
/*
 * Free -> BeingWritten: a chunk of the layout, or of whatever there is. NULL: all taken, or
 * abandoned. `own_bytes` of the memory in hand are about to be given back by the caller.
 */
struct orma_shm_event *orma_shm_arbiter_acquire(struct orma_shm_arbiter *arbiter, uint32_t layout,
						uint32_t own_bytes, uint32_t probe_max);
/* BeingWritten -> Complete, and into the queue. */
void orma_shm_arbiter_complete(struct orma_shm_arbiter *arbiter, struct orma_shm_event *chunk);

#define ORMA_SHM_PROBE_ALL UINT32_MAX
#define ORMA_SHM_PROBE_FEW 32u

/* One wait for the service, bounded. {0} starts. False: give up. Keeps errno. */
struct orma_shm_wait {
	uint64_t deadline_ns, sleep_ns;
	uint32_t turns;
	uint32_t timeout_ms; /* 0 = the arbiter's */
};

bool orma_shm_arbiter_wait(struct orma_shm_arbiter *arbiter, struct orma_shm_wait *wait);

/* --- commit.c --------------------------------------------------------------------------------- */

/* False: abandoned, the event stays the caller's. Asks for a commit soon. */
bool orma_shm_arbiter_push(struct orma_shm_arbiter *arbiter, struct orma_shm_event *event);
void orma_shm_arbiter_want(struct orma_shm_arbiter *arbiter, enum orma_shm_wanted wanted);
/* From now on push() fails; what was queued is dropped. Loop thread. */
void orma_shm_arbiter_close_queue(struct orma_shm_arbiter *arbiter);
/* The same without looking at what is queued. */
void orma_shm_arbiter_cut_queue(struct orma_shm_arbiter *arbiter);
struct orma_shm_patch *orma_shm_arbiter_take_patch(struct orma_shm_arbiter *arbiter);
void orma_shm_arbiter_return_patch(struct orma_shm_arbiter *arbiter, struct orma_shm_patch *patch);

#endif
