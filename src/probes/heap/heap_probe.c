/* SPDX-License-Identifier: Apache-2.0
 * heap_probe.c - the data source android.heapprofd: its instances, and when they write.
 *
 * An instance is a session of the private service (heap_service.h). It flushes that session before it writes anything: the processes
 * send their data, it is counted, and then the instance writes counters and dumps and answers requests to flush or stop. Only one
 * flush is under way at a time. A request that comes during a flush is answered after another flush, because that covers everything
 * that was written before the request.
 *
 * Once a second, counters are written, and processes that have ended get their last dump and are forgotten. Dumps are written at the
 * intervals in the config, at a signal (orma_probe_heap_dump()), and at the end. A flush of the tracing session writes no dump, as
 * with upstream. A flush for a clone of the session does, because a snapshot without a dump would show nothing.
 */
#include "probes/heap/heap_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/heap/heap_guardrail.h"
#include "probes/heap/heap_output.h"
#include "probes/heap/heap_processes.h"
#include "probes/heap/heap_service.h"
#include "probes/heap/heap_stream.h"
#include "profile/stop_time.h"

#define TICK_NS (ORMA_NS_PER_SEC)
/* The timeouts for a process that hangs, at a tick and at the end. The tracing service waits for five seconds. */
#define FLUSH_MS 300u
#define STOP_MS  1000u
/* The least time between two flushes for deferred samples. */
#define EARLY_FLUSH_NS (100 * ORMA_NS_PER_MS)

struct heap_probe {
	struct orma_probe base; /* first */
	struct orma_heap_service *service;
	struct orma_unwind_files *files;
	const char *proc_path;
	struct orma_list instances;
};

struct heap_instance {
	struct orma_probe_instance base; /* first */
	struct heap_probe *probe;
	struct orma_list link;
	struct orma_arena arena;
	struct orma_heap_config config;
	struct orma_heap_session *session; /* NULL = nothing is recorded */
	struct orma_heap_processes tracker;
	struct orma_heap_output output;
	struct orma_module_symbols *symbols;
	struct orma_heap_stream *stream; /* NULL = the configuration does not want it */
	struct orma_heap_guardrail guardrail;
	uint64_t next_tick_ns, next_dump_ns, next_early_ns, last_counters_ns; /* CLOCK_MONOTONIC */
	/* Requests since the flush that is under way began. */
	bool wants_dump, wants_stop;
	struct orma_buf wanted_completions; /* uint64_t each */
	/* Work that follows the flush that is under way. */
	bool is_flushing, is_ending, must_dump, must_tick;
	struct orma_buf completions;
	uint64_t stop_completion;
	unsigned dump_flags;
	uint64_t dump_timestamp_ns;
};

static struct heap_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct heap_instance, base);
}

static void write_packet(void *ctx, const void *packet_bytes, size_t size)
{
	struct heap_instance *instance = ctx;
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);

	if (!packet)
		return;
	orma_packet_raw(packet, packet_bytes, size);
	orma_packet_end(packet);
}

static void on_packet(void *ctx, struct orma_str packet)
{
	struct heap_instance *instance = ctx;

	if (!orma_heap_processes_take(&instance->tracker, packet) || instance->is_flushing ||
	    instance->is_ending)
		return;
	/* Samples are deferred until their maps come, which may lie in a chunk that is not full. A flush brings them. Two such flushes
	 * have a least distance, because the process decides which samples are deferred. */
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (now_ns < instance->next_early_ns)
		return;
	instance->next_early_ns = now_ns + EARLY_FLUSH_NS;
	orma_probe_run_at(&instance->base, now_ns);
}

/* --- after a flush ---------------------------------------------------------------------------- */

/* Marks processes that have ended. Called before a flush, so that the flush brings everything that they have written. */
static bool note_end(void *ctx, struct orma_heap_process *process)
{
	char path[64];

	(void)ctx;
	snprintf(path, sizeof(path), "/proc/%d", (int)process->pid);
	process->has_ended = process->has_said_bye || process->is_replaced ||
			     (access(path, F_OK) < 0 && errno == ENOENT);
	return false;
}

static bool dump_process(void *ctx, struct orma_heap_process *process)
{
	struct heap_instance *instance = ctx;
	bool is_last = process->has_ended;
	unsigned flags = instance->dump_flags | (is_last ? ORMA_HEAP_DUMP_DISCONNECTED : 0u);

	/* The maximum of a running process is only known at the end. */
	if (flags & ORMA_HEAP_DUMP_MAX && !is_last && !instance->is_ending)
		return false;
	orma_heap_output_process(&instance->output, process, instance->dump_timestamp_ns, flags);
	return is_last;
}

static bool dump_ended_process(void *ctx, struct orma_heap_process *process)
{
	return process->has_ended && dump_process(ctx, process);
}

static void dump(struct heap_instance *instance, orma_heap_process_fn *fn)
{
	instance->dump_timestamp_ns = orma_base_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (instance->config.dumps_at_max)
		instance->dump_flags |= ORMA_HEAP_DUMP_MAX;
	orma_heap_output_begin(&instance->output);
	orma_heap_processes_visit(&instance->tracker, fn, instance);
	orma_heap_output_end(&instance->output);
	/* Commits the chunk with the end of the dump, so that a reader of a file that is being written gets whole dumps. */
	orma_data_source_flush_thread(instance->base.probe->source, instance->base.idx);
}

static bool find_ended(void *ctx, struct orma_heap_process *process)
{
	bool *has_found = ctx;

	*has_found |= process->has_ended;
	return false;
}

static bool count_process(void *ctx, struct orma_heap_process *process)
{
	struct heap_instance *instance = ctx;
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	orma_heap_output_counters(&instance->output, process, now_ns - instance->last_counters_ns);
	return false;
}

static void write_counters(struct heap_instance *instance)
{
	orma_heap_processes_visit(&instance->tracker, count_process, instance);
	instance->last_counters_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
}

static void complete_flushes(struct heap_instance *instance)
{
	struct orma_data_source *source = instance->base.probe->source;
	uint64_t completion;

	if (instance->completions.size > 0)
		orma_data_source_flush_thread(source, instance->base.idx);
	for (size_t at = 0; at < instance->completions.size; at += sizeof(completion)) {
		memcpy(&completion, instance->completions.data + at, sizeof(completion));
		orma_data_source_complete(source, completion);
	}
	instance->completions.size = 0;
}

/* Writes what is due. */
static void write_all(struct heap_instance *instance)
{
	bool has_ended_process = false;

	orma_heap_processes_settle(&instance->tracker);
	if (instance->stream)
		orma_heap_stream_flush(instance->stream);
	if (instance->must_tick)
		write_counters(instance);
	orma_heap_processes_visit(&instance->tracker, find_ended, &has_ended_process);
	if (instance->must_dump && !instance->stream)
		dump(instance, dump_process);
	else if (has_ended_process)
		dump(instance, dump_ended_process);
	instance->must_dump = instance->must_tick = false;
	complete_flushes(instance);
}

static void begin_flush(struct heap_instance *instance);

/* --- the end ---------------------------------------------------------------------------------- */

static void end(struct heap_instance *instance)
{
	orma_heap_session_close(instance->session);
	instance->session = NULL;
	orma_data_source_flush_thread(instance->base.probe->source, instance->base.idx);
}

static void on_stopped(void *ctx)
{
	struct heap_instance *instance = ctx;

	/* The last flush may have brought the first packets of a process that has ended since. */
	orma_heap_processes_visit(&instance->tracker, note_end, instance);
	instance->is_ending = true;
	instance->must_tick = true;
	instance->must_dump = true;
	(void)orma_base_buf_append(&instance->completions, instance->wanted_completions.data,
				   instance->wanted_completions.size);
	instance->wanted_completions.size = 0;
	write_all(instance);
	(void)orma_module_symbols_write(
		instance->symbols, instance->base.probe->source, instance->base.idx,
		orma_base_clock_ns(CLOCK_MONOTONIC) +
			orma_profile_stop_step_ns(instance->config.stop_timeout_ms));
	end(instance);
	if (instance->stop_completion)
		orma_data_source_complete(instance->base.probe->source, instance->stop_completion);
}

/* Returns false if the instance has no session to end. */
static bool begin_end(struct heap_instance *instance)
{
	if (!instance->session)
		return false;
	orma_heap_processes_visit(&instance->tracker, note_end, instance);
	if (!instance->is_ending && orma_heap_session_stop(instance->session, on_stopped) < 0)
		return false;
	instance->is_ending = true;
	return true;
}

/* --- flushes ---------------------------------------------------------------------------------- */

static void schedule(struct heap_instance *instance)
{
	uint64_t next_ns = ORMA_MIN(instance->next_tick_ns, instance->next_dump_ns);

	if (instance->session && !instance->is_flushing && !instance->is_ending)
		orma_probe_run_at(&instance->base, next_ns);
}

static void on_flushed(void *ctx)
{
	struct heap_instance *instance = ctx;

	instance->is_flushing = false;
	write_all(instance);
	if (instance->wants_stop) {
		if (!begin_end(instance))
			on_stopped(instance);
		return;
	}
	if (instance->wants_dump || instance->wanted_completions.size > 0)
		begin_flush(instance);
	else
		schedule(instance);
}

static void begin_flush(struct heap_instance *instance)
{
	struct orma_buf completions = instance->completions;

	if (instance->is_flushing)
		return;
	instance->must_dump |= instance->wants_dump;
	instance->wants_dump = false;
	instance->completions = instance->wanted_completions;
	instance->wanted_completions = completions;
	orma_heap_processes_visit(&instance->tracker, note_end, instance);
	if (instance->session &&
	    orma_heap_session_flush(instance->session, FLUSH_MS, on_flushed) == 0) {
		instance->is_flushing = true;
		return;
	}
	complete_flushes(instance);
	schedule(instance);
}

static void run(struct orma_probe_instance *base)
{
	struct heap_instance *instance = to_instance(base);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	if (!instance->session)
		return;
	if (now_ns >= instance->next_tick_ns) {
		instance->must_tick = true;
		instance->next_tick_ns = now_ns + TICK_NS;
	}
	if (now_ns >= instance->next_dump_ns) {
		uint64_t interval_ns = instance->config.dump_interval_ms * ORMA_NS_PER_MS;
		instance->wants_dump = true;
		instance->next_dump_ns +=
			((now_ns - instance->next_dump_ns) / interval_ns + 1) * interval_ns;
	}
	if (orma_heap_guardrail_is_hit(&instance->guardrail, now_ns)) {
		instance->dump_flags |= ORMA_HEAP_DUMP_GUARDRAIL;
		if (!instance->is_flushing && begin_end(instance))
			return;
	}
	begin_flush(instance);
}

static enum orma_completion begin_flush_op(struct orma_probe_instance *base, uint64_t completion)
{
	struct heap_instance *instance = to_instance(base);

	if (!instance->session || instance->is_ending ||
	    orma_base_buf_append(&instance->wanted_completions, &completion, sizeof(completion)) <
		    0) {
		orma_data_source_flush_thread(base->probe->source, base->idx);
		return ORMA_COMPLETE;
	}
	instance->wants_dump |= base->is_flush_for_clone;
	begin_flush(instance);
	return ORMA_POSTPONE;
}

static enum orma_completion begin_stop(struct orma_probe_instance *base, uint64_t completion)
{
	struct heap_instance *instance = to_instance(base);

	instance->wants_stop = true;
	instance->stop_completion = completion;
	if (!instance->is_flushing && !begin_end(instance))
		return ORMA_COMPLETE;
	return ORMA_POSTPONE;
}

void orma_probe_heap_dump(struct orma_probe *base)
{
	struct heap_probe *probe = ORMA_CONTAINER_OF(base, struct heap_probe, base);
	struct heap_instance *instance;

	ORMA_LIST_FOR_EACH (instance, &probe->instances, link) {
		if (!instance->session || instance->is_ending)
			continue;
		instance->wants_dump = true;
		begin_flush(instance);
	}
}

/* --- instances -------------------------------------------------------------------------------- */

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct heap_instance *instance = to_instance(base);
	struct heap_probe *probe = ORMA_CONTAINER_OF(base->probe, struct heap_probe, base);
	int r = orma_heap_config_parse(config, size, &instance->arena, &instance->config);

	if (r == 0)
		r = orma_heap_processes_init(&instance->tracker, &instance->config, probe->files,
					     probe->proc_path);
	if (r == 0 && instance->config.streams) {
		instance->stream = orma_base_zalloc(sizeof(*instance->stream));
		r = instance->stream ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = orma_module_symbols_new(&instance->symbols);
	if (r < 0) {
		orma_base_free(instance->stream);
		orma_base_arena_done(&instance->arena);
		return r;
	}
	orma_module_symbols_skip(instance->symbols, instance->config.skipped_prefixes,
				 instance->config.skipped_prefix_count);
	orma_heap_output_init(&instance->output, instance->tracker.seed, write_packet, instance);
	instance->output.symbols = instance->symbols;
	if (instance->stream) {
		instance->stream->output = &instance->output;
		instance->tracker.event = orma_heap_stream_take;
		instance->tracker.event_ctx = instance->stream;
	}
	instance->probe = probe;
	orma_base_list_append(&probe->instances, &instance->link);
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	struct heap_instance *instance = to_instance(base);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	const struct orma_heap_config *config = &instance->config;
	struct orma_heap_session_options options = {
		.heapprofd_config = config->bytes,
		.buffer_kb = config->buffer_kb,
		.shm_kb = config->shm_kb,
		.stop_timeout_ms = STOP_MS,
		.waits_for_room = config->waits_for_room,
		.ctx = instance,
		.packet = on_packet,
	};

	if (orma_heap_session_open(instance->probe->service, &options, &instance->session) < 0)
		return false;
	orma_heap_guardrail_init(&instance->guardrail, config, now_ns);
	instance->last_counters_ns = now_ns;
	instance->next_tick_ns = now_ns + TICK_NS;
	instance->next_dump_ns = UINT64_MAX;
	if (config->dump_interval_ms)
		instance->next_dump_ns =
			now_ns +
			(config->dump_phase_ms ? config->dump_phase_ms : config->dump_interval_ms) *
				ORMA_NS_PER_MS;
	schedule(instance);
	return false;
}

static void clear(struct orma_probe_instance *base)
{
	orma_heap_output_clear(&to_instance(base)->output);
}

static void destroy(struct orma_probe_instance *base)
{
	struct heap_instance *instance = to_instance(base);

	orma_heap_session_close(instance->session);
	orma_base_list_remove(&instance->link);
	orma_heap_processes_done(&instance->tracker);
	orma_heap_output_done(&instance->output);
	orma_module_symbols_free(instance->symbols);
	orma_base_free(instance->stream);
	orma_base_buf_done(&instance->wanted_completions);
	orma_base_buf_done(&instance->completions);
	orma_base_arena_done(&instance->arena);
}

/* --- the probe -------------------------------------------------------------------------------- */

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct heap_probe *probe = ORMA_CONTAINER_OF(base, struct heap_probe, base);

	orma_base_list_init(&probe->instances);
	probe->proc_path = env->proc_path;
	int r = orma_unwind_files_new(NULL, &probe->files);
	return r ? r : orma_heap_service_new(env->loop, env->heap_socket, &probe->service);
}

static void close_probe(struct orma_probe *base)
{
	struct heap_probe *probe = ORMA_CONTAINER_OF(base, struct heap_probe, base);

	orma_heap_service_free(probe->service);
	orma_unwind_files_free(probe->files);
}

static const struct orma_probe_ops ops = {
	.name = "android.heapprofd",
	.probe_bytes = sizeof(struct heap_probe),
	.instance_bytes = sizeof(struct heap_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.begin_flush = begin_flush_op,
	.begin_stop = begin_stop,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_heap_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
