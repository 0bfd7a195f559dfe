/* SPDX-License-Identifier: Apache-2.0
 * perf_output.c - see perf_output.h.
 */
#include "formats/perf_output.h"

#include <errno.h>

#include "base/macros.h"
#include "schema/gen/perf_events.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "trace/clocks.h"
#include "trace/conversion_fields.h"

enum { PROCESS_SEQUENCE = ORMA_PERF_EVENTS_MAX + 1, COMM_BYTES = 16 };

/* perf_event_attr.type */
enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE = 1 };

/* Modes of a CPU, in headers and in PerfSample. */
enum { MODE_KERNEL = 1, MODE_USER, MODE_HYPERVISOR, MODE_GUEST_KERNEL, MODE_GUEST_USER };

struct perf_thread {
	int32_t parent; /* the parent of its process */
	uint32_t size;
	char comm[COMM_BYTES];
};

void orma_perf_output_done(struct orma_perf_output *output)
{
	orma_stack_output_done(&output->stacks);
	orma_perf_spaces_done(&output->spaces);
	orma_base_map_done(&output->totals);
	orma_base_map_done(&output->threads);
	orma_base_arena_done(&output->arena);
}

static void write_text(struct orma_proto_writer *writer, uint32_t field, struct orma_str text)
{
	if (text.size > 0)
		orma_proto_write_str(writer, field, text);
}

/* Clocks of the kernel as those of traces. perf's own one is close to the monotonic clock. */
static uint32_t clock_of(const struct orma_perf_file *file)
{
	static const uint8_t clocks[] = {
		ORMA_CLOCK_REALTIME, ORMA_CLOCK_MONOTONIC, 0, 0, ORMA_CLOCK_MONOTONIC_RAW, 0, 0,
		ORMA_CLOCK_BOOTTIME};
	const struct orma_perf_event *event = file->event_count > 0 ? &file->events[0] : NULL;
	bool is_told = event && event->uses_clock && event->clock >= 0 &&
		       (size_t)event->clock < sizeof(clocks) && clocks[event->clock];
	return is_told ? clocks[event->clock] : ORMA_CLOCK_MONOTONIC;
}

/* Describes the machine before the first packet. */
static int begin(struct orma_perf_output *output)
{
	const struct orma_perf_file *file = output->file;
	struct orma_proto_nested info, name;
	output->has_begun = true;
	output->packets->clock = clock_of(file);
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(output->packets, PROCESS_SEQUENCE);
	orma_proto_nested_begin(writer, &info, ORMA_PB_TRACE_PACKET_SYSTEM_INFO);
	orma_proto_nested_begin(writer, &name, ORMA_PB_SYSTEM_INFO_UTSNAME);
	orma_proto_write_string(writer, ORMA_PB_UTSNAME_SYSNAME, "Linux");
	write_text(writer, ORMA_PB_UTSNAME_RELEASE, file->release);
	write_text(writer, ORMA_PB_UTSNAME_MACHINE, file->arch);
	orma_proto_nested_end(writer, &name);
	write_text(writer, ORMA_PB_SYSTEM_INFO_MACHINE_NAME, file->hostname);
	return orma_packet_output_end(output->packets);
}

static struct perf_thread *find_thread(struct orma_perf_output *output, int32_t tid)
{
	struct perf_thread *thread = orma_base_map_get(&output->threads, (uint32_t)tid);
	if (thread)
		return thread;
	thread = orma_base_arena_alloc(&output->arena, sizeof(*thread));
	return thread && orma_base_map_put(&output->threads, (uint32_t)tid, thread) == 0 ? thread
											 : NULL;
}

static int write_thread(struct orma_perf_output *output, uint64_t time, int32_t pid, int32_t tid,
			const struct perf_thread *thread)
{
	struct orma_str comm = {thread->comm, thread->size};
	struct orma_proto_nested tree, entry;
	int r = output->has_begun ? 0 : begin(output);
	if (r < 0 || pid < 0 || tid < 0)
		return r;
	struct orma_proto_writer *writer =
		orma_packet_output_begin(output->packets, PROCESS_SEQUENCE, (int64_t)time);
	orma_proto_nested_begin(writer, &tree, ORMA_PB_TRACE_PACKET_PROCESS_TREE);
	if (pid == tid && comm.size > 0) {
		orma_proto_nested_begin(writer, &entry, ORMA_PB_PROCESS_TREE_PROCESSES);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PID, pid);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PPID, thread->parent);
		orma_proto_write_str(writer, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, comm);
		orma_proto_write_bool(writer, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
	} else {
		orma_proto_nested_begin(writer, &entry, ORMA_PB_PROCESS_TREE_THREADS);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_THREAD_TID, tid);
		write_text(writer, ORMA_PB_PROCESS_TREE_THREAD_NAME, comm);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_THREAD_TGID, pid);
	}
	return orma_packet_output_end(output->packets);
}

int orma_perf_output_name(struct orma_perf_output *output, uint64_t time, int32_t pid, int32_t tid,
			  struct orma_str comm)
{
	struct perf_thread *thread = find_thread(output, tid);
	if (!thread)
		return -ENOMEM;
	thread->size = (uint32_t)ORMA_MIN(comm.size, (size_t)COMM_BYTES);
	memcpy(thread->comm, comm.data, thread->size);
	return write_thread(output, time, pid, tid, thread);
}

int orma_perf_output_fork(struct orma_perf_output *output, uint64_t time, int32_t pid,
			  int32_t parent, int32_t tid, int32_t parent_tid)
{
	const struct perf_thread *old = orma_base_map_get(&output->threads, (uint32_t)parent_tid);
	struct perf_thread *thread = find_thread(output, tid);
	if (!thread)
		return -ENOMEM;
	/* The kernel copies the name, and tells it only when it changes. */
	if (old && old != thread)
		*thread = *old;
	if (pid != parent)
		thread->parent = ORMA_MAX(parent, 0);
	return write_thread(output, time, pid, tid, thread);
}

/* Names the event, and says what it counts. */
static void write_timebase(struct orma_proto_writer *writer, const struct orma_perf_event *event)
{
	static const uint8_t hardware[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
	static const uint8_t software[] = {1, 3, 2, 4, 5, 6, 7, 8, 9, 20};
	const uint8_t *counters = event->type == TYPE_HARDWARE ? hardware : software;
	/* Above are the CPUs that have the event, where there are several kinds. */
	uint32_t config = (uint32_t)event->config;
	struct orma_proto_nested timebase, raw;
	orma_proto_nested_begin(writer, &timebase, ORMA_PB_PERF_SAMPLE_DEFAULTS_TIMEBASE);
	write_text(writer, ORMA_PB_PERF_EVENTS_TIMEBASE_NAME, event->name);
	if (event->type <= TYPE_SOFTWARE && config < sizeof(hardware)) {
		orma_proto_write_varint(writer, ORMA_PB_PERF_EVENTS_TIMEBASE_COUNTER,
					counters[config]);
	} else {
		orma_proto_nested_begin(writer, &raw, ORMA_PB_PERF_EVENTS_TIMEBASE_RAW_EVENT);
		orma_proto_write_varint(writer, ORMA_PB_PERF_EVENTS_RAW_EVENT_TYPE, event->type);
		orma_proto_write_varint(writer, ORMA_PB_PERF_EVENTS_RAW_EVENT_CONFIG,
					event->config);
		orma_proto_nested_end(writer, &raw);
	}
	orma_proto_nested_end(writer, &timebase);
}

/* Begins the sequence of an event. */
static int begin_event(struct orma_perf_output *output, uint32_t idx)
{
	const struct orma_perf_event *event = &output->file->events[idx];
	struct orma_proto_nested defaults, samples;
	output->has_event[idx] = true;
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(output->packets, idx + 1);
	/* It is merged with the defaults that each sequence has. */
	orma_proto_nested_begin(writer, &defaults, ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
				output->packets->clock);
	orma_proto_nested_begin(writer, &samples,
				ORMA_PB_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS);
	write_timebase(writer, event);
	write_text(writer, ORMA_PERF_DEFAULTS_COMMAND, output->file->command);
	orma_proto_write_bool(writer, ORMA_PERF_DEFAULTS_IS_WITHOUT_CPUS,
			      !(event->sample_type & ORMA_PERF_SAMPLE_CPU));
	return orma_packet_output_end(output->packets);
}

/* Returns the sum of the event's periods on the CPU, or what the counter was read as. */
static int count(struct orma_perf_output *output, const struct orma_perf_sample *sample,
		 uint64_t *ret)
{
	uint64_t words[] = {sample->event, sample->has_cpu ? sample->cpu : UINT64_MAX};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uint64_t *total = orma_base_map_get(&output->totals, key);
	if (!total) {
		total = orma_base_arena_alloc(&output->arena, sizeof(*total));
		if (!total || orma_base_map_put(&output->totals, key, total) < 0)
			return -ENOMEM;
	}
	*total = sample->has_value ? sample->value : *total + sample->period;
	*ret = *total;
	return 0;
}

static uint64_t write_frame(struct orma_perf_output *output, int32_t pid, uint32_t mode,
			    uint64_t address)
{
	bool is_kernel = mode == MODE_KERNEL || mode == MODE_GUEST_KERNEL;
	const struct orma_perf_mapping *found =
		mode == MODE_HYPERVISOR
			? NULL
			: orma_perf_spaces_find(&output->spaces,
						is_kernel ? ORMA_PERF_KERNEL_PID : pid, address);
	struct orma_output_mapping mapping = {.name = is_kernel ? ORMA_STR("[kernel]")
								: ORMA_STR("[unknown]")};
	struct orma_output_frame frame = {.rel_pc = address};
	if (found) {
		mapping = (struct orma_output_mapping){
			.name = found->name,
			.build_id = found->build_id,
			.start = found->start,
			.end = found->end,
			.offset = found->offset,
			.is_shared = is_kernel,
		};
		frame.rel_pc = address - found->start + found->offset;
	} else {
		orma_packet_output_count(output->packets, ORMA_STAT_perf_dummy_mapping_used);
	}
	frame.mapping = orma_stack_output_mapping(&output->stacks, &mapping);
	return orma_stack_output_frame(&output->stacks, &frame);
}

/* Tells the mode that a mark in a call chain stands for; 0 = it is an address. */
static uint32_t mode_of(uint64_t entry, uint32_t mode)
{
	enum {
		HV = -32,
		KERNEL = -128,
		USER = -512,
		GUEST_KERNEL = -2176,
		GUEST_USER = -2560,
		MARK_MIN = -4095
	};
	switch ((int64_t)entry) {
	case HV:
		return MODE_HYPERVISOR;
	case KERNEL:
		return MODE_KERNEL;
	case USER:
		return MODE_USER;
	case GUEST_KERNEL:
		return MODE_GUEST_KERNEL;
	case GUEST_USER:
		return MODE_GUEST_USER;
	default:
		return (int64_t)entry >= MARK_MIN && (int64_t)entry < 0 ? mode : 0;
	}
}

/* Writes the frames of a sample, and returns the number of its stack; 0 = it has none. */
static uint64_t write_stack(struct orma_perf_output *output, uint32_t mode,
			    const struct orma_perf_sample *sample)
{
	size_t begin = ORMA_STACK_FRAMES_MAX;
	for (uint64_t i = 0; i < sample->chain_count && begin > 0; i++) {
		uint64_t entry;
		memcpy(&entry, sample->chain + i * 8, sizeof(entry));
		uint32_t marked = mode_of(entry, mode);
		if (marked)
			mode = marked;
		else
			output->frames[--begin] = write_frame(output, sample->pid, mode, entry);
	}
	if (begin == ORMA_STACK_FRAMES_MAX && sample->ip)
		output->frames[--begin] = write_frame(output, sample->pid, mode, sample->ip);
	return begin < ORMA_STACK_FRAMES_MAX
		       ? orma_stack_output_stack(&output->stacks, output->frames + begin,
						 ORMA_STACK_FRAMES_MAX - begin)
		       : 0;
}

int orma_perf_output_sample(struct orma_perf_output *output, uint32_t mode,
			    const struct orma_perf_sample *sample)
{
	struct orma_proto_nested message;
	uint64_t total = 0;
	int r = output->has_begun ? 0 : begin(output);
	if (r == 0 && !output->has_event[sample->event])
		r = begin_event(output, sample->event);
	if (r == 0)
		r = count(output, sample, &total);
	if (r < 0)
		return r;
	struct orma_proto_writer *writer =
		orma_packet_output_begin(output->packets, sample->event + 1, (int64_t)sample->time);
	uint64_t stack = write_stack(output, mode, sample);
	orma_proto_nested_begin(writer, &message, ORMA_PB_TRACE_PACKET_PERF_SAMPLE);
	if (sample->has_cpu)
		orma_proto_write_varint(writer, ORMA_PB_PERF_SAMPLE_CPU, sample->cpu);
	if (sample->has_tid) {
		orma_proto_write_int(writer, ORMA_PB_PERF_SAMPLE_PID, ORMA_MAX(sample->pid, 0));
		orma_proto_write_int(writer, ORMA_PB_PERF_SAMPLE_TID, ORMA_MAX(sample->tid, 0));
	}
	if (stack)
		orma_proto_write_varint(writer, ORMA_PB_PERF_SAMPLE_CALLSTACK_IID, stack);
	if (mode <= MODE_GUEST_USER)
		orma_proto_write_varint(writer, ORMA_PB_PERF_SAMPLE_CPU_MODE, mode);
	orma_proto_write_varint(writer, ORMA_PB_PERF_SAMPLE_TIMEBASE_COUNT, total);
	return orma_packet_output_end(output->packets);
}
