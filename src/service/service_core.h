/* SPDX-License-Identifier: Apache-2.0
 * service_core.h - the service: what it consists of, its clocks and its caches.
 *
 *   service --+-- producers --+-- data sources (also in the service's map of names)
 *             |               +-- instances  (links of the sessions' instances)
 *             |               +-- grants     (session buffers it may write to)
 *             +-- sessions  --+-- sources    (one per TraceConfig.data_sources entry)
 *             |               +-- instances  (source x registered data source)
 *             |               +-- buffers
 *             |               +-- flushes    (oldest first; ids ascending)
 *             +-- relays       (of other machines, the oldest first)
 *             +-- consumers --- session      (at most one, and back; a detached session has none)
 *
 * Each member belongs to the idea that its type is named after; that idea's header says what holds.
 * The order of the layers is in session_state.h. Callbacks never come back into the service, so
 * lists do not change under the loops that call them.
 */
#ifndef ORMA_SERVICE_CORE_H
#define ORMA_SERVICE_CORE_H

#include <orma/service.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "service/boost.h"
#include "service/flush.h"
#include "service/output/output.h"
#include "service/producer/producer.h"
#include "service/read/batch.h"
#include "service/relay.h"
#include "service/retire.h"
#include "service/service_limits.h"
#include "service/session_buffer.h"
#include "service/source_instance.h"
#include "service/timer.h"
#include "service/trigger/trigger_state.h"

struct orma_service_session_events;

/* When a session of a name was started last, for enable_extra_guardrails. */
struct orma_service_name_use {
	uint64_t hash, time_ns;
};

struct orma_service_name_history {
	struct orma_service_name_use items[ORMA_SERVICE_GUARDED_NAMES_MAX];
	size_t count;
};

/* The embedder's compressor; see <orma/service.h>. */
struct orma_service_compressor {
	struct orma_compressor_ops ops; /* no codecs = none */
	void *ctx;
};

struct orma_service_session_list {
	struct orma_list list;
	size_t count;
	uint64_t last_id;
};

struct orma_service_consumer_list {
	struct orma_list list;
	size_t count;
};

struct orma_service {
	void *ctx;
	uint64_t (*clock_ns)(void *ctx, int clock_id);
	void (*random)(void *ctx, void *data, size_t size);
	void (*close_fd)(void *ctx, int fd, uid_t owner); /* NULL = close() */
	int (*set_priority)(void *ctx, enum orma_priority_policy policy, uint32_t priority);
	struct orma_regex_ops regex_ops;
	struct orma_service_files files;
	struct orma_service_compressor compressor;
	bool scrapes_by_default;
	bool is_locked_down;
	bool is_shutting_down; /* no session begins any more */
	char *version;
	uid_t uid;
	uint64_t name_seed; /* seeds the hashes of names that peers choose */

	const struct orma_service_session_events *events;
	struct orma_service_timers timers;
	struct orma_service_producers producers;
	struct orma_service_data_sources data_sources;
	struct orma_service_instance_ids instances;
	struct orma_service_consumer_list consumers;
	struct orma_service_session_list sessions;
	struct orma_service_buffer_ids buffers;
	struct orma_service_flush_queue flushes;
	struct orma_service_retired retired;
	struct orma_service_relays relays;
	struct orma_list clones; /* being made */
	struct orma_service_trigger_history trigger_history;
	struct orma_service_name_history name_history;
	struct orma_service_boost boost; /* in force */

	uint64_t chunks_discarded, patches_discarded;

	/* Memory that is only kept to be used again. */
	struct orma_service_batch batch;
	uint8_t *scrape_copy;    /* one chunk; NULL until the first scrape */
	struct orma_buf reply;   /* to the last query */
	struct orma_buf scratch; /* one packet under construction */
	struct orma_buf block;   /* packets on their way to the compressor */
};

/* Frees the memory that is only kept to be used again. */
void orma_service_free_caches(struct orma_service *service);
uint64_t orma_service_now_ns(const struct orma_service *service);      /* CLOCK_MONOTONIC */
uint64_t orma_service_boot_ns(const struct orma_service *service);     /* CLOCK_BOOTTIME */
uint64_t orma_service_realtime_ns(const struct orma_service *service); /* CLOCK_REALTIME */
/* Arms for the next multiple of the period on the wall clock. The timer's function is set
 * already. */
void orma_service_arm_aligned(struct orma_service *service, struct orma_service_timer *timer,
			      uint32_t period_ms);
/* One reading of the TSC, or 0 where there is none. */
uint64_t orma_service_tsc(void);

#endif
