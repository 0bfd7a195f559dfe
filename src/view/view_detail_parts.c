/* SPDX-License-Identifier: Apache-2.0
 * view_detail_parts.c - of one slice: its arguments as a tree, its place among all of its name, and what its thread did meanwhile.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "answers/task_names.h"
#include "base/macros.h"
#include "view/view_detail.h"
#include "view/view_find.h"
#include "view/view_json.h"

enum { PARTS_MAX = 32, STATES_MAX = 16 };

/* --- arguments -------------------------------------------------------------------------------- */

/* Splits a key like `debug.list[0].x` at its dots and before its brackets. Beyond the limit, the rest is one part. */
static size_t split_key(struct orma_str key, struct orma_str *parts)
{
	size_t count = 0, begin = 0;
	for (size_t i = 1; i <= key.size; i++) {
		bool is_end = i == key.size || key.data[i] == '[' || key.data[i] == '.';
		if (!is_end || (count + 1 == PARTS_MAX && i < key.size))
			continue;
		parts[count++] = (struct orma_str){key.data + begin, i - begin};
		begin = i + (i < key.size && key.data[i] == '.');
		i = ORMA_MAX(i, begin);
	}
	return count;
}

int orma_view_append_arg_value(const struct orma_view *view, const struct orma_arg *arg,
			       size_t most, struct orma_buf *json)
{
	struct orma_str text;
	switch (arg->type) {
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		text = orma_trace_database_text(view->database, arg->value);
		text.size = ORMA_MIN(text.size, most);
		return orma_json_append_string(json, text.data ? text : ORMA_STR(""));
	case ORMA_ARG_REAL:
		return orma_view_json_double_value(json, orma_store_double_of_cell(arg->value));
	case ORMA_ARG_BOOL:
		return orma_view_json_raw(json, arg->value ? "true" : "false");
	case ORMA_ARG_POINTER:
		return orma_base_buf_printf(json, "\"0x%" PRIx64 "\"", (uint64_t)arg->value);
	case ORMA_ARG_UINT:
		if (arg->value < 0)
			return orma_base_buf_printf(json, "\"%" PRIu64 "\"", (uint64_t)arg->value);
		return orma_view_json_integer_value(json, arg->value);
	case ORMA_ARG_INT:
		return orma_view_json_integer_value(json, arg->value);
	case ORMA_ARG_NULL:
		break;
	}
	return orma_view_json_raw(json, "null");
}

int orma_view_find_args(const struct orma_view *view, uint64_t row,
			const struct orma_arg_list **ret)
{
	const struct orma_column *columns = view->lanes[ORMA_VIEW_SLICES].table->columns;
	int64_t set = orma_store_column_get(&columns[ORMA_SLICE_ARG_SET_ID], row);
	if (set == ORMA_CELL_NULL && orma_slice_has_args(columns, row))
		set = ORMA_ARG_SET_OF_SLICE | (int64_t)row;
	return orma_trace_database_args(view->database, set, ret);
}

/* Arguments with a common beginning of their keys follow each other, so a stack of open objects is enough. */
int orma_view_detail_append_args(struct orma_view *view, const struct orma_view_row *row,
				 struct orma_buf *json)
{
	const struct orma_arg_list *list;
	struct orma_str open[PARTS_MAX], parts[PARTS_MAX];
	size_t depth = 0;
	int r = orma_view_find_args(view, row->row, &list);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"args\":[");
	for (uint32_t i = 0; i < list->count && r == 0; i++) {
		size_t count = split_key(orma_arg_list_key(list, i), parts), same = 0;
		while (same < depth && same + 1 < count &&
		       orma_base_str_is_equal(open[same], parts[same]))
			same++;
		for (; depth > same && r == 0; depth--)
			r = orma_view_json_raw(json, "]}");
		for (size_t k = same; k < count && r == 0; k++) {
			r = orma_json_begin_element(json);
			if (r == 0)
				r = orma_json_append_text(json, "key", parts[k]);
			if (r == 0 && k + 1 < count) {
				open[depth++] = parts[k];
				r = orma_view_json_raw(json, ",\"children\":[");
			}
		}
		if (r == 0)
			r = orma_json_append_key(json, "value");
		if (r == 0)
			r = orma_view_append_arg_value(view, &list->args[i], SIZE_MAX, json);
		if (r == 0)
			r = orma_view_json_raw(json, "}");
	}
	for (; depth > 0 && r == 0; depth--)
		r = orma_view_json_raw(json, "]}");
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* --- rank ------------------------------------------------------------------------------------- */

int orma_view_detail_append_rank(const struct orma_view *view, const struct orma_view_row *row,
				 struct orma_buf *json)
{
	struct orma_named_slices named = {.name = row->name, .than = row->dur};
	if (row->name == ORMA_CELL_NULL || row->dur < 0)
		return orma_view_json_null(json, "rank");
	int r = orma_named_slices_find(view, &named);
	if (r == 0)
		r = orma_base_buf_printf(json,
					 ",\"rank\":{\"place\":%" PRIu64 ",\"of\":%" PRIu64
					 ",\"p50\":%" PRId64 ",\"p99\":%" PRId64,
					 named.longer + 1, named.count,
					 orma_sample_quantile(&named.sample, 500),
					 orma_sample_quantile(&named.sample, 990));
	if (r == 0)
		r = orma_named_slices_append_histogram(&named, json);
	orma_named_slices_done(&named);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

/* --- time ------------------------------------------------------------------------------------- */

/* How long a thread was in a state, and who ended the longest time of it. */
struct state_time {
	uint32_t state;
	uint64_t ns, longest;
	int64_t waker;
};

struct times {
	struct state_time states[STATES_MAX];
	size_t count;
	uint64_t running, runnable;
};

static void add_state(struct times *times, uint32_t state, uint64_t ns, int64_t waker)
{
	size_t i = 0;
	while (i < times->count && times->states[i].state != state)
		i++;
	/* The kernel has fewer states; what is more would be damage. */
	if (i == STATES_MAX)
		return;
	if (i == times->count)
		times->states[times->count++] = (struct state_time){.state = state, .waker = -1};
	times->states[i].ns += ns;
	if (ns > times->states[i].longest) {
		times->states[i].longest = ns;
		times->states[i].waker = waker;
	}
}

/* Adds up the states of a thread's line that overlap a slice. */
static void add_states(const struct orma_view *view, const struct orma_lane_line *line,
		       const struct orma_view_row *row, struct times *times)
{
	const struct orma_lanes *lanes = &view->lanes[ORMA_VIEW_THREAD_STATES];
	uint32_t place = orma_lanes_find_start(lanes, line, line->first, row->start);
	uint32_t last = line->first + line->count - 1;
	place -= place > line->first;
	for (; place <= last && orma_view_check_stop(view) == 0; place++) {
		uint64_t start = orma_lanes_start(lanes, place);
		if (start >= row->end)
			break;
		uint64_t end = orma_lanes_end(lanes, line, place);
		uint64_t from = ORMA_MAX(start, row->start), to = ORMA_MIN(end, row->end);
		uint32_t state = orma_view_thread_state_of(view, lanes->rows[place]);
		struct orma_str text = orma_view_text(view, view->thread_states[state].state);
		if (to <= from)
			continue;
		if (orma_base_str_is(text, "Running"))
			times->running += to - from;
		else if (orma_base_str_is(text, "R") || orma_base_str_is(text, "R+"))
			times->runnable += to - from;
		else
			/* The thread that woke it is told where it became runnable. */
			add_state(
				times, state, to - from,
				place < last
					? orma_store_column_get(
						  &lanes->table
							   ->columns[ORMA_THREAD_STATE_WAKER_UTID],
						  lanes->rows[place + 1])
					: -1);
	}
}

static int append_state(const struct orma_view *view, const struct state_time *state,
			struct orma_buf *json)
{
	struct orma_buf waker = {0};
	struct orma_task_name name = orma_thread_name(view->database, state->waker);
	int r = orma_json_begin_element(json);
	if (r == 0)
		r = orma_json_append_key(json, "state");
	if (r == 0)
		r = orma_view_append_thread_state(json, view, state->state);
	if (r == 0)
		r = orma_view_json_double(json, "ns", (double)state->ns);
	if (r == 0 && state->waker >= 0)
		r = orma_task_name_append(&name, &waker);
	if (r == 0)
		r = waker.size > 0
			    ? orma_json_append_text(
				      json, "waker",
				      (struct orma_str){(const char *)waker.data, waker.size})
			    : orma_view_json_null(json, "waker");
	orma_base_buf_done(&waker);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

int orma_view_detail_append_time(const struct orma_view *view, const struct orma_view_row *row,
				 int64_t utid, struct orma_buf *json)
{
	const struct orma_lanes *lanes = &view->lanes[ORMA_VIEW_THREAD_STATES];
	struct times times = {.count = 0};
	uint32_t line;
	if (utid < 0 || (uint64_t)utid >= lanes->lane_count ||
	    orma_lanes_lines(lanes, (uint32_t)utid, &line) == line)
		return orma_view_json_null(json, "time");
	add_states(view, &lanes->lines[line], row, &times);
	int r = orma_view_check_stop(view);
	/* Scheduling may be known of another time only. */
	if (r == 0 && times.count == 0 && times.running == 0 && times.runnable == 0)
		return orma_view_json_null(json, "time");
	if (r == 0)
		r = orma_base_buf_printf(json,
					 ",\"time\":{\"running\":%" PRIu64 ",\"runnable\":%" PRIu64
					 ",\"blocked\":[",
					 times.running, times.runnable);
	for (size_t i = 0; i < times.count && r == 0; i++)
		r = append_state(view, &times.states[i], json);
	return r < 0 ? r : orma_view_json_raw(json, "]}");
}
