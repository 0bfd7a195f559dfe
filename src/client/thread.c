/* SPDX-License-Identifier: Apache-2.0
 * thread.c - what each emitting thread owns: a table of slots, one per data source instance.
 *
 *   thread-local pointer -> table of sources -> 8 slots -> trace writer -> chunk in shared memory
 *
 * A slot is looked up with one acquire load, the instance's `stamp`. As long as it equals the one
 * that the slot remembers, nothing has changed since: the writer is used as it is. Otherwise the
 * slot is brought up to date here, by its own thread: the writer of an instance that is gone is
 * freed and one for the new instance is made. If the generation is the same, incremental state was
 * cleared, and only the state is forgotten.
 *
 * Clearing may wait. A ring loses its oldest data by the chunk, so a second state in a chunk is of no
 * use to a reader. When the chunk in hand has a state, a sequence of track events begins the next one
 * in its next chunk; otherwise it does so at its next event. So states take a part of the ring that
 * does not depend on how often the service asks. A flush ends the waiting: the service cuts its
 * files at a request for clearing and a flush, and each file is to be readable alone. The first event
 * of the next chunk comes before the state, because only then is it known that there is a next chunk.
 * Rejected: to leave the chunk in hand early (an unused rest in each chunk, for one event in the
 * oldest chunk of each thread).
 *
 * Why no lock is needed against an instance that stops meanwhile: the writer belongs to the thread
 * while it is in the slot (`is_open`), and keeps the arbiter and its memory alive; a packet that is
 * finished too late goes into a chunk that the service ignores or nobody reads.
 *
 * Threads that sleep would keep their chunks after a session has stopped, and many of them all of
 * the memory. The loop thread therefore takes their writers away:
 *
 *   owner:  is_open = 1; (compiler barrier) read stamp     loop:  stamp = 0; membarrier(); read is_open
 *
 * membarrier() makes every running thread of the process execute a full barrier, so that either the
 * owner sees the stamp 0 and does not use the slot, or the loop sees that the owner is using it and leaves it
 * alone. The emit path pays one plain store. Where the kernel has no membarrier(), the loop thread takes no
 * writers: each owner frees them at its next event or at its end. The mutex is taken when a writer is made,
 * when another thread frees it, and when the thread ends.
 *
 * Rejected: stopping threads to reclaim their writers (signals, unbounded waits); a full barrier
 * per event; a hash table of slots (the table of pointers is 256 bytes per thread and takes one
 * load).
 */
#include "client/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/signals.h"
#include "client/engine.h"
#include "client/revival.h"

/* The private expedited commands of linux/membarrier.h, a header that not every system has. */
enum { MEMBARRIER_NOW = 1 << 3, MEMBARRIER_REGISTER = 1 << 4 };

_Atomic uint64_t orma_client_hot_stamps[ORMA_INSTANCES_MAX];
__thread struct orma_client_thread *orma_client_self __attribute__((tls_model("initial-exec")));
/* Set while a slot is refreshed: events from inside of that (an allocator that is itself traced) are
 * not emitted. */
static __thread bool is_refreshing __attribute__((tls_model("initial-exec")));

static pthread_key_t thread_key;
static _Atomic bool has_thread_key; /* written once, read in the child of a fork; relaxed */
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static int thread_key_error;

static void user_free(struct orma_client_user *user)
{
	const struct orma_data_source_options *options;

	if (!user)
		return;
	options = &user->source->options;
	if (user->incremental_state && options->delete_incremental_state)
		options->delete_incremental_state(options->ctx, user->incremental_state);
	if (user->thread_state && options->delete_thread_state)
		options->delete_thread_state(options->ctx, user->thread_state);
	pthread_mutex_lock(&orma_client.mutex);
	user->source->user_count--;
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_free(user);
}

static void slots_free(struct orma_packet *slots)
{
	if (!slots)
		return;
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		orma_shm_writer_free(slots[i].writer);
		user_free(slots[i].user);
		if (slots[i].state && slots[i].state_done)
			slots[i].state_done(slots[i].state);
		orma_base_free(slots[i].state);
	}
	orma_base_free(slots);
}

/* The thread ends. Events in later destructors make a new table, and this runs again. */
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

void orma_client_threads_prepare(void)
{
	(void)syscall(SYS_membarrier, MEMBARRIER_REGISTER, 0);
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
	/* Storing NULL over a value does not allocate, so this stays async-signal-safe. */
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

/* Resets the slot's state: from now on the reader of the sequence knows nothing. */
static void slot_forget(struct orma_packet *slot, const struct orma_data_source *source,
			bool is_new)
{
	slot->needs_state = slot->is_user_outdated = true;
	slot->is_clear_due = false;
	if (slot->state && source->extra.state_lost)
		source->extra.state_lost(slot->state, is_new);
	else if (slot->state)
		memset(slot->state, 0, source->extra.thread_state_bytes);
}

/* Objects taken out of slots, to be freed without the mutex. */
struct taken {
	struct orma_shm_writer *writer;
	struct orma_client_user *user;
};

static void take_locked(struct orma_packet *slot, struct taken *taken)
{
	if (slot->writer) {
		slot->writer->next = taken->writer;
		taken->writer = ORMA_TAKE(slot->writer);
	}
	if (slot->user) {
		slot->user->next = taken->user;
		taken->user = ORMA_TAKE(slot->user);
	}
	atomic_store_explicit(&slot->stamp, ORMA_CLIENT_NO_STAMP, memory_order_relaxed);
	slot->generation = 0;
}

static void taken_free(struct taken *taken)
{
	while (taken->writer) {
		struct orma_shm_writer *writer = taken->writer;

		taken->writer = writer->next;
		orma_shm_writer_free(writer);
	}
	while (taken->user) {
		struct orma_client_user *user = taken->user;

		taken->user = user->next;
		user_free(user);
	}
}

static void slot_discard(struct orma_packet *slot)
{
	struct taken taken = {0};

	pthread_mutex_lock(&orma_client.mutex);
	take_locked(slot, &taken);
	pthread_mutex_unlock(&orma_client.mutex);
	taken_free(&taken);
}

struct wanted_writer {
	struct orma_client_memory *memory; /* a reference; NULL = none to be had */
	uint64_t stamp, generation;
	uint32_t target_buffer;
	enum orma_shm_policy policy;
	uint32_t stall_timeout_ms;
};

static void look_at_instance(const struct orma_data_source *source, uint32_t idx,
			     struct wanted_writer *ret)
{
	const struct orma_client_instance *instance = &source->instances[idx];

	*ret = (struct wanted_writer){0};
	pthread_mutex_lock(&orma_client.mutex);
	ret->stamp = atomic_load_explicit(&source->stamps[idx], memory_order_relaxed);
	ret->generation = atomic_load_explicit(&instance->generation, memory_order_relaxed);
	ret->target_buffer = instance->target_buffer;
	ret->policy = instance->policy;
	ret->stall_timeout_ms = instance->stall_timeout_ms;
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
	ORMA_ASSERT(!slot->writer && !slot->user && idx < ORMA_INSTANCES_MAX);
	slot->source = source;
	slot->instance = &source->instances[idx];
	look_at_instance(source, idx, &wanted);
	if (wanted.memory)
		r = orma_shm_writer_new(wanted.memory->arbiter, wanted.target_buffer, wanted.policy,
					&slot->writer);
	orma_client_memory_unref(wanted.memory);
	if (r < 0)
		return r;
	slot->writer->stall_timeout_ms = wanted.stall_timeout_ms;
	atomic_store_explicit(&slot->stamp, wanted.stamp, memory_order_relaxed);
	slot->generation = wanted.generation;
	slot->lost_seen = orma_shm_writer_lost_packets(slot->writer);
	slot_forget(slot, source, true);
	return 0;
}

static struct orma_packet *slots_add(struct orma_client_thread *self, uint32_t source_idx)
{
	struct orma_packet *slots =
		orma_base_alloc_array(ORMA_INSTANCES_MAX, sizeof(struct orma_packet));

	for (size_t i = 0; slots && i < ORMA_INSTANCES_MAX; i++)
		atomic_init(&slots[i].stamp, ORMA_CLIENT_NO_STAMP);
	ORMA_ASSERT(source_idx < ORMA_DATA_SOURCES_MAX && !self->slots[source_idx]);
	pthread_mutex_lock(&orma_client.mutex);
	self->slots[source_idx] = slots;
	pthread_mutex_unlock(&orma_client.mutex);
	return slots;
}

static struct orma_packet *slot_find(uint32_t place, uint32_t idx)
{
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slots;

	if (!self)
		self = self_new();
	if (!self)
		return NULL;
	slots = self->slots[place];
	if (!slots)
		slots = slots_add(self, place);
	return slots ? &slots[idx] : NULL;
}

/* True: the chunk in hand contains a state already, so the next one is useful only in the next chunk. */
static bool may_clear_wait(const struct orma_packet *slot)
{
	return slot->source->extra.clears_by_chunk && !slot->needs_state &&
	       slot->state_chunk_id == orma_shm_writer_next_chunk_id(slot->writer) &&
	       atomic_load_explicit(&slot->stamp, memory_order_relaxed) >=
		       atomic_load_explicit(&slot->instance->clear_at_once_stamp,
					    memory_order_relaxed);
}

/* Brings the slot, which the caller has entered, up to date with the instance. */
static int slot_update(struct orma_packet *slot, struct orma_data_source *source, uint32_t idx)
{
	struct orma_client_instance *instance = &source->instances[idx];
	uint64_t stamp = atomic_load_explicit(&source->stamps[idx], memory_order_acquire);

	if (stamp == 0) {
		/* If the loop thread could take the writer, it has done so. The slot may also be another source's,
		 * which had this place before. */
		if (slot->instance == instance)
			slot_discard(slot);
		return -ENOTCONN;
	}
	if (slot->writer && slot->instance == instance &&
	    slot->generation == atomic_load_explicit(&instance->generation, memory_order_relaxed)) {
		bool may_wait = may_clear_wait(slot);

		atomic_store_explicit(&slot->stamp, stamp, memory_order_relaxed);
		if (may_wait)
			slot->is_clear_due = true;
		else
			slot_forget(slot, source, false);
		return 0;
	}
	return slot_renew(slot, source, idx);
}

static struct orma_packet *refresh(struct orma_data_source *source, uint32_t idx)
{
	bool is_started = atomic_load_explicit(&source->stamps[idx], memory_order_relaxed) != 0;
	uint32_t place = orma_client_source_idx(source);
	struct orma_packet *slot = NULL;

	if (is_started || (orma_client_self && orma_client_self->slots[place]))
		slot = slot_find(place, idx);
	if (!slot || orma_client_slot_is_open(slot))
		return NULL;
	orma_client_slot_enter(slot);
	if (slot_update(slot, source, idx) == 0)
		return slot;
	orma_client_slot_leave(slot);
	return NULL;
}

struct orma_packet *orma_client_slot_refresh(struct orma_data_source *source, uint32_t idx)
{
	struct orma_packet *slot;
	sigset_t signals;
	int saved_errno;

	if (ORMA_UNLIKELY(is_refreshing))
		return NULL;
	if (ORMA_UNLIKELY(orma_client_is_silent_child())) {
		orma_client_revive();
		return NULL;
	}
	saved_errno = errno;
	/* A signal handler that jumps out of here would leave the mutex locked. */
	orma_base_signals_block(&signals);
	is_refreshing = true;
	slot = refresh(source, idx);
	is_refreshing = false;
	orma_base_signals_restore(&signals);
	errno = saved_errno;
	return slot;
}

void orma_client_slot_lost(struct orma_packet *slot)
{
	uint64_t lost = orma_shm_writer_lost_packets(slot->writer);

	atomic_fetch_add_explicit(&slot->instance->dropped, lost - slot->lost_seen,
				  memory_order_relaxed);
	slot->lost_seen = lost;
	slot->needs_state = slot->is_user_outdated = true;
}

void orma_client_self_flush(struct orma_data_source *source, uint32_t idx)
{
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slot;

	if (!self || !self->slots[orma_client_source_idx(source)])
		return;
	slot = orma_client_slot_get(source, idx);
	if (!slot)
		return;
	orma_shm_writer_flush(slot->writer);
	orma_client_slot_leave(slot);
}

void orma_client_self_abandon(struct orma_data_source *source)
{
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slots = self ? self->slots[orma_client_source_idx(source)] : NULL;

	for (size_t i = 0; slots && i < ORMA_INSTANCES_MAX; i++) {
		if (!orma_client_slot_is_open(&slots[i]))
			continue;
		orma_client_keep_reachable(ORMA_TAKE(slots[i].writer));
		atomic_store_explicit(&slots[i].stamp, ORMA_CLIENT_NO_STAMP, memory_order_relaxed);
		slots[i].generation = 0;
		orma_client_slot_leave(&slots[i]);
	}
}

/* --- reclaiming writers ----------------------------------------------------------------------- */

/* Loop thread. False: the kernel has no membarrier(), or a filter forbids it. */
static bool have_all_threads_pass_a_barrier(void)
{
	static bool is_registered;

	if (!is_registered && syscall(SYS_membarrier, MEMBARRIER_REGISTER, 0) < 0)
		return false;
	is_registered = true;
	if (syscall(SYS_membarrier, MEMBARRIER_NOW, 0) == 0)
		return true;
	/* Registers again, because the first registration may have been done by the parent of a fork. */
	is_registered = syscall(SYS_membarrier, MEMBARRIER_REGISTER, 0) == 0;
	return is_registered && syscall(SYS_membarrier, MEMBARRIER_NOW, 0) == 0;
}

size_t orma_client_threads_reclaim(struct orma_data_source *source, uint32_t idx)
{
	bool has_barrier = have_all_threads_pass_a_barrier();
	struct orma_client_thread *thread;
	struct taken taken = {0};
	size_t open_count = 0;

	pthread_mutex_lock(&orma_client.mutex);
	ORMA_LIST_FOR_EACH (thread, &orma_client.threads, item) {
		struct orma_packet *slots = thread->slots[orma_client_source_idx(source)];

		if (!slots || (!has_barrier && thread != orma_client_self))
			continue;
		if (orma_client_slot_is_open(&slots[idx]))
			open_count++;
		else if (slots[idx].instance == &source->instances[idx])
			take_locked(&slots[idx], &taken);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	taken_free(&taken);
	return open_count;
}

void orma_client_threads_discard(void)
{
	struct orma_client_thread *thread;
	struct orma_packet *slots;

	do {
		slots = NULL;
		pthread_mutex_lock(&orma_client.mutex);
		ORMA_LIST_FOR_EACH (thread, &orma_client.threads, item)
			for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX && !slots; i++)
				slots = ORMA_TAKE(thread->slots[i]);
		pthread_mutex_unlock(&orma_client.mutex);
		slots_free(slots);
	} while (slots);
}

/* --- the application's states ----------------------------------------------------------------- */

static void renew_incremental(struct orma_client_user *user, uint32_t idx)
{
	const struct orma_data_source_options *options = &user->source->options;

	if (user->incremental_state && options->clear_incremental_state &&
	    options->clear_incremental_state(options->ctx, user->incremental_state))
		return;
	if (user->incremental_state && options->delete_incremental_state)
		options->delete_incremental_state(options->ctx, user->incremental_state);
	user->incremental_state =
		options->create_incremental_state
			? options->create_incremental_state(options->ctx, user->source, idx)
			: NULL;
}

static struct orma_client_user *user_new(struct orma_data_source *source, uint32_t idx)
{
	const struct orma_data_source_options *options = &source->options;
	struct orma_client_user *user = orma_base_zalloc(sizeof(*user));

	if (!user)
		return NULL;
	user->source = source;
	pthread_mutex_lock(&orma_client.mutex);
	source->user_count++;
	pthread_mutex_unlock(&orma_client.mutex);
	if (options->create_thread_state)
		user->thread_state = options->create_thread_state(options->ctx, source, idx);
	return user;
}

struct orma_client_user *orma_client_slot_user(struct orma_packet *slot)
{
	uint32_t idx = orma_client_instance_idx(slot->instance);

	if (!slot->user) {
		slot->user = user_new(slot->source, idx);
		if (!slot->user)
			return NULL;
	}
	if (slot->is_user_outdated) {
		slot->is_user_outdated = false;
		renew_incremental(slot->user, idx);
	}
	return slot->user;
}
