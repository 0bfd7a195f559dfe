/* SPDX-License-Identifier: Apache-2.0
 * convert_fixture.c - the file is a memory file. A text is converted twice: an event that is a record, and is indexed when it is
 * converted, has the rows of one with fields that is indexed when the packets are read.
 */
#include "convert_fixture.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "formats/formats.h"

static int open_input(struct import_fixture *fixture, int fd, bool has_records,
		      struct orma_error *error)
{
	struct orma_trace_files files = {0};
	struct orma_formats_source source = {.fd = fd};
	struct orma_formats_options options = {
		.has_records = has_records,
		.converted = has_records ? orma_importer_take_converted : NULL,
		.converted_ctx = &fixture->importer};
	int r = orma_formats_open_all(&source, 1, &options, &files, &fixture->input, error);
	orma_trace_files_done(&files);
	return r;
}

static int convert(struct import_fixture *fixture, const void *data, size_t size, bool has_records,
		   struct orma_error *error)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, data, size), (long long)size);
	CHECK_INT(orma_tables_init(&fixture->tables, 0, NULL), 0);
	CHECK_INT(orma_importer_begin(&fixture->importer, &fixture->tables, &fixture->input, NULL),
		  0);
	int r = open_input(fixture, fd, has_records, error);
	if (r != 0)
		close(fd);
	if (r < 0 && r != -EBADMSG) {
		orma_importer_done(&fixture->importer);
		orma_tables_done(&fixture->tables);
		orma_trace_bytes_done(&fixture->input);
		return r;
	}
	fixture->result = orma_importer_end(&fixture->importer, NULL);
	return r;
}

int convert_bytes(struct import_fixture *fixture, const void *data, size_t size,
		  struct orma_error *error)
{
	return convert(fixture, data, size, true, error);
}

static void check_equal(struct import_fixture *a, struct import_fixture *b)
{
	static const struct {
		enum orma_table_id table;
		const char *columns;
	} shown[] = {
		{ORMA_TABLE_SLICE,
		 "ts dur track_id category name depth parent_id thread_ts thread_dur"},
		{ORMA_TABLE_TRACK, "type name upid utid"},
		{ORMA_TABLE_THREAD, "tid name upid"},
		{ORMA_TABLE_FLOW, "slice_out slice_in"},
		{ORMA_TABLE_COUNTER, "ts track_id value"},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(shown); i++)
		CHECK_STR(import_rows(a, shown[i].table, shown[i].columns),
			  import_rows(b, shown[i].table, shown[i].columns));
	uint64_t slices = orma_store_table_rows(&a->tables.all[ORMA_TABLE_SLICE]);
	for (uint64_t row = 0; row < slices; row++)
		CHECK_STR(import_slice_args(a, row), import_slice_args(b, row));
}

void convert_text(struct import_fixture *fixture, const char *text)
{
	static struct import_fixture fields;
	fields = (struct import_fixture){0};
	CHECK_INT(convert(&fields, text, strlen(text), false, NULL), 1);
	CHECK_INT(convert_bytes(fixture, text, strlen(text), NULL), 1);
	CHECK_INT(fixture->result, 0);
	check_equal(fixture, &fields);
	import_done(&fields);
}
