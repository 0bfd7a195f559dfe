/* SPDX-License-Identifier: Apache-2.0
 * event_import.h - one track event on its way into the tables; for the files that import track events.
 */
#ifndef ORMA_TRACE_EVENT_IMPORT_H
#define ORMA_TRACE_EVENT_IMPORT_H

#include "trace/importer.h"
#include "trace/track_event_read.h"

struct orma_event_import {
	struct orma_importer *importer;
	const struct orma_ordered_event *ordered;
	const struct orma_legacy_event *legacy; /* NULL when there is none */
	struct orma_track_event event;
	int64_t category, name; /* cells */
	uint64_t track_uuid;
	struct orma_track_owner owner;
	bool has_track; /* the event or its sequence names a track */
	bool is_of_thread; /* on the thread of the sequence's ThreadDescriptor, and not on a described track */
	int64_t passed_utid; /* the thread of an event whose track is not the thread's; -1 = none */
	int64_t thread_ts, thread_instructions; /* ORMA_CELL_NULL = not given */
};

/* A slice of the event that is imported. */
struct orma_event_slice {
	int64_t track_id;
	int64_t dur;                                  /* -1 = open */
	int64_t thread_dur, thread_instruction_delta; /* ORMA_CELL_NULL = not known */
	char phase;                                   /* that becomes an argument; 0 = none */
	bool is_async; /* its track is an id, so that it has no thread times */
};

int orma_event_begin_slice(struct orma_event_import *import, const struct orma_event_slice *slice);
int orma_event_end_slice(struct orma_event_import *import, int64_t track_id, bool is_async);
/* Makes the set of the event's arguments now, for a row that is not a slice. 0 or a negative errno value. */
int orma_event_make_args(struct orma_event_import *import, int64_t *ret_set);
/* Imports an event that is a counter's value. 0 or a negative errno value. */
int orma_event_add_counter(struct orma_event_import *import);
/* Takes the counts of its thread that an event gives, and values of other counters. 1, 0 (what it lacks makes the event useless,
 * counted) or a negative errno value. */
int orma_event_add_counters(struct orma_event_import *import);
/* Imports an event with a LegacyEvent that has a phase. 0 or a negative errno value. */
int orma_event_import_legacy(struct orma_event_import *import);
/* Finds the owner of an event without a described track; `import->is_of_thread` says whether there is one. 0 or a negative
 * errno value. */
int orma_event_find_thread(struct orma_event_import *import);
/* The same for an event with the style of JSON, whose thread is in its LegacyEvent. */
int orma_json_event_find_thread(struct orma_event_import *import);
/* Imports an event with the style of JSON. 0 or a negative errno value; 1: it is like all others of its phase. */
int orma_json_event_import(struct orma_event_import *import);
/* Returns the track for a whole slice, which is another than the thread's if the slice overlaps with one there. */
int64_t orma_json_event_use_track(struct orma_event_import *import);
/* Returns the track for an event: that of its thread, or a described one; -1 = none; or a smaller errno value. */
int64_t orma_event_use_track(struct orma_event_import *import, enum orma_lane_use use);
/* Adds the call stack of an event at the beginning or the end of a slice. 0 or a negative errno value. */
int orma_event_add_callstack(struct orma_event_import *import, int64_t slice, int64_t track_id);

#endif
