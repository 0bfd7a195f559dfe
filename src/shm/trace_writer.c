/* SPDX-License-Identifier: Apache-2.0
 * trace_writer.c - writes packets into chunks: fragments, changes of chunk, loss.
 *
 * Picture of the chunk in hand:
 *
 *   [header][size|packet][size|packet][LLLL|open packet ...  ]..........[0]
 *                                      ^fragment_size        ^cursor    ^end
 *
 * The window ends one byte before the chunk does.
 *
 * Invariants:
 *   - `packets` counts the finished fragments and one under construction. If a chunk is handed over without
 *     a fragment under construction, it gets an empty fragment in its place. The last byte of the chunk is
 *     always kept free for that.
 *   - Chunks are handed over in the order of their ids.
 *   - is_losing if and only if the window is scrap; then there is no chunk in hand.
 *
 * A packet that outgrows its chunk continues in the next one. trace_writer_held.c says when the
 * chunk that it leaves is handed over.
 *
 * If a packet has to be given up in its middle, a drop marker ends the last fragment that was
 * written. If that fragment is already handed over, the missing continuation shows the loss.
 *
 * Pace: a writer starts with fourteenths of a page. If it fills a chunk before all writers together
 * have acquired as much as the size of the whole memory, its next chunk has the next larger size,
 * otherwise the next smaller one. A packet that fills whole chunks gets whole pages. acquire.c
 * limits the size by the memory that is left.
 *
 * Rejected: copying each packet from a private buffer, because that takes twice the stores, and the
 * buffer's size would have no bound.
 */
#include "shm/trace_writer.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "shm/arbiter_state.h"
#include "shm/trace_writer_held.h"

/* The least room in which a packet is begun: its size field, and the smallest window of the proto
 * writer. */
#define PACKET_ROOM_MIN (ORMA_SHM_FRAGMENT_SIZE_BYTES + ORMA_PROTO_SINK_MIN)
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

/* There is no chunk in hand: the next packet acquires one. */
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

static size_t room(const struct orma_shm_writer *writer)
{
	return (size_t)(writer->proto.end - writer->proto.cursor);
}

static bool is_count_full(const struct orma_shm_writer *writer)
{
	return (writer->packets & ORMA_SHM_FRAGMENT_COUNT_MASK) >= ORMA_SHM_FRAGMENT_COUNT_MAX;
}

/*
 * Sets the end of the fast path. Packets that end before it fit both the window and the count of
 * packets: it is the end of the window, or the place where the count would be full if all further
 * packets had the smallest size. If the next packet must report something, the fast path is closed.
 * `pending` bytes are about to be committed as a packet; 0 = none.
 */
static void set_fast_end(struct orma_shm_writer *writer, size_t pending)
{
	size_t left = is_count_full(writer)
			      ? 0
			      : ORMA_SHM_FRAGMENT_COUNT_MAX -
					(writer->packets & ORMA_SHM_FRAGMENT_COUNT_MASK);

	if (writer->is_first || writer->has_lost || left == 0) {
		writer->fast_end = writer->chunk_start;
		return;
	}
	left = (left - (pending > 0)) * (1 + ORMA_SHM_RESERVE_BYTES_MIN) + pending;
	writer->fast_end = writer->proto.cursor + ORMA_MIN(left, room(writer));
}

static void store_packets(struct orma_shm_writer *writer)
{
	/* Pairs with the scraper's acquire in orma_shm_view_next(). */
	atomic_store_explicit(writer->packets_word, writer->packets, memory_order_release);
}

static void enter_chunk(struct orma_shm_writer *writer, struct orma_shm_event *chunk,
			unsigned flags)
{
	struct orma_shm_chunk_header *header = orma_shm_chunk_header_of(writer, chunk);

	ORMA_ASSERT(!writer->chunk && chunk->is_owned && writer->id != 0);
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
	ORMA_ASSERT(writer->chunk && room(writer) >= PACKET_ROOM_MIN);
	writer->fragment_size = writer->proto.cursor;
	writer->proto.cursor += ORMA_SHM_FRAGMENT_SIZE_BYTES;
	writer->proto.begin = writer->proto.cursor;
}

static uint32_t fragment_bytes(const struct orma_shm_writer *writer)
{
	return (uint32_t)(writer->proto.cursor - writer->fragment_size) -
	       ORMA_SHM_FRAGMENT_SIZE_BYTES;
}

/* Hands over the chunk in hand, between packets. */
static void hand_over(struct orma_shm_writer *writer)
{
	if (!writer->chunk)
		return;
	ORMA_ASSERT(!writer->is_losing && !writer->fragment_size);
	ORMA_ASSERT(
		orma_shm_is_inside(writer->proto.cursor, writer->chunk_start, writer->chunk_bytes));
	*writer->proto.cursor = 0; /* the empty fragment that was counted in advance */
	orma_shm_arbiter_complete(writer->arbiter, writer->chunk);
	set_window_empty(writer);
}

/* --- packets that do not fit a chunk ----------------------------------------------------------- */

/* Leaves the chunk in hand; the open packet continues in another one. */
static void leave_chunk(struct orma_shm_writer *writer)
{
	ORMA_ASSERT(writer->is_open && writer->chunk && writer->fragment_size);
	orma_proto_put_length(writer->fragment_size, fragment_bytes(writer));
	writer->packets |= ORMA_SHM_CONTINUES_IN_NEXT << ORMA_SHM_FLAGS_SHIFT;
	store_packets(writer);
	orma_shm_writer_hold(writer, writer->chunk);
	writer->has_fragments = true;
	set_window_empty(writer);
	if (!writer->proto.open || !orma_shm_writer_may_hold(writer))
		orma_shm_writer_release_held(writer);
}

/* The rest of the open packet goes to scrap. Readers must discard the part that is already
 * written. */
static void give_up_packet(struct orma_shm_writer *writer)
{
	const struct orma_shm_view *view = &writer->arbiter->view;

	for (struct orma_proto_nested *open = writer->proto.open; open; open = open->parent)
		if (orma_shm_is_inside(open->length_field, view->start, view->size_bytes))
			open->length_field = writer->scrap_length;
	orma_shm_writer_release_held(writer);
	if (writer->chunk) {
		/* The marker is the fragment under construction, so the count is already right. */
		orma_proto_put_length(writer->fragment_size, ORMA_SHM_FRAGMENT_DROPPED);
		orma_shm_arbiter_complete(writer->arbiter, writer->chunk);
	}
	set_window_scrap(writer);
}

/* --- changing chunks -------------------------------------------------------------------------- */

/* The chunk in hand is full: chooses the size of the next one. */
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

/* Waits for a chunk, but not while the writer is losing: it has already waited in vain. */
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

/* Takes another chunk for the next packet, or scrap. */
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

/* The sink of the proto writer: the open packet has filled its window. */
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
		/* Do not hold chunks while waiting: other writers may wait for them. */
		leave_chunk(writer);
		orma_shm_writer_release_held(writer);
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

/* The next packets will need about as many bytes as this one took: prefetch them. */
static void prefetch(const struct orma_shm_writer *writer, uint32_t bytes)
{
	const uint8_t *at = writer->proto.cursor + PREFETCH_AHEAD;

	for (uint32_t done = 0; done < bytes && done < PREFETCH_MAX; done += CACHE_LINE)
		__builtin_prefetch(at + done, 1);
}

static void close_fragment(struct orma_shm_writer *writer)
{
	uint32_t bytes = fragment_bytes(writer);

	ORMA_ASSERT(writer->chunk && writer->proto.cursor <= writer->proto.end);
	if (!writer->has_fragments && bytes <= ORMA_SHM_RESERVE_BYTES_MAX) {
		/* A scraper leaves this fragment out, so its bytes may still move. */
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
		orma_shm_writer_release_held(writer);
	if (ORMA_UNLIKELY(writer->patch_first))
		orma_shm_writer_send_patches(writer);
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
		/* The caller's packet has no room for the report, so write a packet with nothing
		 * else. */
		packet_begin(writer, true);
		orma_shm_writer_packet_end(writer);
	}
}

void orma_shm_writer_flush(struct orma_shm_writer *writer)
{
	if (writer->is_open)
		return;
	if (writer->has_lost) {
		/* There may be no further packet to report the loss, so report it now. If there is
		 * no room, the report stays pending. */
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
	/* As soon as the departure is pushed, the loop thread may free the writer and drop its
	 * reference. */
	orma_shm_arbiter_ref(arbiter);
	if (writer->id == 0 || !orma_shm_arbiter_push(arbiter, &block->departure))
		orma_shm_writer_block_put(block);
	orma_shm_arbiter_put(arbiter);
}
