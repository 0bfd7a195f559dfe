/* SPDX-License-Identifier: Apache-2.0
 * parquet_column.c - the values of one column in a group of rows, and their encoding.
 *
 * Texts are numbered by a pool, and the values of a column of texts are these numbers. So a dictionary needs no search at the end of
 * the group. Invariant: `is_there` has a byte for each row, and `value_count` of them are 1.
 */
#include "tool/export/parquet_column.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

int orma_parquet_column_init(struct orma_parquet_column *column,
			     const struct orma_parquet_spec *spec, size_t rows)
{
	*column = (struct orma_parquet_column){.spec = *spec, .texts = {.text = {.fd = -1}}};
	column->values = orma_base_alloc_array(rows, sizeof(int64_t));
	column->is_there = orma_base_alloc_array(rows, 1);
	return column->values && column->is_there ? 0 : -ENOMEM;
}

void orma_parquet_column_done(struct orma_parquet_column *column)
{
	orma_base_free(column->values);
	orma_base_free(column->is_there);
	orma_store_pool_done(&column->texts);
}

void orma_parquet_column_clear(struct orma_parquet_column *column, size_t rows)
{
	memset(column->is_there, 0, rows);
	column->value_count = 0;
	orma_store_pool_done(&column->texts);
	column->texts = (struct orma_string_pool){.text = {.fd = -1}};
}

/* --- encoding ------------------------------------------------------------------------------ */

static int append_varint(struct orma_buf *out, uint64_t value)
{
	int r = 0;
	for (; value >= 0x80 && r == 0; value >>= 7)
		r = orma_base_buf_append(out, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
	return r == 0 ? orma_base_buf_append(out, &(uint8_t){(uint8_t)value}, 1) : r;
}

/* Appends numbers of `width` bits in groups of eight, as one run. */
static int append_packed(struct orma_buf *out, size_t count, unsigned width,
			 uint32_t (*number_at)(const struct orma_parquet_column *column, size_t i),
			 const struct orma_parquet_column *column)
{
	size_t groups = (count + 7) / 8;
	uint64_t bits = 0;
	unsigned bit_count = 0;
	int r = append_varint(out, (uint64_t)groups << 1 | 1);
	if (r == 0)
		r = orma_base_buf_reserve(out, groups * width);
	for (size_t i = 0; i < groups * 8 && r == 0; i++) {
		bits |= (uint64_t)(i < count ? number_at(column, i) : 0) << bit_count;
		for (bit_count += width; bit_count >= 8; bit_count -= 8, bits >>= 8)
			out->data[out->size++] = (uint8_t)bits;
	}
	return r;
}

static uint32_t presence_at(const struct orma_parquet_column *column, size_t row)
{
	return column->is_there[row];
}

static uint32_t index_at(const struct orma_parquet_column *column, size_t i)
{
	return (uint32_t)column->values[i] - 1;
}

int orma_parquet_append_le32(struct orma_buf *out, uint32_t value)
{
	uint8_t bytes[4];
	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return orma_base_buf_append(out, bytes, sizeof(bytes));
}

int orma_parquet_column_append_presence(const struct orma_parquet_column *column, size_t rows,
					struct orma_buf *out)
{
	size_t begin = out->size;
	int r = orma_parquet_append_le32(out, 0);
	if (r == 0 && (column->value_count == rows || column->value_count == 0)) {
		/* One run of equal bits. */
		r = append_varint(out, (uint64_t)rows << 1);
		if (r == 0)
			r = orma_base_buf_append(out, &(uint8_t){column->value_count > 0}, 1);
	} else if (r == 0) {
		r = append_packed(out, rows, 1, presence_at, column);
	}
	uint32_t size = (uint32_t)(out->size - begin - 4);
	for (unsigned i = 0; i < 4 && r == 0; i++)
		out->data[begin + i] = (uint8_t)(size >> (8 * i));
	return r;
}

static int append_text(struct orma_buf *out, struct orma_str text)
{
	int r = orma_parquet_append_le32(out, (uint32_t)text.size);
	return r == 0 ? orma_base_buf_append(out, text.data, text.size) : r;
}

static int append_number(struct orma_buf *out, int64_t value)
{
	int r = orma_parquet_append_le32(out, (uint32_t)value);
	return r == 0 ? orma_parquet_append_le32(out, (uint32_t)((uint64_t)value >> 32)) : r;
}

bool orma_parquet_column_is_text(const struct orma_parquet_column *column)
{
	return column->spec.type >= ORMA_PARQUET_BYTES;
}

bool orma_parquet_column_has_dictionary(const struct orma_parquet_column *column)
{
	return orma_parquet_column_is_text(column) && column->texts.count > 0 &&
	       column->texts.count <= column->value_count / 2;
}

int orma_parquet_column_append_dictionary(const struct orma_parquet_column *column,
					  struct orma_buf *out)
{
	int r = 0;
	for (uint32_t id = 1; id <= column->texts.count && r == 0; id++)
		r = append_text(out, orma_store_pool_get(&column->texts, id));
	return r;
}

int orma_parquet_column_append_values(const struct orma_parquet_column *column,
				      struct orma_buf *out)
{
	int r = 0;
	if (orma_parquet_column_has_dictionary(column)) {
		unsigned width = 1;
		while ((column->texts.count - 1) >> width)
			width++;
		r = orma_base_buf_append(out, &(uint8_t){(uint8_t)width}, 1);
		return r == 0 ? append_packed(out, column->value_count, width, index_at, column)
			      : r;
	}
	for (size_t i = 0; i < column->value_count && r == 0; i++)
		r = orma_parquet_column_is_text(column)
			    ? append_text(out, orma_store_pool_get(&column->texts,
								   (uint32_t)column->values[i]))
			    : append_number(out, column->values[i]);
	return r;
}

/* --- bounds -------------------------------------------------------------------------------- */

static bool is_less(const struct orma_parquet_column *column, int64_t a, int64_t b)
{
	if (column->spec.type == ORMA_PARQUET_INT64)
		return a < b;
	if (column->spec.type == ORMA_PARQUET_DOUBLE) {
		double x, y;
		memcpy(&x, &a, sizeof(x));
		memcpy(&y, &b, sizeof(y));
		return x < y;
	}
	struct orma_str x = orma_store_pool_get(&column->texts, (uint32_t)a),
			y = orma_store_pool_get(&column->texts, (uint32_t)b);
	int order = memcmp(x.data, y.data, ORMA_MIN(x.size, y.size));
	return order < 0 || (order == 0 && x.size < y.size);
}

/* Writes a bound as plain bytes, and returns their number; 0 = it is too long. */
static uint8_t copy_bound(const struct orma_parquet_column *column, int64_t value, char *ret)
{
	struct orma_str text = {(const char *)&value, sizeof(value)};
	if (orma_parquet_column_is_text(column))
		text = orma_store_pool_get(&column->texts, (uint32_t)value);
	if (text.size > ORMA_PARQUET_BOUND_BYTES)
		return 0;
	if (orma_parquet_column_is_text(column)) {
		memcpy(ret, text.data, text.size);
		return (uint8_t)text.size;
	}
	for (unsigned i = 0; i < sizeof(value); i++)
		ret[i] = (char)((uint64_t)value >> (8 * i));
	return sizeof(value);
}

static bool is_nan(int64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof(value));
	return isnan(value);
}

void orma_parquet_column_find_bounds(const struct orma_parquet_column *column,
				     struct orma_parquet_bounds *ret)
{
	bool is_double = column->spec.type == ORMA_PARQUET_DOUBLE;
	*ret = (struct orma_parquet_bounds){.is_known = false};
	if (column->value_count == 0)
		return;
	int64_t min = column->values[0], max = column->values[0];
	for (size_t i = 0; i < column->value_count; i++) {
		/* Nothing is less or more than it, so there are no bounds. */
		if (is_double && is_nan(column->values[i]))
			return;
		min = is_less(column, column->values[i], min) ? column->values[i] : min;
		max = is_less(column, max, column->values[i]) ? column->values[i] : max;
	}
	/* The two zeros are equal: the format wants the lower one below, and the upper one above. */
	if (is_double && (min == 0 || min == INT64_MIN))
		min = INT64_MIN;
	if (is_double && max == INT64_MIN)
		max = 0;
	ret->min_size = copy_bound(column, min, ret->min);
	ret->max_size = copy_bound(column, max, ret->max);
	ret->is_known = true;
}
