/* SPDX-License-Identifier: Apache-2.0
 * memory_budget.h - how much memory tables, strings and rows of queries may take together before they go to files.
 */
#ifndef ORMA_STORE_MEMORY_BUDGET_H
#define ORMA_STORE_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} has no limit. One thread at a time uses it. */
struct orma_memory_budget {
	size_t limit_bytes; /* 0 = no limit */
	size_t used_bytes;
	const char *folder; /* for the files; NULL = TMPDIR, else /var/tmp */
};

/* True when so much more is beyond the limit. `budget` may be NULL, which is one without a limit. */
static inline bool orma_memory_budget_is_over(const struct orma_memory_budget *budget, size_t bytes)
{
	return budget && budget->limit_bytes > 0 &&
	       (bytes > budget->limit_bytes || budget->used_bytes > budget->limit_bytes - bytes);
}

static inline void orma_memory_budget_take(struct orma_memory_budget *budget, size_t bytes)
{
	if (budget)
		budget->used_bytes += bytes;
}

static inline void orma_memory_budget_give(struct orma_memory_budget *budget, size_t bytes)
{
	if (budget)
		budget->used_bytes -= bytes;
}

/* Returns a new file without a name in the folder, or a negative errno value. */
int orma_memory_budget_open_file(const struct orma_memory_budget *budget);
/* Returns a quarter of the memory that this process may use, and at least 64 MB. */
size_t orma_memory_budget_default(void);

#endif
