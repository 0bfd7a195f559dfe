/* SPDX-License-Identifier: Apache-2.0
 * answers_bench.c - loads a trace, and asks it: CPU and wall time of each step, and the memory at its peak.
 *
 * Usage: answers_bench TRACE [--memory MB] [QUERY...]
 *
 * Without queries it asks those that docs/performance.md has figures of, as far as the trace has rows for them. Each is
 * run three times, and the fastest counts, but for statements that make something.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "answers/trace_database.h"
#include "base/macros.h"
#include "sql/result.h"

enum { RUNS = 3 };

static const char *const slice_queries[] = {
	"select count(*) from slice",
	"select sum(dur) from slice",
	"select count(*), sum(dur) from slice where name = 'function_name_77'",
	"select count(*) from slice where dur > 40000",
	"select track_id, count(*), sum(dur) from slice group by track_id",
	"select name, count(*), sum(dur) s from slice group by name order by s desc limit 10",
	"select id, dur from slice order by dur desc limit 10",
	"select count(*), sum(dur) from slice join thread_track t on slice.track_id = t.id join "
	"thread using (utid) "
	"where thread.name = 'thread 3'",
	"select count(*) from slice where ts between 2000000000 and 2100000000",
	"select count(*), sum(p.dur) from slice c join slice p on c.parent_id = p.id",
	"select sum(extract_arg(arg_set_id, 'debug.count')) from slice",
	"create perfetto table long_slices as select id, ts, dur from slice where dur > 20000",
	"include perfetto module slices.self_dur; select sum(self_dur) from slice_self_dur",
	"select thread.name, count(*), sum(dur) from slice join thread_track t on slice.track_id = "
	"t.id "
	"join thread using (utid) group by thread.name",
};
static const char *const sched_queries[] = {
	"select utid, sum(dur) from sched group by utid",
	"select state, count(*), sum(dur) from thread_state group by state",
	"include perfetto module sched.time_in_state; select count(*) from "
	"sched_time_in_state_for_thread",
	"select thread.name, sum(dur) from sched join thread using (utid) group by thread.name "
	"order by 2 desc limit 5",
	"select cpu, count(*), sum(dur), avg(dur) from sched group by cpu",
};

static double seconds(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
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

static int run(struct orma_sql *sql, const char *text)
{
	double best_cpu = 1e9, best_wall = 1e9;
	unsigned long long count = 0;
	bool makes = strncmp(text, "select", 6) != 0;
	for (int i = 0; i < (makes ? 1 : RUNS); i++) {
		struct orma_error error = {0};
		const struct orma_result_sink sink = {&count, ignore_names, count_row, ignore_end};
		double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		count = 0;
		int r = orma_sql_run(sql, orma_base_str(text), &sink, &error);
		if (r < 0) {
			fprintf(stderr, "%s: %s\n", text, error.message);
			return r;
		}
		best_cpu = ORMA_MIN(best_cpu, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
		best_wall = ORMA_MIN(best_wall, seconds(CLOCK_MONOTONIC) - wall);
	}
	printf("%9.1f ms CPU %9.1f ms wall %8llu rows  %s\n", best_cpu * 1e3, best_wall * 1e3,
	       count, text);
	return 0;
}

static int run_all(struct orma_trace_database *database)
{
	bool has_slices = orma_store_table_rows(&database->tables.all[ORMA_TABLE_SLICE]) > 0;
	int r = 0;
	if (has_slices)
		for (size_t i = 0; r == 0 && i < ORMA_ARRAY_SIZE(slice_queries); i++)
			r = run(database->sql, slice_queries[i]);
	else
		for (size_t i = 0; r == 0 && i < ORMA_ARRAY_SIZE(sched_queries); i++)
			r = run(database->sql, sched_queries[i]);
	return r;
}

int main(int argc, char **argv)
{
	struct orma_trace_options options = {0};
	struct orma_trace_database *database = NULL;
	struct orma_error error = {0};
	struct rusage usage;
	int first = 2;
	if (argc > 3 && strcmp(argv[2], "--memory") == 0) {
		options.memory_bytes = (size_t)strtoull(argv[3], NULL, 10) << 20;
		first = 4;
	}
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: %s TRACE [--memory MB] [QUERY...]\n", argv[0]);
		return 2;
	}
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	int r = orma_trace_database_open(fd, &options, &database, &error);
	if (!database) {
		fprintf(stderr, "%s: %s\n", argv[1], error.message);
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%9.1f ms CPU %9.1f ms wall %8ld MB    loading\n",
	       (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e3,
	       (seconds(CLOCK_MONOTONIC) - wall) * 1e3, usage.ru_maxrss / 1024);
	r = first == argc ? run_all(database) : 0;
	for (int i = first; r == 0 && i < argc; i++)
		r = run(database->sql, argv[i]);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory %ld MB\n", usage.ru_maxrss / 1024);
	orma_trace_database_free(database);
	return r != 0;
}
