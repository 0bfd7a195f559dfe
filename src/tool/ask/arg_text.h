/* SPDX-License-Identifier: Apache-2.0
 * arg_text.h - arguments of slices and events as text and as JSON.
 */
#ifndef ORMA_TOOL_ARG_TEXT_H
#define ORMA_TOOL_ARG_TEXT_H

#include "answers/trace_database.h"
#include "base/buf.h"

/* The same as the functions below, for a list at hand. */
int orma_args_append_text(const struct orma_arg_list *list, struct orma_buf *out);
int orma_args_append_json(const struct orma_arg_list *list, struct orma_buf *json);
/* Appends `key="text" other=1` of a set of arguments, not escaped for terminals; leaves "debug." out of keys. An unknown
 * set is empty. 0, -ENOMEM or an error of reading the trace. */
int orma_arg_set_append_text(struct orma_trace_database *database, int64_t set,
			     struct orma_buf *out);
/* The same as `{"debug.key":"text","other":1}`. */
int orma_arg_set_append_json(struct orma_trace_database *database, int64_t set,
			     struct orma_buf *json);
/* The set of a slice, or ORMA_CELL_NULL. */
int64_t orma_slice_arg_set(const struct orma_trace_database *database, uint64_t row);

#endif
