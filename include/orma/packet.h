/* SPDX-License-Identifier: Apache-2.0
 * orma/packet.h - writing the fields of one trace packet straight into shared memory.
 *
 * A packet is a protobuf message (TracePacket); its fields are written in any order by field
 * number. Writing never fails and never blocks beyond the data source's policy: what does not fit
 * is dropped as a whole packet and counted. With NULL for the packet, as orma_packet_begin() returns
 * it while nobody records, and with NULL for bytes of some size, nothing is written.
 *
 * Threads: a packet belongs to the thread that began it, until it ended it. One packet per thread
 *          and data source instance at a time.
 */
#ifndef ORMA_PACKET_H
#define ORMA_PACKET_H

#include <orma/api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orma_packet;

/* Numbers of the fields of TracePacket that packets of one's own may need beside their own. */
enum {
	/* uint64: nanoseconds of CLOCK_BOOTTIME, or of the clock in TIMESTAMP_CLOCK_ID */
	ORMA_PACKET_TIMESTAMP = 8,
	ORMA_PACKET_TIMESTAMP_CLOCK_ID = 58, /* uint32: enum BuiltinClock, or of one's own */
	ORMA_PACKET_TRACK_EVENT = 11,
	ORMA_PACKET_INTERNED_DATA = 12,
	ORMA_PACKET_SEQUENCE_FLAGS = 13, /* uint32: ORMA_SEQUENCE_... bits */
	ORMA_PACKET_TRACE_PACKET_DEFAULTS = 59,
	ORMA_PACKET_TRACK_DESCRIPTOR = 60,
};
enum {
	ORMA_SEQUENCE_STATE_CLEARED = 1, /* this packet says everything anew */
	ORMA_SEQUENCE_NEEDS_STATE = 2,   /* it refers to what earlier ones said */
};

/* A nested message from begin to end; lives on the caller's stack. Contents are the library's. */
struct orma_nested {
	void *opaque[4];
};

/* One field of that number each, by its type in the .proto file: uint32, uint64 */
ORMA_API void orma_packet_varint(struct orma_packet *packet, uint32_t field_id, uint64_t value);
/* int32, int64, enum */
ORMA_API void orma_packet_int(struct orma_packet *packet, uint32_t field_id, int64_t value);
/* sint32, sint64 */
ORMA_API void orma_packet_sint(struct orma_packet *packet, uint32_t field_id, int64_t value);
ORMA_API void orma_packet_bool(struct orma_packet *packet, uint32_t field_id, bool value);
ORMA_API void orma_packet_fixed32(struct orma_packet *packet, uint32_t field_id, uint32_t value);
ORMA_API void orma_packet_fixed64(struct orma_packet *packet, uint32_t field_id, uint64_t value);
ORMA_API void orma_packet_float(struct orma_packet *packet, uint32_t field_id, float value);
ORMA_API void orma_packet_double(struct orma_packet *packet, uint32_t field_id, double value);
/* NULL = "" */
ORMA_API void orma_packet_string(struct orma_packet *packet, uint32_t field_id, const char *text);
/* bytes, messages */
ORMA_API void orma_packet_bytes(struct orma_packet *packet, uint32_t field_id, const void *data,
				size_t size);
/* Already encoded fields, tags included. */
ORMA_API void orma_packet_raw(struct orma_packet *packet, const void *data, size_t size);
/*
 * Nested messages end in the reverse order of their beginnings; ending an outer one ends those
 * inside it.
 */
ORMA_API void orma_packet_nested_begin(struct orma_packet *packet, struct orma_nested *nested,
				       uint32_t field_id);
ORMA_API void orma_packet_nested_end(struct orma_packet *packet, struct orma_nested *nested);

#ifdef __cplusplus
}
#endif
#endif
