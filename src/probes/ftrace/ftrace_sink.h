/* SPDX-License-Identifier: Apache-2.0
 * ftrace_sink.h - one session's view of a ring buffer: which events it wants, how they are written, and its packets.
 */
#ifndef ORMA_PROBES_FTRACE_SINK_H
#define ORMA_PROBES_FTRACE_SINK_H

#include <orma/data_source.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "probes/ftrace/ftrace_events.h"
#include "symbols/kallsyms.h"

struct orma_ftrace_sink;
struct orma_pb_ftrace_config_print_filter;

struct orma_ftrace_sink_options {
	struct orma_data_source *source; /* packets go to this instance of it */
	uint32_t instance_idx;
	uint32_t cpu_count; /* events of CPUs from this number on are ignored */
	/* sched_switch and sched_waking in columns; effective when the sink wants sched_switch, and
	 * orma_ftrace_events_fit_compact_sched(). */
	bool compact_sched;
	/* Generic events in the form that describes itself; otherwise in GenericFtraceEvent, which
	 * repeats all names in every event. */
	bool describe_generic;
	bool keep_broken_pages; /* debug_ftrace_abi */
	/* Borrowed for the call; NULL = all prints. */
	const struct orma_pb_ftrace_config_print_filter *print_filter;

	/* Callbacks, at the end of a drain; each may be NULL. */
	void *ctx;
	/* A task that the new events name, at least once per drain that meets it. `comm` is empty when the events do
	 * not say it. */
	void (*on_task)(void *ctx, int32_t tid, struct orma_str comm);
	void (*on_task_renamed)(void *ctx, int32_t tid, struct orma_str comm);
	void (*on_new_task)(void *ctx, int32_t parent_tid, int32_t tid, uint64_t clone_flags,
			    struct orma_str comm);
	/* `device` is as stat() has it. Events of this process are left out. */
	void (*on_inode)(void *ctx, uint64_t device, uint64_t inode);
	/* A system call of this task has returned a descriptor. This one is called during the drain. */
	void (*on_fd)(void *ctx, int32_t tid, uint32_t fd);
};

/* `events` is borrowed for the sink's life. 0 or -ENOMEM. */
int orma_ftrace_sink_new(struct orma_ftrace_events *events,
			 const struct orma_ftrace_sink_options *options,
			 struct orma_ftrace_sink **ret);
void orma_ftrace_sink_free(struct orma_ftrace_sink *sink);

/* The set of wanted events, by the kernel's id. */
int orma_ftrace_sink_want(struct orma_ftrace_sink *sink,
			  const struct orma_ftrace_event *event); /* 0 or -ENOMEM */
bool orma_ftrace_sink_wants(const struct orma_ftrace_sink *sink, uint16_t id);
/* KprobeEvent.type of a wanted kprobe (enum orma_pb_kprobe_event_kprobe_type). 0 or -ENOMEM. */
int orma_ftrace_sink_set_kprobe_type(struct orma_ftrace_sink *sink, uint16_t id, int32_t type);
/* Names of addresses from now on; borrowed until replaced. NULL = none. */
void orma_ftrace_sink_set_kallsyms(struct orma_ftrace_sink *sink,
				   const struct orma_kallsyms *kallsyms);
/* The next packet repeats interned names (on_clear_incremental_state). */
void orma_ftrace_sink_clear(struct orma_ftrace_sink *sink);

/* Bit s = FtraceParseStatus s has occurred. */
uint32_t orma_ftrace_sink_parse_errors(const struct orma_ftrace_sink *sink);

#endif
