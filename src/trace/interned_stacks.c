/* SPDX-License-Identifier: Apache-2.0
 * interned_stacks.c - a stack that was resolved is found again by its number until the interned data of its sequence
 * begins anew, so most samples cost one lookup.
 *
 * Other stacks share most of their frames with those before them. A table of a fixed size remembers the frames that
 * were resolved last, so such a frame costs a comparison in place of six lookups.
 */
#include "trace/interned_stacks.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "trace/conversion_fields.h"
#include "trace/message_fields.h"
#include "trace/track_event_read.h"

enum { PATH_MAX_BYTES = 64 << 10, KNOWN_FRAMES = 4096 };

struct known_stack {
	uint32_t generation; /* the sequence's, when it was resolved */
	enum orma_stat failure;
	int64_t callsite_id; /* ORMA_CELL_NULL: `failure` says what is missing */
};

struct orma_known_frame {
	uint64_t source, iid; /* iid 0 = empty, because ids begin with 1 */
	int64_t upid, frame_id;
	uint32_t generation;
};

/* A stack that is being resolved. Functions that find nothing count that and return 0. */
struct resolution {
	struct orma_interned_stacks *interned;
	const struct orma_stack_source *source;
	int64_t upid;
	enum orma_stat failure; /* that was counted last */
};

void orma_interned_stacks_done(struct orma_interned_stacks *interned)
{
	orma_base_map_done(&interned->known);
	orma_base_arena_done(&interned->arena);
	orma_base_free(interned->frames);
}

static int miss(struct resolution *at, enum orma_stat stat)
{
	orma_stats_add(&at->interned->system->stats, at->source->machine_idx, stat, 0, 1);
	at->failure = stat;
	return 0;
}

/* 1, or 0 and counted. */
static int find_text(struct resolution *at, uint32_t field, uint64_t iid, struct orma_str *ret)
{
	const struct orma_interned *entry = orma_interning_find(at->source->interning, field, iid);
	if (!entry)
		return miss(at, ORMA_STAT_stackprofile_invalid_string_id);
	*ret = entry->text.data ? entry->text : ORMA_STR("");
	return 1;
}

static int append(struct orma_buf *path, struct orma_str part)
{
	int r = path->size + part.size > PATH_MAX_BYTES ? -E2BIG
							: orma_base_buf_append(path, "/", 1);
	return r < 0 ? r : orma_base_buf_append(path, part.data, part.size);
}

/* The parts of a path, each behind a slash. Some tracers write a whole path as its only part. */
static int64_t find_path(struct resolution *at, struct orma_str mapping)
{
	struct orma_buf *path = &at->interned->system->text;
	struct orma_repeated parts;
	struct orma_str part;
	uint64_t iid;
	int r = 0;
	path->size = 0;
	orma_repeated_init(&parts, mapping, ORMA_PB_MAPPING_PATH_STRING_IDS);
	while (r == 0 && orma_repeated_next(&parts, &iid) &&
	       find_text(at, ORMA_PB_INTERNED_DATA_MAPPING_PATHS, iid, &part))
		r = append(path, part);
	if (r == -ENOMEM)
		return r;
	struct orma_str text = {(const char *)path->data, path->size};
	struct orma_proto_field field;
	bool is_whole = orma_proto_reader_find(mapping.data, mapping.size,
					       ORMA_MAPPING_HAS_WHOLE_NAME, &field) > 0;
	if (text.size >= 2 && (text.data[1] == '/' || is_whole))
		text = (struct orma_str){text.data + 1, text.size - 1};
	return orma_system_text(at->interned->system, text);
}

static int find_mapping(struct resolution *at, uint64_t iid, int64_t *ret)
{
	struct orma_tables *tables = at->interned->system->tables;
	const struct orma_interned *entry =
		orma_interning_find(at->source->interning, ORMA_PB_INTERNED_DATA_MAPPINGS, iid);
	struct orma_message message;
	struct orma_str build_id = ORMA_STR("");
	if (!entry)
		return miss(at, ORMA_STAT_stackprofile_invalid_mapping_id);
	orma_message_read(&message, entry->bytes);
	struct orma_mapping mapping = {
		.exact_offset = orma_message_number(&message, ORMA_PB_MAPPING_EXACT_OFFSET),
		.start_offset = orma_message_number(&message, ORMA_PB_MAPPING_START_OFFSET),
		.start = orma_message_number(&message, ORMA_PB_MAPPING_START),
		.end = orma_message_number(&message, ORMA_PB_MAPPING_END),
		.load_bias = orma_message_number(&message, ORMA_PB_MAPPING_LOAD_BIAS),
		.name = find_path(at, entry->bytes),
	};
	bool is_shared = mapping.start >= mapping.end ||
			 orma_message_number(&message, ORMA_MAPPING_IS_SHARED);
	mapping.upid = is_shared ? ORMA_CELL_NULL : at->upid;
	uint64_t build_iid = orma_message_number(&message, ORMA_PB_MAPPING_BUILD_ID);
	if (build_iid && !find_text(at, ORMA_PB_INTERNED_DATA_BUILD_IDS, build_iid, &build_id))
		return 0;
	mapping.build_id = orma_call_stacks_build_id(tables, build_id);
	*ret = mapping.name == -ENOMEM ? -ENOMEM
				       : orma_call_stacks_mapping(at->interned->stacks, &mapping);
	return *ret < 0 ? (int)*ret : 1;
}

/* Reads the texts of a frame. 1 or 0. */
static int find_names(struct resolution *at, const struct orma_message *message,
		      struct orma_frame *frame)
{
	struct orma_tables *tables = at->interned->system->tables;
	uint64_t name = orma_message_number(message, ORMA_PB_FRAME_FUNCTION_NAME_ID);
	struct orma_str text;
	frame->name = at->source->has_empty_names ? orma_tables_string(tables, ORMA_STR(""))
						  : ORMA_CELL_NULL;
	frame->source_file = frame->line = ORMA_CELL_NULL;
	if (name) {
		if (!find_text(at, ORMA_PB_INTERNED_DATA_FUNCTION_NAMES, name, &text))
			return 0;
		frame->name = orma_tables_string(tables, text);
	}
	if (orma_message_has(message, ORMA_PB_FRAME_SOURCE_PATH_IID)) {
		uint64_t path = orma_message_number(message, ORMA_PB_FRAME_SOURCE_PATH_IID);
		if (!find_text(at, ORMA_PB_INTERNED_DATA_SOURCE_PATHS, path, &text))
			return 0;
		frame->source_file = orma_tables_string(tables, text);
		frame->has_source = true;
	}
	if (orma_message_has(message, ORMA_PB_FRAME_LINE_NUMBER)) {
		frame->line = (uint32_t)orma_message_number(message, ORMA_PB_FRAME_LINE_NUMBER);
		frame->has_source = true;
	}
	return 1;
}

static int set_kind(struct resolution *at, const struct orma_message *message, int64_t frame)
{
	static const char *const kinds[] = {NULL,  "native", "kernel", "interpreted",
					    "jit", "gc",     "runtime"};
	uint64_t kind = orma_message_number(message, ORMA_PB_FRAME_KIND);
	struct orma_str text = orma_message_bytes(message, ORMA_PB_FRAME_KIND_STR);
	if (kind > 0 && kind < ORMA_ARRAY_SIZE(kinds))
		text = orma_base_str(kinds[kind]);
	return text.data ? orma_call_stacks_set(
				   at->interned->stacks, frame, ORMA_STACK_FRAME_TYPE,
				   orma_tables_string(at->interned->system->tables, text))
			 : 0;
}

static int find_frame(struct resolution *at, uint64_t iid, int64_t *ret)
{
	const struct orma_interned *entry =
		orma_interning_find(at->source->interning, ORMA_PB_INTERNED_DATA_FRAMES, iid);
	struct orma_message message;
	struct orma_frame frame = {0};
	if (!entry)
		return miss(at, ORMA_STAT_stackprofile_invalid_frame_id);
	orma_message_read(&message, entry->bytes);
	int r = find_names(at, &message, &frame);
	uint64_t mapping = orma_message_number(&message, ORMA_PB_FRAME_MAPPING_ID);
	if (r > 0 && mapping)
		r = find_mapping(at, mapping, &frame.mapping_id);
	if (r <= 0)
		return r;
	frame.rel_pc = orma_message_number(&message, ORMA_PB_FRAME_REL_PC);
	*ret = mapping ? orma_call_stacks_frame(at->interned->stacks, &frame)
		       : orma_call_stacks_inline_frame(at->interned->stacks, ORMA_INLINE_INTERNED,
						       frame);
	r = *ret < 0 ? (int)*ret : set_kind(at, &message, *ret);
	return r < 0 ? r : 1;
}

/* The place of a frame in the table; NULL without memory. */
static struct orma_known_frame *frame_place(struct orma_interned_stacks *interned, uint64_t iid,
					    int64_t upid)
{
	if (!interned->frames)
		interned->frames = orma_base_alloc_array(KNOWN_FRAMES, sizeof(*interned->frames));
	/* Ids of one sequence follow each other, and so do processes. */
	uint64_t at = iid ^ (uint64_t)upid * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	return interned->frames ? &interned->frames[at % KNOWN_FRAMES] : NULL;
}

/* find_frame() with the table in front of it. Frames that are missing are counted each time. */
static int find_known_frame(struct resolution *at, uint64_t iid, int64_t *ret)
{
	struct orma_known_frame *place = frame_place(at->interned, iid, at->upid);

	if (iid > 0 && place && place->iid == iid && place->source == at->source->key &&
	    place->generation == at->source->generation && place->upid == at->upid) {
		*ret = place->frame_id;
		return 1;
	}
	int r = find_frame(at, iid, ret);
	if (r > 0 && place)
		*place = (struct orma_known_frame){at->source->key, iid, at->upid, *ret,
						   at->source->generation};
	return r;
}

static int64_t resolve(struct resolution *at, uint64_t iid)
{
	const struct orma_interned *entry =
		orma_interning_find(at->source->interning, ORMA_PB_INTERNED_DATA_CALLSTACKS, iid);
	int64_t callsite = ORMA_CELL_NULL, frame;
	struct orma_repeated frames;
	uint64_t frame_iid;
	if (!entry) {
		miss(at, ORMA_STAT_stackprofile_invalid_callstack_id);
		return ORMA_CELL_NULL;
	}
	orma_repeated_init(&frames, entry->bytes, ORMA_PB_CALLSTACK_FRAME_IDS);
	while (orma_repeated_next(&frames, &frame_iid)) {
		int r = find_known_frame(at, frame_iid, &frame);
		if (r <= 0)
			return r < 0 ? r : ORMA_CELL_NULL;
		callsite = orma_call_stacks_callsite(at->interned->stacks, callsite, frame);
		if (callsite < 0)
			return callsite;
	}
	if (callsite == ORMA_CELL_NULL)
		miss(at, ORMA_STAT_stackprofile_empty_callstack);
	return callsite;
}

int64_t orma_interned_stacks_find_in(struct orma_interned_stacks *interned,
				     const struct orma_stack_source *source, int64_t upid,
				     uint64_t iid)
{
	struct resolution at = {interned, source, upid, ORMA_STATS};
	uint64_t words[] = {source->key, (uint64_t)upid, iid};
	uint64_t key = orma_base_hash_words(words, ORMA_ARRAY_SIZE(words));
	struct known_stack *known = orma_base_map_get(&interned->known, key);
	if (known && known->generation == source->generation) {
		/* A long stack without its last frame is not resolved again for each sample. */
		if (known->callsite_id == ORMA_CELL_NULL)
			miss(&at, known->failure);
		return known->callsite_id;
	}
	int64_t callsite = resolve(&at, iid);
	if (orma_is_failure(callsite))
		return callsite;
	if (!known) {
		known = orma_base_arena_alloc(&interned->arena, sizeof(*known));
		if (!known || orma_base_map_put(&interned->known, key, known) < 0)
			return -ENOMEM;
	}
	*known = (struct known_stack){source->generation, at.failure, callsite};
	return callsite;
}

int64_t orma_interned_stacks_find(struct orma_interned_stacks *interned,
				  struct orma_sequence_state *state, int64_t upid, uint64_t iid)
{
	struct orma_stack_source source = {
		.interning = &state->interning,
		.key = (uint64_t)state->sequence->machine_idx << 32 | state->sequence->id,
		.generation = state->generation,
		.machine_idx = state->sequence->machine_idx,
	};
	int r = orma_sequence_state_load(state);
	return r < 0 ? r : orma_interned_stacks_find_in(interned, &source, upid, iid);
}
