/* SPDX-License-Identifier: Apache-2.0
 * compression.h - zlib streams and zstd frames over whole blocks.
 */
#ifndef ORMA_CODEC_COMPRESSION_H
#define ORMA_CODEC_COMPRESSION_H

#include <orma/service.h>

#include "base/buf.h"

/* Returns the codecs that orma was built with: bits 1 << ORMA_CODEC_... */
uint32_t orma_tool_codecs(void);

struct orma_tool_compressor; /* used by one thread at a time */

/* `level` is for zstd; deflate always has 6. 0, -ENOTSUP or -ENOMEM. */
int orma_tool_compressor_new(enum orma_codec codec, int level, struct orma_tool_compressor **ret);
void orma_tool_compressor_free(struct orma_tool_compressor *compressor);
/* Replaces the content of `ret`. 0 or -ENOMEM. */
int orma_tool_compress(struct orma_tool_compressor *compressor, const void *data, size_t size,
		       struct orma_buf *ret);

/*
 * Replaces the content of `ret` by the decompressed data. Memory grows with the actual output, up
 * to max_bytes: -EMSGSIZE when that is not enough. -EBADMSG when the data is damaged, cut, or
 * followed by other bytes; -ENOTSUP, -ENOMEM.
 */
int orma_tool_decompress(enum orma_codec codec, const void *data_untrusted, size_t size,
			 size_t max_bytes, struct orma_buf *ret);
/*
 * Does the same with data that is damaged or cut: `ret` gets what comes before the damage, of which the
 * last bytes may be wrong, because damage may be noticed late. 0, -EMSGSIZE, -ENOTSUP or -ENOMEM.
 */
int orma_tool_decompress_damaged(enum orma_codec codec, const void *data_untrusted, size_t size,
				 size_t max_bytes, struct orma_buf *ret);
/* Decompresses one member of gzip, as orma_tool_decompress(). */
int orma_tool_gunzip(const void *data_untrusted, size_t size, size_t max_bytes,
		     struct orma_buf *ret);

/* Replaces the content of `ret` by one member of gzip. 0, -ENOTSUP (there is no libdeflate) or -ENOMEM. */
int orma_tool_gzip(const void *data, size_t size, struct orma_buf *ret);

#endif
