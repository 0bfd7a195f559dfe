/* SPDX-License-Identifier: Apache-2.0
 * read_large.h - a packet of megabytes on its way out of a session; see read_large.c.
 */
#ifndef ORMA_SERVICE_READ_LARGE_H
#define ORMA_SERVICE_READ_LARGE_H

#include <orma/service.h>

#include "buffer/trace_buffer.h"

struct orma_service_session;
struct orma_service_session_buffer;

/* Keeps a packet that was read for later; -ENOMEM. */
int orma_service_large_begin(struct orma_service_session *session,
			     struct orma_service_session_buffer *buffer,
			     const struct orma_trace_buffer_packet *packet);
/* Checks the packet, or appends at most max_bytes of it to the batch: 1. 0 = it is over,
 * -ENOMEM. */
int orma_service_large_read(struct orma_service_session *session, size_t max_bytes);
/* Whether the reader has a part of a packet that is not complete, so that nothing else may come next. */
bool orma_service_large_is_partly_sent(const struct orma_service_session *session);
/* The reader begins anew: when it had a part of the packet, the rest is dropped. */
void orma_service_large_restart(struct orma_service_session *session);
void orma_service_large_drop(struct orma_service_session *session);

#endif
