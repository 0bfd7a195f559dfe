/* SPDX-License-Identifier: Apache-2.0
 * heap_output.h - the packets that an instance writes: dumps of heaps, their stacks, and counters.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_OUTPUT_H
#define ORMA_PROBES_HEAP_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "probes/heap/heap_process.h"
#include "profile/module_symbols.h"

/* Takes a whole TracePacket. */
typedef void orma_heap_write_fn(void *ctx, const void *packet, size_t size);

/* The packets of one sequence. The numbers of modules, frames and stacks never change in it, because readers compare the totals of two
 * dumps by the number of the stack. */
struct orma_heap_output {
	orma_heap_write_fn *write;
	void *ctx;
	/* The number of the incremental state, from 1. Everything has to be described again in each state. */
	uint32_t state;
	bool has_begun; /* the state */
	uint32_t next_iid[3];
	struct orma_map strings; /* struct orma_heap_string by hash */
	struct orma_arena arena;
	uint64_t next_index;      /* the next ProfilePacket's */
	uint64_t dropped_count;   /* packets that were not written for lack of memory */
	struct orma_buf interned; /* fields of an InternedData message */
	struct orma_buf packet;
	struct orma_module_symbols
		*symbols; /* gets the addresses of all frames; borrowed; NULL = none */
};

void orma_heap_output_init(struct orma_heap_output *output, uint64_t seed, orma_heap_write_fn *fn,
			   void *ctx);
void orma_heap_output_done(struct orma_heap_output *output);
/* Begins a new incremental state, because readers may have lost the last one. */
void orma_heap_output_clear(struct orma_heap_output *output);

/* A dump consists of orma_heap_output_begin(), processes, and orma_heap_output_end(). */
enum {
	ORMA_HEAP_DUMP_MAX = 1,          /* the state when each heap was largest */
	ORMA_HEAP_DUMP_DISCONNECTED = 2, /* the process has ended */
	ORMA_HEAP_DUMP_GUARDRAIL = 4,    /* the profile ends early */
};
void orma_heap_output_begin(struct orma_heap_output *output);
void orma_heap_output_process(struct orma_heap_output *output, struct orma_heap_process *process,
			      uint64_t timestamp_ns, unsigned flags);
void orma_heap_output_end(struct orma_heap_output *output);

/* Returns the number of a stack. Adds its description, if needed, to the data that orma_heap_output_end() writes. */
uint32_t orma_heap_output_stack(struct orma_heap_output *output, struct orma_heap_process *process,
				uint32_t node);
/* Writes a packet with the data in `interned`, if that has at least `bytes_min`. */
void orma_heap_output_flush_interned(struct orma_heap_output *output, size_t bytes_min);
/* Writes a packet with a field that is a message. */
void orma_heap_output_packet(struct orma_heap_output *output, uint32_t field_id,
			     struct orma_str message);

/* Writes the name of the process, unless the current state has it. */
void orma_heap_output_name(struct orma_heap_output *output, struct orma_heap_process *process);
/* Writes the live bytes of each heap, and its rate of allocations since the last call. */
void orma_heap_output_counters(struct orma_heap_output *output, struct orma_heap_process *process,
			       uint64_t elapsed_ns);

#endif
