/* SPDX-License-Identifier: Apache-2.0
 * output_compress.h - packets leave the service compressed; see output_compress.c.
 */
#ifndef ORMA_SERVICE_OUTPUT_COMPRESS_H
#define ORMA_SERVICE_OUTPUT_COMPRESS_H

#include <orma/service.h>

#include "base/buf.h"
#include "schema/gen/trace_config.pb.h"

struct orma_service_session;

struct orma_service_compression {
	void *stream;       /* NULL = not open yet */
	size_t outstanding; /* blocks submitted and not taken; at most ORMA_COMPRESSOR_BLOCKS_MAX */
	bool is_pass_over;  /* everything was read; the last blocks are outstanding */
	bool is_waiting;    /* the reader got -EAGAIN; an event brings it back */
	/* Only for a session with a file, which may be cloned: the outstanding blocks, oldest
	 * first. */
	struct orma_buf blocks[ORMA_COMPRESSOR_BLOCKS_MAX];
};

/* Returns the codec that the config asks for, 0 (none), or -ENOTSUP (the service does not have it). */
int orma_service_compression_pick(const struct orma_service *service,
				  const struct orma_pb_trace_config *config, int *ret_level);
/* As orma_service_read(), but compressed if the config says so. With compression it may also return
 * -EAGAIN: no block is finished yet, and an event will follow. */
int orma_service_read_out(struct orma_service_session *session, size_t max_bytes, bool takes_parts);
/* The buffers have got more data: a pass that has read everything reads once more. */
void orma_service_compression_extend(struct orma_service_session *session);
/* Appends what the compressor has of the session, as entries of a trace. */
int orma_service_compression_copy(const struct orma_service_session *session, struct orma_buf *to);
void orma_service_compression_done(struct orma_service_session *session);

#endif
