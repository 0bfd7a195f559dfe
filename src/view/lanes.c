/* SPDX-License-Identifier: Apache-2.0
 * lanes.c - a sorted list of row numbers, a byte for the duration of each row, and a node for each 16 rows.
 *
 * A table's rows are in the order of time over all lanes, but a page draws one lane at a time, and at each depth of it a line of
 * boxes that do not overlap. So `rows` has the numbers of all rows sorted by lane, depth and time; a row's index in it is
 * its place, and the places of a line are neighbours. It is made by counting the rows of each line, and by putting each
 * row behind the last one of its line: the table is read twice from begin to end, and nothing is compared.
 *
 * A picture needs to know of a duration whether it is at least a bucket, which is a power of two, and which one of many is
 * the longest. A byte says both: the exponent of two and the two bits below the leading one, the row's class. A node has
 * the largest class of its rows and the begin of its first. So the next row that gets a box of its own is found by reading
 * bytes, a bucket's edge by a binary search over nodes and then within one, and only what becomes a box is read from the packed
 * columns. 8 M rows have 500,000 nodes: reading a byte of each of them takes 0.2 ms, and no screen needs more, so there are no
 * levels above.
 *
 * Invariants: the places of a line are in the order of begins; a row ends where the next one of its line begins, at the latest, and
 * `lengths` has the durations that result. Importers see to both already, but for slices without an end; the second holds
 * by construction, so that no trace makes boxes that overlap. After orma_lanes_init() nothing changes, so
 * several threads may read.
 *
 * Memory: a row of a table with durations takes 4 bytes in `rows`, 1 for its class and 9/16 for its share of a node. A value
 * takes 5.5 bytes: it has no class, but its node has the least and the largest value.
 *
 * Rejected: a copy of begins and durations in this order (16 bytes more per row, and the packed columns give a cell in constant
 * time); the number of the longest row in each node instead of classes (a bucket that begins within a node
 * would read up to 15 durations from columns, where they are far apart); a segment tree or levels of tiles made in
 * advance (an order of magnitude more to build, when 20 ms of searching are enough for a screen); an SQL index.
 */
#include "view/lanes.h"

#include <errno.h>
#include <math.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum { NODE_MASK = (1 << ORMA_LANE_NODE_SHIFT) - 1 };

void orma_lanes_done(struct orma_lanes *lanes)
{
	orma_base_free(lanes->first_lines);
	orma_base_free(lanes->lines);
	orma_store_big_array_done(&lanes->memory);
	*lanes = (struct orma_lanes){0};
}

static uint32_t node_of(const struct orma_lane_line *line, uint32_t place)
{
	return line->first_node + ((place - line->first) >> ORMA_LANE_NODE_SHIFT);
}

static int64_t cell(const struct orma_lanes *lanes, size_t column, uint32_t place)
{
	return orma_store_column_get(&lanes->table->columns[column], lanes->rows[place]);
}

uint64_t orma_lanes_start(const struct orma_lanes *lanes, uint32_t place)
{
	return (uint64_t)cell(lanes, lanes->spec.ts, place) - (uint64_t)lanes->origin_ns;
}

uint64_t orma_lanes_end(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			uint32_t place)
{
	bool is_last = place + 1 == line->first + line->count;
	uint64_t start = orma_lanes_start(lanes, place);
	uint64_t next = is_last ? UINT64_MAX : orma_lanes_start(lanes, place + 1);
	int64_t dur = lanes->lengths ? cell(lanes, lanes->spec.dur, place) : -1;
	uint64_t end = orma_lanes_end_of(lanes, start, dur);
	return orma_lanes_cut_end(start, end, next);
}

double orma_lanes_value(const struct orma_lanes *lanes, uint32_t place)
{
	return orma_store_double_of_cell(cell(lanes, lanes->spec.value, place));
}

/* Returns the last node of the line, at `node` or behind, whose first row begins before `start`; `node` when none does. */
static uint32_t find_node(const uint64_t *starts, uint32_t node, uint32_t count, uint64_t start)
{
	uint32_t after = node + 1, step = 1;
	while (after < count && starts[after] < start) {
		node = after;
		after = count - after > step ? after + step : count;
		step *= 2;
	}
	while (after - node > 1) {
		uint32_t middle = node + (after - node) / 2;
		if (starts[middle] < start)
			node = middle;
		else
			after = middle;
	}
	return node;
}

/* The places in which the first one lies that begins at `start` or later: it is in [low, high], and high is never read. */
struct bounds {
	uint32_t low, high;
};

static struct bounds find_bounds(const struct orma_lanes *lanes, const struct orma_lane_line *line,
				 uint32_t from, uint64_t start)
{
	uint32_t end = line->first + line->count;
	uint32_t node = find_node(lanes->starts + line->first_node,
				  (from - line->first) >> ORMA_LANE_NODE_SHIFT,
				  (line->count + NODE_MASK) >> ORMA_LANE_NODE_SHIFT, start);
	uint32_t low = line->first + (node << ORMA_LANE_NODE_SHIFT);
	return (struct bounds){.low = ORMA_MAX(from, low),
			       .high = end - low > NODE_MASK ? low + NODE_MASK + 1 : end};
}

static uint32_t find_between(const struct orma_lanes *lanes, struct bounds bounds, uint64_t start)
{
	while (bounds.low < bounds.high) {
		uint32_t middle = bounds.low + (bounds.high - bounds.low) / 2;
		if (orma_lanes_start(lanes, middle) < start)
			bounds.low = middle + 1;
		else
			bounds.high = middle;
	}
	return bounds.low;
}

uint32_t orma_lanes_find_start(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			       uint32_t from, uint64_t start)
{
	if (from >= line->first + line->count)
		return from;
	return find_between(lanes, find_bounds(lanes, line, from, start), start);
}

/* Splits [from, to) into the places before the first whole node, whole nodes, and the places behind them. */
struct parts {
	uint32_t first_node, node_end; /* equal when no node is whole */
	uint32_t nodes_from, nodes_to; /* the places of these nodes */
};

static struct parts split(const struct orma_lane_line *line, uint32_t from, uint32_t to)
{
	uint32_t end = line->first + line->count;
	uint32_t first = (from - line->first + NODE_MASK) >> ORMA_LANE_NODE_SHIFT;
	uint32_t last =
		(to == end ? line->count + NODE_MASK : to - line->first) >> ORMA_LANE_NODE_SHIFT;
	if (first >= last)
		return (struct parts){0, 0, to, to};
	uint32_t nodes_to = line->first + (last << ORMA_LANE_NODE_SHIFT);
	return (struct parts){.first_node = line->first_node + first,
			      .node_end = line->first_node + last,
			      .nodes_from = line->first + (first << ORMA_LANE_NODE_SHIFT),
			      .nodes_to = ORMA_MIN(to, nodes_to)};
}

/* Returns the first index in [from, to) whose byte is `least` or more, or `to`. */
static uint32_t find_byte(const uint8_t *bytes, uint32_t from, uint32_t to, unsigned least)
{
	while (from < to && bytes[from] < least)
		from++;
	return from;
}

uint32_t orma_lanes_find_long(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			      uint32_t from, uint32_t to, unsigned length)
{
	struct parts parts = split(line, from, to);
	uint32_t place = find_byte(lanes->lengths, from, parts.nodes_from, length);
	if (place < parts.nodes_from)
		return place;
	uint32_t node = find_byte(lanes->longest, parts.first_node, parts.node_end, length);
	if (node < parts.node_end)
		place += (node - parts.first_node) << ORMA_LANE_NODE_SHIFT;
	else
		place = parts.nodes_to;
	return find_byte(lanes->lengths, place, to, length);
}

uint32_t orma_lanes_find_start_or_long(const struct orma_lanes *lanes,
				       const struct orma_lane_line *line, uint32_t from,
				       uint32_t to, uint64_t start, uint64_t slack, unsigned length)
{
	struct bounds bounds = find_bounds(lanes, line, from, start);
	/* The columns are not read for a long row before the bounds, nor when the next node begins soon enough. */
	uint32_t end = ORMA_MIN(to, bounds.high);
	uint32_t found = orma_lanes_find_long(lanes, line, from, end, length);
	if (found == end && end < to && lanes->lengths[end] < length &&
	    lanes->starts[node_of(line, end)] - start < slack)
		return end;
	bounds.high = ORMA_MIN(bounds.high, found);
	return bounds.low < bounds.high ? find_between(lanes, bounds, start) : found;
}

/* Returns the largest of the bytes in [from, to), or `largest`. */
static unsigned largest_byte(const uint8_t *bytes, uint32_t from, uint32_t to, unsigned largest)
{
	for (; from < to; from++)
		largest = ORMA_MAX(largest, (unsigned)bytes[from]);
	return largest;
}

uint32_t orma_lanes_longest(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			    uint32_t from, uint32_t to)
{
	struct parts parts = split(line, from, to);
	unsigned largest = largest_byte(lanes->lengths, from, parts.nodes_from, 0);
	largest = largest_byte(lanes->longest, parts.first_node, parts.node_end, largest);
	largest = largest_byte(lanes->lengths, parts.nodes_to, to, largest);
	return orma_lanes_find_long(lanes, line, from, to, largest);
}

struct orma_lane_extremes orma_lanes_extremes(const struct orma_lanes *lanes,
					      const struct orma_lane_line *line, uint32_t from,
					      uint32_t to)
{
	struct parts parts = split(line, from, to);
	struct orma_lane_extremes all = {NAN, NAN};
	for (uint32_t place = from; place < to; place++) {
		if (place == parts.nodes_from && place < parts.nodes_to) {
			for (uint32_t i = parts.first_node; i < parts.node_end; i++)
				orma_lane_extremes_add(&all, lanes->extremes[i].min,
						       lanes->extremes[i].max);
			place = parts.nodes_to - 1;
			continue;
		}
		double value = orma_lanes_value(lanes, place);
		orma_lane_extremes_add(&all, value, value);
	}
	return all;
}
