/* SPDX-License-Identifier: Apache-2.0
 * record.c - one recording: connects, starts the session, reads the trace back, and cleans up.
 *
 * record_connect.c finds the service, record_wait.c waits for the end of the session, and
 * record_report.c says what the trace contains.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/session.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "schema/gen/capabilities.pb.h"
#include "tool/print.h"
#include "tool/record/recorder.h"
#include "tool/tool.h"

#define READY_TIMEOUT_MS  30000
#define FILE_WAIT_MS      11000 /* a service gives up creating the file after 10 s */
#define APP_WAIT_MS       2000  /* for data sources that start slowly */
#define STUCK_MS          1000
#define CLONE_TRIGGER_HIT 4u /* ObservableEvents.TYPE_CLONE_TRIGGER_HIT */

/* The service writes into the recorder's file. */
static bool sends_fd(const struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;

	return config && config->writes_into_file && !config->output_path;
}

/* The service accepts the session, and writes, before it is known whether the program can be started and sampled. */
static bool may_fail_late(const struct orma_recorder *recorder)
{
	const struct orma_record_options *options = recorder->options;

	return sends_fd(recorder) && (options->app_argv || options->on_perf_failure);
}

/* Removes an older trace. A refused session has left it as it was. Services write 100 ms after the
 * beginning at the earliest, or when the session ends, and what they have written by now stays. */
static void accept_session(struct orma_recorder *recorder)
{
	if (sends_fd(recorder) && !recorder->is_accepted && !recorder->error[0])
		orma_trace_output_empty(&recorder->output);
	recorder->is_accepted = true;
}

static void on_accepted(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	(void)error;
	(void)data;
	(void)size;
	accept_session(ctx);
}

static bool wants_snapshots(const struct orma_recorder *recorder)
{
	return recorder->options->config && recorder->options->config->makes_snapshots;
}

static int open_output(struct orma_recorder *recorder)
{
	const struct orma_record_options *options = recorder->options;

	if (!options->out_path)
		return ORMA_EXIT_OK;
	int status =
		orma_trace_output_open(&recorder->output, options->out_path, options->no_clobber);
	if (status == ORMA_EXIT_OK && may_fail_late(recorder))
		orma_trace_output_keep_old(&recorder->output);
	return status;
}

static void report_ready(struct orma_recorder *recorder, uint8_t status)
{
	if (recorder->options->ready_fd >= 0 && !recorder->is_ready)
		(void)orma_base_fd_write_all(recorder->options->ready_fd, &status, 1);
	recorder->is_ready = true;
	orma_tool_tell_parent(&recorder->parent_fd, status);
}

/* The duration of the recording itself; writing the trace, and asking for another file, may take
 * longer. */
static double recorded_seconds(const struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	uint64_t end_ns = recorder->end_ns ? recorder->end_ns : orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t ns = end_ns - recorder->begin_ns;

	/* The rest of the time, data sources started or ended. */
	if (config && config->duration_ms && !recorder->is_ending && recorder->signal_count == 0)
		ns = ORMA_MIN(ns, config->duration_ms * ORMA_NS_PER_MS);
	return (double)ns / 1e9;
}

/* Tells a parent that waits only for the beginning of the session. A service that refuses the
 * config reports that before it answers a later query. It creates the file of output_path before it
 * starts anything, so a session that has started has its file. */
static void tell_begun(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	void *data;
	size_t size;
	if (recorder->parent_fd < 0 || recorder->options->background_wait_ms)
		return;
	if (orma_session_query_capabilities(recorder->session, &data, &size) == 0)
		orma_config_free(data);
	if (config && config->output_path && !config->has_triggers)
		(void)orma_session_wait_started(recorder->session, FILE_WAIT_MS);
	if (!recorder->error[0])
		orma_tool_tell_parent(&recorder->parent_fd, ORMA_EXIT_OK);
}

/* If the parent or ready_fd waits for the data sources: waits until they have started, and reports
 * that. */
static void wait_ready(struct orma_recorder *recorder)
{
	tell_begun(recorder);
	if (recorder->options->ready_fd < 0 && recorder->parent_fd < 0)
		return;
	int r = orma_session_wait_started(recorder->session, READY_TIMEOUT_MS);
	if (recorder->error[0]) /* the report comes first, and then the status */
		return;
	/* A service that is older than the event returns -ENOTSUP. Then it is known only that the
	 * session is enabled. */
	report_ready(recorder, r == 0 || r == -ENOTSUP ? 0 : r == -ETIMEDOUT ? 2 : 1);
}

/* Waits until the session has begun or failed. When the data sources have started, the service has
 * accepted the config and created its file. With triggers they may start hours later, so a query is
 * sent instead: a service that refuses the config reports that before it answers. */
static bool has_session_begun(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	void *data;
	size_t size;
	uint32_t wait_ms = config->output_path ? FILE_WAIT_MS : APP_WAIT_MS;
	if (recorder->options->may_start_app)
		wait_ms = READY_TIMEOUT_MS;
	if (!config->has_triggers)
		(void)orma_session_wait_started(recorder->session, wait_ms);
	else if (orma_session_query_capabilities(recorder->session, &data, &size) == 0)
		orma_config_free(data);
	return !orma_session_is_stopped(recorder->session);
}

/* Starts the program while the session runs, so that everything is recorded from the moment when
 * its library has connected. Without a session no program is started. Returns the exit status, or 0
 * when the session's error determines it. */
static int start_app(struct orma_recorder *recorder)
{
	if (!has_session_begun(recorder))
		return recorder->error[0] ? ORMA_EXIT_OK
					  : orma_tool_fail("the recording was over before %s could "
							   "be started; record for longer (-t)",
							   recorder->app.argv[0]);
	const struct orma_record_options *options = recorder->options;
	recorder->app.status = !options->may_start_app || options->may_start_app(options->app_ctx)
				       ? orma_record_app_start(&recorder->app)
				       : ORMA_EXIT_FAILURE;
	return recorder->app.status;
}

/* --- reading back ----------------------------------------------------------------------------- */

static int patience_ms(void *ctx)
{
	struct orma_recorder *recorder = ctx;
	orma_recorder_count_signals(recorder);
	return recorder->signal_count == 0 ? -1 : recorder->signal_count == 1 ? STUCK_MS : 0;
}

/* Returns true when a user at a terminal can answer. */
static bool may_ask(const struct orma_recorder *recorder)
{
	return !recorder->options->in_background && isatty(STDERR_FILENO) &&
	       tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static int read_back(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	struct orma_trace_output *output = &recorder->output;
	output->writer = (struct orma_file_writer){-1, recorder->signal_fd, patience_ms, recorder};
	output->may_ask = may_ask(recorder);
	recorder->was_read_back = true;
	int r = orma_trace_output_read(output, recorder->session);
	if (output->keeps_rest)
		orma_trace_output_rescue(output);
	/* Every session has packets of the service itself, unless it waits for a trigger. */
	if (r == 0 && output->all.summary.packets == 0 && config && !config->has_triggers &&
	    recorder->signal_count == 0)
		return -ENODATA;
	return r ? r : output->error;
}

/* --- the recording ---------------------------------------------------------------------------- */

static int run_clone(struct orma_recorder *recorder)
{
	const struct orma_record_options *options = recorder->options;
	struct orma_session_clone_options clone = {
		.struct_size = sizeof(clone),
		.session_id = options->clone_id,
		.unique_session_name = options->clone_name,
		.skips_trace_filter = options->is_for_bugreport,
		.is_for_bugreport = options->is_for_bugreport,
		.file_fd = recorder->output.fd,
	};
	struct orma_error error = {0};
	struct orma_session_clone_result clone_result = {.struct_size = sizeof(clone_result)};
	int r = orma_session_clone(recorder->session, &clone, &clone_result, &error);
	if (r)
		snprintf(recorder->error, sizeof(recorder->error), "%s", error.message);
	else
		orma_trace_output_empty(&recorder->output);
	return r || clone_result.was_write_into_file ? r : read_back(recorder);
}

/* Remembers the file that is at output_path already. After a refused session it is still there, and
 * must not be taken for the trace. */
static void look_at_old_file(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	struct stat info;
	if (config && config->output_path && stat(config->output_path, &info) == 0)
		recorder->old_inode = info.st_ino;
}

/* Attaches to a session, or begins one. 0 or -errno. */
static int begin_session(struct orma_recorder *recorder)
{
	const struct orma_record_options *options = recorder->options;
	int r;
	if (options->attach_key) {
		r = orma_session_attach(recorder->session, options->attach_key);
		return r == 0 && options->stops_attached ? orma_session_stop(recorder->session) : r;
	}
	if (!options->config)
		return -EINVAL;
	/* A session that cannot be detached would still write into the file at its end. */
	if (options->detach_key && orma_recorder_find_detached(options->detach_key, NULL) == 0)
		return -EEXIST;
	r = orma_session_enable(recorder->session, options->config->bytes.data,
				options->config->bytes.size,
				sends_fd(recorder) ? recorder->output.fd : -1);
	/* The service answers in order, so a refusal of the config comes before this answer. */
	if (r == 0 && orma_session_query_async(recorder->session, ORMA_SESSION_QUERY_CAPABILITIES,
					       on_accepted, recorder))
		accept_session(recorder);
	return r;
}

static int detach(struct orma_recorder *recorder)
{
	int r = orma_session_detach(recorder->session, recorder->options->detach_key);
	if (r == 0)
		accept_session(recorder);
	return r;
}

static int observe(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	uint32_t events = recorder->makes_snapshots ? ORMA_OBSERVE_CLONE_TRIGGER : 0;

	if (config && config->names_categories && !recorder->options->is_quiet)
		events |= ORMA_OBSERVE_INSTANCES;
	return events ? orma_session_observe(recorder->session, events) : 0;
}

static int run_session(struct orma_recorder *recorder)
{
	const struct orma_record_options *options = recorder->options;
	int r;
	look_at_old_file(recorder);
	recorder->begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (orma_recorder_is_clone(recorder))
		return run_clone(recorder);
	/* Before the session begins, because a trigger that comes at once would be missed
	 * otherwise. */
	r = observe(recorder);
	if (r == 0)
		r = begin_session(recorder);
	if (r == 0 && options->detach_key)
		return detach(recorder);
	if (r)
		return r;
	orma_recorder_note_losses(recorder);
	if (options->config && !options->is_quiet)
		orma_record_warn_of_missing(recorder->session, options);
	wait_ready(recorder);
	if (options->app_argv && start_app(recorder))
		return -ECANCELED;
	if (options->tells_interrupt && isatty(STDERR_FILENO))
		fputs("Sampling until Ctrl-C\n", stderr);
	if (options->app_argv && orma_trace_output_replace_old(&recorder->output))
		return -ECANCELED;
	r = orma_recorder_wait(recorder);
	if (r != -ECANCELED && orma_trace_output_replace_old(&recorder->output))
		r = -ECANCELED;
	recorder->end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (r == -EINTR)
		r = orma_recorder_cut_short(recorder);
	if (r || recorder->error[0] || recorder->output.fd < 0 || sends_fd(recorder))
		return r;
	orma_trace_output_empty(&recorder->output);
	return read_back(recorder);
}

/* Snapshots go into files of their own. A service that is older than snapshots stops at the trigger
 * instead (use_clone_snapshot_if_available), and there is one trace. */
static int prepare_snapshots(struct orma_recorder *recorder)
{
	const char *path = recorder->options->out_path;
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_capabilities *capabilities;
	void *data = NULL;
	size_t size;
	if (!path || strcmp(path, "-") == 0)
		return orma_tool_fail("snapshots need a file's name (--out)");
	if (orma_session_query_capabilities(recorder->session, &data, &size) == 0 &&
	    orma_pb_tracing_service_capabilities_decode(data, size, &arena, &capabilities) == 0)
		for (size_t i = 0; i < capabilities->observable_events.count; i++)
			recorder->makes_snapshots |= capabilities->observable_events.items[i] ==
						     (int32_t)CLONE_TRIGGER_HIT;
	orma_base_arena_done(&arena);
	orma_config_free(data);
	return recorder->makes_snapshots ? ORMA_EXIT_OK : open_output(recorder);
}

/* Waits for a random time within the config's limits. A signal ends the wait and the recording. */
static int delay_start(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	struct pollfd fd = {.fd = recorder->signal_fd, .events = POLLIN};
	uint64_t random = 0, range, end_ns;
	if (!config || config->start_delay_max_ms == 0)
		return ORMA_EXIT_OK;
	/* A caller that waits only for the beginning need not wait for the delay. */
	if (!recorder->options->background_wait_ms)
		orma_tool_tell_parent(&recorder->parent_fd, ORMA_EXIT_OK);
	range = (uint64_t)config->start_delay_max_ms - config->start_delay_min_ms + 1;
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = orma_base_clock_ns(CLOCK_MONOTONIC);
	end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) +
		 (config->start_delay_min_ms + random % range) * ORMA_NS_PER_MS;
	for (uint64_t now_ns; (now_ns = orma_base_clock_ns(CLOCK_MONOTONIC)) < end_ns;) {
		uint64_t left_ms = (end_ns - now_ns) / ORMA_NS_PER_MS + 1;
		if (poll(&fd, 1, (int)ORMA_MIN(left_ms, (uint64_t)60000)) > 0)
			return orma_tool_fail(ORMA_RECORD_INTERRUPTED);
	}
	return ORMA_EXIT_OK;
}

/* Called when the file is open, so that a wrong name is reported in the foreground. */
static int go_into_background(struct orma_recorder *recorder)
{
	uint32_t wait_ms = recorder->options->background_wait_ms;
	if (!recorder->options->in_background)
		return ORMA_EXIT_OK;
	int fd = orma_tool_background(true, wait_ms ? (int)wait_ms : -1);
	if (fd < 0)
		return orma_tool_fail("cannot go into the background: %s", strerror(-fd));
	recorder->parent_fd = fd;
	return ORMA_EXIT_OK;
}

/* Returns true when a line of the terminal can be shown anew. Editors run programs with TERM=dumb. */
static bool is_live_terminal(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

int orma_record_run(const struct orma_record_options *options)
{
	struct orma_recorder recorder = {
		.options = options,
		.output.fd = -1,
		.parent_fd = -1,
		.signal_fd = -1,
		.app.child_fd = -1,
		.progress.is_shown = !options->is_quiet && !options->is_json &&
				     !options->app_argv && is_live_terminal(),
	};
	orma_snapshots_init(&recorder.snapshots, options->out_path, options->no_clobber);
	/* Opening a pipe may wait for its reader, which signals can still interrupt here. */
	int status = wants_snapshots(&recorder) ? ORMA_EXIT_OK : open_output(&recorder);
	if (status == ORMA_EXIT_OK)
		status = go_into_background(&recorder);
	/* Before any thread starts, so that all of them have the signals blocked. A clone may be
	 * interrupted at any time. */
	if (status == ORMA_EXIT_OK && !orma_recorder_is_clone(&recorder))
		status = orma_recorder_block_signals(&recorder);
	if (status == ORMA_EXIT_OK)
		status = orma_record_targets_open(&recorder.targets, options->target_pids,
						  options->target_count);
	if (status == ORMA_EXIT_OK)
		status = delay_start(&recorder);
	if (status == ORMA_EXIT_OK)
		status = orma_recorder_connect(&recorder);
	if (status == ORMA_EXIT_OK && recorder.embedded)
		orma_record_leave_out_ftrace(options);
	if (status == ORMA_EXIT_OK && wants_snapshots(&recorder))
		status = prepare_snapshots(&recorder);
	if (status == ORMA_EXIT_OK) {
		int r = run_session(&recorder);
		status = orma_recorder_report(&recorder, r, recorded_seconds(&recorder));
		/* Tell the parent after the report, because it exits then. */
		report_ready(&recorder, r || recorder.error[0] ? 1 : 0);
	} else {
		report_ready(&recorder, 1);
	}
	orma_session_free(recorder.session);
	orma_snapshots_done(&recorder.snapshots);
	orma_record_categories_done(&recorder.categories);
	if (status == ORMA_EXIT_OK) /* the still empty file of a detached session stays */
		recorder.output.is_new = false;
	orma_trace_output_done(&recorder.output);
	if (recorder.embedded)
		orma_recorder_await_others(&recorder);
	orma_embedded_stop(recorder.embedded);
	orma_recorder_await_app(&recorder);
	orma_last_resort_stop(&recorder.last_resort);
	orma_base_fd_close(recorder.signal_fd);
	orma_record_app_done(&recorder.app);
	orma_record_targets_done(&recorder.targets);
	return recorder.app.status ? recorder.app.status : status;
}
