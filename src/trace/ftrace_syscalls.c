/* SPDX-License-Identifier: Apache-2.0
 * ftrace_syscalls.c - system calls as slices of their thread.
 *
 * A marker is written by write(), so its slice would begin inside of the call's. The call's slice ends there instead, which is
 * counted.
 */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "schema/gen/ftrace_raw_syscalls.pb.h"
#include "store/grow.h"
#include "trace/kernel_event.h"
#include "trace/syscall_tables.h"

static const struct {
	const char *names;
	size_t size;
} tables[ORMA_SYSCALL_ARCHS] = {
	[ORMA_SYSCALLS_UNKNOWN] = {"", 0},
	[ORMA_SYSCALLS_X86_64] = {syscalls_x86_64, sizeof(syscalls_x86_64) - 1},
	[ORMA_SYSCALLS_ARM64] = {syscalls_arm64, sizeof(syscalls_arm64) - 1},
};

int32_t orma_syscall_number(enum orma_syscall_arch arch, struct orma_str name)
{
	const char *at = tables[arch].names, *end = at + tables[arch].size;
	for (int32_t number = 0; at < end; number++, at += strlen(at) + 1)
		if (name.size > 0 && orma_base_str_is(name, at))
			return number;
	return -1;
}

/* Makes the cells of all names of an architecture. */
static int64_t *make_names(struct orma_system *system, enum orma_syscall_arch arch)
{
	int64_t *names =
		orma_base_arena_alloc(&system->kernel.arena, ORMA_SYSCALLS_MAX * sizeof(*names));
	const char *at = tables[arch].names, *end = at + tables[arch].size;
	char text[64];
	if (!names)
		return NULL;
	for (unsigned i = 0; i < ORMA_SYSCALLS_MAX; i++) {
		int size = at < end && *at ? snprintf(text, sizeof(text), "sys_%s", at)
					   : snprintf(text, sizeof(text), "sys_%u", i);
		names[i] = orma_system_text(system, (struct orma_str){text, (size_t)size});
		at += at < end ? strlen(at) + 1 : 0;
	}
	return names;
}

/* Finds the name of a call. 1, 0 (no machine has this number) or a negative errno value. */
static int find_name(const struct orma_kernel_call *call, int64_t *ret)
{
	struct orma_system *system = call->system;
	const struct orma_system_machine *machine = orma_system_machine(system, call->machine_idx);
	uint64_t number = orma_kernel_number(call, ORMA_PB_SYS_ENTER_FTRACE_EVENT_ID);
	if (!machine)
		return -ENOMEM;
	if (number >= ORMA_SYSCALLS_MAX)
		return 0;
	int64_t **names = &system->kernel.syscall_names[machine->arch];
	if (!*names)
		*names = make_names(system, machine->arch);
	if (!*names)
		return -ENOMEM;
	*ret = (*names)[number];
	return 1;
}

static bool is_named(const struct orma_system *system, int64_t name, const char *text)
{
	return name != ORMA_CELL_NULL &&
	       orma_base_str_is(orma_store_pool_get(&system->tables->strings, (uint32_t)name),
				text);
}

/* Returns the flag that a thread is in a write(), or NULL when out of memory. */
static uint8_t *writing(struct orma_kernel_state *kernel, int64_t utid)
{
	uint32_t count = kernel->writing_count;
	if (utid >= count) {
		if (orma_store_grow(&kernel->writing, (uint64_t)utid + 1, &count, 1) < 0)
			return NULL;
		memset(kernel->writing + kernel->writing_count, 0, count - kernel->writing_count);
		kernel->writing_count = count;
	}
	return &kernel->writing[utid];
}

int orma_ftrace_sys_enter(const struct orma_kernel_call *call)
{
	int64_t name, utid = orma_kernel_thread(call, call->tid);
	int r = utid < 0 ? (int)utid : find_name(call, &name);
	if (r <= 0)
		return r;
	int64_t track = orma_kernel_thread_track(call, call->tid);
	/* It does not return. */
	if (is_named(call->system, name, "sys_rt_sigreturn"))
		return orma_kernel_instant(call, track, ORMA_CELL_NULL, name, ORMA_CELL_NULL);
	if (is_named(call->system, name, "sys_write")) {
		uint8_t *flag = writing(&call->system->kernel, utid);
		if (!flag)
			return -ENOMEM;
		*flag = 1;
	}
	return orma_kernel_begin(call, track, ORMA_CELL_NULL, name, ORMA_CELL_NULL);
}

int orma_ftrace_sys_exit(const struct orma_kernel_call *call)
{
	int64_t name, utid = orma_kernel_thread(call, call->tid);
	int r = utid < 0 ? (int)utid : find_name(call, &name);
	if (r <= 0)
		return r;
	if (is_named(call->system, name, "sys_write")) {
		uint8_t *flag = writing(&call->system->kernel, utid);
		if (!flag)
			return -ENOMEM;
		/* Either it began before the trace, or a marker has ended it. */
		if (!*flag)
			return 0;
		*flag = 0;
	}
	return orma_kernel_end(call, orma_kernel_thread_track(call, call->tid), ORMA_CELL_NULL,
			       name);
}

int orma_ftrace_cut_write(const struct orma_kernel_call *call)
{
	struct orma_system *system = call->system;
	int64_t utid = orma_processes_find_thread(system->processes, call->machine_idx, call->tid);
	if (utid < 0 || utid >= system->kernel.writing_count || !system->kernel.writing[utid])
		return 0;
	system->kernel.writing[utid] = 0;
	orma_stats_add(&system->stats, call->machine_idx, ORMA_STAT_truncated_sys_write_duration, 0,
		       1);
	return orma_kernel_end(call, orma_kernel_thread_track(call, call->tid), ORMA_CELL_NULL,
			       orma_tables_string(system->tables, ORMA_STR("sys_write")));
}
