/* SPDX-License-Identifier: Apache-2.0
 * doctor_daemon.c - asks the running daemon for its state.
 */
#include <orma/session.h>
#include <stdio.h>
#include <string.h>

#include "tool/control/offered_sources.h"
#include "tool/doctor/doctor.h"

/* A daemon that hangs must not hang its doctor for long. */
#define ANSWER_MS 3000u

void orma_doctor_daemon_ask(struct orma_doctor_daemon *ret)
{
	struct orma_session_options options = {.struct_size = sizeof(options),
					       .timeout_ms = ANSWER_MS};
	struct orma_session *session = NULL;
	size_t size;

	*ret = (struct orma_doctor_daemon){0};
	ret->error = orma_session_new(&options, &session, &ret->message);
	if (ret->error == 0)
		ret->error = orma_session_query_state(session, false, &ret->data, &size);
	if (ret->error == 0)
		ret->error = orma_proto_decode(&orma_pb_tracing_service_state_desc, ret->data, size,
					       &ret->arena, &ret->state);
	orma_session_free(session);
}

bool orma_doctor_daemon_offers(const struct orma_doctor_daemon *daemon, struct orma_str source)
{
	return daemon->state && orma_tool_is_offered(daemon->state, source);
}

void orma_doctor_daemon_done(struct orma_doctor_daemon *daemon)
{
	orma_config_free(daemon->data);
	orma_base_arena_done(&daemon->arena);
}
