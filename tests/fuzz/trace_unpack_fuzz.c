/* SPDX-License-Identifier: Apache-2.0
 * trace_unpack_fuzz.c - compressed packets. The first byte determines whether the input is a zlib
 * stream, a zstd frame, or a trace that is compressed into one of these.
 */
#include <stdint.h>

#include "base/macros.h"
#include "codec/compression.h"
#include "proto/writer.h"
#include "tool/trace/trace_unpack.h"

#define LIMIT_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int touch_packet(void *ctx, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	unsigned *sum = ctx;

	for (size_t i = 0; i < size; i++)
		*sum += bytes[i];
	return 0;
}

static void decompress(enum orma_codec codec, const uint8_t *data, size_t size)
{
	struct orma_buf buf = {0};
	int r = orma_tool_decompress(codec, data, size, LIMIT_BYTES, &buf);

	if (r == 0 && buf.size > LIMIT_BYTES)
		__builtin_trap();
	orma_base_buf_done(&buf);
}

static void unpack(enum orma_codec codec, const uint8_t *data, size_t size)
{
	struct orma_tool_unpacker unpacker = {0};
	struct orma_tool_compressor *compressor;
	struct orma_buf packed = {0}, packet = {0};
	struct orma_proto_heap_writer heap;
	unsigned sum = 0;

	if (orma_tool_compressor_new(codec, 1, &compressor) < 0)
		return;
	if (orma_tool_compress(compressor, data, size, &packed) == 0) {
		orma_proto_heap_writer_init(&heap, &packet);
		orma_proto_write_bytes(&heap.writer, codec == ORMA_CODEC_ZSTD ? 133 : 50,
				       packed.data, packed.size);
		if (orma_proto_heap_writer_finish(&heap) == 0)
			(void)orma_tool_unpack(&unpacker, packet.data, packet.size, touch_packet,
					       &sum);
	}
	orma_tool_compressor_free(compressor);
	orma_tool_unpacker_done(&unpacker);
	orma_base_buf_done(&packed);
	orma_base_buf_done(&packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	enum orma_codec codec = data[0] & 1 ? ORMA_CODEC_ZSTD : ORMA_CODEC_DEFLATE;
	if (data[0] & 2)
		unpack(codec, data + 1, size - 1);
	else
		decompress(codec, data + 1, size - 1);
	return 0;
}
