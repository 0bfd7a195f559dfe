/* SPDX-License-Identifier: Apache-2.0
 * ftrace_session.h - one session's use of a buffer: its events, its sink, its statistics.
 */
#ifndef ORMA_PROBES_FTRACE_SESSION_H
#define ORMA_PROBES_FTRACE_SESSION_H

#include "probes/ftrace/ftrace_buffer.h"
#include "probes/ftrace/ftrace_sink.h"
#include "probes/ftrace/ftrace_stats.h"
#include "probes/sightings.h"

/* Numbers of system calls. */
struct orma_ftrace_syscalls {
	uint64_t words[ORMA_FTRACE_SYSCALLS_MAX / 64];
	bool has_all;
	bool is_used; /* the session records raw_syscalls */
};

struct orma_ftrace_session {
	struct orma_data_source *source; /* its packets go to this instance; set before the open */
	uint32_t instance_idx;
	struct orma_list link;             /* in buffer->sessions */
	struct orma_ftrace_buffer *buffer; /* NULL = the set-up failed; there is only a report */
	struct orma_ftrace_config config;
	struct orma_ftrace_report report;
	struct orma_ftrace_sink *sink;
	struct orma_sightings *seen;          /* for other data sources; may be NULL */
	struct orma_buf event_ids;            /* uint16_t each: what the sink wants */
	struct orma_ftrace_syscalls syscalls; /* that this session wants */
	struct orma_ftrace_stats stats_before;
	const struct orma_kallsyms *kallsyms; /* borrowed; NULL = none */
	bool is_started, has_kprobes;
};

/* Sets a session up from a DataSourceConfig. 0 also when nothing can be recorded: then the session has a report only. -ENOMEM. Close it in every case. */
int orma_ftrace_session_open(struct orma_ftrace_session *session,
			     struct orma_ftrace_machine *machine, const void *config, size_t size);
void orma_ftrace_session_start(struct orma_ftrace_session *session);
/* No more events are recorded for this session alone; what the kernel holds can still be drained. */
void orma_ftrace_session_quiesce(struct orma_ftrace_session *session);
/* Leaves the buffer, which is restored if this is its last session. */
void orma_ftrace_session_close(struct orma_ftrace_session *session);
void orma_ftrace_session_set_kallsyms(struct orma_ftrace_session *session,
				      const struct orma_kallsyms *kallsyms);
/* Writes the FtraceStats packet of the start. */
void orma_ftrace_session_write_start(struct orma_ftrace_session *session);
/* Writes a pair of FtraceStats packets: the state at the start, and the state now. */
void orma_ftrace_session_write_stats(struct orma_ftrace_session *session);

/* --- events (ftrace_enable.c, ftrace_select.c, kernel_probes.c, rss_throttle.c) ----------------- */

/* Enables an event that is loaded, or reports why not. */
void orma_ftrace_session_add_event(struct orma_ftrace_session *session,
				   const struct orma_ftrace_event *event);
/* Disables the events that no other session of the buffer wants. */
void orma_ftrace_session_drop_events(struct orma_ftrace_session *session);
/* Resolves ftrace_events and what other fields imply, and enables the events. */
int orma_ftrace_session_add_events(struct orma_ftrace_session *session);
/* Makes the probes of kprobe_events, and enables their events. */
int orma_ftrace_session_add_probes(struct orma_ftrace_session *session);
/* Defines the event kmem/rss_stat is replaced by. False: this kernel cannot, or the event is in use. */
bool orma_ftrace_session_throttle_rss_stat(struct orma_ftrace_session *session);

/* --- system calls (syscall_filter.c) ----------------------------------------------------------- */

/* Finds the numbers of syscall_events. Names that this machine does not have go to the report. */
void orma_ftrace_syscalls_resolve(const struct orma_pb_ftrace_config *wanted,
				  struct orma_ftrace_report *report,
				  struct orma_ftrace_syscalls *ret);
bool orma_ftrace_syscalls_are_empty(const struct orma_ftrace_syscalls *syscalls);
/* Sets the kernel's filter to the union of the sessions. 0 or -errno. */
int orma_ftrace_syscalls_apply(struct orma_ftrace_buffer *buffer);

#endif
