/* SPDX-License-Identifier: Apache-2.0
 * orma/track.h - tracks: the lines of the timeline that events lie on.
 *
 * An event lies on the track of its thread unless it names another. Tracks are plain structs: all
 * zero but for what matters, const or not, static or made on the spot.
 *
 *	static const struct orma_track frames = {.name = "frames", .is_name_static = true};
 *	static const struct orma_track late = {.name = "late", .parent = &frames};
 *	static const struct orma_track heat = {
 *		.kind = ORMA_TRACK_COUNTER, .name = "heat", .unit_name = "degrees"};
 *	...
 *	struct orma_track request = {.name = "request", .id = request_number};
 *
 * C++ before C++20 has no designated initialisers; these functions are for it, and for C:
 *
 *	static constexpr orma_track frames = orma_track_named("frames");
 *	static constexpr orma_track late = orma_track_under(&frames, orma_track_named("late"));
 *	orma_track request = orma_track_numbered("request", request_number);
 *	orma_track heat = orma_track_counter("heat");
 *	heat.unit_name = "degrees";
 *
 * What tells tracks apart is their uuid, made of parent, name and id; equal ones are one track,
 * whoever emits to it. The rest describes the track, and should be the same wherever the uuid is. A
 * thread describes a track when it first emits to it, and again when a reader may have missed that:
 * a track costs its description once per thread.
 *
 * Uuids are those of Perfetto's C SDK: two libraries in one process agree on its tracks. For
 * those of the C++ SDK add ORMA_TRACK_ID_CPP_NAMED or ORMA_TRACK_ID_CPP_STATE to the id with ^.
 *
 * Ownership: tracks, their texts and their parents are borrowed for the event that names them; of
 * those that were registered, for ever.
 * Threads: all of it from any thread.
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
	ORMA_TRACK_NAMED = 0, /* slices and instants; without a name, of its id alone */
	ORMA_TRACK_COUNTER = 1,
	ORMA_TRACK_STATE = 2,
	ORMA_TRACK_THREAD = 3,  /* of the thread `id`; 0 = of the thread that emits */
	ORMA_TRACK_PROCESS = 4, /* of this process */
	ORMA_TRACK_GLOBAL = 5,  /* the root of the trace: order of processes and threads */
};

/* What a track without a parent lies under. */
enum orma_track_root {
	ORMA_TRACK_OF_PROCESS = 0,
	ORMA_TRACK_OF_THREAD = 1, /* the one that emits */
	ORMA_TRACK_OF_NOBODY = 2, /* the same in all processes */
};

enum orma_track_order {
	ORMA_TRACK_ORDER_ANY = 0,
	ORMA_TRACK_ORDER_LEXICOGRAPHIC = 1,
	ORMA_TRACK_ORDER_CHRONOLOGICAL = 2,
	ORMA_TRACK_ORDER_EXPLICIT = 3, /* by the `rank` of the children */
};

/* Which tracks of one parent are shown as one. */
enum orma_track_merge {
	ORMA_TRACK_MERGE_DEFAULT = 0, /* as BY_NAME */
	ORMA_TRACK_MERGE_BY_NAME = 1,
	ORMA_TRACK_MERGE_NEVER = 2,
	ORMA_TRACK_MERGE_BY_KEY = 3, /* equal `merge_key`, or without one `merge_key_id` */
};

enum orma_track_unit {
	ORMA_TRACK_UNIT_NONE = 0,
	ORMA_TRACK_UNIT_NS = 1,
	ORMA_TRACK_UNIT_COUNT = 2,
	ORMA_TRACK_UNIT_BYTES = 3,
};

/* 192 bytes on 64-bit machines. Members that a kind has no use for are ignored. */
struct orma_track {
	const char *name; /* may be NULL */
	uint64_t id;      /* tells tracks of equal name and parent apart */
	const struct orma_track *parent;
	enum orma_track_kind kind;
	enum orma_track_root root; /* used when `parent` is NULL */

	/* The name was known when the program was compiled: it tells nothing about its user. */
	bool is_name_static;
	/* Counters: what is written are differences, per thread. The values handed in are not: the
	 * library subtracts. For counters that one thread alone counts. */
	bool is_incremental;
	/* Threads: keep apart from what others, the kernel for one, know of the thread. */
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
	int64_t unit_multiplier;      /* of the values; 0 and 1 = none */
	const char *y_axis_share_key; /* equal ones of one parent share their scale */
	const char *categories;       /* comma-separated */

	/* The root of the trace: `rank` of process and of thread tracks counts. */
	bool is_process_order_explicit;
	bool is_thread_order_explicit;

	/* Further fields of the TrackDescriptor, serialized; they go behind all others. */
	const void *fields;
	size_t fields_size;

	uint64_t uuid; /* not 0 = this one, whatever the rest says */

	uint64_t registered[2]; /* written by orma_track_register() */
	uint64_t reserved[4];   /* zero */
};

/* --- making them ------------------------------------------------------------------------------ */

/* Of slices and instants; the name is borrowed as the struct's. */
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
/* Of the thread `tid`; 0 = of the one that emits. */
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
/* The track with another parent, which is borrowed as the struct's. */
ORMA_INLINE_ struct orma_track orma_track_under(const struct orma_track *parent,
						struct orma_track track)
{
	track.parent = parent;
	return track;
}

/* --- naming and describing them --------------------------------------------------------------- */

/* With ^ to an id: the uuid that Perfetto's C++ SDK gives to the NamedTrack, the StateTrack. */
#define ORMA_TRACK_ID_CPP_NAMED UINT64_C(0xcd571ec5ead37024)
#define ORMA_TRACK_ID_CPP_STATE (UINT64_C(0x2e2398ec92e89138) ^ UINT64_C(0x9b6c5d2f1e3a47c8))

/**
 * orma_track_uuid() - what names the track in the trace, to the calling thread.
 * @track: NULL = the thread's own.
 *
 * Of tracks under a process it is known from orma_track_event_register() on, and different after
 * fork(). The first ORMA_TRACK_PARENTS_MAX parents count: a circle of parents has an end.
 */
ORMA_API uint64_t orma_track_uuid(const struct orma_track *track);
#define ORMA_TRACK_PARENTS_MAX 16

/**
 * orma_track_register() - compute once what events to the track would compute each time.
 * @track: borrowed for ever, with its texts and parents, which change no more.
 *
 * Returns 0, -EINVAL (NULL, or more than ORMA_TRACK_PARENTS_MAX parents). Before any thread emits
 * to it.
 */
ORMA_API int orma_track_register(struct orma_track *track);

/**
 * orma_track_new() - a registered copy with texts of its own, for names known at run time.
 * @model: borrowed for the call, but for its parents: those until orma_track_free().
 *
 * Returns 0, -EINVAL, -ENOMEM.
 */
ORMA_API int orma_track_new(const struct orma_track *model, struct orma_track **ret);
/* No thread may be emitting to it; of kind ORMA_TRACK_GLOBAL, to any. NULL does nothing. */
ORMA_API void orma_track_free(struct orma_track *track);

/**
 * orma_track_announce() - describe a track now, in every trace that is being recorded, again if
 * need be.
 *
 * For tracks without events, and for what has changed: a rank, a description. Of tracks of kind
 * ORMA_TRACK_THREAD this is the way to say what is not in their name: `rank`, `is_kept_apart`. A
 * registered track of kind ORMA_TRACK_GLOBAL is described by itself in every trace from then on;
 * there is one, the last.
 */
ORMA_API void orma_track_announce(const struct orma_track *track);

/**
 * orma_thread_set_name() - name the calling thread, for the kernel (its first 15 bytes) and in
 * traces, also in those that are being recorded.
 *
 * A name that was given otherwise, by prctl() or pthread_setname_np(), is noticed within a second
 * while a trace is recorded. Cut behind 63 bytes. Returns 0, -EINVAL (NULL), -ENOMEM.
 */
ORMA_API int orma_thread_set_name(const char *name);
/* Its place among the threads, where the root of the trace orders explicitly. 0, -ENOMEM. */
ORMA_API int orma_thread_set_rank(int32_t rank);
/* The process's name in traces, also in those that are being recorded, cut behind 127 bytes; NULL =
 * that of its command line. */
ORMA_API void orma_process_set_name(const char *name);
ORMA_API void orma_process_set_rank(int32_t rank);

#ifdef __cplusplus
}
#endif
#endif
