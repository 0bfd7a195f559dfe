/* SPDX-License-Identifier: Apache-2.0
 * big_array.h - an array that grows in memory, and in a file when it is beyond the budget.
 */
#ifndef ORMA_STORE_BIG_ARRAY_H
#define ORMA_STORE_BIG_ARRAY_H

#include "store/memory_budget.h"

/* {.budget = ...} is empty; without a budget it stays in memory. */
struct orma_big_array {
	void *data;
	size_t size_bytes;
	struct orma_memory_budget *budget;
	int file; /* + 1; 0 = it lies in memory */
};

void orma_store_big_array_done(struct orma_big_array *array);
/* Makes the array larger; the new bytes are not set, and `data` may move. 0, -ENOMEM, or an error of the file: -ENOSPC and
 * others. The content stays in all cases. */
int orma_store_big_array_grow(struct orma_big_array *array, size_t size_bytes);

#endif
