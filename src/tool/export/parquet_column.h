/* SPDX-License-Identifier: Apache-2.0
 * parquet_column.h - the values of one column in a group of rows. Private to the writer of Parquet.
 */
#ifndef ORMA_TOOL_PARQUET_COLUMN_H
#define ORMA_TOOL_PARQUET_COLUMN_H

#include "base/buf.h"
#include "store/string_pool.h"
#include "tool/export/parquet_writer.h"

/* A longer text is not written as a bound. */
#define ORMA_PARQUET_BOUND_BYTES 64

struct orma_parquet_column {
	struct orma_parquet_spec spec;
	int64_t *values;   /* numbers, bits of doubles or ids of texts, without NULL */
	uint8_t *is_there; /* a byte for each row */
	size_t value_count;
	struct orma_string_pool texts; /* the texts of the group */
};

/* The smallest and the largest value, as plain bytes. */
struct orma_parquet_bounds {
	char min[ORMA_PARQUET_BOUND_BYTES], max[ORMA_PARQUET_BOUND_BYTES];
	uint8_t min_size, max_size; /* 0 = too long, or an empty text */
	bool is_known;
};

/* Makes an empty column for groups of `rows`. 0 or -ENOMEM; orma_parquet_column_done() follows in both cases. */
int orma_parquet_column_init(struct orma_parquet_column *column,
			     const struct orma_parquet_spec *spec, size_t rows);
void orma_parquet_column_done(struct orma_parquet_column *column);
/* Removes the values of a group of `rows`. */
void orma_parquet_column_clear(struct orma_parquet_column *column, size_t rows);

bool orma_parquet_column_is_text(const struct orma_parquet_column *column);
/* True if a dictionary makes the column shorter: texts occur about twice. */
bool orma_parquet_column_has_dictionary(const struct orma_parquet_column *column);

/* These append to `out`: 0 or -ENOMEM. */

/* The bits that say which rows have a value, with their size before them. */
int orma_parquet_column_append_presence(const struct orma_parquet_column *column, size_t rows,
					struct orma_buf *out);
/* The values, or their places in the dictionary. */
int orma_parquet_column_append_values(const struct orma_parquet_column *column,
				      struct orma_buf *out);
int orma_parquet_column_append_dictionary(const struct orma_parquet_column *column,
					  struct orma_buf *out);
int orma_parquet_append_le32(struct orma_buf *out, uint32_t value);

/* Finds the bounds of the values. They are not known if there is no value, or a value is not a number. */
void orma_parquet_column_find_bounds(const struct orma_parquet_column *column,
				     struct orma_parquet_bounds *ret);

#endif
