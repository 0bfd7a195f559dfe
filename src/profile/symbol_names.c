/* SPDX-License-Identifier: Apache-2.0
 * symbol_names.c - the answer of a table builder's child to a question about a file's symbols. Owns nothing.
 *
 * The symbols of a profiled program are as hostile as its unwind information, and their file system
 * may hang. So the same child without rights reads them (src/unwind/table_builder.h). It sends names
 * instead of the whole table, because a table has up to 200 MiB, and a profile needs some hundred names.
 */
#include "profile/symbol_names.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "symbols/symbol_table.h"

/* The linker appends the version of an exported function, as in name@@GLIBC_2.34. */
static size_t measure(const char *name)
{
	size_t size = strnlen(name, ORMA_SYMBOL_NAME_BYTES_MAX);
	const char *version = size > 1 ? memchr(name + 1, '@', size - 1) : NULL;

	return version ? (size_t)(version - name) : size;
}

int orma_symbol_names_answer(const struct orma_elf_file *elf, const void *question, size_t size,
			     struct orma_buf *ret)
{
	struct orma_symbol_table *table;
	int r = orma_symbol_table_new(elf, &table);

	if (r < 0)
		return r;
	for (size_t at = 0; at + sizeof(uint64_t) <= size && r == 0; at += sizeof(uint64_t)) {
		uint64_t address, offset;
		memcpy(&address, (const char *)question + at, sizeof(address));
		const char *name = orma_symbol_table_find(table, address, &offset);
		uint16_t name_size = name ? (uint16_t)measure(name) : 0;
		if (ret->size + sizeof(name_size) + name_size > ORMA_TABLE_ANSWER_BYTES_MAX)
			break;
		r = orma_base_buf_append(ret, &name_size, sizeof(name_size));
		if (r == 0 && name_size > 0)
			r = orma_base_buf_append(ret, name, name_size);
	}
	orma_symbol_table_free(table);
	return r;
}

_Noreturn void orma_symbol_names_run(int socket)
{
	orma_table_child_run_with(socket, orma_symbol_names_answer);
}

bool orma_symbol_names_next(struct orma_str *answer_untrusted, struct orma_str *ret_name)
{
	uint16_t size;

	if (answer_untrusted->size < sizeof(size))
		return false;
	memcpy(&size, answer_untrusted->data, sizeof(size));
	if (size > ORMA_SYMBOL_NAME_BYTES_MAX || answer_untrusted->size - sizeof(size) < size)
		return false;
	*ret_name = (struct orma_str){answer_untrusted->data + sizeof(size), size};
	answer_untrusted->data += sizeof(size) + size;
	answer_untrusted->size -= sizeof(size) + size;
	return true;
}
