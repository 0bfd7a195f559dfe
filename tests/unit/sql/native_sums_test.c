/* SPDX-License-Identifier: Apache-2.0
 * native_sums_test.c - queries over a table that has sums of whole runs of rows have the rows that SQLite finds in an ordinary
 * table.
 */
#include "store/group_sums.h"

#include "base/macros.h"
#include "engine_fixture.h"
#include "sql/engine_state.h"
#include "sql/relation.h"

enum { TS, DUR, TRACK, NAME, COLUMNS, RUN_BLOCKS = 2, RUN_ROWS = RUN_BLOCKS * ORMA_BLOCK_ROWS };

static const struct orma_column_spec specs[COLUMNS] = {
	[TS] = {"ts", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
	[DUR] = {"dur", ORMA_COLUMN_INT, ORMA_COLUMN_CHANGES},
	[TRACK] = {"track", ORMA_COLUMN_INT, 0},
	[NAME] = {"name", ORMA_COLUMN_STRING, 0},
};
static struct orma_extents extents;
static struct orma_table table;

/* Copies the rows of a relation into a table, which SQL sees as `s`. */
static void copy_rows(const struct orma_relation *from)
{
	int64_t *cells = malloc(COLUMNS * ORMA_BLOCK_ROWS * sizeof(*cells)), row[COLUMNS];
	extents = (struct orma_extents){.fd = -1};
	CHECK_INT(orma_store_table_init(&table, "s", specs, COLUMNS, &extents), 0);
	for (uint64_t block = 0; block * ORMA_BLOCK_ROWS < orma_sql_relation_rows(from); block++) {
		int count = 0;
		for (size_t i = 0; i < COLUMNS; i++)
			count = orma_sql_relation_read(from, i + 1, block,
						       cells + i * ORMA_BLOCK_ROWS);
		for (int n = 0; n < count; n++) {
			for (size_t i = 0; i < COLUMNS; i++)
				row[i] = cells[i * ORMA_BLOCK_ROWS + (size_t)n];
			CHECK_INT(orma_store_table_append(&table, row), 0);
		}
	}
	free(cells);
	CHECK_INT(orma_store_table_seal(&table), 0);
}

/* `select` makes the columns ts, dur, track and name, which are in the table `s` and in `plain`. */
static void open_table(const char *select)
{
	struct orma_relation *relation;
	char *text = sqlite3_mprintf("create perfetto table r as %s; create table plain as %s",
				     select, select);
	engine_open(&(struct orma_sql_options){.ctx = NULL});
	CHECK_STR(engine_run(text), "");
	sqlite3_free(text);
	const struct orma_relation *from = orma_sql_find_relation(fixture_sql, "r");
	copy_rows(from);
	CHECK_INT(orma_sql_relation_new("s", "id", from->pool, &relation), 0);
	CHECK_INT(orma_sql_relation_add_table(relation, &table), 0);
	CHECK_INT(orma_sql_add_relation(fixture_sql, relation), 0);
	orma_sql_relation_unref(relation);
	CHECK_INT(orma_store_table_sum(&table, (const size_t[]){TRACK, NAME}, 2, DUR, RUN_BLOCKS),
		  0);
}

static void close_table(void)
{
	engine_close();
	orma_store_table_done(&table);
	orma_store_extents_done(&extents);
}

/* 25,000 rows: three runs, and some rows behind them. */
static const char ordinary_rows[] =
	"with recursive c(i, x) as (select 1, 7 union all select i + 1, (x * 1103515245 + 12345) % "
	"2147483648 from c where i < 25000) select i * 3 as ts, iif(x / 4096 % 9 = 0, null, x / "
	"65536 % 50 - 5) as dur, iif(x / 512 % 13 = 0, null, x / 8192 % 17) as track, iif(x / 1024 "
	"% 11 = 0, null, 'n' || (x / 32768 % 40)) as name from c";

/* Runs a query, with `%s` for the name of the table; the caller frees its rows. */
static char *run_over(const char *format, const char *name)
{
	char *text = sqlite3_mprintf(format, name);
	char *rows = strdup(engine_run(text));
	sqlite3_free(text);
	return rows;
}

static bool has_same_rows(const char *format)
{
	char *actual = run_over(format, "s"), *expected = run_over(format, "plain");
	bool is_same = strcmp(actual, expected) == 0;
	if (!is_same)
		printf("%s\n-- is\n%.400s\n-- expected\n%.400s\n", format, actual, expected);
	free(actual);
	free(expected);
	return is_same;
}

static const char *const summed[] = {
	"select sum(dur), count(*), count(dur), min(dur), max(dur), avg(dur) from %s",
	"select name, count(*), sum(dur), min(dur), max(dur), avg(dur) from %s group by name",
	"select track, count(dur), max(dur) from %s group by track",
	"select count(*), sum(dur) from %s where name = 'n3'",
	"select sum(dur) from %s where name = 'n3' and name > 'n2'",
	"select name, sum(dur) from %s where name in ('n1', 'n2', 'zz') group by name",
	"select count(*) from %s where name is null",
	"select track, avg(dur) from %s where track between 3 and 5 group by track",
	"select sum(dur) from %s where track is not null",
	"select name, max(dur) from %s where name glob 'n1*' group by 1 order by 2 desc, 1 limit 3",
	"select distinct name from %s",
	"select distinct track from %s where track > 4",
	"select name, count(*) from %s where ts between 3000 and 70000 group by name",
	"select count(*), sum(dur) from %s where ts > 24576 and ts <= 49152",
	"select count(*), sum(dur) from %s where ts >= 24579 and ts < 73731 and track = 5",
};

ORMA_TEST(whole_runs_are_answered_from_their_sums)
{
	open_table(ordinary_rows);
	CHECK_INT(table.sums->run_count, 3);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(summed); i++)
		CHECK(has_same_rows(summed[i]));
	/* Sums that are wrong show that they were used. */
	for (size_t key = 0; key < 2; key++)
		for (size_t i = 0; i < table.sums->runs[key][1].count; i++) {
			struct orma_group_sum *sum = &table.sums->runs[key][1].sums[i];
			sum->rows += 1000;
			sum->sum -= 77;
			sum->min = -500;
			sum->max = 500;
		}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(summed); i++)
		CHECK(strstr(summed[i], "distinct") || !has_same_rows(summed[i]));
	close_table();
}

ORMA_TEST(rows_that_sums_say_nothing_about_are_looked_at)
{
	static const char *const queries[] = {
		"select count(*), sum(dur) from %s where dur > 3",
		"select name, sum(ts) from %s group by name",
		"select name, track, sum(dur) from %s group by name, track",
		"select name, sum(dur) from %s where track = 3 group by name",
		"select dur, count(*) from %s group by dur",
		"select count(name) from %s",
		"select count(*) from %s where ts < 24579",
		"select sum(dur) from %s where ts > 73800",
	};
	open_table(ordinary_rows);
	for (size_t key = 0; key < 2; key++)
		for (size_t run = 0; run < 3; run++)
			for (size_t i = 0; i < table.sums->runs[key][run].count; i++)
				table.sums->runs[key][run].sums[i].sum = 1 << 30;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		CHECK(has_same_rows(queries[i]));
	close_table();
}

/* A run with so many keys has no sums for them. */
ORMA_TEST(runs_with_many_keys_have_no_sums)
{
	open_table("with recursive c(i) as (select 0 union all select i + 1 from c where i < "
		   "25000) select i as ts, i % 7 as dur, iif(i < 8192, i / 64, i) as track, 'n' as "
		   "name from c");
	CHECK_INT(table.sums->runs[0][0].count, 128);
	CHECK_INT(table.sums->runs[0][1].count, 0);
	CHECK_INT(table.sums->runs[1][1].count, 1);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(summed); i++)
		CHECK(has_same_rows(summed[i]));
	close_table();
}

ORMA_TEST(a_sum_that_overflows_on_its_way_is_refused)
{
	/* The sums of both runs fit, and so does that of all rows, but not that of the first 8,193 rows. */
	open_table(
		"with recursive c(i) as (select 0 union all select i + 1 from c where i < "
		"17000) select i as ts, iif(i < 8193, 1, -1) * 1125899906842623 as dur, i % 2 as "
		"track, 'n' as name from c");
	CHECK_INT(table.sums->runs[1][0].count, 1);
	CHECK_INT(table.sums->runs[1][1].count, 1);
	engine_check_error("select sum(dur) from s", "integer overflow");
	engine_check_error("select sum(dur) from plain", "integer overflow");
	engine_check_error("select name, sum(dur) from s group by name", "integer overflow");
	CHECK(has_same_rows("select track, sum(dur), min(dur) from %s group by track"));
	close_table();
}

ORMA_TEST(runs_with_large_numbers_have_no_sums)
{
	open_table("with recursive c(i) as (select 0 union all select i + 1 from c where i < "
		   "17000) select i as ts, iif(i = 0, 1125899906842624, 1) as dur, 1 as "
		   "track, 'n' as name from c");
	CHECK_INT(table.sums->runs[1][0].count, 0);
	CHECK_INT(table.sums->runs[1][1].count, 1);
	CHECK(has_same_rows("select sum(dur), max(dur) from %s"));
	close_table();
}

ORMA_TEST(a_table_that_changes_forgets_its_sums)
{
	open_table(ordinary_rows);
	CHECK_INT(orma_store_column_set(&table.columns[DUR], 5, 1000), 0);
	CHECK_INT(orma_store_table_seal(&table), 0);
	CHECK(!table.sums);
	CHECK_STR(engine_run("update plain set dur = 1000 where ts = 18"), "");
	CHECK(has_same_rows("select max(dur) from %s"));
	close_table();
}

ORMA_TEST(sums_are_within_the_memory_budget)
{
	struct orma_memory_budget budget = {.limit_bytes = 0};
	open_table(ordinary_rows);
	orma_store_table_forget_sums(&table);
	extents.budget = &budget;
	CHECK_INT(orma_store_table_sum(&table, (const size_t[]){TRACK}, 1, DUR, RUN_BLOCKS), 0);
	CHECK_INT(budget.used_bytes,
		  3 * table.sums->runs[0][0].count * sizeof(struct orma_group_sum));
	budget.limit_bytes = budget.used_bytes / 3;
	CHECK_INT(orma_store_table_sum(&table, (const size_t[]){TRACK}, 1, DUR, RUN_BLOCKS), 0);
	CHECK(table.sums->runs[0][0].count > 0);
	CHECK_INT(table.sums->runs[0][1].count, 0);
	CHECK(has_same_rows("select track, sum(dur) from %s group by track"));
	orma_store_table_forget_sums(&table);
	CHECK_INT(budget.used_bytes, 0);
	extents.budget = NULL;
	close_table();
}

ORMA_TEST(each_allocation_of_sums_may_fail)
{
	open_table(ordinary_rows);
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		int r = orma_store_table_sum(&table, (const size_t[]){TRACK, NAME}, 2, DUR,
					     RUN_BLOCKS);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		CHECK(has_failed == !table.sums);
		if (!has_failed)
			break;
	}
	close_table();
}
