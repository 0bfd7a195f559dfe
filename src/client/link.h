/* SPDX-License-Identifier: Apache-2.0
 * link.h - the client's relation to one service. Loop thread only, except where a member says more.
 *
 * A link lives as long as the client; its endpoint and its memory come and go with connections.
 * Invariants: `is_up` only with an endpoint; `announced` is empty unless it is up; own memory
 * (`own_fd`) is there only until a service has taken or refused it.
 */
#ifndef ORMA_CLIENT_LINK_H
#define ORMA_CLIENT_LINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "client/client_memory.h"
#include "client/endpoint.h"
#include "client/retry.h"

struct orma_data_source;

enum orma_client_link_kind {
	ORMA_CLIENT_LINK_DAEMON,
	ORMA_CLIENT_LINK_IN_PROCESS,
	ORMA_CLIENT_LINK_CUSTOM, /* the program's own transport */
};

struct orma_client_link {
	enum orma_client_link_kind kind;
	struct orma_loop *loop;
	struct orma_client_endpoint *endpoint; /* NULL = not connected */
	bool is_up;                            /* data sources can be registered */

	struct orma_client_memory *memory;
	/* A copy of `memory` for the child of a fork: set after it, cleared before it is released. Relaxed. */
	struct orma_client_memory *_Atomic inherited;
	bool wants_incomplete; /* emulated memory: unfinished chunks are sent at a flush */
	struct orma_watch arbiter_watch;
	struct orma_timer commit_timer;
	bool is_committing;

	/* Memory of our own that is offered to a service: its file, or -1. */
	int own_fd;
	uint32_t own_page_bytes;
	struct orma_timer startup_timer; /* when startup tracing is given up */

	struct orma_list flushes;   /* struct orma_client_flush; mutex */
	uint32_t announced;         /* bit = data source that the service knows */
	uint32_t outdated;          /* bit = data source whose descriptor has changed since */
	unsigned syncs_outstanding; /* fences sent and not answered */

	struct orma_client_retry retry;
};

void orma_client_link_init(struct orma_client_link *link, struct orma_loop *loop,
			   enum orma_client_link_kind kind);
/* Does nothing when it is connected, or connecting. */
void orma_client_link_connect(struct orma_client_link *link);
/* Somebody has closed the descriptors of the connection: begins anew. */
void orma_client_link_reconnect(struct orma_client_link *link);
/* Disconnects; instances must have been stopped. */
void orma_client_link_done(struct orma_client_link *link);
/* The address of the daemon; NULL = the service is not a daemon. */
const char *orma_client_link_address(const struct orma_client_link *link);
/* Makes memory of our own and offers it to the service with a new connection. The link must have no
 * memory. 0 or -errno. */
int orma_client_link_offer_memory(struct orma_client_link *link);
/* Withdraws that memory, which no service may have taken yet. Ends all instances in it. */
void orma_client_link_withdraw_memory(struct orma_client_link *link);

/* link_commit.c: how long finished chunks are gathered. Call it before orma_init(). */
void orma_client_link_gather_for(uint64_t ns);
/* link_commit.c: sends what is complete, then acknowledges finished flushes. */
void orma_client_link_commit(struct orma_client_link *link);
/* link_commit.c: commits when the arbiter of the link's memory asks for it. 0 or -errno. */
int orma_client_link_watch_arbiter(struct orma_client_link *link);

/* link_announce.c: tells the service about new and changed data sources. */
void orma_client_link_announce(struct orma_client_link *link);
/* link_announce.c: an instance of the source has ended; sends a changed descriptor that waited for
 * that. */
void orma_client_link_update(struct orma_client_link *link, struct orma_data_source *source);
/* link_announce.c: tells the service that the source is gone. */
void orma_client_link_withdraw(struct orma_client_link *link, struct orma_data_source *source);

#endif
