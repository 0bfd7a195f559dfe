/* SPDX-License-Identifier: Apache-2.0
 * trace_inflate.c - decompresses packets with the codecs' own libraries, so that a fault of the
 * product's reader cannot hide itself.
 *
 * The memory is not freed, because the checks borrow from it.
 */
#include <stdlib.h>
#include <string.h>

#include "trace_packet.h"

#ifdef ORMA_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#ifdef ORMA_HAVE_ZSTD
#include <zstd.h>
#endif

enum { COMPRESSED_PACKETS = 50, ZSTD_COMPRESSED_PACKETS = 133 };
/* A block has at most a megabyte and one packet. */
#define CONTENT_MAX ((size_t)64 << 20)

/* Returns the number of decompressed bytes, 0 = failure. */
static size_t decompress(bool is_zstd, struct wire_span packed, uint8_t *to)
{
	size_t size = (size_t)(packed.end - packed.at), got = 0;

	(void)is_zstd;
	(void)size;
	(void)to;
#ifdef ORMA_HAVE_ZSTD
	if (is_zstd) {
		got = ZSTD_decompress(to, CONTENT_MAX, packed.at, size);
		return ZSTD_isError(got) ? 0 : got;
	}
#endif
#ifdef ORMA_HAVE_DEFLATE
	if (!is_zstd) {
		struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();

		if (!inflater || libdeflate_zlib_decompress(inflater, packed.at, size, to,
							    CONTENT_MAX, &got) != 0)
			got = 0;
		libdeflate_free_decompressor(inflater);
	}
#endif
	return got;
}

bool packet_inflate(struct wire_span body, const char *codec, struct wire_span *ret_content)
{
	bool is_zstd = strcmp(codec, "zstd") == 0;
	uint32_t id = is_zstd ? ZSTD_COMPRESSED_PACKETS : COMPRESSED_PACKETS;
	struct wire_span packed, rest = body;
	struct wire_field field;
	uint8_t *memory, *fitting;
	size_t size;

	/* A compressed packet has no other field. */
	if (!wire_get_bytes(body, id, &packed) || wire_next(&rest, &field) <= 0 ||
	    rest.at != rest.end)
		return false;
	memory = malloc(CONTENT_MAX);
	size = memory ? decompress(is_zstd, packed, memory) : 0;
	if (size == 0) {
		free(memory);
		return false;
	}
	fitting = realloc(memory, size);
	ret_content->at = fitting ? fitting : memory;
	ret_content->end = ret_content->at + size;
	return true;
}
