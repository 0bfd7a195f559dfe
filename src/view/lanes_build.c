/* SPDX-License-Identifier: Apache-2.0
 * lanes_build.c - sorts the rows of a table by counting: it counts those of each line, and then puts each behind the last one of
 * its line.
 *
 * The class of a row is noted with the row, from its own duration. Only when the next row of the line begins before it ends, which
 * importers see to, is it noted again. Nodes are made of the classes at the end, when they are neighbours.
 */
#include <errno.h>
#include <math.h>

#include "answers/column_scan.h"
#include "base/alloc.h"
#include "view/lanes.h"

enum { NODE_MASK = (1 << ORMA_LANE_NODE_SHIFT) - 1, COUNTED_COLUMNS = 2, ALL_COLUMNS = 5 };

/* A line while it is filled. */
struct cursor {
	uint64_t start, end; /* when the last row begins, and when it ends by itself; 0 at first */
	uint32_t first, place; /* the line's first place, and where the next row goes */
	uint32_t first_node;
};

/* How many rows a lane has at each depth. */
struct depths {
	uint32_t *counts, count;
};

struct builder {
	struct orma_lanes *lanes;
	struct depths *depths;  /* by lane */
	struct cursor *cursors; /* by line */
	struct orma_column_scan scan;
	size_t columns[ALL_COLUMNS];
	/* The columns of the current block that are read; NULL = the spec has none. */
	const int64_t *ts, *key, *dur, *depth, *value;
};

/* Begins to read the first `count` of a row's columns: its lane and depth are enough for counting. */
static int begin_scan(struct builder *builder, size_t count)
{
	const struct orma_lane_spec *spec = &builder->lanes->spec;
	const size_t wanted[] = {spec->key, spec->depth, spec->ts, spec->dur, spec->value};
	size_t column_count = 0;
	for (size_t i = 0; i < count; i++)
		if (wanted[i] != ORMA_LANE_NO_COLUMN)
			builder->columns[column_count++] = wanted[i];
	return orma_column_scan_begin(&builder->scan, builder->lanes->table, builder->columns,
				      column_count, 0);
}

static bool next_block(struct builder *builder)
{
	const struct orma_lane_spec *spec = &builder->lanes->spec;
	if (!orma_column_scan_next(&builder->scan))
		return false;
	const int64_t *const *cells = builder->scan.cells;
	builder->key = *cells++;
	builder->depth = spec->depth == ORMA_LANE_NO_COLUMN ? NULL : *cells++;
	builder->ts = *cells++;
	builder->dur = spec->dur == ORMA_LANE_NO_COLUMN ? NULL : *cells++;
	builder->value = spec->value == ORMA_LANE_NO_COLUMN ? NULL : *cells;
	return true;
}

static uint32_t depth_of(const int64_t *depths, size_t idx)
{
	uint64_t depth = depths ? (uint64_t)depths[idx] : 0;
	return depth < ORMA_LANE_DEPTHS ? (uint32_t)depth : ORMA_LANE_DEPTHS - 1;
}

static int grow_depths(struct depths *depths, uint32_t count)
{
	uint32_t *counts = orma_base_realloc_array(depths->counts, count, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	memset(counts + depths->count, 0, (count - depths->count) * sizeof(*counts));
	*depths = (struct depths){counts, count};
	return 0;
}

static int count_rows(struct builder *builder)
{
	uint32_t lane_count = builder->lanes->lane_count;
	struct depths *all = builder->depths =
		orma_base_alloc_array((size_t)lane_count + 1, sizeof(*builder->depths));
	int r = all ? begin_scan(builder, COUNTED_COLUMNS) : -ENOMEM;
	while (r == 0 && next_block(builder)) {
		const int64_t *keys = builder->key, *depths = builder->depth;
		size_t count = builder->scan.row_count;
		for (size_t i = 0; i < count && r == 0; i++) {
			uint32_t depth = depth_of(depths, i);
			if ((uint64_t)keys[i] >= lane_count)
				continue;
			struct depths *lane = &all[keys[i]];
			if (depth >= lane->count)
				r = grow_depths(lane, depth + 1);
			if (r == 0)
				lane->counts[depth]++;
		}
	}
	orma_column_scan_done(&builder->scan);
	return r;
}

/* Notes the class of the last row of a line anew: the next one begins before it ends. */
static void cut_row(uint8_t *lengths, const struct cursor *cursor, uint64_t next)
{
	uint64_t end = orma_lanes_cut_end(cursor->start, cursor->end, next);
	lengths[cursor->place - 1] = orma_lane_class(end - cursor->start);
}

/* Puts the rows of a block, which have durations, into their lines. */
static void place_slices(struct builder *builder)
{
	struct orma_lanes lanes = *builder->lanes;
	const int64_t *ts = builder->ts, *keys = builder->key, *durs = builder->dur,
		      *depths = builder->depth;
	size_t count = builder->scan.row_count;
	uint32_t row = (uint32_t)builder->scan.first_row;
	for (size_t i = 0; i < count; i++, row++) {
		if ((uint64_t)keys[i] >= lanes.lane_count)
			continue;
		struct cursor *cursor =
			&builder->cursors[lanes.first_lines[keys[i]] + depth_of(depths, i)];
		uint64_t start = (uint64_t)ts[i] - (uint64_t)lanes.origin_ns;
		uint32_t nth = cursor->place - cursor->first;
		if (cursor->end > start)
			cut_row(lanes.lengths, cursor, start);
		if ((nth & NODE_MASK) == 0) {
			lanes.starts[cursor->first_node + (nth >> ORMA_LANE_NODE_SHIFT)] = start;
		}
		cursor->start = start;
		cursor->end = orma_lanes_end_of(&lanes, start, durs[i]);
		lanes.rows[cursor->place] = row;
		lanes.lengths[cursor->place++] = orma_lane_class(cursor->end - start);
	}
}

/* Notes the largest class of each node of a line. */
static void find_longest(struct orma_lanes *lanes, const struct orma_lane_line *line)
{
	const uint8_t *classes = lanes->lengths + line->first;
	uint8_t *longest = lanes->longest + line->first_node;
	for (uint32_t place = 0; place < line->count; place += NODE_MASK + 1) {
		uint32_t count = ORMA_MIN(line->count - place, (uint32_t)NODE_MASK + 1);
		uint8_t largest = 0;
		for (uint32_t i = 0; i < count; i++)
			largest = (uint8_t)ORMA_MAX(largest, classes[place + i]);
		*longest++ = largest;
	}
}

/* Does so with rows that have values. */
static void place_values(struct builder *builder)
{
	struct orma_lanes lanes = *builder->lanes;
	uint32_t row = (uint32_t)builder->scan.first_row;
	for (size_t i = 0; i < builder->scan.row_count; i++, row++) {
		uint64_t lane = (uint64_t)builder->key[i];
		if (lane >= lanes.lane_count)
			continue;
		struct cursor *cursor = &builder->cursors[lanes.first_lines[lane]];
		double value = orma_store_double_of_cell(builder->value[i]);
		uint32_t nth = cursor->place - cursor->first;
		uint32_t node = cursor->first_node + (nth >> ORMA_LANE_NODE_SHIFT);
		if ((nth & NODE_MASK) == 0) {
			lanes.starts[node] = (uint64_t)builder->ts[i] - (uint64_t)lanes.origin_ns;
			lanes.extremes[node] = (struct orma_lane_extremes){NAN, NAN};
		}
		orma_lane_extremes_add(&lanes.extremes[node], value, value);
		lanes.rows[cursor->place++] = row;
	}
}

static int place_rows(struct builder *builder)
{
	struct orma_lanes *lanes = builder->lanes;
	int r = begin_scan(builder, ALL_COLUMNS);
	while (r == 0 && next_block(builder))
		if (lanes->lengths)
			place_slices(builder);
		else
			place_values(builder);
	orma_column_scan_done(&builder->scan);
	for (uint32_t i = 0; i < lanes->line_count && r == 0 && lanes->lengths; i++)
		find_longest(lanes, &lanes->lines[i]);
	return r;
}

/* Makes the lines from the numbers of rows of each lane and depth. */
static int make_lines(struct builder *builder)
{
	struct orma_lanes *lanes = builder->lanes;
	uint64_t count = 0;
	lanes->first_lines =
		orma_base_alloc_array((size_t)lanes->lane_count + 1, sizeof(*lanes->first_lines));
	if (!lanes->first_lines)
		return -ENOMEM;
	for (uint32_t lane = 0; lane < lanes->lane_count; lane++) {
		count += builder->depths[lane].count;
		if (count > UINT32_MAX)
			return -EOVERFLOW;
		lanes->first_lines[lane + 1] = (uint32_t)count;
	}
	lanes->line_count = (uint32_t)count;
	lanes->lines = orma_base_alloc_array((size_t)count + 1, sizeof(*lanes->lines));
	builder->cursors = orma_base_alloc_array((size_t)count + 1, sizeof(*builder->cursors));
	if (!lanes->lines || !builder->cursors)
		return -ENOMEM;
	struct orma_lane_line *line = lanes->lines;
	for (uint32_t lane = 0; lane < lanes->lane_count; lane++)
		for (uint32_t depth = 0; depth < builder->depths[lane].count; depth++)
			line++->count = builder->depths[lane].counts[depth];
	return 0;
}

/* Gives each line its places and nodes, and the lanes their arrays. */
static int make_arrays(struct builder *builder)
{
	struct orma_lanes *lanes = builder->lanes;
	size_t places = 0, nodes = 0, bytes;
	for (uint32_t i = 0; i < lanes->line_count; i++) {
		struct orma_lane_line *line = &lanes->lines[i];
		line->first = (uint32_t)places;
		line->first_node = (uint32_t)nodes;
		builder->cursors[i] = (struct cursor){
			.first = line->first, .place = line->first, .first_node = line->first_node};
		places += line->count;
		nodes += (line->count + NODE_MASK) >> ORMA_LANE_NODE_SHIFT;
	}
	bool has_lengths = lanes->spec.dur != ORMA_LANE_NO_COLUMN;
	size_t place_bytes = sizeof(*lanes->rows) + (has_lengths ? sizeof(*lanes->lengths) : 0);
	size_t node_bytes = sizeof(*lanes->starts) +
			    (has_lengths ? sizeof(*lanes->longest) : sizeof(*lanes->extremes));
	if (__builtin_mul_overflow(places, place_bytes, &bytes) ||
	    __builtin_add_overflow(bytes, nodes * node_bytes + 1, &bytes))
		return -ENOMEM;
	int r = orma_store_big_array_grow(&lanes->memory, bytes);
	if (r < 0)
		return r;
	/* The widest come first, so that all are aligned. */
	lanes->starts = lanes->memory.data;
	if (has_lengths) {
		lanes->rows = (uint32_t *)(lanes->starts + nodes);
		lanes->lengths = (uint8_t *)(lanes->rows + places);
		lanes->longest = lanes->lengths + places;
	} else {
		lanes->extremes = (struct orma_lane_extremes *)(lanes->starts + nodes);
		lanes->rows = (uint32_t *)(lanes->extremes + nodes);
	}
	return 0;
}

int orma_lanes_init(struct orma_lanes *lanes, struct orma_tables *tables,
		    const struct orma_lane_spec *spec, int64_t origin_ns, int64_t end_ns)
{
	uint64_t lane_count = orma_store_table_rows(&tables->all[spec->keys]);
	const struct orma_table *table = &tables->all[spec->table];
	*lanes = (struct orma_lanes){0};
	/* Numbers of rows that are rounded up to whole nodes do not overflow either. */
	if (lane_count >= UINT32_MAX || orma_store_table_rows(table) > UINT32_MAX - NODE_MASK)
		return -EOVERFLOW;
	*lanes = (struct orma_lanes){.table = table,
				     .spec = *spec,
				     .origin_ns = origin_ns,
				     .end_ns = (uint64_t)end_ns - (uint64_t)origin_ns,
				     .lane_count = (uint32_t)lane_count,
				     .memory.budget = &tables->budget};
	struct builder builder = {.lanes = lanes};
	int r = count_rows(&builder);
	if (r == 0)
		r = make_lines(&builder);
	if (r == 0)
		r = make_arrays(&builder);
	if (r == 0)
		r = place_rows(&builder);
	for (uint32_t lane = 0; builder.depths && lane < lanes->lane_count; lane++)
		orma_base_free(builder.depths[lane].counts);
	orma_base_free(builder.depths);
	orma_base_free(builder.cursors);
	if (r < 0)
		orma_lanes_done(lanes);
	return r;
}
