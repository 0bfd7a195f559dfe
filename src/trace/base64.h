/* SPDX-License-Identifier: Apache-2.0
 * base64.h - bytes as text.
 */
#ifndef ORMA_TRACE_BASE64_H
#define ORMA_TRACE_BASE64_H

#include "base/buf.h"
#include "base/str.h"

/* Appends bytes in base64. 0 or -ENOMEM. */
int orma_base64_append(struct orma_buf *buf, struct orma_str bytes);

#endif
