/* SPDX-License-Identifier: Apache-2.0
 * clocks.h - the clocks of a trace, and how one is converted into another through snapshots.
 */
#ifndef ORMA_TRACE_CLOCKS_H
#define ORMA_TRACE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

enum {
	ORMA_CLOCK_REALTIME = 1,
	ORMA_CLOCK_MONOTONIC = 3,
	ORMA_CLOCK_MONOTONIC_COARSE = 4,
	ORMA_CLOCK_MONOTONIC_RAW = 5,
	ORMA_CLOCK_BOOTTIME = 6,
	ORMA_CLOCK_TRACE_FILE = 11,
	ORMA_CLOCK_SEQUENCE_FIRST =
		64, /* up to ORMA_CLOCK_SEQUENCE_END a clock belongs to one sequence */
	ORMA_CLOCK_SEQUENCE_END = 128,
};

#define ORMA_CLOCK_ALL_SNAPSHOTS UINT32_MAX

/* Identifies a clock in the whole trace. Keys of the host's own clocks are the clocks' numbers. */
static inline uint64_t orma_trace_clock_key(uint32_t machine_idx, uint32_t sequence, uint32_t clock)
{
	bool is_of_sequence = clock >= ORMA_CLOCK_SEQUENCE_FIRST && clock < ORMA_CLOCK_SEQUENCE_END;
	uint64_t key = (uint64_t)machine_idx << 41;
	return is_of_sequence ? key | UINT64_C(1) << 40 | (uint64_t)sequence << 8 | clock
			      : key | clock;
}

/* One clock's reading in a snapshot. */
struct orma_clock_reading {
	uint64_t key;
	int64_t value; /* in units of the clock */
	int64_t unit_ns;
	bool is_incremental;
};

struct orma_clock_domain;
struct orma_clock_set;

struct orma_clocks {
	struct orma_arena arena;
	struct orma_map domains; /* struct orma_clock_domain by key */
	struct orma_map
		sets_by_key; /* index + 1 by hash of the clocks' keys, in the order of the snapshot */
	struct orma_clock_set *sets;
	uint32_t set_count, set_capacity;
	uint32_t snapshot_count; /* accepted ones */
	uint32_t rejected_count;
	uint64_t trace_time; /* key of the clock that timestamps of the trace are on */
};

/* The last conversion of a reader, which mostly holds for its next time too. Each reader has its own. */
struct orma_clock_cache {
	uint64_t from, to;
	uint32_t snapshots;
	bool is_valid;
	int64_t min_ns, max_ns; /* the source's times in [min_ns, max_ns) differ by shift_ns */
	int64_t shift_ns;
};

void orma_trace_clocks_init(struct orma_clocks *clocks);
void orma_trace_clocks_done(struct orma_clocks *clocks);
/* Takes a snapshot, in the order of the file. 1, 0 (rejected, and counted), -ENOMEM. */
int orma_trace_clocks_add(struct orma_clocks *clocks, const struct orma_clock_reading *readings,
			  size_t count);
/*
 * Passes all snapshots on that were accepted, in their order, with values in nanoseconds beside the units of the clocks. A
 * negative value of `fn` ends it. 0, that value or -ENOMEM.
 */
int orma_trace_clocks_each(const struct orma_clocks *clocks,
			   int (*fn)(void *ctx, const struct orma_clock_reading *readings,
				     size_t count),
			   void *ctx);
/* Says the unit of a clock whose snapshots had values in nanoseconds. */
void orma_trace_clock_set_unit(struct orma_clocks *clocks, uint64_t key, int64_t unit_ns);
/* True when a snapshot has the clock. */
bool orma_trace_clocks_has(const struct orma_clocks *clocks, uint64_t key);
/* Returns the unit of a clock in nanoseconds, 1 for an unknown one. */
int64_t orma_trace_clock_unit(const struct orma_clocks *clocks, uint64_t key);

enum orma_clock_failure {
	ORMA_CLOCK_CONVERTED,
	ORMA_CLOCK_UNKNOWN_SOURCE,
	ORMA_CLOCK_UNKNOWN_TARGET,
	ORMA_CLOCK_NO_PATH,
	ORMA_CLOCK_NEGATIVE, /* no clock was ever there */
};
/*
 * Converts nanoseconds of one clock into those of another, with the first `snapshots` snapshots of the trace. The path
 * with the fewest snapshots is taken, and of those the one through the clocks with the smallest keys.
 */
enum orma_clock_failure orma_trace_clocks_search(const struct orma_clocks *clocks, uint64_t from,
						 int64_t ns, uint64_t to, uint32_t snapshots,
						 struct orma_clock_cache *cache, int64_t *ret);

/* The same, with a conversion that was done before if it holds. */
static inline enum orma_clock_failure
orma_trace_clocks_convert(const struct orma_clocks *clocks, uint64_t from, int64_t ns, uint64_t to,
			  uint32_t snapshots, struct orma_clock_cache *cache, int64_t *ret)
{
	if (from == to) {
		*ret = ns;
		return ORMA_CLOCK_CONVERTED;
	}
	if (cache->is_valid && cache->from == from && cache->to == to &&
	    cache->snapshots == snapshots && ns >= cache->min_ns && ns < cache->max_ns) {
		*ret = (int64_t)((uint64_t)ns + (uint64_t)cache->shift_ns);
		return ORMA_CLOCK_CONVERTED;
	}
	return orma_trace_clocks_search(clocks, from, ns, to, snapshots, cache, ret);
}

#endif
