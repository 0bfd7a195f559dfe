/* SPDX-License-Identifier: Apache-2.0
 * native_aggregation.h - the groups of a query while they are computed.
 */
#ifndef ORMA_SQL_NATIVE_AGGREGATION_H
#define ORMA_SQL_NATIVE_AGGREGATION_H

#include "sql/native.h"
#include "sql/relation.h"
#include "sql/scan.h"

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

/* Makes a relation of the groups, in ascending order. 0 or -ENOMEM. */
int orma_sql_native_show(const struct orma_native_aggregation *aggregation, const char *name,
			 struct orma_relation **ret);

#endif
