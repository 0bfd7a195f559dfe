/* SPDX-License-Identifier: Apache-2.0
 * heap_output.c - the sequence of packets, and the tables that they refer to.
 *
 * A sequence begins with empty strings with the number 0, as upstream's does. Stacks are described after the samples that refer to
 * them, because readers look them up at the end of the dump.
 *
 * Numbers never change. After the service has asked for a new incremental state, the next dump describes everything again with the
 * old numbers. Rejected: src/profile/stack_intern.h, which begins at 1 again, because a reader would then count the earlier
 * allocations of a stack twice.
 */
#include "probes/heap/heap_output.h"

#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/trace_packet.pb.h"

/* The size at which a packet with tables is written. */
#define INTERNED_BYTES (64u << 10)

#define PROCESS(name) ORMA_PB_PROCESS_TREE_PROCESS_##name

enum { IID_STRING, IID_FRAME, IID_STACK };

struct orma_heap_string {
	struct orma_heap_shown shown;
};

void orma_heap_output_init(struct orma_heap_output *output, uint64_t seed, orma_heap_write_fn *fn,
			   void *ctx)
{
	*output = (struct orma_heap_output){.write = fn, .ctx = ctx, .state = 1};
	output->strings.seed = seed;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(output->next_iid); i++)
		output->next_iid[i] = 1;
}

void orma_heap_output_done(struct orma_heap_output *output)
{
	orma_base_map_done(&output->strings);
	orma_base_arena_done(&output->arena);
	orma_base_buf_done(&output->interned);
	orma_base_buf_done(&output->packet);
}

void orma_heap_output_clear(struct orma_heap_output *output)
{
	output->state++;
	output->has_begun = false;
}

/* --- packets ---------------------------------------------------------------------------------- */

static void write_packet(struct orma_heap_output *output, uint32_t field_id,
			 struct orma_str message, uint32_t flags)
{
	struct orma_proto_heap_writer writer;

	output->packet.size = 0;
	orma_proto_heap_writer_init(&writer, &output->packet);
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACE_PACKET_TIMESTAMP,
				orma_base_clock_ns(CLOCK_BOOTTIME));
	if (flags)
		orma_proto_write_varint(&writer.writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS, flags);
	orma_proto_write_str(&writer.writer, field_id, message);
	if (orma_proto_heap_writer_finish(&writer) < 0)
		output->dropped_count++;
	else
		output->write(output->ctx, output->packet.data, output->packet.size);
}

static void write_begin(struct orma_heap_output *output)
{
	static const uint32_t tables[] = {
		ORMA_PB_INTERNED_DATA_BUILD_IDS,
		ORMA_PB_INTERNED_DATA_MAPPING_PATHS,
		ORMA_PB_INTERNED_DATA_FUNCTION_NAMES,
	};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;

	orma_proto_heap_writer_init(&writer, &message);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(tables); i++) {
		orma_proto_nested_begin(&writer.writer, &nested, tables[i]);
		orma_proto_write_varint(&writer.writer, ORMA_PB_INTERNED_STRING_IID, 0);
		orma_proto_write_bytes(&writer.writer, ORMA_PB_INTERNED_STRING_STR, NULL, 0);
		orma_proto_nested_end(&writer.writer, &nested);
	}
	if (orma_proto_heap_writer_finish(&writer) < 0)
		output->dropped_count++;
	else
		write_packet(output, ORMA_PB_TRACE_PACKET_INTERNED_DATA,
			     orma_base_buf_str(&message),
			     ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED);
}

void orma_heap_output_packet(struct orma_heap_output *output, uint32_t field_id,
			     struct orma_str message)
{
	if (!output->has_begun) {
		output->has_begun = true;
		write_begin(output);
	}
	write_packet(output, field_id, message, 0);
}

void orma_heap_output_flush_interned(struct orma_heap_output *output, size_t bytes_min)
{
	if (output->interned.size == 0 || output->interned.size < bytes_min)
		return;
	orma_heap_output_packet(output, ORMA_PB_TRACE_PACKET_INTERNED_DATA,
				orma_base_buf_str(&output->interned));
	output->interned.size = 0;
}

void orma_heap_output_name(struct orma_heap_output *output, struct orma_heap_process *process)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;

	if (process->command.size == 0 || process->named_state == output->state)
		return;
	process->named_state = output->state;
	orma_proto_heap_writer_init(&writer, &message);
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_PROCESS_TREE_PROCESSES);
	orma_proto_write_int(&writer.writer, PROCESS(PID), process->pid);
	if (process->parent_pid > 0)
		orma_proto_write_int(&writer.writer, PROCESS(PPID), process->parent_pid);
	for (size_t at = 0; at < process->command.size;) {
		const char *argument = (const char *)process->command.data + at;

		orma_proto_write_string(&writer.writer, PROCESS(CMDLINE), argument);
		at += strlen(argument) + 1;
	}
	if (process->uid >= 0)
		orma_proto_write_int(&writer.writer, PROCESS(UID), process->uid);
	orma_proto_nested_end(&writer.writer, &nested);
	if (orma_proto_heap_writer_finish(&writer) < 0)
		output->dropped_count++;
	else
		orma_heap_output_packet(output, ORMA_PB_TRACE_PACKET_PROCESS_TREE,
					orma_base_buf_str(&message));
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Gives the item a number. True if it has to be described in the current state. */
static bool show(struct orma_heap_output *output, struct orma_heap_shown *shown, unsigned kind)
{
	if (shown->iid == 0)
		shown->iid = output->next_iid[kind]++;
	if (shown->state == output->state)
		return false;
	shown->state = output->state;
	return true;
}

static void finish(struct orma_heap_output *output, struct orma_proto_heap_writer *writer)
{
	if (orma_proto_heap_writer_finish(writer) < 0)
		output->dropped_count++;
}

/* Returns the number of a string of one table; 0 = "", or no memory. */
static uint32_t add_string(struct orma_heap_output *output, uint32_t table, struct orma_str text)
{
	uint64_t key = orma_base_fnv1a(
		orma_base_fnv1a(ORMA_FNV1A_INIT ^ output->strings.seed, &table, sizeof(table)),
		text.data, text.size);
	struct orma_heap_string *string = orma_base_map_get(&output->strings, key);
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;

	if (text.size == 0)
		return 0;
	if (!string) {
		string = orma_base_arena_alloc(&output->arena, sizeof(*string));
		if (!string || orma_base_map_put(&output->strings, key, string) < 0) {
			output->dropped_count++;
			return 0;
		}
	}
	if (!show(output, &string->shown, IID_STRING))
		return string->shown.iid;
	orma_proto_heap_writer_init(&writer, &output->interned);
	orma_proto_nested_begin(&writer.writer, &nested, table);
	orma_proto_write_varint(&writer.writer, ORMA_PB_INTERNED_STRING_IID, string->shown.iid);
	orma_proto_write_str(&writer.writer, ORMA_PB_INTERNED_STRING_STR, text);
	finish(output, &writer);
	return string->shown.iid;
}

static void write_mapping(struct orma_heap_output *output, uint32_t iid, struct orma_str path,
			  const struct orma_unwind_mapping *mapping)
{
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;
	struct orma_str build_id = {(const char *)mapping->build_id, mapping->build_id_size};
	uint32_t path_iid = add_string(output, ORMA_PB_INTERNED_DATA_MAPPING_PATHS, path);
	uint32_t build_id_iid = add_string(output, ORMA_PB_INTERNED_DATA_BUILD_IDS, build_id);
	orma_proto_heap_writer_init(&writer, &output->interned);
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_INTERNED_DATA_MAPPINGS);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_IID, iid);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_BUILD_ID, build_id_iid);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_START_OFFSET, mapping->offset);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_EXACT_OFFSET, mapping->offset);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_START, mapping->start);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_END, mapping->end);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_LOAD_BIAS, mapping->load_bias);
	orma_proto_write_varint(&writer.writer, ORMA_PB_MAPPING_PATH_STRING_IDS, path_iid);
	finish(output, &writer);
}

/* Returns the number of the mapping; 0 for a frame that is only a name. */
static uint32_t add_mapping(struct orma_heap_output *output, struct orma_heap_process *process,
			    uint32_t idx)
{
	if (idx >= process->modules.count)
		return 0;
	struct orma_heap_module *module = &process->modules.all[idx];
	if (show(output, &module->shown, IID_STRING))
		write_mapping(output, module->shown.iid,
			      module->mapping->path.size > 0 ? module->mapping->path
							     : ORMA_STR("[anonymous]"),
			      module->mapping);
	return module->shown.iid;
}

/* Returns the name of a frame without symbols; NULL = the frame has an address in a file. */
static const char *name_frame(const struct orma_heap_process *process,
			      const struct orma_heap_frame *frame, char *buffer, size_t size)
{
	static const char *const errors[ORMA_HEAP_ERROR_COUNT] = {
		[ORMA_HEAP_ERROR_NO_STACK] = "[no stack]",
		[ORMA_HEAP_ERROR_INCOMPLETE] = "[incomplete stack]",
	};
	const struct orma_heap_heap *heap;

	switch (frame->module) {
	case ORMA_HEAP_MODULE_HEAP:
		heap = process->heaps[frame->address];
		snprintf(buffer, size, "[heap %s]", heap ? heap->name : "");
		return buffer;
	case ORMA_HEAP_MODULE_ERROR:
		return errors[frame->address];
	case ORMA_HEAP_MODULE_NONE:
		if (frame->jit_name)
			return (const char *)process->jit_names.data + frame->jit_name - 1;
		snprintf(buffer, size, "[0x%llx]", (unsigned long long)frame->address);
		return buffer;
	default:
		return frame->jit_name ? (const char *)process->jit_names.data + frame->jit_name - 1
				       : NULL;
	}
}

static uint32_t add_frame(struct orma_heap_output *output, struct orma_heap_process *process,
			  uint32_t idx)
{
	struct orma_heap_frame *frame = orma_heap_stacks_frame(&process->stacks, idx);
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;
	char buffer[ORMA_HEAP_NAME_BYTES + 16];

	if (!show(output, &frame->shown, IID_FRAME))
		return frame->shown.iid;
	const char *name = name_frame(process, frame, buffer, sizeof(buffer));
	uint32_t name_iid = add_string(output, ORMA_PB_INTERNED_DATA_FUNCTION_NAMES,
				       orma_base_str(name ? name : ""));
	uint32_t mapping = add_mapping(output, process, frame->module);
	if (mapping && !name && output->symbols)
		(void)orma_module_symbols_add(output->symbols,
					      process->modules.all[frame->module].mapping,
					      frame->address);
	orma_proto_heap_writer_init(&writer, &output->interned);
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_INTERNED_DATA_FRAMES);
	orma_proto_write_varint(&writer.writer, ORMA_PB_FRAME_IID, frame->shown.iid);
	if (name)
		orma_proto_write_varint(&writer.writer, ORMA_PB_FRAME_FUNCTION_NAME_ID, name_iid);
	if (mapping)
		orma_proto_write_varint(&writer.writer, ORMA_PB_FRAME_MAPPING_ID, mapping);
	if (mapping)
		orma_proto_write_varint(&writer.writer, ORMA_PB_FRAME_REL_PC, frame->address);
	finish(output, &writer);
	return frame->shown.iid;
}

uint32_t orma_heap_output_stack(struct orma_heap_output *output, struct orma_heap_process *process,
				uint32_t node_idx)
{
	uint32_t frames[ORMA_HEAP_STACK_FRAMES_MAX + 2];
	struct orma_heap_node *node = orma_heap_stacks_node(&process->stacks, node_idx);
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;
	size_t count = 0;

	if (!show(output, &node->shown, IID_STACK))
		return node->shown.iid;
	for (uint32_t at = node_idx + 1; at && count < ORMA_ARRAY_SIZE(frames);) {
		const struct orma_heap_node *step = orma_heap_stacks_node(&process->stacks, at - 1);
		frames[count++] = add_frame(output, process, step->frame);
		at = step->parent;
	}
	orma_proto_heap_writer_init(&writer, &output->interned);
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_INTERNED_DATA_CALLSTACKS);
	orma_proto_write_varint(&writer.writer, ORMA_PB_CALLSTACK_IID, node->shown.iid);
	while (count > 0)
		orma_proto_write_varint(&writer.writer, ORMA_PB_CALLSTACK_FRAME_IDS,
					frames[--count]);
	finish(output, &writer);
	orma_heap_output_flush_interned(output, INTERNED_BYTES);
	return node->shown.iid;
}
