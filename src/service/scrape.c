/* SPDX-License-Identifier: Apache-2.0
 * scrape.c - copying chunks that nobody has committed: finished and unsaid, or unfinished.
 *
 * Done for a session when one of its flushes has been answered and when it stops, and for a
 * producer that leaves. The page stays as it is: the commit that follows is a re-commit of the same
 * chunk id. A session's scrape goes through the producers in the order in which they came, up to
 * those that there were when it began, and is made in bounded steps: hundreds of producers may have
 * shared 32 MiB each. It ends at a deadline, also when it has not seen all, because its flush or its
 * session's end has a timeout. Between steps producers may come and go; one that goes is scraped whole
 * first, for all sessions in one walk, in steps as well when there is more than one: until the last
 * it is still there, and silent. What fits one step is done at once. Rejected: scraping on a period
 * (wakes an idle daemon), all in one go (two hundred large memories take seconds), a list of
 * producers to visit (memory that could be missing).
 */
#include "service/scrape.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "service/limits.h"
#include "service/producer/chunk_store.h"
#include "service/producer/producer.h"
#include "service/producer/producer_memory.h"
#include "service/service_state.h"
#include "service/session_events.h"
#include "service/session_state.h"
#include "service/steps.h"
#include "service/timer.h"
#include "shm/abi.h"
#include "shm/view.h"

/* session: NULL for any, here and below. */
static bool has_grant_of(const struct orma_producer_port *port,
			 const struct orma_service_session *session)
{
	for (size_t i = 0; i < port->grants.count; i++)
		if (!session || port->grants.items[i].buffer->session == session)
			return true;
	return false;
}

static bool is_scraped(const struct orma_producer_port *port,
		       const struct orma_service_session *session)
{
	return port->is_scraped && port->memory.shared.start && port->writers.count > 0 &&
	       has_grant_of(port, session);
}

/* Where chunks are copied to first; NULL without memory. */
static uint8_t *get_copy(struct orma_service *service)
{
	if (!service->scrape_copy)
		service->scrape_copy = orma_base_alloc(ORMA_SERVICE_PAGE_BYTES_MAX);
	return service->scrape_copy;
}

static void scrape_chunk(const struct orma_service_session *session,
			 struct orma_producer_port *port, const struct orma_shm_chunk *chunk,
			 uint8_t *copy, int64_t *budget_bytes)
{
	uint32_t buffer_id = orma_service_producer_writer_buffer(port, chunk->writer_id);
	const struct orma_service_grant *grant =
		buffer_id ? orma_service_producer_grant(port, buffer_id) : NULL;

	if (chunk->writer_id == 0 || !grant || (session && grant->buffer->session != session))
		return;
	*budget_bytes -= chunk->payload_bytes;
	if (orma_service_memory_copy(port, chunk, copy))
		orma_service_store_chunk(port, chunk, copy, chunk->payload_bytes, buffer_id,
					 chunk->state == ORMA_SHM_COMPLETE);
}

/* True when it has come to the end of the memory. */
static bool scrape_some(const struct orma_service_session *session, struct orma_producer_port *port,
			struct orma_shm_view_position *position, int64_t *budget_bytes)
{
	uint8_t *copy = get_copy(port->service);
	struct orma_shm_chunk chunk;

	while (copy && *budget_bytes > 0 && position->page_idx < port->memory.view.page_count) {
		if (position->chunk_idx == 0)
			position->page_idx = orma_service_memory_next_used(port, position->page_idx,
									   budget_bytes);
		if (*budget_bytes <= 0 || position->page_idx == port->memory.view.page_count)
			break;
		*budget_bytes -= ORMA_SERVICE_SCRAPE_LOOK_BYTES;
		if (orma_shm_view_next_in_page(&port->memory.view, position, &chunk))
			scrape_chunk(session, port, &chunk, copy, budget_bytes);
	}
	/* By the next step the page may have been cut anew. */
	position->chunk_idx = 0;
	return !copy || position->page_idx >= port->memory.view.page_count;
}

bool orma_service_disconnect_step(struct orma_producer_port *port)
{
	int64_t budget_bytes = ORMA_SERVICE_SCRAPE_STEP_BYTES;

	if (is_scraped(port, NULL) &&
	    !scrape_some(NULL, port, &port->drained_position, &budget_bytes))
		return false;
	port->is_scraped = false;
	return true;
}

/* True when all are scraped. */
static bool step(struct orma_service_session *session)
{
	struct orma_service_scrape *scrape = &session->scrape;
	int64_t budget_bytes = ORMA_SERVICE_SCRAPE_STEP_BYTES;
	struct orma_producer_port *port;

	ORMA_LIST_FOR_EACH (port, &session->service->producers.list, link) {
		if (port->serial < scrape->serial || !is_scraped(port, session))
			continue;
		if (port->serial > scrape->last_serial)
			break;
		if (port->serial != scrape->serial)
			scrape->position = (struct orma_shm_view_position){0};
		scrape->serial = port->serial;
		if (!scrape_some(session, port, &scrape->position, &budget_bytes))
			return false;
		scrape->serial++;
		scrape->position = (struct orma_shm_view_position){0};
	}
	return true;
}

static void go_on(struct orma_service_session *session);

static void on_step(struct orma_service_timer *timer)
{
	go_on(ORMA_CONTAINER_OF(timer, struct orma_service_session, scrape.timer));
}

static void go_on(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_scrape *scrape = &session->scrape;
	bool is_done = step(session);
	uint64_t now_ns = orma_service_now_ns(service);

	orma_service_timer_disarm(&scrape->timer);
	scrape->is_cut = !is_done && now_ns >= scrape->deadline_ns;
	scrape->is_running = !is_done && !scrape->is_cut;
	if (scrape->is_running) {
		orma_service_timer_arm(&service->timers, &scrape->timer, now_ns, on_step);
		return;
	}
	if (scrape->is_cut)
		orma_base_log(ORMA_LOG_WARNING,
			      "session %llu: no time to look through all shared memory",
			      (unsigned long long)session->id);
	service->events->scraped(session);
}

void orma_service_scrape_begin(struct orma_service_session *session, uint64_t deadline_ns)
{
	uint64_t min_ns = orma_service_now_ns(session->service) + ORMA_SERVICE_SCRAPE_NS_MIN;

	ORMA_ASSERT(session->scrape.is_running == session->scrape.timer.is_armed);
	session->scrape.serial = 0;
	session->scrape.last_serial = session->service->producers.seen_count;
	session->scrape.deadline_ns = ORMA_MAX(deadline_ns, min_ns);
	go_on(session);
}
