/* SPDX-License-Identifier: Apache-2.0
 * gzip.c - files of gzip, of any number of members, and of zstd.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "formats/format.h"
#include "formats/inflate.h"
#include "formats/zstd_unpack.h"

enum {
	HEADER_BYTES = 10,
	TRAILER_BYTES = 8,
	HAS_CRC = 2,
	HAS_EXTRA = 4,
	HAS_NAME = 8,
	HAS_COMMENT = 16
};

/* Reads the file byte by byte. */
struct bytes {
	const struct orma_trace_bytes *input;
	struct orma_trace_window window;
	uint64_t address;
};

/* Returns the next byte, -ENODATA at the end, or an error of reading. */
static int next_byte(struct bytes *bytes)
{
	enum { AHEAD_BYTES = 4096 };
	const uint8_t *data;
	if (bytes->address == orma_trace_bytes_end(bytes->input))
		return -ENODATA;
	int r = orma_trace_window_read(&bytes->window, bytes->input, bytes->address, 1, AHEAD_BYTES,
				       &data);
	if (r <= 0)
		return r < 0 ? r : -ENODATA;
	bytes->address++;
	return *data;
}

static int read_number(struct bytes *bytes, unsigned size, uint32_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < size; i++) {
		int byte = next_byte(bytes);
		if (byte < 0)
			return byte;
		*ret |= (uint32_t)byte << 8 * i;
	}
	return 0;
}

static int skip_text(struct bytes *bytes)
{
	int byte;
	do
		byte = next_byte(bytes);
	while (byte > 0);
	return byte;
}

/* 0, -ENODATA (the file ends), or -EBADMSG (no member begins here). */
static int read_header(struct bytes *bytes)
{
	uint8_t header[HEADER_BYTES];
	uint32_t number;
	for (int i = 0; i < HEADER_BYTES; i++) {
		int byte = next_byte(bytes);
		if (byte < 0)
			return byte;
		header[i] = (uint8_t)byte;
		if ((i == 0 && byte != 0x1f) || (i == 1 && byte != 0x8b) || (i == 2 && byte != 8))
			return -EBADMSG;
	}
	unsigned flags = header[3];
	int r = 0;
	if (flags & HAS_EXTRA)
		r = read_number(bytes, 2, &number);
	for (; r >= 0 && flags & HAS_EXTRA && number > 0; number--)
		r = next_byte(bytes);
	if (r >= 0 && flags & HAS_NAME)
		r = skip_text(bytes);
	if (r >= 0 && flags & HAS_COMMENT)
		r = skip_text(bytes);
	if (r >= 0 && flags & HAS_CRC)
		r = read_number(bytes, 2, &number);
	return ORMA_MIN(r, 0);
}

static int damaged(int error, uint64_t address, struct orma_error *reterr)
{
	if (error == -EMSGSIZE)
		return orma_base_error_set(reterr, error,
					   "the compressed file holds more than %d times its size",
					   ORMA_UNPACKED_RATIO_MAX);
	return orma_base_error_set(reterr, -EBADMSG,
				   "the compressed file is cut or damaged before byte %llu",
				   (unsigned long long)address);
}

static int read_member(struct bytes *bytes, uint64_t max_bytes, struct orma_trace_bytes *output)
{
	uint32_t crc = 0, expected_crc = 0, expected_size = 0;
	uint64_t size = 0;
	int r = orma_inflate(bytes->input, &bytes->address, orma_trace_bytes_end(bytes->input),
			     max_bytes, output, &crc, &size);
	if (r == 0)
		r = read_number(bytes, 4, &expected_crc);
	if (r == 0)
		r = read_number(bytes, 4, &expected_size);
	if (r == -ENODATA)
		return -EBADMSG;
	return r < 0 || (crc == expected_crc && (uint32_t)size == expected_size) ? r : -EBADMSG;
}

static int unpack_gzip(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct bytes bytes = {.input = conversion->input};
	uint64_t limit = orma_unpacked_limit(orma_trace_bytes_end(conversion->input));
	int r = read_header(&bytes);
	while (r == 0) {
		r = read_member(&bytes, limit - conversion->content->spool_size,
				conversion->content);
		/* Zeros or other bytes may follow the last member. */
		uint64_t end = bytes.address;
		if (r == 0 && (r = read_header(&bytes)) == -EBADMSG)
			r = -ENODATA;
		bytes.address = r < 0 ? end : bytes.address;
	}
	orma_trace_window_done(&bytes.window);
	if (r == -ENODATA && conversion->content->spool_size > 0)
		return 0;
	return r == -EBADMSG || r == -EMSGSIZE || r == -ENODATA ? damaged(r, bytes.address, reterr)
								: r;
}

static bool detect_gzip(int fd, struct orma_str beginning)
{
	(void)fd;
	return beginning.size >= 2 && memcmp(beginning.data, "\x1f\x8b", 2) == 0;
}

const struct orma_format orma_format_gzip = {"gzip", false, true, detect_gzip, unpack_gzip};

static bool detect_zstd(int fd, struct orma_str beginning)
{
	(void)fd;
	return beginning.size >= 4 && memcmp(beginning.data, "\x28\xb5\x2f\xfd", 4) == 0;
}

static int unpack_zstd(struct orma_conversion *conversion, struct orma_error *reterr)
{
	enum { PIECE_BYTES = 256 << 10 };
	uint64_t end = orma_trace_bytes_end(conversion->input), at = 0;
	struct orma_trace_window window = {0};
	struct orma_zstd_stream stream = {.context = NULL};
	int r = orma_zstd_begin(&stream);
	while (r == 0 && at < end) {
		const uint8_t *data;
		size_t size = (size_t)ORMA_MIN(end - at, (uint64_t)PIECE_BYTES);
		r = orma_trace_window_read(&window, conversion->input, at, size, size, &data);
		if (r > 0)
			r = orma_zstd_add(&stream, data, size, orma_unpacked_limit(end),
					  conversion->content);
		at += size;
	}
	if (r == 0 && !stream.is_whole)
		r = -EBADMSG;
	orma_zstd_done(&stream);
	orma_trace_window_done(&window);
	if (r == -ENOTSUP)
		return orma_base_error_set(
			reterr, r, "it is compressed with zstd, which this orma was built without");
	return r == -EBADMSG || r == -EMSGSIZE ? damaged(r, at, reterr) : r;
}

const struct orma_format orma_format_zstd = {"zstd", false, true, detect_zstd, unpack_zstd};
