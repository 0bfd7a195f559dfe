/* SPDX-License-Identifier: Apache-2.0
 * span_source.c - a cycle of states: absent partitions, the gap before a partition's first row, a row, the gap behind it,
 * the next row, ..., the gap behind the last row, absent partitions.
 *
 * All are walked through, and those that are empty or not wanted are left out. A gap before the first row begins at 0.
 * Without partitions there is one, and no absent ones.
 */
#include "sql/span_source.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "sql/engine_state.h"
#include "sql/sql_token.h"

void orma_sql_span_table_done(struct orma_span_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		orma_base_free(table->columns[i].name);
		orma_base_free(table->columns[i].type);
	}
	orma_base_free(table->columns);
	orma_base_free(table->name);
	orma_base_free(table->partition);
	*table = (struct orma_span_table){.name = NULL};
}

static int parse_argument(const char *argument, struct orma_span_table *ret,
			  struct orma_error *reterr)
{
	struct orma_str text = orma_base_str(argument);
	struct orma_token name = orma_sql_token_next(text, 0);
	size_t offset = orma_sql_token_end(&name);
	struct orma_token column = {.kind = ORMA_TOKEN_END};
	if (orma_sql_token_accept(text, &offset, "partitioned")) {
		column = orma_sql_token_next(text, offset);
		offset = orma_sql_token_end(&column);
		if (column.kind != ORMA_TOKEN_WORD)
			return orma_base_error_set(reterr, -EINVAL,
						   "SPAN_JOIN: Missing partitioning column");
	}
	if (name.kind != ORMA_TOKEN_WORD ||
	    orma_sql_token_next(text, offset).kind != ORMA_TOKEN_END)
		return orma_base_error_set(
			reterr, -EINVAL,
			"SPAN_JOIN: expected `table` or `table PARTITIONED column`, not `%s`",
			argument);
	ret->name = orma_base_str_dup(name.text);
	if (column.kind == ORMA_TOKEN_WORD)
		ret->partition = orma_base_str_dup(column.text);
	return !ret->name || (column.kind == ORMA_TOKEN_WORD && !ret->partition) ? -ENOMEM : 0;
}

static int read_columns(sqlite3_stmt *query, struct orma_span_table *table)
{
	int count = sqlite3_column_count(query);
	table->columns = orma_base_alloc_array((size_t)count + 1, sizeof(*table->columns));
	if (!table->columns)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		const char *name = sqlite3_column_name(query, i);
		const char *type = sqlite3_column_decltype(query, i);
		struct orma_span_column *column = &table->columns[table->column_count++];
		column->name = name ? orma_base_strdup(name) : NULL;
		column->type = orma_base_strdup(type ? type : "");
		if (!column->name || !column->type)
			return -ENOMEM;
		if (strcasecmp(name, "ts") == 0)
			table->ts_column = i;
		else if (strcasecmp(name, "dur") == 0)
			table->dur_column = i;
		else if (table->partition && strcasecmp(name, table->partition) == 0)
			table->partition_column = i;
	}
	return 0;
}

static int look_at_table(struct orma_sql *sql, struct orma_span_table *table,
			 struct orma_error *reterr)
{
	sqlite3_stmt *query;
	char *text = sqlite3_mprintf("select * from \"%w\"", table->name);
	if (!text)
		return -ENOMEM;
	int r = orma_sql_prepare(sql, orma_base_str(text), &query, reterr);
	sqlite3_free(text);
	if (r < 0)
		return r;
	r = read_columns(query, table);
	sqlite3_finalize(query);
	if (r == 0 && table->ts_column < 0)
		r = orma_base_error_set(reterr, -EINVAL, "SPAN_JOIN: Missing ts column in table %s",
					table->name);
	else if (r == 0 && table->partition && table->partition_column < 0)
		r = orma_base_error_set(reterr, -EINVAL,
					"SPAN_JOIN: Missing partition column '%s' in table '%s'",
					table->partition, table->name);
	return r;
}

int orma_sql_span_table_init(struct orma_sql *sql, const char *argument,
			     struct orma_span_table *ret, struct orma_error *reterr)
{
	*ret = (struct orma_span_table){.ts_column = -1, .dur_column = -1, .partition_column = -1};
	int r = parse_argument(argument, ret, reterr);
	if (r == 0)
		r = look_at_table(sql, ret, reterr);
	if (r < 0)
		orma_sql_span_table_done(ret);
	return r;
}

static int64_t row_value(const struct orma_span_source *source, int column)
{
	return sqlite3_column_int64(source->rows, column);
}

static bool is_partitioned(const struct orma_span_source *source)
{
	return source->table->partition_column >= 0;
}

/* Steps to the next row that has a partition, if there are partitions. */
static int step(struct orma_span_source *source, struct orma_error *reterr)
{
	for (;;) {
		int code = sqlite3_step(source->rows);
		source->has_row = code == SQLITE_ROW;
		if (code == SQLITE_DONE)
			return 0;
		if (code != SQLITE_ROW)
			return orma_sql_describe(source->sql, code, reterr);
		if (!is_partitioned(source))
			return 0;
		int type = sqlite3_column_type(source->rows, source->table->partition_column);
		if (type == SQLITE_INTEGER)
			return 0;
		if (type != SQLITE_NULL)
			return orma_base_error_set(reterr, -EINVAL,
						   "SPAN_JOIN: partition is not an INT column");
	}
}

static int64_t row_partition(const struct orma_span_source *source)
{
	return is_partitioned(source) ? row_value(source, source->table->partition_column)
				      : INT64_MIN;
}

static void show_row(struct orma_span_source *source)
{
	int64_t dur =
		source->table->dur_column >= 0 ? row_value(source, source->table->dur_column) : 0;
	source->state = ORMA_SPAN_ROW;
	source->ts = row_value(source, source->table->ts_column);
	if (__builtin_add_overflow(source->ts, dur, &source->end))
		source->end = dur < 0 ? INT64_MIN : INT64_MAX;
}

static void show_gap(struct orma_span_source *source, int64_t from, int64_t to)
{
	source->state = ORMA_SPAN_GAP;
	source->ts = from;
	source->end = to;
}

/* The partitions between the current one and that of the next row, or all behind it. */
static void show_absent(struct orma_span_source *source, int64_t from)
{
	source->state = ORMA_SPAN_ABSENT;
	source->ts = 0;
	source->end = INT64_MAX;
	source->absent_from = from;
	source->absent_to = source->has_row ? row_partition(source) : INT64_MAX;
}

static int next_state(struct orma_span_source *source, struct orma_error *reterr)
{
	int64_t end;
	int r;
	switch (source->state) {
	case ORMA_SPAN_ROW:
		end = orma_sql_span_end(source);
		r = step(source, reterr);
		if (r < 0)
			return r;
		if (!source->has_row || row_partition(source) != source->partition)
			show_gap(source, end, INT64_MAX);
		else
			show_gap(source, end, row_value(source, source->table->ts_column));
		break;
	case ORMA_SPAN_GAP:
		if (source->end == INT64_MAX)
			show_absent(source, source->partition == INT64_MAX ? INT64_MAX
									   : source->partition + 1);
		else
			show_row(source);
		break;
	case ORMA_SPAN_ABSENT:
		if (!source->has_row) {
			source->state = ORMA_SPAN_END;
			break;
		}
		source->partition = row_partition(source);
		show_gap(source, 0, row_value(source, source->table->ts_column));
		break;
	case ORMA_SPAN_END:
		break;
	}
	return 0;
}

static bool is_shown(const struct orma_span_source *source)
{
	switch (source->state) {
	case ORMA_SPAN_GAP:
		return source->table->shows_gaps && source->ts != source->end;
	case ORMA_SPAN_ABSENT:
		return source->table->shows_absent && source->absent_from != source->absent_to;
	default:
		return true;
	}
}

static int skip_hidden(struct orma_span_source *source, struct orma_error *reterr)
{
	int r = 0;
	while (r == 0 && !is_shown(source))
		r = next_state(source, reterr);
	return r;
}

int orma_sql_span_next(struct orma_span_source *source, struct orma_error *reterr)
{
	int r = next_state(source, reterr);
	return r < 0 ? r : skip_hidden(source, reterr);
}

int orma_sql_span_start(struct orma_span_source *source, struct orma_error *reterr)
{
	sqlite3_reset(source->rows);
	int r = step(source, reterr);
	if (r < 0)
		return r;
	show_absent(source, INT64_MIN);
	return skip_hidden(source, reterr);
}
