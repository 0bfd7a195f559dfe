/* SPDX-License-Identifier: Apache-2.0
 * native_aggregation.h - the groups of a query while they are computed.
 */
#ifndef ORMA_SQL_NATIVE_AGGREGATION_H
#define ORMA_SQL_NATIVE_AGGREGATION_H

#include "sql/native.h"
#include "sql/relation.h"
#include "sql/scan.h"
#include "store/group_sums.h"

struct orma_native_accumulator {
	int64_t count; /* values that are not NULL */
	int64_t value; /* sum, least or largest one */
	double real, error;
};

struct orma_native_aggregation {
	const struct orma_native_query *query;
	struct orma_scan scan;
	int64_t mins[ORMA_NATIVE_GROUPS_MAX];
	uint64_t spans[ORMA_NATIVE_GROUPS_MAX]; /* codes of each column; the last one is NULL's */
	uint32_t *group_of_code;                /* + 1; 0 = not met */
	uint32_t *codes;                        /* the groups' */
	size_t group_count, group_capacity;
	bool is_one_group; /* all rows that fit are of one, with `only_code` */
	uint32_t only_code;
	struct orma_native_accumulator *accumulators[ORMA_NATIVE_AGGREGATES_MAX];
	uint32_t groups[ORMA_BLOCK_ROWS]; /* by chosen row, as are `cells` */
	int64_t cells[ORMA_BLOCK_ROWS];
	bool overflows;
};

/* Adds a group, which has this code. 0, -ENOMEM, or -ENOTSUP when there are too many. */
int orma_sql_native_add_group(struct orma_native_aggregation *aggregation, uint32_t code);
/* Returns the code of a cell of a group column. That of NULL is the last one of its column. */
static inline uint32_t orma_sql_native_code(const struct orma_native_aggregation *aggregation,
					    size_t i, int64_t cell)
{
	return cell == ORMA_CELL_NULL ? (uint32_t)(aggregation->spans[i] - 1)
				      : (uint32_t)((uint64_t)cell - (uint64_t)aggregation->mins[i]);
}

/*
 * Finds the sums that tables keep of whole runs of rows, if all that the query asks for can be taken from them; its scan has begun.
 * Sets `ret`, and returns the number of their key column, or -1.
 */
int orma_sql_native_find_sums(const struct orma_native_aggregation *aggregation,
			      const struct orma_group_sums **ret);
/*
 * Goes through rows from the scan's first one: takes the sums of a run, and returns 1; or returns 0, and sets `retend` to where the
 * rows end that have to be looked at. Or -ENOMEM or -ENOTSUP.
 */
int orma_sql_native_take_run(struct orma_native_aggregation *aggregation,
			     const struct orma_group_sums *sums, size_t key, uint64_t end,
			     uint64_t *retend);

/* Makes a relation of the groups, in ascending order. 0 or -ENOMEM. */
int orma_sql_native_show(const struct orma_native_aggregation *aggregation, const char *name,
			 struct orma_relation **ret);

#endif
