/* SPDX-License-Identifier: Apache-2.0
 * sql_text_fuzz.c - any bytes as a script in PerfettoSQL: tokens, macros, `create perfetto ...`, modules, functions, and the
 * native executor. The trace is a small one, and each script is stopped after so many steps.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answers/trace_database.h"
#include "base/fd.h"
#include "sql/result_writer.h"

enum { STEPS_MAX = 2000, STEP_OPERATIONS = 100, LENGTH_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Two slices on a thread, one in the other, and a counter. Tag and length stand before each message, as always:
 * TracePacket is field 1 of Trace.
 */
static const uint8_t trace[] = {
	/* sequence 1 begins: timestamp 5, track 1 is thread 8 of process 7 */
	0x0a, 0x14, 0x40, 0x05, 0x50, 0x01, 0x68, 0x01, 0xe2, 0x03, 0x0b, 0x08, 0x01, 0x22, 0x07,
	0x08, 0x07, 0x10, 0x08, 0x2a, 0x01, 't',
	/* slice a from 10 on, slice b from 20 on, ends at 30 and 40 */
	0x0a, 0x0e, 0x40, 0x0a, 0x50, 0x01, 0x5a, 0x08, 0x48, 0x01, 0x58, 0x01, 0xba, 0x01, 0x01,
	'a', 0x0a, 0x0e, 0x40, 0x14, 0x50, 0x01, 0x5a, 0x08, 0x48, 0x01, 0x58, 0x01, 0xba, 0x01,
	0x01, 'b', 0x0a, 0x0a, 0x40, 0x1e, 0x50, 0x01, 0x5a, 0x04, 0x48, 0x02, 0x58, 0x01, 0x0a,
	0x0a, 0x40, 0x28, 0x50, 0x01, 0x5a, 0x04, 0x48, 0x02, 0x58, 0x01};

static int stop(void *ctx)
{
	unsigned *steps = ctx;
	return ++*steps > STEPS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_trace_database *database;
	struct orma_error error = {0};
	struct orma_buf out = {0};
	unsigned steps = 0;
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || orma_base_fd_write_all(fd, trace, sizeof(trace)) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0 || orma_trace_database_open(fd, NULL, &database, &error) < 0)
		abort();
	if (orma_store_table_rows(&database->tables.all[ORMA_TABLE_SLICE]) != 2)
		abort();
	sqlite3 *db = orma_sql_db(database->sql);
	sqlite3_progress_handler(db, STEP_OPERATIONS, stop, &steps);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	struct orma_result_writer writer = {.format = ORMA_RESULT_JSON, .out = &out};
	struct orma_result_sink sink = {&writer, orma_sql_writer_begin, orma_sql_writer_row,
					orma_sql_writer_end};
	(void)orma_sql_run(database->sql, (struct orma_str){(const char *)data, size}, &sink,
			   &error);
	orma_sql_writer_done(&writer);
	orma_base_buf_done(&out);
	orma_trace_database_free(database);
	close(fd);
	return 0;
}
