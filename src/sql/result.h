/* SPDX-License-Identifier: Apache-2.0
 * result.h - runs a script and hands out its rows as typed values.
 */
#ifndef ORMA_SQL_RESULT_H
#define ORMA_SQL_RESULT_H

#include <orma/error.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct orma_sql;

enum orma_value_kind {
	ORMA_VALUE_NULL,
	ORMA_VALUE_INT,
	ORMA_VALUE_DOUBLE,
	ORMA_VALUE_TEXT,
	ORMA_VALUE_BLOB,
};

struct orma_value {
	enum orma_value_kind kind;
	int64_t integer;
	double real;
	struct orma_str bytes; /* text has no NUL at its end */
};

/* Names and values are valid during the call. A negative errno value ends the script with it. */
struct orma_result_sink {
	void *ctx;
	/* A statement with columns begins. */
	int (*begin)(void *ctx, const char *const *names, size_t column_count);
	int (*row)(void *ctx, const struct orma_value *values, size_t column_count);
	int (*end)(void *ctx);
};

/* A place in the text of a script, counted from 1; line 0: an error has none there. */
struct orma_result_place {
	uint32_t line, column;
};

/* 0, the sink's error, -ENOMEM, -ECANCELED, or -EINVAL with line, column and text in reterr. */
int orma_sql_run(struct orma_sql *sql, struct orma_str text, const struct orma_result_sink *sink,
		 struct orma_error *reterr);
/* The same; sets *ret_place in any case. */
int orma_sql_run_placed(struct orma_sql *sql, struct orma_str text,
			const struct orma_result_sink *sink, struct orma_result_place *ret_place,
			struct orma_error *reterr);

#endif
