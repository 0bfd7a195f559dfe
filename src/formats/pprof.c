/* SPDX-License-Identifier: Apache-2.0
 * pprof.c - profiles of pprof: a Profile message, mostly inside of gzip.
 *
 * Everything names everything else by number, and strings may come last, so the file is read as a whole and its tables are
 * noted before the samples are written.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "formats/format.h"
#include "formats/stack_output.h"
#include "formats/text_lines.h"
#include "schema/gen/stack_sample.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "store/grow.h"
#include "trace/clocks.h"
#include "trace/message_fields.h"
#include "trace/track_event_read.h"

/* Fields of Profile, and of the messages in it. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_FIELDS_MAX = 15,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	ID = 1, /* mappings, locations and functions have one */
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_NAME = 5,
	MAPPING_BUILD_ID = 6,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_NUMBER = 2,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

enum {
	SEQUENCE = 1,
	VALUES_MAX = 32,
	INLINED_MAX = 256,
	FILE_MAX_BYTES = 1 << 30,
	BUILD_ID_MAX = 64
};

struct pprof {
	struct orma_stack_output stacks;
	struct orma_str bytes;
	struct orma_str *strings;
	uint32_t string_count, string_capacity;
	struct orma_map messages; /* struct orma_str by table and id */
	struct orma_arena arena;
	struct orma_output_weight weights[VALUES_MAX];
	size_t weight_count;
	uint64_t frames[ORMA_STACK_FRAMES_MAX];
};

/* A ValueType is two numbers. No packet of a trace has such fields, so this tells a profile from a trace. */
static bool is_value_type(struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		if (field.id > VALUE_UNIT || field.type != ORMA_PROTO_VARINT)
			return false;
	return r == 0 && bytes.size > 0;
}

static bool detect(int fd, struct orma_str beginning)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	bool has_type = false, has_more = false;
	(void)fd;
	orma_proto_reader_init(&reader, beginning.data, beginning.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		bool is_message = field.id <= PROFILE_STRING;
		bool is_bytes = field.type == ORMA_PROTO_BYTES;
		if (field.id > PROFILE_FIELDS_MAX || (is_message && !is_bytes))
			return false;
		if (field.id == PROFILE_SAMPLE_TYPE && !is_value_type(field.bytes))
			return false;
		has_type |= field.id == PROFILE_SAMPLE_TYPE;
		has_more |= field.id != PROFILE_SAMPLE_TYPE;
	}
	/* Some write the strings first, of which the first is empty. */
	bool begins_with_strings = beginning.size > 2 && memcmp(beginning.data, "2", 2) == 0;
	return has_more ? has_type || begins_with_strings
			: has_type && beginning.size == ORMA_FORMAT_BEGINNING_BYTES;
}

static struct orma_str string_at(const struct pprof *pprof, uint64_t idx)
{
	return idx > 0 && idx < pprof->string_count ? pprof->strings[idx]
						    : (struct orma_str){NULL, 0};
}

static uint64_t key_of(uint32_t table, uint64_t id)
{
	uint64_t words[] = {table, id};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

/* Reads a mapping, a location or a function. False when there is none with this number. */
static bool find_message(const struct pprof *pprof, uint32_t table, uint64_t id,
			 struct orma_message *ret)
{
	const struct orma_str *bytes = orma_base_map_get(&pprof->messages, key_of(table, id));
	if (bytes)
		orma_message_read(ret, *bytes);
	return bytes != NULL;
}

static int note_message(struct pprof *pprof, uint32_t table, struct orma_str bytes)
{
	struct orma_proto_field id;
	struct orma_str *copy = orma_base_arena_memdup(&pprof->arena, &bytes, sizeof(bytes));
	if (orma_proto_reader_find(bytes.data, bytes.size, ID, &id) <= 0)
		return 0;
	return copy ? orma_base_map_put(&pprof->messages, key_of(table, id.value), copy) : -ENOMEM;
}

static int note_string(struct pprof *pprof, struct orma_str text)
{
	int r = orma_store_grow(&pprof->strings, (uint64_t)pprof->string_count + 1,
				&pprof->string_capacity, sizeof(*pprof->strings));
	if (r == 0)
		pprof->strings[pprof->string_count++] = text;
	return r;
}

/* Notes all tables. 0, -EBADMSG when the file is cut or damaged, or -ENOMEM. */
static int note_tables(struct pprof *pprof)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0, next;
	orma_proto_reader_init(&reader, pprof->bytes.data, pprof->bytes.size);
	while (r == 0 && (next = orma_proto_reader_next(&reader, &field)) != 0) {
		if (next < 0)
			return next;
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == PROFILE_STRING)
			r = note_string(pprof, field.bytes);
		else if (field.id >= PROFILE_MAPPING && field.id <= PROFILE_FUNCTION)
			r = note_message(pprof, field.id, field.bytes);
	}
	return r;
}

static void read_weights(struct pprof *pprof)
{
	struct orma_proto_reader reader;
	struct orma_message message;
	struct orma_str bytes;
	orma_proto_reader_init(&reader, pprof->bytes.data, pprof->bytes.size);
	while (pprof->weight_count < VALUES_MAX &&
	       orma_message_next(&reader, PROFILE_SAMPLE_TYPE, &bytes)) {
		struct orma_output_weight *weight = &pprof->weights[pprof->weight_count++];
		orma_message_read(&message, bytes);
		weight->name = string_at(pprof, orma_message_number(&message, VALUE_TYPE));
		weight->unit = string_at(pprof, orma_message_number(&message, VALUE_UNIT));
	}
}

/* A build id is written in hexadecimal digits, if it is one. Returns its bytes. */
static struct orma_str read_build_id(struct orma_str text, char buf[BUILD_ID_MAX])
{
	uint64_t byte;
	if (text.size % 2 != 0 || text.size / 2 > BUILD_ID_MAX)
		return (struct orma_str){NULL, 0};
	for (size_t i = 0; i < text.size / 2; i++) {
		if (!orma_text_read_u64((struct orma_str){text.data + 2 * i, 2}, 16, &byte))
			return (struct orma_str){NULL, 0};
		buf[i] = (char)byte;
	}
	return (struct orma_str){buf, text.size / 2};
}

static uint64_t write_mapping(struct pprof *pprof, uint64_t id, uint64_t *ret_bias)
{
	struct orma_message message;
	char build_id[BUILD_ID_MAX];
	struct orma_output_mapping mapping = {.name = {NULL, 0}};
	*ret_bias = 0;
	if (id && find_message(pprof, PROFILE_MAPPING, id, &message)) {
		mapping.name = string_at(pprof, orma_message_number(&message, MAPPING_NAME));
		mapping.start = orma_message_number(&message, MAPPING_START);
		mapping.end = orma_message_number(&message, MAPPING_LIMIT);
		mapping.offset = orma_message_number(&message, MAPPING_OFFSET);
		mapping.build_id = read_build_id(
			string_at(pprof, orma_message_number(&message, MAPPING_BUILD_ID)),
			build_id);
		*ret_bias = mapping.offset - mapping.start;
	}
	return orma_stack_output_mapping(&pprof->stacks, &mapping);
}

/* Writes the frames of a location before `end` of the array: inlined functions are callees of the last. Returns how many. */
static size_t write_location(struct pprof *pprof, uint64_t id, size_t end)
{
	struct orma_message location, line, function;
	struct orma_proto_reader reader;
	struct orma_str bytes;
	uint64_t bias;
	size_t count = 0;
	if (!find_message(pprof, PROFILE_LOCATION, id, &location))
		return 0;
	struct orma_output_frame frame = {
		.mapping = write_mapping(pprof, orma_message_number(&location, LOCATION_MAPPING),
					 &bias)};
	uint64_t address = orma_message_number(&location, LOCATION_ADDRESS);
	frame.rel_pc = address ? address + bias : 0;
	orma_proto_reader_init(&reader, location.bytes.data, location.bytes.size);
	while (count < end && count < INLINED_MAX &&
	       orma_message_next(&reader, LOCATION_LINE, &bytes)) {
		orma_message_read(&line, bytes);
		frame.line = (uint32_t)orma_message_number(&line, LINE_NUMBER);
		frame.name = frame.source_file = (struct orma_str){NULL, 0};
		if (find_message(pprof, PROFILE_FUNCTION, orma_message_number(&line, LINE_FUNCTION),
				 &function)) {
			frame.name =
				string_at(pprof, orma_message_number(&function, FUNCTION_NAME));
			if (frame.name.size == 0)
				frame.name =
					string_at(pprof, orma_message_number(&function,
									     FUNCTION_SYSTEM_NAME));
			frame.source_file =
				string_at(pprof, orma_message_number(&function, FUNCTION_FILE));
		}
		pprof->frames[end - ++count] = orma_stack_output_frame(&pprof->stacks, &frame);
	}
	if (count == 0 && end > 0)
		pprof->frames[end - ++count] = orma_stack_output_frame(&pprof->stacks, &frame);
	return count;
}

static int write_sample(struct pprof *pprof, struct orma_str bytes)
{
	struct orma_packet_output *output = pprof->stacks.output;
	struct orma_proto_writer *writer = orma_packet_output_begin(output, SEQUENCE, 0);
	struct orma_proto_nested sample;
	struct orma_repeated numbers;
	int64_t values[VALUES_MAX];
	size_t value_count = 0, begin = ORMA_STACK_FRAMES_MAX;
	uint64_t number;
	orma_repeated_init(&numbers, bytes, SAMPLE_LOCATIONS);
	while (begin > 0 && orma_repeated_next(&numbers, &number)) {
		size_t count = write_location(pprof, number, begin);
		if (count == 0)
			orma_packet_output_count(output, ORMA_STAT_stackprofile_invalid_frame_id);
		begin -= count;
	}
	orma_repeated_init(&numbers, bytes, SAMPLE_VALUES);
	while (value_count < pprof->weight_count && orma_repeated_next(&numbers, &number))
		values[value_count++] = (int64_t)number;
	orma_proto_nested_begin(writer, &sample, ORMA_PB_TRACE_PACKET_STACK_SAMPLE);
	if (begin < ORMA_STACK_FRAMES_MAX)
		orma_proto_write_varint(writer, ORMA_PB_STACK_SAMPLE_CALLSTACK_IID,
					orma_stack_output_stack(&pprof->stacks,
								pprof->frames + begin,
								ORMA_STACK_FRAMES_MAX - begin));
	orma_stack_output_weights(&pprof->stacks, values, value_count);
	return orma_packet_output_end(output);
}

static int write_samples(struct pprof *pprof)
{
	struct orma_proto_reader reader;
	struct orma_str bytes;
	int r = orma_stack_output_begin_samples(&pprof->stacks, SEQUENCE, "pprof", pprof->weights,
						pprof->weight_count);
	orma_proto_reader_init(&reader, pprof->bytes.data, pprof->bytes.size);
	while (r == 0 && orma_message_next(&reader, PROFILE_SAMPLE, &bytes))
		r = write_sample(pprof, bytes);
	return r;
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	uint64_t size = orma_trace_bytes_end(conversion->input);
	struct orma_trace_window window = {0};
	const uint8_t *data;
	if (size > FILE_MAX_BYTES)
		return orma_base_error_set(reterr, -EFBIG, "the profile is larger than 1 GB");
	struct pprof *pprof = orma_base_zalloc(sizeof(*pprof));
	int r = pprof ? orma_trace_window_read(&window, conversion->input, 0, (size_t)size,
					       (size_t)size, &data)
		      : -ENOMEM;
	if (r > 0) {
		pprof->bytes = (struct orma_str){(const char *)data, (size_t)size};
		pprof->stacks.output = conversion->output;
		conversion->output->clock = ORMA_CLOCK_TRACE_FILE;
		r = note_tables(pprof);
		int damage = r == -EBADMSG ? r : 0;
		if (r == 0 || damage) {
			read_weights(pprof);
			r = write_samples(pprof);
		}
		if (r == 0 && damage)
			r = orma_base_error_set(reterr, damage, "the profile is cut or damaged");
		orma_stack_output_done(&pprof->stacks);
		orma_base_map_done(&pprof->messages);
		orma_base_arena_done(&pprof->arena);
		orma_base_free(pprof->strings);
	}
	orma_base_free(pprof);
	orma_trace_window_done(&window);
	return r;
}

const struct orma_format orma_format_pprof = {"pprof", false, false, detect, convert};
