/* SPDX-License-Identifier: Apache-2.0
 * ftrace_events.h - the events of one tracefs instance: their ids, and the plan by which the records of each become
 * fields of FtraceEvent.
 */
#ifndef ORMA_PROBES_FTRACE_EVENTS_H
#define ORMA_PROBES_FTRACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct orma_ftrace_events;
struct orma_event_plan;

/* FtraceEvent's field numbers of generic events begin here. */
#define ORMA_FTRACE_GENERIC_FIELD_ID 65536

enum orma_ftrace_encoding {
	ORMA_FTRACE_TYPED,   /* a message of its own in FtraceEvent */
	ORMA_FTRACE_GENERIC, /* described by the bundle that contains it */
	ORMA_FTRACE_KPROBE,  /* KprobeEvent: the name alone */
};

/* Valid until it is unloaded. */
struct orma_ftrace_event {
	const char *group, *name;
	uint16_t id; /* the kernel's */
	enum orma_ftrace_encoding encoding;
	uint32_t field_id; /* in FtraceEvent */
	const struct orma_event_plan *plan;
};

/* `tracefs_path` is the root of the instance, for example /sys/kernel/tracing; it is borrowed for the call. 0, -ENOMEM,
 * or the errno of opening its folder `events`. */
int orma_ftrace_events_new(const char *tracefs_path, struct orma_ftrace_events **ret);
void orma_ftrace_events_free(struct orma_ftrace_events *events);

/*
 * Returns the event, which is read from tracefs at its first use. 0, -ENOENT (the kernel has no such event), -EBADMSG
 * (its format is not understood), -EINVAL (a name with a slash, or a leading dot), -ENOMEM, or the errno of reading.
 */
int orma_ftrace_events_load(struct orma_ftrace_events *events, const char *group, const char *name,
			    const struct orma_ftrace_event **ret);
/* The same for a kprobe of perfetto's groups, whose events are KprobeEvents. */
int orma_ftrace_events_load_kprobe(struct orma_ftrace_events *events, const char *group,
				   const char *name, const struct orma_ftrace_event **ret);
/* Forgets an event that is gone. Sinks that want it do not want it any more. */
void orma_ftrace_events_unload(struct orma_ftrace_events *events, uint16_t id);

/* NULL when it is not loaded. */
const struct orma_ftrace_event *orma_ftrace_events_by_id(const struct orma_ftrace_events *events,
							 uint16_t id);

/*
 * Finds the group of an event by its name alone: the one in which perfetto's catalogue has it, otherwise the first in the
 * kernel's list. The list is kept until orma_ftrace_events_forget_names(), and `ret_group` with it. 0, -ENOENT, -EINVAL, or
 * another errno of reading the list.
 */
int orma_ftrace_events_group_of(struct orma_ftrace_events *events, const char *name,
				const char **ret_group);
/* The event whose name is most similar to a wrong one, and its group, or NULL. Kept as above. */
const char *orma_ftrace_events_closest(struct orma_ftrace_events *events, struct orma_str wrong,
				       const char **ret_group);
void orma_ftrace_events_forget_names(struct orma_ftrace_events *events);
/* Lists the events of a group, each ending in a NUL. 0, -ENOENT or another -errno. */
int orma_ftrace_events_names_in(struct orma_ftrace_events *events, const char *group,
				struct orma_buf *ret);

/* True when compact_sched can hold this kernel's sched_switch and sched_waking. Loads both. */
bool orma_ftrace_events_fit_compact_sched(struct orma_ftrace_events *events);

#endif
