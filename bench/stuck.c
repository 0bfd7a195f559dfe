/* SPDX-License-Identifier: Apache-2.0
 * stuck.c - how a client that is stuck delays others: flushes of one session, while in another
 * session a consumer does not read, a producer does not read, or the output file blocks.
 *
 * The consumer is a process that writes its trace into a full pipe. The producer is a process that
 * is stopped, while its session asks it for a flush every few milliseconds. The file is a pipe that
 * nothing reads. They are stuck before the first flush is measured, and remain so after the last.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "session.h"

#define SOURCE    "orma.stuck"
#define SETTLE_NS 300000000
#define RESULT_MS 60000
/* This is longer than the peer waits for a consumer that does not read. */
#define PATIENCE_MS 12000

enum stuck { STUCK_NOBODY, STUCK_CONSUMER, STUCK_PRODUCER, STUCK_DISK };

struct victim {
	enum stuck what;
	struct bench_producer producer;
	struct orma_session *session; /* consumer in this process */
	pid_t reader;                 /* consumer in a process of its own */
	int pipe[2];
};

static void settle(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
}

/* Starts a producer. If it does not start, its process has ended already: pid is 0. */
static int start_producer(const struct bench_daemon *daemon, char *const argv[],
			  struct victim *victim)
{
	int r = bench_producer_start(daemon, argv, &victim->producer);

	if (r < 0)
		victim->producer.pid = 0;
	return r;
}

/* Runs the consumer's process. Never returns. */
static _Noreturn void read_nothing(const struct bench_daemon *daemon, int out_fd, int ready_fd,
				   int go_fd)
{
	const struct bench_config config = {.source = SOURCE, .buffer_kib = 64u << 10};
	struct orma_session *session;
	uint64_t bytes;
	char byte = bench_session_start(daemon, &config, -1, &session) < 0 ? 'x' : 'r';

	if (write(ready_fd, &byte, 1) == 1 && byte == 'r' && read(go_fd, &byte, 1) == 1)
		(void)orma_session_read_into_fd(session, out_fd, &bytes);
	_exit(1);
}

/* Fills a session of 64 MiB. Its reader stops in the middle of reading it. */
static int begin_consumer(const struct bench_options *options, const struct bench_daemon *daemon,
			  struct victim *victim)
{
	char *argv[] = {(char *)options->producer,
			"--name",
			SOURCE,
			"--size",
			"1000",
			"--count",
			"50000",
			NULL};
	struct bench_emitted emitted;
	int ready[2], go[2], r = 0;
	char byte = 0;

	if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	victim->reader = fork();
	if (victim->reader == 0)
		read_nothing(daemon, victim->pipe[1], ready[1], go[0]);
	if (victim->reader < 0)
		r = -errno;
	else if (read(ready[0], &byte, 1) != 1 || byte != 'r')
		r = -EPIPE;
	if (r == 0)
		r = start_producer(daemon, argv, victim);
	if (r == 0)
		r = bench_producer_wait(&victim->producer, RESULT_MS, &emitted);
	if (r == 0 && write(go[1], "g", 1) != 1)
		r = -errno;
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	return r;
}

static int begin_producer(const struct bench_options *options, const struct bench_daemon *daemon,
			  struct victim *victim)
{
	const struct bench_config config = {
		.source = SOURCE, .buffer_kib = 1024, .flush_period_ms = 2};
	char *argv[] = {(char *)options->producer, "--name", SOURCE, "--idle", NULL};
	int r = start_producer(daemon, argv, victim);

	if (r == 0)
		r = bench_session_start(daemon, &config, -1, &victim->session);
	if (r == 0 && kill(victim->producer.pid, SIGSTOP) < 0)
		r = -errno;
	return r;
}

static int begin_disk(const struct bench_options *options, const struct bench_daemon *daemon,
		      struct victim *victim)
{
	const struct bench_config config = {
		.source = SOURCE, .buffer_kib = 8192, .file_period_ms = 100};
	char *argv[] = {(char *)options->producer,
			"--name",
			SOURCE,
			"--size",
			"1000",
			"--rate",
			"20",
			NULL};
	int r = bench_session_start(daemon, &config, victim->pipe[1], &victim->session);

	return r < 0 ? r : start_producer(daemon, argv, victim);
}

static int begin(const struct bench_options *options, const struct bench_daemon *daemon,
		 struct victim *victim)
{
	int r = 0;

	if (victim->what == STUCK_CONSUMER)
		r = begin_consumer(options, daemon, victim);
	else if (victim->what == STUCK_PRODUCER)
		r = begin_producer(options, daemon, victim);
	else if (victim->what == STUCK_DISK)
		r = begin_disk(options, daemon, victim);
	settle();
	return r;
}

static void end(struct victim *victim)
{
	if (victim->reader > 0) {
		kill(victim->reader, SIGKILL);
		waitpid(victim->reader, NULL, 0);
	}
	close(victim->pipe[0]);
	close(victim->pipe[1]);
	orma_session_free(victim->session);
	if (victim->producer.pid > 0) {
		kill(victim->producer.pid, SIGCONT);
		bench_producer_stop(&victim->producer);
	}
}

/* The bystander connects before the others get stuck, because connecting might hang. */
static int time_bystander(const struct bench_options *options, struct bench_daemon *daemon,
			  struct victim *victim, struct bench_flush_times *ret)
{
	const struct bench_config config = {.buffer_kib = 1024, .timeout_ms = PATIENCE_MS};
	char *argv[] = {(char *)options->producer, "--rate", "1", NULL};
	struct bench_producer producer;
	struct orma_session *session;
	int r = bench_session_start(daemon, &config, -1, &session);

	if (r < 0)
		return r;
	r = bench_producer_start(daemon, argv, &producer);
	if (r == 0) {
		r = begin(options, daemon, victim);
		if (r == 0)
			r = bench_time_flushes(options->flushes, session, ret);
		bench_producer_stop(&producer);
	}
	end(victim);
	orma_session_free(session);
	return r;
}

static int measure_stuck(const struct bench_options *options, struct bench_report *report,
			 enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	static const char *const names[] = {
		[STUCK_NOBODY] = "nobody stuck",
		[STUCK_CONSUMER] = "a consumer that reads nothing",
		[STUCK_PRODUCER] = "a producer that reads nothing",
		[STUCK_DISK] = "a file that takes nothing",
	};
	static const char block[] = "flush beside stuck clients";
	struct victim victim = {.what = *(const enum stuck *)ctx};
	struct bench_flush_times times;
	char name[BENCH_NAME_MAX];
	int r = -EMFILE;

	if (pipe2(victim.pipe, O_CLOEXEC) == 0)
		r = time_bystander(options, daemon, &victim, &times);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s, p99", names[victim.what]);
	bench_row_add(bench_report_row(report, block, name, "us", true), side, times.p99_us);
	snprintf(name, sizeof(name), "%s, longest", names[victim.what]);
	bench_row_add(bench_report_row(report, block, name, "us", true), side, times.longest_us);
	return 0;
}

int bench_rows_stuck(const struct bench_options *options, struct bench_report *report)
{
	static const enum stuck kinds[] = {STUCK_NOBODY, STUCK_CONSUMER, STUCK_PRODUCER,
					   STUCK_DISK};
	unsigned runs = options->runs < 3 ? options->runs : 3;
	int result = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int r = bench_measure_in_turns(options, report, runs, measure_stuck, &kinds[i]);

		result = r < 0 ? r : result;
	}
	return result;
}
