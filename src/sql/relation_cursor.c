/* SPDX-License-Identifier: Apache-2.0
 * relation_cursor.c - chooses between one row, the rows of an index and a scan, and sorts when the plan says so.
 *
 * The inner side of a join is started for each row of the outer side, so a start with one row costs little: the plan is
 * read once, and a filter with a pattern is kept while the pattern stays the same. An index is made when a column was
 * scanned for equal cells a few times: by then it has cost about as much.
 */
#include "sql/relation_cursor.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sql/index.h"
#include "sql/text_match.h"
#include "sql/value_filter.h"

enum { SCANS_BEFORE_INDEX = 8, SET_ROWS_MAX = 1 << 20 };

static void drop_rows(struct orma_relation_cursor *cursor)
{
	orma_base_free(cursor->own_rows);
	cursor->own_rows = NULL;
	orma_sql_row_sort_done(&cursor->sort);
}

void orma_sql_cursor_init(struct orma_relation_cursor *cursor, struct orma_relation *relation,
			  struct orma_interrupt *interrupt)
{
	/* Filters are set as terms are read, and are most of the cursor's size. */
	cursor->relation = relation;
	cursor->interrupt = interrupt;
	cursor->plan_text = NULL;
	cursor->filter_count = 0;
	cursor->own_rows = NULL;
	cursor->scan = (struct orma_scan){0};
	cursor->sort = (struct orma_row_sort){0};
	cursor->plan.term_count = cursor->plan.order_count = 0;
	cursor->is_end = true;
}

void orma_sql_cursor_done(struct orma_relation_cursor *cursor)
{
	drop_rows(cursor);
	for (size_t i = 0; i < cursor->filter_count; i++)
		orma_sql_filter_done(&cursor->filters[i]);
	orma_sql_scan_done(&cursor->scan);
	cursor->filter_count = 0;
	cursor->plan_text = NULL;
}

/* Chooses the terms that leave the fewest rows. */
static void read_plan(struct orma_relation_cursor *cursor, const char *plan_text)
{
	const struct orma_relation *relation = cursor->relation;
	uint64_t most_distinct = 1;
	orma_sql_cursor_done(cursor);
	orma_sql_plan_read(plan_text, &cursor->plan);
	cursor->plan_text = plan_text;
	cursor->point_term = cursor->probe_term = -1;
	for (size_t i = 0; i < cursor->plan.term_count; i++) {
		const struct orma_plan_term *term = &cursor->plan.terms[i];
		const struct orma_relation_column *column = &relation->columns[term->column_idx];
		cursor->filters[i] = (struct orma_filter){.kind = ORMA_FILTER_ALL,
							  .column_idx = term->column_idx};
		if (term->op != ORMA_PLAN_EQUAL && term->op != ORMA_PLAN_IS)
			continue;
		if (column->flags & ORMA_RELATION_ROW) {
			cursor->point_term = (int)i;
		} else if (column->type != ORMA_COLUMN_DOUBLE) {
			uint64_t distinct = orma_sql_relation_distinct(relation, term->column_idx);
			if (distinct > most_distinct) {
				most_distinct = distinct;
				cursor->probe_term = (int)i;
			}
		}
	}
	cursor->filter_count = cursor->plan.term_count;
}

static bool is_pattern(enum orma_plan_op op)
{
	return op == ORMA_PLAN_GLOB || op == ORMA_PLAN_LIKE || op == ORMA_PLAN_REGEXP;
}

static bool is_same_pattern(const struct orma_filter *filter, enum orma_plan_op op,
			    sqlite3_value *value)
{
	if (!filter->match || !is_pattern(op) || sqlite3_value_type(value) != SQLITE_TEXT)
		return false;
	const char *text = (const char *)sqlite3_value_text(value);
	return text &&
	       orma_sql_text_match_is(filter->match,
				      (struct orma_str){text, (size_t)sqlite3_value_bytes(value)});
}

/* Makes the filters of all terms and reads the limit. Returns 0 when no row can fit, else 1, or an error. */
static int make_filters(struct orma_relation_cursor *cursor, sqlite3_value **values,
			uint64_t *retlimit, struct orma_error *reterr)
{
	int64_t limit = -1, offset = 0;
	bool fits = true;
	for (size_t i = 0; i < cursor->filter_count; i++) {
		const struct orma_plan_term *term = &cursor->plan.terms[i];
		struct orma_filter *filter = &cursor->filters[i];
		if (term->op == ORMA_PLAN_LIMIT) {
			limit = sqlite3_value_int64(values[i]);
		} else if (term->op == ORMA_PLAN_OFFSET) {
			offset = sqlite3_value_int64(values[i]);
		} else if (!is_same_pattern(filter, term->op, values[i])) {
			orma_sql_filter_done(filter);
			int r = orma_sql_value_filter(cursor->relation, term, values[i], filter,
						      reterr);
			if (r < 0)
				return r;
			fits = fits && filter->kind != ORMA_FILTER_NONE;
		}
	}
	offset = ORMA_MAX(offset, INT64_C(0));
	*retlimit =
		limit < 0 || limit > INT64_MAX - offset ? UINT64_MAX : (uint64_t)(limit + offset);
	return fits && *retlimit > 0;
}

/* Returns the column's index, making it when it is worth that; NULL = there is none. */
static const struct orma_index *index_of(struct orma_relation_cursor *cursor, size_t column_idx)
{
	struct orma_relation_column *column = &cursor->relation->columns[column_idx];
	if (column->index && column->index->row_count != orma_sql_relation_rows(cursor->relation)) {
		orma_sql_index_free(column->index);
		column->index = NULL;
	}
	if (!column->index && ++column->scans > SCANS_BEFORE_INDEX) {
		/* Without memory for it, scans go on. Try again after as many. */
		column->scans = 0;
		(void)orma_sql_index_new(cursor->relation, column_idx, &column->index);
	}
	return column->index;
}

static void use_rows(struct orma_relation_cursor *cursor, const uint32_t *rows, size_t count,
		     size_t filter_idx)
{
	cursor->mode = ORMA_CURSOR_ROWS;
	cursor->rows = rows;
	cursor->row_count = count;
	cursor->unchecked = 0;
	for (size_t i = 0; i < cursor->filter_count; i++)
		if (i != filter_idx && cursor->filters[i].kind != ORMA_FILTER_ALL)
			cursor->unchecked |= UINT64_C(1) << i;
}

static bool use_point(struct orma_relation_cursor *cursor, size_t filter_idx)
{
	const struct orma_filter *filter = &cursor->filters[filter_idx];
	uint64_t rows = orma_sql_relation_rows(cursor->relation);
	if (filter->kind != ORMA_FILTER_RANGE || rows >= UINT32_MAX)
		return false;
	cursor->one_row = (uint32_t)filter->low;
	use_rows(cursor, &cursor->one_row, (uint64_t)filter->low < rows ? 1 : 0, filter_idx);
	return true;
}

/* The ids of `id in (...)`. */
static int use_set(struct orma_relation_cursor *cursor, size_t filter_idx)
{
	const struct orma_filter *filter = &cursor->filters[filter_idx];
	uint64_t rows = orma_sql_relation_rows(cursor->relation);
	size_t count = 0;
	cursor->own_rows = orma_base_alloc_array(filter->set_count, sizeof(*cursor->own_rows));
	if (!cursor->own_rows)
		return -ENOMEM;
	for (size_t i = 0; i < filter->set_count; i++)
		if ((uint64_t)filter->set[i] < rows)
			cursor->own_rows[count++] = (uint32_t)filter->set[i];
	use_rows(cursor, cursor->own_rows, count, filter_idx);
	return 1;
}

/* Returns 1 when a list of rows has all that fit, 0 when the relation has to be scanned. */
static int find_rows(struct orma_relation_cursor *cursor)
{
	if (cursor->point_term >= 0 && use_point(cursor, (size_t)cursor->point_term))
		return 1;
	if (cursor->probe_term >= 0) {
		const struct orma_filter *filter = &cursor->filters[cursor->probe_term];
		const struct orma_index *index = filter->kind == ORMA_FILTER_RANGE
							 ? index_of(cursor, filter->column_idx)
							 : NULL;
		if (index) {
			const uint32_t *rows = NULL;
			size_t count = orma_sql_index_find(index, filter->low, &rows);
			use_rows(cursor, rows, count, (size_t)cursor->probe_term);
			return 1;
		}
	}
	for (size_t i = 0; i < cursor->filter_count; i++)
		if (cursor->filters[i].kind == ORMA_FILTER_SET &&
		    cursor->relation->columns[cursor->filters[i].column_idx].flags &
			    ORMA_RELATION_ROW &&
		    cursor->filters[i].set_count < SET_ROWS_MAX &&
		    orma_sql_relation_rows(cursor->relation) < UINT32_MAX)
			return use_set(cursor, i);
	return 0;
}

/* Returns 1 when the row fits the filters that are left, 0 or an error. */
static int check_row(const struct orma_relation_cursor *cursor, uint64_t row)
{
	for (uint64_t left = cursor->unchecked; left != 0; left &= left - 1) {
		const struct orma_filter *filter = &cursor->filters[__builtin_ctzll(left)];
		int64_t cell;
		int r = orma_sql_relation_get(cursor->relation, filter->column_idx, row, &cell);
		if (r == 0)
			r = orma_sql_filter_cell(filter, cell);
		if (r <= 0)
			return r;
	}
	return 1;
}

static int next_of_rows(struct orma_relation_cursor *cursor)
{
	while (cursor->rows_done < cursor->row_count) {
		size_t done = cursor->rows_done++;
		if (done % ORMA_BLOCK_ROWS == ORMA_BLOCK_ROWS - 1 &&
		    orma_sql_is_interrupted(cursor->interrupt))
			return -ECANCELED;
		cursor->row = cursor->rows[cursor->plan.is_descending ? cursor->row_count - 1 - done
								      : done];
		int r = cursor->unchecked ? check_row(cursor, cursor->row) : 1;
		if (r != 0)
			return r < 0 ? r : 0;
	}
	cursor->is_end = true;
	return 0;
}

static int next_of_blocks(struct orma_relation_cursor *cursor)
{
	struct orma_scan *scan = &cursor->scan;
	if (cursor->chosen_done == scan->chosen_count) {
		int r = orma_sql_scan_next(scan);
		if (r <= 0) {
			cursor->is_end = true;
			return r;
		}
		cursor->chosen_done = 0;
	}
	size_t done = cursor->chosen_done++;
	cursor->row = scan->first_row +
		      scan->chosen[scan->is_descending ? scan->chosen_count - 1 - done : done];
	return 0;
}

int orma_sql_cursor_next(struct orma_relation_cursor *cursor)
{
	return cursor->mode == ORMA_CURSOR_ROWS ? next_of_rows(cursor) : next_of_blocks(cursor);
}

/* Collects all rows and makes them the list, in order. */
static int sort_rows(struct orma_relation_cursor *cursor, uint64_t limit)
{
	struct orma_row_sort *sort = &cursor->sort;
	size_t first_column = cursor->plan.orders[0].column_idx;
	orma_sql_row_sort_init(sort, cursor->relation, cursor->plan.orders,
			       cursor->plan.order_count, limit);
	bool needs_cell = orma_sql_row_sort_needs_cell(sort);
	int r;
	while ((r = orma_sql_cursor_next(cursor)) == 0 && !cursor->is_end) {
		int64_t cell = 0;
		if (needs_cell)
			r = orma_sql_cursor_cell(cursor, first_column, &cell);
		if (r == 0)
			r = orma_sql_row_sort_add(sort, (uint32_t)cursor->row, cell);
		if (r < 0)
			return r;
	}
	if (r == 0)
		r = orma_sql_row_sort_finish(sort);
	if (r < 0)
		return r;
	cursor->mode = ORMA_CURSOR_ROWS;
	cursor->is_end = false;
	cursor->rows = sort->rows;
	cursor->row_count = sort->count;
	cursor->rows_done = 0;
	cursor->unchecked = 0;
	return 0;
}

static int start_scan(struct orma_relation_cursor *cursor)
{
	if (!cursor->scan.relation) {
		int r = orma_sql_scan_init(&cursor->scan, cursor->relation, cursor->interrupt);
		if (r < 0)
			return r;
	}
	cursor->mode = ORMA_CURSOR_BLOCKS;
	orma_sql_scan_begin(&cursor->scan, cursor->filters, cursor->filter_count,
			    cursor->plan.is_descending);
	cursor->scan.chosen_count = 0;
	cursor->chosen_done = 0;
	return 0;
}

int orma_sql_cursor_start(struct orma_relation_cursor *cursor, const char *plan_text,
			  sqlite3_value **values, struct orma_error *reterr)
{
	uint64_t limit;
	if (cursor->plan_text != plan_text)
		read_plan(cursor, plan_text);
	drop_rows(cursor);
	cursor->rows_done = 0;
	cursor->is_end = false;
	int r = make_filters(cursor, values, &limit, reterr);
	if (r <= 0) {
		cursor->is_end = true;
		return r;
	}
	r = find_rows(cursor);
	if (r == 0)
		r = start_scan(cursor);
	if (r >= 0)
		r = cursor->plan.order_count > 0 ? sort_rows(cursor, limit) : 0;
	return r < 0 ? r : orma_sql_cursor_next(cursor);
}
