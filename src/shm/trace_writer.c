/* SPDX-License-Identifier: Apache-2.0
 * trace_writer.c - packets into chunks: fragments, lengths that are known late, loss.
 *
 * Picture, of the chunk in hand:
 *
 *   [header][size|packet][size|packet][LLLL|open packet ...  ]..........[0]
 *                                      ^fragment_size        ^cursor    ^end
 *
 * The window ends one byte before the chunk does.
 *
 * Invariants:
 *   - `packets` counts the finished fragments and one under construction. A chunk that is handed
 *     over without one gets an empty fragment in its place, for which the last byte is always kept
 *     free.
 *   - An open nested message's length field lies in the chunk in hand, in a held chunk, in a patch
 *     record or in scrap_length: always in memory that is ours.
 *   - Chunks are handed over in the order of their ids.
 *
 * A packet that outgrows its chunk leaves it behind. When the service allows it, such a chunk is
 * *held*, BeingWritten, as long as an open message's length lies in it; at the end of the packet
 * all lengths are in place and the held chunks go out complete. When more than an eighth of the
 * memory is held, or a chunk is not to be had, they go out at once, marked as needing patches, and
 * the lengths follow as patch records; these go out in order, when the first is known.
 *
 * A packet that is lost in its middle ends with a drop marker in the last fragment that could be
 * written; when that one is already gone, with the absence of its continuation.
 *
 * Pace: a writer starts with fourteenths of a page. It doubles its chunks when it filled the last
 * one before the whole memory was handed out once by everybody together, and halves them when it
 * did not; a packet that fills whole chunks gets whole pages. acquire.c bounds that by what is
 * left.
 *
 * Rejected: copying each packet from a private buffer (twice the stores, and no bound on its size);
 * holding chunks without limit (one packet larger than the memory would wait for itself).
 */
#include "shm/trace_writer.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "shm/arbiter_state.h"

/* Room for which a packet is begun: the size, and what the proto writer wants at least. */
#define PACKET_ROOM_MIN (ORMA_SHM_FRAGMENT_SIZE_BYTES + ORMA_PROTO_SINK_MIN)
#define HELD_SHARE      8
#define CACHE_LINE      64
#define PREFETCH_AHEAD  512
#define PREFETCH_MAX    1024

/* TracePacket fields that the writer itself sets. */
#define FIELD_PREVIOUS_PACKET_DROPPED  42
#define FIELD_FIRST_PACKET_ON_SEQUENCE 87
#define LOSS_PRESENT                   1u
#define LOSS_SMB_FULL                  256u

/* --- the window ------------------------------------------------------------------------------- */

static void set_window(struct orma_shm_writer *writer, uint8_t *begin, uint8_t *end)
{
	writer->proto.begin = writer->proto.cursor = begin;
	writer->proto.end = end;
	writer->fast_end = begin;
}

/* No chunk in hand: the next packet asks for one. */
static void set_window_empty(struct orma_shm_writer *writer)
{
	writer->chunk = NULL;
	writer->chunk_start = NULL;
	writer->chunk_bytes = 0;
	writer->packets_word = &writer->scrap_packets;
	writer->packets = 0;
	writer->fragment_size = NULL;
	set_window(writer, writer->scrap, writer->scrap);
}

static void set_window_scrap(struct orma_shm_writer *writer)
{
	set_window_empty(writer);
	set_window(writer, writer->scrap, writer->scrap + sizeof(writer->scrap));
	writer->is_losing = true;
}

static bool is_count_full(const struct orma_shm_writer *writer)
{
	return (writer->packets & ORMA_SHM_FRAGMENT_COUNT_MASK) >= ORMA_SHM_FRAGMENT_COUNT_MAX;
}

/*
 * How far packets may go without a look at anything else: to the window's end, or to where the
 * count of packets might become full, if all that follow were of the smallest size; nowhere when
 * something is to be said first. `pending` bytes are about to be committed as a packet; 0 = none.
 */
static void set_fast_end(struct orma_shm_writer *writer, size_t pending)
{
	size_t left = is_count_full(writer)
			      ? 0
			      : ORMA_SHM_FRAGMENT_COUNT_MAX -
					(writer->packets & ORMA_SHM_FRAGMENT_COUNT_MASK);
	size_t room = (size_t)(writer->proto.end - writer->proto.cursor);

	if (writer->is_first || writer->has_lost || left == 0) {
		writer->fast_end = writer->chunk_start;
		return;
	}
	left = (left - (pending > 0)) * (1 + ORMA_SHM_RESERVE_BYTES_MIN) + pending;
	writer->fast_end = writer->proto.cursor + ORMA_MIN(left, room);
}

static void store_packets(struct orma_shm_writer *writer)
{
	/* Pairs with the scraper's acquire in orma_shm_view_next(). */
	atomic_store_explicit(writer->packets_word, writer->packets, memory_order_release);
}

static struct orma_shm_chunk_header *header_of(const struct orma_shm_writer *writer,
					       const struct orma_shm_event *chunk)
{
	uint8_t *start = orma_shm_arbiter_chunk_start(writer->arbiter, chunk);

	return (struct orma_shm_chunk_header *)(void *)start;
}

static void enter_chunk(struct orma_shm_writer *writer, struct orma_shm_event *chunk,
			unsigned flags)
{
	struct orma_shm_chunk_header *header = header_of(writer, chunk);

	chunk->target_buffer = writer->target_buffer;
	writer->chunk = chunk;
	writer->chunk_start = (uint8_t *)header;
	writer->chunk_bytes = writer->arbiter->chunk_bytes[chunk->layout];
	writer->acquired_mark =
		atomic_load_explicit(&writer->arbiter->turnover_bytes, memory_order_relaxed);
	writer->is_losing = false;
	atomic_store_explicit(&header->chunk_id, writer->next_chunk_id++, memory_order_relaxed);
	atomic_store_explicit(&header->writer_id, writer->id, memory_order_relaxed);
	writer->packets_word = &header->packets;
	writer->packets = (uint16_t)(1u | flags << ORMA_SHM_FLAGS_SHIFT);
	store_packets(writer);
	set_window(writer, writer->chunk_start + sizeof(*header),
		   writer->chunk_start + writer->chunk_bytes - 1);
}

static void open_fragment(struct orma_shm_writer *writer)
{
	writer->fragment_size = writer->proto.cursor;
	writer->proto.cursor += ORMA_SHM_FRAGMENT_SIZE_BYTES;
	writer->proto.begin = writer->proto.cursor;
}

static uint32_t fragment_bytes(const struct orma_shm_writer *writer)
{
	return (uint32_t)(writer->proto.cursor - writer->fragment_size) -
	       ORMA_SHM_FRAGMENT_SIZE_BYTES;
}

/* Between packets. */
static void hand_over(struct orma_shm_writer *writer)
{
	if (!writer->chunk)
		return;
	*writer->proto.cursor = 0; /* the fragment that is counted and not there */
	orma_shm_arbiter_complete(writer->arbiter, writer->chunk);
	set_window_empty(writer);
}

/* --- lengths known late ----------------------------------------------------------------------- */

static void list_append(struct orma_shm_event **first, struct orma_shm_event **last,
			struct orma_shm_event *event)
{
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

/* Hands over the patches whose length is known, in order, up to the first that is not. */
static void send_patches(struct orma_shm_writer *writer)
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
		send_patches(writer);
	while (!patch && writer->policy == ORMA_SHM_STALL &&
	       orma_shm_arbiter_wait(writer->arbiter, &wait))
		patch = orma_shm_arbiter_take_patch(writer->arbiter);
	return patch;
}

static bool is_inside(const uint8_t *at, const uint8_t *start, size_t size)
{
	return at >= start && at < start + size;
}

/* Moves the length fields that lie in a chunk to patch records, the innermost first. True when
 * there was one. */
static bool redirect_to_patches(struct orma_shm_writer *writer, struct orma_shm_event *chunk)
{
	uint8_t *start = orma_shm_arbiter_chunk_start(writer->arbiter, chunk);
	uint32_t bytes = writer->arbiter->chunk_bytes[chunk->layout];
	struct orma_shm_chunk_header *header = header_of(writer, chunk);
	bool was_redirected = false;

	for (struct orma_proto_nested *open = writer->proto.open; open; open = open->parent) {
		struct orma_shm_patch *patch;

		if (!is_inside(open->length_field, start, bytes))
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

/* Completes the held chunks, the oldest first; lengths that are still missing in them follow as
 * patches. */
static void release_held(struct orma_shm_writer *writer)
{
	while (writer->held_first) {
		struct orma_shm_event *chunk =
			list_take_first(&writer->held_first, &writer->held_last);

		if (redirect_to_patches(writer, chunk))
			atomic_fetch_or_explicit(&header_of(writer, chunk)->packets,
						 ORMA_SHM_NEEDS_PATCHING << ORMA_SHM_FLAGS_SHIFT,
						 memory_order_release);
		atomic_fetch_sub_explicit(&writer->arbiter->held_bytes,
					  writer->arbiter->chunk_bytes[chunk->layout],
					  memory_order_relaxed);
		orma_shm_arbiter_complete(writer->arbiter, chunk);
	}
}

static bool may_hold(const struct orma_shm_writer *writer)
{
	const struct orma_shm_arbiter *arbiter = writer->arbiter;

	return arbiter->options.can_hold_chunks &&
	       atomic_load_explicit(&arbiter->held_bytes, memory_order_relaxed) <=
		       arbiter->view.size_bytes / HELD_SHARE;
}

/* The open packet goes on in another chunk. */
static void leave_chunk(struct orma_shm_writer *writer)
{
	orma_proto_put_length(writer->fragment_size, fragment_bytes(writer));
	writer->packets |= ORMA_SHM_CONTINUES_IN_NEXT << ORMA_SHM_FLAGS_SHIFT;
	store_packets(writer);
	list_append(&writer->held_first, &writer->held_last, writer->chunk);
	atomic_fetch_add_explicit(&writer->arbiter->held_bytes, writer->chunk_bytes,
				  memory_order_relaxed);
	writer->has_fragments = true;
	set_window_empty(writer);
	if (!writer->proto.open || !may_hold(writer))
		release_held(writer);
}

/* The open packet's rest goes to scrap, and what there is of it must not be read. */
static void give_up_packet(struct orma_shm_writer *writer)
{
	const struct orma_shm_view *view = &writer->arbiter->view;

	for (struct orma_proto_nested *open = writer->proto.open; open; open = open->parent)
		if (is_inside(open->length_field, view->start, view->size_bytes))
			open->length_field = writer->scrap_length;
	release_held(writer);
	if (writer->chunk) {
		/* The marker is the last fragment of its chunk: the count is right without another.
		 */
		orma_proto_put_length(writer->fragment_size, ORMA_SHM_FRAGMENT_DROPPED);
		orma_shm_arbiter_complete(writer->arbiter, writer->chunk);
	}
	set_window_scrap(writer);
}

/* --- changing chunks -------------------------------------------------------------------------- */

/* The size of the next chunk, now that the one in hand is full. */
static void adapt_layout(struct orma_shm_writer *writer)
{
	uint64_t turnover =
		atomic_load_explicit(&writer->arbiter->turnover_bytes, memory_order_relaxed) -
		writer->acquired_mark;

	if (!writer->chunk)
		return;
	if (turnover > writer->arbiter->view.size_bytes) {
		if (writer->layout < ORMA_SHM_LAYOUT_14)
			writer->layout++;
	} else if (writer->has_fragments) {
		writer->layout = ORMA_SHM_LAYOUT_1;
	} else if (writer->layout > ORMA_SHM_LAYOUT_1) {
		writer->layout--;
	}
}

static struct orma_shm_event *acquire_now(struct orma_shm_writer *writer)
{
	if (writer->id == 0)
		return NULL;
	return orma_shm_arbiter_acquire(writer->arbiter, writer->layout, writer->chunk_bytes,
					writer->is_losing ? ORMA_SHM_PROBE_FEW
							  : ORMA_SHM_PROBE_ALL);
}

/* A writer that is losing has waited in vain once: it does not wait again before it had a chunk. */
static struct orma_shm_event *acquire_stalling(struct orma_shm_writer *writer)
{
	struct orma_shm_event *chunk = NULL;
	struct orma_shm_wait wait = {.timeout_ms = writer->stall_timeout_ms};

	if (writer->policy != ORMA_SHM_STALL || writer->is_losing || writer->id == 0)
		return NULL;
	while (!chunk && orma_shm_arbiter_wait(writer->arbiter, &wait))
		chunk = acquire_now(writer);
	return chunk;
}

/* A fresh chunk for the next packet, or scrap. */
static void change_chunk_between_packets(struct orma_shm_writer *writer, bool may_stall)
{
	struct orma_shm_event *chunk;

	writer->has_fragments = false;
	adapt_layout(writer);
	hand_over(writer);
	chunk = acquire_now(writer);
	if (!chunk && may_stall)
		chunk = acquire_stalling(writer);
	if (!chunk) {
		set_window_scrap(writer);
		return;
	}
	enter_chunk(writer, chunk, 0);
	set_fast_end(writer, 0);
}

/* The sink: the open packet has filled its window. */
static void next_window(struct orma_proto_writer *proto)
{
	struct orma_shm_writer *writer = (struct orma_shm_writer *)(void *)proto;
	struct orma_shm_event *chunk;

	if (!writer->is_losing && orma_proto_writer_written(proto) > ORMA_PROTO_LENGTH_MAX)
		give_up_packet(writer);
	if (writer->is_losing) {
		set_window_scrap(writer);
		return;
	}
	adapt_layout(writer);
	chunk = acquire_now(writer);
	if (!chunk && writer->policy == ORMA_SHM_STALL) {
		/* Nothing is kept back that others might be waiting for. */
		leave_chunk(writer);
		release_held(writer);
		chunk = acquire_stalling(writer);
	}
	if (!chunk) {
		give_up_packet(writer);
		return;
	}
	if (writer->chunk)
		leave_chunk(writer);
	enter_chunk(writer, chunk, ORMA_SHM_CONTINUES_FROM_PREVIOUS);
	open_fragment(writer);
	if (writer->is_doomed)
		give_up_packet(writer);
}

/* --- packets ---------------------------------------------------------------------------------- */

static size_t room(const struct orma_shm_writer *writer)
{
	return (size_t)(writer->proto.end - writer->proto.cursor);
}

static void count_loss(struct orma_shm_writer *writer)
{
	writer->lost_packets++;
	writer->has_lost = true;
	atomic_fetch_add_explicit(&writer->arbiter->packets_lost, 1, memory_order_relaxed);
}

static struct orma_proto_writer *packet_begin(struct orma_shm_writer *writer, bool may_stall)
{
	ORMA_ASSERT(!writer->is_open);
	if (writer->is_losing || room(writer) < PACKET_ROOM_MIN || is_count_full(writer))
		change_chunk_between_packets(writer, may_stall);
	writer->is_open = true;
	writer->has_fragments = writer->is_doomed = false;
	writer->proto.open = NULL;
	writer->proto.written_before = 0;
	if (writer->is_losing)
		return &writer->proto;
	open_fragment(writer);
	if (ORMA_UNLIKELY(writer->is_first))
		orma_proto_write_bool(&writer->proto, FIELD_FIRST_PACKET_ON_SEQUENCE, true);
	if (ORMA_UNLIKELY(writer->has_lost))
		orma_proto_write_varint(&writer->proto, FIELD_PREVIOUS_PACKET_DROPPED,
					LOSS_PRESENT | LOSS_SMB_FULL);
	return &writer->proto;
}

struct orma_proto_writer *orma_shm_writer_packet_begin(struct orma_shm_writer *writer)
{
	return packet_begin(writer, true);
}

/* As much as this packet took will soon be written again, a little further on. */
static void prefetch(const struct orma_shm_writer *writer, uint32_t bytes)
{
	const uint8_t *at = writer->proto.cursor + PREFETCH_AHEAD;

	for (uint32_t done = 0; done < bytes && done < PREFETCH_MAX; done += CACHE_LINE)
		__builtin_prefetch(at + done, 1);
}

static void close_fragment(struct orma_shm_writer *writer)
{
	uint32_t bytes = fragment_bytes(writer);

	if (!writer->has_fragments && bytes <= ORMA_SHM_RESERVE_BYTES_MAX) {
		/* A scraper leaves this fragment out: its bytes may still move. */
		*writer->fragment_size = (uint8_t)bytes;
		memmove(writer->fragment_size + 1,
			writer->fragment_size + ORMA_SHM_FRAGMENT_SIZE_BYTES, bytes);
		writer->proto.cursor -= ORMA_SHM_FRAGMENT_SIZE_BYTES - 1;
	} else {
		orma_proto_put_length(writer->fragment_size, bytes);
	}
	writer->fragment_size = NULL;
	writer->packets++;
	store_packets(writer);
	prefetch(writer, bytes);
}

void orma_shm_writer_packet_end(struct orma_shm_writer *writer)
{
	if (!writer->is_open)
		return;
	orma_proto_writer_end_all(&writer->proto);
	writer->is_open = false;
	if (ORMA_UNLIKELY(writer->is_losing)) {
		count_loss(writer);
		set_window_scrap(writer);
	} else {
		close_fragment(writer);
		writer->is_first = writer->has_lost = false;
		set_fast_end(writer, 0);
	}
	if (ORMA_UNLIKELY(writer->held_first))
		release_held(writer);
	if (ORMA_UNLIKELY(writer->patch_first))
		send_patches(writer);
}

void orma_shm_writer_packet_drop(struct orma_shm_writer *writer)
{
	if (!writer->is_open)
		return;
	if (!writer->is_losing)
		give_up_packet(writer);
	orma_shm_writer_packet_end(writer);
}

uint8_t *orma_shm_writer_reserve_slow(struct orma_shm_writer *writer, size_t size)
{
	ORMA_ASSERT(!writer->is_open && size > 0 && size <= ORMA_SHM_RESERVE_BYTES_MAX);
	for (;;) {
		if (writer->is_losing || room(writer) <= size || is_count_full(writer))
			change_chunk_between_packets(writer, true);
		if (writer->is_losing) {
			count_loss(writer);
			return writer->proto.cursor + 1;
		}
		if (!writer->is_first && !writer->has_lost) {
			set_fast_end(writer, 1 + size);
			return writer->proto.cursor + 1;
		}
		/* What there is to say does not fit the caller's packet: a packet of its own says
		 * it. */
		packet_begin(writer, true);
		orma_shm_writer_packet_end(writer);
	}
}

void orma_shm_writer_flush(struct orma_shm_writer *writer)
{
	if (writer->is_open)
		return;
	if (writer->has_lost) {
		/* Perhaps no packet ever follows the loss. Without room for the news it stays owed.
		 */
		packet_begin(writer, false);
		if (writer->is_losing)
			writer->is_open = false;
		else
			orma_shm_writer_packet_end(writer);
	}
	if (writer->chunk &&
	    writer->proto.cursor > writer->chunk_start + sizeof(struct orma_shm_chunk_header))
		hand_over(writer);
	orma_shm_arbiter_want(writer->arbiter, ORMA_SHM_WANTED_NOW);
}

bool orma_shm_writer_is_abandoned(const struct orma_shm_writer *writer)
{
	return atomic_load_explicit(&writer->arbiter->is_abandoned, memory_order_relaxed);
}

/* --- life ------------------------------------------------------------------------------------- */

int orma_shm_writer_new(struct orma_shm_arbiter *arbiter, uint32_t target_buffer,
			enum orma_shm_policy policy, struct orma_shm_writer **ret)
{
	struct orma_shm_writer_block *block = orma_base_zalloc(sizeof(*block));
	struct orma_shm_writer *writer;

	if (!block)
		return -ENOMEM;
	block->registration.kind = ORMA_SHM_EVENT_REGISTRATION;
	block->departure.kind = ORMA_SHM_EVENT_DEPARTURE;
	writer = &block->writer;
	writer->arbiter = arbiter;
	orma_shm_arbiter_ref(arbiter);
	atomic_fetch_add_explicit(&arbiter->writers, 1, memory_order_relaxed);
	writer->id = orma_shm_arbiter_take_id(arbiter);
	writer->target_buffer = target_buffer;
	writer->policy = (uint8_t)policy;
	writer->layout = ORMA_SHM_LAYOUT_14;
	writer->is_first = true;
	orma_proto_writer_init(&writer->proto, writer->scrap, writer->scrap, next_window);
	set_window_empty(writer);
	atomic_store_explicit(&block->ref_count, writer->id == 0 ? 1 : 2, memory_order_relaxed);
	if (writer->id != 0 && !orma_shm_arbiter_push(arbiter, &block->registration))
		orma_shm_writer_block_put(block);
	*ret = writer;
	return 0;
}

void orma_shm_writer_free(struct orma_shm_writer *writer)
{
	struct orma_shm_writer_block *block;
	struct orma_shm_arbiter *arbiter;

	if (!writer)
		return;
	block = ORMA_CONTAINER_OF(writer, struct orma_shm_writer_block, writer);
	arbiter = writer->arbiter;
	orma_shm_writer_packet_drop(writer);
	orma_shm_writer_flush(writer);
	hand_over(writer);
	/* Once pushed, the writer and its reference may be gone at any moment. */
	orma_shm_arbiter_ref(arbiter);
	if (writer->id == 0 || !orma_shm_arbiter_push(arbiter, &block->departure))
		orma_shm_writer_block_put(block);
	orma_shm_arbiter_put(arbiter);
}
