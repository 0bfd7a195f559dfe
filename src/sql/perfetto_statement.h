/* SPDX-License-Identifier: Apache-2.0
 * perfetto_statement.h - the statements that PerfettoSQL adds to SQL, taken apart.
 */
#ifndef ORMA_SQL_PERFETTO_STATEMENT_H
#define ORMA_SQL_PERFETTO_STATEMENT_H

#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum orma_perfetto_kind {
	ORMA_PERFETTO_NONE, /* a statement of SQLite */
	ORMA_PERFETTO_TABLE,
	ORMA_PERFETTO_VIEW,
	ORMA_PERFETTO_FUNCTION,
	ORMA_PERFETTO_MACRO,
	ORMA_PERFETTO_INDEX,
	ORMA_PERFETTO_DROP_INDEX,
	ORMA_PERFETTO_INCLUDE,
};

enum orma_perfetto_type {
	ORMA_PERFETTO_ANY,
	ORMA_PERFETTO_LONG,
	ORMA_PERFETTO_DOUBLE,
	ORMA_PERFETTO_BOOL,
	ORMA_PERFETTO_STRING,
	ORMA_PERFETTO_BYTES,
};

struct orma_perfetto_column {
	const char *name;
	enum orma_perfetto_type type;
	const char *type_name; /* as written */
	const char *place;     /* where the name is in the statement */
};

/* All but the texts that point into the statement is in the arena. */
struct orma_perfetto_statement {
	enum orma_perfetto_kind kind;
	bool replaces;
	const char *name;                     /* names of included modules are in `columns` */
	const char *table;                    /* has the index */
	const char *name_place, *table_place; /* where they are in the statement */
	/* The arguments of a function or macro, the schema of a table or view, the columns of an index. */
	struct orma_perfetto_column *columns;
	size_t column_count;
	bool is_variadic; /* the last argument may occur any number of times */
	bool returns_table;
	struct orma_perfetto_column result; /* a scalar function's type */
	struct orma_perfetto_column *result_columns;
	size_t result_column_count;
	const char *delegate; /* the function that the calls go to; NULL = there is a body */
	struct orma_str body;
	unsigned body_line, body_column; /* in the text of the user; 0 = not known */
};

/* True when the text begins like `create perfetto macro`, whose body must not be expanded yet. */
bool orma_sql_perfetto_is_macro(struct orma_str sql);
/*
 * 0, -ENOMEM, or -EINVAL (not a valid statement). Then *reterr_offset says where the fault is.
 */
int orma_sql_perfetto_parse(struct orma_str sql, struct orma_arena *arena,
			    struct orma_perfetto_statement *ret, size_t *reterr_offset,
			    struct orma_error *reterr);

#endif
