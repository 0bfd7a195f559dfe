/* SPDX-License-Identifier: Apache-2.0
 * track_event_read.h - one TrackEvent as numbers and borrowed bytes.
 */
#ifndef ORMA_TRACE_TRACK_EVENT_READ_H
#define ORMA_TRACE_TRACK_EVENT_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
	ORMA_EVENT_HAS_TYPE = 1 << 0,
	ORMA_EVENT_HAS_NAME = 1 << 1, /* in place */
	ORMA_EVENT_HAS_TRACK = 1 << 2,
	ORMA_EVENT_HAS_ARGS = 1 << 3, /* fields that become arguments */
	ORMA_EVENT_HAS_VALUE = 1 << 4,
	ORMA_EVENT_HAS_MORE =
		1
		<< 5, /* fields below that are read again one by one: flows, extra counters, categories */
	ORMA_EVENT_HAS_THREAD_TIME = 1 << 6,
	ORMA_EVENT_IS_THREAD_TIME_DELTA = 1 << 7,
	ORMA_EVENT_HAS_INSTRUCTIONS = 1 << 8,
	ORMA_EVENT_IS_INSTRUCTIONS_DELTA = 1 << 9,
	ORMA_EVENT_HAS_EXTENSIONS = 1 << 10, /* fields that programs have added */
	ORMA_EVENT_HAS_CALLSTACK = 1 << 11,  /* interned or in place; read again */
	ORMA_EVENT_HAS_OTHER_ARGS = 1 << 12, /* arguments that are not annotations */
};

enum { ORMA_EVENT_EXTENSION_FIRST = 1000 }; /* number of a field */

/* Nothing of it is trusted. */
struct orma_track_event {
	struct orma_str bytes;
	struct orma_str name;
	struct orma_str legacy;     /* LegacyEvent; data is NULL when there is none */
	struct orma_str annotation; /* the last DebugAnnotation, if there is one */
	uint64_t name_iid, category_iid, track_uuid;
	double value; /* a counter's */
	int64_t thread_time_us, instructions;
	uint32_t type;
	uint32_t categories; /* how many, interned or in place */
	uint32_t annotations;
	unsigned flags;
};

/* A plain event: an end of a slice or an instant with an interned name on a given or the default track. Arguments that are not
 * noted (see kept_args.h) are read when somebody asks. */
struct orma_plain_event {
	uint64_t name_iid, category_iid, track_uuid;
	uint32_t args; /* index + 1 of the first argument that was noted; 0 = none was */
	uint16_t flags;
	uint8_t type, categories;
};

/* Reads a TrackEvent. 0 or -EBADMSG. */
int orma_track_event_read(struct orma_str bytes, struct orma_track_event *ret);
/* False when the event is not plain. */
bool orma_plain_event_make(const struct orma_track_event *event, struct orma_plain_event *ret);
/* The event of which a plain one was made, without its bytes. */
void orma_plain_event_expand(const struct orma_plain_event *plain, struct orma_track_event *ret);

/* The fields of a LegacyEvent; absent numbers are 0. */
struct orma_legacy_event {
	uint64_t name_iid, id, bind_id;
	struct orma_str id_scope, text;
	int64_t duration_ns, thread_duration_ns, thread_time_ns, number, io_wait,
		thread_instruction_delta;
	int32_t phase, pid_override, tid_override;
	uint32_t flow_direction, instant_scope;
	uint32_t style; /* enum orma_event_style */
	bool has_thread_time, has_thread_duration, has_number, has_io_wait;
	bool has_phase, has_id, is_local_id, has_unscoped_id, has_bind_id, has_direction,
		binds_enclosing;
	bool has_pid_override, has_tid_override;
};

void orma_legacy_event_read(struct orma_str bytes, struct orma_legacy_event *ret);

/* Phases are letters. A set of them is a number with a bit for each, because a call of strchr() for each event takes longer. */
#define ORMA_PHASE(letter) (UINT64_C(1) << ((letter) - '@'))
static inline bool orma_phase_is_in(int32_t phase, uint64_t set)
{
	return phase >= '@' && phase < '@' + 64 && (set >> (phase - '@') & 1) != 0;
}
/* Events of an id, which are on tracks of their own. */
#define ORMA_ASYNC_PHASES                                                                          \
	(ORMA_PHASE('b') | ORMA_PHASE('n') | ORMA_PHASE('S') | ORMA_PHASE('T') | ORMA_PHASE('p') | \
	 ORMA_PHASE('e') | ORMA_PHASE('F'))

/* The members of a repeated number, packed or not. {.at = ..., .end = ...} begins. */
struct orma_repeated {
	const uint8_t *at, *end;
	const uint8_t *packed_at, *packed_end;
	uint32_t field;
};

void orma_repeated_init(struct orma_repeated *numbers, struct orma_str message, uint32_t field);
/* Returns false at the end. Fixed numbers and varints come alike. */
bool orma_repeated_next(struct orma_repeated *numbers, uint64_t *ret);

#endif
