/* SPDX-License-Identifier: Apache-2.0
 * export_tables.h - the tables of a trace, and how each kind of file takes them.
 */
#ifndef ORMA_TOOL_EXPORT_TABLES_H
#define ORMA_TOOL_EXPORT_TABLES_H

#include <sqlite3.h>

#include "answers/trace_database.h"
#include "tool/export/export.h"

/* All return the exit status; the message is then printed. */
int orma_export_sqlite(struct orma_trace_database *database,
		       const struct orma_export_options *options);
int orma_export_csv(struct orma_trace_database *database,
		    const struct orma_export_options *options);
int orma_export_parquet(struct orma_trace_database *database,
			const struct orma_export_options *options);
int orma_export_json(struct orma_trace_database *database,
		     const struct orma_export_options *options);
int orma_export_collapsed(struct orma_trace_database *database,
			  const struct orma_export_options *options);
int orma_export_pprof(struct orma_trace_database *database,
		      const struct orma_export_options *options);

/*
 * Calls `take` with each table and view that is to be written, and a statement that reads it, before its first row. Tables
 * that belong to other systems are left out while they are empty. Ends with the first value that is not 0.
 */
int orma_export_each_table(struct orma_trace_database *database,
			   const struct orma_export_options *options,
			   int (*take)(void *ctx, const char *name, sqlite3_stmt *rows), void *ctx);
/* Prepares a statement of ours or over a table. NULL when a message has said why there is none. */
sqlite3_stmt *orma_export_prepare(struct orma_trace_database *database, const char *format, ...);
/* Goes to the next row: 1, 0 behind the last one, or -1 when a message has said what is wrong. */
int orma_export_step(sqlite3_stmt *rows);

#endif
