/* SPDX-License-Identifier: Apache-2.0
 * heap_programs.c - what the heap profiler costs whole programs: sqlite3, python3 and gcc's cc1, by themselves and profiled, in
 * turns.
 *
 * There are two costs, and they are not added up. The first is the program's own: CPU time of its process, the thread of the
 * library included, and its wall time, while a session of `orma profd` runs already. The aim of 0.3 % at 512 KiB and 3 % at
 * 4 KiB is about this one, as a profiler that is always there has no other. Beside it is the CPU time that `orma profd` takes
 * meanwhile, which may be on another processor. The second is what `orma heap -- PROGRAM` takes in all, with its service, its
 * reading of symbols and its trace; most of that is the same for each program, so `true` is one of them.
 *
 * The libraries of heap_floor.c say which part of the first cost no preloaded profiler can avoid.
 *
 * Other work on the machine makes single runs useless. So the variants of a program take turns; "least" compares the fastest
 * runs, and "median" is that of the differences to the run without a profiler in the same turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "process.h"
#include "text_session.h"

enum { TURNS_DEFAULT = 15, TURNS_MAX = 1000, FUNCTIONS = 300 };

#define LIBRARY ORMA_BUILD_DIR "/liborma-heap.so"
#define TOOL    ORMA_BUILD_DIR "/orma"

extern char **environ;

static struct bench_daemon daemon_process;
static char profiler_socket[BENCH_PATH_BYTES + 16], sql_path[BENCH_PATH_BYTES + 16],
	read_sql[BENCH_PATH_BYTES + 32], source_path[BENCH_PATH_BYTES + 16],
	trace_path[BENCH_PATH_BYTES + 16];
static pid_t profiler;

struct program {
	const char *name;
	char *arguments[8];
};

/* --- running ---------------------------------------------------------------------------------- */

struct cost {
	double cpu_ms, wall_ms, service_ms;
};

static pid_t start(char *const arguments[], char *const more_variables[])
{
	char *variables[512];
	size_t used = 0;
	posix_spawn_file_actions_t actions;
	pid_t pid;

	for (; more_variables[used]; used++)
		variables[used] = more_variables[used];
	for (char **at = environ; *at && used + 1 < ORMA_ARRAY_SIZE(variables); at++)
		variables[used++] = *at;
	variables[used] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, variables) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* A negative CPU time: the program could not be run. */
static struct cost run(char *const arguments[], char *const variables[])
{
	uint64_t before_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	pid_t pid = start(arguments, variables);
	struct rusage usage;
	int status;

	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0)
		return (struct cost){.cpu_ms = -1};
	return (struct cost){
		.cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
			  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3,
		.wall_ms = (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - before_ns) / 1e6,
	};
}

static uint64_t service_cpu_ns(void)
{
	struct bench_usage usage = {0};

	(void)bench_usage_read(profiler, &usage);
	return usage.cpu_ns;
}

static struct orma_session *start_session(uint64_t interval_bytes)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 65536 } data_sources { config { name: \"android.heapprofd\" "
		 "heapprofd_config { all: true sampling_interval_bytes: %llu block_client: true } "
		 "} }",
		 (unsigned long long)interval_bytes);
	return bench_text_session_start(&daemon_process, text);
}

/* The program's own cost while a session runs; with an interval of 0, without one. */
static struct cost run_profiled(const struct program *program, uint64_t interval_bytes)
{
	char socket[sizeof(profiler_socket) + 16];
	char *variables[] = {(char *)"LD_PRELOAD=" LIBRARY, socket,
			     interval_bytes ? (char *)"ORMA_HEAP_WAIT=1" : NULL, NULL};
	struct orma_session *session = NULL;
	struct cost cost;
	uint64_t service_ns;

	snprintf(socket, sizeof(socket), "ORMA_HEAP_SOCK=%s", profiler_socket);
	if (interval_bytes && !(session = start_session(interval_bytes)))
		return (struct cost){.cpu_ms = -1};
	service_ns = service_cpu_ns();
	cost = run(program->arguments, variables);
	cost.service_ms = (double)(service_cpu_ns() - service_ns) / 1e6;
	orma_session_free(session);
	return cost;
}

/* The program with a library of heap_floor.c, or alone. */
static struct cost run_with(const struct program *program, const char *library)
{
	char preload[sizeof(ORMA_BUILD_DIR) + 64];
	char *variables[] = {library[0] ? preload : NULL, NULL};

	snprintf(preload, sizeof(preload), "LD_PRELOAD=" ORMA_BUILD_DIR "/bench_heap_%s.so",
		 library);
	return run(program->arguments, variables);
}

/* All that `orma heap` takes, the program included. */
static struct cost run_command(const struct program *program, uint64_t interval_bytes)
{
	char interval[32];
	char *none[] = {NULL}, *arguments[ORMA_ARRAY_SIZE(program->arguments) + 8] = {
				       (char *)TOOL, (char *)"heap", (char *)"-q", (char *)"-o",
				       trace_path,   (char *)"-i",   interval,     (char *)"--",
			       };

	snprintf(interval, sizeof(interval), "%llu", (unsigned long long)interval_bytes);
	for (size_t i = 0; i + 1 < ORMA_ARRAY_SIZE(program->arguments); i++)
		arguments[8 + i] = program->arguments[i];
	return run(arguments, none);
}

/* --- comparing -------------------------------------------------------------------------------- */

static const struct variant {
	const char *name;
	const char *preload; /* a library of heap_floor.c in place of the profiler; "" = none */
	bool is_command;
	uint64_t interval_bytes;
} variants[] = {
	{"alone", .preload = ""},
	{"jumps only", .preload = "jumps"},
	{"thread only", .preload = "thread"},
	{"jumps and thread", .preload = "floor"},
	{"no session", .interval_bytes = 0},
	{"512 KiB, own", .interval_bytes = 524288},
	{"4 KiB, own", .interval_bytes = 4096},
	{"orma heap -i 512k", .is_command = true, .interval_bytes = 524288},
	{"orma heap -i 4k", .is_command = true, .interval_bytes = 4096},
};

enum { VARIANTS = ORMA_ARRAY_SIZE(variants) };

struct column {
	double values[TURNS_MAX];
};

static int compare(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static double least_of(const double *values, size_t count)
{
	double least = values[0];

	for (size_t i = 1; i < count; i++)
		least = ORMA_MIN(least, values[i]);
	return least;
}

static void print_row(const char *program, size_t variant, struct column cpu[],
		      struct column wall[], struct column *service, size_t turns)
{
	static double differences[TURNS_MAX];
	double bare_cpu = least_of(cpu[0].values, turns),
	       bare_wall = least_of(wall[0].values, turns);
	double least_cpu = least_of(cpu[variant].values, turns);
	double least_wall = least_of(wall[variant].values, turns);

	for (size_t i = 0; i < turns; i++)
		differences[i] = cpu[variant].values[i] - cpu[0].values[i];
	printf("%-8s %-18s %8.1f %+7.1f %+6.2f%% %+7.2f%% %9.1f %+7.1f", program,
	       variants[variant].name, least_cpu, least_cpu - bare_cpu,
	       100 * (least_cpu / bare_cpu - 1), 100 * median_of(differences, turns) / bare_cpu,
	       least_wall, least_wall - bare_wall);
	if (!variants[variant].preload && !variants[variant].is_command)
		printf(" %8.1f", median_of(service->values, turns));
	printf("\n");
	fflush(stdout);
}

static void measure(const struct program *program, size_t turns)
{
	static struct column cpu[VARIANTS], wall[VARIANTS], service[VARIANTS];

	for (size_t turn = 0; turn < turns; turn++) {
		for (size_t i = 0; i < VARIANTS; i++) {
			const struct variant *variant = &variants[i];
			struct cost cost = variant->preload ? run_with(program, variant->preload)
					   : variant->is_command
						   ? run_command(program, variant->interval_bytes)
						   : run_profiled(program, variant->interval_bytes);

			if (cost.cpu_ms < 0) {
				printf("%-8s %-18s failed\n", program->name, variant->name);
				return;
			}
			cpu[i].values[turn] = cost.cpu_ms;
			wall[i].values[turn] = cost.wall_ms;
			service[i].values[turn] = cost.service_ms;
		}
	}
	for (size_t i = 0; i < VARIANTS; i++)
		print_row(program->name, i, cpu, wall, &service[i], turns);
}

/* --- the programs' work ----------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* A source that cc1 works at for about a second. */
static bool write_source(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return false;
	for (unsigned i = 0; i < FUNCTIONS; i++)
		fprintf(file,
			"struct s%u { int a, b[%u]; struct s%u *next; };\n"
			"int f%u(struct s%u *s, int n) { int sum = %u;\n"
			"for (int i = 0; i < n; i++) { sum += s->b[i %% %u] * i; if (sum & 4) s = "
			"s->next;"
			" switch (sum %% 7) { case 0: sum ^= i; break; case 1: sum -= s->a; break;"
			" default: sum++; } }\nreturn sum; }\n",
			i, i % 13 + 1, i, i, i, i, i % 13 + 1);
	return fclose(file) == 0;
}

static const char sql[] =
	"CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);\n"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)\n"
	"INSERT INTO t SELECT i, printf('row %d of many', i * 7919 % 300000), i * 1.5 FROM n;\n"
	"CREATE INDEX tb ON t(b);\n"
	"SELECT count(*), sum(length(upper(b) || lower(b))) FROM t;\n"
	"SELECT substr(b, 1, 6) k, count(*), max(c) FROM t GROUP BY k ORDER BY 2 DESC LIMIT 3;\n";

static char python[] =
	"import json\n"
	"rows = [{'id': i, 'name': 'row %d' % i, 'tags': [str(i + j) for j in range(8)]} for i in "
	"range(40000)]\n"
	"for _ in range(3):\n"
	"    text = json.dumps(rows)\n"
	"    rows = json.loads(text)\n"
	"    rows.sort(key=lambda r: r['name'])\n"
	"print(len(text), sum(len(s) for r in rows for s in r['tags']))\n";

static bool find_compiler(char *path, size_t size)
{
	FILE *pipe = popen("gcc -print-prog-name=cc1", "r");
	bool is_read = pipe && fgets(path, (int)size, pipe);

	if (pipe)
		pclose(pipe);
	path[strcspn(path, "\n")] = '\0';
	return is_read && access(path, X_OK) == 0;
}

static void measure_programs(size_t turns)
{
	static char compiler[4096];
	struct program programs[] = {
		{"true", {(char *)"/bin/true"}},
		{"sqlite3", {(char *)"/usr/bin/sqlite3", (char *)":memory:", read_sql}},
		{"python3", {(char *)"/usr/bin/python3", (char *)"-c", python}},
		{"cc1",
		 {compiler, (char *)"-quiet", (char *)"-O1", source_path, (char *)"-o",
		  (char *)"/dev/null"}},
	};

	printf("%-8s %-18s %8s %7s %7s %8s %9s %7s %8s\n", "program", "variant", "CPU ms", "more",
	       "least", "median", "wall ms", "more", "profd ms");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(programs); i++) {
		if (programs[i].arguments[0] == compiler &&
		    !find_compiler(compiler, sizeof(compiler)))
			continue;
		if (access(programs[i].arguments[0], X_OK) == 0)
			measure(&programs[i], turns);
	}
}

/* --- the daemons ------------------------------------------------------------------------------ */

static int start_profiler(void)
{
	char socket[sizeof(profiler_socket) + 16], producers[sizeof(profiler_socket) + 32];
	char *arguments[] = {(char *)TOOL, (char *)"profd", NULL};
	char *variables[] = {socket, producers, NULL};

	snprintf(socket, sizeof(socket), "ORMA_HEAP_SOCK=%s", profiler_socket);
	snprintf(producers, sizeof(producers), "PERFETTO_PRODUCER_SOCK_NAME=%s",
		 daemon_process.producer_socket);
	profiler = start(arguments, variables);
	return profiler > 0 ? 0 : -1;
}

static void stop(void)
{
	if (profiler > 0 && kill(profiler, SIGTERM) == 0)
		(void)waitpid(profiler, NULL, 0);
	(void)unlink(profiler_socket);
	(void)unlink(sql_path);
	(void)unlink(source_path);
	(void)unlink(trace_path);
	bench_daemon_stop(&daemon_process);
}

int main(int argument_count, char **arguments)
{
	size_t turns = argument_count > 1 ? strtoul(arguments[1], NULL, 10) : TURNS_DEFAULT;

	if (turns == 0 || turns > TURNS_MAX) {
		fprintf(stderr, "usage: bench_heap_programs [TURNS]\n");
		return 2;
	}
	if (bench_daemon_start(TOOL, "traced", &daemon_process) < 0) {
		fprintf(stderr, "bench_heap_programs: cannot start the daemon\n");
		return 1;
	}
	snprintf(profiler_socket, sizeof(profiler_socket), "%s/profiler", daemon_process.folder);
	snprintf(sql_path, sizeof(sql_path), "%s/work.sql", daemon_process.folder);
	snprintf(source_path, sizeof(source_path), "%s/work.c", daemon_process.folder);
	snprintf(trace_path, sizeof(trace_path), "%s/trace", daemon_process.folder);
	snprintf(read_sql, sizeof(read_sql), ".read %s", sql_path);
	bool is_ready =
		write_text(sql_path, sql) && write_source(source_path) && start_profiler() == 0;
	if (is_ready)
		measure_programs(turns);
	else
		fprintf(stderr, "bench_heap_programs: cannot prepare in %s: %s\n",
			daemon_process.folder, strerror(errno));
	stop();
	return is_ready ? 0 : 1;
}
