/* SPDX-License-Identifier: Apache-2.0
 * name_list.h - the names that queries may use: tables, columns, functions, modules.
 */
#ifndef ORMA_TOOL_NAME_LIST_H
#define ORMA_TOOL_NAME_LIST_H

#include "base/buf.h"
#include "base/str.h"

struct orma_trace_database;

/*
 * Adds names that begin with `prefix`, without regard to case, each with a NUL behind. 0 or -ENOMEM. Tables and functions
 * whose names begin with an underscore are for the modules of SQL, and are left out unless the prefix has one, too.
 */
int orma_names_add_tables(struct orma_trace_database *database, struct orma_str prefix,
			  struct orma_buf *ret);
int orma_names_add_functions(struct orma_trace_database *database, struct orma_str prefix,
			     struct orma_buf *ret);
int orma_names_add_modules(struct orma_trace_database *database, struct orma_str prefix,
			   struct orma_buf *ret);
int orma_names_add_keywords(struct orma_str prefix, struct orma_buf *ret);
/* A table that does not exist has no columns. */
int orma_names_add_columns(struct orma_trace_database *database, struct orma_str table,
			   struct orma_str prefix, struct orma_buf *ret);
/* Sorts the names, and removes those that are there twice. 0 or -ENOMEM. */
int orma_names_sort(struct orma_buf *names);

#endif
