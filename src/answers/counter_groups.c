/* SPDX-License-Identifier: Apache-2.0
 * counter_groups.c - one pass over all values, and a second one for the lines of the few counters that are shown.
 */
#include "answers/counter_groups.h"

#include <errno.h>
#include <math.h>

#include "answers/column_scan.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/macros.h"

static const size_t columns[] = {ORMA_COUNTER_TRACK_ID, ORMA_COUNTER_VALUE, ORMA_COUNTER_TS};
enum { TRACK, VALUE, TS };

static void add_value(struct orma_counter_group *group, double value)
{
	if (group->count++ == 0) {
		group->min = group->max = group->first = value;
	} else {
		group->changes += value < group->last || value > group->last;
		group->min = ORMA_MIN(group->min, value);
		group->max = ORMA_MAX(group->max, value);
	}
	group->last = value;
	group->sum += value;
}

int orma_counter_groups_read(struct orma_trace_database *database, struct orma_counter_groups *ret)
{
	struct orma_table *table = &database->tables.all[ORMA_TABLE_COUNTER];
	struct orma_column_scan scan = {0};
	*ret = (struct orma_counter_groups){.values = orma_store_table_rows(table),
					    .track_count = (size_t)orma_store_table_rows(
						    &database->tables.all[ORMA_TABLE_TRACK])};
	ret->tracks = orma_base_alloc_array(ret->track_count + 1, sizeof(*ret->tracks));
	int r = ret->tracks ? orma_column_scan_begin(&scan, table, columns, 2, 0) : -ENOMEM;
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++) {
			uint64_t track = (uint64_t)scan.cells[TRACK][i];
			if (track < ret->track_count && scan.cells[VALUE][i] != ORMA_DOUBLE_NULL)
				add_value(&ret->tracks[track],
					  orma_store_double_of_cell(scan.cells[VALUE][i]));
		}
	orma_column_scan_done(&scan);
	return r;
}

static int make_points(struct orma_counter_groups *groups)
{
	for (size_t i = 0; i < groups->track_count; i++) {
		struct orma_counter_group *group = &groups->tracks[i];
		if (!group->is_chosen || group->points)
			continue;
		group->points = orma_base_alloc_array(ORMA_COUNTER_POINTS, sizeof(double));
		if (!group->points)
			return -ENOMEM;
		for (size_t k = 0; k < ORMA_COUNTER_POINTS; k++)
			group->points[k] = NAN;
	}
	return 0;
}

/* A part without a value shows the value before it, which still holds. */
static void fill_gaps(double *points)
{
	for (size_t k = 1; k < ORMA_COUNTER_POINTS; k++)
		if (isnan(points[k]))
			points[k] = points[k - 1];
}

int orma_counter_groups_draw(struct orma_trace_database *database,
			     struct orma_counter_groups *groups)
{
	struct orma_column_scan scan = {0};
	double start = (double)database->start_ns,
	       length = (double)database->end_ns - (double)database->start_ns;
	int r = make_points(groups);
	if (r == 0)
		r = orma_column_scan_begin(&scan, &database->tables.all[ORMA_TABLE_COUNTER],
					   columns, ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan))
		for (size_t i = 0; i < scan.row_count; i++) {
			uint64_t track = (uint64_t)scan.cells[TRACK][i];
			if (track >= groups->track_count || !groups->tracks[track].is_chosen)
				continue;
			double place =
				((double)scan.cells[TS][i] - start) / length * ORMA_COUNTER_POINTS;
			size_t point =
				place > 0
					? (size_t)ORMA_MIN(place, (double)(ORMA_COUNTER_POINTS - 1))
					: 0;
			groups->tracks[track].points[point] =
				orma_store_double_of_cell(scan.cells[VALUE][i]);
		}
	orma_column_scan_done(&scan);
	for (size_t i = 0; i < groups->track_count; i++)
		if (groups->tracks[i].points)
			fill_gaps(groups->tracks[i].points);
	return r;
}

void orma_counter_groups_done(struct orma_counter_groups *groups)
{
	for (size_t i = 0; groups->tracks && i < groups->track_count; i++)
		orma_base_free(groups->tracks[i].points);
	orma_base_free(groups->tracks);
	*groups = (struct orma_counter_groups){0};
}
