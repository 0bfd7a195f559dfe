/* SPDX-License-Identifier: Apache-2.0
 * top_session.c - a session with a ring buffer that is read all the time.
 *
 *   round:  flush (200 ms at most) -> statistics -> read -> done, and the next one when it is time
 *
 * The flush brings what threads hold in chunks that are not full, else a thread with an event per second would be seen after
 * an hour. The statistics are asked for before the read, so that they show how full the buffer was. The calls do not wait, so
 * that keys work while a program does not answer.
 *
 * It never slows the programs. When their shared memory is full, they drop events, as in every session; when the buffer is
 * full, new events overwrite the oldest. The losses of both kinds are shown.
 *
 * Scheduling costs every CPU a few percent, so it is recorded only when rows are CPUs, and the session begins anew when the
 * user changes to them.
 *
 * Programs clear their incremental state every CLEAR_MS: then what is kept can be read from any such point on
 * (top_keep.c), and a decoder that lost something knows the names again.
 */
#include "tool/top/top_session.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "tool/tool.h"

enum { FLUSH_MS = 200, CLEAR_MS = 5000 };

static const char common_config[] = "buffers { size_kb: %d fill_policy: RING_BUFFER }\n"
				    "data_sources { config { name: \"track_event\" "
				    "track_event_config { enabled_categories: \"*\" } "
				    "} }\n"
				    "incremental_state_config { clear_period_ms: %d }\n";
static const char kernel_config[] =
	"data_sources { config { name: \"linux.ftrace\" ftrace_config { ftrace_events: "
	"\"sched/sched_switch\" compact_sched { enabled: true } } } }\n";

static int enable(struct orma_top_session *session)
{
	struct orma_buf text = {0};
	int r = orma_base_buf_printf(&text, common_config, ORMA_TOP_BUFFER_KB, CLEAR_MS);
	if (r == 0 && session->decoder->by == ORMA_TOP_BY_CPU)
		r = orma_base_buf_append_str(&text, kernel_config);
	if (r == 0)
		r = orma_session_enable_text(session->recorder.session, NULL,
					     (const char *)text.data, text.size, -1, NULL);
	orma_base_buf_done(&text);
	session->asks_state = true;
	return r;
}

int orma_top_session_open(struct orma_top_session *session, struct orma_top_decoder *decoder,
			  struct orma_top_keep *keep, int signal_fd)
{
	*session = (struct orma_top_session){.decoder = decoder, .keep = keep};
	session->record_options.may_serve = true;
	session->recorder = (struct orma_recorder){.options = &session->record_options,
						   .output.fd = -1,
						   .parent_fd = -1,
						   .signal_fd = signal_fd,
						   .app.child_fd = -1};
	int status = orma_recorder_connect(&session->recorder);
	if (status != ORMA_EXIT_OK)
		return status;
	int r = enable(session);
	return r < 0 ? orma_tool_fail("cannot begin a session: %s", strerror(-r)) : ORMA_EXIT_OK;
}

static int reconnect(struct orma_top_session *session)
{
	struct orma_recorder *recorder = &session->recorder;
	const char *address =
		recorder->embedded ? orma_embedded_consumer_address(recorder->embedded) : NULL;
	struct orma_session_options options = {.struct_size = sizeof(options),
					       .consumer_socket = address};
	return orma_session_new(&options, &recorder->session, NULL);
}

int orma_top_session_restart(struct orma_top_session *session)
{
	orma_session_free(ORMA_TAKE(session->recorder.session));
	session->is_busy = false;
	orma_top_decoder_forget_session(session->decoder);
	int r = reconnect(session);
	return r < 0 ? r : enable(session);
}

void orma_top_session_close(struct orma_top_session *session)
{
	orma_session_free(session->recorder.session);
	if (session->recorder.embedded)
		orma_recorder_await_others(&session->recorder);
	orma_embedded_stop(session->recorder.embedded);
}

int orma_top_session_fd(const struct orma_top_session *session)
{
	return orma_session_poll_fd(session->recorder.session);
}

/* --- a round, from its end to its begin ------------------------------------------------------- */

static int on_packet(void *ctx, const void *packet, size_t size)
{
	struct orma_top_session *session = ctx;
	session->read_bytes += size;
	orma_top_decoder_take(session->decoder, packet, size);
	if (session->keep)
		orma_top_keep_add(session->keep, packet, size);
	return 0;
}

static void on_read(void *ctx, const struct orma_error *error)
{
	struct orma_top_session *session = ctx;
	session->is_busy = false;
	if (error)
		session->error = error->code;
}

static void read_packets(struct orma_top_session *session)
{
	session->read_bytes = 0;
	int r = orma_session_read_async(session->recorder.session, on_packet, on_read, session);
	if (r < 0) {
		session->error = r;
		session->is_busy = false;
	}
}

static void on_state(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	struct orma_top_session *session = ctx;
	struct orma_service_state *state = NULL;
	if (!error && orma_service_state_parse(data, size, &state) == 0) {
		session->producer_count = 0;
		session->has_kernel = false;
		/* The probes of a service of our own are no program that the user started. */
		for (size_t i = 0; i < state->producer_count; i++)
			session->producer_count += state->producers[i]->pid != getpid();
		for (size_t i = 0; i < state->data_source_count; i++)
			session->has_kernel |=
				strcmp(state->data_sources[i]->name, "linux.ftrace") == 0;
	}
	orma_service_state_free(state);
	session->asks_state = false;
	read_packets(session);
}

static void take_stats(struct orma_top_session *session, const struct orma_trace_stats *stats)
{
	session->buffer_bytes = session->waiting_bytes = 0;
	for (size_t i = 0; i < stats->buffer_count; i++) {
		const struct orma_buffer_stats *buffer = stats->buffers[i];
		uint64_t gone = buffer->read_bytes + buffer->overwritten_bytes;
		session->buffer_bytes += buffer->size_bytes;
		session->waiting_bytes +=
			buffer->written_bytes > gone ? buffer->written_bytes - gone : 0;
	}
}

static void on_stats(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	struct orma_top_session *session = ctx;
	struct orma_trace_stats *stats = NULL;
	if (!error && orma_trace_stats_parse(data, size, &stats) == 0)
		take_stats(session, stats);
	orma_trace_stats_free(stats);
	if (!session->asks_state ||
	    orma_session_query_async(session->recorder.session, ORMA_SESSION_QUERY_STATE, on_state,
				     session) < 0)
		read_packets(session);
}

static void on_flushed(void *ctx, const struct orma_error *error)
{
	struct orma_top_session *session = ctx;
	/* A program that did not answer in time is read as far as it has committed. */
	(void)error;
	int r = orma_session_query_async(session->recorder.session, ORMA_SESSION_QUERY_STATS,
					 on_stats, session);
	if (r < 0)
		read_packets(session);
}

int orma_top_session_begin_round(struct orma_top_session *session)
{
	int r = orma_session_flush_async(session->recorder.session, FLUSH_MS, 0, on_flushed,
					 session);
	session->is_busy = r == 0;
	return r;
}

int orma_top_session_dispatch(struct orma_top_session *session)
{
	int r = orma_session_dispatch(session->recorder.session);
	if (r == 0 && orma_session_is_stopped(session->recorder.session))
		r = -ESTALE;
	return r < 0 ? r : session->error;
}
