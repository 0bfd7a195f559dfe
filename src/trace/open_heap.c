/* SPDX-License-Identifier: Apache-2.0
 * open_heap.c - numbers for what the packets of a heap graph name, and its objects.
 */
#include "trace/open_heap.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/heap_graph.pb.h"
#include "store/grow.h"
#include "trace/message_fields.h"
#include "trace/track_event_read.h"

void orma_open_heap_free(struct orma_open_heap *heap)
{
	if (!heap)
		return;
	orma_base_map_done(&heap->objects);
	orma_base_map_done(&heap->classes);
	orma_base_map_done(&heap->fields);
	orma_base_map_done(&heap->locations);
	orma_base_map_done(&heap->type_ids);
	orma_base_map_done(&heap->registry_ids);
	orma_base_free(heap->types);
	orma_base_free(heap->type_fields);
	orma_base_free(heap->roots);
	orma_base_free(heap->runs);
	orma_base_free(heap->registry_sizes);
	orma_base_free(heap);
}

void orma_open_heap_count(struct orma_open_heap *heap, enum orma_stat stat, int64_t count)
{
	orma_stats_add(&heap->graphs->system->stats, 0, stat, (int32_t)heap->upid, count);
}

/* Counts that a limit is reached. The rest is left out. */
static int64_t refuse(struct orma_open_heap *heap)
{
	orma_open_heap_count(heap, ORMA_STAT_heap_graph_malformed_packet, 1);
	heap->is_truncated = true;
	return ORMA_HEAP_NONE;
}

static int64_t find(const struct orma_map *map, uint64_t id)
{
	return (int64_t)(uintptr_t)orma_base_map_get(map, id) - 1;
}

static int put(struct orma_map *map, uint64_t id, uint32_t number)
{
	return orma_base_map_put(map, id, (void *)((uintptr_t)number + 1));
}

/* Makes room for another item of an array that may lie in a file. */
static int grow(struct orma_big_array *array, void *array_pointer, uint32_t count,
		uint32_t *capacity, size_t item_size)
{
	if (count < *capacity)
		return 0;
	uint32_t wanted = ORMA_MAX(*capacity * 2, 256u);
	int r = orma_store_big_array_grow(array, wanted * item_size);
	memcpy(array_pointer, &array->data, sizeof(array->data));
	if (r == 0)
		*capacity = wanted;
	return r;
}

static int note_run(struct orma_open_heap *heap, uint32_t object)
{
	struct orma_heap_run *last = heap->run_count ? &heap->runs[heap->run_count - 1] : NULL;
	if (last && last->first + last->count == object) {
		last->count++;
		return 0;
	}
	int r = orma_store_grow(&heap->runs, (uint64_t)heap->run_count + 1, &heap->run_capacity,
				sizeof(*heap->runs));
	if (r == 0)
		heap->runs[heap->run_count++] = (struct orma_heap_run){object, 1};
	return r;
}

int64_t orma_open_heap_object(struct orma_open_heap *heap, uint64_t id)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	int64_t known = find(&heap->objects, id);
	if (known >= 0)
		return known;
	uint32_t object = graphs->object_count;
	if (object >= ORMA_HEAP_OBJECTS_MAX)
		return refuse(heap);
	graphs->object_array.budget = &graphs->system->tables->budget;
	int r = grow(&graphs->object_array, &graphs->objects, object, &graphs->object_capacity,
		     sizeof(*graphs->objects));
	if (r == 0)
		r = put(&heap->objects, id, object);
	if (r == 0)
		r = note_run(heap, object);
	if (r < 0)
		return r;
	graphs->objects[graphs->object_count++] = (struct orma_heap_object){
		.self_size = -1,
		.graph = heap->dump,
		.first_reference = ORMA_HEAP_NONE,
		.root_distance = ORMA_HEAP_NONE,
		.data_id = ORMA_HEAP_NONE,
		.root_type = ORMA_HEAP_NO_ROOT,
	};
	return object;
}

int64_t orma_open_heap_class(struct orma_open_heap *heap, uint64_t id)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	int64_t known = find(&heap->classes, id);
	if (known >= 0)
		return known;
	int r = orma_store_grow(&graphs->classes, (uint64_t)graphs->class_count + 1,
				&graphs->class_capacity, sizeof(*graphs->classes));
	if (r == 0)
		r = put(&heap->classes, id, graphs->class_count);
	if (r < 0)
		return r;
	graphs->classes[graphs->class_count] = (struct orma_heap_class){
		.name = ORMA_CELL_NULL,
		.location = ORMA_CELL_NULL,
		.deobfuscated_name = ORMA_CELL_NULL,
		.class_loader = ORMA_CELL_NULL,
		.superclass = ORMA_HEAP_NONE,
		.graph = heap->dump,
		.type = ORMA_HEAP_NONE,
	};
	return graphs->class_count++;
}

int64_t orma_open_heap_field(struct orma_open_heap *heap, uint64_t id)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	int64_t known = find(&heap->fields, id);
	if (known >= 0)
		return known;
	if (graphs->field_count >= ORMA_HEAP_FIELDS_MAX)
		return refuse(heap);
	int r = orma_store_grow(&graphs->fields, (uint64_t)graphs->field_count + 1,
				&graphs->field_capacity, sizeof(*graphs->fields));
	if (r == 0)
		r = put(&heap->fields, id, graphs->field_count);
	if (r < 0)
		return r;
	graphs->fields[graphs->field_count] = (struct orma_heap_field){
		.name = ORMA_CELL_NULL,
		.type_name = ORMA_CELL_NULL,
		.deobfuscated_name = ORMA_CELL_NULL,
	};
	return graphs->field_count++;
}

/* The field of references that no field makes. */
static int64_t internal_field(struct orma_open_heap *heap)
{
	int64_t field = orma_open_heap_field(heap, UINT64_MAX);
	if (field >= 0 && field != ORMA_HEAP_NONE) {
		heap->graphs->fields[field].name = orma_tables_string(
			heap->graphs->system->tables, ORMA_STR("runtimeInternalObjects"));
		heap->graphs->fields[field].is_named = true;
	}
	return field;
}

static int add_reference(struct orma_open_heap *heap, uint32_t owner, uint32_t owned,
			 uint32_t field)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	uint32_t reference = graphs->reference_count;
	if (reference >= ORMA_HEAP_REFERENCES_MAX) {
		refuse(heap);
		return 0;
	}
	graphs->reference_array.budget = &graphs->system->tables->budget;
	int r = grow(&graphs->reference_array, &graphs->references, reference,
		     &graphs->reference_capacity, sizeof(*graphs->references));
	if (r < 0)
		return r;
	uint32_t *first = &graphs->objects[owner].first_reference;
	bool begins_set = *first == ORMA_HEAP_NONE;
	if (begins_set)
		*first = reference;
	graphs->references[graphs->reference_count++] =
		(struct orma_heap_reference){owner, owned, field, begins_set};
	return 0;
}

static bool is_damaged(const struct orma_repeated *numbers)
{
	return (numbers->packed_end && numbers->packed_at != numbers->packed_end) ||
	       numbers->at != numbers->end;
}

/* Returns how many numbers there are, or -1 when they cannot be read. */
static int64_t count_numbers(const struct orma_message *object, uint32_t field)
{
	struct orma_repeated numbers;
	uint64_t value;
	int64_t count = 0;
	if (!orma_message_has(object, field))
		return 0;
	orma_repeated_init(&numbers, object->bytes, field);
	while (orma_repeated_next(&numbers, &value))
		count++;
	return is_damaged(&numbers) ? -1 : count;
}

static int add_named(struct orma_open_heap *heap, uint32_t owner, const struct orma_message *object,
		     bool has_names)
{
	struct orma_repeated owned_ids, field_ids;
	uint64_t owned_id, field_id;
	uint64_t base =
		orma_message_number(object, ORMA_PB_HEAP_GRAPH_OBJECT_REFERENCE_FIELD_ID_BASE);
	int r = 0;
	orma_repeated_init(&owned_ids, object->bytes,
			   ORMA_PB_HEAP_GRAPH_OBJECT_REFERENCE_OBJECT_ID);
	orma_repeated_init(&field_ids, object->bytes, ORMA_PB_HEAP_GRAPH_OBJECT_REFERENCE_FIELD_ID);
	while (r == 0 && orma_repeated_next(&owned_ids, &owned_id)) {
		int64_t field = ORMA_HEAP_NONE, owned = ORMA_HEAP_NONE;
		if (has_names && orma_repeated_next(&field_ids, &field_id))
			field = orma_open_heap_field(heap, field_id);
		if (owned_id)
			owned = orma_open_heap_object(heap, owned_id + base);
		if (field < 0 || owned < 0)
			return (int)ORMA_MIN(field, owned);
		r = add_reference(heap, owner, (uint32_t)owned, (uint32_t)field);
	}
	return r;
}

static int add_internal(struct orma_open_heap *heap, uint32_t owner,
			const struct orma_message *object)
{
	struct orma_repeated owned_ids;
	uint64_t owned_id;
	int r = 0;
	if (!orma_message_has(object, ORMA_PB_HEAP_GRAPH_OBJECT_RUNTIME_INTERNAL_OBJECT_ID))
		return 0;
	int64_t field = internal_field(heap);
	orma_repeated_init(&owned_ids, object->bytes,
			   ORMA_PB_HEAP_GRAPH_OBJECT_RUNTIME_INTERNAL_OBJECT_ID);
	while (r == 0 && orma_repeated_next(&owned_ids, &owned_id)) {
		int64_t owned = orma_open_heap_object(heap, owned_id);
		if (field < 0 || owned < 0)
			return (int)ORMA_MIN(field, owned);
		r = add_reference(heap, owner, (uint32_t)owned, (uint32_t)field);
	}
	return r;
}

static int note_registry(struct orma_open_heap *heap, uint32_t object,
			 const struct orma_message *message)
{
	uint32_t field = ORMA_PB_HEAP_GRAPH_OBJECT_NATIVE_ALLOCATION_REGISTRY_SIZE_FIELD;
	if (!orma_message_has(message, field))
		return 0;
	int r = orma_store_grow(&heap->registry_sizes, (uint64_t)heap->registry_count + 1,
				&heap->registry_capacity, sizeof(*heap->registry_sizes));
	if (r == 0)
		r = put(&heap->registry_ids, object, heap->registry_count);
	if (r == 0)
		heap->registry_sizes[heap->registry_count++] =
			(int64_t)orma_message_number(message, field);
	return r;
}

/* Adds the fields of a bitmap that are not references. */
static int add_primitives(struct orma_open_heap *heap, uint32_t object,
			  const struct orma_message *message)
{
	static const struct {
		const char *name, *type;
		uint32_t field, column;
	} primitives[] = {
		{"android.graphics.Bitmap.mId", "long", ORMA_PB_HEAP_GRAPH_OBJECT_BITMAP_ID_FIELD,
		 ORMA_HEAP_PRIMITIVE_LONG_VALUE},
		{"android.graphics.Bitmap.mSourceId", "long",
		 ORMA_PB_HEAP_GRAPH_OBJECT_BITMAP_SOURCE_ID_FIELD, ORMA_HEAP_PRIMITIVE_LONG_VALUE},
		{"android.graphics.Bitmap.mWidth", "int",
		 ORMA_PB_HEAP_GRAPH_OBJECT_BITMAP_WIDTH_FIELD, ORMA_HEAP_PRIMITIVE_INT_VALUE},
		{"android.graphics.Bitmap.mHeight", "int",
		 ORMA_PB_HEAP_GRAPH_OBJECT_BITMAP_HEIGHT_FIELD, ORMA_HEAP_PRIMITIVE_INT_VALUE},
	};
	struct orma_tables *tables = heap->graphs->system->tables;
	struct orma_table *table = &tables->all[ORMA_TABLE_HEAP_PRIMITIVE];
	struct orma_table *data_table = &tables->all[ORMA_TABLE_HEAP_OBJECT_DATA];
	int64_t set = (int64_t)orma_store_table_rows(table);
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(primitives) && r == 0; i++) {
		int64_t cells[ORMA_HEAP_PRIMITIVE_COLUMNS];
		if (!orma_message_has(message, primitives[i].field))
			continue;
		for (size_t column = 0; column < ORMA_ARRAY_SIZE(cells); column++)
			cells[column] = orma_store_null_of(table->specs[column].type);
		cells[ORMA_HEAP_PRIMITIVE_FIELD_SET_ID] = set;
		cells[ORMA_HEAP_PRIMITIVE_FIELD_NAME] =
			orma_tables_string(tables, orma_base_str(primitives[i].name));
		cells[ORMA_HEAP_PRIMITIVE_FIELD_TYPE] =
			orma_tables_string(tables, orma_base_str(primitives[i].type));
		cells[primitives[i].column] =
			(int64_t)orma_message_number(message, primitives[i].field);
		r = orma_store_table_append(table, cells);
	}
	if (r < 0 || set == (int64_t)orma_store_table_rows(table))
		return r;
	heap->graphs->objects[object].data_id = (uint32_t)orma_store_table_rows(data_table);
	int64_t cells[ORMA_HEAP_OBJECT_DATA_COLUMNS];
	for (size_t column = 0; column < ORMA_ARRAY_SIZE(cells); column++)
		cells[column] = ORMA_CELL_NULL;
	cells[ORMA_HEAP_OBJECT_DATA_FIELD_SET_ID] = set;
	return orma_store_table_append(data_table, cells);
}

static uint64_t object_id(const struct orma_open_heap *heap, const struct orma_message *message)
{
	uint64_t delta = orma_message_number(message, ORMA_PB_HEAP_GRAPH_OBJECT_ID_DELTA);
	return delta ? heap->last_object_id + delta
		     : orma_message_number(message, ORMA_PB_HEAP_GRAPH_OBJECT_ID);
}

/* Sets what the object says of itself. Returns its number, NONE, or a negative errno value. */
static int64_t describe(struct orma_open_heap *heap, const struct orma_message *message)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	heap->last_object_id = object_id(heap, message);
	if (orma_message_has(message, ORMA_PB_HEAP_GRAPH_OBJECT_HEAP_TYPE_DELTA)) {
		uint64_t type =
			orma_message_number(message, ORMA_PB_HEAP_GRAPH_OBJECT_HEAP_TYPE_DELTA);
		heap->last_heap_type =
			type <= ORMA_PB_HEAP_GRAPH_OBJECT_HEAP_TYPE_HEAP_TYPE_BOOT_IMAGE
				? (uint8_t)type
				: 0;
	}
	int64_t id = orma_open_heap_object(heap, heap->last_object_id);
	int64_t class_id = orma_open_heap_class(
		heap, orma_message_number(message, ORMA_PB_HEAP_GRAPH_OBJECT_TYPE_ID));
	if (id < 0 || class_id < 0)
		return ORMA_MIN(id, class_id);
	if (id == ORMA_HEAP_NONE)
		return id;
	struct orma_heap_object *object = &graphs->objects[id];
	object->self_size =
		(int64_t)orma_message_number(message, ORMA_PB_HEAP_GRAPH_OBJECT_SELF_SIZE);
	object->class_id = (uint32_t)class_id;
	object->heap_type = heap->last_heap_type;
	object->first_reference = ORMA_HEAP_NONE;
	object->is_described = true;
	return id;
}

int orma_open_heap_take_object(struct orma_open_heap *heap, struct orma_str bytes)
{
	struct orma_message message;
	orma_message_read(&message, bytes);
	int64_t fields = count_numbers(&message, ORMA_PB_HEAP_GRAPH_OBJECT_REFERENCE_FIELD_ID);
	int64_t owned = count_numbers(&message, ORMA_PB_HEAP_GRAPH_OBJECT_REFERENCE_OBJECT_ID);
	int64_t internal =
		count_numbers(&message, ORMA_PB_HEAP_GRAPH_OBJECT_RUNTIME_INTERNAL_OBJECT_ID);
	if (fields < 0 || owned < 0 || internal < 0 || (fields > 0 && fields != owned)) {
		orma_open_heap_count(heap, ORMA_STAT_heap_graph_malformed_packet, 1);
		return 0;
	}
	int64_t id = describe(heap, &message);
	if (id < 0 || id == ORMA_HEAP_NONE)
		return (int)ORMA_MIN(id, 0);
	heap->graphs->objects[id].has_field_names = fields > 0;
	int r = add_named(heap, (uint32_t)id, &message, fields > 0);
	if (r == 0)
		r = add_internal(heap, (uint32_t)id, &message);
	if (r == 0)
		r = note_registry(heap, (uint32_t)id, &message);
	return r < 0 ? r : add_primitives(heap, (uint32_t)id, &message);
}
