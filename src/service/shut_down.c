/* SPDX-License-Identifier: Apache-2.0
 * shut_down.c - the orderly end of the service: files are completed, and consumers get the packets
 * that are in memory.
 *
 *   started --flush, bounded--> stop, bounded --> drain and close, as for any session that ends
 *                                             --> or its consumer reads it
 *
 * A session without an output file is ended when it has a consumer, which then reads it as usual. A
 * detached one is left alone, because nobody could read it. Nothing waits here: the embedder keeps
 * running the service until no file is open and nobody reads, or until it has waited long enough.
 * Rejected: ending the sessions in orma_service_free() (it would have to run a loop of its own), a
 * longer wait for producers that do not answer (somebody is waiting for the service to end).
 */
#include "service/shut_down.h"

#include "base/clock_ns.h"
#include "base/list.h"
#include "base/macros.h"
#include "service/flush.h"
#include "service/service_core.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/timer.h"

static void on_flushed(struct orma_service_session *session, bool is_complete)
{
	(void)is_complete;
	orma_service_session_disable(session, false, NULL);
}

static void end_session(struct orma_service_session *session, uint32_t timeout_ms)
{
	struct orma_service *service = session->service;

	session->stop_timeout_ms = ORMA_MIN(session->stop_timeout_ms, timeout_ms);
	switch (session->state) {
	case ORMA_SERVICE_SESSION_OPENING:
		orma_service_session_disable(session, true, "the service is shutting down");
		break;
	case ORMA_SERVICE_SESSION_CONFIGURED:
		orma_service_session_disable(session, true, NULL);
		break;
	case ORMA_SERVICE_SESSION_STARTED:
		orma_service_flush_begin(session, timeout_ms, ORMA_SERVICE_FLUSH_FLAGS_STOP,
					 on_flushed, NULL, NULL);
		break;
	case ORMA_SERVICE_SESSION_STOPPING:
		/* A timer that is not armed means that all have stopped and the last scrape
		 * runs. */
		if (session->stop_timer.is_armed)
			orma_service_timer_arm(&service->timers, &session->stop_timer,
					       orma_service_now_ns(service) +
						       timeout_ms * ORMA_NS_PER_MS,
					       session->stop_timer.fn);
		break;
	case ORMA_SERVICE_SESSION_DISABLED:
	case ORMA_SERVICE_SESSION_CLONED:
		break;
	}
}

static bool has_open_file(const struct orma_service_session *session)
{
	return session->output.file || session->output.is_closing;
}

/* Ending a session may free this session, but no other one. */
void orma_service_shut_down(struct orma_service *service, uint32_t timeout_ms)
{
	struct orma_service_session *session, *next;

	if (!service || service->is_shutting_down)
		return;
	service->is_shutting_down = true;
	ORMA_LIST_FOR_EACH_SAFE (session, next, &service->sessions.list, link)
		if (has_open_file(session) || session->consumer)
			end_session(session, timeout_ms);
}

bool orma_service_has_open_files(const struct orma_service *service)
{
	const struct orma_service_session *session;

	if (!service)
		return false;
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link)
		if (has_open_file(session))
			return true;
	return false;
}

uint32_t orma_service_count_readers(const struct orma_service *service, uint64_t *ret_read_bytes)
{
	const struct orma_service_session *session;
	uint32_t count = 0;

	*ret_read_bytes = 0;
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
		if (!session->consumer || session->config->write_into_file)
			continue;
		count++;
		for (size_t i = 0; i < session->buffer_count; i++)
			*ret_read_bytes += orma_trace_buffer_stats(session->buffers[i].trace_buffer)
						   ->bytes_read;
	}
	return count;
}

size_t orma_service_count_consumers(const struct orma_service *service)
{
	return service->consumers.count;
}
