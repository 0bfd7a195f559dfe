/* SPDX-License-Identifier: Apache-2.0
 * plan_tasks.c - finds the fields of an event that name tasks.
 *
 * Every field of the kernel's type pid_t names a task. The name of that task is known when a field `X_comm` stands beside `X_pid`.
 * Three events say more: a renamed task, a new task (with the flags of clone()), and the end of a system call, which may be one
 * that opens a descriptor.
 *
 * Invariant: offsets are those of fields of the format, so they lie within its record_bytes.
 */
#include "probes/ftrace/plan_tasks.h"

#include <stdio.h>
#include <string.h>

#include "probes/probe_text.h"

#define COMM_BYTES 16

static uint16_t comm_offset(const struct orma_ftrace_format *format, struct orma_str name)
{
	const struct orma_ftrace_field *comm = orma_ftrace_format_field(format, name);

	return comm && comm->kind == ORMA_FTRACE_TEXT && comm->size == COMM_BYTES ? comm->offset
										  : 0;
}

/* The name of the task in "prev_pid" is in "prev_comm". */
static uint16_t comm_offset_beside(const struct orma_ftrace_format *format, struct orma_str pid)
{
	char name[64];
	int prefix = (int)(pid.size - strlen("pid"));

	if (!orma_probes_text_has_suffix(pid, "pid") || pid.size >= sizeof(name))
		return 0;
	snprintf(name, sizeof(name), "%.*scomm", prefix, pid.data);
	return comm_offset(format, orma_base_str(name));
}

/* The event's own task gets the new name; only some kernels also have a field for its pid. */
static struct orma_plan_task renamed_task(const struct orma_ftrace_format *format,
					  uint16_t pid_offset)
{
	return (struct orma_plan_task){
		.kind = ORMA_MET_RENAMED,
		.tid_offset = pid_offset,
		.comm_offset = comm_offset(format, ORMA_STR("newcomm")),
	};
}

/* False when a field is missing. */
static bool find_new_task(const struct orma_ftrace_format *format, struct orma_plan_task *ret)
{
	const struct orma_ftrace_field *pid = orma_ftrace_format_field(format, ORMA_STR("pid"));
	const struct orma_ftrace_field *flags =
		orma_ftrace_format_field(format, ORMA_STR("clone_flags"));
	uint16_t comm = comm_offset(format, ORMA_STR("comm"));

	if (!pid || pid->kind != ORMA_FTRACE_PID || !flags || flags->size != 8 || comm == 0)
		return false;
	*ret = (struct orma_plan_task){
		.kind = ORMA_MET_NEW,
		.tid_offset = pid->offset,
		.comm_offset = comm,
		.clone_flags_offset = flags->offset,
	};
	return true;
}

/* False when a field is missing. */
static bool find_syscall(const struct orma_ftrace_format *format, struct orma_plan_task *ret)
{
	const struct orma_ftrace_field *number = orma_ftrace_format_field(format, ORMA_STR("id"));
	const struct orma_ftrace_field *result = orma_ftrace_format_field(format, ORMA_STR("ret"));

	if (!number || !result || number->kind != ORMA_FTRACE_INTEGER ||
	    result->kind != ORMA_FTRACE_INTEGER || number->size != result->size)
		return false;
	*ret = (struct orma_plan_task){
		.kind = ORMA_MET_SYSCALL,
		.number_offset = number->offset,
		.result_offset = result->offset,
		.long_bytes = (uint8_t)number->size,
	};
	return true;
}

uint16_t orma_plan_tasks_find(const struct orma_ftrace_format *format, uint16_t pid_offset,
			      struct orma_plan_task *ret)
{
	uint16_t count = 0;

	if (orma_base_str_is(format->name, "task_rename")) {
		if (pid_offset == 0)
			return 0;
		ret[0] = renamed_task(format, pid_offset);
		return 1;
	}
	if (orma_base_str_is(format->name, "sys_exit"))
		count += find_syscall(format, ret);
	if (orma_base_str_is(format->name, "task_newtask") && find_new_task(format, ret))
		return 1;
	for (uint16_t i = format->common_count; i < format->field_count; i++) {
		const struct orma_ftrace_field *field = &format->fields[i];

		if (field->kind != ORMA_FTRACE_PID)
			continue;
		ret[count++] = (struct orma_plan_task){
			.tid_offset = field->offset,
			.comm_offset = comm_offset_beside(format, field->name),
		};
	}
	return count;
}
