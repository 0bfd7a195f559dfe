/* SPDX-License-Identifier: Apache-2.0
 * live_input.h - the newest part of a trace that is being recorded.
 */
#ifndef ORMA_TOOL_LIVE_INPUT_H
#define ORMA_TOOL_LIVE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct orma_live_input;

struct orma_live_input_options {
	int fd;           /* where packets come from; borrowed */
	uint64_t keep_ns; /* the trace's time that is kept, and a quarter more for a while */
	size_t max_bytes; /* limit on the packets; older ones go earlier when there are more */
	/* Something has come, or it has ended. Called on a thread of its own. */
	void (*news)(void *ctx);
	void *ctx;
};

struct orma_live_state {
	uint64_t received_bytes; /* so far */
	bool has_cut;            /* something old has been left out */
	bool has_ended;
	int result; /* why it has ended: 0, -EBADMSG (no packets), -ENOMEM, or an error of reading */
};

/* Begins to read. 0 or a negative errno value. */
int orma_live_input_new(const struct orma_live_input_options *options,
			struct orma_live_input **ret);
/* Ends the thread, and frees it; NULL does nothing. */
void orma_live_input_free(struct orma_live_input *input);
/* Any thread. */
struct orma_live_state orma_live_input_state(struct orma_live_input *input);
/* Returns a file of memory with what is there now as a trace, which is the caller's, or -errno. Any thread. */
int orma_live_input_snapshot(struct orma_live_input *input);

#endif
