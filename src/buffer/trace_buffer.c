/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer.c - the buffer's memory: making, copying, emptying it. And the description of the
 * whole:
 *
 * PICTURE. Producers write chunks into shared memory; the service copies each into the buffer that
 * it is meant for; a consumer or a file takes packets out. The buffer is a ring of records laid end
 * to end, one per chunk:
 *
 *    0                              write          oldest                      used <= size
 *    +--------+-----------+---------+--------------+----------+------+---------+--------+
 *    | A 7    | B 3       | A 8     |  gaps only   | A 5      | gap  | B 2     | A 6    |
 *    +--------+-----------+---------+--------------+----------+------+---------+--------+
 *      newest records, in the order of arrival       oldest records
 *
 * A record is a 16-byte header (struct orma_trace_buffer_record) and the chunk's fragments as the producer
 * framed them: a varint size, the bytes, the next fragment. Records are aligned to 16 bytes, so
 * whatever is left when one is cut is big enough to hold a header, and the ring can always be
 * walked from 0 to `used` by adding sizes. Beside the ring there is one index: per sequence, the
 * offsets of its records in order of chunk id (trace_buffer_index.c).
 *
 * VOCABULARY
 *   sequence  what one writer of one producer writes; chunk ids count up in it and wrap round at
 *             2^32.
 *   fragment  a packet, or the part of one that is in this chunk. The first of a chunk may continue
 *             a packet from the chunk before, the last may continue in the next; a packet may run
 *             over any number of chunks.
 *   scraped   copied while its writer was still at work: the last fragment is left out, and the
 *             record keeps the room of the whole chunk, because the writer commits the same chunk
 *             later, when it has grown (a re-commit).
 *   patch     four bytes inside an already copied chunk, known only when the packet ended: the
 *             sizes of its messages.
 *   gap       a record that belongs to no sequence: consumed, overwritten, or padding where nothing
 *             fitted.
 *   walk      reading one sequence, packet by packet, from its first record up to a given one.
 *   stall     a walk that meets data which may still be completed leaves it and does not come back
 *             in this pass.
 *
 * READING. A pass follows the order of the ring from the oldest record to the write position: that
 * is roughly the order in which chunks came, whoever wrote them. At each record it walks that
 * record's sequence from its first record up to it, so a sequence comes out in the order of chunk
 * ids even where scraping has put its chunks into the ring in another. Mostly the record is the
 * first of its sequence, and the walk is the reading of one chunk. A packet that continues is
 * followed through the sequence, taking one fragment of each chunk; the rest of these chunks waits
 * for its turn in the ring. A consumed record becomes a gap in place.
 *
 * OVERWRITING is the same walk, forced: it stalls nowhere and shows its packets to nobody. A record
 * that a new one needs is walked over first, along with what its sequence has before it; so
 * whatever is lost is understood as well as if it were read, and the sequence keeps a bit for each
 * kind of loss until its next packet carries them out (enum orma_trace_buffer_loss).
 *
 * INVARIANTS
 *   1. [0, used) is records without holes; write and oldest are at the beginning of one, or at
 *      used.
 *   2. From write round to oldest there are gaps only: a pass costs what there is to read, not the
 *      size of the ring. Where write == oldest nothing is known, unless chunk_count is 0.
 *   3. A record names a sequence exactly when that sequence's list holds its offset, once.
 *      chunk_count counts these.
 *   4. A list is in strictly ascending order of ids; all are after the id that left the sequence
 *      last (or equal to it, when that one left incomplete), and only the first record, or the
 *      first fragment of others, can be partly consumed.
 *   5. consumed <= payload <= capacity in every record, and outside this module nobody writes to
 *      the ring.
 *   6. bytes written - read - overwritten is what live records occupy; padding written - cleared
 *      what padding does.
 *
 * WHY HOSTILE BYTES DO NO HARM. Every number in a header is ours. A fragment's size is the
 * producer's, and is compared with the record's payload at each use, because a patch may change it
 * at any time; a wrong one costs that chunk. Ids are only compared and subtracted. A producer can
 * make its own packets wrong or late; it reaches other sequences only by filling the ring, and what
 * a chunk costs is bounded whatever its id is.
 *
 * COPYING. The ring holds offsets and slot numbers and no address, so nothing in a copy of it has
 * to be touched up, and the copy is made in pieces while the source goes on: trace_buffer_copy.c.
 *
 * WHERE THE BYTES GO. 16 bytes and on average 8 of alignment per chunk; 8 per chunk in the index;
 * some 100 per sequence, of which at most 1024 have no chunk. The ring is address space until it is
 * first written to.
 *
 * Rejected: one ring per writer, which needs no index but splits a configured size among writers
 * nobody knows in advance; a packet per record, which makes reading trivial but pays a header and a
 * copy per 64 bytes, and has to reassemble on arrival, when patches are not known yet.
 */
#include "buffer/trace_buffer_layout.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

enum { HUGE_BYTES = 2 << 20, HUGE_FROM_BYTES = 8 << 20 };
/* What freeing what a sequence owns costs, in bytes given back. */
enum { SEQUENCE_COST = 1024 };

int orma_trace_buffer_new(uint64_t size_bytes, enum orma_trace_buffer_policy policy,
			  struct orma_trace_buffer **ret)
{
	if (size_bytes > ORMA_TRACE_BUFFER_SIZE_MAX_BYTES)
		return -EMSGSIZE;
	uint64_t size = (ORMA_MAX(size_bytes, UINT64_C(1)) + ORMA_TRACE_BUFFER_PAGE_BYTES - 1) &
			~(uint64_t)(ORMA_TRACE_BUFFER_PAGE_BYTES - 1);
	struct orma_trace_buffer *buffer = orma_base_zalloc(sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	void *memory = mmap(NULL, size + ORMA_TRACE_BUFFER_STAGING_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		orma_base_free(buffer);
		return -ENOMEM;
	}
	/* A ring is written and read from end to end: fewer faults while it fills, fewer misses of the
	 * address translation after that. Where the kernel does not, nothing is lost. */
	if (size >= HUGE_FROM_BYTES)
		(void)madvise(memory, size, MADV_HUGEPAGE);
	buffer->ring = memory;
	buffer->staging = buffer->ring + size;
	buffer->size = (uint32_t)size;
	buffer->policy = policy;
	buffer->stats.buffer_size = size;
	*ret = buffer;
	return 0;
}

void orma_trace_buffer_free(struct orma_trace_buffer *buffer)
{
	if (!buffer)
		return;
	buffer->is_abandoned = buffer->copies || buffer->holds;
	if (buffer->is_abandoned)
		return;
	orma_trace_buffer_sequences_done(&buffer->sequences);
	orma_base_free(buffer->slices);
	munmap(buffer->ring, (size_t)buffer->size + ORMA_TRACE_BUFFER_STAGING_BYTES);
	orma_base_free(buffer);
}

void orma_trace_buffer_free_abandoned(struct orma_trace_buffer *buffer)
{
	if (buffer->is_abandoned)
		orma_trace_buffer_free(buffer);
}

bool orma_trace_buffer_shrink(struct orma_trace_buffer *buffer, uint32_t step_bytes)
{
	uintptr_t begin = (uintptr_t)buffer->ring;
	uint32_t kept = buffer->used - ORMA_MIN(buffer->used, step_bytes);
	uintptr_t end = (begin + kept) & ~(uintptr_t)(HUGE_BYTES - 1);

	/* A hold may last; the buffer is freed with its end. */
	if (buffer->holds)
		return false;
	if (buffer->copies ||
	    orma_trace_buffer_sequences_shrink(&buffer->sequences, step_bytes / SEQUENCE_COST))
		return true;
	/* Huge pages are given back whole, or they would have to be cut first. */
	kept = end > begin ? (uint32_t)(end - begin) : 0;
	(void)madvise(buffer->ring + kept, buffer->used - kept, MADV_DONTNEED);
	buffer->used = kept;
	return kept > 0;
}

void orma_trace_buffer_clear(struct orma_trace_buffer *buffer)
{
	struct orma_trace_buffer empty = {
		.ring = buffer->ring,
		.staging = buffer->staging,
		.size = buffer->size,
		.policy = buffer->policy,
		.stats.buffer_size = buffer->size,
		.slices = buffer->slices,
		.slice_capacity = buffer->slice_capacity,
	};
	orma_trace_buffer_will_change(buffer, 0, buffer->used);
	for (uint32_t i = 1; i <= buffer->sequences.count; i++)
		(void)orma_trace_buffer_sequence_get(buffer, i);
	empty.copies = buffer->copies;
	empty.holds = buffer->holds;
	orma_trace_buffer_sequences_done(&buffer->sequences);
	(void)madvise(buffer->ring, buffer->used, MADV_DONTNEED);
	*buffer = empty;
}

const struct orma_trace_buffer_stats *
orma_trace_buffer_stats(const struct orma_trace_buffer *buffer)
{
	return &buffer->stats;
}

uint64_t orma_trace_buffer_size_bytes(const struct orma_trace_buffer *buffer)
{
	return buffer->size;
}

uint64_t orma_trace_buffer_used_bytes(const struct orma_trace_buffer *buffer)
{
	return buffer->used;
}

bool orma_trace_buffer_has_data(const struct orma_trace_buffer *buffer)
{
	return buffer->chunk_count > 0;
}

bool orma_trace_buffer_has_begun_packet(const struct orma_trace_buffer *buffer)
{
	for (uint32_t i = 0; i < buffer->sequences.count; i++) {
		const struct orma_trace_buffer_record_list *list =
			&buffer->sequences.slots[i].records;
		const struct orma_trace_buffer_record *first;

		if (!list->count)
			continue;
		first = orma_trace_buffer_record_at(buffer,
						    orma_trace_buffer_record_list_get(list, 0));
		if (first->consumed < first->payload)
			return true;
	}
	return false;
}
