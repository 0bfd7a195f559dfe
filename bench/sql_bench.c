/* SPDX-License-Identifier: Apache-2.0
 * sql_bench.c - queries over a table of 8 M slices that is filled here: 16 tracks, 2,000 names, nested four deep.
 *
 * Usage: sql_bench [ROWS [QUERY...]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/macros.h"
#include "sql/relation.h"
#include "sql/result.h"
#include "sql/sql_engine.h"

enum { TS, DUR, TRACK, CATEGORY, NAME, DEPTH, PARENT, COLUMNS, TRACKS = 16, NAMES = 2000 };

static const struct orma_column_spec specs[COLUMNS] = {
	[TS] = {"ts", ORMA_COLUMN_INT, ORMA_COLUMN_SORTED},
	[DUR] = {"dur", ORMA_COLUMN_INT, 0},
	[TRACK] = {"track_id", ORMA_COLUMN_INT, 0},
	[CATEGORY] = {"category", ORMA_COLUMN_STRING, 0},
	[NAME] = {"name", ORMA_COLUMN_STRING, 0},
	[DEPTH] = {"depth", ORMA_COLUMN_INT, 0},
	[PARENT] = {"parent_id", ORMA_COLUMN_INT, 0},
};

static const char *const queries[] = {
	"select count(*) from slice",
	"select sum(dur) from slice",
	"select ts, dur, track_id, name, depth from slice",
	"select count(*), sum(dur) from slice where name = 'name 77'",
	"select count(*) from slice where dur > 40000",
	"select count(*) from slice where name glob 'name 1*'",
	"select track_id, count(*), sum(dur) from slice group by track_id",
	"select name, count(*), sum(dur) s from slice group by name order by s desc limit 10",
	"select id, dur from slice order by dur desc limit 10",
	"select count(*) from slice where ts between 1000000000 and 2000000000",
	"select count(*), sum(p.dur) from slice c join slice p on c.parent_id = p.id",
	"select count(*) from slice p join slice c on c.parent_id = p.id",
	"select distinct name from slice",
	"select count(*) from slice where track_id = 3",
	"select name, track_id, avg(dur) from slice group by name, track_id",
	"select track_id, sum(dur) from (select * from slice) group by track_id",
	"create perfetto table copy as select ts, dur, name from slice where dur > 30000",
};

static double seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int fill(struct orma_table *table, struct orma_string_pool *pool, uint64_t rows)
{
	uint32_t ids[NAMES], category;
	int64_t parents[TRACKS][4] = {{0}};
	uint64_t state = 1;
	int r = orma_store_pool_add(pool, ORMA_STR("cat"), &category);
	for (int i = 0; r == 0 && i < NAMES; i++) {
		char name[32];
		int size = snprintf(name, sizeof(name), "name %d", i);
		r = orma_store_pool_add(pool, (struct orma_str){name, (size_t)size}, &ids[i]);
	}
	int64_t ts = 0;
	for (uint64_t row = 0; r == 0 && row < rows; row++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		uint64_t track = state >> 40 & (TRACKS - 1), depth = state >> 50 & 3;
		ts += (int64_t)(state >> 33 & 1023);
		const int64_t cells[COLUMNS] = {
			[TS] = ts,
			[DUR] = (int64_t)(state >> 20 & 0xffff),
			[TRACK] = (int64_t)track,
			[CATEGORY] = category,
			[NAME] = ids[(state >> 13) % NAMES],
			[DEPTH] = (int64_t)depth,
			[PARENT] = depth > 0 ? parents[track][depth - 1] : ORMA_CELL_NULL,
		};
		parents[track][depth] = (int64_t)row;
		r = orma_store_table_append(table, cells);
	}
	return r == 0 ? orma_store_table_seal(table) : r;
}

static int ignore_names(void *ctx, const char *const *names, size_t count)
{
	(void)ctx, (void)names, (void)count;
	return 0;
}

static int count_row(void *ctx, const struct orma_value *values, size_t count)
{
	(void)values, (void)count;
	++*(unsigned long long *)ctx;
	return 0;
}

static int ignore_end(void *ctx)
{
	(void)ctx;
	return 0;
}

static int run(struct orma_sql *sql, const char *text, uint64_t rows)
{
	struct orma_error error = {0};
	unsigned long long count = 0;
	const struct orma_result_sink sink = {&count, ignore_names, count_row, ignore_end};
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	int r = orma_sql_run(sql, orma_base_str(text), &sink, &error);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", text, error.message);
		return r;
	}
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = seconds(CLOCK_MONOTONIC) - wall;
	printf("%8.1f ms CPU %8.1f ms wall %7.2f ns/row %9llu rows  %s\n", cpu * 1e3, wall * 1e3,
	       cpu * 1e9 / (double)rows, count, text);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 8000000;
	struct orma_extents extents = {.fd = -1};
	struct orma_string_pool pool = {.text = {.fd = -1}};
	struct orma_table table;
	struct orma_relation *relation = NULL;
	struct orma_sql *sql = NULL;
	struct orma_error error = {0};
	double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	int r = orma_store_table_init(&table, "slice", specs, COLUMNS, &extents);
	if (r == 0)
		r = fill(&table, &pool, rows);
	if (r == 0)
		r = orma_sql_relation_new("slice", "id", &pool, &relation);
	if (r == 0)
		r = orma_sql_relation_add_table(relation, &table);
	if (r == 0)
		r = orma_sql_new(&(struct orma_sql_options){.pool = &pool}, &sql, &error);
	if (r == 0)
		r = orma_sql_add_relation(sql, relation);
	printf("filled in %.0f ms, %.1f bytes a row\n",
	       (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e3,
	       (double)extents.memory_bytes / (double)rows);
	for (size_t i = 0; r == 0 && argc <= 2 && i < ORMA_ARRAY_SIZE(queries); i++)
		r = run(sql, queries[i], rows);
	for (int i = 2; r == 0 && i < argc; i++)
		r = run(sql, argv[i], rows);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory %ld MB\n", usage.ru_maxrss / 1024);
	return r != 0;
}
