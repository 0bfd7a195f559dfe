/* SPDX-License-Identifier: Apache-2.0
 * event_table.h - the inside of struct orma_ftrace_events, for the code that writes events.
 */
#ifndef ORMA_PROBES_EVENT_TABLE_H
#define ORMA_PROBES_EVENT_TABLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "probes/ftrace/available_events.h"
#include "probes/ftrace/compact_sched.h"
#include "probes/ftrace/ftrace_events.h"
#include "probes/ftrace/generic_event.h"
#include "probes/ftrace/printk_formats.h"

struct orma_event_entry {
	struct orma_ftrace_event event;
	struct orma_legacy_event *legacy; /* only generic events have it; in the arena */
	struct orma_buf descriptor;       /* describes a generic event, as the bundle has it */
	uint64_t format_hash;             /* hashes the text from which the entry was made */
	struct orma_arena arena;
};

/* The events that a user of the table wants: a byte for each id, of which 0 says that the event is not wanted. The table
 * clears the bytes of an event that it forgets. */
struct orma_event_set {
	struct orma_list link; /* in events->sets */
	uint8_t *actions;
	uint32_t limit;
};

struct orma_ftrace_events {
	int events_fd; /* the folder `events` */
	struct orma_event_entry **by_id;
	uint32_t id_limit;
	struct orma_map by_name;
	struct orma_list sets;
	struct orma_available_events available;
	struct orma_compact_format compact;
	struct orma_printk_formats printk_formats;
	bool has_printk_formats; /* they were read, or cannot be */
	struct orma_buf text;    /* the file that is being parsed */
};

static inline struct orma_event_entry *orma_event_table_get(const struct orma_ftrace_events *events,
							    uint16_t id)
{
	return id < events->id_limit ? events->by_id[id] : NULL;
}

#endif
