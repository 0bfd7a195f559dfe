/* SPDX-License-Identifier: Apache-2.0
 * trace_fixture.c - the text is parsed with the schema, encoded into a file, and opened.
 */
#include "trace_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "harness.h"
#include "schema/gen/trace.pb.h"
#include "sql/result_writer.h"

static int open_file;

struct orma_trace_database *fixture_open_bytes(const void *data, size_t size, int expected_error)
{
	struct orma_trace_database *database;
	struct orma_error error = {0};
	open_file = memfd_create("trace", MFD_CLOEXEC);
	CHECK(open_file >= 0);
	CHECK_INT(write(open_file, data, size), size);
	int r = orma_trace_database_open(open_file, NULL, &database, &error);
	if (r != expected_error)
		orma_test_fail(__FILE__, __LINE__, "open returned %d: %s", r, error.message);
	return database;
}

struct orma_trace_database *fixture_open(const char *text)
{
	struct orma_arena arena = {0};
	struct orma_buf bytes = {0};
	struct orma_error error = {0};
	struct orma_pb_trace *trace;
	if (orma_proto_text_parse(&orma_pb_trace_desc, "trace", text, strlen(text), 0, &arena,
				  &trace, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	struct orma_trace_database *database = fixture_open_bytes(bytes.data, bytes.size, 0);
	orma_base_buf_done(&bytes);
	orma_base_arena_done(&arena);
	return database;
}

void fixture_close(struct orma_trace_database *database)
{
	orma_trace_database_free(database);
	close(open_file);
}

char *fixture_ask(struct orma_trace_database *database, const char *query)
{
	struct orma_buf out = {0};
	struct orma_error error = {0};
	struct orma_result_writer writer = {.format = ORMA_RESULT_CSV, .out = &out};
	struct orma_result_sink sink = {&writer, orma_sql_writer_begin, orma_sql_writer_row,
					orma_sql_writer_end};
	if (orma_sql_run(database->sql, orma_base_str(query), &sink, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	const char *text = orma_base_buf_cstr(&out), *rows = strchr(text, '\n');
	char *ret = orma_base_strdup(rows ? rows + 1 : "");
	CHECK(ret);
	orma_sql_writer_done(&writer);
	orma_base_buf_done(&out);
	return ret;
}

void fixture_check(struct orma_trace_database *database, const char *query, const char *expected)
{
	char *rows = fixture_ask(database, query);
	CHECK_STR(rows, expected);
	orma_base_free(rows);
}

void fixture_refuse(struct orma_trace_database *database, const char *query, const char *expected)
{
	struct orma_error error = {0};
	CHECK_INT(orma_sql_execute(database->sql, orma_base_str(query), &error), -EINVAL);
	if (!strstr(error.message, expected))
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
}
