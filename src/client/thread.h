/* SPDX-License-Identifier: Apache-2.0
 * thread.h - what each emitting thread owns: slots, one per instance of a data source. thread.c has the
 * picture.
 */
#ifndef ORMA_CLIENT_THREAD_H
#define ORMA_CLIENT_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/macros.h"
#include "client/client_limits.h"
#include "client/client_source.h"
#include "shm/trace_writer.h"

/* The stamp of a slot that belongs to no instance. */
#define ORMA_CLIENT_NO_STAMP UINT64_MAX

/* A slot. The public name: a packet that is being written is its slot's writer. */
struct orma_packet {
	struct orma_shm_writer *writer; /* NULL = none */
	/* The instance's when the slot last looked at it, or ORMA_CLIENT_NO_STAMP. Relaxed: the owner
	 * compares it before it knows which thread may use the slot. */
	_Atomic uint64_t stamp;
	uint64_t generation; /* the generation of the instance that `writer` belongs to */
	uint64_t lost_seen;  /* packets that `writer` had lost when it was last asked */
	struct orma_data_source *source;
	struct orma_client_instance *instance;
	void *state; /* source->extra.thread_state_bytes */
	/* A copy of the source's: a thread may end after its source. */
	void (*state_done)(void *state);
	struct orma_client_user *user; /* NULL = none yet */
	bool needs_state;
	bool is_user_outdated; /* user->incremental_state is that of an earlier state */
	bool is_clear_due;     /* as soon as the chunk is another one than that of the state */
	/* The result of orma_shm_writer_next_chunk_id() when the sequence last began its state. While it is
	 * the same, the state lies in the chunk in hand. */
	uint32_t state_chunk_id;
	/*
	 * The owner is using the slot. When it is not, and the instance has stopped, the members
	 * above are the loop thread's. Written by the owner; orma_client_slot_enter() and _leave() say
	 * in which order.
	 */
	_Atomic bool is_open;
};

/* The application's states, one per thread and instance. */
struct orma_client_user {
	struct orma_client_user *next; /* in struct taken of thread.c */
	struct orma_data_source *source;
	void *thread_state, *incremental_state;
};

struct orma_client_thread {
	struct orma_list item; /* in orma_client.threads; mutex */
	/* ORMA_INSTANCES_MAX slots per source, made at its first use, under the mutex. */
	struct orma_packet *slots[ORMA_DATA_SOURCES_MAX];
};

extern __thread struct orma_client_thread *orma_client_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline bool orma_client_slot_is_open(const struct orma_packet *slot)
{
	/* Pairs with the release of orma_client_slot_leave(). */
	return atomic_load_explicit(&slot->is_open, memory_order_acquire);
}

static inline void orma_client_slot_enter(struct orma_packet *slot)
{
	atomic_store_explicit(&slot->is_open, true, memory_order_relaxed);
	/* Keeps the compiler from moving the loads that follow; the loop thread's membarrier() keeps
	 * the processor from it. */
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void orma_client_slot_leave(struct orma_packet *slot)
{
	atomic_store_explicit(&slot->is_open, false, memory_order_release);
}

static inline bool orma_client_slot_has(const struct orma_packet *slot, uint64_t stamp)
{
	return atomic_load_explicit(&slot->stamp, memory_order_relaxed) == stamp;
}

struct orma_packet *orma_client_slot_refresh(struct orma_data_source *source, uint32_t idx);

/*
 * The calling thread's slot of a started instance, entered and ready for one packet, until
 * orma_client_slot_leave(). NULL: the instance is not started, a packet is open, or there is no memory.
 */
static inline struct orma_packet *orma_client_slot_get(struct orma_data_source *source,
						       uint32_t idx)
{
	struct orma_client_thread *self = orma_client_self;

	uint32_t place = orma_client_source_idx(source);

	if (ORMA_LIKELY(self && self->slots[place])) {
		struct orma_packet *slot = &self->slots[place][idx];
		uint64_t stamp;

		if (ORMA_UNLIKELY(orma_client_slot_is_open(slot)))
			return NULL;
		orma_client_slot_enter(slot);
		stamp = atomic_load_explicit(&source->stamps[idx], memory_order_acquire);
		/* The stamp 0, which no slot has: the loop thread may be using the rest of the slot. */
		if (ORMA_LIKELY(orma_client_slot_has(slot, stamp)))
			return slot;
		orma_client_slot_leave(slot);
	}
	return orma_client_slot_refresh(source, idx);
}

void orma_client_slot_lost(struct orma_packet *slot);

/* Called after a packet; true if it was not lost. In both cases the sequence may have to begin its state
 * anew. */
static inline bool orma_client_slot_check(struct orma_packet *slot)
{
	if (ORMA_UNLIKELY(slot->is_clear_due) &&
	    orma_shm_writer_next_chunk_id(slot->writer) != slot->state_chunk_id) {
		slot->is_clear_due = false;
		slot->needs_state = slot->is_user_outdated = true;
	}
	if (ORMA_LIKELY(orma_shm_writer_lost_packets(slot->writer) == slot->lost_seen))
		return true;
	orma_client_slot_lost(slot);
	return false;
}

/* The open packet begins the sequence's state. */
static inline void orma_client_slot_note_state(struct orma_packet *slot)
{
	slot->state_chunk_id = orma_shm_writer_next_chunk_id(slot->writer);
	slot->is_clear_due = false;
}

/* Flushes the calling thread's own writer of an instance. */
void orma_client_self_flush(struct orma_data_source *source, uint32_t idx);
/*
 * The calling thread has left packets of the source with siglongjmp(). Their writers are in an unknown state, so they stay as
 * they are until the connection ends; the next packets get others.
 */
void orma_client_self_abandon(struct orma_data_source *source);
/*
 * Loop thread: takes the writers of an instance that has stopped (its stamp is 0) from all threads that
 * are not inside a packet, and hands over what is in them. The others free their writers themselves, at
 * their next packet. Returns how many these are.
 */
size_t orma_client_threads_reclaim(struct orma_data_source *source, uint32_t idx);
/* Frees the slots of all threads; none may be in use. */
void orma_client_threads_discard(void);
/* The application's states; the slot must be entered. Returns NULL without memory. */
struct orma_client_user *orma_client_slot_user(struct orma_packet *slot);
int orma_client_threads_init(void);
/* For programs that know that they have one thread: then it takes no time. Without it, the first end of an instance waits until
 * the kernel has seen all processors, which is 10 to 50 ms. */
void orma_client_threads_prepare(void);
/* Runs in the child of a fork; async-signal-safe. */
void orma_client_threads_forked(void);

#endif
