/* SPDX-License-Identifier: Apache-2.0
 * trace_decodable.h - which track events of a trace a reader can decode, by the rules of Perfetto's
 * Trace Processor.
 *
 * An event decodes when its sequence has incremental state and when all that the event refers to
 * was declared in it. The state begins with a packet that is flagged SEQ_INCREMENTAL_STATE_CLEARED.
 * A packet with previous_packet_dropped ends it, unless that packet is flagged too.
 */
#ifndef ORMA_TESTS_INTEROP_TRACE_DECODABLE_H
#define ORMA_TESTS_INTEROP_TRACE_DECODABLE_H

#include "trace_packet.h"

enum decode_result {
	DECODE_NO_EVENT, /* the packet has no track event */
	DECODE_EVENT,
	DECODE_LOST, /* a track event that no reader can decode */
};

struct decoder {
	struct decoder_sequence *sequences;
	size_t count;
	uint64_t events, lost; /* track events shown so far; those that do not decode */
};

/* Takes the next packet of the trace. Exits when memory runs out. */
enum decode_result decoder_show(struct decoder *decoder, const struct packet *packet);
void decoder_done(struct decoder *decoder);

#endif
