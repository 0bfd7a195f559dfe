/* SPDX-License-Identifier: Apache-2.0
 * top_decoder_fuzz.c - any bytes as the packets that `orma top` reads, for each kind of row, and all that shows
 * the rows. No slice may hold a row when all are closed.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tool/top/top_batch.h"
#include "tool/top/top_screen.h"
#include "trace/packet_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct orma_top_decoder *decoder, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		struct orma_str packet;
		uint64_t entry;
		int r = orma_trace_entry_read(data + at, size - at, &packet, &entry);
		if (r < 0)
			return;
		if (r > 0)
			orma_top_decoder_take(decoder, packet.data, packet.size);
		/* A few intervals, at places that the input chooses. */
		if (at % 64 == 1)
			orma_top_decoder_end_interval(decoder);
		at += (size_t)entry;
	}
}

static void show(const struct orma_top_decoder *decoder)
{
	static struct orma_top_table table;
	static struct orma_top_screen screen;
	struct orma_buf out = {0};
	struct orma_top_view view = {
		.decoder = decoder, .table = &table, .choice.by = decoder->by, .seconds = 1};
	screen.terminal = (struct orma_top_terminal){true, true, 150, 40};
	if (orma_top_table_make(&table, decoder, &view.choice, 1) < 0 ||
	    orma_top_screen_compose(&screen, &view, &out) < 0 ||
	    orma_top_batch_append_json(&view, &out) < 0 ||
	    orma_top_batch_append_text(&view, &out) < 0)
		abort();
	orma_top_table_done(&table);
	orma_base_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int by = 0; by < ORMA_TOP_BY_KINDS; by++) {
		struct orma_top_decoder decoder;
		if (orma_top_decoder_init(&decoder, (enum orma_top_by)by, 1) < 0)
			abort();
		feed(&decoder, data, size);
		orma_top_decoder_end_interval(&decoder);
		show(&decoder);
		orma_top_decoder_forget_session(&decoder);
		for (size_t i = 0; i < decoder.rows.count; i++)
			if (decoder.rows.all[i]->held != 0)
				abort();
		orma_top_decoder_done(&decoder);
	}
	return 0;
}
