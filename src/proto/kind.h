/* SPDX-License-Identifier: Apache-2.0
 * kind.h - the representation of each kind of scalar, in memory and on the wire. Private to the
 * codec.
 */
#ifndef ORMA_PROTO_KIND_H
#define ORMA_PROTO_KIND_H

#include "proto/codec.h"
#include "proto/wire.h"

enum orma_proto_wire_type orma_proto_kind_wire_type(enum orma_proto_kind kind);
/* Stores a value that was read from the wire into the member at `at`. */
void orma_proto_kind_store(enum orma_proto_kind kind, void *at, uint64_t wire_value);
/* Loads the member at `at` as the value to write to the wire. */
uint64_t orma_proto_kind_load(enum orma_proto_kind kind, const void *at);

static inline bool orma_proto_kind_is_scalar(unsigned kind)
{
	return kind < ORMA_PROTO_KIND_STRING;
}

static inline void *orma_proto_member(struct orma_proto_message *message,
				      const struct orma_proto_field_desc *field)
{
	return (uint8_t *)message + field->offset;
}

static inline const void *orma_proto_const_member(const struct orma_proto_message *message,
						  const struct orma_proto_field_desc *field)
{
	return (const uint8_t *)message + field->offset;
}

/* Appends to the unknown fields; `bytes` must outlive the message. 0 or -ENOMEM. */
int orma_proto_unknown_add(struct orma_proto_message *message, struct orma_str bytes,
			   struct orma_arena *arena);

#endif
