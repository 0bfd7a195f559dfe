/* SPDX-License-Identifier: Apache-2.0
 * trace_api_test.c - the public functions of liborma-trace, in C; trace_api_test.cc is a program in C++.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma-trace/trace.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

int trace_api_in_cxx(const char *path); /* trace_api_test.cc */

/* An instant, and bytes that are no packet. */
static const char packets[] = "\x0a\x0c\x40\x64\x50\x01\x5a\x06\x48\x03\xba\x01\x01n\x07\x07";
enum { FIRST_BYTES = 14 };

static const char *write_trace(size_t size)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/t.pftrace", orma_test_tmpdir());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, packets, size), size);
	close(fd);
	return path;
}

static struct orma_trace *open_trace(void)
{
	struct orma_trace_error error = {.struct_size = sizeof(error)};
	struct orma_trace *trace = NULL;
	if (orma_trace_open(write_trace(FIRST_BYTES), NULL, &trace, &error) != 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	return trace;
}

static struct orma_query *ask(struct orma_trace *trace, const char *text)
{
	struct orma_query *query = NULL;
	CHECK_INT(orma_query_new(trace, text, strlen(text), &query), 0);
	return query;
}

ORMA_TEST(a_query_has_typed_columns)
{
	struct orma_trace *trace = open_trace();
	struct orma_query *query =
		ask(trace, "create table n(a); select name, ts, 1.5 as x, null as "
			   "y, x'0001' as z from slice; select 'a' as b where 0;"
			   "select cast(ts as text) as t, '12x' as n from slice");
	size_t size;
	CHECK_INT(orma_query_column_count(query), 0);
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_column_count(query), 5);
	CHECK_STR(orma_query_column_name(query, 2), "x");
	CHECK(!orma_query_column_name(query, 5));
	/* There is no row yet. */
	CHECK_INT(orma_query_type(query, 0), ORMA_QUERY_NULL);
	CHECK(!orma_query_text(query, 0, &size));
	CHECK_INT(orma_query_step(query, NULL), 1);
	CHECK_INT(orma_query_type(query, 0), ORMA_QUERY_TEXT);
	CHECK_STR(orma_query_text(query, 0, &size), "n");
	CHECK_INT(size, 1);
	CHECK_INT(orma_query_type(query, 1), ORMA_QUERY_INT);
	CHECK_INT(orma_query_int(query, 1), 100);
	CHECK_STR(orma_query_text(query, 1, NULL), "100");
	CHECK_INT(orma_query_type(query, 2), ORMA_QUERY_DOUBLE);
	CHECK(orma_query_double(query, 2) == 1.5);
	CHECK_INT(orma_query_type(query, 3), ORMA_QUERY_NULL);
	CHECK(!orma_query_text(query, 3, NULL));
	CHECK_INT(orma_query_type(query, 4), ORMA_QUERY_BLOB);
	CHECK_INT(memcmp(orma_query_blob(query, 4, &size), "\0\1", 2), 0);
	CHECK_INT(size, 2);
	CHECK_INT(orma_query_type(query, 5), ORMA_QUERY_NULL);
	CHECK_INT(orma_query_int(query, 5), 0);
	/* Behind the last row there is none, however often one asks. */
	CHECK_INT(orma_query_step(query, NULL), 0);
	CHECK_INT(orma_query_step(query, NULL), 0);
	CHECK_INT(orma_query_type(query, 0), ORMA_QUERY_NULL);
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_STR(orma_query_column_name(query, 0), "b");
	CHECK_INT(orma_query_step(query, NULL), 0);
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	CHECK_INT(orma_query_int(query, 0), 100);
	CHECK(orma_query_double(query, 1) == 12);
	CHECK_INT(orma_query_next(query, NULL), 0);
	CHECK_INT(orma_query_next(query, NULL), 0);
	CHECK_INT(orma_query_step(query, NULL), 0);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(a_mistake_has_a_place)
{
	static const struct {
		const char *text;
		uint32_t line, column;
	} cases[] = {
		{"select 1;\n select missing from slice", 2, 9},
		{"select 'open", 1, 8},
		{"selec 1", 1, 1},
		{"\n\nselect str_split('a', '', 0)", 3, 1},
		{"include perfetto module no.such", 1, 25},
	};
	struct orma_trace *trace = open_trace();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct orma_trace_error error = {.struct_size = sizeof(error)};
		struct orma_query *query = ask(trace, cases[i].text);
		int r;
		do
			r = orma_query_next(query, &error);
		while (r > 0 && (r = orma_query_step(query, &error)) >= 0);
		CHECK_INT(r, -EINVAL);
		CHECK_INT(error.code, -EINVAL);
		CHECK_INT(error.line, cases[i].line);
		CHECK_INT(error.column, cases[i].column);
		CHECK(strstr(error.message, "line "));
		CHECK_INT(orma_query_next(query, NULL), 0);
		orma_query_free(query);
	}
	/* The trace still answers. */
	struct orma_query *query = ask(trace, "select 1");
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(programs_of_other_versions)
{
	struct {
		struct orma_trace_open_options options;
		uint64_t newer[2];
	} options = {.options = {.struct_size = sizeof(options)}};
	struct {
		size_t struct_size;
		int code;
		uint32_t line, column;
		char message[12];
		char behind[8];
	} shorter = {.struct_size = offsetof(struct orma_trace_error, message) + 12,
		     .behind = "behind"};
	struct orma_trace *trace = NULL;
	CHECK_INT(orma_trace_open(write_trace(FIRST_BYTES), &options.options, &trace, NULL), 0);
	struct orma_query *query = ask(trace, "select missing");
	CHECK_INT(orma_query_next(query, (struct orma_trace_error *)(void *)&shorter), -EINVAL);
	CHECK_INT(shorter.column, 8);
	CHECK_STR(shorter.message, "line 1, col");
	CHECK_STR(shorter.behind, "behind");
	orma_query_free(query);
	orma_trace_close(trace);
	options.newer[1] = 1;
	CHECK_INT(orma_trace_open(write_trace(FIRST_BYTES), &options.options, &trace, NULL),
		  -EINVAL);
	CHECK(!trace);
}

ORMA_TEST(damaged_and_foreign_files)
{
	struct orma_trace_error error = {.struct_size = sizeof(error)};
	struct orma_trace *trace = NULL;
	CHECK_INT(orma_trace_open(write_trace(sizeof(packets) - 1), NULL, &trace, &error),
		  -EBADMSG);
	CHECK(trace);
	CHECK(strstr(error.message, "byte "));
	struct orma_query *query = ask(trace, "select count(*) from slice");
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	CHECK_INT(orma_query_int(query, 0), 1);
	orma_query_free(query);
	orma_trace_close(trace);
	CHECK_INT(orma_trace_open("no/such/file", NULL, &trace, &error), -ENOENT);
	CHECK(!trace);
	CHECK_INT(error.code, -ENOENT);
	CHECK_INT(orma_trace_open_fd(-1, NULL, &trace, NULL), -EBADF);
}

struct loading {
	int fd, steps, result;
};

static int on_progress(void *ctx, uint64_t read_bytes, uint64_t all_bytes)
{
	struct loading *loading = ctx;
	CHECK(read_bytes <= all_bytes);
	loading->steps++;
	return loading->result;
}

ORMA_TEST(a_descriptor_stays_the_callers)
{
	struct loading loading = {.steps = 0};
	struct orma_trace_open_options options = {.struct_size = sizeof(options),
						  .memory_bytes = 1 << 20,
						  .progress = on_progress,
						  .ctx = &loading,
						  .without_ftrace_events = 1};
	struct orma_trace *trace = NULL;
	int fd = open(write_trace(FIRST_BYTES), O_RDONLY | O_CLOEXEC);
	CHECK_INT(orma_trace_open_fd(fd, &options, &trace, NULL), 0);
	CHECK(loading.steps > 0);
	loading.result = -ECANCELED;
	struct orma_trace *other = NULL;
	CHECK_INT(orma_trace_open_fd(fd, &options, &other, NULL), -ECANCELED);
	CHECK(!other);
	CHECK_INT(close(fd), 0);
	struct orma_query *query = ask(trace, "select name from slice");
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(a_pipe_is_read_to_its_end)
{
	int ends[2];
	struct orma_trace *trace = NULL;
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(write(ends[1], packets, FIRST_BYTES), FIRST_BYTES);
	close(ends[1]);
	CHECK_INT(orma_trace_open_fd(ends[0], NULL, &trace, NULL), 0);
	close(ends[0]);
	orma_trace_close(trace);
}

static void *interrupt_soon(void *ctx)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct loading *loading = ctx;
	(void)loading;
	for (int i = 0; i < 200; i++) {
		nanosleep(&pause, NULL);
		orma_trace_interrupt(*(struct orma_trace **)ctx);
	}
	return NULL;
}

ORMA_TEST(another_thread_stops_a_query)
{
	struct orma_trace *trace = open_trace();
	struct orma_query *query =
		ask(trace, "with recursive c(x) as (select 1 union all select x + 1 from c) "
			   "select sum(x) from c");
	pthread_t thread;
	CHECK_INT(pthread_create(&thread, NULL, interrupt_soon, &trace), 0);
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), -ECANCELED);
	CHECK_INT(pthread_join(thread, NULL), 0);
	orma_query_free(query);
	query = ask(trace, "select 1");
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(several_queries_of_a_trace_are_read_in_any_order)
{
	struct orma_trace *trace = open_trace();
	struct orma_query *numbers =
		ask(trace, "with recursive c(x) as (select 1 union all select x + 1 from c where "
			   "x < 3) select x from c");
	CHECK_INT(orma_query_next(numbers, NULL), 1);
	CHECK_INT(orma_query_step(numbers, NULL), 1);
	/* A table is made, and groups are counted, while the other has more rows. */
	struct orma_query *groups =
		ask(trace, "create perfetto table mine as select name, count(*) as n from slice "
			   "group by name; select name, n from mine");
	CHECK_INT(orma_query_next(groups, NULL), 1);
	CHECK_INT(orma_query_step(groups, NULL), 1);
	CHECK_STR(orma_query_text(groups, 0, NULL), "n");
	CHECK_INT(orma_query_int(numbers, 0), 1);
	CHECK_INT(orma_query_step(numbers, NULL), 1);
	CHECK_INT(orma_query_int(numbers, 0), 2);
	CHECK_INT(orma_query_int(groups, 1), 1);
	orma_query_free(groups);
	CHECK_INT(orma_query_step(numbers, NULL), 1);
	CHECK_INT(orma_query_int(numbers, 0), 3);
	CHECK_INT(orma_query_step(numbers, NULL), 0);
	orma_query_free(numbers);
	orma_trace_close(trace);
}

static void check_row(struct orma_query *query, const char *expected)
{
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	CHECK_STR(orma_query_text(query, 0, NULL), expected);
}

ORMA_TEST(parameters_have_the_values_that_were_set)
{
	struct orma_trace *trace = open_trace();
	struct orma_query *query =
		ask(trace, "select quote(?1) || quote(?2) || quote(?3) || quote(?4) || quote(?5);"
			   "select count(*) from slice where name = ?3 and ts = ?1;"
			   "create perfetto table mine as select ?2 as n;"
			   "create perfetto function own(a LONG) returns LONG as select $a + 1;"
			   "select n || own(?1) from mine; select quote(?1)");
	CHECK_INT(orma_query_set_int(query, 1, 100), 0);
	CHECK_INT(orma_query_set_double(query, 2, 1.5), 0);
	CHECK_INT(orma_query_set_text(query, 3, "not this", 8), 0);
	CHECK_INT(orma_query_set_text(query, 3, "n", 1), 0);
	CHECK_INT(orma_query_set_blob(query, 4, "\0", 1), 0);
	check_row(query, "1001.5'n'X'00'NULL");
	check_row(query, "1");
	check_row(query, "1.5101");
	/* A statement that is under way keeps its values. */
	CHECK_INT(orma_query_set_null(query, 1), 0);
	CHECK_STR(orma_query_text(query, 0, NULL), "1.5101");
	check_row(query, "NULL");
	CHECK_INT(orma_query_set_int(query, 0, 1), -EINVAL);
	CHECK_INT(orma_query_set_int(query, ORMA_QUERY_VALUES_MAX + 1, 1), -EINVAL);
	CHECK_INT(orma_query_set_text(query, 1000, "x", 1), -EINVAL);
	CHECK_INT(orma_query_set_text(query, 1, NULL, 1), -EINVAL);
	/* Values are each query's own. */
	struct orma_query *other = ask(trace, "select quote(?2)");
	check_row(other, "NULL");
	orma_query_free(other);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(modules_of_the_program)
{
	static const char text[] = "create perfetto table mine as select 7 as n";
	struct orma_trace *trace = open_trace();
	CHECK_INT(orma_trace_add_module(trace, "my.own", text, strlen(text)), 0);
	CHECK_INT(orma_trace_add_module(trace, "my.own", text, strlen(text)), -EEXIST);
	CHECK_INT(orma_trace_add_module(trace, "slices.own", text, strlen(text)), -EEXIST);
	CHECK_INT(orma_trace_add_module(trace, "not a name", text, strlen(text)), -EINVAL);
	struct orma_query *query = ask(trace, "include perfetto module my.own; select n from mine");
	CHECK_INT(orma_query_next(query, NULL), 1);
	CHECK_INT(orma_query_step(query, NULL), 1);
	CHECK_INT(orma_query_int(query, 0), 7);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(null_is_refused_or_ignored)
{
	struct orma_trace *trace = open_trace();
	struct orma_query *query = NULL;
	CHECK_INT(orma_trace_open(NULL, NULL, &trace, NULL), -EINVAL);
	CHECK_INT(orma_trace_open("x", NULL, NULL, NULL), -EINVAL);
	CHECK_INT(orma_trace_open_fd(0, NULL, NULL, NULL), -EINVAL);
	CHECK_INT(orma_trace_add_module(NULL, "a.b", "", 0), -EINVAL);
	CHECK_INT(orma_trace_add_module(trace, NULL, "", 0), -EINVAL);
	CHECK_INT(orma_trace_add_module(trace, "a.b", NULL, 1), -EINVAL);
	CHECK_INT(orma_query_new(NULL, "", 0, &query), -EINVAL);
	CHECK_INT(orma_query_new(trace, NULL, 1, &query), -EINVAL);
	CHECK_INT(orma_query_new(trace, "", 0, NULL), -EINVAL);
	CHECK_INT(orma_query_set_null(NULL, 1), -EINVAL);
	CHECK_INT(orma_query_set_int(NULL, 1, 1), -EINVAL);
	CHECK_INT(orma_query_set_double(NULL, 1, 1), -EINVAL);
	CHECK_INT(orma_query_set_text(NULL, 1, "", 0), -EINVAL);
	CHECK_INT(orma_query_set_blob(NULL, 1, "", 0), -EINVAL);
	CHECK_INT(orma_query_next(NULL, NULL), -EINVAL);
	CHECK_INT(orma_query_step(NULL, NULL), -EINVAL);
	CHECK_INT(orma_query_column_count(NULL), 0);
	CHECK(!orma_query_column_name(NULL, 0));
	CHECK_INT(orma_query_type(NULL, 0), ORMA_QUERY_NULL);
	CHECK_INT(orma_query_int(NULL, 0), 0);
	CHECK(orma_query_double(NULL, 0) == 0);
	CHECK(!orma_query_text(NULL, 0, NULL));
	CHECK(!orma_query_blob(NULL, 0, NULL));
	orma_query_free(NULL);
	orma_trace_interrupt(NULL);
	orma_trace_close(NULL);
	CHECK_INT(orma_query_new(trace, NULL, 0, &query), 0);
	CHECK_INT(orma_query_next(query, NULL), 0);
	orma_query_free(query);
	orma_trace_close(trace);
}

ORMA_TEST(a_program_in_cxx)
{
	CHECK_INT(trace_api_in_cxx(write_trace(FIRST_BYTES)), 100);
}
