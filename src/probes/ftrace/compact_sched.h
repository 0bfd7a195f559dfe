/* SPDX-License-Identifier: Apache-2.0
 * compact_sched.h - sched_switch and sched_waking in columns.
 */
#ifndef ORMA_PROBES_COMPACT_SCHED_H
#define ORMA_PROBES_COMPACT_SCHED_H

#include <orma/packet.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/ftrace/ftrace_events.h"
#include "probes/ftrace/ftrace_format.h"
#include "probes/ftrace/met.h"
#include "probes/ftrace/page_parse.h"

/* Where the kernel has the fields that the columns hold. */
struct orma_compact_format {
	uint16_t switch_id, waking_id;       /* 0 = not known, or not as the columns need it */
	uint16_t switch_bytes, waking_bytes; /* shorter records are not understood */
	uint16_t prev_state_offset, next_pid_offset, next_prio_offset, next_comm_offset;
	uint8_t prev_state_bytes; /* 4 or 8 */
	uint16_t pid_offset, target_cpu_offset, prio_offset, comm_offset, flags_offset;
};

/* Takes what it needs of an event that was loaded. */
void orma_compact_format_learn(struct orma_compact_format *compact,
			       const struct orma_ftrace_event *event,
			       const struct orma_ftrace_format *format);
/* Forgets what it has of the event with this id. */
void orma_compact_format_forget(struct orma_compact_format *compact, uint16_t id);
static inline bool orma_compact_format_is_whole(const struct orma_compact_format *compact)
{
	return compact->switch_id != 0 && compact->waking_id != 0;
}

#define ORMA_COMPACT_EVENTS_MAX 2048 /* a bundle has at most so many of each kind */
#define ORMA_COMPACT_COMMS_MAX  64
#define ORMA_COMPACT_SLOTS      256 /* a power of two, several times COMMS_MAX */

struct orma_compact_column {
	uint8_t *data, *end; /* varints */
};

enum orma_compact_switch_column {
	ORMA_SWITCH_TIMESTAMP,
	ORMA_SWITCH_PREV_STATE,
	ORMA_SWITCH_NEXT_PID,
	ORMA_SWITCH_NEXT_PRIO,
	ORMA_SWITCH_NEXT_COMM,
	ORMA_SWITCH_COLUMNS,
};
enum orma_compact_waking_column {
	ORMA_WAKING_TIMESTAMP,
	ORMA_WAKING_PID,
	ORMA_WAKING_TARGET_CPU,
	ORMA_WAKING_PRIO,
	ORMA_WAKING_COMM,
	ORMA_WAKING_FLAGS,
	ORMA_WAKING_COLUMNS,
};

/* The name of a task: its bytes, of which those behind the first NUL are zero. */
struct orma_compact_comm {
	uint64_t words[2];
};

#define ORMA_COMPACT_TASKS 256 /* a power of two */

/* A task that has its name in the table. */
struct orma_compact_task {
	struct orma_compact_comm comm; /* as it stands in the record */
	int32_t pid;
	uint32_t comm_index_plus_1; /* 0 = no task */
};

struct orma_compact_sched {
	struct orma_compact_column switches[ORMA_SWITCH_COLUMNS];
	struct orma_compact_column wakings[ORMA_WAKING_COLUMNS];
	uint32_t switch_count, waking_count;
	uint64_t last_switch_ns, last_waking_ns;
	struct orma_compact_comm comms[ORMA_COMPACT_COMMS_MAX];
	uint32_t comm_count;
	uint8_t comm_slots[ORMA_COMPACT_SLOTS]; /* index into comms plus 1; 0 = empty */
	struct orma_compact_task
		tasks[ORMA_COMPACT_TASKS]; /* the last one with these low bits of its pid */
	uint8_t *memory;                   /* holds all columns; owned */
};

int orma_compact_sched_init(struct orma_compact_sched *sched); /* 0 or -ENOMEM */
void orma_compact_sched_done(struct orma_compact_sched *sched);

/*
 * Adds the events at the beginning of `records`, up to the first that is not for the columns, is shorter than
 * format->switch_bytes or waking_bytes, or has no room; then the bundle must end first. Returns how many it has added.
 */
size_t orma_compact_sched_add(struct orma_compact_sched *sched,
			      const struct orma_compact_format *format, bool wants_wakings,
			      const struct orma_ftrace_record *records, size_t count,
			      struct orma_met *met);

/* Writes the field compact_sched of an open FtraceEventBundle, if there is an event. */
void orma_compact_sched_write(const struct orma_compact_sched *sched, struct orma_packet *packet);
/* Empties the columns. */
void orma_compact_sched_clear(struct orma_compact_sched *sched);

#endif
