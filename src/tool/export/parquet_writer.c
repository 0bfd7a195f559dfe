/* SPDX-License-Identifier: Apache-2.0
 * parquet_writer.c - groups of rows as the format has them:
 *
 *	"PAR1"  group: [dictionary page] data page, for each column  ...  description  its size  "PAR1"
 *
 * A data page has a bit for each row that says whether there is a value, and then the values that are there (parquet_column.c). A
 * group is kept in memory until it is full. The facts for the description are kept to the end: some hundred bytes for each column of
 * a group.
 */
#include "tool/export/parquet_writer.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "codec/compression.h"
#include "tool/export/parquet_column.h"
#include "tool/export/thrift_writer.h"
#include "tool/tool.h"

enum {
	GROUP_ROWS = 1 << 17,
	GROUP_TEXT_BYTES = 64 << 20,
	ZSTD_LEVEL = 3,
};
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };
enum { CODEC_NONE = 0, CODEC_ZSTD = 6 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

/* The facts that the description has for one column of one group. */
struct chunk {
	uint64_t offset, dictionary_offset; /* the latter is 0 when there is none */
	uint64_t plain_bytes, bytes, value_count, null_count;
	struct orma_parquet_bounds bounds;
};

struct orma_parquet {
	struct orma_export_file *file;
	struct orma_tool_compressor *compressor; /* NULL = none */
	struct orma_parquet_column *columns;
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
		int r = orma_parquet_column_init(&parquet->columns[i], &specs[i], GROUP_ROWS);
		if (r < 0)
			return r;
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
	for (size_t i = 0; parquet->columns && i < parquet->column_count; i++)
		orma_parquet_column_done(&parquet->columns[i]);
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
	struct orma_parquet_column *column = &parquet->columns[column_idx];
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
	struct orma_parquet_column *column = &parquet->columns[column_idx];
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

/* --- groups -------------------------------------------------------------------------------- */

static int write_dictionary(struct orma_parquet *parquet, struct orma_parquet_column *column,
			    struct chunk *chunk)
{
	parquet->page.size = 0;
	int r = orma_parquet_column_append_dictionary(column, &parquet->page);
	chunk->dictionary_offset = parquet->file->size;
	return r < 0 ? fail(r)
		     : write_page(parquet, PAGE_DICTIONARY, column->texts.count, ENCODING_PLAIN,
				  chunk);
}

static int write_column(struct orma_parquet *parquet, struct orma_parquet_column *column)
{
	struct chunk chunk = {.value_count = parquet->row_count,
			      .null_count = parquet->row_count - column->value_count};
	bool is_indexed = orma_parquet_column_has_dictionary(column);
	int status = is_indexed ? write_dictionary(parquet, column, &chunk) : 0;
	if (status)
		return status;
	parquet->page.size = 0;
	chunk.offset = parquet->file->size;
	int r = orma_parquet_column_append_presence(column, parquet->row_count, &parquet->page);
	if (r == 0)
		r = orma_parquet_column_append_values(column, &parquet->page);
	if (r < 0)
		return fail(r);
	status = write_page(parquet, PAGE_DATA, parquet->row_count,
			    is_indexed ? ENCODING_DICTIONARY : ENCODING_PLAIN, &chunk);
	orma_parquet_column_find_bounds(column, &chunk.bounds);
	orma_parquet_column_clear(column, parquet->row_count);
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

static int physical_type(const struct orma_parquet_column *column)
{
	return orma_parquet_column_is_text(column) ? ORMA_PARQUET_BYTES : (int)column->spec.type;
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
		const struct orma_parquet_column *column = &parquet->columns[i];
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
				const struct orma_parquet_column *column)
{
	const struct orma_parquet_bounds *bounds = &chunk->bounds;
	orma_thrift_begin(thrift, 12);
	orma_thrift_int64(thrift, 3, (int64_t)chunk->null_count);
	/* An empty text is a bound, and no bound has the size 0 otherwise. */
	bool may_be_empty = orma_parquet_column_is_text(column);
	if (bounds->is_known && bounds->max_size > 0)
		orma_thrift_bytes(thrift, 5, (struct orma_str){bounds->max, bounds->max_size});
	if (bounds->is_known && bounds->min_size > 0 && (may_be_empty || bounds->min_size == 8))
		orma_thrift_bytes(thrift, 6, (struct orma_str){bounds->min, bounds->min_size});
	orma_thrift_end(thrift);
}

static void describe_chunk(struct orma_thrift *thrift, const struct orma_parquet *parquet,
			   const struct orma_parquet_column *column, const struct chunk *chunk)
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
		r = orma_parquet_append_le32(&description, size);
	if (r == 0)
		r = orma_base_buf_append_str(&description, "PAR1");
	return r < 0 ? fail(r)
		     : orma_export_file_write(parquet->file, description.data, description.size);
}
