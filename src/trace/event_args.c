/* SPDX-License-Identifier: Apache-2.0
 * event_args.c - a packet is read again, with the names of its generation.
 *
 * Texts, messages and arrays are not kept when a trace is loaded, and an argument is where its packet lies; plain ones are kept,
 * see kept_args.c. To read them costs a fifth of a microsecond when the window and the generation are at hand, which they
 * are for rows in their order, and the arguments are plain ones; see plain_args.c.
 */
#include "trace/event_args.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "proto/wire.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/source_location.pb.h"
#include "schema/gen/task_execution.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion_fields.h"
#include "trace/event_record.h"
#include "trace/plain_args.h"

enum { WINDOW_BYTES = 16 << 10, WINDOW_MARGIN_BYTES = 1 << 10 };

void orma_event_args_init(struct orma_event_args *args, struct orma_packet_index *index,
			  const struct orma_type_pool *types)
{
	*args = (struct orma_event_args){
		.index = index,
		.types = types,
		.event_type = orma_type_of_name(ORMA_STR(".perfetto.protos.TrackEvent"))};
}

static void forget_states(struct orma_event_args *args)
{
	struct orma_map_slot *slot;
	for (size_t position = 0; (slot = orma_base_map_next(&args->states, &position));) {
		orma_sequence_state_done(slot->value);
		orma_base_free(slot->value);
	}
	orma_base_map_done(&args->states);
	memset(args->recent, 0, sizeof(args->recent));
}

void orma_event_args_done(struct orma_event_args *args)
{
	forget_states(args);
	for (int i = 0; i < ORMA_EVENT_ARGS_WINDOWS; i++)
		orma_trace_window_done(&args->windows[i]);
	orma_arg_path_done(&args->path);
	*args = (struct orma_event_args){.index = args->index, .types = args->types};
}

/* Finds the state of a sequence. When there are too many, all are forgotten and made again as they are needed. */
static struct orma_sequence_state *find_state(struct orma_event_args *args,
					      const struct orma_sequence *sequence)
{
	uint64_t key = (uintptr_t)sequence;
	struct orma_sequence_state *state = orma_base_map_get(&args->states, key);
	if (state)
		return state;
	if (args->states.count == ORMA_EVENT_ARGS_STATES)
		forget_states(args);
	state = orma_base_zalloc(sizeof(*state));
	if (!state)
		return NULL;
	state->input = args->index->input;
	state->sequence = sequence;
	if (orma_base_map_put(&args->states, key, state) < 0) {
		orma_base_free(state);
		return NULL;
	}
	return state;
}

/* Finds the window of the entry's part of the trace, and fills it if it has another part. 0 or a negative errno value. */
static int find_window(struct orma_event_args *args, uint64_t entry, struct orma_trace_window **ret)
{
	const struct orma_trace_bytes *input = args->index->input;
	uint64_t part = entry / WINDOW_BYTES, begin = part * WINDOW_BYTES;
	struct orma_trace_window *window = &args->windows[part % ORMA_EVENT_ARGS_WINDOWS];
	const uint8_t *data;
	*ret = window;
	/* No window has both bytes of the file and of the spool. */
	if (entry >= input->size)
		begin = ORMA_MAX(begin, input->size);
	if (window->size > 0 && window->address == begin)
		return 0;
	int r = orma_trace_window_refill(window, input, begin, 0,
					 WINDOW_BYTES + WINDOW_MARGIN_BYTES, &data);
	return ORMA_MIN(r, 0);
}

static int read_packet(struct orma_event_args *args, uint64_t entry, struct orma_packet *ret)
{
	const uint8_t *data;
	size_t wanted = (size_t)2 * ORMA_PROTO_VARINT_MAX;
	uint64_t end = orma_trace_bytes_end(args->index->input), size = 0;
	struct orma_trace_window *window;
	int found = find_window(args, entry, &window);
	if (found < 0)
		return found;
	for (;;) {
		struct orma_str bytes;
		wanted = (size_t)ORMA_MIN((uint64_t)wanted, end - entry);
		int r = orma_trace_window_read(window, args->index->input, entry, wanted,
					       WINDOW_BYTES, &data);
		if (r <= 0)
			return r < 0 ? r : -EIO;
		size_t have = window->size - (size_t)(entry - window->address);
		r = orma_trace_entry_read(data, have, &bytes, &size);
		if (r > 0) {
			int problem = orma_trace_packet_read(bytes.data, bytes.size, ret);
			ret->address = entry + size - bytes.size;
			return problem < 0 ? -EIO : 0;
		}
		if (r != -EAGAIN || size == 0 || size > end - entry || size <= wanted)
			return -EIO;
		wanted = (size_t)size;
	}
}

static const struct orma_sequence *find_sequence(const struct orma_packet_index *index,
						 const struct orma_packet *packet)
{
	uintptr_t machine = (uintptr_t)orma_base_map_get(&index->machines, packet->machine);
	if (machine == 0)
		return NULL;
	return orma_base_map_get(&index->sequence_map,
				 (uint64_t)(machine - 1) << 32 | packet->sequence);
}

/* Paths of Windows are shown with slashes, too. */
static void add_path(struct orma_arg_list *list, const char *name, struct orma_str path)
{
	char text[512];
	if (path.size == 0 || path.size > sizeof(text) || !memchr(path.data, '\\', path.size)) {
		orma_arg_list_add_string(list, name, path);
		return;
	}
	for (size_t i = 0; i < path.size; i++)
		text[i] = (char)(path.data[i] == '\\' ? '/' : path.data[i]);
	orma_arg_list_add_string(list, name, (struct orma_str){text, path.size});
}

/* The place in the program: three arguments with a common beginning. */
static void add_location(struct orma_arg_list *list, struct orma_str location,
			 const char *const names[3])
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint64_t line = 0;
	orma_proto_reader_init(&reader, location.data, location.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_SOURCE_LOCATION_FILE_NAME && field.type == ORMA_PROTO_BYTES)
			add_path(list, names[0], field.bytes);
		else if (field.id == ORMA_PB_SOURCE_LOCATION_FUNCTION_NAME &&
			 field.type == ORMA_PROTO_BYTES)
			orma_arg_list_add_string(list, names[1], field.bytes);
		else if (field.id == ORMA_PB_SOURCE_LOCATION_LINE_NUMBER &&
			 field.type == ORMA_PROTO_VARINT)
			line = field.value;
	}
	orma_arg_list_add(list, orma_base_str(names[2]), orma_base_str(names[2]), ORMA_ARG_UINT,
			  (int64_t)line);
}

static const char *const source_names[] = {"source.file_name", "source.function_name",
					   "source.line_number"};
static const char *const task_names[] = {"task.posted_from.file_name",
					 "task.posted_from.function_name",
					 "task.posted_from.line_number"};

static void add_interned_location(struct orma_event_args *args,
				  const struct orma_sequence_state *state, uint64_t iid,
				  const char *const names[3], struct orma_arg_list *list)
{
	const struct orma_interned *entry =
		orma_interning_find(&state->interning, ORMA_PB_INTERNED_DATA_SOURCE_LOCATIONS, iid);
	args->problems += entry == NULL;
	if (entry)
		add_location(list, entry->bytes, names);
}

static void add_correlation(const struct orma_sequence_state *state,
			    const struct orma_proto_field *field, struct orma_arg_list *list)
{
	char text[32];
	struct orma_str id = field->bytes;
	if (field->id == ORMA_PB_TRACK_EVENT_CORRELATION_ID) {
		int size =
			snprintf(text, sizeof(text), "tp:#%llu", (unsigned long long)field->value);
		id = (struct orma_str){text, (size_t)size};
	} else if (field->id == ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR_IID) {
		const struct orma_interned *entry = orma_interning_find(
			&state->interning, ORMA_PB_INTERNED_DATA_CORRELATION_ID_STR, field->value);
		if (!entry)
			return;
		id = entry->text;
	}
	orma_arg_list_add_string(list, "correlation_id", id);
}

/* Adds the args that stand before the annotations, whatever the order of the fields. */
static void add_fixed(struct orma_event_args *args, const struct orma_sequence_state *state,
		      struct orma_str event, struct orma_arg_list *list)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field, iid;
	orma_proto_reader_init(&reader, event.data, event.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		switch (field.id) {
		case ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID:
			add_interned_location(args, state, field.value, source_names, list);
			break;
		case ORMA_PB_TRACK_EVENT_TASK_EXECUTION:
			if (orma_proto_reader_find(field.bytes.data, field.bytes.size,
						   ORMA_PB_TASK_EXECUTION_POSTED_FROM_IID,
						   &iid) > 0)
				add_interned_location(args, state, iid.value, task_names, list);
			break;
		case ORMA_PB_TRACK_EVENT_CORRELATION_ID:
		case ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR:
		case ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR_IID:
			add_correlation(state, &field, list);
			break;
		default:
			break;
		}
	}
}

enum { TYPED_BITS = 64 };

/* Types are only added, while the trace is read. */
uint64_t orma_event_args_typed_ids(struct orma_event_args *args)
{
	if (args->typed_count == args->types->fields.count + 1)
		return args->typed_ids;
	args->typed_ids = 0;
	for (uint32_t i = 0; i < TYPED_BITS; i++)
		if (orma_type_pool_field(args->types, args->event_type, i))
			args->typed_ids |= UINT64_C(1) << i;
	args->typed_count = args->types->fields.count + 1;
	return args->typed_ids;
}

/* True when the field of an event has a type that makes it an argument. */
static bool is_typed(const struct orma_event_args *args, uint32_t id)
{
	if (id >= TYPED_BITS)
		return orma_type_pool_field(args->types, args->event_type, id) != NULL;
	return args->typed_ids >> id & 1;
}

/* The parts that an event has. Most have annotations at most, and are not read for more. */
struct event_parts {
	bool has_fixed, has_typed, has_annotations, has_legacy;
};

static struct event_parts find_parts(const struct orma_event_args *args, struct orma_str event)
{
	struct event_parts parts = {.has_typed = true};
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, event.data, event.size);
	for (bool is_first = true; orma_proto_reader_next(&reader, &field) > 0; is_first = false) {
		parts.has_typed = (!is_first && parts.has_typed) || is_typed(args, field.id);
		switch (field.id) {
		case ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID:
		case ORMA_PB_TRACK_EVENT_TASK_EXECUTION:
		case ORMA_PB_TRACK_EVENT_CORRELATION_ID:
		case ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR:
		case ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR_IID:
			parts.has_fixed = true;
			break;
		case ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS:
			parts.has_annotations = true;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT:
			parts.has_legacy = true;
			break;
		default:
			break;
		}
	}
	return parts;
}

/* Says how the arguments are called; see conversion.h. */
static uint32_t style_of(struct orma_str event)
{
	struct orma_proto_field legacy, style;
	if (orma_proto_reader_find(event.data, event.size, ORMA_PB_TRACK_EVENT_LEGACY_EVENT,
				   &legacy) <= 0 ||
	    legacy.type != ORMA_PROTO_BYTES ||
	    orma_proto_reader_find(legacy.bytes.data, legacy.bytes.size, ORMA_LEGACY_EVENT_STYLE,
				   &style) <= 0)
		return ORMA_EVENT_STYLE_PERFETTO;
	return (uint32_t)style.value;
}

static const char *const prefixes[] = {[ORMA_EVENT_STYLE_PERFETTO] = "debug",
				       [ORMA_EVENT_STYLE_PLAIN] = "",
				       [ORMA_EVENT_STYLE_JSON] = "args"};

static int set_prefix(struct orma_event_args *args, const char *prefix)
{
	args->path.flat_key.size = args->path.key.size = 0;
	int r = orma_base_buf_append_str(&args->path.flat_key, prefix);
	return r < 0 ? r : orma_base_buf_append_str(&args->path.key, prefix);
}

static int add_annotations(struct orma_event_args *args, const struct orma_sequence_state *state,
			   struct orma_str event, bool has_legacy, struct orma_arg_list *list)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint32_t style = has_legacy ? style_of(event) : ORMA_EVENT_STYLE_PERFETTO;
	const char *prefix = style < ORMA_ARRAY_SIZE(prefixes) ? prefixes[style] : "";
	struct orma_arg_names names = {&state->interning, args->types};
	args->path.keeps_names = style != ORMA_EVENT_STYLE_PERFETTO;
	int r = set_prefix(args, prefix);
	orma_proto_reader_init(&reader, event.data, event.size);
	while (r >= 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS ||
		    field.type != ORMA_PROTO_BYTES)
			continue;
		r = orma_debug_args_add(list, &names, &args->path, field.bytes);
		args->problems += r > 0 ? (unsigned)r : 0;
	}
	return ORMA_MIN(r, 0);
}

int orma_event_args_read(struct orma_event_args *args, struct orma_sequence_state *state,
			 struct orma_str event, struct orma_arg_list *list)
{
	int r = orma_sequence_state_load(state);
	if (r < 0)
		return r;
	r = orma_plain_args_add(list, &state->interning, orma_event_args_typed_ids(args), event);
	if (r != 0)
		return r < 0 ? r : list->error;
	const struct event_parts parts = find_parts(args, event);
	if (parts.has_fixed)
		add_fixed(args, state, event, list);
	struct orma_arg_names names = {&state->interning, args->types};
	args->path.flat_key.size = args->path.key.size = 0;
	if (parts.has_typed)
		r = orma_typed_args_add(list, &names, &args->path, event, args->event_type);
	args->problems += r > 0 ? (unsigned)r : 0;
	if (r >= 0 && parts.has_annotations)
		r = add_annotations(args, state, event, parts.has_legacy, list);
	return r < 0 ? r : list->error;
}

/* Adds the arguments of a record, which has their text. */
static int add_of_record(struct orma_event_args *args, struct orma_str record,
			 struct orma_arg_list *list)
{
	struct orma_str members = orma_event_record_args(record);
	struct orma_arg_names names = {.types = args->types};
	int r = set_prefix(args, prefixes[ORMA_EVENT_STYLE_JSON]);
	if (r == 0 && members.size > 0)
		r = orma_json_members_add(list, &names, &args->path, members);
	return r < 0 ? r : list->error;
}

/* Finds the state of a packet's sequence. 0 or a negative errno value. */
static int find_state_of(struct orma_event_args *args, const struct orma_packet *packet,
			 struct orma_sequence_state **ret)
{
	struct orma_recent_state *recent = &args->recent[packet->sequence % ORMA_EVENT_ARGS_STATES];
	if (!recent->state || recent->sequence != packet->sequence ||
	    recent->machine != packet->machine) {
		const struct orma_sequence *sequence = find_sequence(args->index, packet);
		if (!sequence)
			return -EIO;
		struct orma_sequence_state *state = find_state(args, sequence);
		if (!state)
			return -ENOMEM;
		*recent = (struct orma_recent_state){packet->machine, packet->sequence, state};
	}
	*ret = recent->state;
	return 0;
}

int orma_event_args_add(struct orma_event_args *args, uint64_t entry, struct orma_arg_list *list)
{
	struct orma_packet packet;
	int r = read_packet(args, entry, &packet);
	if (r < 0)
		return r;
	if (packet.record.size > 0)
		return add_of_record(args, packet.record, list);
	struct orma_sequence_state *state;
	r = find_state_of(args, &packet, &state);
	if (r == 0)
		r = orma_sequence_state_move(state, packet.address);
	return r < 0 ? r : orma_event_args_read(args, state, packet.content, list);
}
