/* SPDX-License-Identifier: Apache-2.0
 * export.h - what `orma export` can do; without_sql.c has the one function for binaries that cannot.
 */
#ifndef ORMA_TOOL_EXPORT_H
#define ORMA_TOOL_EXPORT_H

#include "tool/ask/ask.h"

enum orma_export_kind {
	ORMA_EXPORT_NOTHING,
	ORMA_EXPORT_SQLITE,
	ORMA_EXPORT_CSV,
	ORMA_EXPORT_PARQUET,
	ORMA_EXPORT_JSON,
	ORMA_EXPORT_COLLAPSED,
	ORMA_EXPORT_PPROF,
};

enum { ORMA_EXPORT_TABLES_MAX = 64 };

struct orma_export_options {
	struct orma_ask_options ask;
	enum orma_export_kind kind;
	const char *path;                           /* a file; for CSV and Parquet a folder */
	const char *tables[ORMA_EXPORT_TABLES_MAX]; /* names; none = all that there are */
	size_t table_count;
	const char *value; /* the name of a profile's value; NULL = the usual one */
	bool has_slices;   /* collapsed stacks are those of slices, not of samples */
	bool is_plain;     /* Parquet without compression */
};

/* Loads a trace and writes it. Returns the exit status. */
int orma_export_run(const struct orma_export_options *options, const char *const *paths,
		    size_t count);
/* Writes a trace that is loaded. Returns the exit status. */
int orma_export_loaded(struct orma_ask *ask, const struct orma_export_options *options);

#endif
