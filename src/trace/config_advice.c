/* SPDX-License-Identifier: Apache-2.0
 * config_advice.c - the keys of the findings and the limits are those of Perfetto, so that queries find them; how sure a
 * finding is grows with how far a value is off, and is high when the trace lost data in fact.
 */
#include "trace/config_advice.h"

#include <errno.h>

#include "base/macros.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/ftrace_config.pb.h"
#include "schema/gen/heapprofd_config.pb.h"
#include "schema/gen/trace_config.pb.h"

enum {
	EARLY_START_S = 5 * 60,
	BUFFER_KB_MIN = 1024,
	BUFFER_KB_TINY = 64,
	DRAIN_MS_MIN = 100,
	DRAIN_MS_MAX = 60000,
	WRITE_PERIOD_AT_END_MS = 7 * 24 * 60 * 60 * 1000, /* the file is written at the end only */
	HEAP_INTERVAL_MIN = 100 << 10,
};
static const double drain_mb_per_s_min = 5, drain_mb_per_s_bad = 1, sure = 0.9;

struct advice {
	const char *key, *title, *remedy;
};

struct advisor {
	struct orma_system *system;
	const struct orma_pb_trace_config *config;
	bool has_lost_ftrace;
	int error;
};

/* Adds a row; the rest is a printf format and its arguments. */
__attribute__((format(printf, 4, 5))) static void advise(struct advisor *advisor,
							 const struct advice *advice,
							 double confidence, const char *format, ...)
{
	struct orma_tables *tables = advisor->system->tables;
	struct orma_buf *text = &advisor->system->text;
	va_list args;
	va_start(args, format);
	text->size = 0;
	int r = orma_base_buf_vprintf(text, format, args);
	va_end(args);
	if (r == 0) {
		const int64_t cells[] = {
			[ORMA_DIAGNOSTIC_KEY] =
				orma_tables_string(tables, orma_base_str(advice->key)),
			[ORMA_DIAGNOSTIC_TITLE] =
				orma_tables_string(tables, orma_base_str(advice->title)),
			[ORMA_DIAGNOSTIC_DESCRIPTION] = orma_tables_string(
				tables, (struct orma_str){(const char *)text->data, text->size}),
			[ORMA_DIAGNOSTIC_REMEDIATION] =
				orma_tables_string(tables, orma_base_str(advice->remedy)),
			[ORMA_DIAGNOSTIC_CONFIDENCE] = orma_store_cell_of_double(confidence),
			[ORMA_DIAGNOSTIC_TRACE_ID] = 0,
		};
		r = orma_store_table_append(&tables->all[ORMA_TABLE_DIAGNOSTIC], cells);
	}
	advisor->error = advisor->error < 0 ? advisor->error : r;
}

/* From `at_good`, where `value` is at the limit, to `sure` where it is `bad`. */
static double confidence_of(const struct advisor *advisor, double value, double good, double bad,
			    double at_good)
{
	if (advisor->has_lost_ftrace || value <= bad)
		return sure;
	return sure + (value - bad) / (good - bad) * (at_good - sure);
}

static void advise_on_old_events(struct advisor *advisor,
				 const struct orma_pb_ftrace_config *ftrace)
{
	static const struct advice advice = {
		"preserve_ftrace_buffer_late_start", "Old events in the ftrace buffer",
		"Leave preserve_ftrace_buffer out, unless tracing starts while the system boots."};
	const struct orma_system *system = advisor->system;
	int64_t started_ns = system->machine_count > 0 ? system->machines[0].started_ns : 0;
	/* Other clocks do not tell how long ago the system booted. */
	if (ftrace->preserve_ftrace_buffer &&
	    system->index->clocks.trace_time == ORMA_CLOCK_BOOTTIME &&
	    started_ns / 1000000000 > EARLY_START_S)
		advise(advisor, &advice, 0.7,
		       "preserve_ftrace_buffer is set, but tracing began %lld minutes after the "
		       "system booted, so the trace may contain events that are very old.",
		       (long long)(started_ns / 1000000000 / 60));
}

static void advise_on_buffer(struct advisor *advisor, const struct orma_pb_ftrace_config *ftrace)
{
	static const struct advice small = {
		"tiny_ftrace_buffer", "The ftrace buffer is small",
		"Leave buffer_size_kb out; the default suits most workloads."};
	static const struct advice slow = {
		"low_ftrace_drain_bandwidth", "The ftrace buffer is drained slowly",
		"Leave buffer_size_kb and drain_period_ms out, or make the buffer larger or the "
		"period shorter."};
	static const struct advice extreme = {
		"extreme_ftrace_drain_period", "The period of draining ftrace is extreme",
		"Leave drain_period_ms out, or choose one between 100 and 60000."};
	unsigned kb = ftrace->buffer_size_kb, ms = ftrace->drain_period_ms;
	double mb_per_s = ms > 0 ? kb / 1024.0 / (ms / 1000.0) : drain_mb_per_s_min;
	if (kb > 0 && kb < BUFFER_KB_MIN)
		advise(advisor, &small,
		       confidence_of(advisor, kb, BUFFER_KB_MIN, BUFFER_KB_TINY, 0.2),
		       "buffer_size_kb is %u: the kernel's buffer of each CPU may overflow when "
		       "there are many events.",
		       kb);
	if (kb > 0 && mb_per_s < drain_mb_per_s_min)
		advise(advisor, &slow,
		       confidence_of(advisor, mb_per_s, drain_mb_per_s_min, drain_mb_per_s_bad, 0),
		       "A buffer of %u KB that is drained every %u ms takes %.1f MB/s; a burst of "
		       "events can overflow it.",
		       kb, ms, mb_per_s);
	if (orma_pb_ftrace_config_has_drain_period_ms(ftrace) &&
	    (ms < DRAIN_MS_MIN || ms > DRAIN_MS_MAX))
		advise(advisor, &extreme, 0.6,
		       "drain_period_ms is %u: a short period wakes the CPU often, and a long one "
		       "lets the buffer overflow.",
		       ms);
}

static bool has_event(const struct orma_pb_ftrace_config *ftrace, const char *name)
{
	for (size_t i = 0; i < ftrace->ftrace_events.count; i++)
		if (orma_base_str_is(ftrace->ftrace_events.items[i], name))
			return true;
	return false;
}

static void advise_on_events(struct advisor *advisor, const struct orma_pb_ftrace_config *ftrace)
{
	static const struct advice syscalls = {
		"syscalls_without_filter", "All system calls are recorded",
		"List the system calls that matter in syscall_events."};
	static const struct advice graph = {"function_graph_requires_symbolize_ksyms",
					    "The function graph has no names",
					    "Set symbolize_ksyms: true."};
	static const struct advice symbols = {"events_require_symbolize_ksyms",
					      "Events have addresses in place of names",
					      "Set symbolize_ksyms: true."};
	static const char *const with_symbols[] = {"workqueue/workqueue_execute_start",
						   "sched/sched_blocked_reason"};
	if (ftrace->syscall_events.count == 0 && (has_event(ftrace, "raw_syscalls/sys_enter") ||
						  has_event(ftrace, "raw_syscalls/sys_exit")))
		advise(advisor, &syscalls, advisor->has_lost_ftrace ? sure : 0.3,
		       "raw_syscalls is enabled without syscall_events, so every system call is "
		       "recorded, which makes traces large and tracing expensive.");
	if (ftrace->enable_function_graph && !ftrace->symbolize_ksyms)
		advise(advisor, &graph, 1,
		       "enable_function_graph is set, but symbolize_ksyms is not: the functions "
		       "are "
		       "addresses of the kernel, and no name can be found for them later.");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(with_symbols) && !ftrace->symbolize_ksyms; i++)
		if (has_event(ftrace, with_symbols[i])) {
			advise(advisor, &symbols, 0.6,
			       "%s is enabled, but symbolize_ksyms is not set: its fields are "
			       "addresses of the kernel, and no name can be found for them later.",
			       with_symbols[i]);
			break;
		}
}

static bool is_streamed(const struct orma_pb_trace_config *config)
{
	return config->write_into_file && config->file_write_period_ms < WRITE_PERIOD_AT_END_MS;
}

static void advise_on_full_buffer(struct advisor *advisor,
				  const struct orma_pb_data_source_config *source)
{
	static const struct advice advice = {
		"discard_buffer_for_streaming", "A streamed buffer stops when it is full",
		"Leave fill_policy out, so that the buffer is a ring."};
	const struct orma_pb_trace_config *config = advisor->config;
	bool is_ftrace = orma_base_str_is(source->name, "linux.ftrace");
	if (!is_streamed(config) ||
	    (!is_ftrace && !orma_base_str_is(source->name, "track_event")) ||
	    source->target_buffer >= config->buffers.count ||
	    config->buffers.items[source->target_buffer]->fill_policy !=
		    ORMA_PB_TRACE_CONFIG_BUFFER_CONFIG_FILL_POLICY_DISCARD)
		return;
	advise(advisor, &advice, 0.8,
	       "The data source %s fills a buffer with fill_policy DISCARD while the trace is "
	       "written to a file: once the buffer is full, the rest of the trace is lost.",
	       is_ftrace ? "linux.ftrace" : "track_event");
}

static void advise_on_heap(struct advisor *advisor, const struct orma_pb_heapprofd_config *heap)
{
	static const struct advice advice = {"heapprofd_sampling_interval_too_low",
					     "The heap is sampled too often",
					     "Raise sampling_interval_bytes to 102400 or more."};
	uint64_t interval = heap->sampling_interval_bytes;
	if (orma_pb_heapprofd_config_has_sampling_interval_bytes(heap) && interval > 0 &&
	    interval < HEAP_INTERVAL_MIN)
		advise(advisor, &advice,
		       orma_stats_has_errors(&advisor->system->stats, "heapprofd") ? sure : 0.3,
		       "sampling_interval_bytes is %llu: such a short interval makes profiles "
		       "hardly more exact, and costs more.",
		       (unsigned long long)interval);
}

static bool has_lost_ftrace(const struct orma_stats *stats)
{
	for (uint32_t i = 0; i < stats->count; i++)
		if ((stats->values[i].stat == ORMA_STAT_ftrace_cpu_has_data_loss ||
		     stats->values[i].stat == ORMA_STAT_ftrace_cpu_overrun_delta ||
		     stats->values[i].stat == ORMA_STAT_ftrace_cpu_commit_overrun_delta) &&
		    stats->values[i].value > 0)
			return true;
	return false;
}

int orma_config_advise(struct orma_system *system)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct advisor advisor = {.system = system,
				  .has_lost_ftrace = has_lost_ftrace(&system->stats)};
	struct orma_pb_trace_config *config;
	if (system->config.size == 0)
		return 0;
	/* It has been decoded once, so that only memory can be missing. */
	int r = orma_pb_trace_config_decode(system->config.data, system->config.size, &arena,
					    &config);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	advisor.config = config;
	for (size_t i = 0; i < config->data_sources.count; i++) {
		const struct orma_pb_data_source_config *source =
			config->data_sources.items[i]->config;
		if (source && source->ftrace_config) {
			advise_on_old_events(&advisor, source->ftrace_config);
			advise_on_buffer(&advisor, source->ftrace_config);
			advise_on_events(&advisor, source->ftrace_config);
		}
		if (source && source->heapprofd_config)
			advise_on_heap(&advisor, source->heapprofd_config);
		if (source)
			advise_on_full_buffer(&advisor, source);
	}
	return advisor.error;
}
