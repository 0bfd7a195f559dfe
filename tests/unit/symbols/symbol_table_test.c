/* SPDX-License-Identifier: Apache-2.0
 * symbol_table_test.c - names of this program's functions and of libc's, beside the loader's.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "symbols/symbol_table.h"

int orma_test_named_function(int value);
__attribute__((noinline, used)) int orma_test_named_function(int value)
{
	return value * 5 + 2;
}

static struct orma_symbol_table *read_file(const char *path)
{
	struct orma_elf_file file;
	struct orma_symbol_table *table;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK_INT(orma_elf_file_init(&file, fd), 0);
	CHECK_INT(orma_symbol_table_new(&file, &table), 0);
	close(fd);
	return table;
}

static int get_bias(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1; /* the first module is the program */
}

ORMA_TEST(an_address_in_a_function_has_its_name)
{
	struct orma_symbol_table *table = read_file("/proc/self/exe");
	uint64_t bias = 0, offset = 0;

	dl_iterate_phdr(get_bias, &bias);
	uint64_t address = (uintptr_t)orma_test_named_function - bias;
	CHECK_STR(orma_symbol_table_find(table, address, &offset), "orma_test_named_function");
	CHECK_INT(offset, 0);
	CHECK_STR(orma_symbol_table_find(table, address + 3, &offset), "orma_test_named_function");
	CHECK_INT(offset, 3);
	const char *before = orma_symbol_table_find(table, address - 1, &offset);
	CHECK(!before || strcmp(before, "orma_test_named_function") != 0);
	CHECK(!orma_symbol_table_find(table, 0, &offset));
	CHECK(!orma_symbol_table_find(table, UINT64_MAX, &offset));
	orma_symbol_table_free(table);
}

ORMA_TEST(names_of_a_stripped_library_are_the_loaders)
{
	/* A sanitizer's own functions would be found first without the handle. */
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	Dl_info info;
	uint64_t offset;

	if (!libc)
		orma_test_skip("glibc as a library");
	CHECK(dladdr(dlsym(libc, "qsort"), &info) != 0);
	struct orma_symbol_table *table = read_file(info.dli_fname);
	static const char *const names[] = {"qsort", "regcomp", "getaddrinfo", "strtod_l",
					    "glob64"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *address = dlsym(libc, names[i]);

		CHECK(address);
		const char *name = orma_symbol_table_find(
			table, (uint64_t)(address - (const char *)info.dli_fbase), &offset);
		CHECK(name && offset == 0);
		/* An alias is as good: it has the same address. */
		CHECK(dlsym(libc, name) == address);
	}
	orma_symbol_table_free(table);
}

/* A file of symbols only. */
static int read_symbols(Elf64_Sym *symbols, size_t count, const char *names, size_t names_size,
			struct orma_symbol_table **ret)
{
	uint8_t bytes[1024];
	size_t size = count * sizeof(*symbols);

	memcpy(bytes, symbols, size);
	memcpy(bytes + size, names, names_size);
	struct orma_elf_file file = {.fd = -1,
				     .image = bytes,
				     .size = size + names_size,
				     .symbols = {.size = size},
				     .symbol_names = {.offset = size, .size = names_size}};
	return orma_symbol_table_new(&file, ret);
}

#define FUNCTION(name, bind, start, size)                                                          \
	{                                                                                          \
		name, ELF64_ST_INFO(bind, STT_FUNC), 0, 1, start, size                             \
	}

ORMA_TEST(the_best_of_several_names_is_kept_and_sizes_are_obeyed)
{
	Elf64_Sym symbols[] = {
		FUNCTION(1, STB_LOCAL, 0x100, 0x10),
		FUNCTION(3, STB_GLOBAL, 0x100, 0x10),
		FUNCTION(5, STB_GLOBAL, 0x80, 0),
		FUNCTION(900, STB_GLOBAL, 0x90, 0),
		{1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0x98, 4},
	};
	struct orma_symbol_table *table;
	uint64_t offset;

	/* The last name has no end. */
	CHECK_INT(read_symbols(symbols, 5, "\0a\0b\0c", 6, &table), 0);
	CHECK_STR(orma_symbol_table_find(table, 0x10f, &offset), "b");
	CHECK(!orma_symbol_table_find(table, 0x110, &offset));
	CHECK_STR(orma_symbol_table_find(table, 0xff, &offset), "c");
	CHECK_INT(offset, 0x7f);
	CHECK(!orma_symbol_table_find(table, 0x7f, &offset));
	orma_symbol_table_free(table);
	CHECK_INT(read_symbols(symbols + 3, 2, "\0a\0b\0c", 6, &table), -ENODATA);
	CHECK_INT(read_symbols(symbols, 0, "", 1, &table), -ENODATA);
}

ORMA_TEST(every_failed_allocation_is_an_error)
{
	Elf64_Sym symbols[] = {FUNCTION(1, STB_LOCAL, 0x100, 0x10)};

	for (uint64_t nth = 1;; nth++) {
		struct orma_symbol_table *table = NULL;

		orma_test_fail_allocation(nth);
		int r = read_symbols(symbols, 1, "\0a", 3, &table);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		orma_symbol_table_free(table);
		if (!has_failed) {
			CHECK(nth > 1);
			break;
		}
		CHECK(nth < 100);
	}
}
