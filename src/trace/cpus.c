/* SPDX-License-Identifier: Apache-2.0
 * cpus.c - each machine has a range of rows, in which a CPU's number is its place. Rows of CPUs that a trace does not
 * mention have no number.
 */
#include "trace/cpus.h"

#include <errno.h>

int64_t orma_cpus_get(struct orma_tables *tables, uint32_t machine_idx, uint32_t cpu)
{
	struct orma_table *table = &tables->all[ORMA_TABLE_CPU];
	struct orma_column *numbers = &table->columns[ORMA_CPU_CPU];
	if (cpu >= ORMA_CPUS_PER_MACHINE || machine_idx >= INT32_MAX / ORMA_CPUS_PER_MACHINE)
		return -ERANGE;
	uint64_t row = (uint64_t)machine_idx * ORMA_CPUS_PER_MACHINE + cpu;
	int64_t cells[ORMA_CPU_COLUMNS];
	if (row < orma_store_table_rows(table) &&
	    orma_store_column_get(numbers, row) != ORMA_CELL_NULL)
		return (int64_t)row;
	for (size_t i = 0; i < ORMA_CPU_COLUMNS; i++)
		cells[i] = ORMA_CELL_NULL;
	cells[ORMA_CPU_CLUSTER_ID] = 0;
	for (uint64_t at = orma_store_table_rows(table); at <= row; at++) {
		cells[ORMA_CPU_MACHINE_ID] = (int64_t)(at / ORMA_CPUS_PER_MACHINE);
		int r = orma_store_table_append(table, cells);
		if (r < 0)
			return r;
	}
	if (orma_store_column_get(numbers, row) == ORMA_CELL_NULL) {
		int r = orma_store_column_set(numbers, row, cpu);
		if (r < 0)
			return r;
	}
	return (int64_t)row;
}
