/* SPDX-License-Identifier: Apache-2.0
 * report_timeline.c - packs the columns of a trace, and finds out how much of it there is room for.
 *
 * The columns are cut into blocks that are packed one by one, so that a browser never holds a text of more than 12 MB, and can drop
 * it before it reads the next one. When the blocks are larger than allowed, the columns are made again at a level where more rows
 * are joined: first those shorter than 1 µs, then 4, 16 and so on. Nothing else is left out, because what is short and many is what a
 * picture of the whole loses anyway. Rejected: guessing the level from the size of the first attempt, because it depends on how
 * durations are distributed; leaving out tables, which would be lies about what happened.
 */
#include "tool/report/report_timeline.h"

#include <errno.h>
#include <inttypes.h>

#include "base/macros.h"
#include "codec/compression.h"
#include "tool/ask/units.h"
#include "tool/report/html.h"
#include "trace/base91.h"
#include "view/tile_request.h"
#include "view/view_meta.h"

enum { BLOCK_BYTES = 8 << 20, FIRST_LEVEL = 10, LEVEL_STEP = 2, FORMAT = 1 };
/* A box takes 6 bytes in a typical report and hardly ever less than this, so more need not be tried. */
enum { BOX_BYTES_MIN = 2 };
/* How many boxes are held in columns: 600 MB. */
#define BOXES_MAX (UINT64_C(8) << 20)

void orma_report_timeline_done(struct orma_report_timeline *timeline)
{
	orma_report_data_done(&timeline->data);
	orma_base_buf_done(&timeline->meta);
	orma_base_buf_done(&timeline->blocks);
}

static int append_block(struct orma_report_timeline *timeline,
			struct orma_tool_compressor *compressor, struct orma_str bytes)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packed = {0};
	struct orma_buf *blocks = &timeline->blocks;
	int r = orma_base_buf_printf(blocks,
				     "<script type=\"application/octet-stream\" "
				     "id=\"orma-data-%" PRIu32 "\">",
				     timeline->block_count++);
	if (r == 0 && compressor)
		r = orma_tool_compress(compressor, bytes.data, bytes.size, &packed);
	if (r == 0)
		r = orma_base91_append(blocks, compressor ? orma_base_buf_str(&packed) : bytes);
	return r ? r : orma_base_buf_append_str(blocks, "</script>\n");
}

/* Writes the blocks: 0, -EFBIG or -ENOMEM. */
static int pack(struct orma_report_timeline *timeline, struct orma_tool_compressor *compressor,
		uint64_t max_bytes)
{
	const struct orma_buf *bytes = &timeline->data.bytes;
	int r = 0;
	timeline->blocks.size = 0;
	timeline->block_count = 0;
	for (size_t at = 0; at < bytes->size && r == 0; at += BLOCK_BYTES) {
		size_t size = ORMA_MIN(bytes->size - at, (size_t)BLOCK_BYTES);
		r = append_block(timeline, compressor,
				 (struct orma_str){(const char *)bytes->data + at, size});
		if (r == 0 && timeline->blocks.size > max_bytes)
			r = -EFBIG;
	}
	return r;
}

/* Makes and packs the data at one level: 0, -EFBIG or another negative errno value. */
static int try_level(struct orma_report_timeline *timeline, struct orma_view *view,
		     struct orma_tool_compressor *compressor, uint64_t max_bytes)
{
	uint64_t max_boxes = ORMA_MIN(max_bytes / BOX_BYTES_MIN, BOXES_MAX);
	orma_report_data_done(&timeline->data);
	int r = orma_report_data_make(view, timeline->level, max_boxes, &timeline->data);
	return r ? r : pack(timeline, compressor, max_bytes);
}

static int find_level(struct orma_report_timeline *timeline, struct orma_view *view,
		      uint64_t max_bytes)
{
	struct orma_tool_compressor *compressor = NULL;
	int r = orma_tool_compressor_new(ORMA_CODEC_DEFLATE, 0, &compressor);
	if (r < 0 && r != -ENOTSUP)
		return r;
	timeline->is_packed = r == 0;
	for (;;) {
		r = try_level(timeline, view, compressor, max_bytes);
		if (r != -EFBIG || timeline->level + LEVEL_STEP > ORMA_TILE_LEVEL_MAX)
			break;
		timeline->level = timeline->level > 0 ? timeline->level + LEVEL_STEP : FIRST_LEVEL;
	}
	orma_tool_compressor_free(compressor);
	return r;
}

static int make(struct orma_report_timeline *timeline, struct orma_view *view, uint64_t max_bytes)
{
	struct orma_error error = {0};
	int r = orma_view_meta(view, ORMA_STR(""), &timeline->meta, &error);
	uint64_t used = timeline->meta.size;
	if (r == 0)
		r = used < max_bytes ? find_level(timeline, view, max_bytes - used) : -EFBIG;
	timeline->is_there = r == 0;
	return r == -EFBIG ? 0 : r;
}

int orma_report_timeline_make(struct orma_trace_database *database, const char *name,
			      uint64_t max_bytes, struct orma_report_timeline *ret)
{
	struct orma_view *view;
	*ret = (struct orma_report_timeline){0};
	int r = orma_view_new(database, name, &view);
	if (r < 0)
		return r;
	r = make(ret, view, max_bytes);
	orma_view_free(view);
	return r;
}

int orma_report_timeline_append_missing(const struct orma_report_timeline *timeline,
					struct orma_buf *text)
{
	const struct orma_report_data *data = &timeline->data;
	char length[ORMA_UNIT_BYTES];
	if (!timeline->is_there)
		return orma_base_buf_append_str(
			text, "The timeline was left out, because it is larger than --max-size "
			      "allows.");
	if (timeline->level == 0)
		return 0;
	return orma_base_buf_printf(
		text,
		"To keep the size that --max-size allows, the timeline has %" PRIu64
		" boxes for %" PRIu64 " events: those shorter than %s that begin close "
		"together are one.",
		data->boxes, data->rows,
		orma_units_duration(INT64_C(1) << timeline->level, length));
}

static int append_layout(const struct orma_report_timeline *timeline,
			 struct orma_report_range first, struct orma_buf *html)
{
	const struct orma_report_data *data = &timeline->data;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf layout = {0};
	int r = orma_base_buf_printf(
		&layout,
		"{\"format\":%d,\"level\":%u,\"deflate\":%s,\"blocks\":%" PRIu32
		",\"bytes\":%zu,\"rows\":%" PRIu64 ",\"boxes\":%" PRIu64 ",\"columns\":",
		FORMAT, timeline->level, timeline->is_packed ? "true" : "false",
		timeline->block_count, data->bytes.size, data->rows, data->boxes);
	if (r == 0)
		r = orma_base_buf_append(&layout, data->layout.data, data->layout.size);
	/* The place is told as in the address of the page. */
	if (r == 0 && first.end > 0)
		r = orma_base_buf_printf(&layout, ",\"open\":\"t=%" PRIu64 "-%" PRIu64 "\"",
					 first.start, first.end);
	if (r == 0)
		r = orma_base_buf_append_str(&layout, "}");
	return r ? r : orma_html_append_json(html, "orma-layout", orma_base_buf_str(&layout));
}

int orma_report_timeline_append_data(const struct orma_report_timeline *timeline,
				     struct orma_report_range first, struct orma_buf *html)
{
	if (!timeline->is_there)
		return 0;
	int r = orma_html_append_json(html, "orma-meta", orma_base_buf_str(&timeline->meta));
	if (r == 0)
		r = append_layout(timeline, first, html);
	return r ? r : orma_base_buf_append(html, timeline->blocks.data, timeline->blocks.size);
}
