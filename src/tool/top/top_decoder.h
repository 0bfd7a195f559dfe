/* SPDX-License-Identifier: Apache-2.0
 * top_decoder.h - packets of a running session become figures of rows.
 */
#ifndef ORMA_TOOL_TOP_DECODER_H
#define ORMA_TOOL_TOP_DECODER_H

#include <sys/types.h>

#include "tool/top/top_sequences.h"
#include "tool/top/top_tracks.h"
#include "tool/top/top_traffic.h"

/* The meaning of a row. */
enum orma_top_by {
	ORMA_TOP_BY_NAME,
	ORMA_TOP_BY_THREAD,
	ORMA_TOP_BY_CATEGORY,
	ORMA_TOP_BY_CPU,
	ORMA_TOP_BY_COUNTER,
	ORMA_TOP_BY_PRODUCER,
	ORMA_TOP_BY_KINDS,
};

enum { ORMA_TOP_CPUS_MAX = 1024 };

struct orma_top_decoder {
	enum orma_top_by by;
	struct orma_top_rows rows;
	struct orma_top_tracks tracks;
	struct orma_top_sequences sequences;
	struct orma_map producers; /* struct orma_top_producer by pid + 1 */
	struct orma_top_traffic running, last, all;
	uint64_t seed;
	struct orma_top_kernel *kernel; /* see top_decoder.c */
};

/* 0 or -ENOMEM; done() is called in any case. */
int orma_top_decoder_init(struct orma_top_decoder *decoder, enum orma_top_by by, uint64_t seed);
void orma_top_decoder_done(struct orma_top_decoder *decoder);
/* Takes the next packet, which is not trusted. A malformed packet, or one without memory, is counted as not decoded. */
void orma_top_decoder_take(struct orma_top_decoder *decoder, const void *packet, size_t size);
void orma_top_decoder_end_interval(struct orma_top_decoder *decoder);
/* Sets all figures to 0. Tracks and open slices stay. */
void orma_top_decoder_zero(struct orma_top_decoder *decoder);
/* Begins rows of another kind. Slices that are open now are not counted. 0, or -ENOMEM without a change. */
int orma_top_decoder_set_by(struct orma_top_decoder *decoder, enum orma_top_by by);
/* Forgets the sequences of a session that has ended. */
void orma_top_decoder_forget_session(struct orma_top_decoder *decoder);
/* Returns `buffer` with "name pid". */
const char *orma_top_producer_label(const struct orma_top_decoder *decoder, int32_t pid,
				    char buffer[ORMA_TOP_LABEL_BYTES]);

#endif
