/* SPDX-License-Identifier: Apache-2.0
 * convert_fixture.c - the file is a memory file.
 */
#include "convert_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#include "formats/formats.h"

int convert_bytes(struct import_fixture *fixture, const void *data, size_t size,
		  struct orma_error *error)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, data, size), (long long)size);
	int r = orma_formats_open(fd, NULL, &fixture->input, error);
	if (r != 0)
		close(fd);
	if (r < 0 && r != -EBADMSG) {
		orma_trace_bytes_done(&fixture->input);
		return r;
	}
	CHECK_INT(orma_tables_init(&fixture->tables, 0, NULL), 0);
	fixture->result = orma_importer_run(&fixture->importer, &fixture->tables, &fixture->input,
					    NULL, NULL);
	return r;
}

void convert_text(struct import_fixture *fixture, const char *text)
{
	CHECK_INT(convert_bytes(fixture, text, strlen(text), NULL), 1);
	CHECK_INT(fixture->result, 0);
}
