/* SPDX-License-Identifier: Apache-2.0
 * trace_writer.h - one thread's stream of trace packets into shared memory.
 *
 * Two ways to write a packet. Of any size and nesting:
 *
 *	proto = orma_shm_writer_packet_begin(writer);
 *	orma_proto_write_...(proto, ...);
 *	orma_shm_writer_packet_end(writer);
 *
 * Of a known size below 128 bytes, without backfill, nothing out of line:
 *
 *	at = orma_shm_writer_reserve(writer, size);
 *	memcpy(at, encoded, size);
 *	orma_shm_writer_commit(writer, size);
 *
 * Neither fails: without room the bytes go to a scrap area, the packet is counted as lost and the
 * next good one says so (previous_packet_dropped). The first good packet of a writer says that it
 * is the first.
 *
 * Threads: a writer belongs to one thread at a time, packets do not interleave.
 *          orma_shm_writer_free() may be called elsewhere when that thread is done with it.
 * errno:   preserved by everything but orma_shm_writer_new().
 */
#ifndef ORMA_SHM_TRACE_WRITER_H
#define ORMA_SHM_TRACE_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "proto/writer.h"
#include "shm/abi.h"

struct orma_shm_arbiter;
struct orma_shm_event;

enum orma_shm_policy {
	ORMA_SHM_DROP,  /* memory full: lose packets, never wait */
	ORMA_SHM_STALL, /* wait for the service up to the arbiter's timeout, then as above */
};

#define ORMA_SHM_SCRAP_BYTES       256
#define ORMA_SHM_RESERVE_BYTES_MAX 127
#define ORMA_SHM_RESERVE_BYTES_MIN 7 /* smaller ones take longer */

/* What the inline functions need comes first; the rest is private to src/shm/. */
struct orma_shm_writer {
	struct orma_proto_writer
		proto; /* first: the sink casts back. Window = the chunk in hand or scrap */
	/* reserve() stays inline while the packet ends before this: see set_fast_end() */
	const uint8_t *fast_end;
	_Atomic uint16_t *packets_word; /* in the chunk's header, or &scrap_packets */
	uint16_t packets; /* what *packets_word holds: the shared copy is never read */

	bool is_open;       /* between packet_begin and packet_end */
	bool is_losing;     /* the window is scrap: there is no chunk in hand */
	bool has_lost;      /* the next good packet must say so */
	bool is_first;      /* no good packet yet */
	bool has_fragments; /* the open packet began in an earlier chunk */
	bool is_doomed;     /* no record for a patch: the open packet cannot be completed */
	uint8_t layout;     /* of the next chunk, before pressure is considered */
	uint8_t policy;
	_Atomic uint16_t scrap_packets;

	uint8_t *fragment_size; /* four bytes reserved for the size of the open fragment */
	uint8_t *chunk_start;   /* the chunk in hand, NULL = none */
	uint32_t chunk_bytes;
	uint32_t next_chunk_id;
	struct orma_shm_event *chunk; /* its record */
	struct orma_shm_event *held_first,
		*held_last; /* chunks of the open packet that wait for lengths */
	struct orma_shm_event *patch_first,
		*patch_last;    /* out-of-band patches, in the order of chunks */
	uint64_t acquired_mark; /* the arbiter's turnover when the chunk was taken */
	uint64_t lost_packets;

	struct orma_shm_writer *next; /* the owner's, for a list */
	struct orma_shm_arbiter *arbiter;
	uint32_t target_buffer;
	uint32_t stall_timeout_ms; /* the owner may set it; 0 = the arbiter's */
	uint16_t id;               /* 0 = ids are exhausted: everything is lost and counted */
	uint8_t scrap_length[ORMA_PROTO_LENGTH_BYTES]; /* for lengths of a packet that is lost */
	uint8_t scrap[ORMA_SHM_SCRAP_BYTES];
};

/*
 * `target_buffer` is the service's id of the trace buffer. -ENOMEM. When all 32767 ids are taken
 * the writer counts every packet as lost.
 */
int orma_shm_writer_new(struct orma_shm_arbiter *arbiter, uint32_t target_buffer,
			enum orma_shm_policy policy, struct orma_shm_writer **ret);
/* Gives an open packet up, hands over the chunk in hand. NULL is fine. */
void orma_shm_writer_free(struct orma_shm_writer *writer);

struct orma_proto_writer *orma_shm_writer_packet_begin(struct orma_shm_writer *writer);
/* Ends nested messages that are still open. */
void orma_shm_writer_packet_end(struct orma_shm_writer *writer);
/* Gives the open packet up: the reader discards what was written of it. Counted as lost. */
void orma_shm_writer_packet_drop(struct orma_shm_writer *writer);

/* Hands over the chunk in hand and asks for a commit at once. Not inside a packet. */
void orma_shm_writer_flush(struct orma_shm_writer *writer);
/* The connection is gone: nothing written here arrives any more. Free the writer, get another. */
bool orma_shm_writer_is_abandoned(const struct orma_shm_writer *writer);

static inline uint32_t orma_shm_writer_id(const struct orma_shm_writer *writer)
{
	return writer->id;
}

/* The id that the next chunk will have: it changes when a chunk is taken. */
static inline uint32_t orma_shm_writer_next_chunk_id(const struct orma_shm_writer *writer)
{
	return writer->next_chunk_id;
}

/* Grows by one for each packet that is not whole in shared memory: compare before and after. */
static inline uint64_t orma_shm_writer_lost_packets(const struct orma_shm_writer *writer)
{
	return writer->lost_packets;
}

uint8_t *orma_shm_writer_reserve_slow(struct orma_shm_writer *writer, size_t size);

/* Room for a packet of `size` bytes, 1 to 127; nothing else may be done with the writer until
 * commit(). */
static inline uint8_t *orma_shm_writer_reserve(struct orma_shm_writer *writer, size_t size)
{
	if (ORMA_UNLIKELY(writer->fast_end - writer->proto.cursor <= (ptrdiff_t)size ||
			  size < ORMA_SHM_RESERVE_BYTES_MIN))
		return orma_shm_writer_reserve_slow(writer, size);
	return writer->proto.cursor + 1;
}

/*
 * As reserve(), or NULL when that would take longer; then `size` may be anything, and what is
 * committed has ORMA_SHM_RESERVE_BYTES_MIN bytes at least.
 */
static inline uint8_t *orma_shm_writer_try_reserve(struct orma_shm_writer *writer, size_t size)
{
	if (ORMA_UNLIKELY(writer->fast_end - writer->proto.cursor <= (ptrdiff_t)size))
		return NULL;
	return writer->proto.cursor + 1;
}

/* The packet is complete: what lies between what was reserved and `end` has been written, and its
 * size into the byte before. */
static inline void orma_shm_writer_commit_sized(struct orma_shm_writer *writer, uint8_t *end)
{
	uint16_t packets = (uint16_t)(writer->packets + 1);

	writer->proto.cursor = end;
	writer->packets = packets;
	/* Pairs with the scraper's acquire in orma_shm_view_next(): the bytes above are seen first.
	 */
	atomic_store_explicit(writer->packets_word, packets, memory_order_release);
}

/* The `size` bytes that were reserved have been written. */
static inline void orma_shm_writer_commit(struct orma_shm_writer *writer, size_t size)
{
	*writer->proto.cursor = (uint8_t)size;
	orma_shm_writer_commit_sized(writer, writer->proto.cursor + 1 + size);
}

#endif
