/* SPDX-License-Identifier: Apache-2.0
 * slice_args.h - arguments of slices that are made while the trace is read: those of the begin and of the end are one set.
 */
#ifndef ORMA_TRACE_SLICE_ARGS_H
#define ORMA_TRACE_SLICE_ARGS_H

#include "trace/args.h"

/* {.tables = ..., .sets = ...} is empty. */
struct orma_slice_args {
	struct orma_tables *tables;
	struct orma_arg_sets *sets;
	struct orma_map lists; /* struct orma_arg_list by slice */
};

void orma_slice_args_done(struct orma_slice_args *args);
/* Returns the list of a slice, to add to; NULL when out of memory. */
struct orma_arg_list *orma_slice_args_get(struct orma_slice_args *args, int64_t slice);
/* Adds the lists of all slices to the tables. 0 or a negative errno value. */
int orma_slice_args_end(struct orma_slice_args *args);

#endif
