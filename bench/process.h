/* SPDX-License-Identifier: Apache-2.0
 * process.h - daemons and producers as child processes, and what the kernel reports about them.
 */
#ifndef ORMA_BENCH_PROCESS_H
#define ORMA_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_PATH_BYTES 96

struct bench_daemon {
	pid_t pid;
	char folder[BENCH_PATH_BYTES]; /* has its sockets; removed with it */
	char producer_socket[BENCH_PATH_BYTES + 16], consumer_socket[BENCH_PATH_BYTES + 16];
};

struct bench_usage {
	uint64_t cpu_ns;
	uint64_t voluntary_switches; /* sum of all threads */
	uint64_t rss_kib, rss_anon_kib;
};

/* The result that a producer prints at its end. */
struct bench_emitted {
	uint64_t packets, bytes, wall_ns, cpu_ns, dropped;
};

struct bench_producer {
	pid_t pid;
	int to_fd, from_fd; /* its standard input and output */
};

/* Calls `program [part]` and waits until its sockets accept. Returns 0 or a negative errno value.
 */
int bench_daemon_start(const char *program, const char *part, struct bench_daemon *ret);
/* Ends the daemon. Returns 0, or -EPIPE when it had ended before. */
int bench_daemon_stop(struct bench_daemon *daemon);
int bench_usage_read(pid_t pid, struct bench_usage *ret);

/* Waits until the daemon knows the producer. argv[0] is the program. */
int bench_producer_start(const struct bench_daemon *daemon, char *const argv[],
			 struct bench_producer *ret);
/* Reads the producer's result. Returns 0, -ETIMEDOUT, or -EPIPE when it has ended. */
int bench_producer_wait(struct bench_producer *producer, int timeout_ms, struct bench_emitted *ret);
void bench_producer_stop(struct bench_producer *producer);

#endif
