/* SPDX-License-Identifier: Apache-2.0
 * parquet_writer.c - groups of rows as the format has them:
 *
 *	"PAR1"  group: [dictionary page] data page, for each column  ...  description  its size  "PAR1"
 *
 * A data page has a bit for each row that says whether there is a value, and then the values that are there. A group is
 * kept in memory until it is full. The facts that the description needs are kept to the end, some hundred bytes a column.
 */
#include "tool/export/parquet_writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "codec/compression.h"
#include "store/string_pool.h"
#include "tool/export/thrift_writer.h"
#include "tool/tool.h"

enum {
	GROUP_ROWS = 1 << 17,
	GROUP_TEXT_BYTES = 64 << 20,
	STATISTIC_MAX_BYTES = 64, /* a longer text is no bound in the statistics */
	ZSTD_LEVEL = 3,
};
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };
enum { CODEC_NONE = 0, CODEC_ZSTD = 6 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct column {
	struct orma_parquet_spec spec;
	int64_t *values;   /* numbers, bits of doubles or ids of texts, without NULL */
	uint8_t *is_there; /* a byte for each row */
	size_t value_count;
	struct orma_string_pool texts; /* emptied behind each group */
};

/* The facts that the description has for one column of one group. */
struct chunk {
	uint64_t offset, dictionary_offset; /* the latter is 0 when there is none */
	uint64_t plain_bytes, bytes, value_count, null_count;
	char min[STATISTIC_MAX_BYTES], max[STATISTIC_MAX_BYTES];
	uint8_t min_size, max_size; /* 0 = unknown */
	bool has_bounds;
};

struct orma_parquet {
	struct orma_export_file *file;
	struct orma_tool_compressor *compressor; /* NULL = none */
	struct column *columns;
	size_t column_count, row_count; /* rows of the group */
	size_t text_bytes;
	struct orma_buf chunks, group_rows; /* struct chunk of all groups; uint64_t */
	struct orma_buf page, packed;       /* reused */
	uint64_t total_rows;
};

static int fail(int error)
{
	return error < 0 ? orma_tool_fail("%s", strerror(-error)) : 0;
}

static int make_columns(struct orma_parquet *parquet, const struct orma_parquet_spec *specs,
			size_t count)
{
	parquet->columns = orma_base_alloc_array(count + 1, sizeof(*parquet->columns));
	if (!parquet->columns)
		return -ENOMEM;
	parquet->column_count = count;
	for (size_t i = 0; i < count; i++) {
		struct column *column = &parquet->columns[i];
		*column = (struct column){.spec = specs[i], .texts = {.text = {.fd = -1}}};
		column->values = orma_base_alloc_array(GROUP_ROWS, sizeof(int64_t));
		column->is_there = orma_base_alloc_array(GROUP_ROWS, 1);
		if (!column->values || !column->is_there)
			return -ENOMEM;
	}
	return 0;
}

int orma_parquet_new(struct orma_export_file *file, const struct orma_parquet_spec *columns,
		     size_t column_count, bool is_plain, struct orma_parquet **ret)
{
	struct orma_parquet *parquet = orma_base_zalloc(sizeof(*parquet));
	if (!parquet)
		return fail(-ENOMEM);
	parquet->file = file;
	int r = make_columns(parquet, columns, column_count);
	if (r == 0 && !is_plain)
		r = orma_tool_compressor_new(ORMA_CODEC_ZSTD, ZSTD_LEVEL, &parquet->compressor);
	if (r < 0 && r != -ENOTSUP) {
		orma_parquet_free(parquet);
		return fail(r);
	}
	*ret = parquet;
	return orma_export_file_write(file, "PAR1", 4);
}

void orma_parquet_free(struct orma_parquet *parquet)
{
	if (!parquet)
		return;
	for (size_t i = 0; parquet->columns && i < parquet->column_count; i++) {
		orma_base_free(parquet->columns[i].values);
		orma_base_free(parquet->columns[i].is_there);
		orma_store_pool_done(&parquet->columns[i].texts);
	}
	orma_base_free(parquet->columns);
	orma_tool_compressor_free(parquet->compressor);
	orma_base_buf_done(&parquet->chunks);
	orma_base_buf_done(&parquet->group_rows);
	orma_base_buf_done(&parquet->page);
	orma_base_buf_done(&parquet->packed);
	orma_base_free(parquet);
}

int orma_parquet_put_int(struct orma_parquet *parquet, size_t column_idx, int64_t value)
{
	struct column *column = &parquet->columns[column_idx];
	column->is_there[parquet->row_count] = 1;
	column->values[column->value_count++] = value;
	return 0;
}

int orma_parquet_put_double(struct orma_parquet *parquet, size_t column, double value)
{
	int64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return orma_parquet_put_int(parquet, column, bits);
}

int orma_parquet_put_bytes(struct orma_parquet *parquet, size_t column_idx, struct orma_str value)
{
	struct column *column = &parquet->columns[column_idx];
	uint32_t id = 0;
	int r = 0;
	if (column->spec.type == ORMA_PARQUET_TEXT)
		r = orma_export_utf8(&value, &parquet->page);
	uint32_t before = column->texts.count;
	if (r == 0)
		r = orma_store_pool_add(&column->texts, value, &id);
	if (r < 0)
		return fail(r);
	if (column->texts.count > before)
		parquet->text_bytes += value.size;
	return orma_parquet_put_int(parquet, column_idx, id);
}

/* --- pages --------------------------------------------------------------------------------- */

static int append_varint(struct orma_buf *out, uint64_t value)
{
	int r = 0;
	for (; value >= 0x80 && r == 0; value >>= 7)
		r = orma_base_buf_append(out, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
	return r == 0 ? orma_base_buf_append(out, &(uint8_t){(uint8_t)value}, 1) : r;
}

/* Appends numbers of `width` bits in groups of eight, as one run. */
static int append_packed(struct orma_buf *out, size_t count, unsigned width,
			 uint32_t (*number_at)(const struct column *column, size_t i),
			 const struct column *column)
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

static uint32_t presence_at(const struct column *column, size_t row)
{
	return column->is_there[row];
}

static uint32_t index_at(const struct column *column, size_t i)
{
	return (uint32_t)column->values[i] - 1;
}

static int append_le32(struct orma_buf *out, uint32_t value)
{
	uint8_t bytes[4];
	for (unsigned i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	return orma_base_buf_append(out, bytes, sizeof(bytes));
}

/* The bits that say which rows have a value, with their size before them. */
static int append_presence(struct orma_buf *out, const struct column *column, size_t rows)
{
	size_t begin = out->size;
	int r = append_le32(out, 0);
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
	int r = append_le32(out, (uint32_t)text.size);
	return r == 0 ? orma_base_buf_append(out, text.data, text.size) : r;
}

static int append_number(struct orma_buf *out, int64_t value)
{
	int r = append_le32(out, (uint32_t)value);
	return r == 0 ? append_le32(out, (uint32_t)((uint64_t)value >> 32)) : r;
}

static bool is_text(const struct column *column)
{
	return column->spec.type >= ORMA_PARQUET_BYTES;
}

/* A dictionary is shorter when texts are there twice, about. */
static bool has_dictionary(const struct column *column)
{
	return is_text(column) && column->texts.count > 0 &&
	       column->texts.count <= column->value_count / 2;
}

static int append_values(struct orma_buf *out, const struct column *column)
{
	int r = 0;
	if (has_dictionary(column)) {
		unsigned width = 1;
		while ((column->texts.count - 1) >> width)
			width++;
		r = orma_base_buf_append(out, &(uint8_t){(uint8_t)width}, 1);
		return r == 0 ? append_packed(out, column->value_count, width, index_at, column)
			      : r;
	}
	for (size_t i = 0; i < column->value_count && r == 0; i++)
		r = is_text(column)
			    ? append_text(out, orma_store_pool_get(&column->texts,
								   (uint32_t)column->values[i]))
			    : append_number(out, column->values[i]);
	return r;
}

static void describe_page(struct orma_thrift *thrift, int kind, size_t value_count, int encoding)
{
	orma_thrift_begin(thrift, kind == PAGE_DATA ? 5 : 7);
	orma_thrift_int32(thrift, 1, (int32_t)value_count);
	orma_thrift_int32(thrift, 2, encoding);
	if (kind == PAGE_DATA) {
		orma_thrift_int32(thrift, 3, ENCODING_RLE);
		orma_thrift_int32(thrift, 4, ENCODING_RLE);
	}
	orma_thrift_end(thrift);
}

/* Writes parquet->page with its header. */
static int write_page(struct orma_parquet *parquet, int kind, size_t value_count, int encoding,
		      struct chunk *chunk)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf header = {0};
	const struct orma_buf *content = &parquet->page;
	if (parquet->compressor) {
		int r = orma_tool_compress(parquet->compressor, content->data, content->size,
					   &parquet->packed);
		if (r < 0)
			return fail(r);
		content = &parquet->packed;
	}
	struct orma_thrift thrift = {.out = &header};
	orma_thrift_int32(&thrift, 1, kind);
	orma_thrift_int32(&thrift, 2, (int32_t)parquet->page.size);
	orma_thrift_int32(&thrift, 3, (int32_t)content->size);
	describe_page(&thrift, kind, value_count, encoding);
	orma_thrift_end(&thrift);
	chunk->plain_bytes += header.size + parquet->page.size;
	chunk->bytes += header.size + content->size;
	int status = fail(thrift.error);
	if (status == 0)
		status = orma_export_file_write(parquet->file, header.data, header.size);
	return status ? status
		      : orma_export_file_write(parquet->file, content->data, content->size);
}

/* --- statistics ---------------------------------------------------------------------------- */

static bool is_less(const struct column *column, int64_t a, int64_t b)
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
static uint8_t copy_bound(const struct column *column, int64_t value, char *ret)
{
	struct orma_str text = {(const char *)&value, sizeof(value)};
	if (is_text(column))
		text = orma_store_pool_get(&column->texts, (uint32_t)value);
	if (text.size > STATISTIC_MAX_BYTES)
		return 0;
	if (is_text(column)) {
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

static void find_bounds(const struct column *column, struct chunk *chunk)
{
	bool is_double = column->spec.type == ORMA_PARQUET_DOUBLE;
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
	chunk->min_size = copy_bound(column, min, chunk->min);
	chunk->max_size = copy_bound(column, max, chunk->max);
	chunk->has_bounds = true;
}

/* --- groups -------------------------------------------------------------------------------- */

static int write_dictionary(struct orma_parquet *parquet, struct column *column,
			    struct chunk *chunk)
{
	int r = 0;
	parquet->page.size = 0;
	for (uint32_t id = 1; id <= column->texts.count && r == 0; id++)
		r = append_text(&parquet->page, orma_store_pool_get(&column->texts, id));
	chunk->dictionary_offset = parquet->file->size;
	return r < 0 ? fail(r)
		     : write_page(parquet, PAGE_DICTIONARY, column->texts.count, ENCODING_PLAIN,
				  chunk);
}

static int write_column(struct orma_parquet *parquet, struct column *column)
{
	struct chunk chunk = {.value_count = parquet->row_count,
			      .null_count = parquet->row_count - column->value_count};
	bool is_indexed = has_dictionary(column);
	int status = is_indexed ? write_dictionary(parquet, column, &chunk) : 0;
	if (status)
		return status;
	parquet->page.size = 0;
	chunk.offset = parquet->file->size;
	int r = append_presence(&parquet->page, column, parquet->row_count);
	if (r == 0)
		r = append_values(&parquet->page, column);
	if (r < 0)
		return fail(r);
	status = write_page(parquet, PAGE_DATA, parquet->row_count,
			    is_indexed ? ENCODING_DICTIONARY : ENCODING_PLAIN, &chunk);
	find_bounds(column, &chunk);
	memset(column->is_there, 0, parquet->row_count);
	column->value_count = 0;
	orma_store_pool_done(&column->texts);
	column->texts = (struct orma_string_pool){.text = {.fd = -1}};
	return status ? status
		      : fail(orma_base_buf_append(&parquet->chunks, &chunk, sizeof(chunk)));
}

static int write_group(struct orma_parquet *parquet)
{
	uint64_t rows = parquet->row_count;
	int status = 0;
	for (size_t i = 0; i < parquet->column_count && status == 0; i++)
		status = write_column(parquet, &parquet->columns[i]);
	parquet->total_rows += rows;
	parquet->row_count = parquet->text_bytes = 0;
	return status ? status
		      : fail(orma_base_buf_append(&parquet->group_rows, &rows, sizeof(rows)));
}

int orma_parquet_end_row(struct orma_parquet *parquet)
{
	parquet->row_count++;
	return parquet->row_count == GROUP_ROWS || parquet->text_bytes >= GROUP_TEXT_BYTES
		       ? write_group(parquet)
		       : 0;
}

/* --- the description ----------------------------------------------------------------------- */

static int physical_type(const struct column *column)
{
	return is_text(column) ? ORMA_PARQUET_BYTES : (int)column->spec.type;
}

static void describe_schema(struct orma_thrift *thrift, const struct orma_parquet *parquet)
{
	enum { OPTIONAL = 1, UTF8 = 0 };
	orma_thrift_list(thrift, 2, ORMA_THRIFT_STRUCT, parquet->column_count + 1);
	orma_thrift_begin(thrift, 0);
	orma_thrift_bytes(thrift, 4, ORMA_STR("schema"));
	orma_thrift_int32(thrift, 5, (int32_t)parquet->column_count);
	orma_thrift_end(thrift);
	for (size_t i = 0; i < parquet->column_count; i++) {
		const struct column *column = &parquet->columns[i];
		orma_thrift_begin(thrift, 0);
		orma_thrift_int32(thrift, 1, physical_type(column));
		orma_thrift_int32(thrift, 3, OPTIONAL);
		orma_thrift_bytes(thrift, 4, orma_base_str(column->spec.name));
		if (column->spec.type == ORMA_PARQUET_TEXT) {
			orma_thrift_int32(thrift, 6, UTF8);
			orma_thrift_begin(thrift, 10);
			orma_thrift_begin(thrift, 1);
			orma_thrift_end(thrift);
			orma_thrift_end(thrift);
		}
		orma_thrift_end(thrift);
	}
}

static void describe_statistics(struct orma_thrift *thrift, const struct chunk *chunk,
				const struct column *column)
{
	orma_thrift_begin(thrift, 12);
	orma_thrift_int64(thrift, 3, (int64_t)chunk->null_count);
	/* An empty text is a bound, and no bound has the size 0 otherwise. */
	bool may_be_empty = is_text(column);
	if (chunk->has_bounds && chunk->max_size > 0)
		orma_thrift_bytes(thrift, 5, (struct orma_str){chunk->max, chunk->max_size});
	if (chunk->has_bounds && chunk->min_size > 0 && (may_be_empty || chunk->min_size == 8))
		orma_thrift_bytes(thrift, 6, (struct orma_str){chunk->min, chunk->min_size});
	orma_thrift_end(thrift);
}

static void describe_chunk(struct orma_thrift *thrift, const struct orma_parquet *parquet,
			   const struct column *column, const struct chunk *chunk)
{
	bool is_indexed = chunk->dictionary_offset > 0;
	orma_thrift_begin(thrift, 0);
	orma_thrift_int64(thrift, 2,
			  (int64_t)(is_indexed ? chunk->dictionary_offset : chunk->offset));
	orma_thrift_begin(thrift, 3);
	orma_thrift_int32(thrift, 1, physical_type(column));
	orma_thrift_list(thrift, 2, ORMA_THRIFT_I32, is_indexed ? 3 : 2);
	orma_thrift_element_int(thrift, ENCODING_RLE);
	orma_thrift_element_int(thrift, ENCODING_PLAIN);
	if (is_indexed)
		orma_thrift_element_int(thrift, ENCODING_DICTIONARY);
	orma_thrift_list(thrift, 3, ORMA_THRIFT_TEXT, 1);
	orma_thrift_element_text(thrift, column->spec.name);
	orma_thrift_int32(thrift, 4, parquet->compressor ? CODEC_ZSTD : CODEC_NONE);
	orma_thrift_int64(thrift, 5, (int64_t)chunk->value_count);
	orma_thrift_int64(thrift, 6, (int64_t)chunk->plain_bytes);
	orma_thrift_int64(thrift, 7, (int64_t)chunk->bytes);
	orma_thrift_int64(thrift, 9, (int64_t)chunk->offset);
	if (is_indexed)
		orma_thrift_int64(thrift, 11, (int64_t)chunk->dictionary_offset);
	describe_statistics(thrift, chunk, column);
	orma_thrift_end(thrift);
	orma_thrift_end(thrift);
}

static void describe_group(struct orma_thrift *thrift, const struct orma_parquet *parquet,
			   const struct chunk *chunks, uint64_t rows)
{
	uint64_t plain_bytes = 0, bytes = 0;
	orma_thrift_begin(thrift, 0);
	orma_thrift_list(thrift, 1, ORMA_THRIFT_STRUCT, parquet->column_count);
	for (size_t i = 0; i < parquet->column_count; i++) {
		describe_chunk(thrift, parquet, &parquet->columns[i], &chunks[i]);
		plain_bytes += chunks[i].plain_bytes;
		bytes += chunks[i].bytes;
	}
	orma_thrift_int64(thrift, 2, (int64_t)plain_bytes);
	orma_thrift_int64(thrift, 3, (int64_t)rows);
	orma_thrift_int64(thrift, 6, (int64_t)bytes);
	orma_thrift_end(thrift);
}

static void describe_file(struct orma_thrift *thrift, const struct orma_parquet *parquet)
{
	size_t groups = parquet->group_rows.size / sizeof(uint64_t);
	orma_thrift_int32(thrift, 1, 1);
	describe_schema(thrift, parquet);
	orma_thrift_int64(thrift, 3, (int64_t)parquet->total_rows);
	orma_thrift_list(thrift, 4, ORMA_THRIFT_STRUCT, groups);
	for (size_t i = 0; i < groups; i++) {
		uint64_t rows;
		memcpy(&rows, parquet->group_rows.data + i * sizeof(rows), sizeof(rows));
		describe_group(thrift, parquet,
			       (const struct chunk *)(const void *)parquet->chunks.data +
				       i * parquet->column_count,
			       rows);
	}
	orma_thrift_bytes(thrift, 6, ORMA_STR("orma " ORMA_VERSION_STRING));
	/* The bounds are ordered as the types say. */
	orma_thrift_list(thrift, 7, ORMA_THRIFT_STRUCT, parquet->column_count);
	for (size_t i = 0; i < parquet->column_count; i++) {
		orma_thrift_begin(thrift, 0);
		orma_thrift_begin(thrift, 1);
		orma_thrift_end(thrift);
		orma_thrift_end(thrift);
	}
	orma_thrift_end(thrift);
}

int orma_parquet_end(struct orma_parquet *parquet)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf description = {0};
	struct orma_thrift thrift = {.out = &description};
	int status = parquet->row_count > 0 ? write_group(parquet) : 0;
	if (status)
		return status;
	describe_file(&thrift, parquet);
	int r = thrift.error;
	uint32_t size = (uint32_t)description.size;
	if (r == 0)
		r = append_le32(&description, size);
	if (r == 0)
		r = orma_base_buf_append_str(&description, "PAR1");
	return r < 0 ? fail(r)
		     : orma_export_file_write(parquet->file, description.data, description.size);
}
