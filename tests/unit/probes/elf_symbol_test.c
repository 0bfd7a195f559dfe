/* SPDX-License-Identifier: Apache-2.0
 * elf_symbol_test.c - functions of programs by name, in whole and in damaged files.
 */
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "probes/ftrace/elf_symbol.h"

/* A function that the linker keeps under its name. */
int orma_test_known_function(int value);
__attribute__((noinline, used)) int orma_test_known_function(int value)
{
	return value * 3 + 1;
}

static int find(const char *path, struct orma_str name, uint64_t *ret_offset)
{
	uint64_t bytes_left = UINT64_C(256) << 20;

	return orma_elf_find_function(path, name, &bytes_left, ret_offset);
}

ORMA_TEST(the_code_of_a_function_is_at_its_offset)
{
	unsigned char code[8];
	uint64_t offset;

	CHECK_INT(find("/proc/self/exe", ORMA_STR("orma_test_known_function"), &offset), 0);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(pread(fd, code, sizeof(code), (off_t)offset), sizeof(code));
	close(fd);
	const void *function = (const void *)(uintptr_t)orma_test_known_function;
	CHECK(memcmp(code, function, sizeof(code)) == 0);
}

ORMA_TEST(names_that_are_no_functions_are_not_found)
{
	uint64_t offset;

	CHECK_INT(find("/proc/self/exe", ORMA_STR("orma_test_known_functio"), &offset), -ENODATA);
	CHECK_INT(find("/proc/self/exe", ORMA_STR("environ"), &offset), -ENODATA);
	CHECK_INT(find("/no/such/file", ORMA_STR("main"), &offset), -ENOENT);
	CHECK_INT(find("/proc/self/exe", ORMA_STR(""), &offset), -ENOEXEC);
}

ORMA_TEST(other_kinds_of_files_are_refused)
{
	char path[512];
	uint64_t offset;

	CHECK_INT(find("/dev/zero", ORMA_STR("main"), &offset), -ENOEXEC);
	CHECK_INT(find("/", ORMA_STR("main"), &offset), -ENOEXEC);
	snprintf(path, sizeof(path), "%s/fifo", orma_test_tmpdir());
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK_INT(find(path, ORMA_STR("main"), &offset), -ENOEXEC);
	snprintf(path, sizeof(path), "%s/text", orma_test_tmpdir());
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(find(path, ORMA_STR("main"), &offset), -ENOEXEC);
	CHECK_INT(write(fd, "#!/bin/sh\nexit 0 # and more text\n", 33), 33);
	close(fd);
	CHECK_INT(find(path, ORMA_STR("main"), &offset), -ENOEXEC);
}

ORMA_TEST(what_is_read_is_taken_from_an_allowance)
{
	const uint64_t allowance = UINT64_C(256) << 20;
	uint64_t bytes_left = allowance, offset, cost;

	CHECK_INT(orma_elf_find_function("/proc/self/exe", ORMA_STR("orma_test_known_function"),
					 &bytes_left, &offset),
		  0);
	cost = allowance - bytes_left;
	CHECK(cost > 0);
	bytes_left = cost;
	CHECK_INT(orma_elf_find_function("/proc/self/exe", ORMA_STR("orma_test_known_function"),
					 &bytes_left, &offset),
		  0);
	CHECK_INT(bytes_left, 0);
	/* Whichever read is the first that is not allowed, nothing more is read. */
	for (uint64_t less = 1; less < cost; less += cost / 64 + 1) {
		bytes_left = cost - less;
		CHECK_INT(orma_elf_find_function("/proc/self/exe",
						 ORMA_STR("orma_test_known_function"), &bytes_left,
						 &offset),
			  -EFBIG);
	}
}

/* A section of any size costs no more than the allowance, also in a file that has it (as a hole). */
ORMA_TEST(a_huge_table_of_symbols_is_not_read_whole)
{
	Elf64_Ehdr header = {.e_ident = ELFMAG,
			     .e_shoff = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 2};
	Elf64_Shdr sections[2] = {
		{.sh_type = SHT_SYMTAB, .sh_offset = 4096, .sh_size = 1 << 30, .sh_link = 1},
		{.sh_type = SHT_STRTAB, .sh_offset = 0, .sh_size = 64},
	};
	uint64_t bytes_left = 1 << 20, offset;
	char path[512];

	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	snprintf(path, sizeof(path), "%s/huge", orma_test_tmpdir());
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, &header, sizeof(header)), sizeof(header));
	CHECK_INT(write(fd, sections, sizeof(sections)), sizeof(sections));
	CHECK_INT(ftruncate(fd, 2 << 20), 0);
	CHECK_INT(orma_elf_find_function(path, ORMA_STR("f"), &bytes_left, &offset), -EFBIG);
	CHECK(bytes_left < 1 << 17);
	close(fd);
}

static void damage(const char *path, int fd, const char *bytes, size_t at)
{
	static const char masks[] = {1, 0x7f, (char)0x80, (char)0xff};
	uint64_t offset;

	for (size_t i = 0; i < sizeof(masks); i++) {
		char byte = (char)(bytes[at] ^ masks[i]);

		CHECK_INT(pwrite(fd, &byte, 1, (off_t)at), 1);
		int r = find(path, ORMA_STR("orma_test_known_function"), &offset);
		CHECK(r <= 0);
	}
	CHECK_INT(pwrite(fd, bytes + at, 1, (off_t)at), 1);
}

/* Files that end early, and files of which one byte of a header is wrong: an error or an offset, and no crash. */
ORMA_TEST(damaged_files_are_errors)
{
	char path[512];
	Elf64_Ehdr header;
	struct stat st;

	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(from >= 0 && fstat(from, &st) == 0);
	size_t size = (size_t)st.st_size;
	char *bytes = malloc(size);
	CHECK(bytes && read(from, bytes, size) == st.st_size);
	close(from);
	memcpy(&header, bytes, sizeof(header));
	snprintf(path, sizeof(path), "%s/damaged", orma_test_tmpdir());
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, bytes, size), size);
	for (size_t at = 0; at < sizeof(header); at++)
		damage(path, fd, bytes, at);
	/* In a file of 32 bits this is somewhere else, and as good. */
	for (size_t at = (size_t)header.e_shoff; at < size && at - header.e_shoff < 2560; at += 3)
		damage(path, fd, bytes, at);
	for (off_t end = st.st_size / 2; end > 0; end /= 2) {
		uint64_t offset;

		CHECK_INT(ftruncate(fd, end), 0);
		CHECK(find(path, ORMA_STR("main"), &offset) < 0);
	}
	close(fd);
	free(bytes);
}
