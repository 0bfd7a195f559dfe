/* SPDX-License-Identifier: Apache-2.0
 * engine_test.c - scripts of PerfettoSQL: tables, views, functions, macros, modules, faults and limits.
 */
#include "sql/sql_engine.h"

#include <unistd.h>

#include "base/macros.h"
#include "engine_fixture.h"

static struct orma_str module_text(void *ctx, const char *name)
{
	static const struct {
		const char *name, *text;
	} modules[] = {
		{"a.one",
		 "include perfetto module a.two; create perfetto table one as select 1 as x;"},
		{"a.two",
		 "include perfetto module a.one; create perfetto view two as select 2 as x;"},
		{"b.rows", "select 1;"},
		{"b.broken",
		 "create perfetto table fine as select 1 as x;\ncreate perfetto table broken as\n"
		 "select y from fine;"},
	};
	(void)ctx;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(modules); i++)
		if (strcmp(modules[i].name, name) == 0)
			return orma_base_str(modules[i].text);
	return (struct orma_str){NULL, 0};
}

static const char *module_name(void *ctx, size_t idx)
{
	static const char *const names[] = {"a.one", "a.two", "b.rows", "b.broken"};
	(void)ctx;
	return idx < ORMA_ARRAY_SIZE(names) ? names[idx] : NULL;
}

static int define(void *ctx, struct orma_sql *engine, const char *name, struct orma_error *reterr)
{
	(void)ctx;
	if (strcmp(name, "lazy_view") == 0)
		return orma_sql_execute(engine,
					ORMA_STR("create perfetto view lazy_view as "
						 "select lazy_function(20) as x"),
					reterr) == 0;
	if (strcmp(name, "lazy_function") == 0)
		return orma_sql_execute(engine,
					ORMA_STR("create perfetto function lazy_function(x int) "
						 "returns int as select $x + 1"),
					reterr) == 0;
	return 0;
}

static void open_engine(void)
{
	engine_open(&(struct orma_sql_options){
		.module_text = module_text, .module_name = module_name, .define = define});
}

ORMA_TEST(statements_run_in_order_and_their_rows_come_one_after_the_other)
{
	open_engine();
	CHECK_STR(engine_run("select 1; ;; -- no more\nselect 'a;b', \"c;d\" from (select 2 as "
			     "[c;d]); /* ; */"),
		  "1;a;b,2;");
	CHECK_STR(engine_run(
			  "create table t(x); insert into t values (1), (2); select sum(x) from t"),
		  "3;");
	CHECK_STR(engine_run("create trigger tr after insert on t begin update t set x = x + 1; "
			     "select 1; end;\n"
			     "insert into t values (5); select * from t"),
		  "2;3;6;");
	CHECK_STR(engine_run(""), "");
	CHECK_STR(engine_run("\xef\xbb\xbfselect\xc2\xa0'\xc2\xa0'"), "\xc2\xa0;");
	engine_close();
}

ORMA_TEST(tables_take_the_types_of_their_values)
{
	open_engine();
	CHECK_STR(engine_run(
			  "create perfetto table t as select 1 as i, 1 as r, 'x' as s, null as n "
			  "union all select null, 2.5, null, null union all select 3, 7, 'y', null;"
			  "select i, r, s, n, typeof(i), typeof(r), typeof(s) from t"),
		  "1,1.0,x,NULL,integer,real,text;NULL,2.5,NULL,NULL,null,real,null;"
		  "3,7.0,y,NULL,integer,real,text;");
	CHECK_STR(engine_run("select _auto_id, * from t where i = 3"), "2,3,7.0,y,NULL;");
	engine_check_error("create perfetto table m as select 1 as x union all select 'a'",
			   "was inferred to be LONG, but later received a value of type STRING");
	engine_check_error("create perfetto table m as select x'00' as x", "blobs");
	engine_check_error("create perfetto table m as select 1 as x, 2 as x",
			   "multiple columns are named: x");
	engine_check_error("create perfetto table m as select count(*)", "`count(*)`");
	engine_check_error("create perfetto table t as select 1 as x", "already exists");
	engine_check_error("create perfetto table m(x int, y int) as select 1 as x",
			   "y is declared");
	engine_check_error("create perfetto table m(x int) as select 1 as x, 2 as z",
			   "z is missing from the schema");
	/* The new table is made of the old one. */
	CHECK_STR(engine_run(
			  "create or replace perfetto table t(i long) as select i + 1 as i from t; "
			  "select * from t"),
		  "2;NULL;4;");
	CHECK_STR(
		engine_run(
			"drop table t; create perfetto table t as select 5 as z; select * from t"),
		"5;");
	CHECK_STR(engine_run("create perfetto table none as select 1 as x where 0; select count(*) "
			     "from none"),
		  "0;");
	engine_close();
}

ORMA_TEST(a_large_table_is_as_its_query_and_finds_sorted_rows)
{
	open_engine();
	CHECK_STR(engine_run(
			  "create perfetto table big as with recursive c(x) as (select 1 union all "
			  "select x + 1 from c where x < 20000) select x * 3 as ts, x % 7 as k, "
			  "iif(x > 9000, x + 0.5, x) as v, 'n' || (x % 5) as name from c;"
			  "select count(*), sum(ts), sum(k), sum(v), count(distinct name) from big;"
			  "select ts from big where ts > 59990;"
			  "select count(*) from big where v = 9001.5;"
			  "select k from big where ts = 300"),
		  "20000,600030000,59998,200015500.0,5;59991;59994;59997;60000;1;2;");
	engine_close();
}

ORMA_TEST(views_are_made_and_replaced)
{
	open_engine();
	CHECK_STR(engine_run("create perfetto view v as select 1 as x; select * from v;"
			     "create or replace perfetto view v(y int) as select 2 as y; select y "
			     "from v"),
		  "1;2;");
	engine_check_error("create perfetto view v as select 1 as x", "already exists");
	engine_check_error("create perfetto view w(x int) as select 1 as y", "x is declared");
	engine_check_error("select 1;\ncreate perfetto view w as\n  select from t",
			   "line 3, column 10");
	engine_close();
}

ORMA_TEST(functions_return_a_value)
{
	open_engine();
	CHECK_STR(engine_run("create perfetto function f(x int, y string) returns string as select "
			     "$y || ($x + 1);"
			     "select f(4, 'a'), f(null, 'a'), f(1, null)"),
		  "a5,NULL,NULL;");
	CHECK_STR(engine_run("create perfetto function f(x int) returns int as select $x * 2; "
			     "select f(1, 'b'), f(2)"),
		  "b2,4;");
	CHECK_STR(engine_run("create or replace perfetto function f(x int) returns int as select 7 "
			     "where $x > 0;"
			     "select f(1), f(-1)"),
		  "7,NULL;");
	CHECK_STR(engine_run("create perfetto function fac(x int) returns int as "
			     "select iif($x = 0, 1, $x * fac($x - 1)); select fac(10)"),
		  "3628800;");
	CHECK_STR(engine_run("create perfetto function any_of(args any...) returns long delegates "
			     "to max;"
			     "select any_of(1, 5, 3), any_of(2, 1)"),
		  "5,2;");
	CHECK_STR(engine_run("select create_function('g(x INT)', 'INT', 'select $x + 100'); select "
			     "g(1)"),
		  "NULL;101;");
	/* The statement that replaces a function may do so while it runs. */
	CHECK_STR(engine_run("select create_function('g(x INT)', 'INT', 'select $x + 7'); select "
			     "g(1); select create_view_function('h(x INT)', 'a INT, b INT', "
			     "'select $x a, g($x) b'); select * from h(1);"
			     "select create_function('g(x INT)', 'INT', 'select $x + 8');"
			     "select * from h(1)"),
		  "NULL;8;NULL;1,8;NULL;1,9;");
	engine_check_error("create perfetto function self(x int) returns int as select "
			   "create_function('self(x INT)', 'INT', 'select 1'); select self(1)",
			   "cannot be replaced while it runs");
	CHECK_STR(engine_run("create perfetto function fib(x int) returns int as "
			     "select iif($x < 2, $x, fib($x - 1) + fib($x - 2)); "
			     "select experimental_memoize('fib'); select fib(60)"),
		  "NULL;1548008755920;");
	engine_check_error("create perfetto function f(x int) returns int as select 1",
			   "already exists");
	engine_check_error("select f('a')", "expected int, actual STRING");
	engine_check_error("create perfetto function two() returns int as select 1 union select 2; "
			   "select two()",
			   "multiple values were returned when executing function body");
	engine_check_error("create perfetto function deep(x int) returns int as select deep($x + "
			   "1); select deep(1)",
			   "too deeply");
	engine_check_error(
		"create perfetto function odd(x int) returns int as select $y; select odd(1)",
		"odd: the body uses $y");
	engine_check_error(
		"create perfetto function odd2(x int) returns int as select z; select odd2(1)",
		"odd2, line 1, column 60 of its definition: no such column: z");
	engine_check_error("create perfetto function h(x nothing) returns int as select 1",
			   "line 1, column 30: expected a type, not `nothing`");
	engine_close();
}

ORMA_TEST(functions_return_tables)
{
	open_engine();
	CHECK_STR(engine_run("create perfetto function t(n int, s string) returns table(i int, s "
			     "string) as "
			     "with recursive c(x) as (select 1 union all select x + 1 from c where "
			     "x < $n) "
			     "select x, $s || x from c; select * from t(3, 'a')"),
		  "1,a1;2,a2;3,a3;");
	CHECK_STR(engine_run("select a.x, t.i from (select 1 as x union all select 2) a join "
			     "t(a.x, 'q') as t"),
		  "1,1;2,1;2,2;");
	CHECK_STR(engine_run("select count(*) from t(3, 'a') x join t(2, 'b') y"), "6;");
	CHECK_STR(engine_run("create or replace perfetto function t(n int, s string) returns "
			     "table(z int) as "
			     "select $n; select * from t(9, '')"),
		  "9;");
	CHECK_STR(engine_run("create perfetto function d(n int, s string) returns table(z int) "
			     "delegates to t;"
			     "select z from d(8, '')"),
		  "8;");
	engine_check_error("select * from t(1)", "takes 2 arguments, not 1");
	engine_check_error("select * from t('x', 'x')", "expected int, actual STRING");
	engine_check_error("create perfetto function w() returns table(a int, b int) as select 1; "
			   "select * from w()",
			   "the body has 1 column, but RETURNS TABLE declares 2");
	engine_close();
}

ORMA_TEST(macros_are_expanded_within_each_other)
{
	open_engine();
	CHECK_STR(engine_run("create perfetto macro add(a Expr, b Expr) returns Expr as $a + $b;"
			     "create perfetto macro from_one(t TableOrSubquery) returns "
			     "TableOrSubquery as "
			     "(select * from $t where x = add!(0, 1));"
			     "select add!(1, add!(2, (3))) as v; select * from from_one!((select 1 "
			     "as x, ',' as y)) ;"
			     "create perfetto macro none() returns Expr as 5; select none!() * 2"),
		  "6;1,,;10;");
	CHECK_STR(engine_run("create or replace perfetto macro none() returns Expr as 6; select "
			     "NONE!()"),
		  "6;");
	CHECK_STR(engine_run("select __intrinsic_stringify!(a b), __intrinsic_stringify!(f(x, y))"),
		  "a b,f(x, y);");
	CHECK_STR(engine_run("select __intrinsic_stringify!(it''s), __intrinsic_stringify!('a'), "
			     "__intrinsic_stringify_ignore_table!(select '')"),
		  "it's,'a',select '';");
	CHECK_STR(engine_run("select __intrinsic_stringify!(a, b)"),
		  "error: line 1, column 8: macro __intrinsic_stringify!: takes one argument\n"
		  "  select __intrinsic_stringify!(a, b)\n         ^");
	CHECK_STR(
		engine_run("create perfetto macro twice(x Expr) returns Expr as $x * 2;"
			   "create perfetto macro eq(x Expr, y Expr) returns Expr as $x = $y;"
			   "select __intrinsic_token_apply!(twice, (1, 2, 3));"
			   "select 0 __intrinsic_token_apply_prefix!(twice, (1, 2));"
			   "select __intrinsic_token_apply_and!(eq, (1, 2), (1, 3));"
			   "select 1 __intrinsic_token_apply_and_prefix!(eq, (1), (1)), 'add!(1)'"),
		"2,4,6;0,2,4;0;1,add!(1);");
	engine_check_error("select nothing!(1)", "macro nothing!: no such macro");
	engine_check_error("select add!(1)", "takes 2 arguments, not 1");
	engine_check_error(
		"create perfetto macro loop(x Expr) returns Expr as loop!($x); select loop!(1)",
		"does not end");
	engine_check_error(
		"create perfetto macro grow(x Expr) returns Expr as grow!($x, $x)+grow!($x); "
		"select grow!(1)",
		"macro grow!");
	/* Each level doubles the argument, and the result would still be short. */
	engine_check_error(
		"create perfetto macro m(x Expr) returns Expr as m!($x + $x); select m!(1)",
		"its expansion is too long");
	engine_check_error("create perfetto macro none() returns Expr as 6;", "already exists");
	engine_check_error("select\n 1 + add!(1, z)",
			   "line 2, column 6: no such column: z, near `z`");
	/* A fault behind a macro is found, too. */
	CHECK_STR(engine_run("select add!(1, 2),\n  add!(3,\n   4), no_such"),
		  "error: line 3, column 8: no such column: no_such\n     4), no_such\n         ^");
	CHECK_STR(engine_run("select 1,\n  no_such_macro!(1)"),
		  "error: line 2, column 3: macro no_such_macro!: no such macro\n    "
		  "no_such_macro!(1)\n    ^");
	engine_close();
}

ORMA_TEST(modules_are_included_once_and_may_include_each_other)
{
	open_engine();
	CHECK_STR(engine_run("include perfetto module a.one; select (select x from one), (select x "
			     "from two);"
			     "include perfetto module a.one, a.two; include perfetto module a.*;"
			     "select count(*) from one"),
		  "1,2;1;");
	engine_check_error("include perfetto module no.such", "there is no module no.such");
	engine_check_error("include perfetto module c.*", "there are no modules c.*");
	engine_check_error("include perfetto module b.rows",
			   "may not have statements that return rows");
	engine_check_error("include perfetto module b.broken",
			   "module b.broken: line 3, column 8: no such column: y");
	/* It can be tried again. */
	engine_check_error("drop table fine; include perfetto module b.broken",
			   "no such column: y");
	engine_close();
}

ORMA_TEST(what_a_query_names_is_made_when_it_is_named)
{
	open_engine();
	CHECK_STR(engine_run("select * from lazy_view"), "21;");
	engine_check_error("select * from lazier_view", "no such table: lazier_view");
	engine_close();
}

ORMA_TEST(indexes_are_made_and_dropped)
{
	open_engine();
	CHECK_STR(engine_run(
			  "create perfetto table t as select 1 as x, 'a' as y union all select 2, "
			  "'b';"
			  "create perfetto index i on t(x, y); select y from t where x = 2;"
			  "create or replace perfetto index i on t(y); drop perfetto index i on t"),
		  "b;");
	engine_check_error("drop perfetto index i on t", "index 'i' not found");
	engine_check_error("create perfetto index i on u(x)", "table 'u' does not exist");
	engine_check_error("create perfetto index i on t(z)", "column 'z' not found in table 't'");
	/* An index is gone with its table, and with the one that is replaced. */
	CHECK_STR(engine_run("create perfetto index i on t(y); drop table t; create perfetto "
			     "table t as select 3 as x; create perfetto index i on t(x);"
			     "create or replace perfetto table t as select 4 as x;"
			     "create perfetto index i on t(x); select x from t where x = 4"),
		  "4;");
	engine_check_error("create perfetto index i on t(x)", "index 'i' already exists");
	engine_close();
}

ORMA_TEST(rows_are_the_same_with_an_index_and_without)
{
	static const char *const queries[] = {
		"select a from t where d = 'n2' and b = 1",
		"select a from t where d is null",
		"select a from t where c = 7.5",
		"select a from t where d in ('n1', 'n3', null) order by a",
		"select count(*) from t x join t y on x.d = y.d and x.a < y.a",
		"select d, count(*), sum(c) from t group by d order by d",
		"select a from t where b = 2 and c is not null order by a desc limit 2",
		"select a from t where d > 'n2' and b >= 1 order by d, a",
		"select a from t where b = '1' order by a limit 3",
		"select a from t where d = 2",
	};
	char plain[ORMA_ARRAY_SIZE(queries)][1000];
	open_engine();
	engine_run("create perfetto table t as with recursive r(a) as (select 1 union all select "
		   "a + 1 from r where a < 60) select a, a % 3 as b, case when a % 4 then a * 1.5 "
		   "end as c, case when a % 7 then 'n' || (a % 5) end as d from r");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		snprintf(plain[i], sizeof(plain[i]), "%s", engine_run(queries[i]));
	CHECK_STR(engine_run("create perfetto index i on t(d, b); create perfetto index j on t(c);"
			     "create perfetto index k on t(b, a)"),
		  "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		CHECK_STR(engine_run(queries[i]), plain[i]);
	engine_close();
}

ORMA_TEST(faults_of_definitions_are_told_with_their_places)
{
	static const struct {
		const char *text, *place;
	} faults[] = {
		{"create perfetto table p as select 1 as x;\ncreate perfetto index i\n on p(x,\n  "
		 "z)",
		 "line 4, column 3: CREATE PERFETTO INDEX: column 'z'"},
		{"create perfetto index i\n on nowhere(z)",
		 "line 2, column 5: CREATE PERFETTO INDEX"},
		{"drop perfetto\n index i on p", "line 2, column 8: DROP PERFETTO INDEX"},
		{"create perfetto table q(x int,\n y int) as select 1 as x",
		 "line 2, column 2: q: the column y is declared"},
		{"create perfetto table q as\n select 1 as x, 2 as x",
		 "line 2, column 2: q: multiple"},
		{"create perfetto view q(\n z int) as select 1 as x",
		 "line 2, column 2: q: the column z"},
		{"include perfetto module a.one,\n no.such",
		 "line 2, column 2: INCLUDE: there is no"},
		{"create perfetto function same() returns int as select 1;\n"
		 "create perfetto function\n same() returns int as select 1",
		 "line 3, column 2: function same already exists"},
		{"create perfetto function wrong() returns int as\n  select\n no;\nselect wrong()",
		 "line 4, column 1: wrong, line 3, column 2 of its definition: no such column: no"},
		{"create perfetto function rows_of(y int) returns table(x int) as select no;\n"
		 "select * from rows_of(1)",
		 "line 2, column 1: rows_of, line 1, column 72 of its definition"},
	};
	open_engine();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(faults); i++)
		engine_check_error(faults[i].text, faults[i].place);
	engine_close();
}

ORMA_TEST(faults_are_told_with_line_column_and_text)
{
	open_engine();
	CHECK_STR(engine_run("select 1;\n\nselect 1,\n\tnonsense from\n sqlite_master"),
		  "error: line 4, column 2: no such column: nonsense\n  \tnonsense from\n  \t^");
	CHECK_STR(engine_run("select 'abc"),
		  "error: line 1, column 8: this has no end\n  select 'abc\n         ^");
	engine_check_error("select /* abc", "this has no end");
	engine_check_error("create perfetto thing x",
			   "line 1, column 17: expected `TABLE`, `VIEW`");
	engine_check_error("create perfetto table x", "the statement ends where `AS` should be");
	engine_check_error("include perfetto modules x", "expected `MODULE`");
	engine_check_error("drop perfetto table x", "expected `INDEX`");
	engine_close();
}

ORMA_TEST(a_query_cannot_reach_files)
{
	char path[300], text[400];
	open_engine();
	snprintf(path, sizeof(path), "%s/file", orma_test_tmpdir());
	snprintf(text, sizeof(text), "attach '%s' as other", path);
	engine_check_error(text, "not authorized");
	snprintf(text, sizeof(text), "vacuum into '%s'", path);
	engine_check_error(text, "");
	engine_check_error("select load_extension('x')", "");
	engine_check_error("pragma temp_store_directory = '/tmp'", "not authorized");
	engine_check_error("select fts3_tokenizer('simple')", "");
	CHECK_STR(engine_run("select name from pragma_table_info('sqlite_master') limit 1"),
		  "type;");
	CHECK(access(path, F_OK) != 0);
	engine_close();
}

static bool stop_now(void *ctx)
{
	return ++*(int *)ctx > 3;
}

ORMA_TEST(a_query_that_runs_for_ever_can_be_stopped)
{
	int asked = 0;
	engine_open(&(struct orma_sql_options){.should_stop = stop_now, .ctx = &asked});
	engine_check_error("with recursive c(x) as (select 1 union all select x + 1 from c) select "
			   "count(*) from c",
			   "the query was stopped");
	CHECK(asked > 3);
	/* Each call is a short statement; together they take longer than anybody waits. */
	asked = 0;
	engine_check_error("create perfetto function f(x int) returns int as "
			   "select iif($x < 1, 1, f($x - 1) + f($x - 1)); select f(60)",
			   "the query was stopped");
	asked = -1000;
	/* A stop that came before a script does not stop it. */
	orma_sql_interrupt(fixture_sql);
	CHECK_STR(engine_run("select 1"), "1;");
	engine_close();
}

ORMA_TEST(each_allocation_of_a_script_may_fail)
{
	static const char text[] =
		"create perfetto macro m(x Expr) returns Expr as $x + 1;"
		"create perfetto function f(x int) returns int as select m!($x);"
		"create perfetto function t(x int) returns table(y int) as select f($x);"
		"create perfetto table a as select y, 'text' as z, 1.5 as w from t(1);"
		"create perfetto view v as select * from a;"
		"create perfetto index i on a(y); include perfetto module a.one;"
		"select * from v order by z";
	for (uint64_t nth = 1;; nth++) {
		open_engine();
		orma_test_fail_allocation(nth);
		struct orma_error error = {0};
		int r = orma_sql_execute(fixture_sql, ORMA_STR(text), &error);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		if (r != 0 && r != -ENOMEM && !strstr(error.message, "memory"))
			orma_test_fail(__FILE__, __LINE__, "%d: %s", r, error.message);
		CHECK(r == 0 || has_failed);
		engine_close();
		if (!has_failed)
			break;
	}
}
