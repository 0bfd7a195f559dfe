/* SPDX-License-Identifier: Apache-2.0
 * perf_samples.c - samples of Linux's perf events: who ran, where, and what the counters of the CPU were.
 *
 * A sequence is a session. The counters of a session are tracks by CPU, which are made with its first sample.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/macros.h"
#include "schema/gen/perf_events.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "trace/conversion_fields.h"
#include "trace/cpus.h"
#include "trace/message_fields.h"
#include "trace/profiler_samples.h"
#include "trace/track_event_read.h"

struct orma_perf_stream {
	int64_t session_id;
	int64_t *tracks; /* the timebase's, and behind it those of its followers */
	uint32_t follower_count;
};

static const struct orma_track_kind perf_counter_kind = {
	.type = "perf_cpu_counter",
	.name = "%2",
	.dimensions = {{"cpu", false}, {"perf_session_id", false}, {"name", true}},
	.is_counter = true,
};

static const struct orma_track_kind global_counter_kind = {
	.type = "perf_global_counter",
	.name = "%1",
	.dimensions = {{"perf_session_id", false}, {"name", true}},
	.is_counter = true,
};

/* Fields that a timebase and a follower have in common, under their own numbers. */
struct event_fields {
	uint32_t name, counter, tracepoint, raw, modifiers;
};
static const struct event_fields timebase_fields = {
	ORMA_PB_PERF_EVENTS_TIMEBASE_NAME, ORMA_PB_PERF_EVENTS_TIMEBASE_COUNTER,
	ORMA_PB_PERF_EVENTS_TIMEBASE_TRACEPOINT, ORMA_PB_PERF_EVENTS_TIMEBASE_RAW_EVENT,
	ORMA_PB_PERF_EVENTS_TIMEBASE_MODIFIERS};
static const struct event_fields follower_fields = {
	ORMA_PB_FOLLOWER_EVENT_NAME, ORMA_PB_FOLLOWER_EVENT_COUNTER,
	ORMA_PB_FOLLOWER_EVENT_TRACEPOINT, ORMA_PB_FOLLOWER_EVENT_RAW_EVENT,
	ORMA_PB_FOLLOWER_EVENT_MODIFIERS};

static const char *counter_name(uint64_t counter)
{
	static const char *const names[] = {
		NULL,
		"cpu-clock",
		"page-faults",
		"task-clock",
		"context-switches",
		"cpu-migrations",
		"minor-faults",
		"major-faults",
		"alignment-faults",
		"emulation-faults",
		"cpu-cycles",
		"instructions",
		"cache-references",
		"cache-misses",
		"branch-instructions",
		"branch-misses",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
		"ref-cycles",
		"dummy",
	};
	return counter > 0 && counter < ORMA_ARRAY_SIZE(names) ? names[counter] : "unknown";
}

/* Tells the unit of the timebase; NULL = not known. */
static const char *timebase_unit(const struct orma_message *timebase)
{
	if (orma_message_has(timebase, ORMA_PB_PERF_EVENTS_TIMEBASE_TRACEPOINT))
		return "count";
	if (!orma_message_has(timebase, ORMA_PB_PERF_EVENTS_TIMEBASE_COUNTER))
		return NULL;
	switch (orma_message_number(timebase, ORMA_PB_PERF_EVENTS_TIMEBASE_COUNTER)) {
	case ORMA_PB_PERF_EVENTS_COUNTER_SW_CPU_CLOCK:
	case ORMA_PB_PERF_EVENTS_COUNTER_SW_TASK_CLOCK:
		return "ns";
	case ORMA_PB_PERF_EVENTS_COUNTER_HW_CPU_CYCLES:
	case ORMA_PB_PERF_EVENTS_COUNTER_HW_BUS_CYCLES:
	case ORMA_PB_PERF_EVENTS_COUNTER_HW_REF_CPU_CYCLES:
		return "cycles";
	case ORMA_PB_PERF_EVENTS_COUNTER_HW_INSTRUCTIONS:
		return "instructions";
	default:
		return "count";
	}
}

static struct orma_str base_name(const struct orma_message *event,
				 const struct event_fields *fields, char *buf, size_t size)
{
	enum { CONFIG1 = 3, CONFIG2 = 4 };
	struct orma_message inner;
	struct orma_str name = orma_message_bytes(event, fields->name);
	if (name.size > 0)
		return name;
	if (orma_message_has(event, fields->counter))
		return orma_base_str(counter_name(orma_message_number(event, fields->counter)));
	if (orma_message_has(event, fields->tracepoint)) {
		orma_message_read(&inner, orma_message_bytes(event, fields->tracepoint));
		name = orma_message_bytes(&inner, ORMA_PB_PERF_EVENTS_TRACEPOINT_NAME);
		return name.data ? name : ORMA_STR("");
	}
	if (!orma_message_has(event, fields->raw))
		return ORMA_STR("unknown");
	orma_message_read(&inner, orma_message_bytes(event, fields->raw));
	int length = snprintf(
		buf, size, "raw.0x%" PRIx32 ".0x%" PRIx64 ".0x%" PRIx64 ".0x%" PRIx64,
		(uint32_t)orma_message_number(&inner, ORMA_PB_PERF_EVENTS_RAW_EVENT_TYPE),
		orma_message_number(&inner, ORMA_PB_PERF_EVENTS_RAW_EVENT_CONFIG),
		orma_message_number(&inner, CONFIG1), orma_message_number(&inner, CONFIG2));
	return (struct orma_str){buf, (size_t)length};
}

/* Returns the cell of a counter's name, with the letters of its modifiers behind it as perf writes them. */
static int64_t event_name(struct orma_profiler *profiler, const struct orma_message *event,
			  const struct event_fields *fields)
{
	static const char letters[] = "?ukh";
	struct orma_buf *text = &profiler->system->text;
	char buf[80];
	struct orma_repeated modifiers;
	uint64_t modifier;
	struct orma_str name = base_name(event, fields, buf, sizeof(buf));
	text->size = 0;
	int r = orma_base_buf_append(text, name.data, name.size);
	const char *colon = ":";
	orma_repeated_init(&modifiers, event->bytes, fields->modifiers);
	while (r == 0 && orma_repeated_next(&modifiers, &modifier)) {
		if (modifier == 0 || modifier >= sizeof(letters) - 1)
			continue;
		r = orma_base_buf_append(text, colon, strlen(colon));
		if (r == 0)
			r = orma_base_buf_append(text, &letters[modifier], 1);
		colon = "";
	}
	return r < 0 ? r
		     : orma_system_text(profiler->system,
					(struct orma_str){(const char *)text->data, text->size});
}

/* Returns the track of a counter of the CPU (-1: of all CPUs together), or a negative errno value. */
static int64_t counter_track(struct orma_profiler *profiler, uint32_t machine_idx, int64_t cpu,
			     int64_t session, int64_t name, bool is_timebase)
{
	struct orma_system *system = profiler->system;
	if (name < 0)
		return name == ORMA_CELL_NULL ? -ENOMEM : name;
	int64_t next = (int64_t)orma_store_table_rows(&system->tables->all[ORMA_TABLE_TRACK]);
	int64_t track = cpu < 0 ? orma_system_track(system, machine_idx, &global_counter_kind,
						    ORMA_DIMENSIONS(session, name))
				: orma_system_track(system, machine_idx, &perf_counter_kind,
						    ORMA_DIMENSIONS(cpu, session, name));
	/* A follower may count what the timebase does. */
	if (track < next)
		return track;
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add(&system->args, ORMA_STR("is_timebase"), ORMA_STR("is_timebase"),
			  ORMA_ARG_BOOL, is_timebase);
	int r = orma_tracks_set(system->tracks, track, ORMA_TRACK_SOURCE_ARG_SET_ID,
				orma_system_take_args(system));
	return r < 0 ? r : track;
}

static int add_followers(struct orma_profiler *profiler, struct orma_perf_stream *stream,
			 uint32_t machine_idx, int64_t cpu, struct orma_str defaults)
{
	struct orma_proto_reader reader;
	struct orma_str bytes;
	orma_proto_reader_init(&reader, defaults.data, defaults.size);
	while (stream->follower_count < ORMA_SAMPLE_COUNTERS_MAX &&
	       orma_message_next(&reader, ORMA_PB_PERF_SAMPLE_DEFAULTS_FOLLOWERS, &bytes)) {
		struct orma_message follower;
		orma_message_read(&follower, bytes);
		int64_t track =
			counter_track(profiler, machine_idx, cpu, stream->session_id,
				      event_name(profiler, &follower, &follower_fields), false);
		if (track < 0)
			return (int)track;
		stream->tracks[++stream->follower_count] = track;
	}
	return 0;
}

static void note_shards(struct orma_profiler *profiler, uint32_t machine_idx, int64_t session,
			const struct orma_message *defaults)
{
	uint64_t shards =
		orma_message_number(defaults, ORMA_PB_PERF_SAMPLE_DEFAULTS_PROCESS_SHARD_COUNT);
	if (shards == 0)
		return;
	orma_stats_set(&profiler->system->stats, machine_idx, ORMA_STAT_perf_process_shard_count,
		       (int32_t)session, (int64_t)shards);
	orma_stats_set(&profiler->system->stats, machine_idx, ORMA_STAT_perf_chosen_process_shard,
		       (int32_t)session,
		       (int64_t)orma_message_number(
			       defaults, ORMA_PB_PERF_SAMPLE_DEFAULTS_CHOSEN_PROCESS_SHARD));
}

static struct orma_str find_defaults(const struct orma_sequence_state *state)
{
	struct orma_proto_field field;
	if (state->defaults.size > 0 &&
	    orma_proto_reader_find(state->defaults.data, state->defaults.size,
				   ORMA_PB_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS,
				   &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES)
		return field.bytes;
	return (struct orma_str){NULL, 0};
}

static int set_command(struct orma_profiler *profiler, int64_t session,
		       const struct orma_message *defaults)
{
	struct orma_str command = orma_message_bytes(defaults, ORMA_PERF_DEFAULTS_COMMAND);
	struct orma_tables *tables = profiler->system->tables;
	return command.size > 0 ? orma_store_column_set(
					  orma_tables_column(tables, ORMA_TABLE_PROFILER_SESSION,
							     ORMA_PROFILER_SESSION_CMDLINE),
					  (uint64_t)session, orma_tables_string(tables, command))
				: 0;
}

static int open_stream(struct orma_profiler *profiler, const struct orma_ordered_event *event,
		       int64_t cpu, struct orma_perf_stream *stream)
{
	struct orma_tables *tables = profiler->system->tables;
	uint32_t machine_idx = event->machine_idx;
	struct orma_str bytes = find_defaults(event->state);
	struct orma_message defaults, timebase;
	/* Tracers of 2020 wrote no defaults, and took the time of the CPU. */
	int64_t name = orma_tables_string(tables, ORMA_STR("cpu-clock"));
	const char *unit = "ns";
	int r = 0;
	if (bytes.data) {
		orma_message_read(&defaults, bytes);
		orma_message_read(
			&timebase,
			orma_message_bytes(&defaults, ORMA_PB_PERF_SAMPLE_DEFAULTS_TIMEBASE));
		name = event_name(profiler, &timebase, &timebase_fields);
		unit = timebase_unit(&timebase);
		note_shards(profiler, machine_idx, stream->session_id, &defaults);
		r = set_command(profiler, stream->session_id, &defaults);
		if (orma_message_number(&defaults, ORMA_PERF_DEFAULTS_IS_WITHOUT_CPUS))
			cpu = -1;
	}
	if (r == 0)
		r = orma_profiler_set_unit(profiler, stream->session_id,
					   unit ? orma_tables_string(tables, orma_base_str(unit))
						: ORMA_CELL_NULL);
	if (r < 0)
		return r;
	stream->tracks[0] =
		counter_track(profiler, machine_idx, cpu, stream->session_id, name, true);
	if (stream->tracks[0] < 0)
		return (int)stream->tracks[0];
	return add_followers(profiler, stream, machine_idx, cpu, bytes);
}

static int find_stream(struct orma_profiler *profiler, const struct orma_ordered_event *event,
		       uint32_t cpu, const struct orma_perf_stream **ret)
{
	int64_t session =
		orma_profiler_session(profiler, event->state->sequence, ORMA_STR("linux.perf"));
	if (session < 0)
		return (int)session;
	uint64_t key = (uint64_t)session << 32 | cpu;
	struct orma_perf_stream *stream = orma_base_map_get(&profiler->streams, key);
	*ret = stream;
	if (stream)
		return 0;
	int64_t tracks[1 + ORMA_SAMPLE_COUNTERS_MAX];
	struct orma_perf_stream opened = {.session_id = session, .tracks = tracks};
	int r = open_stream(profiler, event, cpu, &opened);
	if (r < 0)
		return r;
	opened.tracks = orma_base_arena_memdup(&profiler->arena, tracks,
					       (1 + opened.follower_count) * sizeof(tracks[0]));
	stream = orma_base_arena_memdup(&profiler->arena, &opened, sizeof(opened));
	*ret = stream;
	return stream && opened.tracks ? orma_base_map_put(&profiler->streams, key, stream)
				       : -ENOMEM;
}

static void note_skipped(struct orma_profiler *profiler, uint32_t machine_idx, uint64_t reason)
{
	struct orma_stats *stats = &profiler->system->stats;
	if (reason == ORMA_PB_PERF_SAMPLE_SAMPLE_SKIP_REASON_PROFILER_SKIP_READ_STAGE ||
	    reason == ORMA_PB_PERF_SAMPLE_SAMPLE_SKIP_REASON_PROFILER_SKIP_UNWIND_STAGE)
		orma_stats_add(stats, machine_idx, ORMA_STAT_perf_samples_skipped, 0, 1);
	else if (reason == ORMA_PB_PERF_SAMPLE_SAMPLE_SKIP_REASON_PROFILER_SKIP_UNWIND_ENQUEUE)
		orma_stats_add(stats, machine_idx, ORMA_STAT_perf_samples_skipped_dataloss, 0, 1);
}

/* Takes messages in the place of samples. Returns whether it was one. */
static bool take_notice(struct orma_profiler *profiler, const struct orma_ordered_event *event,
			const struct orma_message *sample, int64_t session)
{
	struct orma_stats *stats = &profiler->system->stats;
	uint64_t lost = orma_message_number(sample, ORMA_PB_PERF_SAMPLE_KERNEL_RECORDS_LOST);
	struct orma_message notice;
	if (lost > 0) {
		orma_stats_add(stats, event->machine_idx, ORMA_STAT_perf_cpu_lost_records,
			       (int32_t)orma_message_number(sample, ORMA_PB_PERF_SAMPLE_CPU),
			       (int64_t)lost);
		return true;
	}
	if (!orma_message_has(sample, ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT))
		return false;
	orma_message_read(&notice, orma_message_bytes(sample, ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT));
	if (orma_message_number(&notice, ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT_SOURCE_STOP_REASON) ==
	    ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT_DATA_SOURCE_STOP_REASON_PROFILER_STOP_GUARDRAIL)
		orma_stats_set(stats, event->machine_idx, ORMA_STAT_perf_guardrail_stop_ts,
			       (int32_t)session, event->ns);
	return true;
}

static int add_counts(struct orma_profiler *profiler, int64_t ts, const struct orma_message *sample,
		      const struct orma_perf_stream *stream)
{
	struct orma_repeated counts;
	uint64_t count;
	int r = 0;
	if (orma_message_has(sample, ORMA_PB_PERF_SAMPLE_TIMEBASE_COUNT))
		r = orma_profiler_count(
			profiler, ts, stream->tracks[0],
			(double)orma_message_number(sample, ORMA_PB_PERF_SAMPLE_TIMEBASE_COUNT));
	orma_repeated_init(&counts, sample->bytes, ORMA_PB_PERF_SAMPLE_FOLLOWER_COUNTS);
	for (uint32_t i = 1;
	     r == 0 && i <= stream->follower_count && orma_repeated_next(&counts, &count); i++)
		r = orma_profiler_count(profiler, ts, stream->tracks[i], (double)count);
	return r;
}

static const char *error_name(const struct orma_message *sample)
{
	static const char *const names[] = {
		"unknown",     "none",        "memory_invalid",      "unwind_info",
		"unsupported", "invalid_map", "max_frames_exceeded", "repeated_frame",
		"invalid_elf", "system_call", "thread_timeout",      "thread_does_not_exist",
		"bad_arch",    "maps_parse",  "invalid_parameter",   "ptrace_call",
	};
	uint64_t error = orma_message_number(sample, ORMA_PB_PERF_SAMPLE_UNWIND_ERROR);
	if (!orma_message_has(sample, ORMA_PB_PERF_SAMPLE_UNWIND_ERROR))
		return NULL;
	return error < ORMA_ARRAY_SIZE(names) ? names[error] : "unknown";
}

/* Finds the CPU and its mode. An id, ORMA_CELL_NULL, or a negative errno value. */
static int64_t find_execution(struct orma_profiler *profiler, uint32_t machine_idx,
			      const struct orma_message *sample)
{
	static const char *const modes[] = {NULL,         "kernel",       "user",
					    "hypervisor", "guest_kernel", "guest_user"};
	uint64_t mode = orma_message_number(sample, ORMA_PB_PERF_SAMPLE_CPU_MODE);
	const char *name = mode < ORMA_ARRAY_SIZE(modes) ? modes[mode] : "unknown";
	int64_t ucpu = ORMA_CELL_NULL;
	if (orma_message_has(sample, ORMA_PB_PERF_SAMPLE_CPU)) {
		uint64_t cpu = orma_message_number(sample, ORMA_PB_PERF_SAMPLE_CPU);
		ucpu = orma_cpus_get(profiler->system->tables, machine_idx, (uint32_t)cpu);
		if (ucpu < 0)
			return ucpu;
	}
	return ucpu != ORMA_CELL_NULL || name ? orma_profiler_execution(profiler, ucpu, name)
					      : ORMA_CELL_NULL;
}

static int add_sample(struct orma_profiler *profiler, const struct orma_ordered_event *event,
		      const struct orma_message *message, int64_t session)
{
	struct orma_processes *processes = profiler->system->processes;
	int64_t pid = (int32_t)orma_message_number(message, ORMA_PB_PERF_SAMPLE_PID);
	int64_t tid = (int32_t)orma_message_number(message, ORMA_PB_PERF_SAMPLE_TID);
	int64_t utid = orma_processes_thread_of(processes, event->machine_idx, tid, pid);
	int64_t upid = utid < 0 ? utid : orma_processes_process(processes, event->machine_idx, pid);
	if (upid < 0)
		return (int)upid;
	struct orma_profiler_sample sample = {
		.ts = event->ns,
		.source = "linux.perf",
		.task_id = orma_profiler_task(profiler, upid, utid, ORMA_CELL_NULL),
		.execution_id = find_execution(profiler, event->machine_idx, message),
		.callsite_id = ORMA_CELL_NULL,
		.session_id = session,
		.unwind_error = error_name(message),
		.priority = ORMA_CELL_NULL,
	};
	if (orma_message_has(message, ORMA_PB_PERF_SAMPLE_CALLSTACK_IID))
		sample.callsite_id = orma_interned_stacks_find(
			profiler->interned, event->state, upid,
			orma_message_number(message, ORMA_PB_PERF_SAMPLE_CALLSTACK_IID));
	return orma_profiler_add(profiler, &sample);
}

int orma_perf_sample_take(struct orma_profiler *profiler, const struct orma_ordered_event *event)
{
	struct orma_message sample;
	const struct orma_perf_stream *stream = NULL;
	orma_message_read(&sample, event->packet->content);
	int r = find_stream(profiler, event,
			    (uint32_t)orma_message_number(&sample, ORMA_PB_PERF_SAMPLE_CPU),
			    &stream);
	if (r == -ERANGE) {
		orma_stats_add(&profiler->system->stats, event->machine_idx,
			       ORMA_STAT_perf_samples_skipped, 0, 1);
		return 0;
	}
	if (r < 0 || take_notice(profiler, event, &sample, stream->session_id))
		return r;
	if (orma_message_has(&sample, ORMA_PB_PERF_SAMPLE_SAMPLE_SKIPPED_REASON))
		note_skipped(
			profiler, event->machine_idx,
			orma_message_number(&sample, ORMA_PB_PERF_SAMPLE_SAMPLE_SKIPPED_REASON));
	r = add_counts(profiler, event->ns, &sample, stream);
	return r < 0 ? r : add_sample(profiler, event, &sample, stream->session_id);
}
