/* SPDX-License-Identifier: Apache-2.0
 * relay.h - other machines, and what a trace contains about them; see relay.c.
 */
#ifndef ORMA_SERVICE_RELAY_H
#define ORMA_SERVICE_RELAY_H

#include <orma/service.h>

#include "base/buf.h"
#include "base/list.h"
#include "service/read/clock_snapshot.h"
#include "service/service_limits.h"

struct orma_service_session;

/* A reading of two machines' clocks: the other's when the call was sent, ours when it arrived. */
struct orma_service_clock_sync {
	uint64_t news; /* the number of its round; 0 = not in any trace yet */
	enum orma_relay_phase phase;
	uint32_t client_count;
	struct orma_relay_clock client_clocks[ORMA_SERVICE_RELAY_CLOCKS_MAX];
	struct orma_service_clock_snapshot host_clocks;
};

struct orma_relay_port {
	struct orma_service *service;
	struct orma_list link; /* service->relays.list */
	uint32_t machine_id;
	struct orma_buf system_info;                                         /* empty = not known */
	struct orma_service_clock_sync syncs[ORMA_SERVICE_CLOCK_SYNCS_KEPT]; /* oldest first */
	size_t sync_count;
	/* Numbers of news, see relay.c; 0 = none yet. */
	uint64_t info_news, first_clock_news, clock_news;
	uint64_t clock_news_ns; /* when clock_news was given */
};

struct orma_service_relays {
	struct orma_list list; /* oldest first */
	size_t count;
	uint64_t last_news;
};

/* The number up to which a session's trace contains the news. */
struct orma_service_relay_position {
	uint64_t infos_written, clocks_written;
};

/* Write what the session's trace does not know yet of other machines. */
int orma_service_relays_write_infos(struct orma_service_session *session);
int orma_service_relays_write_clocks(struct orma_service_session *session);

#endif
