/* SPDX-License-Identifier: Apache-2.0
 * session_events.h - the table through which lower layers report what happens to a session.
 *
 * Lower layers do not call session_life.c or anything above it. They report through this table,
 * which service.c, the highest file, installs. So calls always go down the layers, and this is the
 * one place that lists what can happen to a session from below.
 */
#ifndef ORMA_SERVICE_SESSION_EVENTS_H
#define ORMA_SERVICE_SESSION_EVENTS_H

#include <orma/service.h>

#include "service/flush.h"

struct orma_service_session;
struct orma_service_clone;

struct orma_service_session_events {
	/* A chunk was stored in one of its buffers. Called inside a commit, so it only arms
	 * timers. */
	void (*stored)(struct orma_service_session *session, size_t bytes);
	/* Its scrape is done, or was cut. May free the session. */
	void (*scraped)(struct orma_service_session *session);
	/* A flush for a clone has ended. May free the clone. */
	void (*clone_flushed)(struct orma_service_clone *clone, enum orma_service_flush_group group,
			      bool is_complete);
	/* Its output file exists: the session leaves OPENING. May free the session. */
	void (*created)(struct orma_service_session *session);
	/* It is to end, because its file could not be created, is full, or failed; `error` may be
	 * NULL. May free the session. */
	void (*must_end)(struct orma_service_session *session, bool at_once, const char *error);
	/* It has ended and its file is closed, or it has none. May free the session. */
	void (*file_closed)(struct orma_service_session *session);
	/* A clone's file is complete, or its error says why not. May free the session. */
	void (*clone_written)(struct orma_service_session *session);
	/* It is about to be freed. */
	void (*freed)(struct orma_service_session *session);
};

#endif
