/* SPDX-License-Identifier: Apache-2.0
 * trace_unpack.c - unpacks compressed packets in place: readers see the inner packets as if the
 * trace contained them directly.
 *
 * A compressed packet holds entries of a trace, which may include compressed packets of the other
 * codec. Each level has a buffer and a reader. A packet of a codec that is being unpacked already
 * is damage, so there are never more levels than codecs. Rejected: recursion (the input would
 * choose its depth), and passing compressed packets on (every reader would have to unpack them).
 *
 * Damage in compressed data is often noticed behind it, and what is decompressed in between is wrong. So
 * of damaged content, packets are passed on as long as each has the fields that the service gives to
 * every packet.
 */
#include "tool/trace/trace_unpack.h"

#include <errno.h>
#include <string.h>

#include "codec/compression.h"
#include "proto/reader.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"

/* Larger buffers are freed instead of being kept for the next packet. */
#define KEPT_BYTES_MAX ((size_t)4 << 20)

struct level {
	enum orma_codec codec;
	bool is_damaged; /* the content ends at the damage */
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

/* Does the same with the beginning of a packet, whose compressed content is cut. */
static int find_cut_content(struct orma_str beginning, struct orma_str *ret)
{
	const uint8_t *at = (const uint8_t *)beginning.data, *end = at + beginning.size;
	uint64_t tag = 0, size = 0;

	at = orma_proto_get_varint(at, end, &tag);
	at = at ? orma_proto_get_varint(at, end, &size) : NULL;
	if (!at || size <= (uint64_t)(end - at))
		return 0;
	*ret = (struct orma_str){(const char *)at, (size_t)(end - at)};
	if (tag == orma_proto_tag(ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS, ORMA_PROTO_BYTES))
		return ORMA_CODEC_DEFLATE;
	if (tag == orma_proto_tag(ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS, ORMA_PROTO_BYTES))
		return ORMA_CODEC_ZSTD;
	return 0;
}

static bool is_compressed(const struct orma_proto_field *field)
{
	struct orma_str content = field->bytes;

	return (field->id == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS && content.size > 2 &&
		content.data[0] == 0x78) ||
	       (field->id == ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS && content.size > 4 &&
		memcmp(content.data, "\x28\xb5\x2f\xfd", 4) == 0);
}

bool orma_tool_looks_like_packet(const void *data, size_t size)
{
	unsigned uids = 0, sequences = 0;
	bool has_compressed = false;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int more;

	orma_proto_reader_init(&reader, data, size);
	while ((more = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.type == ORMA_PROTO_BYTES)
			has_compressed |= is_compressed(&field);
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		uids += field.id == ORMA_PB_TRACE_PACKET_TRUSTED_UID;
		sequences += field.id == ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID;
	}
	return more == 0 && (has_compressed || (uids == 1 && sequences == 1));
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
	levels[depth].is_damaged = r == -EBADMSG && unpacker->rescues;
	if (levels[depth].is_damaged)
		r = orma_tool_decompress_damaged(codec, content.data, content.size,
						 unpacker->left_bytes, buf);
	if (r < 0)
		return r;
	unpacker->left_bytes -= buf->size;
	levels[depth].codec = codec;
	orma_proto_reader_init(&levels[depth].reader, buf->data, buf->size);
	return 0;
}

/* Returns 1 and the next packet of the level, 0 at its end, or -EBADMSG at its damage. */
static int next_packet(struct level *level, struct orma_str *ret)
{
	struct orma_proto_field field;
	int more;

	while ((more = orma_proto_reader_next(&level->reader, &field)) > 0) {
		*ret = field.bytes;
		if (field.id == ORMA_PB_TRACE_PACKET && field.type == ORMA_PROTO_BYTES)
			return level->is_damaged &&
					       !orma_tool_looks_like_packet(ret->data, ret->size)
				       ? -EBADMSG
				       : 1;
	}
	return more == 0 && level->is_damaged ? -EBADMSG : more;
}

static void count_rescued(struct orma_tool_unpacker *unpacker, const struct level *level,
			  size_t depth)
{
	const struct orma_buf *buf = &unpacker->content[depth];

	if (!level->is_damaged)
		return;
	unpacker->rescued_packets++;
	unpacker->rescued_bytes = (uint64_t)(level->reader.at - buf->data);
	unpacker->lost_bytes = buf->size - unpacker->rescued_bytes;
}

/* `codec` and `content` are those of the packet. */
static int walk(struct orma_tool_unpacker *unpacker, struct orma_str packet, int codec,
		struct orma_str content, orma_tool_packet_fn *fn, void *ctx)
{
	struct level levels[ORMA_TOOL_UNPACK_LEVELS];
	size_t depth = 0;

	unpacker->left_bytes = ORMA_TOOL_UNPACKED_MAX_BYTES;
	for (;;) {
		int r = codec ? open_level(unpacker, levels, depth, (enum orma_codec)codec, content)
			      : fn(ctx, packet.data, packet.size);
		if (r)
			return r;
		if (!codec && depth > 0)
			count_rescued(unpacker, &levels[depth - 1], depth - 1);
		depth += codec != 0;
		/* Reads the next packet from the innermost level that has one. */
		do {
			if (depth == 0)
				return 0;
			r = next_packet(&levels[depth - 1], &packet);
			depth -= r == 0;
		} while (r == 0);
		if (r < 0)
			return r;
		codec = find_content(packet, &content);
	}
}

int orma_tool_unpack(struct orma_tool_unpacker *unpacker, const void *data_untrusted, size_t size,
		     orma_tool_packet_fn *fn, void *ctx)
{
	struct orma_str packet = {data_untrusted, size}, content = {0};
	int codec = find_content(packet, &content);

	unpacker->rescued_packets = unpacker->rescued_bytes = unpacker->lost_bytes = 0;
	return walk(unpacker, packet, codec, content, fn, ctx);
}

int orma_tool_unpack_cut(struct orma_tool_unpacker *unpacker, const void *data_untrusted,
			 size_t size, orma_tool_packet_fn *fn, void *ctx)
{
	struct orma_str packet = {data_untrusted, size}, content = {0};
	int codec = find_cut_content(packet, &content);

	unpacker->rescued_packets = unpacker->rescued_bytes = unpacker->lost_bytes = 0;
	int r = codec ? walk(unpacker, packet, codec, content, fn, ctx) : 0;
	return r ? r : -EBADMSG;
}
