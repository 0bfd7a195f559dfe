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
 * Unpacks what begins at *address of the input into the spool of `output`, and moves *address behind it. *ret_crc is the CRC-32
 * of what came out, and *ret_bytes its size. 0, -EBADMSG (damaged or cut; what came before is in the spool), -EMSGSIZE (more
 * than max_bytes), -ENOMEM, or an error of a file.
 */
int orma_inflate(const struct orma_trace_bytes *input, uint64_t *address, uint64_t end,
		 uint64_t max_bytes, struct orma_trace_bytes *output, uint32_t *ret_crc,
		 uint64_t *ret_bytes);
#endif
