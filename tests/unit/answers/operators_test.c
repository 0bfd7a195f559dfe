/* SPDX-License-Identifier: Apache-2.0
 * operators_test.c - operators on intervals, counters, graphs and trees; some compared with what ordinary SQL says.
 */
#include <errno.h>

#include "harness.h"
#include "trace_fixture.h"

static void run(struct orma_trace_database *database, const char *text)
{
	struct orma_error error = {0};
	if (orma_sql_execute(database->sql, orma_base_str(text), &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s\n%s", text, error.message);
}

static void check_error(struct orma_trace_database *database, const char *text, const char *part)
{
	struct orma_error error = {0};
	CHECK_INT(orma_sql_execute(database->sql, orma_base_str(text), &error), -EINVAL);
	if (!strstr(error.message, part))
		orma_test_fail(__FILE__, __LINE__, "%s\n-- has no\n%s", error.message, part);
}

static struct orma_trace_database *open_empty(void)
{
	return fixture_open("packet { timestamp: 1000 }");
}

/* Intervals in three partitions, one of them NULL, some without a duration, which overlap each other. */
static void make_intervals(struct orma_trace_database *database, const char *name, unsigned seed)
{
	char text[600];
	snprintf(text, sizeof(text),
		 "create perfetto table %s as with recursive c(id, r) as (select 1, %u union all "
		 "select id + 1, (r * 1103515245 + 12345) %% 2147483648 from c where id < 60) "
		 "select id, r / 65536 %% 200 as ts, r / 1024 %% 9 * 3 as dur, "
		 "nullif(r / 4096 %% 3, 2) as p, 'x' || r / 512 %% 2 as q from c",
		 name, seed);
	run(database, text);
}

#define OVERLAPS(x, y)                                                                             \
	"(case when " x ".dur = 0 and " y ".dur = 0 then " x ".ts = " y ".ts when " x              \
	".dur = 0 then " y ".ts <= " x ".ts and " x ".ts < " y ".ts + " y ".dur when " y           \
	".dur = 0 then " x ".ts <= " y ".ts and " y ".ts < " x ".ts + " x ".dur else " x           \
	".ts < " y ".ts + " y ".dur and " y ".ts < " x ".ts + " x ".dur end)"

ORMA_TEST(intersections_are_those_that_a_join_finds)
{
	for (unsigned seed = 1; seed < 15; seed++) {
		struct orma_trace_database *database = open_empty();
		run(database, "include perfetto module intervals.intersect");
		make_intervals(database, "a", seed);
		make_intervals(database, "b", seed + 1000);
		run(database,
		    "create perfetto table joined as select max(a.ts, b.ts) as ts, min(a.ts + "
		    "a.dur, "
		    "b.ts + b.dur) - max(a.ts, b.ts) as dur, a.id as id_0, b.id as id_1, a.p, a.q "
		    "from a join b on a.p is b.p and a.q = b.q where " OVERLAPS("a", "b"));
		run(database,
		    "create perfetto table found as select ts, dur, id_0, id_1, p, q from "
		    "_interval_intersect!((a, b), (p, q))");
		fixture_check(
			database,
			"select count(*) from (select * from joined except select * from found "
			"union all select * from (select * from found except select * from "
			"joined)) union all select (select count(*) from found) = (select "
			"count(*) from joined)",
			"0\n1\n");
		/* Tables without partitions; more than two. */
		fixture_check(
			database,
			"select (select count(*) from _interval_intersect!((a, b, a), ()) where "
			"id_0 = id_2) = (select count(*) from a join b where " OVERLAPS(
				"a", "b") ") as is_same",
			"1\n");
		fixture_close(database);
	}
}

ORMA_TEST(what_cannot_be_intersected_is_an_error)
{
	struct orma_trace_database *database = open_empty();
	run(database, "include perfetto module intervals.*;"
		      "create perfetto table open as select 1 as id, 5 as ts, -1 as dur;"
		      "create perfetto table early as select 1 as id, -5 as ts, 1 as dur;"
		      "create perfetto table fine as select 1 as id, 5 as ts, 9223372036854775807 "
		      "as dur, 1 as p");
	check_error(
		database,
		"create perfetto table r as select * from _interval_intersect!((fine, open), ())",
		"dur must not be negative");
	check_error(
		database,
		"create perfetto table r as select * from _interval_intersect!((early, fine), ())",
		"ts must not be negative");
	check_error(
		database,
		"create perfetto table r as select * from __intrinsic_interval_intersect((select "
		"__intrinsic_rows(id, ts, dur) from fine), (select __intrinsic_rows(id, ts, dur, "
		"p) from fine))",
		"the same of each table");
	fixture_check(
		database,
		"select ts from _interval_intersect!((fine, (select * from open limit 0)), ());"
		"select id, ts, dur from _interval_intersect_single!(7, 3, fine)",
		"\n\"id\",\"ts\",\"dur\"\n1,7,3\n");
	fixture_check(database, "select * from __intrinsic_interval_intersect", "");
	fixture_close(database);
}

ORMA_TEST(an_intersection_without_memory_is_an_error)
{
	struct orma_trace_database *database = open_empty();
	run(database, "include perfetto module intervals.intersect");
	make_intervals(database, "a", 3);
	int r = -ENOMEM;
	for (uint64_t nth = 1; r == -ENOMEM; nth += 1) {
		orma_test_fail_allocation(nth);
		r = orma_sql_execute(database->sql,
				     ORMA_STR("create or replace perfetto table r as select * from "
					      "_interval_intersect!((a, a), (p))"),
				     NULL);
		orma_test_fail_allocation(0);
	}
	CHECK_INT(r, 0);
	fixture_close(database);
}

ORMA_TEST(intervals_are_counted_merged_created_and_completed)
{
	struct orma_trace_database *database = open_empty();
	run(database,
	    "include perfetto module intervals.overlap, intervals.create_intervals, "
	    "intervals.intersect;"
	    "create perfetto table a as select column1 as id, column2 as ts, column3 as dur, "
	    "column4 "
	    "as g from (values (1, 10, 10, 'x'), (2, 15, 10, 'y'), (3, 25, 5, 'x'), (4, 40, 5, "
	    "'x'))");
	fixture_check(database, "select * from intervals_overlap_count!(a, ts, dur)",
		      "10,1\n15,2\n20,1\n25,1\n30,0\n40,1\n45,0\n");
	fixture_check(database,
		      "select ts, value, group_name from intervals_overlap_count_by_group!(a, ts, "
		      "dur, g) where group_name = 'x'",
		      "10,1,\"x\"\n20,0,\"x\"\n25,1,\"x\"\n30,0,\"x\"\n40,1,\"x\"\n45,0,\"x\"\n");
	fixture_check(database, "select * from interval_merge_overlapping!(a, 0)", "10,20\n40,5\n");
	fixture_check(database, "select * from interval_merge_overlapping!(a, 11)", "10,35\n");
	fixture_check(
		database,
		"select ts, dur, g from interval_merge_overlapping_partitioned!(a, (g)) order "
		"by g, ts",
		"10,10,\"x\"\n25,5,\"x\"\n40,5,\"x\"\n15,10,\"y\"\n");
	fixture_check(
		database,
		"select * from _interval_create!((select ts from a), (select ts + dur as ts from "
		"a where id in (2, 3)))",
		"10,15\n15,10\n25,5\n");
	fixture_check(database,
		      "select ts, dur, group_id, id, interval_ends_at_ts from "
		      "interval_self_intersect!((select * from a where id < 3)) order by ts, "
		      "interval_ends_at_ts, id",
		      "10,5,1,1,0\n15,5,2,1,0\n15,5,2,2,0\n20,5,3,2,0\n20,5,3,1,1\n25,0,4,2,1\n");
	/* The parent is the innermost interval but while the child lasts. */
	fixture_check(
		database,
		"select root_id, id, ts, dur from _intervals_flatten!("
		"_intervals_merge_root_and_children!((select 1 as id, 0 as ts, 100 as dur union "
		"all select 9, 200, 5), (select 1 as root_id, 2 as id, 1 as parent_id, 20 as ts, "
		"30 as dur union all select 1, 3, 2, 20, 10))) order by ts",
		"1,1,0,20\n1,3,20,10\n1,2,30,20\n1,1,50,50\n9,9,200,5\n");
	fixture_close(database);
}

ORMA_TEST(values_of_counters_last_until_the_next)
{
	struct orma_trace_database *database = open_empty();
	run(database,
	    "include perfetto module counters.intervals;"
	    "create perfetto function trace_end2() returns long as select 100;"
	    "create perfetto table c as select column1 as id, column2 as ts, column3 as "
	    "track_id, column4 as value from (values (1, 10, 1, 5), (2, 20, 2, 1), (3, 30, "
	    "1, 5), (4, 40, 1, 5), (5, 50, 1, 5), (6, 60, 1, 8), (7, 70, 1, 8), (8, 80, 1, "
	    "8), (9, 90, 2, 0.5))");
	fixture_check(
		database,
		"select id, ts, dur, track_id, value, next_value, delta_value from "
		"__intrinsic_counter_intervals(100, (select __intrinsic_rows(id, ts, track_id, "
		"value) from c))",
		"1,10,20,1,5.000000,5.000000,\"[NULL]\"\n"
		"3,30,20,1,5.000000,5.000000,0.000000\n"
		"5,50,10,1,5.000000,8.000000,0.000000\n"
		"6,60,10,1,8.000000,8.000000,3.000000\n"
		"7,70,30,1,8.000000,\"[NULL]\",0.000000\n"
		"2,20,70,2,1.000000,0.500000,\"[NULL]\"\n"
		"9,90,10,2,0.500000,\"[NULL]\",-0.500000\n");
	fixture_check(database,
		      "select count(*) from counter_leading_intervals!(c);"
		      "select * from counter_leading_intervals!((select * from c limit 0))",
		      "7\n\n\"id\",\"ts\",\"dur\",\"track_id\",\"value\",\"next_value\","
		      "\"delta_value\"\n");
	fixture_close(database);
}

ORMA_TEST(graphs_are_searched)
{
	struct orma_trace_database *database = open_empty();
	run(database,
	    "include perfetto module graphs.search, graphs.dominator_tree, graphs.partition, "
	    "graphs.hierarchy;"
	    "create perfetto table g as select column1 as source_node_id, column2 as dest_node_id, "
	    "column3 as edge_weight from (values (1, 2, 1), (1, 3, 1), (2, 4, 5), (3, 4, 1), (4, "
	    "2, "
	    "1), (7, 4, 1), (4, -5000000000, 1), (3, null, 1))");
	fixture_check(database, "select * from graph_reachable_dfs!(g, (select 1 as node_id))",
		      "1,\"[NULL]\"\n2,1\n4,2\n-5000000000,4\n3,1\n");
	fixture_check(
		database,
		"select * from graph_reachable_bfs!(g, (select 1 as node_id union all select 99 "
		"union all select null))",
		"1,\"[NULL]\"\n99,\"[NULL]\"\n2,1\n3,1\n4,2\n-5000000000,4\n");
	/* 4 is reached on two ways, so neither 2 nor 3 dominates it; 7 is not reached. */
	fixture_check(database, "select * from graph_dominator_tree!(g, 1) order by node_id",
		      "-5000000000,4\n1,\"[NULL]\"\n2,1\n3,1\n4,1\n");
	check_error(database,
		    "create perfetto table d as select * from graph_dominator_tree!(g, 12)",
		    "the root is not in the graph");
	fixture_check(database,
		      "select * from graph_reachable_weight_bounded_dfs!(g, (select 1 as "
		      "root_node_id, 4 as root_target_weight), 1);"
		      "select * from graph_reachable_weight_bounded_dfs!(g, (select 1 as "
		      "root_node_id, 4 as root_target_weight), 0)",
		      "1,1,\"[NULL]\"\n1,2,1\n1,4,2\n\n"
		      "\"root_node_id\",\"node_id\",\"parent_node_id\"\n1,1,\"[NULL]\"\n1,2,1\n");
	fixture_check(database,
		      "select * from graph_reachable_dfs!((select * from g limit 0), (select 1 as "
		      "node_id))",
		      "");
	fixture_close(database);
}

ORMA_TEST(values_go_along_the_edges_of_graphs)
{
	struct orma_trace_database *database = open_empty();
	run(database, "include perfetto module graphs.scan;"
		      "create perfetto table g as select column1 as source_node_id, column2 as "
		      "dest_node_id from (values (1, 2), (1, 3), (2, 3), (3, 4), (9, 4));"
		      "create perfetto table loop as select * from g union all select 4, 2");
	fixture_check(
		database,
		"select * from _graph_scan!(g, (select 1 as id, 'r' as path, 0 as depth), "
		"(path, depth), (select id, path || '/' || id as path, depth + 1 as depth from "
		"$table)) order by path",
		"1,\"r\",0\n2,\"r/2\",1\n3,\"r/2/3\",2\n4,\"r/2/3/4\",3\n3,\"r/3\",1\n"
		"4,\"r/3/4\",2\n");
	/* Each node once, with the longest path to it. */
	fixture_check(database,
		      "select * from _graph_aggregating_scan!(g, (select 1 as id, 0 as depth), "
		      "(depth), (select id, max(depth) + 1 as depth from $table group by id))",
		      "1,0\n2,1\n3,2\n4,3\n");
	fixture_check(
		database,
		"select * from _graph_scan!(g, (select 1 as id, 0 as d limit 0), (d), (select "
		"id, d from $table))",
		"");
	check_error(
		database,
		"create perfetto table t as select * from _graph_scan!(loop, (select 1 as id, 0 "
		"as d), (d), (select id, d from $table))",
		"the graph has a cycle");
	check_error(
		database,
		"create perfetto table t as select * from _graph_aggregating_scan!(loop, (select "
		"1 as id, 0 as d), (d), (select id, d from $table))",
		"the graph has a cycle");
	check_error(
		database,
		"create perfetto table t as select * from _graph_scan!(g, (select 1 as id, 0 as "
		"d), (d), (select id from $table))",
		"must have the column id");
	check_error(
		database,
		"create perfetto table t as select * from _graph_scan!(g, (select 1 as id, 0 as "
		"d), (d), (select id, absent from $table))",
		"no such column: absent");
	int r = -ENOMEM;
	for (uint64_t nth = 1; r == -ENOMEM; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_sql_execute(database->sql,
				     ORMA_STR("create or replace perfetto table t as select * from "
					      "_graph_aggregating_scan!(g, (select 1 as id, 0 as "
					      "d), (d), (select "
					      "id, max(d) as d from $table group by id))"),
				     NULL);
		orma_test_fail_allocation(0);
	}
	CHECK_INT(r, 0);
	fixture_close(database);
}

ORMA_TEST(dominators_are_the_nodes_that_every_path_passes)
{
	for (unsigned seed = 1; seed < 6; seed++) {
		char text[400];
		struct orma_trace_database *database = open_empty();
		run(database, "include perfetto module graphs.search, graphs.dominator_tree");
		snprintf(
			text, sizeof(text),
			"create perfetto table g as with recursive c(i, r) as (select 1, %u union "
			"all "
			"select i + 1, (r * 1103515245 + 12345) %% 2147483648 from c where i < 20) "
			"select r / 65536 %% 12 as source_node_id, r / 1024 %% 12 as dest_node_id "
			"from "
			"c union select 0, 1",
			seed);
		run(database, text);
		run(database,
		    "create perfetto table d as select * from graph_dominator_tree!(g, 0)");
		/* Without its dominator a node cannot be reached; without a sibling of it, it can. */
		fixture_check(
			database,
			"with without as (select w.node_id as gone, r.node_id as reached from "
			"(select "
			"distinct node_id from d where node_id != 0) w join d r where exists (with "
			"recursive reach(n) as (select 0 union select dest_node_id from reach join "
			"g on "
			"source_node_id = n where dest_node_id != w.node_id) select 1 from reach "
			"where n "
			"= r.node_id)) select count(*) from d where dominator_node_id != 0 and "
			"exists "
			"(select 1 from without where gone = dominator_node_id and reached = "
			"node_id) "
			"union all select count(*) from d a join d b on b.dominator_node_id is "
			"a.dominator_node_id and a.node_id != b.node_id where not exists (select 1 "
			"from "
			"without where gone = a.node_id and reached = b.node_id)",
			"0\n0\n");
		fixture_check(database,
			      "select (select count(*) from d) = (select count(*) from "
			      "graph_reachable_dfs!(g, (select 0 as node_id))) as is_same",
			      "1\n");
		fixture_close(database);
	}
}

ORMA_TEST(trees_are_cut_into_groups_and_added_up)
{
	struct orma_trace_database *database = open_empty();
	run(database,
	    "include perfetto module graphs.partition;"
	    "create perfetto table t as select column1 as id, column2 as parent_id, column3 as "
	    "group_key from (values (1, null, 10), (2, 1, 20), (3, 2, 10), (4, 2, 20), (5, 3, "
	    "20))");
	fixture_check(database, "select * from tree_structural_partition_by_group!(t) order by id",
		      "1,\"[NULL]\",10\n2,\"[NULL]\",20\n3,1,10\n4,2,20\n5,2,20\n");
	check_error(database,
		    "create perfetto table p as select * from "
		    "tree_structural_partition_by_group!((select * from t where id > 1))",
		    "there must be one root");
	check_error(
		database,
		"create perfetto table p as select * from "
		"tree_structural_partition_by_group!((select * from t union all select 3, 1, 1))",
		"an id is there twice");
	fixture_check(database,
		      "select id, sum from __intrinsic_tree_sums((select __intrinsic_rows(id, "
		      "parent_id, group_key) from t))",
		      "1,80\n2,70\n3,30\n4,20\n5,20\n");
	/* Nodes in a loop are not added up, but end. */
	fixture_check(
		database,
		"select * from __intrinsic_tree_sums((select __intrinsic_rows(column1, column2, "
		"1) from (values (1, 2), (2, 1), (3, 1))))",
		"1,2\n2,1\n3,1\n");
	fixture_close(database);
}

ORMA_TEST(lanes_are_the_lowest_that_are_free)
{
	struct orma_trace_database *database = open_empty();
	fixture_check(
		database,
		"select internal_layout(column1, column2) over (order by column1 rows between "
		"unbounded preceding and current row) from (values (1, 4), (2, 2), (3, -1), (6, "
		"1), (6, 0), (6, 1))",
		"0\n1\n2\n0\n1\n1\n");
	check_error(database,
		    "create perfetto table l as select internal_layout(1, -2) over () as lane",
		    "must not be negative");
	fixture_close(database);
}
