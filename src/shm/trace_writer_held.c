/* SPDX-License-Identifier: Apache-2.0
 * trace_writer_held.c - the chunks that the open packet has left, and the lengths that are still
 * missing in them.
 *
 * When the service allows it, a chunk that the open packet has left is *held*: it stays
 * BeingWritten while the length field of an open message lies in it. At the end of the packet all
 * lengths are in place, and the held chunks go out complete. When more than an eighth of the memory
 * is held, or no other chunk can be acquired, they go out at once, marked as needing patches, and
 * each length field that is still open moves to a patch record. Patches are sent in order, each as
 * soon as its length and all before it are known.
 *
 * Rejected: holding chunks without limit, because a packet that is larger than the memory would
 * wait for itself.
 */
#include "shm/trace_writer_held.h"

#include <string.h>

#define HELD_SHARE 8 /* at most 1/8 of the memory is held */

static void list_append(struct orma_shm_event **first, struct orma_shm_event **last,
			struct orma_shm_event *event)
{
	ORMA_ASSERT(!*first == !*last);
	event->next = NULL;
	if (*last)
		(*last)->next = event;
	else
		*first = event;
	*last = event;
}

static struct orma_shm_event *list_take_first(struct orma_shm_event **first,
					      struct orma_shm_event **last)
{
	struct orma_shm_event *event = *first;

	*first = event->next;
	if (!*first)
		*last = NULL;
	return event;
}

void orma_shm_writer_send_patches(struct orma_shm_writer *writer)
{
	while (writer->patch_first) {
		struct orma_shm_patch *patch =
			ORMA_CONTAINER_OF(writer->patch_first, struct orma_shm_patch, event);

		if (patch->data[0] == 0)
			return;
		list_take_first(&writer->patch_first, &writer->patch_last);
		patch->has_more =
			writer->patch_first &&
			ORMA_CONTAINER_OF(writer->patch_first, struct orma_shm_patch, event)
					->chunk_id == patch->chunk_id;
		atomic_fetch_add_explicit(&writer->arbiter->patches_sent, 1, memory_order_relaxed);
		if (!orma_shm_arbiter_push(writer->arbiter, &patch->event))
			orma_shm_arbiter_return_patch(writer->arbiter, patch);
	}
}

static struct orma_shm_patch *get_patch(struct orma_shm_writer *writer)
{
	struct orma_shm_patch *patch = orma_shm_arbiter_take_patch(writer->arbiter);
	struct orma_shm_wait wait = {.timeout_ms = writer->stall_timeout_ms};

	if (!patch)
		orma_shm_writer_send_patches(writer);
	while (!patch && writer->policy == ORMA_SHM_STALL &&
	       orma_shm_arbiter_wait(writer->arbiter, &wait))
		patch = orma_shm_arbiter_take_patch(writer->arbiter);
	return patch;
}

/* Moves the open length fields that lie in a chunk to patch records, the innermost first. False
 * when there was none. */
static bool redirect_to_patches(struct orma_shm_writer *writer, struct orma_shm_event *chunk)
{
	uint8_t *start = orma_shm_arbiter_chunk_start(writer->arbiter, chunk);
	uint32_t bytes = writer->arbiter->chunk_bytes[chunk->layout];
	struct orma_shm_chunk_header *header = orma_shm_chunk_header_of(writer, chunk);
	bool was_redirected = false;

	for (struct orma_proto_nested *open = writer->proto.open; open; open = open->parent) {
		struct orma_shm_patch *patch;

		if (!orma_shm_is_inside(open->length_field, start, bytes))
			continue;
		patch = get_patch(writer);
		if (!patch) {
			open->length_field = writer->scrap_length;
			writer->is_doomed = true;
			continue;
		}
		patch->event.target_buffer = writer->target_buffer;
		patch->writer_id = writer->id;
		patch->chunk_id = atomic_load_explicit(&header->chunk_id, memory_order_relaxed);
		patch->offset = (uint32_t)(open->length_field - start) - (uint32_t)sizeof(*header);
		memset(patch->data, 0, sizeof(patch->data));
		open->length_field = patch->data;
		list_append(&writer->patch_first, &writer->patch_last, &patch->event);
		was_redirected = true;
	}
	return was_redirected;
}

void orma_shm_writer_release_held(struct orma_shm_writer *writer)
{
	while (writer->held_first) {
		struct orma_shm_event *chunk =
			list_take_first(&writer->held_first, &writer->held_last);
		uint32_t bytes = writer->arbiter->chunk_bytes[chunk->layout], before;

		if (redirect_to_patches(writer, chunk))
			atomic_fetch_or_explicit(&orma_shm_chunk_header_of(writer, chunk)->packets,
						 ORMA_SHM_NEEDS_PATCHING << ORMA_SHM_FLAGS_SHIFT,
						 memory_order_release);
		before = atomic_fetch_sub_explicit(&writer->arbiter->held_bytes, bytes,
						   memory_order_relaxed);
		ORMA_ASSERT(before >= bytes);
		orma_shm_arbiter_complete(writer->arbiter, chunk);
	}
}

bool orma_shm_writer_may_hold(const struct orma_shm_writer *writer)
{
	const struct orma_shm_arbiter *arbiter = writer->arbiter;

	return arbiter->options.can_hold_chunks &&
	       atomic_load_explicit(&arbiter->held_bytes, memory_order_relaxed) <=
		       arbiter->view.size_bytes / HELD_SHARE;
}

void orma_shm_writer_hold(struct orma_shm_writer *writer, struct orma_shm_event *chunk)
{
	list_append(&writer->held_first, &writer->held_last, chunk);
	atomic_fetch_add_explicit(&writer->arbiter->held_bytes,
				  writer->arbiter->chunk_bytes[chunk->layout],
				  memory_order_relaxed);
}
