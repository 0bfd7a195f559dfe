/* SPDX-License-Identifier: Apache-2.0
 * orma/track.h - tracks: the rows of the timeline that events are on.
 *
 * An event is on the track of its thread unless it names another. Tracks are plain structs: set the
 * members that matter, leave the others zero. They may be const or not, static or local.
 *
 *	static const struct orma_track frames = {.name = "frames", .is_name_static = true};
 *	static const struct orma_track late = {.name = "late", .parent = &frames};
 *	static const struct orma_track heat = {
 *		.kind = ORMA_TRACK_COUNTER, .name = "heat", .unit_name = "degrees"};
 *	...
 *	struct orma_track request = {.name = "request", .id = request_number};
 *
 * These functions do the same, in C and in C++ before C++20, which has no designated initialisers:
 *
 *	static constexpr orma_track frames = orma_track_named("frames");
 *	static constexpr orma_track late = orma_track_under(&frames, orma_track_named("late"));
 *	orma_track request = orma_track_numbered("request", request_number);
 *	orma_track heat = orma_track_counter("heat");
 *	heat.unit_name = "degrees";
 *
 * A track is identified by its uuid, which is computed from parent, name and id. All structs with
 * one uuid are one track, on whichever thread they are used. The other members describe the track
 * and should be equal wherever the uuid is equal. A thread describes a track before its first event
 * there, and again when a reader may have missed that. So a track costs its description once per
 * thread.
 *
 * Uuids are computed as in Perfetto's C SDK, so two libraries in one process agree on its tracks.
 * Combine the id with ORMA_TRACK_ID_CPP_NAMED or ORMA_TRACK_ID_CPP_STATE by ^ to get the uuids of
 * the C++ SDK.
 *
 * Ownership: tracks, their texts and their parents are borrowed for the event that names them;
 * those of registered tracks are borrowed for ever.
 * Threads: everything here may be used on any thread.
 */
#ifndef ORMA_TRACK_H
#define ORMA_TRACK_H

#include <orma/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum orma_track_kind {
	ORMA_TRACK_NAMED = 0, /* slices and instants; without a name, the id alone identifies it */
	ORMA_TRACK_COUNTER = 1,
	ORMA_TRACK_STATE = 2,
	ORMA_TRACK_THREAD = 3,  /* the thread with the tid `id`; 0 = the thread that emits */
	ORMA_TRACK_PROCESS = 4, /* this process */
	ORMA_TRACK_GLOBAL = 5,  /* the root of the trace: order of processes and threads */
};

/* The parent of a track whose `parent` is NULL. */
enum orma_track_root {
	ORMA_TRACK_OF_PROCESS = 0, /* this process */
	ORMA_TRACK_OF_THREAD = 1,  /* the thread that emits */
	ORMA_TRACK_OF_NOBODY = 2,  /* none: the track is the same in all processes */
};

enum orma_track_order {
	ORMA_TRACK_ORDER_ANY = 0,
	ORMA_TRACK_ORDER_LEXICOGRAPHIC = 1,
	ORMA_TRACK_ORDER_CHRONOLOGICAL = 2,
	ORMA_TRACK_ORDER_EXPLICIT = 3, /* by the `rank` of the children */
};

/* Which tracks of one parent a viewer shows as one. */
enum orma_track_merge {
	ORMA_TRACK_MERGE_DEFAULT = 0, /* as BY_NAME */
	ORMA_TRACK_MERGE_BY_NAME = 1,
	ORMA_TRACK_MERGE_NEVER = 2,
	ORMA_TRACK_MERGE_BY_KEY = 3, /* by equal `merge_key`; if that is NULL, by `merge_key_id` */
};

enum orma_track_unit {
	ORMA_TRACK_UNIT_NONE = 0,
	ORMA_TRACK_UNIT_NS = 1,
	ORMA_TRACK_UNIT_COUNT = 2,
	ORMA_TRACK_UNIT_BYTES = 3,
};

/* 192 bytes on 64-bit machines. Members that do not apply to the kind are ignored. */
struct orma_track {
	const char *name; /* may be NULL */
	uint64_t id;      /* tells tracks of equal name and parent apart */
	const struct orma_track *parent;
	enum orma_track_kind kind;
	enum orma_track_root root; /* used when `parent` is NULL */

	/* The name was known when the program was compiled, so it contains no data of a user. */
	bool is_name_static;
	/* Counters: the trace stores differences. Events pass absolute values, and the library
	 * subtracts, per thread. Only for counters that a single thread emits. */
	bool is_incremental;
	/* Threads: do not merge this track with data of other sources about the thread, for example
	 * of the kernel. */
	bool is_kept_apart;

	enum orma_track_order child_order;
	int32_t rank; /* among its siblings, when their parent orders explicitly */
	enum orma_track_merge merge;
	const char *merge_key;
	uint64_t merge_key_id;
	const char *description;

	/* Counters. */
	enum orma_track_unit unit;
	const char *unit_name;        /* for other units */
	int64_t unit_multiplier;      /* multiplies the values; 0 and 1 = none */
	const char *y_axis_share_key; /* counters of one parent with equal keys share a scale */
	const char *categories;       /* comma-separated */

	/* The root of the trace: order process or thread tracks by their `rank`. */
	bool is_process_order_explicit;
	bool is_thread_order_explicit;

	/* Further fields of the TrackDescriptor, serialized; appended to all others. */
	const void *fields;
	size_t fields_size;

	uint64_t uuid; /* not 0 = use this uuid instead of a computed one */

	uint64_t registered[2]; /* written by orma_track_register() */
	uint64_t reserved[4];   /* zero */
};

/* --- making tracks ---------------------------------------------------------------------------- */

/* A track for slices and instants; the name is borrowed like the struct's. */
ORMA_INLINE_ struct orma_track orma_track_named(const char *name)
{
	struct orma_track track = ORMA_ZERO_;

	track.name = name;
	return track;
}
ORMA_INLINE_ struct orma_track orma_track_numbered(const char *name, uint64_t id)
{
	struct orma_track track = orma_track_named(name);

	track.id = id;
	return track;
}
ORMA_INLINE_ struct orma_track orma_track_counter(const char *name)
{
	struct orma_track track = orma_track_named(name);

	track.kind = ORMA_TRACK_COUNTER;
	return track;
}
ORMA_INLINE_ struct orma_track orma_track_state(const char *name)
{
	struct orma_track track = orma_track_named(name);

	track.kind = ORMA_TRACK_STATE;
	return track;
}
/* The track of the thread `tid`; 0 = the thread that emits. */
ORMA_INLINE_ struct orma_track orma_track_of_thread(uint32_t tid)
{
	struct orma_track track = orma_track_numbered(ORMA_NULL_, tid);

	track.kind = ORMA_TRACK_THREAD;
	return track;
}
ORMA_INLINE_ struct orma_track orma_track_of_process(void)
{
	struct orma_track track = orma_track_named(ORMA_NULL_);

	track.kind = ORMA_TRACK_PROCESS;
	return track;
}
/* The same track with another parent, which is borrowed like the struct's. */
ORMA_INLINE_ struct orma_track orma_track_under(const struct orma_track *parent,
						struct orma_track track)
{
	track.parent = parent;
	return track;
}

/* --- naming and describing tracks ------------------------------------------------------------- */

/* Combined with an id by ^, these give the uuid of a NamedTrack or StateTrack of Perfetto's C++
 * SDK. */
#define ORMA_TRACK_ID_CPP_NAMED UINT64_C(0xcd571ec5ead37024)
#define ORMA_TRACK_ID_CPP_STATE (UINT64_C(0x2e2398ec92e89138) ^ UINT64_C(0x9b6c5d2f1e3a47c8))

/**
 * orma_track_uuid() - the uuid of the track in the trace, as the calling thread would emit to it.
 * @track: NULL = the thread's own track.
 *
 * For tracks under a process it is known after orma_track_event_register(), and it changes in the
 * child of a fork(). Only the first ORMA_TRACK_PARENTS_MAX parents count, so a cycle of parents
 * ends.
 */
ORMA_API uint64_t orma_track_uuid(const struct orma_track *track);
#define ORMA_TRACK_PARENTS_MAX 16

/**
 * orma_track_register() - compute once what each event to the track would otherwise compute.
 * @track: borrowed for ever, with its texts and parents, which must not change any more.
 *
 * Call it before any thread emits to the track. Returns 0, -EINVAL (NULL, or more than
 * ORMA_TRACK_PARENTS_MAX parents).
 */
ORMA_API int orma_track_register(struct orma_track *track);

/**
 * orma_track_new() - make a registered copy that owns its texts, for names known at run time.
 * @model: borrowed for the call, except its parents, which are borrowed until orma_track_free().
 *
 * Returns 0, -EINVAL, -ENOMEM.
 */
ORMA_API int orma_track_new(const struct orma_track *model, struct orma_track **ret);
/* No thread may be emitting to the track; if it is of kind ORMA_TRACK_GLOBAL, to any track. NULL
 * does nothing. */
ORMA_API void orma_track_free(struct orma_track *track);

/**
 * orma_track_announce() - describe a track now, in every trace that is being recorded, even if it
 * was described before.
 *
 * Use it for tracks without events, and when a rank or description has changed. For tracks of kind
 * ORMA_TRACK_THREAD it is the way to set members other than the name: `rank`, `is_kept_apart`. Once
 * announced, a registered track of kind ORMA_TRACK_GLOBAL is described in every later trace by
 * itself; only the last one that was announced is.
 */
ORMA_API void orma_track_announce(const struct orma_track *track);

/**
 * orma_thread_set_name() - name the calling thread in the kernel (the first 15 bytes) and in
 * traces, including those that are being recorded.
 *
 * While a trace is recorded, a name that was set by prctl() or pthread_setname_np() is noticed
 * within a second. Names are cut after 63 bytes. Returns 0, -EINVAL (NULL), -ENOMEM.
 */
ORMA_API int orma_thread_set_name(const char *name);
/* Sets the calling thread's rank among the threads, which counts if the root of the trace orders
 * explicitly. Returns 0 or -ENOMEM. */
ORMA_API int orma_thread_set_rank(int32_t rank);
/* Sets the process's name in traces, including those that are being recorded. Names are cut after
 * 127 bytes. NULL
 * = the name in its command line. */
ORMA_API void orma_process_set_name(const char *name);
ORMA_API void orma_process_set_rank(int32_t rank);

#ifdef __cplusplus
}
#endif
#endif
