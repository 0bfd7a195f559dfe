/* SPDX-License-Identifier: Apache-2.0
 * system.h - what the readers of system data share: statistics, tracks by kind, slices and counters on them.
 */
#ifndef ORMA_TRACE_SYSTEM_H
#define ORMA_TRACE_SYSTEM_H

#include "base/buf.h"
#include "trace/kernel_state.h"
#include "trace/ordered_read.h"
#include "trace/power_rails.h"
#include "trace/raw_events.h"
#include "trace/sched.h"
#include "trace/slices.h"
#include "trace/stat_values.h"
#include "trace/trace_files.h"
#include "trace/track_lanes.h"

enum { ORMA_KIND_DIMENSIONS_MAX = 3 };

/* A kind of tracks. In the name, %0 is the value of the first dimension, %1 of the second, and so on. */
struct orma_track_kind {
	const char *type;
	const char *unit; /* a counter's; NULL = none */
	const char *name; /* NULL = none */
	struct {
		const char *key; /* NULL = no more */
		bool is_text;    /* the value is a string of the pool */
	} dimensions[ORMA_KIND_DIMENSIONS_MAX];
	bool is_counter;
};

/* The packets of a machine say this about it as a whole. */
struct orma_system_machine {
	int64_t cells[ORMA_MACHINE_COLUMNS];
	uint32_t page_bytes; /* 0 = not known */
	enum orma_syscall_arch arch;
	int64_t started_ns,
		data_start_ns; /* when tracing began; from when on all CPUs have data; 0 = not known */
	bool keeps_old_events;   /* from before tracing began */
	uint32_t uuid_file;      /* the number + 1 of the file that has told its uuid last */
	uint32_t started_file;   /* the number of the file that `started_ns` is of */
	uint32_t streams;        /* buffers that were streamed to a file */
	bool has_no_flushes;     /* while it was streamed */
	int32_t service_version; /* 0 = not known */
};

struct orma_system {
	struct orma_tables *tables;
	struct orma_packet_index *index;
	struct orma_arg_sets *sets;
	struct orma_processes *processes;
	struct orma_tracks *tracks;
	struct orma_track_groups *groups;
	struct orma_slices *slices;
	struct orma_sched *sched;
	bool has_no_raw_events; /* kernel events get no row of their own */
	bool crops_events; /* an option: track events before the range of interest are left out */
	int64_t crop_ns;   /* where that range begins; INT64_MIN = they are not left out */
	bool has_no_idle_task; /* number 0 is a task like any other */
	bool has_log;          /* older rows can be read, and import_log.c makes entries */
	bool is_converted;     /* a report has said what the trace was before */
	const struct orma_trace_files
		*files; /* an option: what the trace was read from; may be NULL */
	struct orma_stats stats;
	struct orma_system_machine *machines;
	uint32_t machine_count, machine_capacity;
	struct orma_map metadata; /* row + 1 by name and machine */
	struct orma_map disks;    /* struct orma_disk by machine and name */
	struct orma_arg_list args;
	struct orma_buf text;
	struct orma_buf config; /* the last TraceConfig */
	struct orma_arena arena;
	struct orma_kernel_state kernel;
	struct orma_raw_events raw_events;
	struct orma_power_samples power_samples;
};

#define ORMA_DIMENSIONS(...) ((const int64_t[]){__VA_ARGS__})

void orma_system_done(struct orma_system *system);
/* Returns the machine's part, or NULL when out of memory. */
struct orma_system_machine *orma_system_machine(struct orma_system *system, uint32_t machine_idx);
/* The cell of a text that is never NULL. */
int64_t orma_system_text(struct orma_system *system, struct orma_str text);

/* The same as orma_tracks_get(), with the values of the kind's dimensions. -ERANGE for a CPU that no machine has. */
int64_t orma_system_track(struct orma_system *system, uint32_t machine_idx,
			  const struct orma_track_kind *kind, const int64_t *values);
/* The lane of such tracks for a slice with a cookie. */
int64_t orma_system_lane(struct orma_system *system, uint32_t machine_idx,
			 const struct orma_track_kind *kind, const int64_t *values, int64_t cookie,
			 enum orma_lane_use use);
/* Adds a value to a counter; `arg_set_id` may be ORMA_CELL_NULL. 0 or a negative errno value. A CPU that no machine has is
 * counted. */
int orma_system_count(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		      const struct orma_track_kind *kind, const int64_t *values, double value,
		      int64_t arg_set_id);

/* Begins a slice; `dur` is -1 or 0. `kernel_event` is where its arguments are, or ORMA_CELL_NULL. 0 or a negative errno
 * value. `track_id` may be an errno value, which is returned. */
struct orma_system_slice {
	int64_t ts, dur;
	int64_t track_id;
	int64_t category, name; /* cells */
	int64_t arg_set_id;
	int64_t kernel_event;
};
int orma_system_begin(struct orma_system *system, const struct orma_system_slice *slice);
/* Ends the innermost open slice that fits; see orma_slices_end(). */
int orma_system_end(struct orma_system *system, const struct orma_system_slice *slice);

/* Writes the set of arguments that was made in `system->args`, and empties it. NULL for none; errors are in
 * `tables->error`. */
int64_t orma_system_take_args(struct orma_system *system);

/* The thread's own track, which track events use too. */
extern const struct orma_track_kind orma_thread_kind;

#endif
