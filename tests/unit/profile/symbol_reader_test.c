/* SPDX-License-Identifier: Apache-2.0
 * symbol_reader_test.c - names of functions, also of files that cannot be read in a lifetime.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "harness.h"
#include "profile/symbol_reader.h"

static struct orma_unwind_files *files;

static const struct orma_unwind_file *load_own(void)
{
	const struct orma_unwind_file *file;
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
	CHECK_INT(orma_unwind_files_load(files, getpid(), &map, &file), 0);
	return file;
}

static uint64_t in_ms(uint64_t ms)
{
	return orma_base_clock_ns(CLOCK_MONOTONIC) + ms * ORMA_NS_PER_MS;
}

ORMA_TEST(names_of_a_file_are_read)
{
	const struct orma_unwind_file *file = load_own();
	struct orma_symbol_reader *reader;
	struct orma_symbol_table *table;

	CHECK_INT(orma_symbol_reader_new(NULL, &reader), 0);
	CHECK_INT(
		orma_symbol_reader_read(reader, file, orma_base_str("/none"), in_ms(60000), &table),
		0);
	orma_symbol_table_free(table);
	CHECK_INT(orma_symbol_reader_read(reader, file, orma_base_str("/none"), in_ms(0), &table),
		  -ETIMEDOUT);
	orma_symbol_reader_free(reader);
	orma_unwind_file_unref(file);
	orma_unwind_files_free(files);
}

/* As a file system that its user serves. */
static int read_slowly(const struct orma_elf_file *file, struct orma_symbol_table **ret)
{
	(void)file;
	(void)ret;
	usleep(3000000);
	return -ENODATA;
}

ORMA_TEST(a_file_that_hangs_is_left)
{
	const struct orma_unwind_file *file = load_own();
	struct orma_symbol_reader *reader;
	struct orma_symbol_table *table;
	uint64_t end_ns = in_ms(2500);

	CHECK_INT(orma_symbol_reader_new(read_slowly, &reader), 0);
	CHECK_INT(orma_symbol_reader_read(reader, file, orma_base_str("/none"), in_ms(200), &table),
		  -ETIMEDOUT);
	/* Nobody waits for another one behind it. */
	CHECK_INT(orma_symbol_reader_read(reader, file, orma_base_str("/none"), in_ms(100), &table),
		  -ETIMEDOUT);
	orma_symbol_reader_free(reader);
	orma_unwind_file_unref(file);
	orma_unwind_files_free(files);
	CHECK(orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns);
	/* The thread ends by itself. */
	usleep(2500000);
}
