/* SPDX-License-Identifier: Apache-2.0
 * clone_state.c - what a clone copies from its source besides the buffers: identity, clocks,
 * events, sequences, counts.
 *
 * Everything is copied, so source and clone can end in either order. There are two exceptions. The
 * triggers that the source obeyed are moved, because otherwise each clone of a session that is
 * cloned for hours would list all of them. Sequences are shared, because there may be very many
 * (packet_sequence.c). Rejected: sharing the rest with reference counts (the source goes on to
 * change all of it).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "service/clone/clone.h"
#include "service/packet_sequence.h"
#include "service/read/service_event.h"
#include "service/service_core.h"
#include "service/session_state.h"

static void copy_identity(const struct orma_service_session *source,
			  struct orma_service_session *session)
{
	struct orma_service *service = source->service;
	uint64_t word;

	/* The low half links a trace to its requester; the clone gets a high half of its own. */
	service->random(service->ctx, &word, sizeof(word));
	session->uuid_msb = (word & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
	session->uuid_lsb = source->uuid_lsb;
	session->sequences.last_id = source->sequences.last_id;
	session->duration_ms = source->duration_ms;
	session->started_realtime_ns = source->started_realtime_ns;
	session->started_boot_ns = source->started_boot_ns;
	session->read.invalid_packet_count = source->read.invalid_packet_count;
	session->flush.requested_count = source->flush.requested_count;
	session->flush.succeeded_count = source->flush.succeeded_count;
	session->flush.failed_count = source->flush.failed_count;
	session->clocks.initial = source->clocks.initial;
	memcpy(session->clocks.snapshots, source->clocks.snapshots,
	       sizeof(session->clocks.snapshots));
	session->clocks.count = source->clocks.count;
}

static int copy_events(const struct orma_service_session *source,
		       struct orma_service_session *session)
{
	for (size_t i = 0; i < source->events.count; i++) {
		const struct orma_service_event *event = &source->events.items[i];
		struct orma_buf data = {0};
		int r = event->data.size
				? orma_base_buf_append(&data, event->data.data, event->data.size)
				: 0;

		if (r == 0)
			r = orma_service_event_insert(session, event->field_id, event->time_ns,
						      &data);
		orma_base_buf_done(&data);
		if (r < 0)
			return r;
	}
	return 0;
}

static int copy_concurrent_events(const struct orma_service_session *source,
				  struct orma_service_session *session)
{
	size_t count = source->concurrent.count;

	if (count == 0)
		return 0;
	session->concurrent.items = orma_base_memdup(source->concurrent.items,
						     count * sizeof(*source->concurrent.items));
	if (!session->concurrent.items)
		return -ENOMEM;
	session->concurrent.count = session->concurrent.capacity = count;
	for (size_t i = 0; i < count; i++)
		if (source->concurrent.items[i].name)
			session->concurrent.items[i].name =
				orma_base_strdup(source->concurrent.items[i].name);
	return 0;
}

static void move_hits(struct orma_service_session *source, struct orma_service_session *session)
{
	session->triggers.hits = ORMA_TAKE(source->triggers.hits);
	session->triggers.hit_count = session->triggers.hit_capacity = source->triggers.hit_count;
	source->triggers.hit_count = source->triggers.hit_capacity =
		source->triggers.written_hit_count = 0;
}

int orma_service_clone_copy_state(struct orma_service_session *source,
				  struct orma_service_session *session)
{
	int r = orma_service_packet_sequences_share(source, session);

	copy_identity(source, session);
	if (r == 0)
		r = copy_events(source, session);
	if (r == 0)
		r = copy_concurrent_events(source, session);
	if (r == 0)
		move_hits(source, session);
	return r;
}
