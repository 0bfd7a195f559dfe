/* SPDX-License-Identifier: Apache-2.0
 * symbol_table.c - the functions of a file, sorted by address.
 *
 * An entry has 16 bytes: start, size, and the offset of the name in the file's strings. The strings are
 * kept whole, because nearly all of them are names of functions. Invariant: starts rise strictly, so a
 * search by halving finds the only entry that can contain an address. If several names have the same
 * start, a global one is preferred to a local one, and then a larger function to a smaller one.
 *
 * A function without a size, as in assembly code, extends to the next entry, but has at most
 * SIZELESS_BYTES_MAX.
 *
 * Names of C++ and Rust stay mangled, because readers of traces demangle them.
 */
#include "symbols/symbol_table.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

#define SYMBOLS_BYTES_MAX  (96u << 20)
#define NAMES_BYTES_MAX    (128u << 20)
#define SIZELESS_BYTES_MAX 4096u

struct entry {
	uint64_t start;
	uint32_t size, name;
};

struct orma_symbol_table {
	struct orma_buf names; /* ends with a NUL */
	struct entry *entries;
	size_t count;
};

static Elf64_Sym symbol_at(const struct orma_buf *symbols, size_t idx)
{
	Elf64_Sym symbol;

	memcpy(&symbol, symbols->data + idx * sizeof(symbol), sizeof(symbol));
	return symbol;
}

static bool is_function(const struct orma_symbol_table *table, const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_name > 0 && symbol->st_name < table->names.size;
}

static int compare_symbols(const void *left, const void *right)
{
	const Elf64_Sym *a = left, *b = right;
	bool a_global = ELF64_ST_BIND(a->st_info) == STB_GLOBAL;
	bool b_global = ELF64_ST_BIND(b->st_info) == STB_GLOBAL;

	if (a->st_value != b->st_value)
		return a->st_value < b->st_value ? -1 : 1;
	if (a_global != b_global)
		return a_global ? -1 : 1;
	if (a->st_size != b->st_size)
		return a->st_size > b->st_size ? -1 : 1;
	return (a->st_name > b->st_name) - (a->st_name < b->st_name);
}

/* Moves the functions to the beginning, sorts them, and returns their number. */
static size_t sort_functions(const struct orma_symbol_table *table, struct orma_buf *symbols)
{
	size_t count = symbols->size / sizeof(Elf64_Sym), kept = 0;

	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol = symbol_at(symbols, i);

		if (is_function(table, &symbol))
			memcpy(symbols->data + kept++ * sizeof(symbol), &symbol, sizeof(symbol));
	}
	if (kept > 0)
		qsort(symbols->data, kept, sizeof(Elf64_Sym), compare_symbols);
	return kept;
}

static int fill(struct orma_symbol_table *table, struct orma_buf *symbols)
{
	size_t count = sort_functions(table, symbols);

	if (count == 0)
		return -ENODATA;
	table->entries = orma_base_alloc_array(count, sizeof(*table->entries));
	if (!table->entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym symbol = symbol_at(symbols, i);

		if (table->count > 0 && table->entries[table->count - 1].start == symbol.st_value)
			continue;
		table->entries[table->count++] = (struct entry){
			.start = symbol.st_value,
			.size = (uint32_t)ORMA_MIN(symbol.st_size, (uint64_t)UINT32_MAX),
			.name = symbol.st_name,
		};
	}
	return 0;
}

int orma_symbol_table_new(const struct orma_elf_file *file, struct orma_symbol_table **ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf symbols = {0};

	if (file->symbols.size == 0)
		return -ENODATA;
	struct orma_symbol_table *table = orma_base_zalloc(sizeof(*table));
	if (!table)
		return -ENOMEM;
	int r = orma_elf_file_read_part(file, &file->symbols, SYMBOLS_BYTES_MAX, &symbols);
	if (r == 0)
		r = orma_elf_file_read_part(file, &file->symbol_names, NAMES_BYTES_MAX,
					    &table->names);
	/* The last name may lack its NUL. */
	if (r == 0)
		r = orma_base_buf_append(&table->names, "", 1);
	if (r == 0)
		r = fill(table, &symbols);
	if (r < 0)
		orma_symbol_table_free(table);
	else
		*ret = table;
	return r;
}

void orma_symbol_table_free(struct orma_symbol_table *table)
{
	if (!table)
		return;
	orma_base_buf_done(&table->names);
	orma_base_free(table->entries);
	orma_base_free(table);
}

const char *orma_symbol_table_find(const struct orma_symbol_table *table, uint64_t address,
				   uint64_t *ret_offset)
{
	size_t first = 0, count = table->count;

	/* `first` becomes the number of entries that start at the address or before it. */
	while (count > 0) {
		size_t half = count / 2;
		bool is_before = table->entries[first + half].start <= address;

		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	if (first == 0)
		return NULL;
	const struct entry *entry = &table->entries[first - 1];
	if (address - entry->start >= (entry->size > 0 ? entry->size : SIZELESS_BYTES_MAX))
		return NULL;
	*ret_offset = address - entry->start;
	return (const char *)table->names.data + entry->name;
}
