/* SPDX-License-Identifier: Apache-2.0
 * track_list.h - the tracks of a trace that have rows, by what they belong to.
 */
#ifndef ORMA_VIEW_TRACK_LIST_H
#define ORMA_VIEW_TRACK_LIST_H

#include "base/arena.h"
#include "view/view_state.h"

enum orma_listed_owner {
	ORMA_TRACK_OF_TRACK,
	ORMA_TRACK_OF_THREAD,
	ORMA_TRACK_OF_PROCESS,
	ORMA_TRACK_OF_CPU,
	ORMA_TRACK_OF_NOBODY,
};
/* How the children of a track are ordered. */
enum orma_listed_order {
	ORMA_TRACKS_BY_NUMBER,
	ORMA_TRACKS_BY_NAME,
	ORMA_TRACKS_BY_TIME,
	ORMA_TRACKS_BY_RANK,
};

struct orma_listed_track {
	uint32_t id;
	enum orma_listed_owner owner;
	int64_t owner_id;             /* a track, utid, upid or CPU; -1 = none */
	enum orma_listed_order order; /* among its siblings, as the parent says */
	int64_t rank;
	uint64_t first; /* when its first row begins; UINT64_MAX = only tracks below it have rows */
	struct orma_str name;
	bool is_counter;
	bool is_of_system; /* a counter that the program did not make */
};

struct orma_track_list {
	const struct orma_view *view;
	struct orma_listed_track *items;
	uint32_t count;
};

/* Lists the tracks; the list is in the arena. 0 or -ENOMEM. */
int orma_track_list_init(struct orma_track_list *list, const struct orma_view *view,
			 struct orma_arena *arena);
/* Returns the first track that an owner has; *ret_end is behind its last. CPUs have one list of tracks. */
uint32_t orma_track_list_find(const struct orma_track_list *list, enum orma_listed_owner owner,
			      int64_t id, uint32_t *ret_end);
/* The table that has a track's rows. */
enum orma_view_table orma_track_table(const struct orma_view *view, uint64_t track);
/* Returns an integer of a set of arguments, or `other`. */
int64_t orma_view_int_arg(const struct orma_view *view, int64_t set, const char *key,
			  int64_t other);
/* Orders by bytes. */
int orma_view_compare_names(struct orma_str a, struct orma_str b);

#endif
