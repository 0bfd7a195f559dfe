/* SPDX-License-Identifier: Apache-2.0
 * check_file_test.c - files of checks, and results as XML.
 */
#include "tool/ask/check_file.h"

#include "harness.h"
#include "tool/ask/junit.h"

static struct orma_check_file parse(const char *text)
{
	struct orma_check_file file = {0};
	CHECK_INT(orma_base_buf_append_str(&file.text, text), 0);
	CHECK_INT(orma_check_file_parse(&file), 0);
	return file;
}

static bool is(struct orma_str text, const char *expected)
{
	return orma_base_str_is(text, expected);
}

ORMA_TEST(checks_begin_at_lines_that_name_them)
{
	struct orma_check_file file = parse("select 0;\n-- check: first one \r\nselect 1;\n-- no "
					    "name\n\t--CHECK:second\nselect 2");
	CHECK_INT(file.check_count, 2);
	CHECK(is(file.preamble, "select 0;\n"));
	CHECK(is(file.checks[0].name, "first one"));
	CHECK(is(file.checks[0].sql, "select 1;\n-- no name\n"));
	CHECK_INT(file.checks[0].line, 3);
	CHECK(is(file.checks[1].name, "second"));
	CHECK(is(file.checks[1].sql, "select 2"));
	CHECK_INT(file.checks[1].line, 6);
	orma_check_file_done(&file);
}

ORMA_TEST(a_check_may_be_empty_and_a_file_may_have_none)
{
	struct orma_check_file file = parse("-- check:\n-- check: b");
	CHECK_INT(file.check_count, 2);
	CHECK_INT(file.preamble.size, 0);
	CHECK_INT(file.checks[0].name.size, 0);
	CHECK_INT(file.checks[1].sql.size, 0);
	orma_check_file_done(&file);
	file = parse("select 1 -- check: not at the start of the line\n--");
	CHECK_INT(file.check_count, 0);
	orma_check_file_done(&file);
	file = parse("");
	CHECK_INT(file.check_count, 0);
	orma_check_file_done(&file);
}

ORMA_TEST(xml_has_no_character_that_xml_refuses)
{
	struct orma_junit junit = {0};
	orma_junit_add(&junit, ORMA_STR("a<b"), ORMA_STR("\x01\"&\xff\xef\xbf\xbf\n'"),
		       ORMA_CHECK_FAILED, 1.5, ORMA_STR("]]>"), ORMA_STR("x\x1b\ny\n"));
	orma_junit_add(&junit, ORMA_STR("f"), ORMA_STR("fine"), ORMA_CHECK_PASSED, 0.25,
		       ORMA_STR(""), ORMA_STR(""));
	orma_junit_end_suite(&junit, ORMA_STR("t\xc3\xa4"));
	orma_junit_add(&junit, ORMA_STR("f"), ORMA_STR("n"), ORMA_CHECK_BROKEN, 0, ORMA_STR("m"),
		       ORMA_STR(""));
	orma_junit_end_suite(&junit, ORMA_STR("u"));
	CHECK_INT(orma_junit_finish(&junit), 0);
	CHECK_STR(orma_base_buf_cstr(&junit.xml),
		  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		  "<testsuites tests=\"3\" failures=\"1\" errors=\"1\" time=\"1.750\">\n"
		  "  <testsuite name=\"t\xc3\xa4\" tests=\"2\" failures=\"1\" errors=\"0\" "
		  "time=\"1.750\">\n"
		  "    <testcase classname=\"a&lt;b\" "
		  "name=\"\\x01&quot;&amp;\\xff\xef\xbf\xbd\n'\" time=\"1.500\">\n"
		  "      <failure message=\"]]&gt;\">x\\x1b\ny\n</failure>\n"
		  "    </testcase>\n"
		  "    <testcase classname=\"f\" name=\"fine\" time=\"0.250\"/>\n"
		  "  </testsuite>\n"
		  "  <testsuite name=\"u\" tests=\"1\" failures=\"0\" errors=\"1\" "
		  "time=\"0.000\">\n"
		  "    <testcase classname=\"f\" name=\"n\" time=\"0.000\">\n"
		  "      <error message=\"m\"></error>\n"
		  "    </testcase>\n"
		  "  </testsuite>\n"
		  "</testsuites>\n");
	orma_junit_done(&junit);
}
