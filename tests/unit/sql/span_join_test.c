/* SPDX-License-Identifier: Apache-2.0
 * span_join_test.c - joins of random spans compared with what ordinary SQL says about them, and the corner cases.
 */
#include "sql/span_join.h"

#include "base/macros.h"
#include "engine_fixture.h"

/* Spans of four partitions, some of which are missing on each side, with gaps, and touching each other. */
static void make_random_tables(unsigned seed)
{
	char text[3000];
	snprintf(text, sizeof(text),
		 "create perfetto table raw as with recursive c(i, r) as (select 1, %u union all "
		 "select i + 1, (r * 1103515245 + 12345) %% 2147483648 from c where i < 400) "
		 "select i, r / 65536 as r from c;"
		 "create perfetto table a as select *, 'a' || id as x from (select i as id, iif(r "
		 "%% 4 = 0, 5, r %% 4) as p, "
		 "i * 10 + r %% 4 as ts, r %% 7 + 1 as dur from raw where i %% 3 != 0);"
		 "create perfetto table b as select id as bid, p, ts, dur, 'b' || id as y from "
		 "(select i as id, r / 8 %% 4 as p, "
		 "i * 7 + r %% 3 as ts, r %% 5 + 1 as dur from raw where i %% 5 != 0);",
		 seed);
	CHECK_STR(engine_run(text), "");
}

static void check_same(const char *actual_sql, const char *expected_sql)
{
	char *actual = strdup(engine_run(actual_sql));
	const char *expected = engine_run(expected_sql);
	if (strcmp(actual, expected) != 0 || strncmp(actual, "error", 5) == 0)
		orma_test_fail(__FILE__, __LINE__, "%s\n-- is\n%.500s\n-- expected\n%.500s",
			       actual_sql, actual, expected);
	free(actual);
}

#define OVERLAP "a.ts < b.ts + b.dur and b.ts < a.ts + a.dur"
#define RESULT  "max(a.ts, b.ts) as ts, min(a.ts + a.dur, b.ts + b.dur) - max(a.ts, b.ts) as dur"

ORMA_TEST(an_inner_join_has_each_overlap)
{
	for (unsigned seed = 1; seed < 20; seed++) {
		engine_open(&(struct orma_sql_options){.ctx = NULL});
		make_random_tables(seed);
		engine_run(
			"create virtual table j using span_join(a partitioned p, b partitioned p)");
		check_same("select ts, dur, p, id, x, bid, y from j",
			   "select " RESULT
			   ", a.p, id, x, bid, y from a join b using (p) where " OVERLAP
			   " order by a.p, 1");
		check_same("select ts, dur, p, id, y from j where p = 2 and ts <= 2000 and id > 30 "
			   "and dur < 3",
			   "select * from (select " RESULT
			   ", a.p, id, y from a join b using (p) where " OVERLAP
			   ") where p = 2 and ts <= 2000 and id > 30 and dur < 3 order by p, 1");
		/* Without partitions, one of them is a table without overlaps. */
		engine_run("create perfetto table b1 as select bid, ts, dur, y from b where p = 1;"
			   "create perfetto table a2 as select id, ts, dur, x from a where p = 2;"
			   "create virtual table k using span_join(a2, b1)");
		check_same("select * from k",
			   "select " RESULT ", id, x, bid, y from a2 a join b1 b on " OVERLAP
			   " order by 1");
		engine_run("create virtual table m using span_join(a partitioned p, b1)");
		check_same("select ts, dur, p, id, bid from m",
			   "select " RESULT ", p, id, bid from a join b1 b on " OVERLAP
			   " order by p, 1");
		engine_close();
	}
}

ORMA_TEST(left_and_outer_joins_also_have_what_is_not_covered)
{
	for (unsigned seed = 1; seed < 20; seed++) {
		engine_open(&(struct orma_sql_options){.ctx = NULL});
		make_random_tables(seed);
		engine_run(
			"create virtual table i using span_join(a partitioned p, b partitioned p);"
			"create virtual table l using span_left_join(a partitioned p, b "
			"partitioned p);"
			"create virtual table o using span_outer_join(a partitioned p, b "
			"partitioned p);");
		check_same("select ts, dur, p, id, bid from l where bid is not null",
			   "select ts, dur, p, id, bid from i");
		check_same("select ts, dur, p, id, bid from o where bid is not null and id is not "
			   "null",
			   "select ts, dur, p, id, bid from i");
		check_same("select id, p, sum(dur), min(ts) from l group by id order by id",
			   "select id, p, dur, ts from a order by id");
		check_same("select id, p, sum(dur), min(ts) from o where id is not null group by "
			   "id order by id",
			   "select id, p, dur, ts from a order by id");
		check_same("select bid, p, sum(dur), min(ts) from o where bid is not null group by "
			   "bid order by bid",
			   "select bid, p, dur, ts from b order by bid");
		engine_close();
	}
}

ORMA_TEST(points_and_open_spans_are_joined)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	CHECK_STR(engine_run("create perfetto table s as select 10 as ts, 5 as dur, 's1' as s "
			     "union all select 15, 0, 's2' "
			     "union all select 20, -1, 's3';"
			     "create perfetto table e as select 10 as ts, 'e1' as e union all "
			     "select 12, 'e2' "
			     "union all select 15, 'e3' union all select 20, 'e4' union all select "
			     "30, 'e5';"
			     "create virtual table j using span_join(s, e); select * from j"),
		  "10,0,s1,e1;12,0,s1,e2;20,-1,s3,e4;");
	/* A point where a point ends also meets the gap that begins there, as in Perfetto. */
	CHECK_STR(engine_run("create virtual table l using span_left_join(e, s); select ts, dur, "
			     "e, s from l"),
		  "10,0,e1,s1;12,0,e2,s1;15,0,e3,s2;15,0,e3,NULL;20,-1,e4,s3;20,0,e4,NULL;30,0,e5,"
		  "NULL;");
	CHECK_STR(
		engine_run(
			"create perfetto table none as select 1 as ts, 1 as dur, 1 as z where 0;"
			"create virtual table n using span_left_join(s, none); select ts, dur, s, "
			"z from n;"
			"create virtual table n2 using span_join(s, none); select count(*) from n2;"
			"create virtual table n3 using span_outer_join(none, s); select ts, dur, "
			"s, z from n3"),
		"10,5,s1,NULL;15,0,s2,NULL;20,-1,s3,NULL;0;10,5,s1,NULL;15,0,s2,NULL;20,-1,s3,"
		"NULL;");
	CHECK_STR(engine_run("create perfetto table p as select 0 as ts, 100 as dur, 1 as c, 'p1' "
			     "as p union all "
			     "select 0, 10, null, 'px' union all select 5, 20, 2, 'p2';"
			     "create virtual table m using span_left_join(p partitioned c, none); "
			     "select ts, dur, c, p, z from m"),
		  "0,100,1,p1,NULL;5,20,2,p2,NULL;");
	engine_close();
}

ORMA_TEST(what_cannot_be_joined_is_refused)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	engine_run("create perfetto table a as select 1 as ts, 1 as dur, 1 as p, 1 as x;"
		   "create perfetto table b as select 1 as ts, 1 as dur, 1 as q, 1 as x;"
		   "create perfetto table c as select 1 as ts, 'text' as p, 1 as z;"
		   "create perfetto table d as select 1 as dur");
	engine_check_error("create virtual table j using span_join(a)", "exactly two arguments");
	engine_check_error("create virtual table j using span_join(a, nothing)",
			   "no such table: nothing");
	engine_check_error("create virtual table j using span_join(a, d)",
			   "Missing ts column in table d");
	engine_check_error("create virtual table j using span_join(a partitioned z, b)",
			   "Missing partition column 'z'");
	engine_check_error(
		"create virtual table j using span_join(a partitioned p, b partitioned q)",
		"mismatching partitions");
	engine_check_error("create virtual table j using span_join(a, b)",
			   "column x present in both tables");
	engine_check_error("create virtual table j using span_join(c, c)", "dur must be present");
	engine_check_error("create virtual table j using span_join(a partition p, b)",
			   "expected `table`");
	engine_check_error(
		"create virtual table j using span_join(a partitioned p, c partitioned p);"
		"select * from j",
		"partition is not an INT column");
	engine_close();
}

ORMA_TEST(a_window_has_spans_of_a_quantum)
{
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	CHECK_STR(engine_run("create virtual table w using __intrinsic_window(100, 25, 10); select "
			     "* from w"),
		  "100,10,0;110,10,1;120,10,2;");
	CHECK_STR(engine_run("create virtual table v using __intrinsic_window(100, 25, 0); "
			     "select *, window_dur from v"),
		  "100,25,0,25;");
	CHECK_STR(engine_run("create virtual table u using __intrinsic_window(100, 0, 0); select * "
			     "from u"),
		  "");
	engine_check_error("create virtual table x using __intrinsic_window(1, 2)",
			   "takes 3 arguments");
	engine_check_error("create virtual table x using __intrinsic_window(1, 2, x)",
			   "not numbers");
	engine_close();
}
