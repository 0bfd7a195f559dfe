/* SPDX-License-Identifier: Apache-2.0
 * arg_text.c - each type of argument in the form that people and programs expect.
 */
#include "tool/ask/arg_text.h"

#include <errno.h>
#include <inttypes.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/fact_table.h"

enum { TEXT_MAX_BYTES = 4096 }; /* a longer value is cut */

static int append_number(const struct orma_arg *arg, struct orma_buf *out)
{
	switch (arg->type) {
	case ORMA_ARG_BOOL:
		return orma_base_buf_append_str(out, arg->value ? "true" : "false");
	case ORMA_ARG_UINT:
	case ORMA_ARG_POINTER:
		return orma_base_buf_printf(out, "%" PRIu64, (uint64_t)arg->value);
	case ORMA_ARG_NULL:
		return orma_base_buf_append_str(out, "null");
	default:
		return orma_base_buf_printf(out, "%" PRId64, arg->value);
	}
}

static bool is_text(const struct orma_arg *arg)
{
	return arg->type == ORMA_ARG_STRING || arg->type == ORMA_ARG_JSON;
}

static int append_text_value(const struct orma_tables *tables, const struct orma_arg *arg,
			     struct orma_buf *out)
{
	if (arg->type == ORMA_ARG_POINTER)
		return orma_base_buf_printf(out, "0x%" PRIx64, (uint64_t)arg->value);
	if (arg->type == ORMA_ARG_REAL)
		return orma_base_buf_printf(out, "%.6g", orma_store_double_of_cell(arg->value));
	if (!is_text(arg))
		return append_number(arg, out);
	struct orma_str text = orma_tables_text(tables, arg->value);
	const char *quote = arg->type == ORMA_ARG_STRING ? "\"" : "";
	int r = orma_base_buf_append_str(out, quote);
	if (r == 0)
		r = orma_base_buf_append(out, text.data,
					 ORMA_MIN(text.size, (size_t)TEXT_MAX_BYTES));
	if (r == 0 && text.size > TEXT_MAX_BYTES)
		r = orma_base_buf_append_str(out, "...");
	return r ? r : orma_base_buf_append_str(out, quote);
}

int orma_args_append_text(const struct orma_arg_list *list, struct orma_buf *out)
{
	size_t start = out->size;
	int r = 0;
	for (uint32_t i = 0; i < list->count && r == 0; i++) {
		struct orma_str key = orma_arg_list_key(list, i);
		/* The number of a row says nothing to people. */
		if (orma_base_str_is(key, "legacy_event.passthrough_utid"))
			continue;
		if (key.size > 6 && memcmp(key.data, "debug.", 6) == 0)
			key = (struct orma_str){key.data + 6, key.size - 6};
		r = out->size > start ? orma_base_buf_append_str(out, " ") : 0;
		if (r == 0)
			r = orma_base_buf_append(out, key.data, key.size);
		if (r == 0)
			r = orma_base_buf_append_str(out, "=");
		if (r == 0)
			r = append_text_value(list->tables, &list->args[i], out);
	}
	return r;
}

int orma_args_append_json(const struct orma_arg_list *list, struct orma_buf *json)
{
	int r = orma_base_buf_append_str(json, "{");
	for (uint32_t i = 0; i < list->count && r == 0; i++) {
		const struct orma_arg *arg = &list->args[i];
		r = i > 0 ? orma_base_buf_append_str(json, ",") : 0;
		if (r == 0)
			r = orma_json_append_string(json, orma_arg_list_key(list, i));
		if (r == 0)
			r = orma_base_buf_append_str(json, ":");
		if (r < 0)
			break;
		if (is_text(arg))
			r = orma_json_append_string(json,
						    orma_tables_text(list->tables, arg->value));
		else if (arg->type == ORMA_ARG_REAL)
			r = orma_fact_append_json_number(json,
							 orma_store_double_of_cell(arg->value));
		else
			r = append_number(arg, json);
	}
	return r ? r : orma_base_buf_append_str(json, "}");
}

int orma_arg_set_append_text(struct orma_trace_database *database, int64_t set,
			     struct orma_buf *out)
{
	const struct orma_arg_list *list;
	if (set == ORMA_CELL_NULL)
		return 0;
	int r = orma_trace_database_args(database, set, &list);
	return r < 0 ? r : orma_args_append_text(list, out);
}

int orma_arg_set_append_json(struct orma_trace_database *database, int64_t set,
			     struct orma_buf *json)
{
	const struct orma_arg_list *list;
	if (set == ORMA_CELL_NULL)
		return orma_base_buf_append_str(json, "{}");
	int r = orma_trace_database_args(database, set, &list);
	return r < 0 ? r : orma_args_append_json(list, json);
}

int64_t orma_slice_arg_set(const struct orma_trace_database *database, uint64_t row)
{
	int64_t set =
		orma_trace_database_cell(database, ORMA_TABLE_SLICE, ORMA_SLICE_ARG_SET_ID, row);
	bool has_packet =
		orma_trace_database_cell(database, ORMA_TABLE_SLICE, ORMA_SLICE_BEGIN_PACKET,
					 row) != ORMA_CELL_NULL ||
		orma_trace_database_cell(database, ORMA_TABLE_SLICE, ORMA_SLICE_END_PACKET, row) !=
			ORMA_CELL_NULL;
	return set == ORMA_CELL_NULL && has_packet ? ORMA_ARG_SET_OF_SLICE | (int64_t)row : set;
}
