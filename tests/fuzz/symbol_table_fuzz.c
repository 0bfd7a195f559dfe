/* SPDX-License-Identifier: Apache-2.0
 * symbol_table_fuzz.c - any bytes as symbols, the second half of them as their names; or as a whole
 * ELF file.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_symbol_table *table = NULL;
	struct orma_elf_file file;
	uint64_t offset;

	if (orma_elf_file_init_image(&file, data, size) < 0)
		file = (struct orma_elf_file){
			.fd = -1,
			.image = data,
			.size = size,
			.symbols = {.size = size / 2},
			.symbol_names = {.offset = size / 2, .size = size - size / 2}};
	int r = orma_symbol_table_new(&file, &table);
	if (r > 0 || (r == 0) != (table != NULL))
		abort();
	for (unsigned bit = 0; r == 0 && bit < 64; bit++) {
		const char *name = orma_symbol_table_find(table, UINT64_C(1) << bit, &offset);

		if (name && strlen(name) > size)
			abort();
	}
	orma_symbol_table_free(table);
	return 0;
}
