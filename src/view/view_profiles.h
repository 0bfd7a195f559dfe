/* SPDX-License-Identifier: Apache-2.0
 * view_profiles.h - profiles of a trace as flame graphs: samples of a profiler's session, and heaps of processes.
 */
#ifndef ORMA_VIEW_VIEW_PROFILES_H
#define ORMA_VIEW_VIEW_PROFILES_H

#include "view/flame_tree.h"
#include "view/view_area.h"

enum orma_profile_kind {
	ORMA_PROFILE_SAMPLES,
	ORMA_PROFILE_HEAP_LEFT,      /* not freed at the end of the range */
	ORMA_PROFILE_HEAP_ALLOCATED, /* allocated in the range, freed or not */
};

struct orma_profile {
	enum orma_profile_kind kind;
	int64_t session;    /* for samples */
	int64_t upid, heap; /* for a heap: its process, and the cell of its name */
	struct orma_str unit;
};

/* Appends the member "profiles" of the facts about a trace. 0, -ENOMEM or -ECANCELED. */
int orma_view_profiles_append(const struct orma_view *view, struct orma_buf *json);
/* Finds a profile by what that member calls it. */
bool orma_profile_find(const struct orma_view *view, struct orma_str source,
		       struct orma_profile *ret);
/*
 * Adds the call stacks of a range to a tree, and the statement that counts the innermost functions to `json`. 0, -ENOMEM or
 * -ECANCELED.
 */
int orma_profile_add(const struct orma_profile *profile, const struct orma_area *area,
		     struct orma_flame_tree *tree, struct orma_buf *json);

#endif
