/* SPDX-License-Identifier: Apache-2.0
 * compression.c - zlib streams by libdeflate, zstd frames by libzstd; either library may be
 * missing.
 *
 * Both compress a whole block in memory, which is faster than streaming. zstd knows the size of the
 * block, so its tables stay small at any level. Its window is limited, because a packet can be
 * huge. Decompression does not trust any size in the data: the output grows by doubling while data
 * comes out, up to the caller's limit. The libraries use their own allocator. Rejected: zlib (three
 * times slower for the same bytes), and streaming decompression (libdeflate has none, and the data
 * was compressed in blocks).
 */
#include "codec/compression.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/str.h"

#ifdef ORMA_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#ifdef ORMA_HAVE_ZSTD
#include <zstd.h>
#endif

#define DEFLATE_LEVEL    6
#define ZSTD_WINDOW_LOG  21 /* 2 MiB */
#define OUTPUT_BYTES_MIN ((size_t)64 << 10)
/* When zstd fails, it does not say what it wrote in the last step, so the steps are small. */
#define DAMAGED_STEP_BYTES ((size_t)4 << 10)
#define ZLIB_HEADER_BYTES  2u
#define DEFLATE_MATCH_MAX  258u

struct orma_tool_compressor {
	enum orma_codec codec;
	void *state;
};

uint32_t orma_tool_codecs(void)
{
	uint32_t codecs = 0;

#ifdef ORMA_HAVE_DEFLATE
	codecs |= 1u << ORMA_CODEC_DEFLATE;
#endif
#ifdef ORMA_HAVE_ZSTD
	codecs |= 1u << ORMA_CODEC_ZSTD;
#endif
	return codecs;
}

#if defined(ORMA_HAVE_DEFLATE) || defined(ORMA_HAVE_ZSTD)
static int make_room(struct orma_buf *buf, size_t size)
{
	if (buf->capacity - buf->size >= size)
		return 0;
	return orma_base_buf_reserve(buf, size);
}
#endif

/* --- deflate ---------------------------------------------------------------------------------- */

#ifdef ORMA_HAVE_DEFLATE
static int deflate_block(struct orma_tool_compressor *compressor, const void *data, size_t size,
			 struct orma_buf *ret)
{
	size_t bound = libdeflate_zlib_compress_bound(compressor->state, size);

	if (make_room(ret, bound))
		return -ENOMEM;
	ret->size = libdeflate_zlib_compress(compressor->state, data, size, ret->data, bound);
	return ret->size ? 0 : -ENOMEM;
}

typedef enum libdeflate_result inflate_fn(struct libdeflate_decompressor *decompressor,
					  const void *data, size_t size, void *out, size_t room,
					  size_t *ret_used, size_t *ret_size);

static int inflate_into(struct libdeflate_decompressor *decompressor, inflate_fn *inflate,
			const void *data, size_t size, size_t max_bytes, struct orma_buf *ret)
{
	size_t room = ORMA_MAX(size > SIZE_MAX / 4 ? size : 4 * size, OUTPUT_BYTES_MIN);

	for (;; room *= 2) {
		size_t used;
		enum libdeflate_result result;

		room = ORMA_MIN(room, max_bytes);
		if (make_room(ret, room))
			return -ENOMEM;
		result = inflate(decompressor, data, size, ret->data, room, &used, &ret->size);
		if (result == LIBDEFLATE_SUCCESS)
			return used == size ? 0 : -EBADMSG;
		ret->size = 0;
		if (result != LIBDEFLATE_INSUFFICIENT_SPACE)
			return -EBADMSG;
		if (room == max_bytes)
			return -EMSGSIZE;
	}
}

/* Tries with a certain room. Returns 1 when the data has more before the damage, 0 when it has not, or
 * -ENOMEM. The header and the checksum are left out, so a block with a wrong checksum is whole. */
static int try_room(struct libdeflate_decompressor *decompressor, const void *data, size_t size,
		    size_t room, struct orma_buf *ret)
{
	size_t used = 0;

	ret->size = 0;
	if (make_room(ret, room))
		return -ENOMEM;
	enum libdeflate_result result = libdeflate_deflate_decompress(
		decompressor, (const uint8_t *)data + ZLIB_HEADER_BYTES, size - ZLIB_HEADER_BYTES,
		ret->data, room, &used);
	ret->size = result == LIBDEFLATE_SUCCESS ? used : 0;
	return result == LIBDEFLATE_INSUFFICIENT_SPACE;
}

/*
 * libdeflate does not say how far it came. But if the room ends before the damage, it says that the room
 * is too small, so the largest such room is searched. The last match that fits may be missing in it.
 */
static int inflate_damaged_into(struct libdeflate_decompressor *decompressor, const void *data,
				size_t size, size_t max_bytes, struct orma_buf *ret)
{
	size_t small = 0, large = OUTPUT_BYTES_MIN;
	int r;

	if (size < ZLIB_HEADER_BYTES)
		return 0;
	while ((r = try_room(decompressor, data, size, ORMA_MIN(large, max_bytes), ret)) > 0) {
		if (large >= max_bytes)
			return -EMSGSIZE;
		small = large;
		large *= 2;
	}
	while (r >= 0 && ret->size == 0 && large - small > 1) {
		size_t middle = small + (large - small) / 2;

		r = try_room(decompressor, data, size, middle, ret);
		if (r > 0)
			small = middle;
		else
			large = middle;
	}
	if (r < 0 || ret->size > 0)
		return r < 0 ? r : 0;
	r = try_room(decompressor, data, size, small, ret);
	ret->size = small - ORMA_MIN(small, DEFLATE_MATCH_MAX);
	return r < 0 ? r : 0;
}

static int inflate_block(const void *data, size_t size, size_t max_bytes, bool is_damaged,
			 struct orma_buf *ret)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	int r;

	if (!decompressor)
		return -ENOMEM;
	r = is_damaged ? inflate_damaged_into(decompressor, data, size, max_bytes, ret)
		       : inflate_into(decompressor, libdeflate_zlib_decompress_ex, data, size,
				      max_bytes, ret);
	libdeflate_free_decompressor(decompressor);
	return r;
}

int orma_tool_gunzip(const void *data_untrusted, size_t size, size_t max_bytes,
		     struct orma_buf *ret)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	int r = decompressor ? inflate_into(decompressor, libdeflate_gzip_decompress_ex,
					    data_untrusted, size, max_bytes, ret)
			     : -ENOMEM;
	libdeflate_free_decompressor(decompressor);
	return r;
}

int orma_tool_gzip(const void *data, size_t size, struct orma_buf *ret)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(DEFLATE_LEVEL);
	size_t bound = compressor ? libdeflate_gzip_compress_bound(compressor, size) : 0;
	int r = compressor ? 0 : -ENOMEM;

	ret->size = 0;
	if (r == 0)
		r = orma_base_buf_reserve(ret, bound);
	if (r == 0)
		ret->size = libdeflate_gzip_compress(compressor, data, size, ret->data, bound);
	libdeflate_free_compressor(compressor);
	return r;
}
#else
int orma_tool_gzip(const void *data, size_t size, struct orma_buf *ret)
{
	(void)data;
	(void)size;
	(void)ret;
	return -ENOTSUP;
}

int orma_tool_gunzip(const void *data_untrusted, size_t size, size_t max_bytes,
		     struct orma_buf *ret)
{
	(void)data_untrusted;
	(void)size;
	(void)max_bytes;
	(void)ret;
	return -ENOTSUP;
}
#endif

/* --- zstd ------------------------------------------------------------------------------------- */

#ifdef ORMA_HAVE_ZSTD
static void *new_zstd(int level)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	if (context) {
		(void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
		(void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, ZSTD_WINDOW_LOG);
	}
	return context;
}

static int zstd_block(struct orma_tool_compressor *compressor, const void *data, size_t size,
		      struct orma_buf *ret)
{
	size_t bound = ZSTD_compressBound(size), used;

	if (ZSTD_isError(bound) || make_room(ret, bound))
		return -ENOMEM;
	used = ZSTD_compress2(compressor->state, ret->data, bound, data, size);
	if (ZSTD_isError(used))
		return -ENOMEM;
	ret->size = used;
	return 0;
}

/* A streaming compressor may write several frames, one after the other. */
static int unzstd_into(ZSTD_DCtx *context, const void *data, size_t size, size_t max_bytes,
		       bool is_damaged, struct orma_buf *ret)
{
	ZSTD_inBuffer input = {data, size, 0};
	size_t left = 1;

	while (input.pos < size || left > 0) {
		size_t step =
			is_damaged ? DAMAGED_STEP_BYTES : ORMA_MAX(ret->size, OUTPUT_BYTES_MIN);
		size_t room = ORMA_MIN(step, max_bytes - ret->size + 1);
		ZSTD_outBuffer output;

		if (make_room(ret, room))
			return -ENOMEM;
		output = (ZSTD_outBuffer){ret->data + ret->size, room, 0};
		left = ZSTD_decompressStream(context, &output, &input);
		if (ZSTD_isError(left))
			return -EBADMSG;
		if (output.pos > max_bytes - ret->size)
			return -EMSGSIZE;
		ret->size += output.pos;
		if (left > 0 && input.pos == size && output.pos < room)
			return -EBADMSG; /* the data is truncated */
	}
	return 0;
}

static int unzstd_block(const void *data, size_t size, size_t max_bytes, bool is_damaged,
			struct orma_buf *ret)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	int r = context ? unzstd_into(context, data, size, max_bytes, is_damaged, ret) : -ENOMEM;

	ZSTD_freeDCtx(context);
	return is_damaged && r == -EBADMSG ? 0 : r;
}
#endif

/* --- both ------------------------------------------------------------------------------------- */

int orma_tool_compressor_new(enum orma_codec codec, int level, struct orma_tool_compressor **ret)
{
	struct orma_tool_compressor *compressor;

	(void)level;
	if (!(orma_tool_codecs() >> codec & 1))
		return -ENOTSUP;
	compressor = orma_base_zalloc(sizeof(*compressor));
	if (!compressor)
		return -ENOMEM;
	compressor->codec = codec;
#ifdef ORMA_HAVE_DEFLATE
	if (codec == ORMA_CODEC_DEFLATE)
		compressor->state = libdeflate_alloc_compressor(DEFLATE_LEVEL);
#endif
#ifdef ORMA_HAVE_ZSTD
	if (codec == ORMA_CODEC_ZSTD)
		compressor->state = new_zstd(level);
#endif
	if (!compressor->state) {
		orma_tool_compressor_free(compressor);
		return -ENOMEM;
	}
	*ret = compressor;
	return 0;
}

void orma_tool_compressor_free(struct orma_tool_compressor *compressor)
{
	if (!compressor)
		return;
#ifdef ORMA_HAVE_DEFLATE
	if (compressor->codec == ORMA_CODEC_DEFLATE && compressor->state)
		libdeflate_free_compressor(compressor->state);
#endif
#ifdef ORMA_HAVE_ZSTD
	if (compressor->codec == ORMA_CODEC_ZSTD)
		ZSTD_freeCCtx(compressor->state);
#endif
	orma_base_free(compressor);
}

int orma_tool_compress(struct orma_tool_compressor *compressor, const void *data, size_t size,
		       struct orma_buf *ret)
{
	(void)compressor;
	(void)data;
	(void)size;
	ret->size = 0;
#ifdef ORMA_HAVE_DEFLATE
	if (compressor->codec == ORMA_CODEC_DEFLATE)
		return deflate_block(compressor, data, size, ret);
#endif
#ifdef ORMA_HAVE_ZSTD
	if (compressor->codec == ORMA_CODEC_ZSTD)
		return zstd_block(compressor, data, size, ret);
#endif
	return -ENOTSUP;
}

static int decompress(enum orma_codec codec, struct orma_str data_untrusted, size_t max_bytes,
		      bool is_damaged, struct orma_buf *ret)
{
	(void)codec;
	(void)data_untrusted;
	(void)max_bytes;
	(void)is_damaged;
	ret->size = 0;
#ifdef ORMA_HAVE_DEFLATE
	if (codec == ORMA_CODEC_DEFLATE)
		return inflate_block(data_untrusted.data, data_untrusted.size, max_bytes,
				     is_damaged, ret);
#endif
#ifdef ORMA_HAVE_ZSTD
	if (codec == ORMA_CODEC_ZSTD)
		return unzstd_block(data_untrusted.data, data_untrusted.size, max_bytes, is_damaged,
				    ret);
#endif
	return -ENOTSUP;
}

int orma_tool_decompress(enum orma_codec codec, const void *data_untrusted, size_t size,
			 size_t max_bytes, struct orma_buf *ret)
{
	return decompress(codec, (struct orma_str){data_untrusted, size}, max_bytes, false, ret);
}

int orma_tool_decompress_damaged(enum orma_codec codec, const void *data_untrusted, size_t size,
				 size_t max_bytes, struct orma_buf *ret)
{
	return decompress(codec, (struct orma_str){data_untrusted, size}, max_bytes, true, ret);
}
