/* SPDX-License-Identifier: Apache-2.0
 * relation_plan.h - which conditions and which order of a query a relation takes over from SQLite.
 */
#ifndef ORMA_SQL_RELATION_PLAN_H
#define ORMA_SQL_RELATION_PLAN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

struct orma_relation;

enum { ORMA_PLAN_TERMS_MAX = 48, ORMA_PLAN_ORDERS_MAX = 8 };

enum orma_plan_op {
	ORMA_PLAN_EQUAL = '=',
	ORMA_PLAN_IN = 'i',
	ORMA_PLAN_LESS = '<',
	ORMA_PLAN_LESS_OR_EQUAL = '(',
	ORMA_PLAN_GREATER = '>',
	ORMA_PLAN_GREATER_OR_EQUAL = ')',
	ORMA_PLAN_NOT_EQUAL = '!',
	ORMA_PLAN_IS = 's',
	ORMA_PLAN_IS_NOT = 't',
	ORMA_PLAN_IS_NULL = 'n',
	ORMA_PLAN_NOT_NULL = 'o',
	ORMA_PLAN_GLOB = 'g',
	ORMA_PLAN_LIKE = 'l',
	ORMA_PLAN_REGEXP = 'r',
	ORMA_PLAN_LIMIT = 'L',
	ORMA_PLAN_OFFSET = 'O',
};

/* The n-th term gets the n-th value of xFilter. Rows come in the order of `orders`; none = that of their numbers. */
struct orma_plan {
	struct orma_plan_term {
		enum orma_plan_op op;
		size_t column_idx;
	} terms[ORMA_PLAN_TERMS_MAX];
	struct orma_plan_order {
		size_t column_idx;
		bool is_descending;
	} orders[ORMA_PLAN_ORDERS_MAX];
	size_t term_count, order_count;
	bool is_descending; /* by row number; then there are no orders */
};

/* xBestIndex. An SQLite result code. */
int orma_sql_plan_make(const struct orma_relation *relation, sqlite3_index_info *info);
/* Reads what plan_make() wrote into idxStr. */
void orma_sql_plan_read(const char *text, struct orma_plan *ret);

#endif
