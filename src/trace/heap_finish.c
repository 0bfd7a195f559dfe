/* SPDX-License-Identifier: Apache-2.0
 * heap_finish.c - resolves a heap graph that has all its packets: classes, names of fields, what can be reached, the sizes that
 * objects hold outside of the heap.
 *
 * Types and references come from the trace, so both can be circular. Chains of superclasses without fields are shortened first;
 * so each step along a chain uses up a reference. The search from the roots is breadth first, with an array as its queue.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "schema/gen/heap_graph.pb.h"
#include "trace/java_names.h"
#include "trace/open_heap.h"

/* A thunk of a cleaner has few fields. Many cleaners may have one thunk, so not all of a large object is searched. */
enum { THUNK_FIELDS_MAX = 64 };
#define UNRESOLVED (UINT32_MAX - 1)
#define IN_WORK    (UINT32_MAX - 2)

static int64_t known_text(const struct orma_open_heap *heap, const char *text)
{
	uint32_t id =
		orma_store_pool_find(&heap->graphs->system->tables->strings, orma_base_str(text));
	return id ? (int64_t)id : ORMA_CELL_NULL;
}

static struct orma_str text_of(const struct orma_open_heap *heap, int64_t cell)
{
	return cell == ORMA_CELL_NULL ? (struct orma_str){NULL, 0}
				      : orma_store_pool_get(&heap->graphs->system->tables->strings,
							    (uint32_t)cell);
}

static uint32_t find_type(const struct orma_open_heap *heap, uint64_t id)
{
	uintptr_t number = id ? (uintptr_t)orma_base_map_get(&heap->type_ids, id) : 0;
	return number ? (uint32_t)(number - 1) : ORMA_HEAP_NONE;
}

static int compare_types(const void *a, const void *b)
{
	const struct orma_heap_type *left = a, *right = b;
	return left->id < right->id ? -1 : left->id > right->id;
}

static int describe_class(struct orma_open_heap *heap, uint32_t number)
{
	struct orma_heap_type *type = &heap->types[number];
	int64_t class_id = orma_open_heap_class(heap, type->id);
	int64_t loader = ORMA_CELL_NULL;
	if (class_id < 0)
		return (int)class_id;
	if (type->class_loader_id) {
		loader = orma_open_heap_object(heap, type->class_loader_id);
		if (loader < 0)
			return (int)loader;
	}
	int64_t location =
		(int64_t)(uintptr_t)orma_base_map_get(&heap->locations, type->location_id);
	if (type->has_location && !location)
		orma_open_heap_count(heap, ORMA_STAT_heap_graph_invalid_string_id, 1);
	struct orma_heap_class *class = &heap->graphs->classes[class_id];
	class->name = type->name;
	class->location = type->has_location && location ? location : ORMA_CELL_NULL;
	class->class_loader = loader == ORMA_HEAP_NONE ? ORMA_CELL_NULL : loader;
	class->kind = type->kind;
	class->type = number;
	class->is_described = true;
	type->class_id = (uint32_t)class_id;
	return 0;
}

/* Finds the nearest superclass that has fields, for a type and for those above it. */
static void shorten_chain(struct orma_heap_type *types, uint32_t first)
{
	uint32_t type = first, end = ORMA_HEAP_NONE;
	while (types[type].next_with_fields == UNRESOLVED) {
		types[type].next_with_fields = IN_WORK;
		uint32_t above = types[type].superclass;
		if (above == ORMA_HEAP_NONE)
			break;
		if (types[above].field_count > 0) {
			end = above;
			break;
		}
		type = above;
		/* A chain that comes back to itself has no more fields. */
		if (types[type].next_with_fields < IN_WORK)
			end = types[type].next_with_fields;
	}
	for (type = first; types[type].next_with_fields == IN_WORK; type = types[type].superclass) {
		types[type].next_with_fields = end;
		if (types[type].superclass == ORMA_HEAP_NONE)
			break;
	}
}

/* Classes that no object has get their rows in the order of their ids. */
static int describe_classes(struct orma_open_heap *heap)
{
	int r = 0;
	if (heap->type_count > 0)
		qsort(heap->types, heap->type_count, sizeof(*heap->types), compare_types);
	for (uint32_t i = 0; i < heap->type_count && r == 0; i++)
		r = orma_base_map_put(&heap->type_ids, heap->types[i].id,
				      (void *)((uintptr_t)i + 1));
	for (uint32_t i = 0; i < heap->type_count && r == 0; i++) {
		heap->types[i].superclass = find_type(heap, heap->types[i].superclass_id);
		heap->types[i].next_with_fields = UNRESOLVED;
		r = describe_class(heap, i);
	}
	for (uint32_t i = 0; i < heap->type_count && r == 0; i++)
		shorten_chain(heap->types, i);
	return r;
}

/* Gives the references of an object the names of its class's fields, and then those of its superclasses'. */
static void name_references(struct orma_open_heap *heap, uint32_t object,
			    const struct orma_heap_type *type)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	uint32_t field_idx = 0;
	for (uint32_t i = graphs->objects[object].first_reference;
	     i < graphs->reference_count && graphs->references[i].owner == object; i++) {
		struct orma_heap_reference *reference = &graphs->references[i];
		if (reference->field != ORMA_HEAP_NONE)
			continue;
		if (type && field_idx >= type->field_count) {
			uint32_t next = type->next_with_fields;
			type = next == ORMA_HEAP_NONE ? NULL : &heap->types[next];
			field_idx = 0;
		}
		if (!type) {
			orma_open_heap_count(heap, ORMA_STAT_heap_graph_malformed_packet, 1);
			return;
		}
		uint32_t field = heap->type_fields[type->first_field + field_idx++];
		if (field != ORMA_HEAP_NONE && graphs->fields[field].is_named)
			reference->field = field;
		else
			orma_open_heap_count(heap, ORMA_STAT_heap_graph_malformed_packet, 1);
	}
}

static bool has_fields(const struct orma_heap_type *type)
{
	return type->kind != ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_NOREFERENCES &&
	       type->kind != ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_ARRAY &&
	       type->kind != ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_STRING;
}

/* Completes an object with what its type says. Returns false when the type is missing. */
static bool complete_object(struct orma_open_heap *heap, uint32_t number)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	struct orma_heap_object *object = &graphs->objects[number];
	bool needs_names = object->first_reference != ORMA_HEAP_NONE && !object->has_field_names;
	if (!object->is_described || (object->self_size != 0 && !needs_names))
		return true;
	uint32_t type_idx = graphs->classes[object->class_id].type;
	if (graphs->classes[object->class_id].graph != heap->dump || type_idx == ORMA_HEAP_NONE)
		return false;
	const struct orma_heap_type *type = &heap->types[type_idx];
	if (object->self_size == 0)
		object->self_size = (int64_t)type->object_size;
	if (needs_names && has_fields(type))
		name_references(heap, number, type);
	return true;
}

static void complete_objects(struct orma_open_heap *heap)
{
	bool is_complete = true;
	for (uint32_t i = 0; i < heap->run_count; i++)
		for (uint32_t k = 0; k < heap->runs[i].count; k++)
			is_complete &= complete_object(heap, heap->runs[i].first + k);
	if (!is_complete)
		orma_open_heap_count(heap, ORMA_STAT_heap_graph_malformed_packet, 1);
}

/* An object may be a root in several ways, of which one is shown. */
static unsigned root_rank(uint8_t type)
{
	static const uint8_t first[] = {ORMA_PB_HEAP_GRAPH_ROOT_TYPE_ROOT_STICKY_CLASS,
					ORMA_PB_HEAP_GRAPH_ROOT_TYPE_ROOT_JNI_GLOBAL,
					ORMA_PB_HEAP_GRAPH_ROOT_TYPE_ROOT_JNI_LOCAL};
	unsigned rank = 0;
	while (rank < ORMA_ARRAY_SIZE(first) && first[rank] != type)
		rank++;
	return rank;
}

struct queue {
	uint32_t *objects;
	uint32_t count;
};

static void mark_root(struct orma_open_heap *heap, struct queue *queue, uint32_t number,
		      uint8_t type)
{
	struct orma_heap_object *object = &heap->graphs->objects[number];
	if (object->root_type != ORMA_HEAP_NO_ROOT &&
	    root_rank(type) >= root_rank(object->root_type))
		return;
	object->root_type = type;
	if (object->root_distance == 0)
		return;
	object->root_distance = 0;
	queue->objects[queue->count++] = number;
}

static void mark_roots(struct orma_open_heap *heap, struct queue *queue)
{
	const struct orma_heap_object *objects = heap->graphs->objects;
	for (uint32_t i = 0; i < heap->root_count; i++) {
		uintptr_t number =
			(uintptr_t)orma_base_map_get(&heap->objects, heap->roots[i].object_id);
		if (number)
			mark_root(heap, queue, (uint32_t)(number - 1), heap->roots[i].type);
	}
	/* The collector of ART keeps all objects of these heaps. */
	for (uint32_t i = 0; i < heap->run_count; i++)
		for (uint32_t k = 0; k < heap->runs[i].count; k++) {
			uint32_t number = heap->runs[i].first + k;
			uint8_t type = objects[number].heap_type;
			if (type == ORMA_PB_HEAP_GRAPH_OBJECT_HEAP_TYPE_HEAP_TYPE_ZYGOTE ||
			    type == ORMA_PB_HEAP_GRAPH_OBJECT_HEAP_TYPE_HEAP_TYPE_BOOT_IMAGE)
				mark_root(heap, queue, number,
					  ORMA_PB_HEAP_GRAPH_ROOT_TYPE_ROOT_VM_INTERNAL);
		}
}

/* References of these kinds do not keep what they refer to. */
static bool is_weak(uint8_t kind)
{
	return kind == ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_WEAK_REFERENCE ||
	       kind == ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_FINALIZER_REFERENCE ||
	       kind == ORMA_PB_HEAP_GRAPH_TYPE_KIND_KIND_PHANTOM_REFERENCE;
}

static void reach(struct orma_open_heap *heap, struct queue *queue)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	int64_t referent = known_text(heap, "java.lang.ref.Reference.referent");
	for (uint32_t head = 0; head < queue->count; head++) {
		uint32_t number = queue->objects[head];
		const struct orma_heap_object *object = &graphs->objects[number];
		bool skips_referent = is_weak(graphs->classes[object->class_id].kind);
		for (uint32_t i = object->first_reference;
		     i < graphs->reference_count && graphs->references[i].owner == number; i++) {
			const struct orma_heap_reference *reference = &graphs->references[i];
			if (reference->owned == ORMA_HEAP_NONE ||
			    graphs->objects[reference->owned].root_distance != ORMA_HEAP_NONE)
				continue;
			if (skips_referent && reference->field != ORMA_HEAP_NONE &&
			    graphs->fields[reference->field].name == referent)
				continue;
			graphs->objects[reference->owned].root_distance = object->root_distance + 1;
			queue->objects[queue->count++] = reference->owned;
		}
	}
}

static int find_reachable(struct orma_open_heap *heap)
{
	struct queue queue = {.count = 0};
	size_t count = 1;
	for (uint32_t i = 0; i < heap->run_count; i++)
		count += heap->runs[i].count;
	queue.objects = orma_base_alloc_array(count, sizeof(*queue.objects));
	/* Without a class there is nothing to look at. */
	if (queue.objects && heap->graphs->class_count > 0) {
		mark_roots(heap, &queue);
		reach(heap, &queue);
	}
	orma_base_free(queue.objects);
	return queue.objects ? 0 : -ENOMEM;
}

/* Returns what one of the first fields of an object refers to, or NONE. */
static uint32_t follow_first(const struct orma_open_heap *heap, uint32_t object, int64_t field_name,
			     uint32_t count)
{
	const struct orma_heap_graphs *graphs = heap->graphs;
	for (uint32_t i = graphs->objects[object].first_reference;
	     i < graphs->reference_count && graphs->references[i].owner == object && count > 0;
	     i++, count--) {
		uint32_t field = graphs->references[i].field;
		if (field != ORMA_HEAP_NONE && field_name != ORMA_CELL_NULL &&
		    graphs->fields[field].name == field_name)
			return graphs->references[i].owned;
	}
	return ORMA_HEAP_NONE;
}

static uint32_t follow(const struct orma_open_heap *heap, uint32_t object, int64_t field_name)
{
	return follow_first(heap, object, field_name, UINT32_MAX);
}

static uint64_t class_key(int64_t name, int64_t location)
{
	int64_t words[] = {name, location};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

static uint32_t find_class(const struct orma_open_heap *heap, const struct orma_map *classes,
			   const struct orma_heap_class *class_object)
{
	struct orma_java_type type = orma_java_type_read(text_of(heap, class_object->name));
	uint32_t name = orma_store_pool_find(&heap->graphs->system->tables->strings, type.name);
	uintptr_t number = (uintptr_t)orma_base_map_get(
		classes, class_key((int64_t)name, class_object->location));
	return number ? (uint32_t)(number - 1) : ORMA_HEAP_NONE;
}

static void set_superclass(struct orma_open_heap *heap, const struct orma_map *classes,
			   uint32_t object, int64_t super_field)
{
	struct orma_heap_graphs *graphs = heap->graphs;
	const struct orma_heap_class *class_object =
		&graphs->classes[graphs->objects[object].class_id];
	struct orma_java_type type = orma_java_type_read(text_of(heap, class_object->name));
	if (!type.is_class_object || type.array_depth > 0)
		return;
	uint32_t super_object = follow(heap, object, super_field);
	if (super_object == ORMA_HEAP_NONE)
		return;
	uint32_t class_id = find_class(heap, classes, class_object);
	uint32_t super_id =
		find_class(heap, classes, &graphs->classes[graphs->objects[super_object].class_id]);
	if (class_id != ORMA_HEAP_NONE && super_id != ORMA_HEAP_NONE)
		graphs->classes[class_id].superclass = super_id;
}

/* The object java.lang.Class<A> of a class A refers to that of its superclass. */
static int set_superclasses(struct orma_open_heap *heap)
{
	ORMA_AUTO(orma_base_map_done) struct orma_map classes = {0};
	int64_t super_field = known_text(heap, "java.lang.Class.superClass");
	if (super_field == ORMA_CELL_NULL)
		return 0;
	classes.seed = heap->objects.seed;
	for (uint32_t i = 0; i < heap->type_count; i++) {
		uint32_t id = heap->types[i].class_id;
		const struct orma_heap_class *class = &heap->graphs->classes[id];
		struct orma_java_type type = orma_java_type_read(text_of(heap, class->name));
		if (type.is_class_object || type.array_depth > 0)
			continue;
		int r = orma_base_map_put(&classes, class_key(class->name, class->location),
					  (void *)((uintptr_t)id + 1));
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < heap->run_count; i++)
		for (uint32_t k = 0; k < heap->runs[i].count; k++)
			set_superclass(heap, &classes, heap->runs[i].first + k, super_field);
	return 0;
}

/*
 * A cleaner frees memory outside of the heap when its referent goes. Its thunk belongs to a registry, which knows the size. The
 * lowest bit of it is a mark. A cleaner whose `next` is itself has done its work.
 */
static void add_native_size(struct orma_open_heap *heap, uint32_t cleaner)
{
	uint32_t referent =
		follow(heap, cleaner, known_text(heap, "java.lang.ref.Reference.referent"));
	uint32_t thunk = follow(heap, cleaner, known_text(heap, "sun.misc.Cleaner.thunk"));
	if (referent == ORMA_HEAP_NONE || thunk == ORMA_HEAP_NONE ||
	    follow(heap, cleaner, known_text(heap, "sun.misc.Cleaner.next")) == cleaner)
		return;
	uint32_t registry = follow_first(
		heap, thunk,
		known_text(heap, "libcore.util.NativeAllocationRegistry$CleanerThunk.this$0"),
		THUNK_FIELDS_MAX);
	uintptr_t number = registry == ORMA_HEAP_NONE
				   ? 0
				   : (uintptr_t)orma_base_map_get(&heap->registry_ids, registry);
	if (!number)
		return;
	uint64_t size = (uint64_t)heap->registry_sizes[number - 1] & ~UINT64_C(1);
	int64_t *sum = &heap->graphs->objects[referent].native_size;
	*sum = (int64_t)((uint64_t)*sum + size);
}

static void add_native_sizes(struct orma_open_heap *heap)
{
	const struct orma_heap_graphs *graphs = heap->graphs;
	int64_t cleaner = known_text(heap, "sun.misc.Cleaner");
	if (heap->registry_count == 0 || cleaner == ORMA_CELL_NULL)
		return;
	for (uint32_t i = 0; i < heap->run_count; i++)
		for (uint32_t k = 0; k < heap->runs[i].count; k++) {
			uint32_t object = heap->runs[i].first + k;
			if (graphs->classes[graphs->objects[object].class_id].name == cleaner)
				add_native_size(heap, object);
		}
}

static int write_row(struct orma_open_heap *heap)
{
	struct orma_table *table = &heap->graphs->system->tables->all[ORMA_TABLE_HEAP_GRAPH];
	int64_t row = orma_heap_graph_row(heap->graphs, heap->upid, heap->ts, ORMA_CELL_NULL);
	int r = row < 0 ? (int)row : 0;
	if (r == 0 && heap->heap_size != ORMA_CELL_NULL)
		r = orma_store_column_set(&table->columns[ORMA_HEAP_GRAPH_HEAP_SIZE], (uint64_t)row,
					  heap->heap_size);
	if (r == 0 && heap->is_truncated)
		r = orma_store_column_set(&table->columns[ORMA_HEAP_GRAPH_TRUNCATED], (uint64_t)row,
					  1);
	return r;
}

int orma_open_heap_finish(struct orma_open_heap *heap)
{
	int r = describe_classes(heap);
	if (r < 0)
		return r;
	/* A new object of a class loader may have moved the array, so nothing is remembered of it before here. */
	if (heap->graphs->class_count > 0)
		complete_objects(heap);
	r = find_reachable(heap);
	if (r == 0 && heap->graphs->class_count > 0) {
		r = set_superclasses(heap);
		add_native_sizes(heap);
	}
	return r < 0 ? r : write_row(heap);
}
