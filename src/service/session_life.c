/* SPDX-License-Identifier: Apache-2.0
 * session_life.c - the life of a session after it was built.
 *
 *   OPENING --file created--> CONFIGURED (output_create.c), or:
 *   CONFIGURED --start--> STARTED --disable--> STOPPING --all stopped, or timeout--> DISABLED
 *        \____________________\___(at once, or no producer has to acknowledge)__________^
 *
 * In DISABLED the last bytes go to the output file, if there is one. After that the consumer gets
 * its reply. A session without a consumer (detached, or its consumer has disconnected) is freed at
 * that point. One that is still attached stays readable until its consumer frees the buffers.
 * Rejected: writing the whole rest of the file in the call that stops the session (64 MiB on the
 * service's thread), freeing on disable (nothing could be read back).
 */

#include "service/session_life.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/boost.h"
#include "service/config_source.h"
#include "service/consumer_port.h"
#include "service/filter/filter.h"
#include "service/flush.h"
#include "service/incremental.h"
#include "service/observe.h"
#include "service/output/output.h"
#include "service/output/output_compress.h"
#include "service/output/output_file.h"
#include "service/packet_sequence.h"
#include "service/producer/producer.h"
#include "service/read/clock_snapshot.h"
#include "service/read/read_large.h"
#include "service/read/service_event.h"
#include "service/scrape.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_buffer.h"
#include "service/session_events.h"
#include "service/session_state.h"
#include "service/source_instance.h"
#include "service/timer.h"
#include "service/trigger/trigger_state.h"

/* --- timers of a started session -------------------------------------------------------------- */

static void on_final_flush(struct orma_service_session *session, bool is_complete)
{
	session->flush.final_outcome =
		is_complete ? ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME_FINAL_FLUSH_SUCCEEDED
			    : ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME_FINAL_FLUSH_FAILED;
	orma_service_session_disable(session, false, NULL);
}

/* A recording of 300 ms would be empty if a data source takes longer to start, so it waits for a while. */
static uint64_t duration_ns(const struct orma_service_session *session)
{
	uint64_t duration_ms = session->duration_ms;

	if (!session->has_said_all_started)
		duration_ms = ORMA_MAX(duration_ms, ORMA_SERVICE_START_GRACE_MS);
	return duration_ms * ORMA_NS_PER_MS;
}

static void on_duration(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, duration_timer);
	struct orma_service *service = session->service;

	if (session->config->prefer_suspend_clock_for_duration) {
		uint64_t passed_ns = orma_service_boot_ns(service) - session->started_boot_ns;
		uint64_t whole_ns = duration_ns(session);

		if (passed_ns < whole_ns) {
			uint64_t step_ns =
				ORMA_MIN(whole_ns - passed_ns, ORMA_SERVICE_SUSPEND_CHECK_NS);

			orma_service_timer_arm(&service->timers, timer,
					       orma_service_now_ns(service) + step_ns, on_duration);
			return;
		}
	}
	orma_service_session_flush_and_disable(session);
}

void orma_service_session_flush_and_disable(struct orma_service_session *session)
{
	orma_service_flush_begin(session, 0, ORMA_SERVICE_FLUSH_FLAGS_STOP, on_final_flush, NULL,
				 NULL);
}

static void arm_duration(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	uint64_t delay_ns = duration_ns(session);

	if (session->duration_ms == 0)
		return;
	/* Timers use a clock that stops during suspend, so check the other clock every now and
	 * then. */
	if (session->config->prefer_suspend_clock_for_duration)
		delay_ns = ORMA_MIN(delay_ns, ORMA_SERVICE_SUSPEND_CHECK_NS);
	orma_service_timer_arm(&service->timers, &session->duration_timer,
			       orma_service_now_ns(service) + delay_ns, on_duration);
}

/* Somebody who records for three seconds wants three seconds of each data source, and some take half
 * a second to start. One that starts after the timeout was perhaps stopped for hours, and changes
 * nothing any more. */
static void restart_duration(struct orma_service_session *session)
{
	if (!session->duration_timer.is_armed || !session->started_timer.is_armed)
		return;
	session->started_boot_ns = orma_service_boot_ns(session->service);
	arm_duration(session);
}

static void on_flush_period(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, flush.timer);

	orma_service_arm_aligned(session->service, timer, session->flush.period_ms);
	orma_service_flush_begin(session, 0, ORMA_SERVICE_FLUSH_FLAGS_PERIODIC, NULL, NULL, NULL);
}

static void on_snapshot_period(struct orma_service_timer *timer);

/* Periods are those of the wall clock, which runs on during suspend. */
static uint64_t snapshot_period(const struct orma_service_session *session)
{
	return orma_service_realtime_ns(session->service) /
	       (session->clocks.interval_ms * ORMA_NS_PER_MS);
}

static void arm_snapshot(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	struct orma_service *service = session->service;
	struct orma_service_timer *timer = &session->clocks.timer;
	uint64_t soon_ns = orma_service_now_ns(service) + ORMA_SERVICE_SUSPEND_CHECK_NS;

	timer->fn = on_snapshot_period;
	orma_service_arm_aligned(service, timer, session->clocks.interval_ms);
	if (builtin && builtin->prefer_suspend_clock_for_snapshot && timer->deadline_ns > soon_ns)
		orma_service_timer_arm(&service->timers, timer, soon_ns, on_snapshot_period);
}

static void on_snapshot_period(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, clocks.timer);

	uint64_t period = snapshot_period(session);

	arm_snapshot(session);
	if (period == session->clocks.period)
		return;
	session->clocks.period = period;
	session->read.emits_sync_marker = true;
	session->read.emits_stats = true;
	orma_service_clocks_snapshot(session);
}

static void write_slow_source(struct orma_proto_writer *writer,
			      const struct orma_service_instance *instance)
{
	struct orma_proto_nested item;

	orma_proto_nested_begin(writer, &item,
				ORMA_PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE);
	orma_proto_write_string(
		writer, ORMA_PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_PRODUCER_NAME,
		instance->producer->name);
	orma_proto_write_string(
		writer, ORMA_PB_TRACING_SERVICE_EVENT_DATA_SOURCES_DATA_SOURCE_DATA_SOURCE_NAME,
		instance->data_source->name->text);
	orma_proto_nested_end(writer, &item);
}

static void on_start_timeout(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, started_timer);
	uint32_t field_id = ORMA_PB_TRACING_SERVICE_EVENT_SLOW_STARTING_DATA_SOURCES;
	struct orma_service_instance *instance;
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested event;
	struct orma_buf data = {0};
	size_t listed = 0;

	if (session->has_said_all_started)
		return;
	orma_proto_heap_writer_init(&heap, &data);
	orma_proto_nested_begin(&heap.writer, &event, field_id);
	ORMA_LIST_FOR_EACH (instance, &session->instances.list, session_link) {
		if (instance->state != ORMA_SERVICE_INSTANCE_STARTED &&
		    listed++ < ORMA_SERVICE_SLOW_SOURCES_LISTED)
			write_slow_source(&heap.writer, instance);
	}
	orma_proto_nested_end(&heap.writer, &event);
	if (orma_proto_heap_writer_finish(&heap) == 0)
		(void)orma_service_event_add_message(session, field_id, &data);
	orma_base_buf_done(&data);
}

static void arm_periods(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	uint64_t now_ns = orma_service_now_ns(service);

	session->clocks.period = snapshot_period(session);
	arm_snapshot(session);
	if (session->flush.strategy == ORMA_SERVICE_FLUSH_PERIODIC) {
		session->flush.timer.fn = on_flush_period;
		orma_service_arm_aligned(service, &session->flush.timer, session->flush.period_ms);
	}
	orma_service_incremental_start(session);
	orma_service_timer_arm(&service->timers, &session->started_timer,
			       now_ns + ORMA_SERVICE_STARTED_TIMEOUT_MS * ORMA_NS_PER_MS,
			       on_start_timeout);
	arm_duration(session);
}

void orma_service_session_start(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	struct orma_service_instance *instance, *next;

	session->started_realtime_ns = orma_service_realtime_ns(service);
	session->started_boot_ns = orma_service_boot_ns(service);
	orma_service_session_set_state(session, ORMA_SERVICE_SESSION_STARTED);
	if (!builtin || !builtin->disable_clock_snapshotting)
		orma_service_clocks_take(service, &session->clocks.initial);
	orma_service_event_add(session, ORMA_PB_TRACING_SERVICE_EVENT_TRACING_STARTED, false);
	arm_periods(session);
	orma_service_output_start(session);
	ORMA_LIST_FOR_EACH_SAFE (instance, next, &session->instances.list, session_link)
		orma_service_instance_start(instance);
	orma_service_session_check_started(session);
}

void orma_service_session_check_started(struct orma_service_session *session)
{
	if (session->has_said_all_started || session->state != ORMA_SERVICE_SESSION_STARTED ||
	    session->instances.state_counts[ORMA_SERVICE_INSTANCE_STARTED] !=
		    session->instances.count)
		return;
	session->has_said_all_started = true;
	restart_duration(session);
	orma_service_timer_disarm(&session->started_timer);
	orma_service_event_add(session, ORMA_PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED,
			       true);
	orma_service_observe_all_started(session);
}

/* --- the end ---------------------------------------------------------------------------------- */

void orma_service_session_say_disabled(struct orma_service_session *session)
{
	struct orma_consumer_port *port = session->consumer;

	if (session->has_said_disabled)
		return;
	session->has_said_disabled = true;
	if (port && port->callbacks.tracing_disabled)
		port->callbacks.tracing_disabled(port->ctx,
						 session->error[0] ? session->error : NULL);
}

static void begin_last_scrape(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_instance *instance, *next;
	uint64_t id = session->id;

	orma_service_timer_disarm(&session->stop_timer);
	if (session->is_ending)
		return;
	session->is_ending = true;
	ORMA_LIST_FOR_EACH_SAFE (instance, next, &session->instances.list, session_link)
		orma_service_instance_stop(instance, true);
	orma_service_scrape_begin(session, orma_service_now_ns(service) +
						   session->stop_timeout_ms * ORMA_NS_PER_MS);
	session = orma_service_session_by_id(service, id);
	if (session && session->scrape.is_running)
		orma_service_session_set_state(session, ORMA_SERVICE_SESSION_STOPPING);
}

static void finish_disabling(struct orma_service_session *session)
{
	ORMA_ASSERT(session->instances.state_counts[ORMA_SERVICE_INSTANCE_STOPPED] ==
		    session->instances.count);
	orma_service_session_set_state(session, ORMA_SERVICE_SESSION_DISABLED);
	orma_service_event_add(session, ORMA_PB_TRACING_SERVICE_EVENT_TRACING_DISABLED, true);
	session->read.emits_stats = true;
	orma_service_output_finish(session);
}

void orma_service_session_scraped(struct orma_service_session *session)
{
	const struct orma_service *service = session->service;
	uint64_t id = session->id;

	orma_service_flush_scraped(session);
	session = orma_service_session_by_id(service, id);
	if (session && session->is_ending && !session->scrape.is_running &&
	    session->state != ORMA_SERVICE_SESSION_DISABLED)
		finish_disabling(session);
}

static void on_stop_timeout(struct orma_service_timer *timer)
{
	begin_last_scrape(ORMA_CONTAINER_OF(timer, struct orma_service_session, stop_timer));
}

static bool has_stopped(const struct orma_service_session *session)
{
	return session->instances.state_counts[ORMA_SERVICE_INSTANCE_STOPPED] ==
	       session->instances.count;
}

void orma_service_session_check_stopped(struct orma_service_session *session)
{
	if (session->state == ORMA_SERVICE_SESSION_STOPPING && has_stopped(session))
		begin_last_scrape(session);
}

static void disarm_periods(struct orma_service_session *session)
{
	orma_service_timer_disarm(&session->duration_timer);
	orma_service_timer_disarm(&session->flush.timer);
	orma_service_timer_disarm(&session->incremental.timer);
	orma_service_timer_disarm(&session->clocks.timer);
	orma_service_timer_disarm(&session->started_timer);
	orma_service_timer_disarm(&session->triggers.timer);
}

/* Ends a session in OPENING, which only its consumer knows; that consumer may begin another
 * session. */
static void end_opening(struct orma_service_session *session)
{
	if (!session->consumer && session->detach_key)
		orma_base_log(ORMA_LOG_WARNING, "session %llu, which is detached: %s",
			      (unsigned long long)session->id, session->error);
	session->state = ORMA_SERVICE_SESSION_DISABLED;
	orma_service_session_say_disabled(session);
	if (session->consumer)
		session->consumer->session = NULL;
	session->consumer = NULL;
	session->is_orphaned = true;
	orma_base_free(ORMA_TAKE(session->detach_key));
	orma_service_output_close(session, false);
}

void orma_service_session_disable(struct orma_service_session *session, bool at_once,
				  const char *error)
{
	struct orma_service_instance *instance, *next;

	if (session->state == ORMA_SERVICE_SESSION_DISABLED ||
	    session->state == ORMA_SERVICE_SESSION_CLONED)
		return;
	if (session->state == ORMA_SERVICE_SESSION_OPENING && !error)
		error = "output_path: the session ended before its file was there";
	orma_service_session_set_error(session, error);
	if (session->state == ORMA_SERVICE_SESSION_OPENING) {
		end_opening(session);
		return;
	}
	if (session->state == ORMA_SERVICE_SESSION_STOPPING) {
		if (at_once)
			begin_last_scrape(session);
		return;
	}
	at_once = at_once || session->state == ORMA_SERVICE_SESSION_CONFIGURED;
	disarm_periods(session);
	ORMA_LIST_FOR_EACH_SAFE (instance, next, &session->instances.list, session_link)
		orma_service_instance_stop(instance, at_once);
	if (has_stopped(session)) {
		begin_last_scrape(session);
		return;
	}
	orma_service_session_set_state(session, ORMA_SERVICE_SESSION_STOPPING);
	orma_service_timer_arm(&session->service->timers, &session->stop_timer,
			       orma_service_now_ns(session->service) +
				       session->stop_timeout_ms * ORMA_NS_PER_MS,
			       on_stop_timeout);
}

void orma_service_session_finish(struct orma_service_session *session)
{
	if (session->clone) {
		session->service->events->clone_written(session);
		return;
	}
	orma_service_session_say_disabled(session);
	if (!session->consumer)
		orma_service_session_free(session);
}

void orma_service_session_abandon(struct orma_service_session *session, const char *error)
{
	bool is_over;

	orma_service_session_set_error(session, error);
	orma_service_flush_forget_consumer(session, true);
	session->consumer->session = NULL;
	session->consumer = NULL;
	session->is_orphaned = true;
	session->has_said_disabled = true;
	is_over = session->state == ORMA_SERVICE_SESSION_CLONED ||
		  (session->state == ORMA_SERVICE_SESSION_DISABLED && !session->output.file &&
		   !session->output.is_closing);
	if (is_over)
		orma_service_session_free(session);
	else
		orma_service_session_disable(session, true, NULL);
}

void orma_service_session_abort(struct orma_service_session *session, const char *error)
{
	orma_service_session_set_error(session, error);
	if (session->consumer) {
		orma_service_session_say_disabled(session);
		orma_service_flush_cancel_all(session);
		orma_service_session_abandon(session, NULL);
		return;
	}
	/* The session is detached. Without its key no consumer can attach to it any more. */
	session->is_orphaned = true;
	orma_base_free(ORMA_TAKE(session->detach_key));
	orma_service_session_disable(session, true, NULL);
}

void orma_service_session_free(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_instance *instance, *next;

	service->events->freed(session);
	disarm_periods(session);
	orma_service_timer_disarm(&session->stop_timer);
	orma_service_timer_disarm(&session->output.write_timer);
	orma_service_timer_disarm(&session->output.step_timer);
	orma_service_timer_disarm(&session->scrape.timer);
	ORMA_LIST_FOR_EACH_SAFE (instance, next, &session->instances.list, session_link)
		orma_service_instance_stop(instance, true);
	orma_service_flush_cancel_all(session);
	if (session->consumer)
		session->consumer->session = NULL;
	orma_base_list_remove(&session->link);
	ORMA_ASSERT(service->sessions.count > 0);
	service->sessions.count--;
	orma_service_session_set_state(session, ORMA_SERVICE_SESSION_DISABLED);
	orma_service_session_delete(session);
	orma_service_boost_update(service);
	if (service->sessions.count == 0)
		orma_service_free_caches(service);
}

void orma_service_session_delete(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_producer_port *port;

	ORMA_ASSERT(orma_base_list_is_empty(&session->link));
	ORMA_ASSERT(session->flush.count == 0 && session->flush.asked_count == 0);
	ORMA_ASSERT(!session->clone);
	orma_service_output_done(session);
	orma_service_compression_done(session);
	orma_service_events_done(session);
	orma_service_triggers_done(session);
	orma_service_instances_done(session);
	ORMA_LIST_FOR_EACH (port, &service->producers.list, link)
		orma_service_producer_remove_grants(port, session);
	orma_service_large_drop(session);
	orma_service_buffers_done(session);
	for (size_t i = 0; i < session->sources.count; i++)
		orma_service_source_done(&session->sources.items[i]);
	orma_service_packet_sequences_done(session);
	orma_service_filter_free(session->filter.program);
	orma_base_free(session->sources.items);
	orma_base_free(session->detach_key);
	orma_base_buf_done(&session->config_bytes);
	orma_base_arena_done(&session->arena);
	orma_base_free(session);
}
