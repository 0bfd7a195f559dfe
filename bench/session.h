/* SPDX-License-Identifier: Apache-2.0
 * session.h - the consumer of every benchmark, and the losses in its statistics.
 */
#ifndef ORMA_BENCH_SESSION_H
#define ORMA_BENCH_SESSION_H

#include <orma/session.h>

#include "process.h"

struct bench_config {
	const char *source; /* NULL = orma.bench */
	const char *name;   /* name by which the session can be cloned; NULL = none */
	unsigned buffer_kib;
	unsigned shm_kib;         /* shared memory per producer; 0 = the default */
	bool is_discarding;       /* DISCARD instead of RING_BUFFER */
	unsigned timeout_ms;      /* limit of each call; 0 = a minute */
	unsigned flush_period_ms; /* 0 = none */
	unsigned file_period_ms;  /* period of write_into_file; 0 = without a file */
};

/* Sums over all buffers. */
struct bench_stats {
	uint64_t bytes_written, bytes_overwritten;
	uint64_t lost; /* discarded chunks and patches, packets lost in shared memory, violations */
};

/* Connects and starts the session. Errors are printed on standard error. */
int bench_session_start(const struct bench_daemon *daemon, const struct bench_config *config,
			int file_fd, struct orma_session **ret);
int bench_session_stats(struct orma_session *session, struct bench_stats *ret);

#endif
