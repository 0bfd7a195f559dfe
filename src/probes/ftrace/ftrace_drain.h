/* SPDX-License-Identifier: Apache-2.0
 * ftrace_drain.h - moves what the kernel has recorded to the sessions of a buffer: at intervals, when a CPU's buffer is
 * filled past its watermark, and on request.
 */
#ifndef ORMA_PROBES_FTRACE_DRAIN_H
#define ORMA_PROBES_FTRACE_DRAIN_H

#include "base/list.h"
#include "base/loop.h"
#include "probes/ftrace/ftrace_cpu_reader.h"

/* The most pages that one turn of the loop reads, of one CPU and of all: about 4 and 15 ms. */
#define ORMA_FTRACE_CPU_PAGES  256u
#define ORMA_FTRACE_TURN_PAGES 1024u

struct orma_ftrace_buffer;

/* A CPU whose buffer is read. */
struct orma_ftrace_cpu {
	struct orma_ftrace_cpu_reader *reader;
	struct orma_ftrace_buffer *buffer;
	struct orma_watch watch; /* added while sessions rely on the watermark */
	uint32_t buffer_pages;   /* the most reads that empty it */
	uint32_t owed_pages;     /* the requests that are being served wait for so many reads */
	bool is_behind;          /* the round goes on until it has caught up */
	bool has_delivered;
};

/* The reading side of a buffer; exists while sessions are started. */
struct orma_ftrace_drainer {
	struct orma_ftrace_drain state;
	struct orma_ftrace_cpu *cpus;
	uint32_t cpu_count;
	uint32_t next_cpu; /* where the next turn begins */
	int clock_fd; /* per_cpu/cpu0/stats, which tells the trace clock; -1 = the clock is boot */
	bool is_paused, is_watching;
	struct orma_timer timer;
	struct orma_task task;            /* continues a round */
	struct orma_list served, waiting; /* struct orma_ftrace_drain_request */
};

/* A session that waits until what has been recorded so far is written. Embedded in its owner. */
struct orma_ftrace_drain_request {
	struct orma_list link;
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
