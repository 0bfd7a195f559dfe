/* SPDX-License-Identifier: Apache-2.0
 * native_lookup.h - a large table joined with another by the other one's id, as one relation.
 */
#ifndef ORMA_SQL_NATIVE_LOOKUP_H
#define ORMA_SQL_NATIVE_LOOKUP_H

#include "sql/native_join.h"

/*
 * Sets the query's relation, and the names of its columns, for a select of two large tables of which one is found by its
 * id. 0, -ENOMEM or ORMA_NO_MATCH.
 */
int orma_sql_lookup_resolve(struct orma_select *select, struct orma_arena *arena);

#endif
