/* SPDX-License-Identifier: Apache-2.0
 * ftrace_cpu.c - what the kernel does on a CPU or in a thread: soft interrupts, work, functions, probes, hotplug.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "schema/gen/ftrace_cpuhp.pb.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_generic.pb.h"
#include "schema/gen/ftrace_irq.pb.h"
#include "schema/gen/ftrace_print.pb.h"
#include "schema/gen/ftrace_workqueue.pb.h"
#include "trace/kernel_event.h"

static struct orma_arg_list *new_args(const struct orma_kernel_call *call)
{
	call->system->args.tables = call->system->tables;
	orma_arg_list_clear(&call->system->args);
	return &call->system->args;
}

const char *orma_softirq_name(uint64_t vec)
{
	static const char *const names[] = {"HI",           "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					    "BLOCK_IOPOLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
	return vec < ORMA_ARRAY_SIZE(names) ? names[vec] : NULL;
}

int orma_ftrace_softirq_entry(const struct orma_kernel_call *call)
{
	const char *name =
		orma_softirq_name(orma_kernel_number(call, ORMA_PB_SOFTIRQ_ENTRY_FTRACE_EVENT_VEC));
	if (!name)
		return 0;
	int64_t track =
		orma_system_track(call->system, call->machine_idx, orma_kernel_rule_kind(call->id),
				  ORMA_DIMENSIONS(call->cpu));
	return orma_kernel_begin(call, track, orma_kernel_constant(call, "irq"),
				 orma_kernel_constant(call, name), ORMA_CELL_NULL);
}

int orma_ftrace_workqueue_start(const struct orma_kernel_call *call)
{
	int64_t name = orma_kernel_function(
		call,
		orma_kernel_number(call, ORMA_PB_WORKQUEUE_EXECUTE_START_FTRACE_EVENT_FUNCTION));
	int64_t track = orma_kernel_thread_track(call, call->tid);
	orma_arg_list_add_int(new_args(call), "cpu", call->cpu);
	return orma_kernel_begin(call, track, orma_kernel_constant(call, "workqueue"), name,
				 orma_system_take_args(call->system));
}

/* All idle tasks are one thread, so what they run is on tracks of the CPUs. */
static int64_t function_track(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind thread_kind = {
		.type = "thread_funcgraph", .name = "Funcgraph", .dimensions = {{"utid", false}}};
	static const struct orma_track_kind cpu_kind = {.type = "cpu_funcgraph",
							.name = "swapper%0 -funcgraph",
							.dimensions = {{"cpu", false}}};
	if (call->tid == 0)
		return orma_system_track(call->system, call->machine_idx, &cpu_kind,
					 ORMA_DIMENSIONS(call->cpu));
	int64_t utid = orma_kernel_thread(call, call->tid);
	return utid < 0 ? utid
			: orma_system_track(call->system, call->machine_idx, &thread_kind, &utid);
}

int orma_ftrace_funcgraph_entry(const struct orma_kernel_call *call)
{
	int64_t name = orma_kernel_function(
		call, orma_kernel_number(call, ORMA_PB_FUNCGRAPH_ENTRY_FTRACE_EVENT_FUNC));
	return orma_kernel_begin(call, function_track(call), ORMA_CELL_NULL, name, ORMA_CELL_NULL);
}

int orma_ftrace_funcgraph_exit(const struct orma_kernel_call *call)
{
	int64_t name = orma_kernel_function(
		call, orma_kernel_number(call, ORMA_PB_FUNCGRAPH_EXIT_FTRACE_EVENT_FUNC));
	return orma_kernel_end(call, function_track(call), ORMA_CELL_NULL, name);
}

int orma_ftrace_kprobe(const struct orma_kernel_call *call)
{
	int64_t name =
		orma_system_text(call->system, orma_kernel_text(call, ORMA_PB_KPROBE_EVENT_NAME));
	int64_t track = orma_kernel_thread_track(call, call->tid);
	switch (orma_kernel_number(call, ORMA_PB_KPROBE_EVENT_TYPE)) {
	case ORMA_PB_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_BEGIN:
		return orma_kernel_begin(call, track, ORMA_CELL_NULL, name, ORMA_CELL_NULL);
	case ORMA_PB_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_END:
		return orma_kernel_end(call, track, ORMA_CELL_NULL, name);
	case ORMA_PB_KPROBE_EVENT_KPROBE_TYPE_KPROBE_TYPE_INSTANT:
		return orma_kernel_instant(call, track, ORMA_CELL_NULL, name, ORMA_CELL_NULL);
	default:
		return 0;
	}
}

int orma_ftrace_cpuhp_enter(const struct orma_kernel_call *call)
{
	/* The other event that begins a step has the same fields. */
	int32_t idx = (int32_t)orma_kernel_number(call, ORMA_PB_CPUHP_ENTER_FTRACE_EVENT_IDX);
	int64_t cpu = (uint32_t)orma_kernel_number(call, ORMA_PB_CPUHP_ENTER_FTRACE_EVENT_CPU);
	int64_t track = orma_system_track(call->system, call->machine_idx,
					  orma_kernel_rule_kind(call->id), &cpu);
	struct orma_arg_list *args = new_args(call);
	char name[32];
	snprintf(name, sizeof(name), "cpuhp(%d)", idx);
	orma_arg_list_add(args, ORMA_STR("action_cpu"), ORMA_STR("action_cpu"), ORMA_ARG_UINT,
			  call->cpu);
	orma_arg_list_add_int(args, "cpuhp_idx", idx);
	return orma_kernel_begin(call, track, orma_kernel_constant(call, "cpu"),
				 orma_kernel_constant(call, name),
				 orma_system_take_args(call->system));
}
