/* SPDX-License-Identifier: Apache-2.0
 * functions_test.c - functions that need no trace.
 */
#include "sql/functions.h"

#include "base/macros.h"
#include "engine_fixture.h"

struct example {
	const char *sql, *rows;
};

static void check(const struct example *examples, size_t count)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	for (size_t i = 0; i < count; i++) {
		char sql[500];
		snprintf(sql, sizeof(sql), "select %s", examples[i].sql);
		const char *actual = engine_run(sql);
		if (strcmp(actual, examples[i].rows) != 0)
			orma_test_fail(__FILE__, __LINE__, "%s\n-- is\n%s\n-- expected\n%s", sql,
				       actual, examples[i].rows);
	}
	engine_close();
}

ORMA_TEST(functions_of_texts)
{
	static const struct example examples[] = {
		{"str_split('a:b::c', ':', 0), str_split('a:b::c', ':', 2), str_split('a:b::c', "
		 "':', 3)",
		 "a,,c;"},
		{"str_split('a:b', ':', 2), str_split('', 'x', 0), str_split(null, 'x', 0)",
		 "NULL,,NULL;"},
		{"str_split('a--b--c', '--', 1)", "b;"},
		{"reverse('abc'), reverse(''), reverse(null), reverse('a\xc3\xa4')",
		 "cba,,NULL,\xc3\xa4"
		 "a;"},
		{"base64_encode(cast('any carnal pleas' as blob)), base64_encode(x''), "
		 "base64_encode(x'ff')",
		 "YW55IGNhcm5hbCBwbGVhcw==,,/w==;"},
		{"cast(base64_decode('YW55IGNhcm5hbCBwbGVhcw==') as text), "
		 "hex(base64_decode('/w==')), "
		 "hex(base64_decode('/wAB')), base64_decode('a*')",
		 "any carnal pleas,FF,FF0001,NULL;"},
		{"unhex('0xff'), unhex('FFFFFFFFFFFFFFFF'), unhex('10'), unhex(null)",
		 "255,-1,16,NULL;"},
		{"hash('a'), hash(1), hash('a', 1) = hash(1, 'a'), hash()",
		 "-5808556873153909620,-8517097267634966620,0,-3750763034362895579;"},
		{"demangle('_ZN3foo3barEi'), demangle('main'), demangle(null), demangle('_Z')",
		 "foo::bar(int),NULL,NULL,NULL;"},
		{"__intrinsic_strip_hex('0x1234 f (0xabcd) v20 a1 abc', 2), "
		 "__intrinsic_strip_hex('1=22@333', 3)",
		 "0x<num> f (0x<num>) v<num> <num> abc,1=22@<num>;"},
		{"'abc' glob 'a[a-c]?', 'abc' glob 'A*', 'a' glob null, glob('*', '')",
		 "1,0,NULL,1;"},
	};
	check(examples, ORMA_ARRAY_SIZE(examples));
}

ORMA_TEST(functions_of_regular_expressions)
{
	static const struct example examples[] = {
		{"'slice 12' regexp '\\d+$', 'slice' regexp '\\d', null regexp 'a', 'a' regexp "
		 "null",
		 "1,0,NULL,NULL;"},
		{"regexp('ABC', 'abc'), regexp('ABC', 'abc', 'i'), regexp('ABC', 'abc', 'c'), "
		 "'(?i)' || 'x'",
		 "0,1,0,(?i)x;"},
		{"'ABC' regexp '(?i)b', 'n\xc3\xa4me' regexp '^n.me$'", "1,1;"},
		{"regexp_extract('slice 12', '[0-9]+'), regexp_extract('slice 12', '(\\w+) '), "
		 "regexp_extract('x', 'y'), regexp_extract(null, 'y')",
		 "12,slice,NULL,NULL;"},
		{"regexp_replace_simple('a1b22c', '[0-9]+', '#'), regexp_replace_simple('abc', "
		 "'x*', '-'), "
		 "regexp_replace_simple('', 'a', 'b')",
		 "a#b#c,-a-b-c-,;"},
		/* A match that is empty at the end of another is none. */
		{"regexp_replace_simple('aXbX', 'X*', '-'), regexp_replace_simple('\xc3\xa4"
		 "b', '', '-')",
		 "-a-b-,-\xc3\xa4-b-;"},
		{"regexp_replace_simple('key=value', '(\\w+)=(\\w+)', '\\2 is \\1'), "
		 "regexp_replace_simple('abc', 'b', '[\\0]'), regexp_replace_simple('abc', "
		 "'(x)?b', '[\\1]')",
		 "value is key,a[b]c,a[]c;"},
		{"regexp_replace_simple('abc', 'b', '\\\\1'), regexp_replace_simple('abc', 'b', "
		 "'\\x'), regexp_replace_simple('abc', 'b', '\\')",
		 "a\\1c,a\\xc,a\\c;"},
		{"count(*) from (select 'a' as p union all select 'b') x where 'b' regexp x.p",
		 "1;"},
	};
	check(examples, ORMA_ARRAY_SIZE(examples));
}

ORMA_TEST(functions_of_numbers_and_times)
{
	static const struct example examples[] = {
		{"round(ln(10), 6), ln(0), ln(-1), ln(null), ln('x'), exp(0), sqrt(9)",
		 "2.302585,NULL,NULL,NULL,NULL,1.0,3.0;"},
		{"to_timecode(3723004005006), to_timecode(null)", "01:02:03 004 005 006,NULL;"},
		{"value_at_max_ts(ts, v) from (select 1 as ts, 5 as v union all select 3, 6 union "
		 "all select 3, 7 "
		 "union all select 2, 9)",
		 "7;"},
		{"value_at_max_ts(ts, v) from (select 1 as ts, 0.5 as v)", "0.5;"},
		{"value_at_max_ts(1, 1) where 0", "NULL;"},
		{"last_non_null(v) over (order by ts) from (select 1 as ts, null as v union all "
		 "select 2, 'a' "
		 "union all select 3, null union all select 4, 'b')",
		 "NULL;a;a;b;"},
		{"last_non_null(v) over (order by ts rows between 1 preceding and current row) "
		 "from "
		 "(select 1 as ts, 'x' as v union all select 2, null union all select 3, null)",
		 "x;x;NULL;"},
	};
	check(examples, ORMA_ARRAY_SIZE(examples));
}

ORMA_TEST(functions_of_newer_releases_of_sqlite)
{
	static const struct example examples[] = {
		{"if(0, 'a', 1, 'b', 'c'), if(0, 'a', null, 'b', 'c'), if(0.5, 'a'), if(0, 'a'), "
		 "iif(0, 1), iif(1, 2)",
		 "b,c,a,NULL,NULL,2;"},
		{"octet_length('n\xc3\xa4'), octet_length(x'00ff01'), octet_length(12), "
		 "octet_length(null)",
		 "3,3,2,NULL;"},
		{"concat('a', null, 5, x'62'), concat(null), concat_ws(', ', 'a', null, '', 'b'), "
		 "concat_ws(null, 'a'), concat_ws('-', null)",
		 "a5b,,a, , b,NULL,;"},
		{"string_agg(v, '+'), string_agg(v, null) from (select 1 as v union all select "
		 "null union all select 'x')",
		 "1+x,1x;"},
		{"string_agg(1, ',') where 0", "NULL;"},
		{"string_agg(v, v) over (order by i rows between 1 preceding and current row) from "
		 "(select 1 as i, 'a' as v union all select 2, 'b' union all select 3, null union "
		 "all select 4, '')",
		 "a;abb;b;;"},
	};
	check(examples, ORMA_ARRAY_SIZE(examples));
}

#define VALUES "(select 4 as v union all select 1 union all select null union all select 2.5 "
#define MORE   "union all select 10)"
ORMA_TEST(percentiles_lie_between_the_values_beside_them)
{
	static const struct example examples[] = {
		{"median(v), percentile(v, 50), percentile_cont(v, 0.5), percentile_disc(v, 0.5) "
		 "from " VALUES MORE,
		 "3.25,3.25,3.25,2.5;"},
		{"percentile(v, 0), percentile(v, 25), percentile(v, 90), percentile(v, 100) "
		 "from " VALUES MORE,
		 "1.0,2.125,8.2,10.0;"},
		{"percentile_disc(v, 0), percentile_disc(v, 0.99), percentile_disc(v, 1) "
		 "from " VALUES MORE,
		 "1.0,4.0,10.0;"},
		{"percentile(v, 99), median(v) from (select 7 as v)", "7.0,7.0;"},
		{"percentile(v, 99), median(v) from (select null as v)", "NULL,NULL;"},
		{"percentile(1, 50) where 0", "NULL;"},
		{"median(v) over (order by i rows between 1 preceding and 1 following) from "
		 "(select 1 as i, 5 as v union all select 2, 1 union all select 3, null union all "
		 "select 4, 3 union all select 5, 3)",
		 "3.0;3.0;2.0;3.0;3.0;"},
		{"percentile(value, 50), percentile_disc(value, 0.9) from (with recursive n(value) "
		 "as (select 100 union all select value - 1 from n where value > 0) select * from "
		 "n)",
		 "50.0,90.0;"},
	};
	check(examples, ORMA_ARRAY_SIZE(examples));
}

ORMA_TEST(wrong_arguments_are_refused)
{
	static const char *const faults[] = {
		"if(1)",
		"percentile(1, 101)",
		"percentile(1, -1)",
		"percentile(1, null)",
		"percentile_cont(1, 1.5)",
		"median('x')",
		"median(9e999)",
		"percentile(v, v) from (select 1 as v union all select 2)",
		"str_split('a', '', 0)",
		"str_split('a', 'b', -1)",
		"str_split(1, 'b', 0)",
		"reverse(5)",
		"base64_encode('text')",
		"base64_decode(5)",
		"unhex('g')",
		"unhex('')",
		"unhex('11112222333344445')",
		"hash(null)",
		"hash(1.5)",
		"regexp_extract('a', '(a)(b)')",
		"'a' regexp '('",
		"regexp('a', 'b', 'z')",
		"demangle(1)",
		"value_at_max_ts('a', 1)",
		"value_at_max_ts(1, 'a')",
		"regexp_extract('a', '[')",
		"regexp_replace_simple('a', '[', '')",
		"regexp_replace_simple('a', '(a)', '\\2')",
		"create_function('f', 'INT', 'select 1')",
		"create_function('f()', 'WHAT', 'select 1')",
		"experimental_memoize('nothing')",
		"__intrinsic_strip_hex('a', 0)",
	};
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(faults); i++) {
		char sql[200];
		snprintf(sql, sizeof(sql), "select %s", faults[i]);
		engine_check_error(sql, "");
	}
	engine_close();
}

ORMA_TEST(an_expression_that_takes_for_ever_is_given_up)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	engine_check_error(
		"select 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab' regexp '^(a+)+$'", "steps");
	engine_close();
}
