/* SPDX-License-Identifier: Apache-2.0
 * ftrace_drain.h - moves what the kernel has recorded to the sessions of a buffer: at intervals, when a CPU's buffer is
 * filled past its watermark, and on request.
 */
#ifndef ORMA_PROBES_FTRACE_DRAIN_H
#define ORMA_PROBES_FTRACE_DRAIN_H

#include "base/list.h"
#include "base/loop.h"
#include "probes/ftrace/ftrace_cpu_reader.h"

/* Pages per CPU in one turn of the loop. */
#define ORMA_FTRACE_ROUND_PAGES 256u

struct orma_ftrace_buffer;

struct orma_ftrace_watch {
	struct orma_watch watch;
	struct orma_ftrace_buffer *buffer;
};

/* The reading side of a buffer; exists while sessions are started. */
struct orma_ftrace_drainer {
	struct orma_ftrace_drain state;
	struct orma_ftrace_cpu_reader **readers;
	struct orma_ftrace_watch *watches; /* one per reader; NULL = no watermark */
	uint32_t reader_count;
	int clock_fd; /* per_cpu/cpu0/stats, which tells the trace clock; -1 = the clock is boot */
	bool is_paused;
	struct orma_timer timer;
	struct orma_task task; /* continues a round that has reached its limit */
	struct orma_list requests;
};

/* A session that waits until what has been recorded so far is written. Embedded in its owner. */
struct orma_ftrace_drain_request {
	struct orma_list link;
	uint32_t
		pages_left; /* per CPU: a writer that is faster than the reader must not hold it up */
	/* Runs once; the request may be freed. */
	void (*on_drained)(struct orma_ftrace_drain_request *request);
};

/* Opens the readers and begins to tick. 0 or -errno. */
int orma_ftrace_drain_start(struct orma_ftrace_buffer *buffer);
/* Closes the readers. Requests must have been completed or removed. Does nothing when it is not started. */
void orma_ftrace_drain_stop(struct orma_ftrace_buffer *buffer);
/* Call it when sessions have come or gone: the period and the watermark follow them. */
void orma_ftrace_drain_update(struct orma_ftrace_buffer *buffer);
/* While paused, nothing is read, and requests wait. */
void orma_ftrace_drain_pause(struct orma_ftrace_buffer *buffer, bool is_paused);
/* Reads at once. Returns true when everything is drained already; otherwise on_drained follows later. */
bool orma_ftrace_drain_request(struct orma_ftrace_buffer *buffer,
			       struct orma_ftrace_drain_request *request);
/* Takes a request back. Does nothing for one that is zeroed or drained. */
void orma_ftrace_drain_cancel(struct orma_ftrace_drain_request *request);

#endif
