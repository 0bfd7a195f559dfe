/* SPDX-License-Identifier: Apache-2.0
 * symbol_table.h - the names of a file's functions, by address.
 *
 * Threads: a table does not change, so several threads may search it.
 */
#ifndef ORMA_SYMBOLS_SYMBOL_TABLE_H
#define ORMA_SYMBOLS_SYMBOL_TABLE_H

#include <stdint.h>

#include "unwind/elf_file.h"

struct orma_symbol_table;

/* Reads the names of the functions in .symtab, or in .dynsym if the file is stripped. 0, -ENODATA
 * (no functions), -EBADMSG, -EFBIG (over the limits in symbol_table.c), -ENOMEM or another -errno. */
int orma_symbol_table_new(const struct orma_elf_file *file, struct orma_symbol_table **ret);
void orma_symbol_table_free(struct orma_symbol_table *table);
/* Returns the name of the function at an address of the file, as the linker knows it, and in *ret_offset the
 * distance of the address from its start. NULL if no function is there. The name belongs to the table. */
const char *orma_symbol_table_find(const struct orma_symbol_table *table, uint64_t address,
				   uint64_t *ret_offset);

#endif
