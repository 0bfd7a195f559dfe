/* SPDX-License-Identifier: Apache-2.0
 * producer.h - producers, their data sources, and which buffers they may write to.
 *
 * Invariants
 *  - An entry of by_name has at least one data source.
 *  - A serial is given once, in the order in which producers came; an id may be used again.
 */
#ifndef ORMA_SERVICE_PRODUCER_H
#define ORMA_SERVICE_PRODUCER_H

#include <orma/service.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "service/producer/producer_memory.h"
#include "service/scrape.h"

struct orma_service_session;
struct orma_service_session_buffer;

/* All registered data sources of one name. */
struct orma_service_name {
	uint64_t hash;                  /* key in service->data_sources.by_name */
	struct orma_service_name *next; /* another name of the same hash */
	struct orma_list data_sources;
	char text[];
};

struct orma_service_data_source {
	struct orma_list link;      /* service->data_sources.list, in order of registration */
	struct orma_list name_link; /* name->data_sources */
	struct orma_list producer_link;
	struct orma_list instances; /* in all sessions */
	struct orma_producer_port *producer;
	struct orma_service_name *name;
	uint64_t id; /* as the producer says; 0 = none */
	bool will_notify_on_start, will_notify_on_stop, handles_incremental_state_clear, no_flush;
	struct orma_buf descriptor; /* as received */
};

/* The permission to write to one buffer. */
struct orma_service_grant {
	uint32_t buffer_id;
	struct orma_service_session_buffer *buffer;
	bool has_written; /* since it was asked to clear incremental state; see incremental.c */
};

struct orma_service_grants {
	struct orma_service_grant *items;
	size_t count, capacity;
};

struct orma_producer_port {
	struct orma_service *service;
	struct orma_list link; /* service->producers.list */
	uint32_t id;           /* 1..65535 */
	uint64_t serial;       /* from 1; never used again */
	uid_t uid;
	pid_t pid;
	uint32_t machine_id;
	char *name, *sdk_version, *machine_name;
	struct orma_producer_callbacks callbacks;
	void *ctx;
	bool is_in_process, is_emulated, is_scraped, is_unverified;
	struct orma_service_memory memory;
	struct orma_service_scrape_walk drained; /* see orma_service_disconnect_step() */

	struct orma_list data_sources;
	size_t data_source_count, descriptor_bytes;
	struct orma_list instances;
	struct orma_service_grants grants;
	struct orma_map writers; /* writer id -> buffer id + 1, as a pointer */
};

/* All producers. */
struct orma_service_producers {
	struct orma_list list; /* serials ascend */
	size_t count;
	struct orma_map by_id;
	uint32_t last_id;
	uint64_t seen_count; /* the last serial */
};

/* All data sources. */
struct orma_service_data_sources {
	struct orma_list list;
	size_t count;
	size_t descriptor_bytes;
	struct orma_map by_name; /* name hash -> first struct orma_service_name */
	uint64_t set_up_count;   /* instances ever set up */
};

struct orma_service_name *orma_service_name_find(const struct orma_service *service,
						 struct orma_str text);
uint64_t orma_service_name_hash(const struct orma_service *service, struct orma_str text);
struct orma_producer_port *orma_service_producer_by_id(const struct orma_service *service,
						       uint32_t id);
/* NULL = the producer may not write to that buffer. */
struct orma_service_grant *orma_service_producer_grant(const struct orma_producer_port *port,
						       uint64_t buffer_id);
int orma_service_producer_add_grant(struct orma_producer_port *port,
				    struct orma_service_session_buffer *buffer);
void orma_service_producer_remove_grants(struct orma_producer_port *port,
					 const struct orma_service_session *session);
/* The buffer id that a writer was registered for, or 0. */
uint32_t orma_service_producer_writer_buffer(const struct orma_producer_port *port,
					     uint32_t writer_id);

#endif
