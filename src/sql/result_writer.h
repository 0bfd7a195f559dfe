/* SPDX-License-Identifier: Apache-2.0
 * result_writer.h - rows as text: CSV as Perfetto's Trace Processor writes it, aligned columns, JSON and Markdown.
 */
#ifndef ORMA_SQL_RESULT_WRITER_H
#define ORMA_SQL_RESULT_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "sql/result.h"

enum orma_result_format {
	ORMA_RESULT_CSV,
	ORMA_RESULT_TABLE, /* control characters are escaped, for terminals */
	ORMA_RESULT_JSON,  /* an array of objects for each statement, on lines of its own */
	ORMA_RESULT_MARKDOWN,
};

/* {.format, .out} is ready. `out` may be emptied after each call. */
struct orma_result_writer {
	enum orma_result_format format;
	struct orma_buf *out;
	size_t statements; /* so far */
	/* All but the format and the buffer is the writer's. */
	bool is_suppressed;
	size_t rows, column_count;
	struct orma_buf names; /* JSON: `"name":` for each column, each with a NUL behind */
	struct orma_buf cells; /* tables: the texts of the rows that wait, each with a NUL behind */
	size_t *widths;        /* tables: of columns */
	bool *are_numbers;
	size_t waiting; /* rows in `cells` */
	bool has_widths;
};

void orma_sql_writer_done(struct orma_result_writer *writer);
/* For struct orma_result_sink; the writer is its ctx. 0 or -ENOMEM. */
int orma_sql_writer_begin(void *writer, const char *const *names, size_t column_count);
int orma_sql_writer_row(void *writer, const struct orma_value *values, size_t column_count);
int orma_sql_writer_end(void *writer);

#endif
