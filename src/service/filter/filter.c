/* SPDX-License-Identifier: Apache-2.0
 * filter.c - one pass over a packet that copies the fields which the filter allows.
 *
 * The input is a packet in pieces, the output one run of bytes that is never longer. Allowed fields
 * are written again with the shortest tags and lengths, with one exception: the length of a nested
 * message is known only when the message ends. It takes as many bytes as the input's length needs
 * and is filled in then, redundantly if it has become shorter. These are the bytes that upstream
 * writes. The levels of nesting are a stack of fixed size, each with the number of bytes that will
 * be left of the packet when it ends:
 *
 *   |<- left ------------------------------------------------>|
 *   [ nested message                    ][ fields behind it   ]
 *                                        |<- its rest ------->|
 *
 * Invariant: left >= the top's rest >= the rest of the level below; a message is malformed when a
 * field would break that. A message that is not allowed is skipped like a string and never parsed.
 * Rejected: byte by byte with a state machine (upstream; several times slower), recursion (the
 * packet would decide how deep), building a tree.
 */
#include "service/filter/filter.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "proto/wire.h"
#include "schema/gen/trace.pb.h"
#include "service/filter/filter_bytecode.h"
#include "service/filter/filter_string.h"
#include "service/service_core.h"

struct level {
	size_t rest;      /* see the picture above */
	size_t length_at; /* offset of its length in the output */
	uint32_t length_bytes, message_idx;
};

struct orma_service_filter {
	const struct orma_service *service;
	struct orma_filter_bytecode bytecode;
	struct orma_filter_rules rules;
	uint32_t root_idx;
	struct level *levels; /* ORMA_SERVICE_FILTER_DEPTH_MAX */
};

/* One packet while it is filtered. */
struct run {
	struct orma_service_filter *filter;
	const uint8_t *at, *end;                    /* rest of the current slice */
	const struct orma_trace_slice *next, *last; /* slices that follow */
	size_t later;                               /* bytes in these slices */
	uint8_t *out;
	size_t written;
	size_t depth;                     /* number of levels, at least 1 */
	struct orma_filter_budget budget; /* the packet's time for strings */
};

/* --- reading --------------------------------------------------------------------------------- */

static size_t left(const struct run *run)
{
	return (size_t)(run->end - run->at) + run->later;
}

static bool next_slice(struct run *run)
{
	while (run->at == run->end) {
		if (run->next == run->last)
			return false;
		run->at = run->next->data;
		run->end = run->at + run->next->size;
		run->later -= run->next->size;
		run->next++;
	}
	return true;
}

static int get_varint_across(struct run *run, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		if (run->at == run->end && !next_slice(run))
			return -EBADMSG;
		byte = *run->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int get_varint(struct run *run, uint64_t *ret)
{
	const uint8_t *end = orma_proto_get_varint(run->at, run->end, ret);

	if (!end)
		return get_varint_across(run, ret);
	run->at = end;
	return 0;
}

/* Moves past `size` bytes, which exist, and copies them to `to` unless it is NULL. */
static void take(struct run *run, uint8_t *to, size_t size)
{
	while (size > 0 && next_slice(run)) {
		size_t part = ORMA_MIN(size, (size_t)(run->end - run->at));

		if (to) {
			memcpy(to, run->at, part);
			to += part;
		}
		run->at += part;
		size -= part;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_varint(struct run *run, uint64_t value)
{
	run->written = (size_t)(orma_proto_put_varint(run->out + run->written, value) - run->out);
}

static void put_tag(struct run *run, uint32_t field_id, enum orma_proto_wire_type type)
{
	put_varint(run, orma_proto_tag(field_id, type));
}

static void copy(struct run *run, size_t size)
{
	take(run, run->out + run->written, size);
	run->written += size;
}

static void end_level(struct run *run)
{
	const struct level *level = &run->filter->levels[--run->depth];
	uint8_t *at = run->out + level->length_at;
	size_t length = run->written - level->length_at - level->length_bytes;

	for (uint32_t i = 1; i < level->length_bytes; i++, length >>= 7)
		*at++ = (uint8_t)(length | 0x80);
	*at = (uint8_t)length;
}

/* --- fields ---------------------------------------------------------------------------------- */

static int begin_level(struct run *run, size_t size, uint32_t message_idx)
{
	if (run->depth == ORMA_SERVICE_FILTER_DEPTH_MAX)
		return -EBADMSG;
	run->filter->levels[run->depth++] = (struct level){
		.rest = left(run) - size,
		.length_at = run->written,
		.length_bytes = (uint32_t)orma_proto_varint_size(size),
		.message_idx = message_idx,
	};
	run->written += orma_proto_varint_size(size);
	return 0;
}

static int filter_string(struct run *run, size_t size, uint32_t semantic_type)
{
	char *text = (char *)run->out + run->written;

	copy(run, size);
	return orma_service_rules_apply(&run->filter->rules, text, size, semantic_type,
					&run->budget);
}

static int filter_bytes(struct run *run, uint32_t field_id, uint32_t action, size_t rest)
{
	uint64_t length;
	size_t size;
	int r = get_varint(run, &length);

	if (r < 0)
		return r;
	if (left(run) < rest || length > left(run) - rest || length > ORMA_PROTO_LENGTH_MAX)
		return -EBADMSG;
	size = (size_t)length;
	if (action == ORMA_FILTER_DENIED) {
		take(run, NULL, size);
		return 0;
	}
	put_tag(run, field_id, ORMA_PROTO_BYTES);
	if ((action & ORMA_FILTER_KIND_MASK) == ORMA_FILTER_NESTED && size > 0)
		return begin_level(run, size, action & ORMA_FILTER_VALUE_MASK);
	put_varint(run, size);
	if ((action & ORMA_FILTER_KIND_MASK) == ORMA_FILTER_STRING)
		return filter_string(run, size, action & ORMA_FILTER_VALUE_MASK);
	copy(run, size);
	return 0;
}

static int filter_fixed(struct run *run, uint32_t field_id, uint32_t action, size_t rest,
			size_t size)
{
	if (left(run) < rest || size > left(run) - rest)
		return -EBADMSG;
	if (action != ORMA_FILTER_SIMPLE) {
		take(run, NULL, size);
		return 0;
	}
	put_tag(run, field_id, size == 4 ? ORMA_PROTO_FIXED32 : ORMA_PROTO_FIXED64);
	copy(run, size);
	return 0;
}

static int filter_varint(struct run *run, uint32_t field_id, uint32_t action)
{
	uint64_t value;
	int r = get_varint(run, &value);

	if (r == 0 && action == ORMA_FILTER_SIMPLE) {
		put_tag(run, field_id, ORMA_PROTO_VARINT);
		put_varint(run, value);
	}
	return r;
}

static int filter_field(struct run *run, const struct level *level)
{
	uint32_t field_id, action;
	uint64_t tag;
	int r = get_varint(run, &tag);

	if (r < 0)
		return r;
	if (tag > UINT32_MAX || tag >> 3 == 0)
		return -EBADMSG;
	field_id = (uint32_t)tag >> 3;
	action = orma_service_bytecode_query(&run->filter->bytecode, level->message_idx, field_id);
	switch (tag & 7) {
	case ORMA_PROTO_VARINT:
		return filter_varint(run, field_id, action);
	case ORMA_PROTO_FIXED64:
		return filter_fixed(run, field_id, action, level->rest, 8);
	case ORMA_PROTO_BYTES:
		return filter_bytes(run, field_id, action, level->rest);
	case ORMA_PROTO_FIXED32:
		return filter_fixed(run, field_id, action, level->rest, 4);
	default:
		return -EBADMSG;
	}
}

int orma_service_filter_packet(struct orma_service_filter *filter,
			       const struct orma_trace_slice *slices, size_t count, uint8_t *out,
			       size_t *ret_size)
{
	struct run run = {
		.filter = filter, .next = slices, .last = slices + count, .out = out, .depth = 1};
	int r = 0;

	for (size_t i = 0; i < count; i++)
		run.later += slices[i].size;
	run.budget.limit_ns =
		ORMA_SERVICE_FILTER_PACKET_NS + run.later * (uint64_t)ORMA_SERVICE_FILTER_BYTE_NS;
	filter->levels[0] = (struct level){.message_idx = filter->root_idx};
	while (r == 0) {
		const struct level *level = &filter->levels[run.depth - 1];

		if (left(&run) < level->rest)
			return -EBADMSG;
		if (left(&run) > level->rest)
			r = filter_field(&run, level);
		else if (run.depth > 1)
			end_level(&run);
		else
			break;
	}
	if (r == 0)
		*ret_size = run.written;
	return r;
}

/* --- the filter ------------------------------------------------------------------------------ */

/* Programs describe whole traces, but single packets are filtered. */
static int find_root(struct orma_service_filter *filter, const char *name,
		     struct orma_error *reterr)
{
	uint32_t action = ORMA_FILTER_DENIED;

	if (filter->bytecode.message_count > 0)
		action = orma_service_bytecode_query(&filter->bytecode, 0, ORMA_PB_TRACE_PACKET);
	if ((action & ORMA_FILTER_KIND_MASK) != ORMA_FILTER_NESTED)
		return orma_base_error_set(
			reterr, -EINVAL,
			"%s: field 1 of message 0, Trace.packet, is no message in "
			"it",
			name);
	filter->root_idx = action & ORMA_FILTER_VALUE_MASK;
	return 0;
}

static int load(struct orma_service_filter *filter,
		const struct orma_pb_trace_config_trace_filter *config, struct orma_error *reterr)
{
	bool is_v2 = config->bytecode_v2.size > 0;
	const char *name = is_v2 ? "trace_filter.bytecode_v2" : "trace_filter.bytecode";
	int r;

	filter->levels =
		orma_base_alloc_array(ORMA_SERVICE_FILTER_DEPTH_MAX, sizeof(*filter->levels));
	if (!filter->levels)
		return -ENOMEM;
	r = orma_service_bytecode_load(&filter->bytecode, name,
				       is_v2 ? config->bytecode_v2 : config->bytecode,
				       config->bytecode_overlay_v54, reterr);
	if (r == 0)
		r = find_root(filter, name, reterr);
	if (r == 0)
		r = orma_service_rules_load(&filter->rules, filter->service, config, reterr);
	return r;
}

int orma_service_filter_new(const struct orma_service *service,
			    const struct orma_pb_trace_config_trace_filter *config,
			    struct orma_service_filter **ret, struct orma_error *reterr)
{
	struct orma_service_filter *filter = orma_base_zalloc(sizeof(*filter));
	int r;

	if (!filter)
		return -ENOMEM;
	filter->service = service;
	r = load(filter, config, reterr);
	if (r < 0) {
		orma_service_filter_free(filter);
		return r;
	}
	*ret = filter;
	return 0;
}

bool orma_service_filter_has_rules(const struct orma_service_filter *filter)
{
	return filter->rules.count > 0;
}

void orma_service_filter_free(struct orma_service_filter *filter)
{
	if (!filter)
		return;
	orma_service_rules_done(&filter->rules);
	orma_service_bytecode_done(&filter->bytecode);
	orma_base_free(filter->levels);
	orma_base_free(filter);
}
