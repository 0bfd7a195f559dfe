/* SPDX-License-Identifier: Apache-2.0
 * span_source.h - one side of a span join: its rows as spans, and the time between them as shadows.
 */
#ifndef ORMA_SQL_SPAN_SOURCE_H
#define ORMA_SQL_SPAN_SOURCE_H

#include <orma/error.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_sql;

/* The table, once for all uses. Column numbers are those of `select * from table`. */
struct orma_span_table {
	char *name;
	char *partition; /* NULL = not partitioned */
	struct orma_span_column {
		char *name, *type;
	} * columns;
	size_t column_count;
	int ts_column, dur_column, partition_column; /* -1 = none */
	/* Shadows of gaps between spans, and of partitions without spans. */
	bool shows_gaps, shows_absent;
	bool is_shadow_when_empty;
};

/* Parses `table` or `table PARTITIONED column` and looks at its columns. 0, -ENOMEM or -EINVAL with a message. */
int orma_sql_span_table_init(struct orma_sql *sql, const char *argument,
			     struct orma_span_table *ret, struct orma_error *reterr);
void orma_sql_span_table_done(struct orma_span_table *table);

enum orma_span_state {
	ORMA_SPAN_ROW,
	ORMA_SPAN_GAP,    /* no row of this partition covers it */
	ORMA_SPAN_ABSENT, /* partitions without rows */
	ORMA_SPAN_END,
};

struct orma_span_source {
	struct orma_sql *sql;
	const struct orma_span_table *table;
	sqlite3_stmt *rows; /* sorted by partition and time, with conditions already bound */
	bool has_row;       /* the statement is at one, which comes next or is the current one */
	enum orma_span_state state;
	int64_t ts, end;
	int64_t partition;
	int64_t absent_from, absent_to; /* partitions, without the last one */
};

/* Goes to the first span. 0, -ENOMEM, -ECANCELED or -EINVAL with a message. */
int orma_sql_span_start(struct orma_span_source *source, struct orma_error *reterr);
int orma_sql_span_next(struct orma_span_source *source, struct orma_error *reterr);

/* A duration of -1, which means that there is no end, counts as none. */
static inline int64_t orma_sql_span_end(const struct orma_span_source *source)
{
	return source->ts > INT64_MIN && source->end == source->ts - 1 ? source->ts : source->end;
}

#endif
