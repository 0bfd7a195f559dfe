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
#include "proto/wire.h"

/* Where the kernel has the fields that the columns hold. */
struct orma_compact_format {
	uint16_t switch_id, waking_id;       /* 0 = not known, or not as the columns need it */
	uint16_t switch_bytes, waking_bytes; /* shorter records are not understood */
	uint16_t prev_state_offset, next_pid_offset, next_prio_offset, next_comm_offset;
	uint8_t prev_state_bytes; /* 4 or 8 */
	uint16_t pid_offset, target_cpu_offset, prio_offset, comm_offset, flags_offset;
	/* The fields lie as orma_compact_sched_take() expects them. */
	bool is_usual_switch, is_usual_waking;
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

#define ORMA_COMPACT_EVENTS_MAX   2048 /* a bundle has at most so many of each kind */
#define ORMA_COMPACT_COMMS_MAX    64
#define ORMA_COMPACT_COLUMN_BYTES ((size_t)ORMA_COMPACT_EVENTS_MAX * ORMA_PROTO_VARINT_MAX + 8)
#define ORMA_COMPACT_SLOTS        256 /* a power of two, several times COMMS_MAX */

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

/* A task with its name in the table. A task with long numbers is not here. */
struct orma_compact_task {
	uint64_t key[3]; /* its name, number and priority as they stand in a record */
	uint8_t pid[4];  /* a varint */
	uint8_t prio[2]; /* another */
	uint8_t pid_bytes, prio_extra_bytes;
	uint8_t comm_index;
};

/* The begin of the records of an event of the usual format. */
struct orma_compact_known {
	uint64_t head;  /* type and id; 0 = none was seen since the bundle began */
	uint32_t bytes; /* header and record */
};

struct orma_compact_ends {
	uint8_t *at[ORMA_WAKING_COLUMNS]; /* where each column ends */
};

/* One piece of memory, so that one register holds where all of it is. */
struct orma_compact_memory {
	struct orma_compact_task
		tasks[ORMA_COMPACT_TASKS]; /* the last one with these low bits of its number */
	uint8_t switches[ORMA_SWITCH_COLUMNS][ORMA_COMPACT_COLUMN_BYTES];
	uint8_t wakings[ORMA_WAKING_COLUMNS][ORMA_COMPACT_COLUMN_BYTES];
};

struct orma_compact_sched {
	struct orma_compact_ends switches, wakings;
	uint32_t switch_count, waking_count;
	uint64_t last_switch_ns, last_waking_ns;
	struct orma_compact_comm comms[ORMA_COMPACT_COMMS_MAX];
	uint32_t comm_count;
	uint8_t comm_slots[ORMA_COMPACT_SLOTS]; /* index into comms plus 1; 0 = empty */
	struct orma_compact_known known_switch, known_waking;
	uint64_t
		head_mask; /* type and id; the compiler would load a constant anew for each event */
	uint16_t target_cpu_offset;         /* in records of known_waking */
	struct orma_compact_memory *memory; /* owned */
};

int orma_compact_sched_init(struct orma_compact_sched *sched); /* 0 or -ENOMEM */
void orma_compact_sched_done(struct orma_compact_sched *sched);

/* Adds an event of at least format->switch_bytes or waking_bytes. False = no room; the bundle must end first. */
bool orma_compact_sched_add(struct orma_compact_sched *sched,
			    const struct orma_compact_format *format,
			    const struct orma_ftrace_record *record, struct orma_met *met);

/* The slow path of the function below. Do not call it. */
bool orma_compact_sched_take_known(struct orma_compact_sched *sched, struct orma_ftrace_page *page);

/*
 * Takes the events that are next in a page and like earlier ones of the bundle: of a format and about a task that it knows.
 * Returns whether there is one.
 */
static inline bool orma_compact_sched_take(struct orma_compact_sched *sched,
					   struct orma_ftrace_page *page)
{
	return (sched->known_switch.head | sched->known_waking.head) != 0 &&
	       orma_compact_sched_take_known(sched, page);
}

/* ---- compact_known.c ---- */

bool orma_compact_is_usual_switch(const struct orma_compact_format *format);
bool orma_compact_is_usual_waking(const struct orma_compact_format *format);
/* An event of a usual format was added. Knows such events and its task from now on. */
void orma_compact_know_switch(struct orma_compact_sched *sched,
			      const struct orma_ftrace_record *record, uint8_t comm_index);
void orma_compact_know_waking(struct orma_compact_sched *sched,
			      const struct orma_compact_format *format,
			      const struct orma_ftrace_record *record, uint8_t comm_index);
void orma_compact_forget(struct orma_compact_sched *sched);

/* ---- the bundle ---- */

/* Writes the field compact_sched of an open FtraceEventBundle, if there is an event. */
void orma_compact_sched_write(const struct orma_compact_sched *sched, struct orma_packet *packet);
/* Empties the columns. */
void orma_compact_sched_clear(struct orma_compact_sched *sched);

#endif
