/* SPDX-License-Identifier: Apache-2.0
 * ftrace_session.c - one session's life in a buffer.
 *
 *   open: join the buffer (or take it over), then exclusive features, function graph, probes, events
 *   start: the first one opens the readers and switches the kernel's tracing on
 *   quiesce, close: the last one switches it off, and restores the buffer
 *
 * A session whose set-up fails has no buffer, and is still a session: it writes FtraceStats that say why there is nothing.
 * The set-up fails as a whole when tracefs refuses what the whole session needs (the buffer, a tracer, an exclusive
 * feature). An event or a probe that fails is reported, and the rest is recorded.
 */
#include "probes/ftrace/ftrace_session.h"

#include <errno.h>

#include "base/assert.h"
#include "base/error_message.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "schema/gen/ftrace_stats.pb.h"
#include "schema/gen/trace_packet.pb.h"

/* --- tasks, inodes and descriptors, for other data sources ------------------------------------------------------ */

static void on_task(void *ctx, int32_t tid, struct orma_str comm)
{
	struct orma_ftrace_session *session = ctx;

	(void)comm;
	if (tid > 0)
		orma_sightings_note_task(session->seen, (uint32_t)tid);
}

static void on_task_renamed(void *ctx, int32_t tid, struct orma_str comm)
{
	struct orma_ftrace_session *session = ctx;

	if (tid > 0)
		orma_sightings_note_rename(session->seen, (uint32_t)tid, comm);
}

static void on_new_task(void *ctx, int32_t parent_tid, int32_t tid, uint64_t clone_flags,
			struct orma_str comm)
{
	struct orma_ftrace_session *session = ctx;

	orma_sightings_note_new_task(session->seen, (uint32_t)parent_tid, (uint32_t)tid,
				     clone_flags, comm);
}

static void on_inode(void *ctx, uint64_t device, uint64_t inode)
{
	struct orma_ftrace_session *session = ctx;

	orma_sightings_note_inode(session->seen, 0, device, inode);
}

static void on_fd(void *ctx, int32_t tid, uint32_t fd)
{
	struct orma_ftrace_session *session = ctx;

	orma_sightings_note_fd(session->seen, (uint32_t)tid, fd);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int make_sink(struct orma_ftrace_session *session)
{
	const struct orma_ftrace_config *config = &session->config;
	struct orma_ftrace_sink_options options = {
		.source = session->source,
		.instance_idx = session->instance_idx,
		.cpu_count = session->buffer->cpu_count,
		.compact_sched = config->compact_sched,
		.describe_generic = config->describe_generic,
		.keep_broken_pages = config->keep_broken_pages,
		.print_filter = config->wanted->print_filter,
		.ctx = session,
		.on_task = on_task,
		.on_task_renamed = on_task_renamed,
		.on_new_task = on_new_task,
		.on_inode = on_inode,
		.on_fd = on_fd,
	};

	return orma_ftrace_sink_new(session->buffer->events, &options, &session->sink);
}

static int set_up(struct orma_ftrace_session *session)
{
	struct orma_ftrace_buffer *buffer = session->buffer;
	const struct orma_pb_ftrace_config *wanted = session->config.wanted;
	int r = make_sink(session);

	if (r == 0 && session->config.has_exclusive_features)
		r = orma_ftrace_exclusive_apply(buffer, wanted, &session->report);
	if (r == 0 && wanted->enable_function_graph)
		r = orma_ftrace_function_graph_apply(buffer, wanted, &session->report);
	if (r == 0)
		r = orma_ftrace_session_add_probes(session);
	if (r == 0)
		r = orma_ftrace_session_add_events(session);
	return r;
}

static void leave_buffer(struct orma_ftrace_session *session)
{
	struct orma_ftrace_buffer *buffer = session->buffer;

	orma_base_list_remove(&session->link);
	/* The last session need not: restoring the buffer switches everything off. */
	if (!orma_base_list_is_empty(&buffer->sessions) && session->sink) {
		orma_ftrace_session_drop_events(session);
		if (orma_ftrace_syscalls_apply(buffer) < 0)
			orma_base_log(ORMA_LOG_WARNING,
				      "linux.ftrace: the filter of system calls stays wider than "
				      "the sessions need");
	}
	session->buffer = NULL;
	orma_ftrace_sink_free(ORMA_TAKE(session->sink));
	orma_sightings_put(ORMA_TAKE(session->seen));
	orma_ftrace_buffer_put(buffer);
}

int orma_ftrace_session_open(struct orma_ftrace_session *session,
			     struct orma_ftrace_machine *machine, const void *config, size_t size)
{
	struct orma_ftrace_buffer *buffer;
	int r = orma_ftrace_config_parse(config, size, &session->config, &session->report);

	if (r < 0)
		return r;
	r = orma_ftrace_buffer_get(machine, &session->config, &session->report, &buffer);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	session->buffer = buffer;
	orma_base_list_append(&buffer->sessions, &session->link);
	session->seen = orma_sightings_get(machine->sightings, session->config.session_id);
	r = set_up(session);
	if (r < 0)
		leave_buffer(session);
	return r == -ENOMEM ? r : 0;
}

/* --- starting and stopping ---------------------------------------------------------------------- */

static int switch_on(struct orma_ftrace_buffer *buffer)
{
	bool is_first = buffer->started_count == 0;
	int r = is_first ? orma_ftrace_drain_start(buffer) : 0;

	if (r < 0)
		return r;
	/* For a later session too: the one before it may be stopping, and has switched the recording off then. */
	r = orma_tracefs_journal_set(&buffer->journal, "tracing_on", ORMA_STR("1"));
	if (r < 0 && is_first)
		orma_ftrace_drain_stop(buffer);
	return r;
}

static void read_stats(struct orma_ftrace_session *session, struct orma_ftrace_stats *ret)
{
	struct orma_ftrace_buffer *buffer = session->buffer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_str profile;

	*ret = (struct orma_ftrace_stats){0};
	(void)orma_ftrace_stats_read(buffer->fs.path, buffer->cpu_count, ret);
	ret->cpu_buffer_size_pages = buffer->actual_pages;
	ret->cached_cpu_buffer_size_pages =
		buffer->asked_pages > 0 ? buffer->asked_pages : buffer->actual_pages;
	if (session->kallsyms) {
		ret->kernel_symbols_parsed = orma_kallsyms_count(session->kallsyms);
		ret->kernel_symbols_mem_kb =
			(uint32_t)(orma_kallsyms_bytes(session->kallsyms) / 1024);
	}
	if (session->has_kprobes &&
	    orma_tracefs_read(&buffer->machine->root, "kprobe_profile", &buf, &profile) == 0)
		orma_ftrace_stats_add_kprobes(ret, profile);
}

void orma_ftrace_session_start(struct orma_ftrace_session *session)
{
	struct orma_ftrace_buffer *buffer = session->buffer;

	if (!buffer)
		return;
	int r = switch_on(buffer);
	if (r < 0) {
		orma_ftrace_report_problem(&session->report,
					   "cannot begin to read %s: %s; nothing is recorded",
					   buffer->fs.path, orma_base_error_words(r));
		leave_buffer(session);
		return;
	}
	session->is_started = true;
	buffer->started_count++;
	orma_ftrace_drain_update(buffer);
	read_stats(session, &session->stats_before);
}

void orma_ftrace_session_quiesce(struct orma_ftrace_session *session)
{
	struct orma_ftrace_buffer *buffer = session->buffer;

	if (buffer && session->is_started && buffer->started_count == 1)
		(void)orma_tracefs_journal_set(&buffer->journal, "tracing_on", ORMA_STR("0"));
}

void orma_ftrace_session_close(struct orma_ftrace_session *session)
{
	struct orma_ftrace_buffer *buffer = session->buffer;

	if (session->is_started) {
		ORMA_ASSERT(buffer && buffer->started_count > 0);
		orma_ftrace_session_quiesce(session);
		session->is_started = false;
		if (--buffer->started_count == 0)
			orma_ftrace_drain_stop(buffer);
		else
			orma_ftrace_drain_update(buffer);
	}
	if (buffer)
		leave_buffer(session);
	orma_base_buf_done(&session->event_ids);
	orma_ftrace_stats_done(&session->stats_before);
	orma_ftrace_report_done(&session->report);
	orma_ftrace_config_done(&session->config);
}

void orma_ftrace_session_set_kallsyms(struct orma_ftrace_session *session,
				      const struct orma_kallsyms *kallsyms)
{
	session->kallsyms = kallsyms;
	orma_ftrace_sink_set_kallsyms(session->sink, kallsyms);
}

/* --- statistics ------------------------------------------------------------------------------- */

static void write_stats(const struct orma_ftrace_session *session,
			const struct orma_ftrace_stats *stats, int32_t phase)
{
	bool is_start = phase == ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE;
	const struct orma_ftrace_report *report = &session->report;
	struct orma_ftrace_session_stats own = {.phase = phase};
	struct orma_packet *packet = orma_packet_begin(session->source, session->instance_idx);

	if (!packet)
		return;
	if (is_start) {
		own.unknown_events = orma_ftrace_report_text(&report->unknown_events);
		own.failed_events = orma_ftrace_report_text(&report->failed_events);
		own.exclusive_feature_error = orma_ftrace_report_text(&report->exclusive);
		own.atrace_errors = orma_ftrace_report_text(&report->problems);
		own.preserve_buffer = session->config.wanted->preserve_ftrace_buffer;
	} else if (session->sink) {
		own.parse_errors = orma_ftrace_sink_parse_errors(session->sink);
	}
	orma_ftrace_stats_write(stats, &own, packet);
	orma_packet_end(packet);
}

void orma_ftrace_session_write_start(struct orma_ftrace_session *session)
{
	write_stats(session, &session->stats_before, ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE);
}

void orma_ftrace_session_write_stats(struct orma_ftrace_session *session)
{
	struct orma_ftrace_stats after = {0};

	orma_ftrace_session_write_start(session);
	if (!session->buffer)
		return;
	read_stats(session, &after);
	write_stats(session, &after, ORMA_PB_FTRACE_STATS_PHASE_END_OF_TRACE);
	orma_ftrace_stats_done(&after);
}
