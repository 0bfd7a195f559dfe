/* SPDX-License-Identifier: Apache-2.0
 * base91.h - bytes as text that can stand in HTML, and is 7 % shorter than base64.
 */
#ifndef ORMA_TRACE_BASE91_H
#define ORMA_TRACE_BASE91_H

#include "base/buf.h"
#include "base/str.h"

/* Appends bytes in base91. 0 or -ENOMEM. */
int orma_base91_append(struct orma_buf *buf, struct orma_str bytes);
/* Appends the bytes of a text in base91. 0, -ENOMEM, or -EBADMSG. */
int orma_base91_read(struct orma_buf *buf, struct orma_str text);

#endif
