/* SPDX-License-Identifier: Apache-2.0
 * clone.c - how cloning a session with a large buffer delays others: flushes of one session while a
 * process repeatedly clones another one with 256 MiB and frees the clone.
 *
 * Another row has the same flushes without a clone, measured with the same daemon just before. A
 * third row is the time that one clone takes. The service copies in short steps, which delay others
 * less but make the clone slower.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "bench.h"
#include "session.h"

#define SOURCE      "orma.source"
#define SOURCE_KIB  (256u << 10)
#define PACKETS     "280000" /* 1,000 bytes each: more than the buffer takes */
#define RESULT_MS   60000
#define PATIENCE_MS 30000

static const char block[] = "flush beside clones of 256 MiB";

/* Clones until it is killed. Prints the duration of each clone. */
static _Noreturn void clone_for_ever(const struct bench_daemon *daemon, int to_fd)
{
	const struct orma_session_options options = {
		.struct_size = sizeof(options),
		.consumer_socket = daemon->consumer_socket,
		.timeout_ms = PATIENCE_MS,
	};
	const struct orma_session_clone_options clone = {
		.struct_size = sizeof(clone), .unique_session_name = SOURCE, .file_fd = -1};

	for (;;) {
		uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), ns;
		struct orma_error error = {0};
		struct orma_session *session;

		if (orma_session_new(&options, &session, &error) < 0 ||
		    orma_session_clone(session, &clone, NULL, &error) < 0) {
			fprintf(stderr, "bench: no clone: %s\n", error.message);
			_exit(1);
		}
		ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
		orma_session_free(session);
		if (write(to_fd, &ns, sizeof(ns)) != sizeof(ns))
			_exit(1);
	}
}

static int add_times(struct bench_report *report, enum bench_side side, const char *state,
		     const struct bench_options *options, struct orma_session *session)
{
	struct bench_flush_times times;
	char name[BENCH_NAME_MAX];
	int r = bench_time_flushes(2 * options->flushes, session, &times);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s, p50", state);
	bench_row_add(bench_report_row(report, block, name, "us", true), side, times.p50_us);
	snprintf(name, sizeof(name), "%s, p99", state);
	bench_row_add(bench_report_row(report, block, name, "us", true), side, times.p99_us);
	snprintf(name, sizeof(name), "%s, longest", state);
	bench_row_add(bench_report_row(report, block, name, "us", true), side, times.longest_us);
	return 0;
}

static int add_clones(struct bench_report *report, enum bench_side side, int from_fd)
{
	double times[BENCH_RUNS_MAX];
	unsigned count = 0;
	uint64_t ns;

	while (count < BENCH_RUNS_MAX && read(from_fd, &ns, sizeof(ns)) == sizeof(ns))
		times[count++] = (double)ns / 1e6;
	if (count == 0)
		return -ENODATA;
	bench_row_add(bench_report_row(report, block, "one clone", "ms", true), side,
		      bench_median(times, count));
	return 0;
}

static int time_beside_clones(const struct bench_options *options, struct bench_report *report,
			      enum bench_side side, const struct bench_daemon *daemon,
			      struct orma_session *bystander)
{
	int fds[2], r = add_times(report, side, "without", options, bystander);
	pid_t cloner;

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	cloner = fork();
	if (cloner == 0)
		clone_for_ever(daemon, fds[1]);
	r = cloner < 0 ? -errno : add_times(report, side, "beside", options, bystander);
	if (cloner > 0) {
		kill(cloner, SIGKILL);
		waitpid(cloner, NULL, 0);
	}
	if (r == 0)
		r = add_clones(report, side, fds[0]);
	close(fds[0]);
	close(fds[1]);
	return r;
}

/* Starts a session with a full buffer, whose producer stays connected. */
static int fill_source(const struct bench_options *options, const struct bench_daemon *daemon,
		       struct bench_producer *producer, struct orma_session **ret)
{
	const struct bench_config config = {
		.source = SOURCE, .name = SOURCE, .buffer_kib = SOURCE_KIB};
	char *argv[] = {(char *)options->producer,
			"--name",
			SOURCE,
			"--size",
			"1000",
			"--count",
			PACKETS,
			NULL};
	struct bench_emitted emitted;
	int r = bench_session_start(daemon, &config, -1, ret);

	if (r < 0)
		return r;
	r = bench_producer_start(daemon, argv, producer);
	if (r < 0)
		producer->pid = 0;
	else
		r = bench_producer_wait(producer, RESULT_MS, &emitted);
	return r;
}

static int measure_clone(const struct bench_options *options, struct bench_report *report,
			 enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	const struct bench_config config = {.buffer_kib = 1024, .timeout_ms = PATIENCE_MS};
	char *argv[] = {(char *)options->producer, "--rate", "1", NULL};
	struct bench_producer producer, source_producer = {0};
	struct orma_session *session, *source = NULL;
	int r = fill_source(options, daemon, &source_producer, &source);

	(void)ctx;
	if (r == 0)
		r = bench_session_start(daemon, &config, -1, &session);
	if (r == 0) {
		r = bench_producer_start(daemon, argv, &producer);
		if (r == 0) {
			r = time_beside_clones(options, report, side, daemon, session);
			bench_producer_stop(&producer);
		}
		orma_session_free(session);
	}
	orma_session_free(source);
	if (source_producer.pid > 0)
		bench_producer_stop(&source_producer);
	return r;
}

int bench_rows_clone(const struct bench_options *options, struct bench_report *report)
{
	unsigned runs = options->runs < 3 ? options->runs : 3;

	return bench_measure_in_turns(options, report, runs, measure_clone, NULL);
}
