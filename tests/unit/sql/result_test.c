/* SPDX-License-Identifier: Apache-2.0
 * result_test.c - the rows of scripts as text of each format.
 */
#include "sql/result.h"

#include "engine_fixture.h"
#include "sql/result_writer.h"

static const char *write(enum orma_result_format format, const char *sql)
{
	static struct orma_buf out;
	struct orma_result_writer writer = {.format = format, .out = &out};
	const struct orma_result_sink sink = {&writer, orma_sql_writer_begin, orma_sql_writer_row,
					      orma_sql_writer_end};
	struct orma_error error = {0};
	out.size = 0;
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	if (orma_sql_run(fixture_sql, orma_base_str(sql), &sink, &error) < 0)
		orma_base_buf_printf(&out, "error: %s", error.message);
	orma_sql_writer_done(&writer);
	engine_close();
	return orma_base_buf_cstr(&out);
}

ORMA_TEST(csv_is_that_of_trace_processor)
{
	CHECK_STR(write(ORMA_RESULT_CSV, "select 1 as a, 'x\"y' as \"b c\", 0.1 as d, null as n, "
					 "x'00ff' as raw; select 2 as z where 0;"
					 "create table t(x); select 'a' || char(10) || 'b' as s"),
		  "\"a\",\"b c\",\"d\",\"n\",\"raw\"\n1,\"x\"y\",0.100000,\"[NULL]\",\"<raw "
		  "bytes>\"\n"
		  "\n\"z\"\n\n\"s\"\n\"a\nb\"\n");
	CHECK_STR(write(ORMA_RESULT_CSV, "select 1 as suppress_query_output; select "
					 "create_function('f()', 'INT', 'select 1');"
					 "select -5 as x"),
		  "\"x\"\n-5\n");
}

ORMA_TEST(tables_are_aligned_and_show_no_control_characters)
{
	CHECK_STR(write(ORMA_RESULT_TABLE, "select 1 as id, 'a' as name union all select 1000, "
					   "'n\xc3\xa4me' union all select null, "
					   "'a' || char(27) || char(10) || cast(x'c285' as text); "
					   "select 2.5 as wide_name"),
		  "    id  name\n------  ---------------\n     1  a\n  1000  n\xc3\xa4me\n[NULL]  "
		  "a\\x1b\\n\\xc2\\x85\n"
		  "\nwide_name\n---------\n      2.5\n");
	const char *many = write(
		ORMA_RESULT_TABLE,
		"with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000) "
		"select x from c");
	CHECK(strstr(many, "\n   1\n") && strstr(many, "\n3000\n"));
}

ORMA_TEST(json_keeps_types_and_is_valid)
{
	CHECK_STR(
		write(ORMA_RESULT_JSON,
		      "select 1 as a, 0.1 as d, 1e300 as e, 1e999 as i, null as n, x'00ff' as raw, "
		      "'q\"\\' || char(10) || char(1) || cast(x'ff' as text) || '\xc3\xa4\xc2\x9b' "
		      "as "
		      "\"s\"\"t\" union all "
		      "select 2, 2.0, 3.5, 1, 1, 1, ''; select 1 as x where 0"),
		"[\n{\"a\":1,\"d\":0.1,\"e\":1e+300,\"i\":null,\"n\":null,\"raw\":\"00ff\","
		"\"s\\\"t\":\"q\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa4\\u009b\"},\n"
		"{\"a\":2,\"d\":2,\"e\":3.5,\"i\":1,\"n\":1,\"raw\":1,\"s\\\"t\":\"\"}\n]\n[]\n");
}

ORMA_TEST(markdown_escapes_bars_and_lines)
{
	CHECK_STR(write(ORMA_RESULT_MARKDOWN,
			"select 1 as a, 'x|y' || char(10) || 'z' as \"b|c\", null as n"),
		  "| a | b\\|c | n |\n| --- | --- | --- |\n| 1 | x\\|y<br>z | [NULL] |\n");
}

static int refuse_third(void *ctx, const struct orma_value *values, size_t count)
{
	(void)count;
	*(int64_t *)ctx = values[0].integer;
	return values[0].integer == 3 ? -EPIPE : 0;
}

static int accept_all(void *ctx, const char *const *names, size_t count)
{
	(void)ctx, (void)names, (void)count;
	return 0;
}

static int end_of(void *ctx)
{
	(void)ctx;
	return 0;
}

ORMA_TEST(a_sink_can_end_a_script)
{
	int64_t last = 0;
	const struct orma_result_sink sink = {&last, accept_all, refuse_third, end_of};
	struct orma_error error = {0};
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	CHECK_INT(
		orma_sql_run(
			fixture_sql,
			ORMA_STR("with recursive c(x) as (select 1 union all select x + 1 from c) "
				 "select x from c; select 9"),
			&sink, &error),
		-EPIPE);
	CHECK_INT(last, 3);
	engine_close();
}

ORMA_TEST(each_allocation_of_a_writer_may_fail)
{
	for (int format = ORMA_RESULT_CSV; format <= ORMA_RESULT_MARKDOWN; format++)
		for (uint64_t nth = 1;; nth++) {
			struct orma_buf out = {0};
			struct orma_result_writer writer = {
				.format = (enum orma_result_format)format, .out = &out};
			const struct orma_value value = {.kind = ORMA_VALUE_TEXT,
							 .bytes = ORMA_STR("text")};
			const char *const name = "name";
			orma_test_fail_allocation(nth);
			int r = orma_sql_writer_begin(&writer, &name, 1);
			for (int i = 0; r == 0 && i < 1500; i++)
				r = orma_sql_writer_row(&writer, &value, 1);
			if (r == 0)
				r = orma_sql_writer_end(&writer);
			bool has_failed = orma_test_allocation_failed();
			orma_test_fail_allocation(0);
			CHECK_INT(r, has_failed ? -ENOMEM : 0);
			orma_sql_writer_done(&writer);
			orma_base_buf_done(&out);
			if (!has_failed)
				break;
		}
}
