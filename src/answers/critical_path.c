/* SPDX-License-Identifier: Apache-2.0
 * critical_path.c - from a span of a thread back through those who woke it.
 *
 * A span is a node with the time [ts - idle_dur, ts + dur): in the idle part its thread slept, in the rest it ran. To say
 * why a root took so long, time is handed from node to node in windows that do not overlap: what lies in the rest is the
 * node's own; the idle part goes to the waker, one level deeper; and what lies before goes to the thread's span before.
 * A node hands time only to nodes that began before itself, so that tables with cycles have an end, too.
 */
#include <errno.h>

#include "answers/operators.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "base/map.h"
#include "sql/interrupt.h"

enum { ID, UTID, TS, DUR, IDLE_DUR, WAKER_ID, PREV_ID, NODE_COLUMNS };
enum { WINDOWS_BETWEEN_CHECKS = 4096 };

struct window {
	size_t row; /* the node's */
	int64_t start, end;
	uint32_t depth;
};

struct walk {
	struct orma_row_call *call;
	const struct orma_row_set *nodes;
	struct orma_map rows; /* row + 1 by the node's id */
	struct window *stack;
	size_t depth, capacity;
	uint64_t count;
	int64_t root_id;
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* Leaves a window without time, or of a node that is not there or does not begin before `row`, out. */
static int push(struct walk *walk, size_t row, size_t column, struct window window)
{
	if (window.start >= window.end || orma_row_set_is_null(walk->nodes, row, column))
		return 0;
	uint64_t id = (uint64_t)orma_row_set_int(walk->nodes, row, column);
	uintptr_t found = (uintptr_t)orma_base_map_get(&walk->rows, id);
	if (!found || (column != ID && orma_row_set_int(walk->nodes, found - 1, TS) >=
					       orma_row_set_int(walk->nodes, row, TS)))
		return 0;
	if (walk->depth == walk->capacity) {
		size_t capacity = ORMA_MAX(walk->capacity * 2, (size_t)64);
		struct window *bigger =
			orma_base_realloc_array(walk->stack, capacity, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		walk->stack = bigger;
		walk->capacity = capacity;
	}
	window.row = found - 1;
	walk->stack[walk->depth++] = window;
	return 0;
}

static int put(struct walk *walk, const struct window *window, int64_t start, int64_t end)
{
	if (start >= end)
		return 0;
	return orma_row_set_add_ints(walk->call->ret,
				     (int64_t[]){walk->root_id, window->depth, start, end - start,
						 orma_row_set_int(walk->nodes, window->row, ID),
						 walk->root_id});
}

static int split(struct walk *walk, const struct window *window)
{
	const struct orma_row_set *nodes = walk->nodes;
	size_t row = window->row;
	bool has_idle = !orma_row_set_is_null(nodes, row, IDLE_DUR);
	bool has_prev = !orma_row_set_is_null(nodes, row, PREV_ID);
	int64_t ts = orma_row_set_int(nodes, row, TS);
	/* Without a known sleep the waker has all of the time before. */
	int64_t idle_start =
		has_idle ? add(ts, -ORMA_MAX(orma_row_set_int(nodes, row, IDLE_DUR), (int64_t)0))
			 : window->start;
	int64_t start = ORMA_MAX(window->start, idle_start);
	int64_t end = ORMA_MIN(window->end, add(ts, orma_row_set_int(nodes, row, DUR)));
	int r = has_idle ? push(walk, row, PREV_ID,
				(struct window){.start = window->start,
						.end = ORMA_MIN(window->end, idle_start),
						.depth = window->depth})
			 : 0;
	if (r < 0 || start >= end)
		return r;
	int64_t idle_end = ORMA_MIN(end, ts);
	if (!orma_row_set_is_null(nodes, row, WAKER_ID))
		r = push(walk, row, WAKER_ID,
			 (struct window){
				 .start = start, .end = idle_end, .depth = window->depth + 1});
	else if (has_prev)
		/* An interrupt woke the thread, which was in the kernel. */
		r = put(walk, window, start, idle_end);
	return r < 0 ? r : put(walk, window, ORMA_MAX(start, ts), end);
}

static int walk_root(struct walk *walk, size_t row)
{
	int64_t ts = orma_row_set_int(walk->nodes, row, TS);
	int64_t idle = ORMA_MAX(orma_row_set_int(walk->nodes, row, IDLE_DUR), (int64_t)0);
	walk->root_id = orma_row_set_int(walk->nodes, row, ID);
	int r = push(walk, row, ID,
		     (struct window){.start = add(ts, -idle),
				     .end = add(ts, orma_row_set_int(walk->nodes, row, DUR))});
	while (walk->depth > 0 && r == 0) {
		struct window window = walk->stack[--walk->depth];
		r = split(walk, &window);
		if (++walk->count % WINDOWS_BETWEEN_CHECKS == 0 && walk->call->ret->interrupt &&
		    orma_sql_is_interrupted(walk->call->ret->interrupt))
			r = -ECANCELED;
	}
	return r;
}

static int run(struct orma_row_call *call)
{
	const struct orma_row_set *roots = orma_row_call_rows(call, 1);
	struct walk walk = {.call = call, .nodes = orma_row_call_rows(call, 0)};
	int r = 0;
	if (walk.nodes->column_count != NODE_COLUMNS || roots->column_count != 1)
		return 0;
	for (size_t row = 0; row < walk.nodes->row_count && r == 0; row++)
		r = orma_base_map_put(&walk.rows, (uint64_t)orma_row_set_int(walk.nodes, row, ID),
				      (void *)(uintptr_t)(row + 1));
	for (size_t i = 0; i < roots->row_count && r == 0; i++) {
		uintptr_t row = (uintptr_t)orma_base_map_get(
			&walk.rows, (uint64_t)orma_row_set_int(roots, i, 0));
		r = row ? walk_root(&walk, row - 1) : 0;
	}
	orma_base_map_done(&walk.rows);
	orma_base_free(walk.stack);
	return r;
}

const struct orma_row_operator orma_critical_path = {
	.name = "__intrinsic_critical_path",
	.columns = "root_id, depth, ts, dur, id, parent_id",
	.column_count = 6,
	.arg_count = 2,
	.rows = 100000,
	.run = run,
};
