/* SPDX-License-Identifier: Apache-2.0
 * cost_profiles.h - the profiles of a trace: what each call stack cost, in each unit that was measured.
 */
#ifndef ORMA_ANSWERS_COST_PROFILES_H
#define ORMA_ANSWERS_COST_PROFILES_H

#include "answers/trace_database.h"

enum { ORMA_PROFILE_VALUES_MAX = 8 };

/* A quantity that is measured. Both texts are static or belong to the trace. */
struct orma_profile_value {
	struct orma_str name; /* "samples", "cpu", "inuse_space" */
	struct orma_str unit; /* "count", "ns", "bytes" and others; .data = NULL: not known */
};

/* The values of the heap profile. */
enum {
	ORMA_HEAP_ALLOC_OBJECTS,
	ORMA_HEAP_ALLOC_SPACE,
	ORMA_HEAP_INUSE_OBJECTS,
	ORMA_HEAP_INUSE_SPACE,
};

struct orma_profile_row {
	int64_t callsite;
	int64_t utid, upid; /* ORMA_CELL_NULL = not known */
	int64_t values[ORMA_PROFILE_VALUES_MAX];
};

struct orma_cost_profile {
	bool is_heap;
	struct orma_str source; /* "linux.perf"; "heap" */
	struct orma_str
		timebase; /* unit of the period between samples: "ns", "cycles"; .data = NULL: not known */
	struct orma_profile_value values[ORMA_PROFILE_VALUES_MAX];
	size_t value_count;
	bool has_weights;         /* the samples weigh something, in the unit of the first value */
	uint64_t sample_count;    /* as recorded; one may stand for several, which "waits" says */
	uint64_t stackless_count; /* samples without a call stack, which have no row */
	struct orma_profile_row *rows;
	uint32_t row_count, row_capacity;
};

struct orma_cost_profiles {
	struct orma_cost_profile *items;
	uint32_t count, capacity;
	struct orma_map by_key;
	struct orma_map rows; /* number + 1 by profile, call stack and thread */
};

/*
 * Reads all profiles: one for each source and unit of samples, and one of the heaps of all processes. Weights that are
 * larger than numbers can be are cut. {0} is empty. 0 or a negative errno value.
 */
int orma_cost_profiles_read(struct orma_cost_profiles *profiles,
			    const struct orma_trace_database *database);
void orma_cost_profiles_done(struct orma_cost_profiles *profiles);
/* The waits that the samples of a profile of waits stand for; 0 when each sample is a wait, or they are not known. */
uint64_t orma_cost_profile_wait_count(const struct orma_cost_profile *profile);
/* True when the values are times, so that the profile says who waited, or computed, for how long. */
bool orma_cost_profile_is_time(const struct orma_cost_profile *profile);

#endif
