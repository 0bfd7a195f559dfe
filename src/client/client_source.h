/* SPDX-License-Identifier: Apache-2.0
 * client_source.h - a data source that this process has registered.
 *
 * Invariant: orma_client.sources[i] is NULL, or a source with the index i and a unique name. A handle stays
 * valid after its source was unregistered, but then has no started instance.
 */
#ifndef ORMA_CLIENT_SOURCE_H
#define ORMA_CLIENT_SOURCE_H

#include <orma/data_source.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/buf.h"
#include "client/client_instance.h"

/* Options that src/track/ needs beyond the public ones. */
struct orma_client_source_extra {
	/* Clearing may wait for the next chunk: see thread.c. The source calls
	 * orma_client_slot_note_state() in the packet that begins a state. */
	bool clears_by_chunk;
	/* The source has the place ORMA_CLIENT_HOT_PLACE, so that emitters find slots and stamps without
	 * looking at the source. */
	bool is_hot;
	size_t thread_state_bytes; /* memory in each slot; zero at first */
	/*
	 * Resets that memory, on the slot's thread, when the reader has forgotten the sequence's
	 * state. `is_new`: the slot is another sequence from now on. NULL = zero the memory.
	 */
	void (*state_lost)(void *state, bool is_new);
	/* Before the memory is freed, on any thread; may be NULL. */
	void (*state_done)(void *state);
	/* The handle is no longer valid. */
	void (*freed)(void *ctx);
	/* In the child of a fork: does async-signal-safe things only, and makes the next event call
	 * orma_client_revive(). freed() follows at once when no client comes back. */
	void (*forked)(void *ctx);
	/* Called in such a child when it is about to connect, or when it is certain that it never will.
	 * `parent` is the process that forked. No instance is enabled. */
	void (*revived)(void *ctx, int32_t parent);
};

struct orma_data_source {
	_Atomic uint32_t started; /* bit = instance; written by the loop thread, read relaxed */
	/* Its place in the table. Changes when the source is registered again, while another thread
	 * may still read it. Relaxed. */
	_Atomic uint32_t idx;
	/*
	 * One stamp per instance, which changes whenever slots have to look at the instance again;
	 * 0 = not started. Written by the loop thread with release after the instance's members;
	 * pairs with the acquire of orma_client_slot_get(). Points to own_stamps or orma_client_hot_stamps.
	 */
	_Atomic uint64_t *stamps;
	_Atomic uint64_t own_stamps[ORMA_INSTANCES_MAX];
	uint64_t id;                             /* for services; unique in the process */
	struct orma_data_source_options options; /* name is a copy, descriptor NULL */
	struct orma_client_source_extra extra;
	/*
	 * Whole descriptors. next_descriptor is the newest, which no service knows yet; the mutex
	 * guards it. `descriptor` is read by the loop thread, which changes it under the mutex. At
	 * every moment one of the two is the newest one, for the child of a fork.
	 */
	struct orma_buf *next_descriptor;
	struct orma_buf *descriptor;
	struct orma_client_instance instances[ORMA_INSTANCES_MAX];
	/* The number of structs orma_client_user that threads have, or that exiting threads are freeing.
	 * Mutex. */
	size_t user_count;
	struct orma_data_source *next_retired; /* mutex */
	/* When it was unregistered, a packet was open or a user was left: the handle is not used again. */
	bool is_left_behind;
};

static inline uint32_t orma_client_source_idx(const struct orma_data_source *source)
{
	return atomic_load_explicit(&source->idx, memory_order_relaxed);
}

/* The instance's place in source->instances. */
static inline uint32_t orma_client_instance_idx(const struct orma_client_instance *instance)
{
	ptrdiff_t idx = instance - instance->source->instances;

	ORMA_ASSERT(idx >= 0 && idx < ORMA_INSTANCES_MAX);
	return (uint32_t)idx;
}

/* The stamps of the source in ORMA_CLIENT_HOT_PLACE; see struct orma_data_source. */
extern _Atomic uint64_t orma_client_hot_stamps[ORMA_INSTANCES_MAX];

/* orma_data_source_register() with more options; `extra` may be NULL. */
int orma_client_source_new(const struct orma_data_source_options *options,
			   const struct orma_client_source_extra *extra,
			   struct orma_data_source **ret);
/* In the child of a fork: makes it a source without instances that is not announced yet. */
void orma_client_source_reset(struct orma_data_source *source);
/* Loop thread: takes over what the application registered or changed since the last call. */
void orma_client_sources_update(void);
/* Frees all that are registered. */
void orma_client_sources_free(void);
/* Frees those that are unregistered, except the newest `kept_count`. */
void orma_client_sources_free_retired(size_t kept_count);
/* Waits for a limited time for threads that are exiting at this moment. */
void orma_client_sources_wait_users(void);

#endif
