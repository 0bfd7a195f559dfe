/* SPDX-License-Identifier: Apache-2.0
 * perf_config.h - the configuration of linux.perf.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_CONFIG_H
#define ORMA_PROBES_PERF_PERF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/arena.h"
#include "base/str.h"

struct orma_pb_perf_event_config;
struct orma_pb_perf_events_timebase;

#define ORMA_PERF_FOLLOWERS_MAX 16u
#define ORMA_PERF_HZ_DEFAULT    10u
#define ORMA_PERF_PERIOD_HZ     1000u /* a guess for events that are sampled by count */
/* The number of waits per second and CPU that are recorded. If there are more, one in N is recorded. */
#define ORMA_PERF_WAITS_HZ_DEFAULT    2000u
#define ORMA_PERF_WAITS_PERIOD_FIRST  997u /* the period until the rate of a CPU is known */
#define ORMA_PERF_READ_MS_DEFAULT     100u
#define ORMA_PERF_READ_MS_MIN         10u
#define ORMA_PERF_POLL_MS_MIN         10u
#define ORMA_PERF_STACK_BYTES_DEFAULT (16u << 10)
/* The kernel's limit is 64 KiB minus the record around the stack. */
#define ORMA_PERF_STACK_BYTES_MAX 65280u
#define ORMA_PERF_RING_PAGES_MAX  (64u << 10)
#define ORMA_PERF_CGROUPS_MAX     32u

enum orma_perf_event_kind {
	ORMA_PERF_EVENT_COUNTER,
	ORMA_PERF_EVENT_TRACEPOINT,
	ORMA_PERF_EVENT_RAW,
};

/* An event that is counted. */
struct orma_perf_event {
	enum orma_perf_event_kind kind;
	int32_t counter; /* enum orma_pb_perf_events_counter */
	/* A tracepoint "group:name" or "group/name". The filter has a NUL; "" = none. */
	struct orma_str tracepoint;
	const char *filter;
	uint32_t raw_type;
	uint64_t raw_config, raw_config1, raw_config2;
	struct orma_str pmu_name; /* instead of raw_type; empty = raw_type */
	bool exclude_user, exclude_kernel, exclude_hv;
};

enum orma_perf_user_frames {
	ORMA_PERF_USER_SKIP,
	ORMA_PERF_USER_DWARF,
	ORMA_PERF_USER_FP,        /* orma follows the frame pointers in the copy of the stack */
	ORMA_PERF_USER_KERNEL_FP, /* the kernel follows them */
};

/* Selects the processes whose samples have call stacks. */
struct orma_perf_scope_config {
	const int32_t *target_pids, *exclude_pids;
	size_t target_pid_count, exclude_pid_count;
	const struct orma_str *target_cmdlines, *exclude_cmdlines;
	size_t target_cmdline_count, exclude_cmdline_count;
	uint32_t additional_count; /* this many further command lines are included */
	uint32_t shard_count;      /* 0 = no shards */
};

struct orma_perf_config {
	struct orma_perf_event timebase, followers[ORMA_PERF_FOLLOWERS_MAX];
	uint32_t follower_count;
	uint64_t period; /* 0 = hz */
	uint64_t hz;     /* samples per second and CPU; for waits, the maximum */
	bool is_hz_chosen;
	/* the period at which counters are read, without samples; 0 = counters are not polled */
	uint32_t poll_ms;
	clockid_t clock;
	uint32_t clock_id; /* the same clock as a BuiltinClock */
	bool wants_stacks, kernel_frames;
	enum orma_perf_user_frames user_frames;
	struct orma_perf_scope_config scope;
	bool follow_children, off_cpu;
	const uint32_t *cpus; /* none = all */
	size_t cpu_count;
	const struct orma_str *cpuids; /* prefixes of the ids of ARM CPUs; none = all */
	size_t cpuid_count;
	const struct orma_str *cgroups;
	size_t cgroup_count;
	bool ignore_open_failure;
	uint32_t ring_pages; /* 0 = chosen by rate and size of a record */
	uint32_t read_ms;    /* the longest time between two reads; 0 = no limit */
	uint32_t stack_bytes;
	uint32_t memory_kb_max; /* 0 = no limit */
	uint32_t clear_period_ms;
	uint32_t stop_timeout_ms; /* 0 = the service's default */
	/* The config as the session has written it, for the defaults of the sequence. */
	const struct orma_pb_perf_event_config *source;
};

/* Returns the number of samples per second and CPU by which the rings are sized. */
static inline uint64_t orma_perf_config_rate(const struct orma_perf_config *config)
{
	return config->period > 0 ? ORMA_PERF_PERIOD_HZ : config->hz;
}

/* Reads a DataSourceConfig into `arena`, to which the result points. 0, -EBADMSG, -ENOMEM, or
 * -EINVAL when fields contradict each other, which the log explains. */
int orma_perf_config_parse(const void *config, size_t size, struct orma_arena *arena,
			   struct orma_perf_config *ret);

#endif
