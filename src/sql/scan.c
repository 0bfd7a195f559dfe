/* SPDX-License-Identifier: Apache-2.0
 * scan.c - a block is skipped by its header if it can be; else each filter thins out the list of chosen places.
 */
#include "sql/scan.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

/*
 * Below so many chosen rows, reading single cells is cheaper than unpacking the block; below so many, if the cells are stored and
 * are read together.
 */
enum { FEW_ROWS = 128, FEW_STORED_ROWS = 512 };

enum { MASK_BYTES = ORMA_BLOCK_ROWS / 8 };

struct orma_scan_buffer {
	int64_t *cells;
	uint64_t block_idx; /* UINT64_MAX = none */
};

int orma_sql_scan_init(struct orma_scan *scan, const struct orma_relation *relation,
		       struct orma_interrupt *interrupt)
{
	*scan = (struct orma_scan){.relation = relation, .interrupt = interrupt};
	scan->buffers = orma_base_alloc_array(relation->column_count, sizeof(*scan->buffers));
	scan->places = orma_base_alloc_array(2 * (size_t)ORMA_BLOCK_ROWS, sizeof(*scan->places));
	/* One mask of what a filter leaves, and one of all rows. */
	scan->mask_bytes = orma_base_alloc(2 * (size_t)MASK_BYTES);
	if (!scan->buffers || !scan->places || !scan->mask_bytes) {
		orma_sql_scan_done(scan);
		return -ENOMEM;
	}
	memset(scan->mask_bytes + MASK_BYTES, 0xff, MASK_BYTES);
	for (size_t i = 0; i < ORMA_BLOCK_ROWS; i++)
		scan->places[i] = (uint16_t)i;
	return 0;
}

void orma_sql_scan_done(struct orma_scan *scan)
{
	for (size_t i = 0; scan->buffers && i < scan->relation->column_count; i++)
		orma_base_free(scan->buffers[i].cells);
	orma_base_free(scan->buffers);
	orma_base_free(scan->places);
	orma_base_free(scan->mask_bytes);
	*scan = (struct orma_scan){0};
}

/* True when a sorted column may have NULLs among the rows that are left. They are first, far below zero. */
static bool has_nulls(const struct orma_scan *scan, size_t column_idx)
{
	const struct orma_column *stored = scan->relation->columns[column_idx].stored;
	return stored && scan->begin < scan->end &&
	       orma_store_column_get(stored, scan->begin) <= ORMA_CELL_NULL;
}

/* Narrows the rows to those that a range of a sorted column has. */
static void narrow(struct orma_scan *scan, size_t filter_idx)
{
	const struct orma_filter *filter = &scan->filters[filter_idx];
	const struct orma_relation *relation = scan->relation;
	size_t column = filter->column_idx;
	if (filter->kind == ORMA_FILTER_NONE) {
		scan->end = scan->begin;
		return;
	}
	if (filter->kind != ORMA_FILTER_RANGE && filter->kind != ORMA_FILTER_SET)
		return;
	if (!orma_sql_relation_is_sorted(&relation->columns[column]))
		return;
	if (filter->low > filter->high) {
		scan->end = scan->begin;
		return;
	}
	uint64_t begin = orma_sql_relation_lower_bound(relation, column, filter->low);
	uint64_t end = filter->high == INT64_MAX
			       ? scan->end
			       : orma_sql_relation_lower_bound(relation, column, filter->high + 1);
	scan->begin = ORMA_MAX(scan->begin, begin);
	scan->end = ORMA_MAX(ORMA_MIN(scan->end, end), scan->begin);
	if (filter->kind == ORMA_FILTER_RANGE &&
	    (filter->low > ORMA_CELL_NULL || !has_nulls(scan, column)))
		scan->implied |= UINT64_C(1) << filter_idx;
}

void orma_sql_scan_begin(struct orma_scan *scan, const struct orma_filter *filters,
			 size_t filter_count, bool is_descending)
{
	ORMA_ASSERT(filter_count <= ORMA_SCAN_FILTERS_MAX);
	scan->filters = filters;
	scan->filter_count = filter_count;
	scan->is_descending = is_descending;
	scan->implied = 0;
	scan->begin = 0;
	scan->end = orma_sql_relation_rows(scan->relation);
	for (size_t i = 0; i < scan->relation->column_count; i++)
		scan->buffers[i].block_idx = UINT64_MAX;
	for (size_t i = 0; i < filter_count; i++)
		narrow(scan, i);
}

/* All cells of the current block, which stay until the next one. */
static int read_block(struct orma_scan *scan, size_t column_idx, const int64_t **ret)
{
	struct orma_scan_buffer *buffer = &scan->buffers[column_idx];
	if (buffer->block_idx != scan->block_idx) {
		if (!buffer->cells)
			buffer->cells = orma_base_alloc(ORMA_BLOCK_ROWS * sizeof(*buffer->cells));
		if (!buffer->cells)
			return -ENOMEM;
		int r = orma_sql_relation_read(scan->relation, column_idx, scan->block_idx,
					       buffer->cells);
		if (r < 0)
			return r;
		buffer->block_idx = scan->block_idx;
	}
	*ret = buffer->cells;
	return 0;
}

int orma_sql_scan_cell(struct orma_scan *scan, size_t column_idx, uint16_t place, int64_t *ret)
{
	const struct orma_scan_buffer *buffer = &scan->buffers[column_idx];
	if (buffer->block_idx != scan->block_idx) {
		const int64_t *cells;
		if (scan->chosen_count < FEW_ROWS)
			return orma_sql_relation_get(scan->relation, column_idx,
						     scan->first_row + place, ret);
		int r = read_block(scan, column_idx, &cells);
		if (r < 0)
			return r;
	}
	*ret = buffer->cells[place];
	return 0;
}

static int read_chosen(struct orma_scan *scan, size_t column_idx, int64_t *ret)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < scan->chosen_count; i++)
		r = orma_sql_relation_get(scan->relation, column_idx,
					  scan->first_row + scan->chosen[i], &ret[i]);
	return r;
}

int orma_sql_scan_chosen_cells(struct orma_scan *scan, size_t column_idx, int64_t *space,
			       const int64_t **ret)
{
	size_t count = scan->chosen_count;
	const struct orma_column *stored = scan->relation->columns[column_idx].stored;
	bool is_read = scan->buffers[column_idx].block_idx == scan->block_idx;
	const int64_t *cells;
	*ret = space;
	if (!is_read && stored && count < FEW_STORED_ROWS) {
		orma_store_column_read_some(stored, (size_t)scan->block_idx, scan->chosen, count,
					    space);
		return 0;
	}
	if (!is_read && count < FEW_ROWS)
		return read_chosen(scan, column_idx, space);
	int r = read_block(scan, column_idx, &cells);
	if (r < 0)
		return r;
	/* The places ascend, so these are all in between. */
	if (scan->chosen[count - 1] - scan->chosen[0] == (int)count - 1) {
		*ret = cells + scan->chosen[0];
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		space[i] = cells[scan->chosen[i]];
	return 0;
}

static bool may_fit(const struct orma_scan *scan)
{
	for (size_t i = 0; i < scan->filter_count; i++) {
		const struct orma_filter *filter = &scan->filters[i];
		const struct orma_column *stored =
			scan->relation->columns[filter->column_idx].stored;
		int64_t min, max;
		if (stored &&
		    orma_store_column_range(stored, (size_t)scan->block_idx, &min, &max) &&
		    !orma_sql_filter_may_fit(filter, min, max))
			return false;
	}
	return true;
}

/* Thins out a short list of places by single cells. */
static int filter_few(struct orma_scan *scan, const struct orma_filter *filter, uint16_t *chosen)
{
	size_t kept = 0;
	for (size_t i = 0; i < scan->chosen_count; i++) {
		int64_t cell;
		uint16_t place = scan->chosen[i];
		int r = orma_sql_relation_get(scan->relation, filter->column_idx,
					      scan->first_row + place, &cell);
		if (r == 0)
			r = orma_sql_filter_cell(filter, cell);
		if (r < 0)
			return r;
		chosen[kept] = place;
		kept += (size_t)r;
	}
	return (int)kept;
}

static int filter_many(struct orma_scan *scan, const struct orma_filter *filter, bool is_whole,
		       uint16_t *chosen)
{
	const int64_t *cells;
	int r = read_block(scan, filter->column_idx, &cells);
	if (r < 0)
		return r;
	return orma_sql_filter_block(filter, cells, is_whole ? NULL : scan->chosen,
				     scan->chosen_count, chosen);
}

/* Writes the places in [first, end) whose bits are set. */
static size_t list_places(const uint8_t *mask, size_t first, size_t end, uint16_t *ret)
{
	enum { BITS = 64, FEW_BITS = 16 };
	size_t kept = 0;
	for (size_t base = first / BITS * BITS; base < end; base += BITS) {
		uint64_t bits;
		memcpy(&bits, mask + base / 8, sizeof(bits));
		if (bits == 0)
			continue;
		if (base < first)
			bits &= UINT64_MAX << (first - base);
		if (end - base < BITS)
			bits &= (UINT64_C(1) << (end - base)) - 1;
		/* One bit after the other; a word that has more is gone through without branches. */
		for (int i = 0; bits != 0 && i < FEW_BITS; i++, bits &= bits - 1)
			ret[kept++] = (uint16_t)(base + (size_t)__builtin_ctzll(bits));
		if (bits == 0)
			continue;
		for (size_t i = (size_t)__builtin_ctzll(bits);
		     i < ORMA_MIN((size_t)BITS, end - base); i++) {
			ret[kept] = (uint16_t)(base + i);
			kept += bits >> i & 1;
		}
	}
	return kept;
}

static size_t count_bits(const uint8_t *mask)
{
	size_t count = 0;
	for (size_t i = 0; i < MASK_BYTES; i += sizeof(uint64_t)) {
		uint64_t bits;
		memcpy(&bits, mask + i, sizeof(bits));
		count += (size_t)__builtin_popcountll(bits);
	}
	return count;
}

/* True when one filter has to be looked at, and the range of rows implies the others. */
static bool is_only_filter(const struct orma_scan *scan)
{
	return scan->filter_count - (size_t)__builtin_popcountll(scan->implied) == 1;
}

/* Compares the packed cells of the block, all of whose rows are chosen but for some at its ends. -ENOTSUP = they have to be read. */
static int filter_packed(struct orma_scan *scan, const struct orma_filter *filter, uint16_t *chosen)
{
	uint8_t *mask = scan->mask_bytes;
	const struct orma_column *stored = scan->relation->columns[filter->column_idx].stored;
	size_t first = scan->chosen[0];
	if (filter->kind != ORMA_FILTER_RANGE || !stored ||
	    !orma_store_column_match(stored, (size_t)scan->block_idx, filter->low, filter->high,
				     mask))
		return -ENOTSUP;
	bool is_whole = scan->chosen_count == ORMA_BLOCK_ROWS;
	size_t fitting =
		scan->wants_mask && is_whole && is_only_filter(scan) ? count_bits(mask) : 0;
	if (fitting >= FEW_ROWS) {
		scan->mask = mask;
		return (int)fitting;
	}
	return (int)list_places(mask, first, first + scan->chosen_count, chosen);
}

void orma_sql_scan_list(struct orma_scan *scan)
{
	uint16_t *chosen = scan->places + ORMA_BLOCK_ROWS;
	if (!scan->mask)
		return;
	scan->chosen_count = list_places(scan->mask, 0, ORMA_BLOCK_ROWS, chosen);
	scan->chosen = chosen;
	scan->mask = NULL;
}

/* Chooses places of the current block; `is_whole` while they are its first ones. */
static int choose(struct orma_scan *scan, bool is_whole)
{
	uint16_t *chosen = scan->places + ORMA_BLOCK_ROWS;
	bool is_first = true;
	/* Patterns last: most of their rows can be excluded for less. */
	for (int is_text = 0; is_text < 2; is_text++)
		for (size_t i = 0; i < scan->filter_count && scan->chosen_count > 0; i++) {
			const struct orma_filter *filter = &scan->filters[i];
			if ((filter->kind == ORMA_FILTER_TEXT) != is_text ||
			    scan->implied >> i & 1 || filter->kind == ORMA_FILTER_ALL)
				continue;
			int r = -ENOTSUP;
			if (scan->chosen_count < FEW_ROWS)
				r = filter_few(scan, filter, chosen);
			else if (is_first)
				r = filter_packed(scan, filter, chosen);
			if (r == -ENOTSUP)
				r = filter_many(scan, filter, is_whole, chosen);
			if (r < 0)
				return r;
			if (scan->mask) {
				scan->chosen_count = (size_t)r;
				return 0;
			}
			is_whole = is_first = false;
			scan->chosen = chosen;
			scan->chosen_count = (size_t)r;
		}
	return 0;
}

int orma_sql_scan_next(struct orma_scan *scan)
{
	while (scan->begin < scan->end) {
		if (orma_sql_is_interrupted(scan->interrupt))
			return -ECANCELED;
		uint64_t block =
			(scan->is_descending ? scan->end - 1 : scan->begin) >> ORMA_BLOCK_SHIFT;
		uint64_t first = block << ORMA_BLOCK_SHIFT;
		uint64_t from = ORMA_MAX(first, scan->begin);
		uint64_t to = ORMA_MIN(first + ORMA_BLOCK_ROWS, scan->end);
		if (scan->is_descending)
			scan->end = from;
		else
			scan->begin = to;
		scan->block_idx = block;
		scan->first_row = first;
		scan->chosen = scan->places + (from - first);
		scan->chosen_count = (size_t)(to - from);
		scan->mask = NULL;
		if (!may_fit(scan))
			continue;
		if (scan->wants_mask && scan->filter_count == 0 &&
		    scan->chosen_count == ORMA_BLOCK_ROWS) {
			scan->mask = scan->mask_bytes + MASK_BYTES;
			return 1;
		}
		int r = choose(scan, from == first);
		if (r < 0)
			return r;
		if (scan->chosen_count > 0)
			return 1;
	}
	return 0;
}
