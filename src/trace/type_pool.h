/* SPDX-License-Identifier: Apache-2.0
 * type_pool.h - types of messages by name: those that descriptors in the trace describe, and some that are built in.
 *
 * A trace may hold a FileDescriptorSet, protobuf's description of .proto files, for the fields that a program has added to
 * TrackEvent. Nothing of it is trusted.
 */
#ifndef ORMA_TRACE_TYPE_POOL_H
#define ORMA_TRACE_TYPE_POOL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "proto/codec.h"

#define ORMA_TYPE_FIELDS_MAX                                                                       \
	(1 << 18) /* for all types together; descriptors beyond are not taken */

struct orma_typed_field {
	struct orma_str name;
	uint64_t type; /* for messages and enums: see orma_type_of_name() */
	enum orma_proto_kind kind;
	bool is_repeated;
	bool is_extension;
};

/* {0} is empty. */
struct orma_type_pool {
	struct orma_arena arena;
	struct orma_map types;  /* known messages by type */
	struct orma_map fields; /* struct orma_typed_field by hash of type and number */
	struct orma_map values; /* struct orma_str of enums by hash of type and number */
	uint64_t problems;
};

/* Returns the number that stands for a type; names begin with a dot: ".perfetto.protos.TrackEvent". */
uint64_t orma_type_of_name(struct orma_str name);

/* The kind for the number that descriptors have for it. Returns false for groups and for numbers that are no type. */
bool orma_type_kind(uint64_t type, enum orma_proto_kind *ret);

void orma_type_pool_done(struct orma_type_pool *pool);
/* Adds all types of a FileDescriptorSet; fields that are known stay. Wrong descriptors are counted. 0 or -ENOMEM. */
int orma_type_pool_add(struct orma_type_pool *pool, struct orma_str descriptor_set);
/* Adds the types that Perfetto knows without a descriptor. 0 or -ENOMEM. */
int orma_type_pool_add_built_in(struct orma_type_pool *pool);
bool orma_type_pool_has(const struct orma_type_pool *pool, uint64_t type);
/* Both return NULL when there is none. */
const struct orma_typed_field *orma_type_pool_field(const struct orma_type_pool *pool,
						    uint64_t type, uint32_t id);
const struct orma_str *orma_type_pool_value(const struct orma_type_pool *pool, uint64_t type,
					    int32_t number);

#endif
