/* SPDX-License-Identifier: Apache-2.0
 * buf.c - bytes in one heap block that doubles when it is full.
 *
 * Invariant: size <= capacity, and data is NULL if and only if capacity is 0. Rejected: a chain of
 * blocks, because all users need one contiguous run; a small inline buffer, because the struct
 * could then not be moved.
 */
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"

enum { FIRST_BYTES = 64 };

void orma_base_buf_done(struct orma_buf *buf)
{
	orma_base_free(buf->data);
	*buf = (struct orma_buf){0};
}

int orma_base_buf_reserve(struct orma_buf *buf, size_t extra)
{
	ORMA_ASSERT(buf->size <= buf->capacity && !buf->data == (buf->capacity == 0));
	if (buf->capacity - buf->size >= extra)
		return 0;
	size_t least;
	if (__builtin_add_overflow(buf->size, extra, &least))
		return -ENOMEM;
	size_t capacity = ORMA_MAX(least, (size_t)FIRST_BYTES);
	size_t doubled;
	if (!__builtin_mul_overflow(buf->capacity, 2, &doubled))
		capacity = ORMA_MAX(capacity, doubled);
	uint8_t *data = orma_base_realloc(buf->data, capacity);
	if (!data)
		return -ENOMEM;
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int orma_base_buf_append(struct orma_buf *buf, const void *data, size_t size)
{
	if (size == 0)
		return 0;
	int r = orma_base_buf_reserve(buf, size);
	if (r < 0)
		return r;
	memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	return 0;
}

int orma_base_buf_append_str(struct orma_buf *buf, const char *text)
{
	return orma_base_buf_append(buf, text, strlen(text));
}

int orma_base_buf_vprintf(struct orma_buf *buf, const char *format, va_list args)
{
	va_list copy;
	va_copy(copy, args);
	int length = vsnprintf(NULL, 0, format, copy);
	va_end(copy);
	if (length < 0)
		return -EINVAL;
	/* vsnprintf() adds a NUL, which needs room but does not count. */
	int r = orma_base_buf_reserve(buf, (size_t)length + 1);
	if (r < 0)
		return r;
	vsnprintf((char *)buf->data + buf->size, (size_t)length + 1, format, args);
	buf->size += (size_t)length;
	return 0;
}

int orma_base_buf_printf(struct orma_buf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int r = orma_base_buf_vprintf(buf, format, args);
	va_end(args);
	return r;
}

void orma_base_buf_consume(struct orma_buf *buf, size_t size)
{
	size = ORMA_MIN(size, buf->size);
	if (size == 0)
		return;
	buf->size -= size;
	memmove(buf->data, buf->data + size, buf->size);
}

const char *orma_base_buf_cstr(struct orma_buf *buf)
{
	if (orma_base_buf_reserve(buf, 1) < 0)
		return NULL;
	buf->data[buf->size] = '\0';
	return (const char *)buf->data;
}
