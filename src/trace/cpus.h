/* SPDX-License-Identifier: Apache-2.0
 * cpus.h - the rows of CPUs.
 */
#ifndef ORMA_TRACE_CPUS_H
#define ORMA_TRACE_CPUS_H

#include "trace/tables.h"

#define ORMA_CPUS_PER_MACHINE 4096

/* Returns the row of a CPU, which is made when it is asked for first, or a negative errno value: -ERANGE for a number that
 * no machine has. Rows of the first machine are the CPUs' numbers. */
int64_t orma_cpus_get(struct orma_tables *tables, uint32_t machine_idx, uint32_t cpu);

#endif
