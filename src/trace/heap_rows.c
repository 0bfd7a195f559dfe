/* SPDX-License-Identifier: Apache-2.0
 * heap_rows.c - the tables of heap graphs, which are written when all is known.
 */
#include "schema/gen/heap_graph.pb.h"
#include "trace/heap_graph.h"

enum { NAMES_MAX = 16 };

/* The cells of an enumeration's names. */
static void read_names(struct orma_tables *tables, const struct orma_proto_enum_desc *desc,
		       int64_t ret[NAMES_MAX])
{
	for (int32_t i = 0; i < NAMES_MAX; i++) {
		char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
		const char *name = orma_proto_enum_name(desc, i, buffer);
		ret[i] = name ? orma_tables_string(tables, orma_base_str(name)) : ORMA_CELL_NULL;
	}
}

static int64_t id_or_null(uint32_t id)
{
	return id == ORMA_HEAP_NONE ? ORMA_CELL_NULL : (int64_t)id;
}

static int write_classes(const struct orma_heap_graphs *graphs)
{
	struct orma_tables *tables = graphs->system->tables;
	int64_t kinds[NAMES_MAX];
	int r = 0;
	read_names(tables, &orma_pb_heap_graph_type_kind_enum, kinds);
	for (uint32_t i = 0; i < graphs->class_count && r == 0; i++) {
		const struct orma_heap_class *class = &graphs->classes[i];
		int64_t cells[ORMA_HEAP_CLASS_COLUMNS] = {
			[ORMA_HEAP_CLASS_NAME] = class->name,
			[ORMA_HEAP_CLASS_DEOBFUSCATED_NAME] = class->deobfuscated_name,
			[ORMA_HEAP_CLASS_LOCATION] = class->location,
			[ORMA_HEAP_CLASS_SUPERCLASS_ID] = id_or_null(class->superclass),
			[ORMA_HEAP_CLASS_CLASSLOADER_ID] = class->class_loader,
			[ORMA_HEAP_CLASS_KIND] =
				class->is_described ? kinds[class->kind] : ORMA_CELL_NULL,
		};
		r = orma_store_table_append(&tables->all[ORMA_TABLE_HEAP_CLASS], cells);
	}
	return r;
}

static int write_objects(const struct orma_heap_graphs *graphs)
{
	struct orma_tables *tables = graphs->system->tables;
	int64_t heap_types[NAMES_MAX], root_types[NAMES_MAX];
	int r = 0;
	read_names(tables, &orma_pb_heap_graph_object_heap_type_enum, heap_types);
	read_names(tables, &orma_pb_heap_graph_root_type_enum, root_types);
	heap_types[ORMA_PB_HEAP_GRAPH_OBJECT_HEAP_TYPE_HEAP_TYPE_UNKNOWN] = ORMA_CELL_NULL;
	for (uint32_t i = 0; i < graphs->object_count && r == 0; i++) {
		const struct orma_heap_object *object = &graphs->objects[i];
		const struct orma_heap_dump *dump = &graphs->dumps[object->graph];
		bool is_root = object->root_type != ORMA_HEAP_NO_ROOT;
		bool is_reachable = object->root_distance != ORMA_HEAP_NONE;
		int64_t cells[ORMA_HEAP_OBJECT_COLUMNS] = {
			[ORMA_HEAP_OBJECT_UPID] = dump->upid,
			[ORMA_HEAP_OBJECT_GRAPH_SAMPLE_TS] = dump->ts,
			[ORMA_HEAP_OBJECT_SELF_SIZE] = object->self_size,
			[ORMA_HEAP_OBJECT_NATIVE_SIZE] = object->native_size,
			[ORMA_HEAP_OBJECT_REFERENCE_SET_ID] = id_or_null(object->first_reference),
			[ORMA_HEAP_OBJECT_REACHABLE] = is_reachable,
			[ORMA_HEAP_OBJECT_HEAP_TYPE] = heap_types[object->heap_type],
			[ORMA_HEAP_OBJECT_TYPE_ID] = object->class_id,
			[ORMA_HEAP_OBJECT_ROOT_TYPE] =
				is_root ? root_types[object->root_type] : ORMA_CELL_NULL,
			[ORMA_HEAP_OBJECT_ROOT_DISTANCE] =
				is_reachable ? (int64_t)object->root_distance : -1,
			[ORMA_HEAP_OBJECT_OBJECT_DATA_ID] = id_or_null(object->data_id),
		};
		r = orma_store_table_append(&tables->all[ORMA_TABLE_HEAP_OBJECT], cells);
	}
	return r;
}

static int write_references(const struct orma_heap_graphs *graphs)
{
	static const struct orma_heap_field unknown = {.name = ORMA_CELL_NULL,
						       .type_name = ORMA_CELL_NULL,
						       .deobfuscated_name = ORMA_CELL_NULL};
	struct orma_table *table = &graphs->system->tables->all[ORMA_TABLE_HEAP_REFERENCE];
	uint32_t set = 0;
	int r = 0;
	for (uint32_t i = 0; i < graphs->reference_count && r == 0; i++) {
		const struct orma_heap_reference *reference = &graphs->references[i];
		const struct orma_heap_field *field = reference->field == ORMA_HEAP_NONE
							      ? &unknown
							      : &graphs->fields[reference->field];
		if (reference->begins_set)
			set = i;
		int64_t cells[ORMA_HEAP_REFERENCE_COLUMNS] = {
			[ORMA_HEAP_REFERENCE_REFERENCE_SET_ID] = set,
			[ORMA_HEAP_REFERENCE_OWNER_ID] = reference->owner,
			[ORMA_HEAP_REFERENCE_OWNED_ID] = id_or_null(reference->owned),
			[ORMA_HEAP_REFERENCE_FIELD_NAME] = field->name,
			[ORMA_HEAP_REFERENCE_FIELD_TYPE_NAME] = field->type_name,
			[ORMA_HEAP_REFERENCE_DEOBFUSCATED_FIELD_NAME] = field->deobfuscated_name,
		};
		r = orma_store_table_append(table, cells);
	}
	return r;
}

int orma_heap_graphs_write(struct orma_heap_graphs *graphs)
{
	int r = write_classes(graphs);
	if (r == 0)
		r = write_objects(graphs);
	return r < 0 ? r : write_references(graphs);
}
