/* SPDX-License-Identifier: Apache-2.0
 * event_callstacks.c - call stacks of track events: where in the program a slice began and ended.
 */
#include "proto/reader.h"
#include "schema/gen/track_event.pb.h"
#include "trace/event_import.h"

struct event_callstack {
	int64_t callsite_id; /* ORMA_CELL_NULL = there is none */
	int64_t weight;      /* a cell */
	bool is_interned;
};

static int find(struct orma_event_import *import, struct event_callstack *ret)
{
	struct orma_profiles *profiles = &import->importer->profiles;
	int64_t upid = import->owner.upid < 0 ? ORMA_CELL_NULL : import->owner.upid;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	*ret = (struct event_callstack){ORMA_CELL_NULL, ORMA_DOUBLE_NULL, false};
	orma_proto_reader_init(&reader, import->event.bytes.data, import->event.bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_TRACK_EVENT_CALLSTACK_WEIGHT &&
		    field.type == ORMA_PROTO_FIXED64)
			ret->weight = (int64_t)field.value;
		else if (field.id == ORMA_PB_TRACK_EVENT_CALLSTACK_IID &&
			 field.type == ORMA_PROTO_VARINT)
			ret->callsite_id = orma_interned_stacks_find(
				&profiles->interned, import->ordered->state, upid, field.value);
		else if (field.id == ORMA_PB_TRACK_EVENT_CALLSTACK &&
			 field.type == ORMA_PROTO_BYTES)
			ret->callsite_id = orma_call_stacks_inline(
				&profiles->stacks, ORMA_INLINE_TRACK_EVENTS, field.bytes);
		ret->is_interned |= field.id == ORMA_PB_TRACK_EVENT_CALLSTACK_IID;
		if (orma_is_failure(ret->callsite_id))
			return (int)ret->callsite_id;
	}
	return 0;
}

int orma_event_add_callstack(struct orma_event_import *import, int64_t slice, int64_t track_id)
{
	bool is_end = import->event.type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END;
	struct event_callstack stack;
	int r = find(import, &stack);
	if (r < 0)
		return r;
	if (stack.callsite_id == ORMA_CELL_NULL) {
		import->importer->counts[ORMA_IMPORT_EVENT_ERRORS] += stack.is_interned;
		return 0;
	}
	int64_t cells[ORMA_EVENT_CALLSTACK_COLUMNS] = {
		[ORMA_EVENT_CALLSTACK_SLICE_ID] = slice,
		[ORMA_EVENT_CALLSTACK_TRACK_ID] = track_id,
		[ORMA_EVENT_CALLSTACK_CALLSITE_ID] = is_end ? ORMA_CELL_NULL : stack.callsite_id,
		[ORMA_EVENT_CALLSTACK_END_CALLSITE_ID] =
			is_end ? stack.callsite_id : ORMA_CELL_NULL,
		[ORMA_EVENT_CALLSTACK_WEIGHT] = stack.weight,
	};
	return orma_store_table_append(&import->importer->tables->all[ORMA_TABLE_EVENT_CALLSTACK],
				       cells);
}
