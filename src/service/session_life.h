/* SPDX-License-Identifier: Apache-2.0
 * session_life.h - starts, stops, ends and frees sessions; see session_life.c.
 */
#ifndef ORMA_SERVICE_SESSION_LIFE_H
#define ORMA_SERVICE_SESSION_LIFE_H

#include <orma/service.h>

struct orma_service_session;

void orma_service_session_start(struct orma_service_session *session);
/* `error` (may be NULL) is reported to the consumer. May free the session. */
void orma_service_session_disable(struct orma_service_session *session, bool at_once,
				  const char *error);
/* Ends any session that is in the service's list, and frees it. */
void orma_service_session_free(struct orma_service_session *session);
/* Frees a half-built session, which is in no list. */
void orma_service_session_delete(struct orma_service_session *session);
/* Flushes, then disables. */
void orma_service_session_flush_and_disable(struct orma_service_session *session);
/* Takes the session away from its consumer: it ends, its file is completed, then it is freed. */
void orma_service_session_abandon(struct orma_service_session *session, const char *error);
/* Ends any session. Its data are lost unless its file has them. The consumer gets `error`. */
void orma_service_session_abort(struct orma_service_session *session, const char *error);
/* Reports to the consumer that the session is disabled, unless that was reported before. */
void orma_service_session_say_disabled(struct orma_service_session *session);
/* Call when the session's file is complete, or when it has none. May free the session. */
void orma_service_session_finish(struct orma_service_session *session);
/* Call when the last scrape is done. May free the session. */
void orma_service_session_scraped(struct orma_service_session *session);
void orma_service_session_check_started(struct orma_service_session *session);
void orma_service_session_check_stopped(struct orma_service_session *session);

#endif
