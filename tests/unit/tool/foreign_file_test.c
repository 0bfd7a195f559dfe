/* SPDX-License-Identifier: Apache-2.0
 * foreign_file_test.c - a file that is not a trace is recognised, and its kind is named.
 */
#include "tool/trace/foreign_file.h"

#include "base/macros.h"
#include "harness.h"

static const char *words_of(const char *data, size_t size)
{
	const char *words = orma_tool_foreign_file_words((struct orma_str){data, size});

	return words ? words : "";
}

ORMA_TEST(each_kind_is_named_with_what_to_do_next)
{
	const struct {
		struct orma_str beginning;
		const char *name, *next;
	} cases[] = {
		{ORMA_STR("\x1f\x8b\x08\x00\x00"), "gzip", "gunzip"},
		{ORMA_STR("\x28\xb5\x2f\xfd\x04"), "zstd", "unzstd"},
		{ORMA_STR("\xfd"
			  "7zXZ\0\0"),
		 "xz", "unxz"},
		{ORMA_STR("BZh91AY"), "bzip2", "bunzip2"},
		{ORMA_STR("PK\x03\x04\x14"), "zip", "unzip"},
		{ORMA_STR("\x10\x00\x04\x46\x78\x54\x16\x00"), "Fuchsia", "ui.perfetto.dev"},
		{ORMA_STR("\xc1\x1f\xfc\xc1\x00"), "CTF", "babeltrace2"},
		{ORMA_STR("PERFILE2h"), "perf", "perf script"},
		{ORMA_STR("\x7f"
			  "ELF\x02\x01\x01"),
		 "program", "name the trace"},
		{ORMA_STR("{\"traceEvents\":["), "JSON", "has one as traceEvents"},
		{ORMA_STR("\r\n\t [ {"), "JSON", "has one as traceEvents"},
		{ORMA_STR("<!DOCTYPE html>"), "web page", "ui.perfetto.dev"},
		{ORMA_STR("packet {\n  timestamp: 1"), "text of a trace", "name the trace"},
		{ORMA_STR("caf\xc3\xa9 \xe2\x82"), "text", "no format"}, /* cut */
		{ORMA_STR("plain text"), "text", "no format that orma reads"},
		{ORMA_STR("duration_ms: 1000"), "config", "orma record -c"},
		{ORMA_STR("\n# a comment\nbuffers {"), "config", "orma doctor"},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		const char *words = words_of(cases[i].beginning.data, cases[i].beginning.size);

		if (!strstr(words, cases[i].name) || !strstr(words, cases[i].next))
			orma_test_fail(__FILE__, __LINE__, "case %zu is called: %s", i, words);
	}
}

ORMA_TEST(a_trace_that_is_damaged_is_nothing_else)
{
	CHECK_STR(words_of("", 0), "");
	CHECK_STR(words_of("\n", 1), "");
	CHECK_STR(words_of("\xff\xff\xff\xff\xff\xff", 6), "");
	CHECK_STR(words_of("\x0a\x02\x40\x05", 4), "");
	CHECK_STR(words_of("\x0a\x07gfx 123\x0a\x05h", 12), "");
	CHECK_STR(words_of("\x1f\x8b", 2), "");
	CHECK_STR(words_of("\x7f"
			   "EL",
			   3),
		  "");
}

ORMA_TEST(a_config_is_text_of_no_other_kind)
{
	CHECK(orma_tool_may_be_config(ORMA_STR("buffers { size_kb: 4 }")));
	CHECK(orma_tool_may_be_config(ORMA_STR("\n\n")));
	CHECK(orma_tool_may_be_config(ORMA_STR("anything")));
	CHECK(!orma_tool_may_be_config(ORMA_STR("")));
	CHECK(!orma_tool_may_be_config(ORMA_STR(" {\"traceEvents\":[")));
	CHECK(!orma_tool_may_be_config(ORMA_STR("packet {")));
	CHECK(!orma_tool_may_be_config(ORMA_STR("BZh91AY")));
	CHECK(!orma_tool_may_be_config(ORMA_STR("\x0a\x02\x40\x05")));
}
