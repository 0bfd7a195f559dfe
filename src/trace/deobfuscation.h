/* SPDX-License-Identifier: Apache-2.0
 * deobfuscation.h - the names that classes, fields and methods had before a Java program was shortened.
 *
 * The packets may come before or behind what they name, so they are read again at the end of the trace.
 */
#ifndef ORMA_TRACE_DEOBFUSCATION_H
#define ORMA_TRACE_DEOBFUSCATION_H

#include "trace/call_stacks.h"
#include "trace/heap_graph.h"
#include "trace/packages.h"

struct orma_deobfuscation_place {
	uint64_t address;
	size_t size;
};

/* {.system, .graphs, .stacks, .packages} is empty. */
struct orma_deobfuscation {
	struct orma_system *system;
	struct orma_heap_graphs *graphs;
	struct orma_call_stacks *stacks;
	struct orma_packages *packages;
	struct orma_deobfuscation_place *places; /* where the packets are */
	uint32_t place_count, place_capacity;
	struct orma_trace_window window;
};

void orma_deobfuscation_done(struct orma_deobfuscation *deobfuscation);
/* Notes where a DeobfuscationMapping is. 0 or a negative errno value. */
int orma_deobfuscation_take(struct orma_deobfuscation *deobfuscation,
			    const struct orma_ordered_event *event);
/* Names frames, and the classes and fields of heap graphs. 0 or a negative errno value. */
int orma_deobfuscation_end(struct orma_deobfuscation *deobfuscation);

/* Reads a packet again. It is valid until the next call. 0 or a negative errno value. */
int orma_deobfuscation_read(struct orma_deobfuscation *deobfuscation, uint32_t place,
			    struct orma_str *ret);
/* Returns the cell of "class.member", or of the member's name when that says the class itself. */
int64_t orma_deobfuscation_member(struct orma_deobfuscation *deobfuscation,
				  struct orma_str class_name, struct orma_str member);
/* The part for frames. 0 or a negative errno value. */
int orma_java_frames_name(struct orma_deobfuscation *deobfuscation);

#endif
