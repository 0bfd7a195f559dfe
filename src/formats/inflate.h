/* SPDX-License-Identifier: Apache-2.0
 * inflate.h - unpacks deflate data (RFC 1951) of any size, in a fixed amount of memory.
 */
#ifndef ORMA_FORMATS_INFLATE_H
#define ORMA_FORMATS_INFLATE_H

#include "trace/trace_bytes.h"

/* A limit on what unpacked data may grow to, against files that are made to fill a disk: so much, and so many times the packed
 * size. */
#define ORMA_UNPACKED_FREE_BYTES (UINT64_C(256) << 20)
enum { ORMA_UNPACKED_RATIO_MAX = 250 };

static inline uint64_t orma_unpacked_limit(uint64_t packed_bytes)
{
	return ORMA_UNPACKED_FREE_BYTES + packed_bytes * ORMA_UNPACKED_RATIO_MAX;
}

/*
 * Unpacks one deflate stream. It begins at *address of the input and ends before `end`; *address becomes the place behind it.
 * The unpacked bytes are appended to the spool of `output`. *ret_crc is their CRC-32, and *ret_bytes is their number.
 *
 * Returns 0. It returns -EBADMSG if the stream is damaged or cut, -EMSGSIZE if it unpacks to more than max_bytes, -ENOMEM,
 * or another negative errno value if a file cannot be read or written. In all these cases the spool keeps the bytes that
 * were unpacked until then.
 */
int orma_inflate(const struct orma_trace_bytes *input, uint64_t *address, uint64_t end,
		 uint64_t max_bytes, struct orma_trace_bytes *output, uint32_t *ret_crc,
		 uint64_t *ret_bytes);
#endif
