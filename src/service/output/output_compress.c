/* SPDX-License-Identifier: Apache-2.0
 * output_compress.c - compresses the packets of a session on their way out, if its config asks for
 * it.
 *
 *   buffers --orma_service_read()--> block --submit--> worker --take--> one packet per block
 *
 * A block is a run of encoded Trace.packet entries of about ORMA_SERVICE_BLOCK_BYTES; the worker's
 * result becomes TracePacket.compressed_packets or zstd_compressed_packets. Compression is the last
 * step: filter and statistics come before it. At most ORMA_COMPRESSOR_BLOCKS_MAX blocks of a
 * session are outstanding. So a slow reader leaves the rest in the trace buffers, and a slow worker
 * makes the reader wait for an event. Results are taken in the order of the blocks, so the trace
 * keeps its order. A pass ends with the last block's result. Rejected: one zlib stream over all
 * blocks (a truncated file would lose everything after the cut), compressing when chunks arrive
 * (most rings are never read), batches as blocks (a batch of many small sequences is small).
 */
#include "service/output/output_compress.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/macros.h"
#include "proto/wire.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "service/read/batch.h"
#include "service/read/read.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

static bool has_codec(const struct orma_service *service, enum orma_codec codec)
{
	return service->compressor.ops.codecs >> codec & 1;
}

int orma_service_compression_pick(const struct orma_service *service,
				  const struct orma_pb_trace_config *config, int *ret_level)
{
	const struct orma_pb_trace_config_compression_config *wanted = config->compression;
	bool wants_deflate = (wanted && wanted->deflate) ||
			     config->compression_type ==
				     ORMA_PB_TRACE_CONFIG_COMPRESSION_TYPE_COMPRESSION_TYPE_DEFLATE;

	*ret_level = 0;
	if (wanted && wanted->zstd && has_codec(service, ORMA_CODEC_ZSTD)) {
		*ret_level = wanted->zstd->level;
		return ORMA_CODEC_ZSTD;
	}
	if (wants_deflate && has_codec(service, ORMA_CODEC_DEFLATE))
		return ORMA_CODEC_DEFLATE;
	if (wants_deflate || (wanted && (wanted->zstd || wanted->base.unknown)))
		return -ENOTSUP;
	return 0;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* A file with a small maximum gets smaller blocks, so that several fit. */
static size_t block_bytes(const struct orma_service_session *session)
{
	uint64_t max_bytes = session->output.max_bytes ? session->output.max_bytes / 8
						       : ORMA_SERVICE_BLOCK_BYTES;

	max_bytes = ORMA_MAX(max_bytes, (uint64_t)ORMA_SERVICE_BLOCK_BYTES_MIN);
	return (size_t)ORMA_MIN(max_bytes, (uint64_t)ORMA_SERVICE_BLOCK_BYTES);
}

static uint8_t *put_head(uint8_t *at, uint32_t field_id, size_t size)
{
	at = orma_proto_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_BYTES));
	return orma_proto_put_varint(at, size);
}

/* Reads packets up to the size of a block. */
static int fill_block(struct orma_service_session *session)
{
	struct orma_service_compression *compression = &session->compression;
	struct orma_service *service = session->service;
	size_t wanted = block_bytes(session);
	int r = 1;

	service->block.size = 0;
	for (unsigned i = 0; i < ORMA_SERVICE_BATCHES_PER_BLOCK && r == 1; i++) {
		if (service->block.size >= wanted)
			return 0;
		r = orma_service_read(session, wanted - service->block.size);
		if (r < 0)
			return r;
		compression->is_pass_over = r == 0;
		r = orma_service_batch_encode(&service->batch, 0, &service->block) < 0 ? -ENOMEM
										       : r;
		if (service->batch.is_out_of_time)
			break;
	}
	return ORMA_MIN(r, 0);
}

static int open_stream(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	int level, codec = orma_service_compression_pick(service, session->config, &level);

	return service->compressor.ops.open(service->compressor.ctx, (enum orma_codec)codec, level,
					    session->id, &session->compression.stream);
}

/* Gives the worker one more block, if there is one. */
static int submit_block(struct orma_service_session *session)
{
	struct orma_service_compression *compression = &session->compression;
	struct orma_service *service = session->service;
	int r = compression->stream ? 0 : open_stream(session);

	if (r == 0)
		r = fill_block(session);
	if (r < 0 || service->block.size == 0)
		return r;
	ORMA_ASSERT(compression->outstanding < ORMA_COMPRESSOR_BLOCKS_MAX);
	r = service->compressor.ops.submit(service->compressor.ctx, compression->stream,
					   service->block.data, service->block.size);
	if (r == 0 && session->output.file)
		r = orma_base_buf_append(&compression->blocks[compression->outstanding],
					 service->block.data, service->block.size);
	compression->outstanding += r == 0;
	/* One huge packet does not justify keeping a huge buffer. */
	if (service->block.capacity > (size_t)4 * ORMA_SERVICE_BLOCK_BYTES)
		orma_base_buf_done(&service->block);
	return r;
}

/* --- results ---------------------------------------------------------------------------------- */

/* The batch becomes one packet that holds a block. */
static int put_result(struct orma_service_session *session, const void *data, size_t size)
{
	uint8_t head[ORMA_PROTO_TAG_MAX + ORMA_PROTO_VARINT_MAX];
	int level, codec = orma_service_compression_pick(session->service, session->config, &level);
	uint32_t field_id = codec == ORMA_CODEC_ZSTD ? ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS
						     : ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS;

	return orma_service_batch_add_outer(session->service, head,
					    (size_t)(put_head(head, field_id, size) - head), data,
					    size);
}

static void forget_oldest(struct orma_service_compression *compression)
{
	struct orma_buf oldest = compression->blocks[0];

	ORMA_ASSERT(compression->outstanding > 0);

	/* The next block reuses its memory. */
	oldest.size = 0;
	memmove(&compression->blocks[0], &compression->blocks[1],
		(ORMA_COMPRESSOR_BLOCKS_MAX - 1) * sizeof(oldest));
	compression->blocks[ORMA_COMPRESSOR_BLOCKS_MAX - 1] = oldest;
	compression->outstanding--;
}

static int take_result(struct orma_service_session *session)
{
	struct orma_service_compression *compression = &session->compression;
	struct orma_service *service = session->service;
	bool is_out_of_time = service->batch.is_out_of_time; /* set by the filter in this call */
	const void *data;
	size_t size;
	int r;

	orma_service_batch_begin(service);
	service->batch.is_out_of_time = is_out_of_time;
	if (compression->outstanding == 0)
		return 0;
	r = service->compressor.ops.take(service->compressor.ctx, compression->stream, &data,
					 &size);
	if (r == 0)
		return 0;
	forget_oldest(compression);
	return r < 0 ? r : put_result(session, data, size) < 0 ? -ENOMEM : 1;
}

/* Does what orma_service_read_out() does for a session with a codec. After an error the pass can go
 * on. */
static int read_compressed(struct orma_service_session *session)
{
	struct orma_service_compression *compression = &session->compression;
	int r;

	compression->is_waiting = false;
	session->service->batch.is_out_of_time = false;
	if (!compression->is_pass_over && compression->outstanding < ORMA_COMPRESSOR_BLOCKS_MAX) {
		r = submit_block(session);
		if (r < 0)
			return r;
	}
	r = take_result(session);
	if (r < 0)
		return r;
	if (compression->is_pass_over && compression->outstanding == 0) {
		compression->is_pass_over = false;
		return 0;
	}
	if (r == 0 &&
	    (compression->is_pass_over || compression->outstanding == ORMA_COMPRESSOR_BLOCKS_MAX)) {
		compression->is_waiting = true;
		return -EAGAIN;
	}
	return 1;
}

int orma_service_read_out(struct orma_service_session *session, size_t max_bytes, bool takes_parts)
{
	int level, r;

	if (orma_service_compression_pick(session->service, session->config, &level) <= 0)
		return takes_parts ? orma_service_read_parts(session, max_bytes)
				   : orma_service_read(session, max_bytes);
	r = read_compressed(session);
	if (r < 0 && r != -EAGAIN)
		session->compression.is_pass_over = false;
	return r;
}

void orma_service_compression_extend(struct orma_service_session *session)
{
	session->compression.is_pass_over = false;
}

int orma_service_compression_copy(const struct orma_service_session *session, struct orma_buf *to)
{
	const struct orma_service_compression *compression = &session->compression;
	int r = 0;

	for (size_t i = 0; i < compression->outstanding && r == 0; i++)
		r = orma_base_buf_append(to, compression->blocks[i].data,
					 compression->blocks[i].size);
	return r;
}

void orma_service_compression_done(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	void *stream = ORMA_TAKE(session->compression.stream);

	for (size_t i = 0; i < ORMA_COMPRESSOR_BLOCKS_MAX; i++)
		orma_base_buf_done(&session->compression.blocks[i]);
	if (stream)
		service->compressor.ops.close(service->compressor.ctx, stream);
}
