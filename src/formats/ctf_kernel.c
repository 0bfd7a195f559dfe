/* SPDX-License-Identifier: Apache-2.0
 * ctf_kernel.c - writes events of LTTng's kernel tracer as Perfetto's kernel events, in bundles of one CPU.
 *
 * A kernel event says which thread ran. LTTng records that only as a context, so it is derived from the switches of the CPU.
 */
#include "formats/ctf_kernel.h"

#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/ftrace_generic.pb.h"
#include "schema/gen/ftrace_raw_syscalls.pb.h"
#include "schema/gen/ftrace_task.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum {
	BUNDLE_BYTES = 128 << 10,
	TEXT_MAX = 64 << 10, /* bytes of a text in a kernel event */
	PATH_MAX_BYTES = 1024,
	COMM_BYTES = 15,
	CLONE_THREAD_FLAG = 0x10000,
};

static struct orma_proto_writer *writer_of(struct orma_ctf_kernel *kernel)
{
	return &kernel->output->heap.writer;
}

static void write_system(struct orma_ctf_kernel *kernel)
{
	const struct orma_ctf_metadata *metadata = &kernel->trace->metadata;
	const struct {
		uint32_t field;
		struct orma_str text;
	} fields[] = {
		{ORMA_PB_UTSNAME_SYSNAME, orma_ctf_metadata_env(metadata, "sysname")},
		{ORMA_PB_UTSNAME_VERSION, orma_ctf_metadata_env(metadata, "kernel_version")},
		{ORMA_PB_UTSNAME_RELEASE, orma_ctf_metadata_env(metadata, "kernel_release")},
		{ORMA_PB_UTSNAME_MACHINE,
		 kernel->is_arm64 ? ORMA_STR("aarch64") : ORMA_STR("x86_64")},
	};
	struct orma_proto_writer *writer = writer_of(kernel);
	struct orma_proto_nested info, name;
	orma_proto_nested_begin(writer, &info, ORMA_PB_TRACE_PACKET_SYSTEM_INFO);
	orma_proto_nested_begin(writer, &name, ORMA_PB_SYSTEM_INFO_UTSNAME);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fields); i++)
		if (fields[i].text.size > 0)
			orma_proto_write_str(writer, fields[i].field, fields[i].text);
	orma_proto_nested_end(writer, &info);
}

int orma_ctf_kernel_init(struct orma_ctf_kernel *kernel, struct orma_ctf_output *output,
			 struct orma_ctf_trace *trace)
{
	*kernel = (struct orma_ctf_kernel){.output = output, .trace = trace};
	kernel->classes =
		orma_base_arena_alloc(&trace->metadata.arena, (trace->metadata.events.count + 1) *
								      sizeof(*kernel->classes));
	int r = kernel->classes ? orma_ctf_kernel_classify(kernel) : -ENOMEM;
	if (r < 0)
		return r;
	orma_ctf_packet_begin(output, ++output->last_sequence);
	write_system(kernel);
	return orma_ctf_packet_end(output);
}

void orma_ctf_kernel_done(struct orma_ctf_kernel *kernel)
{
	orma_base_buf_done(&kernel->text);
}

/* --- values ---------------------------------------------------------------------------------- */

static int64_t number_of(const struct orma_ctf_reader *reader, const struct orma_ctf_step *step)
{
	const struct orma_ctf_value *value = orma_ctf_reader_value(reader, step);
	return value ? (int64_t)value->number : 0;
}

static struct orma_str text_of(const struct orma_ctf_reader *reader,
			       const struct orma_ctf_step *step)
{
	const struct orma_ctf_value *value = orma_ctf_reader_value(reader, step);
	return value ? (struct orma_str){value->text, ORMA_MIN(value->size, (uint32_t)TEXT_MAX)}
		     : ORMA_STR("");
}

bool orma_ctf_kernel_is_switch(const struct orma_ctf_kernel *kernel,
			       const struct orma_ctf_stream *stream, int64_t *ret_tid)
{
	const struct orma_ctf_kernel_class *class = &kernel->classes[stream->event->number];
	if (class->action != ORMA_CTF_SWITCH || !class->tid)
		return false;
	*ret_tid = (int32_t)number_of(&stream->reader, class->tid);
	return true;
}

/* --- messages -------------------------------------------------------------------------------- */

/* The letters that the kernel has for the operation of a request. LTTng's bits are, from the lowest: write, discard, read,
 * read ahead, barrier, sync, metadata, secure, flush, force unit access, flush before. */
static struct orma_str rwbs_letters(uint64_t bits, char ret[10])
{
	enum { WRITE = 1, DISCARD = 2, READ = 4, AHEAD = 8, SYNC = 32, META = 64 };
	enum { SECURE = 128, FLUSH = 256, FUA = 512, PREFLUSH = 1024 };
	static const uint32_t operations[] = {SECURE, DISCARD, WRITE, FLUSH, READ};
	static const struct {
		uint32_t bits;
		char letter;
	} flags[] = {{FUA, 'F'}, {AHEAD, 'A'}, {SYNC, 'S'}, {META, 'M'}};
	size_t size = 0, operation = 0;
	if (bits & PREFLUSH)
		ret[size++] = 'F';
	while (operation < ORMA_ARRAY_SIZE(operations) && !(bits & operations[operation]))
		operation++;
	ret[size++] = "EDWFRN"[operation];
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(flags); i++)
		if (bits & flags[i].bits)
			ret[size++] = flags[i].letter;
	return (struct orma_str){ret, size};
}

static void write_field(struct orma_proto_writer *writer, uint32_t target,
			const struct orma_ctf_value *value)
{
	char letters[10];
	if (target & ORMA_CTF_LETTERS)
		orma_proto_write_str(writer, target & ~ORMA_CTF_LETTERS,
				     rwbs_letters(value->number, letters));
	else if (value->step->op <= ORMA_CTF_READ_BITS)
		orma_proto_write_varint(writer, target, value->number);
	else
		orma_proto_write_bytes(writer, target, value->text,
				       ORMA_MIN(value->size, (uint32_t)TEXT_MAX));
}

static void write_syscall(struct orma_ctf_kernel *kernel, const struct orma_ctf_kernel_class *class,
			  const struct orma_ctf_stream *stream)
{
	struct orma_proto_writer *writer = writer_of(kernel);
	const struct orma_ctf_reader *reader = &stream->reader;
	const struct orma_ctf_step *fields = stream->event->plan.steps + stream->event->fields_step;
	uint32_t depth = 0;
	orma_proto_write_varint(writer, ORMA_PB_SYS_ENTER_FTRACE_EVENT_ID,
				(uint64_t) class->syscall);
	if (class->action == ORMA_CTF_SYSCALL_EXIT) {
		orma_proto_write_int(writer, ORMA_PB_SYS_EXIT_FTRACE_EVENT_RET,
				     number_of(reader, class->tid));
		return;
	}
	for (uint32_t i = 0; i < reader->value_count; i++) {
		const struct orma_ctf_value *value = &reader->values[i];
		if (value->step < fields)
			continue;
		if (value->step->op >= ORMA_CTF_BEGIN_STRUCT)
			depth += value->step->op < ORMA_CTF_END ? 1u : 0u - 1u;
		else if (depth == 1 && value->step->op <= ORMA_CTF_READ_BITS &&
			 !(value->step->roles & ORMA_CTF_IS_LENGTH))
			orma_proto_write_varint(writer, ORMA_PB_SYS_ENTER_FTRACE_EVENT_ARGS,
						value->number);
	}
}

static void write_message(struct orma_ctf_kernel *kernel, const struct orma_ctf_kernel_class *class,
			  const struct orma_ctf_stream *stream)
{
	const struct orma_ctf_reader *reader = &stream->reader;
	const struct orma_ctf_step *steps = stream->event->plan.steps;
	struct orma_proto_nested message;
	orma_proto_nested_begin(writer_of(kernel), &message, class->id);
	if (class->action >= ORMA_CTF_SYSCALL_ENTRY)
		write_syscall(kernel, class, stream);
	for (uint32_t i = 0; class->targets && i < reader->value_count; i++) {
		uint32_t target = class->targets[reader->values[i].step - steps];
		if (target)
			write_field(writer_of(kernel), target, &reader->values[i]);
	}
	orma_proto_nested_end(writer_of(kernel), &message);
}

/* --- generic events -------------------------------------------------------------------------- */

/* Where a value is, as text: "fields.list[2].name". */
struct path {
	struct orma_buf *text;
	size_t sizes[ORMA_CTF_NESTING_MAX];
	int64_t indices[ORMA_CTF_NESTING_MAX]; /* the next element's; -1 = no array */
	uint32_t depth;
};

/* Adds the name of a value. */
static int path_add(struct path *path, const struct orma_ctf_trace *trace,
		    const struct orma_ctf_step *step)
{
	int64_t *idx = path->depth > 0 ? &path->indices[path->depth - 1] : NULL;
	if (path->text->size > PATH_MAX_BYTES)
		return 0;
	if (idx && *idx >= 0)
		return orma_base_buf_printf(path->text, "[%lld]", (long long)(*idx)++);
	struct orma_str name = step->name ? trace->names.list.items[step->name - 1] : ORMA_STR("");
	int r = path->text->size > 0 && name.size > 0 ? orma_base_buf_append_str(path->text, ".")
						      : 0;
	return r < 0 ? r : orma_base_buf_append(path->text, name.data, name.size);
}

static void write_generic_field(struct orma_proto_writer *writer, const struct orma_buf *name,
				const struct orma_ctf_value *value)
{
	struct orma_str text = {value->text, value->size};
	struct orma_proto_nested field;
	char number[32];
	orma_proto_nested_begin(writer, &field, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD);
	orma_proto_write_bytes(writer, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_NAME, name->data,
			       name->size);
	if (value->step->op == ORMA_CTF_READ_FLOAT) {
		double floating;
		memcpy(&floating, &value->number, sizeof(floating));
		text.size = (size_t)snprintf(number, sizeof(number), "%.17g", floating);
		text.data = number;
	} else if (value->step->op <= ORMA_CTF_READ_BITS) {
		text = value->step->type->kind == ORMA_CTF_ENUM
			       ? orma_ctf_label_of(value->step->type, value->number)
			       : (struct orma_str){0};
	}
	if (value->step->op > ORMA_CTF_READ_BITS || text.size > 0)
		orma_proto_write_bytes(writer, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE,
				       text.data, ORMA_MIN(text.size, (size_t)TEXT_MAX));
	else
		orma_proto_write_varint(writer,
					value->step->is_signed
						? ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE
						: ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE,
					value->number);
	orma_proto_nested_end(writer, &field);
}

static int write_generic(struct orma_ctf_kernel *kernel, const struct orma_ctf_stream *stream)
{
	const struct orma_ctf_reader *reader = &stream->reader;
	struct path path = {.text = &kernel->text};
	struct orma_proto_nested message;
	int r = 0;
	kernel->text.size = 0;
	orma_proto_nested_begin(writer_of(kernel), &message, ORMA_PB_FTRACE_EVENT_GENERIC);
	orma_proto_write_str(writer_of(kernel), ORMA_PB_GENERIC_FTRACE_EVENT_EVENT_NAME,
			     stream->event->declared->name);
	for (uint32_t i = 0; i < reader->value_count && r == 0; i++) {
		const struct orma_ctf_value *value = &reader->values[i];
		const struct orma_ctf_step *step = value->step;
		size_t before = kernel->text.size;
		if (step->op == ORMA_CTF_END || step->op == ORMA_CTF_END_ARRAY) {
			kernel->text.size = path.sizes[--path.depth];
			continue;
		}
		r = path_add(&path, kernel->trace, step);
		if (step->op >= ORMA_CTF_BEGIN_STRUCT) {
			path.sizes[path.depth] = before;
			path.indices[path.depth++] = step->op == ORMA_CTF_BEGIN_ARRAY ? 0 : -1;
			continue;
		}
		if (!(step->roles & ORMA_CTF_IS_LENGTH))
			write_generic_field(writer_of(kernel), &kernel->text, value);
		kernel->text.size = before;
	}
	orma_proto_nested_end(writer_of(kernel), &message);
	return r;
}

/* --- bundles --------------------------------------------------------------------------------- */

void orma_ctf_kernel_begin_cpu(struct orma_ctf_kernel *kernel, uint32_t cpu, int64_t tid)
{
	kernel->sequence = ++kernel->output->last_sequence;
	kernel->cpu = cpu;
	kernel->tid = tid;
	kernel->is_first = true;
}

int orma_ctf_kernel_end_cpu(struct orma_ctf_kernel *kernel)
{
	if (!kernel->is_open)
		return 0;
	kernel->is_open = false;
	return orma_ctf_packet_end(kernel->output);
}

static void begin_bundle(struct orma_ctf_kernel *kernel, bool has_loss)
{
	struct orma_proto_writer *writer = writer_of(kernel);
	if (kernel->is_open)
		return;
	orma_ctf_packet_begin(kernel->output, kernel->sequence);
	if (kernel->is_first)
		orma_proto_write_bool(writer, ORMA_PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, true);
	orma_proto_nested_begin(writer, &kernel->bundle, ORMA_PB_TRACE_PACKET_FTRACE_EVENTS);
	orma_proto_write_varint(writer, ORMA_PB_FTRACE_EVENT_BUNDLE_CPU, kernel->cpu);
	if (has_loss)
		orma_proto_write_bool(writer, ORMA_PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS, true);
	kernel->is_open = true;
	kernel->is_first = false;
}

static void begin_event(struct orma_ctf_kernel *kernel, struct orma_proto_nested *event,
			uint64_t ns, int64_t tid)
{
	struct orma_proto_writer *writer = writer_of(kernel);
	orma_proto_nested_begin(writer, event, ORMA_PB_FTRACE_EVENT_BUNDLE_EVENT);
	orma_proto_write_varint(writer, ORMA_PB_FTRACE_EVENT_TIMESTAMP, ns);
	/* An event has to have a thread; without a known one it is the idle task, which has no process. */
	orma_proto_write_varint(writer, ORMA_PB_FTRACE_EVENT_PID, tid < 0 ? 0 : (uint64_t)tid);
}

/* A task's beginning, of which the kernel has an event of its own that LTTng has not. */
static void write_new_task(struct orma_ctf_kernel *kernel,
			   const struct orma_ctf_kernel_class *class,
			   const struct orma_ctf_reader *reader)
{
	struct orma_proto_writer *writer = writer_of(kernel);
	struct orma_proto_nested task;
	int64_t tid = number_of(reader, class->tid);
	bool is_thread = class->pid && number_of(reader, class->pid) != tid;
	orma_proto_nested_begin(writer, &task, ORMA_PB_FTRACE_EVENT_TASK_NEWTASK);
	orma_proto_write_int(writer, ORMA_PB_TASK_NEWTASK_FTRACE_EVENT_PID, tid);
	orma_proto_write_str(writer, ORMA_PB_TASK_NEWTASK_FTRACE_EVENT_COMM,
			     text_of(reader, class->text));
	orma_proto_write_varint(writer, ORMA_PB_TASK_NEWTASK_FTRACE_EVENT_CLONE_FLAGS,
				is_thread ? CLONE_THREAD_FLAG : 0);
	orma_proto_nested_end(writer, &task);
}

/* The kernel names a task after the program that it begins to run. */
static void write_rename(struct orma_ctf_kernel *kernel, const struct orma_ctf_kernel_class *class,
			 const struct orma_ctf_reader *reader)
{
	struct orma_proto_writer *writer = writer_of(kernel);
	struct orma_proto_nested rename;
	struct orma_str path = text_of(reader, class->text);
	const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
	size_t skipped = slash ? (size_t)(slash - path.data) + 1 : 0;
	orma_proto_nested_begin(writer, &rename, ORMA_PB_FTRACE_EVENT_TASK_RENAME);
	orma_proto_write_int(writer, ORMA_PB_TASK_RENAME_FTRACE_EVENT_PID,
			     number_of(reader, class->tid));
	orma_proto_write_bytes(writer, ORMA_PB_TASK_RENAME_FTRACE_EVENT_NEWCOMM,
			       path.data + skipped,
			       ORMA_MIN(path.size - skipped, (size_t)COMM_BYTES));
	orma_proto_nested_end(writer, &rename);
}

/* A thread that was there before the trace. Its packet comes between two bundles. */
static int write_process(struct orma_ctf_kernel *kernel, const struct orma_ctf_kernel_class *class,
			 const struct orma_ctf_reader *reader, uint64_t ns)
{
	struct orma_proto_writer *writer = writer_of(kernel);
	struct orma_proto_nested tree, process, thread;
	int64_t tid = number_of(reader, class->tid), pid = number_of(reader, class->pid);
	struct orma_str name = text_of(reader, class->text);
	int r = orma_ctf_kernel_end_cpu(kernel);
	if (r < 0)
		return r;
	orma_ctf_packet_begin(kernel->output, kernel->sequence);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, ns);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
				kernel->output->clock);
	orma_proto_nested_begin(writer, &tree, ORMA_PB_TRACE_PACKET_PROCESS_TREE);
	if (tid == pid) {
		orma_proto_nested_begin(writer, &process, ORMA_PB_PROCESS_TREE_PROCESSES);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PID, pid);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PPID,
				     number_of(reader, class->parent));
		orma_proto_write_str(writer, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, name);
		orma_proto_write_bool(writer, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
		orma_proto_nested_end(writer, &process);
	}
	orma_proto_nested_begin(writer, &thread, ORMA_PB_PROCESS_TREE_THREADS);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_THREAD_TID, tid);
	orma_proto_write_str(writer, ORMA_PB_PROCESS_TREE_THREAD_NAME, name);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_THREAD_TGID, pid);
	return orma_ctf_packet_end(kernel->output);
}

/* The thread that ran when the event happened. */
static int64_t running_tid(struct orma_ctf_kernel *kernel,
			   const struct orma_ctf_kernel_class *class,
			   const struct orma_ctf_reader *reader)
{
	const struct orma_ctf_value *value = orma_ctf_reader_value(reader, class->running);
	if (value)
		kernel->tid = (int32_t)value->number;
	else if (class->action == ORMA_CTF_SWITCH && class->tid)
		kernel->tid = (int32_t)number_of(reader, class->tid);
	return kernel->tid;
}

/* Writes what follows from an event. */
static int write_consequence(struct orma_ctf_kernel *kernel,
			     const struct orma_ctf_kernel_class *class,
			     const struct orma_ctf_reader *reader, uint64_t ns, int64_t tid)
{
	struct orma_proto_nested event;
	if (class->action == ORMA_CTF_PROCESS && class->tid && class->pid)
		return write_process(kernel, class, reader, ns);
	if (class->action == ORMA_CTF_SWITCH && class->other_tid)
		kernel->tid = (int32_t)number_of(reader, class->other_tid);
	bool has_task = class->tid && class->text &&
			(class->action == ORMA_CTF_FORK || class->action == ORMA_CTF_EXEC);
	if (!has_task)
		return 0;
	begin_event(kernel, &event, ns,
		    class->action == ORMA_CTF_FORK && class->other_tid
			    ? (int32_t)number_of(reader, class->other_tid)
			    : tid);
	if (class->action == ORMA_CTF_FORK)
		write_new_task(kernel, class, reader);
	else
		write_rename(kernel, class, reader);
	orma_proto_nested_end(writer_of(kernel), &event);
	return 0;
}

int orma_ctf_kernel_write(struct orma_ctf_kernel *kernel, const struct orma_ctf_stream *stream)
{
	const struct orma_ctf_kernel_class *class = &kernel->classes[stream->event->number];
	struct orma_proto_writer *writer = writer_of(kernel);
	struct orma_proto_nested event;
	uint64_t ns =
		orma_ctf_output_time(kernel->output, &stream->plan->clock, stream->reader.clock);
	int64_t tid = running_tid(kernel, class, &stream->reader);
	int r = stream->has_loss ? orma_ctf_kernel_end_cpu(kernel) : 0;
	if (r < 0)
		return r;
	begin_bundle(kernel, stream->has_loss);
	if (class->id) {
		begin_event(kernel, &event, ns, tid);
		write_message(kernel, class, stream);
		orma_proto_nested_end(writer, &event);
	}
	if (class->is_generic) {
		begin_event(kernel, &event, ns, tid);
		r = write_generic(kernel, stream);
		orma_proto_nested_end(writer, &event);
	}
	if (r == 0)
		r = write_consequence(kernel, class, &stream->reader, ns, tid);
	if (r < 0 || orma_proto_writer_written(writer) < BUNDLE_BYTES)
		return r;
	return orma_ctf_kernel_end_cpu(kernel);
}
