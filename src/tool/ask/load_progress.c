/* SPDX-License-Identifier: Apache-2.0
 * load_progress.c - shows how far the loading is, five times per second. A trace that is loaded at once shows no line.
 */
#include "tool/ask/load_progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "tool/print.h"

enum { STEP_NS = 200000000 };

void orma_load_progress_begin(struct orma_load_progress *progress)
{
	const char *terminal = getenv("TERM");
	progress->is_shown = false;
	progress->is_off = !isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0;
	progress->next_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + STEP_NS;
}

int orma_load_progress_step(void *ctx, uint64_t read_bytes, uint64_t all_bytes)
{
	struct orma_load_progress *progress = ctx;
	int r = progress->also ? progress->also(progress->also_ctx, read_bytes, all_bytes) : 0;
	if (progress->is_off || r < 0)
		return r;
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (now_ns < progress->next_ns)
		return 0;
	progress->next_ns = now_ns + STEP_NS;
	progress->is_shown = true;
	fputs("\r", stderr);
	if (all_bytes > 0)
		orma_tool_print(stderr, "Loading the trace: %u %%",
				(unsigned)((double)read_bytes / (double)all_bytes * 100));
	else
		orma_tool_print(stderr, "Loading the trace: %llu MB",
				(unsigned long long)(read_bytes >> 20));
	fflush(stderr);
	return 0;
}

void orma_load_progress_end(struct orma_load_progress *progress)
{
	if (progress->is_shown)
		fputs("\r\x1b[K", stderr);
	progress->is_shown = false;
}
