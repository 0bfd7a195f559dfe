/* SPDX-License-Identifier: Apache-2.0
 * parquet_writer.h - a file of Apache Parquet, row by row.
 *
 * Columns may be NULL everywhere. Texts are in dictionaries where that is shorter. Pages are compressed with zstd, if the
 * binary has it. Each group of rows has the statistics that readers skip groups by.
 */
#ifndef ORMA_TOOL_PARQUET_WRITER_H
#define ORMA_TOOL_PARQUET_WRITER_H

#include "tool/export/export_file.h"

/* The numbers are those of the format. */
enum orma_parquet_type {
	ORMA_PARQUET_INT64 = 2,
	ORMA_PARQUET_DOUBLE = 5,
	ORMA_PARQUET_BYTES = 6,
	ORMA_PARQUET_TEXT = 16, /* bytes that are UTF-8 */
};

struct orma_parquet_spec {
	const char *name; /* borrowed while the file is written */
	enum orma_parquet_type type;
};

struct orma_parquet;

/* Begins to write. Its functions return 0, or ORMA_EXIT_FAILURE when a message has said what is wrong. */
int orma_parquet_new(struct orma_export_file *file, const struct orma_parquet_spec *columns,
		     size_t column_count, bool is_plain, struct orma_parquet **ret);
void orma_parquet_free(struct orma_parquet *parquet);
/* Puts a value of the row that is written; a column that is left out is NULL. Texts become UTF-8. */
int orma_parquet_put_int(struct orma_parquet *parquet, size_t column, int64_t value);
int orma_parquet_put_double(struct orma_parquet *parquet, size_t column, double value);
int orma_parquet_put_bytes(struct orma_parquet *parquet, size_t column, struct orma_str value);
int orma_parquet_end_row(struct orma_parquet *parquet);
/* Writes the last rows, and the description of the file. */
int orma_parquet_end(struct orma_parquet *parquet);

#endif
