/* SPDX-License-Identifier: Apache-2.0
 * flamegraph_test.c - flame graphs of stacks, of each view and with filters.
 */
#include <errno.h>

#include "base/error_message.h"
#include "harness.h"
#include "sql/query_regex.h"
#include "trace_fixture.h"

/* main calls read and write; read calls itself. Children stand before their parents. */
#define SOURCE                                                                                     \
	"create virtual table g using __intrinsic_flamegraph((select * from (values "              \
	"(4, 3, 'read', 8, 'io', 1.5), (2, 1, 'write', 2, 'io', 0.5), (3, 1, 'read', 4, 'io', "    \
	"2), "                                                                                     \
	"(1, null, 'main', 1, null, null), (5, null, 'idle', 16, 'cpu', 4))));"
#define RENAMED                                                                                    \
	"create virtual table g using __intrinsic_flamegraph((select column1 as id, column2 as "   \
	"parent_id, column3 as name, column4 as value, column5 as kind, column6 as cost from "     \
	"(values "                                                                                 \
	"(4, 3, 'read', 8, 'io', 1.5), (2, 1, 'write', 2, 'io', 0.5), (3, 1, 'read', 4, 'io', "    \
	"2), "                                                                                     \
	"(1, null, 'main', 1, null, null), (5, null, 'idle', 16, 'cpu', 4))));"
#define GRAPH(columns, config)                                                                     \
	"select " columns " from g(__intrinsic_flamegraph_config('value', 'value', " config "))"
#define ALL "name, depth, self_value, cumulative_value, x_start, x_end"

static bool has_regex(void)
{
	struct orma_regex *regex;
	int r = orma_sql_regex_new(ORMA_STR("x"), false, &regex, NULL);
	if (r == 0)
		orma_sql_regex_free(regex);
	return r == 0;
}

ORMA_TEST(callees_stand_below_their_callers_the_widest_first)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	fixture_check(database, RENAMED GRAPH(ALL, "'view', 'TOP_DOWN'"),
		      "\"idle\",1,16,16,0,16\n\"main\",1,1,15,16,31\n\"read\",2,4,12,16,28\n"
		      "\"write\",2,2,2,28,30\n\"read\",3,8,8,16,24\n");
	fixture_check(database,
		      "select _tree_id, _tree_parent_id, parent_cumulative_value from "
		      "g(__intrinsic_flamegraph_config('value', 'value')) where _tree_id > 1",
		      "2,1,15\n3,1,15\n4,2,12\n");
	fixture_check(database,
		      "select _tree_id, depth, cumulative_value from "
		      "g(__intrinsic_flamegraph_config('value', 'value')) where "
		      "__intrinsic_flamegraph_find(_tree_id, 'SUPER_ROOT')",
		      "0,0,31.000000\n");
	fixture_check(database, "drop table g; select 1", "1\n");
	fixture_close(database);
}

ORMA_TEST(callers_stand_above_what_has_the_time)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	fixture_check(database, RENAMED GRAPH(ALL, "'view', 'BOTTOM_UP'"),
		      "\"idle\",-1,16,16,0,16\n\"read\",-1,12,12,16,28\n\"write\",-1,2,2,28,30\n"
		      "\"main\",-1,1,1,30,31\n\"read\",-2,0,8,16,24\n\"main\",-2,0,4,24,28\n"
		      "\"main\",-2,0,2,28,30\n\"main\",-3,0,8,16,24\n");
	fixture_close(database);
}

ORMA_TEST(boxes_carry_sums_and_summaries_of_other_columns)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	fixture_check(
		database,
		RENAMED GRAPH("name, kind, cost, self_cost",
			      "'grouping', 'kind', 'aggregate', 'SUM', 'cost', 'cost', "
			      "'value', 'cost', 'view', 'BOTTOM_UP'") " where depth = -1",
		"\"idle\",\"cpu\",4.000000,4.000000\n\"read\",\"io\",3.500000,3.500000\n"
		"\"write\",\"io\",0.500000,0.500000\n\"main\",\"[NULL]\",\"[NULL]\",0.000000\n");
	fixture_check(database,
		      GRAPH("name, kind, cost",
			    "'aggregate', 'ONE_OR_SUMMARY', 'kind', 'kind', 'aggregate', "
			    "'CONCAT_WITH_COMMA', 'cost', 'cost', 'view', "
			    "'BOTTOM_UP'") " where name = 'read' and depth = -1",
		      "\"read\",\"io\",\"2.0,1.5\"\n");
	fixture_close(database);
}

ORMA_TEST(filters_choose_stacks_and_frames)
{
	struct orma_trace_database *database;
	if (!has_regex())
		orma_test_skip("built without PCRE2");
	database = fixture_open("packet { timestamp: 1 }");
	fixture_check(database,
		      RENAMED GRAPH("name, self_value, cumulative_value",
				    "'filter', 'SHOW_STACK', 'READ', 'i'"),
		      "\"main\",0,12\n\"read\",4,12\n\"read\",8,8\n");
	fixture_check(database,
		      GRAPH("name, self_value, cumulative_value",
			    "'filter', 'HIDE_STACK', '^read$', '', 'filter', "
			    "'HIDE_FRAME', '^main$', ''"),
		      "\"idle\",16,16\n\"write\",2,2\n");
	fixture_check(database, GRAPH(ALL, "'view', 'PIVOT', 'view_pattern', 'read', ''"),
		      "\"read\",1,12,12,0,12\n\"read\",-1,12,12,0,12\n\"read\",-2,0,8,0,8\n"
		      "\"main\",-2,0,4,8,12\n\"main\",-3,0,8,0,8\n");
	fixture_check(database, GRAPH("name", "'view', 'FROM_FRAME', 'view_pattern', 'none', ''"),
		      "");
	fixture_close(database);
}

ORMA_TEST(stacks_that_make_no_graph_are_refused)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	fixture_refuse(database, SOURCE, "the first columns of its rows are");
	fixture_refuse(database,
		       "create virtual table g using __intrinsic_flamegraph((select 1 as id, 2 as "
		       "parent_id, 'a' as name, 1 as value union all select 2, 1, 'b', 1))",
		       "parents form a loop");
	fixture_refuse(database,
		       "create virtual table g using __intrinsic_flamegraph((select 1 as id, 7 as "
		       "parent_id, 'a' as name, 1 as value))",
		       "no row has the id 7");
	fixture_refuse(
		database,
		"create virtual table g using __intrinsic_flamegraph((select 1 as id, null as "
		"parent_id, 'a' as name, -1 as value));" GRAPH("*", "'view', 'TOP_DOWN'"),
		"must be non-negative");
	fixture_refuse(database,
		       "select * from g(__intrinsic_flamegraph_config('view', 'SIDEWAYS'))",
		       "what is 'SIDEWAYS'");
	fixture_refuse(database, "select * from g(__intrinsic_flamegraph_config('view', 'PIVOT'))",
		       "view_pattern");
	fixture_refuse(database, "select * from g(5)", "not a configuration");
	fixture_close(database);
}

/* The budget has a folder that does not exist, so rows that go to a file are an error. */
ORMA_TEST(rows_beyond_the_budget_go_to_files)
{
	static const char graph[] =
		"create virtual table g using __intrinsic_flamegraph((select * from "
		"(with recursive n(id, parent_id, name, value) as (select 1, null, 'f', 1 union "
		"all select id + 1, null, 'f' || id, 1 from n where id < 20000) select * from n)))";
	static const char scan[] =
		"select count(*), sum(self_value) from g(__intrinsic_flamegraph_config('value', "
		"'value'))";
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	struct orma_memory_budget *budget = &database->tables.budget;
	struct orma_error error = {0};
	budget->folder = "/nonexistent";
	budget->limit_bytes = 1;
	fixture_refuse(database, graph, orma_base_error_words(-ENOENT));
	budget->limit_bytes = 0;
	CHECK_INT(orma_sql_execute(database->sql, orma_base_str(graph), &error), 0);
	budget->limit_bytes = 1;
	fixture_refuse(database, scan, orma_base_error_words(-ENOENT));
	budget->limit_bytes = 0;
	fixture_check(database, scan, "20000,20000\n");
	fixture_close(database);
}
