/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer.c - makes, empties and frees a trace buffer. This preface describes the whole of it.
 *
 * PICTURE. Producers write chunks into shared memory. The service copies each chunk into the buffer
 * that it is meant for. A consumer or a file takes packets out. The buffer is a ring of records laid
 * end to end, one per chunk:
 *
 *    0                              write          oldest                      used <= size
 *    +--------+-----------+---------+--------------+----------+------+---------+--------+
 *    | A 7    | B 3       | A 8     |  gaps only   | A 5      | gap  | B 2     | A 6    |
 *    +--------+-----------+---------+--------------+----------+------+---------+--------+
 *      newest records, in the order of arrival       oldest records
 *
 * A record is a 16-byte header (struct orma_trace_buffer_record) and the chunk's fragments as the
 * producer framed them: a varint size, the bytes, the next fragment. Records are aligned to 16 bytes.
 * So when a new record covers only a part of an old one, the rest is large enough for a header, and
 * the ring can always be walked from 0 to `used` by adding sizes. Beside the ring there is one index:
 * for each sequence, the offsets of its records in the order of their chunk ids
 * (trace_buffer_index.c).
 *
 * VOCABULARY
 *   sequence  all that one writer of one producer writes. Its chunk ids count up and wrap round at
 *             2^32.
 *   fragment  a packet, or the part of a packet that lies in this chunk. The first fragment of a chunk
 *             may continue a packet from the chunk before; the last one may continue in the next
 *             chunk. A packet may extend over any number of chunks.
 *   scraped   copied while the writer was still writing the chunk. The last fragment is left out, and
 *             the record keeps room for the whole chunk, because the writer will commit the same chunk
 *             when there is more in it (a re-commit).
 *   patch     four bytes inside a chunk that was already copied: the size of a message, which the
 *             producer knew only when the packet ended.
 *   gap       a record that belongs to no sequence, because it was consumed or overwritten, or because
 *             it is padding, where no record fitted.
 *   walk      reading one sequence, packet by packet, from its first record to a given one.
 *   stall     a walk stops at data that may still be completed, and does not visit that sequence again
 *             in the same pass.
 *
 * READING. A pass follows the ring from the oldest record to the write position. That is roughly the order
 * in which chunks arrived, whatever their writer. The pass walks the sequence of each record that it meets, from
 * the sequence's first record up to this one. So a sequence comes out in the order of its chunk ids, even
 * where scraping has put its chunks into the ring in another order. In most cases the record is the first
 * of its sequence, and the walk reads one chunk. If a packet continues in other chunks, the walk follows it
 * through the sequence and takes one fragment from each of them; the rest of these chunks is read when the
 * pass reaches them. A consumed record becomes a gap in place.
 *
 * OVERWRITING is the same walk, but it never stalls, and its packets are dropped. Before a new record
 * overwrites an old one, a walk consumes the old one and all records that its sequence has before it. So
 * losses are classified as precisely as if the data had been read. The sequence collects a bit for each
 * kind of loss (enum orma_trace_buffer_loss), and the next packet of the sequence reports the bits.
 *
 * INVARIANTS, checked by trace_buffer_check.c
 *   1. [0, used) is records without holes. `write` and `oldest` are offsets of records, or equal to
 *      `used`.
 *   2. From `write` round to `oldest` there are gaps only, so a pass costs as much as there is to
 *      read, and not as much as the ring is large. When write == oldest this says nothing, unless
 *      chunk_count is 0: then all records are gaps.
 *   3. A record names a sequence if and only if that sequence's list holds its offset, once.
 *      chunk_count is the number of these records.
 *   4. A list is in strictly ascending order of ids. All ids come after the id of the record that left
 *      the sequence last. The first id may be equal to it if that record was incomplete when it left. A
 *      record is partly consumed only in two cases: it is the first of its sequence, or its first
 *      fragment continued a packet, and only this fragment is consumed.
 *   5. consumed <= payload <= capacity in every record. Nothing outside of this folder writes to the
 *      ring.
 *   6. bytes written - read - overwritten is what live records occupy. Padding written - cleared is
 *      what padding occupies.
 *
 * WHY HOSTILE BYTES DO NO HARM. All numbers in a record's header are the service's. The size of a
 * fragment is the producer's, and is compared with the record's payload at each use, because a patch
 * may change it at any time; a wrong size costs that chunk. Ids are only compared and subtracted. A
 * producer can make its own packets wrong or late. It affects other sequences only by filling the
 * ring, and the cost of a chunk is bounded whatever its id is.
 *
 * COPYING. The ring holds offsets and slot numbers and no addresses, so a copy of its bytes is valid as
 * it is, and can be made in pieces while the source changes (trace_buffer_copy.c).
 *
 * MEMORY. A chunk takes 16 bytes for its header, 8 on average for alignment, and 8 in the index. A
 * sequence takes some 100 bytes, and at most 1024 sequences without chunks are kept. The ring takes
 * address space only until it is written to.
 *
 * Rejected: one ring per writer, which needs no index, but splits the configured size among a number of
 * writers that nobody knows in advance; a record per packet, which makes reading trivial, but costs a
 * header and a copy per 64 bytes, and has to reassemble packets on arrival, before patches are known.
 */
#include "buffer/trace_buffer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_index.h"
#include "buffer/trace_buffer_save.h"

/* Buffers of at least HUGE_FROM_BYTES ask for huge pages. */
enum { HUGE_BYTES = 2 << 20, HUGE_FROM_BYTES = 8 << 20 };
/* Freeing a sequence's list takes as long as giving back so many bytes of the ring. */
enum { SEQUENCE_COST = 1024 };

int orma_trace_buffer_new(uint64_t size_bytes, enum orma_trace_buffer_policy policy,
			  struct orma_trace_buffer **ret)
{
	if (size_bytes > ORMA_TRACE_BUFFER_SIZE_MAX_BYTES)
		return -EMSGSIZE;
	uint64_t size = (ORMA_MAX(size_bytes, UINT64_C(1)) + ORMA_TRACE_BUFFER_PAGE_BYTES - 1) &
			~(uint64_t)(ORMA_TRACE_BUFFER_PAGE_BYTES - 1);
	size_t mapped_bytes;
	if (__builtin_add_overflow(size, ORMA_TRACE_BUFFER_STAGING_BYTES, &mapped_bytes))
		return -ENOMEM;
	struct orma_trace_buffer *buffer = orma_base_zalloc(sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	void *memory = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		orma_base_free(buffer);
		return -ENOMEM;
	}
	/* A ring is written and read from end to end, so huge pages save page faults while it fills
	 * and TLB misses afterwards. They are optional: a kernel without them only ignores this. */
	if (size >= HUGE_FROM_BYTES)
		(void)madvise(memory, (size_t)size, MADV_HUGEPAGE);
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

	/* A hold may last long. The buffer is freed together with its last hold. */
	if (buffer->holds)
		return false;
	if (buffer->copies ||
	    orma_trace_buffer_sequences_shrink(&buffer->sequences, step_bytes / SEQUENCE_COST))
		return true;
	/* Give back whole huge pages: the kernel would have to split the others first. */
	kept = end > begin ? (uint32_t)(end - begin) : 0;
	(void)madvise(buffer->ring + kept, buffer->used - kept, MADV_DONTNEED);
	buffer->used = kept;
	return kept > 0;
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
