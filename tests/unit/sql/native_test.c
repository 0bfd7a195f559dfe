/* SPDX-License-Identifier: Apache-2.0
 * native_test.c - aggregates over a relation, computed natively, have the rows that SQLite has over an ordinary table.
 */
#include "sql/native.h"

#include "base/macros.h"
#include "engine_fixture.h"
#include "sql/engine_state.h"
#include "sql/script.h"

static uint64_t state = 11;

static uint64_t next_random(void)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state ^ state >> 29) >> 7;
}

#define PICK(array) ((array)[next_random() % ORMA_ARRAY_SIZE(array)])

static void open_tables(void)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	CHECK_STR(engine_run("create perfetto table r as with recursive c(i, x) as (select 1, 7 "
			     "union all select i + 1, "
			     "(x * 1103515245 + 12345) % 2147483648 from c where i < 25000) select "
			     "i * 3 as ts, "
			     "iif(x / 4096 % 9 = 0, null, x / 65536 % 50 - 5) as dur, x / 8192 % "
			     "17 as track, "
			     "iif(x / 1024 % 11 = 0, null, 'n' || (x / 32768 % 40)) as name, "
			     "iif(x / 2048 % 10 = 0, null, x / 65536 % 100 / 4.0) as value from c;"
			     "create table plain(ts bigint, dur bigint, track bigint, name text, "
			     "value double);"
			     "insert into plain select * from r"),
		  "");
}

static char *with_table(const char *sql, const char *table)
{
	static char out[3000];
	size_t at = 0;
	for (; *sql && at + 20 < sizeof(out); sql++)
		if (*sql == '$')
			at += (size_t)snprintf(out + at, sizeof(out) - at, "%s", table);
		else
			out[at++] = *sql;
	out[at] = '\0';
	return out;
}

static void compare(const char *sql)
{
	char *actual = strdup(engine_run(with_table(sql, "r")));
	const char *expected = engine_run(with_table(sql, "plain"));
	if (strcmp(actual, expected) != 0)
		orma_test_fail(__FILE__, __LINE__, "%s\n-- is\n%.400s\n-- expected\n%.400s", sql,
			       actual, expected);
	free(actual);
}

static void write_condition(char *out, size_t size)
{
	static const char *const conditions[] = {
		"dur > 10",
		"dur <= 5.5",
		"dur is null",
		"dur is not null",
		"name = 'n3'",
		"name glob 'n1*'",
		"name like 'N_'",
		"name in ('n1', 'n2', 'zz')",
		"track in (1, 2, 3)",
		"track != 4",
		"value >= 3",
		"value < 20.25",
		"ts between 300 and 60000",
		"track <> 99",
		"name is not null",
		"name > 'n2'",
		"dur = -1",
		"x.dur == 3",
		"value is null",
		"ts < 0",
	};
	size_t at = 0;
	for (uint64_t i = 0, count = next_random() % 3 + 1; i < count; i++)
		at += (size_t)snprintf(out + at, size - at, "%s %s ", i == 0 ? "where" : "and",
				       PICK(conditions));
}

ORMA_TEST(random_aggregates_have_the_rows_of_sqlite)
{
	static const char *const aggregates[] = {
		"count(*)",          "count(dur)",
		"sum(dur)",          "min(dur)",
		"max(dur)",          "avg(dur)",
		"sum(value)",        "min(value)",
		"max(value)",        "avg(value)",
		"count(name)",       "count(value)",
		"sum(dur) * 2 + 1",  "round(avg(dur), 3)",
		"max(ts) - min(ts)", "sum( x.dur ) / count( * )",
	};
	static const char *const groups[] = {"name",        "track", "dur", "track, name",
					     "x.name, dur", "1",     "2"};
	static const char *const orders[] = {"",
					     "",
					     "order by c desc, 1",
					     "order by 2, 1",
					     "order by count(*), 1 limit 5",
					     "order by c limit 3 offset 1"};
	open_tables();
	for (int i = 0; i < 200; i++) {
		char sql[2000], where[300] = "";
		const char *group = next_random() % 5 ? PICK(groups) : "";
		const char *column = *group ? group : "5";
		if (strcmp(group, "1") == 0)
			column = "name";
		if (strcmp(group, "2") == 0)
			column = "'x', track";
		if (next_random() % 3)
			write_condition(where, sizeof(where));
		snprintf(sql, sizeof(sql), "select %s, %s as c, %s from $ as x %s %s %s %s %s",
			 column, PICK(aggregates), PICK(aggregates), where,
			 *group ? "group by" : "", group,
			 *group && next_random() % 3 == 0 ? "having count(*) > 20" : "",
			 *group ? PICK(orders) : "");
		compare(sql);
	}
	/* All of them were computed natively. */
	CHECK_INT(fixture_sql->native_made, 200);
	engine_close();
}

ORMA_TEST(distinct_rows_come_in_the_order_of_their_first_occurrence)
{
	static const char *const queries[] = {
		"select distinct name from $",
		"select distinct x.track, dur as d from $ x where value > 3 limit 30",
		"select distinct name, track from $ where dur is null order by 2 desc, 1",
		"select distinct dur from $ where ts < 0",
	};
	open_tables();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		compare(queries[i]);
	CHECK_INT(fixture_sql->native_made, ORMA_ARRAY_SIZE(queries));
	compare("select distinct name, count(*) from $ group by name order by 1");
	compare("select distinct count(*) from $");
	compare("select distinct value from $");
	CHECK_INT(fixture_sql->native_made, ORMA_ARRAY_SIZE(queries));
	engine_close();
}

/* Checks the name of the first column of a statement's result. */
static void check_name(const char *sql, const char *expected)
{
	struct orma_sql_script *script;
	struct orma_error error;
	CHECK_INT(orma_sql_script_new(fixture_sql, orma_base_str(sql), &script), 0);
	CHECK_INT(orma_sql_script_next(script, &error), 1);
	CHECK_STR(sqlite3_column_name(orma_sql_script_statement(script), 0), expected);
	orma_sql_script_free(script);
}

ORMA_TEST(distinct_values_are_counted)
{
	static const char *const queries[] = {
		"select count(distinct name) from $",
		"select COUNT( distinct x.dur ) as d from $ as x where name glob 'n1*' -- some",
		"select count(distinct track) \"a b\" from $ where dur in (select 5)",
	};
	static const char *const others[] = {
		"select count(distinct name) from $ group by track",
		"select count(distinct name) from $ limit 0",
		"select count(distinct name) from $ union all select 5",
		"select count(distinct name), 5 from $",
		"select count(distinct name || 'x') from $",
		"select count(distinct name) + 1 from $",
	};
	open_tables();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++) {
		uint64_t made = fixture_sql->native_made;
		compare(queries[i]);
		CHECK_INT(fixture_sql->native_made - made, i < 2);
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(others); i++) {
		struct orma_buf out = {0};
		compare(others[i]);
		CHECK_INT(orma_sql_native_count_distinct(orma_base_str(others[i]), &out), 0);
	}
	/* An error is about the text that was given. */
	engine_check_error("select count(distinct none) from r", "no such column: none");
	engine_check_error("select count(distinct dur) from r where __orma_value > 3",
			   "no such column: __orma_value");
	check_name("select Count(distinct dur) from r", "Count(distinct dur)");
	check_name("select count(distinct dur) as \"x y\" from r", "x y");
	engine_close();
}

ORMA_TEST(columns_have_the_names_that_sqlite_gives)
{
	open_tables();
	struct orma_sql_script *script;
	struct orma_error error;
	CHECK_INT(orma_sql_script_new(fixture_sql,
				      ORMA_STR("select Name, x.track, sum( dur ), count(*) as \"a "
					       "b\", avg(dur)+1 c "
					       "from r x group by 1, 2"),
				      &script),
		  0);
	CHECK_INT(orma_sql_script_next(script, &error), 1);
	sqlite3_stmt *statement = orma_sql_script_statement(script);
	CHECK_STR(sqlite3_column_name(statement, 0), "name");
	CHECK_STR(sqlite3_column_name(statement, 1), "track");
	CHECK_STR(sqlite3_column_name(statement, 2), "sum( dur )");
	CHECK_STR(sqlite3_column_name(statement, 3), "a b");
	CHECK_STR(sqlite3_column_name(statement, 4), "c");
	orma_sql_script_free(script);
	CHECK_INT(fixture_sql->native_made, 1);
	engine_close();
}

ORMA_TEST(views_that_choose_columns_and_rows_are_looked_through)
{
	static const char *const queries[] = {
		"select n, count(*), sum(d) from v group by n",
		("select n as name, avg(ts) from v where tr in (1, 2) and d > 3 group by n order "
		 "by "
		 "2"),
		"select count(*) from w",
		"select n, track, max(x.d) from w x where n glob 'n1*' group by 1, 2",
		"select distinct tr from v",
	};
	static const char *const others[] = {
		"select sum(twice) from v",
		"select n, count(*) from v where twice > 4 group by n",
		"select sum(name) from v", /* no such column */
		"select count(*) from joined",
		"select count(*) from first_ones",
		"select max(tr) as twice, count(*) from v",
	};
	open_tables();
	CHECK_STR(engine_run("create view r_v as select name as n, dur d, track as tr, ts, dur * 2 "
			     "as twice from r "
			     "where value > 2 and dur is not null; create perfetto view r_w as "
			     "select * , tr as track "
			     "from r_v where tr != 3;"
			     "create view r_joined as select a.ts from r a join r b using (ts);"
			     "create view r_first_ones as select * from r limit 10;"
			     "create view plain_v as select name as n, dur d, track as tr, ts, dur "
			     "* 2 as twice from plain "
			     "where value > 2 and dur is not null; create view plain_w as select "
			     "*, tr as track from "
			     "plain_v where tr != 3;"
			     "create view plain_joined as select a.ts from plain a join plain b "
			     "using (ts);"
			     "create view plain_first_ones as select * from plain limit 10;"),
		  "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries) + ORMA_ARRAY_SIZE(others); i++) {
		bool is_native = i < ORMA_ARRAY_SIZE(queries);
		const char *sql = is_native ? queries[i] : others[i - ORMA_ARRAY_SIZE(queries)];
		char text[400];
		/* The views of both tables have the names of this one, with the table's before it. */
		snprintf(text, sizeof(text), "%s", sql);
		char *from = strstr(text, "from ") + 5;
		memmove(from + 2, from, strlen(from) + 1);
		memcpy(from, "$_", 2);
		uint64_t made = fixture_sql->native_made;
		if (strstr(sql, "sum(name)"))
			engine_check_error(with_table(text, "r"), "no such column: name");
		else
			compare(text);
		CHECK_INT(fixture_sql->native_made - made, is_native);
	}
	engine_close();
}

ORMA_TEST(what_is_not_understood_is_left_to_sqlite)
{
	static const char *const queries[] = {
		"select name, dur, count(*) from $ group by name order by 1 limit 3",
		"select sum(dur + 1) from $",
		"select track, group_concat(name) from $ where ts < 60 group by track",
		"select max(dur), name from $ where track = 3 and dur < 40",
		"select count(*) from $ where dur > track",
		"select count(*) from $ where dur > 5 or track = 2",
		"select count(*) from $ a join $ b using (ts)",
		"select count(*) from (select * from $ limit 5)",
		"select upper(name) as name, count(*) from $ group by name order by 1 limit 5",
		"select dur as track, count(*) from $ group by track order by 1, 2",
		"select sum(dur) filter (where track = 1) from $",
		"select sum(dur) over (order by ts) from $ limit 3",
		"select max(track, 5) from $ limit 2",
		"select name from $ limit 2",
		"select (select count(*) from $) from $ limit 2",
		"with $ as (select 1 as dur) select * from (select sum(dur) as s from $)",
		"with a(dur) as (select 3), $(dur) as (select 1) select (select sum(dur) from $) "
		"as s, * "
		"from a",
		"select (select count(*) from $ where track = p.track) as c from plain p limit 2",
		"select (select sum(p.track) from $) as c from plain p limit 1",
		"select value, count(*) from $ group by value order by 1 limit 4",
		"select count(*) from $ where name = 5",
		"select count(*) from $ where name in (5, 'n1')",
		"select min(name) from $",
		"select count(*) from $ where not dur > 5",
		"select count(*) from $ where name collate nocase = 'N1'",
		"select track, count(*) from $ group by track, dur, name, ts, track limit 1",
		"select count(*) from $ where dur between 1 and track",
		"select track, max(track + 1), count(*) from $ group by track order by 1",
		"select track, sum(dur) + min(1) from $ group by track order by 1",
	};
	open_tables();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		compare(queries[i]);
	CHECK_INT(fixture_sql->native_made, 0);
	/* A view of the relation's name hides it. */
	CHECK_STR(engine_run("create temp view r as select 1 as x; select count(*) from r"), "1;");
	engine_close();
}

ORMA_TEST(selects_in_parentheses_are_computed_as_well)
{
	static const char *const queries[] = {
		"with s as (select name, track, sum(dur) as d from $ group by name, track) select "
		"name, sum(d), "
		"count(*), max(d) from s group by name order by 1",
		"select x.name, x.c * 2 from (select name, count(*) as c from $ group by name) x "
		"where c > 20 "
		"order by 1",
		"select count(*) as c from plain where track in (select distinct track from $ "
		"where dur < 3)",
		"select (select max(dur) from $) as m, (((select sum(value) from $ where track = "
		"2))) as s",
		"with slice as (select 5 as x), s as materialized (select min(dur) as d, x.track "
		"as t from $ as x group "
		"by 2) select * from s, slice order by t",
		"select c from (select name, c from (select name, count(*) as c from $ group by "
		"name) order by 2, 1 "
		"limit 4)",
	};
	open_tables();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++) {
		uint64_t made = fixture_sql->native_made;
		compare(queries[i]);
		CHECK(fixture_sql->native_made > made);
	}
	/* The select of a table that a query makes is one of them. */
	uint64_t made = fixture_sql->native_made;
	CHECK_STR(engine_run("create perfetto table t as select track, count(*) as c from (select "
			     "track, name from r "
			     "group by 1, 2) group by 1; select sum(c) from t"),
		  engine_run("select count(*) from (select track, name from plain group by 1, 2)"));
	CHECK_INT(fixture_sql->native_made - made, 1);
	engine_close();
}

/* Runs a query over a table that copies the rows of a select, and over the select itself. */
static void check_copy(const char *select, bool is_native)
{
	char text[600];
	uint64_t made = fixture_sql->native_made;
	snprintf(text, sizeof(text), "create or replace perfetto table t as %s",
		 with_table(select, "r"));
	CHECK_STR(engine_run(text), "");
	CHECK_INT(fixture_sql->native_made - made, is_native);
	char *expected = strdup(engine_run(with_table(select, "plain")));
	const char *actual = engine_run("select * from t");
	if (strcmp(actual, expected) != 0)
		orma_test_fail(__FILE__, __LINE__, "%s\n-- is\n%.400s\n-- expected\n%.400s", select,
			       actual, expected);
	free(expected);
}

ORMA_TEST(tables_that_copy_rows_are_made_natively)
{
	open_tables();
	check_copy(
		"select ts, dur as d, track, name, value from $ where dur > 3 and name glob 'n2*'",
		true);
	check_copy("select x.value, x.dur from $ x where x.ts < 30000 and value > 20", true);
	check_copy("select dur, value, name from $ where dur is null and value is null and name is "
		   "null",
		   true);
	check_copy("select ts from $ where ts > 60000", true);
	check_copy("select name from $ where ts < 0", true);
	check_copy("select ts, dur + 1 as d from $ where ts < 3000", false);
	check_copy("select ts, name from $ where ts < 3000 order by name, ts", false);
	/* A copy knows which of its columns are sorted. */
	CHECK_STR(
		engine_run("create perfetto table sorted as select ts, name from r where track = 3;"
			   "select count(*) = (select count(*) from plain where track = 3 and ts "
			   "between 900 and 9000) "
			   "from sorted where ts between 900 and 9000"),
		"1;");
	CHECK(orma_sql_find_relation(fixture_sql, "sorted")->columns[1].flags & ORMA_COLUMN_SORTED);
	CHECK(orma_sql_find_relation(fixture_sql, "sorted")->columns[1].flags &
	      ORMA_RELATION_DISTINCT_ROWS);
	engine_close();
}

ORMA_TEST(a_sum_that_overflows_is_an_error_as_in_sqlite)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	engine_run("create perfetto table r as with recursive c(i) as (select 1 union all select i "
		   "+ 1 from c where "
		   "i < 30000) select 9223372036854775807 as x from c");
	engine_check_error("select sum(x) from r", "integer overflow");
	CHECK_STR(engine_run("select count(x), max(x) from r"), "30000,9223372036854775807;");
	engine_close();
}

static bool stop_at_once(void *ctx)
{
	return *(bool *)ctx;
}

ORMA_TEST(a_native_aggregate_can_be_stopped)
{
	bool stops = false;
	engine_open(&(struct orma_sql_options){.should_stop = stop_at_once, .ctx = &stops});
	engine_run("create perfetto table r as with recursive c(i) as (select 1 union all select i "
		   "+ 1 from c where "
		   "i < 30000) select i as x from c");
	stops = true;
	engine_check_error("select sum(x) from r", "the query was stopped");
	engine_check_error("create perfetto table t as select x from r", "the query was stopped");
	stops = false;
	CHECK_STR(engine_run("select sum(x) from r"), "450015000;");
	engine_close();
}

/* Runs statements again and again, each time with another allocation that fails. */
static void check_allocations(const char *statements)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_error error = {0};
		orma_test_fail_allocation(nth);
		int r = orma_sql_execute(fixture_sql, orma_base_str(statements), &error);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(r == 0 || (has_failed && (r == -ENOMEM || strstr(error.message, "memory"))));
		if (!has_failed)
			break;
	}
}

ORMA_TEST(each_allocation_of_an_aggregate_may_fail)
{
	open_tables();
	check_allocations("select name, track, count(*), avg(value) from r "
			  "where dur in (1, 2, 3) and "
			  "name glob 'n*' group by name, track order by 3");
	engine_close();
}

/* Tables for joins: `small` has two rows for some tracks and none for others, `names` has one for most names. */
static void open_joins(void)
{
	open_tables();
	CHECK_STR(engine_run("create table small as with recursive c(i) as (select 0 union all "
			     "select i + 1 "
			     "from c where i < 19) select iif(i = 12, null, i % 15) as id, 's' || "
			     "(i % 6) as "
			     "label, iif(i % 5 = 0, null, i * 10) as weight, i as number from c;"
			     "create table names as select distinct name, length(name) as size "
			     "from plain "
			     "where name > 'n2'; create view labels as select id as track, label "
			     "from small "
			     "where label != 's3'"),
		  "");
}

ORMA_TEST(joins_of_random_shapes_have_the_rows_of_sqlite)
{
	static const char *const aggregates[] = {
		"count(*)",
		"count(x.dur)",
		"sum(dur)",
		"min(dur)",
		"max(x.ts)",
		"avg(dur)",
		"sum(value)",
		"avg(x.value)",
		"count(name)",
		"sum(dur) * 2 + 1",
		"max(dur) - min(dur)",
		"round(avg(dur), 3)",
		"ifnull(sum(x.dur), -1)",
	};
	static const char *const tables[] = {
		"$ x join small s on x.track = s.id",
		"small as s join $ as x on s.id = x.track",
		"$ x, small s",
		"$ x left join small s on x.track = s.id",
		"$ x left outer join small s on x.track = s.id and s.number > 7",
		"$ x inner join small s on s.id = x.track and x.dur > 3",
		"$ x cross join names n using (name) join small s on s.id = x.track",
		"$ x left join names n using (name) join small s on s.id = x.track and n.size = 2",
		"$ x join labels using (track) join small s on s.label = labels.label",
		"small s join $ x on s.id between x.track and x.track + 1",
	};
	static const char *const conditions[] = {
		"dur > 10",
		"x.name = 'n3'",
		"s.label = 's2'",
		"weight > 50",
		"s.id = x.track",
		"s.label in ('s1', 's4')",
		"x.track != 4",
		"weight is null",
		"x.dur between 2 and 9",
		"(s.number > 5 or x.track = 3)",
		"s.number between 3 and 11",
		"case when s.number > 9 and x.track > 2 then 1 else 0 end",
		"value is not null",
		"not s.number > 12",
		"x.name is null",
	};
	static const char *const groups[][2] = {
		{"s.label", "s.label"},
		{"x.track", "track"},
		{"label, x.track", "label"},
		{"1", "s.weight"},
		{"l", "s.label as l"},
		{"s.number % 3", "s.number % 3"},
		{"x.track, s.number", "s.number, x.track"},
		{"x.name", "x.name"},
		{"", "7"},
		{"", "'a'"},
	};
	static const char *const orders[] = {"", "", "order by 1, 2, 3",
					     "order by c desc, 1, 2 limit 3",
					     "order by count(*), 1, 2"};
	open_joins();
	for (int i = 0; i < 30; i++) {
		char sql[2000], where[300] = "";
		size_t at = 0;
		const char *table = PICK(tables), *const *group = PICK(groups);
		for (uint64_t n = 0, count = next_random() % 4; n < count; n++)
			at += (size_t)snprintf(where + at, sizeof(where) - at, "%s %s ",
					       n == 0 ? "where" : "and", PICK(conditions));
		/* Without a condition it is too much for a test. */
		if (!strcmp(table, "$ x, small s") && !strstr(where, "s.id = x.track"))
			continue;
		snprintf(sql, sizeof(sql), "select %s, %s as c, %s from %s %s %s %s %s %s",
			 group[1], PICK(aggregates), PICK(aggregates), table, where,
			 *group[0] ? "group by" : "", group[0],
			 *group[0] && next_random() % 3 == 0 ? "having count(*) > 20" : "",
			 *group[0] ? PICK(orders) : "");
		compare(sql);
	}
	/* Nearly all; some of the conditions make a key of a column of doubles. */
	CHECK(fixture_sql->native_made > 20);
	engine_close();
}

ORMA_TEST(joins_that_groups_do_not_fit_are_left_to_sqlite)
{
	static const char *const queries[] = {
		"select s.label, s.number, count(*) from $ x join small s on x.track = s.id group "
		"by s.label",
		"select sum(s.weight) from $ x join small s on x.track = s.id",
		"select x.ts, count(*) from $ x join small s on x.track = s.id group by x.track",
		"select count(*) from $ x join $ y on x.track = y.ts",
		"select s.label, count(*) from small s left join $ x on x.track = s.id group by 1",
		"select group_concat(s.label) from $ x join small s on x.track = s.id where x.ts < "
		"100",
		"select count(*) from $ x join small s on x.value = s.number",
		"select s.weight as track, count(*) from $ x join small s on x.track = s.id group "
		"by track",
		"select s.number as weight, count(*) from $ x join small s on x.track = s.id group "
		"by weight",
		"select count(*) from $ x natural join labels",
		"select distinct s.label from $ x join small s on x.track = s.id",
		"select max(dur), s.label from $ x join small s on x.track = s.id",
		"select count(*) from $ x join small s on x.track = s.id group by x.value",
		"select * from $ x join small s on x.track = s.id where x.ts < 90",
	};
	open_joins();
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		engine_run(with_table(queries[i], "r"));
	CHECK_INT(fixture_sql->native_made, 0);
	engine_check_error("select count(track) from r x join labels on x.track = labels.track",
			   "ambiguous column name: track");
	engine_close();
}

ORMA_TEST(rows_that_other_large_tables_have_by_their_ids_are_looked_up)
{
	static const char *const queries[] = {
		"select count(*), sum(p.dur), sum(c.dur) from t_$ c join t_$ p on c.parent = "
		"p._auto_id",
		"select p.name, count(*), max(p.value), avg(c.dur) from t_$ c join t_$ p on "
		"p._auto_id = c.parent where p.dur > 5 "
		"group by p.name order by 1",
		"select count(*) as n, min(c.ts) from t_$ p join t_$ as c on c.parent == "
		"p._auto_id where c.name = 'n3'",
		"select p.track, c.track, count(p.name), sum(p.value) from t_$ c left join t_$ p "
		"on c.parent = p._auto_id group by 1, 2",
		"select count(*) from t_$ c join v_$ p on c.parent = p._auto_id where c.track = 4",
		"select a.parent, count(*) from t_$ a left join t_$ b on b._auto_id = a.parent "
		"where b._auto_id is null group by 1 "
		"order by 1",
		"select count(*), sum(p.up) from t_$ c join v_$ p on c.parent = p._auto_id",
	};
	static const char *const others[] = {
		"select count(*) from t_$ c left join v_$ p on c.parent = p._auto_id",
		"select count(*) from t_$ c join t_$ p on c.parent = p._auto_id and p.dur > 3",
		"select count(*) from t_$ c join t_$ p on c.parent = p.parent where c._auto_id < 9",
		"select distinct p.name from t_$ c join t_$ p on c.parent = p._auto_id order by 1",
	};
	open_tables();
	CHECK_STR(
		engine_run("create perfetto table t_r as select ts, dur, track, name, value, "
			   "iif(ts % 5 = 0, null, iif(ts % "
			   "7 = 0, ts, (ts / 3 - 1) / 2)) as parent from r; create table t_plain "
			   "as select "
			   "_auto_id, * from t_r; create index t_plain_id on t_plain(_auto_id);"
			   "create view v_r as select _auto_id, dur as up from t_r where dur > 10;"
			   "create view v_plain as select _auto_id, dur as up from t_plain where "
			   "dur > 10"),
		"");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries) + ORMA_ARRAY_SIZE(others); i++) {
		bool is_native = i < ORMA_ARRAY_SIZE(queries);
		uint64_t made = fixture_sql->native_made;
		compare(is_native ? queries[i] : others[i - ORMA_ARRAY_SIZE(queries)]);
		CHECK_INT(fixture_sql->native_made - made, is_native);
	}
	engine_close();
}

ORMA_TEST(each_allocation_of_a_copy_and_a_lookup_may_fail)
{
	open_tables();
	check_allocations("create or replace perfetto table t as select "
			  "ts, name, value from r where dur > 3;"
			  "select p.name, count(*) from r c join r p on "
			  "c.ts = p._auto_id group by 1");
	engine_close();
}

ORMA_TEST(each_allocation_of_a_join_may_fail)
{
	open_joins();
	check_allocations("select s.label, count(*), avg(value) from r x join small s "
			  "on s.id = x.track where s.number < 9 and x.dur > 3 group by 1");
	engine_close();
}
