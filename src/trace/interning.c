/* SPDX-License-Identifier: Apache-2.0
 * interning.c - a table for each field: an array for small ids, which are all that tracers give, and a map for others.
 */
#include "trace/interning.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"

enum {
	IID_FIELD = 1,
	TEXT_FIELD = 2,
	SMALL_IIDS = 1 << 16, /* ids below are in an array */
};

void orma_interning_clear(struct orma_interning *interning)
{
	for (size_t i = 0; i < ORMA_INTERNED_FIELDS; i++)
		if (interning->tables[i]) {
			orma_base_free(interning->tables[i]->by_iid);
			orma_base_free(interning->tables[i]->string_ids);
			orma_base_map_done(&interning->tables[i]->others);
		}
	orma_base_arena_done(&interning->arena);
	*interning = (struct orma_interning){.seed = interning->seed};
}

struct orma_interned *orma_interning_find(const struct orma_interning *interning, uint32_t field,
					  uint64_t iid)
{
	const struct orma_interned_table *table =
		field < ORMA_INTERNED_FIELDS ? interning->tables[field] : NULL;
	if (!table)
		return NULL;
	if (iid < table->capacity)
		return table->by_iid[iid];
	return orma_base_map_get(&table->others, iid);
}

void orma_interning_note_string(struct orma_interning *interning, uint32_t field, uint64_t iid,
				uint32_t string_id)
{
	struct orma_interned_table *table = interning->tables[field];
	if (table && iid < table->capacity)
		table->string_ids[iid] = string_id;
}

static int reserve(struct orma_interned_table *table, uint64_t iid)
{
	uint32_t capacity = ORMA_MAX(table->capacity, 16u);
	while (capacity <= iid)
		capacity *= 2;
	struct orma_interned **by_iid =
		orma_base_realloc_array(table->by_iid, capacity, sizeof(struct orma_interned *));
	if (!by_iid)
		return -ENOMEM;
	table->by_iid = by_iid;
	uint32_t *string_ids =
		orma_base_realloc_array(table->string_ids, capacity, sizeof(*string_ids));
	if (!string_ids)
		return -ENOMEM;
	table->string_ids = string_ids;
	memset(by_iid + table->capacity, 0,
	       (capacity - table->capacity) * sizeof(struct orma_interned *));
	memset(string_ids + table->capacity, 0, (capacity - table->capacity) * sizeof(*string_ids));
	table->capacity = capacity;
	return 0;
}

static int put(struct orma_interned_table *table, uint64_t iid, struct orma_interned *entry)
{
	if (iid >= SMALL_IIDS)
		return orma_base_map_put(&table->others, iid, entry);
	int r = iid >= table->capacity ? reserve(table, iid) : 0;
	if (r == 0)
		table->by_iid[iid] = entry;
	return r;
}

static uint64_t read_entry(struct orma_str bytes, struct orma_str *ret_text)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint64_t iid = 0;
	*ret_text = (struct orma_str){NULL, 0};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == IID_FIELD && field.type == ORMA_PROTO_VARINT)
			iid = field.value;
		else if (field.id == TEXT_FIELD && field.type == ORMA_PROTO_BYTES)
			*ret_text = field.bytes;
	}
	return iid;
}

static int add_entry(struct orma_interning *interning, uint32_t field, struct orma_str bytes)
{
	struct orma_str text;
	uint64_t iid = read_entry(bytes, &text);
	if (orma_interning_find(interning, field, iid))
		return 0;
	struct orma_interned_table *table = interning->tables[field];
	if (!table) {
		table = orma_base_arena_alloc(&interning->arena, sizeof(*table));
		if (!table)
			return -ENOMEM;
		table->others.seed = interning->seed;
		interning->tables[field] = table;
	}
	struct orma_interned *entry = orma_base_arena_alloc(&interning->arena, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->bytes = bytes;
	entry->text = text;
	return put(table, iid, entry);
}

int orma_interning_take(struct orma_interning *interning, struct orma_str interned_data)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	if (interned_data.size == 0)
		return 0;
	const void *copy =
		orma_base_arena_memdup(&interning->arena, interned_data.data, interned_data.size);
	if (!copy)
		return -ENOMEM;
	orma_proto_reader_init(&reader, copy, interned_data.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.type == ORMA_PROTO_BYTES && field.id < ORMA_INTERNED_FIELDS)
			r = add_entry(interning, field.id, field.bytes);
	return r;
}
