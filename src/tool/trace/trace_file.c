/* SPDX-License-Identifier: Apache-2.0
 * trace_file.c - reads a trace file, which is one protobuf message with a repeated field `packet`,
 * in a window.
 *
 * The window is a buffer that holds at least the current packet; it grows to the size of the
 * largest one. mmap() would be shorter, but cannot read a pipe, and raises SIGBUS when the file
 * shrinks. Reading the whole file would need memory of the trace's size.
 */
#include "tool/trace/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error_message.h"
#include "proto/wire.h"
#include "tool/trace/foreign_file.h"
#include "tool/trace/trace_unpack.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define PACKET_TAG   0x0a /* field 1, length-delimited */

struct window {
	int fd;
	struct orma_buf buf;
	size_t at;       /* bytes of buf that are consumed */
	uint64_t offset; /* position of buf.data[0] in the file */
	bool is_at_end;
	char beginning[ORMA_TOOL_BEGINNING_BYTES]; /* first bytes of the file */
	size_t beginning_size;
	struct orma_tool_unpacker unpacker;
};

static void keep_beginning(struct window *window, const void *data, size_t size)
{
	size = ORMA_MIN(size, sizeof(window->beginning) - window->beginning_size);
	memcpy(window->beginning + window->beginning_size, data, size);
	window->beginning_size += size;
}

/* Makes `size` bytes available at window->at. Returns 1, 0 when the file ends before, or -errno. */
static int window_need(struct window *window, size_t size)
{
	while (window->buf.size - window->at < size && !window->is_at_end) {
		if (window->at > 0) {
			window->offset += window->at;
			orma_base_buf_consume(&window->buf, window->at);
			window->at = 0;
		}
		size_t missing = size - window->buf.size;
		size_t wanted = missing > WINDOW_BYTES ? missing : WINDOW_BYTES;
		/* A wrong length must not cost memory that the file does not fill. */
		wanted = wanted > 4 * WINDOW_BYTES ? 4 * WINDOW_BYTES : wanted;
		if (orma_base_buf_reserve(&window->buf, wanted))
			return -ENOMEM;
		ssize_t got = read(window->fd, window->buf.data + window->buf.size, wanted);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			window->is_at_end = true;
		if (got > 0) {
			keep_beginning(window, window->buf.data + window->buf.size, (size_t)got);
			window->buf.size += (size_t)got;
		}
	}
	return window->buf.size - window->at >= size;
}

static int damaged(const struct window *window, const char *what, struct orma_error *reterr)
{
	return orma_base_error_set(reterr, -EBADMSG, "the trace is %s at byte %" PRIu64, what,
				   window->offset + window->at);
}

/* Reads one varint of at most ten bytes. Returns its size or -errno. */
static int window_varint(struct window *window, size_t skip, uint64_t *ret,
			 struct orma_error *reterr)
{
	int r = window_need(window, skip + ORMA_PROTO_VARINT_MAX);
	if (r < 0)
		return r;
	const uint8_t *begin = window->buf.data + window->at + skip;
	const uint8_t *end = window->buf.data + window->buf.size;
	const uint8_t *after = begin < end ? orma_proto_get_varint(begin, end, ret) : NULL;
	if (!after)
		return damaged(window,
			       window->is_at_end && end - begin < ORMA_PROTO_VARINT_MAX ? "cut"
											: "damaged",
			       reterr);
	return (int)(after - begin);
}

/* Returns the size of a field's value behind its tag, including its length varint, or -errno. */
static int64_t value_size(struct window *window, size_t tag_size, unsigned wire_type,
			  size_t *ret_header, struct orma_error *reterr)
{
	uint64_t value = 0;
	int size;
	*ret_header = tag_size;
	switch (wire_type) {
	case ORMA_PROTO_VARINT:
		return window_varint(window, tag_size, &value, reterr);
	case ORMA_PROTO_FIXED64:
		return 8;
	case ORMA_PROTO_FIXED32:
		return 4;
	case ORMA_PROTO_BYTES:
		size = window_varint(window, tag_size, &value, reterr);
		if (size < 0)
			return size;
		if (value > ORMA_TOOL_PACKET_MAX_BYTES)
			return damaged(window, "damaged", reterr);
		*ret_header = tag_size + (size_t)size;
		return (int64_t)value;
	default:
		return damaged(window, "damaged", reterr);
	}
}

/* Passes the packet to `fn`, or the packets that it holds. */
static int read_packet(struct window *window, size_t header, size_t size, orma_tool_packet_fn *fn,
		       void *ctx, struct orma_error *reterr)
{
	unsigned long long at = window->offset + window->at;
	int r = orma_tool_unpack(&window->unpacker, window->buf.data + window->at + header, size,
				 fn, ctx);

	switch (r) {
	case -EBADMSG:
		return damaged(window, "damaged inside the packet that begins", reterr);
	case -EMSGSIZE:
		return orma_base_error_set(
			reterr, r, "the packet at byte %llu holds more than %u MiB compressed", at,
			ORMA_TOOL_UNPACKED_MAX_BYTES >> 20);
	case -ENOTSUP:
		return orma_base_error_set(reterr, r,
					   "the packet at byte %llu is compressed by a codec that "
					   "this orma was built without",
					   at);
	default:
		return r;
	}
}

static int read_fields(struct window *window, orma_tool_packet_fn *fn, void *ctx,
		       struct orma_error *reterr)
{
	for (;;) {
		int r = window_need(window, 1);
		if (r <= 0)
			return r;
		uint64_t tag = 0;
		int tag_size = window_varint(window, 0, &tag, reterr);
		if (tag_size < 0)
			return tag_size;
		/* No field has the number 0, so a file of zeros ends here. */
		if (tag >> 3 == 0)
			return damaged(window, "damaged", reterr);
		size_t header;
		int64_t size = value_size(window, (size_t)tag_size, tag & 7, &header, reterr);
		if (size < 0)
			return (int)size;
		r = window_need(window, header + (size_t)size);
		if (r < 0)
			return r;
		if (r == 0)
			return damaged(window, "cut", reterr);
		if (tag == PACKET_TAG) {
			r = read_packet(window, header, (size_t)size, fn, ctx, reterr);
			if (r)
				return r;
		}
		window->at += header + (size_t)size;
	}
}

int orma_tool_trace_read(int fd, orma_tool_packet_fn *fn, void *ctx, struct orma_error *reterr)
{
	struct window window = {.fd = fd};
	int r = read_fields(&window, fn, ctx, reterr);
	const char *words = r == -EBADMSG ? orma_tool_foreign_file_words((struct orma_str){
						    window.beginning, window.beginning_size})
					  : NULL;
	if (words)
		orma_base_error_set(reterr, r, "%s", words);
	orma_base_buf_done(&window.buf);
	orma_tool_unpacker_done(&window.unpacker);
	return r;
}

size_t orma_tool_trace_next_packet(const void *data, size_t size, struct orma_str *ret)
{
	const uint8_t *begin = data, *end = begin + size;
	uint64_t packet_size;
	const uint8_t *at = size > 0 && *begin == PACKET_TAG
				    ? orma_proto_get_varint(begin + 1, end, &packet_size)
				    : NULL;

	if (!at || packet_size > (size_t)(end - at))
		return 0;
	*ret = (struct orma_str){(const char *)at, (size_t)packet_size};
	return (size_t)(at - begin) + (size_t)packet_size;
}

size_t orma_tool_trace_whole_bytes(const void *data, size_t size)
{
	struct orma_str packet;
	size_t at = 0, step;

	while ((step = orma_tool_trace_next_packet((const uint8_t *)data + at, size - at, &packet)))
		at += step;
	return at;
}
