/* SPDX-License-Identifier: Apache-2.0
 * load_progress.h - the line that shows on a terminal how much of a trace is loaded.
 */
#ifndef ORMA_TOOL_LOAD_PROGRESS_H
#define ORMA_TOOL_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct orma_load_progress {
	bool is_shown; /* the line is on the terminal */
	bool is_off;   /* standard error is no terminal */
	uint64_t next_ns;
	/* Called with each step; NULL = none. */
	int (*also)(void *ctx, uint64_t read_bytes, uint64_t all_bytes);
	void *also_ctx;
};

/* `progress` has `also`; the rest is set. */
void orma_load_progress_begin(struct orma_load_progress *progress);
/* A function of struct orma_trace_options; returns 0, or what `also` does. */
int orma_load_progress_step(void *progress, uint64_t read_bytes, uint64_t all_bytes);
/* Removes the line. */
void orma_load_progress_end(struct orma_load_progress *progress);

#endif
