/* SPDX-License-Identifier: Apache-2.0
 * kernel_state.h - what kernel events refer to and what is kept between them.
 */
#ifndef ORMA_TRACE_KERNEL_STATE_H
#define ORMA_TRACE_KERNEL_STATE_H

#include "base/arena.h"
#include "trace/incremental_state.h"
#include "trace/tables.h"

struct orma_kernel_rule;

enum orma_syscall_arch {
	ORMA_SYSCALLS_UNKNOWN,
	ORMA_SYSCALLS_X86_64,
	ORMA_SYSCALLS_ARM64,
	ORMA_SYSCALL_ARCHS,
};

enum {
	ORMA_SYSCALLS_MAX = 550,
	ORMA_GENERIC_FIELDS_MAX = 32,
	ORMA_GENERIC_EVENTS_FIRST =
		65536, /* events that the trace itself describes have ids from here on */
	ORMA_TYPED_EVENTS_MAX = 1024,
};

/* The number of a system call by its name, or -1. */
int32_t orma_syscall_number(enum orma_syscall_arch arch, struct orma_str name);

/* The bundles from an address on are of this sequence. */
struct orma_bundle_run {
	uint64_t address;
	const struct orma_sequence *sequence;
};

/* The interned symbols of one sequence of bundles. */
struct orma_symbol_source {
	struct orma_sequence_state state;
	struct orma_symbol_source *next;
};

enum orma_generic_role { ORMA_GENERIC_PLAIN, ORMA_GENERIC_SLICE, ORMA_GENERIC_COUNTER };
enum orma_generic_scope {
	ORMA_GENERIC_THREAD,
	ORMA_GENERIC_PROCESS,
	ORMA_GENERIC_CPU,
	ORMA_GENERIC_CUSTOM,
};

/* An event that the trace describes. Field numbers are 0 when there is no such field. */
struct orma_generic_event {
	int64_t name; /* cell */
	struct {
		uint32_t name; /* string id; 0 = no such field */
		uint32_t type; /* as in a FieldDescriptorProto */
	} fields[ORMA_GENERIC_FIELDS_MAX];
	enum orma_generic_role role;
	enum orma_generic_scope scope;
	uint8_t type_field, slice_field, track_field, value_field, scope_field;
};

/* A counter of a process that is known only by one of its threads. */
struct orma_pending_counter {
	uint64_t row;
	int64_t utid;
	uint8_t kind, key; /* see ftrace_memory.c */
};

struct orma_kernel_state {
	struct orma_bundle_run *runs; /* ascending */
	uint32_t run_count, run_capacity;
	struct orma_symbol_source *sources;
	struct orma_map generic; /* struct orma_generic_event by machine and id */
	const struct orma_kernel_rule *rules[ORMA_TYPED_EVENTS_MAX]; /* by id */
	bool has_rules;
	int64_t event_names[ORMA_TYPED_EVENTS_MAX]; /* cells by id; 0 = not asked for */
	int64_t *syscall_names[ORMA_SYSCALL_ARCHS]; /* cells by number */
	uint8_t *writing;                           /* by utid: it is in a write() */
	uint32_t writing_count;
	struct orma_map mm_owners; /* utid + 1 by machine and mm */
	struct orma_pending_counter *pending;
	uint32_t pending_count, pending_capacity;
	struct orma_map
		sums; /* numbers that are kept by what they are of and a key; see orma_kernel_sum() */
	struct orma_map task_cpus, stopped_tasks; /* see generic_tasks.c */
	uint64_t tcp_streams;
	uint32_t suspend_state;
	int64_t suspend_cookie;
	uint64_t missing_ids, without_pid;
	struct orma_arena arena;
};

void orma_kernel_state_done(struct orma_kernel_state *kernel);
/* Notes that the bundles from this address on are of a sequence. 0 or -ENOMEM. */
int orma_kernel_add_bundle(struct orma_kernel_state *kernel, const struct orma_sequence *sequence,
			   uint64_t address);
/* Finds the interned data at a bundle. 0 (*ret is NULL when there is none) or a negative errno value. */
int orma_kernel_find_state(struct orma_kernel_state *kernel, const struct orma_trace_bytes *input,
			   uint64_t bundle, struct orma_sequence_state **ret);
/* Finds the symbol of a kernel function at a bundle. `ret->data` is NULL when the trace has none. 0 or a negative errno
 * value. */
int orma_kernel_symbol(struct orma_kernel_state *kernel, const struct orma_trace_bytes *input,
		       uint64_t bundle, uint64_t iid, struct orma_str *ret);
/* A number that is kept for a key, at first 0; NULL when out of memory. `what` tells users of the map apart. */
int64_t *orma_kernel_sum(struct orma_kernel_state *kernel, char what, uint32_t machine_idx,
			 uint64_t key);

#endif
