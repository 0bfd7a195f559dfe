/* SPDX-License-Identifier: Apache-2.0
 * native.h - the commonest aggregates, a block of rows at a time instead of SQLite's row by row.
 *
 * `select name, count(*), sum(dur) from slice where dur > 5 group by name having ... order by ... limit ...`: the groups
 * are computed here and become a small table, and the statement becomes one over that table. So do the selects in
 * parentheses. Everything that is not recognised is left to SQLite, which gives the same rows, only later.
 */
#ifndef ORMA_SQL_NATIVE_H
#define ORMA_SQL_NATIVE_H

#include "base/buf.h"
#include "base/str.h"
#include "sql/cell_filter.h"

struct orma_error;
struct orma_relation;
struct orma_sql;
struct sqlite3_stmt;

enum orma_aggregate_kind {
	ORMA_AGGREGATE_COUNT,
	ORMA_AGGREGATE_SUM,
	ORMA_AGGREGATE_MIN,
	ORMA_AGGREGATE_MAX,
	ORMA_AGGREGATE_AVG,
};

enum { ORMA_NATIVE_GROUPS_MAX = 4, ORMA_NATIVE_AGGREGATES_MAX = 16, ORMA_NATIVE_FILTERS_MAX = 16 };

struct orma_native_query {
	struct orma_relation *relation;
	struct orma_relation *joined; /* the same if the query made it; else NULL */
	struct orma_filter filters[ORMA_NATIVE_FILTERS_MAX];
	size_t filter_count;
	size_t groups[ORMA_NATIVE_GROUPS_MAX]; /* columns */
	size_t group_count;
	bool is_distinct; /* `select distinct`: groups without aggregates, in the order of their first rows */
	struct orma_native_aggregate {
		enum orma_aggregate_kind kind;
		int column; /* -1 = all rows are counted */
	} aggregates[ORMA_NATIVE_AGGREGATES_MAX];
	size_t aggregate_count;
	struct orma_buf sql; /* the statement over the table of groups */
	struct orma_buf
		key_sql; /* finds which values of a join's only group column are needed; may be empty */
};

/*
 * Recognises a statement. `table` is the name that the table of groups will have; its columns are g0, g1, ... and a0, a1,
 * ... 1, 0 = leave it to SQLite, or -ENOMEM. The query is to be given to done() in any case.
 */
int orma_sql_native_parse(struct orma_sql *sql, struct orma_str text, const char *table,
			  struct orma_native_query *ret);
/*
 * Writes another statement that has the same row as `select count(distinct ...) from ...`. 1, 0 = it is no such statement, or
 * -ENOMEM.
 */
int orma_sql_native_count_distinct(struct orma_str text, struct orma_buf *out);
void orma_sql_native_done(struct orma_native_query *query);
/* Forgets all but the statements. */
void orma_sql_native_clear(struct orma_native_query *query);

/* A select of a relation's columns, whose rows come in the order of their numbers. */
struct orma_native_rows {
	struct orma_native_query query; /* its relation and filters */
	size_t columns[64];
	size_t column_count;
};

/* Recognises a select that only chooses columns and rows. Results as above; `ret` is to be given to done() in any case. */
int orma_sql_native_rows(struct orma_sql *sql, struct orma_str text, struct orma_native_rows *ret);

/*
 * Computes the groups, and registers them as a table of this name. 1, 0 = leave it to SQLite (sums overflow, too many
 * groups), -ENOMEM, -ECANCELED or an error of a column.
 */
int orma_sql_native_compute(struct orma_sql *sql, const struct orma_native_query *query,
			    const char *name);

/* The tables of groups that a statement reads. {0} has none. */
struct orma_native_tables {
	uint64_t numbers[32];
	size_t count;
};

/*
 * Prepares a statement as orma_sql_prepare() does, over groups where they can be computed. The tables are to be dropped
 * when the statement is finalized.
 */
int orma_sql_native_prepare(struct orma_sql *sql, struct orma_str text,
			    struct orma_native_tables *tables, struct sqlite3_stmt **ret,
			    struct orma_error *reterr);
void orma_sql_native_drop(struct orma_sql *sql, struct orma_native_tables *tables);

#endif
