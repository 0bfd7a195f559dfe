/* SPDX-License-Identifier: Apache-2.0
 * packet_output.c - one ProtoZero writer over a batch; the batch is written when a packet has made it full.
 *
 * Interned data of a packet is collected aside, because the message that needs it is being written at the time, and becomes
 * a field of the same packet at its end. Readers take the state of a packet before its event, wherever it stands.
 */
#include "formats/packet_output.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/conversion_report.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "store/grow.h"
#include "trace/conversion_fields.h"
#include "trace/event_record.h"

enum {
	BATCH_BYTES = 256 << 10,
	STRING_MAX_BYTES = 4 << 10, /* longer strings are not interned */
	STRINGS_MAX = 1 << 20,
	STRINGS_MAX_BYTES = 64 << 20,
	/* TracePacket.sequence_flags */
	STATE_CLEARED = 1,
	NEEDS_STATE = 2,
	/* InternedData: fields of each message with a name */
	INTERNED_IID = 1,
	INTERNED_NAME = 2,
};

struct orma_output_string {
	struct orma_output_string *next; /* another of the same hash */
	uint32_t number, field;
	size_t size;
	char text[];
};

void orma_packet_output_init(struct orma_packet_output *output, struct orma_trace_bytes *bytes)
{
	*output = (struct orma_packet_output){.bytes = bytes};
	orma_proto_heap_writer_init(&output->heap, &output->batch);
	orma_proto_heap_writer_init(&output->interned_heap, &output->interned);
}

static void set_error(struct orma_packet_output *output, int error)
{
	if (output->error == 0 && error < 0)
		output->error = error;
}

static void flush(struct orma_packet_output *output)
{
	uint64_t address;
	set_error(output, orma_proto_heap_writer_finish(&output->heap));
	if (output->error == 0 && output->batch.size > 0)
		set_error(output, orma_trace_bytes_add(output->bytes, output->batch.data,
						       output->batch.size, &address));
	if (output->error == 0 && output->batch.size > 0 && output->converted) {
		const struct orma_converted_packets packets = {.data = output->batch.data,
							       .size = output->batch.size,
							       .address = address,
							       .runs = output->runs,
							       .run_count = output->run_count};
		set_error(output, output->converted(output->converted_ctx, &packets));
	}
	output->batch.size = 0;
	output->run_count = 0;
	orma_proto_heap_writer_init(&output->heap, &output->batch);
}

static struct orma_proto_writer *begin(struct orma_packet_output *output)
{
	orma_proto_nested_begin(&output->heap.writer, &output->packet, ORMA_PB_TRACE_PACKET);
	return &output->heap.writer;
}

static void write_primary_clock(struct orma_packet_output *output)
{
	struct orma_proto_nested snapshot;
	struct orma_proto_writer *writer = begin(output);
	orma_proto_nested_begin(writer, &snapshot, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, output->clock);
	orma_proto_nested_end(writer, &output->packet);
	output->has_clock = true;
}

static void begin_sequence(struct orma_packet_output *output, uint32_t sequence)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested defaults;
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	if (output->clock) {
		orma_proto_nested_begin(writer, &defaults,
					ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
		orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
					output->clock);
		orma_proto_nested_end(writer, &defaults);
	}
	output->states[sequence].has_begun = true;
}

/* The time is first, because readers look for it there. */
static struct orma_proto_writer *begin_packet(struct orma_packet_output *output, uint32_t sequence,
					      const int64_t *ns)
{
	ORMA_ASSERT(sequence > 0 && sequence <= ORMA_OUTPUT_SEQUENCES_MAX);
	if (ORMA_UNLIKELY(output->clock && !output->has_clock))
		write_primary_clock(output);
	struct orma_proto_writer *writer = begin(output);
	output->sequence = sequence - 1;
	if (ns)
		orma_proto_write_int(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, *ns);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	if (ORMA_LIKELY(output->states[sequence - 1].has_begun))
		orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	else
		begin_sequence(output, sequence - 1);
	return writer;
}

struct orma_proto_writer *orma_packet_output_begin_untimed(struct orma_packet_output *output,
							   uint32_t sequence)
{
	return begin_packet(output, sequence, NULL);
}

struct orma_proto_writer *orma_packet_output_begin(struct orma_packet_output *output,
						   uint32_t sequence, int64_t ns)
{
	return begin_packet(output, sequence, &ns);
}

static void write_interned(struct orma_packet_output *output)
{
	set_error(output, orma_proto_heap_writer_finish(&output->interned_heap));
	orma_proto_write_bytes(&output->heap.writer, ORMA_PB_TRACE_PACKET_INTERNED_DATA,
			       output->interned.data, output->interned.size);
	output->interned.size = 0;
	orma_proto_heap_writer_init(&output->interned_heap, &output->interned);
	output->has_interned = false;
}

/* Ends the message that was opened last. */
static void end_innermost(struct orma_packet_output *output)
{
	enum { LENGTH_MAX = (1 << 14) - 1 };
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested *nested = writer->open;
	uint8_t *at = nested->length_field, *content = at + ORMA_PROTO_LENGTH_BYTES;
	size_t size = (size_t)(writer->cursor - content);
	/* A message that began before the buffer grew stays as it is. */
	if (output->heap.has_failed || content < writer->begin || size > LENGTH_MAX) {
		orma_proto_nested_end(writer, nested);
		return;
	}
	at = orma_proto_put_varint(at, size);
	memmove(at, content, size);
	writer->cursor = at + size;
	writer->open = nested->parent;
}

void orma_packet_output_nested_end(struct orma_packet_output *output,
				   struct orma_proto_nested *nested)
{
	while (output->heap.writer.open != nested)
		end_innermost(output);
	end_innermost(output);
}

int orma_packet_output_end(struct orma_packet_output *output)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	while (writer->open && writer->open != &output->packet)
		end_innermost(output);
	if (output->has_interned)
		write_interned(output);
	orma_packet_output_nested_end(output, &output->packet);
	if (orma_proto_writer_written(writer) >= BATCH_BYTES)
		flush(output);
	return output->error;
}

/* Notes that a record of the chosen sequence is in the batch. A time before 0 is counted by the index. */
static inline void note_record(struct orma_packet_output *output, const uint8_t *record,
			       size_t offset, size_t size)
{
	struct orma_event_record head;
	memcpy(&head, record, sizeof(head));
	const struct orma_event_place place = {head.ns, head.order};
	struct orma_record_run *last =
		output->run_count > 0 ? &output->runs[output->run_count - 1] : NULL;
	if (head.ns < 0)
		return;
	if (last && last->offset + last->size == offset && last->sequence == head.sequence) {
		last->is_disordered |= orma_event_place_is_before(&place, &last->last);
		last->last = place;
		last->max_ns = ORMA_MAX(last->max_ns, head.ns);
		last->size += size;
		last->count++;
	} else if (output->run_count < ORMA_OUTPUT_RUNS) {
		output->runs[output->run_count++] = (struct orma_record_run){
			offset, size, head.sequence, 1, place, place, head.ns, false};
	}
}

int orma_packet_output_record(struct orma_packet_output *output,
			      const uint8_t record[ORMA_RECORD_MAX_BYTES], size_t size,
			      struct orma_str text)
{
	enum { HEADS_MAX = 2 * (ORMA_PROTO_TAG_MAX + ORMA_PROTO_VARINT_MAX) };
	const uint32_t tag = orma_proto_tag(ORMA_PACKET_EVENT_RECORD, ORMA_PROTO_BYTES);
	struct orma_proto_writer *writer = &output->heap.writer;
	/* Few packets have interned data. */
	if (ORMA_UNLIKELY(output->has_interned)) {
		struct orma_proto_nested field;
		begin(output);
		orma_proto_nested_begin(writer, &field, ORMA_PACKET_EVENT_RECORD);
		orma_proto_write_raw(writer, record, size);
		orma_proto_write_raw(writer, text.data, text.size);
		orma_proto_nested_end(writer, &field);
		return orma_packet_output_end(output);
	}
	size_t offset = (size_t)orma_proto_writer_written(writer);
	uint8_t *at = orma_proto_heap_writer_reserve(&output->heap,
						     HEADS_MAX + ORMA_RECORD_MAX_BYTES + text.size);
	if (at) {
		size_t content = size + text.size, all = orma_proto_varint_size(tag) +
							 orma_proto_varint_size(content) + content;
		at = orma_proto_put_varint(at,
					   orma_proto_tag(ORMA_PB_TRACE_PACKET, ORMA_PROTO_BYTES));
		at = orma_proto_put_varint(orma_proto_put_varint(at, all), tag);
		at = orma_proto_put_varint(at, content);
		/* A copy of a constant size needs no call; the text or the next packet overwrites what is too much. */
		memcpy(at, record, ORMA_RECORD_MAX_BYTES);
		if (text.size > 0)
			memcpy(at + size, text.data, text.size);
		writer->cursor = at + content;
		note_record(output, record, offset,
			    (size_t)orma_proto_writer_written(writer) - offset);
	}
	if (orma_proto_writer_written(writer) >= BATCH_BYTES)
		flush(output);
	return output->error;
}

struct orma_proto_writer *orma_packet_output_interned(struct orma_packet_output *output)
{
	output->has_interned = true;
	return &output->interned_heap.writer;
}

/* Returns the last eight bytes of a text, or all of a shorter one; texts of one size that differ in these bytes have other words. */
static inline uint64_t last_word(const char *text, size_t size)
{
	uint64_t word = 0;
	uint32_t first, last;
	if (size >= sizeof(word)) {
		memcpy(&word, text + size - sizeof(word), sizeof(word));
	} else if (size >= sizeof(first)) {
		memcpy(&first, text, sizeof(first));
		memcpy(&last, text + size - sizeof(last), sizeof(last));
		word = (uint64_t)last << 32 | first;
	} else if (size > 0) {
		word = (uint64_t)(uint8_t)text[0] << 16 | (uint64_t)(uint8_t)text[size / 2] << 8 |
		       (uint8_t)text[size - 1];
	}
	return word;
}

/* Eight bytes at a time, because names are hashed for each event. The map mixes the bits once more. */
static uint64_t hash_string(uint32_t field, struct orma_str text)
{
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t hash = (field + text.size * factor) * factor, word;
	for (size_t at = 0; at + sizeof(word) < text.size; at += sizeof(word)) {
		memcpy(&word, text.data + at, sizeof(word));
		hash = (hash ^ word) * factor;
		hash ^= hash >> 32;
	}
	return (hash ^ last_word(text.data, text.size)) * factor;
}

/* Compares in place: most texts are shorter than what a call of memcmp() is worth. */
static inline bool is_string(const struct orma_output_string *string, uint32_t field,
			     struct orma_str text)
{
	uint64_t a, b;
	if (string->field != field || string->size != text.size)
		return false;
	for (size_t at = 0; at + sizeof(a) < text.size; at += sizeof(a)) {
		memcpy(&a, string->text + at, sizeof(a));
		memcpy(&b, text.data + at, sizeof(b));
		if (a != b)
			return false;
	}
	return last_word(string->text, text.size) == last_word(text.data, text.size);
}

/* Finds a string in the map, or adds it. Returns NULL for a string that is not interned. */
static struct orma_output_string *search_string(struct orma_packet_output *output, uint32_t field,
						struct orma_str text, uint64_t hash)
{
	struct orma_output_string *first = orma_base_map_get(&output->strings, hash);
	for (struct orma_output_string *string = first; string; string = string->next)
		if (is_string(string, field, text))
			return string;
	if (output->string_count == STRINGS_MAX ||
	    output->arena.used_bytes + text.size > STRINGS_MAX_BYTES)
		return NULL;
	struct orma_output_string *string =
		orma_base_arena_alloc(&output->arena, sizeof(*string) + text.size);
	bool is_short = !string;
	if (!is_short) {
		*string = (struct orma_output_string){first, ++output->string_count, field,
						      text.size};
		memcpy(string->text, text.data, text.size);
		is_short = orma_base_map_put(&output->strings, hash, string) < 0;
	}
	if (is_short)
		set_error(output, -ENOMEM);
	return is_short ? NULL : string;
}

/* The same. Few strings are most of those that a trace has. */
static inline struct orma_output_string *find_string(struct orma_packet_output *output,
						     uint32_t field, struct orma_str text)
{
	uint64_t hash = hash_string(field, text);
	struct orma_output_string **recent =
		&output->recent[hash >> (64 - ORMA_OUTPUT_RECENT_BITS)];
	if (*recent && is_string(*recent, field, text))
		return *recent;
	struct orma_output_string *string = search_string(output, field, text, hash);
	*recent = string ? string : *recent;
	return string;
}

/* Returns false when the sequence has the string. */
static bool take_string(struct orma_packet_output *output, uint32_t number)
{
	struct orma_output_state *state = &output->states[output->sequence];
	uint32_t word = number / 64, before = state->capacity;
	uint64_t bit = UINT64_C(1) << number % 64;
	if (word >= state->capacity) {
		int r = orma_store_grow(&state->has_string, (uint64_t)word + 1, &state->capacity,
					sizeof(*state->has_string));
		set_error(output, r);
		if (r < 0)
			return true;
		memset(state->has_string + before, 0,
		       (state->capacity - before) * sizeof(*state->has_string));
	}
	if (state->has_string[word] & bit)
		return false;
	state->has_string[word] |= bit;
	return true;
}

uint64_t orma_packet_output_intern(struct orma_packet_output *output, uint32_t field,
				   struct orma_str text)
{
	struct orma_proto_nested entry;
	struct orma_output_string *string = text.size > 0 && text.size <= STRING_MAX_BYTES
						    ? find_string(output, field, text)
						    : NULL;
	if (!string)
		return 0;
	if (take_string(output, string->number)) {
		struct orma_proto_writer *writer = orma_packet_output_interned(output);
		orma_proto_nested_begin(writer, &entry, field);
		orma_proto_write_varint(writer, INTERNED_IID, string->number);
		orma_proto_write_str(writer, INTERNED_NAME, text);
		orma_proto_nested_end(writer, &entry);
	}
	return string->number;
}

static void write_report(struct orma_packet_output *output, const char *format_name,
			 uint64_t size_bytes)
{
	struct orma_proto_writer *writer = begin(output);
	struct orma_proto_nested report, stat;
	orma_proto_nested_begin(writer, &report, ORMA_PACKET_CONVERSION_REPORT);
	orma_proto_write_string(writer, ORMA_PB_CONVERSION_REPORT_FORMAT, format_name);
	orma_proto_write_varint(writer, ORMA_PB_CONVERSION_REPORT_SIZE_BYTES, size_bytes);
	orma_proto_write_bool(writer, ORMA_PB_CONVERSION_REPORT_LACKS_IDLE_TASK,
			      output->lacks_idle_task);
	for (uint32_t i = 0; i < output->stats.count; i++) {
		const struct orma_stat_value *value = &output->stats.values[i];
		orma_proto_nested_begin(writer, &stat, ORMA_PB_CONVERSION_REPORT_STATS);
		orma_proto_write_string(writer, ORMA_PB_CONVERSION_REPORT_STAT_NAME,
					orma_stat_name(value->stat));
		orma_proto_write_int(writer, ORMA_PB_CONVERSION_REPORT_STAT_IDX, value->idx);
		orma_proto_write_int(writer, ORMA_PB_CONVERSION_REPORT_STAT_VALUE, value->value);
		orma_proto_nested_end(writer, &stat);
	}
	orma_proto_nested_end(writer, &output->packet);
}

int orma_packet_output_finish(struct orma_packet_output *output, const char *format_name,
			      uint64_t size_bytes)
{
	set_error(output, output->stats.error);
	if (output->clock && !output->has_clock)
		write_primary_clock(output);
	write_report(output, format_name, size_bytes);
	flush(output);
	for (uint32_t i = 0; i < ORMA_OUTPUT_SEQUENCES_MAX; i++)
		orma_base_free(output->states[i].has_string);
	orma_stats_done(&output->stats);
	orma_base_map_done(&output->strings);
	orma_base_arena_done(&output->arena);
	orma_base_buf_done(&output->batch);
	orma_base_buf_done(&output->interned);
	return output->error;
}
