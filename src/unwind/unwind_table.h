/* SPDX-License-Identifier: Apache-2.0
 * unwind_table.h - the rules of all addresses of a program or library, in a few bytes each.
 *
 * Threads: a table does not change, so several threads may search it.
 */
#ifndef ORMA_UNWIND_UNWIND_TABLE_H
#define ORMA_UNWIND_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/elf_file.h"
#include "unwind/unwind_rule.h"

struct orma_unwind_table;

/* Counts that say how well a file was understood. */
struct orma_unwind_table_facts {
	uint32_t function_count;
	uint32_t skipped_count; /* functions whose records are malformed or overlap others */
	uint32_t row_count, rule_count;
	size_t bytes; /* the memory that the table takes */
};

/* Builds the table of a file. It does not refer to the file afterwards. 0, -ENODATA (the file has
 * no .eh_frame), -EBADMSG, -EFBIG (more than the limits in unwind_table.c), -ENOMEM or another
 * -errno. */
int orma_unwind_table_new(const struct orma_elf_file *file, struct orma_unwind_table **ret);
void orma_unwind_table_free(struct orma_unwind_table *table);
struct orma_unwind_table_facts orma_unwind_table_facts(const struct orma_unwind_table *table);

/* Returns the memory of a table, which the table keeps. Another process can make a table of these bytes. */
const void *orma_unwind_table_bytes(const struct orma_unwind_table *table, size_t *ret_size);
#define ORMA_UNWIND_TABLE_BYTES_MAX ((size_t)64 << 20)
/* Makes a table of bytes that are not trusted and come from orma_base_alloc(). 0, and the bytes belong to
 * the table; or -EBADMSG, and they still belong to the caller. */
int orma_unwind_table_from_bytes(void *bytes, size_t size, struct orma_unwind_table **ret);

/* Returns the rule at an address of the file, never NULL. It belongs to the table. It is
 * ORMA_UNWIND_CFA_NONE where the file says nothing. Async-signal-safe, any thread. */
const struct orma_unwind_rule *orma_unwind_table_find(const struct orma_unwind_table *table,
						      uint64_t address);

#endif
