/* SPDX-License-Identifier: Apache-2.0
 * orma_self.c - the data source orma.self: the probes' own spans and counters as track events, the
 * CPU time and memory that they use, and the turns of their loop.
 *
 * Owns the instances. Spans are slices on a track of the probes' thread, named after the data
 * source that polls or drains. Counters are tracks below the process. A person who wonders what
 * recording costs, or why a poll was late, finds it in the trace itself, beside everything else.
 *
 * A span arrives when it ends. Then both of its events are written, each with its own time: readers
 * sort events by time, so that an outer span, which is written later, still begins first.
 *
 * Any session may ask for it. It shows which data sources poll, and how long that takes, for other
 * sessions too, but neither their names nor what they record. Bytes per buffer are not among the
 * counters: a producer does not know them, and the service's TraceStats have those of the session's
 * own buffers in each period of a file.
 *
 * The id of a track is a hash of its name and the process. Tracks are described before their first
 * event and after the reader has forgotten them.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/map.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "probes/self_trace/self_trace.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

#define POLL_MS      1000u
#define COUNTERS_MAX 32 /* names of counters; more are not written */

#define CPU_NAME     "CPU"
#define MEMORY_NAME  "memory"
#define TURNS_NAME   "turns of the loop"
#define LONGEST_NAME "longest turn"

struct self_probe {
	struct orma_probe base; /* first */
	int proc_fd;
	struct orma_buf text;
	/* All instances poll in the same turn of the loop. */
	struct orma_loop_times times, polled_times; /* since the last poll, and before it */
	uint64_t polled_turn;                       /* the turn of the last poll */
};

struct self_instance {
	struct orma_probe_instance base; /* first */
	struct self_probe *probe;
	struct orma_self_listener listener;
	uint32_t pid, tid;
	bool is_described;                  /* the process and the thread */
	const char *counters[COUNTERS_MAX]; /* described */
	size_t counter_count;
	uint64_t last_ns, last_cpu_ns; /* when the last poll was; 0 = none */
};

static struct self_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct self_instance, base);
}

/* ---- tracks ---- */

static uint64_t track_uuid(const struct self_instance *instance, const char *name)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, "orma.self/", 10);

	hash = orma_base_fnv1a(hash, &instance->pid, sizeof(instance->pid));
	return orma_base_fnv1a(hash, name, strlen(name));
}

static void forget(struct self_instance *instance)
{
	instance->is_described = false;
	instance->counter_count = 0;
}

/* Begins a packet. NULL when the instance is not started. */
static struct orma_packet *packet_begin(struct self_instance *instance, uint64_t time_ns)
{
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);

	if (!packet)
		return NULL;
	orma_packet_varint(packet, ORMA_PACKET_TIMESTAMP, time_ns);
	if (orma_packet_take_needs_state(packet)) {
		orma_packet_varint(packet, ORMA_PACKET_SEQUENCE_FLAGS, ORMA_SEQUENCE_STATE_CLEARED);
		forget(instance);
	}
	return packet;
}

static void describe_process(struct self_instance *instance, uint64_t time_ns)
{
	struct orma_nested track, process;
	struct orma_packet *packet = packet_begin(instance, time_ns);

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &track, ORMA_PACKET_TRACK_DESCRIPTOR);
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_UUID, track_uuid(instance, "process"));
	orma_packet_nested_begin(packet, &process, ORMA_PB_TRACK_DESCRIPTOR_PROCESS);
	orma_packet_int(packet, ORMA_PB_PROCESS_DESCRIPTOR_PID, instance->pid);
	orma_packet_nested_end(packet, &process);
	orma_packet_nested_end(packet, &track);
	orma_packet_end(packet);
}

static void describe_thread(struct self_instance *instance, uint64_t time_ns)
{
	struct orma_nested track, thread;
	struct orma_packet *packet = packet_begin(instance, time_ns);

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &track, ORMA_PACKET_TRACK_DESCRIPTOR);
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_UUID, track_uuid(instance, "thread"));
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
			   track_uuid(instance, "process"));
	orma_packet_nested_begin(packet, &thread, ORMA_PB_TRACK_DESCRIPTOR_THREAD);
	orma_packet_int(packet, ORMA_PB_THREAD_DESCRIPTOR_PID, instance->pid);
	orma_packet_int(packet, ORMA_PB_THREAD_DESCRIPTOR_TID, instance->tid);
	orma_packet_nested_end(packet, &thread);
	orma_packet_nested_end(packet, &track);
	orma_packet_end(packet);
}

/* The first packet of a sequence, and one after a loss, clears the mark, but is itself in the
 * trace. */
static void describe(struct self_instance *instance, uint64_t time_ns)
{
	if (instance->is_described)
		return;
	describe_process(instance, time_ns);
	instance->is_described = true;
	describe_thread(instance, time_ns);
}

static bool describe_counter(struct self_instance *instance, const char *name, uint64_t time_ns)
{
	struct orma_nested track, counter;

	describe(instance, time_ns);
	for (size_t i = 0; i < instance->counter_count; i++)
		if (strcmp(instance->counters[i], name) == 0)
			return true;
	if (instance->counter_count == COUNTERS_MAX)
		return false;
	instance->counters[instance->counter_count++] = name;
	struct orma_packet *packet = packet_begin(instance, time_ns);
	if (!packet)
		return false;
	orma_packet_nested_begin(packet, &track, ORMA_PACKET_TRACK_DESCRIPTOR);
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_UUID, track_uuid(instance, name));
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
			   track_uuid(instance, "process"));
	orma_packet_string(packet, ORMA_PB_TRACK_DESCRIPTOR_NAME, name);
	orma_packet_nested_begin(packet, &counter, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
	if (strcmp(name, CPU_NAME) == 0)
		orma_packet_string(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_NAME, "us/s");
	if (strcmp(name, TURNS_NAME) == 0)
		orma_packet_string(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_NAME, "1/s");
	if (strcmp(name, LONGEST_NAME) == 0)
		orma_packet_int(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT,
				ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_TIME_NS);
	if (strcmp(name, MEMORY_NAME) == 0)
		orma_packet_int(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT,
				ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_SIZE_BYTES);
	orma_packet_nested_end(packet, &counter);
	orma_packet_nested_end(packet, &track);
	orma_packet_end(packet);
	return true;
}

/* ---- events ---- */

/* Writes one event; `name` is NULL at the end of a slice. */
static void write_edge(struct self_instance *instance, uint64_t time_ns, const char *name)
{
	struct orma_nested event;
	struct orma_packet *packet = packet_begin(instance, time_ns);

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &event, ORMA_PACKET_TRACK_EVENT);
	orma_packet_int(packet, ORMA_PB_TRACK_EVENT_TYPE,
			name ? ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN
			     : ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END);
	orma_packet_varint(packet, ORMA_PB_TRACK_EVENT_TRACK_UUID, track_uuid(instance, "thread"));
	if (name) {
		orma_packet_string(packet, ORMA_PB_TRACK_EVENT_CATEGORIES, "orma");
		orma_packet_string(packet, ORMA_PB_TRACK_EVENT_NAME, name);
	}
	orma_packet_nested_end(packet, &event);
	orma_packet_end(packet);
}

static void on_span(void *ctx, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	struct self_instance *instance = ctx;

	describe(instance, begin_ns);
	write_edge(instance, begin_ns, name);
	write_edge(instance, end_ns, NULL);
}

static void on_counter(void *ctx, const char *name, uint64_t now_ns, int64_t value)
{
	struct self_instance *instance = ctx;
	struct orma_nested event;

	if (!describe_counter(instance, name, now_ns))
		return;
	struct orma_packet *packet = packet_begin(instance, now_ns);
	if (!packet)
		return;
	orma_packet_nested_begin(packet, &event, ORMA_PACKET_TRACK_EVENT);
	orma_packet_int(packet, ORMA_PB_TRACK_EVENT_TYPE, ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER);
	orma_packet_varint(packet, ORMA_PB_TRACK_EVENT_TRACK_UUID, track_uuid(instance, name));
	orma_packet_int(packet, ORMA_PB_TRACK_EVENT_COUNTER_VALUE, value);
	orma_packet_nested_end(packet, &event);
	orma_packet_end(packet);
}

/* ---- polls ---- */

/* Values of the time since the last poll have the time of that poll. */
static void poll_cpu(struct self_instance *instance, uint64_t elapsed_ns)
{
	uint64_t cpu_ns = orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	/* Microseconds per second. */
	if (elapsed_ns > 0)
		on_counter(instance, CPU_NAME, instance->last_ns,
			   (int64_t)((double)(cpu_ns - instance->last_cpu_ns) * 1e6 /
				     (double)elapsed_ns));
	instance->last_cpu_ns = cpu_ns;
}

static void poll_turns(struct self_instance *instance, uint64_t elapsed_ns)
{
	struct self_probe *probe = instance->probe;
	uint64_t turn = orma_base_loop_turn_number(probe->base.loop);

	if (elapsed_ns == 0)
		return;
	if (turn != probe->polled_turn) {
		probe->polled_times = probe->times;
		probe->times = (struct orma_loop_times){0};
		probe->polled_turn = turn;
	}
	on_counter(instance, TURNS_NAME, instance->last_ns,
		   (int64_t)((double)probe->polled_times.count * 1e9 / (double)elapsed_ns));
	on_counter(instance, LONGEST_NAME, instance->last_ns,
		   (int64_t)probe->polled_times.longest_ns);
}

static void poll_memory(struct self_instance *instance, uint64_t now_ns)
{
	struct self_probe *probe = instance->probe;
	struct orma_str text;
	uint64_t bytes;

	if (orma_probes_file_read_record(probe->proc_fd, "self/statm", &probe->text, &text) == 0 &&
	    orma_probes_text_resident(text, (uint64_t)sysconf(_SC_PAGESIZE), &bytes))
		on_counter(instance, MEMORY_NAME, now_ns, (int64_t)bytes);
}

static void run(struct orma_probe_instance *base)
{
	struct self_instance *instance = to_instance(base);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_BOOTTIME);

	uint64_t elapsed_ns = instance->last_ns > 0 ? now_ns - instance->last_ns : 0;

	poll_cpu(instance, elapsed_ns);
	poll_turns(instance, elapsed_ns);
	poll_memory(instance, now_ns);
	instance->last_ns = now_ns;
}

/* ---- instances ---- */

/* There is nothing to configure. */
static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	(void)config;
	(void)size;
	to_instance(base)->probe = ORMA_CONTAINER_OF(base->probe, struct self_probe, base);
	base->period_ms = POLL_MS;
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	struct self_instance *instance = to_instance(base);

	/* The turns before the first session do not count. */
	if (base->probe->self && !base->probe->self->first)
		instance->probe->times = (struct orma_loop_times){0};
	orma_base_loop_set_times(base->probe->loop, &instance->probe->times);
	instance->pid = (uint32_t)getpid();
	instance->tid = (uint32_t)syscall(SYS_gettid);
	instance->listener = (struct orma_self_listener){
		.on_span = on_span, .on_counter = on_counter, .ctx = instance};
	orma_self_listen(base->probe->self, &instance->listener);
	return true;
}

static void clear(struct orma_probe_instance *base)
{
	forget(to_instance(base));
}

static void destroy(struct orma_probe_instance *base)
{
	struct self_instance *instance = to_instance(base);

	orma_self_unlisten(base->probe->self, &instance->listener);
	if (orma_data_source_started(base->probe->source) == 0)
		orma_base_loop_set_times(base->probe->loop, NULL);
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct self_probe *probe = ORMA_CONTAINER_OF(base, struct self_probe, base);

	return probe->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
}

static void close_probe(struct orma_probe *base)
{
	struct self_probe *probe = ORMA_CONTAINER_OF(base, struct self_probe, base);

	orma_base_fd_close(probe->proc_fd);
	orma_base_buf_done(&probe->text);
}

static const struct orma_probe_ops ops = {
	.name = "orma.self",
	.probe_bytes = sizeof(struct self_probe),
	.instance_bytes = sizeof(struct self_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_self_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
