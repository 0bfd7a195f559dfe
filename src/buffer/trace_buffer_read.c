/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_read.c - packets out of a trace buffer: the walk that reading and overwriting share,
 * and the read pass.
 *
 * A walk goes through one sequence, always at the first unconsumed fragment of the sequence's first
 * record, and ends with its target record. How far it has come is written in the records
 * (`consumed`), so a walk can be dropped at any time. A reading walk stops where data may still
 * come: at the end of a scraped chunk, or at a packet whose rest or whose patch is missing. An
 * erasing walk stops nowhere. See trace_buffer.c for the whole.
 *
 * Rejected: gathering a packet's fragments in an array while looking for its end (an allocation per
 * packet, and one that a producer can blow up before it is known that there is a packet at all):
 * the chain is looked at twice instead, first to judge it, then to consume it.
 */
#include "buffer/trace_buffer_layout.h"

#include <errno.h>

#include "base/alloc.h"

enum {
	PACKET_MAX_BYTES = (1 << 28) - 1,
	STEPS_PER_PACKET = 16, /* that a packet is worth */
};
#define PATIENCE_MAX 5u /* doublings of what a read may look at */

static void add_loss(struct orma_trace_buffer_sequence *sequence, uint32_t reason)
{
	sequence->loss |= ORMA_TRACE_BUFFER_LOSS_PRESENT | reason;
}

static void consume(const struct orma_trace_buffer *buffer, struct orma_trace_buffer_record *record,
		    uint32_t end, bool erase)
{
	orma_trace_buffer_will_change_header(buffer, record);
	record->consumed = (uint16_t)end;
	if (erase)
		record->flags |= ORMA_TRACE_BUFFER_RECORD_OVERWRITTEN;
}

/* A record becomes the first that a walk looks at: are the ids before it all accounted for? */
static void enter_record(const struct orma_trace_buffer *buffer,
			 struct orma_trace_buffer_sequence *sequence,
			 struct orma_trace_buffer_record *record)
{
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_ENTERED)
		return;
	orma_trace_buffer_will_change_header(buffer, record);
	record->flags |= ORMA_TRACE_BUFFER_RECORD_ENTERED;
	if (!sequence->has_last)
		return;
	/* A scraped chunk that was overwritten may come back whole. If its successor comes instead,
	 * its end is lost. */
	uint32_t expected_id =
		sequence->last_was_incomplete ? sequence->last_id : sequence->last_id + 1;
	if (record->chunk_id != expected_id)
		add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_READ_GAP);
}

void orma_trace_buffer_close_first(struct orma_trace_buffer *buffer, uint32_t sequence_number)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, sequence_number);
	struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(
		buffer, orma_trace_buffer_record_list_get(&sequence->records, 0));
	sequence->has_last = true;
	sequence->last_id = record->chunk_id;
	sequence->last_payload = record->payload;
	sequence->last_was_incomplete = record->flags & ORMA_TRACE_BUFFER_RECORD_INCOMPLETE;
	sequence->uncommitted_count += (record->flags & ORMA_TRACE_BUFFER_RECORD_UNCOMMITTED) != 0;
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_ABORT)
		add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT);
	if (record->flags & ORMA_TRACE_BUFFER_RECORD_CORRUPT)
		add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
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
	walk->target = target;
	walk->erase = erase;
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, walk->sequence);
	walk->at = orma_trace_buffer_record_list_get(&sequence->records, 0);
	if (erase || sequence->stalled_in_pass != buffer->pass)
		enter_record(buffer, sequence, orma_trace_buffer_record_at(buffer, walk->at));
}

/* The end of the walk's current record: false when it is the end of the walk. */
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
	enter_record(buffer, sequence, orma_trace_buffer_record_at(buffer, walk->at));
	return true;
}

/* What the records of a packet's chain turned out to be. */
struct chain {
	enum chain_verdict { CHAIN_OPEN, CHAIN_WHOLE, CHAIN_LOST } verdict;
	uint32_t reason;       /* of CHAIN_LOST */
	uint32_t record_count; /* records whose first fragment belongs to the packet, or that have
				  none */
	uint32_t slice_count;  /* fragments that are not empty, the begin among them */
	uint64_t size;
};

/* The next record of a chain. True: go on with the one after it; false: chain->verdict stands. */
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
			chain.verdict = CHAIN_LOST;
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

/* Consumes a judged packet; with `slices`, tells where its bytes are. */
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

/* The packet that begins at `begin`: 1 whole, 0 consumed without a packet to show, -EAGAIN left for
 * later. */
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
		add_loss(sequence, chain.reason);
	if (!is_whole || !chain.slice_count)
		return 0;
	if (ret) {
		ret->slices = buffer->slices;
		ret->slice_count = chain.slice_count;
		ret->size_bytes = chain.size;
	}
	return 1;
}

/* Overwriting wants to know whether there was a packet, not how many: from anywhere before the last
 * fragment, straight to it. The one before it is not empty, and is in no other record when it does
 * not begin the record. */
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

/* Empty fragments and chunks cost a producer next to nothing, so they are what a reader counts. */
static bool take_step(struct orma_trace_buffer *buffer)
{
	if (buffer->steps_left == 0)
		return false;
	buffer->steps_left--;
	return true;
}

static void earn_steps(struct orma_trace_buffer *buffer)
{
	buffer->steps_left = ORMA_MIN(buffer->steps_left + STEPS_PER_PACKET,
				      ORMA_TRACE_BUFFER_STEPS_PER_READ << buffer->patience);
	buffer->is_cut_short = false;
}

static int cut_short(struct orma_trace_buffer *buffer)
{
	buffer->is_cut_short = true;
	return -EAGAIN;
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
		if (!walk->erase && !take_step(buffer))
			return -EAGAIN;
		enum orma_trace_buffer_fragment_kind kind = orma_trace_buffer_fragment_at(
			orma_trace_buffer_record_payload(record), record->payload, at, &fragment);
		if (kind != ORMA_TRACE_BUFFER_FRAGMENT_FOUND) {
			/* Chunks are checked on their way in; only a patch over a size can do this.
			 */
			if (ORMA_UNLIKELY(kind != ORMA_TRACE_BUFFER_FRAGMENT_NONE)) {
				buffer->stats.abi_violations++;
				add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
				consume(buffer, record, record->payload, walk->erase);
			}
			if (!walk_leave_record(buffer, walk))
				return 0;
			continue;
		}
		if (ORMA_UNLIKELY(at == 0 &&
				  record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS)) {
			add_loss(sequence, ORMA_TRACE_BUFFER_LOSS_ORPHAN_CONTINUATION);
			consume(buffer, record, fragment.end, walk->erase);
			continue;
		}
		if (ORMA_UNLIKELY(fragment.end == record->payload &&
				  record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT)) {
			int result = read_fragmented(buffer, walk, &fragment, ret);
			if (result == -EAGAIN)
				sequence->stalled_in_pass = buffer->pass;
			if (result != 0)
				return result == 1;
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

void orma_trace_buffer_read_begin(struct orma_trace_buffer *buffer)
{
	buffer->pass++;
	buffer->steps_left = ORMA_TRACE_BUFFER_STEPS_PER_READ;
	buffer->walk.sequence = 0;
	buffer->refusable_sequence = 0;
	buffer->pass_is_open = buffer->chunk_count > 0;
	buffer->read = buffer->oldest;
}

void orma_trace_buffer_read_resume(struct orma_trace_buffer *buffer, uint32_t max_steps)
{
	if (!buffer->pass_is_open) {
		/* Behind many chunks that wait, one that always begins anew would never arrive. */
		buffer->patience =
			buffer->is_cut_short ? ORMA_MIN(buffer->patience + 1, PATIENCE_MAX) : 0;
		orma_trace_buffer_read_begin(buffer);
	}
	buffer->steps_left = max_steps << buffer->patience;
}

uint32_t orma_trace_buffer_steps_left(const struct orma_trace_buffer *buffer)
{
	return buffer->steps_left >> buffer->patience;
}

/* Goes to the next record in the order of the ring; false at the write position, where the pass
 * ends. */
static bool pass_advance(struct orma_trace_buffer *buffer)
{
	const struct orma_trace_buffer_record *record =
		orma_trace_buffer_record_at(buffer, buffer->read);
	uint32_t next = buffer->read + orma_trace_buffer_record_outer_bytes(record->capacity);
	uint32_t end = buffer->write < buffer->used ? buffer->write : 0;
	if (next >= buffer->used)
		next = 0;
	if (buffer->read == buffer->oldest && record->sequence == 0)
		buffer->oldest = next;
	buffer->read = next;
	return next != end && buffer->chunk_count > 0;
}

int orma_trace_buffer_read_packet(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_packet *ret)
{
	while (buffer->pass_is_open) {
		if (!buffer->walk.sequence &&
		    orma_trace_buffer_record_at(buffer, buffer->read)->sequence)
			orma_trace_buffer_walk_begin(buffer, &buffer->walk, buffer->read, false);
		int result = buffer->walk.sequence
				     ? orma_trace_buffer_walk_next(buffer, &buffer->walk, ret)
				     : 0;
		if (result > 0) {
			struct orma_trace_buffer_sequence *sequence =
				orma_trace_buffer_sequence_get(buffer, buffer->walk.sequence);
			ret->writer = &sequence->writer;
			ret->loss = buffer->refusable_loss = sequence->loss;
			sequence->loss = 0;
			buffer->refusable_sequence = buffer->walk.sequence;
			earn_steps(buffer);
			return 1;
		}
		if (result < 0 || !take_step(buffer))
			return cut_short(buffer);
		buffer->walk.sequence = 0;
		buffer->pass_is_open = pass_advance(buffer);
	}
	buffer->is_cut_short = false;
	return 0;
}

void orma_trace_buffer_packet_refused(struct orma_trace_buffer *buffer)
{
	if (!buffer->refusable_sequence)
		return;
	add_loss(orma_trace_buffer_sequence_get(buffer, buffer->refusable_sequence),
		 buffer->refusable_loss | ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
	buffer->refusable_sequence = 0;
}

void orma_trace_buffer_held_packet_refused(struct orma_trace_buffer *buffer,
					   const struct orma_trace_buffer_writer *writer,
					   uint32_t loss)
{
	uint32_t number = orma_trace_buffer_sequence_find(&buffer->sequences, writer->producer_id,
							  writer->writer_id);

	/* The ids may be another writer's by now: there is no next packet to tell then. */
	if (number && orma_trace_buffer_sequence_get(buffer, number)->writer.sequence_id ==
			      writer->sequence_id)
		add_loss(orma_trace_buffer_sequence_get(buffer, number),
			 loss | ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
}
