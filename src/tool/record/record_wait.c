/* SPDX-License-Identifier: Apache-2.0
 * record_wait.c - waits for the end of a recording.
 *
 * The recorder sleeps in poll() on the session, the signals, the recorded program or processes and a
 * progress tick. The first SIGINT, SIGTERM or SIGHUP flushes and stops the session, and the whole trace is
 * still written. A second one waits neither for the flush nor for the stop, and the recorder writes
 * what the service has; the service may take CUT_MS to complete a file that it writes itself. While
 * the recorder writes the trace, one more signal makes it give up. It also gives up when the
 * service has not answered LATE_MS after the end of the duration.
 */
#include <errno.h>
#include <orma/session.h>
#include <poll.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "proto/codec.h"
#include "schema/gen/service_state.pb.h"
#include "tool/print.h"
#include "tool/record/recorder.h"
#include "tool/tool.h"

#define TICK_MS   200
#define LATE_MS   75000 /* for flush, stop and read-back, beyond the duration */
#define OWN_MS    50    /* for the end of the own session */
#define OTHERS_MS 200   /* between two looks at other recordings */
/* A consumer that has connected and begins no session until then, in 3 s, is not waited for. A
 * recorder that joins in begins its own at once, but a busy machine may stop it before that. */
#define IDLE_LOOKS 15
#define CUT_MS     8000 /* a service waits 5 s for data sources that do not stop */
/* Flush flags: reason trace stop, initiator the command line (PROTOCOL: flush flags word). */
#define FLUSH_TRACE_STOP (UINT64_C(2) | UINT64_C(2) << 4)

static double seconds_since(uint64_t begin_ns)
{
	return (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
}

static void show_progress(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;

	orma_record_progress_show(&recorder->progress, recorder->session,
				  seconds_since(recorder->begin_ns),
				  config ? config->duration_ms : 0);
}

static void on_last_flush(void *ctx, const struct orma_error *error)
{
	struct orma_recorder *recorder = ctx;
	if (error && error->code == -EIO)
		orma_tool_warn("some data sources did not answer the last flush in time");
	recorder->stop_error = orma_session_stop(recorder->session);
}

static int begin_end(struct orma_recorder *recorder)
{
	recorder->is_ending = true;
	return orma_session_flush_async(recorder->session, 0, FLUSH_TRACE_STOP, on_last_flush,
					recorder);
}

/* Handles pending signals. Returns 0 to go on, or -EINTR to wait no longer. */
static int take_signals(struct orma_recorder *recorder)
{
	orma_recorder_count_signals(recorder);
	if (recorder->signal_count == 0 || orma_session_is_stopped(recorder->session))
		return 0;
	if (recorder->signal_count > 1)
		return -EINTR;
	if (recorder->is_ending)
		return 0;
	orma_record_progress_clear(&recorder->progress);
	if (recorder->progress.is_shown)
		fputs("Stopping (Ctrl-C again stops at once, without data that is not written "
		      "yet)\n",
		      stderr);
	recorder->progress.is_shown = false;
	return begin_end(recorder);
}

/* Ends the recording when the program has ended. */
static int take_app_end(struct orma_recorder *recorder)
{
	orma_record_app_reap(&recorder->app);
	return orma_record_app_is_running(&recorder->app) || recorder->is_ending ||
			       orma_session_is_stopped(recorder->session)
		       ? 0
		       : begin_end(recorder);
}

/* Ends the recording when the processes that it is about have ended. */
static int take_targets_end(struct orma_recorder *recorder)
{
	return !orma_record_targets_step(&recorder->targets) || recorder->is_ending ||
			       orma_session_is_stopped(recorder->session)
		       ? 0
		       : begin_end(recorder);
}

static bool is_late(const struct orma_recorder *recorder)
{
	uint32_t duration_ms =
		recorder->options->config ? recorder->options->config->duration_ms : 0;
	return duration_ms &&
	       seconds_since(recorder->begin_ns) * 1000 > (double)duration_ms + LATE_MS;
}

int orma_recorder_wait(struct orma_recorder *recorder)
{
	int r = 0;
	while (r == 0 && !orma_session_is_stopped(recorder->session)) {
		int failure_fd = recorder->options->failure_fd;
		struct pollfd fds[5] = {
			{.fd = orma_session_poll_fd(recorder->session), .events = POLLIN},
			{.fd = recorder->signal_fd, .events = POLLIN},
			{.fd = recorder->app.child_fd, .events = POLLIN},
			{.fd = orma_record_targets_fd(&recorder->targets), .events = POLLIN},
			{.fd = failure_fd > 0 ? failure_fd : -1, .events = POLLIN},
		};
		show_progress(recorder);
		int ready = poll(fds, 5, recorder->progress.is_shown ? TICK_MS : 10000);
		if (ready < 0 && errno != EINTR)
			return -errno;
		r = orma_session_dispatch(recorder->session);
		orma_record_categories_step(&recorder->categories, recorder->session);
		if (orma_snapshots_step(&recorder->snapshots, recorder->options->is_quiet))
			continue;
		if (r == 0 && fds[1].revents)
			r = take_signals(recorder);
		if (r == 0 && fds[2].revents)
			r = take_app_end(recorder);
		if (r == 0 && fds[3].revents)
			r = take_targets_end(recorder);
		if (r == 0 && fds[4].revents)
			r = -ECANCELED;
		if (r == 0 && is_late(recorder))
			r = -ETIMEDOUT;
		if (r == 0)
			r = recorder->stop_error;
	}
	orma_record_progress_clear(&recorder->progress);
	while (r == 0 && orma_snapshots_step(&recorder->snapshots, recorder->options->is_quiet))
		;
	return r;
}

/* Waits while the service still writes into the file. -EINTR when a signal or CUT_MS ends the wait
 * before the file is complete. */
static int await_service_file(struct orma_recorder *recorder)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + CUT_MS * ORMA_NS_PER_MS;
	int r = orma_session_dispatch(recorder->session);
	while (r == 0 && !orma_session_is_stopped(recorder->session)) {
		struct pollfd fds[2] = {
			{.fd = orma_session_poll_fd(recorder->session), .events = POLLIN},
			{.fd = recorder->signal_fd, .events = POLLIN},
		};
		uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		if (now_ns >= end_ns || recorder->signal_count > 1)
			return -EINTR;
		if (poll(fds, 2, (int)((end_ns - now_ns) / ORMA_NS_PER_MS) + 1) < 0 &&
		    errno != EINTR)
			return -errno;
		orma_recorder_count_signals(recorder);
		r = orma_session_dispatch(recorder->session);
	}
	return r;
}

/* From here on, the trace is what the service already has. The count of signals restarts, so the
 * next one gives up. */
int orma_recorder_cut_short(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	recorder->signal_count = 1;
	orma_tool_warn(
		"interrupted twice: data that the data sources had not handed over is missing");
	int r = orma_session_stop(recorder->session);
	return r == 0 && config && config->writes_into_file ? await_service_file(recorder) : r;
}

/* Returns how many sessions the service has, without those that nobody can reach any more (a file of
 * them may be stuck); -1 when the service has ended. */
static int32_t count_sessions(struct orma_session *session)
{
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_state *state;
	int32_t count = -1;
	void *data = NULL;
	size_t size;

	if (orma_session_query_state(session, true, &data, &size) == 0 &&
	    orma_proto_decode(&orma_pb_tracing_service_state_desc, data, size, &arena, &state) == 0)
		count = (int32_t)state->tracing_sessions.count;
	orma_config_free(data);
	orma_base_arena_done(&arena);
	return count;
}

static void tell_waiting(int32_t count, bool is_ending)
{
	const char *recordings = orma_base_noun((uint64_t)count, "recording", "recordings");

	if (is_ending)
		orma_tool_warn("ending %d other %s with what they have so far; Ctrl-C again does "
			       "not wait for that",
			       count, recordings);
	else
		orma_tool_warn("still serving %d other %s; Ctrl-C ends %s too", count, recordings,
			       count == 1 ? "it" : "them");
}

/* Returns true when another signal ended the wait before the others did. */
static bool wait_for_others(struct orma_recorder *recorder, struct orma_session *session,
			    bool is_ending)
{
	unsigned signal_count = recorder->signal_count;
	bool has_told = false;

	for (unsigned looks = 0; recorder->signal_count == signal_count; looks++) {
		struct pollfd fd = {recorder->signal_fd, POLLIN, 0};
		int32_t count;

		orma_embedded_close_unused(recorder->embedded);
		count = count_sessions(session);
		if (count < 0 || (count == 0 && looks >= IDLE_LOOKS))
			return false;
		/* At the first look, it may be this recorder's session, which is about to go. */
		if (looks > 0 && count > 0 && !has_told) {
			tell_waiting(count, is_ending);
			has_told = true;
		}
		(void)poll(&fd, 1, looks == 0 ? OWN_MS : OTHERS_MS);
		orma_recorder_count_signals(recorder);
	}
	return true;
}

void orma_recorder_await_others(struct orma_recorder *recorder)
{
	struct orma_session_options options = {
		.struct_size = sizeof(options),
		.consumer_socket = orma_embedded_consumer_address(recorder->embedded),
	};
	struct orma_session *session = NULL;

	if (orma_session_new(&options, &session, NULL) < 0)
		return;
	if (recorder->signal_count > 1 || wait_for_others(recorder, session, false)) {
		orma_embedded_finish(recorder->embedded);
		(void)wait_for_others(recorder, session, true);
	}
	orma_session_free(session);
}

/* The recording may end before the program does, whose exit status is to be passed on. */
void orma_recorder_await_app(struct orma_recorder *recorder)
{
	const struct orma_record_options *options = recorder->options;

	if (orma_record_app_is_running(&recorder->app) &&
	    (!options->is_quiet || options->tells_waiting))
		orma_tool_warn("the recording is over; waiting for %s to end",
			       recorder->app.argv[0]);
	while (orma_record_app_is_running(&recorder->app)) {
		struct pollfd fds[2] = {{recorder->signal_fd, POLLIN, 0},
					{recorder->app.child_fd, POLLIN, 0}};
		(void)poll(fds, 2, -1);
		if (fds[0].revents)
			orma_recorder_count_signals(recorder);
		if (fds[1].revents)
			orma_record_app_reap(&recorder->app);
	}
}
