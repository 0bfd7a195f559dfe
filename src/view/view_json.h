/* SPDX-License-Identifier: Apache-2.0
 * view_json.h - members of objects as pages read them: numbers that JavaScript has exactly, else strings.
 */
#ifndef ORMA_VIEW_VIEW_JSON_H
#define ORMA_VIEW_VIEW_JSON_H

#include "base/json_writer.h"
#include "view/view_state.h"

/* All append a key with a value, and return 0 or -ENOMEM. An integer beyond 2^53 becomes a string. */
int orma_view_json_integer(struct orma_buf *json, const char *key, int64_t value);
int orma_view_json_bool(struct orma_buf *json, const char *key, bool value);
int orma_view_json_null(struct orma_buf *json, const char *key);
/* NaN and infinities are null. */
int orma_view_json_double(struct orma_buf *json, const char *key, double value);
/* The same for the value alone. */
int orma_view_json_integer_value(struct orma_buf *json, int64_t value);
int orma_view_json_double_value(struct orma_buf *json, double value);
/* ORMA_CELL_NULL and negative numbers are null. */
int orma_view_json_id(struct orma_buf *json, const char *key, int64_t value);
/* A time of the trace's clock, since its start. */
int orma_view_json_time(struct orma_buf *json, const struct orma_view *view, const char *key,
			int64_t ns);
/* The text of a cell, or null. */
int orma_view_json_cell(struct orma_buf *json, const struct orma_view *view, const char *key,
			int64_t cell);
/* Appends the text of a state of threads by its number, as a string. */
int orma_view_append_thread_state(struct orma_buf *json, const struct orma_view *view,
				  uint32_t state);
/* Appends text as it stands. */
static inline int orma_view_json_raw(struct orma_buf *json, const char *text)
{
	return orma_base_buf_append_str(json, text);
}
/* Appends a comma unless a bracket or brace has just been opened. */
int orma_view_json_comma(struct orma_buf *json);

#endif
