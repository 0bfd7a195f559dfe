/* SPDX-License-Identifier: Apache-2.0
 * event_record.h - an event of Chrome's JSON format as numbers of a fixed size, which take a fraction of the time that fields do.
 *
 * A record is a field of TracePacket that only src/formats writes, for src/trace to read at once: it says what the packet's
 * timestamp, sequence, TrackEvent and LegacyEvent would say. Its parts are the head, the numbers that the event has in
 * the order of their flags, and the text between the brackets of its arguments. Times and numbers are in this machine's order.
 */
#ifndef ORMA_TRACE_EVENT_RECORD_H
#define ORMA_TRACE_EVENT_RECORD_H

#include <stdint.h>

#include "trace/track_event_read.h"

enum {
	/* It has this number. */
	ORMA_RECORD_DURATION = 1 << 0, /* nanoseconds, as all times */
	ORMA_RECORD_THREAD_TIME = 1 << 1,
	ORMA_RECORD_THREAD_DURATION = 1 << 2,
	ORMA_RECORD_ID = 1 << 3,
	ORMA_RECORD_BIND_ID = 1 << 4,
	ORMA_RECORD_NUMBERS = 5,
	/* The kind of its id; neither: of all processes. */
	ORMA_RECORD_ID_IS_LOCAL = 1 << 5,
	ORMA_RECORD_ID_IS_UNSCOPED = 1 << 6,
	ORMA_RECORD_FLOW_IN = 1 << 7,
	ORMA_RECORD_FLOW_OUT = 1 << 8,
	ORMA_RECORD_BINDS_ENCLOSING = 1 << 9,
	ORMA_RECORD_HAS_ARGS = 1 << 10, /* its text has a member that is not null */
};

struct orma_event_record {
	int64_t ns;
	uint32_t order;    /* among events of one time; see conversion_fields.h */
	uint32_t sequence; /* that of the packet, whose state has the names */
	uint32_t pid, tid;
	uint32_t name_iid, category_iid; /* 0 = none */
	uint32_t flags;                  /* ORMA_RECORD_... */
	uint8_t phase;
	uint8_t scope; /* as in LegacyEvent; 0 = none */
	uint8_t unused[2];
};

enum {
	ORMA_RECORD_HEAD_BYTES = 40,
	ORMA_RECORD_MAX_BYTES = ORMA_RECORD_HEAD_BYTES + 8 * ORMA_RECORD_NUMBERS, /* without text */
};
_Static_assert(sizeof(struct orma_event_record) == ORMA_RECORD_HEAD_BYTES, "there is no padding");

/* Reads a record, of which the text may be missing. 0 or -EBADMSG. */
int orma_event_record_read(struct orma_str record, struct orma_track_event *ret,
			   struct orma_legacy_event *ret_legacy);
/* Returns the text of the arguments; without data when there are none, or the record is damaged. */
struct orma_str orma_event_record_args(struct orma_str record);

#endif
