/* SPDX-License-Identifier: Apache-2.0
 * symbol_reader_test.c - names of functions, also of files whose reader dies, hangs or lies.
 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "harness.h"
#include "profile/symbol_names.h"
#include "profile/symbol_reader.h"
#include "symbols/debug_file.h"
#include "unwind/unwind_process.h"

static struct orma_unwind_files *files;
static const struct orma_unwind_file *own;
static uint64_t own_addresses[2];

/* The first one lies in no function. */
static void load_own(void)
{
	static char path[512];
	struct stat info;

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	CHECK_INT(stat(path, &info), 0);
	struct orma_process_map map = {
		.start = 0x1000,
		.end = 0x2000,
		.inode = info.st_ino,
		.device_major = major(info.st_dev),
		.device_minor = minor(info.st_dev),
		.is_executable = true,
		.path = orma_base_str(path),
	};
	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_unwind_files_load(files, getpid(), &map, &own), 0);
	struct orma_unwind_process *process;
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	uint64_t pc = (uint64_t)(uintptr_t)&load_own;
	own_addresses[0] = 1;
	own_addresses[1] = orma_unwind_mapping_rel_pc(orma_unwind_process_find(process, pc), pc);
	orma_unwind_process_free(process);
}

static void unload_own(void)
{
	orma_unwind_file_unref(own);
	orma_unwind_files_free(files);
}

static uint64_t in_ms(uint64_t ms)
{
	return orma_base_clock_ns(CLOCK_MONOTONIC) + ms * ORMA_NS_PER_MS;
}

static int read_own(struct orma_symbol_reader *reader, uint64_t deadline_ns, struct orma_buf *ret)
{
	const struct orma_symbol_request request = {own, ORMA_STR("/none"), own_addresses, 2};

	return orma_symbol_reader_read(reader, &request, deadline_ns, ret);
}

ORMA_TEST(names_of_a_file_are_read)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	struct orma_symbol_reader *reader;
	struct orma_str answer, name;

	load_own();
	CHECK_INT(orma_symbol_reader_new(NULL, &reader), 0);
	CHECK_INT(read_own(reader, in_ms(60000), &names), 0);
	answer = orma_base_buf_str(&names);
	CHECK(orma_symbol_names_next(&answer, &name));
	CHECK_INT(name.size, 0);
	CHECK(orma_symbol_names_next(&answer, &name));
	CHECK(orma_base_str_is(name, "load_own"));
	CHECK(!orma_symbol_names_next(&answer, &name));
	CHECK_INT(read_own(reader, in_ms(0), &names), -ETIMEDOUT);
	orma_symbol_reader_free(reader);
	unload_own();
}

/* Debian: libc6-dbg. Each 64th byte of the C library's code is in a function that its debugging information names. */
ORMA_TEST(a_stripped_file_has_the_names_of_its_debugging_information)
{
	enum { COUNT = 4096, STEP = 64 };
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0}, of_file = {0}, by_reader = {0};
	const struct orma_debug_folders none = {NULL, 0};
	static uint64_t addresses[COUNT];
	struct orma_unwind_process *process;
	struct orma_symbol_reader *reader;
	struct orma_debug_file debug;
	struct orma_str answer, name;
	unsigned more = 0;

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	uint64_t pc = (uint64_t)(uintptr_t)getpid;
	const struct orma_unwind_mapping *mapping = orma_unwind_process_find(process, pc);
	CHECK(mapping && mapping->file);
	struct orma_build_id id = {.size = mapping->file->elf.build_id_size};
	memcpy(id.bytes, mapping->file->elf.build_id, id.size);
	if (mapping->file->elf.has_symtab || orma_debug_file_open_by_id(&id, &none, &debug) < 0)
		orma_test_skip("the debugging information of the C library (libc6-dbg)");
	for (size_t i = 0; i < COUNT; i++)
		addresses[i] = orma_unwind_mapping_rel_pc(mapping, mapping->start) + i * STEP;
	CHECK_INT(orma_symbol_names_answer(&debug.elf, addresses, sizeof(addresses), &names), 0);
	CHECK_INT(orma_symbol_names_answer(&mapping->file->elf, addresses, sizeof(addresses),
					   &of_file),
		  0);
	orma_debug_file_close(&debug);
	answer = orma_base_buf_str(&of_file);
	while (orma_symbol_names_next(&answer, &name))
		more -= name.size > 0;
	answer = orma_base_buf_str(&names);
	while (orma_symbol_names_next(&answer, &name)) {
		more += name.size > 0;
		/* Versions are not parts of names. */
		CHECK(name.size == 0 || !memchr(name.data, '@', name.size));
	}
	/* The debugging information has more names than the file, and the reader has them. */
	CHECK(more > 500 && more <= COUNT);

	const struct orma_symbol_request request = {mapping->file, mapping->path, addresses, COUNT};
	CHECK_INT(orma_symbol_reader_new(NULL, &reader), 0);
	CHECK_INT(orma_symbol_reader_read(reader, &request, in_ms(60000), &by_reader), 0);
	CHECK_INT(by_reader.size, names.size);
	CHECK(memcmp(by_reader.data, names.data, names.size) == 0);
	orma_symbol_reader_free(reader);
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
}

ORMA_TEST(names_of_a_malformed_answer_are_not_taken)
{
	static const char text[] = "\4\0name\0\0\3\0";
	struct orma_str answer = {text, sizeof(text) - 1}, name;

	CHECK(orma_symbol_names_next(&answer, &name));
	CHECK(orma_base_str_is(name, "name"));
	CHECK(orma_symbol_names_next(&answer, &name));
	CHECK_INT(name.size, 0);
	CHECK(!orma_symbol_names_next(&answer, &name));
	answer = (struct orma_str){text, 1};
	CHECK(!orma_symbol_names_next(&answer, &name));
	answer = (struct orma_str){text, 5};
	CHECK(!orma_symbol_names_next(&answer, &name));
	answer = (struct orma_str){"\1\x10", 2}; /* longer than names are */
	CHECK(!orma_symbol_names_next(&answer, &name));
	answer = (struct orma_str){NULL, 0};
	CHECK(!orma_symbol_names_next(&answer, &name));
}

static void die(int socket)
{
	(void)socket;
	raise(SIGKILL);
}

/* As with a file system that its user serves. */
static void hang(int socket)
{
	(void)socket;
	for (;;)
		pause();
}

ORMA_TEST(a_file_whose_reader_dies_is_an_error)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	const struct orma_table_builder_options options = {.child = die};
	struct orma_symbol_reader *reader;

	load_own();
	CHECK_INT(orma_symbol_reader_new(&options, &reader), 0);
	CHECK_INT(read_own(reader, in_ms(60000), &names), -ECHILD);
	orma_symbol_reader_free(reader);
	unload_own();
}

ORMA_TEST(a_file_that_hangs_is_left)
{
	const struct orma_table_builder_options options = {.timeout_ms = 60000, .child = hang};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf names = {0};
	struct orma_symbol_reader *reader;
	uint64_t end_ns = in_ms(30000);

	load_own();
	CHECK_INT(orma_symbol_reader_new(&options, &reader), 0);
	CHECK_INT(read_own(reader, in_ms(200), &names), -ETIMEDOUT);
	/* Nobody waits for another one behind it. */
	CHECK_INT(read_own(reader, in_ms(100), &names), -ETIMEDOUT);
	/* The child is ended, because nobody waits for its answer any more. */
	orma_symbol_reader_free(reader);
	unload_own();
	CHECK(orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns);
}
