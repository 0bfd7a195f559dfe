/* SPDX-License-Identifier: Apache-2.0
 * filter_bytecode.c - the program of a trace filter, from the bytes of a config to tables.
 *
 * A program is a run of varints; the last one is a checksum (the low half of FNV-1a over the others
 * as little-endian 32-bit words). A word is `field id << 3 | opcode`:
 *
 *   0          end of this message; the next word begins the message with the next index
 *   id 1       the field is allowed
 *   id 2, n    so are the n fields from this one on
 *   id 3, m    the field is a message; m is the index of its own fields
 *   id 4       the field is a string, and string rules apply to it
 *   id 5, t    the same, for rules that know the semantic type t
 *
 * Message 0 is Trace. An overlay is another such run, of (message index, word, argument) in
 * ascending order; its entries add fields or change their actions, and it has no opcodes 0, 2, 3.
 * The program beside an overlay is what services without overlays understand.
 *
 * After loading, each message has a table of the ids below 128 and ascending ranges above, so a
 * lookup is an index or a binary search. Invariant: every index in a table is that of an existing
 * message; nothing is checked at lookup. Three bytes of a hostile program make a table of 128
 * entries, so the total size of the tables is limited. Rejected: running the words as they are (a
 * scan per field), one hash table (slower, and a stranger chooses its keys).
 */
#include "service/filter/filter_bytecode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "proto/wire.h"
#include "service/service_limits.h"

enum opcode {
	OP_END = 0,
	OP_SIMPLE = 1,
	OP_RANGE = 2,
	OP_NESTED = 3,
	OP_STRING = 4,
	OP_TYPED_STRING = 5,
};

#define OPCODE_MASK   7u
#define OPCODE_BITS   3
#define TYPE_MAX      0xffffu
#define OVERLAY_WORDS 3
#define OVERLAY_NAME  "trace_filter.bytecode_overlay_v54"

/* The words of a program or an overlay, checksum verified. */
struct words {
	uint32_t *items;
	size_t count;
};

struct loader {
	struct orma_filter_bytecode *bytecode;
	struct words program, overlay;
	size_t at;         /* in program */
	size_t overlay_at; /* in overlay: the next entry to merge */
	uint32_t direct[ORMA_FILTER_DIRECT_COUNT];
	uint32_t direct_overlay[ORMA_FILTER_DIRECT_COUNT]; /* takes precedence */
	size_t first_range;                                /* first range of this message */
	uint32_t max_message_idx;
	const char *name;
	struct orma_error *reterr;
};

#define REFUSE(loader, ...) refuse((loader)->reterr, (loader)->name, __VA_ARGS__)

static int refuse(struct orma_error *reterr, const char *name, const char *format, ...)
	ORMA_PRINTF(3, 4);
static int refuse(struct orma_error *reterr, const char *name, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return orma_base_error_set(reterr, -EINVAL, "%s: %s", name, text);
}

static uint64_t hash_word(uint64_t hash, uint32_t word)
{
	uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
			    (uint8_t)(word >> 24)};

	return orma_base_fnv1a(hash, bytes, sizeof(bytes));
}

/* Splits the program into words; verifies and removes the checksum. */
static int parse_words(struct orma_str bytes, const char *name, struct words *ret,
		       struct orma_error *reterr)
{
	const uint8_t *at, *end;
	uint64_t hash = ORMA_FNV1A_INIT, word = 0;
	size_t count = 0;

	if (bytes.size == 0)
		return refuse(reterr, name, "empty");
	at = (const uint8_t *)bytes.data;
	end = at + bytes.size;
	if (bytes.size > ORMA_SERVICE_FILTER_BYTES_MAX)
		return refuse(reterr, name, "longer than %u bytes", ORMA_SERVICE_FILTER_BYTES_MAX);
	ret->items = orma_base_alloc_array(bytes.size, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	while (at < end) {
		at = orma_proto_get_varint(at, end, &word);
		if (!at || word > UINT32_MAX)
			return refuse(reterr, name, "word %zu is no 32-bit varint", count);
		if (at < end)
			hash = hash_word(hash, (uint32_t)word);
		ret->items[count++] = (uint32_t)word;
	}
	ret->count = count - 1;
	if ((uint32_t)hash != (uint32_t)word)
		return refuse(reterr, name, "the checksum is %x, not %x", (uint32_t)word,
			      (uint32_t)hash);
	return 0;
}

/* Makes room for one more item of an array. */
static int reserve(void **items, size_t *capacity, size_t count, size_t item_size)
{
	size_t wanted = *capacity ? 2 * *capacity : 64;
	void *larger;

	if (count < *capacity)
		return 0;
	larger = orma_base_realloc_array(*items, wanted, item_size);
	if (!larger)
		return -ENOMEM;
	*items = larger;
	*capacity = wanted;
	return 0;
}

static int check_size(const struct loader *loader)
{
	const struct orma_filter_bytecode *bytecode = loader->bytecode;

	if (bytecode->action_count + 3 * bytecode->range_count + 4 * bytecode->message_count >
	    ORMA_SERVICE_FILTER_WORDS_MAX)
		return REFUSE(loader, "its tables are too large");
	return 0;
}

/* --- the overlay ----------------------------------------------------------------------------- */

static uint32_t entry_field(const uint32_t *entry)
{
	return entry[1] >> OPCODE_BITS;
}

static uint32_t entry_action(const uint32_t *entry)
{
	switch (entry[1] & OPCODE_MASK) {
	case OP_SIMPLE:
		return ORMA_FILTER_SIMPLE;
	case OP_STRING:
		return ORMA_FILTER_STRING;
	default:
		return ORMA_FILTER_STRING | entry[2];
	}
}

static int check_entry(const struct words *words, size_t at, struct orma_error *reterr)
{
	const uint32_t *entry = &words->items[at], *before = entry - OVERLAY_WORDS;
	const char *name = OVERLAY_NAME;
	uint32_t opcode = entry[1] & OPCODE_MASK;

	if (opcode != OP_SIMPLE && opcode != OP_STRING && opcode != OP_TYPED_STRING)
		return refuse(reterr, name, "word %zu has opcode %u", at + 1, opcode);
	if (entry[1] >> OPCODE_BITS == 0)
		return refuse(reterr, name, "word %zu names field 0", at + 1);
	if (opcode == OP_TYPED_STRING && entry[2] > TYPE_MAX)
		return refuse(reterr, name, "word %zu is no semantic type", at + 2);
	if (at > 0 &&
	    (entry[0] < before[0] ||
	     (entry[0] == before[0] && entry[1] >> OPCODE_BITS <= before[1] >> OPCODE_BITS)))
		return refuse(reterr, name, "word %zu is not in order", at);
	return 0;
}

static int load_overlay(struct loader *loader, struct orma_str bytes)
{
	int r;

	if (bytes.size == 0)
		return 0;
	r = parse_words(bytes, OVERLAY_NAME, &loader->overlay, loader->reterr);
	if (r == 0 && loader->overlay.count % OVERLAY_WORDS != 0)
		r = refuse(loader->reterr, OVERLAY_NAME, "%zu %s, not a multiple of 3",
			   loader->overlay.count,
			   orma_base_noun(loader->overlay.count, "word", "words"));
	for (size_t at = 0; at < loader->overlay.count && r == 0; at += OVERLAY_WORDS)
		r = check_entry(&loader->overlay, at, loader->reterr);
	return r;
}

/* Takes the next entry if it is for this message and a field below `field_id`; else returns
 * NULL. */
static const uint32_t *take_entry_below(struct loader *loader, uint32_t field_id)
{
	const uint32_t *entry;

	if (!loader->overlay.items || loader->overlay_at == loader->overlay.count)
		return NULL;
	entry = &loader->overlay.items[loader->overlay_at];
	if (entry[0] != loader->bytecode->message_count || entry_field(entry) >= field_id)
		return NULL;
	loader->overlay_at += OVERLAY_WORDS;
	return entry;
}

/* --- the program ----------------------------------------------------------------------------- */

static int put_range(struct loader *loader, uint32_t begin, uint32_t end, uint32_t action)
{
	struct orma_filter_bytecode *bytecode = loader->bytecode;

	if (bytecode->range_count > loader->first_range &&
	    begin < bytecode->ranges[bytecode->range_count - 1].end)
		return REFUSE(loader, "field %u of message %zu is not in order", begin,
			      bytecode->message_count);
	if (reserve((void **)&bytecode->ranges, &bytecode->range_capacity, bytecode->range_count,
		    sizeof(*bytecode->ranges)) < 0)
		return -ENOMEM;
	bytecode->ranges[bytecode->range_count++] = (struct orma_filter_range){begin, end, action};
	return check_size(loader);
}

/* Merges the overlay's entries for fields below this one, so that ranges stay in order. */
static int merge_below(struct loader *loader, uint32_t field_id)
{
	const uint32_t *entry;
	int r = 0;

	while (r == 0 && (entry = take_entry_below(loader, field_id)) != NULL) {
		uint32_t id = entry_field(entry);

		if (id < ORMA_FILTER_DIRECT_COUNT)
			loader->direct_overlay[id] = entry_action(entry);
		else
			r = put_range(loader, id, id + 1, entry_action(entry));
	}
	return r;
}

static int put_field(struct loader *loader, uint32_t id, uint32_t action)
{
	const uint32_t *entry;
	int r;

	if (id < ORMA_FILTER_DIRECT_COUNT) {
		loader->direct[id] = action;
		return 0;
	}
	r = merge_below(loader, id);
	if (r < 0)
		return r;
	entry = take_entry_below(loader, id + 1);
	return put_range(loader, id, id + 1, entry ? entry_action(entry) : action);
}

static int put_fields(struct loader *loader, uint32_t id, uint32_t count)
{
	uint32_t end = id + count;
	int r;

	if (count > ORMA_PROTO_FIELD_ID_MAX || end > ORMA_PROTO_FIELD_ID_MAX + 1)
		return REFUSE(loader, "word %zu counts more fields than there are", loader->at - 1);
	for (; id < end && id < ORMA_FILTER_DIRECT_COUNT; id++)
		loader->direct[id] = ORMA_FILTER_SIMPLE;
	if (id >= end)
		return 0;
	r = merge_below(loader, id);
	return r < 0 ? r : put_range(loader, id, end, ORMA_FILTER_SIMPLE);
}

static int put_direct(struct loader *loader, size_t count)
{
	struct orma_filter_bytecode *bytecode = loader->bytecode;

	for (size_t id = 0; id < count; id++) {
		if (reserve((void **)&bytecode->actions, &bytecode->action_capacity,
			    bytecode->action_count, sizeof(*bytecode->actions)) < 0)
			return -ENOMEM;
		bytecode->actions[bytecode->action_count++] = loader->direct[id];
	}
	return 0;
}

static int end_message(struct loader *loader)
{
	struct orma_filter_bytecode *bytecode = loader->bytecode;
	size_t direct_begin = bytecode->action_count, direct_count = 0;
	int r = merge_below(loader, ORMA_PROTO_FIELD_ID_MAX + 1);

	for (size_t id = 0; id < ORMA_FILTER_DIRECT_COUNT; id++) {
		if (loader->direct_overlay[id] != ORMA_FILTER_DENIED)
			loader->direct[id] = loader->direct_overlay[id];
		if (loader->direct[id] != ORMA_FILTER_DENIED)
			direct_count = id + 1;
	}
	if (r == 0)
		r = put_direct(loader, direct_count);
	if (r == 0)
		r = reserve((void **)&bytecode->messages, &bytecode->message_capacity,
			    bytecode->message_count, sizeof(*bytecode->messages));
	if (r < 0)
		return r;
	bytecode->messages[bytecode->message_count++] = (struct orma_filter_message){
		(uint32_t)direct_begin,
		(uint32_t)direct_count,
		(uint32_t)loader->first_range,
		(uint32_t)(bytecode->range_count - loader->first_range),
	};
	memset(loader->direct, 0, sizeof(loader->direct));
	memset(loader->direct_overlay, 0, sizeof(loader->direct_overlay));
	loader->first_range = bytecode->range_count;
	return check_size(loader);
}

static int load_field(struct loader *loader, uint32_t word)
{
	uint32_t opcode = word & OPCODE_MASK, id = word >> OPCODE_BITS, argument = 0;
	bool has_argument = opcode == OP_RANGE || opcode == OP_NESTED || opcode == OP_TYPED_STRING;

	if (opcode > OP_TYPED_STRING)
		return REFUSE(loader, "word %zu has opcode %u", loader->at - 1, opcode);
	if (id == 0)
		return REFUSE(loader, "word %zu names field 0", loader->at - 1);
	if (has_argument && loader->at == loader->program.count)
		return REFUSE(loader, "the last word lacks its argument");
	if (has_argument)
		argument = loader->program.items[loader->at++];
	switch (opcode) {
	case OP_RANGE:
		return put_fields(loader, id, argument);
	case OP_NESTED:
		loader->max_message_idx = ORMA_MAX(loader->max_message_idx, argument);
		if (argument > ORMA_FILTER_VALUE_MASK)
			break; /* the end reports that there is no such message */
		return put_field(loader, id, ORMA_FILTER_NESTED | argument);
	case OP_TYPED_STRING:
		if (argument > TYPE_MAX)
			return REFUSE(loader, "word %zu is no semantic type", loader->at - 1);
		return put_field(loader, id, ORMA_FILTER_STRING | argument);
	case OP_STRING:
		return put_field(loader, id, ORMA_FILTER_STRING);
	default:
		return put_field(loader, id, ORMA_FILTER_SIMPLE);
	}
	return 0;
}

static int load_program(struct loader *loader)
{
	uint32_t word = OP_END;
	int r = 0;

	while (loader->at < loader->program.count && r == 0) {
		word = loader->program.items[loader->at++];
		r = (word & OPCODE_MASK) == OP_END ? end_message(loader) : load_field(loader, word);
	}
	if (r < 0)
		return r;
	if ((word & OPCODE_MASK) != OP_END)
		return REFUSE(loader, "the last message does not end");
	if (loader->max_message_idx > 0 &&
	    loader->max_message_idx >= loader->bytecode->message_count)
		return REFUSE(loader, "there is no message %u", loader->max_message_idx);
	if (loader->overlay_at < loader->overlay.count)
		return refuse(loader->reterr, OVERLAY_NAME, "there is no message %u",
			      loader->overlay.items[loader->overlay_at]);
	return 0;
}

int orma_service_bytecode_load(struct orma_filter_bytecode *bytecode, const char *name,
			       struct orma_str program, struct orma_str overlay,
			       struct orma_error *reterr)
{
	struct loader loader = {.bytecode = bytecode, .name = name, .reterr = reterr};
	int r = parse_words(program, name, &loader.program, reterr);

	if (r == 0)
		r = load_overlay(&loader, overlay);
	if (r == 0)
		r = load_program(&loader);
	orma_base_free(loader.program.items);
	orma_base_free(loader.overlay.items);
	if (r < 0)
		orma_service_bytecode_done(bytecode);
	return r;
}

void orma_service_bytecode_done(struct orma_filter_bytecode *bytecode)
{
	orma_base_free(bytecode->messages);
	orma_base_free(bytecode->actions);
	orma_base_free(bytecode->ranges);
	*bytecode = (struct orma_filter_bytecode){0};
}

uint32_t orma_service_bytecode_find_range(const struct orma_filter_bytecode *bytecode,
					  const struct orma_filter_message *message,
					  uint32_t field_id)
{
	const struct orma_filter_range *ranges = &bytecode->ranges[message->range_begin];
	size_t low = 0, high = message->range_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (field_id >= ranges[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < message->range_count && field_id >= ranges[low].begin ? ranges[low].action
									   : ORMA_FILTER_DENIED;
}
