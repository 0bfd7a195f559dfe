/* SPDX-License-Identifier: Apache-2.0
 * flush.h - flushes: producers are asked to hand over what they hold; see flush.c.
 */
#ifndef ORMA_SERVICE_FLUSH_H
#define ORMA_SERVICE_FLUSH_H

#include <orma/service.h>

#include "base/list.h"
#include "service/timer.h"

struct orma_producer_port;
struct orma_service_clone;
struct orma_service_session;

/* Flush flags of the protocol: initiator traced, and the reason. */
enum {
	ORMA_SERVICE_FLUSH_REASON_MASK = 0xf,
	ORMA_SERVICE_FLUSH_REASON_PERIODIC = 1,
	ORMA_SERVICE_FLUSH_REASON_STOP = 2,
	ORMA_SERVICE_FLUSH_REASON_CLONE = 3,
	ORMA_SERVICE_FLUSH_FLAGS_PERIODIC = 0x11,
	ORMA_SERVICE_FLUSH_FLAGS_STOP = 0x12,
	ORMA_SERVICE_FLUSH_FLAGS_CLONE = 0x13,
	ORMA_SERVICE_FLUSH_FLAGS_BUGREPORT = 0x100, /* a target, added to the others */
};

/* When a session flushes by itself. */
enum orma_service_flush_strategy {
	ORMA_SERVICE_FLUSH_NEVER,
	ORMA_SERVICE_FLUSH_PERIODIC,
	ORMA_SERVICE_FLUSH_ON_WRITE,
};

/* Which buffers' data sources are asked: clones flush transferred buffers and the others
 * separately. */
enum orma_service_flush_group {
	ORMA_SERVICE_FLUSH_ALL,
	ORMA_SERVICE_FLUSH_TRANSFERRED,
	ORMA_SERVICE_FLUSH_KEPT,
};

enum orma_service_flush_state {
	ORMA_SERVICE_FLUSH_ASKED,    /* producers have not answered */
	ORMA_SERVICE_FLUSH_ANSWERED, /* waits for the next scrape to begin */
	ORMA_SERVICE_FLUSH_SCRAPING, /* waits for the scrape that runs */
	ORMA_SERVICE_FLUSH_SCRAPED,  /* its end is to be reported */
};

/* The service's own continuation of a flush; may free the session. */
typedef void orma_service_flushed_fn(struct orma_service_session *session, bool is_complete);

struct orma_service_flush {
	struct orma_list link;          /* session->flush.list */
	struct orma_list answered_link; /* service->flushes.answered, once no producer is pending */
	enum orma_service_flush_state state;
	bool is_complete; /* all producers have answered, once it is answered at all */
	struct orma_service_timer timer;
	struct orma_service_session *session;
	uint64_t id, flags;
	uint64_t deadline_ns;
	enum orma_service_flush_group group;
	struct orma_service_clone *clone; /* that the flush is for; may be NULL */
	uint32_t *pending;                /* ids of producers that have not answered, ascending */
	size_t pending_count;
	orma_service_flushed_fn *after;
	orma_flush_done_fn *done; /* the consumer's */
	void *done_ctx;
};

/* The flushes of a session. Invariants: ids ascend along the list; asked_count is the sum of its
 * flushes' pending_count. */
struct orma_service_flushes {
	struct orma_list list; /* oldest first */
	size_t count, asked_count;
	struct orma_service_timer timer; /* for ORMA_SERVICE_FLUSH_PERIODIC */
	enum orma_service_flush_strategy strategy;
	uint32_t period_ms, timeout_ms;
	uint32_t final_outcome; /* TraceStats.FinalFlushOutcome */
	uint64_t requested_count, succeeded_count, failed_count;
};

/* The service's flushes. */
struct orma_service_flush_queue {
	struct orma_list answered; /* still to be finished; empty between calls */
	uint64_t last_id;
};

/* Begins a flush. timeout_ms 0 = the session's. Reports the end through `after` and `done`, each of
 * which may be NULL; at once when the session cannot be flushed. */
void orma_service_flush_begin(struct orma_service_session *session, uint32_t timeout_ms,
			      uint64_t flags, orma_service_flushed_fn *after,
			      orma_flush_done_fn *done, void *done_ctx);
/* True when a flush of the group asks the data sources of this buffer. */
bool orma_service_flush_concerns(enum orma_service_flush_group group,
				 const struct orma_service_session *session, size_t buffer_idx);
/* Begins a flush for a clone; events->clone_flushed() reports the end. */
void orma_service_flush_begin_group(struct orma_service_session *session, uint64_t flags,
				    struct orma_service_clone *clone,
				    enum orma_service_flush_group group);
/* The producer has answered the flush of this id and all before it. */
void orma_service_flush_acknowledge(struct orma_producer_port *port, uint64_t request_id);
/* The producer leaves, which counts as an answer to every flush. */
void orma_service_flush_forget_producer(struct orma_producer_port *port);
/* The scrape that the session's answered flushes waited for is done. May free the session. */
void orma_service_flush_scraped(struct orma_service_session *session);
/* Reports to consumers that their flushes failed, because the session ends. */
void orma_service_flush_cancel_all(struct orma_service_session *session);
void orma_service_flush_forget_clone(struct orma_service_session *session,
				     const struct orma_service_clone *clone);
/* Call when a consumer leaves its session: the consumer's flushes have failed. It is notified
 * unless is_gone. */
void orma_service_flush_forget_consumer(struct orma_service_session *session, bool is_gone);

#endif
