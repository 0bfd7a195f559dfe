/* SPDX-License-Identifier: Apache-2.0
 * ftrace_stats.h - the packet FtraceStats: what the kernel counted per CPU, and what went wrong.
 */
#ifndef ORMA_PROBES_FTRACE_STATS_H
#define ORMA_PROBES_FTRACE_STATS_H

#include <orma/packet.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* One per_cpu/cpuN/stats. */
struct orma_ftrace_cpu_stats {
	uint32_t cpu;
	uint64_t entries, overrun, commit_overrun, bytes, dropped_events, read_events;
	double oldest_event_s, now_s; /* seconds of the buffer's trace clock */
};

/* Lines that are missing or not understood leave 0. */
void orma_ftrace_cpu_stats_parse(struct orma_str text, struct orma_ftrace_cpu_stats *ret);

struct orma_ftrace_stats {
	struct orma_ftrace_cpu_stats *cpus; /* owned */
	uint32_t cpu_count;
	uint32_t kernel_symbols_parsed, kernel_symbols_mem_kb;
	uint32_t cpu_buffer_size_pages, cached_cpu_buffer_size_pages;
	bool has_kprobes;
	int64_t kprobe_hits, kprobe_misses;
};

/* Reads the counters of the CPUs below `cpu_count` that exist, and nothing else. 0 or -ENOMEM. */
int orma_ftrace_stats_read(const char *tracefs_path, uint32_t cpu_count,
			   struct orma_ftrace_stats *ret);
void orma_ftrace_stats_done(struct orma_ftrace_stats *stats);
/* Adds up kprobe_profile, which has the lines "NAME HITS MISSES". */
void orma_ftrace_stats_add_kprobes(struct orma_ftrace_stats *stats, struct orma_str profile);

/* The part that differs between the sessions of a buffer. */
struct orma_ftrace_session_stats {
	int32_t phase;                                 /* enum orma_pb_ftrace_stats_phase */
	uint32_t parse_errors;                         /* orma_ftrace_sink_parse_errors() */
	struct orma_str unknown_events, failed_events; /* names, each ending in a NUL */
	struct orma_str exclusive_feature_error;
	struct orma_str atrace_errors; /* any other problem of the set-up */
	bool preserve_buffer;
};

/* Writes the field ftrace_stats of TracePacket. */
void orma_ftrace_stats_write(const struct orma_ftrace_stats *stats,
			     const struct orma_ftrace_session_stats *session,
			     struct orma_packet *packet);

#endif
