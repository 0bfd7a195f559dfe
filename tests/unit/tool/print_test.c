/* SPDX-License-Identifier: Apache-2.0
 * print_test.c - untrusted text is printed visibly and on one line, whatever it contains.
 */
#include "tool/print.h"

#include "base/utf8.h"
#include "harness.h"

/* Returns the printed line for a text; valid until the next call. */
static struct orma_str printed(const char *text, size_t size)
{
	static char *bytes;
	static size_t bytes_size;
	FILE *out;

	free(bytes);
	out = open_memstream(&bytes, &bytes_size);
	CHECK(out);
	orma_tool_print_line(out, "<%.*s>", (int)size, text);
	fclose(out);
	return (struct orma_str){bytes, bytes_size};
}

static bool is_one_visible_line(struct orma_str text)
{
	while (text.size > 1) {
		size_t size = orma_base_utf8_visible_size(text);

		if (size == 0)
			return false;
		text.data += size;
		text.size -= size;
	}
	return text.size == 1 && text.data[0] == '\n';
}

ORMA_TEST(every_pair_of_bytes_comes_out_visible)
{
	/* %s ends at a NUL, which has no effect on a terminal. */
	for (int i = 0x0101; i <= 0xffff; i++) {
		const char pair[] = {(char)(i >> 8), (char)i};
		struct orma_str line = printed(pair, 2);

		if (!is_one_visible_line(line))
			orma_test_fail(__FILE__, __LINE__, "%02x %02x came out as %.*s", i >> 8,
				       i & 0xff, (int)line.size, line.data);
	}
}

static void check_printed(const char *text, const char *expected)
{
	struct orma_str line = printed(text, strlen(text));

	CHECK_MEM(line.data, line.size, expected, strlen(expected));
}

ORMA_TEST(what_is_escaped_can_be_recognised)
{
	check_printed("\033]0;evil\007", "<\\x1b]0;evil\\x07>\n");
	check_printed("a\nb\tc\rd\177", "<a\\x0ab\\x09c\\x0dd\\x7f>\n");
	check_printed("\xc2\x9b"
		      "31m",
		      "<\\u009b31m>\n");
	check_printed("\u202egpj.exe\u2069", "<\\u202egpj.exe\\u2069>\n");
	check_printed("\xff\xc3(\xe2\x82", "<\\xff\\xc3(\\xe2\\x82>\n");
	check_printed("h\u00e9 \u20ac \U0001f600 \\x1b", "<h\u00e9 \u20ac \U0001f600 \\x1b>\n");
}

ORMA_TEST(a_text_longer_than_any_buffer_comes_out_whole)
{
	enum { LENGTH = 5000 };
	static char text[LENGTH];

	memset(text, '\033', sizeof(text));
	struct orma_str line = printed(text, LENGTH);
	CHECK_INT(line.size, 4 * LENGTH + 3);
	CHECK(is_one_visible_line(line));
}

ORMA_TEST(without_memory_the_beginning_of_a_text_comes_out)
{
	enum { LENGTH = 1000 };
	static char text[LENGTH];

	memset(text, 'x', sizeof(text));
	orma_test_fail_allocation(1);
	struct orma_str line = printed(text, LENGTH);
	CHECK(orma_test_allocation_failed());
	CHECK(line.size > 200 && line.size < LENGTH);
	CHECK(is_one_visible_line(line));
}
