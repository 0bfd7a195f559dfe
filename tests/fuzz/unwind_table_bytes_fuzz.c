/* SPDX-License-Identifier: Apache-2.0
 * unwind_table_bytes_fuzz.c - any bytes as an unwind table that another process has built. Each
 * table that is accepted is searched.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_unwind_table *table = NULL;
	void *bytes = size > 0 ? orma_base_memdup(data, size) : NULL;

	if (!bytes)
		return 0;
	if (orma_unwind_table_from_bytes(bytes, size, &table) < 0) {
		orma_base_free(bytes);
		return 0;
	}
	for (uint64_t address = 0; address < UINT64_C(1) << 21; address += 509) {
		const struct orma_unwind_rule *rule = orma_unwind_table_find(table, address);
		if (rule->cfa > ORMA_UNWIND_CFA_PLT || rule->fp_where > ORMA_UNWIND_OTHER)
			abort();
	}
	for (unsigned bit = 0; bit < 64; bit++)
		(void)orma_unwind_table_find(table, UINT64_C(1) << bit);
	orma_unwind_table_free(table);
	return 0;
}
