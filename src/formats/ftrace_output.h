/* SPDX-License-Identifier: Apache-2.0
 * ftrace_output.h - lines of kernel events become kernel events, in bundles of each CPU.
 */
#ifndef ORMA_FORMATS_FTRACE_OUTPUT_H
#define ORMA_FORMATS_FTRACE_OUTPUT_H

#include "formats/ftrace_line.h"
#include "formats/packet_output.h"

struct orma_ftrace_cpu;

/* {.output = ...} is empty. */
struct orma_ftrace_output {
	struct orma_packet_output *output;
	bool has_trace_clock; /* times are on the trace's clock; else CLOCK_MONOTONIC */
	struct orma_ftrace_cpu *cpus;
	uint32_t cpu_count, cpu_capacity;
	struct orma_map names;  /* hash of name and process by thread, as the last packet said */
	struct orma_map events; /* struct orma_proto_field_desc by hash of the event's name */
	struct orma_buf text;
};

void orma_ftrace_output_done(struct orma_ftrace_output *ftrace);
/* Writes the event of a line, and the name of its task if that is new. 0 or the first error. */
int orma_ftrace_output_add(struct orma_ftrace_output *ftrace, const struct orma_ftrace_line *line);
/* Writes all events that wait. 0 or the first error. */
int orma_ftrace_output_end(struct orma_ftrace_output *ftrace);
/* Names a thread of a process; `tgid` may be 0. 0 or the first error. */
int orma_ftrace_output_name(struct orma_ftrace_output *ftrace, int64_t ns, uint32_t tid,
			    uint32_t tgid, struct orma_str name);

#endif
