/* SPDX-License-Identifier: Apache-2.0
 * scan.h - goes through a relation a block at a time, and says which rows of the block fit all filters.
 */
#ifndef ORMA_SQL_SCAN_H
#define ORMA_SQL_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sql/cell_filter.h"
#include "sql/interrupt.h"
#include "sql/relation.h"

struct orma_scan_buffer;

struct orma_scan {
	const struct orma_relation *relation;
	struct orma_interrupt *interrupt;
	const struct orma_filter *filters;
	size_t filter_count;
	uint64_t implied;    /* a bit for each filter that the range of rows makes true */
	uint64_t begin, end; /* the rows that are left */
	bool is_descending;
	struct orma_scan_buffer *buffers; /* by column */
	/* The current block. */
	uint64_t block_idx, first_row;
	const uint16_t *chosen; /* ascending, also when the blocks descend */
	size_t chosen_count;
	/* With `wants_mask`, the chosen rows may be bits only, and `chosen` means nothing until orma_sql_scan_list(). */
	bool wants_mask;
	const uint8_t *mask; /* NULL = they are listed */
	uint8_t *mask_bytes;
	uint16_t *places; /* 2 x ORMA_BLOCK_ROWS: all places, and the chosen ones */
};

enum { ORMA_SCAN_FILTERS_MAX = 64 };

/* {0} may be given to done(). The relation and `interrupt` outlive the scan. 0 or -ENOMEM. */
int orma_sql_scan_init(struct orma_scan *scan, const struct orma_relation *relation,
		       struct orma_interrupt *interrupt);
void orma_sql_scan_done(struct orma_scan *scan);
/* Starts anew. At most ORMA_SCAN_FILTERS_MAX filters, which outlive the scan or the next begin. */
void orma_sql_scan_begin(struct orma_scan *scan, const struct orma_filter *filters,
			 size_t filter_count, bool is_descending);
/* Goes to the next block with a chosen row. 1, 0 at the end, -ECANCELED, or an error of a column. */
int orma_sql_scan_next(struct orma_scan *scan);
/* Lists the chosen rows, if they are bits. */
void orma_sql_scan_list(struct orma_scan *scan);
/* All cells of the current block, which stay until the next one. 0, -ENOMEM or an error of the column. */
int orma_sql_scan_cells(struct orma_scan *scan, size_t column_idx, const int64_t **ret);
/*
 * The cells of the chosen rows alone, in `space`, which has room for a block's, or where the next block replaces them.
 * Errors as above.
 */
int orma_sql_scan_chosen_cells(struct orma_scan *scan, size_t column_idx, int64_t *space,
			       const int64_t **ret);
/* One cell of the current block. Errors as above. */
int orma_sql_scan_cell(struct orma_scan *scan, size_t column_idx, uint16_t place, int64_t *ret);

#endif
