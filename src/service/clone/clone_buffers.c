/* SPDX-License-Identifier: Apache-2.0
 * clone_buffers.c - the buffers of a clone under construction, from the flush of their group until the
 * clone's session has them.
 *
 *   empty --taken: transferred--> whole --given--> the session's
 *     +-----taken: copy begun--> copying --steps--> whole
 *
 * Invariant: a place has at most one of `buffer` and `copy`. All places before clone->buffer_idx are
 * whole or empty.
 */
#include <stddef.h>

#include "base/assert.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "schema/gen/trace_config.pb.h"
#include "service/clone/clone.h"
#include "service/retire.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_buffer.h"
#include "service/session_state.h"

/* Gives the buffer a new trace buffer and returns the old one. */
static int replace_buffer(struct orma_service_session_buffer *buffer,
			  struct orma_trace_buffer **ret_old)
{
	const struct orma_pb_trace_config_buffer_config *config =
		buffer->session->config->buffers.items[buffer->idx];
	bool discards =
		config->fill_policy == ORMA_PB_TRACE_CONFIG_BUFFER_CONFIG_FILL_POLICY_DISCARD;
	struct orma_trace_buffer *fresh;
	int r = orma_trace_buffer_new((uint64_t)buffer->size_kb << 10,
				      discards ? ORMA_TRACE_BUFFER_DISCARD : ORMA_TRACE_BUFFER_RING,
				      &fresh);

	if (r < 0)
		return r;
	*ret_old = buffer->trace_buffer;
	buffer->trace_buffer = fresh;
	return 0;
}

int orma_service_clone_clear_source(struct orma_service_session *source)
{
	for (size_t i = 0; i < source->buffer_count; i++) {
		struct orma_trace_buffer *old;
		int r;

		if (!source->config->buffers.items[i]->clear_before_clone ||
		    !orma_trace_buffer_has_data(source->buffers[i].trace_buffer))
			continue;
		r = replace_buffer(&source->buffers[i], &old);
		if (r < 0)
			return r;
		orma_service_retire_buffer(source->service, old);
	}
	return 0;
}

static int take_buffer(struct orma_service_clone *clone, size_t idx)
{
	struct orma_service_clone_buffer *buffer = &clone->buffers[idx];
	struct orma_service_session_buffer *from = &clone->source->buffers[idx];
	int r;

	ORMA_ASSERT(!buffer->buffer && !buffer->copy);
	if (orma_service_flush_concerns(ORMA_SERVICE_FLUSH_TRANSFERRED, clone->source, idx))
		r = replace_buffer(from, &buffer->buffer);
	else
		r = orma_trace_buffer_copy_begin(from->trace_buffer, 0, &buffer->copy);
	buffer->boot_ns = orma_service_boot_ns(clone->service);
	return r;
}

int orma_service_clone_take_buffers(struct orma_service_clone *clone,
				    enum orma_service_flush_group group)
{
	int r = 0;

	for (size_t i = 0; i < clone->buffer_count && r == 0; i++)
		if (orma_service_flush_concerns(group, clone->source, i))
			r = take_buffer(clone, i);
	return r;
}

int orma_service_clone_copy_step(struct orma_service_clone *clone)
{
	uint64_t spent_bytes = 0;

	for (; clone->buffer_idx < clone->buffer_count; clone->buffer_idx++) {
		struct orma_service_clone_buffer *buffer = &clone->buffers[clone->buffer_idx];
		int r;

		if (!buffer->copy)
			continue;
		if (spent_bytes >= ORMA_SERVICE_CLONE_STEP_BYTES)
			return 1;
		r = orma_trace_buffer_copy_step(buffer->copy,
						ORMA_SERVICE_CLONE_STEP_BYTES - spent_bytes);
		if (r != 0)
			return r;
		buffer->buffer = orma_trace_buffer_copy_take(ORMA_TAKE(buffer->copy));
		/* An upper bound: earlier steps may have copied a part. */
		spent_bytes += orma_trace_buffer_used_bytes(buffer->buffer);
	}
	clone->buffer_idx = 0; /* another group may come */
	return 0;
}

int orma_service_clone_give_buffers(struct orma_service_clone *clone)
{
	struct orma_service_session *session = clone->session;
	int r = 0;

	for (size_t i = 0; i < clone->buffer_count && r == 0; i++)
		r = orma_service_buffers_append(session, ORMA_TAKE(clone->buffers[i].buffer),
						clone->buffers[i].size_kb);
	return r;
}

void orma_service_clone_retire_buffers(struct orma_service_clone *clone)
{
	for (size_t i = 0; i < clone->buffer_count; i++) {
		if (clone->buffers[i].copy)
			orma_service_retire_buffer(clone->service, orma_trace_buffer_copy_take(
									   clone->buffers[i].copy));
		orma_service_retire_buffer(clone->service, clone->buffers[i].buffer);
	}
}
