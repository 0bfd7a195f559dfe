/* SPDX-License-Identifier: Apache-2.0
 * html_test.c - text and tables of facts as HTML.
 */
#include "tool/report/html.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness.h"

static void check_html(struct orma_buf *html, const char *wanted)
{
	CHECK_STR(orma_base_buf_cstr(html), wanted);
	orma_base_buf_done(html);
}

ORMA_TEST(text_is_never_markup_and_always_visible)
{
	struct orma_buf html = {0};
	CHECK_INT(orma_html_append_text(&html, ORMA_STR("a<b> & \"c\" 'd'\nsecond")), 0);
	check_html(&html, "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\nsecond");
	/* A terminal's escape, a byte that is not UTF-8, and a character that turns the direction. */
	CHECK_INT(orma_html_append_text(&html, ORMA_STR("\033[1m\xff\xe2\x80\xae.")), 0);
	check_html(&html, "\\x1b[1m\\xff\\u202e.");
	CHECK_INT(orma_html_append_text(&html, (struct orma_str){NULL, 0}), 0);
	check_html(&html, "");
}

static const struct orma_fact_column columns[] = {
	{"name", "name", ORMA_FACT_TEXT},
	{"hidden", NULL, ORMA_FACT_TEXT},
	{"ns", "time", ORMA_FACT_NS},
	{"line", "over time", ORMA_FACT_LINE},
};
static const double points[] = {1, NAN, 3, 2};

/* Adds a row with a line, and one that nothing is known of. */
static int fill(struct orma_fact_table *table)
{
	struct orma_fact *cells = orma_fact_table_add(table);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_text(ORMA_STR("<x>"));
	cells[2] = orma_fact_integer(1500);
	cells[3] = (struct orma_fact){.is_known = true, .points = points, .point_count = 4};
	return orma_fact_table_add(table) ? 0 : -ENOMEM;
}

static int make_table(struct orma_buf *html)
{
	struct orma_arena arena = {0};
	struct orma_fact_table table = {.title = "A & B",
					.columns = columns,
					.column_count = sizeof(columns) / sizeof(*columns),
					.arena = &arena};
	int r = fill(&table);
	if (r == 0)
		r = orma_html_append_table(html, &table);
	orma_base_arena_done(&arena);
	return r;
}

ORMA_TEST(a_table_has_numbers_for_people_and_for_programs)
{
	struct orma_buf html = {0};
	CHECK_INT(make_table(&html), 0);
	check_html(
		&html,
		"<table><caption>A &amp; B</caption><thead><tr><th scope=\"col\">name</th>"
		"<th scope=\"col\" class=\"number\">time</th><th scope=\"col\">over time</th></tr>"
		"</thead><tbody>\n"
		"<tr><td>&lt;x&gt;</td><td class=\"number\" data-value=\"1500\">1.50 us</td><td>"
		"<svg class=\"line\" viewBox=\"0 0 16 16\" role=\"img\"><path "
		"d=\"M0 15.0M8 1.0L12 8.0\"/></svg></td></tr>\n"
		"<tr><td></td><td class=\"number\">-</td><td></td></tr>\n"
		"</tbody></table>\n");
}

ORMA_TEST(a_table_without_memory_is_an_error)
{
	int r = -ENOMEM;
	for (uint64_t nth = 1; r == -ENOMEM; nth++) {
		struct orma_buf html = {0};
		orma_test_fail_allocation(nth);
		r = make_table(&html);
		orma_test_fail_allocation(0);
		orma_base_buf_done(&html);
	}
	CHECK_INT(r, 0);
}

ORMA_TEST(json_cannot_end_its_element)
{
	struct orma_buf html = {0};
	CHECK_INT(orma_html_append_json(&html, "x", ORMA_STR("[\"</script><b>\"]")), 0);
	check_html(&html, "<script type=\"application/json\" id=\"x\">"
			  "[\"\\u003c/script>\\u003cb>\"]</script>\n");
}
