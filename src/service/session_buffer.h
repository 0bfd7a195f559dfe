/* SPDX-License-Identifier: Apache-2.0
 * session_buffer.h - the trace buffers of a session; see session_buffer.c.
 */
#ifndef ORMA_SERVICE_SESSION_BUFFER_H
#define ORMA_SERVICE_SESSION_BUFFER_H

#include <orma/service.h>

#include "buffer/trace_buffer.h"
#include "service/service_limits.h"

struct orma_service;
struct orma_service_session;

/* Invariants: an id is set in `used` exactly while a buffer has it; `count` is how many are set. */
struct orma_service_buffer_ids {
	uint64_t used[(ORMA_SERVICE_BUFFER_ID_MAX + 64) / 64];
	uint32_t last_id;
	size_t count;
};

/* Exists from enable until its session is freed. */
struct orma_service_session_buffer {
	uint32_t id;  /* unique in the service, 1..65535 */
	uint32_t idx; /* in the session */
	uint32_t size_kb;
	struct orma_service_session *session;
	struct orma_trace_buffer *trace_buffer;
	uint64_t filter_discarded_bytes;
	bool is_filtered; /* some packet of it went through the session's filter */
	/* See incremental.c. The buffer's statistics when clearing was last requested. */
	uint64_t cleared_at_bytes, overwritten_at_bytes;
	uint64_t clear_share_bytes; /* 0 = clearing never depends on bytes */
	bool is_clear_due;
};

/* Makes the buffers that the config lists. */
int orma_service_buffers_init(struct orma_service_session *session, struct orma_error *reterr);
/* Adds one more at the end of session->buffers, where there is room, and takes `trace_buffer` over.
 * -ENOSPC: it has no id, and is freed with the session as the others are. */
int orma_service_buffers_append(struct orma_service_session *session,
				struct orma_trace_buffer *trace_buffer, uint32_t size_kb);
void orma_service_buffers_done(struct orma_service_session *session);

#endif
