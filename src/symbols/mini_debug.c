/* SPDX-License-Identifier: Apache-2.0
 * mini_debug.c - unpacks .gnu_debugdata. The sizes of input and output and liblzma's memory are limited, because a few bytes of xz
 * can stand for gigabytes.
 */
#include "symbols/mini_debug.h"

#include <errno.h>

#include "base/macros.h"

#ifdef ORMA_HAVE_LZMA
#include <lzma.h>

#define PACKED_BYTES_MAX (16u << 20)
#define BYTES_MAX        (64u << 20)
#define MEMORY_BYTES_MAX (UINT64_C(128) << 20)
#define STEP_BYTES       (256u << 10)

static int unpack(lzma_stream *stream, const struct orma_buf *packed, struct orma_buf *ret)
{
	lzma_ret code = lzma_stream_decoder(stream, MEMORY_BYTES_MAX, 0);

	stream->next_in = packed->data;
	stream->avail_in = packed->size;
	while (code == LZMA_OK) {
		if (ret->size > BYTES_MAX)
			return -EFBIG;
		if (orma_base_buf_reserve(ret, STEP_BYTES) < 0)
			return -ENOMEM;
		stream->next_out = ret->data + ret->size;
		stream->avail_out = STEP_BYTES;
		code = lzma_code(stream, LZMA_FINISH);
		ret->size += STEP_BYTES - stream->avail_out;
	}
	return code == LZMA_STREAM_END ? 0 : code == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int orma_mini_debug_read(const struct orma_elf_file *file, struct orma_buf *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packed = {0};
	lzma_stream stream = LZMA_STREAM_INIT;

	ret->size = 0;
	if (file->debug_data.size == 0)
		return -ENODATA;
	int r = orma_elf_file_read_part(file, &file->debug_data, PACKED_BYTES_MAX, &packed);
	if (r < 0)
		return r;
	r = unpack(&stream, &packed, ret);
	lzma_end(&stream);
	return r;
}
#else
int orma_mini_debug_read(const struct orma_elf_file *file, struct orma_buf *ret)
{
	ret->size = 0;
	return file->debug_data.size == 0 ? -ENODATA : -ENOTSUP;
}
#endif
