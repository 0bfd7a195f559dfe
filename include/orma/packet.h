/* SPDX-License-Identifier: Apache-2.0
 * orma/packet.h - writing the fields of one trace packet straight into shared memory.
 *
 * A packet is a protobuf message (TracePacket). Its fields are written by number, in any order.
 * Writing never fails, and never blocks beyond the data source's policy: a packet that does not fit
 * is dropped as a whole and counted. With NULL for the packet, which orma_packet_begin() returns
 * while nobody records, or with NULL for bytes of a size above 0, nothing is written.
 *
 * Threads: a packet belongs to the thread that began it until that thread ends it. A thread can
 *          have one open packet per data source instance.
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

/* Numbers of those fields of TracePacket that custom packets may need beside their own. */
enum {
	/* uint64: nanoseconds of CLOCK_BOOTTIME, or of the clock in TIMESTAMP_CLOCK_ID */
	ORMA_PACKET_TIMESTAMP = 8,
	ORMA_PACKET_TIMESTAMP_CLOCK_ID = 58, /* uint32: enum BuiltinClock, or a custom clock */
	ORMA_PACKET_TRACK_EVENT = 11,
	ORMA_PACKET_INTERNED_DATA = 12,
	ORMA_PACKET_SEQUENCE_FLAGS = 13, /* uint32: ORMA_SEQUENCE_... bits */
	ORMA_PACKET_TRACE_PACKET_DEFAULTS = 59,
	ORMA_PACKET_TRACK_DESCRIPTOR = 60,
};
enum {
	ORMA_SEQUENCE_STATE_CLEARED = 1, /* this packet begins a new incremental state */
	ORMA_SEQUENCE_NEEDS_STATE = 2,   /* this packet refers to the incremental state */
};

/* A nested message from begin to end; lives on the caller's stack. Only the library uses the
 * contents. */
struct orma_nested {
	void *opaque[4];
};

/* Each function writes one field. Choose it by the field's type in the .proto file: uint32, uint64
 */
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
/* Fields that are already encoded, with their tags. */
ORMA_API void orma_packet_raw(struct orma_packet *packet, const void *data, size_t size);
/*
 * End nested messages in the reverse order of their begins. Ending an outer message also ends those
 * inside it.
 */
ORMA_API void orma_packet_nested_begin(struct orma_packet *packet, struct orma_nested *nested,
				       uint32_t field_id);
ORMA_API void orma_packet_nested_end(struct orma_packet *packet, struct orma_nested *nested);

#ifdef __cplusplus
}
#endif
#endif
