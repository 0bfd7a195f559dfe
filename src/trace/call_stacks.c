/* SPDX-License-Identifier: Apache-2.0
 * call_stacks.c - content becomes an id by hash, so that a sample costs one number however deep its stack is.
 *
 * The hash is 64 bits, and equal hashes are taken for equal content. A callsite's key is exact: its parent and its frame are
 * 32 bits each.
 *
 * A profile of 20,000 samples may have 200,000 callsites, and each lookup among them misses the processor's caches. Most
 * stacks begin as those before them, so a small table in front has the callsites that were met last.
 */
#include "trace/call_stacks.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/inline_callstack.pb.h"
#include "store/grow.h"
#include "trace/message_fields.h"

enum { BUILD_ID_MAX = 64, CHROME_MODULE_ID = 33, RECENT_CALLSITES = 4096 };

struct orma_recent_callsite {
	uint64_t key;
	int64_t id; /* + 1; 0 = empty */
};

void orma_call_stacks_done(struct orma_call_stacks *stacks)
{
	orma_base_map_done(&stacks->mappings);
	orma_base_map_done(&stacks->frames);
	orma_base_map_done(&stacks->callsites);
	orma_base_map_done(&stacks->modules);
	orma_base_map_done(&stacks->places);
	orma_base_free(stacks->mapping_entries);
	orma_base_free(stacks->frame_entries);
	orma_base_free(stacks->depths);
	orma_base_free(stacks->recent);
	*stacks = (struct orma_call_stacks){0};
}

/* Returns the id in a map, or -1. */
static int64_t find(const struct orma_map *map, uint64_t key)
{
	return (int64_t)(uintptr_t)orma_base_map_get(map, key) - 1;
}

static int put(struct orma_map *map, uint64_t key, int64_t id)
{
	return orma_base_map_put(map, key, (void *)((uintptr_t)id + 1));
}

static uint64_t module_key(int64_t name, int64_t build_id)
{
	uint64_t words[] = {(uint64_t)name, (uint64_t)build_id};
	return orma_base_hash_words(words, ORMA_ARRAY_SIZE(words));
}

static uint64_t place_key(int64_t mapping_id, uint64_t rel_pc)
{
	uint64_t words[] = {(uint64_t)mapping_id, rel_pc};
	return orma_base_hash_words(words, ORMA_ARRAY_SIZE(words));
}

static int add_mapping(struct orma_call_stacks *stacks, const struct orma_mapping *mapping)
{
	int64_t cells[ORMA_STACK_MAPPING_COLUMNS] = {
		[ORMA_STACK_MAPPING_BUILD_ID] = mapping->build_id,
		[ORMA_STACK_MAPPING_EXACT_OFFSET] = (int64_t)mapping->exact_offset,
		[ORMA_STACK_MAPPING_START_OFFSET] = (int64_t)mapping->start_offset,
		[ORMA_STACK_MAPPING_START] = (int64_t)mapping->start,
		[ORMA_STACK_MAPPING_END] = (int64_t)mapping->end,
		[ORMA_STACK_MAPPING_LOAD_BIAS] = (int64_t)mapping->load_bias,
		[ORMA_STACK_MAPPING_NAME] = mapping->name,
	};
	uint64_t module = module_key(mapping->name, mapping->build_id);
	int r = orma_store_grow(&stacks->mapping_entries, (uint64_t)stacks->mapping_count + 1,
				&stacks->mapping_capacity, sizeof(*stacks->mapping_entries));
	if (r < 0)
		return r;
	stacks->mapping_entries[stacks->mapping_count] = (struct orma_mapping_entry){
		mapping->name, mapping->build_id, find(&stacks->modules, module)};
	r = orma_store_table_append(&stacks->tables->all[ORMA_TABLE_STACK_MAPPING], cells);
	return r < 0 ? r : put(&stacks->modules, module, stacks->mapping_count++);
}

int64_t orma_call_stacks_mapping(struct orma_call_stacks *stacks,
				 const struct orma_mapping *mapping)
{
	uint64_t words[] = {(uint64_t)mapping->upid,
			    (uint64_t)mapping->build_id,
			    (uint64_t)mapping->name,
			    mapping->exact_offset,
			    mapping->start_offset,
			    mapping->start,
			    mapping->end,
			    mapping->load_bias};
	uint64_t key = orma_base_hash_words(words, ORMA_ARRAY_SIZE(words));
	int64_t id = find(&stacks->mappings, key);
	if (id >= 0)
		return id;
	id = stacks->mapping_count;
	int r = add_mapping(stacks, mapping);
	if (r == 0)
		r = put(&stacks->mappings, key, id);
	return r < 0 ? r : id;
}

/* Adds the symbol of a frame that tells its place in the source. */
static int add_symbol(struct orma_call_stacks *stacks, const struct orma_frame *frame,
		      int64_t *ret_set)
{
	struct orma_table *table = &stacks->tables->all[ORMA_TABLE_STACK_SYMBOL];
	*ret_set = (int64_t)orma_store_table_rows(table);
	int64_t cells[ORMA_STACK_SYMBOL_COLUMNS] = {
		[ORMA_STACK_SYMBOL_SYMBOL_SET_ID] = *ret_set,
		[ORMA_STACK_SYMBOL_NAME] = frame->name,
		[ORMA_STACK_SYMBOL_SOURCE_FILE] = frame->source_file,
		[ORMA_STACK_SYMBOL_LINE_NUMBER] = frame->line,
		[ORMA_STACK_SYMBOL_INLINED] = ORMA_CELL_NULL,
	};
	return orma_store_table_append(table, cells);
}

static int add_frame(struct orma_call_stacks *stacks, const struct orma_frame *frame)
{
	int64_t symbols = ORMA_CELL_NULL;
	int r = orma_store_grow(&stacks->frame_entries, (uint64_t)stacks->frame_count + 1,
				&stacks->frame_capacity, sizeof(*stacks->frame_entries));
	if (r == 0 && frame->has_source)
		r = add_symbol(stacks, frame, &symbols);
	if (r < 0)
		return r;
	int64_t cells[ORMA_STACK_FRAME_COLUMNS] = {
		[ORMA_STACK_FRAME_NAME] = frame->name,
		[ORMA_STACK_FRAME_MAPPING] = frame->mapping_id,
		[ORMA_STACK_FRAME_REL_PC] = (int64_t)frame->rel_pc,
		[ORMA_STACK_FRAME_SYMBOL_SET_ID] = symbols,
		[ORMA_STACK_FRAME_DEOBFUSCATED_NAME] = ORMA_CELL_NULL,
		[ORMA_STACK_FRAME_TYPE] = ORMA_CELL_NULL,
	};
	uint64_t place = place_key(frame->mapping_id, frame->rel_pc);
	stacks->frame_entries[stacks->frame_count] = (struct orma_frame_entry){
		frame->mapping_id, frame->name, find(&stacks->places, place)};
	r = orma_store_table_append(&stacks->tables->all[ORMA_TABLE_STACK_FRAME], cells);
	return r < 0 ? r : put(&stacks->places, place, stacks->frame_count++);
}

static int64_t find_or_add_frame(struct orma_call_stacks *stacks, uint64_t key,
				 const struct orma_frame *frame)
{
	int64_t id = find(&stacks->frames, key);
	if (id >= 0)
		return id;
	id = stacks->frame_count;
	int r = add_frame(stacks, frame);
	if (r == 0)
		r = put(&stacks->frames, key, id);
	return r < 0 ? r : id;
}

int64_t orma_call_stacks_frame(struct orma_call_stacks *stacks, const struct orma_frame *frame)
{
	uint64_t words[] = {(uint64_t)frame->mapping_id, frame->rel_pc, (uint64_t)frame->name};
	return find_or_add_frame(stacks, orma_base_hash_words(words, ORMA_ARRAY_SIZE(words)),
				 frame);
}

static int64_t add_callsite(struct orma_call_stacks *stacks, uint64_t key, int64_t parent_id,
			    int64_t frame_id)
{
	bool has_parent = parent_id != ORMA_CELL_NULL;
	int64_t id = stacks->callsite_count;
	int r = orma_store_grow(&stacks->depths, (uint64_t)id + 1, &stacks->callsite_capacity,
				sizeof(*stacks->depths));

	if (r < 0)
		return r;
	stacks->depths[id] = has_parent ? stacks->depths[parent_id] + 1 : 0;
	int64_t cells[ORMA_STACK_CALLSITE_COLUMNS] = {
		[ORMA_STACK_CALLSITE_DEPTH] = stacks->depths[id],
		[ORMA_STACK_CALLSITE_PARENT_ID] = parent_id,
		[ORMA_STACK_CALLSITE_FRAME_ID] = frame_id,
	};
	r = orma_store_table_append(&stacks->tables->all[ORMA_TABLE_STACK_CALLSITE], cells);
	if (r == 0)
		r = put(&stacks->callsites, key, id);
	stacks->callsite_count += r == 0;
	return r < 0 ? r : id;
}

int64_t orma_call_stacks_callsite(struct orma_call_stacks *stacks, int64_t parent_id,
				  int64_t frame_id)
{
	uint64_t parent = parent_id != ORMA_CELL_NULL ? (uint64_t)parent_id + 1 : 0;
	uint64_t key = parent << 32 | (uint64_t)frame_id;
	struct orma_recent_callsite *place = NULL;

	if (!stacks->recent)
		stacks->recent = orma_base_alloc_array(RECENT_CALLSITES, sizeof(*stacks->recent));
	if (stacks->recent)
		place = &stacks->recent[(parent * 31 + (uint64_t)frame_id) % RECENT_CALLSITES];
	if (place && place->id > 0 && place->key == key)
		return place->id - 1;
	int64_t id = find(&stacks->callsites, key);
	if (id < 0)
		id = add_callsite(stacks, key, parent_id, frame_id);
	if (id >= 0 && place)
		*place = (struct orma_recent_callsite){key, id + 1};
	return id;
}

static int64_t inline_mapping(struct orma_call_stacks *stacks, enum orma_inline_mapping origin)
{
	static const char *const names[] = {
		[ORMA_INLINE_INTERNED] = "",
		[ORMA_INLINE_TRACK_EVENTS] = "track_event_inline",
		[ORMA_INLINE_STACK_SAMPLES] = "stack_sample_inline",
		[ORMA_INLINE_ART_PROCESS] = "art_process_metadata",
	};
	if (stacks->inline_mappings[origin] > 0)
		return stacks->inline_mappings[origin] - 1;
	struct orma_mapping mapping = {
		.upid = ORMA_CELL_NULL,
		.build_id = orma_tables_string(stacks->tables, ORMA_STR("")),
		.name = orma_tables_string(stacks->tables, orma_base_str(names[origin])),
		.end = UINT64_MAX,
	};
	int64_t id = orma_call_stacks_mapping(stacks, &mapping);
	if (id >= 0)
		stacks->inline_mappings[origin] = id + 1;
	return id;
}

int64_t orma_call_stacks_inline_frame(struct orma_call_stacks *stacks,
				      enum orma_inline_mapping origin, struct orma_frame frame)
{
	frame.mapping_id = inline_mapping(stacks, origin);
	frame.rel_pc = 0;
	frame.has_source = true;
	if (frame.mapping_id < 0)
		return frame.mapping_id;
	uint64_t words[] = {(uint64_t)frame.mapping_id, (uint64_t)frame.name,
			    (uint64_t)frame.source_file, (uint64_t)frame.line};
	return find_or_add_frame(stacks, orma_base_hash_words(words, ORMA_ARRAY_SIZE(words)),
				 &frame);
}

int64_t orma_call_stacks_inline(struct orma_call_stacks *stacks, enum orma_inline_mapping origin,
				struct orma_str callstack)
{
	struct orma_proto_reader reader;
	struct orma_str bytes;
	struct orma_message message;
	int64_t callsite = ORMA_CELL_NULL;
	orma_proto_reader_init(&reader, callstack.data, callstack.size);
	while (orma_message_next(&reader, ORMA_PB_INLINE_CALLSTACK_FRAMES, &bytes)) {
		orma_message_read(&message, bytes);
		bool has_line =
			orma_message_has(&message, ORMA_PB_INLINE_CALLSTACK_FRAME_LINE_NUMBER);
		struct orma_frame frame = {
			.name = orma_tables_string(
				stacks->tables,
				orma_message_bytes(&message,
						   ORMA_PB_INLINE_CALLSTACK_FRAME_FUNCTION_NAME)),
			.source_file = orma_tables_string(
				stacks->tables,
				orma_message_bytes(&message,
						   ORMA_PB_INLINE_CALLSTACK_FRAME_SOURCE_FILE)),
			.line = has_line ? (uint32_t)orma_message_number(
						   &message,
						   ORMA_PB_INLINE_CALLSTACK_FRAME_LINE_NUMBER)
					 : ORMA_CELL_NULL,
		};
		int64_t id = orma_call_stacks_inline_frame(stacks, origin, frame);
		callsite = id < 0 ? id : orma_call_stacks_callsite(stacks, callsite, id);
		if (callsite < 0)
			return callsite;
	}
	return callsite;
}

int64_t orma_call_stacks_module(const struct orma_call_stacks *stacks, int64_t name,
				int64_t build_id)
{
	return find(&stacks->modules, module_key(name, build_id));
}

int64_t orma_call_stacks_at(const struct orma_call_stacks *stacks, int64_t mapping_id,
			    uint64_t rel_pc)
{
	return find(&stacks->places, place_key(mapping_id, rel_pc));
}

int orma_call_stacks_set(struct orma_call_stacks *stacks, int64_t frame_id, size_t column,
			 int64_t cell)
{
	return orma_store_column_set(
		orma_tables_column(stacks->tables, ORMA_TABLE_STACK_FRAME, column),
		(uint64_t)frame_id, cell);
}

int64_t orma_call_stacks_build_id(struct orma_tables *tables, struct orma_str bytes)
{
	static const char digits[] = "0123456789abcdef";
	char text[BUILD_ID_MAX * 2];
	if (bytes.size == CHROME_MODULE_ID)
		return orma_tables_string(tables, bytes);
	size_t size = bytes.size < BUILD_ID_MAX ? bytes.size : BUILD_ID_MAX;
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[(unsigned char)bytes.data[i] >> 4];
		text[2 * i + 1] = digits[(unsigned char)bytes.data[i] & 15];
	}
	return orma_tables_string(tables, (struct orma_str){text, 2 * size});
}
