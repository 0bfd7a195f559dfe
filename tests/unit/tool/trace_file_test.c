/* SPDX-License-Identifier: Apache-2.0
 * trace_file_test.c - walking over trace files: whole, cut at every byte, damaged, and through a
 * pipe.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "proto/writer.h"
#include "tool/trace_file.h"

struct seen {
	int packets;
	size_t bytes;
	int answer;
};

static int count(void *ctx, const void *data, size_t size)
{
	struct seen *seen = ctx;
	(void)data;
	seen->packets++;
	seen->bytes += size;
	return seen->answer;
}

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, data, size), 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int read_bytes(const void *data, size_t size, struct seen *seen, struct orma_error *error)
{
	int fd = file_of(data, size);
	int result = orma_tool_trace_read(fd, count, seen, error);
	close(fd);
	return result;
}

/* Three packets of 3, 0 and 200 bytes, with a field between them that is not a packet. */
static void make_trace(struct orma_buf *buf)
{
	static const uint8_t content[200];
	struct orma_proto_heap_writer heap;
	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_write_bytes(&heap.writer, 1, "\x08\x96\x01", 3);
	orma_proto_write_bytes(&heap.writer, 1, "", 0);
	orma_proto_write_varint(&heap.writer, 7, 300);
	orma_proto_write_fixed64(&heap.writer, 8, 1);
	orma_proto_write_fixed32(&heap.writer, 9, 1);
	orma_proto_write_bytes(&heap.writer, 1, content, sizeof(content));
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
}

ORMA_TEST(every_packet_is_seen_and_other_fields_are_skipped)
{
	struct orma_buf buf = {0};
	struct seen seen = {0};
	make_trace(&buf);
	CHECK_INT(read_bytes(buf.data, buf.size, &seen, NULL), 0);
	CHECK_INT(seen.packets, 3);
	CHECK_INT(seen.bytes, 203);
	orma_base_buf_done(&buf);
}

ORMA_TEST(an_empty_file_is_an_empty_trace)
{
	struct seen seen = {0};
	CHECK_INT(read_bytes("", 0, &seen, NULL), 0);
	CHECK_INT(seen.packets, 0);
}

ORMA_TEST(a_trace_cut_at_any_byte_gives_its_whole_packets_and_says_where_it_is_cut)
{
	struct orma_buf buf = {0};
	make_trace(&buf);
	for (size_t size = 1; size < buf.size; size++) {
		struct seen seen = {0};
		struct orma_error error = {0};
		int result = read_bytes(buf.data, size, &seen, &error);
		/* Between two fields a cut cannot be told from an end. */
		CHECK(result == 0 || (result == -EBADMSG && strstr(error.message, "cut at byte")));
		CHECK(seen.packets <= 2);
	}
	orma_base_buf_done(&buf);
}

ORMA_TEST(bytes_that_are_no_trace_are_refused)
{
	static const char *const damaged[] = {
		"\x0b\x01",                                     /* a group */
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", /* a length beyond 64 bits */
		"\x0a\xff\xff\xff\xff\x7f",                     /* a packet of 32 GiB */
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", /* an endless tag */
	};
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		struct seen seen = {0};
		struct orma_error error = {0};
		CHECK_INT(read_bytes(damaged[i], strlen(damaged[i]), &seen, &error), -EBADMSG);
		CHECK(strstr(error.message, "at byte 0") != NULL);
	}
}

ORMA_TEST(the_callback_can_end_the_walk)
{
	struct orma_buf buf = {0};
	struct seen stop = {.answer = 1}, fail = {.answer = -EIO};
	make_trace(&buf);
	CHECK_INT(read_bytes(buf.data, buf.size, &stop, NULL), 1);
	CHECK_INT(stop.packets, 1);
	CHECK_INT(read_bytes(buf.data, buf.size, &fail, NULL), -EIO);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_trace_is_read_from_a_pipe_in_small_pieces)
{
	struct orma_buf buf = {0};
	struct seen seen = {0};
	int fds[2];
	make_trace(&buf);
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	CHECK_INT(orma_base_fd_write_all(fds[1], buf.data, buf.size), 0);
	close(fds[1]);
	CHECK_INT(orma_tool_trace_read(fds[0], count, &seen, NULL), 0);
	CHECK_INT(seen.packets, 3);
	close(fds[0]);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_summary_counts_packets_by_source_and_losses)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested packet, payload, stats;
	struct orma_tool_summary summary;

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_nested_begin(&heap.writer, &packet, 1); /* sys_stats */
	orma_proto_nested_begin(&heap.writer, &payload, 7);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet,
				1); /* a clock snapshot of the same sequence */
	orma_proto_nested_begin(&heap.writer, &payload, 6);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet,
				1); /* nothing known, of a sequence of its own */
	orma_proto_write_varint(&heap.writer, 10, 9);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet, 1); /* track_event behind a gap */
	orma_proto_nested_begin(&heap.writer, &payload, 11);
	orma_proto_nested_end(&heap.writer, &payload);
	orma_proto_write_varint(&heap.writer, 42, 65);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet, 1); /* the service's trace_stats */
	orma_proto_write_varint(&heap.writer, 10, 1);
	orma_proto_nested_begin(&heap.writer, &payload, 35);
	orma_proto_nested_begin(&heap.writer, &stats, 1);
	orma_proto_write_varint(&heap.writer, 3, 5);
	orma_proto_nested_end(&heap.writer, &packet);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);

	int fd = file_of(buf.data, buf.size);
	CHECK_INT(orma_tool_trace_summarize(fd, &summary, NULL), 0);
	close(fd);
	CHECK_INT(summary.packets, 5);
	CHECK_INT(summary.source_count, 4);
	CHECK_STR(summary.sources[0].name, "linux.sys_stats");
	CHECK_INT(summary.sources[0].packets, 2);
	CHECK_STR(summary.sources[1].name, "track_event");
	CHECK_STR(summary.sources[2].name, "service");
	CHECK_STR(summary.sources[3].name, "other");
	CHECK_INT(summary.gaps, 1);
	CHECK_INT(summary.lost_chunks, 5);
	orma_base_buf_done(&buf);
}
