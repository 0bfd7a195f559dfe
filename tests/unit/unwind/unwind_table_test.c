/* SPDX-License-Identifier: Apache-2.0
 * unwind_table_test.c - the rules of real programs and libraries, row by row, beside libdw's; and
 * records of .eh_frame that are damaged or meant to do harm.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef ORMA_HAVE_DW
#include <dwarf.h>
#include <elfutils/libdw.h>
#endif

#include "base/fd.h"
#include "harness.h"
#include "unwind/unwind_table.h"

/* --- beside libdw ----------------------------------------------------------------------------- */

#ifdef ORMA_HAVE_DW
struct comparison {
	const struct orma_unwind_table *table;
	Dwarf_CFI *cfi;
	uint64_t row_count, equal_count, other_count;
};

/* libdw gives a saved register as "CFA + n", or as an expression behind the CFA, which it drops. */
static bool is_same_place(enum orma_unwind_where where, int64_t offset, const Dwarf_Op *mem,
			  const Dwarf_Op *ops, size_t count)
{
	if (count == 0)
		return where == (ops == mem ? ORMA_UNWIND_NOWHERE : ORMA_UNWIND_SAME);
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return where == ORMA_UNWIND_OTHER;
	if (count == 1)
		return where == ORMA_UNWIND_AT_CFA && offset == 0;
	if (count == 2 && ops[1].atom == DW_OP_plus_uconst)
		return where == ORMA_UNWIND_AT_CFA && offset == (int64_t)ops[1].number;
	if (count == 2 && ops[1].atom == DW_OP_breg6)
		return where == ORMA_UNWIND_AT_FP && offset == (int64_t)ops[1].number;
	if (count == 2 && ops[1].atom == DW_OP_breg7)
		return where == ORMA_UNWIND_AT_SP && offset == (int64_t)ops[1].number;
	return where == ORMA_UNWIND_OTHER;
}

static bool is_same_cfa(const struct orma_unwind_rule *rule, const Dwarf_Op *ops, size_t count)
{
	int64_t number = count > 0 ? (int64_t)ops[0].number : 0;

	if (count == 1 && ops[0].atom == DW_OP_bregx && (number == 6 || number == 7))
		return rule->cfa == (number == 7 ? ORMA_UNWIND_CFA_SP : ORMA_UNWIND_CFA_FP) &&
		       rule->cfa_offset == (int64_t)ops[0].number2;
	if (count == 2 && ops[1].atom == DW_OP_deref && ops[0].atom == DW_OP_breg6)
		return rule->cfa == ORMA_UNWIND_CFA_FP_DEREF && rule->cfa_offset == number;
	if (count == 2 && ops[1].atom == DW_OP_deref && ops[0].atom == DW_OP_breg7)
		return rule->cfa == ORMA_UNWIND_CFA_SP_DEREF && rule->cfa_offset == number;
	if (count == 9 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_breg16)
		return rule->cfa == ORMA_UNWIND_CFA_PLT && rule->cfa_offset == number &&
		       ops[4].atom == DW_OP_lit0 + rule->plt_split;
	return rule->cfa == ORMA_UNWIND_CFA_OTHER;
}

static bool is_same_rule(const struct orma_unwind_rule *rule, Dwarf_Frame *frame, bool is_signal)
{
	Dwarf_Op fp_mem[3], return_mem[3];
	Dwarf_Op *cfa, *fp, *back;
	size_t cfa_count, fp_count, return_count;

	CHECK_INT(dwarf_frame_cfa(frame, &cfa, &cfa_count), 0);
	CHECK_INT(dwarf_frame_register(frame, 6, fp_mem, &fp, &fp_count), 0);
	CHECK_INT(dwarf_frame_register(frame, 16, return_mem, &back, &return_count), 0);
	if (!is_same_cfa(rule, cfa, cfa_count) || rule->is_signal != is_signal)
		return false;
	return rule->cfa == ORMA_UNWIND_CFA_OTHER ||
	       (is_same_place(rule->fp_where, rule->fp_offset, fp_mem, fp, fp_count) &&
		is_same_place(rule->return_where, rule->return_offset, return_mem, back,
			      return_count));
}

/* Compares the first and the last address of each row of the function at `address`. Returns where
 * libdw's function ends: its next row is none. */
static void compare_function(struct comparison *comparison, uint64_t address, uint64_t end)
{
	while (address < end) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr row_start, row_end;
		bool is_signal = false;

		if (dwarf_cfi_addrframe(comparison->cfi, address, &frame) != 0)
			return;
		CHECK(dwarf_frame_info(frame, &row_start, &row_end, &is_signal) >= 0);
		const struct orma_unwind_rule *rule =
			orma_unwind_table_find(comparison->table, address);
		comparison->row_count++;
		comparison->other_count += rule->cfa == ORMA_UNWIND_CFA_OTHER;
		comparison->equal_count +=
			is_same_rule(rule, frame, is_signal) &&
			memcmp(rule, orma_unwind_table_find(comparison->table, row_end - 1),
			       sizeof(*rule)) == 0;
		free(frame);
		if (row_end <= address)
			return;
		address = row_end;
	}
}

/* libdw names the functions: their records are read with its own parser. */
static uint32_t compare_functions(struct comparison *comparison, const struct orma_buf *content,
				  uint64_t section_address, uint32_t step)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	unsigned char ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	Elf_Data data = {.d_buf = content->data,
			 .d_type = ELF_T_BYTE,
			 .d_size = content->size,
			 .d_version = EV_CURRENT};
	uint32_t count = 0;

	for (; dwarf_next_cfi(ident, &data, true, offset, &next, &entry) == 0; offset = next) {
		int32_t start, size;

		if (dwarf_cfi_cie_p(&entry) || count++ % step != 0)
			continue;
		/* In every file here, pointers are relative and have 4 bytes. */
		memcpy(&start, entry.fde.start, sizeof(start));
		memcpy(&size, entry.fde.start + 4, sizeof(size));
		uint64_t address = section_address + (uint64_t)(entry.fde.start - content->data) +
				   (uint64_t)(int64_t)start;
		compare_function(comparison, address, address + (uint32_t)size);
	}
	return count;
}

static void compare_file(const char *path, uint32_t step)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_elf_file file;
	struct orma_unwind_table *table;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	CHECK_INT(orma_elf_file_init(&file, fd), 0);
	CHECK_INT(orma_unwind_table_new(&file, &table), 0);
	CHECK_INT(orma_elf_file_read_part(&file, &file.eh_frame, 64u << 20, &content), 0);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	struct comparison comparison = {.table = table, .cfi = dwarf_getcfi_elf(elf)};
	CHECK(elf && comparison.cfi);
	uint32_t functions = compare_functions(&comparison, &content, file.eh_frame.address, step);
	struct orma_unwind_table_facts facts = orma_unwind_table_facts(table);
	printf("%s: %u functions (%u skipped), %u rows, %u rules, %zu bytes = %.2f %% of the file; "
	       "%llu of %llu rows equal, %llu with a rule that the table has not\n",
	       path, facts.function_count, facts.skipped_count, facts.row_count, facts.rule_count,
	       facts.bytes, 100.0 * (double)facts.bytes / (double)file.size,
	       (unsigned long long)comparison.equal_count, (unsigned long long)comparison.row_count,
	       (unsigned long long)comparison.other_count);
	CHECK_INT(facts.function_count, functions);
	CHECK_INT(facts.skipped_count, 0);
	CHECK(comparison.row_count > 0);
	CHECK(comparison.equal_count * 10000 >= comparison.row_count * 9999);
	CHECK(comparison.other_count * 1000 <= comparison.row_count);
	CHECK(facts.bytes * 100 <= file.size * 8);
	dwarf_cfi_end(comparison.cfi);
	elf_end(elf);
	orma_unwind_table_free(table);
	close(fd);
}

static const char *library_of(const void *address)
{
	Dl_info info;

	CHECK(dladdr(address, &info) != 0);
	return info.dli_fname;
}

ORMA_TEST(rules_of_libraries_equal_those_of_libdw)
{
	void *sqlite = dlopen("libsqlite3.so.0", RTLD_NOW);

	compare_file(library_of((const void *)(uintptr_t)qsort), 1);
	compare_file(library_of((const void *)(uintptr_t)dwarf_begin), 1);
	if (sqlite)
		compare_file(library_of(dlsym(sqlite, "sqlite3_open")), 1);
}

ORMA_TEST(rules_of_large_programs_equal_those_of_libdw)
{
	compare_file("/usr/bin/python3.11", 3);
	compare_file("/usr/lib/gcc/x86_64-linux-gnu/12/cc1", 29);
}
#else
ORMA_TEST(rules_of_libraries_equal_those_of_libdw)
{
	orma_test_skip("libdw (Debian: libdw-dev)");
}
#endif

/* --- records made by hand --------------------------------------------------------------------- */

#define SECTION_ADDRESS 0x10000u
#define FUNCTION_START  0x20000u

/* A section of one common record, whose program says "CFA = rsp + 8, return address at CFA - 8",
 * and of functions with pointers of 8 bytes. */
struct section {
	uint8_t bytes[1024];
	size_t size;
};

static void put(struct section *section, const void *data, size_t size)
{
	CHECK(size <= sizeof(section->bytes) - section->size);
	memcpy(section->bytes + section->size, data, size);
	section->size += size;
}

static void put_record(struct section *section, uint32_t id, const void *content, size_t size)
{
	uint32_t record_size = (uint32_t)size + 4;

	put(section, &record_size, 4);
	put(section, &id, 4);
	put(section, content, size);
}

static void put_common(struct section *section)
{
	static const uint8_t content[] = {1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};

	put_record(section, 0, content, sizeof(content));
}

static void put_function(struct section *section, uint64_t start, uint64_t size,
			 const void *program, size_t program_size)
{
	uint8_t content[512];
	uint64_t words[2] = {start, size};

	memcpy(content, words, sizeof(words));
	memcpy(content + sizeof(words), program, program_size);
	put_record(section, (uint32_t)section->size + 4, content, sizeof(words) + program_size);
}

static int make(const struct section *section, struct orma_unwind_table **ret)
{
	struct orma_elf_file file = {
		.fd = -1,
		.image = section->bytes,
		.size = section->size,
		.machine = EM_X86_64,
		.eh_frame = {.size = section->size, .address = SECTION_ADDRESS}};

	return orma_unwind_table_new(&file, ret);
}

static struct orma_unwind_table *make_function(const void *program, size_t program_size)
{
	struct section section = {.size = 0};
	struct orma_unwind_table *table;

	put_common(&section);
	put_function(&section, FUNCTION_START, 0x100, program, program_size);
	CHECK_INT(make(&section, &table), 0);
	return table;
}

static void check_cfa(const struct orma_unwind_table *table, uint64_t address, int cfa, int offset)
{
	const struct orma_unwind_rule *rule = orma_unwind_table_find(table, address);

	CHECK_INT(rule->cfa, cfa);
	CHECK_INT(rule->cfa_offset, offset);
}

ORMA_TEST(rows_hold_from_their_address_to_the_next)
{
	/* push rbp; mov rbp, rsp; ...; ret with the state of the beginning. */
	static const uint8_t program[] = {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,
					  0x0a, 0x50, 0x0c, 7,    8, 0xc6, 0x41, 0x0b};
	struct orma_unwind_table *table = make_function(program, sizeof(program));

	check_cfa(table, FUNCTION_START - 1, ORMA_UNWIND_CFA_NONE, 0);
	check_cfa(table, FUNCTION_START, ORMA_UNWIND_CFA_SP, 8);
	check_cfa(table, FUNCTION_START + 1, ORMA_UNWIND_CFA_SP, 16);
	CHECK_INT(orma_unwind_table_find(table, FUNCTION_START)->fp_where, ORMA_UNWIND_SAME);
	CHECK_INT(orma_unwind_table_find(table, FUNCTION_START + 3)->fp_where, ORMA_UNWIND_AT_CFA);
	CHECK_INT(orma_unwind_table_find(table, FUNCTION_START + 3)->fp_offset, -16);
	CHECK_INT(orma_unwind_table_find(table, FUNCTION_START + 3)->return_offset, -8);
	check_cfa(table, FUNCTION_START + 4, ORMA_UNWIND_CFA_FP, 16);
	check_cfa(table, FUNCTION_START + 0x13, ORMA_UNWIND_CFA_FP, 16);
	check_cfa(table, FUNCTION_START + 0x14, ORMA_UNWIND_CFA_SP, 8);
	CHECK_INT(orma_unwind_table_find(table, FUNCTION_START + 0x14)->fp_where, ORMA_UNWIND_SAME);
	check_cfa(table, FUNCTION_START + 0x15, ORMA_UNWIND_CFA_FP, 16);
	check_cfa(table, FUNCTION_START + 0xff, ORMA_UNWIND_CFA_FP, 16);
	check_cfa(table, FUNCTION_START + 0x100, ORMA_UNWIND_CFA_NONE, 0);
	orma_unwind_table_free(table);
}

ORMA_TEST(padding_belongs_to_the_function_before_and_larger_holes_to_none)
{
	struct section section = {.size = 0};
	struct orma_unwind_table *table;

	put_common(&section);
	/* They are not in order, and the third lies four pages behind. */
	put_function(&section, FUNCTION_START + 0x40, 0x10, "\x0e\x20", 2);
	put_function(&section, FUNCTION_START, 0x38, "\x0e\x10", 2);
	put_function(&section, FUNCTION_START + 0x40000, 0x30000, "\x0e\x30", 2);
	CHECK_INT(make(&section, &table), 0);
	check_cfa(table, FUNCTION_START + 0x3f, ORMA_UNWIND_CFA_SP, 0x10);
	check_cfa(table, FUNCTION_START + 0x40, ORMA_UNWIND_CFA_SP, 0x20);
	check_cfa(table, FUNCTION_START + 0x50, ORMA_UNWIND_CFA_NONE, 0);
	check_cfa(table, FUNCTION_START + 0x2ffff, ORMA_UNWIND_CFA_NONE, 0);
	check_cfa(table, FUNCTION_START + 0x6ffff, ORMA_UNWIND_CFA_SP, 0x30);
	check_cfa(table, FUNCTION_START + 0x70000, ORMA_UNWIND_CFA_NONE, 0);
	check_cfa(table, 0, ORMA_UNWIND_CFA_NONE, 0);
	check_cfa(table, UINT64_MAX, ORMA_UNWIND_CFA_NONE, 0);
	orma_unwind_table_free(table);
}

ORMA_TEST(a_damaged_program_gives_no_rules_from_the_damage_on)
{
	static const struct {
		const char *program;
		size_t size;
	} cases[] = {
		{"\x41\x0b", 2},     /* nothing remembered */
		{"\x41\x3f", 2},     /* no such instruction */
		{"\x41\x0e", 2},     /* cut off */
		{"\x41\x0f\x7f", 3}, /* an endless block */
		{"\x41\x0c\x07\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 14}, /* no number */
		{"\x41\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 18},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct orma_unwind_table *table = make_function(cases[i].program, cases[i].size);

		check_cfa(table, FUNCTION_START, ORMA_UNWIND_CFA_SP, 8);
		check_cfa(table, FUNCTION_START + 1, ORMA_UNWIND_CFA_OTHER, 0);
		check_cfa(table, FUNCTION_START + 0x100, ORMA_UNWIND_CFA_NONE, 0);
		orma_unwind_table_free(table);
	}
}

ORMA_TEST(huge_steps_end_with_their_function)
{
	static const uint8_t program[] = {0x04, 0xff, 0xff, 0xff, 0xff, 0x0e, 16};
	struct orma_unwind_table *table = make_function(program, sizeof(program));

	check_cfa(table, FUNCTION_START + 0xff, ORMA_UNWIND_CFA_SP, 8);
	check_cfa(table, FUNCTION_START + 0x100, ORMA_UNWIND_CFA_NONE, 0);
	CHECK_INT(orma_unwind_table_facts(table).row_count, 2);
	orma_unwind_table_free(table);
}

ORMA_TEST(functions_that_overlap_or_lie_too_far_off_are_skipped_and_counted)
{
	struct section section = {.size = 0};
	struct orma_unwind_table *table;

	put_common(&section);
	put_function(&section, FUNCTION_START, 0x100, "\x0e\x10", 2);
	put_function(&section, FUNCTION_START + 0x80, 0x100, "\x0e\x20", 2);
	put_function(&section, FUNCTION_START + (UINT64_C(1) << 40), 0x100, "\x0e\x20", 2);
	put_function(&section, UINT64_MAX - 4, 0x100, "\x0e\x20", 2);
	CHECK_INT(make(&section, &table), 0);
	CHECK_INT(orma_unwind_table_facts(table).skipped_count, 3);
	check_cfa(table, FUNCTION_START + 0x90, ORMA_UNWIND_CFA_SP, 0x10);
	check_cfa(table, FUNCTION_START + 0x110, ORMA_UNWIND_CFA_NONE, 0);
	orma_unwind_table_free(table);
}

ORMA_TEST(files_without_functions_have_no_table)
{
	struct section section = {.size = 0};
	struct orma_unwind_table *table = NULL;

	CHECK_INT(make(&section, &table), -ENODATA);
	put_common(&section);
	CHECK_INT(make(&section, &table), -ENODATA);
	CHECK(!table);
}

ORMA_TEST(every_failed_allocation_is_an_error)
{
	struct section section = {.size = 0};

	put_common(&section);
	put_function(&section, FUNCTION_START, 0x100, "\x0e\x10", 2);
	for (uint64_t nth = 1;; nth++) {
		struct orma_unwind_table *table = NULL;

		orma_test_fail_allocation(nth);
		int r = make(&section, &table);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		orma_unwind_table_free(table);
		if (!has_failed) {
			CHECK(nth > 1);
			break;
		}
		CHECK(nth < 100);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

#define FUNCTIONS_MAX      (1u << 20)
#define ROWS_MAX           (8u << 20)
#define RULES_MAX          65535u
#define EH_FRAME_BYTES_MAX (64u << 20)

static void append_function(struct orma_buf *content, uint64_t start, uint64_t size,
			    const void *program, size_t program_size)
{
	uint32_t head[2] = {(uint32_t)(4 + 16 + program_size), (uint32_t)content->size + 4};
	uint64_t words[2] = {start, size};

	CHECK_INT(orma_base_buf_append(content, head, sizeof(head)), 0);
	CHECK_INT(orma_base_buf_append(content, words, sizeof(words)), 0);
	CHECK_INT(orma_base_buf_append(content, program, program_size), 0);
}

static struct orma_buf begin_content(void)
{
	struct section section = {.size = 0};
	struct orma_buf content = {0};

	put_common(&section);
	CHECK_INT(orma_base_buf_append(&content, section.bytes, section.size), 0);
	return content;
}

/* Builds the table, and frees the content. */
static int make_content(struct orma_buf *content, struct orma_unwind_table **ret)
{
	struct orma_elf_file file = {
		.fd = -1,
		.image = content->data,
		.size = content->size,
		.machine = EM_X86_64,
		.eh_frame = {.size = content->size, .address = SECTION_ADDRESS}};
	int r = orma_unwind_table_new(&file, ret);

	orma_base_buf_done(content);
	return r;
}

ORMA_TEST(a_section_that_is_too_large_is_not_read)
{
	uint8_t byte = 0;
	struct orma_unwind_table *table;
	struct orma_elf_file file = {.fd = -1,
				     .image = &byte,
				     .size = UINT64_C(1) << 40,
				     .machine = EM_X86_64,
				     .eh_frame = {.size = EH_FRAME_BYTES_MAX + 1}};

	CHECK_INT(orma_unwind_table_new(&file, &table), -EFBIG);
}

ORMA_TEST(more_functions_than_programs_have_are_refused)
{
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct orma_buf content = begin_content();
		struct orma_unwind_table *table = NULL;

		for (uint32_t i = 0; i < FUNCTIONS_MAX + extra; i++)
			append_function(&content, FUNCTION_START + i, 1, "", 0);
		CHECK_INT(make_content(&content, &table), extra > 0 ? -EFBIG : 0);
		orma_unwind_table_free(table);
	}
}

ORMA_TEST(more_rules_than_their_numbers_are_refused)
{
	/* Number 0 says that nothing is known, and the CFA is never sp + 0. */
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct orma_buf content = begin_content();
		struct orma_unwind_table *table = NULL;

		for (uint32_t i = 0; i < RULES_MAX - 1 + extra; i++) {
			uint8_t program[4] = {0x0e, (uint8_t)(0x80 | (i & 0x7f)),
					      (uint8_t)(0x80 | (i >> 7 & 0x7f)),
					      (uint8_t)(i >> 14)};
			append_function(&content, FUNCTION_START + i, 1, program, sizeof(program));
		}
		CHECK_INT(make_content(&content, &table), extra > 0 ? -EFBIG : 0);
		orma_unwind_table_free(table);
	}
}

ORMA_TEST(more_rows_than_programs_have_are_refused)
{
	struct orma_buf program = {0}, content = begin_content();
	struct orma_unwind_table *table = NULL;

	for (uint32_t i = 0; i < ROWS_MAX + 2; i++) {
		const uint8_t step[3] = {0x41, 0x0e, i & 1 ? 16 : 24};
		CHECK_INT(orma_base_buf_append(&program, step, sizeof(step)), 0);
	}
	append_function(&content, FUNCTION_START, ROWS_MAX + 16, program.data, program.size);
	orma_base_buf_done(&program);
	CHECK_INT(make_content(&content, &table), -EFBIG);
}

ORMA_TEST(a_file_that_becomes_shorter_is_an_error)
{
	struct orma_buf content = {0}, part = {0};
	struct orma_unwind_table *table;
	struct orma_elf_file file;
	char path[256];

	snprintf(path, sizeof(path), "%s/program", orma_test_tmpdir());
	CHECK_INT(orma_base_file_read(AT_FDCWD, "/proc/self/exe", 64u << 20, &content), 0);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	CHECK_INT(orma_base_fd_write_all(fd, content.data, content.size), 0);
	orma_base_buf_done(&content);
	CHECK_INT(orma_elf_file_init(&file, fd), 0);
	CHECK_INT(ftruncate(fd, (off_t)file.eh_frame.offset + 100), 0);
	CHECK_INT(orma_unwind_table_new(&file, &table), -EBADMSG);
	CHECK_INT(orma_elf_file_read_part(&file, &file.eh_frame, 64u << 20, &part), -EBADMSG);
	orma_base_buf_done(&part);
	close(fd);
}
