/* SPDX-License-Identifier: Apache-2.0
 * perf_output.h - packets from records of perf.
 */
#ifndef ORMA_FORMATS_PERF_OUTPUT_H
#define ORMA_FORMATS_PERF_OUTPUT_H

#include "formats/perf_file.h"
#include "formats/perf_spaces.h"
#include "formats/stack_output.h"

/* {.file = ..., .packets = ..., .stacks.output = packets} is empty. */
struct orma_perf_output {
	const struct orma_perf_file *file;
	struct orma_packet_output *packets;
	struct orma_stack_output stacks;
	struct orma_perf_spaces spaces;
	struct orma_map totals;  /* sums of events by CPU: uint64_t */
	struct orma_map threads; /* struct perf_thread by tid, see perf_output.c */
	struct orma_arena arena;
	bool has_begun;
	bool has_event[ORMA_PERF_EVENTS_MAX]; /* its sequence has begun */
	uint64_t frames[ORMA_STACK_FRAMES_MAX];
};

void orma_perf_output_done(struct orma_perf_output *output);
/* All return 0 or a negative errno value. */
int orma_perf_output_name(struct orma_perf_output *output, uint64_t time, int32_t pid, int32_t tid,
			  struct orma_str comm);
int orma_perf_output_fork(struct orma_perf_output *output, uint64_t time, int32_t pid,
			  int32_t parent, int32_t tid, int32_t parent_tid);
/* `mode` is that of the CPU, from the header of the record. */
int orma_perf_output_sample(struct orma_perf_output *output, uint32_t mode,
			    const struct orma_perf_sample *sample);

#endif
