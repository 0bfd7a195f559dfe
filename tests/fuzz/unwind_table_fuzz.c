/* SPDX-License-Identifier: Apache-2.0
 * unwind_table_fuzz.c - any bytes as an ELF file whose table is built and searched. Bytes that are
 * no ELF file are taken as .eh_frame, so that mutations need not get past the headers.
 */
#include <elf.h>
#include <stdlib.h>

#include "unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rule(const struct orma_unwind_rule *rule)
{
	if (rule->cfa > ORMA_UNWIND_CFA_PLT || rule->return_where > ORMA_UNWIND_OTHER ||
	    rule->fp_where > ORMA_UNWIND_OTHER || rule->plt_split > 15)
		abort();
}

static void search(const struct orma_elf_file *file)
{
	struct orma_unwind_table *table = NULL;
	int r = orma_unwind_table_new(file, &table);

	if (r > 0 || (r == 0) != (table != NULL))
		abort();
	if (r < 0)
		return;
	struct orma_unwind_table_facts facts = orma_unwind_table_facts(table);
	/* Each row takes a byte of a program, or ends a function. */
	if (facts.rule_count > facts.row_count + 1 ||
	    facts.row_count > file->eh_frame.size + 2 * (uint64_t)facts.function_count * 256 + 1)
		abort();
	for (unsigned bit = 0; bit < 64; bit++) {
		check_rule(orma_unwind_table_find(table, UINT64_C(1) << bit));
		check_rule(orma_unwind_table_find(table, UINT64_MAX << bit));
		check_rule(orma_unwind_table_find(table,
						  file->eh_frame.address - (UINT64_C(1) << bit)));
	}
	orma_unwind_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_elf_file file;

	if (orma_elf_file_init_image(&file, data, size) == 0) {
		search(&file);
		return 0;
	}
	file = (struct orma_elf_file){.fd = -1,
				      .image = data,
				      .size = size,
				      .machine = size & 1 ? EM_X86_64 : EM_AARCH64,
				      .eh_frame = {.size = size, .address = 0x10000}};
	search(&file);
	return 0;
}
