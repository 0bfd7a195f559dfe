/* SPDX-License-Identifier: Apache-2.0
 * tile_request.h - the request for tiles of lanes, of slices and of values alike, and the head of its answer.
 */
#ifndef ORMA_VIEW_TILE_REQUEST_H
#define ORMA_VIEW_TILE_REQUEST_H

#include "view/view_state.h"

enum {
	ORMA_TILE_SHIFT = 9, /* a tile has 512 buckets */
	ORMA_TILE_LEVEL_MAX = 62,
	ORMA_TILES_MAX = 4096, /* per request */
	ORMA_TILE_ITEMS_DEFAULT = 8000,
	/* No answer has more, whatever the page asks for. */
	ORMA_TILE_ITEMS_MAX = 1 << 18,
};

/* A tile of a lane. Times are nanoseconds since the trace's start. */
struct orma_tile {
	const struct orma_lanes *lanes;
	enum orma_view_table table;
	uint32_t lane;       /* among those of `lanes` */
	uint64_t start, end; /* [start, end); equal for a tile behind the end of time */
	uint32_t count;      /* how many items it has, when they are counted */
};

struct orma_tile_request {
	unsigned level; /* a bucket has 2^level nanoseconds */
	uint32_t max_items;
	uint32_t tile_count;
	struct orma_tile *tiles;
};

/* When the bucket ends that a time is in. */
static inline uint64_t orma_tile_bucket_end(uint64_t time, unsigned level)
{
	uint64_t end;
	return __builtin_add_overflow((time >> level) << level, UINT64_C(1) << level, &end)
		       ? UINT64_MAX
		       : end;
}

/* Checks a request, for tables with values or without. 0, -EINVAL, -ENOENT (no such lane) or -ENOMEM. */
int orma_tile_request_init(struct orma_tile_request *request, const struct orma_view *view,
			   struct orma_str body, bool has_values, struct orma_error *reterr);
void orma_tile_request_done(struct orma_tile_request *request);
/* Writes the answer's head and the sections', and makes room for the items, which follow. 0, -EINVAL (they are too many) or -ENOMEM. */
int orma_tile_request_begin_answer(const struct orma_tile_request *request,
				   const struct orma_view *view, struct orma_str body,
				   size_t item_bytes, struct orma_buf *ret,
				   struct orma_error *reterr);

#endif
