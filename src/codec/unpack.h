/* SPDX-License-Identifier: Apache-2.0
 * unpack.h - the codecs of compressed packets, for src/trace.
 */
#ifndef ORMA_CODEC_UNPACK_H
#define ORMA_CODEC_UNPACK_H

#include <stdint.h>

#include "base/buf.h"

/* An orma_unpack_fn: unpacks the content of a field of a packet. It fails as orma_tool_decompress() does. */
int orma_codec_unpack(uint32_t field_id, const void *data_untrusted, size_t size, size_t max_bytes,
		      struct orma_buf *ret);

#endif
