/* SPDX-License-Identifier: Apache-2.0
 * slices.c - a stack of slices for each track.
 *
 * A row is written when its slice begins, so rows are in the order of their beginnings; `dur` is set when it ends. An entry of a stack
 * repeats what of its row is needed to match ends, so that the table is not read. Invariants: the entries of a stack are
 * in the order of their beginnings; an entry that has ended and lies below an open one waits there until a later event
 * closes it, as what ends in the wrong order is closed by what encloses it.
 */
#include "trace/slices.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "store/grow.h"

struct orma_open_slice {
	int64_t row;
	int64_t ts;
	int64_t dur; /* -1 = open */
	int64_t category, name;
};

void orma_slices_done(struct orma_slices *slices)
{
	for (uint32_t i = 0; i < slices->stack_count; i++)
		orma_base_free(slices->stacks[i].slices);
	orma_base_free(slices->stacks);
	*slices = (struct orma_slices){.tables = slices->tables};
}

static int find_stack(struct orma_slices *slices, uint32_t track_id, struct orma_slice_stack **ret)
{
	if (track_id >= slices->stack_count) {
		uint32_t count = slices->stack_count;
		int r = orma_store_grow(&slices->stacks, (uint64_t)track_id + 1, &count,
					sizeof(*slices->stacks));
		if (r < 0)
			return r;
		memset(slices->stacks + slices->stack_count, 0,
		       (count - slices->stack_count) * sizeof(*slices->stacks));
		slices->stack_count = count;
	}
	*ret = &slices->stacks[track_id];
	return 0;
}

static int set_dur(struct orma_slices *slices, const struct orma_open_slice *slice, int64_t dur)
{
	if (slices->on_end)
		slices->on_end(slices->on_end_ctx, slice->row, dur);
	return orma_store_column_set(
		orma_tables_column(slices->tables, ORMA_TABLE_SLICE, ORMA_SLICE_DUR),
		(uint64_t)slice->row, dur);
}

static void pop(struct orma_slice_stack *stack)
{
	stack->ended -= stack->slices[--stack->depth].dur != -1;
}

/* Cuts the open slices above `idx` to the end of that slice, and removes all of them. */
static int cut_above(struct orma_slices *slices, struct orma_slice_stack *stack, uint32_t idx)
{
	int64_t end = stack->slices[idx].ts + stack->slices[idx].dur;
	slices->counts[ORMA_SLICES_MISPLACED_ENDS]++;
	for (uint32_t i = idx + 1; i < stack->depth; i++) {
		int r = set_dur(slices, &stack->slices[i], end - stack->slices[i].ts);
		if (r < 0)
			return r;
	}
	while (stack->depth > idx)
		pop(stack);
	return 0;
}

/*
 * Removes what has ended before an event at `ts`; `dur` is that of a new slice, or -1. 1, 0 (the new slice begins in one
 * and ends behind it; *ret_other is its row), or a negative errno value.
 */
static int close_ended(struct orma_slices *slices, struct orma_slice_stack *stack, int64_t ts,
		       int64_t dur, int64_t *ret_other)
{
	bool has_open = false;
	/* As long as slices are nested well, all are open. */
	for (uint32_t i = stack->ended > 0 ? stack->depth : 0; i-- > 0;) {
		const struct orma_open_slice *slice = &stack->slices[i];
		int64_t end = slice->ts + slice->dur;
		if (slice->dur == -1) {
			has_open = true;
		} else if (has_open) {
			if (ts <= end)
				continue;
			int r = cut_above(slices, stack, i);
			if (r < 0)
				return r;
			has_open = false;
		} else if (end < ts || (end == ts && !(slice->dur == 0 && dur == 0))) {
			/* Instants of one time lie upon each other; else an interval does not contain its end. */
			pop(stack);
		} else if (dur != -1 && ts < end && dur > end - ts) {
			*ret_other = slice->row;
			return 0;
		}
	}
	return 1;
}

/* Decides as close_ended() does, and closes nothing. */
int64_t orma_slices_find_overlap(const struct orma_slices *slices, uint32_t track_id, int64_t ts,
				 int64_t dur)
{
	const struct orma_slice_stack *stack =
		track_id < slices->stack_count ? &slices->stacks[track_id] : NULL;
	bool has_open = false;
	for (uint32_t i = stack ? stack->depth : 0; i-- > 0;) {
		const struct orma_open_slice *slice = &stack->slices[i];
		int64_t end = slice->ts + slice->dur;
		if (slice->dur == -1)
			has_open = true;
		else if (has_open)
			has_open = ts <= end;
		else if (ts < end && dur > end - ts)
			return slice->row;
	}
	return ORMA_NO_SLICE;
}

/* Adds a row whose sparse cells are all NULL, as those of most slices are, without a look at each. */
static int add_plain_row(struct orma_slices *slices, const struct orma_slice_begin *begin,
			 uint32_t depth, int64_t parent)
{
	struct orma_column *columns = slices->tables->all[ORMA_TABLE_SLICE].columns;
	int r = orma_store_column_append(&columns[ORMA_SLICE_TS], begin->ts);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SLICE_DUR], begin->dur);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SLICE_TRACK_ID], begin->track_id);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SLICE_CATEGORY], begin->category);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SLICE_NAME], begin->name);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SLICE_DEPTH], depth);
	if (r == 0)
		r = orma_store_column_append(&columns[ORMA_SLICE_PARENT_ID], parent);
	return r;
}

/* True when the table's sparse columns are not yet sealed, and get NULLs only. */
static bool is_plain(const struct orma_table *table, const struct orma_slice_begin *begin)
{
	const uint64_t sparse =
		(UINT64_C(1) << ORMA_SLICE_COLUMNS) - (UINT64_C(1) << ORMA_SLICE_ARG_SET_ID);
	uint64_t differences = (uint64_t)(begin->arg_set_id ^ ORMA_CELL_NULL) |
			       (uint64_t)(begin->thread_ts ^ ORMA_CELL_NULL) |
			       (uint64_t)(begin->thread_dur ^ ORMA_CELL_NULL) |
			       (uint64_t)(begin->thread_instruction_count ^ ORMA_CELL_NULL) |
			       (uint64_t)(begin->thread_instruction_delta ^ ORMA_CELL_NULL) |
			       (uint64_t)(begin->begin_packet ^ ORMA_CELL_NULL) |
			       (uint64_t)(begin->passed_utid ^ ORMA_CELL_NULL);
	return differences == 0 && table->sparse == sparse;
}

static int add_row(struct orma_slices *slices, const struct orma_slice_begin *begin,
		   const struct orma_slice_stack *stack)
{
	struct orma_table *table = &slices->tables->all[ORMA_TABLE_SLICE];
	int64_t parent = stack->depth > 0 ? stack->slices[stack->depth - 1].row : ORMA_CELL_NULL;
	if (is_plain(table, begin))
		return add_plain_row(slices, begin, stack->depth, parent);
	int64_t cells[] = {
		[ORMA_SLICE_TS] = begin->ts,
		[ORMA_SLICE_DUR] = begin->dur,
		[ORMA_SLICE_TRACK_ID] = begin->track_id,
		[ORMA_SLICE_CATEGORY] = begin->category,
		[ORMA_SLICE_NAME] = begin->name,
		[ORMA_SLICE_DEPTH] = stack->depth,
		[ORMA_SLICE_PARENT_ID] = parent,
		[ORMA_SLICE_ARG_SET_ID] = begin->arg_set_id,
		[ORMA_SLICE_THREAD_TS] = begin->thread_ts,
		[ORMA_SLICE_THREAD_DUR] = begin->thread_dur,
		[ORMA_SLICE_THREAD_INSTRUCTION_COUNT] = begin->thread_instruction_count,
		[ORMA_SLICE_THREAD_INSTRUCTION_DELTA] = begin->thread_instruction_delta,
		[ORMA_SLICE_BEGIN_PACKET] = begin->begin_packet,
		[ORMA_SLICE_END_PACKET] = ORMA_CELL_NULL,
		[ORMA_SLICE_PASSED_UTID] = begin->passed_utid,
		/* kept_args.c adds them. */
		[ORMA_SLICE_ARG_SHAPE] = ORMA_CELL_NULL,
		[ORMA_SLICE_ARG_VALUE] = ORMA_CELL_NULL,
		[ORMA_SLICE_ARG_VALUE + 1] = ORMA_CELL_NULL,
		[ORMA_SLICE_ARG_VALUE + 2] = ORMA_CELL_NULL,
		[ORMA_SLICE_ARG_VALUES_END] = ORMA_CELL_NULL,
	};
	_Static_assert(sizeof(cells) / sizeof(*cells) == ORMA_SLICE_COLUMNS,
		       "each column has a cell");
	return orma_store_table_append(table, cells);
}

static int refuse(struct orma_slices *slices, enum orma_slice_count why,
		  const struct orma_slice_begin *begin, int64_t other)
{
	slices->counts[why]++;
	return slices->on_refusal ? slices->on_refusal(slices->on_refusal_ctx, why, begin, other)
				  : 0;
}

/* Makes room for another slice. There may be a million tracks, and most have one slice at a time. 0 or a negative errno value. */
static int make_room(struct orma_slice_stack *stack)
{
	if (stack->depth < stack->capacity)
		return 0;
	if (stack->capacity > 0)
		return orma_store_grow(&stack->slices, (uint64_t)stack->depth + 1, &stack->capacity,
				       sizeof(*stack->slices));
	stack->slices = orma_base_alloc_array(1, sizeof(*stack->slices));
	stack->capacity = stack->slices != NULL;
	return stack->slices ? 0 : -ENOMEM;
}

int orma_slices_begin(struct orma_slices *slices, const struct orma_slice_begin *begin,
		      int64_t *ret_id)
{
	struct orma_slice_stack *stack;
	int64_t other = ORMA_NO_SLICE;
	*ret_id = ORMA_NO_SLICE;
	int r = find_stack(slices, begin->track_id, &stack);
	if (r < 0)
		return r;
	r = close_ended(slices, stack, begin->ts, begin->dur, &other);
	if (r <= 0)
		return r < 0 ? r : refuse(slices, ORMA_SLICES_OVERLAPPING, begin, other);
	if (stack->depth == ORMA_SLICE_DEPTH_MAX)
		return refuse(slices, ORMA_SLICES_TOO_DEEP, begin,
			      stack->slices[stack->depth - 1].row);
	r = make_room(stack);
	int64_t row = (int64_t)orma_store_table_rows(&slices->tables->all[ORMA_TABLE_SLICE]);
	if (r == 0)
		r = add_row(slices, begin, stack);
	if (r < 0)
		return r;
	stack->slices[stack->depth++] =
		(struct orma_open_slice){row, begin->ts, begin->dur, begin->category, begin->name};
	stack->ended += begin->dur != -1;
	*ret_id = row;
	return 1;
}

/* Returns the index + 1 of the innermost open slice that fits, or 0. */
static uint32_t find_open(const struct orma_slice_stack *stack, int64_t category, int64_t name)
{
	for (uint32_t i = stack->depth; i > 0; i--) {
		const struct orma_open_slice *slice = &stack->slices[i - 1];
		bool is_category = category == ORMA_CELL_NULL || category == slice->category;
		bool is_name = name == ORMA_CELL_NULL || slice->name == ORMA_CELL_NULL ||
			       name == slice->name;
		if (slice->dur == -1 && is_category && is_name)
			return i;
	}
	return 0;
}

int orma_slices_end(struct orma_slices *slices, int64_t ts, uint32_t track_id, int64_t category,
		    int64_t name, int64_t *ret_id)
{
	*ret_id = ORMA_NO_SLICE;
	if (track_id >= slices->stack_count)
		return 0;
	struct orma_slice_stack *stack = &slices->stacks[track_id];
	int64_t other;
	int r = close_ended(slices, stack, ts, -1, &other);
	if (r <= 0)
		return r;
	uint32_t found = find_open(stack, category, name);
	if (found == 0)
		return 0;
	struct orma_open_slice *slice = &stack->slices[found - 1];
	slice->dur = ts - slice->ts;
	*ret_id = slice->row;
	r = set_dur(slices, slice, slice->dur);
	stack->ended += slice->dur != -1;
	if (found == stack->depth)
		pop(stack);
	return r;
}

int64_t orma_slices_top(const struct orma_slices *slices, uint32_t track_id)
{
	if (track_id >= slices->stack_count || slices->stacks[track_id].depth == 0)
		return ORMA_NO_SLICE;
	return slices->stacks[track_id].slices[slices->stacks[track_id].depth - 1].row;
}

int64_t orma_slices_find(const struct orma_slices *slices, uint32_t track_id, int64_t category,
			 int64_t name)
{
	uint32_t found = track_id < slices->stack_count
				 ? find_open(&slices->stacks[track_id], category, name)
				 : 0;
	return found > 0 ? slices->stacks[track_id].slices[found - 1].row : ORMA_NO_SLICE;
}
