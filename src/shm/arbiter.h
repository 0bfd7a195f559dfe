/* SPDX-License-Identifier: Apache-2.0
 * arbiter.h - the producer's side of the shared memory. It gives free chunks to trace writers,
 * collects complete ones, and passes them to the thread that talks to the service.
 *
 * Threads: writers (trace_writer.h) use the arbiter from any thread and never take a lock. All
 * functions
 *          below belong to one thread, the producer's *loop thread*.
 * Life:    orma_shm_arbiter_new() ... orma_shm_arbiter_abandon() when the connection is lost, then
 *          orma_shm_arbiter_unref(). Writers keep the arbiter and its memory alive; the last one to be
 *          freed releases both.
 * fork: a child must not use writers of its parent, because both would write into the same chunks.
 * It
 *          calls orma_shm_arbiter_orphan() and makes a connection of its own.
 *
 * The loop thread does this:
 *
 *	watch orma_shm_arbiter_wake_fd(); when readable:
 *		switch (orma_shm_arbiter_wanted(arbiter))
 *		SOON: arm a timer, NOW or the timer: commit
 *	commit:
 *		orma_shm_arbiter_gather(arbiter);
 *		do {
 *			orma_shm_arbiter_take_commit(arbiter, &batch);
 *			send registered writers, then batch.commit, then unregistered writers
 *			orma_shm_arbiter_commit_done(arbiter);
 *		} while (batch.has_more);
 *
 * The loop ends although threads push at the same time: what they push after gather() wakes the loop
 * again.
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
	/* The memory is private: batches contain the bytes of chunks, and commit_done() frees the
	 * chunks. */
	bool is_emulated;
	/* The service accepts chunks that stay BeingWritten until their lengths are known
	 * (direct_smb_patching_supported). */
	bool can_hold_chunks;
	uint32_t stall_timeout_ms; /* limit of a wait for a chunk; 0 = ORMA_SHM_STALL_MS_DEFAULT */
	/*
	 * Called on any thread when the last reference is gone, to unmap the memory. Not called
	 * when orma_shm_arbiter_new() fails. May be NULL. It has a context of its own, because it
	 * may be called after the end of the connection.
	 */
	void (*release)(void *release_ctx, void *start, size_t size_bytes);
	void *release_ctx;
	/*
	 * Called when a writer stalls on the loop thread itself, which has to commit at once,
	 * because no other thread will. Never called between take_commit() and commit_done(). If
	 * NULL, such a writer waits until its timeout.
	 */
	void (*commit_now)(void *ctx);
	void *ctx;
};

#define ORMA_SHM_STALL_MS_DEFAULT 30000u

/* The calling thread becomes the loop thread. Returns 0, -EINVAL (invalid sizes), -ENOMEM, or an
 * error of eventfd(), for instance -EMFILE. */
int orma_shm_arbiter_new(const struct orma_shm_arbiter_options *options,
			 struct orma_shm_arbiter **ret);
/* The calling thread becomes the loop thread. The caller synchronises it with the former one. */
void orma_shm_arbiter_set_loop_thread(struct orma_shm_arbiter *arbiter);
/*
 * The connection is lost. From now on writers get no chunks and count their losses, the loop is not
 * woken, and take_commit() returns nothing. Data that was not committed is lost, unless the service
 * scrapes it.
 */
void orma_shm_arbiter_abandon(struct orma_shm_arbiter *arbiter);
/*
 * Called in the child of a fork, with no other thread; async-signal-safe. Replaces the memory by
 * private memory, so that writes to an open packet have no effect, and neither writes to nor closes
 * `wake_fd` any more. Do nothing else with the arbiter and its writers, and do not free them: other
 * threads of the parent may have been changing them.
 */
void orma_shm_arbiter_orphan(struct orma_shm_arbiter *arbiter);
/* Abandons the arbiter and drops the creator's reference. May be NULL. */
void orma_shm_arbiter_unref(struct orma_shm_arbiter *arbiter);

/* Readable when a commit is wanted: watch it (ORMA_LOOP_READ). Borrowed; it stays open until the
 * last reference is gone. Stop watching it before orma_shm_arbiter_unref(). */
int orma_shm_arbiter_wake_fd(const struct orma_shm_arbiter *arbiter);

enum orma_shm_wanted {
	ORMA_SHM_WANTED_NOTHING = 0,
	ORMA_SHM_WANTED_LATER = 1, /* chunks can be committed; they may wait for more */
	/* A writer is new. Until the service knows it, it cannot take what a killed process has left. */
	ORMA_SHM_WANTED_SOON = 2,
	ORMA_SHM_WANTED_NOW = 3, /* the memory fills up, a writer stalls, or a flush needs it */
};

/* How urgent a commit has become since events were gathered last. Resets the wake descriptor. */
enum orma_shm_wanted orma_shm_arbiter_wanted(struct orma_shm_arbiter *arbiter);

struct orma_shm_writer_notice {
	uint32_t writer_id;
	uint32_t target_buffer;
};

/* Send the parts in the order of the members. All pointers are borrowed until
 * orma_shm_arbiter_commit_done(). */
struct orma_shm_batch {
	const struct orma_shm_writer_notice *registered;
	size_t registered_count;
	/* flush_request_id is 0; the caller sets it in the last batch. */
	struct orma_commit commit;
	const struct orma_shm_writer_notice *unregistered;
	size_t unregistered_count;
	bool has_more;
};

/* Takes the events that writers have pushed so far; take_commit() turns them into batches. */
void orma_shm_arbiter_gather(struct orma_shm_arbiter *arbiter);
/* Takes as much as fits one message (ORMA_SHM_BATCH_BYTES_MAX when encoded). Gathers first when there
 * is nothing left of the events that were gathered before. False when there is nothing. */
bool orma_shm_arbiter_take_commit(struct orma_shm_arbiter *arbiter, struct orma_shm_batch *ret);
void orma_shm_arbiter_commit_done(struct orma_shm_arbiter *arbiter);

/*
 * Emulation only, because the service cannot scrape there: takes copies of the chunks that are
 * being written, marked as incomplete. *position starts as {0}. The rules are those of
 * take_commit(). False at the end.
 */
bool orma_shm_arbiter_take_incomplete(struct orma_shm_arbiter *arbiter,
				      struct orma_shm_view_position *position,
				      struct orma_shm_batch *ret);

#define ORMA_SHM_BATCH_BYTES_MAX ((size_t)127 * 1024)

/*
 * Writers may be made before their trace buffer is known. Their target is then a *reservation*: a
 * number above those of buffers, which have 16 bits. Their chunks wait until the reservation is
 * bound to a buffer. If no session wants them, it is bound to buffer 0, which does not exist: the
 * service then frees the chunks without reading them. Such writers must not stall. A reservation
 * lasts as long as the arbiter.
 */
#define ORMA_SHM_RESERVATIONS_MAX 64
/* 0 = none left. */
uint32_t orma_shm_arbiter_reserve(struct orma_shm_arbiter *arbiter);
/* Commit afterwards. Further calls for the same reservation have no effect. */
void orma_shm_arbiter_bind(struct orma_shm_arbiter *arbiter, uint32_t reservation,
			   uint16_t target_buffer);

/* Counted since the start, over all writers; relaxed. */
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
