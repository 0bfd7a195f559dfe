/* SPDX-License-Identifier: Apache-2.0
 * zstd_unpack.h - unpacks zstd frames in memory.
 */
#ifndef ORMA_FORMATS_ZSTD_UNPACK_H
#define ORMA_FORMATS_ZSTD_UNPACK_H

#include "base/str.h"
#include "trace/trace_bytes.h"

/* Adds what is unpacked to the spool. 0, -EBADMSG (what came before the damage is there), -EMSGSIZE (more than max_bytes),
 * -ENOTSUP (this build lacks it), -ENOMEM or an error of writing a file. */
int orma_zstd_unpack(struct orma_str data_untrusted, uint64_t max_bytes,
		     struct orma_trace_bytes *output);

#endif
