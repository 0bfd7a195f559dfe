/* SPDX-License-Identifier: Apache-2.0
 * client_instance.h - an instance of a data source: its use by one session.
 *
 * Invariants: `started` of the source has the instance's bit, and its stamp is not 0, exactly from its
 * start to the end of its stop. `memory` is set only during that time, and equals its link's memory.
 */
#ifndef ORMA_CLIENT_INSTANCE_H
#define ORMA_CLIENT_INSTANCE_H

#include <orma/data_source.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "client/client_memory.h"
#include "shm/trace_writer.h"

enum orma_client_instance_state {
	ORMA_CLIENT_INSTANCE_FREE = 0,
	ORMA_CLIENT_INSTANCE_SET_UP,
	ORMA_CLIENT_INSTANCE_STARTED,
	ORMA_CLIENT_INSTANCE_STOPPING, /* on_stop was called; the application completes it later */
};

struct orma_client_instance {
	/* The source whose table contains this instance. Constant. */
	struct orma_data_source *source;

	/* Unique for each use of this place by a session. Written before the
	 * instance's stamp, relaxed. */
	_Atomic uint64_t generation;
	/* Slots with an older stamp begin their state anew without waiting for the next chunk: see thread.c.
	 * Written before the stamp, relaxed. */
	_Atomic uint64_t clear_at_once_stamp;
	_Atomic uint64_t dropped; /* added to by emitters, relaxed; guards nothing */

	/* Changed by the loop thread under the mutex. */
	enum orma_client_instance_state state;
	bool is_stop_complete;             /* set by any thread */
	bool is_start_complete;            /* set by any thread */
	struct orma_client_memory *memory; /* borrowed from the link; NULL = its link is gone */
	uint32_t target_buffer;
	enum orma_shm_policy policy;
	uint32_t stall_timeout_ms; /* limit on a wait of its writers; on_setup may change it */

	/* The loop thread's. */
	bool waits_for_start; /* the service has asked for the start, and has no answer yet */
	bool is_clear_lazy;   /* slots may wait for their next chunk to begin their state anew */
	bool is_startup;      /* no session has taken it over: `service_id` means nothing */
	uint32_t reservation; /* is_startup: the target buffer of its first writers, until then */
	struct orma_buf startup_config;
	struct orma_client_link *link; /* NULL = gone */
	uint64_t service_id;
	void *ctx; /* stored by on_setup; written under `lock` as well */

	/* Held between orma_data_source_lock_instance() and _unlock_instance(). The loop thread
	 * takes it when on_setup has returned and before on_destroy. */
	pthread_mutex_t lock;
	bool has_ctx; /* `lock` */
};

/* The events of a link; loop thread only. */
void orma_client_instance_setup(struct orma_client_link *link, uint64_t instance_id,
				const void *config, size_t size);
void orma_client_instance_start(struct orma_client_link *link, uint64_t instance_id,
				const void *config, size_t size);
void orma_client_instance_stop(struct orma_client_link *link, uint64_t instance_id);
void orma_client_instances_flush(struct orma_client_link *link, uint64_t request_id,
				 const uint64_t *instance_ids, size_t count, uint64_t flags);
void orma_client_instances_clear(struct orma_client_link *link, const uint64_t *instance_ids,
				 size_t count);

/* Starts one without a session, whose writers are for a reservation. 1, 0 (no such source, no free
 * instance or reservation), or -errno. Loop thread only, like all below. */
int orma_client_instance_start_early(struct orma_client_link *link, const void *config,
				     size_t size);
/* Stops the link's instances that no session has taken over. */
void orma_client_instances_stop_early(struct orma_client_link *link);
/* The connection is gone: stops all instances of the link. A stop that the application postpones
 * is completed later. */
void orma_client_instances_stop_link(struct orma_client_link *link);
/* Stops and destroys all instances of a source, without waiting for postponed stops. */
void orma_client_instances_end_source(struct orma_data_source *source);
/* Carries out what orma_data_source_complete() has noted. */
void orma_client_instances_complete(void);

/* --- shared with instance_setup.c ------------------------------------------------------------- */

/* The instance that the service knows by this id; NULL = none. */
struct orma_client_instance *orma_client_instance_find(const struct orma_client_link *link,
						       uint64_t service_id);
/* The description that callbacks get. */
struct orma_instance orma_client_instance_describe(const struct orma_client_instance *instance);
void orma_client_instance_log(const struct orma_client_instance *instance, const char *state);
/* SET_UP -> STARTED. */
void orma_client_instance_begin(struct orma_client_instance *instance, struct orma_str config);

#endif
