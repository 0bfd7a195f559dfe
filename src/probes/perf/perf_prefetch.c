/* SPDX-License-Identifier: Apache-2.0
 * perf_prefetch.c - makes the unwind tables of the C library and of its loader before sampling begins.
 *
 * A program that starts needs both at once, and causes hundreds of page faults in its first milliseconds. Samples wait in the
 * ring while a table is made. Where each page fault is a sample, the ring is half full before the table is made, and then stacks
 * have no callers. This process has mapped the same two files, and finds them in its own mappings. A static binary does without.
 */
#include "probes/perf/perf_prefetch.h"

#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/macros.h"

enum { FILES = 2 };
#define WAIT_NS (100 * ORMA_NS_PER_MS)

/* Finds an address in the code of each file. */
static void find_addresses(uint64_t ret[FILES])
{
	uint64_t loader = getauxval(AT_BASE);

	ret[0] = (uint64_t)(uintptr_t)qsort;
	ret[1] = loader ? loader + ((const ElfW(Ehdr) *)(uintptr_t)loader)->e_entry : 0;
}

int orma_perf_prefetch_start(struct orma_unwind_files *files, struct orma_unwind_process **ret)
{
	struct orma_unwind_process *process;
	uint64_t addresses[FILES];
	int r = orma_unwind_process_new(files, getpid(), &process);

	if (r < 0)
		return r;
	r = orma_unwind_process_read_maps(process);
	if (r < 0) {
		orma_unwind_process_free(process);
		return r;
	}
	orma_unwind_process_set_waits(process, false);
	find_addresses(addresses);
	(void)orma_unwind_process_count_ready(process, addresses, FILES);
	*ret = process;
	return 0;
}

void orma_perf_prefetch_wait(struct orma_unwind_process *process)
{
	struct orma_unwind_patience patience = {.max_ns = WAIT_NS, .left_ns = WAIT_NS};
	uint64_t addresses[FILES];

	patience.since_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	find_addresses(addresses);
	orma_unwind_process_set_patience(process, &patience);
	(void)orma_unwind_process_count_ready(process, addresses, FILES);
	orma_unwind_process_set_patience(process, NULL);
}
