/* SPDX-License-Identifier: Apache-2.0
 * stack_output.h - call stacks: mappings, frames and stacks, each written once into a sequence.
 */
#ifndef ORMA_FORMATS_STACK_OUTPUT_H
#define ORMA_FORMATS_STACK_OUTPUT_H

#include "formats/packet_output.h"

/* A longer stack is cut: its outermost frames are left out. */
enum { ORMA_STACK_FRAMES_MAX = 16 << 10 };

/* {.output = ...} is empty. All functions write into the open packet, and return numbers in its sequence. */
struct orma_stack_output {
	struct orma_packet_output *output;
	struct orma_map numbers; /* by sequence and content */
	uint64_t last_number;
};

struct orma_output_mapping {
	struct orma_str name, build_id; /* the build id's bytes */
	uint64_t start, end, offset;
	bool is_shared; /* it is the kernel's, and not of one process */
};

/* A field without data, or a line of 0, is not known. */
struct orma_output_frame {
	uint64_t mapping; /* its number; 0 = none */
	uint64_t rel_pc;
	struct orma_str name, source_file;
	uint32_t line;
};

void orma_stack_output_done(struct orma_stack_output *stacks);
uint64_t orma_stack_output_mapping(struct orma_stack_output *stacks,
				   const struct orma_output_mapping *mapping);
uint64_t orma_stack_output_frame(struct orma_stack_output *stacks,
				 const struct orma_output_frame *frame);
/* `frames` are numbers, the outermost first. */
uint64_t orma_stack_output_stack(struct orma_stack_output *stacks, const uint64_t *frames,
				 size_t count);

/* A counter that weighs samples; `unit` is as pprof writes it. */
struct orma_output_weight {
	struct orma_str name, unit;
};
/* Begins a sequence of StackSamples. The first weight is the main one; there may be none. 0 or the first error. */
int orma_stack_output_begin_samples(struct orma_stack_output *stacks, uint32_t sequence,
				    const char *source, const struct orma_output_weight *weights,
				    size_t weight_count);
/* Writes the field of the open StackSample for each weight; those below 0 count as 0. */
void orma_stack_output_weights(struct orma_stack_output *stacks, const int64_t *weights,
			       size_t count);

#endif
