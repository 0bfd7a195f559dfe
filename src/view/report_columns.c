/* SPDX-License-Identifier: Apache-2.0
 * report_columns.c - writes a column as planes of bytes.
 *
 * The first plane has the lowest byte of each value, the next one the second byte, and so on; a column has as many planes as
 * its largest value has bytes, and none if all values are 0. The bytes of a plane are alike, so that deflate makes them a fifth
 * smaller than values whose bytes are neighbours. Rejected: numbers of variable length, which deflate cannot align; bits
 * packed to the width of the largest, which it cannot match.
 */
#include "view/report_columns.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "view/view_json.h"

enum { FIRST_CAPACITY = 64 };

void orma_report_column_done(struct orma_report_column *column)
{
	orma_base_free(column->values);
	*column = (struct orma_report_column){.name = column->name};
}

int orma_report_column_add(struct orma_report_column *column, uint64_t value)
{
	if (column->count == column->capacity) {
		size_t capacity = ORMA_MAX(column->capacity * 2, (size_t)FIRST_CAPACITY);
		uint64_t *values =
			orma_base_realloc_array(column->values, capacity, sizeof(*values));
		if (!values)
			return -ENOMEM;
		column->values = values;
		column->capacity = capacity;
	}
	column->values[column->count++] = value;
	column->bits |= value;
	return 0;
}

static int append_layout(struct orma_buf *layout, const char *name, unsigned width, size_t count)
{
	int r = orma_view_json_comma(layout);
	return r ? r : orma_base_buf_printf(layout, "[\"%s\",%u,%zu]", name, width, count);
}

int orma_report_column_write(const struct orma_report_column *column, struct orma_buf *data,
			     struct orma_buf *layout)
{
	unsigned width = 0;
	while (width < sizeof(uint64_t) && column->bits >> (8 * width) != 0)
		width++;
	int r = append_layout(layout, column->name, width, column->count);
	if (r == 0)
		r = orma_base_buf_reserve(data, width * column->count);
	for (unsigned plane = 0; plane < width && r == 0; plane++)
		for (size_t i = 0; i < column->count; i++)
			data->data[data->size++] = (uint8_t)(column->values[i] >> (8 * plane));
	return r;
}

int orma_report_text_write(const char *name, struct orma_str text, struct orma_buf *data,
			   struct orma_buf *layout)
{
	int r = append_layout(layout, name, 1, text.size);
	return r ? r : orma_base_buf_append(data, text.data, text.size);
}
