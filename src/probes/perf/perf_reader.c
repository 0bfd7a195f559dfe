/* SPDX-License-Identifier: Apache-2.0
 * perf_reader.c - takes the records of all rings in the order of time, and writes packets.
 *
 * Owns the totals of each CPU and the threads that wait. The instance owns everything else.
 *
 * The first sample of a program needs its unwind table, which another process builds in up to 100 ms (src/unwind/unwind_files.c).
 * Until the table is there, this sample and all younger ones stay in the rings, which have room for half a second. There is no
 * other queue. So no stack is copied, and the walk finds the mappings of the moment of the sample, because records about mappings
 * wait as well. When a ring is more than half full, the stack ends where the table is missing, and is counted. So a file system
 * that hangs loses no samples.
 *
 * Rejected: copies of samples beside the ring, because each takes 16 KiB, each process would need a copy of its mappings, and
 * packets would be out of order; building the table here, because the ring overflows while the table of a large program is built.
 *
 * Samples of processes that are out of scope cost the kernel as much as others, so the trace should show that they exist. A
 * packet for each would be as large as a sample. So each CPU has one such packet a second.
 */
#include "probes/perf/perf_reader.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "schema/gen/profile_packet.pb.h"

#define SKIPPED_NS    ORMA_NS_PER_SEC
#define CUT_PERCENT   5u  /* copies become larger when more of a process's stacks are cut */
#define CUT_SAMPLES   32u /* the samples that the process must have before that */
#define RECORDS_CHECK 16u /* records between two checks of the clock */
#define WAIT_RECORDS  3u  /* records of a wait: the thread stops, its stack, and it runs again */
#define NO_PID        UINT32_MAX /* the pid in records of a task that ends */

int orma_perf_reader_init(struct orma_perf_reader *reader, uint32_t cpu_limit)
{
	*reader = (struct orma_perf_reader){.cpu_limit = cpu_limit};
	reader->cpus = orma_base_alloc_array(cpu_limit, sizeof(*reader->cpus));
	return reader->cpus ? 0 : -ENOMEM;
}

void orma_perf_reader_done(struct orma_perf_reader *reader)
{
	orma_perf_waits_done(&reader->waits);
	orma_base_free(reader->cpus);
	reader->cpus = NULL;
}

/* ---- samples ---- */

/* Returns the number of events that a sample represents. If the period is fixed, the record does not contain
 * it. */
static uint64_t period_of(const struct orma_perf_reader *reader,
			  const struct orma_perf_record *record)
{
	uint64_t period =
		reader->config->period > 0 ? reader->config->period : record->sample.period;

	return ORMA_MAX(period, UINT64_C(1));
}

static void take_counts(struct orma_perf_reader *reader, const struct orma_perf_record *record,
			struct orma_perf_fact *ret)
{
	const struct orma_perf_words *counts = &record->sample.counts;
	struct orma_perf_cpu_state *cpu = &reader->cpus[record->cpu];

	if (counts->count == 0) {
		cpu->total += period_of(reader, record);
		ret->counts[ret->count_count++] = cpu->total;
		return;
	}
	for (size_t i = 0; i < counts->count && i < ORMA_ARRAY_SIZE(ret->counts); i++) {
		cpu->last[i] = orma_perf_word(*counts, i);
		ret->counts[ret->count_count++] = cpu->base[i] + cpu->last[i];
	}
}

/* Returns the number of waits that this sample represents: all waits of its CPU since the last sample. Lost
 * samples are not included, because waits that follow each other are not a fair choice. */
static uint64_t take_wait_count(struct orma_perf_reader *reader,
				const struct orma_perf_record *record,
				const struct orma_perf_cpu *ring)
{
	struct orma_perf_cpu_state *cpu = &reader->cpus[record->cpu];

	if (record->sample.counts.count == 0)
		return period_of(reader, record);
	uint64_t count = orma_perf_word(record->sample.counts, 0);
	uint64_t last = cpu->last[0];
	cpu->last[0] = count;
	return ORMA_MAX(ORMA_MIN(count - last, ring->period_max), UINT64_C(1));
}

void orma_perf_reader_set_events(struct orma_perf_reader *reader, struct orma_perf_events *events)
{
	reader->events = events;
	for (uint32_t cpu = 0; cpu < reader->cpu_limit; cpu++)
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(reader->cpus[cpu].base); i++) {
			reader->cpus[cpu].base[i] += reader->cpus[cpu].last[i];
			reader->cpus[cpu].last[i] = 0;
		}
}

static void note_cut(struct orma_perf_reader *reader, struct orma_perf_process *process,
		     const struct orma_perf_record *record, const struct orma_perf_stack *stack)
{
	process->sample_count++;
	/* A long stack counts as whole if its end was not needed. */
	if (!record->sample.is_stack_cut ||
	    stack->error != ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_MEMORY_INVALID)
		return;
	process->cut_count++;
	reader->cut_count++;
	if (process->sample_count >= CUT_SAMPLES &&
	    (uint64_t)process->cut_count * 100 > (uint64_t)process->sample_count * CUT_PERCENT)
		reader->wants_larger_stacks = true;
}

static void skip_sample(struct orma_perf_reader *reader, const struct orma_perf_fact *fact)
{
	struct orma_perf_cpu_state *cpu = &reader->cpus[fact->cpu];

	reader->skipped_count++;
	if (reader->config->off_cpu || reader->hides_others ||
	    (cpu->skipped_ns > 0 && fact->time < cpu->skipped_ns + SKIPPED_NS))
		return;
	cpu->skipped_ns = fact->time;
	orma_perf_packets_skipped(reader->packets, fact);
}

/* False if the sample needs a file that is being read. */
static bool walk_stack(struct orma_perf_reader *reader, struct orma_perf_process *process,
		       const struct orma_perf_record *record, struct orma_perf_stack *ret)
{
	struct orma_perf_stacks *stacks = reader->stacks;

	stacks->never_waits = reader->never_waits;
	if (orma_perf_stacks_walk(stacks, process, record, ret))
		return true;
	if (!orma_perf_events_are_filling(reader->events))
		return false;
	stacks->takes_parts = true;
	orma_perf_stacks_walk(stacks, process, record, ret);
	stacks->takes_parts = false;
	reader->late_count++;
	return true;
}

/* True if the sample has a stack that the session wants. */
static bool has_stack(const struct orma_perf_reader *reader,
		      const struct orma_perf_process *process,
		      const struct orma_perf_record *record)
{
	if (!process || !process->is_in_scope)
		return false;
	/* The waits of idle tasks never end, nor does that of the main thread of a process that has ended. */
	return !reader->config->off_cpu ||
	       (record->pid != 0 && !(process->has_ended && record->tid == record->pid));
}

static void put_stack(struct orma_perf_reader *reader, struct orma_perf_process *process,
		      const struct orma_perf_record *record, const struct orma_perf_fact *fact,
		      const struct orma_perf_stack *stack)
{
	reader->sample_count++;
	process->is_sampled = true;
	orma_perf_processes_mention(reader->processes, process, record->tid);
	note_cut(reader, process, record, stack);
	if (reader->config->off_cpu)
		orma_perf_waits_begin(&reader->waits, fact, stack, reader->stacks);
	else
		orma_perf_packets_sample(reader->packets, fact, stack);
}

/* False if the sample needs a file that is being read. Then nothing has changed. */
static bool take_sample(struct orma_perf_reader *reader, const struct orma_perf_record *record,
			struct orma_perf_cpu *ring)
{
	struct orma_perf_fact fact = {
		.time = record->time,
		.cpu = record->cpu,
		.pid = record->pid,
		.tid = record->tid,
		.mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK,
	};
	bool is_left_out =
		record->pid == NO_PID || (reader->own_pid > 0 && record->pid == reader->own_pid);
	struct orma_perf_process *process = NULL;
	struct orma_perf_stack stack;

	if (!is_left_out && reader->config->wants_stacks)
		process = orma_perf_processes_get(reader->processes, record->pid);
	bool is_walked = has_stack(reader, process, record);
	if (is_walked && !walk_stack(reader, process, record, &stack))
		return false;
	/* Each sample counts, because the next one represents the waits since this one. */
	if (reader->config->off_cpu) {
		fact.wait_count = take_wait_count(reader, record, ring);
		ring->wait_count++;
	} else {
		take_counts(reader, record, &fact);
	}
	if (is_left_out)
		return true;
	if (is_walked) {
		put_stack(reader, process, record, &fact, &stack);
	} else if (!reader->config->wants_stacks) {
		reader->sample_count++;
		orma_perf_packets_sample(reader->packets, &fact, NULL);
	} else if (!process || !process->is_in_scope) {
		skip_sample(reader, &fact);
	}
	return true;
}

/* ---- other records ---- */

/* Takes the record that a thread stops. Without the right to see the kernel there are no samples of waits,
 * because threads stop in the kernel. These records remain, so the waits are known without their stacks. */
static void take_stop(struct orma_perf_reader *reader, const struct orma_perf_record *record)
{
	struct orma_perf_fact fact = {.time = record->time,
				      .cpu = record->cpu,
				      .pid = record->pid,
				      .tid = record->tid,
				      .mode = PERF_RECORD_MISC_KERNEL,
				      .wait_count = 1};
	struct orma_perf_process *process;

	if (reader->events->can & ORMA_PERF_CAN_KERNEL || record->pid == NO_PID ||
	    record->pid == 0 || (reader->own_pid > 0 && record->pid == reader->own_pid))
		return;
	process = orma_perf_processes_get(reader->processes, record->pid);
	if (!process || !process->is_in_scope || process->has_ended)
		return;
	struct orma_perf_stack stack = {
		.process = process,
		.error = ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_NONE,
		.time = record->time,
		.is_in_kernel = true};
	process->is_sampled = true;
	orma_perf_processes_mention(reader->processes, process, record->tid);
	reader->sample_count++;
	orma_perf_waits_begin(&reader->waits, &fact, &stack, reader->stacks);
}

static void take_other(struct orma_perf_reader *reader, const struct orma_perf_record *record,
		       struct orma_perf_cpu *ring)
{
	switch (record->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		reader->lost_count += record->lost;
		ring->wait_count += record->lost / WAIT_RECORDS;
		orma_perf_packets_lost(reader->packets, record->cpu, record->lost);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (record->turn.is_out)
			take_stop(reader, record);
		else
			orma_perf_waits_end(&reader->waits, record->tid, record->time,
					    reader->stacks, reader->packets);
		break;
	case PERF_RECORD_EXIT:
		orma_perf_waits_forget(&reader->waits, record->tid);
		orma_perf_processes_take(reader->processes, record);
		break;
	default:
		orma_perf_processes_take(reader->processes, record);
	}
}

bool orma_perf_reader_run(struct orma_perf_reader *reader, uint64_t limit_ns,
			  bool (*is_over)(void *ctx), void *ctx)
{
	struct orma_perf_record record;
	struct orma_perf_cpu *cpu;
	unsigned count = 0;
	bool is_early = false;

	if (is_over && reader->turns_limit_ns > 0)
		limit_ns = reader->turns_limit_ns;
	reader->is_stalled = false;
	orma_perf_events_refresh(reader->events);
	while (!is_early && orma_perf_events_next(reader->events, limit_ns, &record, &cpu)) {
		if (record.cpu >= reader->cpu_limit)
			record.cpu = cpu->cpu;
		if (record.type != PERF_RECORD_SAMPLE)
			take_other(reader, &record, cpu);
		else if (!take_sample(reader, &record, cpu))
			reader->is_stalled = true;
		if (reader->is_stalled)
			break;
		orma_perf_events_advance(reader->events, cpu);
		is_early = is_over && ++count % RECORDS_CHECK == 0 && is_over(ctx);
	}
	orma_perf_events_release(reader->events);
	reader->turns_limit_ns = is_early ? limit_ns : 0;
	return is_early;
}

void orma_perf_reader_poll(struct orma_perf_reader *reader, uint64_t now_ns)
{
	for (size_t i = 0; i < reader->events->cpu_count; i++) {
		const struct orma_perf_cpu *cpu = &reader->events->cpus[i];
		struct orma_perf_fact fact = {.time = now_ns, .cpu = cpu->cpu};
		int r = orma_perf_events_read(reader->events, cpu, fact.counts,
					      ORMA_ARRAY_SIZE(fact.counts));
		if (r <= 0)
			continue;
		fact.count_count = (size_t)r;
		orma_perf_packets_counts(reader->packets, &fact);
	}
}
