/* SPDX-License-Identifier: Apache-2.0
 * top_keep.h - the packets of the last seconds, which `s` saves as a trace.
 */
#ifndef ORMA_TOOL_TOP_KEEP_H
#define ORMA_TOOL_TOP_KEEP_H

#include "base/buf.h"

enum {
	ORMA_TOP_KEEP_MAX_BYTES = 64 << 20,
	ORMA_TOP_KEEP_PARTS = 512,
	ORMA_TOP_KEEP_HEAD_MAX_BYTES = 1 << 20,
};

/* Packets of one round, as entries of a Trace. */
struct orma_top_part {
	struct orma_buf bytes;
	uint64_t ns; /* CLOCK_MONOTONIC, when they were read */
};

/* {.period_ns = ...} is empty. */
struct orma_top_keep {
	uint64_t period_ns;
	struct orma_top_part parts[ORMA_TOP_KEEP_PARTS]; /* a ring */
	size_t first, count;                             /* parts of the ring */
	size_t bytes;                                    /* in all parts */
	struct orma_buf head;  /* packets that the service wrote when the session began */
	struct orma_buf clock; /* its newest clock snapshot */
	bool has_begun;        /* the first round is over */
};

void orma_top_keep_done(struct orma_top_keep *keep);
/* Forgets all, for a new session. */
void orma_top_keep_clear(struct orma_top_keep *keep);
/* Adds a packet to the part that is filled. Without memory for it, what is kept begins anew. */
void orma_top_keep_add(struct orma_top_keep *keep, const void *packet, size_t size);
/* Ends the part, and drops what is too old or too much. */
void orma_top_keep_end_round(struct orma_top_keep *keep, uint64_t now_ns);
/* Writes a trace into a new file, which must not exist. Returns the number of bytes or -errno; then there is no file. */
int64_t orma_top_keep_save(const struct orma_top_keep *keep, const char *path);

#endif
