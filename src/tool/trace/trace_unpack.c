/* SPDX-License-Identifier: Apache-2.0
 * trace_unpack.c - unpacks compressed packets in place: readers see the inner packets as if the
 * trace contained them directly.
 *
 * A compressed packet holds entries of a trace, which may include compressed packets of the other
 * codec. Each level has a buffer and a reader. A packet of a codec that is being unpacked already
 * is damage, so there are never more levels than codecs. Rejected: recursion (the input would
 * choose its depth), and passing compressed packets on (every reader would have to unpack them).
 */
#include "tool/trace/trace_unpack.h"

#include <errno.h>

#include "proto/reader.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/compression.h"

/* Larger buffers are freed instead of being kept for the next packet. */
#define KEPT_BYTES_MAX ((size_t)4 << 20)

struct level {
	enum orma_codec codec;
	struct orma_proto_reader reader;
};

void orma_tool_unpacker_done(struct orma_tool_unpacker *unpacker)
{
	for (size_t i = 0; i < ORMA_TOOL_UNPACK_LEVELS; i++)
		orma_base_buf_done(&unpacker->content[i]);
}

/* Returns the codec of a compressed packet, or 0; also 0 for an unreadable packet, which `fn` then
 * judges. */
static int find_content(struct orma_str packet, struct orma_str *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int codec = 0;

	orma_proto_reader_init(&reader, packet.data, packet.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS)
			codec = ORMA_CODEC_DEFLATE;
		else if (field.id == ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS)
			codec = ORMA_CODEC_ZSTD;
		else
			continue;
		*ret = field.bytes;
	}
	return codec;
}

static int open_level(struct orma_tool_unpacker *unpacker, struct level *levels, size_t depth,
		      enum orma_codec codec, struct orma_str content)
{
	struct orma_buf *buf = &unpacker->content[depth];
	int r;

	for (size_t i = 0; i < depth; i++)
		if (levels[i].codec == codec)
			return -EBADMSG;
	if (buf->capacity > KEPT_BYTES_MAX)
		orma_base_buf_done(buf);
	r = orma_tool_decompress(codec, content.data, content.size, unpacker->left_bytes, buf);
	if (r < 0)
		return r;
	unpacker->left_bytes -= buf->size;
	levels[depth].codec = codec;
	orma_proto_reader_init(&levels[depth].reader, buf->data, buf->size);
	return 0;
}

int orma_tool_unpack(struct orma_tool_unpacker *unpacker, const void *data_untrusted, size_t size,
		     orma_tool_packet_fn *fn, void *ctx)
{
	struct orma_str packet = {data_untrusted, size}, content;
	struct level levels[ORMA_TOOL_UNPACK_LEVELS];
	struct orma_proto_field field;
	size_t depth = 0;
	int r;

	unpacker->left_bytes = ORMA_TOOL_UNPACKED_MAX_BYTES;
	do {
		int codec = find_content(packet, &content);

		if (codec)
			r = open_level(unpacker, levels, depth, (enum orma_codec)codec, content);
		else
			r = fn(ctx, packet.data, packet.size);
		if (r)
			return r;
		depth += codec != 0;
		/* Reads the next packet from the innermost level that has one. */
		while (depth > 0) {
			r = orma_proto_reader_next(&levels[depth - 1].reader, &field);
			if (r < 0)
				return r;
			if (r == 0)
				depth--;
			else if (field.id == ORMA_PB_TRACE_PACKET && field.type == ORMA_PROTO_BYTES)
				break;
		}
		packet = field.bytes;
	} while (depth > 0);
	return 0;
}
