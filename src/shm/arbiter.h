/* SPDX-License-Identifier: Apache-2.0
 * arbiter.h - the producer's side of the shared memory: hands chunks to trace writers, collects
 * them when they are complete, and gives the result to the thread that talks to the service.
 *
 * Threads: writers (trace_writer.h) use the arbiter from any thread and never take a lock.
 *          Everything below belongs to one thread, the producer's *loop thread*.
 * Life:    orma_shm_arbiter_new() ... orma_shm_arbiter_abandon() when the connection is gone, then
 *          orma_shm_arbiter_unref(). Writers keep the arbiter and its memory alive: the last one to
 *          go releases it.
 * fork:    a child must not touch writers of its parent: both would write into the same chunks. It
 *          calls orma_shm_arbiter_orphan() and starts over with a connection of its own.
 *
 * The loop thread's part:
 *
 *	watch orma_shm_arbiter_wake_fd(); when readable:
 *		switch (orma_shm_arbiter_wanted(arbiter))
 *		SOON: arm a timer, NOW or the timer: commit
 *	commit:
 *		do {
 *			orma_shm_arbiter_take_commit(arbiter, &batch);
 *			send registered writers, then batch.commit, then unregistered writers
 *			orma_shm_arbiter_commit_done(arbiter);
 *		} while (batch.has_more);
 */
#ifndef ORMA_SHM_ARBITER_H
#define ORMA_SHM_ARBITER_H

#include <orma/service.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/abi.h"
#include "shm/view.h"

struct orma_shm_arbiter;

struct orma_shm_arbiter_options {
	void *start; /* zeroed or shared memory, 8-byte aligned; see `release` */
	size_t size_bytes;
	uint32_t page_bytes;
	/* The memory is private: batches carry the chunks' bytes, and commit_done() frees them. */
	bool is_emulated;
	/* The service copes with chunks that wait in BeingWritten for their patches
	 * (direct_smb_patching_supported). */
	bool can_hold_chunks;
	uint32_t stall_timeout_ms; /* of one wait for a chunk; 0 = ORMA_SHM_STALL_MS_DEFAULT */
	/*
	 * Called when the last user is gone, on whatever thread that is, to unmap the memory; not
	 * called when new() fails. May be NULL. `release_ctx` is its own argument because it
	 * outlives the connection.
	 */
	void (*release)(void *release_ctx, void *start, size_t size_bytes);
	void *release_ctx;
	/*
	 * A writer stalls on the loop thread itself: commit at once, or nobody ever will. Called on
	 * the loop thread only, never between take_commit() and commit_done(). May be NULL: such a
	 * writer waits out its timeout.
	 */
	void (*commit_now)(void *ctx);
	void *ctx;
};

#define ORMA_SHM_STALL_MS_DEFAULT 30000u

/* The calling thread becomes the loop thread. 0, -EINVAL (sizes), -ENOMEM, -EMFILE and the like
 * (eventfd). */
int orma_shm_arbiter_new(const struct orma_shm_arbiter_options *options,
			 struct orma_shm_arbiter **ret);
/* Another thread takes over; the caller orders that with what the old one did. */
void orma_shm_arbiter_set_loop_thread(struct orma_shm_arbiter *arbiter);
/*
 * The connection is gone: from now on writers get no chunks and count what they lose, nothing wakes
 * the loop, and take_commit() yields nothing. What was not committed is lost, unless the service
 * scrapes it.
 */
void orma_shm_arbiter_abandon(struct orma_shm_arbiter *arbiter);
/*
 * In the child of a fork, with no other thread; async-signal-safe. What a packet that is open still
 * writes goes nowhere: the memory is exchanged for a private one, and `wake_fd` is not written to
 * any more (nor closed). Nothing else may be done with the arbiter and its writers, and they are
 * not freed: other threads of the parent may have been changing them.
 */
void orma_shm_arbiter_orphan(struct orma_shm_arbiter *arbiter);
/* Abandons and drops the creator's reference. NULL is fine. */
void orma_shm_arbiter_unref(struct orma_shm_arbiter *arbiter);

/* Readable when a commit is wanted: watch it (ORMA_LOOP_READ). Borrowed: open until
 * the last user is gone; stop watching it before orma_shm_arbiter_unref(). */
int orma_shm_arbiter_wake_fd(const struct orma_shm_arbiter *arbiter);

enum orma_shm_wanted {
	ORMA_SHM_WANTED_NOTHING = 0,
	ORMA_SHM_WANTED_SOON = 1, /* something waits to be committed; batching it is fine */
	ORMA_SHM_WANTED_NOW = 2,  /* the memory fills up, a writer stalls, or a flush asks for it */
};

/* What is wanted since the last take_commit(); resets the wake descriptor. */
enum orma_shm_wanted orma_shm_arbiter_wanted(struct orma_shm_arbiter *arbiter);

struct orma_shm_writer_notice {
	uint32_t writer_id;
	uint32_t target_buffer;
};

/* Send in the order of the fields. All pointers are the arbiter's, valid until
 * orma_shm_arbiter_commit_done(). */
struct orma_shm_batch {
	const struct orma_shm_writer_notice *registered;
	size_t registered_count;
	struct orma_commit
		commit; /* flush_request_id is 0: for the caller to set, in the last batch */
	const struct orma_shm_writer_notice *unregistered;
	size_t unregistered_count;
	bool has_more;
};

/* Whatever is ready, as much as fits one message (ORMA_SHM_BATCH_BYTES_MAX when encoded). True when
 * there is anything. */
bool orma_shm_arbiter_take_commit(struct orma_shm_arbiter *arbiter, struct orma_shm_batch *ret);
void orma_shm_arbiter_commit_done(struct orma_shm_arbiter *arbiter);

/*
 * Emulation only, instead of the scraping that the service cannot do: hands out copies of the
 * chunks that are being written, marked incomplete. *position starts as {0}. Same rules as
 * take_commit(); false at the end.
 */
bool orma_shm_arbiter_take_incomplete(struct orma_shm_arbiter *arbiter,
				      struct orma_shm_view_position *position,
				      struct orma_shm_batch *ret);

#define ORMA_SHM_BATCH_BYTES_MAX ((size_t)127 * 1024)

/*
 * Writers may be made before it is known what trace buffer they are for, with a *reservation* as
 * their target: a number above those of buffers (16 bits). What they hand over waits until the
 * reservation is bound; to buffer 0, which is nobody's, when nobody wants it: the service gives the
 * chunks back unread. Such writers must not stall. A reservation lasts as long as the arbiter.
 */
#define ORMA_SHM_RESERVATIONS_MAX 64
/* 0 = none left. */
uint32_t orma_shm_arbiter_reserve(struct orma_shm_arbiter *arbiter);
/* Commit afterwards. Later calls for the same reservation change nothing. */
void orma_shm_arbiter_bind(struct orma_shm_arbiter *arbiter, uint32_t reservation,
			   uint16_t target_buffer);

/* Since the start, over all writers; relaxed counters. */
struct orma_shm_stats {
	uint64_t chunks_acquired;
	uint64_t packets_lost;
	uint64_t stalls;       /* waits for a chunk */
	uint64_t patches_sent; /* out of band */
	uint64_t violations;   /* the service broke the protocol */
	uint32_t writers;      /* alive */
};

void orma_shm_arbiter_get_stats(const struct orma_shm_arbiter *arbiter, struct orma_shm_stats *ret);

#endif
