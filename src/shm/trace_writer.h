/* SPDX-License-Identifier: Apache-2.0
 * trace_writer.h - one thread's stream of trace packets into shared memory.
 *
 * There are two ways to write a packet. The first takes any size and nesting:
 *
 *	proto = orma_shm_writer_packet_begin(writer);
 *	orma_proto_write_...(proto, ...);
 *	orma_shm_writer_packet_end(writer);
 *
 * The second takes a known size below 128 bytes, no nested lengths, and is inline:
 *
 *	at = orma_shm_writer_reserve(writer, size);
 *	memcpy(at, encoded, size);
 *	orma_shm_writer_commit(writer, size);
 *
 * Neither fails. Without room the bytes go to a scrap area, the packet is counted as lost, and the
 * next good packet reports the loss (previous_packet_dropped). The first good packet of a writer
 * says that it is the first.
 *
 * Threads: a writer belongs to one thread at a time, and packets do not interleave.
 *          orma_shm_writer_free() may be called on another thread when that thread is done with it.
 * errno:   preserved by everything except orma_shm_writer_new().
 */
#ifndef ORMA_SHM_TRACE_WRITER_H
#define ORMA_SHM_TRACE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "shm/abi.h"

struct orma_shm_arbiter;
struct orma_shm_event;

enum orma_shm_policy {
	ORMA_SHM_DROP,  /* when memory is full, drop packets and never wait */
	ORMA_SHM_STALL, /* first wait for the service, up to the timeout */
};

#define ORMA_SHM_SCRAP_BYTES       256
#define ORMA_SHM_RESERVE_BYTES_MAX 127
#define ORMA_SHM_RESERVE_BYTES_MIN 7 /* smaller packets take the slow path */

/* The members that the inline functions use come first. The others are private to src/shm. */
struct orma_shm_writer {
	/* First, because the sink casts back. Its window is the chunk in hand, or scrap. */
	struct orma_proto_writer proto;
	/* The fast path is open for packets that end before this: see set_fast_end(). */
	const uint8_t *fast_end;
	_Atomic uint16_t *packets_word; /* in the chunk's header, or &scrap_packets */
	uint16_t packets; /* the value of *packets_word; the shared copy is never read */

	bool is_open;       /* between packet_begin and packet_end */
	bool is_losing;     /* the window is scrap; there is no chunk in hand */
	bool has_lost;      /* the next good packet must report it */
	bool is_first;      /* there was no good packet yet */
	bool has_fragments; /* the open packet began in an earlier chunk */
	bool is_doomed; /* the open packet cannot be completed: it needed a patch, and none was left */
	uint8_t layout; /* the layout to ask for next; the arbiter may give a smaller chunk */
	uint8_t policy;
	_Atomic uint16_t scrap_packets;

	uint8_t *fragment_size; /* four bytes reserved for the size of the open fragment */
	uint8_t *chunk_start;   /* the chunk in hand; NULL = none */
	uint32_t chunk_bytes;
	uint32_t next_chunk_id;
	struct orma_shm_event *chunk; /* its record */
	/* Chunks of the open packet that wait for lengths: trace_writer_held.c. */
	struct orma_shm_event *held_first, *held_last;
	/* Patches that are not sent yet, in the order of their chunks. */
	struct orma_shm_event *patch_first, *patch_last;
	uint64_t acquired_mark; /* the arbiter's turnover when the chunk was acquired */
	uint64_t lost_packets;

	struct orma_shm_writer *next; /* for a list of the owner */
	struct orma_shm_arbiter *arbiter;
	uint32_t target_buffer;
	uint32_t stall_timeout_ms; /* the owner may set it; 0 = the arbiter's */
	uint16_t id;               /* 0 = no id was left: everything is lost and counted */
	uint8_t scrap_length[ORMA_PROTO_LENGTH_BYTES]; /* for the lengths of a lost packet */
	uint8_t scrap[ORMA_SHM_SCRAP_BYTES];
};

/*
 * `target_buffer` is the service's id of the trace buffer, or a reservation. Returns 0 or -ENOMEM.
 * If all 32767 ids are taken, the writer counts every packet as lost.
 */
int orma_shm_writer_new(struct orma_shm_arbiter *arbiter, uint32_t target_buffer,
			enum orma_shm_policy policy, struct orma_shm_writer **ret);
/* Gives an open packet up and hands over the chunk in hand. May be NULL. */
void orma_shm_writer_free(struct orma_shm_writer *writer);

struct orma_proto_writer *orma_shm_writer_packet_begin(struct orma_shm_writer *writer);
/* Ends nested messages that are still open. */
void orma_shm_writer_packet_end(struct orma_shm_writer *writer);
/* Gives the open packet up: the reader discards what was written of it. It counts as lost. */
void orma_shm_writer_packet_drop(struct orma_shm_writer *writer);

/* Hands over the chunk in hand and asks for a commit at once. No effect inside of a packet. */
void orma_shm_writer_flush(struct orma_shm_writer *writer);
/* True when the connection is lost, and packets of this writer no longer arrive. Free it and make
 * another. */
bool orma_shm_writer_is_abandoned(const struct orma_shm_writer *writer);

static inline uint32_t orma_shm_writer_id(const struct orma_shm_writer *writer)
{
	return writer->id;
}

/* The id of the next chunk; it changes when a chunk is acquired. */
static inline uint32_t orma_shm_writer_next_chunk_id(const struct orma_shm_writer *writer)
{
	return writer->next_chunk_id;
}

/* The bytes that are left of the chunk in hand, which need no further room; 0 = there is none. */
static inline size_t orma_shm_writer_room(const struct orma_shm_writer *writer)
{
	return writer->chunk_start && !writer->is_losing
		       ? (size_t)(writer->proto.end - writer->proto.cursor)
		       : 0;
}

/* Grows by one for each lost packet: compare before and after a packet. */
static inline uint64_t orma_shm_writer_lost_packets(const struct orma_shm_writer *writer)
{
	return writer->lost_packets;
}

uint8_t *orma_shm_writer_reserve_slow(struct orma_shm_writer *writer, size_t size);

/* Reserves room for a packet of `size` bytes, 1 to 127. Do nothing else with the writer until the
 * commit. */
static inline uint8_t *orma_shm_writer_reserve(struct orma_shm_writer *writer, size_t size)
{
	if (ORMA_UNLIKELY(writer->fast_end - writer->proto.cursor <= (ptrdiff_t)size ||
			  size < ORMA_SHM_RESERVE_BYTES_MIN))
		return orma_shm_writer_reserve_slow(writer, size);
	return writer->proto.cursor + 1;
}

/*
 * The fast path of reserve() alone: NULL when reserve() would take the slow path. `size` may be
 * anything, but the packet that is committed must have at least ORMA_SHM_RESERVE_BYTES_MIN bytes.
 */
static inline uint8_t *orma_shm_writer_try_reserve(struct orma_shm_writer *writer, size_t size)
{
	if (ORMA_UNLIKELY(writer->fast_end - writer->proto.cursor <= (ptrdiff_t)size))
		return NULL;
	return writer->proto.cursor + 1;
}

/* Commits a packet. Its bytes were written from the reserved address up to `end`, and its size into
 * the byte before. */
static inline void orma_shm_writer_commit_sized(struct orma_shm_writer *writer, uint8_t *end)
{
	uint16_t packets = (uint16_t)(writer->packets + 1);

	ORMA_ASSERT(!writer->is_open && end > writer->proto.cursor);
	ORMA_ASSERT(writer->is_losing || end <= writer->proto.end);
	writer->proto.cursor = end;
	writer->packets = packets;
	/* Pairs with the scraper's acquire in orma_shm_view_next(), which then sees the bytes
	 * above. */
	atomic_store_explicit(writer->packets_word, packets, memory_order_release);
}

/* Commits a packet whose `size` reserved bytes have been written. */
static inline void orma_shm_writer_commit(struct orma_shm_writer *writer, size_t size)
{
	*writer->proto.cursor = (uint8_t)size;
	orma_shm_writer_commit_sized(writer, writer->proto.cursor + 1 + size);
}

#endif
