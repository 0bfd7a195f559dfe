/* SPDX-License-Identifier: Apache-2.0
 * zstd_unpack.c - unpacks zstd with its library, a buffer at a time.
 */
#include "formats/zstd_unpack.h"

#include <errno.h>

#include "base/alloc.h"

#ifdef ORMA_HAVE_ZSTD
#include <zstd.h>

int orma_zstd_begin(struct orma_zstd_stream *stream)
{
	stream->context = ZSTD_createDCtx();
	stream->buffer = orma_base_alloc(ZSTD_DStreamOutSize());
	stream->is_whole = false;
	return stream->context && stream->buffer ? 0 : -ENOMEM;
}

void orma_zstd_done(struct orma_zstd_stream *stream)
{
	ZSTD_freeDCtx(stream->context);
	orma_base_free(stream->buffer);
	*stream = (struct orma_zstd_stream){.context = NULL};
}

int orma_zstd_add(struct orma_zstd_stream *stream, const uint8_t *data, size_t size,
		  uint64_t spool_max, struct orma_trace_bytes *output)
{
	ZSTD_inBuffer in = {data, size, 0};
	bool is_full = true;
	uint64_t address;
	while (in.pos < in.size || is_full) {
		ZSTD_outBuffer out = {stream->buffer, ZSTD_DStreamOutSize(), 0};
		bool has_input = in.pos < in.size;
		size_t left = ZSTD_decompressStream(stream->context, &out, &in);
		is_full = out.pos == out.size;
		/* Behind the end of a frame, zstd asks for the next one. */
		if (has_input || out.pos > 0)
			stream->is_whole = left == 0;
		if (output->spool_size > spool_max || out.pos > spool_max - output->spool_size)
			return -EMSGSIZE;
		int r = out.pos > 0
				? orma_trace_bytes_add(output, stream->buffer, out.pos, &address)
				: 0;
		if (r < 0 || ZSTD_isError(left))
			return r < 0 ? r : -EBADMSG;
	}
	return 0;
}
#else
int orma_zstd_begin(struct orma_zstd_stream *stream)
{
	(void)stream;
	return -ENOTSUP;
}

void orma_zstd_done(struct orma_zstd_stream *stream)
{
	(void)stream;
}

int orma_zstd_add(struct orma_zstd_stream *stream, const uint8_t *data, size_t size,
		  uint64_t spool_max, struct orma_trace_bytes *output)
{
	(void)stream, (void)data, (void)size, (void)spool_max, (void)output;
	return -ENOTSUP;
}
#endif

int orma_zstd_unpack(struct orma_str data, uint64_t spool_max, struct orma_trace_bytes *output)
{
	struct orma_zstd_stream stream = {.context = NULL};
	int r = orma_zstd_begin(&stream);
	if (r == 0)
		r = orma_zstd_add(&stream, (const uint8_t *)data.data, data.size, spool_max,
				  output);
	if (r == 0 && !stream.is_whole)
		r = -EBADMSG;
	orma_zstd_done(&stream);
	return r;
}
