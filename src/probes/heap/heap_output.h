/* SPDX-License-Identifier: Apache-2.0
 * heap_output.h - what an instance writes into the trace: dumps of heaps, their stacks, and counters.
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

/* The packets of one sequence. The numbers of modules, frames and stacks stay the same as long as it lasts, because readers
 * compare the totals of one dump with those of the one before by the number of the stack. */
struct orma_heap_output {
	orma_heap_write_fn *write;
	void *ctx;
	/* Number of the incremental state, from 1: what was described in an earlier one has to be described again. */
	uint32_t state;
	bool has_begun; /* the state */
	uint32_t next_iid[3];
	struct orma_map strings; /* struct orma_heap_string by hash */
	struct orma_arena arena;
	uint64_t next_index;      /* the next ProfilePacket's */
	uint64_t dropped_count;   /* packets that memory was missing for */
	struct orma_buf interned; /* fields of an InternedData message */
	struct orma_buf packet;
	struct orma_module_symbols
		*symbols; /* gets the addresses of all frames; borrowed; NULL = nobody */
};

void orma_heap_output_init(struct orma_heap_output *output, uint64_t seed, orma_heap_write_fn *fn,
			   void *ctx);
void orma_heap_output_done(struct orma_heap_output *output);
/* Readers may have lost everything that was described. */
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

/* Adds the stack and everything that it refers to to the data that orma_heap_output_end() writes. Its number. */
uint32_t orma_heap_output_stack(struct orma_heap_output *output, struct orma_heap_process *process,
				uint32_t node);
/* Writes a packet with what is in `interned`, if that is large enough. */
void orma_heap_output_flush_interned(struct orma_heap_output *output, size_t bytes_min);
/* Writes a packet with a field that is a message. */
void orma_heap_output_packet(struct orma_heap_output *output, uint32_t field_id,
			     struct orma_str message);

/* Writes who the process is, if that is not known in the state. */
void orma_heap_output_name(struct orma_heap_output *output, struct orma_heap_process *process);
/* Live bytes and the rate of allocations of each heap, since the last call. */
void orma_heap_output_counters(struct orma_heap_output *output, struct orma_heap_process *process,
			       uint64_t elapsed_ns);

#endif
