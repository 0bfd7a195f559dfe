/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_model_test.c - random histories of a trace buffer, compared step by step with a
 * reference.
 *
 * The reference keeps an array of records in the order of the ring, and finds everything by a search
 * through all of them. It has no index, no deque and no position of the oldest record. After every step
 * the results, the bytes and the loss bits of packets, and all statistics must agree, and the real
 * buffer's invariants (trace_buffer.c) must hold.
 *
 * Each history is a function of its seed. The seed of a failing one is printed: ORMA_SEED=n runs that one
 * alone. ORMA_SEEDS=n runs the first n histories.
 */
#include "buffer/trace_buffer.h"

#include "base/macros.h"
#include "buffer/trace_buffer_check.h"
#include "harness.h"

enum { WRITERS = 5, RECORDS_MAX = 600, BYTES_MAX = 700, STEPS = 400 };
enum { PREVIOUS = 1, NEXT = 2, PATCH = 4 };

/* ---- the reference ---- */

struct model_record {
	uint32_t size; /* outer */
	bool is_live, is_padding;
	unsigned writer;
	uint32_t id, payload, capacity, consumed;
	unsigned flags; /* the ABI's */
	bool incomplete, abort, corrupt, entered, overwritten;
	uint8_t bytes[BYTES_MAX];
};

struct model_sequence {
	bool has_last, last_was_incomplete;
	uint32_t last_id, last_payload, loss;
	bool stalled;
};

struct model {
	enum orma_trace_buffer_policy policy;
	uint32_t size, write;
	bool is_full;
	struct model_record records[RECORDS_MAX];
	unsigned record_count;
	struct model_sequence sequences[WRITERS];
	struct orma_trace_buffer_stats stats;
	/* The packet that model_walk() found. */
	uint8_t packet[64 * BYTES_MAX];
	size_t packet_size;
};

static uint32_t outer_size(uint32_t capacity)
{
	return (capacity + 31) / 16 * 16;
}

/* Returns the size of the fragment at `at`, and in *begin where its bytes begin; -1 at the end, -2 for a
 * packet that was given up, -3 for a malformed size. */
static long fragment(const uint8_t *bytes, uint32_t size, uint32_t at, uint32_t *begin)
{
	uint64_t value = 0;
	if (at >= size)
		return -1;
	for (unsigned i = 0;; i++) {
		if (i == 4 || at + i >= size)
			return -3;
		value += (uint64_t)(bytes[at + i] % 128) << (7 * i);
		if (bytes[at + i] < 128) {
			*begin = at + i + 1;
			break;
		}
	}
	if (value == 0x0fffffff)
		return -2;
	return value > size - *begin ? -3 : (long)value;
}

/* The writer's first live record after the one with this id, or its first one if id is NULL. */
static struct model_record *model_next(struct model *model, unsigned writer, const uint32_t *id)
{
	struct model_record *best = NULL;
	for (unsigned i = 0; i < model->record_count; i++) {
		struct model_record *record = &model->records[i];
		if (!record->is_live || record->writer != writer ||
		    (id && (int32_t)(record->id - *id) <= 0))
			continue;
		if (!best || (int32_t)(record->id - best->id) < 0)
			best = record;
	}
	return best;
}

static void lose(struct model_sequence *sequence, uint32_t reason)
{
	sequence->loss |= 1 | reason;
}

static void model_enter(struct model *model, struct model_record *record)
{
	struct model_sequence *sequence = &model->sequences[record->writer];
	if (!record->entered && sequence->has_last &&
	    record->id != sequence->last_id + !sequence->last_was_incomplete)
		lose(sequence, ORMA_TRACE_BUFFER_LOSS_READ_GAP);
	record->entered = true;
}

static void model_close(struct model *model, struct model_record *record)
{
	struct model_sequence *sequence = &model->sequences[record->writer];
	sequence->has_last = true;
	sequence->last_id = record->id;
	sequence->last_payload = record->payload;
	sequence->last_was_incomplete = record->incomplete;
	if (record->abort)
		lose(sequence, ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT);
	if (record->corrupt)
		lose(sequence, ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
	*(record->overwritten ? &model->stats.chunks_overwritten : &model->stats.chunks_read) += 1;
	*(record->overwritten ? &model->stats.bytes_overwritten : &model->stats.bytes_read) +=
		record->size;
	record->is_live = record->is_padding = false;
}

/* Reads the packet that begins with the last fragment of `first`: 1 (found), 0 (lost) or -1 (wait). */
static int model_reassemble(struct model *model, struct model_record *first, uint32_t begin,
			    uint32_t size, bool erase)
{
	struct model_record *chain[RECORDS_MAX], *record = first;
	uint32_t begins[RECORDS_MAX] = {begin}, sizes[RECORDS_MAX] = {size}, count = 1, reason = 0;
	bool done = false, wait = first->flags & PATCH && !erase;
	chain[0] = first;
	while (!done && !wait && !reason) {
		uint32_t id = record->id;
		record = model_next(model, first->writer, &id);
		if (!record) {
			wait = true;
			break;
		}
		long next = fragment(record->bytes, record->payload, 0, &begins[count]);
		if (record->id != id + 1)
			reason = ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_GAP;
		else if (record->consumed)
			reason = ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_BROKEN;
		else if (next == -1 && record->incomplete)
			wait = true;
		else if (next == -1 && record->abort)
			reason = ORMA_TRACE_BUFFER_LOSS_WRITER_ABORT;
		else if (next < -1 || (next == -1 && record->corrupt))
			reason = ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED;
		else if (next >= 0 && !(record->flags & PREVIOUS))
			reason = ORMA_TRACE_BUFFER_LOSS_REASSEMBLY_BROKEN;
		else if (next >= 0) {
			done = !(begins[count] + (size_t)next == record->payload &&
				 record->flags & NEXT);
			if (!done && record->flags & PATCH && !erase) {
				wait = true;
				break;
			}
			sizes[count] = (uint32_t)next;
			chain[count++] = record;
		}
	}
	if (!erase)
		*(done ? &model->stats.readaheads_succeeded : &model->stats.readaheads_failed) += 1;
	if (wait && !erase)
		return -1;
	if (wait)
		reason = ORMA_TRACE_BUFFER_LOSS_OVERWRITE;
	for (uint32_t i = 0; i < count; i++) {
		if (done)
			memcpy(model->packet + model->packet_size, chain[i]->bytes + begins[i],
			       sizes[i]);
		model->packet_size += done ? sizes[i] : 0;
		chain[i]->consumed = begins[i] + sizes[i];
		chain[i]->overwritten |= erase;
	}
	if (!done)
		lose(&model->sequences[first->writer], reason);
	return done && model->packet_size > 0;
}

/* Reads one packet on the way to `target` into model->packet: 1, or 0 at the end. */
static int model_walk(struct model *model, struct model_record *target, bool erase)
{
	unsigned writer = target->writer;
	struct model_sequence *sequence = &model->sequences[writer];
	model->packet_size = 0;
	if (sequence->stalled && !erase)
		return 0;
	for (;;) {
		struct model_record *record = model_next(model, writer, NULL);
		uint32_t begin = 0;
		model_enter(model, record);
		long size = fragment(record->bytes, record->payload, record->consumed, &begin);
		if (size < 0) {
			if (size < -1) {
				model->stats.abi_violations++;
				lose(sequence, ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
				record->consumed = record->payload;
				record->overwritten |= erase;
			}
			if (record->incomplete && !erase) {
				sequence->stalled = true;
				return 0;
			}
			model_close(model, record);
			if (record == target || !model_next(model, writer, NULL))
				return 0;
			continue;
		}
		uint32_t end = begin + (uint32_t)size;
		bool is_orphan = record->consumed == 0 && record->flags & PREVIOUS;
		if (is_orphan) {
			lose(sequence, ORMA_TRACE_BUFFER_LOSS_ORPHAN_CONTINUATION);
		} else if (end == record->payload && record->flags & NEXT) {
			int r = model_reassemble(model, record, begin, (uint32_t)size, erase);
			if (r < 0)
				sequence->stalled = true;
			if (r)
				return r > 0;
			continue;
		} else if (size > 0) {
			memcpy(model->packet, record->bytes + begin, (size_t)size);
			model->packet_size = (size_t)size;
		}
		record->consumed = end;
		record->overwritten |= erase && (size > 0 || is_orphan);
		if (model->packet_size)
			return 1;
	}
}

static void model_insert(struct model *model, unsigned at, const struct model_record *record)
{
	CHECK(model->record_count < RECORDS_MAX);
	memmove(&model->records[at + 1], &model->records[at],
		(model->record_count - at) * sizeof(*record));
	model->records[at] = *record;
	model->record_count++;
}

static uint32_t model_offset(const struct model *model, unsigned index)
{
	uint32_t offset = 0;
	for (unsigned i = 0; i < index; i++)
		offset += model->records[i].size;
	return offset;
}

/* Consumes all records in the `size` bytes at the write position. */
static void model_clear(struct model *model, uint32_t size)
{
	for (unsigned i = 0; i < model->record_count; i++) {
		struct model_record *record = &model->records[i];
		uint32_t offset = model_offset(model, i);
		if (offset < model->write || offset >= model->write + size)
			continue;
		if (record->is_padding)
			model->stats.padding_bytes_cleared += record->size;
		bool lost = false;
		while (record->is_live && model_walk(model, record, true))
			lost = true;
		if (lost)
			lose(&model->sequences[record->writer], ORMA_TRACE_BUFFER_LOSS_OVERWRITE);
		record->is_padding = false;
		CHECK(!record->is_live);
	}
}

/* Puts `with` at the write position, in place of as many bytes of cleared records. */
static void model_place(struct model *model, const struct model_record *with)
{
	uint32_t rest = with->size;
	unsigned at = 0;
	while (at < model->record_count && model_offset(model, at) < model->write)
		at++;
	while (at < model->record_count && rest >= model->records[at].size) {
		rest -= model->records[at].size;
		memmove(&model->records[at], &model->records[at + 1],
			(--model->record_count - at) * sizeof(*with));
	}
	if (rest && at < model->record_count) {
		struct model_record *cut = &model->records[at];
		*cut = (struct model_record){.size = cut->size - rest, .is_padding = true};
		model->stats.padding_bytes_written += cut->size;
	}
	model_insert(model, at, with);
	if (with->is_padding)
		model->stats.padding_bytes_written += with->size;
	model->write += with->size;
}

static int model_write(struct model *model, unsigned writer,
		       const struct orma_trace_buffer_chunk *chunk)
{
	static struct model_record made;
	struct model_sequence *sequence = &model->sequences[writer];
	uint32_t payload = 0, begin, size = (uint32_t)chunk->payload_size_bytes,
		 id = chunk->chunk_id;
	uint64_t fragments = 0, packets;
	memset(&made, 0, sizeof(made));
	made.is_live = true;
	made.writer = writer;
	made.id = id;
	made.flags = chunk->flags & (chunk->is_complete ? 7u : PREVIOUS);
	made.incomplete = !chunk->is_complete;
	memcpy(made.bytes, chunk->payload_untrusted, size);
	for (int count = chunk->fragment_count - !chunk->is_complete; count > 0; count--) {
		long value = fragment(made.bytes, size, payload, &begin);
		if (value < 0) {
			made.flags &= ~(unsigned)NEXT;
			made.abort = value == -2;
			made.corrupt = value != -2;
			model->stats.abi_violations += made.corrupt;
			break;
		}
		payload = begin + (uint32_t)value;
		fragments++;
	}
	packets = fragments - (fragments > 0 && chunk->flags & PREVIOUS);
	if (!chunk->is_complete)
		packets = 0;
	made.payload = payload;
	made.capacity = chunk->is_complete ? payload : size;
	made.size = outer_size(made.capacity);

	if (sequence->has_last && (int32_t)(id - sequence->last_id) <= 0) {
		bool is_same = id == sequence->last_id && sequence->last_was_incomplete;
		if (is_same && payload == sequence->last_payload && chunk->is_complete) {
			sequence->last_was_incomplete = false;
			model->stats.packets_written += packets;
			return (int)payload;
		}
		if (!is_same || payload <= sequence->last_payload) {
			model->stats.chunks_discarded++;
			return -EPROTO;
		}
		made.consumed = sequence->last_payload;
	}
	struct model_record *first = model_next(model, writer, NULL), *old = NULL;
	for (unsigned i = 0; i < model->record_count; i++)
		if (model->records[i].is_live && model->records[i].writer == writer &&
		    model->records[i].id == id)
			old = &model->records[i];
	if (old) {
		bool grows = payload > old->payload;
		if (payload < old->payload || payload > old->capacity ||
		    (grows && !old->incomplete) || (old->flags & ~made.flags)) {
			model->stats.abi_violations++;
			return -EPROTO;
		}
		if (!old->incomplete)
			return (int)payload;
		if (grows && chunk->is_complete && old == first && old->consumed == old->payload &&
		    model->policy == ORMA_TRACE_BUFFER_RING) {
			made.consumed = old->payload;
			model_close(model, old);
			model->stats.chunks_relocated++;
		} else {
			model->stats.trace_writer_packet_loss += made.abort && !old->abort;
			model->stats.packets_written += packets;
			old->flags = made.flags;
			old->incomplete = made.incomplete;
			old->abort = made.abort;
			old->corrupt = made.corrupt;
			if (grows) {
				memcpy(old->bytes, made.bytes, payload);
				old->payload = payload;
				model->stats.chunks_rewritten++;
			}
			return (int)payload;
		}
	} else if (first && (int32_t)(id - first->id) < 0 && first->consumed) {
		model->stats.chunks_discarded++;
		return -EPROTO;
	}

	if (model->is_full || (model->policy == ORMA_TRACE_BUFFER_DISCARD &&
			       model->write + made.size > model->size)) {
		model->is_full = true;
		model->stats.chunks_discarded++;
		return -ENOBUFS;
	}
	if (model->write + made.size > model->size) {
		uint32_t rest = model->size - model->write;
		if (rest) {
			model_clear(model, rest);
			model_place(model,
				    &(struct model_record){.size = rest, .is_padding = true});
		}
		model->write = 0;
		model->stats.write_wrap_count++;
	}
	bool has_passed = false;
	uint32_t last_id = sequence->last_id;
	model_clear(model, made.size);
	if (sequence->has_last && sequence->last_id != last_id)
		has_passed = (int32_t)(id - sequence->last_id) < 0;
	if (has_passed) {
		model_place(model, &(struct model_record){.size = made.size, .is_padding = true});
		model->stats.chunks_discarded++;
		return -EPROTO;
	}
	if (model_next(model, writer, &id))
		model->stats.chunks_committed_out_of_order++;
	model->stats.chunks_written++;
	model->stats.bytes_written += made.size;
	model->stats.trace_writer_packet_loss += made.abort;
	model->stats.packets_written += packets;
	model_place(model, &made);
	return (int)payload;
}

static int model_patch(struct model *model, unsigned writer, uint32_t id,
		       const struct orma_trace_buffer_patch *patches, size_t count, bool has_more)
{
	for (unsigned i = 0; i < model->record_count; i++) {
		struct model_record *record = &model->records[i];
		if (!record->is_live || record->writer != writer || record->id != id)
			continue;
		for (size_t k = 0; k < count; k++) {
			if ((uint64_t)patches[k].offset_untrusted + 4 > record->payload) {
				model->stats.patches_failed += count;
				return -EPROTO;
			}
		}
		for (size_t k = 0; k < count; k++)
			memcpy(record->bytes + patches[k].offset_untrusted, patches[k].data, 4);
		model->stats.patches_succeeded += count;
		if (!has_more)
			record->flags &= ~(unsigned)PATCH;
		return 0;
	}
	model->stats.patches_failed += count;
	return -ENOENT;
}

/* ---- the comparison ---- */

struct history {
	uint64_t seed, random;
	struct orma_trace_buffer *buffer;
	struct model *model;
	struct writer {
		uint32_t next_id;
		bool continues;
		struct sent {
			uint32_t id;
			uint8_t bytes[BYTES_MAX];
			uint32_t ends[16], count; /* where each fragment ends */
			uint32_t room;
			unsigned flags;
		} sent[8]; /* the last ones, by id */
	} writers[WRITERS];
};

#define AGREE(history, condition)                                                                  \
	do {                                                                                       \
		if (!(condition))                                                                  \
			orma_test_fail(__FILE__, __LINE__, "ORMA_SEED=%llu: %s",                   \
				       (unsigned long long)(history)->seed, #condition);           \
	} while (0)

static uint32_t random_below(struct history *history, uint32_t limit)
{
	history->random = history->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)((history->random >> 33) % limit);
}

/* Every call has checked what it may have changed; this checks everything. */
static void check_invariants(struct history *history, const struct orma_trace_buffer *buffer)
{
#ifdef ORMA_ASSERTS
	uint32_t visited;
	AGREE(history, orma_trace_buffer_check(buffer, &visited) == 0);
#else
	(void)history;
	(void)buffer;
#endif
}

static void read_some(struct history *history, struct orma_trace_buffer *buffer,
		      struct model *model, uint32_t limit)
{
	struct orma_trace_buffer_packet packet;
	uint32_t size_before = 0;
	unsigned index = 0, visited = 0;
	for (unsigned i = 0; i < WRITERS; i++)
		model->sequences[i].stalled = false;
	while (index < model->record_count &&
	       (size_before = model_offset(model, index)) < model->write)
		index++;
	orma_trace_buffer_read_begin(buffer);
	while (limit > 0) {
		if (visited == model->record_count) {
			AGREE(history, orma_trace_buffer_read_packet(buffer, &packet) == 0);
			break;
		}
		struct model_record *record =
			&model->records[(index + visited) % model->record_count];
		if (!record->is_live || !model_walk(model, record, false)) {
			visited++;
			continue;
		}
		struct model_sequence *sequence = &model->sequences[record->writer];
		size_t at = 0;
		AGREE(history, orma_trace_buffer_read_packet(buffer, &packet) == 1);
		AGREE(history, packet.writer->writer_id == record->writer + 1);
		AGREE(history, packet.loss == sequence->loss);
		AGREE(history, packet.size_bytes == model->packet_size);
		for (size_t i = 0; i < packet.slice_count; at += packet.slices[i++].size)
			AGREE(history, packet.slices[i].size > 0 &&
					       at + packet.slices[i].size <= model->packet_size &&
					       memcmp(packet.slices[i].data, model->packet + at,
						      packet.slices[i].size) == 0);
		AGREE(history, at == model->packet_size);
		sequence->loss = 0;
		limit--;
		if (random_below(history, 32) == 0) {
			orma_trace_buffer_packet_refused(buffer);
			lose(sequence, packet.loss | ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
		}
	}
}

static void make_chunk(struct history *history, struct writer *writer, struct sent *sent)
{
	uint32_t at = 0;
	*sent = (struct sent){.id = writer->next_id++};
	if (random_below(history, 20) == 0)
		writer->next_id += random_below(history, 3); /* lost on the way */
	sent->flags = writer->continues ? PREVIOUS : 0;
	sent->count = random_below(history, 6);
	for (uint32_t i = 0; i < sent->count; i++) {
		uint32_t size = random_below(history, 8) ? random_below(history, 20)
							 : random_below(history, 130);
		unsigned odd = random_below(history, 60);
		if (odd < 2) {
			memcpy(sent->bytes + at, odd ? "\xff\xff\xff\x7f" : "\xff\xff\x7f\x00", 4);
			sent->ends[i] = at += 4;
			continue;
		}
		bool is_long = size > 127 || random_below(history, 10) == 0;
		sent->bytes[at++] = (uint8_t)(size % 128 + (is_long ? 128 : 0));
		if (is_long)
			sent->bytes[at++] = (uint8_t)(size / 128);
		for (uint32_t k = 0; k < size; k++)
			sent->bytes[at++] = (uint8_t)random_below(history, 256);
		sent->ends[i] = at;
	}
	writer->continues = sent->count > 0 && random_below(history, 3) == 0;
	if (writer->continues)
		sent->flags |= NEXT | (random_below(history, 3) == 0 ? PATCH : 0);
	if (random_below(history, 40) == 0)
		sent->flags ^= 1u << random_below(history, 3);
	sent->room = at + random_below(history, 3) * 40;
}

static void send_chunk(struct history *history, unsigned index, const struct sent *sent,
		       uint32_t count, bool complete)
{
	struct orma_trace_buffer_chunk chunk = {
		.writer = {.producer_id = (uint16_t)(index / 2 + 1),
			   .writer_id = (uint16_t)(index + 1)},
		.chunk_id = sent->id,
		.fragment_count = (uint16_t)count,
		.flags = (uint8_t)sent->flags,
		.is_complete = complete,
		.payload_untrusted = sent->bytes,
		.payload_size_bytes = sent->room,
	};
	int r = orma_trace_buffer_write_chunk(history->buffer, &chunk);
	AGREE(history, r == model_write(history->model, index, &chunk));
}

static void send_something(struct history *history)
{
	unsigned index = random_below(history, WRITERS), kind = random_below(history, 12);
	struct writer *writer = &history->writers[index];
	struct sent *sent = &writer->sent[writer->next_id % 8];
	if (kind < 8) {
		make_chunk(history, writer, sent);
		send_chunk(history, index, sent, sent->count, kind > 1);
	} else if (kind == 8) {
		/* Two chunks in the wrong order, as scraping finds them. */
		struct sent early;
		make_chunk(history, writer, &early);
		sent = &writer->sent[writer->next_id % 8];
		make_chunk(history, writer, sent);
		send_chunk(history, index, sent, sent->count, true);
		writer->sent[early.id % 8] = early;
		send_chunk(history, index, &early, early.count, true);
	} else {
		/* A chunk comes again: scraped with more in it, or committed. */
		sent = &writer->sent[(writer->next_id - 1 - random_below(history, 4)) % 8];
		bool complete = random_below(history, 3) > 0;
		uint32_t count = complete ? sent->count : random_below(history, sent->count + 1);
		if (sent->room)
			send_chunk(history, index, sent, count, complete);
	}
}

static void patch_something(struct history *history)
{
	struct orma_trace_buffer_patch patches[3];
	unsigned index = random_below(history, WRITERS);
	size_t count = random_below(history, 4);
	uint32_t id = history->writers[index].next_id - 1 - random_below(history, 5);
	bool has_more = random_below(history, 4) == 0;
	for (size_t i = 0; i < count; i++) {
		patches[i].offset_untrusted = random_below(history, 10)
						      ? random_below(history, 60)
						      : random_below(history, 800);
		for (unsigned k = 0; k < 4; k++)
			patches[i].data[k] = (uint8_t)random_below(history, 256);
	}
	int r = orma_trace_buffer_patch(history->buffer, (uint16_t)(index / 2 + 1),
					(uint16_t)(index + 1), id, patches, count, has_more);
	AGREE(history, r == model_patch(history->model, index, id, patches, count, has_more));
}

/* A copy under way, and the reference as it was when it began. */
struct clone {
	struct orma_trace_buffer_copy *copy;
	struct model model;
	uint8_t ring[4096];
};

/* Reads the copy to its end, and compares it with the original as it was when the copy began. */
static void check_clone(struct history *history, struct clone *clone)
{
	struct orma_trace_buffer *copy = orma_trace_buffer_copy_take(clone->copy);
	struct model *model = &clone->model;
	clone->copy = NULL;
	AGREE(history, memcmp(copy->ring, clone->ring, copy->used) == 0);
	model->stats.bytes_read = model->stats.chunks_read = 0;
	model->stats.readaheads_succeeded = model->stats.readaheads_failed = 0;
	read_some(history, copy, model, UINT32_MAX);
	check_invariants(history, copy);
	AGREE(history, memcmp(&copy->stats, &model->stats, sizeof(model->stats)) == 0);
	orma_trace_buffer_free(copy);
}

/* Begins a clone, continues it, or drops it. A step copies a few hundred bytes, so that all kinds of
 * changes to the source come in between. */
static void clone_something(struct history *history, struct clone *clone)
{
	uint32_t block_bytes = 16u << random_below(history, 6);
	if (!clone->copy) {
		clone->model = *history->model;
		memcpy(clone->ring, history->buffer->ring, history->buffer->size);
		AGREE(history, orma_trace_buffer_copy_begin(history->buffer, block_bytes,
							    &clone->copy) == 0);
	} else if (random_below(history, 40) == 0) {
		orma_trace_buffer_copy_free(clone->copy);
		clone->copy = NULL;
	} else {
		int r = orma_trace_buffer_copy_step(clone->copy, random_below(history, 600));
		AGREE(history, r >= 0);
		if (r == 0)
			check_clone(history, clone);
	}
}

static void run_history(uint64_t seed)
{
	static struct model model;
	static struct clone clones[2];
	struct history history = {.seed = seed, .random = seed * 7919 + 1, .model = &model};
	memset(&model, 0, sizeof(model));
	for (int i = 0; i < 8; i++)
		random_below(&history, 2);
	model.policy =
		random_below(&history, 5) == 0 ? ORMA_TRACE_BUFFER_DISCARD : ORMA_TRACE_BUFFER_RING;
	model.stats.buffer_size = model.size = 4096;
	AGREE(&history, orma_trace_buffer_new(4096, model.policy, &history.buffer) == 0);
	for (unsigned i = 0; i < WRITERS; i++)
		history.writers[i].next_id =
			random_below(&history, 2) ? UINT32_MAX - random_below(&history, 60) : 0;
	uint32_t read_rate = 1 + random_below(&history, 12);
	for (int step = 0; step < STEPS; step++) {
		uint32_t kind = random_below(&history, 100);
		if (kind < read_rate)
			read_some(&history, history.buffer, &model,
				  random_below(&history, 3) ? UINT32_MAX
							    : random_below(&history, 20));
		else if (kind < 24)
			patch_something(&history);
		else if (kind >= 90)
			clone_something(&history, &clones[kind % 2]);
		else
			send_something(&history);
		check_invariants(&history, history.buffer);
		AGREE(&history,
		      memcmp(&history.buffer->stats, &model.stats, sizeof(model.stats)) == 0);
	}
	read_some(&history, history.buffer, &model, UINT32_MAX);
	AGREE(&history, memcmp(&history.buffer->stats, &model.stats, sizeof(model.stats)) == 0);
	orma_trace_buffer_free(history.buffer);
	/* Copies outlive their source. */
	for (size_t i = 0; i < 2; i++)
		while (clones[i].copy)
			clone_something(&history, &clones[i]);
}

/* ThreadSanitizer makes a history about twenty times slower, and there are no threads here. */
#ifdef __SANITIZE_THREAD__
#define HISTORIES 200
#else
#define HISTORIES 2000
#endif

/* Runs the histories of one parity, or the one that ORMA_SEED names. */
static void run_histories(uint64_t first)
{
	const char *seed = getenv("ORMA_SEED"), *seeds = getenv("ORMA_SEEDS");
	if (seed) {
		run_history(strtoull(seed, NULL, 10));
		return;
	}
	uint64_t count = seeds ? strtoull(seeds, NULL, 10) : HISTORIES;
	for (uint64_t i = first; i <= count; i += 2)
		run_history(i);
}

/* Two tests, because each has a limit of time, which a busy machine needs with AddressSanitizer. */
ORMA_TEST(random_histories_agree_with_the_reference)
{
	run_histories(1);
}

ORMA_TEST(more_random_histories_agree_with_the_reference)
{
	run_histories(2);
}
