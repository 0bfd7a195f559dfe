/* SPDX-License-Identifier: Apache-2.0
 * ctf_stream.c - reads the packets of a stream, one at a time into memory.
 *
 * A packet that makes no sense is left out, and so is the rest of one with an event that makes none; the next begins where
 * the size says. When even that is unknown, the rest of the file is left out.
 */
#include "formats/ctf_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"

#define STREAM_MAGIC UINT32_C(0xc1fc1fc1)
/* More events than a tracer can discard from one packet to the next. */
#define DISCARDED_MAX (UINT64_C(1) << 48)
enum { HEAD_BYTES = 4096 };

static int read_at(int fd, uint64_t at, size_t size, struct orma_buf *buf)
{
	buf->size = 0;
	if (orma_base_buf_reserve(buf, size + ORMA_CTF_READ_AHEAD) < 0)
		return -ENOMEM;
	while (buf->size < size) {
		ssize_t r =
			pread(fd, buf->data + buf->size, size - buf->size, (off_t)(at + buf->size));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break; /* the file has become shorter */
		buf->size += (size_t)r;
	}
	memset(buf->data + buf->size, 0, ORMA_CTF_READ_AHEAD);
	return 0;
}

/* Whether the packet is this trace's, by its magic number and its uuid. */
static bool is_own(const struct orma_ctf_trace *trace, const struct orma_ctf_reader *reader)
{
	const struct orma_ctf_value *uuid = orma_ctf_reader_find(reader, "uuid");
	if (orma_ctf_reader_number(reader, "magic", STREAM_MAGIC) != STREAM_MAGIC)
		return false;
	if (!uuid || !trace->has_uuid || uuid->step->op != ORMA_CTF_BEGIN_ARRAY)
		return true;
	const struct orma_ctf_value *end = reader->values + reader->value_count;
	for (unsigned i = 0; i < 16 && ++uuid < end && uuid->step->op <= ORMA_CTF_READ_BITS; i++)
		if ((uint8_t)uuid->number != trace->uuid[i])
			return false;
	return true;
}

static bool find_number(const struct orma_ctf_reader *reader, const char *name, uint64_t *ret)
{
	const struct orma_ctf_value *value = orma_ctf_reader_find(reader, name);
	bool is_found = value && value->step->op <= ORMA_CTF_READ_BITS;
	if (is_found)
		*ret = value->number;
	return is_found;
}

static void describe(const struct orma_ctf_reader *reader, uint64_t left_bytes,
		     struct orma_ctf_packet *ret)
{
	uint64_t packet_bits = left_bytes * 8;
	find_number(reader, "packet_size", &packet_bits);
	ret->content_bits = packet_bits;
	find_number(reader, "content_size", &ret->content_bits);
	ret->bytes = packet_bits / 8 + (packet_bits % 8 != 0);
	ret->head_bits = reader->at;
	ret->has_begin = find_number(reader, "timestamp_begin", &ret->begin);
	ret->has_end = find_number(reader, "timestamp_end", &ret->end);
	ret->has_discarded = find_number(reader, "events_discarded", &ret->discarded);
	ret->has_number = find_number(reader, "packet_seq_num", &ret->number);
	ret->has_cpu = find_number(reader, "cpu_id", &ret->cpu);
}

/* Reads header and context of the packet in the reader's bytes. */
static int read_head(const struct orma_ctf_trace *trace, struct orma_ctf_reader *reader,
		     uint64_t left_bytes, struct orma_ctf_stream_plan **ret_plan,
		     struct orma_ctf_packet *ret)
{
	uint64_t id = 0;
	*ret = (struct orma_ctf_packet){0};
	reader->at = 0;
	reader->value_count = 0;
	int r = orma_ctf_reader_run(reader, &trace->packet_header);
	if (r < 0)
		return r;
	if (!is_own(trace, reader))
		return -EBADMSG;
	bool has_id = find_number(reader, "stream_id", &id);
	ret->has_instance = find_number(reader, "stream_instance_id", &ret->instance);
	*ret_plan = has_id || trace->metadata.streams.count > 1 ? orma_ctf_trace_stream(trace, id)
								: &trace->streams[0];
	if (!*ret_plan)
		return -EBADMSG;
	reader->value_count = 0;
	r = orma_ctf_reader_run(reader, &(*ret_plan)->packet_context);
	if (r < 0)
		return r;
	describe(reader, left_bytes, ret);
	return ret->content_bits > ret->bytes * 8 || ret->head_bits > ret->content_bits ||
			       ret->bytes == 0
		       ? -EBADMSG
		       : 0;
}

/* Reads as many bytes as the head of a packet needs. -ENODATA: the file ends before it does. */
static int load_head(const struct orma_ctf_trace *trace, int fd, uint64_t at, uint64_t left,
		     struct orma_buf *bytes, struct orma_ctf_reader *reader,
		     struct orma_ctf_stream_plan **ret_plan, struct orma_ctf_packet *ret)
{
	int r = -ENODATA;
	for (size_t size = HEAD_BYTES; size <= ORMA_CTF_HEAD_MAX && r == -ENODATA; size *= 16) {
		r = read_at(fd, at, (size_t)ORMA_MIN(left, (uint64_t)size), bytes);
		if (r < 0)
			return r;
		reader->data = bytes->data;
		reader->end = (uint64_t)bytes->size * 8;
		r = read_head(trace, reader, left, ret_plan, ret);
		if (r == -ENODATA && bytes->size == left)
			break;
	}
	return r;
}

int orma_ctf_file_look(const struct orma_ctf_trace *trace, int fd, struct orma_ctf_file *ret)
{
	struct orma_buf bytes = {0};
	struct orma_ctf_reader reader = {0};
	struct stat status;
	if (fstat(fd, &status) < 0)
		return -errno;
	uint64_t size = ret->bytes = (uint64_t)status.st_size;
	int r = size == 0 ? -ENODATA
			  : load_head(trace, fd, 0, size, &bytes, &reader, &ret->plan, &ret->first);
	orma_ctf_reader_done(&reader);
	orma_base_buf_done(&bytes);
	return r == 0 ? 1 : r == -ENODATA ? 0 : r;
}

static int open_next_file(struct orma_ctf_stream *stream)
{
	struct stat status;
	stream->fd = orma_base_fd_close(stream->fd);
	if (stream->next_file == stream->file_count)
		return 0;
	stream->fd = orma_base_fd_avoid_standard(
		openat(stream->folder_fd, stream->files[stream->next_file++].path,
		       O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	if (stream->fd < 0 || fstat(stream->fd, &status) < 0)
		return -errno;
	stream->file_size = (uint64_t)status.st_size;
	stream->file_at = 0;
	return 1;
}

/* Counts what is missing between two packets. The counter of a stream that is whole begins at 0. LTTng sometimes writes 0 into one
 * packet after larger numbers; what makes no sense is left out, and the next is compared with the last that made some. */
static void count_losses(struct orma_ctf_stream *stream)
{
	struct orma_ctf_packet *packet = &stream->packet;
	const struct orma_ctf_packet *before = &stream->before;
	bool has_beginning = stream->has_before || (packet->has_number && packet->number == 0);
	uint64_t base = stream->has_before ? before->discarded : 0;
	/* A counter that goes back is less than its base by more than the limit, too: the difference has no sign. */
	if (has_beginning && packet->discarded - base > DISCARDED_MAX)
		packet->discarded = base;
	if (packet->has_discarded && has_beginning && packet->discarded > base) {
		stream->counts.discarded_events += packet->discarded - base;
		stream->has_loss = true;
	}
	if (packet->has_number && stream->has_before && packet->number > before->number + 1) {
		stream->counts.lost_packets += packet->number - before->number - 1;
		stream->has_loss = true;
	}
	stream->before = *packet;
	stream->has_before = true;
}

/* Leaves the rest of the file out. */
static int give_up_file(struct orma_ctf_stream *stream)
{
	stream->counts.bad_packets++;
	stream->file_at = stream->file_size;
	return -EAGAIN;
}

/* Reads the next packet of the open file. 1, or -EAGAIN: look again. */
static int next_packet(struct orma_ctf_stream *stream)
{
	struct orma_ctf_reader *reader = &stream->reader;
	struct orma_ctf_stream_plan *plan;
	uint64_t left = stream->file_size - stream->file_at;
	int r = load_head(stream->trace, stream->fd, stream->file_at, left, &stream->bytes, reader,
			  &plan, &stream->packet);
	if (r == -ENODATA) {
		stream->counts.cut_packets++;
		stream->file_at = stream->file_size;
		return -EAGAIN;
	}
	if (r == -EBADMSG || r == -EMSGSIZE ||
	    (r == 0 && (plan != stream->plan || stream->packet.bytes > ORMA_CTF_PACKET_MAX)))
		return give_up_file(stream);
	uint64_t size = ORMA_MIN(stream->packet.bytes, left);
	if (r == 0 && stream->bytes.size < size)
		r = read_at(stream->fd, stream->file_at, (size_t)size, &stream->bytes);
	if (r < 0)
		return r;
	stream->file_at += size;
	stream->counts.packets++;
	stream->counts.cut_packets += size < stream->packet.bytes;
	reader->data = stream->bytes.data;
	reader->at = stream->packet.head_bits;
	reader->end = ORMA_MIN(stream->packet.content_bits, (uint64_t)stream->bytes.size * 8);
	if (stream->packet.has_begin)
		reader->clock = stream->packet.begin;
	count_losses(stream);
	return 1;
}

static int read_event(struct orma_ctf_stream *stream)
{
	struct orma_ctf_reader *reader = &stream->reader;
	reader->id = 0;
	reader->value_count = 0;
	int r = orma_ctf_reader_run(reader, &stream->plan->event_header);
	if (r < 0)
		return r;
	stream->event = orma_ctf_stream_event(stream->plan, reader->id);
	if (!stream->event)
		return -EBADMSG;
	reader->value_count = 0;
	return orma_ctf_reader_run(reader, &stream->event->plan);
}

static int next_event(struct orma_ctf_stream *stream)
{
	uint64_t begin = stream->reader.at;
	if (begin >= stream->reader.end)
		return -EAGAIN;
	int r = read_event(stream);
	/* An event without bits would be there for ever. */
	if (r == 0 && stream->reader.at > begin) {
		stream->counts.events++;
		return 1;
	}
	if (r < 0 && r != -ENODATA && r != -EBADMSG && r != -EMSGSIZE)
		return r;
	bool is_cut = r == -ENODATA && stream->reader.end < stream->packet.content_bits;
	stream->counts.bad_packets += !is_cut;
	return -EAGAIN;
}

int orma_ctf_stream_next(struct orma_ctf_stream *stream)
{
	stream->has_loss = false;
	for (;;) {
		int r = stream->has_packet ? next_event(stream) : -EAGAIN;
		if (r != -EAGAIN)
			return r;
		stream->has_packet = false;
		bool is_in_file = stream->fd >= 0 && stream->file_at < stream->file_size;
		r = is_in_file ? next_packet(stream) : open_next_file(stream);
		if (r <= 0 && r != -EAGAIN)
			return r;
		stream->has_packet = is_in_file && r == 1;
	}
}

void orma_ctf_stream_done(struct orma_ctf_stream *stream)
{
	stream->fd = orma_base_fd_close(stream->fd);
	orma_ctf_reader_done(&stream->reader);
	orma_base_buf_done(&stream->bytes);
}
