/* SPDX-License-Identifier: Apache-2.0
 * profile_boxes.h - the boxes of experimental_flamegraph(): frames that are equal and have equal callers are one.
 *
 * Invariant: a box comes behind its parent.
 */
#ifndef ORMA_ANSWERS_PROFILE_BOXES_H
#define ORMA_ANSWERS_PROFILE_BOXES_H

#include "answers/trace_database.h"
#include "base/map.h"
#include "sql/row_set.h"

#define ORMA_PROFILE_ROOT UINT32_MAX /* the parent of a root */

enum {
	ORMA_PROFILE_COUNT,
	ORMA_PROFILE_SIZE,
	ORMA_PROFILE_ALLOC_COUNT,
	ORMA_PROFILE_ALLOC_SIZE,
	ORMA_PROFILE_WEIGHTS
};

struct orma_profile_box {
	int64_t name, map_name; /* cells */
	int64_t source_file, line;
	int64_t ts;
	uint32_t parent, depth;
	int64_t own[ORMA_PROFILE_WEIGHTS], cumulative[ORMA_PROFILE_WEIGHTS];
};

struct orma_profile_boxes {
	const struct orma_trace_database *database;
	struct orma_interrupt *interrupt; /* may be NULL */
	struct orma_map by_key;           /* box + 1 by parent and names */
	struct orma_profile_box *all;
	uint32_t count, capacity;
	uint64_t frames; /* that were looked at */
	int64_t ts;      /* the time of new boxes */
};

void orma_profile_boxes_init(struct orma_profile_boxes *boxes,
			     const struct orma_trace_database *database, int64_t ts,
			     struct orma_interrupt *interrupt);
void orma_profile_boxes_done(struct orma_profile_boxes *boxes);
/* Finds the number of the box of a frame below a parent, or makes it. 0, -ENOMEM or -ECANCELED. */
int orma_profile_boxes_find(struct orma_profile_boxes *boxes, const struct orma_profile_box *wanted,
			    uint32_t *ret);
void orma_profile_box_add(struct orma_profile_box *box, size_t weight, int64_t value);
/*
 * Sums the weights and writes a row for each box whose name contains `part`, for those below them and above them. 0 or a
 * negative errno value.
 */
int orma_profile_boxes_write(struct orma_profile_boxes *boxes, struct orma_str part,
			     struct orma_row_set *rows);

#endif
