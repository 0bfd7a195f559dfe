/* SPDX-License-Identifier: Apache-2.0
 * view_json.c - writes integers, doubles, times and cells.
 */
#include "view/view_json.h"

#include <inttypes.h>
#include <math.h>

/* JavaScript's numbers are doubles. */
#define EXACT_MAX (INT64_C(1) << 53)

int orma_view_json_comma(struct orma_buf *json)
{
	uint8_t last = json->size > 0 ? json->data[json->size - 1] : '[';
	return last == '[' || last == '{' || last == ':' ? 0 : orma_base_buf_append(json, ",", 1);
}

int orma_view_json_integer_value(struct orma_buf *json, int64_t value)
{
	bool is_exact = value <= EXACT_MAX && value >= -EXACT_MAX;
	return orma_base_buf_printf(json, is_exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}

int orma_view_json_double_value(struct orma_buf *json, double value)
{
	return isfinite(value) ? orma_base_buf_printf(json, "%.17g", value)
			       : orma_base_buf_append_str(json, "null");
}

int orma_view_json_integer(struct orma_buf *json, const char *key, int64_t value)
{
	int r = orma_json_append_key(json, key);
	return r < 0 ? r : orma_view_json_integer_value(json, value);
}

int orma_view_json_double(struct orma_buf *json, const char *key, double value)
{
	int r = orma_json_append_key(json, key);
	return r < 0 ? r : orma_view_json_double_value(json, value);
}

int orma_view_json_bool(struct orma_buf *json, const char *key, bool value)
{
	int r = orma_json_append_key(json, key);
	return r < 0 ? r : orma_base_buf_append_str(json, value ? "true" : "false");
}

int orma_view_json_null(struct orma_buf *json, const char *key)
{
	int r = orma_json_append_key(json, key);
	return r < 0 ? r : orma_base_buf_append_str(json, "null");
}

int orma_view_json_id(struct orma_buf *json, const char *key, int64_t value)
{
	return value < 0 ? orma_view_json_null(json, key)
			 : orma_view_json_integer(json, key, value);
}

int orma_view_json_time(struct orma_buf *json, const struct orma_view *view, const char *key,
			int64_t ns)
{
	/* The difference may be more than fits; a trace that long is not exact to the nanosecond anyway. */
	return orma_view_json_double(json, key,
				     (double)((uint64_t)ns - (uint64_t)view->database->start_ns));
}

int orma_view_json_cell(struct orma_buf *json, const struct orma_view *view, const char *key,
			int64_t cell)
{
	struct orma_str text = orma_view_text(view, cell);
	return text.data ? orma_json_append_text(json, key, text) : orma_view_json_null(json, key);
}

int orma_view_append_thread_state(struct orma_buf *json, const struct orma_view *view,
				  uint32_t state)
{
	const struct orma_view_thread_state *item = &view->thread_states[state];
	struct orma_str text = orma_view_text(view, item->state);
	struct orma_buf name = {0};
	int r = orma_base_buf_append(&name, text.data ? text.data : "?", text.data ? text.size : 1);
	if (r == 0 && item->is_io_wait)
		r = orma_base_buf_append_str(&name, " (IO)");
	if (r == 0)
		r = orma_json_append_string(json,
					    (struct orma_str){(const char *)name.data, name.size});
	orma_base_buf_done(&name);
	return r;
}
