/* SPDX-License-Identifier: Apache-2.0
 * enable.h - from a TraceConfig to a configured session; see enable.c.
 */
#ifndef ORMA_SERVICE_ENABLE_H
#define ORMA_SERVICE_ENABLE_H

#include <orma/service.h>

struct orma_service_session;

/* Sets the session's config. */
int orma_service_session_decode(struct orma_service_session *session, const void *config,
				size_t size, struct orma_error *reterr);
/* The output file of an OPENING session exists: the session begins or ends. May free the
 * session. */
void orma_service_session_begin_created(struct orma_service_session *session);

#endif
