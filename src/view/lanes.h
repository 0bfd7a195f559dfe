/* SPDX-License-Identifier: Apache-2.0
 * lanes.h - the rows of a table in the order in which a page draws them: by lane, by depth, by time.
 */
#ifndef ORMA_VIEW_LANES_H
#define ORMA_VIEW_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "store/big_array.h"
#include "trace/tables.h"

/* Says which rows are the boxes of which lane. All but the tables are columns. */
struct orma_lane_spec {
	enum orma_table_id table;
	enum orma_table_id keys; /* the table whose row is the lane's number */
	size_t ts, key;
	size_t dur;   /* ORMA_LANE_NO_COLUMN: the rows are values, which hold until the next */
	size_t depth; /* ORMA_LANE_NO_COLUMN: all are at depth 0 */
	size_t value; /* its doubles are the values; or ORMA_LANE_NO_COLUMN */
};
#define ORMA_LANE_NO_COLUMN SIZE_MAX
/* Deeper rows are drawn at the last of these depths. */
enum { ORMA_LANE_DEPTHS = 512 };
/* A node covers 2^4 rows. */
enum { ORMA_LANE_NODE_SHIFT = 4 };

/* The boxes of one lane at one depth: places [first, first + count). */
struct orma_lane_line {
	uint32_t first, count;
	uint32_t first_node;
};

struct orma_lane_extremes {
	double min, max; /* NaN = no value is a number */
};

/* {0} is empty. Times are nanoseconds since `origin_ns`. */
struct orma_lanes {
	const struct orma_table *table;
	struct orma_lane_spec spec;
	int64_t origin_ns;
	uint64_t end_ns;
	uint32_t lane_count, line_count;
	uint32_t *first_lines; /* by lane, and one more behind the last: its first line */
	struct orma_lane_line *lines;
	uint32_t *rows;   /* by place */
	uint8_t *lengths; /* by place: the class of its duration; NULL for values */
	uint64_t *starts; /* by node: when its first row begins */
	uint8_t *longest; /* by node: the largest of its classes; NULL for values */
	struct orma_lane_extremes *extremes; /* by node; NULL unless the spec has values */
	struct orma_big_array memory;        /* holds all arrays from `rows` on */
};

/*
 * Sorts the rows of a sealed table, which is borrowed. Rows of lanes that are not there are left out. 0, -ENOMEM, -EOVERFLOW
 * (2^32 rows) or an error of the file that holds what is beyond the budget; then `lanes` is as {0}.
 */
int orma_lanes_init(struct orma_lanes *lanes, struct orma_tables *tables,
		    const struct orma_lane_spec *spec, int64_t origin_ns, int64_t end_ns);
void orma_lanes_done(struct orma_lanes *lanes);

/* The lines of a lane are those from *ret_first to before the returned one; their depths count from 0. None for a lane that is not there. */
static inline uint32_t orma_lanes_lines(const struct orma_lanes *lanes, uint32_t lane,
					uint32_t *ret_first)
{
	if (lane >= lanes->lane_count)
		return *ret_first = 0;
	*ret_first = lanes->first_lines[lane];
	return lanes->first_lines[lane + 1];
}

/*
 * The class of a duration: it grows with the duration, and durations of one class differ by less than a quarter. A
 * duration is 2^k or more exactly if its class is ORMA_LANE_CLASS(k) or more.
 */
#define ORMA_LANE_CLASS(k) (1 + 4 * (k))
static inline uint8_t orma_lane_class(uint64_t dur)
{
	if (dur == 0)
		return 0;
	unsigned log2 = 63 - (unsigned)__builtin_clzll(dur);
	unsigned quarter = (unsigned)(log2 >= 2 ? dur >> (log2 - 2) : dur << (2 - log2)) & 3;
	return (uint8_t)ORMA_MIN(ORMA_LANE_CLASS(log2) + quarter, 255U);
}

/* NaN is neither less nor more than a number, and is replaced by one. */
static inline void orma_lane_extremes_add(struct orma_lane_extremes *extremes, double min,
					  double max)
{
	if (!(extremes->min <= min) && min == min)
		extremes->min = min;
	if (!(extremes->max >= max) && max == max)
		extremes->max = max;
}

/* When a row ends by itself; without a duration, with the trace. */
static inline uint64_t orma_lanes_end_of(const struct orma_lanes *lanes, uint64_t start,
					 int64_t dur)
{
	uint64_t end;
	if (dur < 0)
		return ORMA_MAX(lanes->end_ns, start);
	return __builtin_add_overflow(start, (uint64_t)dur, &end) ? UINT64_MAX : end;
}
/* When it ends as the next row of its line begins at `next`. */
static inline uint64_t orma_lanes_cut_end(uint64_t start, uint64_t end, uint64_t next)
{
	uint64_t most = ORMA_MAX(start, next);
	return ORMA_MIN(end, most);
}

/* When the row at a place begins. */
uint64_t orma_lanes_start(const struct orma_lanes *lanes, uint32_t place);
/*
 * When it ends: what has no end yet, as values never have, and what would end behind the next row's begin, ends there, else
 * with the trace.
 */
uint64_t orma_lanes_end(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			uint32_t place);
/* The value at a place, for a spec that has values. */
double orma_lanes_value(const struct orma_lanes *lanes, uint32_t place);
/* Returns the first place of the line, at `from` or behind, that begins at `start` or later. */
uint32_t orma_lanes_find_start(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			       uint32_t from, uint64_t start);
/*
 * Returns the first place in [from, to) that begins at `start` or later or whose class is `length` or more; else `to`. In
 * place of one that is not long and begins in [start, start + slack), it may be any such that no long row is before it: that
 * takes no look at the columns when rows are dense.
 */
uint32_t orma_lanes_find_start_or_long(const struct orma_lanes *lanes,
				       const struct orma_lane_line *line, uint32_t from,
				       uint32_t to, uint64_t start, uint64_t slack,
				       unsigned length);
/* Returns the first place in [from, to) whose class is `length` or more; `to` when there is none. */
uint32_t orma_lanes_find_long(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			      uint32_t from, uint32_t to, unsigned length);
/* Returns the first of the places in [from, to), of which there is one at least, that have the largest class. */
uint32_t orma_lanes_longest(const struct orma_lanes *lanes, const struct orma_lane_line *line,
			    uint32_t from, uint32_t to);
/* The least and the largest value in [from, to). */
struct orma_lane_extremes orma_lanes_extremes(const struct orma_lanes *lanes,
					      const struct orma_lane_line *line, uint32_t from,
					      uint32_t to);

#endif
