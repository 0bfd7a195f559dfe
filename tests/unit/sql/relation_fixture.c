/* SPDX-License-Identifier: Apache-2.0
 * relation_fixture.c - columns of every kind: sorted, of few values, of many, with NULLs, texts, doubles, computed.
 */
#include "relation_fixture.h"

#include <math.h>

#include "base/buf.h"
#include "base/macros.h"

enum { TS, DUR, TRACK, PARENT, NAME, VALUE, COLUMNS };

static const struct orma_column_spec specs[COLUMNS] = {
	[TS] = {"ts", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
	[DUR] = {"dur", ORMA_COLUMN_INT, 0},
	[TRACK] = {"track_id", ORMA_COLUMN_INT, 0},
	[PARENT] = {"parent_id", ORMA_COLUMN_INT, 0},
	[NAME] = {"name", ORMA_COLUMN_STRING, 0},
	[VALUE] = {"value", ORMA_COLUMN_DOUBLE, 0},
};

static const char *const names[] = {"",    "a", "A",  "b",    "abc",  "ABC", "a*c",
				    "a_c", "5", "-7", "12.5", "näme", "%",   "draw[1]"};

uint64_t fixture_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (*state ^ *state >> 29) >> 3;
}

static int64_t random_int(uint64_t *state)
{
	static const int64_t special[] = {
		INT64_MIN,        INT64_MIN + 1,          INT64_MAX, 0, -1, 5,
		INT64_C(1) << 53, (INT64_C(1) << 53) + 1, -7,        12};
	return fixture_random(state) % 3 == 0
		       ? special[fixture_random(state) % ORMA_ARRAY_SIZE(special)]
		       : (int64_t)(fixture_random(state) % 40) - 10;
}

static double random_double(uint64_t *state)
{
	static const double special[] = {0.0,     -0.0, INFINITY, -INFINITY, 0x1p53, 0x1p63,
					 -0x1p63, 12.5, 5,        -7,        1e-310, 0.1};
	return fixture_random(state) % 3 == 0
		       ? special[fixture_random(state) % ORMA_ARRAY_SIZE(special)]
		       : (double)(fixture_random(state) % 80) / 2 - 10;
}

static void fill_row(struct relation_fixture *fixture, uint64_t row, uint64_t *state, int64_t *ts,
		     int64_t cells[COLUMNS])
{
	uint32_t id;
	const char *name = names[fixture_random(state) % ORMA_ARRAY_SIZE(names)];
	CHECK_INT(orma_store_pool_add(&fixture->pool, orma_base_str(name), &id), 0);
	*ts += (int64_t)(fixture_random(state) % 3);
	cells[TS] = *ts;
	cells[DUR] = fixture_random(state) % 8 == 0 ? ORMA_CELL_NULL : random_int(state);
	cells[TRACK] = (int64_t)(fixture_random(state) % 17);
	cells[PARENT] = fixture_random(state) % 3 == 0 || row == 0
				? ORMA_CELL_NULL
				: (int64_t)(fixture_random(state) % row);
	cells[NAME] = fixture_random(state) % 8 == 0 ? ORMA_CELL_NULL : id;
	cells[VALUE] = fixture_random(state) % 8 == 0
			       ? ORMA_DOUBLE_NULL
			       : orma_store_cell_of_double(random_double(state));
}

/* Twice the row's number, but NULL for each seventh. */
static int read_computed(void *ctx, uint64_t first, size_t count, int64_t *ret)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		ret[i] = (first + i) % 7 == 0 ? ORMA_CELL_NULL : (int64_t)(2 * (first + i));
	return 0;
}

static void insert_plain(struct relation_fixture *fixture, sqlite3_stmt *insert, uint64_t row,
			 const int64_t cells[COLUMNS])
{
	sqlite3_bind_int64(insert, 1, (sqlite3_int64)row);
	for (int i = 0; i < COLUMNS; i++) {
		if (cells[i] == orma_store_null_of(specs[i].type))
			sqlite3_bind_null(insert, i + 2);
		else if (specs[i].type == ORMA_COLUMN_DOUBLE)
			sqlite3_bind_double(insert, i + 2, orma_store_double_of_cell(cells[i]));
		else if (specs[i].type == ORMA_COLUMN_STRING)
			sqlite3_bind_text(
				insert, i + 2,
				orma_store_pool_get(&fixture->pool, (uint32_t)cells[i]).data, -1,
				SQLITE_STATIC);
		else
			sqlite3_bind_int64(insert, i + 2, cells[i]);
	}
	int64_t computed;
	read_computed(NULL, row, 1, &computed);
	if (computed == ORMA_CELL_NULL)
		sqlite3_bind_null(insert, COLUMNS + 2);
	else
		sqlite3_bind_int64(insert, COLUMNS + 2, computed);
	CHECK_INT(sqlite3_step(insert), SQLITE_DONE);
	CHECK_INT(sqlite3_reset(insert), SQLITE_OK);
}

static void register_relation(struct relation_fixture *fixture)
{
	CHECK_INT(orma_sql_relation_new("r", "id", &fixture->pool, &fixture->relation), 0);
	CHECK_INT(orma_sql_relation_add_table(fixture->relation, &fixture->table), 0);
	CHECK_INT(orma_sql_relation_add(fixture->relation,
					&(struct orma_relation_column){.name = "twice",
								       .type = ORMA_COLUMN_INT,
								       .read = read_computed}),
		  0);
	CHECK_INT(orma_sql_relation_register(fixture->db, fixture->relation, &fixture->interrupt),
		  0);
}

void fixture_open(struct relation_fixture *fixture, uint64_t rows, uint64_t seed)
{
	int64_t ts = 1000, cells[COLUMNS];
	*fixture = (struct relation_fixture){.extents = {.fd = -1}, .pool = {.text = {.fd = -1}}};
	CHECK_INT(orma_store_table_init(&fixture->table, "r", specs, COLUMNS, &fixture->extents),
		  0);
	CHECK_INT(sqlite3_open(":memory:", &fixture->db), SQLITE_OK);
	CHECK_INT(sqlite3_exec(fixture->db,
			       "create table plain(id integer primary key, ts bigint, dur bigint, "
			       "track_id bigint, parent_id bigint, name text, value double, "
			       "twice bigint); begin",
			       NULL, NULL, NULL),
		  SQLITE_OK);
	sqlite3_stmt *insert;
	CHECK_INT(sqlite3_prepare_v2(fixture->db,
				     "insert into plain values(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", -1,
				     &insert, NULL),
		  SQLITE_OK);
	for (uint64_t row = 0; row < rows; row++) {
		fill_row(fixture, row, &seed, &ts, cells);
		CHECK_INT(orma_store_table_append(&fixture->table, cells), 0);
		insert_plain(fixture, insert, row, cells);
	}
	sqlite3_finalize(insert);
	CHECK_INT(sqlite3_exec(fixture->db, "commit", NULL, NULL, NULL), SQLITE_OK);
	CHECK_INT(orma_store_table_seal(&fixture->table), 0);
	register_relation(fixture);
}

void fixture_close(struct relation_fixture *fixture)
{
	CHECK_INT(sqlite3_close(fixture->db), SQLITE_OK);
	CHECK_INT(fixture->relation->refs, 1);
	orma_sql_relation_unref(fixture->relation);
	orma_store_table_done(&fixture->table);
	orma_store_extents_done(&fixture->extents);
	orma_store_pool_done(&fixture->pool);
}

static void append_cell(struct orma_buf *text, sqlite3_stmt *statement, int column)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		orma_base_buf_append_str(text, "NULL");
		break;
	case SQLITE_INTEGER:
		orma_base_buf_printf(text, "%lld", sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		orma_base_buf_printf(text, "%.17g", sqlite3_column_double(statement, column) + 0.0);
		break;
	default:
		orma_base_buf_printf(text, "'%s'", sqlite3_column_text(statement, column));
		break;
	}
}

char *fixture_rows(sqlite3 *db, const char *sql)
{
	struct orma_buf text = {0};
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		orma_test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
	int r;
	while ((r = sqlite3_step(statement)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			append_cell(&text, statement, i);
			orma_base_buf_append_str(
				&text, i + 1 < sqlite3_column_count(statement) ? "," : "\n");
		}
	if (r != SQLITE_DONE)
		orma_test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	char *copy = strdup(orma_base_buf_cstr(&text));
	orma_base_buf_done(&text);
	return copy;
}

static char *with_table(const char *sql, const char *table)
{
	struct orma_buf text = {0};
	for (; *sql; sql++)
		if (*sql == '$')
			orma_base_buf_append_str(&text, table);
		else
			orma_base_buf_append(&text, sql, 1);
	char *copy = strdup(orma_base_buf_cstr(&text));
	orma_base_buf_done(&text);
	return copy;
}

void fixture_compare(struct relation_fixture *fixture, const char *sql)
{
	char *relation_sql = with_table(sql, "r"), *plain_sql = with_table(sql, "plain");
	char *actual = fixture_rows(fixture->db, relation_sql);
	char *expected = fixture_rows(fixture->db, plain_sql);
	if (strcmp(actual, expected) != 0)
		orma_test_fail(__FILE__, __LINE__, "%s\n-- is\n%.300s\n-- expected\n%.300s",
			       relation_sql, actual, expected);
	free(actual);
	free(expected);
	free(relation_sql);
	free(plain_sql);
}
