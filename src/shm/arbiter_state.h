/* SPDX-License-Identifier: Apache-2.0
 * arbiter_state.h - the arbiter's struct, and the functions that its files share with each other
 * and with trace_writer.c. Private to src/shm.
 *
 * Picture:
 *
 *   writers (any thread)                                loop thread
 *   acquire -> fill -> complete --push--> queue --pop all--> ready --take_commit--> batch
 *   patches, new and gone writers --push--^
 *
 * The queue is a stack of *events* that are linked through themselves. Many threads push single
 * events by compare-exchange, and one thread takes all of them by exchange. Nothing pops a single
 * event, so the ABA problem does not arise. Reversed, the stack is in the order of the pushes, and
 * so in program order for each writer. Once the arbiter is abandoned, the queue holds a mark, so
 * that a late push fails and its event is not lost.
 *
 * No event is allocated on the emit path: each chunk slot of the memory has a record, patches come
 * from a pool, and a writer contains the two events of its own.
 */
#ifndef ORMA_SHM_ARBITER_STATE_H
#define ORMA_SHM_ARBITER_STATE_H

#include <pthread.h>

#include "base/assert.h"
#include "shm/arbiter.h"
#include "shm/trace_writer.h"

enum orma_shm_event_kind {
	ORMA_SHM_EVENT_CHUNK,
	ORMA_SHM_EVENT_PATCH,
	ORMA_SHM_EVENT_REGISTRATION,
	ORMA_SHM_EVENT_DEPARTURE,
};

/* Belongs to the writer until it is pushed, and then to the loop thread. The push publishes the
 * fields that are not atomic. */
struct orma_shm_event {
	struct orma_shm_event *next; /* in the queue, or in a writer's list */
	uint32_t target_buffer;
	uint8_t kind, layout; /* layout: chunks only */
	/*
	 * Chunks only: set by the writer that takes the chunk, with exchange and acquire; cleared
	 * by the loop thread before it commits the chunk to the service, with release. If a writer
	 * finds it set, the service has freed a chunk that was not its own. The writer does not use
	 * that chunk, so that no list ever holds a record twice.
	 */
	_Atomic bool is_owned;
};

struct orma_shm_patch {
	struct orma_shm_event event;
	uint32_t chunk_id, offset; /* offset in the chunk's payload */
	uint16_t writer_id;
	bool has_more;                         /* this chunk has further patches */
	uint8_t data[ORMA_PROTO_LENGTH_BYTES]; /* data[0] == 0 until the length is known */
	/* Index + 1 of the next free record. Relaxed; atomic because a thread that loses the race
	 * for the head reads it (patch_pool.c). */
	_Atomic uint32_t next_free;
};

struct orma_shm_writer_block {
	struct orma_shm_writer writer;
	struct orma_shm_event registration, departure;
	/* References: the writer until it is freed, then its departure event; and its registration
	 * event while that is queued. acq_rel, because the last one frees. */
	_Atomic uint32_t ref_count;
};

#define ORMA_SHM_BATCH_MOVES   128
#define ORMA_SHM_BATCH_PATCHES 128
#define ORMA_SHM_BATCH_NOTICES 64
/* Upper bound of an entry's size in an encoded message, without the chunk's bytes. */
#define ORMA_SHM_BATCH_ENTRY_BYTES 64u

struct orma_shm_arbiter {
	/* Constant after orma_shm_arbiter_new(). */
	struct orma_shm_arbiter_options options;
	struct orma_shm_view view;
	struct orma_shm_event *slots; /* page_idx * ORMA_SHM_CHUNKS_PER_PAGE + chunk_idx */
	struct orma_shm_patch *patches;
	uint8_t *copies;         /* emulation: copies of incomplete chunks, for the loop thread */
	uint32_t chunk_bytes[8]; /* by layout */
	uint32_t patch_count;
	uint32_t now_bytes; /* with so many pending bytes, a commit is wanted at once */
	int wake_fd;
	_Atomic uint32_t ref_count; /* acq_rel, because the last one frees */

	/*
	 * Bit id - 1 is set while a writer has the id. Orders: see orma_shm_arbiter_take_id(). This
	 * array separates the constants above from the words below, which are written often, so
	 * that they share no cache line; the batch does so on the other side.
	 */
	_Atomic uint64_t ids[(ORMA_SHM_WRITER_ID_MAX + 64) / 64];

	/* Written by all threads. event_queue.c has the orders of queue and wanted. The others are
	 * relaxed, because they are estimates and counters. */
	_Atomic(struct orma_shm_event *) queue;
	_Atomic uint64_t turnover_bytes; /* all chunks that were acquired */
	_Atomic uint64_t free_patches;   /* head: change count << 32 | index + 1; acq_rel */
	_Atomic uint64_t chunks_acquired, packets_lost, stalls, patches_sent, violations;
	_Atomic pthread_t loop_thread; /* relaxed: a thread only compares it with itself */
	_Atomic uint32_t wanted;
	_Atomic uint32_t pending_bytes; /* chunks that are complete and not yet in a batch */
	_Atomic uint32_t in_hand_bytes; /* chunks that are being written */
	_Atomic uint32_t held_bytes;    /* chunks that only wait for the length of a message */
	_Atomic uint32_t cursor;        /* the page where the next search begins */
	_Atomic uint32_t hints[8];      /* by layout: a page that had a free chunk */
	/* About so many pages, from the first one on, have ever been cut. Memory that has not been touched yet takes no room,
	 * so small chunks are only sought in these. */
	_Atomic uint32_t used_pages;
	_Atomic uint32_t id_cursor, writers;
	/* Written by the loop thread, read by writers. Relaxed, because only the closed queue
	 * guarantees that no event comes later. */
	_Atomic bool is_abandoned;

	/* Used by the loop thread only. */
	bool is_commit_out; /* between taking a batch and orma_shm_arbiter_commit_done() */
	struct orma_chunk_move moves[ORMA_SHM_BATCH_MOVES];
	struct orma_chunk_patch patch_entries[ORMA_SHM_BATCH_PATCHES];
	struct orma_patch batch_patches[ORMA_SHM_BATCH_PATCHES];
	struct orma_shm_writer_notice registered[ORMA_SHM_BATCH_NOTICES];
	struct orma_shm_writer_notice unregistered[ORMA_SHM_BATCH_NOTICES];
	size_t move_count, patch_entry_count, batch_patch_count, registered_count,
		unregistered_count;
	size_t batch_bytes;
	struct orma_shm_event *ready_first, *ready_last;
	/* Events of writers whose reservation is not bound, in the order of their pushes. */
	struct orma_shm_event *waiting_first, *waiting_last;
	uint32_t reservation_count;
	struct {
		bool is_bound;
		uint16_t target_buffer;
	} reservations[ORMA_SHM_RESERVATIONS_MAX];
};

/* True on the loop thread; for invariants and for a writer that stalls there. */
static inline bool orma_shm_arbiter_is_loop_thread(const struct orma_shm_arbiter *arbiter)
{
	return pthread_equal(atomic_load_explicit(&arbiter->loop_thread, memory_order_relaxed),
			     pthread_self());
}

/* --- arbiter_ref.c ---------------------------------------------------------------------------- */

void orma_shm_arbiter_ref(struct orma_shm_arbiter *arbiter);
/* Drops a reference. Any thread. */
void orma_shm_arbiter_put(struct orma_shm_arbiter *arbiter);
/* 0 = none left */
uint16_t orma_shm_arbiter_take_id(struct orma_shm_arbiter *arbiter);
void orma_shm_arbiter_return_id(struct orma_shm_arbiter *arbiter, uint16_t id);
void orma_shm_writer_block_put(struct orma_shm_writer_block *block);

/* --- acquire.c -------------------------------------------------------------------------------- */

struct orma_shm_page_header *orma_shm_arbiter_page(const struct orma_shm_arbiter *arbiter,
						   uint32_t page_idx);
uint8_t *orma_shm_arbiter_chunk_start(const struct orma_shm_arbiter *arbiter,
				      const struct orma_shm_event *chunk);
/*
 * Free -> BeingWritten: takes a chunk of that layout, or of another one if there is none. Looks at
 * about probe_max pages at most. Returns NULL when all chunks are taken or the arbiter is
 * abandoned. `own_bytes` is the size of the chunk that the caller still holds and is about to hand
 * over.
 */
struct orma_shm_event *orma_shm_arbiter_acquire(struct orma_shm_arbiter *arbiter, uint32_t layout,
						uint32_t own_bytes, uint32_t probe_max);
/* BeingWritten -> Complete, and into the queue. */
void orma_shm_arbiter_complete(struct orma_shm_arbiter *arbiter, struct orma_shm_event *chunk);

#define ORMA_SHM_PROBE_ALL UINT32_MAX
#define ORMA_SHM_PROBE_FEW 32u

/* A bounded wait for the service; {0} starts one. */
struct orma_shm_wait {
	uint64_t deadline_ns, sleep_ns;
	uint32_t turns;
	uint32_t timeout_ms; /* 0 = the arbiter's */
};

/* Waits a little. False when the time is over or the arbiter is abandoned. Preserves errno. */
bool orma_shm_arbiter_wait(struct orma_shm_arbiter *arbiter, struct orma_shm_wait *wait);

/* --- event_queue.c ---------------------------------------------------------------------------- */

/* Pushes an event and wants a commit soon. False when the arbiter is abandoned: the event stays the
 * caller's. Any thread. */
bool orma_shm_arbiter_push(struct orma_shm_arbiter *arbiter, struct orma_shm_event *event);
void orma_shm_arbiter_want(struct orma_shm_arbiter *arbiter, enum orma_shm_wanted wanted);
/* Moves the queued events to `ready` for the last time: from now on push() fails. */
void orma_shm_arbiter_close_queue(struct orma_shm_arbiter *arbiter);
/* From now on push() fails. The queued events are left alone; for the child of a fork. */
void orma_shm_arbiter_cut_queue(struct orma_shm_arbiter *arbiter);

/* --- commit_batch.c --------------------------------------------------------------------------- */

/* Closes the queue and gives all records back that are in it, in `ready` and in `waiting`. */
void orma_shm_arbiter_drop_events(struct orma_shm_arbiter *arbiter);

/* --- patch_pool.c ----------------------------------------------------------------------------- */

/* NULL when all records are in use. Any thread. */
struct orma_shm_patch *orma_shm_arbiter_take_patch(struct orma_shm_arbiter *arbiter);
void orma_shm_arbiter_return_patch(struct orma_shm_arbiter *arbiter, struct orma_shm_patch *patch);

#endif
