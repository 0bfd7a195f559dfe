/* SPDX-License-Identifier: Apache-2.0
 * packet_view.h - the envelope of a packet: whose it is, when it is, and which field its content is.
 */
#ifndef ORMA_TOOL_PACKET_VIEW_H
#define ORMA_TOOL_PACKET_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct orma_packet_view {
	struct orma_str bytes;   /* the whole packet; the other strings point into it */
	uint32_t kind;           /* number of the field with the content; 0 = none */
	struct orma_str content; /* bytes of that field */
	struct orma_str interned, defaults;
	uint64_t timestamp;
	uint32_t clock; /* 0 = the default of the sequence */
	uint32_t sequence, machine, flags, dropped;
	int32_t pid; /* valid with has_pid */
	bool has_timestamp, has_pid, is_first_on_sequence;
};

/* Reads one pass over the fields of an untrusted packet. 0 or -EBADMSG. */
int orma_packet_view_read(const void *data, size_t size, struct orma_packet_view *ret);
/* False when a message inside of the packet cannot be read, however deep. */
bool orma_packet_is_intact(const void *data, size_t size);
/* True for what happened at a time: kernel events, samples, track events. False for what describes the
 * machine, its processes or the trace, which a reader needs whatever period it looks at. */
bool orma_packet_is_event(uint32_t kind);
/* One key for the sequence and its machine. */
static inline uint64_t orma_packet_sequence_key(const struct orma_packet_view *packet)
{
	return (uint64_t)packet->machine << 32 | packet->sequence;
}

#endif
