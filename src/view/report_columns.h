/* SPDX-License-Identifier: Apache-2.0
 * report_columns.h - columns of numbers as a report has them: planes of bytes, and a layout that says where each of them is.
 */
#ifndef ORMA_VIEW_REPORT_COLUMNS_H
#define ORMA_VIEW_REPORT_COLUMNS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* {.name = "slice.length"} is empty. */
struct orma_report_column {
	const char *name;
	uint64_t *values;
	size_t count, capacity;
	uint64_t bits; /* set when any of the values has them */
};

void orma_report_column_done(struct orma_report_column *column);
/* 0 or -ENOMEM. */
int orma_report_column_add(struct orma_report_column *column, uint64_t value);
/* Appends the planes to the data and [name, width, count] to the layout, which is JSON. 0 or -ENOMEM. */
int orma_report_column_write(const struct orma_report_column *column, struct orma_buf *data,
			     struct orma_buf *layout);
/* Does the same with text, a byte for each value. */
int orma_report_text_write(const char *name, struct orma_str text, struct orma_buf *data,
			   struct orma_buf *layout);

#endif
