/* SPDX-License-Identifier: Apache-2.0
 * packet_fields.h - the outer fields of a TracePacket: whose it is, when it is, and what it holds.
 */
#ifndef ORMA_TRACE_PACKET_FIELDS_H
#define ORMA_TRACE_PACKET_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum {
	ORMA_PACKET_HAS_TIMESTAMP = 1 << 0,
	ORMA_PACKET_HAS_SEQUENCE = 1 << 1,
	ORMA_PACKET_IS_CLEARED = 1 << 2, /* the incremental state begins anew with this packet */
	ORMA_PACKET_NEEDS_STATE = 1 << 3,
	ORMA_PACKET_IS_FIRST = 1 << 4, /* its sequence begins with it */
	ORMA_PACKET_HAS_INTERNED = 1 << 5,
	ORMA_PACKET_HAS_DEFAULTS = 1 << 6,
	ORMA_PACKET_HAS_PID = 1 << 7,
};

/* Nothing of it is trusted. */
struct orma_packet {
	uint64_t address; /* where its first byte is; see trace_bytes.h */
	struct orma_str bytes;
	struct orma_str content; /* the field `kind`, if that is a message */
	struct orma_str interned, defaults;
	struct orma_str record; /* a track event in place of `content`; see event_record.h */
	uint64_t timestamp;
	uint32_t kind;  /* number of the field that says what the packet is; 0 = none */
	uint32_t clock; /* 0 = the default of its sequence */
	uint32_t sequence, machine;
	uint32_t header;  /* bytes between its entry in the trace and its first byte */
	uint32_t order;   /* among track events of one time; see conversion.h */
	uint32_t dropped; /* causes of a loss before this packet; 0 = no loss */
	int32_t pid;
	unsigned flags; /* ORMA_PACKET_... */
	bool is_record; /* it is a record and nothing else */
};

/* Returns the ThreadDescriptor that a packet gives its sequence, itself or in the descriptor of a track; data is NULL when there
 * is none. */
struct orma_str orma_trace_packet_thread(const struct orma_packet *packet);

/* Reads the packet but for its address. 0 or -EBADMSG. */
int orma_trace_packet_read(const void *data, size_t size, struct orma_packet *ret);
/* The same where `packet` is the packet that was read before, or {0}, which takes less time for one record after the other. */
int orma_trace_packet_read_next(const void *data, size_t size, struct orma_packet *packet);

#endif
