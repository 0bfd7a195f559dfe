/* SPDX-License-Identifier: Apache-2.0
 * ftrace_cpu_reader.h - takes the pages of one CPU's ring buffer out of the kernel and gives them to the sinks.
 */
#ifndef ORMA_PROBES_FTRACE_CPU_READER_H
#define ORMA_PROBES_FTRACE_CPU_READER_H

#include <orma/data_source.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/ftrace/ftrace_format.h"
#include "probes/ftrace/ftrace_sink.h"
#include "probes/ftrace/tracefs.h"

struct orma_ftrace_cpu_reader;

/* A reading of the buffer's trace clock beside CLOCK_BOOTTIME. */
struct orma_ftrace_clock_pair {
	int32_t clock; /* enum orma_pb_ftrace_clock; 0 = the trace clock is boot, and there is no pair */
	uint64_t ftrace_ns, boot_ns; /* 0 = could not be read yet */
};

/* The state that all readers of a buffer share. */
struct orma_ftrace_drain {
	struct orma_ftrace_page_layout layout;
	struct orma_ftrace_clock_pair clock; /* set before each round */
	struct orma_ftrace_sink *sinks[ORMA_INSTANCES_MAX];
	uint32_t sink_count;
	uint8_t *pages; /* room for a batch; owned */
};

/* Reads events/header_page of the instance; a kernel without that file has the layout of its machine. 0, -EBADMSG,
 * -ENOMEM, or the errno of reading. */
int orma_ftrace_drain_init(struct orma_ftrace_drain *drain, const char *tracefs_path);
void orma_ftrace_drain_done(struct orma_ftrace_drain *drain);

/* Opens per_cpu/cpuN/trace_pipe_raw. 0, -ENOMEM, or the errno of opening. */
int orma_ftrace_cpu_reader_new(const char *tracefs_path, uint32_t cpu,
			       struct orma_ftrace_cpu_reader **ret);
void orma_ftrace_cpu_reader_free(struct orma_ftrace_cpu_reader *reader);
uint32_t orma_ftrace_cpu_reader_cpu(const struct orma_ftrace_cpu_reader *reader);
/* Returns the descriptor for polling; the reader keeps it. */
int orma_ftrace_cpu_reader_fd(const struct orma_ftrace_cpu_reader *reader);

/* How many reads take out all that the CPU's buffer can hold. */
uint32_t orma_ftrace_cpu_reader_buffer_pages(const struct orma_ftrace_cpu_reader *reader,
					     const struct orma_ftrace_drain *drain,
					     const struct orma_tracefs *fs);

/* The result of orma_ftrace_cpu_reader_drain(). */
struct orma_ftrace_drained {
	uint32_t pages;
	bool is_done; /* it has caught up with the kernel, or cannot read; otherwise there may be more */
	int error; /* 0, -ENODEV (the CPU is offline), or another -errno with which reading ended */
};

/*
 * Reads up to `limit` pages and writes their events to the sinks. With `must_empty` it is done only when the kernel has
 * nothing more, and also not when the kernel is out of memory for the moment. An error counts as a parse error of each
 * sink, except -ENODEV.
 */
struct orma_ftrace_drained orma_ftrace_cpu_reader_drain(struct orma_ftrace_cpu_reader *reader,
							struct orma_ftrace_drain *drain,
							uint32_t limit, bool must_empty);

#endif
