/* SPDX-License-Identifier: Apache-2.0
 * stack_output.c - see stack_output.h. Equal hashes of 64 bits are taken for equal content, as in src/trace/call_stacks.c.
 */
#include "formats/stack_output.h"

#include "base/macros.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/stack_sample.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "trace/conversion_fields.h"

enum { NAME_MAX_BYTES = 4 << 10 };

void orma_stack_output_done(struct orma_stack_output *stacks)
{
	orma_base_map_done(&stacks->numbers);
}

/* Returns the number of a content, and whether the sequence has it. */
static uint64_t find(struct orma_stack_output *stacks, uint64_t hash, bool *ret_is_known)
{
	uint64_t words[] = {stacks->output->sequence, hash};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&stacks->numbers, key);
	*ret_is_known = known > 0;
	if (known > 0)
		return known;
	int r = orma_base_map_put(&stacks->numbers, key, (void *)(uintptr_t)++stacks->last_number);
	if (r < 0 && stacks->output->error == 0)
		stacks->output->error = r;
	return stacks->last_number;
}

static uint64_t intern(struct orma_stack_output *stacks, uint32_t field, struct orma_str text)
{
	text.size = ORMA_MIN(text.size, (size_t)NAME_MAX_BYTES);
	return text.data ? orma_packet_output_intern(stacks->output, field, text) : 0;
}

static void write_number(struct orma_proto_writer *writer, uint32_t field, uint64_t number)
{
	if (number)
		orma_proto_write_varint(writer, field, number);
}

uint64_t orma_stack_output_mapping(struct orma_stack_output *stacks,
				   const struct orma_output_mapping *mapping)
{
	uint64_t words[] = {
		ORMA_PB_INTERNED_DATA_MAPPINGS, mapping->start,    mapping->end, mapping->offset,
		mapping->build_id.size,         mapping->is_shared};
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	struct orma_proto_nested entry;
	bool is_known;
	hash = orma_base_fnv1a(hash, mapping->name.data, mapping->name.size);
	hash = orma_base_fnv1a(hash, mapping->build_id.data, mapping->build_id.size);
	uint64_t number = find(stacks, hash, &is_known);
	if (is_known)
		return number;
	uint64_t name = intern(stacks, ORMA_PB_INTERNED_DATA_MAPPING_PATHS, mapping->name);
	uint64_t build_id = intern(stacks, ORMA_PB_INTERNED_DATA_BUILD_IDS, mapping->build_id);
	struct orma_proto_writer *writer = orma_packet_output_interned(stacks->output);
	orma_proto_nested_begin(writer, &entry, ORMA_PB_INTERNED_DATA_MAPPINGS);
	orma_proto_write_varint(writer, ORMA_PB_MAPPING_IID, number);
	write_number(writer, ORMA_PB_MAPPING_BUILD_ID, build_id);
	write_number(writer, ORMA_PB_MAPPING_START, mapping->start);
	write_number(writer, ORMA_PB_MAPPING_END, mapping->end);
	write_number(writer, ORMA_PB_MAPPING_EXACT_OFFSET, mapping->offset);
	write_number(writer, ORMA_PB_MAPPING_START_OFFSET, mapping->offset);
	write_number(writer, ORMA_PB_MAPPING_PATH_STRING_IDS, name);
	orma_proto_write_bool(writer, ORMA_MAPPING_HAS_WHOLE_NAME, true);
	if (mapping->is_shared)
		orma_proto_write_bool(writer, ORMA_MAPPING_IS_SHARED, true);
	orma_proto_nested_end(writer, &entry);
	return number;
}

uint64_t orma_stack_output_frame(struct orma_stack_output *stacks,
				 const struct orma_output_frame *frame)
{
	uint64_t words[] = {ORMA_PB_INTERNED_DATA_FRAMES, frame->mapping, frame->rel_pc,
			    frame->line, frame->name.size};
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	struct orma_proto_nested entry;
	bool is_known;
	hash = orma_base_fnv1a(hash, frame->name.data, frame->name.size);
	hash = orma_base_fnv1a(hash, frame->source_file.data, frame->source_file.size);
	uint64_t number = find(stacks, hash, &is_known);
	if (is_known)
		return number;
	uint64_t name = intern(stacks, ORMA_PB_INTERNED_DATA_FUNCTION_NAMES, frame->name);
	uint64_t file = intern(stacks, ORMA_PB_INTERNED_DATA_SOURCE_PATHS, frame->source_file);
	struct orma_proto_writer *writer = orma_packet_output_interned(stacks->output);
	orma_proto_nested_begin(writer, &entry, ORMA_PB_INTERNED_DATA_FRAMES);
	orma_proto_write_varint(writer, ORMA_PB_FRAME_IID, number);
	write_number(writer, ORMA_PB_FRAME_FUNCTION_NAME_ID, name);
	write_number(writer, ORMA_PB_FRAME_MAPPING_ID, frame->mapping);
	write_number(writer, ORMA_PB_FRAME_REL_PC, frame->rel_pc);
	write_number(writer, ORMA_PB_FRAME_SOURCE_PATH_IID, file);
	write_number(writer, ORMA_PB_FRAME_LINE_NUMBER, frame->line);
	orma_proto_nested_end(writer, &entry);
	return number;
}

uint64_t orma_stack_output_stack(struct orma_stack_output *stacks, const uint64_t *frames,
				 size_t count)
{
	uint64_t field = ORMA_PB_INTERNED_DATA_CALLSTACKS;
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, &field, sizeof(field));
	struct orma_proto_nested entry;
	bool is_known;
	uint64_t number =
		find(stacks, orma_base_fnv1a(hash, frames, count * sizeof(*frames)), &is_known);
	if (is_known)
		return number;
	struct orma_proto_writer *writer = orma_packet_output_interned(stacks->output);
	orma_proto_nested_begin(writer, &entry, ORMA_PB_INTERNED_DATA_CALLSTACKS);
	orma_proto_write_varint(writer, ORMA_PB_CALLSTACK_IID, number);
	for (size_t i = 0; i < count; i++)
		orma_proto_write_varint(writer, ORMA_PB_CALLSTACK_FRAME_IDS, frames[i]);
	orma_proto_nested_end(writer, &entry);
	return number;
}

static void write_weight(struct orma_proto_writer *writer, uint32_t field,
			 const struct orma_output_weight *weight)
{
	static const struct {
		const char *name;
		uint32_t unit;
	} units[] = {{"nanoseconds", ORMA_PB_STACK_SAMPLE_UNIT_UNIT_NANOSECONDS},
		     {"count", ORMA_PB_STACK_SAMPLE_UNIT_UNIT_COUNT},
		     {"bytes", ORMA_PB_STACK_SAMPLE_UNIT_UNIT_BYTES}};
	struct orma_proto_nested descriptor;
	uint32_t unit = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(units); i++)
		if (orma_base_str_is_equal(weight->unit, orma_base_str(units[i].name)))
			unit = units[i].unit;
	orma_proto_nested_begin(writer, &descriptor, field);
	orma_proto_write_str(writer, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_NAME, weight->name);
	if (unit)
		orma_proto_write_varint(writer, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT, unit);
	else
		orma_proto_write_str(writer, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT_STR,
				     weight->unit);
	orma_proto_nested_end(writer, &descriptor);
}

int orma_stack_output_begin_samples(struct orma_stack_output *stacks, uint32_t sequence,
				    const char *source, const struct orma_output_weight *weights,
				    size_t weight_count)
{
	struct orma_proto_nested defaults, samples;
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(stacks->output, sequence);
	/* It is merged with the defaults that each sequence has. */
	orma_proto_nested_begin(writer, &defaults, ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
				stacks->output->clock);
	orma_proto_nested_begin(writer, &samples,
				ORMA_PB_TRACE_PACKET_DEFAULTS_STACK_SAMPLE_DEFAULTS);
	orma_proto_write_string(writer, ORMA_PB_STACK_SAMPLE_DEFAULTS_SOURCE, source);
	for (size_t i = 0; i < weight_count; i++)
		write_weight(writer,
			     i == 0 ? ORMA_PB_STACK_SAMPLE_DEFAULTS_PRIMARY_DESCRIPTOR
				    : ORMA_PB_STACK_SAMPLE_DEFAULTS_FOLLOWER_DESCRIPTORS,
			     &weights[i]);
	return orma_packet_output_end(stacks->output);
}

void orma_stack_output_weights(struct orma_stack_output *stacks, const int64_t *weights,
			       size_t count)
{
	struct orma_proto_writer *writer = &stacks->output->heap.writer;
	for (size_t i = 0; i < count; i++)
		orma_proto_write_int(writer,
				     i == 0 ? ORMA_PB_STACK_SAMPLE_PRIMARY_WEIGHT
					    : ORMA_PB_STACK_SAMPLE_FOLLOWER_WEIGHTS,
				     ORMA_MAX(weights[i], (int64_t)0));
}
