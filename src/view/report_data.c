/* SPDX-License-Identifier: Apache-2.0
 * report_data.c - takes the boxes of all lanes, in the order of lanes, depths and begins, apart into columns.
 *
 * A line is what has no two boxes at a time: the boxes of a lane at one depth, or the points of a counter. The columns of lines
 * say how many of the following boxes belong to each of them; then a box needs neither a lane nor a depth. Its begin is the gap
 * behind the box before it, which is 0 all along a strip of states, and small where boxes are dense; the gap of a line's first box
 * counts from the trace's start. Invariant: the columns of boxes of one table have the same count, which is the sum of its `line_count`.
 *
 * Names and arguments are texts, each once, in the order of first use: numbers in columns are small then, and the same trace gives
 * the same bytes. The least, the largest and the first value of a point are stored as their difference in bits to the last one, so that a point
 * that stands for one value costs no more than that value.
 *
 * Memory: a box takes 8 bytes in each of at most 10 columns while its table is written, which max_boxes bounds. Rejected: tiles of
 * several levels (twice the bytes; the page joins boxes itself), the numbers of rows (as many bytes as the begins).
 */
#include "view/report_data.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_writer.h"
#include "base/macros.h"
#include "store/string_pool.h"
#include "view/counters.h"
#include "view/report_columns.h"
#include "view/report_links.h"
#include "view/tiles.h"
#include "view/view_detail.h"
#include "view/view_json.h"
#include "view/view_tracks.h"

#define TIME_MAX 0x1p62
/* orma_view_detail_append_args() appends a member of an object. */
#define ARGS_KEY ",\"args\":"

enum column {
	LINE_LANE,
	LINE_DEPTH,
	LINE_COUNT,
	GAP,
	LENGTH,
	NAME,
	FLAGS,
	MORE, /* how many rows a box stands for besides one */
	CATEGORY,
	ARGS,
	STACK,
	WAKER,
	BLOCKED,
	VALUE_MIN,
	VALUE_MAX,
	VALUE_FIRST,
	VALUE_LAST,
	COLUMNS,
};

struct writer {
	struct orma_view *view;
	enum orma_view_table table;
	unsigned level;
	uint64_t max_boxes;
	uint32_t lane, depth; /* where the last box is */
	bool is_in_line;      /* there is one in this lane */
	uint64_t last_end;
	struct orma_report_column columns[COLUMNS];
	uint32_t *names; /* by string: its place in the list + 1, or 0 */
	uint32_t name_count;
	struct orma_buf name_list; /* a JSON array without its end */
	struct orma_string_pool args;
	struct orma_buf args_list, text;
	struct orma_report_links links; /* flows and stacks */
	struct orma_report_data *ret;
};

static int add(struct writer *writer, enum column column, uint64_t value)
{
	return orma_report_column_add(&writer->columns[column], value);
}

/* Begins a line unless the box belongs to the one before, and counts it. */
static int add_to_line(struct writer *writer, uint32_t depth, uint64_t rows)
{
	struct orma_report_column *counts = &writer->columns[LINE_COUNT];
	if (++writer->ret->boxes > writer->max_boxes)
		return -EFBIG;
	writer->ret->rows += rows;
	if (writer->is_in_line && writer->depth == depth) {
		uint64_t count = ++counts->values[counts->count - 1];
		counts->bits |= count;
		return 0;
	}
	writer->is_in_line = true;
	writer->depth = depth;
	writer->last_end = 0;
	int r = add(writer, LINE_LANE,
		    orma_view_lane_of(writer->view, writer->table, writer->lane));
	if (r == 0)
		r = add(writer, LINE_DEPTH, depth);
	return r ? r : add(writer, LINE_COUNT, 1);
}

/* Adds times that are in the order of the line. */
static int add_times(struct writer *writer, double start, double end)
{
	/* Doubles beyond 2^53 are rounded, but stay in their order. */
	uint64_t from = (uint64_t)ORMA_MIN(start, TIME_MAX);
	uint64_t to = (uint64_t)ORMA_MIN(end, TIME_MAX);
	int r = add(writer, GAP, from - ORMA_MIN(writer->last_end, from));
	writer->last_end = ORMA_MAX(from, to);
	return r ? r : add(writer, LENGTH, writer->last_end - from);
}

/* Finds the number of a string in the list of names; 0 = none. */
static int find_name(struct writer *writer, int64_t cell, uint64_t *ret)
{
	*ret = 0;
	if (cell <= 0 || cell > writer->view->strings.count)
		return 0;
	uint32_t *number = &writer->names[cell];
	if (*number == 0) {
		int r = orma_view_json_comma(&writer->name_list);
		if (r == 0)
			r = orma_json_append_string(&writer->name_list,
						    orma_view_text(writer->view, cell));
		if (r < 0)
			return r;
		*number = ++writer->name_count;
	}
	*ret = *number;
	return 0;
}

/* Finds the number of a slice's arguments in the list; 0 = none. */
static int find_args(struct writer *writer, uint32_t row, uint64_t *ret)
{
	const struct orma_view_row slice = {.table = ORMA_VIEW_SLICES, .row = row};
	uint32_t number, count = writer->args.count;
	*ret = 0;
	writer->text.size = 0;
	int r = orma_view_detail_append_args(writer->view, &slice, &writer->text);
	struct orma_str text = orma_base_buf_str(&writer->text);
	if (r < 0 || text.size <= strlen(ARGS_KEY "[]"))
		return r;
	text = (struct orma_str){text.data + strlen(ARGS_KEY), text.size - strlen(ARGS_KEY)};
	r = orma_store_pool_add(&writer->args, text, &number);
	if (r == 0 && writer->args.count > count) {
		r = orma_view_json_comma(&writer->args_list);
		if (r == 0)
			r = orma_base_buf_append(&writer->args_list, text.data, text.size);
	}
	if (r == 0)
		*ret = number;
	return r;
}

static int add_slice(struct writer *writer, const struct orma_box *box)
{
	const struct orma_column *columns = writer->view->lanes[ORMA_VIEW_SLICES].table->columns;
	uint64_t category, args = 0, stack = 0;
	int r = find_name(writer, orma_store_column_get(&columns[ORMA_SLICE_CATEGORY], box->row),
			  &category);
	/* The arguments of one among several slices would say nothing. */
	if (r == 0 && box->count == 1)
		r = find_args(writer, box->row, &args);
	if (r == 0)
		r = add(writer, CATEGORY, category);
	if (r == 0)
		r = add(writer, ARGS, args);
	if (r == 0 && box->count == 1)
		r = orma_report_links_add_slice(&writer->links, box->row,
						(uint32_t)writer->columns[GAP].count - 1, &stack);
	return r ? r : add(writer, STACK, stack);
}

static int add_thread_state(struct writer *writer, const struct orma_box *box)
{
	const struct orma_column *columns =
		writer->view->lanes[ORMA_VIEW_THREAD_STATES].table->columns;
	int64_t waker = -1;
	uint64_t blocked = 0;
	int r = 0;
	/* The waker of one among several states would say nothing. */
	if (box->count == 1) {
		waker = orma_store_column_get(&columns[ORMA_THREAD_STATE_WAKER_UTID], box->row);
		r = find_name(writer,
			      orma_store_column_get(&columns[ORMA_THREAD_STATE_BLOCKED_FUNCTION],
						    box->row),
			      &blocked);
	}
	if (r == 0)
		r = add(writer, WAKER, waker >= 0 ? (uint64_t)waker + 1 : 0);
	return r ? r : add(writer, BLOCKED, blocked);
}

static int add_box(void *ctx, const struct orma_box *box)
{
	struct writer *writer = ctx;
	uint64_t name = box->name;
	int r = add_to_line(writer, box->depth, box->count);
	if (r == 0)
		r = add_times(writer, box->start, box->end);
	if (r == 0 && (writer->table == ORMA_VIEW_SLICES || writer->table == ORMA_VIEW_STATES))
		r = find_name(writer, box->name, &name);
	if (r == 0)
		r = add(writer, NAME, name);
	if (r == 0)
		r = add(writer, FLAGS, box->flags);
	if (r == 0)
		r = add(writer, MORE, box->count - 1);
	if (r == 0 && writer->table == ORMA_VIEW_SLICES)
		return add_slice(writer, box);
	return r == 0 && writer->table == ORMA_VIEW_THREAD_STATES ? add_thread_state(writer, box)
								  : r;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int add_point(void *ctx, const struct orma_point *point, uint32_t count)
{
	struct writer *writer = ctx;
	uint64_t last = bits_of(point->last);
	int r = add_to_line(writer, 0, count);
	if (r == 0)
		r = add_times(writer, point->time, point->time);
	if (r == 0)
		r = add(writer, MORE, count - 1);
	if (r == 0)
		r = add(writer, VALUE_MIN, bits_of(point->min) ^ last);
	if (r == 0)
		r = add(writer, VALUE_MAX, bits_of(point->max) ^ last);
	if (r == 0)
		r = add(writer, VALUE_FIRST, bits_of(point->first) ^ last);
	return r ? r : add(writer, VALUE_LAST, last);
}

/* Writes the columns that the table has. */
static int write_columns(struct writer *writer)
{
	int r = 0;
	for (size_t i = 0; i < COLUMNS && r == 0; i++)
		if (writer->columns[i].name)
			r = orma_report_column_write(&writer->columns[i], &writer->ret->bytes,
						     &writer->ret->layout);
	return r;
}

static void empty_columns(struct writer *writer)
{
	for (size_t i = 0; i < COLUMNS; i++)
		orma_report_column_done(&writer->columns[i]);
}

static int add_table(struct writer *writer, enum orma_view_table table)
{
	static const char *const names[ORMA_VIEW_TABLES][COLUMNS] = {
#define LINES(table)                                                                               \
	[LINE_LANE] = (table ".line_lane"), [LINE_DEPTH] = (table ".line_depth"),                  \
	[LINE_COUNT] = (table ".line_count"), [GAP] = (table ".gap"), [MORE] = (table ".more")
#define BOXES(table)                                                                               \
	LINES(table), [LENGTH] = (table ".length"), [NAME] = (table ".name"),                      \
		      [FLAGS] = (table ".flags")
		[ORMA_VIEW_SLICES] = {BOXES("slice"), [CATEGORY] = "slice.category",
				      [ARGS] = "slice.args", [STACK] = "slice.stack"},
		[ORMA_VIEW_STATES] = {BOXES("state")},
		[ORMA_VIEW_SCHED] = {BOXES("sched")},
		[ORMA_VIEW_THREAD_STATES] = {BOXES("thread_state"), [WAKER] = "thread_state.waker",
					     [BLOCKED] = "thread_state.blocked"},
		[ORMA_VIEW_COUNTERS] =
			{LINES("counter"), [VALUE_MIN] = "counter.min", [VALUE_MAX] = "counter.max",
			 [VALUE_FIRST] = "counter.first", [VALUE_LAST] = "counter.last"},
#undef BOXES
#undef LINES
	};
	const struct orma_lanes *lanes = &writer->view->lanes[table];
	bool is_counter = table == ORMA_VIEW_COUNTERS;
	int r = 0;
	writer->table = table;
	for (size_t i = 0; i < COLUMNS; i++)
		writer->columns[i].name = names[table][i];
	for (writer->lane = 0; writer->lane < lanes->lane_count && r == 0; writer->lane++) {
		writer->is_in_line = false;
		r = is_counter ? orma_view_lane_points(writer->view, writer->lane, writer->level,
						       add_point, writer)
			       : orma_view_lane_boxes(writer->view, table, writer->lane,
						      writer->level, add_box, writer);
	}
	if (r == 0)
		r = write_columns(writer);
	empty_columns(writer);
	return r;
}

static int write_list(struct writer *writer, const char *name, struct orma_buf *list)
{
	int r = orma_view_json_raw(list, "]");
	return r ? r
		 : orma_report_text_write(name, orma_base_buf_str(list), &writer->ret->bytes,
					  &writer->ret->layout);
}

/* The tree of a machine with hundreds of processes is longer than many traces, but most of it is the same words. */
static int write_tracks(struct writer *writer)
{
	writer->text.size = 0;
	int r = orma_view_tracks_append(writer->view, UINT32_MAX, &writer->text);
	return r ? r
		 : orma_report_text_write("tracks", orma_base_buf_str(&writer->text),
					  &writer->ret->bytes, &writer->ret->layout);
}

static int write_all(struct writer *writer)
{
	writer->names = orma_base_alloc_array((size_t)writer->view->strings.count + 1,
					      sizeof(*writer->names));
	int r = writer->names ? orma_view_json_raw(&writer->ret->layout, "[") : -ENOMEM;
	if (r == 0)
		r = orma_view_json_raw(&writer->name_list, "[");
	if (r == 0)
		r = orma_view_json_raw(&writer->args_list, "[");
	if (r == 0)
		r = orma_report_links_begin(&writer->links, writer->view);
	for (unsigned table = 0; table < ORMA_VIEW_TABLES && r == 0; table++)
		r = add_table(writer, (enum orma_view_table)table);
	if (r == 0)
		r = write_list(writer, "names", &writer->name_list);
	if (r == 0)
		r = write_list(writer, "args", &writer->args_list);
	if (r == 0)
		r = write_list(writer, "stacks", &writer->links.stacks);
	if (r == 0)
		r = orma_report_links_write_flows(&writer->links, writer->max_boxes,
						  &writer->ret->bytes, &writer->ret->layout);
	if (r == 0)
		r = write_tracks(writer);
	return r ? r : orma_view_json_raw(&writer->ret->layout, "]");
}

int orma_report_data_make(struct orma_view *view, unsigned level, uint64_t max_boxes,
			  struct orma_report_data *ret)
{
	struct writer writer = {.view = view,
				.level = level,
				.max_boxes = max_boxes,
				.args = {.text = {.fd = -1}, .seed = view->strings.seed},
				.ret = ret};
	*ret = (struct orma_report_data){0};
	int r = write_all(&writer);
	empty_columns(&writer);
	orma_base_free(writer.names);
	orma_store_pool_done(&writer.args);
	orma_base_buf_done(&writer.name_list);
	orma_base_buf_done(&writer.args_list);
	orma_report_links_done(&writer.links);
	orma_base_buf_done(&writer.text);
	return r;
}

void orma_report_data_done(struct orma_report_data *data)
{
	orma_base_buf_done(&data->bytes);
	orma_base_buf_done(&data->layout);
}
