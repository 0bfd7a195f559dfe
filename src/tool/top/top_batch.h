/* SPDX-License-Identifier: Apache-2.0
 * top_batch.h - the figures of an interval for pipes, files and scripts.
 */
#ifndef ORMA_TOOL_TOP_BATCH_H
#define ORMA_TOOL_TOP_BATCH_H

#include "tool/top/top_view.h"

/* Appends lines of text: what the service says, and a line per row, or the histogram of one. 0 or -ENOMEM. */
int orma_top_batch_append_text(const struct orma_top_view *view, struct orma_buf *out);
/* Appends one line with an object of JSON. */
int orma_top_batch_append_json(const struct orma_top_view *view, struct orma_buf *out);

#endif
