/* SPDX-License-Identifier: Apache-2.0
 * relation.h - what SQL sees of a table: named columns of int64_t cells, some stored and some computed.
 *
 * A cell is an integer, the id of a string in the pool, or the bits of a double (see store/column.h). Row numbers
 * start at 0, and the id of a row is its number. Rows may be added between two statements, but not during one.
 */
#ifndef ORMA_SQL_RELATION_H
#define ORMA_SQL_RELATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/string_pool.h"
#include "store/table.h"

/* Flags of a column besides those of store/table.h. */
enum {
	ORMA_RELATION_ROW = 1 << 8,           /* the cell is the number of the row, as in `id` */
	ORMA_RELATION_DISTINCT_ROWS = 1 << 9, /* no value occurs twice */
	ORMA_RELATION_CALL =
		1 << 10, /* the values that a function returns, which have no affinity */
};

/* Writes the cells of the rows [first, first + count), count <= ORMA_BLOCK_ROWS. 0 or a negative errno value. */
typedef int (*orma_relation_read_fn)(void *ctx, uint64_t first, size_t count, int64_t *ret);

struct orma_index;

struct orma_relation_column {
	const char *name;
	enum orma_column_type type;
	unsigned flags;
	/* One of `stored` and `read` is set, unless the column is the row's number. */
	const struct orma_column *stored;
	orma_relation_read_fn read;
	void *ctx;
	/* For a computed column: one that has all of its values, and maybe more; NULL = unknown. */
	const struct orma_column *values;
	/* How many different values there are, about; 0 = unknown. */
	uint64_t distinct;
	struct orma_index *index; /* the relation's; NULL until it is needed */
	unsigned scans;           /* for equal cells, since there is no index */
};

struct orma_relation {
	char *name;
	struct orma_relation_column *columns;
	size_t column_count, column_capacity;
	const struct orma_table *table; /* has as many rows; NULL = row_count says */
	uint64_t row_count;
	const struct orma_string_pool *pool;
	unsigned refs;
	/* Makes the rows of the table, before a statement that uses them is planned. 0 or a negative errno value; NULL = they
	 * are there. */
	int (*fill)(void *ctx);
	void *fill_ctx;
	/*
	 * Finds a column with what a function returns for one of the columns and a text, such as extract_arg(arg_set_id, 'key'): its
	 * cells are integers or NULL, or reading it fails with -ENOTSUP. It lives as long as the relation. 0, -ENOTSUP (there is
	 * none) or -ENOMEM. NULL = no function.
	 */
	int (*call)(void *ctx, struct orma_str text, struct orma_relation_column *ret);
	void *call_ctx;
	const char *call_name;
	size_t call_column;
	/* For relations that own what they show: called with ctx when the last reference goes. */
	void (*release)(void *ctx);
	void *release_ctx;
};

/*
 * `pool` outlives the relation. Column 0 has the row's number: `id_name` is its name; NULL = a hidden one, as tables have
 * that a query makes. 0 or -ENOMEM.
 */
int orma_sql_relation_new(const char *name, const char *id_name,
			  const struct orma_string_pool *pool, struct orma_relation **ret);
struct orma_relation *orma_sql_relation_ref(struct orma_relation *relation);
void orma_sql_relation_unref(struct orma_relation *relation);

/* Makes the relation's rows if they are not there yet. 0 or a negative errno value. */
static inline int orma_sql_relation_fill(struct orma_relation *relation)
{
	int r = relation->fill ? relation->fill(relation->fill_ctx) : 0;
	if (r == 0)
		relation->fill = NULL;
	return r;
}

/* The column's name and ctx outlive the relation. 0, -ENOMEM, or -EEXIST (two columns of one name). */
int orma_sql_relation_add(struct orma_relation *relation,
			  const struct orma_relation_column *column);
/* Adds all columns of a table that outlives the relation; the relation has its rows. Errors as above. */
int orma_sql_relation_add_table(struct orma_relation *relation, const struct orma_table *table);

static inline uint64_t orma_sql_relation_rows(const struct orma_relation *relation)
{
	return relation->table ? orma_store_table_rows(relation->table) : relation->row_count;
}

/* Returns the number of the column, or -1. Names are compared without regard to case, as in SQL. */
int orma_sql_relation_find(const struct orma_relation *relation, const char *name);
/* Writes the cells of a block, and returns how many there are, or a negative errno value. */
int orma_sql_relation_read(const struct orma_relation *relation, size_t column_idx,
			   uint64_t block_idx, int64_t ret[ORMA_BLOCK_ROWS]);
/* `row` is one of the relation's. 0 or a negative errno value. */
int orma_sql_relation_get(const struct orma_relation *relation, size_t column_idx, uint64_t row,
			  int64_t *ret);
/* The least and largest cell of the whole column, if the blocks' headers say so. Not for doubles. */
bool orma_sql_relation_range(const struct orma_relation *relation, size_t column_idx,
			     int64_t *retmin, int64_t *retmax);
/* True when lower_bound() works: a sorted column whose cells need not be computed. */
static inline bool orma_sql_relation_is_sorted(const struct orma_relation_column *column)
{
	return column->flags & ORMA_RELATION_ROW ||
	       (column->flags & ORMA_COLUMN_SORTED && column->stored &&
		column->type == ORMA_COLUMN_INT);
}
/* Returns the first row of a sorted column whose cell is not less than `cell`. */
uint64_t orma_sql_relation_lower_bound(const struct orma_relation *relation, size_t column_idx,
				       int64_t cell);
/* Returns how many different values the column has, about: at least 1. */
uint64_t orma_sql_relation_distinct(const struct orma_relation *relation, size_t column_idx);

#endif
