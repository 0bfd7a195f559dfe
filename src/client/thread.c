/* SPDX-License-Identifier: Apache-2.0
 * thread.c - what each emitting thread owns: a table of slots, one per data source instance.
 *
 *   thread-local pointer -> table of sources -> 8 slots -> trace writer -> chunk in shared memory
 *
 * A slot is looked up with one acquire load, the instance's `stamp`. As long as it equals the one
 * that the slot remembers, nothing has changed since: the writer is used as it is. Otherwise the
 * slot is brought up to date here, by its own thread: the writer of an instance that is gone is
 * freed, one for the instance that is there is made, or (same generation: incremental state was
 * cleared) only the state is forgotten.
 *
 * Why no lock is needed against an instance that stops meanwhile: the writer belongs to the thread,
 * and keeps the arbiter and its memory alive; a packet that is finished too late goes into a chunk
 * that the service ignores or nobody reads. The mutex is taken when a writer is made, and when the
 * thread ends.
 *
 * Rejected: stopping threads to reclaim their writers (signals, unbounded waits); a hash table of
 * slots (the table of pointers is 256 bytes per thread and takes one load).
 */
#include <errno.h>

#include "base/alloc.h"
#include "client/client.h"

__thread struct orma_client_thread *orma_client_self __attribute__((tls_model("initial-exec")));
/* Allocations of this thread that come back here, from an allocator that is itself traced, do not
 * emit. */
static __thread bool is_refreshing __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_key;
static _Atomic bool has_thread_key; /* written once, read in the child of a fork; relaxed */
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int thread_key_error;

static void slots_free(struct orma_packet *slots)
{
	if (!slots)
		return;
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		orma_shm_writer_free(slots[i].writer);
		if (slots[i].state && slots[i].state_done)
			slots[i].state_done(slots[i].state);
		orma_base_free(slots[i].state);
	}
	orma_base_free(slots);
}

/* The thread ends. What it emits in later destructors makes a new table, and this runs again. */
static void on_thread_exit(void *ctx)
{
	struct orma_client_thread *self = ctx;

	orma_client_self = NULL;
	pthread_mutex_lock(&orma_client.mutex);
	orma_base_list_remove(&self->item);
	pthread_mutex_unlock(&orma_client.mutex);
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		slots_free(self->slots[i]);
	orma_base_free(self);
}

static void make_key(void)
{
	thread_key_error = -pthread_key_create(&thread_key, on_thread_exit);
	atomic_store_explicit(&has_thread_key, thread_key_error == 0, memory_order_relaxed);
}

int orma_client_threads_init(void)
{
	pthread_once(&thread_key_once, make_key);
	return thread_key_error;
}

void orma_client_threads_forked(void)
{
	orma_client_self = NULL;
	is_refreshing = false;
	/* Never allocates: nothing is only stored where something was. */
	if (atomic_load_explicit(&has_thread_key, memory_order_relaxed) &&
	    pthread_getspecific(thread_key))
		pthread_setspecific(thread_key, NULL);
}

static struct orma_client_thread *self_new(void)
{
	struct orma_client_thread *self = orma_base_zalloc(sizeof(*self));

	if (!self)
		return NULL;
	if (pthread_setspecific(thread_key, self) != 0) {
		orma_base_free(self);
		return NULL;
	}
	pthread_mutex_lock(&orma_client.mutex);
	orma_base_list_append(&orma_client.threads, &self->item);
	pthread_mutex_unlock(&orma_client.mutex);
	orma_client_self = self;
	return self;
}

/* Everything that was emitted so far is unknown to whoever reads the sequence from here on. */
static void slot_forget(struct orma_packet *slot, const struct orma_data_source *source,
			bool is_new)
{
	slot->needs_state = true;
	if (slot->state && source->extra.state_lost)
		source->extra.state_lost(slot->state, is_new);
	else if (slot->state)
		memset(slot->state, 0, source->extra.thread_state_bytes);
}

static void slot_discard(struct orma_packet *slot)
{
	orma_shm_writer_free(ORMA_TAKE(slot->writer));
	slot->stamp = slot->generation = 0;
}

struct wanted_writer {
	struct orma_client_memory *memory; /* a reference; NULL = none to be had */
	uint64_t stamp, generation;
	uint32_t target_buffer;
	enum orma_shm_policy policy;
};

static void look_at_instance(struct orma_client_instance *instance, struct wanted_writer *ret)
{
	*ret = (struct wanted_writer){0};
	pthread_mutex_lock(&orma_client.mutex);
	ret->stamp = atomic_load_explicit(&instance->stamp, memory_order_relaxed);
	ret->generation = atomic_load_explicit(&instance->generation, memory_order_relaxed);
	ret->target_buffer = instance->target_buffer;
	ret->policy = instance->policy;
	if (ret->stamp != 0 && instance->memory)
		ret->memory = orma_client_memory_ref(instance->memory);
	pthread_mutex_unlock(&orma_client.mutex);
}

static int slot_renew(struct orma_packet *slot, struct orma_data_source *source, uint32_t idx)
{
	struct wanted_writer wanted;
	int r = -ENOTCONN;

	slot_discard(slot);
	if (source->extra.thread_state_bytes && !slot->state) {
		slot->state = orma_base_zalloc(source->extra.thread_state_bytes);
		if (!slot->state)
			return -ENOMEM;
		slot->state_done = source->extra.state_done;
	}
	slot->instance = &source->instances[idx];
	look_at_instance(slot->instance, &wanted);
	if (wanted.memory)
		r = orma_shm_writer_new(wanted.memory->arbiter, wanted.target_buffer, wanted.policy,
					&slot->writer);
	orma_client_memory_unref(wanted.memory);
	if (r < 0)
		return r;
	slot->writer->stall_timeout_ms = source->options.stall_timeout_ms;
	slot->stamp = wanted.stamp;
	slot->generation = wanted.generation;
	slot->lost_seen = orma_shm_writer_lost_packets(slot->writer);
	slot_forget(slot, source, true);
	return 0;
}

static struct orma_packet *slot_find(struct orma_data_source *source, uint32_t idx)
{
	struct orma_client_thread *self = orma_client_self;

	if (!self)
		self = self_new();
	if (!self)
		return NULL;
	if (!self->slots[source->idx])
		self->slots[source->idx] =
			orma_base_alloc_array(ORMA_INSTANCES_MAX, sizeof(struct orma_packet));
	return self->slots[source->idx] ? &self->slots[source->idx][idx] : NULL;
}

static struct orma_packet *refresh(struct orma_data_source *source, uint32_t idx, uint64_t stamp)
{
	struct orma_client_instance *instance = &source->instances[idx];
	struct orma_packet *slot;

	if (stamp == 0) {
		orma_client_self_discard(source, idx);
		return NULL;
	}
	slot = slot_find(source, idx);
	if (!slot || slot->is_open)
		return NULL;
	if (slot->writer &&
	    slot->generation == atomic_load_explicit(&instance->generation, memory_order_relaxed)) {
		slot->stamp = stamp;
		slot_forget(slot, source, false);
		return slot;
	}
	return slot_renew(slot, source, idx) < 0 ? NULL : slot;
}

struct orma_packet *orma_client_slot_refresh(struct orma_data_source *source, uint32_t idx,
					     uint64_t stamp)
{
	struct orma_packet *slot;
	int saved_errno;

	if (ORMA_UNLIKELY(is_refreshing))
		return NULL;
	if (ORMA_UNLIKELY(atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed))) {
		orma_client_revive();
		return NULL;
	}
	saved_errno = errno;
	is_refreshing = true;
	slot = refresh(source, idx, stamp);
	is_refreshing = false;
	errno = saved_errno;
	return slot;
}

void orma_client_slot_lost(struct orma_packet *slot)
{
	uint64_t lost = orma_shm_writer_lost_packets(slot->writer);

	atomic_fetch_add_explicit(&slot->instance->dropped, lost - slot->lost_seen,
				  memory_order_relaxed);
	slot->lost_seen = lost;
	slot->needs_state = true;
}

static struct orma_packet *own_slot(const struct orma_data_source *source, uint32_t idx)
{
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slot;

	if (!self || !self->slots[source->idx])
		return NULL;
	slot = &self->slots[source->idx][idx];
	return slot->writer && !slot->is_open ? slot : NULL;
}

void orma_client_self_flush(const struct orma_data_source *source, uint32_t idx)
{
	struct orma_packet *slot = own_slot(source, idx);

	if (slot)
		orma_shm_writer_flush(slot->writer);
}

void orma_client_self_discard(const struct orma_data_source *source, uint32_t idx)
{
	struct orma_packet *slot = own_slot(source, idx);

	if (slot)
		slot_discard(slot);
}

static void threads_discard_source(uint32_t source_idx)
{
	struct orma_client_thread *thread;
	struct orma_packet *slots;

	do {
		slots = NULL;
		pthread_mutex_lock(&orma_client.mutex);
		ORMA_LIST_FOR_EACH (thread, &orma_client.threads, item) {
			slots = ORMA_TAKE(thread->slots[source_idx]);
			if (slots)
				break;
		}
		pthread_mutex_unlock(&orma_client.mutex);
		slots_free(slots);
	} while (slots);
}

void orma_client_threads_discard(const struct orma_data_source *source)
{
	if (source) {
		threads_discard_source(source->idx);
		return;
	}
	for (uint32_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		threads_discard_source(i);
}
