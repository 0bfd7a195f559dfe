/* SPDX-License-Identifier: Apache-2.0
 * slice_operators.c - which slices are above and below another, and the innermost slices of tracks.
 *
 * Slices are in the order of their starts, and a slice comes after its parent; so a parent's number is always smaller.
 */
#include <errno.h>
#include <inttypes.h>

#include "answers/operators.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/index.h"

static int64_t cell_of(const struct orma_trace_database *database, size_t column, uint64_t slice)
{
	return orma_store_column_get(&database->tables.all[ORMA_TABLE_SLICE].columns[column],
				     slice);
}

static int64_t end_of(const struct orma_trace_database *database, uint64_t slice)
{
	int64_t ts = cell_of(database, ORMA_SLICE_TS, slice), end;
	int64_t dur = cell_of(database, ORMA_SLICE_DUR, slice);
	return dur < 0 || __builtin_add_overflow(ts, dur, &end) ? INT64_MAX : end;
}

int orma_slice_argument(const struct orma_row_call *call, uint64_t *ret)
{
	const struct orma_trace_database *database = call->ctx;
	if (call->argc == 0)
		return orma_base_error_set(call->reterr, -EINVAL, "takes the id of a slice");
	if (sqlite3_value_type(call->argv[0]) == SQLITE_NULL)
		return 0;
	if (sqlite3_value_type(call->argv[0]) != SQLITE_INTEGER)
		return orma_base_error_set(call->reterr, -EINVAL,
					   "the id of a slice must be an integer");
	int64_t id = sqlite3_value_int64(call->argv[0]);
	if ((uint64_t)id >= orma_store_table_rows(&database->tables.all[ORMA_TABLE_SLICE]))
		return orma_base_error_set(call->reterr, -EINVAL, "there is no slice %" PRId64, id);
	*ret = (uint64_t)id;
	return 1;
}

static int ancestors(struct orma_row_call *call)
{
	const struct orma_trace_database *database = call->ctx;
	struct orma_row_set *ret = call->ret;
	uint64_t slice;
	int r = orma_slice_argument(call, &slice);
	while (r > 0) {
		int64_t parent = cell_of(database, ORMA_SLICE_PARENT_ID, slice);
		if (parent < 0 || (uint64_t)parent >= slice)
			break;
		slice = (uint64_t)parent;
		if (orma_row_set_add_ints(ret, &parent) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < ret->row_count / 2; i++) {
		int64_t inner = ret->cells[i];
		ret->cells[i] = ret->cells[ret->row_count - 1 - i];
		ret->cells[ret->row_count - 1 - i] = inner;
	}
	return ORMA_MIN(r, 0);
}

static bool is_below(const struct orma_trace_database *database, uint64_t slice, uint64_t above)
{
	while (slice > above) {
		int64_t parent = cell_of(database, ORMA_SLICE_PARENT_ID, slice);
		if (parent < 0 || (uint64_t)parent >= slice)
			return false;
		slice = (uint64_t)parent;
	}
	return slice == above;
}

int orma_visit_descendants(struct orma_trace_database *database, uint64_t slice,
			   int (*visit)(void *ctx, uint64_t slice), void *ctx)
{
	struct orma_relation *relation = orma_sql_find_relation(database->sql, "__intrinsic_slice");
	const struct orma_index *by_track;
	const uint32_t *rows;
	int64_t depth = cell_of(database, ORMA_SLICE_DEPTH, slice), end = end_of(database, slice);
	int64_t start = cell_of(database, ORMA_SLICE_TS, slice);
	int track_column = orma_sql_relation_find(relation, "track_id");
	int r = orma_sql_index_use(relation, (size_t)track_column, &by_track);
	if (r < 0)
		return r;
	size_t count =
		orma_sql_index_find(by_track, cell_of(database, ORMA_SLICE_TRACK_ID, slice), &rows);
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (rows[middle] <= slice)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && r == 0; low++) {
		int64_t ts = cell_of(database, ORMA_SLICE_TS, rows[low]);
		if (ts > end)
			break;
		/* At the ends there may be slices of a neighbour. */
		if (cell_of(database, ORMA_SLICE_DEPTH, rows[low]) > depth &&
		    ((ts != start && ts != end) || is_below(database, rows[low], slice)))
			r = visit(ctx, rows[low]);
	}
	return r;
}

static int add_id(void *ctx, uint64_t slice)
{
	int64_t id = (int64_t)slice;
	return orma_row_set_add_ints(ctx, &id);
}

static int descendants(struct orma_row_call *call)
{
	uint64_t slice;
	int r = orma_slice_argument(call, &slice);
	return r > 0 ? orma_visit_descendants(call->ctx, slice, add_id, call->ret) : r;
}

const struct orma_row_operator orma_ancestor_slices = {
	.name = "__intrinsic_ancestor_slices",
	.columns = "id",
	.column_count = 1,
	.arg_count = 1,
	.rows = 4,
	.run = ancestors,
};

const struct orma_row_operator orma_descendant_slices = {
	.name = "__intrinsic_descendant_slices",
	.columns = "id",
	.column_count = 1,
	.arg_count = 1,
	.rows = 10,
	.run = descendants,
};

/* The slices of a track that are open at a time. */
struct open_slice {
	int64_t id, end;
};

struct open_track {
	struct open_slice *slices;
	size_t count, capacity;
	int64_t since;   /* when the innermost became it */
	bool is_dropped; /* the outermost slice has no duration */
};

struct flattening {
	struct orma_row_set *ret;
	struct open_track *tracks;
	size_t track_count;
};

static int return_until(struct flattening *all, struct open_track *track, int64_t time)
{
	const struct open_slice *inner = &track->slices[track->count - 1];
	int64_t since = track->since;
	track->since = time;
	return time <= since
		       ? 0
		       : orma_row_set_add_ints(all->ret, (int64_t[]){inner->id, since, time - since,
								     track->slices[0].id});
}

/* Closes the slices that end up to this time. */
static int close_until(struct flattening *all, struct open_track *track, int64_t time)
{
	int r = 0;
	while (r == 0 && track->count > 0 && track->slices[track->count - 1].end <= time) {
		r = return_until(all, track, track->slices[track->count - 1].end);
		track->count--;
	}
	return r;
}

static int open_slice(struct flattening *all, struct open_track *track, struct open_slice slice,
		      int64_t ts)
{
	int r = track->count > 0 ? return_until(all, track, ts) : 0;
	if (r < 0)
		return r;
	if (track->count == track->capacity) {
		size_t capacity = ORMA_MAX(track->capacity * 2, (size_t)8);
		struct open_slice *slices =
			orma_base_realloc_array(track->slices, capacity, sizeof(*slices));
		if (!slices)
			return -ENOMEM;
		track->slices = slices;
		track->capacity = capacity;
	}
	if (track->count > 0)
		slice.end = ORMA_MIN(slice.end, track->slices[track->count - 1].end);
	track->slices[track->count++] = slice;
	track->since = ts;
	return 0;
}

static int flatten_slice(struct flattening *all, const struct orma_trace_database *database,
			 uint64_t slice)
{
	int64_t track_id = cell_of(database, ORMA_SLICE_TRACK_ID, slice);
	int64_t ts = cell_of(database, ORMA_SLICE_TS, slice);
	bool has_dur = cell_of(database, ORMA_SLICE_DUR, slice) > 0;
	if ((uint64_t)track_id >= all->track_count)
		return 0;
	struct open_track *track = &all->tracks[track_id];
	int r = close_until(all, track, ts);
	if (cell_of(database, ORMA_SLICE_PARENT_ID, slice) == ORMA_CELL_NULL) {
		if (r == 0)
			r = close_until(all, track, INT64_MAX);
		track->is_dropped = !has_dur;
	}
	if (r < 0 || track->is_dropped || !has_dur)
		return r;
	return open_slice(all, track, (struct open_slice){(int64_t)slice, end_of(database, slice)},
			  ts);
}

static int flatten(struct orma_row_call *call)
{
	struct orma_trace_database *database = call->ctx;
	struct flattening all = {.ret = call->ret,
				 .track_count = (size_t)orma_store_table_rows(
					 &database->tables.all[ORMA_TABLE_TRACK])};
	uint64_t slices = orma_store_table_rows(&database->tables.all[ORMA_TABLE_SLICE]);
	all.tracks = orma_base_alloc_array(all.track_count + 1, sizeof(*all.tracks));
	int r = all.tracks ? 0 : -ENOMEM;
	for (uint64_t slice = 0; slice < slices && r == 0; slice++)
		r = flatten_slice(&all, database, slice);
	for (size_t i = 0; i < all.track_count && all.tracks; i++) {
		if (r == 0)
			r = close_until(&all, &all.tracks[i], INT64_MAX);
		orma_base_free(all.tracks[i].slices);
	}
	orma_base_free(all.tracks);
	return r;
}

const struct orma_row_operator orma_flat_slices = {
	.name = "__intrinsic_flat_slices",
	.columns = "slice_id, ts, dur, root_id",
	.column_count = 4,
	.rows = 1000000,
	.run = flatten,
};
