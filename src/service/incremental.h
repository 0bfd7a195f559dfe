/* SPDX-License-Identifier: Apache-2.0
 * incremental.h - when producers begin their incremental state anew; see incremental.c.
 */
#ifndef ORMA_SERVICE_INCREMENTAL_H
#define ORMA_SERVICE_INCREMENTAL_H

#include "buffer/trace_buffer.h"
#include "service/timer.h"

struct orma_service_grant;
struct orma_service_session;
struct orma_service_session_buffer;

struct orma_service_incremental {
	struct orma_service_timer timer;
	uint32_t period_ms; /* 0 = not by time */
};

void orma_service_incremental_init(struct orma_service_session *session,
				   struct orma_service_session_buffer *buffer,
				   enum orma_trace_buffer_policy policy);
void orma_service_incremental_start(struct orma_service_session *session);
/* A chunk of the producer came into the buffer. */
void orma_service_incremental_written(struct orma_service_grant *grant);
/* Asks all instances of the session now. */
void orma_service_incremental_clear(struct orma_service_session *session);

#endif
