/* SPDX-License-Identifier: Apache-2.0
 * heap_bench.c - the cost of the heap profiler for the profiled program: `bench_heap` prints the time of one malloc() and
 * free(), bare and below each profiler, and the time of a sample.
 *
 * The benchmark runs itself as a child, with other libraries preloaded, beside a daemon. A pair is measured in a loop, by
 * the CPU time of the thread. For a sample the interval is 1, so that each allocation is sampled, with 40 frames. Samples come
 * in bursts that shared memory has room for, so no thread waits. Each block is freed, which counts as part of its sample's time.
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "process.h"
#include "text_session.h"

enum {
	THREADS_MAX = 16,
	ROUNDS = 7,
	PAIRS = 3000000,
	BURSTS = 101,
	BURST_PAIRS = 1000,
	DEPTH = 36
};

static void *volatile sink;

/* --- the child -------------------------------------------------------------------------------- */

static double pairs_ns(clockid_t clock, unsigned count)
{
	uint64_t start = orma_base_clock_ns(clock);

	for (unsigned i = 0; i < count; i++) {
		void *block = malloc(64);

		sink = block;
		free(block);
	}
	return (double)(orma_base_clock_ns(clock) - start) / count;
}

static void *run_steady(void *ctx)
{
	double *best = ctx;

	*best = 1e9;
	for (unsigned i = 0; i < ROUNDS; i++)
		*best = ORMA_MIN(*best, pairs_ns(CLOCK_THREAD_CPUTIME_ID, PAIRS));
	return NULL;
}

static double steady(unsigned thread_count)
{
	pthread_t threads[THREADS_MAX];
	double best[THREADS_MAX], sum = 0;

	for (unsigned i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, run_steady, &best[i]) != 0)
			return -1;
	for (unsigned i = 0; i < thread_count; i++) {
		pthread_join(threads[i], NULL);
		sum += best[i];
	}
	return sum / thread_count;
}

static int compare(const void *a, const void *b)
{
	const double *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static double bursts(void)
{
	double results[BURSTS];

	for (unsigned i = 0; i < BURSTS; i++) {
		usleep(5000);
		results[i] = pairs_ns(CLOCK_THREAD_CPUTIME_ID, BURST_PAIRS);
	}
	qsort(results, BURSTS, sizeof(results[0]), compare);
	return results[BURSTS / 2];
}

/* NOLINTNEXTLINE(misc-no-recursion): the frames are the purpose */
static __attribute__((noinline)) double bursts_at(unsigned depth)
{
	double result = depth == 0 ? bursts() : bursts_at(depth - 1);

	/* Keeps the call from becoming a jump. */
	sink = &result;
	return result;
}

static int run_child(const char *mode, unsigned count)
{
	printf("%f\n", strcmp(mode, "bursts") == 0 ? bursts_at(DEPTH) : steady(count));
	return 0;
}

/* --- the parent ------------------------------------------------------------------------------- */

struct variant {
	const char *name;
	const char *library;     /* preloaded; NULL = none */
	const char *variable;    /* one more variable; NULL = none */
	uint64_t interval_bytes; /* asked for by a session; 0 = none */
	const char *mode;
	unsigned count;
};

static const char *program;
static struct bench_daemon daemon_process;

static struct orma_session *start_session(uint64_t interval_bytes)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 65536 } data_sources { config { name: \"orma.heap\" "
		 "heapprofd_config { all: true sampling_interval_bytes: %llu } } }",
		 (unsigned long long)interval_bytes);
	return bench_text_session_start(&daemon_process, text);
}

/* Returns a negative number if it could not be measured. */
static double run_variant(const struct variant *variant)
{
	char preload[4200], socket[200], count[16], line[64] = "";
	char *arguments[] = {(char *)program, (char *)variant->mode, count, NULL};
	char *variables[6] = {NULL};
	size_t used = 0;
	posix_spawn_file_actions_t actions;
	struct orma_session *session = NULL;
	int fds[2], status = 0;
	pid_t pid;

	if (variant->interval_bytes > 0 && !(session = start_session(variant->interval_bytes)))
		return -1;
	snprintf(count, sizeof(count), "%u", variant->count);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s",
		 variant->library ? variant->library : "");
	snprintf(socket, sizeof(socket), "ORMA_HEAP_SOCK=%s", daemon_process.producer_socket);
	variables[used++] = preload;
	variables[used++] = socket;
	if (session)
		variables[used++] = (char *)"ORMA_HEAP_WAIT=1";
	if (variant->variable)
		variables[used++] = (char *)variant->variable;
	if (pipe(fds) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, fds[0]);
	if (posix_spawn(&pid, program, &actions, NULL, arguments, variables) != 0)
		pid = -1;
	close(fds[1]);
	if (pid > 0 && read(fds[0], line, sizeof(line) - 1) < 0)
		line[0] = '\0';
	close(fds[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&actions);
	orma_session_free(session);
	return pid > 0 && status == 0 && line[0] ? strtod(line, NULL) : -1;
}

static void measure(const struct variant *variants, size_t count)
{
	double bare = 0;

	for (size_t i = 0; i < count; i++) {
		double ns;

		if (variants[i].library && access(variants[i].library, R_OK) != 0) {
			printf("%-58s %10s\n", variants[i].name, "not here");
			continue;
		}
		ns = run_variant(&variants[i]);
		if (strcmp(variants[i].mode, "bursts") != 0 && !variants[i].library && bare == 0)
			bare = ns;
		if (ns < 0)
			printf("%-58s %10s\n", variants[i].name, "failed");
		else
			printf("%-58s %7.1f ns %+8.1f\n", variants[i].name, ns, ns - bare);
		fflush(stdout);
	}
}

int main(int argument_count, char **arguments)
{
	static char own[] = ORMA_BUILD_DIR "/liborma-heap.so";
	static char model[] = ORMA_BUILD_DIR "/bench_heap_model.so";
	static char jemalloc[] = "/usr/lib/" ORMA_MULTIARCH "/libjemalloc.so.2";
	const struct variant variants[] = {
		{"pair, bare", NULL, NULL, 0, "steady", 1},
		{"pair, liborma-heap, no session", own, NULL, 0, "steady", 1},
		{"pair, liborma-heap, 512 KiB", own, NULL, 524288, "steady", 1},
		{"pair, liborma-heap, 512 KiB, 2 threads", own, NULL, 524288, "steady", 2},
		{"pair, liborma-heap, 4 KiB", own, NULL, 4096, "steady", 1},
		{"pair, model of upstream's client", model, NULL, 0, "steady", 1},
		{"pair, model of upstream's client, 2 threads", model, NULL, 0, "steady", 2},
		{"pair, jemalloc", jemalloc, NULL, 0, "steady", 1},
		{"pair, jemalloc's profiler, 512 KiB", jemalloc,
		 "MALLOC_CONF=prof:true,lg_prof_sample:19", 0, "steady", 1},
		{"sample and its free, 40 frames, liborma-heap", own, NULL, 1, "bursts", 1},
		{"sample and its free, 40 frames, jemalloc's profiler", jemalloc,
		 "MALLOC_CONF=prof:true,lg_prof_sample:0", 0, "bursts", 1},
	};
	char path[4096];
	ssize_t size;

	if (argument_count == 3)
		return run_child(arguments[1], (unsigned)strtoul(arguments[2], NULL, 10));
	size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (size < 0)
		return 1;
	path[size] = '\0';
	program = path;
	if (bench_daemon_start(ORMA_BUILD_DIR "/orma", "traced", &daemon_process) < 0) {
		fprintf(stderr, "bench_heap: cannot start the daemon\n");
		return 1;
	}
	measure(variants, ORMA_ARRAY_SIZE(variants));
	bench_daemon_stop(&daemon_process);
	return 0;
}
