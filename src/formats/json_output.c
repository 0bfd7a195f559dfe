/* SPDX-License-Identifier: Apache-2.0
 * json_output.c - an event of JSON becomes a track event of the old kind, which has the same phases.
 *
 * Whatever that kind has no field for is in fields that only orma reads (trace/conversion.h), so a converted trace opens elsewhere
 * too.
 *
 * Sequences are in the order of time, because a sequence that is not costs its reader two passes and a sort. An event goes to the
 * sequence whose last event is the latest of those that are not later than it. Invariant: the last events of the sequences
 * are ever earlier, so the first one that is not later is the one. As many sequences are used as the longest run of ever earlier
 * events, one for a file in order, and about one per thread where threads write pieces. When there are no more sequences, the
 * last one takes what is earlier than all. Rejected: a sequence for each thread. It is in order neither where slices are
 * written at their end, nor where there are more threads than sequences, and has to repeat the names of the others.
 */
#include <errno.h>

#include "base/macros.h"
#include "formats/json_event.h"
#include "formats/text_lines.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion_fields.h"

enum {
	NAMED_TASK_FIRST = 1 << 30, /* the first number of those that have a name only */
	COUNTERS_MAX = 1 << 20,
	FLOW_IN = 1,
	FLOW_OUT = 2,
	LEGACY_MAX_BYTES = 127, /* thirteen numbers; their length is one byte */
	/* Events of one time: ends, then slices, the longest first, then all other. */
	ORDER_END = 1,
	ORDER_OTHER = ORMA_EVENT_ORDER_MAX,
};

/* Events that have a name in any case. */
#define NAMED_PHASES                                                                               \
	(ORMA_PHASE('B') | ORMA_PHASE('X') | ORMA_PHASE('b') | ORMA_PHASE('T') | ORMA_PHASE('i') | \
	 ORMA_PHASE('I') | ORMA_PHASE('R'))

void orma_json_writer_done(struct orma_json_writer *writer)
{
	orma_base_arena_done(&writer->arena);
	orma_base_map_done(&writer->names);
	orma_base_map_done(&writer->counters);
	orma_base_buf_done(&writer->text);
}

static int count(struct orma_json_writer *writer, enum orma_stat stat)
{
	orma_packet_output_count(writer->output, stat);
	return 0;
}

/* A float of the length keeps its order in 31 bits, exactly up to 16 ms and to one part in 10^7 above. */
static uint32_t order_of(const struct orma_json_event *event)
{
	if (event->phase == 'E')
		return ORDER_END;
	if (event->phase != 'X' || event->dur_ns < 0)
		return ORDER_OTHER;
	float length = (float)event->dur_ns;
	uint32_t bits;
	memcpy(&bits, &length, sizeof(bits));
	return ORDER_OTHER - 1 - bits;
}

/* Returns the sequence of the next packet, from 1. */
static uint32_t choose_sequence(struct orma_json_writer *writer, int64_t ns, uint32_t order)
{
	struct orma_json_end *ends = writer->ends;
	uint32_t i = 0;
	while (i < writer->sequence_count &&
	       (ends[i].ns > ns || (ends[i].ns == ns && ends[i].order > order)))
		i++;
	if (i == writer->sequence_count && i < ORMA_JSON_SEQUENCES)
		writer->sequence_count++;
	i = ORMA_MIN(i, writer->sequence_count - 1);
	ends[i] = (struct orma_json_end){ns, order};
	return i + 1;
}

static inline uint8_t *put_number(uint8_t *at, uint32_t field, uint64_t number)
{
	return orma_proto_put_varint(
		orma_proto_put_varint(at, orma_proto_tag(field, ORMA_PROTO_VARINT)), number);
}

static uint8_t *put_ids(uint8_t *at, const struct orma_json_event *event)
{
	if (event->id.kind)
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_UNSCOPED_ID,
				orma_json_id_number(&event->id));
	else if (event->global_id.kind)
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_GLOBAL_ID,
				orma_json_id_number(&event->global_id));
	else if (event->local_id.kind)
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_LOCAL_ID,
				orma_json_id_number(&event->local_id));
	if (event->bind_id.kind && orma_json_id_is_flow(&event->bind_id)) {
		uint32_t direction =
			(event->flow_in ? FLOW_IN : 0) | (event->flow_out ? FLOW_OUT : 0);
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_BIND_ID,
				orma_json_id_number(&event->bind_id));
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_FLOW_DIRECTION, direction);
	}
	if (event->binds_enclosing)
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_BIND_TO_ENCLOSING, true);
	return at;
}

/* Puts the fields that are numbers: at most LEGACY_MAX_BYTES. */
static uint8_t *put_legacy(uint8_t *at, const struct orma_json_event *event)
{
	uint8_t scope = orma_json_scope_number(event->scope);
	at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PHASE,
			(uint64_t)(int64_t)event->phase);
	if (event->has_dur) {
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_DURATION_US,
				(uint64_t)(event->dur_ns / 1000));
		at = put_number(at, ORMA_LEGACY_EVENT_DURATION_NS, (uint64_t)event->dur_ns);
	}
	if (event->has_tts)
		at = put_number(at, ORMA_LEGACY_EVENT_THREAD_TIME_NS, (uint64_t)event->tts_ns);
	if (event->has_tdur)
		at = put_number(at, ORMA_LEGACY_EVENT_THREAD_DURATION_NS, (uint64_t)event->tdur_ns);
	at = put_ids(at, event);
	if (scope)
		at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_INSTANT_EVENT_SCOPE, scope);
	at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PID_OVERRIDE,
			(uint64_t)(int32_t)event->pid.number);
	at = put_number(at, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_TID_OVERRIDE,
			(uint64_t)(int32_t)event->tid.number);
	return put_number(at, ORMA_LEGACY_EVENT_STYLE, ORMA_EVENT_STYLE_JSON);
}

/* Begins the packet of an event, up to its LegacyEvent. */
static struct orma_proto_writer *begin_packet(struct orma_json_writer *writer,
					      const struct orma_json_event *event,
					      uint32_t sequence, uint32_t order)
{
	struct orma_packet_output *output = writer->output;
	struct orma_proto_writer *to = orma_packet_output_begin(output, sequence, event->ns);
	orma_proto_write_varint(to, ORMA_PACKET_EVENT_ORDER, order);
	orma_proto_nested_begin(to, &output->event, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	if (event->category.data)
		orma_output_text(output, ORMA_OUTPUT_CATEGORY, event->category);
	if (event->name.data)
		orma_output_text(output, ORMA_OUTPUT_NAME, event->name);
	return to;
}

/* Begins the packet of an event, and leaves its LegacyEvent open. */
static struct orma_proto_writer *begin_open_event(struct orma_json_writer *writer,
						  const struct orma_json_event *event,
						  struct orma_proto_nested *legacy)
{
	uint32_t order = order_of(event);
	struct orma_proto_writer *to =
		begin_packet(writer, event, choose_sequence(writer, event->ns, order), order);
	orma_proto_nested_begin(to, legacy, ORMA_PB_TRACK_EVENT_LEGACY_EVENT);
	uint8_t *at = orma_proto_heap_writer_reserve(&writer->output->heap, LEGACY_MAX_BYTES);
	if (at)
		to->cursor = put_legacy(at, event);
	return to;
}

/* Begins the packet of an event, with a LegacyEvent of numbers only. */
static struct orma_proto_writer *begin_event(struct orma_json_writer *writer,
					     const struct orma_json_event *event, uint32_t sequence,
					     uint32_t order)
{
	struct orma_proto_writer *to = begin_packet(writer, event, sequence, order);
	uint8_t *at = orma_proto_heap_writer_reserve(&writer->output->heap,
						     ORMA_PROTO_TAG_MAX + 1 + LEGACY_MAX_BYTES);
	if (!at)
		return to;
	uint8_t *length = orma_proto_put_varint(
		at, orma_proto_tag(ORMA_PB_TRACK_EVENT_LEGACY_EVENT, ORMA_PROTO_BYTES));
	at = put_legacy(length + 1, event);
	*length = (uint8_t)(at - length - 1);
	to->cursor = at;
	return to;
}

static int write_event(struct orma_json_writer *writer, const struct orma_json_event *event)
{
	uint32_t order = order_of(event), sequence = choose_sequence(writer, event->ns, order);
	int r = orma_json_record_write(writer->output, event, sequence, order);
	if (r != 0)
		return ORMA_MIN(r, 0);
	begin_event(writer, event, sequence, order);
	if (event->args.size > 0)
		orma_json_args_write(writer->output, &writer->arena, event->args);
	return orma_packet_output_end(writer->output);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Writes an event that names or orders the process or the thread. */
static int write_metadata(struct orma_json_writer *writer, const struct orma_json_event *event,
			  struct orma_str text, const int64_t *number)
{
	struct orma_proto_nested legacy;
	struct orma_proto_writer *to = begin_open_event(writer, event, &legacy);
	if (text.data)
		orma_proto_write_str(to, ORMA_LEGACY_EVENT_TEXT, text);
	if (number)
		orma_proto_write_int(to, ORMA_LEGACY_EVENT_NUMBER, *number);
	orma_packet_output_nested_end(writer->output, &legacy);
	if (text.data)
		orma_output_arg_text(writer->output, ORMA_STR("name"), text);
	return orma_packet_output_end(writer->output);
}

static bool read_sort_index(const struct orma_json_value *value, int64_t *ret)
{
	double real;
	if (value->kind == ORMA_JSON_INTEGER)
		return orma_json_value_i64(value, ret);
	if (value->kind != ORMA_JSON_REAL || !orma_json_value_double(value, &real) ||
	    real > INT32_MAX || real < INT32_MIN)
		return false;
	*ret = (int64_t)real;
	return true;
}

static struct orma_json_scan scan_of(struct orma_str object)
{
	const char *at = object.data ? object.data : "";
	return (struct orma_json_scan){at, at + object.size, true};
}

/* The last field of the wanted name counts. */
static int write_names(struct orma_json_writer *writer, struct orma_json_event *event)
{
	bool is_name = orma_base_str_is(event->name, "process_name") ||
		       orma_base_str_is(event->name, "thread_name");
	bool is_index = orma_base_str_is(event->name, "process_sort_index") ||
			orma_base_str_is(event->name, "thread_sort_index");
	struct orma_json_scan scan = scan_of(event->args);
	struct orma_json_value key, value;
	int r = 0;
	if (!is_name && !is_index)
		return 0;
	while (r == 0 && orma_json_read_field(&scan, &key, &value) == ORMA_JSON_MEMBER) {
		int64_t number;
		struct orma_str text = {NULL, 0};
		if (!orma_base_str_is(key.text, is_name ? "name" : "sort_index"))
			continue;
		if (is_name && value.kind == ORMA_JSON_STRING && value.text.size > 0)
			text = orma_json_unescape(&value, &writer->arena);
		if (text.data)
			r = write_metadata(writer, event, text, NULL);
		else if (is_index && read_sort_index(&value, &number))
			r = write_metadata(writer, event, text, &number);
		else
			r = count(writer, ORMA_STAT_json_parser_failure);
	}
	return r;
}

/* A process or thread that has a name instead of a number gets a number, which its name is given to. 1 when it is new. */
static int number_task(struct orma_json_writer *writer, struct orma_json_id *task, char kind)
{
	if (task->kind != ORMA_JSON_ID_TEXT)
		return 0;
	uint64_t key =
		orma_base_fnv1a(ORMA_FNV1A_INIT + (uint8_t)kind, task->text.data, task->text.size);
	uintptr_t known = (uintptr_t)orma_base_map_get(&writer->names, key);
	task->number = known ? known : NAMED_TASK_FIRST + writer->names.count;
	if (known)
		return 0;
	int r = orma_base_map_put(&writer->names, key, (void *)(uintptr_t)task->number);
	return r < 0 ? r : 1;
}

static int number_tasks(struct orma_json_writer *writer, struct orma_json_event *event)
{
	int process = number_task(writer, &event->pid, 'p');
	int thread = number_task(writer, &event->tid, 't');
	if (process < 0 || thread < 0)
		return -ENOMEM;
	if (event->tid.number == 0 && event->tid.kind != ORMA_JSON_ID_TEXT)
		event->tid.number = event->pid.number;
	if (!process && !thread)
		return 0;
	struct orma_json_event naming = {.phase = 'M',
					 .ns = event->ns,
					 .pid = event->pid,
					 .tid = event->tid,
					 .name = ORMA_STR("process_name")};
	int r = process ? write_metadata(writer, &naming, event->pid.text, NULL) : 0;
	naming.name = ORMA_STR("thread_name");
	if (r == 0 && thread)
		r = write_metadata(writer, &naming, event->tid.text, NULL);
	return r;
}

/* --- counters --------------------------------------------------------------------------------- */

/* Describes a counter to readers that know nothing of JSON. Other packets than events come first of those of one time. */
static int describe_counter(struct orma_json_writer *writer, const struct orma_json_event *event,
			    struct orma_str name, uint64_t uuid)
{
	struct orma_proto_nested track, counter;
	if (orma_base_map_get(&writer->counters, uuid) || writer->counters.count == COUNTERS_MAX)
		return 0;
	int r = orma_base_map_put(&writer->counters, uuid, writer);
	if (r < 0)
		return r;
	uint32_t sequence = choose_sequence(writer, event->ns, 0);
	struct orma_proto_writer *to =
		orma_packet_output_begin(writer->output, sequence, event->ns);
	orma_proto_nested_begin(to, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(to, ORMA_PB_TRACK_DESCRIPTOR_UUID, uuid);
	orma_proto_write_str(to, ORMA_PB_TRACK_DESCRIPTOR_NAME, name);
	orma_proto_nested_begin(to, &counter, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
	return orma_packet_output_end(writer->output);
}

static int write_counter(struct orma_json_writer *writer, const struct orma_json_event *event,
			 double value)
{
	uint64_t uuid = orma_base_fnv1a(ORMA_FNV1A_INIT + event->pid.number, event->name.data,
					event->name.size);
	uuid |= 1; /* 0 is no track */
	int r = describe_counter(writer, event, event->name, uuid);
	if (r < 0)
		return r;
	uint32_t order = order_of(event);
	struct orma_proto_writer *to =
		begin_event(writer, event, choose_sequence(writer, event->ns, order), order);
	orma_proto_write_int(to, ORMA_PB_TRACK_EVENT_TYPE, ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER);
	orma_proto_write_varint(to, ORMA_PB_TRACK_EVENT_TRACK_UUID, uuid);
	orma_proto_write_double(to, ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, value);
	return orma_packet_output_end(writer->output);
}

static bool is_number(const struct orma_json_value *value)
{
	return value->kind == ORMA_JSON_STRING || value->kind == ORMA_JSON_INTEGER ||
	       value->kind == ORMA_JSON_REAL;
}

/* Each number is a counter of the process: "NAME KEY", or "NAME id: ID KEY". */
static int write_counters(struct orma_json_writer *writer, const struct orma_json_event *event)
{
	struct orma_json_scan scan = scan_of(event->args);
	struct orma_json_value key, value;
	struct orma_json_event counter = *event;
	int r = event->args.size > 0 ? 0 : count(writer, ORMA_STAT_json_parser_failure);
	writer->text.size = 0;
	if (event->name.data)
		r = orma_base_buf_append(&writer->text, event->name.data, event->name.size);
	if (r == 0 && event->id.kind == ORMA_JSON_ID_TEXT && event->id.text.size > 0) {
		r = orma_base_buf_append_str(&writer->text, " id: ");
		if (r == 0)
			r = orma_base_buf_append(&writer->text, event->id.text.data,
						 event->id.text.size);
	}
	if (r == 0)
		r = orma_base_buf_append(&writer->text, " ", 1);
	size_t prefix = writer->text.size;
	counter.id.kind = ORMA_JSON_ID_NONE;
	while (r == 0 && orma_json_read_field(&scan, &key, &value) == ORMA_JSON_MEMBER) {
		double number;
		if (!is_number(&value) || !orma_json_value_double(&value, &number)) {
			r = count(writer, ORMA_STAT_json_parser_failure);
			continue;
		}
		struct orma_str name = orma_json_unescape(&key, &writer->arena);
		writer->text.size = prefix;
		r = orma_base_buf_append(&writer->text, name.data, name.size);
		counter.name = (struct orma_str){(char *)writer->text.data, writer->text.size};
		if (r == 0)
			r = write_counter(writer, &counter, number);
	}
	return r;
}

/* --- states ----------------------------------------------------------------------------------- */

static int write_state(struct orma_json_writer *writer, const struct orma_json_event *event)
{
	struct orma_json_scan scan = scan_of(event->args);
	struct orma_json_value key, value;
	struct orma_proto_nested legacy;
	int64_t number;
	struct orma_proto_writer *to = begin_open_event(writer, event, &legacy);
	while (orma_json_read_field(&scan, &key, &value) == ORMA_JSON_MEMBER) {
		bool is_integer = orma_json_value_i64(&value, &number);
		if (is_integer && orma_base_str_is(key.text, "cpu"))
			orma_proto_write_int(to, ORMA_LEGACY_EVENT_NUMBER, number);
		else if (is_integer && orma_base_str_is(key.text, "io_wait"))
			orma_proto_write_int(to, ORMA_LEGACY_EVENT_IO_WAIT, number);
		else if (value.kind == ORMA_JSON_STRING &&
			 orma_base_str_is(key.text, "blocked_function"))
			orma_proto_write_str(to, ORMA_LEGACY_EVENT_TEXT,
					     orma_json_unescape(&value, &writer->arena));
	}
	return orma_packet_output_end(writer->output);
}

/* --- all -------------------------------------------------------------------------------------- */

/* The older phases of asynchronous events; T with a length is the state of a thread. */
static void rename_phase(struct orma_json_event *event)
{
	if (event->phase == 'S')
		event->phase = 'b';
	else if (event->phase == 'F')
		event->phase = 'e';
	else if (event->phase == 'p' || (event->phase == 'T' && !event->has_dur))
		event->phase = 'n';
}

static bool has_id(const struct orma_json_event *event)
{
	return event->id.kind || event->local_id.kind || event->global_id.kind;
}

static int write_by_phase(struct orma_json_writer *writer, struct orma_json_event *event)
{
	bool is_ok = true;
	bool is_of_thread = event->scope != 'g' && event->scope != 'p';
	struct orma_str no_name = ORMA_STR("[No name]");
	switch (event->phase) {
	case 'M':
		return write_names(writer, event);
	case 'C':
		return write_counters(writer, event);
	case 'T':
	case 'X':
		is_ok = event->has_dur && event->dur_ns >= 0;
		break;
	case 'b':
	case 'e':
	case 'n':
		is_ok = event->pid.kind && has_id(event);
		break;
	case 'i':
	case 'I':
	case 'R':
		is_ok = (event->scope != 'p' || event->pid.kind) &&
			(!is_of_thread || event->tid.kind);
		break;
	case 's':
	case 't':
	case 'f':
		if (!orma_json_id_is_flow(&event->id))
			return count(writer, ORMA_STAT_flow_invalid_id);
		break;
	case 'B':
	case 'E':
		break;
	default:
		return 0;
	}
	if (!is_ok)
		return count(writer, ORMA_STAT_json_parser_failure);
	if (!event->name.data && is_of_thread && orma_phase_is_in(event->phase, NAMED_PHASES))
		event->name = no_name;
	return event->phase == 'T' ? write_state(writer, event) : write_event(writer, event);
}

int orma_json_event_write(struct orma_json_writer *writer, struct orma_json_event *event)
{
	if (!event->phase)
		return event->has_fields ? count(writer, ORMA_STAT_json_tokenizer_failure) : 0;
	if (event->is_wrong || (!event->has_ts && event->phase != 'M'))
		return count(writer, ORMA_STAT_json_tokenizer_failure);
	rename_phase(event);
	int r = number_tasks(writer, event);
	return r < 0 ? r : write_by_phase(writer, event);
}
