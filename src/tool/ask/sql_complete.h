/* SPDX-License-Identifier: Apache-2.0
 * sql_complete.h - which names fit at a place in a query.
 */
#ifndef ORMA_TOOL_SQL_COMPLETE_H
#define ORMA_TOOL_SQL_COMPLETE_H

#include "base/buf.h"
#include "base/str.h"

struct orma_trace_database;

/*
 * Adds the names that may stand in place of the word before *begin, each with a NUL behind and sorted, and moves *begin to
 * where the word begins. 0 or -ENOMEM.
 */
int orma_sql_complete(struct orma_trace_database *database, struct orma_str text, size_t *begin,
		      struct orma_buf *ret);

#endif
