/* SPDX-License-Identifier: Apache-2.0
 * top_batch.c - one block of lines, or one object of JSON, per interval.
 *
 * The name is the last column, so that it need not be cut.
 */
#include "tool/top/top_batch.h"

#include <inttypes.h>

#include "base/json_writer.h"
#include "base/macros.h"

#include "tool/print.h"
#include "tool/top/top_plot.h"

/* --- text ------------------------------------------------------------------------------------- */

static int append_row(const struct orma_top_view *view, const struct orma_top_cells *cells,
		      struct orma_buf *out)
{
	char text[ORMA_TOP_CELL_BYTES];
	int r = 0;
	for (int column = ORMA_TOP_COLUMN_RATE; r == 0 && column < ORMA_TOP_COLUMNS; column++)
		r = orma_base_buf_printf(out, "%*s ", orma_top_column_widths[column],
					 orma_top_cell_text(cells, view->choice.by,
							    (enum orma_top_column)column, text));
	if (r == 0)
		r = orma_tool_append_visible(
			out, (struct orma_str){cells->row->name, cells->row->name_size});
	return r < 0 ? r : orma_base_buf_append_str(out, "\n");
}

static int append_heads(const struct orma_top_view *view, struct orma_buf *out)
{
	int r = 0;
	for (int column = ORMA_TOP_COLUMN_RATE; r == 0 && column < ORMA_TOP_COLUMNS; column++)
		r = orma_base_buf_printf(
			out, "%*s ", orma_top_column_widths[column],
			orma_top_column_head(view->choice.by, (enum orma_top_column)column));
	if (r == 0)
		r = orma_base_buf_printf(
			out, "%s\n", orma_top_column_head(view->choice.by, ORMA_TOP_COLUMN_NAME));
	return r;
}

static int append_table(const struct orma_top_view *view, struct orma_buf *out)
{
	const char *why = orma_top_why_empty(view);
	int r = why ? orma_base_buf_printf(out, "%s\n", why) : append_heads(view, out);
	for (size_t i = 0; r == 0 && i < view->table->count; i++)
		r = append_row(view, &view->table->cells[i], out);
	return r;
}

static int append_line(struct orma_buf *out, const struct orma_top_view *view,
		       int (*append)(const struct orma_top_view *, struct orma_buf *))
{
	struct orma_buf line = {0};
	int r = append(view, &line);
	if (r == 0 && line.size > 0)
		r = orma_tool_append_visible(out,
					     (struct orma_str){(const char *)line.data, line.size});
	if (r == 0 && line.size > 0)
		r = orma_base_buf_append_str(out, "\n");
	orma_base_buf_done(&line);
	return r;
}

int orma_top_batch_append_text(const struct orma_top_view *view, struct orma_buf *out)
{
	enum { PLOT_COLUMNS = 80 };
	const struct orma_top_row *row =
		view->histogram_name ? orma_top_rows_find(&view->decoder->rows,
							  orma_base_str(view->histogram_name))
				     : NULL;
	int r = append_line(out, view, orma_top_append_traffic);
	if (r == 0)
		r = append_line(out, view, orma_top_append_losses);
	if (r == 0)
		r = view->histogram_name ? orma_top_plot_append(row, view, PLOT_COLUMNS, false, out)
					 : append_table(view, out);
	return r < 0 ? r : orma_base_buf_append_str(out, "\n");
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int append_real(struct orma_buf *out, const char *key, double number)
{
	int r = orma_json_append_key(out, key);
	return r < 0 ? r : orma_base_buf_printf(out, "%.6g", number);
}

/* Powers of two with their counts, without zeros at the ends: [[1024,5],[2048,7]]. */
static int append_powers(struct orma_buf *out, const struct orma_top_histogram *histogram)
{
	uint64_t powers[ORMA_TOP_POWERS];
	bool is_first = true;
	int r = orma_json_append_key(out, "histogram");
	orma_top_histogram_powers(histogram, powers);
	if (r == 0)
		r = orma_base_buf_append_str(out, "[");
	for (unsigned i = 0; r == 0 && i < ORMA_TOP_POWERS; i++) {
		if (powers[i] == 0)
			continue;
		r = orma_base_buf_printf(out, "%s[%" PRIu64 ",%" PRIu64 "]", is_first ? "" : ",",
					 i > 0 ? UINT64_C(1) << (i - 1) : 0, powers[i]);
		is_first = false;
	}
	return r < 0 ? r : orma_base_buf_append_str(out, "]");
}

static int append_values(struct orma_buf *out, const struct orma_top_view *view,
			 const struct orma_top_cells *cells)
{
	bool is_counter = view->choice.by == ORMA_TOP_BY_COUNTER;
	int r = orma_json_append_number(out, "measured", cells->measured);
	if (r == 0)
		r = append_real(out, is_counter ? "avg" : "avg_ns", cells->average);
	if (r == 0)
		r = append_real(out, is_counter ? "p50" : "p50_ns", cells->p50);
	if (r == 0)
		r = append_real(out, is_counter ? "p99" : "p99_ns", cells->p99);
	if (r == 0)
		r = append_real(out, is_counter ? "max" : "max_ns", cells->max);
	return r;
}

static int append_object(struct orma_buf *out, const struct orma_top_view *view,
			 const struct orma_top_cells *cells)
{
	const struct orma_top_row *row = cells->row;
	int r = orma_json_begin_element(out);
	if (r == 0)
		r = orma_json_append_text(out, orma_top_by_names[view->choice.by],
					  (struct orma_str){row->name, row->name_size});
	if (r == 0)
		r = orma_json_append_number(out, "count", cells->events);
	if (r == 0)
		r = append_real(out, "rate", cells->rate);
	if (r == 0 && cells->measured > 0)
		r = append_values(out, view, cells);
	if (r == 0)
		r = append_real(out, view->choice.by == ORMA_TOP_BY_COUNTER ? "value" : "self",
				cells->self);
	if (r == 0)
		r = orma_json_append_number(out, "lost", cells->lost);
	if (r == 0 && view->histogram_name && cells->measured > 0)
		r = append_powers(out, orma_top_shown_histogram(row, view->choice.is_total));
	return r < 0 ? r : orma_base_buf_append_str(out, "}");
}

static int append_losses(struct orma_buf *out, const struct orma_top_traffic *traffic)
{
	int r = orma_json_append_number(out, "lost_memory_full",
					traffic->losses[ORMA_TOOL_GAP_FULL]);
	if (r == 0)
		r = orma_json_append_number(out, "lost_overwritten",
					    traffic->losses[ORMA_TOOL_GAP_OVERWRITTEN]);
	if (r == 0)
		r = orma_json_append_number(out, "lost_other",
					    traffic->losses[ORMA_TOOL_GAP_OTHER]);
	return r;
}

static int append_producers(struct orma_buf *out, const struct orma_top_decoder *decoder)
{
	const struct orma_map_slot *slot;
	size_t position = 0;
	int r = orma_json_append_key(out, "producers");
	if (r == 0)
		r = orma_base_buf_append_str(out, "[");
	while (r == 0 && (slot = orma_base_map_next(&decoder->producers, &position))) {
		const struct orma_top_producer *producer = slot->value;
		const char *name = orma_top_tracks_process(&decoder->tracks, producer->pid);
		r = orma_json_begin_element(out);
		if (r == 0)
			r = orma_json_append_number(out, "pid", (uint32_t)producer->pid);
		if (r == 0 && name)
			r = orma_json_append_text(out, "name", orma_base_str(name));
		if (r == 0)
			r = orma_json_append_number(out, "packets", producer->last.packets);
		if (r == 0)
			r = append_losses(out, &producer->last);
		if (r == 0)
			r = orma_base_buf_append_str(out, "}");
	}
	return r < 0 ? r : orma_base_buf_append_str(out, "]");
}

static int append_head(struct orma_buf *out, const struct orma_top_view *view)
{
	const struct orma_top_traffic *last = &view->decoder->last;
	int r = orma_base_buf_printf(out, "{\"unix_ns\":%" PRId64, view->unix_ns);
	if (r == 0)
		r = append_real(out, "seconds", view->seconds);
	if (r == 0)
		r = orma_json_append_number(out, "packets", last->packets);
	if (r == 0)
		r = orma_json_append_number(out, "events", last->events);
	if (r == 0)
		r = orma_json_append_number(out, "undecoded", last->undecoded);
	if (r == 0)
		r = append_losses(out, last);
	if (r == 0)
		r = orma_json_append_number(out, "buffer_bytes", view->buffers.size_bytes);
	if (r == 0)
		r = orma_json_append_number(out, "buffer_used_bytes", view->buffers.waiting_bytes);
	return r;
}

static bool is_wanted(const struct orma_top_view *view, const struct orma_top_row *row)
{
	return !view->histogram_name || strcmp(row->name, view->histogram_name) == 0;
}

int orma_top_batch_append_json(const struct orma_top_view *view, struct orma_buf *out)
{
	struct orma_buf line = {0};
	int r = append_head(&line, view);
	if (r == 0)
		r = append_producers(&line, view->decoder);
	if (r == 0)
		r = orma_json_append_key(&line, "rows");
	if (r == 0)
		r = orma_base_buf_append_str(&line, "[");
	for (size_t i = 0; r == 0 && i < view->table->count; i++)
		if (is_wanted(view, view->table->cells[i].row))
			r = append_object(&line, view, &view->table->cells[i]);
	if (r == 0)
		r = orma_base_buf_append_str(&line, "]}\n");
	if (r == 0)
		r = orma_base_buf_append(out, line.data, line.size);
	orma_base_buf_done(&line);
	return r;
}
