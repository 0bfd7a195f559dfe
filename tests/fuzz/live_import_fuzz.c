/* SPDX-License-Identifier: Apache-2.0
 * live_import_fuzz.c - any bytes as a trace that is recorded meanwhile: each packet is imported at once, and each row becomes
 * lines of text and of JSON, as `orma events --follow` makes them. Texts that pass may not stay.
 */
#include <stdint.h>
#include <stdlib.h>

#include "answers/event_rows.h"
#include "codec/unpack.h"
#include "tool/ask/arg_text.h"
#include "tool/ask/event_line.h"
#include "trace/live_import.h"

/* Texts of one packet may be more, but a packet of a fuzzer is small. */
enum { PASSING_MAX = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reader {
	struct orma_live_import live;
	struct orma_event_lines text, json;
	struct orma_buf args, out;
};

static void append(struct reader *reader, const struct orma_event_row *event,
		   const struct orma_arg_list *list)
{
	struct orma_event_lines *both[] = {&reader->text, &reader->json};
	reader->out.size = 0;
	for (size_t i = 0; i < 2; i++) {
		struct orma_event_lines *lines = both[i];
		reader->args.size = 0;
		int r = lines->options->is_json ? orma_args_append_json(list, &reader->args)
						: orma_args_append_text(list, &reader->args);
		struct orma_str args = {(const char *)reader->args.data, reader->args.size};
		if (r < 0 || !orma_event_is_chosen(lines, event) ||
		    orma_event_line_append(lines, event, args, i ? "begin" : NULL, &reader->out))
			abort();
	}
}

static int on_row(void *ctx, enum orma_table_id table, uint64_t row,
		  const struct orma_arg_list *args)
{
	struct reader *reader = ctx;
	struct orma_event_row event;
	orma_event_row_read(&reader->live.tables, table, row, &event);
	append(reader, &event, args);
	return 0;
}

/* A slice that ends is a row. */
static void on_end(void *ctx, int64_t row, int64_t dur)
{
	const struct reader *reader = ctx;
	(void)dur;
	if (row < 0 ||
	    (uint64_t)row >= orma_store_table_rows(&reader->live.tables.all[ORMA_TABLE_SLICE]))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reader reader;
	static const struct orma_events_options text_options = {.limit = UINT64_MAX},
						json_options = {.limit = UINT64_MAX,
								.is_json = true};
	reader = (struct reader){
		.live = {.on_row = on_row,
			 .on_end = on_end,
			 .ctx = &reader,
			 .unpack = orma_codec_unpack},
		.text = {.options = &text_options},
		.json = {.options = &json_options},
	};
	reader.text.tables = reader.json.tables = &reader.live.tables;
	reader.text.clocks = reader.json.clocks = &reader.live.importer.index.clocks;
	int r = orma_live_import_init(&reader.live);
	for (size_t at = 0; r >= 0 && at < size;) {
		struct orma_str packet;
		uint64_t bytes;
		r = orma_trace_entry_read(data + at, size - at, &packet, &bytes);
		if (r < 0)
			break; /* the rest is damaged or cut */
		if (r > 0 && orma_live_import_packet(&reader.live, packet) < 0)
			abort();
		at += (size_t)bytes;
		if (reader.live.passing.count > PASSING_MAX)
			abort();
	}
	orma_event_lines_done(&reader.text);
	orma_event_lines_done(&reader.json);
	orma_base_buf_done(&reader.args);
	orma_base_buf_done(&reader.out);
	orma_live_import_done(&reader.live);
	return 0;
}
