/* SPDX-License-Identifier: Apache-2.0
 * table.h - columns with names that have the same number of rows.
 */
#ifndef ORMA_STORE_TABLE_H
#define ORMA_STORE_TABLE_H

#include "store/column.h"

enum {
	ORMA_COLUMN_CHANGES = 1, /* cells are changed after their row was added */
	ORMA_COLUMN_SORTED = 2,  /* cells never get smaller from row to row */
	ORMA_COLUMN_HIDDEN = 4,  /* not part of `select *` */
	ORMA_COLUMN_RANDOM =
		8, /* cells are read and changed at any time before the table is sealed */
	ORMA_COLUMN_SPARSE =
		16, /* most cells are NULL, and are not written before another follows; not for doubles */
};

struct orma_column_spec {
	const char *name;
	enum orma_column_type type;
	unsigned flags;
};

struct orma_group_sums;

struct orma_table {
	const char *name;
	const struct orma_column_spec
		*specs; /* the column `id`, which is the row's number, is not one of them */
	struct orma_column *columns;
	size_t column_count;
	uint64_t sparse;              /* bit N: column N is, until the table is sealed */
	struct orma_group_sums *sums; /* see group_sums.h; NULL = none */
};

/* `name` and `specs` live as long as the table. 0 or -ENOMEM. */
int orma_store_table_init(struct orma_table *table, const char *name,
			  const struct orma_column_spec *specs, size_t column_count,
			  struct orma_extents *extents);
void orma_store_table_done(struct orma_table *table);
static inline uint64_t orma_store_table_rows(const struct orma_table *table)
{
	return orma_store_column_rows(&table->columns[0]);
}

/* Adds a row of `column_count` cells. 0, -ENOMEM or an error of spilling; then the table is of no use any more. */
int orma_store_table_append(struct orma_table *table, const int64_t *cells);
/* Only the newest rows of the table will be there, some thousand at least. */
void orma_store_table_forget(struct orma_table *table);
/* Makes all changes, so that the table can be read. 0 or an error as above. */
int orma_store_table_seal(struct orma_table *table);

#endif
