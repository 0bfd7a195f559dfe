/* SPDX-License-Identifier: Apache-2.0
 * density.c - adds up, for each process that is asked for and for each part of a range of time, how long its threads ran.
 *
 * With scheduling, the share is that of one CPU's time, and for all processes that of all CPUs'. Without it, threads count as
 * busy while they are in a slice, and the share of all is that of the tracks that have slices. The rows of the range are
 * neighbours in the table, which is read a block at a time; those that began before it are found by their lanes. 8 M rows take
 * 25 ms, so the answer is made on the worker's thread and nothing is kept.
 */
#include "view/density.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "answers/column_scan.h"
#include "answers/task_names.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "view/view_tracks.h"

enum { BUCKETS_MAX = 4096, IDS_MAX = 512, ANSWER_MAGIC = 0x4e45444f, ANSWER_VERSION = 1 };

struct request_head {
	double start, end;
	uint32_t bucket_count, count;
};

struct density {
	const struct orma_view *view;
	const struct orma_lanes *lanes; /* CPUs, or without scheduling slices */
	struct request_head head;
	double width; /* a bucket's length */
	int32_t *
		by_owner; /* by utid or track: the place of its process in the request; -1 = it is not there */
	uint64_t owner_count;
	int32_t all;      /* the place of all processes; -1 = they are not asked for */
	uint8_t *is_idle; /* by utid; NULL for slices */
	double *sums;     /* by place and bucket, in nanoseconds */
};

static void add_to(struct density *density, int32_t place, double start, double end)
{
	double *sums = density->sums + (size_t)place * density->head.bucket_count;
	/* The range has so many buckets, and the row lies in it. */
	for (size_t bucket = (size_t)(start / density->width); bucket < density->head.bucket_count;
	     bucket++) {
		double from = ORMA_MAX(start, (double)bucket * density->width);
		double to = ORMA_MIN(end, (double)(bucket + 1) * density->width);
		if (to <= from)
			break;
		sums[bucket] += to - from;
	}
}

/* Adds a row; times count from the trace's start. */
static void add_row(struct density *density, uint64_t owner, uint64_t start, uint64_t end)
{
	double from = ORMA_MAX((double)start - density->head.start, 0.0);
	double most = density->head.end - density->head.start;
	double to = ORMA_MIN((double)end - density->head.start, most);
	if (owner >= density->owner_count || to <= from)
		return;
	if (density->by_owner[owner] >= 0)
		add_to(density, density->by_owner[owner], from, to);
	if (density->all >= 0 && !(density->is_idle && density->is_idle[owner]))
		add_to(density, density->all, from, to);
}

static uint64_t start_of(const struct density *density)
{
	return (uint64_t)ORMA_MIN(density->head.start, 0x1p62);
}

/* Adds the rows that reach into the range. */
static void add_begun(struct density *density)
{
	const struct orma_lanes *lanes = density->lanes;
	const struct orma_column *columns = lanes->table->columns;
	for (uint32_t lane = 0; lane < lanes->lane_count; lane++) {
		uint32_t line;
		if (orma_lanes_lines(lanes, lane, &line) == line || lanes->lines[line].count == 0)
			continue;
		const struct orma_lane_line *first = &lanes->lines[line];
		uint32_t place =
			orma_lanes_find_start(lanes, first, first->first, start_of(density));
		if (place == first->first)
			continue;
		place--;
		uint64_t owner = density->is_idle
					 ? (uint64_t)orma_store_column_get(
						   &columns[ORMA_SCHED_UTID], lanes->rows[place])
					 : lane;
		add_row(density, owner, orma_lanes_start(lanes, place),
			orma_lanes_end(lanes, first, place));
	}
}

/* Adds the rows that begin in the range. */
static int add_rows(struct density *density)
{
	static const size_t sched[] = {ORMA_SCHED_TS, ORMA_SCHED_DUR, ORMA_SCHED_UTID},
			    slice[] = {ORMA_SLICE_TS, ORMA_SLICE_DUR, ORMA_SLICE_TRACK_ID};
	const struct orma_lanes *lanes = density->lanes;
	bool is_sched = density->is_idle != NULL;
	uint64_t from = start_of(density);
	int64_t origin = lanes->origin_ns, ts;
	struct orma_column_scan scan;
	if (__builtin_add_overflow(origin, (int64_t)from, &ts))
		ts = INT64_MAX;
	uint64_t row = orma_column_lower_bound(&lanes->table->columns[lanes->spec.ts], ts);
	/* Slices in others are a part of their time. */
	int r = is_sched ? orma_column_scan_begin(&scan, lanes->table, sched,
						  ORMA_ARRAY_SIZE(sched), row)
			 : orma_column_scan_begin_equal(&scan, lanes->table, slice,
							ORMA_ARRAY_SIZE(slice), row,
							ORMA_SLICE_DEPTH, 0);
	bool is_done = false;
	while (r == 0 && !is_done && orma_column_scan_next(&scan)) {
		r = orma_view_check_stop(density->view);
		for (size_t i = 0; i < scan.row_count && !is_done; i++) {
			uint64_t start = (uint64_t)scan.cells[0][i] - (uint64_t)origin;
			is_done = (double)start >= density->head.end;
			if (start >= from && !is_done)
				add_row(density, (uint64_t)scan.cells[2][i], start,
					orma_lanes_end_of(lanes, start, scan.cells[1][i]));
		}
	}
	orma_column_scan_done(&scan);
	return r;
}

/* Returns the process of a thread or track, or -1. */
static int64_t process_of(const struct density *density, uint64_t owner)
{
	const struct orma_trace_database *database = density->view->database;
	if (density->is_idle)
		return orma_thread_process(database, (int64_t)owner);
	int64_t utid = orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UTID, owner);
	return utid >= 0 ? orma_thread_process(database, utid)
			 : orma_trace_database_cell(database, ORMA_TABLE_TRACK, ORMA_TRACK_UPID,
						    owner);
}

static int find_owners(struct density *density, const uint32_t *ids)
{
	const struct orma_trace_database *database = density->view->database;
	const struct orma_table *all = database->tables.all;
	bool is_sched = orma_store_table_rows(density->view->lanes[ORMA_VIEW_SCHED].table) > 0;
	density->lanes = &density->view->lanes[is_sched ? ORMA_VIEW_SCHED : ORMA_VIEW_SLICES];
	density->owner_count =
		orma_store_table_rows(&all[is_sched ? ORMA_TABLE_THREAD : ORMA_TABLE_TRACK]);
	density->by_owner =
		orma_base_alloc_array((size_t)density->owner_count + 1, sizeof(*density->by_owner));
	density->is_idle = is_sched ? orma_base_zalloc((size_t)density->owner_count + 1) : NULL;
	if (!density->by_owner || (is_sched && !density->is_idle))
		return -ENOMEM;
	for (uint64_t owner = 0; owner < density->owner_count; owner++) {
		int64_t upid = process_of(density, owner);
		if (orma_view_check_stop(density->view) < 0)
			return -ECANCELED;
		density->by_owner[owner] = -1;
		for (uint32_t i = 0; i < density->head.count && upid >= 0; i++)
			if (ids[i] == (uint64_t)upid)
				density->by_owner[owner] = (int32_t)i;
		if (is_sched)
			density->is_idle[owner] =
				orma_trace_database_cell(database, ORMA_TABLE_THREAD,
							 ORMA_THREAD_IS_IDLE, owner) == 1;
	}
	density->all = -1;
	for (uint32_t i = 0; i < density->head.count; i++)
		if (ids[i] == ORMA_VIEW_DENSITY_OF_ALL)
			density->all = (int32_t)i;
	return 0;
}

/* How many CPUs or tracks are all. */
static double count_lanes(const struct orma_lanes *lanes)
{
	uint32_t count = 0, line;
	for (uint32_t lane = 0; lane < lanes->lane_count; lane++)
		count += orma_lanes_lines(lanes, lane, &line) > line;
	return count > 0 ? count : 1;
}

static int write_answer(const struct density *density, struct orma_buf *ret)
{
	const uint32_t head[] = {ANSWER_MAGIC, ANSWER_VERSION, density->view->generation,
				 density->head.count};
	size_t buckets = density->head.bucket_count;
	int r = orma_base_buf_append(ret, head, sizeof(head));
	if (r == 0)
		r = orma_base_buf_reserve(ret, buckets * density->head.count);
	for (uint32_t i = 0; i < density->head.count && r == 0; i++) {
		double full = density->width *
			      ((int32_t)i == density->all ? count_lanes(density->lanes) : 1);
		for (size_t k = 0; k < buckets; k++) {
			double share = density->sums[i * buckets + k] / full;
			/* Rounded up, so that little work is seen, too. */
			ret->data[ret->size++] = (uint8_t)ceil(ORMA_MIN(share, 1.0) * UINT8_MAX);
		}
	}
	return r;
}

static int answer(struct density *density, const uint32_t *ids, struct orma_buf *ret)
{
	size_t sums = (size_t)density->head.count * density->head.bucket_count;
	density->width = (density->head.end - density->head.start) / density->head.bucket_count;
	density->sums = orma_base_alloc_array(sums + 1, sizeof(*density->sums));
	int r = density->sums ? find_owners(density, ids) : -ENOMEM;
	if (r == 0) {
		add_begun(density);
		r = add_rows(density);
	}
	if (r == 0)
		r = write_answer(density, ret);
	orma_base_free(density->sums);
	orma_base_free(density->by_owner);
	orma_base_free(density->is_idle);
	return r;
}

int orma_view_density(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		      struct orma_error *reterr)
{
	struct density density = {.view = view};
	uint32_t ids[IDS_MAX];
	if (request.size < sizeof(density.head))
		return orma_base_error_set(reterr, -EINVAL, "%zu bytes are no head of a request",
					   request.size);
	memcpy(&density.head, request.data, sizeof(density.head));
	const struct request_head *head = &density.head;
	/* Shorter ranges than a millionth of a nanosecond would have buckets without a length. */
	if (!(head->start >= 0 && head->end - head->start >= 1e-6 && head->end < 0x1p63))
		return orma_base_error_set(reterr, -EINVAL, "the times are no range");
	if (head->bucket_count == 0 || head->bucket_count > BUCKETS_MAX || head->count > IDS_MAX)
		return orma_base_error_set(
			reterr, -EINVAL, "there are from 1 to %d buckets, and at most %d processes",
			BUCKETS_MAX, IDS_MAX);
	if (request.size != sizeof(*head) + head->count * sizeof(*ids))
		return orma_base_error_set(reterr, -EINVAL,
					   "%zu bytes are not those of %" PRIu32 " processes",
					   request.size, head->count);
	if (head->count > 0)
		memcpy(ids, request.data + sizeof(*head), head->count * sizeof(*ids));
	return answer(&density, ids, ret);
}
