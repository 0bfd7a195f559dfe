/* SPDX-License-Identifier: Apache-2.0
 * client.h - the library's engine: what its files share, and what src/track/ builds on.
 *
 * Picture:  application threads                     the loop thread ("orma")
 *
 *           thread ---> writer per instance            links: one per service
 *             |             |  chunks                     |  endpoint (socket, local)
 *             |             +------> arbiter  ----------->|  commits, flushes
 *             |                                           |
 *             +--- register, sync, complete ---> queue -->+  setup, start, stop ---> callbacks
 *
 * Vocabulary: a *link* is the client's relation to one service, connected or not; its *endpoint* is
 * the connection. A *slot* (struct orma_packet) is what one thread has for one instance: its
 * writer.
 *
 * Who may touch what: the loop thread alone changes links and instances, and holds the mutex while
 * it changes those members that other threads read under it. Emitters read two atomic words of an
 * instance and otherwise their own slots. The mutex is never held over a system call or a callback.
 */
#ifndef ORMA_CLIENT_CLIENT_H
#define ORMA_CLIENT_CLIENT_H

#include <orma/data_source.h>
#include <orma/init.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/str.h"
#include "client/endpoint.h"
#include "client/limits.h"
#include "ipc/address.h"
#include "ipc/trust.h"
#include "shm/arbiter.h"
#include "shm/trace_writer.h"

/* --- memory ----------------------------------------------------------------------------------- */

/* The creator's reference of an arbiter, shared: whoever is about to make a writer holds it too. */
struct orma_client_memory {
	_Atomic uint32_t refs; /* every thread; acquire-release, so that the last one sees all */
	struct orma_shm_arbiter *arbiter;
};

struct orma_client_link;

/* Checks and maps. -EPROTO (what the service sent cannot be used), -ENOMEM, -errno. */
int orma_client_memory_new(const struct orma_client_shared *shared, struct orma_client_link *link,
			   struct orma_client_memory **ret);
struct orma_client_memory *orma_client_memory_ref(struct orma_client_memory *memory);
void orma_client_memory_unref(struct orma_client_memory *memory);
/* In the child of a fork: see orma_shm_arbiter_orphan(). */
void orma_client_memory_orphan(struct orma_client_memory *memory);

/* --- data sources and their instances --------------------------------------------------------- */

enum orma_client_instance_state {
	ORMA_CLIENT_INSTANCE_FREE = 0,
	ORMA_CLIENT_INSTANCE_SET_UP,
	ORMA_CLIENT_INSTANCE_STARTED,
	ORMA_CLIENT_INSTANCE_STOPPING, /* on_stop was called; the application completes it later */
};

struct orma_client_instance {
	/* Which instance this is; never used twice in a process. Written before its stamp, relaxed.
	 */
	_Atomic uint64_t generation;
	/* Slots with an older stamp must not wait for a chunk to begin their state anew: see thread.c.
	 * Written before the stamp, relaxed. */
	_Atomic uint64_t clear_at_once_stamp;
	_Atomic uint64_t dropped; /* added to by emitters, relaxed; guards nothing */

	/* Changed by the loop thread under the mutex. */
	enum orma_client_instance_state state;
	bool is_stop_complete;
	struct orma_client_memory *memory; /* borrowed from the link; NULL = its link is gone */
	uint32_t target_buffer;
	enum orma_shm_policy policy;

	/* The loop thread's. */
	bool is_clear_lazy; /* slots may still wait for their next chunk to begin their state anew */
	bool is_startup;    /* no session has adopted it: `service_id` means nothing */
	uint32_t reservation; /* what its first writers have for a target buffer; 0 = nothing */
	struct orma_buf startup_config;
	struct orma_client_link *link; /* NULL = gone */
	uint64_t service_id;
	void *ctx; /* what on_setup stored; written under `lock` as well */

	/* For orma_data_source_lock_instance(); held by the loop thread before on_destroy only. */
	pthread_mutex_t lock;
	bool has_ctx; /* `lock` */
};

/* What src/track/ needs beyond the public options. */
struct orma_client_source_extra {
	/* Clearing may wait for the next chunk: see thread.c. The source calls
	 * orma_client_slot_note_state() in the packet that begins a state. */
	bool clears_by_chunk;
	/* Is in ORMA_CLIENT_HOT_PLACE and no other, so that emitters find slots and stamps without
	 * asking for the source. */
	bool is_hot;
	size_t thread_state_bytes; /* memory in each slot, zeroed at first; then `state_lost` has it */
	/*
	 * On the slot's thread: the reader knows nothing of the sequence any more; with `is_new` it
	 * is another sequence. NULL = zero it.
	 */
	void (*state_lost)(void *state, bool is_new);
	void (*state_done)(
		void *state);     /* before its memory is freed, on any thread; may be NULL */
	void (*freed)(void *ctx); /* the handle is no longer valid */
	/* In the child of a fork: async-signal-safe things only. Makes the next event call
	 * orma_client_revive(). `freed` follows at once where no client comes back. */
	void (*forked)(void *ctx);
	/* In such a child that is about to connect, or never will; `parent` is the process that
	 * forked. No instance is enabled. */
	void (*revived)(void *ctx, int32_t parent);
};

struct orma_data_source {
	_Atomic uint32_t started; /* bit = instance; written by the loop thread, read relaxed */
	/* Its place; changes with another registration, under late emitters: source_idx(). */
	uint32_t idx;
	/*
	 * By instance: changes whenever a slot has to look again; 0 = not started. Written by the
	 * loop thread with release after the instance's members; pairs with the acquire of
	 * orma_client_slot_get(). These are `own_stamps`, or orma_client_hot_stamps.
	 */
	_Atomic uint64_t *stamps;
	_Atomic uint64_t own_stamps[ORMA_INSTANCES_MAX];
	uint64_t id;                             /* for services; never used twice in a process */
	struct orma_data_source_options options; /* name is a copy, descriptor NULL */
	struct orma_client_source_extra extra;
	/*
	 * The whole descriptor. Of the mutex: `next_descriptor`; of the loop thread: `descriptor`,
	 * which it changes under the mutex. The last one is in one of them at any moment, for the
	 * child of a fork.
	 */
	struct orma_buf *next_descriptor;
	struct orma_buf *descriptor;
	struct orma_client_instance instances[ORMA_INSTANCES_MAX];
	/* Mutex: what threads keep of it, and may be giving back at this moment as they exit. */
	size_t user_count;
	struct orma_data_source *next_retired; /* mutex */
	/* Unregistered with a packet open or a user kept: nobody gets this handle again. */
	bool is_left;
};

static inline uint32_t orma_client_source_idx(const struct orma_data_source *source)
{
	return __atomic_load_n(&source->idx, __ATOMIC_RELAXED);
}

/* The stamps of the source in ORMA_CLIENT_HOT_PLACE. */
extern _Atomic uint64_t orma_client_hot_stamps[ORMA_INSTANCES_MAX];

/* --- links ------------------------------------------------------------------------------------ */

struct orma_client_flush {
	struct orma_list item;
	uint64_t request_id;
	uint64_t seq;
	bool is_running; /* its callbacks are being called; the loop thread's */
	uint8_t waiting[ORMA_DATA_SOURCES_MAX]; /* bit = instance that has postponed it; mutex */
};

struct orma_client_link {
	struct orma_loop *loop;
	struct orma_client_local *local;       /* NULL = a daemon, or: */
	struct orma_client_endpoint *endpoint; /* NULL = not connected */
	struct orma_client_memory *memory;
	/* `memory`, for the child of a fork: set after it, cleared before it goes; relaxed. */
	struct orma_client_memory *_Atomic inherited;
	/* The file of `memory` when that is our own, until a service has taken it; else -1. */
	int own_fd;
	uint32_t own_page_bytes;
	struct orma_timer startup_timer; /* when startup tracing is given up */
	struct orma_watch arbiter_watch;
	struct orma_timer commit_timer;
	struct orma_list flushes;   /* in the order of their arrival; mutex */
	uint32_t announced;         /* bit = source that the service knows */
	uint32_t outdated;          /* bit = source whose descriptor has changed since */
	unsigned syncs_outstanding; /* fences sent and not answered */
	int failure_error;
	struct orma_task failure; /* ends the connection from the loop, with that error */

	struct orma_timer retry_timer;
	uint64_t retry_ns;
	int told_error; /* what the log was told last, if it was */
	bool is_told;
	struct orma_watch folder_watch;
	struct orma_timer folder_timer;                  /* armed while the watch sleeps */
	int folder_fd;                                   /* inotify while not connected, or -1 */
	char folder_socket[ORMA_IPC_ADDRESS_TEXT_BYTES]; /* the file it waits for */

	bool is_custom; /* the program's own transport */
	bool is_up;
	bool wants_incomplete;
	bool is_committing;
};

/* link.c; all on the loop thread */
void orma_client_link_init(struct orma_client_link *link, struct orma_loop *loop,
			   struct orma_client_local *local, bool is_custom);
void orma_client_link_connect(struct orma_client_link *link);
/* Where the daemon listens; NULL when there is none. */
const char *orma_client_link_address(const struct orma_client_link *link);
/* What messages call it. */
const char *orma_client_link_name(const struct orma_client_link *link);
/* Makes memory and offers it to the service, with a new connection; the link must have none. */
int orma_client_link_offer_own(struct orma_client_link *link);
/* The memory goes, and with it all instances. */
void orma_client_link_drop_own(struct orma_client_link *link);
/* No service has taken it yet, and none shall. */
void orma_client_link_withdraw_own(struct orma_client_link *link);
/* Leaves; instances must have been stopped. */
void orma_client_link_done(struct orma_client_link *link);
void orma_client_link_fail(struct orma_client_link *link, int error);
/* Tells the service about new and changed data sources. */
void orma_client_link_announce(struct orma_client_link *link);
/* An instance of the source is gone, for which a changed descriptor may have waited. */
void orma_client_link_update(struct orma_client_link *link, struct orma_data_source *source);
void orma_client_link_withdraw(struct orma_client_link *link, struct orma_data_source *source);
/* Sends what is complete, then the acknowledgements of finished flushes. */
void orma_client_link_commit(struct orma_client_link *link);

/* retry.c */
/* The log hears of the connection (0), or why there is none, when that has changed. */
void orma_client_retry_tell(struct orma_client_link *link, int error);
void orma_client_retry_arm(struct orma_client_link *link, bool was_connected);
void orma_client_retry_disarm(struct orma_client_link *link);

/* instance.c; all on the loop thread */
void orma_client_setup_source(void *link, uint64_t instance_id, const void *config, size_t size);
void orma_client_start_source(void *link, uint64_t instance_id, const void *config, size_t size);
void orma_client_stop_source(void *link, uint64_t instance_id);
void orma_client_flush(void *link, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		       uint64_t flags);
void orma_client_clear_state(void *link, const uint64_t *instance_ids, size_t count);
/* startup.c: begins one without a session, into a reservation; 1, or 0 when it cannot be had. */
int orma_client_start_early(struct orma_client_link *link, const void *config, size_t size);
/* Ends those of the link that no session has adopted. */
void orma_client_stop_early(struct orma_client_link *link);
/* startup.c: may an instance with the one config go on as one with the other? */
bool orma_client_may_adopt(const struct orma_data_source *source, struct orma_str early,
			   struct orma_str config);
/* The connection is gone: its instances stop, postponed ones complete later. */
void orma_client_stop_link(struct orma_client_link *link);
/* Stops and destroys the instances of a source (NULL = of all), waiting for nobody. */
void orma_client_end_source(struct orma_data_source *source);
/* Carries out what orma_data_source_complete() noted. */
void orma_client_complete_all(void);

/* --- threads ---------------------------------------------------------------------------------- */

/* No instance's. */
#define ORMA_CLIENT_NO_STAMP UINT64_MAX

/* A slot. The public name: a packet being written is its slot's writer. */
struct orma_packet {
	struct orma_shm_writer *writer; /* NULL = none */
	/* Of the instance when last looked at, or ORMA_CLIENT_NO_STAMP. Relaxed: the owner compares it
	 * before it knows whose the slot is. */
	_Atomic uint64_t stamp;
	uint64_t generation; /* of the instance that `writer` belongs to */
	uint64_t lost_seen;  /* of the writer's lost packets */
	struct orma_data_source *source;
	struct orma_client_instance *instance;
	void *state; /* of source->extra.thread_state_bytes */
	/* The source's; here because a thread may end after its source. */
	void (*state_done)(void *state);
	struct orma_client_user *user; /* NULL = none yet */
	bool needs_state;
	bool is_user_outdated; /* user->incremental_state is of the past */
	bool is_clear_due;     /* as soon as there is another chunk than that of the state */
	/* What orma_shm_writer_next_chunk_id() was when the sequence last began its state: as long as
	 * it is the same, the state lies in the chunk in hand. */
	uint32_t state_chunk_id;
	/*
	 * The owner is using the slot; the members above are the loop thread's otherwise, once the
	 * instance has stopped: see thread.c. Accessed by orma_client_slot_is_open() and so on.
	 */
	bool is_open;
};

/* What the application keeps per thread and instance. */
struct orma_client_user {
	struct orma_client_user *next; /* in a list of those that go */
	struct orma_data_source *source;
	void *thread_state, *incremental_state;
};

static inline bool orma_client_slot_is_open(const struct orma_packet *slot)
{
	/* Pairs with the release of slot_leave(). */
	return __atomic_load_n(&slot->is_open, __ATOMIC_ACQUIRE);
}

static inline void orma_client_slot_enter(struct orma_packet *slot)
{
	__atomic_store_n(&slot->is_open, true, __ATOMIC_RELAXED);
	/* The loads that follow come later for the loop thread too: its membarrier() sees to that. */
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void orma_client_slot_leave(struct orma_packet *slot)
{
	__atomic_store_n(&slot->is_open, false, __ATOMIC_RELEASE);
}

static inline bool orma_client_slot_has(const struct orma_packet *slot, uint64_t stamp)
{
	return atomic_load_explicit(&slot->stamp, memory_order_relaxed) == stamp;
}

struct orma_client_thread {
	struct orma_list item; /* in client.threads; mutex */
	/* ORMA_INSTANCES_MAX slots per source, made at its first use, under the mutex. */
	struct orma_packet *slots[ORMA_DATA_SOURCES_MAX];
};

extern __thread struct orma_client_thread *orma_client_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

struct orma_packet *orma_client_slot_refresh(struct orma_data_source *source, uint32_t idx);

/*
 * The calling thread's slot of a started instance, entered and ready for one packet, until
 * orma_client_slot_leave(); NULL when it is not started, a packet is open, or there is no memory.
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
		/* With 0, which no slot has, the rest of the slot is the loop thread's. */
		if (ORMA_LIKELY(orma_client_slot_has(slot, stamp)))
			return slot;
		orma_client_slot_leave(slot);
	}
	return orma_client_slot_refresh(source, idx);
}

void orma_client_slot_lost(struct orma_packet *slot);

/* After a packet: notes whether it was lost. True when it was not. The sequence may have to begin
 * its state anew in any case. */
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

/* The calling thread's own writer of an instance. */
void orma_client_self_flush(struct orma_data_source *source, uint32_t idx);
/*
 * Loop thread: takes the writers of an instance that has stopped (its stamp is 0) from all threads
 * that are not in a packet, and hands over what is in them. Those that are do that themselves when
 * they come by next. The number of those.
 */
size_t orma_client_threads_reclaim(struct orma_data_source *source, uint32_t idx);
/* Frees the slots of all threads; none may be in use. */
void orma_client_threads_discard(void);
/* What the application keeps; only with an open packet. */
struct orma_client_user *orma_client_slot_user(struct orma_packet *slot);
int orma_client_threads_init(void);
/* In the child of a fork; async-signal-safe. */
void orma_client_threads_forked(void);

/* --- the one object --------------------------------------------------------------------------- */

enum orma_client_phase {
	ORMA_CLIENT_OFF = 0,
	ORMA_CLIENT_CHANGING, /* between the others */
	ORMA_CLIENT_ON,
};

#define ORMA_CLIENT_LINKS_MAX 3

struct orma_client {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* something that somebody waits for was done */
	bool has_condition;
	enum orma_client_phase phase;

	/* Written under the mutex with release, read anywhere with acquire. */
	struct orma_data_source *_Atomic sources[ORMA_DATA_SOURCES_MAX];

	/* Of the mutex. */
	struct orma_data_source *retired; /* unregistered, newest first */
	struct orma_list work;            /* struct orma_client_work */
	struct orma_list threads;         /* struct orma_client_thread */
	uint64_t next_stamp;
	bool has_completions, has_new_descriptors;

	/* Constant while the phase is ON. */
	struct orma_loop *loop;
	struct orma_client_local *local;
	struct orma_client_link links[ORMA_CLIENT_LINKS_MAX];
	size_t link_count;
	struct orma_init_options options;    /* strings are copies */
	struct orma_ipc_trust trust;         /* for the system's link */
	struct orma_transport_ops transport; /* with ORMA_BACKEND_CUSTOM */
	pthread_t thread;
	int32_t parent; /* the process that forked this one, if that was how it began; else 0 */

	struct orma_list syncs;    /* the loop thread's: struct sync of sync.c */
	struct orma_list triggers; /* the loop thread's: struct triggers of trigger.c */
	int poll_fd;               /* with caller_drives */
	bool was_revived;          /* the loop thread's once it runs; it has not told so yet */
	bool is_leaving;           /* the loop thread's: sessions start nothing any more */
	pthread_t driver;          /* with caller_drives: who dispatched last */
	_Atomic uint32_t
		up_count; /* links that are up; the loop thread writes, anyone reads, relaxed */
};

extern struct orma_client orma_client;
/*
 * Set in the child of a fork until it is a producer of its own: what there is belongs to threads
 * that do not exist here. Relaxed: whoever sees it too late finds a client that is OFF or CHANGING.
 */
extern _Atomic bool orma_client_is_forked;
/* How many forks lie between the first process and this one; changes in the child, before it has a
 * second thread. What remembers another number is the parent's. */
extern uint32_t orma_client_fork_count;

/* What a layer above does at the end of orma_init(), which fails with it. NULL or constant; set with
 * release, read with acquire. */
extern int (*_Atomic orma_client_on_init)(void);

/* False: not initialised, or the child of a fork that cannot. With true the mutex is held. */
bool orma_client_lock(void);
/* Makes the child of a fork a producer of its own, once; elsewhere does nothing. Keeps errno. */
void orma_client_revive(void);
/* fork.c, for client.c: watches for forks from now on. 0 or -errno. */
int orma_client_forks_init(void);
/* fork.c: in the child of a fork. What is left of the parent stays reachable, so that leak checkers do
 * not report it. Any thread; async-signal-safe. */
void orma_client_fork_leave(void *object);
/* True: in the child of a fork, and the caller is the one to go on until revival_end(). */
bool orma_client_revival_begin(void);
/* Negative: it failed, and the process stays silent. */
void orma_client_revival_end(int error);
/* pin.c: the module that this code is in stays loaded from now on. */
void orma_client_pin(void);
/* client.c, for fork.c: begins anew with these options (NULL = the parent's). */
int orma_client_restart(const struct orma_init_options *options);
/* client.c, for fork.c: as if there had never been one but for phase, sources and options. Async-
 * signal-safe. */
void orma_client_forget_parent(void);
/* client.c, for fork.c: the sources go, nothing else is touched; async-signal-safe with `is_quiet`,
 * when they are left where they are. */
void orma_client_forget_sources(bool is_quiet);
struct orma_data_source *orma_client_source_at(size_t idx); /* NULL = none */

/* For the loop thread, from any other; freed or reused by `fn`. */
struct orma_client_work {
	struct orma_list item;
	void (*fn)(struct orma_client_work *work);
};

/* 0 or -ENOTCONN; on success `fn` runs once, possibly before this returns. */
int orma_client_post(struct orma_client_work *work);
/* Posts and waits until `fn` has run. Not on the loop thread. */
int orma_client_post_and_wait(void (*fn)(void *ctx), void *ctx);
bool orma_client_is_loop_thread(void);
/* A number that was not handed out before, never 0. */
uint64_t orma_client_stamp_locked(void);
/* sync.c: asks for a fence that nobody waits for; finishes the others whatever their answers. */
bool orma_client_send_sync(struct orma_client_link *link);
void orma_client_syncs_end(void);
/* trigger.c: a service is there that may not know yet; forgets all. */
void orma_client_triggers_tell(struct orma_client_link *link);
void orma_client_triggers_end(void);
/* Links call these. */
void orma_client_link_is_up(struct orma_client_link *link);
void orma_client_link_is_down(struct orma_client_link *link);
void orma_client_link_synced(struct orma_client_link *link);

int orma_client_source_new(const struct orma_data_source_options *options,
			   const struct orma_client_source_extra *extra,
			   struct orma_data_source **ret);
/* On the loop thread: what the application registered or changed since the last call. */
void orma_client_sources_update(void);
void orma_client_source_free(struct orma_data_source *source);
/* For threads that exit at this moment, not for long. */
void orma_client_users_wait(void);
/* Those that are unregistered; the newest `kept_count` stay. */
void orma_client_retired_free(size_t kept_count);
/* In the child of a fork: no instance, and not yet announced. */
void orma_client_source_reset(struct orma_data_source *source);

#endif
