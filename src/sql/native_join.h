/* SPDX-License-Identifier: Apache-2.0
 * native_join.h - a join of one large table with others, over groups of the large one.
 */
#ifndef ORMA_SQL_NATIVE_JOIN_H
#define ORMA_SQL_NATIVE_JOIN_H

#include "sql/native_select.h"

enum { ORMA_JOIN_TABLES_MAX = 8 };

struct orma_join {
	struct orma_select *select; /* its table is the large one */
	struct orma_join_table {
		struct orma_str name, alias;
		size_t begin, end; /* tokens of both */
		size_t on_begin,
			on_end; /* the condition's; equal, and behind `using`, when there is none */
		bool is_left;   /* it stands behind `left join` */
	} tables[ORMA_JOIN_TABLES_MAX];
	size_t table_count, large;
	bool is_narrowed; /* conditions of other tables may leave out keys */
	/* The statement before and behind the large table, and where in it the tables begin and `where` ends. */
	struct orma_buf before, after;
	size_t from_offset, where_end;
};

/* Reads the names of the tables and where their conditions are. 0 or ORMA_NO_MATCH. */
int orma_sql_join_tables(const struct orma_select *select, struct orma_join *ret);
/* Reads the tables of a select that has several, and finds the large one. 0, -ENOMEM or ORMA_NO_MATCH. */
int orma_sql_join_read(struct orma_select *select, struct orma_arena *arena, struct orma_join *ret);
/* Writes the statement before and behind the large table, and sets the query's keys, aggregates and filters. Errors as above. */
int orma_sql_join_write(struct orma_join *join);
/* Matches a select of several tables, and sets the query of its groups. Errors as above. */
int orma_sql_join_match(struct orma_select *select, const char *table, struct orma_arena *arena);
/* Leaves out rows of the large table that the others leave out anyway. 0 or a negative errno value. */
int orma_sql_join_narrow(struct orma_sql *sql, struct orma_native_query *query);

#endif
