/* SPDX-License-Identifier: Apache-2.0
 * value_filter.h - the filter that a condition and SQLite's value on its other side make.
 */
#ifndef ORMA_SQL_VALUE_FILTER_H
#define ORMA_SQL_VALUE_FILTER_H

#include <orma/error.h>
#include <sqlite3.h>
#include <stddef.h>

#include "sql/cell_filter.h"
#include "sql/relation_plan.h"

struct orma_relation;

/*
 * `ret` fits the rows for which SQLite would find the condition true; more rows where the plan has SQLite check again.
 * It is set, and to be given to orma_sql_filter_done(), also on failure: -ENOMEM, -EINVAL (not a regular expression) or
 * -ENOTSUP.
 */
int orma_sql_value_filter(const struct orma_relation *relation, const struct orma_plan_term *term,
			  sqlite3_value *value, struct orma_filter *ret, struct orma_error *reterr);
/*
 * The cell that equals the value. 1, 0 when none does, -ENOTSUP when SQLite has to compare (a number with texts), or
 * -ENOMEM.
 */
int orma_sql_value_cell(const struct orma_relation *relation, size_t column_idx,
			sqlite3_value *value, int64_t *ret);

#endif
