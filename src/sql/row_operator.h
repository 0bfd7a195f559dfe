/* SPDX-License-Identifier: Apache-2.0
 * row_operator.h - operators of the standard library in C: `from name(argument, ...)` is a table of the rows that a
 * function makes of its arguments.
 */
#ifndef ORMA_SQL_ROW_OPERATOR_H
#define ORMA_SQL_ROW_OPERATOR_H

#include <orma/error.h>

#include "sql/row_set.h"

struct orma_sql;

enum { ORMA_OPERATOR_ARGS_MAX = 16 };

struct orma_row_call {
	void *ctx;            /* that the operator was added with */
	sqlite3_value **argv; /* NULL = this argument is not given */
	size_t argc;          /* up to the last that is given */
	struct orma_row_set *ret;
	struct orma_error *reterr;
};

struct orma_row_operator {
	const char *name;
	/* The names of the columns, with commas between them; the arguments are hidden columns behind them. */
	const char *columns;
	size_t column_count, arg_count;
	/* How many rows there are, about: a small number makes the operator one that is asked for each row of another table. */
	double rows;
	/* 0, -ENOMEM, -ECANCELED, -EINVAL with a message, or an error of the tables. */
	int (*run)(struct orma_row_call *call);
};

/* `operator` is static. 0 or -ENOMEM. */
int orma_sql_add_operator(struct orma_sql *sql, const struct orma_row_operator *operator,
			  void * ctx);
/* The aggregate __intrinsic_rows(). 0 or -ENOMEM. */
int orma_sql_add_row_sets(struct orma_sql *sql);

/* The rows of an argument; of NULL and of one that is not given, no rows. */
const struct orma_row_set *orma_row_call_rows(const struct orma_row_call *call, size_t arg);

#endif
