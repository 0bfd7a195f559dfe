/* SPDX-License-Identifier: Apache-2.0
 * zstd_unpack.h - unpacks zstd into the spool of a trace's bytes.
 */
#ifndef ORMA_FORMATS_ZSTD_UNPACK_H
#define ORMA_FORMATS_ZSTD_UNPACK_H

#include "base/str.h"
#include "trace/trace_bytes.h"

/* A stream of frames that comes in pieces. {0} is none. */
struct orma_zstd_stream {
	void *context;
	uint8_t *buffer;
	bool is_whole; /* no frame has begun without its end */
};

/* 0, -ENOTSUP (this build lacks zstd) or -ENOMEM. */
int orma_zstd_begin(struct orma_zstd_stream *stream);
/* Adds what a piece unpacks to. 0, -EBADMSG (damaged; what came before it is in the spool), -EMSGSIZE (the spool would be
 * larger than spool_max), or an error of writing a file. */
int orma_zstd_add(struct orma_zstd_stream *stream, const uint8_t *data, size_t size,
		  uint64_t spool_max, struct orma_trace_bytes *output);
void orma_zstd_done(struct orma_zstd_stream *stream);

/* Unpacks frames that are in memory. Errors as above; a frame without its end is -EBADMSG. */
int orma_zstd_unpack(struct orma_str data_untrusted, uint64_t spool_max,
		     struct orma_trace_bytes *output);

#endif
