/* SPDX-License-Identifier: Apache-2.0
 * allocation_test.c - each allocation of a conversion and of the import behind it may fail. Then there is an error, or nothing is
 * missing. The files are those that the fuzz targets begin with.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../import_run.h"
#include "base/fd.h"
#include "base/macros.h"
#include "codec/unpack.h"
#include "convert_fixture.h"
#include "formats/formats.h"

enum { FILE_MAX_BYTES = 16 << 10 };

struct attempt {
	int result;
	bool has_failed;              /* an allocation */
	uint64_t hashes[ORMA_TABLES]; /* by all cells */
};

static uint64_t hash_table(const struct orma_tables *tables, const struct orma_table *table)
{
	uint64_t hash = ORMA_FNV1A_INIT;
	for (size_t i = 0; i < table->column_count; i++)
		for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
			int64_t cell = orma_store_column_get(&table->columns[i], row);
			bool is_text = table->specs[i].type == ORMA_COLUMN_STRING &&
				       cell != ORMA_CELL_NULL;
			struct orma_str text =
				is_text ? orma_store_pool_get(&tables->strings, (uint32_t)cell)
					: (struct orma_str){(const char *)&cell, sizeof(cell)};
			hash = orma_base_fnv1a(hash, text.data, text.size);
		}
	return hash;
}

/* Converts and imports the file; the nth allocation fails, or none for 0. */
static void try_file(int fd, uint64_t nth, struct attempt *ret)
{
	static struct orma_importer importer;
	static struct orma_tables tables;
	struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1};
	*ret = (struct attempt){.result = 0};
	importer = (struct orma_importer){0};
	tables = (struct orma_tables){0};
	orma_test_fail_allocation(nth);
	int r = orma_formats_open(fd, NULL, &bytes, NULL);
	int damage = r == -EBADMSG ? r : 0;
	bool has_tables = r >= 0 || damage;
	if (has_tables)
		r = orma_tables_init(&tables, 0, NULL);
	if (r == 0)
		r = import_run(&importer, &tables, &bytes, orma_codec_unpack, NULL);
	ret->has_failed = orma_test_allocation_failed();
	orma_test_fail_allocation(0);
	ret->result = r < 0 ? r : damage;
	for (size_t i = 0; r == 0 && i < ORMA_TABLES; i++)
		ret->hashes[i] = hash_table(&tables, &tables.all[i]);
	orma_importer_done(&importer);
	if (has_tables)
		orma_tables_done(&tables);
	orma_trace_bytes_done(&bytes);
}

static void check_file(const char *path, const uint8_t *data, size_t size)
{
	struct attempt whole, attempt;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, data, size), 0);
	try_file(fd, 0, &whole);
	CHECK(whole.result == 0 || whole.result == -EBADMSG);
	for (uint64_t nth = 1;; nth++) {
		try_file(fd, nth, &attempt);
		if (!attempt.has_failed)
			break;
		bool is_whole = attempt.result == whole.result &&
				memcmp(attempt.hashes, whole.hashes, sizeof(whole.hashes)) == 0;
		if (!is_whole && attempt.result != -ENOMEM)
			orma_test_fail(__FILE__, __LINE__, "%s: allocation %llu fails: %d", path,
				       (unsigned long long)nth, attempt.result);
	}
	close(fd);
}

/* `skipped` bytes of each file choose a format in the fuzz target. */
static void check_folder(const char *name, size_t skipped)
{
	static uint8_t data[FILE_MAX_BYTES];
	char folder[300], path[600];
	int count = 0;
	snprintf(folder, sizeof(folder), "%s/tests/fuzz/corpus/%s", ORMA_SOURCE_DIR, name);
	DIR *dir = opendir(folder);
	CHECK(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t size = read(fd, data, sizeof(data));
		CHECK(size > (ssize_t)skipped && size < FILE_MAX_BYTES);
		close(fd);
		check_file(path, data + skipped, (size_t)size - skipped);
		count++;
	}
	closedir(dir);
	CHECK(count > 4);
}

ORMA_TEST(profiles_without_memory)
{
	check_folder("profile_format", 1);
}

ORMA_TEST(other_formats_without_memory)
{
	check_folder("any_format", 0);
}

ORMA_TEST(packets_without_memory)
{
	check_folder("trace_import", 0);
}
