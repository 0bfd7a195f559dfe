/* SPDX-License-Identifier: Apache-2.0
 * output_create.h - output_path: a session waits for its file; see output_create.c.
 */
#ifndef ORMA_SERVICE_OUTPUT_CREATE_H
#define ORMA_SERVICE_OUTPUT_CREATE_H

#include <orma/service.h>

struct orma_service_session;

bool orma_service_creation_is_wanted(const struct orma_service_session *session);
/* -EACCES, and a text that says what to do instead. */
int orma_service_creation_refuse(struct orma_error *reterr);
/* The session is OPENING after success. */
int orma_service_creation_begin(struct orma_service_session *session, struct orma_error *reterr);
/* May free the session. */
void orma_service_creation_event(struct orma_service_session *session, int status);

#endif
