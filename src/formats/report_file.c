/* SPDX-License-Identifier: Apache-2.0
 * report_file.c - finds the data in a page that `orma report` has written, unpacks them and checks them.
 *
 * Each element with data is a line of its own, so that no HTML has to be parsed. The unpacked columns are held in memory as planes,
 * as they are in the file; the begins of boxes are added up into arrays, because strips of states are looked up by time.
 */
#include "formats/report_file.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "formats/inflate.h"
#include "formats/text_lines.h"
#include "store/grow.h"
#include "trace/base91.h"

enum { FORMAT = 1, ZLIB_HEAD_BYTES = 2, ZLIB_TAIL_BYTES = 4, WIDTH_MAX = 8 };
#define UNPACKED_MAX_BYTES (UINT64_C(1) << 30)
/* A time since the trace's start; the sum with the start fits 63 bits. */
#define TIME_MAX (UINT64_C(1) << 62)

void orma_report_file_done(struct orma_report_file *file)
{
	orma_base_buf_done(&file->meta);
	orma_base_buf_done(&file->layout);
	orma_trace_window_done(&file->window);
	orma_trace_bytes_done(&file->unpacked);
	for (size_t i = 0; i < ORMA_REPORT_TABLES; i++)
		orma_base_free(file->starts[i]);
	orma_base_free(file->lines);
	orma_base_free(file->names.items);
	orma_base_free(file->args.items);
	orma_base_free(file->stacks.items);
	orma_base_free(file->flows);
	orma_base_free(file->flows_by_to);
	orma_base_arena_done(&file->arena);
}

static int damaged(struct orma_error *reterr, const char *what)
{
	return orma_base_error_set(reterr, -EBADMSG, "the report is damaged: %s", what);
}

/* --- JSON ------------------------------------------------------------------------------------ */

int orma_report_json_items(struct orma_str inner, orma_report_json_fn *fn, void *ctx)
{
	if (inner.size == 0)
		return 0;
	struct orma_json_scan scan = {inner.data, inner.data + inner.size, true};
	struct orma_json_value value;
	enum orma_json_next next;
	int r = 0;
	while (r == 0 && (next = orma_json_read_item(&scan, &value)) != ORMA_JSON_END)
		r = next == ORMA_JSON_MEMBER ? fn(ctx, NULL, &value) : -EBADMSG;
	return r;
}

int orma_report_json_fields(struct orma_str inner, orma_report_json_fn *fn, void *ctx)
{
	if (inner.size == 0)
		return 0;
	struct orma_json_scan scan = {inner.data, inner.data + inner.size, true};
	struct orma_json_value key, value;
	enum orma_json_next next;
	int r = 0;
	while (r == 0 && (next = orma_json_read_field(&scan, &key, &value)) != ORMA_JSON_END)
		r = next == ORMA_JSON_MEMBER ? fn(ctx, &key, &value) : -EBADMSG;
	return r;
}

int orma_report_json_object(struct orma_str text, orma_report_json_fn *fn, void *ctx)
{
	struct orma_json_value value;
	if (text.size == 0)
		return -EBADMSG;
	struct orma_json_scan scan = {text.data, text.data + text.size, false};
	if (orma_json_read_value(&scan, &value) != ORMA_JSON_MEMBER ||
	    value.kind != ORMA_JSON_OBJECT)
		return -EBADMSG;
	return orma_report_json_fields(value.text, fn, ctx);
}

/* --- the layout ------------------------------------------------------------------------------ */

struct layout {
	struct orma_report_file *file;
	int64_t format, bytes;
	bool is_packed;
	struct orma_str columns;
	uint64_t at; /* where the next column begins */
};

static int take_layout(void *ctx, const struct orma_json_value *key,
		       const struct orma_json_value *value)
{
	struct layout *layout = ctx;
	if (orma_base_str_is(key->text, "format"))
		return orma_json_value_i64(value, &layout->format) ? 0 : -EBADMSG;
	if (orma_base_str_is(key->text, "bytes"))
		return orma_json_value_i64(value, &layout->bytes) ? 0 : -EBADMSG;
	if (orma_base_str_is(key->text, "deflate"))
		layout->is_packed = value->kind == ORMA_JSON_TRUE;
	if (orma_base_str_is(key->text, "columns") && value->kind == ORMA_JSON_ARRAY)
		layout->columns = value->text;
	return 0;
}

static int read_layout(struct orma_report_file *file, struct layout *layout,
		       struct orma_error *reterr)
{
	*layout = (struct layout){.file = file};
	if (file->layout.size == 0)
		return orma_base_error_set(reterr, -EPROTONOSUPPORT,
					   "this page has no data of a trace; pages of `orma "
					   "report` for one trace have");
	int r = orma_report_json_object(orma_base_buf_str(&file->layout), take_layout, layout);
	if (r < 0)
		return damaged(reterr, "its layout cannot be read");
	if (layout->format != FORMAT)
		return orma_base_error_set(
			reterr, -EPROTONOSUPPORT,
			"the report has data of the format %lld, and this orma reads %d",
			(long long)layout->format, FORMAT);
	if (layout->bytes < 0 || (uint64_t)layout->bytes > UNPACKED_MAX_BYTES)
		return damaged(reterr, "its data are too large");
	return 0;
}

/* --- elements -------------------------------------------------------------------------------- */

static int unpack_block(struct orma_report_file *file, struct orma_str packed, uint64_t max_bytes)
{
	struct orma_trace_bytes input = {.fd = -1, .spool_fd = -1, .folder = file->unpacked.folder};
	uint64_t address, bytes, begin = ZLIB_HEAD_BYTES;
	uint32_t crc;
	if (packed.size < ZLIB_HEAD_BYTES + ZLIB_TAIL_BYTES)
		return -EBADMSG;
	int r = orma_trace_bytes_add(&input, packed.data, packed.size, &address);
	if (r == 0)
		r = orma_inflate(&input, &begin, packed.size - ZLIB_TAIL_BYTES, max_bytes,
				 &file->unpacked, &crc, &bytes);
	orma_trace_bytes_done(&input);
	return r == -EMSGSIZE ? -EBADMSG : r;
}

static int take_block(struct layout *layout, struct orma_str text)
{
	struct orma_report_file *file = layout->file;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	uint64_t address, left = (uint64_t)layout->bytes -
				 ORMA_MIN((uint64_t)layout->bytes, file->unpacked.spool_size);
	int r = orma_base91_read(&bytes, text);
	if (r < 0)
		return r;
	if (layout->is_packed)
		return unpack_block(file, orma_base_buf_str(&bytes), left);
	return bytes.size > left
		       ? -EBADMSG
		       : orma_trace_bytes_add(&file->unpacked, bytes.data, bytes.size, &address);
}

/* Returns what is between a line's tags if it begins so; without data: it does not. */
static struct orma_str content_of(struct orma_str line, const char *begin)
{
	static const char end[] = "</script>";
	size_t end_size = sizeof(end) - 1, begin_size = strlen(begin);
	if (!orma_text_starts_with(line, begin) || line.size < begin_size + end_size ||
	    memcmp(line.data + line.size - end_size, end, end_size) != 0)
		return (struct orma_str){NULL, 0};
	return (struct orma_str){line.data + begin_size, line.size - begin_size - end_size};
}

static int take_line(struct layout *layout, struct orma_str line, struct orma_error *reterr)
{
	struct orma_report_file *file = layout->file;
	const struct {
		const char *begin;
		struct orma_buf *text;
	} texts[] = {{"<script type=\"application/json\" id=\"orma-meta\">", &file->meta},
		     {"<script type=\"application/json\" id=\"orma-layout\">", &file->layout}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++) {
		struct orma_str content = content_of(line, texts[i].begin);
		if (!content.data || texts[i].text->size > 0)
			continue;
		int r = orma_base_buf_append(texts[i].text, content.data, content.size);
		return r == 0 && texts[i].text == &file->layout ? read_layout(file, layout, reterr)
								: r;
	}
	struct orma_str block =
		content_of(line, "<script type=\"application/octet-stream\" id=\"orma-data-");
	if (!block.data || file->layout.size == 0)
		return 0;
	/* Blocks are in the order of their numbers, which stand before the content. */
	orma_text_cut(&block, '>');
	int r = take_block(layout, block);
	return r == -EBADMSG ? damaged(reterr, "a block of data cannot be unpacked") : r;
}

static int read_elements(struct layout *layout, const struct orma_trace_bytes *input,
			 struct orma_error *reterr)
{
	struct orma_text_lines lines = {.input = input};
	struct orma_str line;
	int r = 0;
	while (r == 0 && (r = orma_text_lines_next(&lines, &line)) > 0)
		r = take_line(layout, line, reterr);
	orma_text_lines_done(&lines);
	if (r == 0 && layout->file->layout.size == 0)
		r = read_layout(layout->file, layout, reterr);
	if (r == 0 && layout->file->unpacked.spool_size != (uint64_t)layout->bytes)
		r = damaged(reterr, "it is cut");
	return r;
}

/* --- columns --------------------------------------------------------------------------------- */

static const char *const table_names[ORMA_REPORT_TABLES] = {"slice", "state", "sched",
							    "thread_state", "counter"};
static const char *const column_names[ORMA_REPORT_COLUMNS] = {
	"line_lane", "line_depth", "line_count", "gap",   "length",  "name", "flags", "more",
	"category",  "args",       "stack",      "waker", "blocked", "min",  "max",   "last"};

struct column {
	struct orma_str name;
	int64_t numbers[2]; /* width, count */
	size_t parts;
};

static int take_part(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	struct column *column = ctx;
	(void)key;
	if (column->parts == 0)
		column->name = value->text;
	else if (column->parts > ORMA_ARRAY_SIZE(column->numbers) ||
		 !orma_json_value_i64(value, &column->numbers[column->parts - 1]))
		return -EBADMSG;
	column->parts++;
	return 0;
}

static struct orma_report_planes *find_planes(struct orma_report_file *file, struct orma_str name)
{
	struct orma_str rest = name, table = orma_text_cut(&rest, '.');
	for (size_t i = 0; i < ORMA_REPORT_TABLES; i++)
		for (size_t k = 0; k < ORMA_REPORT_COLUMNS; k++)
			if (orma_base_str_is(table, table_names[i]) && rest.data &&
			    orma_base_str_is(rest, column_names[k]))
				return &file->columns[i][k];
	if (orma_base_str_is(name, "flow.from"))
		return &file->flow_planes[0];
	return orma_base_str_is(name, "flow.to") ? &file->flow_planes[1] : NULL;
}

struct texts {
	struct orma_report_file *file;
	struct orma_report_texts *texts;
};

static int take_item(void *ctx, const struct orma_json_value *key,
		     const struct orma_json_value *value)
{
	const struct texts *texts = ctx;
	struct orma_report_file *file = texts->file;
	struct orma_str text = {"", 0};
	bool is_name = texts->texts == &file->names;
	(void)key;
	int r = orma_store_grow(&texts->texts->items, (uint64_t)texts->texts->count + 1,
				&texts->texts->capacity, sizeof(*texts->texts->items));
	if (r == 0 && is_name && value->kind == ORMA_JSON_STRING)
		text = orma_json_unescape(value, &file->arena);
	else if (!is_name && value->kind == ORMA_JSON_ARRAY)
		text = value->text;
	if (r < 0 || !text.data)
		return -ENOMEM;
	texts->texts->items[texts->texts->count++] = text;
	return 0;
}

static int take_text(struct orma_report_file *file, struct orma_str name, struct orma_str json)
{
	const struct {
		const char *name;
		struct orma_report_texts *texts;
	} lists[] = {{"names", &file->names}, {"args", &file->args}, {"stacks", &file->stacks}};
	struct orma_json_scan scan = {json.data, json.data + json.size, false};
	struct orma_json_value value;
	if (orma_base_str_is(name, "tracks"))
		file->tracks = json;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(lists); i++) {
		struct texts texts = {file, lists[i].texts};
		if (!orma_base_str_is(name, lists[i].name))
			continue;
		if (json.size == 0 || orma_json_read_value(&scan, &value) != ORMA_JSON_MEMBER ||
		    value.kind != ORMA_JSON_ARRAY)
			return -EBADMSG;
		return orma_report_json_items(value.text, take_item, &texts);
	}
	return 0;
}

static int take_column(void *ctx, const struct orma_json_value *key,
		       const struct orma_json_value *value)
{
	struct layout *layout = ctx;
	struct orma_report_file *file = layout->file;
	struct column column = {.parts = 0};
	uint64_t bytes;
	(void)key;
	if (value->kind != ORMA_JSON_ARRAY ||
	    orma_report_json_items(value->text, take_part, &column) < 0 || column.parts != 3)
		return -EBADMSG;
	uint64_t width = (uint64_t)column.numbers[0], count = (uint64_t)column.numbers[1];
	/* Each box has a byte somewhere, so what is small does not become large. */
	if (width > WIDTH_MAX || count > (uint64_t)layout->bytes ||
	    __builtin_mul_overflow(width, count, &bytes) ||
	    bytes > (uint64_t)layout->bytes - layout->at)
		return -EBADMSG;
	const uint8_t *data = file->window.data + layout->at;
	struct orma_report_planes *planes = find_planes(file, column.name);
	layout->at += bytes;
	if (!planes)
		return take_text(file, column.name,
				 (struct orma_str){(const char *)data, (size_t)bytes});
	*planes = (struct orma_report_planes){data, count, (unsigned)width};
	return 0;
}

/* Adds up the begins of a line, and checks that no time is too large. */
static int add_starts(struct orma_report_file *file, const struct orma_report_line *line)
{
	uint64_t at = 0;
	for (uint32_t i = line->first; i < line->end; i++) {
		uint64_t gap = orma_report_file_get(file, line->table, ORMA_REPORT_GAP, i);
		uint64_t length = orma_report_file_get(file, line->table, ORMA_REPORT_LENGTH, i);
		if (gap > TIME_MAX - at || length > TIME_MAX - at - gap)
			return -EBADMSG;
		file->starts[line->table][i] = at + gap;
		at += gap + length;
	}
	return 0;
}

static int add_line(struct orma_report_file *file, enum orma_report_table table, uint32_t number,
		    uint64_t *first)
{
	uint64_t lane = orma_report_file_get(file, table, ORMA_REPORT_LINE_LANE, number);
	uint64_t depth = orma_report_file_get(file, table, ORMA_REPORT_LINE_DEPTH, number);
	uint64_t count = orma_report_file_get(file, table, ORMA_REPORT_LINE_COUNT, number);
	uint64_t boxes = file->columns[table][ORMA_REPORT_GAP].count;
	if (lane > UINT32_MAX || depth > UINT32_MAX || count > boxes - *first)
		return -EBADMSG;
	int r = orma_store_grow(&file->lines, (uint64_t)file->line_count + 1, &file->line_capacity,
				sizeof(*file->lines));
	if (r < 0)
		return r;
	struct orma_report_line *line = &file->lines[file->line_count++];
	*line = (struct orma_report_line){.table = table,
					  .lane = (uint32_t)lane,
					  .depth = (uint32_t)depth,
					  .first = (uint32_t)*first,
					  .end = (uint32_t)(*first + count)};
	*first += count;
	return add_starts(file, line);
}

/* Finds the lines of a table, which have all its boxes. */
static int add_table(struct orma_report_file *file, enum orma_report_table table)
{
	const struct orma_report_planes *columns = file->columns[table];
	uint64_t lines = columns[ORMA_REPORT_LINE_COUNT].count, first = 0;
	uint64_t boxes = columns[ORMA_REPORT_GAP].count;
	for (size_t i = 0; i < ORMA_REPORT_COLUMNS; i++) {
		uint64_t count = i <= ORMA_REPORT_LINE_COUNT ? lines : boxes;
		if (columns[i].width > 0 && columns[i].count != count)
			return -EBADMSG;
	}
	file->starts[table] =
		orma_base_alloc_array((size_t)boxes + 1, sizeof(*file->starts[table]));
	int r = file->starts[table] ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < lines && r == 0; i++)
		r = add_line(file, table, i, &first);
	return r == 0 && first != boxes ? -EBADMSG : r;
}

static int read_columns(struct layout *layout)
{
	struct orma_report_file *file = layout->file;
	const uint8_t *data;
	size_t size = (size_t)layout->bytes;
	if (size > 0 &&
	    orma_trace_window_refill(&file->window, &file->unpacked, 0, size, size, &data) <= 0)
		return -EIO;
	int r = orma_report_json_items(layout->columns, take_column, layout);
	for (unsigned i = 0; i < ORMA_REPORT_TABLES && r == 0; i++)
		r = add_table(file, (enum orma_report_table)i);
	return r ? r : orma_report_flows_read(file);
}

int orma_report_file_read(struct orma_report_file *file, const struct orma_trace_bytes *input,
			  struct orma_error *reterr)
{
	struct layout layout = {.file = file};
	file->unpacked.folder = input->folder;
	int r = read_elements(&layout, input, reterr);
	if (r < 0)
		return r;
	r = read_columns(&layout);
	return r == -EBADMSG ? damaged(reterr, "its layout is not that of its data") : r;
}
