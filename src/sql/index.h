/* SPDX-License-Identifier: Apache-2.0
 * index.h - the rows of a relation in the order of one column's cells.
 */
#ifndef ORMA_SQL_INDEX_H
#define ORMA_SQL_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct orma_relation;

/*
 * Rows with NULL are not in it. Where the cells lie close together, `offsets` has a place for each value from `min`
 * on; else for each value of `values`, which is sorted.
 */
struct orma_index {
	uint64_t row_count; /* when the index was made */
	uint64_t distinct;
	uint32_t *rows; /* by cell, then by number */
	uint32_t *offsets;
	int64_t *values; /* NULL = each from `min` on */
	size_t value_count;
	int64_t min;
};

/* 0, -ENOMEM, -EOVERFLOW (2^32 rows), or an error of a computed column. */
int orma_sql_index_new(const struct orma_relation *relation, size_t column_idx,
		       struct orma_index **ret);
/* Returns the index of the relation's column, which is made when there is none. Errors as above. */
int orma_sql_index_use(struct orma_relation *relation, size_t column_idx,
		       const struct orma_index **ret);
void orma_sql_index_free(struct orma_index *index);
/* Returns the number of rows with this cell; `ret` has the first of them, in ascending order. */
size_t orma_sql_index_find(const struct orma_index *index, int64_t cell, const uint32_t **ret);

#endif
