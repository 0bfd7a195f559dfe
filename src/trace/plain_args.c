/* SPDX-License-Identifier: Apache-2.0
 * plain_args.c - one pass over an event, which finds its annotations or gives up.
 *
 * debug_args.c reads annotations of all kinds: it goes through the event once to see which kinds there are, builds the key of each
 * annotation from its names, and looks the key up in the pool. That is three quarters of what SQL's extract_arg() costs, and
 * nearly all annotations are a name and a number. Here the id of a name's key is kept with the name, so that it is made once in
 * a generation. Invariant: an event that this file takes gets the same arguments as from event_args.c; whatever might differ, also
 * bytes that make no sense, is left to it, and nothing is added before the whole event has been read.
 */
#include "trace/plain_args.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "proto/wire.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/track_event.pb.h"

enum { KEY_MAX_BYTES = 256, EVENT_FIELDS = 64 };

#define FIELD_BIT(id) (UINT64_C(1) << (id))
#define NUMBER(id)    ((uint32_t)(id) << 3 | ORMA_PROTO_VARINT)
#define BYTES(id)     ((uint32_t)(id) << 3 | ORMA_PROTO_BYTES)
#define FIXED64(id)   ((uint32_t)(id) << 3 | ORMA_PROTO_FIXED64)

/* Fields that are arguments, or change how annotations are called. */
static const uint64_t other_args = FIELD_BIT(ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID) |
				   FIELD_BIT(ORMA_PB_TRACK_EVENT_TASK_EXECUTION) |
				   FIELD_BIT(ORMA_PB_TRACK_EVENT_CORRELATION_ID) |
				   FIELD_BIT(ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR) |
				   FIELD_BIT(ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR_IID) |
				   FIELD_BIT(ORMA_PB_TRACK_EVENT_LEGACY_EVENT);

/* Reads a length and the bytes behind it. Returns the address behind them, or NULL. */
static const uint8_t *get_bytes(const uint8_t *at, const uint8_t *end, struct orma_str *ret)
{
	uint64_t size;
	at = orma_proto_get_varint(at, end, &size);
	if (!at || size > (uint64_t)(end - at))
		return NULL;
	*ret = (struct orma_str){(const char *)at, (size_t)size};
	return at + size;
}

bool orma_plain_arg_read(struct orma_str annotation, struct orma_plain_arg *ret)
{
	const uint8_t *at = (const uint8_t *)annotation.data, *end = at + annotation.size;
	bool has_name = false;
	*ret = (struct orma_plain_arg){.type = ORMA_ARG_NULL};
	while (at && at < end) {
		uint8_t tag = *at++;
		if (tag == NUMBER(ORMA_PB_DEBUG_ANNOTATION_NAME_IID)) {
			at = orma_proto_get_varint(at, end, &ret->iid);
			has_name = true;
			continue;
		}
		if (ret->type != ORMA_ARG_NULL)
			return false;
		switch (tag) {
		case NUMBER(ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE):
			ret->type = ORMA_ARG_BOOL;
			break;
		case NUMBER(ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE):
			ret->type = ORMA_ARG_UINT;
			break;
		case NUMBER(ORMA_PB_DEBUG_ANNOTATION_INT_VALUE):
			ret->type = ORMA_ARG_INT;
			break;
		case NUMBER(ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE):
			ret->type = ORMA_ARG_POINTER;
			break;
		case FIXED64(ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE):
			if (end - at < 8)
				return false;
			ret->type = ORMA_ARG_REAL;
			memcpy(&ret->number, at, 8);
			at += 8;
			continue;
		case BYTES(ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE):
			ret->type = ORMA_ARG_STRING;
			at = get_bytes(at, end, &ret->text);
			continue;
		default:
			return false;
		}
		at = orma_proto_get_varint(at, end, &ret->number);
	}
	ret->number = ret->type == ORMA_ARG_BOOL ? ret->number != 0 : ret->number;
	return at && has_name && ret->type != ORMA_ARG_NULL;
}

/* Numbers of up to eight bytes are not decoded: their last byte is the first one without the highest bit. */
static const uint8_t *skip_number(const uint8_t *at, const uint8_t *end)
{
	uint64_t word, last;
	if (end - at < 8)
		return orma_proto_get_varint(at, end, &word);
	memcpy(&word, at, 8);
	last = ~word & UINT64_C(0x8080808080808080);
	return last ? at + (unsigned)__builtin_ctzll(last) / 8 + 1
		    : orma_proto_get_varint(at, end, &word);
}

/* Goes over a field that is no argument. Returns the address behind it, or NULL. */
static const uint8_t *skip_value(const uint8_t *at, const uint8_t *end, unsigned type)
{
	struct orma_str bytes;
	switch (type) {
	case ORMA_PROTO_VARINT:
		return skip_number(at, end);
	case ORMA_PROTO_BYTES:
		return get_bytes(at, end, &bytes);
	case ORMA_PROTO_FIXED64:
		return end - at >= 8 ? at + 8 : NULL;
	default:
		return NULL;
	}
}

int orma_plain_args_read(struct orma_str event, uint64_t typed_ids,
			 struct orma_plain_arg args[ORMA_PLAIN_ARGS_MAX])
{
	const uint64_t refused = typed_ids | other_args;
	const uint8_t *at = (const uint8_t *)event.data, *end;
	struct orma_str annotation;
	int count = 0;
	/* An empty message may have no address, which nothing may be added to. */
	if (event.size == 0)
		return 0;
	end = at + event.size;
	while (at < end) {
		uint64_t tag;
		at = orma_proto_get_varint(at, end, &tag);
		if (!at || tag >> 3 == 0 || tag >> 3 >= EVENT_FIELDS || refused >> (tag >> 3) & 1)
			return -1;
		if (tag == BYTES(ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS)) {
			at = get_bytes(at, end, &annotation);
			if (!at || count == ORMA_PLAIN_ARGS_MAX ||
			    !orma_plain_arg_read(annotation, &args[count++]))
				return -1;
			continue;
		}
		at = skip_value(at, end, (unsigned)tag & 7);
		if (!at)
			return -1;
	}
	return count;
}

/* Makes the key of a name, and notes it. 1, 0 (the name is not there, or longer than most) or -ENOMEM. */
static int make_key(struct orma_tables *tables, struct orma_interning *interning, uint64_t iid,
		    uint32_t *ret)
{
	static const char prefix[] = "debug.";
	char key[KEY_MAX_BYTES];
	size_t size = sizeof(prefix) - 1;
	const struct orma_interned *entry =
		orma_interning_find(interning, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES, iid);
	if (!entry || !entry->text.data || entry->text.size > sizeof(key) - size)
		return 0;
	memcpy(key, prefix, size);
	memcpy(key + size, entry->text.data, entry->text.size);
	orma_arg_clean_name(key + size, entry->text.size);
	size += entry->text.size;
	int r = orma_tables_add_string(tables, (struct orma_str){key, size}, ret);
	if (r < 0)
		return r;
	orma_interning_note_string(interning, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES, iid,
				   *ret);
	return 1;
}

int orma_plain_arg_key(struct orma_tables *tables, struct orma_interning *interning, uint64_t iid,
		       uint32_t *ret)
{
	*ret = orma_interning_string(interning, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES, iid);
	return *ret > 0 ? 1 : make_key(tables, interning, iid, ret);
}

int orma_plain_args_add(struct orma_arg_list *list, struct orma_interning *interning,
			uint64_t typed_ids, struct orma_str event)
{
	struct orma_plain_arg args[ORMA_PLAIN_ARGS_MAX];
	uint32_t keys[ORMA_PLAIN_ARGS_MAX];
	/* The keys of a live import are in a pool that is emptied now and then. */
	int count = list->tables->passing ? -1 : orma_plain_args_read(event, typed_ids, args);
	for (int i = 0; i < count; i++) {
		int r = orma_plain_arg_key(list->tables, interning, args[i].iid, &keys[i]);
		if (r <= 0)
			return r;
	}
	for (int i = 0; i < count; i++) {
		int64_t value = args[i].type == ORMA_ARG_STRING
					? orma_tables_string(list->tables, args[i].text)
					: (int64_t)args[i].number;
		orma_arg_list_add_key(list, keys[i], keys[i], args[i].type, value);
	}
	return count >= 0;
}
