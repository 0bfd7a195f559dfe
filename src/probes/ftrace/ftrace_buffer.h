/* SPDX-License-Identifier: Apache-2.0
 * ftrace_buffer.h - one ring buffer of the kernel (the root of tracefs, or an instance) while orma records from it.
 */
#ifndef ORMA_PROBES_FTRACE_BUFFER_H
#define ORMA_PROBES_FTRACE_BUFFER_H

#include "base/list.h"
#include "base/loop.h"
#include "probes/ftrace/ftrace_config.h"
#include "probes/ftrace/ftrace_drain.h"
#include "probes/ftrace/ftrace_events.h"
#include "probes/ftrace/tracefs_journal.h"

/* Numbers of system calls that a filter can name. */
#define ORMA_FTRACE_SYSCALLS_MAX 1024

/* The name of the state file of the kernel's lists of probes and synthetic events. */
#define ORMA_FTRACE_DYNAMIC_EVENTS_STATE "dynamic_events"

struct orma_self_trace;
struct orma_sightings_list;

/* One tracefs, and its buffers that are in use. */
struct orma_ftrace_machine {
	struct orma_loop *loop;
	const char *tracefs_path; /* NULL = where the kernel has it */
	const char *proc_path;
	struct orma_sightings_list *sightings; /* may be NULL */
	struct orma_self_trace *self;          /* may be NULL */
	const char *state_path; /* the folder of state files; NULL = the usual places */
	int state_folder_fd;    /* opened by the first buffer; -1 = not yet, or there is no place */
	struct orma_list buffers;
	struct orma_tracefs root;                   /* open while dynamic_events is */
	struct orma_tracefs_journal dynamic_events; /* fs NULL = no session has needed it yet */
};

struct orma_ftrace_buffer {
	struct orma_list link; /* in machine->buffers */
	struct orma_ftrace_machine *machine;
	char instance[ORMA_TRACEFS_NAME_BYTES]; /* "" = the root */
	struct orma_tracefs fs;
	struct orma_tracefs_journal journal;
	struct orma_ftrace_events *events;
	struct orma_list sessions; /* set up or started; struct orma_ftrace_session */
	unsigned started_count;
	uint32_t cpu_count;
	int32_t clock;         /* enum orma_pb_ftrace_clock */
	uint32_t asked_pages;  /* per CPU; 0 = the size was left alone */
	uint32_t actual_pages; /* per CPU, as the kernel reports it */
	bool is_exclusive;     /* its only session has exclusive features */
	bool has_function_graph;
	bool graphs_all_functions, graphs_all_roots; /* a session has no filters, or no roots */
	uint32_t graph_depth;                        /* the largest of the sessions; 0 = any */
	struct orma_ftrace_drainer drainer;
};

/* Returns the buffer that the config names. The first session takes it over: it is prepared, and switched off. 0, -EBUSY
 * (somebody else uses it, or a conflict of exclusive features), or another -errno; the report says why. */
int orma_ftrace_buffer_get(struct orma_ftrace_machine *machine,
			   const struct orma_ftrace_config *config,
			   struct orma_ftrace_report *report, struct orma_ftrace_buffer **ret);
/* Call it when a session has left. The last one gives the buffer up, and tracefs is as it was found. */
void orma_ftrace_buffer_put(struct orma_ftrace_buffer *buffer);
/* Restores the buffers that a process that was killed has left changed, and which nobody uses. */
void orma_ftrace_buffers_recover(struct orma_ftrace_machine *machine);

/* Takes the kernel's lists of probes and synthetic events for this process, until the last buffer is given up. Changes of
 * the lists go through machine->dynamic_events. 0, -EBUSY (another process of orma has them), or another -errno. */
int orma_ftrace_dynamic_events_open(struct orma_ftrace_machine *machine, struct orma_error *reterr);
/* Removes what was added. Nothing may use it any more. */
void orma_ftrace_dynamic_events_close(struct orma_ftrace_machine *machine);

/* The features that a config may have beside events. Each is 0, or -errno with a report. */
int orma_ftrace_exclusive_apply(struct orma_ftrace_buffer *buffer,
				const struct orma_pb_ftrace_config *wanted,
				struct orma_ftrace_report *report);
int orma_ftrace_function_graph_apply(struct orma_ftrace_buffer *buffer,
				     const struct orma_pb_ftrace_config *wanted,
				     struct orma_ftrace_report *report);

#endif
