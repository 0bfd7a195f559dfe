/* SPDX-License-Identifier: Apache-2.0
 * relation_cursor.h - carries out a plan: the rows one after the other, and their cells.
 */
#ifndef ORMA_SQL_RELATION_CURSOR_H
#define ORMA_SQL_RELATION_CURSOR_H

#include <orma/error.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "sql/relation_plan.h"
#include "sql/row_sort.h"
#include "sql/scan.h"

enum orma_cursor_mode {
	ORMA_CURSOR_BLOCKS, /* through the relation */
	ORMA_CURSOR_ROWS,   /* through a list of rows */
};

struct orma_relation_cursor {
	struct orma_relation *relation;
	struct orma_interrupt *interrupt;
	const char
		*plan_text; /* that `plan` was read from; its address tells one plan from another */
	struct orma_plan plan;
	int point_term, probe_term; /* terms that leave one row, or few; -1 = none */
	struct orma_filter filters[ORMA_PLAN_TERMS_MAX]; /* by term */
	size_t filter_count;
	enum orma_cursor_mode mode;
	bool is_end;
	uint64_t row;
	/* A list of rows, and the filters that are left to check for each. */
	const uint32_t *rows;
	uint32_t *own_rows;
	uint32_t one_row;
	size_t row_count, rows_done;
	uint64_t unchecked; /* a bit for each filter */
	/* Blocks. */
	struct orma_scan scan;
	size_t chosen_done;
	struct orma_row_sort sort;
};

/* The relation and the interrupt outlive the cursor. */
void orma_sql_cursor_init(struct orma_relation_cursor *cursor, struct orma_relation *relation,
			  struct orma_interrupt *interrupt);
void orma_sql_cursor_done(struct orma_relation_cursor *cursor);
/*
 * Goes to the first row of a plan, whose text and terms' values are given. 0, or -ECANCELED, -ENOMEM, -EINVAL (not a regular
 * expression) or an error of a column.
 */
int orma_sql_cursor_start(struct orma_relation_cursor *cursor, const char *plan_text,
			  sqlite3_value **values, struct orma_error *reterr);
/* Goes to the next row, and sets is_end behind the last. Errors as above. */
int orma_sql_cursor_next(struct orma_relation_cursor *cursor);

/* The cell of the current row. 0, -ENOMEM or an error of the column. */
static inline int orma_sql_cursor_cell(struct orma_relation_cursor *cursor, size_t column_idx,
				       int64_t *ret)
{
	if (cursor->mode == ORMA_CURSOR_ROWS)
		return orma_sql_relation_get(cursor->relation, column_idx, cursor->row, ret);
	return orma_sql_scan_cell(&cursor->scan, column_idx,
				  (uint16_t)(cursor->row % ORMA_BLOCK_ROWS), ret);
}

#endif
