/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_index.c - the sequences of a trace buffer, and which records each has.
 *
 * Owns the table of sequences (an array of slots; records name their sequence by slot), the hash
 * from (producer, writer) to slot, and the queue of sequences without records. Each sequence has a
 * list with the offsets of its records.
 *
 * Invariants: the ids of a list ascend strictly, and all lie within half the circle of 32-bit ids
 * counted from the first, so "id minus first id" orders them. A slot with records is never freed.
 * At most ORMA_TRACE_BUFFER_EMPTY_SEQUENCES_MAX empty sequences are kept; each write frees only a
 * few of those above that number, so that no single write pays for many.
 *
 * Cost: a chunk in order takes one comparison and one store. A chunk out of order takes a binary
 * search and a move of the shorter side of the list, which is at most ORMA_TRACE_BUFFER_LATE_MAX
 * entries (256 KiB), whatever ids a producer makes up.
 *
 * Rejected: links in the records, because a sorted insertion would then walk the list (minutes,
 * with a hostile producer) and the header would outgrow 16 bytes; a balanced tree per sequence,
 * because all honest traffic is appended and removed at the ends, where a deque takes a quarter of
 * the memory and has no cache misses.
 */
#include "buffer/trace_buffer_index.h"

#include <errno.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_save.h"

enum { LIST_KEPT_MAX = 64 }; /* capacity of a list that is kept when the list is empty */

static uint32_t make_key(uint16_t producer_id, uint16_t writer_id)
{
	return (uint32_t)producer_id << 16 | writer_id;
}

/* The place where the search for a key begins. The table's address is mixed in, so that producers
 * cannot choose ids that collide. */
static uint32_t key_home(const struct orma_trace_buffer_sequence_table *table, uint32_t key)
{
	uint64_t hash =
		((uint64_t)key ^ (uintptr_t)table->keys >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(hash >> 32) & (table->key_capacity - 1);
}

/* The place of the key, or the free place where it belongs. */
static uint32_t key_place(const struct orma_trace_buffer_sequence_table *table, uint32_t key)
{
	uint32_t place = key_home(table, key);
	while (table->keys[place].slot && table->keys[place].key != key)
		place = (place + 1) & (table->key_capacity - 1);
	return place;
}

static int keys_grow(struct orma_trace_buffer_sequence_table *table)
{
	struct orma_trace_buffer_sequence_table larger = *table;
	if (table->key_capacity && table->key_count < table->key_capacity / 2)
		return 0;
	larger.key_capacity = ORMA_MAX(table->key_capacity * 2, 16u);
	larger.keys = orma_base_alloc_array(larger.key_capacity, sizeof(*larger.keys));
	if (!larger.keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->key_capacity; i++)
		if (table->keys[i].slot)
			larger.keys[key_place(&larger, table->keys[i].key)] = table->keys[i];
	orma_base_free(table->keys);
	*table = larger;
	return 0;
}

static void key_remove(struct orma_trace_buffer_sequence_table *table, uint32_t key)
{
	uint32_t mask = table->key_capacity - 1, hole = key_place(table, key);
	ORMA_ASSERT(table->key_count > 0 && table->keys[hole].slot != 0);
	for (uint32_t i = (hole + 1) & mask; table->keys[i].slot; i = (i + 1) & mask) {
		uint32_t home = key_home(table, table->keys[i].key);
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		table->keys[hole] = table->keys[i];
		hole = i;
	}
	table->keys[hole].slot = 0;
	table->key_count--;
}

uint32_t orma_trace_buffer_sequence_find(const struct orma_trace_buffer_sequence_table *table,
					 uint16_t producer_id, uint16_t writer_id)
{
	if (!table->key_count)
		return 0;
	return table->keys[key_place(table, make_key(producer_id, writer_id))].slot;
}

static int slots_grow(struct orma_trace_buffer_sequence_table *table)
{
	if (table->free || table->count < table->capacity)
		return 0;
	uint32_t capacity = ORMA_MAX(table->capacity * 2, 8u);
	struct orma_trace_buffer_sequence *slots =
		orma_base_realloc_array(table->slots, capacity, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

static bool writer_is_same(const struct orma_trace_buffer_writer *a,
			   const struct orma_trace_buffer_writer *b)
{
	return a->sequence_id == b->sequence_id && a->uid == b->uid && a->pid == b->pid &&
	       a->machine_id == b->machine_id;
}

int orma_trace_buffer_sequence_open(struct orma_trace_buffer *buffer,
				    const struct orma_trace_buffer_writer *writer,
				    uint32_t *ret_sequence)
{
	struct orma_trace_buffer_sequence_table *table = &buffer->sequences;
	uint32_t key = make_key(writer->producer_id, writer->writer_id);
	uint32_t sequence =
		orma_trace_buffer_sequence_find(table, writer->producer_id, writer->writer_id);
	if (sequence && writer_is_same(&table->slots[sequence - 1].writer, writer)) {
		*ret_sequence = sequence;
		return 0;
	}
	int r = slots_grow(table);
	if (r == 0)
		r = keys_grow(table);
	if (r < 0)
		return r;
	/* Producer ids are reused. The records of the former writer keep its sequence, and are read
	 * under its name. */
	if (sequence) {
		orma_trace_buffer_sequence_get(buffer, sequence)->is_hashed = false;
		key_remove(table, key);
	}
	sequence = table->free;
	if (sequence)
		table->free = table->slots[sequence - 1].next;
	else
		sequence = ++table->count;
	*orma_trace_buffer_sequence_get(buffer, sequence) = (struct orma_trace_buffer_sequence){
		.writer = *writer, .is_used = true, .is_hashed = true};
	table->keys[key_place(table, key)] =
		(struct orma_trace_buffer_sequence_key){.key = key, .slot = sequence};
	table->key_count++;
	orma_trace_buffer_sequence_emptied(buffer, sequence);
	*ret_sequence = sequence;
	return 0;
}

void orma_trace_buffer_sequence_emptied(struct orma_trace_buffer *buffer, uint32_t sequence)
{
	struct orma_trace_buffer_sequence_table *table = &buffer->sequences;
	struct orma_trace_buffer_sequence *slot = orma_trace_buffer_sequence_get(buffer, sequence);
	ORMA_ASSERT(slot->is_used && slot->records.count == 0);
	ORMA_ASSERT(table->empty_last != sequence && slot->previous == 0);
	/* Otherwise each of a thousand empty sequences would keep the memory of its longest
	 * list. */
	if (slot->records.capacity > LIST_KEPT_MAX) {
		orma_base_free(slot->records.entries);
		slot->records = (struct orma_trace_buffer_record_list){0};
	}
	slot->next = 0;
	slot->previous = table->empty_last;
	if (table->empty_last)
		orma_trace_buffer_sequence_get(buffer, table->empty_last)->next = sequence;
	else
		table->empty_first = sequence;
	table->empty_last = sequence;
	table->empty_count++;
}

void orma_trace_buffer_sequence_filled(struct orma_trace_buffer *buffer, uint32_t sequence)
{
	struct orma_trace_buffer_sequence_table *table = &buffer->sequences;
	struct orma_trace_buffer_sequence *slot = orma_trace_buffer_sequence_get(buffer, sequence);
	ORMA_ASSERT(slot->is_used && slot->records.count == 0 && table->empty_count > 0);
	if (slot->previous)
		orma_trace_buffer_sequence_get(buffer, slot->previous)->next = slot->next;
	else
		table->empty_first = slot->next;
	if (slot->next)
		orma_trace_buffer_sequence_get(buffer, slot->next)->previous = slot->previous;
	else
		table->empty_last = slot->previous;
	slot->previous = slot->next = 0;
	table->empty_count--;
}

void orma_trace_buffer_sequence_forget_oldest(struct orma_trace_buffer *buffer)
{
	struct orma_trace_buffer_sequence_table *table = &buffer->sequences;

	/* A write empties less than one sequence on average, so a few per write catch up. */
	for (int i = 0; i < 4 && table->empty_count > ORMA_TRACE_BUFFER_EMPTY_SEQUENCES_MAX; i++) {
		uint32_t sequence = table->empty_first;
		struct orma_trace_buffer_sequence *slot =
			orma_trace_buffer_sequence_get(buffer, sequence);
		orma_trace_buffer_sequence_filled(buffer, sequence);
		if (slot->is_hashed)
			key_remove(table,
				   make_key(slot->writer.producer_id, slot->writer.writer_id));
		orma_base_free(slot->records.entries);
		*slot = (struct orma_trace_buffer_sequence){.next = table->free};
		table->free = sequence;
	}
}

bool orma_trace_buffer_sequences_shrink(struct orma_trace_buffer_sequence_table *table,
					uint32_t count)
{
	struct orma_trace_buffer_sequence *slots;
	for (; count > 0 && table->count > 0; count--)
		orma_base_free(table->slots[--table->count].records.entries);
	if (!table->count)
		return false;
	slots = orma_base_realloc_array(table->slots, table->count, sizeof(*slots));
	if (slots)
		table->slots = slots;
	table->capacity = table->count;
	return true;
}

void orma_trace_buffer_sequences_done(struct orma_trace_buffer_sequence_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		orma_base_free(table->slots[i].records.entries);
	orma_base_free(table->slots);
	orma_base_free(table->keys);
	*table = (struct orma_trace_buffer_sequence_table){0};
}

/* Moves the list into an array of another capacity, and its head to 0. */
static int list_resize(struct orma_trace_buffer_record_list *list, uint32_t capacity)
{
	ORMA_ASSERT(capacity >= list->count && (capacity & (capacity - 1)) == 0);
	struct orma_trace_buffer_record_entry *entries =
		orma_base_alloc((size_t)capacity * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->count; i++)
		entries[i] = *orma_trace_buffer_record_list_entry(list, i);
	orma_base_free(list->entries);
	list->entries = entries;
	list->head = 0;
	list->capacity = capacity;
	return 0;
}

int orma_trace_buffer_record_list_reserve(struct orma_trace_buffer_record_list *list)
{
	const uint32_t smallest = 4;
	if (list->count < list->capacity) {
		/* Do not keep the memory of a burst for ever. If this fails, the list is as it
		 * was. */
		if (list->capacity > LIST_KEPT_MAX && list->count < list->capacity / 8)
			(void)list_resize(list, list->capacity / 4);
		return 0;
	}
	return list_resize(list, list->capacity ? list->capacity * 2 : smallest);
}

int orma_trace_buffer_record_list_find(const struct orma_trace_buffer *buffer,
				       const struct orma_trace_buffer_record_list *list,
				       uint32_t chunk_id, uint32_t *ret_position)
{
	*ret_position = list->count;
	if (!list->count)
		return 0;
	uint32_t first =
		orma_trace_buffer_record_at(buffer, orma_trace_buffer_record_list_get(list, 0))
			->chunk_id;
	if (orma_trace_buffer_chunk_id_is_before(chunk_id, first)) {
		*ret_position = 0;
		return list->newest_id - chunk_id > INT32_MAX ? -EPROTO : 0;
	}
	uint32_t distance = chunk_id - first;
	if (distance > list->newest_id - first)
		return distance > INT32_MAX ? -EPROTO : 0;
	uint32_t low = 0, high = list->count - 1;
	if (chunk_id == list->newest_id)
		low = high;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t id = orma_trace_buffer_record_at(
				      buffer, orma_trace_buffer_record_list_get(list, middle))
				      ->chunk_id;
		if (id - first < distance)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_position = low;
	return orma_trace_buffer_record_at(buffer, orma_trace_buffer_record_list_get(list, low))
		       ->chunk_id == chunk_id;
}

void orma_trace_buffer_record_list_insert(struct orma_trace_buffer_record_list *list,
					  uint32_t position,
					  struct orma_trace_buffer_record_entry entry,
					  uint32_t chunk_id)
{
	uint32_t mask = list->capacity - 1;
	ORMA_ASSERT(list->count < list->capacity && position <= list->count);
	if (position == list->count)
		list->newest_id = chunk_id;
	if (position < list->count - position) {
		list->head = (list->head - 1) & mask;
		for (uint32_t i = 0; i < position; i++)
			list->entries[(list->head + i) & mask] =
				list->entries[(list->head + i + 1) & mask];
	} else {
		for (uint32_t i = list->count; i > position; i--)
			list->entries[(list->head + i) & mask] =
				list->entries[(list->head + i - 1) & mask];
	}
	list->entries[(list->head + position) & mask] = entry;
	list->count++;
}

void orma_trace_buffer_record_list_pop(struct orma_trace_buffer_record_list *list)
{
	ORMA_ASSERT(list->count > 0);
	list->head = (list->head + 1) & (list->capacity - 1);
	list->count--;
}
