/* SPDX-License-Identifier: Apache-2.0
 * frozen_ftrace.c - the data source linux.frozen_ftrace: what the kernel recorded before it crashed or rebooted.
 *
 * A kernel can keep an instance's ring buffer in memory that survives a reboot (reserve_mem, trace_instance=). The next boot
 * finds the old events in the instance, which nobody records into. This source reads them once, as many pages as the
 * buffer holds, a few per CPU and turn of the loop, and empties the instance at its end, so that the boot after this one
 * does not find them again.
 *
 * Nobody knows which events were on, so every event of this kernel is wanted. Their ids and formats are those of the same
 * kernel, or the kernel has discarded the buffer itself. The times are those of the earlier boot's clock.
 *
 * A journal without changes keeps linux.ftrace and other processes away from the instance meanwhile.
 *
 * Every consumer may ask for every instance, as upstream has it, and can so empty one. Therefore an instance into which
 * somebody records, for example rasdaemon's, is refused: it is not frozen, and its events are not ours to take.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_cpu_reader.h"
#include "probes/ftrace/ftrace_stats.h"
#include "probes/ftrace/tracefs_journal.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/frozen_ftrace_config.pb.h"
#include "schema/gen/ftrace_stats.pb.h"

#define NAME        "linux.frozen_ftrace"
#define ROUND_PAGES 32u /* per CPU */

struct frozen_probe {
	struct orma_probe base; /* first */
	const char *tracefs_path, *proc_path, *state_path;
};

struct frozen_instance {
	struct orma_probe_instance base; /* first */
	struct orma_tracefs fs;          /* fd -1 = there is nothing to read */
	struct orma_tracefs_journal journal;
	struct orma_ftrace_events *events;
	struct orma_ftrace_sink *sink;
	struct orma_ftrace_drain drain;
	struct orma_ftrace_cpu_reader **readers;
	uint32_t *pages_left; /* per reader */
	uint32_t reader_count, cpu_count;
	bool is_done;
	struct orma_error error; /* why there is nothing to read */
};

static struct frozen_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct frozen_instance, base);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void write_stats(struct frozen_instance *instance, int32_t phase)
{
	ORMA_AUTO(orma_ftrace_stats_done) struct orma_ftrace_stats stats = {0};
	bool is_start = phase == ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE;
	struct orma_ftrace_session_stats own = {
		/* Readers drop events from before the start of the trace otherwise. */
		.preserve_buffer = is_start,
		.phase = phase,
		.atrace_errors = orma_base_str(is_start ? instance->error.message : ""),
		.parse_errors = instance->sink ? orma_ftrace_sink_parse_errors(instance->sink) : 0,
	};

	if (!is_start)
		(void)orma_ftrace_stats_read(instance->fs.path, instance->cpu_count, &stats);
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);
	if (!packet)
		return;
	orma_ftrace_stats_write(&stats, &own, packet);
	orma_packet_end(packet);
}

/* Returns true when everything has been read. */
static bool read_round(struct frozen_instance *instance)
{
	bool is_done = true;

	for (uint32_t i = 0; i < instance->reader_count; i++) {
		uint32_t limit = ORMA_MIN(instance->pages_left[i], ROUND_PAGES);

		if (limit == 0)
			continue;
		struct orma_ftrace_drained drained = orma_ftrace_cpu_reader_drain(
			instance->readers[i], &instance->drain, limit, true);
		/* Each visit counts, so that a kernel without memory cannot hold this up for ever. */
		instance->pages_left[i] -=
			drained.is_done ? instance->pages_left[i] : ORMA_MAX(drained.pages, 1u);
		is_done = is_done && instance->pages_left[i] == 0;
	}
	return is_done;
}

static void finish(struct frozen_instance *instance)
{
	instance->is_done = true;
	write_stats(instance, ORMA_PB_FTRACE_STATS_PHASE_END_OF_TRACE);
}

static void run(struct orma_probe_instance *base)
{
	struct frozen_instance *instance = to_instance(base);

	/* A stop that comes first leaves the rest to the next session, unerased. */
	if (instance->is_done || base->is_stopping)
		return;
	if (read_round(instance))
		finish(instance);
	else
		base->is_unfinished = true;
}

/* --- setting up ------------------------------------------------------------------------------- */

static int want_group(struct frozen_instance *instance, const char *group)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	int r = orma_ftrace_events_names_in(instance->events, group, &names);

	for (size_t at = 0; r >= 0 && at < names.size;) {
		const char *name = (const char *)names.data + at;
		const struct orma_ftrace_event *event;

		at += strlen(name) + 1;
		int loaded = orma_ftrace_events_load(instance->events, group, name, &event);
		if (loaded == 0)
			r = orma_ftrace_sink_want(instance->sink, event);
		else if (loaded == -ENOMEM)
			r = loaded;
	}
	return r == -ENOMEM ? r : 0;
}

static int want_all(struct frozen_instance *instance)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf groups = {0};
	int r = orma_probes_dir_names(instance->fs.fd, "events", &groups);

	for (size_t at = 0; r == 0 && at < groups.size;) {
		const char *group = (const char *)groups.data + at;

		at += strlen(group) + 1;
		r = want_group(instance, group);
	}
	return r;
}

static int open_readers(struct frozen_instance *instance)
{
	struct orma_probes_numbers cpus = {0};
	int r = orma_probes_dir_numbers(instance->fs.fd, "per_cpu", "cpu", &cpus);

	instance->readers = orma_base_alloc_array(cpus.count, sizeof(*instance->readers));
	instance->pages_left = orma_base_alloc_array(cpus.count, sizeof(*instance->pages_left));
	if (r == 0 && (!instance->readers || !instance->pages_left))
		r = -ENOMEM;
	for (size_t i = 0; i < cpus.count && r == 0; i++) {
		r = orma_ftrace_cpu_reader_new(instance->fs.path, cpus.items[i],
					       &instance->readers[instance->reader_count]);
		if (r < 0)
			break;
		instance->pages_left[instance->reader_count] = orma_ftrace_cpu_reader_buffer_pages(
			instance->readers[instance->reader_count], &instance->drain, &instance->fs);
		instance->reader_count++;
		instance->cpu_count = cpus.items[i] + 1;
	}
	orma_probes_numbers_done(&cpus);
	return r;
}

static int make_sink(struct frozen_instance *instance)
{
	struct orma_ftrace_sink_options options = {
		.source = instance->base.probe->source,
		.instance_idx = instance->base.idx,
		.cpu_count = instance->cpu_count,
		.describe_generic = true,
	};
	int r = orma_ftrace_events_new(instance->fs.path, &instance->events);

	if (r == 0)
		r = orma_ftrace_sink_new(instance->events, &options, &instance->sink);
	if (r == 0)
		r = want_all(instance);
	instance->drain.sinks[0] = instance->sink;
	instance->drain.sink_count = 1;
	return r;
}

static int take_folder(struct frozen_instance *instance, struct orma_str name)
{
	const struct frozen_probe *probe =
		ORMA_CONTAINER_OF(instance->base.probe, struct frozen_probe, base);
	char state_name[ORMA_TRACEFS_FILE_BYTES];
	struct orma_tracefs fs = {.fd = -1};

	if (name.size == 0)
		return orma_base_error_set(&instance->error, -EINVAL,
					   "instance_name: the name of an instance is missing");
	int r = orma_tracefs_open(probe->tracefs_path, name, &fs, &instance->error);
	if (r < 0)
		return r;
	instance->fs = fs;
	ORMA_AUTO(orma_base_fd_closep)
	int folder_fd = orma_tracefs_state_folder_open(probe->state_path, true);
	r = orma_tracefs_journal_open(&instance->journal, &instance->fs, folder_fd,
				      orma_tracefs_state_name(state_name, name), probe->proc_path,
				      &instance->error);
	if (r == 0)
		r = orma_tracefs_check_unused(&instance->fs, probe->proc_path, &instance->error);
	return r;
}

static int open_all(struct frozen_instance *instance, struct orma_str name)
{
	int r = take_folder(instance, name);

	if (r < 0)
		return r;
	r = orma_ftrace_drain_init(&instance->drain, instance->fs.path);
	if (r == 0)
		r = open_readers(instance);
	if (r == 0)
		r = make_sink(instance);
	if (r < 0)
		orma_base_error_set(&instance->error, r, "cannot read %s: %s", instance->fs.path,
				    orma_base_error_words(r));
	return r;
}

static void close_all(struct frozen_instance *instance)
{
	for (uint32_t i = 0; i < instance->reader_count; i++)
		orma_ftrace_cpu_reader_free(instance->readers[i]);
	instance->reader_count = 0;
	orma_base_free(instance->readers);
	orma_base_free(instance->pages_left);
	instance->readers = NULL;
	instance->pages_left = NULL;
	orma_ftrace_drain_done(&instance->drain);
	orma_ftrace_sink_free(ORMA_TAKE(instance->sink));
	orma_ftrace_events_free(ORMA_TAKE(instance->events));
	orma_tracefs_journal_close(&instance->journal);
	orma_tracefs_close(&instance->fs);
}

/* --- instances -------------------------------------------------------------------------------- */

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct frozen_instance *instance = to_instance(base);
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_data_source_config *source;

	instance->fs.fd = instance->journal.state_fd = -1;
	int r = orma_pb_data_source_config_decode(config, size, &arena, &source);
	if (r < 0)
		return r;
	const struct orma_pb_frozen_ftrace_config *wanted = source->frozen_ftrace_config;
	r = open_all(instance, wanted ? wanted->instance_name : (struct orma_str){0});
	if (r == 0)
		return 0;
	orma_base_log(ORMA_LOG_ERROR, NAME ": %s", instance->error.message);
	close_all(instance);
	instance->is_done = true;
	return r == -ENOMEM ? r : 0;
}

static bool start(struct orma_probe_instance *base)
{
	struct frozen_instance *instance = to_instance(base);

	write_stats(instance, ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE);
	return !instance->is_done;
}

static void destroy(struct orma_probe_instance *base)
{
	struct frozen_instance *instance = to_instance(base);

	if (instance->is_done && instance->fs.fd >= 0) {
		int r = orma_tracefs_write(&instance->fs, "trace", ORMA_STR(""));

		if (r < 0)
			orma_base_log(ORMA_LOG_WARNING, NAME ": cannot empty %s: %s",
				      instance->fs.path, orma_base_error_words(r));
	}
	close_all(instance);
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct frozen_probe *probe = ORMA_CONTAINER_OF(base, struct frozen_probe, base);

	probe->tracefs_path = env->tracefs_path;
	probe->proc_path = env->proc_path;
	probe->state_path = env->ftrace_state_path;
	return 0;
}

static void close_probe(struct orma_probe *base)
{
	(void)base;
}

static const struct orma_probe_ops ops = {
	.name = NAME,
	.probe_bytes = sizeof(struct frozen_probe),
	.instance_bytes = sizeof(struct frozen_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.destroy = destroy,
};

int orma_probe_frozen_ftrace_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
