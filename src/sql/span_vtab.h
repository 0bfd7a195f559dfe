/* SPDX-License-Identifier: Apache-2.0
 * span_vtab.h - a span join as a table of SQLite, and which conditions are checked before joining.
 */
#ifndef ORMA_SQL_SPAN_VTAB_H
#define ORMA_SQL_SPAN_VTAB_H

#include <sqlite3.h>

#include "base/buf.h"
#include "sql/span_source.h"

enum orma_span_partitioning {
	ORMA_SPAN_PARTITIONED_NONE,
	ORMA_SPAN_PARTITIONED_BOTH,
	ORMA_SPAN_PARTITIONED_ONE
};

struct orma_span_place {
	int side, column;
};

struct orma_span_vtab {
	sqlite3_vtab base;
	struct orma_sql *sql;
	struct orma_span_table tables[2];
	enum orma_span_partitioning partitioning;
	struct orma_span_place
		*places; /* by column of the join; ts, dur and partition have side -1 */
	int column_count, special_count;
};

/* xBestIndex. */
int orma_sql_span_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
/*
 * Goes through the plan's conditions of a side: appends them to the query, or, with a statement, binds their values. 0 or
 * -ENOMEM.
 */
int orma_sql_span_apply_plan(const struct orma_span_vtab *vtab, int side, const char *plan,
			     struct orma_buf *text, sqlite3_stmt *statement,
			     sqlite3_value **values);

#endif
