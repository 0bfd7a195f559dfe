/* SPDX-License-Identifier: Apache-2.0
 * session_stats.h - TraceStats of a session; see session_stats.c.
 */
#ifndef ORMA_SERVICE_SESSION_STATS_H
#define ORMA_SERVICE_SESSION_STATS_H

#include <orma/service.h>

#include "base/buf.h"

struct orma_service_session;

/* Appends them to buf. The writers are left out when there are more than max_writers. */
int orma_service_stats_encode(const struct orma_service_session *session, size_t max_writers,
			      struct orma_buf *buf);

#endif
