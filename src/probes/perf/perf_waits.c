/* SPDX-License-Identifier: Apache-2.0
 * perf_waits.c - how long each thread waited, and where.
 *
 * The kernel samples the stack of a thread that stops, and records when a thread runs again, on any CPU. The records of all CPUs
 * come in the order of time, so both records of a wait meet here. A wait is written at its end, with the time of its beginning.
 *
 * Owns one struct for each thread that waits, with the addresses of its stack. The number of a stack would not do, because the
 * sequence's state may be cleared while the thread waits. The mappings of the process may change during the wait as well. An
 * address that is not mapped at the end has no name.
 *
 * A wait that began before the recording has no stack, and is left out. When a process is forgotten, the waits of its threads are
 * forgotten, too.
 */
#include "probes/perf/perf_waits.h"

#include <string.h>

#include "base/alloc.h"

struct orma_perf_wait {
	struct orma_perf_fact fact;
	struct orma_perf_stack stack;
	uint64_t addresses[]; /* the kernel's, followed by the process's */
};

void orma_perf_waits_done(struct orma_perf_waits *waits)
{
	size_t position = 0;

	for (struct orma_map_slot *slot; (slot = orma_base_map_next(&waits->by_tid, &position));)
		orma_base_free(slot->value);
	orma_base_map_done(&waits->by_tid);
}

void orma_perf_waits_forget(struct orma_perf_waits *waits, uint32_t tid)
{
	orma_base_free(orma_base_map_remove(&waits->by_tid, tid));
}

void orma_perf_waits_begin(struct orma_perf_waits *waits, const struct orma_perf_fact *fact,
			   const struct orma_perf_stack *stack,
			   const struct orma_perf_stacks *stacks)
{
	size_t count = stack->kernel_count + stack->user_count;
	struct orma_perf_wait *wait;

	orma_perf_waits_forget(waits, fact->tid);
	wait = waits->by_tid.count < ORMA_PERF_WAITS_MAX
		       ? orma_base_alloc(sizeof(*wait) + count * sizeof(wait->addresses[0]))
		       : NULL;
	if (!wait) {
		waits->dropped_count++;
		return;
	}
	wait->fact = *fact;
	wait->stack = *stack;
	memcpy(wait->addresses, stacks->kernel, stack->kernel_count * sizeof(stacks->kernel[0]));
	memcpy(wait->addresses + stack->kernel_count, stacks->user,
	       stack->user_count * sizeof(stacks->user[0]));
	if (orma_base_map_put(&waits->by_tid, fact->tid, wait) < 0) {
		orma_base_free(wait);
		waits->dropped_count++;
	}
}

static void write_wait(struct orma_perf_wait *wait, uint64_t time, struct orma_perf_stacks *stacks,
		       struct orma_perf_packets *packets)
{
	struct orma_perf_stack *stack = &wait->stack;

	memcpy(stacks->kernel, wait->addresses, stack->kernel_count * sizeof(stacks->kernel[0]));
	memcpy(stacks->user, wait->addresses + stack->kernel_count,
	       stack->user_count * sizeof(stacks->user[0]));
	/* The process may have been forgotten and freed during the wait. */
	stack->process = orma_perf_processes_get(stacks->processes, wait->fact.pid);
	if (!stack->process)
		stack->user_count = 0;
	orma_perf_packets_wait(packets, &wait->fact, time - wait->fact.time, stack);
}

void orma_perf_waits_end(struct orma_perf_waits *waits, uint32_t tid, uint64_t time,
			 struct orma_perf_stacks *stacks, struct orma_perf_packets *packets)
{
	struct orma_perf_wait *wait = orma_base_map_remove(&waits->by_tid, tid);

	if (wait && time > wait->fact.time)
		write_wait(wait, time, stacks, packets);
	orma_base_free(wait);
}

void orma_perf_waits_end_all(struct orma_perf_waits *waits, uint64_t time,
			     struct orma_perf_stacks *stacks, struct orma_perf_packets *packets)
{
	size_t position = 0;

	for (struct orma_map_slot *slot; (slot = orma_base_map_next(&waits->by_tid, &position));) {
		struct orma_perf_wait *wait = slot->value;
		if (time > wait->fact.time)
			write_wait(wait, time, stacks, packets);
	}
	orma_perf_waits_done(waits);
}
