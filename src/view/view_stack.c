/* SPDX-License-Identifier: Apache-2.0
 * view_stack.c - the call stack that a slice began at.
 */
#include <errno.h>
#include <inttypes.h>

#include "answers/column_scan.h"
#include "base/macros.h"
#include "trace/profile_tables.h"
#include "view/function_name.h"
#include "view/view_detail.h"
#include "view/view_json.h"

enum { FRAMES_MAX = 512 }; /* a longer stack is cut at the root */

static int64_t cell(const struct orma_view *view, enum orma_table_id table, size_t column,
		    int64_t row)
{
	uint64_t rows = orma_store_table_rows(&view->database->tables.all[table]);
	return row < 0 || (uint64_t)row >= rows
		       ? ORMA_CELL_NULL
		       : orma_trace_database_cell(view->database, table, column, (uint64_t)row);
}

/* Finds the callsite of a slice; ORMA_CELL_NULL when it has none. 0 or a negative errno value. */
static int find_site(const struct orma_view *view, const struct orma_view_row *row,
		     int64_t *ret_site)
{
	static const size_t columns[] = {ORMA_EVENT_CALLSTACK_SLICE_ID,
					 ORMA_EVENT_CALLSTACK_CALLSITE_ID};
	struct orma_column_scan scan;
	int r = orma_column_scan_begin(&scan,
				       &view->database->tables.all[ORMA_TABLE_EVENT_CALLSTACK],
				       columns, ORMA_ARRAY_SIZE(columns), 0);
	*ret_site = ORMA_CELL_NULL;
	while (r == 0 && *ret_site == ORMA_CELL_NULL && orma_column_scan_next(&scan)) {
		r = orma_view_check_stop(view);
		for (size_t i = 0; i < scan.row_count; i++)
			if (scan.cells[0][i] == row->row)
				*ret_site = scan.cells[1][i];
	}
	orma_column_scan_done(&scan);
	return r;
}

/* Appends "name file:line" as a string. */
static int append_place(const struct orma_view *view, int64_t name, int64_t file, int64_t line,
			struct orma_buf *json)
{
	struct orma_str function, source = orma_view_text(view, file);
	struct orma_buf text = {0}, scratch = {0};
	int r = orma_view_function_name(view, name, &scratch, &function);
	if (r == 0)
		r = orma_base_buf_append(&text, function.data ? function.data : "?",
					 function.data ? function.size : 1);
	if (r == 0 && source.data)
		r = orma_base_buf_printf(&text, "  %.*s", (int)ORMA_MIN(source.size, (size_t)4096),
					 source.data);
	if (r == 0 && source.data && line != ORMA_CELL_NULL)
		r = orma_base_buf_printf(&text, ":%" PRId64, line);
	if (r == 0)
		r = orma_view_json_comma(json);
	if (r == 0)
		r = orma_json_append_string(json,
					    (struct orma_str){(const char *)text.data, text.size});
	orma_base_buf_done(&text);
	orma_base_buf_done(&scratch);
	return r;
}

/* A frame is the functions that were inlined there, the innermost first, or one without symbols. */
static int append_frame(const struct orma_view *view, int64_t frame, struct orma_buf *json)
{
	int64_t set = cell(view, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_SYMBOL_SET_ID, frame);
	int64_t name =
		cell(view, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_DEOBFUSCATED_NAME, frame);
	int r = 0;
	if (name == ORMA_CELL_NULL)
		name = cell(view, ORMA_TABLE_STACK_FRAME, ORMA_STACK_FRAME_NAME, frame);
	if (set == ORMA_CELL_NULL)
		return append_place(view, name, ORMA_CELL_NULL, ORMA_CELL_NULL, json);
	for (int64_t row = set;
	     r == 0 && row - set < FRAMES_MAX &&
	     cell(view, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SYMBOL_SET_ID, row) == set;
	     row++)
		r = append_place(
			view, cell(view, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_NAME, row),
			cell(view, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_SOURCE_FILE, row),
			cell(view, ORMA_TABLE_STACK_SYMBOL, ORMA_STACK_SYMBOL_LINE_NUMBER, row),
			json);
	return r;
}

int orma_view_append_stack(const struct orma_view *view, int64_t site, struct orma_buf *json)
{
	int r = orma_view_json_raw(json, "[");
	for (size_t i = 0; r == 0 && i < FRAMES_MAX && site != ORMA_CELL_NULL; i++) {
		int64_t above =
			cell(view, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_PARENT_ID, site);
		r = append_frame(
			view,
			cell(view, ORMA_TABLE_STACK_CALLSITE, ORMA_STACK_CALLSITE_FRAME_ID, site),
			json);
		/* A callsite comes behind its parent. */
		site = above < site ? above : ORMA_CELL_NULL;
	}
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

int orma_view_detail_append_stack(const struct orma_view *view, const struct orma_view_row *row,
				  struct orma_buf *json)
{
	int64_t site;
	int r = find_site(view, row, &site);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"stack\":");
	return r < 0 ? r : orma_view_append_stack(view, site, json);
}
