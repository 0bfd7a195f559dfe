/* SPDX-License-Identifier: Apache-2.0
 * buf.h - a growing run of bytes on the heap, and a string builder.
 */
#ifndef ORMA_BASE_BUF_H
#define ORMA_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/str.h"

/* {0} is an empty buffer. Invariant: size <= capacity, and data is NULL when capacity is 0. */
struct orma_buf {
	uint8_t *data;
	size_t size, capacity;
};

void orma_base_buf_done(struct orma_buf *buf);
/* Makes room for `extra` bytes behind size: 0 or -ENOMEM. The content stays in both cases. */
int orma_base_buf_reserve(struct orma_buf *buf, size_t extra);
int orma_base_buf_append(struct orma_buf *buf, const void *data, size_t size);
int orma_base_buf_append_str(struct orma_buf *buf, const char *text);
int orma_base_buf_printf(struct orma_buf *buf, const char *format, ...) ORMA_PRINTF(2, 3);
int orma_base_buf_vprintf(struct orma_buf *buf, const char *format, va_list args) ORMA_PRINTF(2, 0);
/* Removes the first `size` bytes. */
void orma_base_buf_consume(struct orma_buf *buf, size_t size);
/* Returns the content as a string, or NULL when out of memory. The NUL is not counted in size. */
const char *orma_base_buf_cstr(struct orma_buf *buf);
/* Returns the content, which is valid until the buffer changes. */
static inline struct orma_str orma_base_buf_str(const struct orma_buf *buf)
{
	return (struct orma_str){(const char *)buf->data, buf->size};
}

#endif
