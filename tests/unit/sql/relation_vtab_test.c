/* SPDX-License-Identifier: Apache-2.0
 * relation_vtab_test.c - random queries have the same rows from a relation and from an ordinary table.
 */
#include "sql/relation_vtab.h"

#include "base/alloc.h"
#include "base/macros.h"
#include "relation_fixture.h"

enum { ROWS = 3 * ORMA_BLOCK_ROWS + 77 };

static struct relation_fixture fixture;

/* `sql` has $ where the table is named. */
static void compare(const char *sql)
{
	fixture_compare(&fixture, sql);
}

static const char *const int_columns[] = {"id",        "ts",    "dur",  "track_id",
					  "parent_id", "twice", "rowid"};
static const char *const number_values[] = {"5",
					    "-7",
					    "0",
					    "12",
					    "1003",
					    "4000",
					    "12.5",
					    "5.0",
					    "-7.0",
					    "1e300",
					    "-1e300",
					    "'5'",
					    "'12.5'",
					    "'x'",
					    "null",
					    "x'00'",
					    "0.1",
					    "9007199254740993",
					    "9223372036854775807",
					    "9.3e18",
					    "-0.5",
					    "(select 5)",
					    "(select '-7')",
					    "-9223372036854775808",
					    "9223372036854774784.0",
					    "''",
					    "'abc'",
					    "(select max(id) from plain)"};
static const char *const text_values[] = {"'a'", "'A'",        "''",    "'zz'",           "null",
					  "5",   "-7",         "12.5",  "(select 'abc')", "x'61'",
					  "'5'", "(select 5)", "'a_c'", "'draw[1]'"};
static const char *const patterns[] = {
	"glob '*'",       "glob 'a*'",   "glob '*c'",          "glob '[a-b]'", "glob '[^a]*'",
	"glob '?'",       "glob 'n?me'", "glob 'a[*]c'",       "glob ''",      "like 'A%'",
	"like '%C'",      "like '_'",    "like 'n_me'",        "like '%'",     "like 'draw[1]'",
	"glob 'draw[[]*", "like null",   "glob (select 'A*')", "glob '[a'",    "like 5"};
static const char *const comparisons[] = {"=", "<", "<=", ">", ">=", "<>", "is", "is not"};

#define PICK(array, state) ((array)[fixture_random(state) % ORMA_ARRAY_SIZE(array)])

/* Writes a random condition. */
static void write_condition(char *out, size_t size, uint64_t *state)
{
	const char *column;
	switch (fixture_random(state) % 8) {
	case 0:
		column = fixture_random(state) % 2 ? "name" : PICK(int_columns, state);
		snprintf(out, size, "%s is %s null", column,
			 fixture_random(state) % 2 ? "not" : "");
		break;
	case 1: {
		const char *pattern = PICK(patterns, state);
		snprintf(out, size, "name %s%s", pattern,
			 strcmp(pattern, "glob 'draw[[]*") == 0 ? "'" : "");
		break;
	}
	case 2:
		snprintf(out, size, "name %s %s", PICK(comparisons, state),
			 PICK(text_values, state));
		break;
	case 3:
		snprintf(out, size, "value %s %s", PICK(comparisons, state),
			 PICK(number_values, state));
		break;
	case 4:
		snprintf(out, size, "%s in (%s, %s, %s)", PICK(int_columns, state),
			 PICK(number_values, state), PICK(number_values, state),
			 PICK(number_values, state));
		break;
	case 5:
		snprintf(out, size, "%s in (%s, %s)", fixture_random(state) % 2 ? "name" : "value",
			 PICK(text_values, state), PICK(text_values, state));
		break;
	default:
		snprintf(out, size, "%s %s %s", PICK(int_columns, state), PICK(comparisons, state),
			 PICK(number_values, state));
		break;
	}
}

static void write_conditions(char *out, size_t size, uint64_t *state)
{
	size_t at = 0;
	for (uint64_t i = 0, count = fixture_random(state) % 3 + 1; i < count; i++) {
		char condition[300];
		write_condition(condition, sizeof(condition), state);
		at += (size_t)snprintf(out + at, size - at, "%s%s", i > 0 ? " and " : "",
				       condition);
	}
}

ORMA_TEST(each_condition_leaves_the_rows_that_sqlite_leaves)
{
	uint64_t state = 7;
	fixture_open(&fixture, ROWS, 42);
	for (int i = 0; i < 2000; i++) {
		char conditions[1000], sql[1300];
		write_conditions(conditions, sizeof(conditions), &state);
		snprintf(sql, sizeof(sql), "%s from $ where %s%s",
			 i % 5 == 0 ? "select *, rowid"
				    : "select count(*), sum(id), min(id), max(id)",
			 conditions,
			 i % 10 == 0 ? " order by id limit 50"
				     : (i % 10 == 5 ? " limit 3 offset 2" : ""));
		compare(sql);
	}
	fixture_close(&fixture);
}

ORMA_TEST(each_order_is_that_of_sqlite)
{
	static const char *const columns[] = {"id",   "ts",    "dur",   "track_id", "parent_id",
					      "name", "value", "twice", "rowid"};
	uint64_t state = 99;
	fixture_open(&fixture, ROWS, 43);
	for (int i = 0; i < 300; i++) {
		char text[1300], conditions[1000];
		write_conditions(conditions, sizeof(conditions), &state);
		/* Ties are in the order of rows. */
		snprintf(text, sizeof(text),
			 "select * from $ where %s order by %s %s, %s %s, id limit %d offset %d",
			 i % 3 == 0 ? "1" : conditions, PICK(columns, &state),
			 fixture_random(&state) % 2 ? "desc" : "", PICK(columns, &state),
			 fixture_random(&state) % 2 ? "desc" : "",
			 (int)(fixture_random(&state) % 40) - 2,
			 (int)(fixture_random(&state) % 8) - 2);
		compare(text);
	}
	fixture_close(&fixture);
}

ORMA_TEST(a_single_order_keeps_equal_rows_in_the_order_of_their_numbers)
{
	static const char *const columns[] = {"dur", "track_id", "parent_id", "name", "value"};
	fixture_open(&fixture, ROWS, 44);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(columns); i++)
		for (int desc = 0; desc < 2; desc++)
			for (int limit = 0; limit < 3; limit++) {
				static const char *const limits[] = {"", "limit 5 offset 3",
								     "limit 4000"};
				char actual_sql[200], expected_sql[200];
				snprintf(actual_sql, sizeof(actual_sql),
					 "select id, %s from r order by %s %s %s", columns[i],
					 columns[i], desc ? "desc" : "", limits[limit]);
				snprintf(expected_sql, sizeof(expected_sql),
					 "select id, %s from plain order by %s %s, id %s",
					 columns[i], columns[i], desc ? "desc" : "", limits[limit]);
				char *actual = fixture_rows(fixture.db, actual_sql);
				char *expected = fixture_rows(fixture.db, expected_sql);
				CHECK_STR(actual, expected);
				free(actual);
				free(expected);
			}
	fixture_close(&fixture);
}

ORMA_TEST(groups_joins_and_subqueries_have_the_rows_of_sqlite)
{
	static const char *const queries[] = {
		"select name, count(*), sum(id) from $ group by 1 order by 1",
		("select track_id, name, count(*) from $ group by 1, 2 having count(*) > 3 "
		 "order by 1, 2"),
		"select distinct name, track_id from $ order by 1, 2",
		"select distinct dur from $ order by 1 desc",
		"select count(*), sum(p.id) from $ c join $ p on c.parent_id = p.id",
		("select count(*), sum(c.id) from $ p join $ c on c.parent_id = p.id where "
		 "p.track_id = 3"),
		("select count(*) from $ a join $ b on a.name = b.name and a.track_id = b.track_id "
		 "where a.id < 100 and b.dur > 5"),
		("select a.id, (select count(*) from $ b where b.parent_id = a.id) from $ a where "
		 "a.id < 200"),
		("select count(*) from $ a where exists (select 1 from $ b where b.parent_id = "
		 "a.id "
		 "and "
		 "b.name glob 'a*')"),
		"select count(*) from $ a left join $ b on b.parent_id = a.id and b.dur = 5",
		("select a.id, b.id from $ a join $ b on b.ts > a.ts and b.ts <= a.ts + 2 where "
		 "a.id % 500 = 1 "
		 "order by a.id, b.id"),
		"select count(*) from $ where id in (select parent_id from $ where name = 'a')",
		("select count(*) from $ where name in (select name from $ where track_id = 4 "
		 "order by id limit 3)"),
		"select max(dur), name from $",
		("select sum(dur) from $ where dur < 1000 and dur > -1000 and (track_id = 3 or "
		 "name "
		 "= 'b')"),
		("select id, lag(dur) over (order by ts, id) from $ where track_id = 2 order by id "
		 "desc limit 30"),
		"select count(*) from $ a join $ b on a.twice = b.id where b.name = 'abc'",
	};
	fixture_open(&fixture, ROWS, 45);
	/* SQLite would need minutes without. */
	CHECK_INT(sqlite3_exec(fixture.db,
			       "create index by_parent on plain(parent_id); "
			       "create index by_name on plain(name, track_id); "
			       "create index by_ts on plain(ts)",
			       NULL, NULL, NULL),
		  SQLITE_OK);
	/* Twice: the second time there are indexes. */
	for (size_t i = 0; i < 2 * ORMA_ARRAY_SIZE(queries); i++)
		compare(queries[i % ORMA_ARRAY_SIZE(queries)]);
	fixture_close(&fixture);
}

static bool stop_after_some(void *ctx)
{
	return ++*(int *)ctx > 2;
}

ORMA_TEST(a_scan_can_be_stopped)
{
	int asked = 0;
	fixture_open(&fixture, ROWS, 46);
	fixture.interrupt.should_stop = stop_after_some;
	fixture.interrupt.ctx = &asked;
	CHECK_INT(sqlite3_exec(fixture.db, "select count(*) from r where dur = 99999", NULL, NULL,
			       NULL),
		  SQLITE_INTERRUPT);
	CHECK_INT(asked, 3);
	fixture.interrupt.should_stop = NULL;
	atomic_store(&fixture.interrupt.is_set, true);
	CHECK_INT(sqlite3_exec(fixture.db, "select count(*) from r order by dur", NULL, NULL, NULL),
		  SQLITE_INTERRUPT);
	fixture_close(&fixture);
}

ORMA_TEST(each_allocation_of_a_query_may_fail)
{
	static const char *const queries[] = {
		("select count(*) from r where name glob 'a*' and dur in (5, 6, 7) and id in (1, "
		 "2, "
		 "300)"),
		"select * from r order by name, dur limit 10",
		"select * from r order by dur desc limit 10",
		"select count(*) from r a join r b on b.parent_id = a.id where a.id < 100",
		"select count(*) from r where ts in (1003, 10000000000000) and name < 'b'",
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(queries); i++)
		for (uint64_t nth = 1;; nth++) {
			fixture_open(&fixture, 500, 47);
			orma_test_fail_allocation(nth);
			int r = sqlite3_exec(fixture.db, queries[i], NULL, NULL, NULL);
			bool has_failed = orma_test_allocation_failed();
			orma_test_fail_allocation(0);
			/* Without memory for an index, the query goes on. */
			CHECK(r == SQLITE_OK || (has_failed && r == SQLITE_NOMEM));
			fixture_close(&fixture);
			if (!has_failed)
				break;
		}
}
