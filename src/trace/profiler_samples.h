/* SPDX-License-Identifier: Apache-2.0
 * profiler_samples.h - the rows of samples of all profilers: sessions, what was sampled and where, counters read with it.
 */
#ifndef ORMA_TRACE_PROFILER_SAMPLES_H
#define ORMA_TRACE_PROFILER_SAMPLES_H

#include "trace/interned_stacks.h"

enum { ORMA_SAMPLE_COUNTERS_MAX = 64 }; /* with one sample */

/* {.system = ..., .stacks = ..., .interned = ...} is empty. */
struct orma_profiler {
	struct orma_system *system;
	struct orma_call_stacks *stacks;
	struct orma_interned_stacks *interned;
	struct orma_map sessions;          /* id + 1 by sequence */
	struct orma_map tasks, executions; /* id + 1 by content */
	struct orma_map asyncs;            /* id + 1 by sequence, generation and iid */
	struct orma_map streams;           /* struct orma_perf_stream by session and CPU */
	struct orma_arena arena;
	bool has_set; /* the sample has counters, which are the newest set */
	int64_t set_id;
};

/* Ids that are ORMA_CELL_NULL are not known; one that is an errno value fails the sample. */
struct orma_profiler_sample {
	int64_t ts;
	const char *source;
	struct orma_str source_text; /* used when `source` is NULL; without data = NULL */
	int64_t task_id, execution_id, callsite_id, session_id;
	const char *unwind_error; /* NULL = none */
	int64_t priority;
};

void orma_profiler_done(struct orma_profiler *profiler);

/* Returns the session of a sequence, or a negative errno value. */
int64_t orma_profiler_session(struct orma_profiler *profiler, const struct orma_sequence *sequence,
			      struct orma_str source);
/* Says what the session's samples are taken by, unless it is known. */
int orma_profiler_set_unit(struct orma_profiler *profiler, int64_t session_id, int64_t unit);
/* Return the id of such a row, or a negative errno value. */
int64_t orma_profiler_task(struct orma_profiler *profiler, int64_t upid, int64_t utid,
			   int64_t async_id);
int64_t orma_profiler_execution(struct orma_profiler *profiler, int64_t ucpu, const char *mode);
/* Adds a value of a counter that was read with the next sample. */
int orma_profiler_count(struct orma_profiler *profiler, int64_t ts, int64_t track_id, double value);
/* Adds a sample with the counters since the last one. 0 or a negative errno value. */
int orma_profiler_add(struct orma_profiler *profiler, const struct orma_profiler_sample *sample);

/* Take a packet. 0 or a negative errno value. */
int orma_perf_sample_take(struct orma_profiler *profiler, const struct orma_ordered_event *event);
int orma_stack_sample_take(struct orma_profiler *profiler, const struct orma_ordered_event *event);

#endif
