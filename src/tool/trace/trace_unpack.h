/* SPDX-License-Identifier: Apache-2.0
 * trace_unpack.h - packets that hold compressed packets.
 */
#ifndef ORMA_TOOL_TRACE_UNPACK_H
#define ORMA_TOOL_TRACE_UNPACK_H

#include "base/buf.h"
#include "tool/trace/trace_file.h"

/* Limit on what one packet of a file may hold, all levels together: a few bytes can unfold into
 * more than any machine can read. */
#define ORMA_TOOL_UNPACKED_MAX_BYTES ORMA_TOOL_PACKET_MAX_BYTES
/* A codec's packets hold no other packets of that codec. */
#define ORMA_TOOL_UNPACK_LEVELS 2

/* {0} is empty; its memory is reused from packet to packet. */
struct orma_tool_unpacker {
	struct orma_buf content[ORMA_TOOL_UNPACK_LEVELS];
	size_t left_bytes; /* bytes that the current packet may still unfold into */
	/* The packets before damage in compressed data are passed on, if they look like packets. */
	bool rescues;
	/* The last packet: what was passed on of its damaged content, and how many bytes of it, behind
	 * those, could be decompressed in vain. */
	uint64_t rescued_packets, rescued_bytes, lost_bytes;
};

void orma_tool_unpacker_done(struct orma_tool_unpacker *unpacker);
/*
 * Calls `fn` with a packet, or instead of a compressed packet with those that it holds, in order.
 * Returns the callback's value unless it is 0. -EBADMSG (damaged, or nested too deeply), -EMSGSIZE
 * (too large), -ENOTSUP (this build lacks the codec), -ENOMEM.
 */
int orma_tool_unpack(struct orma_tool_unpacker *unpacker, const void *data_untrusted, size_t size,
		     orma_tool_packet_fn *fn, void *ctx);
/* Does the same with the beginning of a packet that is cut. -EBADMSG in any case, unless there is another
 * error, or the callback ended the walk. */
int orma_tool_unpack_cut(struct orma_tool_unpacker *unpacker, const void *data_untrusted,
			 size_t size, orma_tool_packet_fn *fn, void *ctx);

/* True for the fields of a packet of a trace: they have the two trusted fields, or compressed packets. */
bool orma_tool_looks_like_packet(const void *data, size_t size);

#endif
