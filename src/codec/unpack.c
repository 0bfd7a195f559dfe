/* SPDX-License-Identifier: Apache-2.0
 * unpack.c - which field is compressed how.
 */
#include "codec/unpack.h"

#include "codec/compression.h"
#include "schema/gen/trace_packet.pb.h"

int orma_codec_unpack(uint32_t field_id, const void *data_untrusted, size_t size, size_t max_bytes,
		      struct orma_buf *ret)
{
	bool is_deflate = field_id == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS;
	if (field_id == ORMA_PB_TRACE_PACKET_EXTENSION_DESCRIPTOR)
		return orma_tool_gunzip(data_untrusted, size, max_bytes, ret);
	return orma_tool_decompress(is_deflate ? ORMA_CODEC_DEFLATE : ORMA_CODEC_ZSTD,
				    data_untrusted, size, max_bytes, ret);
}
