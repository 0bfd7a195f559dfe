/* SPDX-License-Identifier: Apache-2.0
 * output.c - write_into_file: the session's packets go to a file while it runs and when it ends.
 *
 *   idle --period (after a flush, if so configured)--> draining --buffers empty--> idle
 *   any  --session disabled--> draining, then close --> closing --closed--> reply to the consumer
 *
 * A drain goes in steps of about 1 MiB, a few per call, so that no other session waits for it. A
 * file that takes no more data (-EAGAIN) stops the drain. The refused data are kept separately,
 * because the buffers may overwrite them, and are written first when the file is ready. A
 * compressor that has finished nothing stops the drain too, until its event. An error ends the
 * session and reaches its consumer; the file then holds what it took, perhaps with half a packet at
 * its end. Rejected: draining everything in one call (upstream), reading on while the file is stuck
 * (unbounded memory).
 */
#include "service/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/macros.h"
#include "proto/wire.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/consumer_port.h"
#include "service/flush.h"
#include "service/output/output_compress.h"
#include "service/output/output_create.h"
#include "service/output/output_file.h"
#include "service/output/output_rotate.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_events.h"
#include "service/session_state.h"
#include "service/timer.h"

static void drain(struct orma_service_session *session);

static void take_settings(struct orma_service_session *session)
{
	const struct orma_pb_trace_config *config = session->config;
	struct orma_service_output *output = &session->output;
	uint32_t period_ms = config->file_write_period_ms ? config->file_write_period_ms
							  : ORMA_SERVICE_FILE_PERIOD_MS;

	output->period_ms = ORMA_MAX(period_ms, ORMA_SERVICE_FILE_PERIOD_MS_MIN);
	output->max_bytes = config->max_file_size_bytes;
	output->is_synced =
		config->fflush_post_write == ORMA_PB_TRACE_CONFIG_F_FLUSH_MODE_FFLUSH_ENABLED;
	switch (config->write_flush_mode) {
	case ORMA_PB_TRACE_CONFIG_WRITE_FLUSH_MODE_WRITE_FLUSH_DISABLED:
		break;
	case ORMA_PB_TRACE_CONFIG_WRITE_FLUSH_MODE_WRITE_FLUSH_ENABLED:
		session->flush.strategy = ORMA_SERVICE_FLUSH_ON_WRITE;
		break;
	default:
		if (output->period_ms > ORMA_SERVICE_FILE_PERIOD_MS) {
			session->flush.strategy = ORMA_SERVICE_FLUSH_ON_WRITE;
		} else {
			session->flush.strategy = ORMA_SERVICE_FLUSH_PERIODIC;
			session->flush.period_ms = ORMA_SERVICE_FILE_PERIOD_MS;
		}
	}
}

int orma_service_output_init(struct orma_service_session *session, struct orma_error *reterr)
{
	const struct orma_pb_trace_config *config = session->config;

	if (!config->write_into_file)
		return 0;
	take_settings(session);
	if (!config->output_path.size)
		return 0;
	session->output.path = orma_base_arena_strdup(&session->arena, config->output_path);
	return session->output.path ? orma_service_rotation_init(session, reterr) : -ENOMEM;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* May free the session. */
static void close_and_end(struct orma_service_session *session, bool sync, const char *error)
{
	orma_service_output_close(session, sync);
	if (!orma_service_session_has_ended(session))
		session->service->events->must_end(session, false, error);
	else if (!session->output.is_closing)
		session->service->events->file_closed(session);
}

static void fail(struct orma_service_session *session, int error)
{
	char text[sizeof(session->error)];

	orma_service_output_explain(text, sizeof(text), "write_into_file", -error);
	if (session->error[0] == '\0')
		memcpy(session->error, text, sizeof(text));
	close_and_end(session, false, text);
}

/* The number of slices up to the end of the packet at `begin`, and their bytes. */
static size_t measure_packet(const struct orma_service_batch *batch, size_t begin,
			     size_t *ret_bytes)
{
	size_t at = begin, bytes = 0;

	do
		bytes += batch->slices[at].size;
	while (!batch->slices[at++].ends_packet);
	*ret_bytes = bytes;
	return at - begin;
}

static size_t make_preamble(uint8_t *preamble, size_t packet_bytes)
{
	uint8_t *at = orma_proto_put_varint(preamble,
					    orma_proto_tag(ORMA_PB_TRACE_PACKET, ORMA_PROTO_BYTES));

	return (size_t)(orma_proto_put_varint(at, packet_bytes) - preamble);
}

/* 0 = written, 1 = the file's maximum size is reached, or an error. */
static int put_batch(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	const struct orma_service_batch *batch = &service->batch;
	uint64_t planned_bytes = output->written_bytes;
	size_t at = 0, iov_count = 0;
	int r = 0;

	while (at < batch->count && r == 0) {
		size_t bytes, slices = measure_packet(batch, at, &bytes);
		size_t preamble_bytes = make_preamble(service->files.preambles[iov_count], bytes);

		planned_bytes += preamble_bytes + bytes;
		if (output->max_bytes && planned_bytes >= output->max_bytes) {
			r = orma_service_output_put(session, service->files.iov, (int)iov_count);
			if (r == 0 && output->max_files)
				return orma_service_rotation_carry(session, at);
			return r < 0 ? r : 1;
		}
		service->files.iov[iov_count] =
			(struct iovec){service->files.preambles[iov_count], preamble_bytes};
		iov_count++;
		for (; slices > 0 && r == 0; slices--, at++) {
			if (iov_count == ORMA_SERVICE_IOV_MAX) {
				r = orma_service_output_put(session, service->files.iov,
							    (int)iov_count);
				iov_count = 0;
			}
			service->files.iov[iov_count++] = (struct iovec){
				(void *)(uintptr_t)batch->slices[at].data, batch->slices[at].size};
		}
		if (iov_count == ORMA_SERVICE_IOV_MAX && r == 0) {
			r = orma_service_output_put(session, service->files.iov, (int)iov_count);
			iov_count = 0;
		}
	}
	return r < 0 ? r : orma_service_output_put(session, service->files.iov, (int)iov_count);
}

static int reserve_step(struct orma_service *service)
{
	if (!service->files.iov)
		service->files.iov =
			orma_base_alloc_array(ORMA_SERVICE_IOV_MAX, sizeof(*service->files.iov));
	if (!service->files.preambles)
		service->files.preambles = orma_base_alloc_array(ORMA_SERVICE_IOV_MAX,
								 sizeof(*service->files.preambles));
	return service->files.iov && service->files.preambles ? 0 : -ENOMEM;
}

/* Does one step: 1 = there is more to do, 0 = the buffers are empty or the file waits, 2 = the
 * maximum size is reached, or an error. */
static int step(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	int more, r = reserve_step(session->service);

	if (r == 0)
		r = orma_service_output_put_refused(session);
	if (r == 0 && output->is_at_max && !output->is_waiting)
		return 2;
	if (r == 0)
		r = orma_service_rotation_continue(session);
	if (r < 0 || output->is_waiting || !output->is_draining)
		return r;
	more = orma_service_read_out(session, orma_service_rotation_step_bytes(session), false);
	if (more == -EAGAIN)
		return 0;
	if (more < 0)
		return more;
	r = put_batch(session);
	if (r > 0) {
		/* Data that the file refused has still to be written. */
		output->is_at_max = true;
		return output->is_waiting ? 0 : 2;
	}
	if (r == 0)
		r = orma_service_rotation_continue(session);
	if (r == 0 && more == 0 && !output->is_waiting && orma_service_rotation_is_due(session)) {
		r = orma_service_rotation_cut(session);
		more = 1; /* the held packets */
	}
	if (r < 0)
		return r;
	orma_service_rotation_check(session, more > 0);
	output->is_draining = more > 0 || orma_service_rotation_is_due(session);
	return output->is_draining && !output->is_waiting;
}

static void on_step(struct orma_service_timer *timer)
{
	drain(ORMA_CONTAINER_OF(timer, struct orma_service_session, output.step_timer));
}

/* The buffers are empty and the file has everything. May free the session. */
static void on_drained(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	bool is_sync_due = output->is_sync_due;

	output->is_sync_due = false;
	if (orma_service_session_has_ended(session))
		close_and_end(session, true, NULL);
	else if (output->is_synced && is_sync_due && service->files.ops.sync)
		service->files.ops.sync(service->files.ctx, output->file);
}

static void drain(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	int r = 1;

	if (!output->file || output->is_waiting)
		return;
	orma_service_timer_disarm(&session->output.step_timer);
	for (unsigned i = 0; i < ORMA_SERVICE_FILE_STEPS_PER_RUN && r == 1; i++) {
		r = step(session);
		if (session->service->batch.is_out_of_time)
			break;
	}
	if (r < 0) {
		fail(session, r);
	} else if (r == 2) {
		close_and_end(session, true, NULL);
	} else if (r == 1) {
		orma_service_timer_arm(&session->service->timers, &session->output.step_timer,
				       orma_service_now_ns(session->service), on_step);
	} else if (!output->is_waiting && !session->compression.is_waiting) {
		on_drained(session);
	}
}

void orma_service_output_compressed(struct orma_service_session *session)
{
	struct orma_consumer_port *port = session->consumer;

	if (!session->compression.is_waiting)
		return;
	session->compression.is_waiting = false;
	if (session->output.file && session->output.is_draining)
		drain(session);
	else if (!session->output.file && port && port->callbacks.readable)
		port->callbacks.readable(port->ctx);
}

static void begin_drain(struct orma_service_session *session, bool is_flushed)
{
	struct orma_service_output *output = &session->output;

	(void)is_flushed;
	output->is_sync_due = true;
	/* A running drain includes the new data; one whose file is stuck includes it later. */
	if (!output->file || output->is_draining)
		return;
	output->is_draining = true;
	output->stored_bytes = 0;
	if (!output->is_waiting)
		drain(session);
}

void orma_service_output_drain_soon(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	struct orma_service *service = session->service;

	if (!output->file)
		return;
	output->stored_bytes = 0;
	output->is_draining = true;
	if (!output->is_waiting)
		orma_service_timer_arm(&service->timers, &session->output.step_timer,
				       orma_service_now_ns(service), on_step);
}

void orma_service_output_stored(struct orma_service_session *session, size_t bytes)
{
	struct orma_service_output *output = &session->output;

	output->stored_bytes += bytes;
	output->cut_bytes += bytes;
	if (output->max_files && !output->is_draining &&
	    (output->cut == ORMA_SERVICE_CUT_ANSWERED ||
	     output->stored_bytes >= output->reserve_bytes / ORMA_SERVICE_DRAINS_PER_RESERVE))
		orma_service_output_drain_soon(session);
}

static void on_period(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, output.write_timer);

	orma_service_arm_aligned(session->service, timer, session->output.period_ms);
	if (session->flush.strategy == ORMA_SERVICE_FLUSH_ON_WRITE &&
	    session->state == ORMA_SERVICE_SESSION_STARTED)
		orma_service_flush_begin(session, 0, ORMA_SERVICE_FLUSH_FLAGS_PERIODIC, begin_drain,
					 NULL, NULL);
	else
		begin_drain(session, false);
}

void orma_service_output_start(struct orma_service_session *session)
{
	if (!session->output.file)
		return;
	session->output.write_timer.fn = on_period;
	orma_service_arm_aligned(session->service, &session->output.write_timer,
				 session->output.period_ms);
}

void orma_service_output_finish(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;

	orma_service_timer_disarm(&session->output.write_timer);
	if (output->is_closing)
		return;
	if (!output->file) {
		session->service->events->file_closed(session);
		return;
	}
	/* Buffers that a running drain has passed already may have got their last data since. */
	session->read.buffer_idx = 0;
	orma_service_compression_extend(session);
	orma_service_timer_disarm(&session->output.step_timer);
	output->is_draining = true;
	drain(session);
}

void orma_service_output_event(struct orma_service_session *session, int status)
{
	struct orma_service_output *output = &session->output;

	if (session->state == ORMA_SERVICE_SESSION_OPENING) {
		orma_service_creation_event(session, status);
		return;
	}
	if (output->is_closing) {
		if (status == ORMA_FILE_READY || status == ORMA_FILE_CREATED)
			return;
		if (status < 0 && session->error[0] == '\0')
			orma_service_output_explain(session->error, sizeof(session->error),
						    "write_into_file", -status);
		output->is_closing = false;
		if (orma_service_session_has_ended(session))
			session->service->events->file_closed(session);
		return;
	}
	if (!output->file)
		return;
	if (status < 0) {
		fail(session, status);
	} else if (status == ORMA_FILE_READY && output->is_waiting) {
		output->is_waiting = false;
		drain(session);
	}
}
