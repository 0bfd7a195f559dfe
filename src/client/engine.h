/* SPDX-License-Identifier: Apache-2.0
 * engine.h - the library's engine: the one object of the process, its mutex, its phase.
 *
 * Picture:  application threads                     the loop thread ("orma")
 *
 *           thread ---> writer per instance            links: one per service
 *             |             |  chunks                     |  endpoint (socket, transport)
 *             |             +------> arbiter  ----------->|  commits, flushes
 *             |                                           |
 *             +--- register, sync, complete ---> queue -->+  setup, start, stop ---> callbacks
 *
 * Vocabulary: a *link* (link.h) is the client's relation to one service, connected or not; its
 * *endpoint* (endpoint.h) is the connection. A *slot* (thread.h) is what one thread has for one
 * instance of a data source (client_source.h, client_instance.h): its writer.
 *
 * Ownership: only the loop thread changes links and instances. It holds the mutex while it
 * changes the members that other threads read under the mutex. Emitters read two atomic words of an
 * instance, and otherwise their own slots. The mutex is never held over a system call or a callback.
 *
 * The object is static, so that a thread that ends after orma_shutdown() still finds the mutex.
 * Rejected: several clients per process (libraries in one process would each connect).
 */
#ifndef ORMA_CLIENT_ENGINE_H
#define ORMA_CLIENT_ENGINE_H

#include <orma/init.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "client/client_limits.h"
#include "client/link.h"
#include "ipc/trust.h"

#define ORMA_CLIENT_LINKS_MAX 3

enum orma_client_phase {
	ORMA_CLIENT_OFF = 0,
	ORMA_CLIENT_CHANGING, /* orma_init() or orma_shutdown() is running */
	ORMA_CLIENT_ON,
};

struct orma_client {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* signalled when a fence or a piece of waited work is done */
	bool has_condition;
	enum orma_client_phase phase; /* mutex */

	/* Written under the mutex with release, read by any thread with acquire. */
	struct orma_data_source *_Atomic sources[ORMA_DATA_SOURCES_MAX];

	/* Guarded by the mutex. */
	struct orma_data_source *retired; /* unregistered, newest first */
	struct orma_list work;            /* struct orma_client_work */
	struct orma_list threads;         /* struct orma_client_thread */
	uint64_t next_stamp;
	bool has_completions, has_new_descriptors;

	/* Constant while the phase is ON. */
	struct orma_loop *loop;
	struct orma_client_local *local; /* the service of this process, or NULL */
	struct orma_client_link links[ORMA_CLIENT_LINKS_MAX];
	size_t link_count;
	struct orma_init_options options;    /* strings are copies */
	struct orma_ipc_trust trust;         /* for the system's link */
	struct orma_transport_ops transport; /* with ORMA_BACKEND_CUSTOM */
	pthread_t thread;
	int32_t parent; /* the process whose fork made this one; 0 = the library began here */
	int poll_fd;    /* with caller_drives */

	/* The loop thread's. */
	struct orma_list syncs;    /* struct sync of sync.c */
	struct orma_list triggers; /* struct activation of trigger_activation.c */
	bool was_revived;          /* to be logged, once */
	bool is_shutting_down;     /* sessions start nothing any more */
	pthread_t driver;          /* with caller_drives: the thread that dispatched last */

	/* Links that are up. Written by the loop thread, read by any; relaxed: guards nothing. */
	_Atomic uint32_t up_count;
};

extern struct orma_client orma_client;

/* A hook for a layer above, called at the end of orma_init(), which fails if the hook fails. NULL, or set
 * once with release and read with acquire. */
extern int (*_Atomic orma_client_on_init)(void);

/* True: the phase is ON and the mutex is held. False: not initialised, or the child of a fork that could
 * not become a producer. */
bool orma_client_lock(void);
/* A number that was not handed out before, never 0. The caller holds the mutex. */
uint64_t orma_client_stamp_locked(void);
bool orma_client_is_loop_thread(void);
/* Makes the lists of a client that has none. */
void orma_client_init_lists(void);
/* Runs in the child of a fork: forgets everything of the parent but phase, sources and options. Frees
 * nothing, because the parent's threads may have been changing it. Async-signal-safe. */
void orma_client_forget_parent(void);

/* NULL = nothing is registered in that place. */
static inline struct orma_data_source *orma_client_source_at(size_t idx)
{
	return atomic_load_explicit(&orma_client.sources[idx], memory_order_acquire);
}

#endif
