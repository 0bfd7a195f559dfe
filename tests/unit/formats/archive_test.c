/* SPDX-License-Identifier: Apache-2.0
 * archive_test.c - archives with several traces, whose tables are one; archives that are damaged or empty.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../../import_run.h"
#include "convert_fixture.h"
#include "formats/formats.h"

enum { BLOCK = 512 };

/* Appends a file to a tar archive. */
static size_t add_file(char *archive, size_t at, const char *name, const char *data, size_t size)
{
	char *block = archive + at;
	memset(block, 0, BLOCK);
	snprintf(block, 100, "%s", name);
	snprintf(block + 124, 12, "%011o", (unsigned)size);
	block[156] = '0';
	memcpy(block + 257, "ustar", 6);
	memcpy(block + BLOCK, data, size);
	return at + BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

static size_t add_text(char *archive, size_t at, const char *name, const char *text)
{
	return add_file(archive, at, name, text, strlen(text));
}

#define EVENT_OF(name)                                                                             \
	"{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"" name                    \
	"\",\"args\":{\"k\":\"" name "\"}}"
#define EVENT(name) "[" EVENT_OF(name) "]"

ORMA_TEST(traces_of_an_archive_share_the_tables)
{
	static struct import_fixture fixture;
	static char archive[20 * BLOCK];
	size_t size = add_text(archive, 0, "z.json", EVENT("z"));
	size = add_text(archive, size, "folder/a.json", EVENT("a"));
	size = add_text(archive, size, "README", "nothing");
	size = add_text(archive, size, ".hidden/x.json", EVENT("hidden"));
	size = add_text(archive, size, "n.log", "# ninja log v5\n0\t1\t0\tout\tff\n");
	CHECK_INT(convert_bytes(&fixture, archive, size + 2 * BLOCK, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name"), "0 out\n5000 a\n5000 z\n");
	/* Interned names of two files have the same numbers, and are not confused. */
	CHECK_STR(import_slice_args(&fixture, 1), "args.k=a");
	CHECK_STR(import_slice_args(&fixture, 2), "args.k=z");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name"), "0 -\n1 Build\n");
	import_done(&fixture);
}

ORMA_TEST(clocks_of_a_trace_of_packets_relate_those_of_the_others)
{
	/* CLOCK_BOOTTIME 1 s is CLOCK_MONOTONIC 0.5 s. */
	static const char snapshot[] =
		"\x0a\x16\x32\x14\x0a\x08\x08\x06\x10\x80\x94\xeb\xdc\x03\x0a\x08\x08\x03"
		"\x10\x80\xca\xb5\xee\x01";
	static struct import_fixture fixture;
	static char archive[20 * BLOCK];
	size_t size =
		add_text(archive, 0, "a.txt", "# tracer: nop\n a-5 [000] .... 1.0: print: I|5|x\n");
	size = add_file(archive, size, "b.pb", snapshot, sizeof(snapshot) - 1);
	CHECK_INT(convert_bytes(&fixture, archive, size, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name"), "1500000000 x\n");
	import_done(&fixture);
}

ORMA_TEST(an_archive_without_traces_is_refused)
{
	static struct import_fixture fixture;
	static char archive[4 * BLOCK];
	struct orma_error error = {0};
	size_t size = add_text(archive, 0, "README", "nothing");
	CHECK_INT(convert_bytes(&fixture, archive, size, &error), -EPROTONOSUPPORT);
	CHECK_STR(error.message, "there is no trace in the archive");
}

ORMA_TEST(files_before_the_damage_of_an_archive_are_read)
{
	static struct import_fixture fixture;
	static char archive[20 * BLOCK];
	struct orma_error error = {0};
	size_t size = add_text(archive, 0, "a.json", EVENT("a"));
	size = add_text(archive, size, "b.json", EVENT("b"));
	memset(archive + size, 'x', BLOCK);
	CHECK_INT(convert_bytes(&fixture, archive, size + BLOCK, &error), -EBADMSG);
	CHECK_STR(error.message, "the archive is cut or damaged at byte 2048");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "a\nb\n");
	import_done(&fixture);
}

ORMA_TEST(a_zip_archive_is_read_from_its_directory)
{
	static const char data[] = EVENT("zipped");
	enum { SIZE = sizeof(data) - 1 };
	static struct import_fixture fixture;
	char zip[600];
	size_t at = 0;
	memset(zip, 0, sizeof(zip));
	memcpy(zip, "PK\3\4\24", 5);
	zip[26] = 1; /* the size of the name */
	at = 30;
	zip[at++] = 'a';
	memcpy(zip + at, data, SIZE);
	at += SIZE;
	size_t directory = at;
	memcpy(zip + at, "PK\1\2", 4);
	zip[at + 20] = zip[at + 24] = (char)SIZE;
	zip[at + 28] = 1;
	zip[at + 46] = 'a';
	at += 47;
	memcpy(zip + at, "PK\5\6", 4);
	zip[at + 8] = zip[at + 10] = 1;
	zip[at + 16] = (char)directory;
	at += 22;
	CHECK_INT(convert_bytes(&fixture, zip, at, NULL), 1);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "zipped\n");
	import_done(&fixture);
	fixture = (struct import_fixture){0};
	zip[directory + 42] = 77; /* where the file is not */
	struct orma_error error = {0};
	CHECK(convert_bytes(&fixture, zip, at, &error) < 0);
}

static int file_of(const char *text)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), (long long)strlen(text));
	return fd;
}

ORMA_TEST(several_traces_share_the_tables_and_stay_apart)
{
	static struct import_fixture fixture;
	static struct orma_trace_files files;
	struct orma_formats_source sources[] = {
		{file_of("[{\"a\":1}," EVENT_OF("b") "]"), "x.json"},
		{file_of(EVENT("a")), "y.json"},
		{file_of("\x0a\x02\x50\x01"), "z.pftrace"}};
	CHECK_INT(orma_formats_open_all(sources, 3, &(struct orma_formats_options){0}, &files,
					&fixture.input, NULL),
		  1);
	CHECK_INT(orma_tables_init(&fixture.tables, 0, NULL), 0);
	fixture.importer.system.files = &files;
	CHECK_INT(import_run(&fixture.importer, &fixture.tables, &fixture.input, NULL, NULL), 0);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name"), "5000 b\n5000 a\n");
	CHECK_STR(import_slice_args(&fixture, 1), "args.k=a");
	/* The trace of packets is read first, because it may relate the clocks of the others. */
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACE_FILE,
			      "parent_id name trace_type processing_order is_container"),
		  "- x.json json 1 0\n- y.json json 2 0\n- z.pftrace proto 0 0\n");
	const char *metadata =
		import_rows(&fixture, ORMA_TABLE_METADATA, "name str_value trace_id");
	CHECK(strstr(metadata, "trace_type json 0\n"));
	CHECK(strstr(metadata, "trace_type json 1\n"));
	CHECK(strstr(metadata, "trace_type proto 2\n"));
	const char *stats = import_rows(&fixture, ORMA_TABLE_STATS, "name value trace_id");
	CHECK(strstr(stats, "json_tokenizer_failure 1 0\n"));
	CHECK(strstr(stats, "json_tokenizer_failure 0 1\n"));
	CHECK(strstr(stats, "json_tokenizer_failure 0 2\n"));
	import_done(&fixture);
	orma_trace_files_done(&files);
	for (int i = 0; i < 3; i++)
		close(sources[i].fd);
}

ORMA_TEST(an_error_of_one_of_several_traces_has_its_name)
{
	static struct orma_trace_files files;
	static struct import_fixture fixture;
	struct orma_error error = {0};
	struct orma_formats_source sources[] = {{file_of(EVENT("a")), "a.json"},
						{file_of("nothing"), "b.txt"}};
	CHECK_INT(orma_formats_open_all(sources, 2, &(struct orma_formats_options){0}, &files,
					&fixture.input, &error),
		  -EPROTONOSUPPORT);
	CHECK_STR(error.message, "b.txt: Unknown trace type provided (ERR:fmt)");
	orma_trace_bytes_done(&fixture.input);
	orma_trace_files_done(&files);
	close(sources[1].fd);
	/* Damage ends one trace, and not those behind it. */
	sources[1] = (struct orma_formats_source){file_of("\x0a\x02\x50\x01\x07"), "c.pftrace"};
	CHECK_INT(orma_formats_open_all(sources, 2, &(struct orma_formats_options){0}, &files,
					&fixture.input, &error),
		  -EBADMSG);
	CHECK_STR(error.message, "c.pftrace: the trace is damaged at byte 4");
	CHECK_INT(orma_tables_init(&fixture.tables, 0, NULL), 0);
	CHECK_INT(import_run(&fixture.importer, &fixture.tables, &fixture.input, NULL, NULL), 0);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "a\n");
	import_done(&fixture);
	orma_trace_files_done(&files);
	close(sources[0].fd);
	close(sources[1].fd);
}
