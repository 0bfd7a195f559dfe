/* SPDX-License-Identifier: Apache-2.0
 * open_heap.h - a heap graph whose last packet is not there yet.
 */
#ifndef ORMA_TRACE_OPEN_HEAP_H
#define ORMA_TRACE_OPEN_HEAP_H

#include "base/buf.h"
#include "trace/heap_graph.h"

/* A HeapGraphType. */
struct orma_heap_type {
	uint64_t id, object_size, superclass_id, class_loader_id, location_id;
	int64_t name;                      /* a cell */
	uint32_t first_field, field_count; /* in `type_fields` */
	uint32_t class_id, superclass;     /* superclass: a type, or NONE */
	uint32_t next_with_fields;         /* the nearest superclass that has fields, or NONE */
	uint8_t kind;
	bool has_location;
};

struct orma_heap_root {
	uint64_t object_id;
	uint8_t type;
};

/* Objects [first, first + count) are of the graph. */
struct orma_heap_run {
	uint32_t first, count;
};

struct orma_open_heap {
	struct orma_heap_graphs *graphs;
	uint32_t dump, machine_idx, sequence;
	int64_t ts, upid;
	uint64_t last_index, last_object_id;
	int64_t heap_size;
	uint8_t last_heap_type;
	bool has_begun; /* has objects or roots, so that its time and process are known */
	bool has_index, is_truncated;
	struct orma_map objects, classes, fields; /* numbers + 1 by the packets' ids */
	struct orma_map locations;                /* cells */
	struct orma_map type_ids;                 /* number + 1 */
	struct orma_map registry_ids;             /* number + 1 by object */
	struct orma_heap_type *types;
	uint32_t *type_fields;
	struct orma_heap_root *roots;
	struct orma_heap_run *runs;
	int64_t *registry_sizes;
	uint32_t type_count, type_capacity, type_field_count, type_field_capacity;
	uint32_t root_count, root_capacity, run_count, run_capacity;
	uint32_t registry_count, registry_capacity;
};

void orma_open_heap_free(struct orma_open_heap *heap);
/* Return the number of what the packets call so, which is made if needed; ORMA_HEAP_NONE when there are too many, or a negative
 * errno value. */
int64_t orma_open_heap_object(struct orma_open_heap *heap, uint64_t id);
int64_t orma_open_heap_class(struct orma_open_heap *heap, uint64_t id);
int64_t orma_open_heap_field(struct orma_open_heap *heap, uint64_t id);
/* Counts an error of the graph's process. */
void orma_open_heap_count(struct orma_open_heap *heap, enum orma_stat stat, int64_t count);
/* Takes an object; damage is counted. 0 or a negative errno value. */
int orma_open_heap_take_object(struct orma_open_heap *heap, struct orma_str bytes);
/* Resolves the graph, which has all its packets. 0 or a negative errno value. */
int orma_open_heap_finish(struct orma_open_heap *heap);

#endif
