/* SPDX-License-Identifier: Apache-2.0
 * ctf_tracks.c - events of programs as track events: instants on the track of their thread, with all fields and contexts as
 * arguments.
 *
 * ctf_track_class.c finds the classes whose events are slices, or have a name of their own. Names are interned when the first event of a class is written to a sequence.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "formats/ctf_output.h"
#include "formats/ctf_track_class.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2, DROPPED = 1 };

int orma_ctf_tracks_init(struct orma_ctf_tracks *tracks, struct orma_ctf_output *output,
			 struct orma_ctf_trace *trace)
{
	struct orma_str pid = orma_ctf_metadata_env(&trace->metadata, "vpid");
	uint64_t number;
	uint32_t count = trace->metadata.events.count;
	*tracks = (struct orma_ctf_tracks){.output = output, .trace = trace, .pid = -1};
	tracks->classes = orma_base_arena_alloc(&trace->metadata.arena,
						(count + 1) * sizeof(*tracks->classes));
	tracks->context_name = orma_ctf_name_add(&trace->names, ORMA_STR("context"));
	tracks->cpu_name = orma_ctf_name_add(&trace->names, ORMA_STR("cpu_id"));
	tracks->level_name = orma_ctf_name_add(&trace->names, ORMA_STR("level"));
	if (!tracks->classes || !tracks->context_name || !tracks->cpu_name || !tracks->level_name)
		return -ENOMEM;
	if (orma_ctf_to_number(pid, &number))
		tracks->pid = (int64_t)number;
	int r = 0;
	for (uint32_t i = 0; i < count && r == 0; i++)
		if (trace->events[i].declared)
			r = orma_ctf_track_class_init(&tracks->classes[trace->events[i].number],
						      &trace->names, &trace->events[i]);
	return r;
}

void orma_ctf_tracks_begin_stream(struct orma_ctf_tracks *tracks, const char *name)
{
	tracks->sequence = ++tracks->output->last_sequence;
	tracks->generation++;
	tracks->is_cleared = true;
	tracks->stream_track = 0;
	tracks->stream_name = name;
}

/* --- tracks ---------------------------------------------------------------------------------- */

/* Numbers that no other track has. */
static uint64_t make_uuid(char kind, int64_t a, int64_t b)
{
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &kind, 1);
	hash = orma_base_fnv1a(hash, &a, sizeof(a));
	hash = orma_base_fnv1a(hash, &b, sizeof(b));
	return hash | 1;
}

static int describe_thread(struct orma_ctf_tracks *tracks, const struct orma_ctf_thread *thread,
			   uint64_t ns)
{
	struct orma_ctf_output *output = tracks->output;
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested descriptor, of_thread;
	orma_ctf_packet_begin(output, tracks->sequence);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, ns);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, output->clock);
	orma_proto_nested_begin(writer, &descriptor, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, thread->uuid);
	orma_proto_nested_begin(writer, &of_thread, ORMA_PB_TRACK_DESCRIPTOR_THREAD);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_PID, thread->pid);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_TID, thread->tid);
	if (thread->name_size > 0)
		orma_proto_write_bytes(writer, ORMA_PB_THREAD_DESCRIPTOR_THREAD_NAME, thread->name,
				       thread->name_size);
	return orma_ctf_packet_end(output);
}

/* A track of a process, or a track with a name. */
static int describe_track(struct orma_ctf_tracks *tracks, uint64_t uuid, int64_t pid,
			  struct orma_str name, uint64_t parent)
{
	struct orma_ctf_output *output = tracks->output;
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested descriptor, process;
	orma_ctf_packet_begin(output, tracks->sequence);
	orma_proto_nested_begin(writer, &descriptor, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, uuid);
	if (parent)
		orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	if (pid >= 0) {
		orma_proto_nested_begin(writer, &process, ORMA_PB_TRACK_DESCRIPTOR_PROCESS);
		orma_proto_write_int(writer, ORMA_PB_PROCESS_DESCRIPTOR_PID, pid);
		if (name.size > 0)
			orma_proto_write_str(writer, ORMA_PB_PROCESS_DESCRIPTOR_PROCESS_NAME, name);
	} else {
		orma_proto_write_str(writer, ORMA_PB_TRACK_DESCRIPTOR_NAME, name);
	}
	return orma_ctf_packet_end(output);
}

static struct orma_ctf_thread *find_thread(struct orma_ctf_tracks *tracks, int64_t pid, int64_t tid)
{
	struct orma_ctf_output *output = tracks->output;
	struct orma_ctf_thread *thread = tracks->last_thread;
	if (thread && thread->pid == pid && thread->tid == tid)
		return thread;
	uint64_t key = (uint64_t)pid << 32 ^ (uint64_t)tid;
	thread = orma_base_map_get(&output->threads, key);
	if (!thread) {
		thread = orma_base_arena_alloc(&output->arena, sizeof(*thread));
		if (!thread || orma_base_map_put(&output->threads, key, thread) < 0)
			return NULL;
		*thread = (struct orma_ctf_thread){.pid = pid, .tid = tid, .name_size = UINT32_MAX};
		thread->uuid = make_uuid('t', pid, tid);
	}
	return tracks->last_thread = thread;
}

/* The track of a thread, whose name may be new. */
static int thread_track(struct orma_ctf_tracks *tracks, const struct orma_ctf_reader *reader,
			const struct orma_ctf_track_class *class, int64_t pid, uint64_t ns,
			uint64_t *ret)
{
	int64_t tid = (int64_t)orma_ctf_reader_value(reader, class->tid)->number;
	const struct orma_ctf_value *name = orma_ctf_reader_value(reader, class->thread_name);
	struct orma_ctf_thread *thread = find_thread(tracks, (int32_t)pid, (int32_t)tid);
	if (!thread)
		return -ENOMEM;
	*ret = thread->uuid;
	bool has_name = name && (name->step->op == ORMA_CTF_READ_TEXT ||
				 name->step->op == ORMA_CTF_READ_STRING);
	uint32_t size = has_name ? ORMA_MIN(name->size, (uint32_t)sizeof(thread->name)) : 0;
	if (thread->name_size != UINT32_MAX &&
	    (size == 0 ||
	     (thread->name_size == size && memcmp(thread->name, name->text, size) == 0)))
		return 0;
	thread->name_size = size;
	if (size > 0)
		memcpy(thread->name, name->text, size);
	int r = describe_thread(tracks, thread, ns);
	/* A process has the name of its main thread. */
	if (r == 0 && size > 0 && thread->pid == thread->tid)
		r = describe_track(tracks, make_uuid('p', thread->pid, 0), thread->pid,
				   (struct orma_str){thread->name, size}, 0);
	return r;
}

static int process_track(struct orma_ctf_tracks *tracks, int64_t pid, uint64_t *ret)
{
	*ret = make_uuid('p', pid, 0);
	if (tracks->process_track == *ret)
		return 0;
	tracks->process_track = *ret;
	return describe_track(tracks, *ret, pid,
			      orma_ctf_metadata_env(&tracks->trace->metadata, "procname"), 0);
}

/* Events of a stream that do not say who made them have a track of the stream's name. */
static int stream_track(struct orma_ctf_tracks *tracks, int64_t pid, uint64_t *ret)
{
	uint64_t parent = 0;
	*ret = tracks->stream_track;
	if (tracks->stream_track)
		return 0;
	int r = pid >= 0 ? process_track(tracks, pid, &parent) : 0;
	*ret = tracks->stream_track = make_uuid('s', (int64_t)tracks->sequence, 0);
	return r < 0 ? r
		     : describe_track(tracks, *ret, -1, orma_base_str(tracks->stream_name), parent);
}

static int find_track(struct orma_ctf_tracks *tracks, const struct orma_ctf_reader *reader,
		      const struct orma_ctf_track_class *class, uint64_t ns, uint64_t *ret)
{
	const struct orma_ctf_value *value = orma_ctf_reader_value(reader, class->pid);
	int64_t pid = value && value->step->op <= ORMA_CTF_READ_BITS ? (int32_t)value->number
								     : tracks->pid;
	bool has_tid = class->tid && class->tid->op <= ORMA_CTF_READ_BITS;
	if (has_tid && pid >= 0)
		return thread_track(tracks, reader, class, pid, ns, ret);
	return stream_track(tracks, pid, ret);
}

/* --- events ---------------------------------------------------------------------------------- */

static void intern(struct orma_proto_writer *writer, const struct orma_ctf_trace *trace,
		   uint32_t field, uint32_t number)
{
	struct orma_proto_nested entry;
	orma_proto_nested_begin(writer, &entry, field);
	/* All three kinds of entries have these two fields. */
	orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, number);
	orma_proto_write_str(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_NAME,
			     trace->names.list.items[number - 1]);
	orma_proto_nested_end(writer, &entry);
}

static void intern_class(struct orma_ctf_tracks *tracks, const struct orma_ctf_track_class *class,
			 const struct orma_ctf_plan *plan)
{
	enum { NAMES = ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES };
	struct orma_proto_writer *writer = &tracks->output->heap.writer;
	struct orma_proto_nested data;
	orma_proto_nested_begin(writer, &data, ORMA_PB_TRACE_PACKET_INTERNED_DATA);
	if (class->category)
		intern(writer, tracks->trace, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES,
		       class->category);
	intern(writer, tracks->trace, ORMA_PB_INTERNED_DATA_EVENT_NAMES, class->name);
	intern(writer, tracks->trace, NAMES, tracks->context_name);
	intern(writer, tracks->trace, NAMES, tracks->cpu_name);
	intern(writer, tracks->trace, NAMES, tracks->level_name);
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->steps[i].name)
			intern(writer, tracks->trace, NAMES, plan->steps[i].name);
	orma_proto_nested_end(writer, &data);
}

/* Begins a message whose size is known, which saves the padding of its length; its name comes first. Returns where the
 * value goes, for which there is room, or NULL. */
static uint8_t *begin_leaf(struct orma_proto_writer *writer, uint32_t field, uint32_t name,
			   size_t value_size)
{
	size_t name_size = name ? 1 + orma_proto_varint_size(name) : 0;
	if (!orma_proto_writer_has_room(writer, (size_t)4 * ORMA_PROTO_VARINT_MAX + value_size))
		return NULL;
	uint8_t *at =
		orma_proto_put_varint(writer->cursor, orma_proto_tag(field, ORMA_PROTO_BYTES));
	at = orma_proto_put_varint(at, name_size + value_size);
	if (name) {
		*at++ = ORMA_PB_DEBUG_ANNOTATION_NAME_IID << 3;
		at = orma_proto_put_varint(at, name);
	}
	return at;
}

static void write_leaf(struct orma_proto_writer *writer, uint32_t field, uint32_t name,
		       uint32_t value_field, uint64_t number)
{
	bool is_double = value_field == ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE;
	size_t size = 1 + (is_double ? sizeof(number) : orma_proto_varint_size(number));
	uint8_t *at = begin_leaf(writer, field, name, size);
	struct orma_proto_nested annotation;
	if (at) {
		*at++ = (uint8_t)(value_field << 3 |
				  (is_double ? ORMA_PROTO_FIXED64 : ORMA_PROTO_VARINT));
		if (is_double)
			memcpy(at, &number, sizeof(number));
		else
			orma_proto_put_varint(at, number);
		writer->cursor = at + size - 1;
		return;
	}
	orma_proto_nested_begin(writer, &annotation, field);
	if (name)
		orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, name);
	if (is_double)
		orma_proto_write_fixed64(writer, value_field, number);
	else
		orma_proto_write_varint(writer, value_field, number);
	orma_proto_nested_end(writer, &annotation);
}

static void write_text(struct orma_proto_writer *writer, uint32_t field, uint32_t name,
		       struct orma_str text)
{
	enum { VALUE = ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE };
	uint8_t *at =
		begin_leaf(writer, field, name, 1 + orma_proto_varint_size(text.size) + text.size);
	struct orma_proto_nested annotation;
	if (at) {
		*at++ = VALUE << 3 | ORMA_PROTO_BYTES;
		at = orma_proto_put_varint(at, text.size);
		memcpy(at, text.data, text.size);
		writer->cursor = at + text.size;
		return;
	}
	orma_proto_nested_begin(writer, &annotation, field);
	if (name)
		orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, name);
	orma_proto_write_str(writer, VALUE, text);
	orma_proto_nested_end(writer, &annotation);
}

static void write_value(struct orma_proto_writer *writer, uint32_t field,
			const struct orma_ctf_value *value)
{
	const struct orma_ctf_step *step = value->step;
	bool is_text = step->op == ORMA_CTF_READ_STRING || step->op == ORMA_CTF_READ_TEXT;
	bool is_hex = step->op <= ORMA_CTF_READ_BITS && step->type->base == 16;
	struct orma_str text = {0};
	uint32_t kind = step->op == ORMA_CTF_READ_FLOAT ? ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE
			: is_hex                        ? ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE
			: step->is_signed               ? ORMA_PB_DEBUG_ANNOTATION_INT_VALUE
							: ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE;
	if (is_text)
		text = (struct orma_str){value->text, value->size};
	else if (step->type->kind == ORMA_CTF_ENUM)
		text = orma_ctf_label_of(step->type, value->number);
	/* A value of an enumeration that has no label is a number. In hexadecimal, a number has no sign. */
	if (is_text || text.size > 0)
		write_text(writer, field, step->name, text);
	else
		write_leaf(writer, field, step->name, kind,
			   is_hex ? value->number & UINT64_MAX >> (64 - step->bits)
				  : value->number);
}

/* The field of the values inside of one that has begun. */
static uint32_t child_field(const struct orma_ctf_step *step)
{
	return step->op == ORMA_CTF_BEGIN_ARRAY ? ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES
						: ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES;
}

/* Writes the fields of a scope, which begins at a value. Returns the value behind it. */
static uint32_t write_scope(struct orma_proto_writer *writer, const struct orma_ctf_reader *reader,
			    uint32_t i, uint32_t field)
{
	struct orma_proto_nested nested[ORMA_CTF_NESTING_MAX];
	uint32_t fields[ORMA_CTF_NESTING_MAX + 1], depth = 0;
	fields[0] = field;
	for (i++; i < reader->value_count; i++) {
		const struct orma_ctf_value *value = &reader->values[i];
		const struct orma_ctf_step *step = value->step;
		if (step->op < ORMA_CTF_BEGIN_STRUCT) {
			/* A length says nothing that its sequence doesn't. */
			if (!(step->roles & ORMA_CTF_IS_LENGTH))
				write_value(writer, fields[depth], value);
		} else if (step->op < ORMA_CTF_END) {
			orma_proto_nested_begin(writer, &nested[depth], fields[depth]);
			if (step->name)
				orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID,
							step->name);
			fields[++depth] = child_field(step);
		} else if (depth == 0) {
			return i + 1;
		} else {
			orma_proto_nested_end(writer, &nested[--depth]);
		}
	}
	return i;
}

/* The contexts are together in one argument. Returns the value that they end before. */
static uint32_t write_contexts(struct orma_ctf_tracks *tracks, const struct orma_ctf_stream *stream)
{
	struct orma_proto_writer *writer = &tracks->output->heap.writer;
	const struct orma_ctf_reader *reader = &stream->reader;
	const struct orma_ctf_event *event = stream->event;
	struct orma_proto_nested context;
	uint32_t i = 0;
	orma_proto_nested_begin(writer, &context, ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, tracks->context_name);
	if (stream->packet.has_cpu)
		write_leaf(writer, ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES, tracks->cpu_name,
			   ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE, stream->packet.cpu);
	while (i < reader->value_count &&
	       reader->values[i].step < event->plan.steps + event->fields_step)
		i = write_scope(writer, reader, i, ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES);
	orma_proto_nested_end(writer, &context);
	return i;
}

static void write_name(struct orma_ctf_tracks *tracks, const struct orma_ctf_reader *reader,
		       const struct orma_ctf_track_class *class)
{
	struct orma_proto_writer *writer = &tracks->output->heap.writer;
	const struct orma_ctf_value *text = orma_ctf_reader_value(reader, class->text);
	char address[2 + 16 + 1];
	if (class->meaning == ORMA_CTF_IS_MESSAGE) {
		orma_proto_write_bytes(writer, ORMA_PB_TRACK_EVENT_NAME, text->text, text->size);
	} else if (class->meaning == ORMA_CTF_IS_ENTRY) {
		snprintf(address, sizeof(address), "0x%llx", (unsigned long long)text->number);
		orma_proto_write_string(writer, ORMA_PB_TRACK_EVENT_NAME, address);
	} else if (class->meaning == ORMA_CTF_IS_INSTANT) {
		orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_NAME_IID, class->name);
	}
}

static void write_event(struct orma_ctf_tracks *tracks, const struct orma_ctf_stream *stream,
			const struct orma_ctf_track_class *class, uint64_t track)
{
	static const uint64_t types[] = {
		[ORMA_CTF_IS_INSTANT] = ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT,
		[ORMA_CTF_IS_ENTRY] = ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN,
		[ORMA_CTF_IS_EXIT] = ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END,
		[ORMA_CTF_IS_MESSAGE] = ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT,
	};
	struct orma_proto_writer *writer = &tracks->output->heap.writer;
	struct orma_proto_nested event;
	orma_proto_nested_begin(writer, &event, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_TYPE, types[class->meaning]);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_TRACK_UUID, track);
	if (class->category && class->meaning != ORMA_CTF_IS_EXIT)
		orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS, class->category);
	write_name(tracks, &stream->reader, class);
	if (class->has_level)
		write_text(writer, ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS, tracks->level_name,
			   tracks->trace->names.list.items[class->name - 1]);
	uint32_t i = write_contexts(tracks, stream);
	if (i < stream->reader.value_count)
		write_scope(writer, &stream->reader, i, ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	orma_proto_nested_end(writer, &event);
}

/* Declares the state of the sequence, when it begins and after a loss. */
static void write_state(struct orma_ctf_tracks *tracks, bool has_loss)
{
	struct orma_proto_writer *writer = &tracks->output->heap.writer;
	struct orma_proto_nested defaults;
	if (tracks->is_cleared)
		orma_proto_write_bool(writer, ORMA_PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, true);
	if (has_loss)
		orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED,
					DROPPED);
	orma_proto_nested_begin(writer, &defaults, ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
				tracks->output->clock);
	orma_proto_nested_end(writer, &defaults);
	tracks->is_cleared = false;
}

int orma_ctf_tracks_write(struct orma_ctf_tracks *tracks, const struct orma_ctf_stream *stream)
{
	struct orma_ctf_output *output = tracks->output;
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_ctf_track_class *class = &tracks->classes[stream->event->number];
	bool is_cleared = tracks->is_cleared || stream->has_loss;
	uint64_t ns = orma_ctf_output_time(output, &stream->plan->clock, stream->reader.clock);
	uint64_t track;
	int r = find_track(tracks, &stream->reader, class, ns, &track);
	if (r < 0)
		return r;
	if (stream->has_loss)
		tracks->generation++;
	orma_ctf_packet_begin(output, tracks->sequence);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, ns);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS,
				SEQUENCE_NEEDS_STATE | (is_cleared ? SEQUENCE_CLEARED : 0));
	if (is_cleared)
		write_state(tracks, stream->has_loss);
	if (class->generation != tracks->generation) {
		intern_class(tracks, class, &stream->event->plan);
		class->generation = tracks->generation;
	}
	write_event(tracks, stream, class, track);
	return orma_ctf_packet_end(output);
}
