/* SPDX-License-Identifier: Apache-2.0
 * rows.c - the measurements. Each starts a daemon of its own, so that none inherits the memory of
 * another. The sides take turns within a row, so that other load on the machine affects both.
 *
 * The row's note reports a measurement that fails or loses data. The others are made all the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "bench.h"
#include "session.h"

#define RESULT_MS      120000
#define BUFFER_KIB     (64u << 10)
#define PRODUCERS_MANY 200
#define SESSIONS_MANY  8
#define FILE_MB_PER_S  "100"
#define SETTLE_MS      300
/* This is enough for slow runs. */
#define FLUSHES_MAX_NS (20 * ORMA_NS_PER_SEC)

static const char *const side_names[BENCH_SIDES] = {"orma", "perfetto"};

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void pause_ms(unsigned ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void note(struct bench_row *row, enum bench_side side, const char *what, uint64_t number)
{
	if (row)
		snprintf(row->note, sizeof(row->note), "%s: %s %llu", side_names[side], what,
			 (unsigned long long)number);
}

static int measure_once(const struct bench_options *options, struct bench_report *report,
			enum bench_side side, bench_measure_fn *measure, const void *args)
{
	struct bench_daemon daemon;
	int r = side == BENCH_ORMA ? bench_daemon_start(options->orma, "traced", &daemon)
				   : bench_daemon_start(options->peer, NULL, &daemon);

	if (r < 0) {
		fprintf(stderr, "bench: %s does not start: %s\n", side_names[side], strerror(-r));
		return r;
	}
	r = measure(options, report, side, &daemon, args);
	if (r < 0)
		fprintf(stderr, "bench: %s: a measurement failed: %s\n", side_names[side],
			strerror(-r));
	if (bench_daemon_stop(&daemon) < 0)
		fprintf(stderr, "bench: %s died\n", side_names[side]);
	return r;
}

/* The order is A B A B ..., so that noise that comes and goes affects both sides. */
int bench_measure_in_turns(const struct bench_options *options, struct bench_report *report,
			   unsigned runs, bench_measure_fn *measure, const void *args)
{
	int result = 0;

	for (unsigned run = 0; run < runs; run++)
		for (int side = 0; side < (options->peer ? BENCH_SIDES : 1); side++) {
			int r = measure_once(options, report, (enum bench_side)side, measure, args);

			result = r < 0 ? r : result;
		}
	return result;
}

/* --- throughput ------------------------------------------------------------------------------- */

struct throughput_args {
	unsigned packet_bytes, shm_kib, threads; /* shm_kib 0 = the daemon's default */
	bool is_upstreams;                       /* the producer behaves like upstream's library */
};

/* Runs a session with one producer, from its start to its end. */
static int run_producer(const struct bench_options *options, struct bench_daemon *daemon,
			const struct throughput_args *args, struct bench_emitted *emitted,
			struct bench_stats *stats, struct bench_usage *ret)
{
	const struct bench_config config = {.buffer_kib = BUFFER_KIB, .shm_kib = args->shm_kib};
	struct bench_usage before, after;
	struct bench_producer producer;
	struct orma_session *session;
	char numbers[3][16];
	char *argv[] = {
		(char *)(args->is_upstreams ? options->upstream_producer : options->producer),
		"--size",
		numbers[0],
		"--threads",
		numbers[1],
		"--ms",
		numbers[2],
		NULL};
	int r = bench_usage_read(daemon->pid, &before);

	snprintf(numbers[0], sizeof(numbers[0]), "%u", args->packet_bytes);
	snprintf(numbers[1], sizeof(numbers[1]), "%u", args->threads);
	snprintf(numbers[2], sizeof(numbers[2]), "%u", options->run_ms);
	if (r == 0)
		r = bench_session_start(daemon, &config, -1, &session);
	if (r < 0)
		return r;
	r = bench_producer_start(daemon, argv, &producer);
	if (r == 0) {
		r = bench_producer_wait(&producer, RESULT_MS, emitted);
		if (r == 0)
			r = orma_session_flush(session, 10000, 0);
		if (r == 0)
			r = bench_usage_read(daemon->pid, &after);
		if (r == 0)
			r = bench_session_stats(session, stats);
		bench_producer_stop(&producer);
	}
	orma_session_free(session);
	if (r == 0)
		*ret = (struct bench_usage){
			.cpu_ns = after.cpu_ns - before.cpu_ns,
			.voluntary_switches = after.voluntary_switches - before.voluntary_switches,
		};
	return r;
}

static void name_row(char *name, const struct throughput_args *args)
{
	char memory[32];

	snprintf(memory, sizeof(memory), "SMB %u KiB", args->shm_kib);
	snprintf(name, BENCH_NAME_MAX, "%u-byte packets, %s, %u thread%s", args->packet_bytes,
		 args->is_upstreams ? "upstream's habits" : memory, args->threads,
		 args->threads > 1 ? "s" : "");
}

static int measure_throughput(const struct bench_options *options, struct bench_report *report,
			      enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	const struct throughput_args *args = ctx;
	struct bench_emitted emitted;
	struct bench_stats stats;
	struct bench_row *speed, *cpu, *producer_cpu;
	char name[BENCH_NAME_MAX];
	struct bench_usage usage = {0};
	int r;

	name_row(name, args);
	speed = bench_report_row(report, "throughput", name, "MB/s", false);
	cpu = bench_report_row(report, "daemon CPU", name, "s/GB", true);
	producer_cpu = bench_report_row(report, "producer CPU", name, "s/GB", true);
	r = run_producer(options, daemon, args, &emitted, &stats, &usage);
	if (r < 0) {
		note(speed, side, "failed with errno", (uint64_t)-r);
		return r;
	}
	bench_row_add(speed, side, (double)emitted.bytes / 1e6 / seconds(emitted.wall_ns));
	bench_row_add(cpu, side, seconds(usage.cpu_ns) / ((double)emitted.bytes / 1e9));
	bench_row_add(producer_cpu, side, seconds(emitted.cpu_ns) / ((double)emitted.bytes / 1e9));
	if (args->is_upstreams)
		bench_row_add(bench_report_row(report, "daemon wake-ups", name, "1/MB", true), side,
			      (double)usage.voluntary_switches / ((double)emitted.bytes / 1e6));
	if (emitted.dropped || stats.lost)
		note(speed, side, "LOST", emitted.dropped + stats.lost);
	else if (stats.bytes_written < emitted.bytes)
		note(speed, side, "bytes missing", emitted.bytes - stats.bytes_written);
	return 0;
}

static int run_throughput(const struct bench_options *options, struct bench_report *report,
			  const struct throughput_args *args)
{
	char name[BENCH_NAME_MAX];

	name_row(name, args);
	if (options->only && !strstr(name, options->only))
		return 0;
	return bench_measure_in_turns(options, report, options->runs, measure_throughput, args);
}

int bench_rows_throughput(const struct bench_options *options, struct bench_report *report)
{
	static const unsigned sizes[] = {64, 1000, 16000}, shms[] = {256, 4096};
	static const unsigned threads[] = {1, 4, 16};
	int result = 0;

	for (size_t i = 0; i < 12; i++) {
		int r = run_throughput(options, report,
				       &(struct throughput_args){
					       .packet_bytes = sizes[i / 4],
					       .shm_kib = shms[i / 2 % 2],
					       .threads = threads[i % 2],
				       });

		result = r < 0 ? r : result;
	}
	for (size_t i = 0; i < 9 && options->upstream_producer; i++) {
		int r = run_throughput(options, report,
				       &(struct throughput_args){
					       .packet_bytes = sizes[i / 3],
					       .threads = threads[i % 3],
					       .is_upstreams = true,
				       });

		result = r < 0 ? r : result;
	}
	return result;
}

/* --- read-back -------------------------------------------------------------------------------- */

static int stop_and_read(struct bench_report *report, enum bench_side side,
			 struct bench_daemon *daemon, struct orma_session *session)
{
	struct orma_error error = {0};
	struct bench_usage before, after;
	uint64_t bytes = 0, begin_ns;
	struct bench_row *row;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = bench_usage_read(daemon->pid, &before);
	begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (r == 0)
		r = orma_session_stop(session);
	if (r == 0)
		r = orma_session_wait_stopped(session, 60000, &error);
	if (r == 0)
		r = orma_session_read_into_fd(session, fd, &bytes);
	close(fd);
	if (r < 0)
		return r;
	begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	r = bench_usage_read(daemon->pid, &after);
	row = bench_report_row(report, "stop and read back 64 MiB of 64-byte packets", "wall time",
			       "s", true);
	bench_row_add(row, side, seconds(begin_ns));
	if (bytes < (BUFFER_KIB << 10) * 3 / 4)
		note(row, side, "bytes read", bytes);
	row = bench_report_row(report, "stop and read back 64 MiB of 64-byte packets", "daemon CPU",
			       "s", true);
	bench_row_add(row, side, seconds(after.cpu_ns - before.cpu_ns));
	return r;
}

static int measure_read_back(const struct bench_options *options, struct bench_report *report,
			     enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	const struct bench_config config = {.buffer_kib = BUFFER_KIB, .shm_kib = 4096};
	/* Emit 1.5 times what the buffer takes, so that it is full whatever its overhead is. */
	char *argv[] = {(char *)options->producer, "--size", "64", "--count", "1600000", NULL};
	struct bench_producer producer;
	struct bench_emitted emitted;
	struct orma_session *session;
	int r = bench_session_start(daemon, &config, -1, &session);

	(void)ctx;
	if (r < 0)
		return r;
	r = bench_producer_start(daemon, argv, &producer);
	if (r == 0) {
		r = bench_producer_wait(&producer, RESULT_MS, &emitted);
		if (r == 0)
			r = stop_and_read(report, side, daemon, session);
		bench_producer_stop(&producer);
	}
	orma_session_free(session);
	return r;
}

int bench_rows_read_back(const struct bench_options *options, struct bench_report *report)
{
	return bench_measure_in_turns(options, report, options->runs, measure_read_back, NULL);
}

/* --- write_into_file -------------------------------------------------------------------------- */

static int finish_file(const struct bench_options *options, struct bench_report *report,
		       enum bench_side side, struct bench_daemon *daemon,
		       struct orma_session *session, const struct bench_emitted *emitted,
		       uint64_t cpu_before_ns, int fd)
{
	char block[BENCH_NAME_MAX];
	struct orma_error error = {0};
	struct bench_usage after;
	struct bench_stats stats;
	struct bench_row *row;
	struct stat file;
	int r = bench_session_stats(session, &stats);

	if (r == 0)
		r = orma_session_stop(session);
	if (r == 0)
		r = orma_session_wait_stopped(session, 60000, &error);
	if (r == 0)
		r = bench_usage_read(daemon->pid, &after);
	if (r < 0)
		return r;
	if (fstat(fd, &file) < 0)
		return -errno;
	snprintf(block, sizeof(block), "write_into_file, " FILE_MB_PER_S " MB/s for %u s",
		 options->file_ms / 1000);
	row = bench_report_row(report, block, "in the file", "MB", false);
	bench_row_add(row, side, (double)file.st_size / 1e6);
	if (emitted->dropped || stats.lost)
		note(row, side, "LOST", emitted->dropped + stats.lost);
	else if (stats.bytes_overwritten)
		note(row, side, "bytes overwritten", stats.bytes_overwritten);
	else if ((uint64_t)file.st_size < emitted->bytes)
		note(row, side, "bytes missing", emitted->bytes - (uint64_t)file.st_size);
	row = bench_report_row(report, block, "daemon CPU", "s/GB", true);
	bench_row_add(row, side,
		      seconds(after.cpu_ns - cpu_before_ns) / ((double)emitted->bytes / 1e9));
	row = bench_report_row(report, block, "producer's wall time", "s", true);
	bench_row_add(row, side, seconds(emitted->wall_ns));
	return 0;
}

static int measure_file(const struct bench_options *options, struct bench_report *report,
			enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	const struct bench_config config = {
		.buffer_kib = BUFFER_KIB, .shm_kib = 4096, .file_period_ms = 200};
	struct bench_usage before = {0};
	struct bench_producer producer;
	struct bench_emitted emitted;
	struct orma_session *session;
	char ms[16], path[512];
	char *argv[] = {(char *)options->producer,
			"--size",
			"1000",
			"--ms",
			ms,
			"--rate",
			FILE_MB_PER_S,
			NULL};
	int fd, r;

	(void)ctx;
	snprintf(ms, sizeof(ms), "%u", options->file_ms);
	snprintf(path, sizeof(path), "%s/bench-file.pftrace", options->folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	unlink(path);
	r = bench_session_start(daemon, &config, fd, &session);
	if (r == 0) {
		r = bench_producer_start(daemon, argv, &producer);
		if (r == 0) {
			r = bench_usage_read(daemon->pid, &before);
			if (r == 0)
				r = bench_producer_wait(&producer, RESULT_MS, &emitted);
			if (r == 0)
				r = finish_file(options, report, side, daemon, session, &emitted,
						before.cpu_ns, fd);
			bench_producer_stop(&producer);
		}
		orma_session_free(session);
	}
	close(fd);
	return r;
}

int bench_rows_file(const struct bench_options *options, struct bench_report *report)
{
	/* A run is so long that its result is a mean. */
	return bench_measure_in_turns(options, report, 1 + (options->runs > 3), measure_file, NULL);
}

/* --- flush latency ---------------------------------------------------------------------------- */

int bench_time_flushes(unsigned count, struct orma_session *session, struct bench_flush_times *ret)
{
	double *times = orma_base_alloc_array(count, sizeof(*times));
	uint64_t first_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	unsigned done = 0;
	int r = times ? 0 : -ENOMEM;

	while (r == 0 && done < count) {
		uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		unsigned at = done++;

		if (begin_ns - first_ns > FLUSHES_MAX_NS && at > 0)
			count = at;
		r = orma_session_flush(session, 5000, 0);
		times[at] = (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e3;
		/* A timeout is a result too: the flush takes at least so long. */
		if (r == -ETIMEDOUT) {
			count = done;
			r = 0;
		}
		/* Insertion sort is enough for so few. */
		for (; at > 0 && times[at - 1] > times[at]; at--) {
			double swap = times[at];

			times[at] = times[at - 1];
			times[at - 1] = swap;
		}
		pause_ms(2);
	}
	if (r == 0)
		*ret = (struct bench_flush_times){times[done / 2], times[done * 99 / 100],
						  times[done - 1]};
	orma_base_free(times);
	return r;
}

static int time_flushes(unsigned count, struct bench_report *report, enum bench_side side,
			struct orma_session *session)
{
	static const char block[] = "flush with a producer at 1 MB/s";
	struct bench_flush_times times;
	int r = bench_time_flushes(count, session, &times);

	if (r == 0) {
		bench_row_add(bench_report_row(report, block, "p50", "us", true), side,
			      times.p50_us);
		bench_row_add(bench_report_row(report, block, "p99", "us", true), side,
			      times.p99_us);
	}
	return r;
}

static int measure_flush(const struct bench_options *options, struct bench_report *report,
			 enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	const struct bench_config config = {.buffer_kib = 1024};
	char *argv[] = {(char *)options->producer, "--rate", "1", NULL};
	struct bench_producer producer;
	struct orma_session *session;
	int r = bench_session_start(daemon, &config, -1, &session);

	(void)ctx;
	if (r < 0)
		return r;
	r = bench_producer_start(daemon, argv, &producer);
	if (r == 0) {
		r = time_flushes(options->flushes, report, side, session);
		bench_producer_stop(&producer);
	}
	orma_session_free(session);
	return r;
}

int bench_rows_flush(const struct bench_options *options, struct bench_report *report)
{
	return bench_measure_in_turns(options, report, options->runs, measure_flush, NULL);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int add_memory(struct bench_report *report, enum bench_side side,
		      const struct bench_daemon *daemon, const char *state)
{
	char name[BENCH_NAME_MAX];
	struct bench_usage usage;
	int r;

	pause_ms(SETTLE_MS);
	r = bench_usage_read(daemon->pid, &usage);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s, RSS", state);
	bench_row_add(bench_report_row(report, "daemon memory", name, "KiB", true), side,
		      (double)usage.rss_kib);
	snprintf(name, sizeof(name), "%s, anonymous part", state);
	bench_row_add(bench_report_row(report, "daemon memory", name, "KiB", true), side,
		      (double)usage.rss_anon_kib);
	return 0;
}

static int measure_producers(const struct bench_options *options, struct bench_report *report,
			     enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	static struct bench_producer producers[PRODUCERS_MANY];
	char *argv[] = {(char *)options->producer, "--idle", NULL};
	unsigned count = 0;
	int r = add_memory(report, side, daemon, "idle");

	(void)ctx;
	for (; r == 0 && count < PRODUCERS_MANY; count++) {
		r = bench_producer_start(daemon, argv, &producers[count]);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = add_memory(report, side, daemon, "200 producers");
	for (unsigned i = 0; i < count; i++)
		bench_producer_stop(&producers[i]);
	return r;
}

/* Each session has a buffer of 1 MiB and the same producer, which emits nothing. */
static int measure_sessions(const struct bench_options *options, struct bench_report *report,
			    enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	const struct bench_config config = {.buffer_kib = 1024};
	struct orma_session *sessions[SESSIONS_MANY];
	char *argv[] = {(char *)options->producer, "--idle", NULL};
	struct bench_producer producer;
	unsigned count = 0;
	int r = bench_producer_start(daemon, argv, &producer);

	(void)ctx;
	if (r < 0)
		return r;
	for (; r == 0 && count < SESSIONS_MANY; count++) {
		/* Perfetto's limit is 5 sessions per user. Root can have 15. */
		r = bench_session_start(daemon, &config, -1, &sessions[count]);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = add_memory(report, side, daemon, "8 sessions");
	for (unsigned i = 0; i < count; i++)
		orma_session_free(sessions[i]);
	bench_producer_stop(&producer);
	return r;
}

int bench_rows_memory(const struct bench_options *options, struct bench_report *report)
{
	int r = bench_measure_in_turns(options, report, 1, measure_producers, NULL);
	int s = bench_measure_in_turns(options, report, 1, measure_sessions, NULL);

	return r < 0 ? r : s;
}

/* --- idle ------------------------------------------------------------------------------------- */

static int measure_idle(const struct bench_options *options, struct bench_report *report,
			enum bench_side side, struct bench_daemon *daemon, const void *ctx)
{
	struct bench_usage before, after;
	char block[BENCH_NAME_MAX];
	int r;

	(void)ctx;
	pause_ms(SETTLE_MS);
	r = bench_usage_read(daemon->pid, &before);
	pause_ms(options->idle_ms);
	if (r == 0)
		r = bench_usage_read(daemon->pid, &after);
	if (r < 0)
		return r;
	snprintf(block, sizeof(block), "idle daemon for %u s", options->idle_ms / 1000);
	bench_row_add(bench_report_row(report, block, "wake-ups", "", true), side,
		      (double)(after.voluntary_switches - before.voluntary_switches));
	bench_row_add(bench_report_row(report, block, "CPU", "us", true), side,
		      (double)(after.cpu_ns - before.cpu_ns) / 1e3);
	return 0;
}

int bench_rows_idle(const struct bench_options *options, struct bench_report *report)
{
	return bench_measure_in_turns(options, report, 1, measure_idle, NULL);
}

/* --- the machine ------------------------------------------------------------------------------ */

/* Measures how fast one core copies in the daemon's pattern: pages of 4 KiB from a small memory, one
 * after the other into a large one. A daemon that copies once cannot be faster. */
void bench_rows_copy(const struct bench_options *options, struct bench_report *report)
{
	size_t from_bytes = 256u << 10, to_bytes = (size_t)BUFFER_KIB << 10, total = 0;
	uint8_t *from = orma_base_alloc(from_bytes), *to = orma_base_alloc(to_bytes);

	if (from && to) {
		memset(from, 1, from_bytes);
		memset(to, 1, to_bytes);
		for (unsigned run = 0; run < options->runs; run++) {
			uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), now_ns;

			total = 0;
			do {
				for (size_t i = 0; i < 256; i++, total += 4096)
					memcpy(to + total % to_bytes, from + total % from_bytes,
					       4096);
				now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
			} while (now_ns - begin_ns < 100 * ORMA_NS_PER_MS);
			bench_row_add(bench_report_row(report, "this machine",
						       "copying 4 KiB pages into 64 MiB, one core",
						       "MB/s", false),
				      BENCH_ORMA, (double)total / 1e6 / seconds(now_ns - begin_ns));
		}
	}
	orma_base_free(from);
	orma_base_free(to);
}
