/* SPDX-License-Identifier: Apache-2.0
 * filter_bytecode.h - which fields of which messages a trace filter lets through.
 */
#ifndef ORMA_SERVICE_FILTER_BYTECODE_H
#define ORMA_SERVICE_FILTER_BYTECODE_H

#include <orma/error.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The action for a field: a kind, and above it an index or a type. */
#define ORMA_FILTER_KIND_MASK    (UINT32_C(7) << 29)
#define ORMA_FILTER_VALUE_MASK   (~ORMA_FILTER_KIND_MASK)
#define ORMA_FILTER_DENIED       UINT32_C(0)
#define ORMA_FILTER_SIMPLE       (UINT32_C(1) << 29) /* goes through as it is */
#define ORMA_FILTER_NESTED       (UINT32_C(2) << 29) /* | index of its message */
#define ORMA_FILTER_STRING       (UINT32_C(3) << 29) /* | semantic type, 0 = unspecified */
#define ORMA_FILTER_DIRECT_COUNT 128u                /* field ids that are looked up by index */

struct orma_filter_range {
	uint32_t begin, end; /* field ids, end exclusive */
	uint32_t action;
};

struct orma_filter_message {
	uint32_t direct_begin, direct_count; /* in actions, by field id */
	uint32_t range_begin, range_count;   /* in ranges, ascending, disjoint */
};

/* {0} has no messages and denies everything. */
struct orma_filter_bytecode {
	struct orma_filter_message *messages;
	uint32_t *actions;
	struct orma_filter_range *ranges;
	size_t message_count, message_capacity;
	size_t action_count, action_capacity;
	size_t range_count, range_capacity;
};

/* `overlay` may be empty. -EINVAL (`reterr` says which of the two is wrong and why), -ENOMEM; on
 * failure *bytecode is empty. */
int orma_service_bytecode_load(struct orma_filter_bytecode *bytecode, const char *name,
			       struct orma_str program, struct orma_str overlay,
			       struct orma_error *reterr);
void orma_service_bytecode_done(struct orma_filter_bytecode *bytecode);
uint32_t orma_service_bytecode_find_range(const struct orma_filter_bytecode *bytecode,
					  const struct orma_filter_message *message,
					  uint32_t field_id);

/* The action for a field; message_idx < message_count. */
static inline uint32_t orma_service_bytecode_query(const struct orma_filter_bytecode *bytecode,
						   uint32_t message_idx, uint32_t field_id)
{
	const struct orma_filter_message *message = &bytecode->messages[message_idx];

	if (field_id < message->direct_count)
		return bytecode->actions[message->direct_begin + field_id];
	if (field_id < ORMA_FILTER_DIRECT_COUNT || message->range_count == 0)
		return ORMA_FILTER_DENIED;
	return orma_service_bytecode_find_range(bytecode, message, field_id);
}

#endif
