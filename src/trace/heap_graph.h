/* SPDX-License-Identifier: Apache-2.0
 * heap_graph.h - the objects of Java heaps, and what refers to what.
 *
 * A dump comes in several packets of a sequence. Objects refer to others, to types and to names that may come in a later packet, so
 * a graph is resolved when its last packet is there, and its rows are written behind the last packet of the trace. Objects
 * get their numbers, which are their rows, when they are first mentioned.
 */
#ifndef ORMA_TRACE_HEAP_GRAPH_H
#define ORMA_TRACE_HEAP_GRAPH_H

#include "base/map.h"
#include "store/big_array.h"
#include "trace/ordered_read.h"
#include "trace/system.h"

enum {
	ORMA_HEAP_OBJECTS_MAX = 1 << 26, /* in all graphs of a trace */
	ORMA_HEAP_REFERENCES_MAX = 1 << 28,
	ORMA_HEAP_FIELDS_MAX = 1 << 22, /* names of fields */
	ORMA_HEAP_NO_ROOT = 255,
};
#define ORMA_HEAP_NONE UINT32_MAX

struct orma_heap_object {
	int64_t self_size, native_size;
	uint32_t graph;
	uint32_t class_id;        /* 0 when the object is only referred to, as in Perfetto */
	uint32_t first_reference; /* its references are behind each other; NONE = none */
	uint32_t root_distance;   /* NONE = cannot be reached */
	uint32_t data_id;
	uint8_t heap_type, root_type;
	bool is_described;    /* not only referred to */
	bool has_field_names; /* its references say themselves which field they are */
};

struct orma_heap_reference {
	uint32_t owner, owned; /* NONE = a null pointer */
	uint32_t field;        /* NONE = not known */
	bool begins_set;       /* the first reference of an object */
};

struct orma_heap_class {
	int64_t name, location; /* cells */
	int64_t deobfuscated_name;
	int64_t class_loader; /* an object, or ORMA_CELL_NULL */
	uint32_t superclass, graph;
	uint32_t type;  /* in the graph that is being read */
	uint32_t first; /* class of the same name; see deobfuscation.c */
	uint8_t kind;
	bool is_described;
};

struct orma_heap_field {
	int64_t name, type_name, deobfuscated_name; /* cells */
	uint32_t first;                             /* field of the same name */
	bool is_named;
};

/* A whole or partial dump. */
struct orma_heap_dump {
	int64_t ts, upid;
};

/* {.system = ...} is empty. */
struct orma_heap_graphs {
	struct orma_system *system;
	bool is_off; /* packets of heap graphs are left out */
	struct orma_big_array object_array, reference_array;
	struct orma_heap_object *objects;
	struct orma_heap_reference *references;
	struct orma_heap_class *classes;
	struct orma_heap_field *fields;
	struct orma_heap_dump *dumps;
	uint32_t object_count, object_capacity, reference_count, reference_capacity;
	uint32_t class_count, class_capacity, field_count, field_capacity;
	uint32_t dump_count, dump_capacity;
	struct orma_map open; /* struct orma_open_heap by machine and sequence */
	struct orma_map rows; /* row + 1 in the table of graphs by process and time */
};

void orma_heap_graphs_done(struct orma_heap_graphs *graphs);
/* Takes a HeapGraph. 0 or a negative errno value. */
int orma_heap_graph_take(struct orma_heap_graphs *graphs, const struct orma_ordered_event *event);
/* Finishes graphs whose last packet is missing. 0 or a negative errno value. */
int orma_heap_graphs_end(struct orma_heap_graphs *graphs);
/* Writes the rows of all objects, references and classes. 0 or a negative errno value. */
int orma_heap_graphs_write(struct orma_heap_graphs *graphs);

/* Finds the row of a graph, or adds one without a reason. Returns it or a negative errno value. */
int64_t orma_heap_graph_row(struct orma_heap_graphs *graphs, int64_t upid, int64_t ts,
			    int64_t dump_reason);

#endif
