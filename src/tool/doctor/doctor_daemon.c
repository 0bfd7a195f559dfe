/* SPDX-License-Identifier: Apache-2.0
 * doctor_daemon.c - asks the running daemon for its state.
 */
#include <orma/session.h>
#include <stdio.h>
#include <string.h>

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
	for (size_t i = 0; daemon->state && i < daemon->state->data_sources.count; i++) {
		const struct orma_pb_data_source_descriptor *descriptor =
			daemon->state->data_sources.items[i]->ds_descriptor;
		if (descriptor && orma_base_str_is_equal(descriptor->name, source))
			return true;
	}
	return false;
}

void orma_doctor_daemon_done(struct orma_doctor_daemon *daemon)
{
	orma_config_free(daemon->data);
	orma_base_arena_done(&daemon->arena);
}
