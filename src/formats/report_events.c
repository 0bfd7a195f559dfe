/* SPDX-License-Identifier: Apache-2.0
 * report_events.c - goes through all lines of a report at once, in the order of time, and writes slices and counters.
 *
 * A heap has the next moment of each line: a box begins or ends there. At one time what ends comes before what begins, the deepest box
 * first; and of what begins, the shallowest comes first. So slices nest again as they did.
 *
 * Boxes that stand for several events may reach beyond the box that holds them. A slice that ends closes those below it, and their
 * own ends are left out then.
 */
#include "formats/report_events.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "formats/event_output.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"

enum { ARGS_DEPTH_MAX = 16 };

/* --- slices ---------------------------------------------------------------------------------- */

static struct orma_str name_of(const struct orma_report_file *file,
			       const struct orma_report_line *line, uint32_t box,
			       enum orma_report_column_id column)
{
	return orma_report_file_text(file, &file->names, line->table, column, box);
}

static struct orma_proto_writer *begin_event(struct orma_report_events *events,
					     const struct orma_report_line *line, uint64_t time,
					     unsigned type)
{
	struct orma_packet_output *output = events->output;
	const struct orma_report_track *track = orma_report_tree_track(events->tree, line->lane);
	struct orma_proto_writer *writer = orma_packet_output_begin(
		output, ORMA_REPORT_SEQUENCE, events->start_ns + (int64_t)time);
	orma_proto_nested_begin(writer, &output->event, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_TYPE, type);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_TRACK_UUID, track->uuid);
	return writer;
}

/* An argument on its way into the annotations of an event. */
struct arg {
	struct orma_report_events *events;
	struct orma_str key;
	struct orma_json_value value, children;
	bool has_value, has_children, is_below_debug;
	unsigned depth;
};

static int take_arg(void *ctx, const struct orma_json_value *key,
		    const struct orma_json_value *value);

static int take_arg_field(void *ctx, const struct orma_json_value *key,
			  const struct orma_json_value *value)
{
	struct arg *arg = ctx;
	if (orma_base_str_is(key->text, "key")) {
		arg->key = orma_json_unescape(value, &arg->events->arena);
		return arg->key.data ? 0 : -ENOMEM;
	}
	if (orma_base_str_is(key->text, "value")) {
		arg->value = *value;
		arg->has_value = true;
	} else if (orma_base_str_is(key->text, "children") && value->kind == ORMA_JSON_ARRAY) {
		arg->children = *value;
		arg->has_children = true;
	}
	return 0;
}

static int write_arg_value(struct orma_report_events *events, const struct orma_json_value *value)
{
	struct orma_proto_writer *writer = &events->output->heap.writer;
	struct orma_str text;
	int64_t integer;
	double real;
	switch (value->kind) {
	case ORMA_JSON_TRUE:
	case ORMA_JSON_FALSE:
		orma_proto_write_bool(writer, ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE,
				      value->kind == ORMA_JSON_TRUE);
		return 0;
	case ORMA_JSON_INTEGER:
	case ORMA_JSON_REAL:
		if (value->kind == ORMA_JSON_INTEGER && orma_json_value_i64(value, &integer))
			orma_proto_write_int(writer, ORMA_PB_DEBUG_ANNOTATION_INT_VALUE, integer);
		else if (orma_json_value_double(value, &real))
			orma_proto_write_double(writer, ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE,
						real);
		return 0;
	case ORMA_JSON_STRING:
		text = orma_json_unescape(value, &events->arena);
		if (!text.data)
			return -ENOMEM;
		orma_proto_write_str(writer, ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, text);
		return 0;
	default:
		return 0;
	}
}

/* Writes an argument that has children as a dictionary. The recursion is as deep as ARGS_DEPTH_MAX. */
static int write_arg(struct arg *arg) /* NOLINT(misc-no-recursion) */
{
	struct orma_packet_output *output = arg->events->output;
	struct orma_proto_nested nested;
	int r = 0;
	/* The importer puts this key above all annotations. */
	if (arg->depth == 0 && orma_base_str_is(arg->key, "debug") && arg->has_children)
		return orma_report_json_items(arg->children.text, take_arg, arg);
	bool is_top = arg->depth == 0 || (arg->depth == 1 && arg->is_below_debug);
	orma_proto_nested_begin(&output->heap.writer, &nested,
				is_top ? (uint32_t)ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS
				       : (uint32_t)ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES);
	orma_proto_write_str(&output->heap.writer, ORMA_PB_DEBUG_ANNOTATION_NAME, arg->key);
	if (arg->has_children && arg->depth < ARGS_DEPTH_MAX)
		r = orma_report_json_items(arg->children.text, take_arg, arg);
	else if (arg->has_value)
		r = write_arg_value(arg->events, &arg->value);
	orma_packet_output_nested_end(output, &nested);
	return r;
}

static int take_arg(void *ctx, const struct orma_json_value *key, /* NOLINT(misc-no-recursion) */
		    const struct orma_json_value *value)
{
	const struct arg *above = ctx;
	bool is_below_debug = above->key.data && above->depth == 0;
	struct arg arg = {.events = above->events,
			  .depth = above->key.data ? above->depth + 1 : 0,
			  .is_below_debug =
				  is_below_debug && orma_base_str_is(above->key, "debug")};
	(void)key;
	int r = value->kind == ORMA_JSON_OBJECT
			? orma_report_json_fields(value->text, take_arg_field, &arg)
			: -EBADMSG;
	return r == 0 && arg.key.size > 0 ? write_arg(&arg) : r;
}

static int write_args(struct orma_report_events *events, const struct orma_report_line *line,
		      uint32_t box)
{
	const struct orma_report_file *file = events->file;
	struct arg root = {.events = events};
	struct orma_str args =
		orma_report_file_text(file, &file->args, line->table, ORMA_REPORT_ARGS, box);
	uint64_t more = orma_report_file_get(file, line->table, ORMA_REPORT_MORE, box);
	int r = 0;
	if (args.data)
		r = orma_report_json_items(args, take_arg, &root);
	orma_base_arena_clear(&events->arena);
	if (more > 0) {
		struct orma_proto_nested count;
		struct orma_proto_writer *writer = &events->output->heap.writer;
		orma_proto_nested_begin(writer, &count, ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
		orma_proto_write_string(writer, ORMA_PB_DEBUG_ANNOTATION_NAME, "joined");
		orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE, more + 1);
		orma_packet_output_nested_end(events->output, &count);
	}
	return r;
}

/* The value of a track with one value at a time. It ends without a name, unless the next value follows at once. */
static int write_state(struct orma_report_events *events, const struct orma_report_line *line,
		       uint32_t box, bool is_end)
{
	const struct orma_report_file *file = events->file;
	const uint64_t *starts = file->starts[line->table];
	uint64_t end = orma_report_end_of(file, line->table, box);
	struct orma_str name = name_of(file, line, box, ORMA_REPORT_NAME);
	if (is_end && box + 1 < line->end && starts[box + 1] == end)
		return 0;
	begin_event(events, line, is_end ? end : starts[box], ORMA_PB_TRACK_EVENT_TYPE_TYPE_STATE);
	if (!is_end && name.size > 0)
		orma_output_text(events->output, ORMA_OUTPUT_NAME, name);
	return orma_packet_output_end(events->output);
}

static int write_slice(struct orma_report_events *events, const struct orma_report_line *line,
		       uint32_t box, enum orma_report_moment moment)
{
	const struct orma_report_file *file = events->file;
	uint64_t start = file->starts[line->table][box];
	if (line->table == ORMA_REPORT_STATE)
		return write_state(events, line, box, moment == ORMA_REPORT_END);
	if (moment == ORMA_REPORT_END) {
		begin_event(events, line, orma_report_end_of(file, line->table, box),
			    ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END);
		orma_report_write_flows(events, box, ORMA_REPORT_END);
		return orma_packet_output_end(events->output);
	}
	uint64_t flags = orma_report_file_get(file, line->table, ORMA_REPORT_FLAGS, box);
	bool is_instant = !(flags & ORMA_REPORT_IS_UNFINISHED) &&
			  orma_report_file_get(file, line->table, ORMA_REPORT_LENGTH, box) == 0;
	begin_event(events, line, start,
		    is_instant ? ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT
			       : ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN);
	struct orma_str name = name_of(file, line, box, ORMA_REPORT_NAME);
	struct orma_str category = name_of(file, line, box, ORMA_REPORT_CATEGORY);
	if (category.size > 0)
		orma_output_text(events->output, ORMA_OUTPUT_CATEGORY, category);
	if (name.size > 0)
		orma_output_text(events->output, ORMA_OUTPUT_NAME, name);
	orma_report_write_flows(events, box, ORMA_REPORT_BEGIN);
	int r = write_args(events, line, box);
	if (r == 0)
		r = orma_report_write_stack(events, box);
	int end = orma_packet_output_end(events->output);
	return r < 0 ? r : end;
}

/* --- counters -------------------------------------------------------------------------------- */

static double double_of(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* A point that stands for several values has their extremes first. */
static int write_value(struct orma_report_events *events, const struct orma_report_line *line,
		       uint32_t box)
{
	static const enum orma_report_column_id columns[] = {ORMA_REPORT_MIN, ORMA_REPORT_MAX};
	const struct orma_report_file *file = events->file;
	uint64_t last = orma_report_file_get(file, line->table, ORMA_REPORT_LAST, box);
	uint64_t values[3] = {0};
	size_t count = 0;
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(columns); i++) {
		uint64_t bits = orma_report_file_get(file, line->table, columns[i], box);
		if (bits != 0)
			values[count++] = bits ^ last;
	}
	values[count++] = last;
	for (size_t i = 0; i < count && r == 0; i++) {
		struct orma_proto_writer *writer =
			begin_event(events, line, file->starts[line->table][box],
				    ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER);
		orma_proto_write_double(writer, ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
					double_of(values[i]));
		r = orma_packet_output_end(events->output);
	}
	return r;
}

/* --- the order of time ----------------------------------------------------------------------- */

struct moment {
	uint64_t time;
	uint32_t line, rank;
};

struct merge {
	struct orma_report_events *events;
	struct moment *heap;
	uint32_t count;
	uint32_t *boxes;     /* by line: the box that begins next, or that is open */
	uint8_t *is_open;    /* by line */
	uint8_t *ends_early; /* by line: the box was closed by one above */
};

static bool is_before(const struct moment *a, const struct moment *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->rank != b->rank ? a->rank < b->rank : a->line < b->line;
}

static void sink(struct merge *merge, uint32_t at)
{
	struct moment moment = merge->heap[at];
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= merge->count)
			break;
		if (child + 1 < merge->count &&
		    is_before(&merge->heap[child + 1], &merge->heap[child]))
			child++;
		if (!is_before(&merge->heap[child], &moment))
			break;
		merge->heap[at] = merge->heap[child];
		at = child;
	}
	merge->heap[at] = moment;
}

/* A rank is a moment, and within it the depth. */
static uint32_t rank_of(enum orma_report_moment moment, uint32_t depth)
{
	enum { DEPTHS = 1 << 28 };
	uint32_t within = ORMA_MIN(depth, (uint32_t)DEPTHS - 1);
	if (moment == ORMA_REPORT_END)
		within = DEPTHS - 1 - within;
	return (uint32_t)moment * DEPTHS + within;
}

/* Finds the next moment of a line. False when it has none. */
static bool find_next(const struct merge *merge, uint32_t number, struct moment *ret)
{
	const struct orma_report_file *file = merge->events->file;
	const struct orma_report_line *line = &file->lines[number];
	uint32_t box = merge->boxes[number];
	enum orma_report_moment moment = ORMA_REPORT_BEGIN;
	if (box >= line->end)
		return false;
	*ret = (struct moment){.line = number, .time = file->starts[line->table][box]};
	if (merge->is_open[number]) {
		moment = ORMA_REPORT_END;
		ret->time = orma_report_end_of(file, line->table, box);
	} else if (line->table == ORMA_REPORT_THREAD_STATE) {
		moment = ORMA_REPORT_WAKE;
	}
	ret->rank = rank_of(moment, line->depth);
	return true;
}

static bool has_end(const struct orma_report_file *file, const struct orma_report_line *line,
		    uint32_t box)
{
	uint64_t flags = orma_report_file_get(file, line->table, ORMA_REPORT_FLAGS, box);
	uint64_t length = orma_report_file_get(file, line->table, ORMA_REPORT_LENGTH, box);
	bool has_boxes =
		line->table != ORMA_REPORT_COUNTER && line->table != ORMA_REPORT_THREAD_STATE;
	return has_boxes && !(flags & ORMA_REPORT_IS_UNFINISHED) && length > 0;
}

/* Ends the boxes below that are still open, the deepest first. */
static int close_below(struct merge *merge, uint32_t number, uint64_t time)
{
	const struct orma_report_file *file = merge->events->file;
	const struct orma_report_line *line = &file->lines[number];
	uint32_t below = number + 1;
	int r = 0;
	while (below < file->line_count && file->lines[below].table == line->table &&
	       file->lines[below].lane == line->lane && merge->is_open[below] &&
	       !merge->ends_early[below])
		below++;
	while (below-- > number + 1 && r == 0) {
		merge->ends_early[below] = true;
		begin_event(merge->events, line, time, ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END);
		r = orma_packet_output_end(merge->events->output);
	}
	return r;
}

static int write_moment(struct merge *merge, const struct moment *moment)
{
	struct orma_report_events *events = merge->events;
	const struct orma_report_line *line = &events->file->lines[moment->line];
	uint32_t box = merge->boxes[moment->line];
	bool is_end = merge->is_open[moment->line];
	int r = 0;
	switch (line->table) {
	case ORMA_REPORT_COUNTER:
		return write_value(events, line, box);
	case ORMA_REPORT_THREAD_STATE:
		return orma_report_write_waking(events, line, box);
	case ORMA_REPORT_SCHED:
		return orma_report_write_switch(events, line, box,
						is_end ? ORMA_REPORT_END : ORMA_REPORT_BEGIN);
	default:
		if (is_end && merge->ends_early[moment->line])
			return 0;
		if (is_end)
			r = close_below(merge, moment->line, moment->time);
		return r ? r
			 : write_slice(events, line, box,
				       is_end ? ORMA_REPORT_END : ORMA_REPORT_BEGIN);
	}
}

/* Goes on from a moment that was written. */
static void step(struct merge *merge, uint32_t number)
{
	const struct orma_report_file *file = merge->events->file;
	const struct orma_report_line *line = &file->lines[number];
	bool was_open = merge->is_open[number];
	merge->ends_early[number] = false;
	merge->is_open[number] = !was_open && has_end(file, line, merge->boxes[number]);
	if (!merge->is_open[number])
		merge->boxes[number]++;
	if (!find_next(merge, number, &merge->heap[0]))
		merge->heap[0] = merge->heap[--merge->count];
	sink(merge, 0);
}

/* Only lines whose lane has a track take part. */
static void begin_lines(struct merge *merge)
{
	const struct orma_report_file *file = merge->events->file;
	for (uint32_t i = 0; i < file->line_count; i++) {
		merge->boxes[i] = file->lines[i].first;
		if (orma_report_tree_track(merge->events->tree, file->lines[i].lane) &&
		    find_next(merge, i, &merge->heap[merge->count]))
			merge->count++;
	}
	for (uint32_t i = merge->count / 2; i-- > 0;)
		sink(merge, i);
}

int orma_report_events_write(struct orma_report_events *events)
{
	size_t lines = (size_t)events->file->line_count + 1;
	struct merge merge = {.events = events,
			      .heap = orma_base_alloc_array(lines, sizeof(*merge.heap)),
			      .boxes = orma_base_alloc_array(lines, sizeof(*merge.boxes)),
			      .is_open = orma_base_alloc_array(lines, sizeof(*merge.is_open)),
			      .ends_early =
				      orma_base_alloc_array(lines, sizeof(*merge.ends_early))};
	int r = merge.heap && merge.boxes && merge.is_open && merge.ends_early ? 0 : -ENOMEM;
	if (r == 0)
		begin_lines(&merge);
	while (r == 0 && merge.count > 0) {
		struct moment moment = merge.heap[0];
		r = write_moment(&merge, &moment);
		step(&merge, moment.line);
	}
	if (r == 0)
		r = orma_ftrace_output_end(&events->ftrace);
	orma_base_free(merge.heap);
	orma_base_free(merge.boxes);
	orma_base_free(merge.is_open);
	orma_base_free(merge.ends_early);
	return r;
}
