/* SPDX-License-Identifier: Apache-2.0
 * flush.c - flushes: asks producers to hand over what they hold, and waits for them.
 *
 *   ASKED --all answered, or timeout--> ANSWERED --> SCRAPING --scrape done--> SCRAPED --> reported
 *
 * A flush lists the producers that were asked; each answer (a commit with this request's id or a
 * later one) takes one off. After the last answer, or at the timeout, the session is scraped
 * (scrape.c), which may take several turns; a flush waits for a scrape that began after its
 * answers. Then its end is reported to the session and to the consumer. A producer that disconnects
 * counts as having answered. Ids ascend over the whole service, so a session's list is ascending.
 * Rejected: a counter instead of the list (an answer given twice would count twice), a map per
 * producer (a flush has few producers and lives for milliseconds).
 */
#include "service/flush.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/list.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/service_event.pb.h"
#include "service/producer/producer.h"
#include "service/read/service_event.h"
#include "service/scrape.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_events.h"
#include "service/session_state.h"
#include "service/source_instance.h"
#include "service/timer.h"

static void free_flush(struct orma_service_flush *flush)
{
	orma_service_timer_disarm(&flush->timer);
	orma_base_list_remove(&flush->link);
	orma_base_list_remove(&flush->answered_link);
	ORMA_ASSERT(flush->session->flush.count > 0);
	ORMA_ASSERT(flush->session->flush.asked_count >= flush->pending_count);
	flush->session->flush.count--;
	flush->session->flush.asked_count -= flush->pending_count;
	orma_base_free(flush->pending);
	orma_base_free(flush);
}

static void finish(struct orma_service_flush *flush)
{
	struct orma_service_session *session = flush->session;
	struct orma_service_flush copy = *flush;
	bool is_complete = flush->is_complete;

	ORMA_ASSERT(flush->state == ORMA_SERVICE_FLUSH_SCRAPED);
	free_flush(flush);
	orma_service_event_add(session, ORMA_PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_FLUSHED,
			       true);
	if (is_complete)
		session->flush.succeeded_count++;
	else
		session->flush.failed_count++;
	if (copy.done)
		copy.done(copy.done_ctx, is_complete);
	if (copy.clone)
		session->service->events->clone_flushed(copy.clone, copy.group, is_complete);
	if (copy.after)
		copy.after(session, is_complete);
}

/* Moves the session's flushes from one state to another; true when there were any. */
static bool advance(struct orma_service_session *session, enum orma_service_flush_state from,
		    enum orma_service_flush_state to)
{
	struct orma_service_flush *flush;
	size_t count = 0;

	ORMA_LIST_FOR_EACH (flush, &session->flush.list, link) {
		if (flush->state != from)
			continue;
		flush->state = to;
		count++;
	}
	return count > 0;
}

/* Producers may hold chunks that they could not finish: scrape them. */
static void scrape_if_answered(struct orma_service_session *session)
{
	const struct orma_service_flush *flush;
	uint64_t deadline_ns = 0;

	if (session->scrape.is_running ||
	    !advance(session, ORMA_SERVICE_FLUSH_ANSWERED, ORMA_SERVICE_FLUSH_SCRAPING))
		return;
	ORMA_LIST_FOR_EACH (flush, &session->flush.list, link)
		if (flush->state == ORMA_SERVICE_FLUSH_SCRAPING)
			deadline_ns = ORMA_MAX(deadline_ns, flush->deadline_ns);
	orma_service_scrape_begin(session, deadline_ns);
}

static void complete(struct orma_service_flush *flush, bool is_complete)
{
	ORMA_ASSERT(flush->state == ORMA_SERVICE_FLUSH_ASKED);
	flush->state = ORMA_SERVICE_FLUSH_ANSWERED;
	flush->is_complete = is_complete;
	orma_service_timer_disarm(&flush->timer);
	scrape_if_answered(flush->session);
}

static struct orma_service_flush *find_scraped(const struct orma_service_session *session)
{
	struct orma_service_flush *flush;

	ORMA_LIST_FOR_EACH (flush, &session->flush.list, link)
		if (flush->state == ORMA_SERVICE_FLUSH_SCRAPED)
			return flush;
	return NULL;
}

void orma_service_flush_scraped(struct orma_service_session *session)
{
	const struct orma_service *service = session->service;
	uint64_t id = session->id;
	struct orma_service_flush *flush;

	if (session->scrape.is_cut)
		ORMA_LIST_FOR_EACH (flush, &session->flush.list, link)
			if (flush->state == ORMA_SERVICE_FLUSH_SCRAPING)
				flush->is_complete = false;
	(void)advance(session, ORMA_SERVICE_FLUSH_SCRAPING, ORMA_SERVICE_FLUSH_SCRAPED);
	/* A continuation may free the session, so look it up again each time. */
	while ((session = orma_service_session_by_id(service, id)) &&
	       (flush = find_scraped(session)))
		finish(flush);
	if (session)
		scrape_if_answered(session);
}

static void list_slow(struct orma_service_flush *flush)
{
	struct orma_service_session *session = flush->session;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested event, item;
	struct orma_buf data = {0};
	size_t listed = 0;

	orma_proto_heap_writer_init(&heap, &data);
	orma_proto_nested_begin(&heap.writer, &event,
				ORMA_PB_TRACING_SERVICE_EVENT_LAST_FLUSH_SLOW_DATA_SOURCES);
	for (size_t i = 0; i < flush->pending_count; i++) {
		struct orma_producer_port *port =
			orma_service_producer_by_id(session->service, flush->pending[i]);
		struct orma_service_instance *instance;

		ORMA_LIST_FOR_EACH (instance, &port->instances, producer_link) {
			if (instance->session != session ||
			    ++listed > ORMA_SERVICE_SLOW_SOURCES_LISTED)
				continue;
			orma_proto_nested_begin(
				&heap.writer, &item,
				ORMA_PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE);
			orma_proto_write_string(
				&heap.writer,
				ORMA_PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_PRODUCER_NAME,
				port->name);
			orma_proto_write_string(
				&heap.writer,
				ORMA_PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_DATA_SOURCE_NAME,
				instance->data_source->name->text);
			orma_proto_nested_end(&heap.writer, &item);
		}
	}
	orma_proto_nested_end(&heap.writer, &event);
	if (orma_proto_heap_writer_finish(&heap) == 0)
		(void)orma_service_event_add_message(
			session, ORMA_PB_TRACING_SERVICE_EVENT_LAST_FLUSH_SLOW_DATA_SOURCES, &data);
	orma_base_buf_done(&data);
}

static void on_timeout(struct orma_service_timer *timer)
{
	struct orma_service_flush *flush =
		ORMA_CONTAINER_OF(timer, struct orma_service_flush, timer);
	uint64_t reason = flush->flags & ORMA_SERVICE_FLUSH_REASON_MASK;

	if (reason == ORMA_SERVICE_FLUSH_REASON_STOP || reason == ORMA_SERVICE_FLUSH_REASON_CLONE)
		list_slow(flush);
	complete(flush, false);
}

bool orma_service_flush_concerns(enum orma_service_flush_group group,
				 const struct orma_service_session *session, size_t buffer_idx)
{
	bool is_transferred = session->config->buffers.items[buffer_idx]->transfer_on_clone;

	return group == ORMA_SERVICE_FLUSH_ALL ||
	       is_transferred == (group == ORMA_SERVICE_FLUSH_TRANSFERRED);
}

static bool is_asked(const struct orma_service_flush *flush,
		     const struct orma_service_instance *instance)
{
	return orma_service_flush_concerns(flush->group, flush->session,
					   instance->source->buffer_idx) &&
	       !instance->data_source->no_flush &&
	       instance->state != ORMA_SERVICE_INSTANCE_CONFIGURED &&
	       instance->state != ORMA_SERVICE_INSTANCE_STOPPED;
}

/* Asks one producer; true when it has to answer. `ids` has room for all instances of the
 * session. */
static bool ask(struct orma_producer_port *port, struct orma_service_flush *flush, uint64_t *ids)
{
	struct orma_service_instance *instance;
	size_t count = 0;
	bool takes_part = false;

	ORMA_LIST_FOR_EACH (instance, &port->instances, producer_link) {
		if (instance->session != flush->session)
			continue;
		takes_part = true;
		if (is_asked(flush, instance))
			ids[count++] = instance->id;
	}
	/* A producer whose memory we cannot map scrapes it itself when it is asked to flush,
	 * even without data sources. */
	if (!takes_part || (count == 0 && !(port->is_emulated && port->is_scraped)) ||
	    !port->callbacks.flush)
		return false;
	port->callbacks.flush(port->ctx, flush->id, ids, count, flush->flags);
	return true;
}

static int begin(struct orma_service_flush *flush)
{
	struct orma_service *service = flush->session->service;
	struct orma_producer_port *port;
	size_t capacity = ORMA_MIN(service->producers.count, flush->session->instances.count);
	uint64_t *ids = NULL;

	if (capacity == 0)
		return 0;
	flush->pending = orma_base_alloc_array(capacity, sizeof(*flush->pending));
	ids = orma_base_alloc_array(flush->session->instances.count, sizeof(*ids));
	if (!flush->pending || !ids) {
		orma_base_free(ids);
		return -ENOMEM;
	}
	ORMA_LIST_FOR_EACH (port, &service->producers.list, link) {
		if (ask(port, flush, ids))
			flush->pending[flush->pending_count++] = port->id;
	}
	orma_base_free(ids);
	ORMA_ASSERT(flush->pending_count <= capacity);
	flush->session->flush.asked_count += flush->pending_count;
	return 0;
}

static void refuse(struct orma_service_session *session, orma_service_flushed_fn *after,
		   orma_flush_done_fn *done, void *done_ctx)
{
	if (done)
		done(done_ctx, false);
	if (after)
		after(session, false);
}

/* If producers take longer to answer than a period lasts, periodic flushes must not pile up. */
static bool can_flush(const struct orma_service_session *session, uint64_t flags)
{
	size_t max = ORMA_SERVICE_FLUSHES_PENDING_MAX;

	if ((flags & ORMA_SERVICE_FLUSH_REASON_MASK) == ORMA_SERVICE_FLUSH_REASON_PERIODIC ||
	    session->flush.asked_count >= ORMA_SERVICE_ANSWERS_PENDING_MAX)
		max = ORMA_SERVICE_PERIODIC_PENDING_MAX;
	return session->state == ORMA_SERVICE_SESSION_STARTED && session->flush.count < max;
}

static struct orma_service_flush *new_flush(struct orma_service_session *session, uint64_t flags)
{
	struct orma_service_flush *flush = orma_base_zalloc(sizeof(*flush));

	if (!flush)
		return NULL;
	flush->session = session;
	orma_base_list_init(&flush->answered_link);
	flush->id = ++session->service->flushes.last_id;
	flush->flags = flags;
	ORMA_ASSERT(orma_base_list_is_empty(&session->flush.list) ||
		    ORMA_LIST_ENTRY(session->flush.list.prev, struct orma_service_flush, link)->id <
			    flush->id);
	orma_base_list_append(&session->flush.list, &flush->link);
	session->flush.count++;
	session->flush.requested_count++;
	return flush;
}

static void run(struct orma_service_flush *flush, uint32_t timeout_ms)
{
	struct orma_service_session *session = flush->session;
	struct orma_service *service = session->service;

	timeout_ms = timeout_ms ? timeout_ms : session->flush.timeout_ms;
	flush->deadline_ns = orma_service_now_ns(service) + timeout_ms * ORMA_NS_PER_MS;
	if (begin(flush) < 0) {
		complete(flush, false);
		return;
	}
	if (flush->pending_count == 0) {
		complete(flush, true);
		return;
	}
	orma_service_timer_arm(&service->timers, &flush->timer, flush->deadline_ns, on_timeout);
}

void orma_service_flush_begin(struct orma_service_session *session, uint32_t timeout_ms,
			      uint64_t flags, orma_service_flushed_fn *after,
			      orma_flush_done_fn *done, void *done_ctx)
{
	struct orma_service_flush *flush =
		can_flush(session, flags) ? new_flush(session, flags) : NULL;

	if (!flush) {
		refuse(session, after, done, done_ctx);
		return;
	}
	flush->after = after;
	flush->done = done;
	flush->done_ctx = done_ctx;
	orma_service_event_add(session, ORMA_PB_TRACING_SERVICE_EVENT_FLUSH_STARTED, false);
	run(flush, timeout_ms);
}

void orma_service_flush_begin_group(struct orma_service_session *session, uint64_t flags,
				    struct orma_service_clone *clone,
				    enum orma_service_flush_group group)
{
	struct orma_service_flush *flush =
		can_flush(session, flags) ? new_flush(session, flags) : NULL;

	if (!flush) {
		session->service->events->clone_flushed(clone, group, false);
		return;
	}
	flush->clone = clone;
	flush->group = group;
	run(flush, 0);
}

static void remove_pending(struct orma_service_flush *flush, uint32_t producer_id)
{
	for (size_t i = 0; i < flush->pending_count; i++) {
		if (flush->pending[i] != producer_id)
			continue;
		memmove(&flush->pending[i], &flush->pending[i + 1],
			(flush->pending_count - i - 1) * sizeof(flush->pending[0]));
		flush->session->flush.asked_count--;
		if (--flush->pending_count == 0)
			orma_base_list_append(&flush->session->service->flushes.answered,
					      &flush->answered_link);
		return;
	}
}

static struct orma_service_flush *first_answered(struct orma_service *service)
{
	return orma_base_list_is_empty(&service->flushes.answered)
		       ? NULL
		       : ORMA_LIST_ENTRY(service->flushes.answered.next, struct orma_service_flush,
					 answered_link);
}

static void acknowledge(struct orma_producer_port *port, uint64_t up_to_id)
{
	struct orma_service_session *session;
	struct orma_service_flush *flush;

	ORMA_LIST_FOR_EACH (session, &port->service->sessions.list, link) {
		ORMA_LIST_FOR_EACH (flush, &session->flush.list, link) {
			if (flush->id > up_to_id)
				break;
			remove_pending(flush, port->id);
			if (flush->pending_count > 0 || flush->state != ORMA_SERVICE_FLUSH_ASKED)
				continue;
			flush->state = ORMA_SERVICE_FLUSH_ANSWERED;
			flush->is_complete = true;
			orma_service_timer_disarm(&flush->timer);
		}
	}
	/* One answer may complete a thousand flushes, which share a scrape. Sessions may be
	 * freed here. */
	while ((flush = first_answered(port->service))) {
		orma_base_list_remove(&flush->answered_link);
		if (flush->state == ORMA_SERVICE_FLUSH_ANSWERED)
			scrape_if_answered(flush->session);
	}
}

void orma_service_flush_acknowledge(struct orma_producer_port *port, uint64_t request_id)
{
	acknowledge(port, request_id);
}

void orma_service_flush_forget_producer(struct orma_producer_port *port)
{
	acknowledge(port, UINT64_MAX);
}

void orma_service_flush_cancel_all(struct orma_service_session *session)
{
	while (!orma_base_list_is_empty(&session->flush.list)) {
		struct orma_service_flush *flush =
			ORMA_LIST_ENTRY(session->flush.list.next, struct orma_service_flush, link);
		orma_flush_done_fn *done = flush->done;
		void *done_ctx = flush->done_ctx;
		struct orma_service_clone *clone = flush->clone;
		enum orma_service_flush_group group = flush->group;

		free_flush(flush);
		if (clone)
			session->service->events->clone_flushed(clone, group, false);
		if (done)
			done(done_ctx, false);
	}
}

void orma_service_flush_forget_clone(struct orma_service_session *session,
				     const struct orma_service_clone *clone)
{
	struct orma_service_flush *flush;

	ORMA_LIST_FOR_EACH (flush, &session->flush.list, link)
		if (flush->clone == clone)
			flush->clone = NULL;
}

void orma_service_flush_forget_consumer(struct orma_service_session *session, bool is_gone)
{
	struct orma_service_flush *flush;

	ORMA_LIST_FOR_EACH (flush, &session->flush.list, link) {
		orma_flush_done_fn *done = ORMA_TAKE(flush->done);

		if (done && !is_gone)
			done(flush->done_ctx, false);
	}
}
