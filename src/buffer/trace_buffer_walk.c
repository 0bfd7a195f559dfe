/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_walk.c - the walk through a sequence, which reading and overwriting share.
 *
 * A walk is always at the first unconsumed fragment of the sequence's first record, and ends with
 * its target record. Its progress is stored in the records (`consumed`), so a walk can be abandoned
 * at any time. A reading walk stalls where data may still come: at the end of a scraped chunk, at a
 * packet whose rest or whose patch is missing, and, if the caller says so, where chunk ids are
 * missing. An erasing walk never stalls. trace_buffer.c describes the whole.
 *
 * Rejected: gathering a packet's fragments in an array while looking for its end, because that
 * takes an allocation per packet, and a producer can make it large before it is known that there is
 * a packet at all. Instead the chain of records is visited twice, first to judge it, then to
 * consume it.
 */
#include "buffer/trace_buffer_walk.h"

#include <errno.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_index.h"
#include "buffer/trace_buffer_save.h"

enum { PACKET_MAX_BYTES = (1 << 28) - 1 };

static void consume(const struct orma_trace_buffer *buffer, struct orma_trace_buffer_record *record,
		    uint32_t end, bool erase)
{
	orma_trace_buffer_will_change_header(buffer, record);
	ORMA_ASSERT(end >= record->consumed && end <= record->payload);
	record->consumed = (uint16_t)end;
	if (erase)
		record->flags |= ORMA_TRACE_BUFFER_RECORD_OVERWRITTEN;
}

/* The id that the first record of the sequence has if nothing is missing before it. */
static uint32_t expected_id(const struct orma_trace_buffer_sequence *sequence)
{
	if (!sequence->has_last)
		return 0;
	/* A scraped chunk that was consumed is expected again, with the rest of it. If its
	 * successor comes instead, the rest is lost. */
	return sequence->last_was_incomplete ? sequence->last_id : sequence->last_id + 1;
}

/* Called for the first record of a sequence. The first time, it notes a loss if ids before the record are missing, unless
 * the walk stalls there. */
static void enter_record(const struct orma_trace_buffer *buffer,
			 struct orma_trace_buffer_sequence *sequence,
			 struct orma_trace_buffer_record *record, bool erase)
{
	bool is_expected = record->chunk_id == expected_id(sequence);

	if (record->flags & ORMA_TRACE_BUFFER_RECORD_ENTERED)
		return;
	if (!is_expected && buffer->gaps_wait && !erase) {
		sequence->stalled_in_pass = buffer->pass;
		return;
	}
	orma_trace_buffer_will_change_header(buffer, record);
	record->flags |= ORMA_TRACE_BUFFER_RECORD_ENTERED;
	/* Nobody knows whether a sequence begins in this buffer with its first chunk. */
	if (!is_expected && sequence->has_last)
		orma_trace_buffer_sequence_add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_READ_GAP);
}

void orma_trace_buffer_close_first(struct orma_trace_buffer *buffer, uint32_t sequence_number)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, sequence_number);
	ORMA_ASSERT(sequence->records.count > 0 && buffer->chunk_count > 0);
	struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(
		buffer, orma_trace_buffer_record_list_get(&sequence->records, 0));
	sequence->has_last = true;
	sequence->last_id = record->chunk_id;
	sequence->last_payload = record->payload;
	sequence->last_was_incomplete = record->flags & ORMA_TRACE_BUFFER_RECORD_INCOMPLETE;
	sequence->uncommitted_count += (record->flags & ORMA_TRACE_BUFFER_RECORD_UNCOMMITTED) != 0;
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_ABORT)
		orma_trace_buffer_sequence_add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT);
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_CORRUPT)
		orma_trace_buffer_sequence_add_loss(sequence,
						    ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_OVERWRITTEN) {
		buffer->stats.chunks_overwritten++;
		buffer->stats.bytes_overwritten +=
			orma_trace_buffer_record_outer_bytes(record->capacity);
	} else {
		buffer->stats.chunks_read++;
		buffer->stats.bytes_read += orma_trace_buffer_record_outer_bytes(record->capacity);
	}
	orma_trace_buffer_will_change_header(buffer, record);
	record->sequence = 0;
	record->flags = 0;
	buffer->chunk_count--;
	orma_trace_buffer_record_list_pop(&sequence->records);
	if (!sequence->records.count)
		orma_trace_buffer_sequence_emptied(buffer, sequence_number);
}

void orma_trace_buffer_walk_begin(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_walk *walk, uint32_t target, bool erase)
{
	walk->sequence = orma_trace_buffer_record_at(buffer, target)->sequence;
	ORMA_ASSERT(walk->sequence != 0);
	walk->target = target;
	walk->erase = erase;
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, walk->sequence);
	walk->at = orma_trace_buffer_record_list_get(&sequence->records, 0);
	if (erase || sequence->stalled_in_pass != buffer->pass)
		enter_record(buffer, sequence, orma_trace_buffer_record_at(buffer, walk->at),
			     erase);
}

/* Leaves the walk's current record at its end. False when the walk ends here. */
static bool walk_leave_record(struct orma_trace_buffer *buffer, struct orma_trace_buffer_walk *walk)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, walk->sequence);
	struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(buffer, walk->at);
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_INCOMPLETE && !walk->erase) {
		sequence->stalled_in_pass = buffer->pass;
		return false;
	}
	bool is_last = walk->at == walk->target;
	orma_trace_buffer_close_first(buffer, walk->sequence);
	if (is_last || !sequence->records.count)
		return false;
	walk->at = orma_trace_buffer_record_list_get(&sequence->records, 0);
	enter_record(buffer, sequence, orma_trace_buffer_record_at(buffer, walk->at), walk->erase);
	return walk->erase || sequence->stalled_in_pass != buffer->pass;
}

/* The records that a fragmented packet continues in, as chain_look_ahead() judges them. */
struct chain {
	enum chain_verdict { CHAIN_OPEN, CHAIN_WHOLE, CHAIN_LOST } verdict;
	uint32_t reason;       /* for CHAIN_LOST: enum orma_trace_buffer_loss */
	uint32_t record_count; /* after the first: first fragment is the packet's, or no fragment */
	uint32_t slice_count;  /* fragments with bytes, including the first */
	uint64_t size;
};

/* Judges the next record of a chain. True: continue with the one after it. False: chain->verdict is
 * final. */
static bool chain_add_record(struct chain *chain, const struct orma_trace_buffer_record *record,
			     bool erase)
{
	struct orma_trace_buffer_fragment fragment;
	chain->verdict = CHAIN_LOST;
	chain->reason = ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_BROKEN;
	if (record->consumed)
		return false;
	switch (orma_trace_buffer_fragment_at((const uint8_t *)(record + 1), record->payload, 0,
					      &fragment)) {
	case ORMA_TRACE_BUFFER_FRAGMENT_FOUND:
		break;
	case ORMA_TRACE_BUFFER_FRAGMENT_NONE:
		if (record->flags & ORMA_TRACE_BUFFER_RECORD_INCOMPLETE) {
			chain->verdict = CHAIN_OPEN;
			return false;
		}
		if (record->flags &
		    (ORMA_TRACE_BUFFER_RECORD_ABORT | ORMA_TRACE_BUFFER_RECORD_CORRUPT)) {
			chain->reason = record->flags & ORMA_TRACE_BUFFER_RECORD_ABORT
						? ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT
						: ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED;
			return false;
		}
		return ++chain->record_count < ORMA_TRACE_BUFFER_SLICES_MAX;
	case ORMA_TRACE_BUFFER_FRAGMENT_ABORT:
	case ORMA_TRACE_BUFFER_FRAGMENT_CORRUPT:
		chain->reason = ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED;
		return false;
	}
	if (!(record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS) ||
	    chain->record_count >= ORMA_TRACE_BUFFER_SLICES_MAX ||
	    chain->size + fragment.size > PACKET_MAX_BYTES)
		return false;
	bool continues = fragment.end == record->payload &&
			 record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT;
	if (continues && record->flags & ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING && !erase) {
		chain->verdict = CHAIN_OPEN;
		return false;
	}
	chain->record_count++;
	chain->slice_count += fragment.size > 0;
	chain->size += fragment.size;
	chain->verdict = CHAIN_WHOLE;
	return continues;
}

/* Judges the packet that begins with the last fragment of the sequence's first record. */
static struct chain chain_look_ahead(const struct orma_trace_buffer *buffer,
				     const struct orma_trace_buffer_record_list *list,
				     uint32_t begin_size, bool erase)
{
	const struct orma_trace_buffer_record *record =
		orma_trace_buffer_record_at(buffer, orma_trace_buffer_record_list_get(list, 0));
	struct chain chain = {.slice_count = begin_size > 0, .size = begin_size};
	uint32_t id = record->chunk_id;
	if (record->flags & ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING && !erase)
		return chain;
	for (uint32_t i = 1; i < list->count; i++) {
		record = orma_trace_buffer_record_at(buffer,
						     orma_trace_buffer_record_list_get(list, i));
		if (record->chunk_id != ++id) {
			chain.verdict = buffer->gaps_wait && !erase ? CHAIN_OPEN : CHAIN_LOST;
			chain.reason = ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_GAP;
			return chain;
		}
		if (!chain_add_record(&chain, record, erase))
			return chain;
	}
	chain.verdict = CHAIN_OPEN;
	return chain;
}

static int slices_reserve(struct orma_trace_buffer *buffer, uint32_t count)
{
	if (count <= buffer->slice_capacity)
		return 0;
	size_t capacity = ORMA_MAX((size_t)count, buffer->slice_capacity * 2);
	struct orma_trace_buffer_slice *slices =
		orma_base_realloc_array(buffer->slices, capacity, sizeof(*slices));
	if (!slices)
		return -ENOMEM;
	buffer->slices = slices;
	buffer->slice_capacity = capacity;
	return 0;
}

/* Consumes the fragments of a judged packet. Fills in `slices` unless it is NULL. */
static void chain_consume(struct orma_trace_buffer *buffer,
			  const struct orma_trace_buffer_record_list *list,
			  const struct chain *chain, const struct orma_trace_buffer_fragment *begin,
			  bool erase, struct orma_trace_buffer_slice *slices)
{
	struct orma_trace_buffer_fragment fragment = *begin;
	uint32_t slice_count = 0;
	for (uint32_t i = 0; i <= chain->record_count; i++) {
		struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(
			buffer, orma_trace_buffer_record_list_get(list, i));
		if (i > 0 && orma_trace_buffer_fragment_at(orma_trace_buffer_record_payload(record),
							   record->payload, 0, &fragment) !=
				     ORMA_TRACE_BUFFER_FRAGMENT_FOUND)
			continue;
		consume(buffer, record, fragment.end, erase);
		if (slices && fragment.size)
			slices[slice_count++] =
				(struct orma_trace_buffer_slice){fragment.data, fragment.size};
	}
}

/* Reads the packet that begins with the fragment `begin`. Returns 1 (whole), 0 (consumed, but lost
 * or empty) or -EAGAIN (left for later). */
static int read_fragmented(struct orma_trace_buffer *buffer, struct orma_trace_buffer_walk *walk,
			   const struct orma_trace_buffer_fragment *begin,
			   struct orma_trace_buffer_packet *ret)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, walk->sequence);
	const struct orma_trace_buffer_record_list *list = &sequence->records;
	struct chain chain = chain_look_ahead(buffer, list, begin->size, walk->erase);
	if (chain.verdict == CHAIN_OPEN && walk->erase) {
		chain.verdict = CHAIN_LOST;
		chain.reason = ORMA_TRACE_BUFFER_LOSS_OVERWRITE;
	}
	if (chain.verdict == CHAIN_WHOLE && ret && slices_reserve(buffer, chain.slice_count) < 0) {
		chain.verdict = CHAIN_LOST;
		chain.reason = 0;
	}
	if (!walk->erase && chain.verdict == CHAIN_WHOLE)
		buffer->stats.readaheads_succeeded++;
	else if (!walk->erase)
		buffer->stats.readaheads_failed++;
	if (chain.verdict == CHAIN_OPEN)
		return -EAGAIN;
	bool is_whole = chain.verdict == CHAIN_WHOLE;
	chain_consume(buffer, list, &chain, begin, walk->erase,
		      ret && is_whole ? buffer->slices : NULL);
	if (!is_whole)
		orma_trace_buffer_sequence_add_loss(sequence, chain.reason);
	if (!is_whole || !chain.slice_count)
		return 0;
	if (ret) {
		ret->slices = buffer->slices;
		ret->slice_count = chain.slice_count;
		ret->size_bytes = (size_t)chain.size; /* no more than the buffer has */
	}
	return 1;
}

/*
 * Overwriting has to know whether packets are lost, not how many, so it skips to the record's last
 * fragment. The fragment before that one is not empty, so there was a packet. That packet lies in
 * this record alone unless the record begins with the rest of another, which is why such a record
 * is left to the loop.
 */
static bool erase_to_last_fragment(const struct orma_trace_buffer *buffer,
				   const struct orma_trace_buffer_sequence *sequence,
				   struct orma_trace_buffer_record *record)
{
	uint32_t last_fragment =
		orma_trace_buffer_record_list_entry(&sequence->records, 0)->last_fragment;
	if (record->consumed >= last_fragment ||
	    (record->consumed == 0 && record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS))
		return false;
	consume(buffer, record, last_fragment, true);
	return true;
}

int orma_trace_buffer_walk_next(struct orma_trace_buffer *buffer,
				struct orma_trace_buffer_walk *walk,
				struct orma_trace_buffer_packet *ret)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, walk->sequence);
	if (!walk->erase && sequence->stalled_in_pass == buffer->pass)
		return 0;
	for (;;) {
		struct orma_trace_buffer_record *record =
			orma_trace_buffer_record_at(buffer, walk->at);
		uint32_t at = record->consumed;
		struct orma_trace_buffer_fragment fragment;
		if (walk->erase && erase_to_last_fragment(buffer, sequence, record))
			return 1;
		if (!walk->erase && !orma_trace_buffer_take_step(buffer))
			return -EAGAIN;
		enum orma_trace_buffer_fragment_kind kind = orma_trace_buffer_fragment_at(
			orma_trace_buffer_record_payload(record), record->payload, at, &fragment);
		if (kind != ORMA_TRACE_BUFFER_FRAGMENT_FOUND) {
			/* Chunks are checked when they are written: only a patch can have changed a
			 * size. */
			if (ORMA_UNLIKELY(kind != ORMA_TRACE_BUFFER_FRAGMENT_NONE)) {
				buffer->stats.abi_violations++;
				orma_trace_buffer_sequence_add_loss(
					sequence, ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
				consume(buffer, record, record->payload, walk->erase);
			}
			if (!walk_leave_record(buffer, walk))
				return 0;
			continue;
		}
		if (ORMA_UNLIKELY(at == 0 &&
				  record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS)) {
			orma_trace_buffer_sequence_add_loss(
				sequence, ORMA_TRACE_BUFFER_LOSS_ORPHAN_CONTINUATION);
			consume(buffer, record, fragment.end, walk->erase);
			continue;
		}
		if (ORMA_UNLIKELY(fragment.end == record->payload &&
				  record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT)) {
			int r = read_fragmented(buffer, walk, &fragment, ret);
			if (r == -EAGAIN)
				sequence->stalled_in_pass = buffer->pass;
			if (r != 0)
				return r == 1;
			continue;
		}
		consume(buffer, record, fragment.end, walk->erase && fragment.size > 0);
		if (fragment.size == 0)
			continue;
		if (ret) {
			buffer->slice =
				(struct orma_trace_buffer_slice){fragment.data, fragment.size};
			ret->slices = &buffer->slice;
			ret->slice_count = 1;
			ret->size_bytes = fragment.size;
		}
		return 1;
	}
}
