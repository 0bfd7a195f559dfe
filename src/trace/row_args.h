/* SPDX-License-Identifier: Apache-2.0
 * row_args.h - arguments of slices, states, processes and threads, which several packets of a trace add to.
 */
#ifndef ORMA_TRACE_ROW_ARGS_H
#define ORMA_TRACE_ROW_ARGS_H

#include "trace/args.h"

/* {.tables = ..., .sets = ..., .column = ...} is empty. */
struct orma_row_args {
	struct orma_tables *tables;
	struct orma_arg_sets *sets;
	struct orma_column *column; /* belongs to the table whose rows have the arguments */
	struct orma_map lists;      /* struct orma_arg_list by row */
};

void orma_row_args_done(struct orma_row_args *args);
/* Returns the list of a row, to add to; NULL when out of memory. */
struct orma_arg_list *orma_row_args_get(struct orma_row_args *args, int64_t row);
/* Adds the lists of all rows to the tables. 0 or a negative errno value. */
int orma_row_args_end(struct orma_row_args *args);

#endif
