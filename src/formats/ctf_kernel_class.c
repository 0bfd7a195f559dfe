/* SPDX-License-Identifier: Apache-2.0
 * ctf_kernel_class.c - finds the Perfetto event for each of LTTng's.
 *
 * LTTng names most events and their fields as the kernel does, or puts the name of the subsystem before that. Therefore
 * Perfetto's messages are searched by name. The number of a thread is `tid` in LTTng's fields and `pid` in Perfetto's. An
 * event becomes a generic event, which keeps everything, if no message has its name or the message lacks some of its
 * fields. Events of subsystems that Perfetto's analysis knows become messages all the same.
 */
#include "formats/ctf_kernel.h"

#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "schema/gen/ftrace_event.pb.h"

static bool has_prefix(struct orma_str text, const char *prefix)
{
	size_t size = strlen(prefix);
	return size > 0 && text.size >= size && memcmp(text.data, prefix, size) == 0;
}

static struct orma_str without(struct orma_str text, const char *prefix)
{
	size_t size = strlen(prefix);
	return has_prefix(text, prefix) ? (struct orma_str){text.data + size, text.size - size}
					: text;
}

static struct orma_str step_name(const struct orma_ctf_step *step)
{
	return step->raw_name.size > 1 ? without(step->raw_name, "_") : step->raw_name;
}

static bool has_children(const struct orma_ctf_step *step)
{
	return step->op >= ORMA_CTF_BEGIN_STRUCT && step->op <= ORMA_CTF_BEGIN_ARRAY;
}

/* The fields of an event itself, one after the other; begins with 0 and ends with NULL. */
static const struct orma_ctf_step *next_field(const struct orma_ctf_event *event, uint32_t *at)
{
	const struct orma_ctf_plan *plan = &event->plan;
	if (event->fields_step >= plan->count)
		return NULL;
	uint32_t i = *at == 0                          ? event->fields_step + 1
		     : has_children(&plan->steps[*at]) ? plan->steps[*at].jump
						       : *at + 1;
	*at = i;
	return i < plan->count && plan->steps[i].op < ORMA_CTF_END ? &plan->steps[i] : NULL;
}

static const struct orma_ctf_step *find_field(const struct orma_ctf_event *event, const char *name,
					      bool is_text)
{
	const struct orma_ctf_step *step;
	uint32_t at = 0;
	while ((step = next_field(event, &at)))
		if (orma_base_str_is(step_name(step), name) &&
		    (is_text ? step->op == ORMA_CTF_READ_TEXT || step->op == ORMA_CTF_READ_STRING
			     : step->op <= ORMA_CTF_READ_BITS))
			return step;
	return NULL;
}

/* The thread that ran, when the recording has it in a context. */
static const struct orma_ctf_step *find_running(const struct orma_ctf_event *event)
{
	for (uint32_t i = 0; i < event->fields_step; i++)
		if (event->plan.steps[i].op <= ORMA_CTF_READ_BITS &&
		    orma_base_str_is(step_name(&event->plan.steps[i]), "tid"))
			return &event->plan.steps[i];
	return NULL;
}

/* --- messages -------------------------------------------------------------------------------- */

static const struct orma_proto_field_desc *find_message(struct orma_str name)
{
	static const char *const subsystems[] = {"",       "irq_", "power_",           "timer_",
						 "kmem_",  "rpm_", "x86_irq_vectors_", "jbd2_",
						 "printk_"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(subsystems); i++) {
		struct orma_str rest = without(name, subsystems[i]);
		const struct orma_proto_field_desc *field =
			i > 0 && rest.size == name.size
				? NULL
				: orma_proto_desc_find_name(&orma_pb_ftrace_event_desc, rest);
		if (field && field->kind == ORMA_PROTO_KIND_MESSAGE)
			return field;
	}
	return NULL;
}

static bool is_preferred(struct orma_str name)
{
	static const char *const prefixes[] = {"sched_",     "irq_",     "block_",
					       "power_cpu_", "x86_irq_", "timer_hrtimer_expire_",
					       "workqueue_", "signal_"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(prefixes); i++)
		if (has_prefix(name, prefixes[i]))
			return true;
	return false;
}

/* The field of a message that has a name, or the kernel's word for it. `tid` and `pid` of one event are two things. */
static const struct orma_proto_field_desc *find_target(const struct orma_proto_desc *message,
						       const struct orma_ctf_event *event,
						       struct orma_str name)
{
	char other[64];
	bool is_pid = name.size >= 3 && memcmp(name.data + name.size - 3, "pid", 3) == 0;
	bool is_tid = name.size >= 3 && memcmp(name.data + name.size - 3, "tid", 3) == 0;
	snprintf(other, sizeof(other), "%.*s", (int)ORMA_MIN(name.size, sizeof(other) - 1),
		 name.data);
	if ((is_pid || is_tid) && name.size < sizeof(other))
		other[name.size - 3] = is_pid ? 't' : 'p';
	if (is_pid && find_field(event, other, false))
		return NULL;
	if (orma_base_str_is(name, "cpu_id"))
		return orma_proto_desc_find_name(message, ORMA_STR("cpu_id"));
	return orma_proto_desc_find_name(message, is_tid ? orma_base_str(other) : name);
}

static bool fits(const struct orma_proto_field_desc *field, const struct orma_ctf_step *step)
{
	bool is_number =
		field->kind == ORMA_PROTO_KIND_INT32 || field->kind == ORMA_PROTO_KIND_INT64 ||
		field->kind == ORMA_PROTO_KIND_UINT32 || field->kind == ORMA_PROTO_KIND_UINT64 ||
		field->kind == ORMA_PROTO_KIND_ENUM;
	if (field->flags & ORMA_PROTO_REPEATED_FLAG)
		return false;
	if (step->op <= ORMA_CTF_READ_BITS)
		/* LTTng has rwbs as a set of bits, of which the writer makes letters. */
		return is_number || orma_base_str_is(step_name(step), "rwbs");
	return field->kind == ORMA_PROTO_KIND_STRING &&
	       (step->op == ORMA_CTF_READ_TEXT || step->op == ORMA_CTF_READ_STRING);
}

/* Sets the targets of an event's fields. 1, 0 (some have none), or -ENOMEM. */
static int set_targets(struct orma_ctf_kernel *kernel, struct orma_ctf_kernel_class *class,
		       const struct orma_ctf_event *event,
		       const struct orma_proto_field_desc *field)
{
	const struct orma_proto_desc *message =
		orma_pb_ftrace_event_desc.types[field->type_idx].message;
	const struct orma_ctf_step *step;
	uint32_t at = 0;
	int r = 1;
	class->targets = orma_base_arena_alloc(
		(struct orma_arena *)(uintptr_t)&kernel->trace->metadata.arena,
		event->plan.count * sizeof(*class->targets));
	if (!class->targets)
		return -ENOMEM;
	while ((step = next_field(event, &at))) {
		const struct orma_proto_field_desc *target =
			find_target(message, event, step_name(step));
		bool is_letters = target && target->kind == ORMA_PROTO_KIND_STRING &&
				  step->op <= ORMA_CTF_READ_BITS;
		if (target && fits(target, step))
			class->targets[at] = target->id | (is_letters ? ORMA_CTF_LETTERS : 0u);
		else if (!(step->roles & ORMA_CTF_IS_LENGTH))
			r = 0;
	}
	return r;
}

/* --- system calls ---------------------------------------------------------------------------- */

/* LTTng has the names of the kernel's functions. */
static struct orma_str syscall_name(struct orma_str name)
{
	static const char *const others[][2] = {{"newfstat", "fstat"},      {"newstat", "stat"},
						{"newlstat", "lstat"},      {"newuname", "uname"},
						{"sendfile64", "sendfile"}, {"umount", "umount2"}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(others); i++)
		if (orma_base_str_is(name, others[i][0]))
			return orma_base_str(others[i][1]);
	return name;
}

static bool take_syscall(struct orma_str name, enum orma_ctf_action *ret_action,
			 struct orma_str *ret_name)
{
	name = without(name, "compat_");
	bool is_entry = has_prefix(name, "syscall_entry_");
	if (!is_entry && !has_prefix(name, "syscall_exit_"))
		return false;
	*ret_action = is_entry ? ORMA_CTF_SYSCALL_ENTRY : ORMA_CTF_SYSCALL_EXIT;
	*ret_name = syscall_name(without(name, is_entry ? "syscall_entry_" : "syscall_exit_"));
	return true;
}

/* The trace doesn't say what machine it is of, but its system calls do. */
static bool is_arm64(const struct orma_ctf_trace *trace)
{
	struct orma_str release = orma_ctf_metadata_env(&trace->metadata, "kernel_release");
	uint32_t x86_64 = 0, arm64 = 0;
	for (uint32_t i = 0; i < trace->metadata.events.count; i++) {
		enum orma_ctf_action action;
		struct orma_str name;
		if (!take_syscall(trace->metadata.events.items[i].name, &action, &name))
			continue;
		x86_64 += orma_syscall_number(ORMA_SYSCALLS_X86_64, name) >= 0;
		arm64 += orma_syscall_number(ORMA_SYSCALLS_ARM64, name) >= 0;
	}
	if (x86_64 != arm64)
		return arm64 > x86_64;
	return release.size > 0 && (memmem(release.data, release.size, "arm64", 5) ||
				    memmem(release.data, release.size, "aarch64", 7));
}

static void set_syscall(struct orma_ctf_kernel *kernel, struct orma_ctf_kernel_class *class,
			const struct orma_ctf_event *event, struct orma_str name)
{
	const struct orma_ctf_step *step;
	uint32_t at = 0;
	class->syscall = orma_syscall_number(
		kernel->is_arm64 ? ORMA_SYSCALLS_ARM64 : ORMA_SYSCALLS_X86_64, name);
	class->id = class->syscall < 0                        ? 0
		    : class->action == ORMA_CTF_SYSCALL_ENTRY ? ORMA_PB_FTRACE_EVENT_SYS_ENTER
							      : ORMA_PB_FTRACE_EVENT_SYS_EXIT;
	class->is_generic = class->syscall < 0;
	/* Numbers are arguments of the call; the generic event has texts and structures, too. */
	while ((step = next_field(event, &at)))
		if (step->op > ORMA_CTF_READ_BITS)
			class->is_generic = true;
}

/* --- classes --------------------------------------------------------------------------------- */

static enum orma_ctf_action action_of(struct orma_str name)
{
	static const struct {
		const char *name;
		enum orma_ctf_action action;
	} actions[] = {{"sched_switch", ORMA_CTF_SWITCH},
		       {"sched_process_fork", ORMA_CTF_FORK},
		       {"sched_process_exec", ORMA_CTF_EXEC},
		       {"lttng_statedump_process_state", ORMA_CTF_PROCESS}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(actions); i++)
		if (orma_base_str_is(name, actions[i].name))
			return actions[i].action;
	return ORMA_CTF_EVENT;
}

static void set_fields(struct orma_ctf_kernel_class *class, const struct orma_ctf_event *event)
{
	static const struct {
		const char *tid, *other_tid, *pid, *parent, *text;
	} names[] = {
		[ORMA_CTF_SWITCH] = {"prev_tid", "next_tid", "", "", ""},
		[ORMA_CTF_FORK] = {"child_tid", "parent_tid", "child_pid", "parent_pid",
				   "child_comm"},
		[ORMA_CTF_EXEC] = {"tid", "old_tid", "", "", "filename"},
		[ORMA_CTF_PROCESS] = {"tid", "", "pid", "ppid", "name"},
		[ORMA_CTF_SYSCALL_EXIT] = {"ret", "", "", "", ""},
	};
	class->running = find_running(event);
	if (!names[class->action].tid)
		return;
	class->tid = find_field(event, names[class->action].tid, false);
	class->other_tid = find_field(event, names[class->action].other_tid, false);
	class->pid = find_field(event, names[class->action].pid, false);
	class->parent = find_field(event, names[class->action].parent, false);
	class->text = find_field(event, names[class->action].text, true);
}

static int classify(struct orma_ctf_kernel *kernel, const struct orma_ctf_event *event)
{
	struct orma_ctf_kernel_class *class = &kernel->classes[event->number];
	struct orma_str name = event->declared->name, syscall;
	*class = (struct orma_ctf_kernel_class){.action = action_of(name), .syscall = -1};
	if (take_syscall(name, &class->action, &syscall)) {
		set_fields(class, event);
		set_syscall(kernel, class, event, syscall);
		return 0;
	}
	set_fields(class, event);
	const struct orma_proto_field_desc *message = find_message(name);
	int r = message ? set_targets(kernel, class, event, message) : 0;
	if (r > 0 || (message && is_preferred(name)))
		class->id = message->id;
	class->is_generic = class->id == 0;
	return r < 0 ? r : 0;
}

int orma_ctf_kernel_classify(struct orma_ctf_kernel *kernel)
{
	const struct orma_ctf_trace *trace = kernel->trace;
	int r = 0;
	kernel->is_arm64 = is_arm64(trace);
	for (uint32_t i = 0; i < trace->metadata.events.count && r == 0; i++)
		if (trace->events[i].declared)
			r = classify(kernel, &trace->events[i]);
	return r;
}
