/* SPDX-License-Identifier: Apache-2.0
 * commit_batch.c - turns queued events into messages to the service. Loop thread only.
 *
 * Owns the lists `ready` and `waiting`, the reservations, and one batch. Chunks stay where they
 * are: a batch only names them, except under emulation, where it points at their bytes.
 *
 * Invariant: the events of `waiting` belong to reservations that are not bound, and are in the
 * order in which they were pushed. When a reservation is bound, they go back to the beginning of
 * `ready`.
 */
#include <string.h>

#include "base/macros.h"
#include "shm/arbiter_state.h"

static void drop_first_ready(struct orma_shm_arbiter *arbiter)
{
	ORMA_ASSERT(arbiter->ready_first && arbiter->ready_last);
	arbiter->ready_first = arbiter->ready_first->next;
	if (!arbiter->ready_first)
		arbiter->ready_last = NULL;
}

static struct orma_shm_writer_block *block_of(struct orma_shm_event *event)
{
	return event->kind == ORMA_SHM_EVENT_DEPARTURE
		       ? ORMA_CONTAINER_OF(event, struct orma_shm_writer_block, departure)
		       : ORMA_CONTAINER_OF(event, struct orma_shm_writer_block, registration);
}

/* --- reservations ----------------------------------------------------------------------------- */

#define RESERVATION_SHIFT 16

uint32_t orma_shm_arbiter_reserve(struct orma_shm_arbiter *arbiter)
{
	if (arbiter->reservation_count == ORMA_SHM_RESERVATIONS_MAX)
		return 0;
	return ++arbiter->reservation_count << RESERVATION_SHIFT;
}

void orma_shm_arbiter_bind(struct orma_shm_arbiter *arbiter, uint32_t reservation,
			   uint16_t target_buffer)
{
	uint32_t idx = (reservation >> RESERVATION_SHIFT) - 1;

	if (idx >= arbiter->reservation_count || arbiter->reservations[idx].is_bound)
		return;
	arbiter->reservations[idx].is_bound = true;
	arbiter->reservations[idx].target_buffer = target_buffer;
	/* Events of other reservations return to `waiting` at the next commit. */
	if (!arbiter->waiting_first)
		return;
	arbiter->waiting_last->next = arbiter->ready_first;
	if (!arbiter->ready_first)
		arbiter->ready_last = arbiter->waiting_last;
	arbiter->ready_first = arbiter->waiting_first;
	arbiter->waiting_first = arbiter->waiting_last = NULL;
}

static uint32_t resolve(const struct orma_shm_arbiter *arbiter, uint32_t target_buffer)
{
	uint32_t idx = (target_buffer >> RESERVATION_SHIFT) - 1;

	return target_buffer >> RESERVATION_SHIFT == 0 ? target_buffer
						       : arbiter->reservations[idx].target_buffer;
}

static bool is_unbound(const struct orma_shm_arbiter *arbiter, uint32_t target_buffer)
{
	uint32_t idx = (target_buffer >> RESERVATION_SHIFT) - 1;

	return ORMA_UNLIKELY(target_buffer >> RESERVATION_SHIFT != 0) &&
	       !arbiter->reservations[idx].is_bound;
}

static bool has_to_wait(const struct orma_shm_arbiter *arbiter, struct orma_shm_event *event)
{
	bool is_notice = event->kind == ORMA_SHM_EVENT_REGISTRATION ||
			 event->kind == ORMA_SHM_EVENT_DEPARTURE;

	return is_unbound(arbiter,
			  is_notice ? block_of(event)->writer.target_buffer : event->target_buffer);
}

static void add_waiting(struct orma_shm_arbiter *arbiter, struct orma_shm_event *event)
{
	event->next = NULL;
	if (arbiter->waiting_last)
		arbiter->waiting_last->next = event;
	else
		arbiter->waiting_first = event;
	arbiter->waiting_last = event;
}

/* --- batches ---------------------------------------------------------------------------------- */

static bool has_room(const struct orma_shm_arbiter *arbiter, size_t bytes)
{
	return arbiter->batch_bytes + ORMA_SHM_BATCH_ENTRY_BYTES + bytes <=
	       ORMA_SHM_BATCH_BYTES_MAX;
}

static bool take_chunk(struct orma_shm_arbiter *arbiter, struct orma_shm_event *chunk)
{
	uint32_t slot = (uint32_t)(chunk - arbiter->slots);
	uint32_t bytes = arbiter->chunk_bytes[chunk->layout];
	uint32_t data_bytes = arbiter->options.is_emulated ? bytes : 0;
	struct orma_chunk_move *move = &arbiter->moves[arbiter->move_count];
	uint32_t pending;

	ORMA_ASSERT(slot < arbiter->view.page_count * ORMA_SHM_CHUNKS_PER_PAGE);
	if (arbiter->move_count == ORMA_SHM_BATCH_MOVES || !has_room(arbiter, data_bytes))
		return false;
	*move = (struct orma_chunk_move){
		.page_idx = slot / ORMA_SHM_CHUNKS_PER_PAGE,
		.chunk_idx = slot % ORMA_SHM_CHUNKS_PER_PAGE,
		.target_buffer = resolve(arbiter, chunk->target_buffer),
	};
	if (arbiter->options.is_emulated) {
		move->data = orma_shm_arbiter_chunk_start(arbiter, chunk);
		move->size = bytes;
	}
	arbiter->move_count++;
	arbiter->batch_bytes += ORMA_SHM_BATCH_ENTRY_BYTES + data_bytes;
	pending = atomic_fetch_sub_explicit(&arbiter->pending_bytes, bytes, memory_order_relaxed);
	ORMA_ASSERT(pending >= bytes && chunk->is_owned);
	return true;
}

static bool take_patch(struct orma_shm_arbiter *arbiter, struct orma_shm_patch *patch)
{
	struct orma_chunk_patch *entry = NULL;
	struct orma_patch *ret = &arbiter->batch_patches[arbiter->batch_patch_count];

	ORMA_ASSERT(arbiter->patch_entry_count <= arbiter->batch_patch_count);
	if (arbiter->batch_patch_count == ORMA_SHM_BATCH_PATCHES || !has_room(arbiter, 0))
		return false;
	*ret = (struct orma_patch){.offset = patch->offset};
	memcpy(ret->data, patch->data, sizeof(ret->data));
	if (arbiter->patch_entry_count > 0)
		entry = &arbiter->patch_entries[arbiter->patch_entry_count - 1];
	if (!entry || entry->writer_id != patch->writer_id || entry->chunk_id != patch->chunk_id) {
		entry = &arbiter->patch_entries[arbiter->patch_entry_count++];
		*entry = (struct orma_chunk_patch){
			.target_buffer = resolve(arbiter, patch->event.target_buffer),
			.writer_id = patch->writer_id,
			.chunk_id = patch->chunk_id,
			.patches = ret,
		};
	}
	entry->count++;
	entry->has_more_patches = patch->has_more;
	arbiter->batch_patch_count++;
	arbiter->batch_bytes += ORMA_SHM_BATCH_ENTRY_BYTES;
	return true;
}

static bool take_notice(const struct orma_shm_arbiter *arbiter,
			struct orma_shm_writer_notice *notices, size_t *count,
			const struct orma_shm_writer *writer)
{
	if (*count == ORMA_SHM_BATCH_NOTICES)
		return false;
	notices[(*count)++] = (struct orma_shm_writer_notice){
		.writer_id = writer->id,
		.target_buffer = resolve(arbiter, writer->target_buffer),
	};
	return true;
}

/* Adds an event to the batch. False when it does not fit. */
static bool take_event(struct orma_shm_arbiter *arbiter, struct orma_shm_event *event)
{
	switch ((enum orma_shm_event_kind)event->kind) {
	case ORMA_SHM_EVENT_CHUNK:
		return take_chunk(arbiter, event);
	case ORMA_SHM_EVENT_PATCH:
		return take_patch(arbiter, ORMA_CONTAINER_OF(event, struct orma_shm_patch, event));
	case ORMA_SHM_EVENT_REGISTRATION:
		/* A batch sends registrations before departures. A registration that was queued
		 * after a departure may reuse its id, so it waits for the next batch. */
		return arbiter->unregistered_count == 0 &&
		       take_notice(arbiter, arbiter->registered, &arbiter->registered_count,
				   &block_of(event)->writer);
	case ORMA_SHM_EVENT_DEPARTURE:
		return take_notice(arbiter, arbiter->unregistered, &arbiter->unregistered_count,
				   &block_of(event)->writer);
	}
	return true;
}

/* Gives the event's record back. */
static void release_event(struct orma_shm_arbiter *arbiter, struct orma_shm_event *event)
{
	switch ((enum orma_shm_event_kind)event->kind) {
	case ORMA_SHM_EVENT_CHUNK:
		/* Pairs with the acquire in own_record(). */
		atomic_store_explicit(&event->is_owned, false, memory_order_release);
		break;
	case ORMA_SHM_EVENT_PATCH:
		orma_shm_arbiter_return_patch(
			arbiter, ORMA_CONTAINER_OF(event, struct orma_shm_patch, event));
		break;
	case ORMA_SHM_EVENT_REGISTRATION:
	case ORMA_SHM_EVENT_DEPARTURE:
		orma_shm_writer_block_put(block_of(event));
		break;
	}
}

static void clear_batch(struct orma_shm_arbiter *arbiter)
{
	arbiter->move_count = arbiter->patch_entry_count = arbiter->batch_patch_count = 0;
	arbiter->registered_count = arbiter->unregistered_count = arbiter->batch_bytes = 0;
}

/* False: it is empty, and nobody will call orma_shm_arbiter_commit_done(). */
static bool describe_batch(struct orma_shm_arbiter *arbiter, bool has_more,
			   struct orma_shm_batch *ret)
{
	*ret = (struct orma_shm_batch){
		.registered = arbiter->registered,
		.registered_count = arbiter->registered_count,
		.commit = {.moves = arbiter->moves,
			   .move_count = arbiter->move_count,
			   .patches = arbiter->patch_entries,
			   .patch_count = arbiter->patch_entry_count},
		.unregistered = arbiter->unregistered,
		.unregistered_count = arbiter->unregistered_count,
		.has_more = has_more,
	};
	arbiter->is_commit_out = arbiter->move_count + arbiter->patch_entry_count +
					 arbiter->registered_count + arbiter->unregistered_count >
				 0;
	return arbiter->is_commit_out;
}

bool orma_shm_arbiter_take_commit(struct orma_shm_arbiter *arbiter, struct orma_shm_batch *ret)
{
	orma_shm_arbiter_commit_done(arbiter);
	if (!arbiter->ready_first)
		orma_shm_arbiter_gather(arbiter);
	while (arbiter->ready_first) {
		struct orma_shm_event *event = arbiter->ready_first;

		if (has_to_wait(arbiter, event)) {
			drop_first_ready(arbiter);
			add_waiting(arbiter, event);
			continue;
		}
		if (!take_event(arbiter, event))
			break;
		drop_first_ready(arbiter);
		/* The bytes of an emulated chunk are needed until they are sent. */
		if (!arbiter->options.is_emulated || event->kind != ORMA_SHM_EVENT_CHUNK)
			release_event(arbiter, event);
	}
	return describe_batch(arbiter, arbiter->ready_first != NULL, ret);
}

/* The producer's own move Complete -> Free. */
static void free_emulated_chunk(struct orma_shm_arbiter *arbiter,
				const struct orma_chunk_move *move)
{
	uint32_t slot = move->page_idx * ORMA_SHM_CHUNKS_PER_PAGE + move->chunk_idx;
	struct orma_shm_event *chunk = &arbiter->slots[slot];

	orma_shm_chunk_clear((struct orma_shm_chunk_header *)(void *)orma_shm_arbiter_chunk_start(
		arbiter, chunk));
	release_event(arbiter, chunk);
	orma_shm_page_free_chunk(&orma_shm_arbiter_page(arbiter, move->page_idx)->word,
				 move->chunk_idx);
}

void orma_shm_arbiter_commit_done(struct orma_shm_arbiter *arbiter)
{
	if (arbiter->options.is_emulated && arbiter->is_commit_out)
		for (size_t i = 0; i < arbiter->move_count; i++)
			if (!arbiter->moves[i].is_incomplete)
				free_emulated_chunk(arbiter, &arbiter->moves[i]);
	clear_batch(arbiter);
	arbiter->is_commit_out = false;
}

bool orma_shm_arbiter_take_incomplete(struct orma_shm_arbiter *arbiter,
				      struct orma_shm_view_position *position,
				      struct orma_shm_batch *ret)
{
	struct orma_shm_chunk chunk;
	size_t used = 0;

	orma_shm_arbiter_commit_done(arbiter);
	if (!arbiter->options.is_emulated)
		return false;
	while (arbiter->move_count < ORMA_SHM_BATCH_MOVES &&
	       has_room(arbiter, arbiter->view.page_bytes) &&
	       orma_shm_view_next(&arbiter->view, position, &chunk)) {
		uint8_t *to = arbiter->copies + used;
		uint16_t packets =
			(uint16_t)(chunk.fragment_count | chunk.flags << ORMA_SHM_FLAGS_SHIFT);
		uint32_t slot = chunk.page_idx * ORMA_SHM_CHUNKS_PER_PAGE + chunk.chunk_idx;
		uint32_t target_buffer;

		/* The last fragment is under construction, so fewer than two contain no data. */
		if (chunk.state != ORMA_SHM_BEING_WRITTEN || chunk.fragment_count < 2)
			continue;
		target_buffer = arbiter->slots[slot].target_buffer;
		if (is_unbound(arbiter, target_buffer))
			continue;
		memcpy(to, &chunk.chunk_id, 4);
		memcpy(to + 4, &chunk.writer_id, 2);
		memcpy(to + 6, &packets, 2);
		orma_shm_chunk_copy(&chunk, to + 8, chunk.payload_bytes);
		used += 8 + chunk.payload_bytes;
		arbiter->moves[arbiter->move_count++] = (struct orma_chunk_move){
			.page_idx = chunk.page_idx,
			.chunk_idx = chunk.chunk_idx,
			.target_buffer = resolve(arbiter, target_buffer),
			.data = to,
			.size = 8 + chunk.payload_bytes,
			.is_incomplete = true,
		};
		arbiter->batch_bytes += ORMA_SHM_BATCH_ENTRY_BYTES + 8 + chunk.payload_bytes;
	}
	return describe_batch(arbiter, position->page_idx < arbiter->view.page_count, ret);
}

void orma_shm_arbiter_drop_events(struct orma_shm_arbiter *arbiter)
{
	orma_shm_arbiter_close_queue(arbiter);
	while (arbiter->ready_first) {
		struct orma_shm_event *event = arbiter->ready_first;

		drop_first_ready(arbiter);
		release_event(arbiter, event);
	}
	while (arbiter->waiting_first) {
		struct orma_shm_event *event = arbiter->waiting_first;

		arbiter->waiting_first = event->next;
		release_event(arbiter, event);
	}
	arbiter->waiting_last = NULL;
}
