/* SPDX-License-Identifier: Apache-2.0
 * session_buffer.c - the trace buffers of a session and their ids.
 *
 * A buffer's id is unique in the service, because producers name buffers without naming sessions.
 * Ids are reused as late as possible: a producer may still hold chunks for a buffer that is gone.
 * Rejected: ids per session (chunks in shared memory have no room for a session).
 */
#include "service/session_buffer.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "schema/gen/trace_config.pb.h"
#include "service/incremental.h"
#include "service/retire.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

static uint32_t pick_id(struct orma_service_buffer_ids *ids)
{
	uint32_t id = ids->last_id;

	for (uint32_t tried = 0; tried < ORMA_SERVICE_BUFFER_ID_MAX; tried++) {
		id = id % ORMA_SERVICE_BUFFER_ID_MAX + 1;
		if (ids->used[id / 64] >> id % 64 & 1)
			continue;
		ids->used[id / 64] |= UINT64_C(1) << id % 64;
		ids->last_id = id;
		return id;
	}
	return 0;
}

static void release_id(struct orma_service_buffer_ids *ids, uint32_t id)
{
	ORMA_ASSERT(id == 0 || (ids->used[id / 64] >> id % 64 & 1));
	ids->used[id / 64] &= ~(UINT64_C(1) << id % 64);
}

int orma_service_buffers_append(struct orma_service_session *session,
				struct orma_trace_buffer *trace_buffer, uint32_t size_kb)
{
	struct orma_service_buffer_ids *ids = &session->service->buffers;
	struct orma_service_session_buffer *buffer = &session->buffers[session->buffer_count];

	buffer->session = session;
	buffer->idx = (uint32_t)session->buffer_count;
	buffer->size_kb = size_kb;
	buffer->trace_buffer = trace_buffer;
	buffer->id = pick_id(ids);
	session->buffer_count++;
	ids->count++;
	return buffer->id ? 0 : -ENOSPC;
}

int orma_service_buffers_init(struct orma_service_session *session, struct orma_error *reterr)
{
	const struct orma_pb_trace_config *config = session->config;

	session->buffers =
		orma_base_alloc_array(config->buffers.count + 1, sizeof(*session->buffers));
	if (!session->buffers)
		return -ENOMEM;
	for (size_t i = 0; i < config->buffers.count; i++) {
		const struct orma_pb_trace_config_buffer_config *wanted = config->buffers.items[i];
		bool discards = wanted->fill_policy ==
				ORMA_PB_TRACE_CONFIG_BUFFER_CONFIG_FILL_POLICY_DISCARD;
		enum orma_trace_buffer_policy policy =
			discards ? ORMA_TRACE_BUFFER_DISCARD : ORMA_TRACE_BUFFER_RING;
		struct orma_trace_buffer *trace_buffer;
		int r = orma_trace_buffer_new((uint64_t)wanted->size_kb << 10, policy,
					      &trace_buffer);

		if (r < 0)
			return orma_base_error_set(reterr, r,
						   "buffers[%zu].size_kb: cannot reserve %u kB", i,
						   wanted->size_kb);
		r = orma_service_buffers_append(session, trace_buffer, wanted->size_kb);
		if (r < 0)
			return orma_base_error_set(reterr, r,
						   "buffers: the service has no buffer id left");
		orma_service_incremental_init(session, &session->buffers[i], policy);
	}
	return 0;
}

void orma_service_buffers_done(struct orma_service_session *session)
{
	struct orma_service_buffer_ids *ids = &session->service->buffers;

	for (size_t i = 0; i < session->buffer_count; i++) {
		ORMA_ASSERT(session->buffers[i].session == session && session->buffers[i].idx == i);
		orma_service_retire_buffer(session->service, session->buffers[i].trace_buffer);
		release_id(ids, session->buffers[i].id);
		ORMA_ASSERT(ids->count > 0);
		ids->count--;
	}
	orma_base_free(ORMA_TAKE(session->buffers));
	session->buffer_count = 0;
}
