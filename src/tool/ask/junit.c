/* SPDX-License-Identifier: Apache-2.0
 * junit.c - XML 1.0 has no way to write most control characters, so they are written as people see them, `\x1b`.
 */
#include "tool/ask/junit.h"

#include "tool/print.h"

void orma_junit_done(struct orma_junit *junit)
{
	orma_base_buf_done(&junit->xml);
	orma_base_buf_done(&junit->cases);
}

static void keep_error(struct orma_junit *junit, int r)
{
	if (r < 0)
		junit->error = r;
}

/* Appends visible text with the signs of XML escaped. */
static int append_signs(struct orma_buf *out, struct orma_str text)
{
	int r = 0;
	for (size_t i = 0; i < text.size && r == 0; i++) {
		unsigned char c = (unsigned char)text.data[i];
		/* U+FFFE and U+FFFF are characters of UTF-8, but not of XML. */
		bool is_refused = c == 0xef && i + 2 < text.size &&
				  (unsigned char)text.data[i + 1] == 0xbf &&
				  (unsigned char)text.data[i + 2] >= 0xbe;
		const char *sign = c == '&'     ? "&amp;"
				   : c == '<'   ? "&lt;"
				   : c == '>'   ? "&gt;"
				   : c == '"'   ? "&quot;"
				   : is_refused ? "\xef\xbf\xbd"
						: NULL;
		r = sign ? orma_base_buf_append_str(out, sign)
			 : orma_base_buf_append(out, text.data + i, 1);
		i += is_refused ? 2 : 0;
	}
	return r;
}

/* Appends text of one line or, in an element, of several. */
static void append_text(struct orma_junit *junit, struct orma_buf *out, struct orma_str text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf visible = {0};
	int r = 0;
	while (text.size > 0 && r == 0) {
		const char *end = memchr(text.data, '\n', text.size);
		size_t size = end ? (size_t)(end - text.data) : text.size;
		visible.size = 0;
		r = orma_tool_append_visible(&visible, (struct orma_str){text.data, size});
		if (r == 0)
			r = append_signs(
				out, (struct orma_str){(const char *)visible.data, visible.size});
		if (r == 0 && end)
			r = orma_base_buf_append(out, "\n", 1);
		size += end != NULL;
		text = (struct orma_str){text.data + size, text.size - size};
	}
	keep_error(junit, r);
}

void orma_junit_add(struct orma_junit *junit, struct orma_str file, struct orma_str name,
		    enum orma_check_result result, double seconds, struct orma_str message,
		    struct orma_str text)
{
	const char *element = result == ORMA_CHECK_FAILED ? "failure" : "error";
	struct orma_buf *out = &junit->cases;
	junit->suite_counts[result]++;
	junit->suite_seconds += seconds;
	keep_error(junit, orma_base_buf_append_str(out, "    <testcase classname=\""));
	append_text(junit, out, file);
	keep_error(junit, orma_base_buf_append_str(out, "\" name=\""));
	append_text(junit, out, name);
	keep_error(junit, orma_base_buf_printf(out, "\" time=\"%.3f\"", seconds));
	if (result == ORMA_CHECK_PASSED) {
		keep_error(junit, orma_base_buf_append_str(out, "/>\n"));
		return;
	}
	keep_error(junit, orma_base_buf_printf(out, ">\n      <%s message=\"", element));
	append_text(junit, out, message);
	keep_error(junit, orma_base_buf_append_str(out, "\">"));
	append_text(junit, out, text);
	keep_error(junit, orma_base_buf_printf(out, "</%s>\n    </testcase>\n", element));
}

static int append_counts(struct orma_buf *out, const unsigned counts[3], double seconds)
{
	return orma_base_buf_printf(out,
				    " tests=\"%u\" failures=\"%u\" errors=\"%u\" time=\"%.3f\">\n",
				    counts[0] + counts[1] + counts[2], counts[ORMA_CHECK_FAILED],
				    counts[ORMA_CHECK_BROKEN], seconds);
}

void orma_junit_end_suite(struct orma_junit *junit, struct orma_str name)
{
	struct orma_buf *out = &junit->xml;
	keep_error(junit, orma_base_buf_append_str(out, "  <testsuite name=\""));
	append_text(junit, out, name);
	keep_error(junit, orma_base_buf_append_str(out, "\""));
	keep_error(junit, append_counts(out, junit->suite_counts, junit->suite_seconds));
	keep_error(junit, orma_base_buf_append(out, junit->cases.data, junit->cases.size));
	keep_error(junit, orma_base_buf_append_str(out, "  </testsuite>\n"));
	junit->cases.size = 0;
	junit->seconds += junit->suite_seconds;
	junit->suite_seconds = 0;
	for (size_t i = 0; i < 3; i++) {
		junit->counts[i] += junit->suite_counts[i];
		junit->suite_counts[i] = 0;
	}
}

int orma_junit_finish(struct orma_junit *junit)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf suites = junit->xml;
	junit->xml = (struct orma_buf){0};
	keep_error(junit, orma_base_buf_append_str(&junit->xml,
						   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
						   "<testsuites"));
	keep_error(junit, append_counts(&junit->xml, junit->counts, junit->seconds));
	keep_error(junit, orma_base_buf_append(&junit->xml, suites.data, suites.size));
	keep_error(junit, orma_base_buf_append_str(&junit->xml, "</testsuites>\n"));
	return junit->error;
}
