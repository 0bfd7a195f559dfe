/* SPDX-License-Identifier: Apache-2.0
 * top_view.h - all that is shown of one moment, and texts about it that the screen and the batch mode have in common.
 */
#ifndef ORMA_TOOL_TOP_VIEW_H
#define ORMA_TOOL_TOP_VIEW_H

#include "base/buf.h"
#include "tool/top/top_table.h"

/* How the buffers of the session are. */
struct orma_top_buffers {
	uint64_t size_bytes, waiting_bytes;
	uint32_t producer_count;
	bool has_kernel, is_own; /* the service runs in this process */
};

struct orma_top_view {
	const struct orma_top_decoder *decoder;
	const struct orma_top_table *table;
	struct orma_top_choice choice;
	struct orma_top_buffers buffers;
	double seconds;       /* the length of what is shown */
	double total_seconds; /* since the start, or since all was zeroed */
	int64_t unix_ns;
	const char *histogram_name; /* NULL = the table is shown */
};

enum { ORMA_TOP_TEXT_BYTES = 200 };

/* Appends "12,345 packets/s, 11,000 events/s, buffer 3% of 16 MB, 2 producers". 0 or -ENOMEM. */
int orma_top_append_traffic(const struct orma_top_view *view, struct orma_buf *out);
/* Appends "lost: 3 times as shared memory was full", or nothing if nothing was lost since the start. */
int orma_top_append_losses(const struct orma_top_view *view, struct orma_buf *out);
/* Appends "server 10 5,000/s, web 12 20/s (lost 3)": the producers with the most packets. */
int orma_top_append_producers(const struct orma_top_view *view, size_t max, struct orma_buf *out);
/* Returns why there are no rows, or NULL if that needs no explanation. */
const char *orma_top_why_empty(const struct orma_top_view *view);

#endif
