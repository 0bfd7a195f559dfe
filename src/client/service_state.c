/* SPDX-License-Identifier: Apache-2.0
 * service_state.c - a TracingServiceState message as plain structs.
 *
 * Everything but the outermost struct lies in one arena, which bounds what a message may unfold into.
 * The arrays have pointers, because the structs will grow, and programs that were built before index
 * the arrays. Rejected: accessor functions (a handle and thirty symbols for what is read once), the
 * caller's arrays.
 */
#include <orma/state.h>

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "client/client_limits.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/service_state.pb.h"

struct holder {
	struct orma_arena arena;
	struct orma_service_state state;
};

/* A copy of a text, NUL-terminated; NULL without memory. */
static const char *text(struct orma_arena *arena, struct orma_str from)
{
	return from.size > 0 ? orma_base_arena_strdup(arena, from) : "";
}

/* Room for `count` pointers and the structs that they point to; NULL without memory. */
static void *array(struct orma_arena *arena, size_t count, size_t item_bytes)
{
	char *items = orma_base_arena_alloc(arena, (count + 1) * item_bytes);
	void **pointers = orma_base_arena_alloc(arena, (count + 1) * sizeof(*pointers));

	if (!items || !pointers)
		return NULL;
	for (size_t i = 0; i < count; i++)
		pointers[i] = items + i * item_bytes;
	return pointers;
}

static int take_producers(const struct orma_pb_tracing_service_state *from, struct holder *holder)
{
	struct orma_arena *arena = &holder->arena;
	size_t count = from->producers.count;
	struct orma_producer_state **producers = array(arena, count, sizeof(**producers));

	for (size_t i = 0; producers && i < count; i++) {
		const struct orma_pb_tracing_service_state_producer *item =
			from->producers.items[i];

		*producers[i] = (struct orma_producer_state){
			.struct_size = sizeof(*producers[i]),
			.id = item->id,
			.name = text(arena, item->name),
			.sdk_version = text(arena, item->sdk_version),
			.uid = item->uid,
			.pid = item->pid,
			.machine_id = item->machine_id,
			.machine_name = text(arena, item->machine_name),
		};
		if (!producers[i]->name || !producers[i]->sdk_version ||
		    !producers[i]->machine_name)
			return -ENOMEM;
	}
	holder->state.producers = (const void *)producers;
	holder->state.producer_count = count;
	return producers ? 0 : -ENOMEM;
}

static int take_data_sources(const struct orma_pb_tracing_service_state *from,
			     struct holder *holder)
{
	struct orma_arena *arena = &holder->arena;
	size_t count = from->data_sources.count;
	struct orma_data_source_state **sources = array(arena, count, sizeof(**sources));

	for (size_t i = 0; sources && i < count; i++) {
		const struct orma_pb_tracing_service_state_data_source *item =
			from->data_sources.items[i];
		struct orma_buf descriptor = {0};
		const char *name = "";
		size_t descriptor_size = 0;
		void *copy = NULL;

		if (item->ds_descriptor) {
			name = text(arena, item->ds_descriptor->name);
			/* Encoded again: a merged message has no bytes of its own. */
			if (orma_proto_encode(item->ds_descriptor, &descriptor) >= 0)
				copy = orma_base_arena_alloc(arena, descriptor.size + 1);
			if (copy && descriptor.size > 0)
				memcpy(copy, descriptor.data, descriptor.size);
			descriptor_size = descriptor.size;
			orma_base_buf_done(&descriptor);
			if (!name || !copy)
				return -ENOMEM;
		}
		*sources[i] = (struct orma_data_source_state){
			.struct_size = sizeof(*sources[i]),
			.name = name,
			.producer_id = item->producer_id,
			.descriptor = copy,
			.descriptor_size = descriptor_size,
		};
	}
	holder->state.data_sources = (const void *)sources;
	holder->state.data_source_count = count;
	return sources ? 0 : -ENOMEM;
}

static uint64_t sum_of_buffers(const struct orma_pb_tracing_service_state_tracing_session *item)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < item->buffer_size_kb.count; i++)
		bytes += (uint64_t)item->buffer_size_kb.items[i] * 1024;
	return bytes;
}

static int take_sessions(const struct orma_pb_tracing_service_state *from, struct holder *holder)
{
	struct orma_arena *arena = &holder->arena;
	size_t count = from->tracing_sessions.count;
	struct orma_session_state **sessions = array(arena, count, sizeof(**sessions));

	for (size_t i = 0; sessions && i < count; i++) {
		const struct orma_pb_tracing_service_state_tracing_session *item =
			from->tracing_sessions.items[i];

		*sessions[i] = (struct orma_session_state){
			.struct_size = sizeof(*sessions[i]),
			.id = item->id,
			.unique_name = text(arena, item->unique_session_name),
			.state = text(arena, item->state),
			.is_started = item->is_started || orma_base_str_is(item->state, "STARTED"),
			.uid = item->consumer_uid,
			.duration_ms = item->duration_ms,
			.data_source_count = item->num_data_sources,
			.buffers_bytes = sum_of_buffers(item),
			.start_realtime_ns = item->start_realtime_ns,
			.bugreport_score = item->bugreport_score,
		};
		if (!sessions[i]->unique_name || !sessions[i]->state)
			return -ENOMEM;
	}
	holder->state.sessions = (const void *)sessions;
	holder->state.listed_count = count;
	holder->state.lists_sessions = from->supports_tracing_sessions;
	return sessions ? 0 : -ENOMEM;
}

static int take(const void *data_untrusted, size_t size, struct holder *holder)
{
	struct orma_pb_tracing_service_state *from;
	int r = orma_proto_decode_copy(&orma_pb_tracing_service_state_desc, data_untrusted, size,
				       &holder->arena, &from);

	if (r < 0)
		return r;
	holder->state.struct_size = sizeof(holder->state);
	holder->state.version = text(&holder->arena, from->tracing_service_version);
	holder->state.session_count = (uint32_t)ORMA_MAX(from->num_sessions, 0);
	holder->state.started_count = (uint32_t)ORMA_MAX(from->num_sessions_started, 0);
	r = holder->state.version ? take_producers(from, holder) : -ENOMEM;
	if (r == 0)
		r = take_data_sources(from, holder);
	return r < 0 ? r : take_sessions(from, holder);
}

int orma_service_state_parse(const void *data, size_t size, struct orma_service_state **ret)
{
	struct holder *holder;
	int r;

	if (!ret || (!data && size > 0))
		return -EINVAL;
	holder = orma_base_zalloc(sizeof(*holder));
	if (!holder)
		return -ENOMEM;
	holder->arena.limit_bytes = ORMA_CLIENT_STATE_BYTES_MAX;
	r = take(data, size, holder);
	if (r < 0) {
		orma_service_state_free(&holder->state);
		return r;
	}
	*ret = &holder->state;
	return 0;
}

void orma_service_state_free(struct orma_service_state *state)
{
	struct holder *holder;

	if (!state)
		return;
	holder = ORMA_CONTAINER_OF(state, struct holder, state);
	orma_base_arena_done(&holder->arena);
	orma_base_free(holder);
}
