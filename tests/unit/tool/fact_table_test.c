/* SPDX-License-Identifier: Apache-2.0
 * fact_table_test.c - numbers with units, texts that fit, and rows as JSON.
 */
#include "tool/ask/fact_table.h"

#include <math.h>

#include "harness.h"
#include "tool/ask/units.h"

ORMA_TEST(durations_have_three_digits_and_a_unit)
{
	char text[ORMA_UNIT_BYTES];
	CHECK_STR(orma_units_duration(0, text), "0 ns");
	CHECK_STR(orma_units_duration(999, text), "999 ns");
	CHECK_STR(orma_units_duration(1000, text), "1.00 us");
	CHECK_STR(orma_units_duration(12345, text), "12.3 us");
	CHECK_STR(orma_units_duration(999499, text), "999 us");
	CHECK_STR(orma_units_duration(999500, text), "1.00 ms");
	CHECK_STR(orma_units_duration(95100000000, text), "95.1 s");
	CHECK_STR(orma_units_duration(7200000000000, text), "7200 s");
	CHECK_STR(orma_units_duration(-2500000, text), "-2.50 ms");
	CHECK_STR(orma_units_duration(INT64_MIN, text), "-9223372037 s");
}

ORMA_TEST(sizes_counts_and_shares_are_readable)
{
	char text[ORMA_UNIT_BYTES];
	CHECK_STR(orma_units_size(512, text), "512 B");
	CHECK_STR(orma_units_size(8 << 20, text), "8 MB");
	CHECK_STR(orma_units_size(1536, text), "1.50 KB");
	CHECK_STR(orma_units_size(-1536, text), "-1.50 KB");
	CHECK_STR(orma_units_count(8415, text), "8,415");
	CHECK_STR(orma_units_count(999, text), "999");
	CHECK_STR(orma_units_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
	CHECK_STR(orma_units_share(0.1254, text), "12.5%");
	CHECK_STR(orma_units_number(1234567, text), "1,234,567");
	CHECK_STR(orma_units_number(0.125, text), "0.125");
	CHECK_STR(orma_units_number(2345369.6, text), "2,345,370");
	CHECK_STR(orma_units_number(-1234.5, text), "-1,235");
	CHECK_STR(orma_units_number(999.5, text), "999.5");
	CHECK_STR(orma_units_number(1000.5, text), "1,001");
	CHECK_STR(orma_units_number(-2, text), "-2");
	CHECK_STR(orma_units_number(0, text), "0");
	CHECK_STR(orma_units_number(1e30, text), "1e+30");
}

ORMA_TEST(dates_have_the_offset_of_their_zone)
{
	char text[ORMA_UNIT_BYTES];
	CHECK_STR(orma_units_date(1700000000123456789, 0, 9, text),
		  "2023-11-14 22:13:20.123456789 +0000");
	CHECK_STR(orma_units_date(1700000000123456789, 90, 6, text),
		  "2023-11-14 23:43:20.123456 +0130");
	CHECK_STR(orma_units_date(1700000000123456789, -480, 0, text), "2023-11-14 14:13:20 -0800");
	CHECK_STR(orma_units_date(-1, 0, 3, text), "1969-12-31 23:59:59.999 +0000");
}

static const char *fit(struct orma_arena *arena, const char *text, unsigned width, bool is_utf8)
{
	struct orma_page page = {.width = 100, .is_utf8 = is_utf8};
	return orma_page_fit(&page, arena, orma_base_str(text), width);
}

ORMA_TEST(texts_are_cut_at_characters_and_escaped)
{
	struct orma_arena arena = {0};
	CHECK_STR(fit(&arena, "name", 4, false), "name");
	CHECK_STR(fit(&arena, "longer name", 8, false), "longe...");
	CHECK_STR(fit(&arena, "longer name", 8, true), "longer \xe2\x80\xa6");
	CHECK_STR(fit(&arena, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 4, false),
		  "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f");
	CHECK_STR(fit(&arena, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3, true),
		  "\xc3\xa4\xc3\xb6\xe2\x80\xa6");
	CHECK_STR(fit(&arena, "a\x1b[31m\xff", 20, false), "a\\x1b[31m\\xff");
	CHECK_INT(orma_page_width_of("\xc3\xa4"
				     "b"),
		  2);
	orma_base_arena_done(&arena);
}

ORMA_TEST(rows_as_json_have_null_for_what_is_not_known)
{
	static const struct orma_fact_column columns[] = {
		{"name", "name", ORMA_FACT_TEXT}, {"id", "id", ORMA_FACT_ID},
		{NULL, "shown", ORMA_FACT_TEXT},  {"value", "value", ORMA_FACT_NUMBER},
		{"line", "line", ORMA_FACT_LINE},
	};
	static const double points[] = {1, 2.5, NAN};
	struct orma_arena arena = {0};
	struct orma_buf json = {0};
	struct orma_fact_table table = {
		.key = "rows", .columns = columns, .column_count = 5, .arena = &arena};
	for (int i = 0; i < 20; i++)
		CHECK(orma_fact_table_add(&table));
	table.row_count = 0;
	struct orma_fact *cells = orma_fact_table_add(&table);
	cells[0] = orma_fact_text(ORMA_STR("a\"\x1b"));
	cells[1] = orma_fact_integer(-7);
	cells[4] = (struct orma_fact){.is_known = true, .points = points, .point_count = 3};
	CHECK_INT(orma_fact_table_append_json(&table, &json), 0);
	CHECK_STR(orma_base_buf_cstr(&json), "\"rows\":[{\"name\":\"a\\\"\\u001b\",\"id\":-7,"
					     "\"value\":null,\"line\":[1,2.5,null]}]");
	orma_base_buf_done(&json);
	orma_base_arena_done(&arena);
}
