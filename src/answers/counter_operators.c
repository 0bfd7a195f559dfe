/* SPDX-License-Identifier: Apache-2.0
 * counter_operators.c - intervals made of points in time: of the values of counters, and of starts and ends.
 */
#include <errno.h>

#include "answers/operators.h"
#include "base/alloc.h"
#include "base/map.h"

static int create_intervals(struct orma_row_call *call)
{
	const struct orma_row_set *starts = orma_row_call_rows(call, 0);
	const struct orma_row_set *ends = orma_row_call_rows(call, 1);
	size_t end = 0;
	int r = 0;
	for (size_t i = 0; i < starts->row_count && r == 0; i++) {
		int64_t ts = orma_row_set_int(starts, i, 0);
		while (end < ends->row_count && orma_row_set_int(ends, end, 0) <= ts)
			end++;
		if (end == ends->row_count)
			break;
		r = orma_row_set_add_ints(
			call->ret,
			(int64_t[]){ts, (int64_t)((uint64_t)orma_row_set_int(ends, end, 0) -
						  (uint64_t)ts)});
	}
	return r;
}

const struct orma_row_operator orma_interval_create = {
	.name = "__intrinsic_interval_create",
	.columns = "ts, dur",
	.column_count = 2,
	.arg_count = 2,
	.rows = 10000,
	.run = create_intervals,
};

enum { ID, TS, TRACK, VALUE, INPUT_COLUMNS };

/* The rows of one track, as a list. */
struct counter_track {
	size_t first, last;
};

struct counter_tracks {
	struct counter_track *tracks;
	size_t count;
	size_t *next; /* row of the same track, behind each row */
	struct orma_map by_id;
};

static void done(struct counter_tracks *all)
{
	orma_base_free(all->tracks);
	orma_base_free(all->next);
	orma_base_map_done(&all->by_id);
}

static int group_by_track(const struct orma_row_set *rows, struct counter_tracks *all)
{
	all->tracks = orma_base_alloc_array(rows->row_count, sizeof(*all->tracks));
	all->next = orma_base_alloc_array(rows->row_count, sizeof(*all->next));
	if (!all->tracks || !all->next)
		return -ENOMEM;
	for (size_t row = 0; row < rows->row_count; row++) {
		uint64_t id = (uint64_t)orma_row_set_int(rows, row, TRACK);
		struct counter_track *track = orma_base_map_get(&all->by_id, id);
		all->next[row] = SIZE_MAX;
		if (track) {
			all->next[track->last] = row;
			track->last = row;
			continue;
		}
		track = &all->tracks[all->count++];
		*track = (struct counter_track){row, row};
		if (orma_base_map_put(&all->by_id, id, track) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Takes values that say nothing new out of the track's list: of a run of equal ones, those between the second and the
 * last stay out; and the last, too, when no other value follows.
 */
static void drop_repeated(const struct orma_row_set *rows, struct counter_tracks *all,
			  const struct counter_track *track)
{
	size_t row = track->first;
	while (all->next[row] != SIZE_MAX) {
		size_t second = all->next[row], last = second;
		double value = orma_row_set_double(rows, row, VALUE);
		if (orma_row_set_double(rows, second, VALUE) != value) {
			row = second;
			continue;
		}
		while (all->next[last] != SIZE_MAX &&
		       orma_row_set_double(rows, all->next[last], VALUE) == value)
			last = all->next[last];
		if (all->next[last] == SIZE_MAX)
			all->next[second] = SIZE_MAX;
		else if (last != second)
			all->next[second] = last;
		row = all->next[last] == SIZE_MAX ? second : last;
	}
}

static int return_track(struct orma_row_call *call, const struct orma_row_set *rows,
			const struct counter_tracks *all, const struct counter_track *track)
{
	int64_t end = call->argv[0] ? sqlite3_value_int64(call->argv[0]) : 0;
	for (size_t row = track->first, last = SIZE_MAX; row != SIZE_MAX;
	     last = row, row = all->next[row]) {
		size_t next = all->next[row];
		int64_t ts = orma_row_set_int(rows, row, TS);
		int64_t next_ts = next == SIZE_MAX ? end : orma_row_set_int(rows, next, TS);
		double value = orma_row_set_double(rows, row, VALUE);
		int r = orma_row_set_add(call->ret);
		if (r < 0)
			return r;
		orma_row_set_put_int(call->ret, 0, orma_row_set_int(rows, row, ID));
		orma_row_set_put_int(call->ret, 1, ts);
		orma_row_set_put_int(call->ret, 2, (int64_t)((uint64_t)next_ts - (uint64_t)ts));
		orma_row_set_put_int(call->ret, 3, orma_row_set_int(rows, row, TRACK));
		orma_row_set_put_double(call->ret, 4, value);
		if (next != SIZE_MAX)
			orma_row_set_put_double(call->ret, 5,
						orma_row_set_double(rows, next, VALUE));
		if (last != SIZE_MAX)
			orma_row_set_put_double(call->ret, 6,
						value - orma_row_set_double(rows, last, VALUE));
	}
	return 0;
}

static int counter_intervals(struct orma_row_call *call)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 1);
	struct counter_tracks all = {.count = 0};
	int r = rows->row_count > 0 && rows->column_count == INPUT_COLUMNS
			? group_by_track(rows, &all)
			: 0;
	for (size_t i = 0; i < all.count && r == 0; i++) {
		drop_repeated(rows, &all, &all.tracks[i]);
		r = return_track(call, rows, &all, &all.tracks[i]);
	}
	done(&all);
	return r;
}

const struct orma_row_operator orma_counter_intervals = {
	.name = "__intrinsic_counter_intervals",
	.columns = "id, ts, dur, track_id, value, next_value, delta_value",
	.column_count = 7,
	.arg_count = 2,
	.rows = 100000,
	.run = counter_intervals,
};
