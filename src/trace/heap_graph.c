/* SPDX-License-Identifier: Apache-2.0
 * heap_graph.c - the packets of heap graphs, by sequence.
 */
#include "trace/heap_graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/heap_graph.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "store/grow.h"
#include "trace/message_fields.h"
#include "trace/open_heap.h"
#include "trace/track_event_read.h"

void orma_heap_graphs_done(struct orma_heap_graphs *graphs)
{
	size_t position = 0;
	struct orma_map_slot *slot;
	while ((slot = orma_base_map_next(&graphs->open, &position)))
		orma_open_heap_free(slot->value);
	orma_base_map_done(&graphs->open);
	orma_base_map_done(&graphs->rows);
	orma_store_big_array_done(&graphs->object_array);
	orma_store_big_array_done(&graphs->reference_array);
	orma_base_free(graphs->classes);
	orma_base_free(graphs->fields);
	orma_base_free(graphs->dumps);
	*graphs = (struct orma_heap_graphs){0};
}

static uint64_t row_key(int64_t upid, int64_t ts)
{
	int64_t words[] = {upid, ts};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

int64_t orma_heap_graph_row(struct orma_heap_graphs *graphs, int64_t upid, int64_t ts,
			    int64_t dump_reason)
{
	struct orma_table *table = &graphs->system->tables->all[ORMA_TABLE_HEAP_GRAPH];
	int64_t row = (int64_t)(uintptr_t)orma_base_map_get(&graphs->rows, row_key(upid, ts)) - 1;
	int64_t cells[ORMA_HEAP_GRAPH_COLUMNS] = {
		[ORMA_HEAP_GRAPH_TS] = ts,
		[ORMA_HEAP_GRAPH_UPID] = upid,
		[ORMA_HEAP_GRAPH_DUMP_REASON] = dump_reason,
		[ORMA_HEAP_GRAPH_HEAP_SIZE] = ORMA_CELL_NULL,
	};
	int r = 0;
	if (row >= 0) {
		if (dump_reason != ORMA_CELL_NULL)
			r = orma_store_column_set(&table->columns[ORMA_HEAP_GRAPH_DUMP_REASON],
						  (uint64_t)row, dump_reason);
		return r < 0 ? r : row;
	}
	row = (int64_t)orma_store_table_rows(table);
	r = orma_store_table_append(table, cells);
	if (r == 0)
		r = orma_base_map_put(&graphs->rows, row_key(upid, ts),
				      (void *)((uintptr_t)row + 1));
	return r < 0 ? r : row;
}

static struct orma_open_heap *open_heap(struct orma_heap_graphs *graphs,
					const struct orma_ordered_event *event)
{
	const struct orma_sequence *sequence = event->state->sequence;
	uint64_t key = (uint64_t)sequence->machine_idx << 32 | sequence->id;
	struct orma_open_heap *heap = orma_base_map_get(&graphs->open, key);
	if (heap)
		return heap;
	heap = orma_base_zalloc(sizeof(*heap));
	if (!heap || orma_base_map_put(&graphs->open, key, heap) < 0) {
		orma_base_free(heap);
		return NULL;
	}
	heap->graphs = graphs;
	heap->machine_idx = sequence->machine_idx;
	heap->sequence = sequence->id;
	heap->heap_size = ORMA_CELL_NULL;
	struct orma_map *maps[] = {&heap->objects,   &heap->classes,  &heap->fields,
				   &heap->locations, &heap->type_ids, &heap->registry_ids};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(maps); i++)
		maps[i]->seed = graphs->system->index->seed;
	if (orma_store_grow(&graphs->dumps, (uint64_t)graphs->dump_count + 1,
			    &graphs->dump_capacity, sizeof(*graphs->dumps)) < 0)
		return NULL;
	heap->dump = graphs->dump_count;
	graphs->dumps[graphs->dump_count++] = (struct orma_heap_dump){0, 0};
	return heap;
}

static void check_index(struct orma_open_heap *heap, uint64_t index)
{
	uint64_t expected = heap->has_index ? heap->last_index + 1 : 0;
	if (index != expected) {
		heap->is_truncated = true;
		orma_open_heap_count(heap, ORMA_STAT_heap_graph_missing_packet, 1);
	}
	heap->last_index = index;
	heap->has_index = true;
}

/* A graph is of one process and one time. False, and counted, when the packet is of another. */
static bool check_begin(struct orma_open_heap *heap, int64_t upid, int64_t ts)
{
	struct orma_heap_dump *dump = &heap->graphs->dumps[heap->dump];
	if (heap->has_begun && (heap->upid != upid || heap->ts != ts)) {
		orma_stats_add(&heap->graphs->system->stats, 0,
			       ORMA_STAT_heap_graph_non_finalized_graph, 0, 1);
		return false;
	}
	dump->upid = heap->upid = upid;
	dump->ts = heap->ts = ts;
	heap->has_begun = true;
	return true;
}

static int take_type(struct orma_open_heap *heap, struct orma_str bytes)
{
	struct orma_message message;
	struct orma_repeated ids;
	uint64_t id;
	orma_message_read(&message, bytes);
	uint64_t kind = orma_message_number(&message, ORMA_PB_HEAP_GRAPH_TYPE_KIND);
	struct orma_str name = orma_message_bytes(&message, ORMA_PB_HEAP_GRAPH_TYPE_CLASS_NAME);
	struct orma_heap_type type = {
		.id = orma_message_number(&message, ORMA_PB_HEAP_GRAPH_TYPE_ID),
		.object_size = orma_message_number(&message, ORMA_PB_HEAP_GRAPH_TYPE_OBJECT_SIZE),
		.superclass_id =
			orma_message_number(&message, ORMA_PB_HEAP_GRAPH_TYPE_SUPERCLASS_ID),
		.class_loader_id =
			orma_message_number(&message, ORMA_PB_HEAP_GRAPH_TYPE_CLASSLOADER_ID),
		.location_id = orma_message_number(&message, ORMA_PB_HEAP_GRAPH_TYPE_LOCATION_ID),
		.has_location = orma_message_has(&message, ORMA_PB_HEAP_GRAPH_TYPE_LOCATION_ID),
		.name = orma_system_text(heap->graphs->system, name),
		.kind = kind <= ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_PHANTOM_REFERENCE ? (uint8_t)kind
										    : 0,
		.first_field = heap->type_field_count,
	};
	orma_repeated_init(&ids, bytes, ORMA_PB_HEAP_GRAPH_TYPE_REFERENCE_FIELD_ID);
	while (orma_repeated_next(&ids, &id)) {
		int64_t field = orma_open_heap_field(heap, id);
		int r = orma_store_grow(&heap->type_fields, (uint64_t)heap->type_field_count + 1,
					&heap->type_field_capacity, sizeof(*heap->type_fields));
		if (field < 0 || r < 0)
			return r < 0 ? r : (int)field;
		heap->type_fields[heap->type_field_count++] = (uint32_t)field;
		type.field_count++;
	}
	/* The last description of a type is valid. */
	int64_t known = (int64_t)(uintptr_t)orma_base_map_get(&heap->type_ids, type.id) - 1;
	if (known >= 0) {
		heap->types[known] = type;
		return 0;
	}
	int r = orma_store_grow(&heap->types, (uint64_t)heap->type_count + 1, &heap->type_capacity,
				sizeof(*heap->types));
	if (r < 0)
		return r;
	heap->types[heap->type_count++] = type;
	return orma_base_map_put(&heap->type_ids, type.id, (void *)(uintptr_t)heap->type_count);
}

/* A name may have the type before it, and a blank between them. */
static int take_field_name(struct orma_open_heap *heap, struct orma_str bytes)
{
	struct orma_tables *tables = heap->graphs->system->tables;
	struct orma_message message;
	orma_message_read(&message, bytes);
	struct orma_str text = orma_message_bytes(&message, ORMA_PB_INTERNED_STRING_STR);
	int64_t id = orma_open_heap_field(
		heap, orma_message_number(&message, ORMA_PB_INTERNED_STRING_IID));
	if (id < 0 || id == ORMA_HEAP_NONE || heap->graphs->fields[id].is_named)
		return (int)ORMA_MIN(id, 0);
	struct orma_heap_field *field = &heap->graphs->fields[id];
	const char *blank = text.size > 0 ? memchr(text.data, ' ', text.size) : NULL;
	if (blank) {
		size_t type_size = (size_t)(blank - text.data);
		field->type_name =
			orma_tables_string(tables, (struct orma_str){text.data, type_size});
		text = (struct orma_str){blank + 1, text.size - type_size - 1};
	}
	field->name = orma_system_text(heap->graphs->system, text);
	field->is_named = true;
	return 0;
}

static int take_location(struct orma_open_heap *heap, struct orma_str bytes)
{
	struct orma_message message;
	orma_message_read(&message, bytes);
	uint64_t id = orma_message_number(&message, ORMA_PB_INTERNED_STRING_IID);
	int64_t cell = orma_system_text(heap->graphs->system,
					orma_message_bytes(&message, ORMA_PB_INTERNED_STRING_STR));
	if (orma_base_map_get(&heap->locations, id) || cell <= 0)
		return 0;
	return orma_base_map_put(&heap->locations, id, (void *)(uintptr_t)cell);
}

static int take_root(struct orma_open_heap *heap, struct orma_str bytes)
{
	struct orma_message message;
	struct orma_repeated ids;
	uint64_t id;
	orma_message_read(&message, bytes);
	uint64_t type = orma_message_number(&message, ORMA_PB_HEAP_GRAPH_ROOT_ROOT_TYPE);
	if (type > ORMA_PB_HEAP_GRAPH_ROOT_TYPE_ROOT_JNI_MONITOR)
		type = ORMA_PB_HEAP_GRAPH_ROOT_TYPE_ROOT_UNKNOWN;
	orma_repeated_init(&ids, bytes, ORMA_PB_HEAP_GRAPH_ROOT_OBJECT_IDS);
	while (orma_repeated_next(&ids, &id)) {
		int r = orma_store_grow(&heap->roots, (uint64_t)heap->root_count + 1,
					&heap->root_capacity, sizeof(*heap->roots));
		if (r < 0)
			return r;
		heap->roots[heap->root_count++] = (struct orma_heap_root){id, (uint8_t)type};
	}
	return 0;
}

static int take_part(struct orma_open_heap *heap, const struct orma_ordered_event *event,
		     int64_t upid, const struct orma_proto_field *field)
{
	bool is_content =
		field->id == ORMA_PB_HEAP_GRAPH_OBJECTS || field->id == ORMA_PB_HEAP_GRAPH_ROOTS;
	if (is_content && !check_begin(heap, upid, event->ns))
		return 0;
	switch (field->id) {
	case ORMA_PB_HEAP_GRAPH_OBJECTS:
		return orma_open_heap_take_object(heap, field->bytes);
	case ORMA_PB_HEAP_GRAPH_ROOTS:
		return take_root(heap, field->bytes);
	case ORMA_PB_HEAP_GRAPH_TYPES:
		return take_type(heap, field->bytes);
	case ORMA_PB_HEAP_GRAPH_FIELD_NAMES:
		return take_field_name(heap, field->bytes);
	case ORMA_PB_HEAP_GRAPH_LOCATION_NAMES:
		return take_location(heap, field->bytes);
	default:
		return 0;
	}
}

static int finish(struct orma_heap_graphs *graphs, struct orma_open_heap *heap)
{
	uint64_t key = (uint64_t)heap->machine_idx << 32 | heap->sequence;
	int r = orma_open_heap_finish(heap);
	orma_base_map_remove(&graphs->open, key);
	orma_open_heap_free(heap);
	return r;
}

int orma_heap_graph_take(struct orma_heap_graphs *graphs, const struct orma_ordered_event *event)
{
	struct orma_system *system = graphs->system;
	struct orma_message message;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	if (graphs->is_off)
		return 0;
	struct orma_open_heap *heap = open_heap(graphs, event);
	if (!heap)
		return -ENOMEM;
	orma_message_read(&message, event->packet->content);
	int64_t pid = (int32_t)orma_message_number(&message, ORMA_PB_HEAP_GRAPH_PID);
	int64_t upid = orma_processes_process(system->processes, event->machine_idx, pid);
	if (upid < 0)
		return (int)upid;
	if (!heap->has_begun) {
		heap->upid = graphs->dumps[heap->dump].upid = upid;
		heap->ts = graphs->dumps[heap->dump].ts = event->ns;
	}
	check_index(heap, orma_message_number(&message, ORMA_PB_HEAP_GRAPH_INDEX));
	if (orma_message_has(&message, ORMA_PB_HEAP_GRAPH_HEAP_BYTES_ALLOCATED))
		heap->heap_size = (int64_t)orma_message_number(
			&message, ORMA_PB_HEAP_GRAPH_HEAP_BYTES_ALLOCATED);
	int r = 0;
	orma_proto_reader_init(&reader, message.bytes.data, message.bytes.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.type == ORMA_PROTO_BYTES)
			r = take_part(heap, event, upid, &field);
	if (r == 0 && !orma_message_number(&message, ORMA_PB_HEAP_GRAPH_CONTINUED))
		r = finish(graphs, heap);
	return r;
}

static int compare_sequences(const void *a, const void *b)
{
	const struct orma_open_heap *left = *(struct orma_open_heap *const *)a;
	const struct orma_open_heap *right = *(struct orma_open_heap *const *)b;
	if (left->machine_idx != right->machine_idx)
		return left->machine_idx < right->machine_idx ? -1 : 1;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

int orma_heap_graphs_end(struct orma_heap_graphs *graphs)
{
	size_t count = 0, position = 0;
	struct orma_map_slot *slot;
	int r = 0;
	if (graphs->open.count == 0)
		return 0;
	orma_stats_add(&graphs->system->stats, 0, ORMA_STAT_heap_graph_non_finalized_graph, 0, 1);
	ORMA_AUTO(orma_base_freep)
	struct orma_open_heap **heaps = orma_base_alloc_array(graphs->open.count, sizeof(*heaps));
	if (!heaps)
		return -ENOMEM;
	while ((slot = orma_base_map_next(&graphs->open, &position)))
		heaps[count++] = slot->value;
	qsort(heaps, count, sizeof(*heaps), compare_sequences);
	for (size_t i = 0; i < count && r == 0; i++)
		r = finish(graphs, heaps[i]);
	return r;
}
