/* SPDX-License-Identifier: Apache-2.0
 * scrape.c - scraping: copies chunks that no producer has committed, complete or not.
 *
 * A session is scraped when one of its flushes has been answered and when it stops; a producer is
 * scraped when it disconnects. The pages stay as they are: a later commit of the same chunk id
 * replaces the copy. The scrape of a session goes through the producers in the order in which they
 * connected, up to the newest one when it began. It works in bounded steps, because hundreds of
 * producers may have shared 32 MiB each. It stops at a deadline, finished or not, because the flush
 * or the end of the session has a timeout. Producers may connect and disconnect between the steps.
 * One that disconnects is scraped first, for all sessions in one walk; it stays in the list,
 * silent, until the last step. Work that fits one step is done at once.
 *
 * Threads go on writing during a scrape. A writer may complete a chunk in a page behind the scrape's
 * position and begin its next chunk in a page before it. The copies would then have a gap: a reader
 * would pass it, and the missing chunk would come too late with its commit. So a memory in which a
 * chunk came without its predecessor is walked a second time, for older chunks only. A writer begins
 * a chunk after it has completed the one before, so the second walk finds all that are missing, or
 * they were committed meanwhile.
 *
 * The order of pages is not the order of chunks, so there are gaps between the steps in any case. Readers wait
 * before them (orma_service_scrape_fills_gaps()) until the scrape ends, but not when the session has ended.
 *
 * Rejected: scraping on a period (it wakes an idle daemon), everything in one call (two hundred
 * large memories take seconds), a list of producers to visit (it would need memory that may be
 * missing).
 */
#include "service/scrape.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "service/packet_sequence.h"
#include "service/producer/chunk_store.h"
#include "service/producer/producer.h"
#include "service/producer/producer_memory.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_events.h"
#include "service/session_state.h"
#include "service/steps.h"
#include "service/timer.h"
#include "shm/abi.h"
#include "shm/view.h"

/* Here and below, session == NULL means any session. */
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

/* The buffer for one chunk; NULL when out of memory. */
static uint8_t *get_copy(struct orma_service *service)
{
	if (!service->scrape_copy)
		service->scrape_copy = orma_base_alloc(ORMA_SERVICE_PAGE_BYTES_MAX);
	return service->scrape_copy;
}

/* False: the second walk leaves this chunk to the next scrape. */
static bool is_wanted(struct orma_service_scrape_walk *walk, const struct orma_producer_port *port,
		      const struct orma_service_grant *grant, const struct orma_shm_chunk *chunk)
{
	const struct orma_service_sequence *sequence =
		orma_service_sequence_get(grant->buffer, port, chunk->writer_id);
	int32_t ahead = sequence ? (int32_t)(chunk->chunk_id - sequence->newest_chunk_id) : 0;

	walk->has_gap |= ahead > 1;
	return !walk->fills_gaps || ahead < 0;
}

static void scrape_chunk(const struct orma_service_session *session,
			 struct orma_producer_port *port, struct orma_service_scrape_walk *walk,
			 const struct orma_shm_chunk *chunk, uint8_t *copy, int64_t *budget_bytes)
{
	uint32_t buffer_id = orma_service_producer_writer_buffer(port, chunk->writer_id);
	const struct orma_service_grant *grant =
		buffer_id ? orma_service_producer_grant(port, buffer_id) : NULL;

	if (chunk->writer_id == 0 || !grant || (session && grant->buffer->session != session) ||
	    !is_wanted(walk, port, grant, chunk))
		return;
	*budget_bytes -= chunk->payload_bytes;
	if (orma_service_memory_copy(port, chunk, copy))
		orma_service_store_chunk(port, chunk, copy, chunk->payload_bytes, buffer_id,
					 chunk->state == ORMA_SHM_COMPLETE);
}

/* True when the end of the memory is reached. */
static bool walk_some(const struct orma_service_session *session, struct orma_producer_port *port,
		      struct orma_service_scrape_walk *walk, int64_t *budget_bytes)
{
	struct orma_shm_view_position *position = &walk->position;
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
			scrape_chunk(session, port, walk, &chunk, copy, budget_bytes);
	}
	/* The page may have another layout by the next step, so begin it again. */
	position->chunk_idx = 0;
	return !copy || position->page_idx >= port->memory.view.page_count;
}

/* True when the producer is scraped; the walk is then ready for another one. */
static bool scrape_some(const struct orma_service_session *session, struct orma_producer_port *port,
			struct orma_service_scrape_walk *walk, int64_t *budget_bytes)
{
	while (walk_some(session, port, walk, budget_bytes)) {
		bool is_second = walk->has_gap && !walk->fills_gaps;

		*walk = (struct orma_service_scrape_walk){.fills_gaps = is_second};
		if (!is_second)
			return true;
	}
	return false;
}

static bool has_gap(const struct orma_service_scrape_walk *walk)
{
	return walk->has_gap || walk->fills_gaps;
}

bool orma_service_scrape_fills_gaps(const struct orma_service_session *session)
{
	const struct orma_producer_port *port;

	if (orma_service_session_has_ended(session))
		return false;
	if (session->scrape.has_gaps)
		return true;
	ORMA_LIST_FOR_EACH (port, &session->service->producers.list, link)
		if (has_gap(&port->drained) && has_grant_of(port, session))
			return true;
	return false;
}

bool orma_service_disconnect_step(struct orma_producer_port *port)
{
	int64_t budget_bytes = ORMA_SERVICE_SCRAPE_STEP_BYTES;

	if (is_scraped(port, NULL) && !scrape_some(NULL, port, &port->drained, &budget_bytes))
		return false;
	port->is_scraped = false;
	return true;
}

/* True when all producers are scraped. */
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
			scrape->walk = (struct orma_service_scrape_walk){0};
		scrape->serial = port->serial;
		if (!scrape_some(session, port, &scrape->walk, &budget_bytes))
			return false;
		scrape->serial++;
	}
	return true;
}

static void continue_scrape(struct orma_service_session *session);

static void on_step(struct orma_service_timer *timer)
{
	continue_scrape(ORMA_CONTAINER_OF(timer, struct orma_service_session, scrape.timer));
}

static void continue_scrape(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_scrape *scrape = &session->scrape;
	bool is_done = step(session);
	uint64_t now_ns = orma_service_now_ns(service);

	orma_service_timer_disarm(&scrape->timer);
	scrape->is_cut = !is_done && now_ns >= scrape->deadline_ns;
	scrape->is_running = !is_done && !scrape->is_cut;
	/* A scrape that begins anew inherits the gaps of the one before it. */
	scrape->has_gaps = scrape->is_running && (scrape->has_gaps || has_gap(&scrape->walk));
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
	continue_scrape(session);
}
