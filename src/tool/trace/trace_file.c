/* SPDX-License-Identifier: Apache-2.0
 * trace_file.c - reads a trace file, which is one protobuf message with a repeated field `packet`,
 * in a window.
 *
 * The window is a buffer that holds at least the current packet; it grows to the size of the
 * largest one. mmap() would be shorter, but cannot read a pipe, and raises SIGBUS when the file
 * shrinks. Reading the whole file would need memory of the trace's size.
 *
 * Behind damage, a packet is told from other bytes by its frame (it ends where another begins, or with
 * the file), by its fields (all can be read), and by its two trusted fields, which the service appends to
 * every packet and which no message inside of a packet has. Only packets that hold compressed ones lack
 * them, and are told by the first bytes of their codec. Rejected: the synchronization marker, which
 * only some configs ask for, every few seconds.
 */
#include "tool/trace/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error_message.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/foreign_file.h"
#include "tool/trace/trace_unpack.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define PACKET_TAG   0x0a /* field 1, length-delimited */
/* A packet behind damage is looked for up to this size. A longer one is skipped with the damage. */
#define FOUND_PACKET_MAX_BYTES ((size_t)4 << 20)

struct window {
	int fd;
	struct orma_buf buf;
	size_t at;       /* bytes of buf that are consumed */
	uint64_t offset; /* position of buf.data[0] in the file */
	bool is_at_end;
	bool has_packets;                          /* one was read */
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

/* The file ends within the field. `header` is 0 if the field is not a packet. */
static int read_cut_field(struct window *window, size_t header, orma_tool_packet_fn *fn, void *ctx,
			  struct orma_error *reterr)
{
	size_t left = window->buf.size - window->at;
	int r = -EBADMSG;

	if (window->unpacker.rescues && header > 0 && left > header)
		r = orma_tool_unpack_cut(&window->unpacker, window->buf.data + window->at + header,
					 left - header, fn, ctx);
	return r == -EBADMSG ? damaged(window, "cut", reterr) : r;
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
			return read_cut_field(window, tag == PACKET_TAG ? header : 0, fn, ctx,
					      reterr);
		if (tag == PACKET_TAG) {
			r = read_packet(window, header, (size_t)size, fn, ctx, reterr);
			if (r)
				return r;
			window->has_packets = true;
		}
		window->at += header + (size_t)size;
	}
}

/* Names the kind of a file that is no trace, or returns NULL. */
static const char *foreign_words(const struct window *window)
{
	return orma_tool_foreign_file_words(
		(struct orma_str){window->beginning, window->beginning_size});
}

/* Releases the window, after the walk ended with `r`. Returns the result of the walk. */
static int window_done(struct window *window, int r, struct orma_error *reterr)
{
	const char *words = r == -EBADMSG ? foreign_words(window) : NULL;

	orma_base_buf_done(&window->buf);
	orma_tool_unpacker_done(&window->unpacker);
	return words ? orma_base_error_set(reterr, -EPROTO, "%s", words) : r;
}

/* --- damaged files ---------------------------------------------------------------------------- */

/* Does a packet begin here? Returns 1, 0 or -errno. */
static int is_packet(struct window *window)
{
	uint64_t size = 0;
	int r = window_need(window, 1 + ORMA_PROTO_VARINT_MAX);

	if (r < 0)
		return r;
	const uint8_t *begin = window->buf.data + window->at;
	const uint8_t *content =
		orma_proto_get_varint(begin + 1, window->buf.data + window->buf.size, &size);
	if (*begin != PACKET_TAG || !content || size > FOUND_PACKET_MAX_BYTES)
		return 0;
	size_t header = (size_t)(content - begin);
	r = window_need(window, header + (size_t)size + 1);
	if (r < 0 || window->buf.size - window->at < header + (size_t)size)
		return r < 0 ? r : 0;
	begin = window->buf.data + window->at;
	if (r > 0 && begin[header + size] != PACKET_TAG)
		return 0;
	return orma_tool_looks_like_packet(begin + header, (size_t)size);
}

/* Leaves the damage that begins here: moves to the next packet, or to the end. 0 or -errno. */
static int leave_damage(struct window *window)
{
	int r;

	do {
		window->at++;
		r = window_need(window, 1);
		if (r <= 0)
			return r;
		const uint8_t *begin = window->buf.data + window->at;
		size_t left = window->buf.size - window->at;
		const uint8_t *tag = memchr(begin, PACKET_TAG, left);
		/* The last byte is looked at again, so that the loop's step leaves it. */
		window->at += tag ? (size_t)(tag - begin) : left - 1;
		r = is_packet(window);
	} while (r == 0);
	return r < 0 ? r : 0;
}

/* Moves behind the damage that begins here, and passes it to `gap_fn`. */
static int report_damage(struct window *window, orma_tool_gap_fn *gap_fn, void *ctx)
{
	struct orma_tool_unpacker *unpacker = &window->unpacker;
	struct orma_tool_damage damage = {
		.begin = window->offset + window->at,
		.rescued_packets = unpacker->rescued_packets,
		.rescued_bytes = unpacker->rescued_bytes,
		.lost_bytes = unpacker->lost_bytes,
	};
	int r = leave_damage(window);

	unpacker->rescued_packets = 0;
	window->has_packets |= damage.rescued_packets > 0;
	damage.end = window->offset + window->at;
	damage.is_cut = window->is_at_end && window->at == window->buf.size;
	return r < 0 ? r : gap_fn(ctx, &damage);
}

static int repair_fields(struct window *window, orma_tool_packet_fn *fn, orma_tool_gap_fn *gap_fn,
			 void *ctx, struct orma_error *reterr)
{
	bool has_gaps = false;
	int r;

	while ((r = read_fields(window, fn, ctx, reterr)) == -EBADMSG) {
		if (!window->has_packets && foreign_words(window))
			return r;
		has_gaps = true;
		r = report_damage(window, gap_fn, ctx);
		if (r)
			return r;
	}
	if (r == 0 && has_gaps && !window->has_packets)
		return orma_base_error_set(reterr, -EBADMSG, "there is no packet in it");
	return r;
}

int orma_tool_trace_repair(int fd, orma_tool_packet_fn *fn, orma_tool_gap_fn *gap_fn, void *ctx,
			   struct orma_error *reterr)
{
	struct window window = {.fd = fd, .unpacker.rescues = true};
	int r = repair_fields(&window, fn, gap_fn, ctx, reterr);

	return window_done(&window, r, reterr);
}

int orma_tool_trace_read(int fd, orma_tool_packet_fn *fn, void *ctx, struct orma_error *reterr)
{
	struct window window = {.fd = fd};
	int r = read_fields(&window, fn, ctx, reterr);
	return window_done(&window, r, reterr);
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
