/* SPDX-License-Identifier: Apache-2.0
 * clone.c - cloning: a consumer gets a copy of a running session to read, while the session goes
 * on.
 *
 *   asked --checks, clear_before_clone--> flushing, in two groups of buffers
 *         --a group is flushed--> its buffers are fixed: transferred, or being copied
 *         --both are--> the rest of the session's state is copied
 *         --all buffers copied, in bounded steps--> listed: a session, CLONED from its start
 *         --write_into_file: file copied, buffers drained into it, closed--> reply to the consumer
 *
 * Buffers with transfer_on_clone move to the clone, and the source gets new ones. They are a group
 * of their own, so that slow producers of such buffers do not blur the moment at which the others
 * are copied. A clone with a file flushes all buffers as one group: otherwise packets that the
 * source writes to its file between the two moments would be in the clone's trace twice. The clone
 * under construction is owned by the consumer's port; neither the end of the source nor that of the
 * source's consumer affects it.
 *
 * Rejected: copying in one go (a buffer of 256 MiB blocks the loop for 100 ms), listing the clone
 * while it grows (each reader of the list of sessions would have to skip it), counting clones as
 * sessions (five snapshots would keep their user from recording).
 */
#include "service/clone/clone.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/options.h"
#include "proto/writer.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/config/enable.h"
#include "service/consumer_port.h"
#include "service/filter/filter.h"
#include "service/flush.h"
#include "service/output/output.h"
#include "service/output/output_file.h"
#include "service/read/service_event.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_buffer.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/timer.h"

static void set_error(struct orma_service_clone *clone, const char *error)
{
	if (clone->error[0] == '\0')
		snprintf(clone->error, sizeof(clone->error), "%s", error);
}

/* The descriptor came from a peer: closing it may take long. */
static void close_foreign(struct orma_service *service, int fd, uid_t owner)
{
	if (fd >= 0 && service->close_fd)
		service->close_fd(service->ctx, fd, owner);
	else
		orma_base_fd_close(fd);
}

static void free_clone(struct orma_service_clone *clone)
{
	orma_service_timer_disarm(&clone->step_timer);
	if (clone->source)
		orma_service_flush_forget_clone(clone->source, clone);
	orma_base_list_remove(&clone->link);
	ORMA_ASSERT(clone->port->clone == clone);
	clone->port->clone = NULL;
	orma_service_clone_retire_buffers(clone);
	if (clone->session)
		clone->session->clone = NULL;
	if (clone->session && !clone->is_known)
		orma_service_session_delete(clone->session);
	close_foreign(clone->service, clone->file_fd, clone->port->uid);
	orma_base_free(clone->buffers);
	orma_base_free(clone);
}

void orma_service_clone_cancel(struct orma_service_clone *clone)
{
	if (clone)
		free_clone(clone);
}

/* Frees the clone under construction, then tells its consumer the result. */
static void report(struct orma_service_clone *clone)
{
	orma_clone_done_fn *done = clone->done;
	void *done_ctx = clone->done_ctx;
	struct orma_clone_result result = {0};
	char error[sizeof(clone->error)];

	memcpy(error, clone->error, sizeof(error));
	if (error[0]) {
		result.error = error;
	} else {
		result.uuid_msb = clone->session->uuid_msb;
		result.uuid_lsb = clone->session->uuid_lsb;
		result.was_write_into_file = clone->has_file;
	}
	free_clone(clone);
	if (done)
		done(done_ctx, &result);
}

/* --- making one ------------------------------------------------------------------------------- */

static int take_trigger(struct orma_service_session *session,
			const struct orma_clone_request *request)
{
	struct orma_service_trigger_hit *hit = &session->clone_trigger;

	if (!request->trigger_name || !request->trigger_name[0])
		return 0;
	hit->name = orma_base_strdup(request->trigger_name);
	hit->producer_name = orma_base_strdup(
		request->trigger_producer_name ? request->trigger_producer_name : "");
	hit->producer_uid = request->trigger_producer_uid;
	hit->boot_ns = request->trigger_boot_time_ns;
	hit->delay_ms = request->trigger_delay_ms;
	return hit->name && hit->producer_name ? 0 : -ENOMEM;
}

static int make_session(struct orma_service_clone *clone, const struct orma_clone_request *request,
			struct orma_error *reterr)
{
	const struct orma_service_session *source = clone->source;
	bool skips_filter = request->skips_trace_filter || request->session_id == UINT64_MAX;
	struct orma_service_session *session;
	int r = orma_service_session_new(clone->port, &session);

	if (r < 0)
		return r;
	clone->session = session;
	session->id = ++clone->service->sessions.last_id;
	r = orma_service_session_decode(session, source->config_bytes.data,
					source->config_bytes.size, reterr);
	if (r < 0)
		return r;
	session->name =
		orma_base_arena_strdup(&session->arena, session->config->unique_session_name);
	session->buffers =
		orma_base_alloc_array(source->buffer_count + 1, sizeof(*session->buffers));
	if (!session->name || !session->buffers)
		return -ENOMEM;
	if (session->config->trace_filter && !skips_filter)
		r = orma_service_filter_new(clone->service, session->config->trace_filter,
					    &session->filter.program, reterr);
	return r < 0 ? r : take_trigger(session, request);
}

static int new_clone(struct orma_consumer_port *port, const struct orma_clone_request *request,
		     struct orma_service_session *source, struct orma_service_clone **ret,
		     struct orma_error *reterr)
{
	struct orma_service_clone *clone = orma_base_zalloc(sizeof(*clone));
	int r;

	if (!clone)
		return -ENOMEM;
	clone->service = port->service;
	clone->port = port;
	clone->source = source;
	clone->file_fd = -1;
	orma_base_list_append(&port->service->clones, &clone->link);
	port->clone = clone;
	clone->buffers = orma_base_alloc_array(source->buffer_count + 1, sizeof(*clone->buffers));
	r = clone->buffers ? make_session(clone, request, reterr) : -ENOMEM;
	clone->buffer_count = clone->buffers ? source->buffer_count : 0;
	if (r == 0 && source->config->write_into_file) {
		clone->file_fd = orma_base_fd_duplicate(request->file_fd);
		clone->has_file = clone->file_fd >= 0;
		if (clone->file_fd < 0)
			r = orma_base_error_set(reterr, clone->file_fd,
						"the file descriptor cannot be used");
	}
	if (r < 0) {
		free_clone(clone);
		return r;
	}
	*ret = clone;
	return 0;
}

static int add_cloned_events(struct orma_service_clone *clone)
{
	struct orma_service_session *session = clone->session;
	int r = orma_service_event_insert(session, ORMA_PB_TRACING_SERVICE_EVENT_CLONE_STARTED,
					  clone->started_ns, NULL);

	for (size_t i = 0; i < clone->buffer_count && r == 0; i++) {
		uint32_t field_id = ORMA_PB_TRACING_SERVICE_EVENT_BUFFER_CLONED;
		struct orma_proto_heap_writer heap;
		struct orma_buf data = {0};

		orma_proto_heap_writer_init(&heap, &data);
		orma_proto_write_varint(&heap.writer, field_id, i);
		r = orma_proto_heap_writer_finish(&heap);
		if (r == 0)
			r = orma_service_event_insert(session, field_id, clone->buffers[i].boot_ns,
						      &data);
		orma_base_buf_done(&data);
	}
	return r;
}

static void take_state(struct orma_service_clone *clone)
{
	struct orma_service_session *source = clone->source, *session = clone->session;
	int r;

	for (size_t i = 0; i < clone->buffer_count; i++)
		clone->buffers[i].size_kb = source->buffers[i].size_kb;
	session->flush.final_outcome =
		clone->has_flush_failed
			? ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME_FINAL_FLUSH_FAILED
			: ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME_FINAL_FLUSH_SUCCEEDED;
	r = orma_service_clone_copy_state(source, session);
	if (r == 0)
		r = add_cloned_events(clone);
	if (r < 0) {
		set_error(clone, "no memory for the clone");
		return;
	}
	orma_service_event_add(session, ORMA_PB_TRACING_SERVICE_EVENT_TRACING_DISABLED, true);
	/* Copy the file now: packets that the source writes later are in the clone's buffers
	 * too. */
	if (clone->has_file && orma_service_output_open_copy(session, &clone->file_fd, source) < 0)
		set_error(clone, session->error);
}

static bool continue_clone(struct orma_service_clone *clone);

static void on_step(struct orma_service_timer *timer)
{
	struct orma_service_clone *clone =
		ORMA_CONTAINER_OF(timer, struct orma_service_clone, step_timer);
	uint64_t at_ns;

	if (!continue_clone(clone))
		return;
	at_ns = orma_service_now_ns(clone->service);
	if (++clone->steps_in_row == ORMA_SERVICE_CLONE_STEPS_IN_ROW) {
		clone->steps_in_row = 0;
		at_ns += ORMA_SERVICE_STEP_PAUSE_NS;
	}
	orma_service_timer_arm(&clone->service->timers, timer, at_ns, on_step);
}

static void step_soon(struct orma_service_clone *clone)
{
	orma_service_timer_arm(&clone->service->timers, &clone->step_timer,
			       orma_service_now_ns(clone->service), on_step);
}

static void take_group(struct orma_service_clone *clone, enum orma_service_flush_group group)
{
	ORMA_ASSERT(clone->groups_pending > 0 && clone->source);
	if (!clone->error[0] && orma_service_clone_take_buffers(clone, group) < 0)
		set_error(clone, "no memory for the clone's buffers");
	if (--clone->groups_pending == 0) {
		if (!clone->error[0])
			take_state(clone);
		clone->source = NULL;
	}
	step_soon(clone);
}

void orma_service_clone_flushed(struct orma_service_clone *clone,
				enum orma_service_flush_group group, bool is_complete)
{
	clone->has_flush_failed |= !is_complete;
	take_group(clone, group);
}

static void make_known(struct orma_service_clone *clone)
{
	struct orma_service_session *session = clone->session;
	struct orma_service *service = clone->service;

	ORMA_ASSERT(!clone->is_known && !clone->source && !clone->port->session);
	clone->is_known = true;
	session->has_said_disabled = true;
	orma_base_list_append(&service->sessions.list, &session->link);
	service->sessions.count++;
	session->consumer = clone->port;
	clone->port->session = session;
	orma_service_session_set_state(session, ORMA_SERVICE_SESSION_CLONED);
}

/* Does what can be done now; true = there is more to do at once. */
static bool continue_clone(struct orma_service_clone *clone)
{
	int r = clone->error[0] ? 0 : orma_service_clone_copy_step(clone);

	if (r > 0)
		return true;
	if (r < 0)
		set_error(clone, "no memory for the clone's buffers");
	if (clone->groups_pending && !clone->error[0])
		return false;
	if (!clone->error[0] && orma_service_clone_give_buffers(clone) < 0)
		set_error(clone, "the service has no buffer id left");
	if (clone->error[0]) {
		report(clone);
		return false;
	}
	make_known(clone);
	if (clone->has_file) {
		clone->session->clone = clone;
		orma_service_output_finish(clone->session);
	} else {
		report(clone);
	}
	return false;
}

void orma_service_clone_written(struct orma_service_session *session)
{
	struct orma_service_clone *clone = session->clone;
	bool has_failed = session->error[0];

	if (has_failed)
		set_error(clone, session->error);
	report(clone);
	if (has_failed)
		orma_service_session_free(session);
}

void orma_service_clone_freed(struct orma_service_session *session)
{
	if (!session->clone)
		return;
	set_error(session->clone, "the clone was freed before its file was written");
	report(session->clone);
}

bool orma_service_clone_file_event(struct orma_service *service, uint64_t session_id, int status)
{
	struct orma_service_clone *clone;

	ORMA_LIST_FOR_EACH (clone, &service->clones, link) {
		if (clone->is_known || clone->session->id != session_id)
			continue;
		if (status < 0)
			set_error(clone, "the session's file cannot be copied");
		return true;
	}
	return false;
}

static bool has_transferred(const struct orma_service_session *source)
{
	for (size_t i = 0; i < source->buffer_count; i++)
		if (orma_service_flush_concerns(ORMA_SERVICE_FLUSH_TRANSFERRED, source, i))
			return true;
	return false;
}

static void begin(struct orma_service_clone *clone, const struct orma_clone_request *request)
{
	struct orma_service_session *source = clone->source;
	bool is_for_bugreport = request->is_for_bugreport || request->session_id == UINT64_MAX;
	uint64_t flags = ORMA_SERVICE_FLUSH_FLAGS_CLONE |
			 (is_for_bugreport ? ORMA_SERVICE_FLUSH_FLAGS_BUGREPORT : 0);

	clone->started_ns = orma_service_boot_ns(clone->service);
	orma_service_event_add(source, ORMA_PB_TRACING_SERVICE_EVENT_FLUSH_STARTED, true);
	if (!clone->has_file && has_transferred(source)) {
		clone->groups_pending = 2;
		orma_service_flush_begin_group(source, flags, clone,
					       ORMA_SERVICE_FLUSH_TRANSFERRED);
		orma_service_flush_begin_group(source, flags, clone, ORMA_SERVICE_FLUSH_KEPT);
	} else {
		clone->groups_pending = 1;
		orma_service_flush_begin_group(source, flags, clone, ORMA_SERVICE_FLUSH_ALL);
	}
}

static int try_clone(struct orma_consumer_port *port, const struct orma_clone_request *request,
		     struct orma_service_clone **ret, struct orma_error *reterr)
{
	struct orma_service_session *source = NULL;
	struct orma_service_clone *clone = NULL;
	int r = orma_service_clone_find_source(port, request, &source, reterr);

	if (r == 0)
		r = new_clone(port, request, source, &clone, reterr);
	if (r != 0)
		return r;
	r = orma_service_clone_clear_source(source);
	if (r < 0) {
		free_clone(clone);
		return r;
	}
	*ret = clone;
	return 0;
}

void orma_consumer_port_clone(struct orma_consumer_port *port,
			      const struct orma_clone_request *request, orma_clone_done_fn *done,
			      void *done_ctx)
{
	struct orma_clone_request whole = {.file_fd = -1};
	struct orma_clone_result result = {0};
	struct orma_service_clone *clone = NULL;
	struct orma_error error = {0};
	int r;

	r = port && request ? orma_base_options_copy(&whole, sizeof(whole), request) : -EINVAL;
	if (r < 0)
		orma_base_error_set(&error, r,
				    "there is no port, or the request is of another size");
	else
		r = try_clone(port, &whole, &clone, &error);
	if (r == 0) {
		clone->done = done;
		clone->done_ctx = done_ctx;
		begin(clone, &whole);
		return;
	}
	if (!error.message[0])
		orma_base_error_set(&error, r, "no memory for the clone");
	result.error = error.message;
	if (done)
		done(done_ctx, &result);
}
