/* SPDX-License-Identifier: Apache-2.0
 * cell_filter.c - loops without branches: each cell's place is written, and the end of the list moves if the cell fits.
 *
 * A NULL is an integer far below zero, so a range has to exclude it. Most ranges begin above it.
 */
#include "sql/cell_filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sql/text_match.h"
#include "store/column.h"

enum { SET_BITS_MAX = 1 << 22 };

void orma_sql_filter_done(struct orma_filter *filter)
{
	orma_base_free(filter->set);
	orma_base_free(filter->set_bits);
	orma_sql_text_match_free(filter->match);
	*filter = (struct orma_filter){.kind = ORMA_FILTER_NONE};
}

static int compare_cells(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

int orma_sql_filter_use_set(struct orma_filter *filter, int64_t *set, size_t count)
{
	size_t kept = 0;
	qsort(set, count, sizeof(*set), compare_cells);
	for (size_t i = 0; i < count; i++)
		if (set[i] != ORMA_CELL_NULL && (kept == 0 || set[i] != set[kept - 1]))
			set[kept++] = set[i];
	filter->set = set;
	filter->set_count = kept;
	if (kept == 0) {
		filter->kind = ORMA_FILTER_NONE;
		return 0;
	}
	filter->kind = filter->is_double ? ORMA_FILTER_DOUBLE_SET : ORMA_FILTER_SET;
	filter->low = set[0];
	filter->high = set[kept - 1];
	uint64_t span = (uint64_t)filter->high - (uint64_t)filter->low;
	if (!filter->is_double && span == kept - 1)
		filter->kind = ORMA_FILTER_RANGE;
	if (filter->is_double || span >= SET_BITS_MAX)
		return 0;
	filter->set_bits = orma_base_alloc_array((size_t)span / 64 + 1, sizeof(uint64_t));
	if (!filter->set_bits)
		return -ENOMEM;
	for (size_t i = 0; i < kept; i++) {
		uint64_t bit = (uint64_t)set[i] - (uint64_t)filter->low;
		filter->set_bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return 0;
}

static bool is_in_set(const struct orma_filter *filter, int64_t cell)
{
	uint64_t bit = (uint64_t)cell - (uint64_t)filter->low;
	if (bit > (uint64_t)filter->high - (uint64_t)filter->low)
		return false;
	if (filter->set_bits)
		return filter->set_bits[bit / 64] >> bit % 64 & 1;
	return bsearch(&cell, filter->set, filter->set_count, sizeof(cell), compare_cells) != NULL;
}

static bool is_in_double_set(const struct orma_filter *filter, double value)
{
	int64_t cell = orma_store_cell_of_double(value == 0 ? 0 : value);
	return bsearch(&cell, filter->set, filter->set_count, sizeof(cell), compare_cells) != NULL;
}

static bool is_null(const struct orma_filter *filter, int64_t cell)
{
	return filter->is_double ? isnan(orma_store_double_of_cell(cell)) != 0
				 : cell == ORMA_CELL_NULL;
}

int orma_sql_filter_cell(const struct orma_filter *filter, int64_t cell)
{
	double value;
	switch (filter->kind) {
	case ORMA_FILTER_ALL:
		return 1;
	case ORMA_FILTER_NONE:
		return 0;
	case ORMA_FILTER_IS_NULL:
		return is_null(filter, cell);
	case ORMA_FILTER_NOT_NULL:
		return !is_null(filter, cell);
	case ORMA_FILTER_RANGE:
		return cell >= filter->low && cell <= filter->high && cell != ORMA_CELL_NULL;
	case ORMA_FILTER_NOT_EQUAL:
		return cell != filter->low && cell != ORMA_CELL_NULL;
	case ORMA_FILTER_OTHER:
		return cell != filter->low;
	case ORMA_FILTER_SET:
		return is_in_set(filter, cell);
	case ORMA_FILTER_DOUBLE:
		value = orma_store_double_of_cell(cell);
		return value >= filter->double_low && value <= filter->double_high;
	case ORMA_FILTER_DOUBLE_NOT_EQUAL:
		value = orma_store_double_of_cell(cell);
		return value < filter->double_low || value > filter->double_low;
	case ORMA_FILTER_DOUBLE_OTHER:
		value = orma_store_double_of_cell(cell);
		return !(value == filter->double_low);
	case ORMA_FILTER_DOUBLE_SET:
		return is_in_double_set(filter, orma_store_double_of_cell(cell));
	case ORMA_FILTER_TEXT:
		return cell == ORMA_CELL_NULL
			       ? 0
			       : orma_sql_text_match_id(filter->match, (uint32_t)cell);
	}
	return 0;
}

/* One loop for all cells of the block and one for chosen ones; `fits` is an expression of `cell`. */
#define SELECT(fits)                                                                               \
	do {                                                                                       \
		if (among) {                                                                       \
			for (size_t i = 0; i < count; i++) {                                       \
				uint16_t at = among[i];                                            \
				int64_t cell = cells[at];                                          \
				ret[kept] = at;                                                    \
				kept += (fits);                                                    \
			}                                                                          \
		} else {                                                                           \
			for (size_t i = 0; i < count; i++) {                                       \
				int64_t cell = cells[i];                                           \
				ret[kept] = (uint16_t)i;                                           \
				kept += (fits);                                                    \
			}                                                                          \
		}                                                                                  \
	} while (0)

static size_t select_range(const struct orma_filter *filter, const int64_t *cells,
			   const uint16_t *among, size_t count, uint16_t *ret)
{
	uint64_t low = (uint64_t)filter->low, span = (uint64_t)filter->high - low;
	size_t kept = 0;
	if (filter->low > filter->high)
		return 0;
	if (span == 0 && filter->low != ORMA_CELL_NULL)
		SELECT((uint64_t)cell == low);
	else if (filter->low > ORMA_CELL_NULL)
		SELECT((uint64_t)cell - low <= span);
	else
		SELECT(((uint64_t)cell - low <= span) & (cell != ORMA_CELL_NULL));
	return kept;
}

static int select_text(const struct orma_filter *filter, const int64_t *cells,
		       const uint16_t *among, size_t count, uint16_t *ret)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		uint16_t at = among ? among[i] : (uint16_t)i;
		int fits = cells[at] == ORMA_CELL_NULL
				   ? 0
				   : orma_sql_text_match_id(filter->match, (uint32_t)cells[at]);
		if (fits < 0)
			return fits;
		ret[kept] = at;
		kept += (size_t)fits;
	}
	return (int)kept;
}

static size_t select_double(const struct orma_filter *filter, const int64_t *cells,
			    const uint16_t *among, size_t count, uint16_t *ret)
{
	double low = filter->double_low, high = filter->double_high;
	size_t kept = 0;
	SELECT((size_t)(orma_store_double_of_cell(cell) >= low) &
	       (size_t)(orma_store_double_of_cell(cell) <= high));
	return kept;
}

int orma_sql_filter_block(const struct orma_filter *filter, const int64_t *cells,
			  const uint16_t *among, size_t count, uint16_t *ret)
{
	size_t kept = 0;
	int64_t low = filter->low;
	switch (filter->kind) {
	case ORMA_FILTER_RANGE:
		return (int)select_range(filter, cells, among, count, ret);
	case ORMA_FILTER_DOUBLE:
		return (int)select_double(filter, cells, among, count, ret);
	case ORMA_FILTER_TEXT:
		return select_text(filter, cells, among, count, ret);
	case ORMA_FILTER_NONE:
		return 0;
	case ORMA_FILTER_NOT_EQUAL:
		SELECT((cell != low) & (cell != ORMA_CELL_NULL));
		return (int)kept;
	default:
		SELECT((size_t)orma_sql_filter_cell(filter, cell));
		return (int)kept;
	}
}

bool orma_sql_filter_may_fit(const struct orma_filter *filter, int64_t min, int64_t max)
{
	switch (filter->kind) {
	case ORMA_FILTER_NONE:
		return false;
	case ORMA_FILTER_RANGE:
	case ORMA_FILTER_SET:
		return filter->low <= max && filter->high >= min;
	case ORMA_FILTER_NOT_NULL:
	case ORMA_FILTER_TEXT:
		return min <= max;
	case ORMA_FILTER_NOT_EQUAL:
		return min <= max && !(min == max && min == filter->low);
	default:
		return true;
	}
}
