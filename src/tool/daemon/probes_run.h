/* SPDX-License-Identifier: Apache-2.0
 * probes_run.h - this machine's probes as one producer on a loop of its own: the whole of `orma
 * probes` and of `orma profd`, and a thread of `orma record` when there is no daemon.
 */
#ifndef ORMA_TOOL_PROBES_RUN_H
#define ORMA_TOOL_PROBES_RUN_H

#include "base/loop.h"

struct orma_probes;

enum {
	ORMA_PROBES_SYSTEM = 1,    /* the operating system's data sources */
	ORMA_PROBES_PROFILERS = 2, /* profiles of programs; the static binary has none */
};

struct orma_probes_options {
	const char *producer_socket; /* NULL = default */
	const char *producer_name; /* NULL = "perfetto.traced_probes", the name that configs filter
				      by */
	unsigned kinds;            /* ORMA_PROBES_*; 0 = all */
	const char
		*heap_socket; /* for profiled programs; NULL = ORMA_HEAP_SOCK, or the usual place */
	/* Called by the loop's thread when an instance of linux.perf cannot sample; may be NULL. */
	void (*on_perf_failure)(void *ctx);
	void *on_perf_failure_ctx;
};

/* Starts the library (once per process) with caller_drives, and registers the probes. 0 or
 * -errno. */
int orma_tool_probes_new(const struct orma_probes_options *options, struct orma_probes **ret);
struct orma_loop *orma_tool_probes_loop(struct orma_probes *probes);
/* Runs until orma_tool_probes_stop(), which any thread may call, or orma_base_loop_stop(). 0 or
 * -errno. */
int orma_tool_probes_run(struct orma_probes *probes);
void orma_tool_probes_stop(struct orma_probes *probes);
/* Writes a dump of each heap that is profiled, soon. Runs on the loop's thread. */
void orma_tool_probes_dump_heaps(struct orma_probes *probes);
/* Unregisters the probes and shuts the library down. NULL is fine. */
void orma_tool_probes_free(struct orma_probes *probes);

#endif
