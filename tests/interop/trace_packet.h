/* SPDX-License-Identifier: Apache-2.0
 * trace_packet.h - reads the protobuf of a trace file, and what the checks need of each packet.
 *
 * This does not use src/proto: a fault of the product's reader must not hide the same fault of its
 * writer.
 */
#ifndef ORMA_TESTS_INTEROP_TRACE_PACKET_H
#define ORMA_TESTS_INTEROP_TRACE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Field numbers of TracePacket. */
enum {
	PACKET_PROCESS_TREE = 2,
	PACKET_TRUSTED_UID = 3,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_SYS_STATS = 7,
	PACKET_TIMESTAMP = 8,
	PACKET_PROCESS_STATS = 9,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACE_CONFIG = 33,
	PACKET_TRACE_STATS = 35,
	PACKET_SYNC_MARKER = 36,
	PACKET_STATE_CLEARED = 41,
	PACKET_DROPPED = 42,
	PACKET_SYSTEM_INFO = 45,
	PACKET_TIMESTAMP_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_CPU_INFO = 67,
	PACKET_SERVICE_EVENT = 69,
	PACKET_TRUSTED_PID = 79,
	PACKET_FIRST_ON_SEQUENCE = 87,
	PACKET_TRACE_UUID = 89,
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire_span {
	const uint8_t *at, *end;
};

struct wire_field {
	uint32_t id;
	enum wire_type type;
	uint64_t value;         /* all types but WIRE_BYTES */
	struct wire_span bytes; /* WIRE_BYTES only */
};

/* Takes a varint off the span, as in a packed field. Returns 0 or -EBADMSG. */
int wire_take_varint(struct wire_span *span, uint64_t *ret_value);
/* Takes the next field off the span. Returns 1, 0 at its end, or -EBADMSG. */
int wire_next(struct wire_span *span, struct wire_field *ret_field);
/* Returns the last value of a varint field, or fallback when there is none. */
uint64_t wire_get(struct wire_span message, uint32_t id, uint64_t fallback);
/* Finds the last occurrence of a bytes field; false when there is none. */
bool wire_get_bytes(struct wire_span message, uint32_t id, struct wire_span *ret_bytes);
/* Returns 0, or -EBADMSG when the top level of the span is not a well-formed message. */
int wire_check(struct wire_span message);

struct packet {
	struct wire_span body;
	uint64_t timestamp, clock, sequence_id, flags, dropped;
	int64_t uid, pid;
	int uid_count, pid_count, sequence_count; /* trusted fields must occur exactly once */
	bool has_timestamp, has_clock, has_dropped, first_on_sequence;
	struct wire_span defaults, interned, clock_snapshot; /* .at is NULL where absent */
};

enum { SEQUENCE_STATE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };

/* Returns 0 or -EBADMSG. */
int packet_decode(struct wire_span body, struct packet *ret_packet);

/* trace_inflate.c: returns the entries of a trace that a compressed packet contains. codec is
 * "deflate" or "zstd". False when the packet is not compressed with it or does not decompress. */
bool packet_inflate(struct wire_span body, const char *codec, struct wire_span *ret_content);

#endif
