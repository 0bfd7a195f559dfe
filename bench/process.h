/* SPDX-License-Identifier: Apache-2.0
 * process.h - the programs that are measured: daemons and producers as children, and what the
 * kernel says about them.
 */
#ifndef ORMA_BENCH_PROCESS_H
#define ORMA_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BENCH_PATH_BYTES 96

struct bench_daemon {
	pid_t pid;
	char folder[BENCH_PATH_BYTES]; /* of its sockets; gone with it */
	char producer_socket[BENCH_PATH_BYTES + 16], consumer_socket[BENCH_PATH_BYTES + 16];
};

struct bench_usage {
	uint64_t cpu_ns;
	uint64_t voluntary_switches; /* of all threads */
	uint64_t rss_kib, rss_anon_kib;
};

/* What a producer says at its end. */
struct bench_emitted {
	uint64_t packets, bytes, wall_ns, cpu_ns, dropped;
};

struct bench_producer {
	pid_t pid;
	int to_fd, from_fd; /* its standard input and output */
};

/* `program` is called as `program [part]`; returns when its sockets accept. 0 or a negative errno.
 */
int bench_daemon_start(const char *program, const char *part, struct bench_daemon *ret);
/* Ends it; -EPIPE when it had died before. */
int bench_daemon_stop(struct bench_daemon *daemon);
int bench_usage_read(pid_t pid, struct bench_usage *ret);

/* Returns when the daemon knows it. argv[0] is the program. */
int bench_producer_start(const struct bench_daemon *daemon, char *const argv[],
			 struct bench_producer *ret);
/* Reads its result: 0, -ETIMEDOUT, -EPIPE when it died. */
int bench_producer_wait(struct bench_producer *producer, int timeout_ms, struct bench_emitted *ret);
void bench_producer_stop(struct bench_producer *producer);

#endif
