/* SPDX-License-Identifier: Apache-2.0
 * heap_process.h - the allocations and frees of one profiled process, by heap and call stack.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_PROCESS_H
#define ORMA_PROBES_HEAP_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "probes/heap/heap_limits.h"
#include "probes/heap/heap_live.h"
#include "probes/heap/heap_modules.h"
#include "probes/heap/heap_record.h"
#include "probes/heap/heap_stacks.h"

struct orma_heap_heap {
	uint32_t id;
	char name[ORMA_HEAP_NAME_BYTES];
	uint64_t interval_bytes, original_interval_bytes;
	struct orma_heap_totals totals;
	uint64_t max_bytes;        /* the largest number of live bytes */
	uint64_t max_timestamp_ns; /* CLOCK_MONOTONIC_COARSE, as all times of processes */
	uint32_t first_changed;    /* list of sites; index + 1 */
	uint32_t
		shown_state; /* state of the output in which its counters were described; 0 = none */
	uint64_t last_bytes; /* allocated at the last counters */
};

/* Counts of records that are missing or malformed. */
struct orma_heap_faults {
	uint64_t gaps;           /* in the packets of a thread */
	uint64_t lost_samples;   /* over a limit here */
	uint64_t lost_frees;     /* their blocks seem to live on */
	uint64_t failed_stacks;  /* samples without a whole stack */
	uint64_t bad_records;    /* that make no sense */
	uint64_t orphaned_frees; /* frees of lost samples */
	bool is_full;            /* a limit of heap_limits.h was reached */
};

struct orma_heap_cached_frame {
	uint64_t pc;
	uint32_t frame; /* index + 1; 0 = empty */
};
#define ORMA_HEAP_CACHED_FRAMES 4096u
/* One place more, for the frame that says why a stack is incomplete. */
#define ORMA_HEAP_STACK_PLACES (ORMA_HEAP_STACK_FRAMES_MAX + 1)

/* The counts of the same names at the last dump. */
struct orma_heap_reported {
	uint64_t failed_stacks, sample_count, maps_count, unwinding_ns;
};

struct orma_heap_process {
	int32_t pid, parent_pid, uid; /* parent_pid: 0 = not known; uid: -1 = likewise */
	struct orma_buf command;      /* arguments, each with NUL */
	uint32_t named_state;         /* state of the output in which it was named; 0 = none */
	bool has_said_bye, is_from_startup;
	bool was_reconnected;   /* something between two connections is missing */
	bool has_threads;       /* more than one has written samples */
	uint32_t sample_writer; /* wrote the last sample; 0 = none */
	bool is_introduced;     /* it has said which process it is */
	bool is_replaced;       /* by another program (exec) */
	bool is_ignored;        /* the configuration does not want it */
	bool has_ended;         /* it had ended when the flush began that is under way */
	bool is_visited;        /* see heap_processes.c */
	uint32_t dumped_state;  /* state of the output at the last dump; 0 = none */
	struct orma_heap_reported reported;
	uint64_t start_timestamp_ns, last_timestamp_ns;
	uint64_t program_start_ns; /* names the program in the process */
	struct orma_heap_heap *heaps[ORMA_HEAP_HEAPS_MAX + 1]; /* by id; NULL = none */
	struct orma_heap_modules modules;
	struct orma_heap_stacks stacks;
	struct orma_heap_live live;
	struct orma_heap_faults faults;
	struct orma_heap_record_lost own_losses; /* losses that the process reports */
	uint64_t sample_count, free_count, unwound_count, unwinding_ns, maps_count;
	uint32_t maps_generation, maps_parts, maps_writer;
	struct orma_buf maps_text; /* the parts so far */
	struct orma_buf jit_names; /* each with NUL */
	/* Samples that came before their maps: records with a uint32_t for the size in front of each. */
	struct orma_buf waiting;
	uint32_t epoch; /* counts the ends of flushes, from 1 */
	struct orma_heap_cached_frame *cached_frames;
	uint64_t default_interval_bytes;
	bool tracks_max;
	uint32_t *frames; /* the stack that is looked up */
	uint64_t *addresses;
};

struct orma_heap_process_options {
	int32_t pid;
	uint64_t seed;
	uint64_t interval_bytes; /* for samples that come before their heap is described */
	bool tracks_max;
	struct orma_unwind_files *files; /* borrowed, as the next */
	struct orma_unwind_patience *patience;
};

int orma_heap_process_new(const struct orma_heap_process_options *options,
			  struct orma_heap_process **ret);
void orma_heap_process_free(struct orma_heap_process *process);

/* An allocation or a free, for streams. `bytes` is the weight of the sample. */
struct orma_heap_event {
	bool is_sample;
	uint32_t heap_id;
	uint64_t serial, address, size, bytes, timestamp_ns;
};
typedef void orma_heap_event_fn(void *ctx, const struct orma_heap_event *event);

/* Takes a record, which is not trusted. Malformed parts are counted. `fn` may be NULL. */
void orma_heap_process_take(struct orma_heap_process *process,
			    const struct orma_heap_record *record, struct orma_str packet,
			    orma_heap_event_fn *fn, void *ctx);
/* Frees all blocks, because another program has replaced this one (exec). */
void orma_heap_process_replace(struct orma_heap_process *process, orma_heap_event_fn *fn,
			       void *ctx);
/* Ends all waiting, because everything that was written before a flush has been taken. */
void orma_heap_process_settle(struct orma_heap_process *process);
/* True if the program has ended without a last packet, and has threads. A thread may have begun so late that the service did not know its
 * samples. */
bool orma_heap_process_was_cut_off(const struct orma_heap_process *process);
/* True if more than 1 % of the samples or of the frees are missing. */
bool orma_heap_process_has_overrun(const struct orma_heap_process *process);
/* The weight of a sample, see heap_process.c. */
uint64_t orma_heap_weigh(uint64_t size, uint64_t interval_bytes);
/* A sum that saturates. */
static inline uint64_t orma_heap_add_up(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

#endif
