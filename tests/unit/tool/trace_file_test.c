/* SPDX-License-Identifier: Apache-2.0
 * trace_file_test.c - reading trace files that are whole, cut at any byte, damaged, or a pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "codec/compression.h"
#include "harness.h"
#include "proto/writer.h"
#include "tool/trace/trace_file.h"

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
	int r = orma_tool_trace_read(fd, count, seen, error);
	close(fd);
	return r;
}

/* Writes three packets of 3, 0 and 200 bytes, with a field between them that is not a packet. */
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
		int r = read_bytes(buf.data, size, &seen, &error);
		/* A cut between two fields looks like the end of the file. */
		CHECK(r == 0 || (r == -EBADMSG && strstr(error.message, "cut at byte")));
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
	orma_proto_write_varint(&heap.writer, 42, 257);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet, 1); /* track_event behind a gap */
	orma_proto_nested_begin(&heap.writer, &payload, 11);
	orma_proto_nested_end(&heap.writer, &payload);
	orma_proto_write_varint(&heap.writer, 42, 3);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet, 1); /* the service's trace_stats */
	orma_proto_write_varint(&heap.writer, 10, 1);
	orma_proto_nested_begin(&heap.writer, &payload, 35);
	orma_proto_nested_begin(&heap.writer, &stats, 1);
	orma_proto_write_varint(&heap.writer, 3, 5);
	orma_proto_nested_end(&heap.writer, &packet);
	orma_proto_nested_begin(&heap.writer, &packet, 1); /* its remote_clock_sync */
	orma_proto_nested_begin(&heap.writer, &payload, 107);
	orma_proto_nested_end(&heap.writer, &packet);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);

	int fd = file_of(buf.data, buf.size);
	CHECK_INT(orma_tool_trace_summarize(fd, &summary, NULL), 0);
	close(fd);
	CHECK_INT(summary.packets, 6);
	CHECK_INT(summary.source_count, 4);
	CHECK_STR(summary.sources[0].name, "linux.sys_stats");
	CHECK_INT(summary.sources[0].packets, 2);
	CHECK_STR(summary.sources[1].name, "track_event");
	CHECK_STR(summary.sources[2].name, "service");
	CHECK_INT(summary.sources[2].packets, 2);
	CHECK_STR(summary.sources[3].name, "other");
	CHECK_INT(summary.gaps, 1);
	CHECK_INT(summary.full_gaps, 1);
	CHECK_INT(summary.lost_chunks, 0);
	CHECK_INT(summary.buffer_count, 1);
	CHECK_INT(summary.buffers[0].overwritten_chunks, 5);
	orma_base_buf_done(&buf);
}

/* --- ring buffers that wrapped ---------------------------------------------------------------- */

static void put_packet(struct orma_proto_writer *writer, uint64_t sequence, uint64_t time_ns,
		       uint64_t clock, uint64_t flags, uint64_t loss)
{
	struct orma_proto_nested packet, payload;

	orma_proto_nested_begin(writer, &packet, 1);
	orma_proto_write_varint(writer, 10, sequence);
	orma_proto_write_varint(writer, 8, time_ns);
	if (clock)
		orma_proto_write_varint(writer, 58, clock);
	orma_proto_write_varint(writer, 13, flags);
	if (loss)
		orma_proto_write_varint(writer, 42, loss);
	if (flags & 1) {
		orma_proto_nested_begin(writer, &payload, 59); /* trace_packet_defaults */
		orma_proto_write_varint(writer, 58, 64);
		orma_proto_nested_end(writer, &payload);
	}
	orma_proto_nested_begin(writer, &payload, 11);
	orma_proto_nested_end(writer, &payload);
	orma_proto_nested_end(writer, &packet);
}

static void put_reading(struct orma_proto_writer *writer, uint64_t clock, uint64_t time_ns)
{
	struct orma_proto_nested reading;

	orma_proto_nested_begin(writer, &reading, 1);
	orma_proto_write_varint(writer, 1, clock);
	orma_proto_write_varint(writer, 2, time_ns);
	orma_proto_write_bool(writer, 3, clock == 64);
	orma_proto_nested_end(writer, &reading);
}

/* Defines the clock of the sequence, on which timestamps are differences. */
static void put_clock(struct orma_proto_writer *writer, uint64_t sequence, uint64_t time_ns)
{
	struct orma_proto_nested packet, snapshot;

	orma_proto_nested_begin(writer, &packet, 1);
	orma_proto_write_varint(writer, 10, sequence);
	orma_proto_nested_begin(writer, &snapshot, 6);
	put_reading(writer, 6, time_ns);
	put_reading(writer, 64, time_ns);
	orma_proto_nested_end(writer, &snapshot);
	orma_proto_nested_end(writer, &packet);
}

static void put_buffer_stats(struct orma_proto_writer *writer, uint64_t size_bytes,
			     uint64_t overwritten_chunks)
{
	struct orma_proto_nested buffer;

	orma_proto_nested_begin(writer, &buffer, 1);
	orma_proto_write_varint(writer, 3, overwritten_chunks);
	orma_proto_write_varint(writer, 12, size_bytes);
	orma_proto_nested_end(writer, &buffer);
}

static void put_writer_stats(struct orma_proto_writer *writer, uint64_t sequence, uint64_t buffer)
{
	struct orma_proto_nested stats;

	orma_proto_nested_begin(writer, &stats, 18);
	orma_proto_write_varint(writer, 1, sequence);
	orma_proto_write_varint(writer, 4, buffer);
	orma_proto_nested_end(writer, &stats);
}

/* Makes a trace of two buffers, of which the second has wrapped. Differences to a packet that is lost
 * do not count. */
static void make_wrapped_trace(struct orma_buf *buf, bool is_streamed)
{
	const uint64_t begin_ns = UINT64_C(5000000000);
	struct orma_proto_nested packet, stats, config;
	struct orma_proto_heap_writer heap;

	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_nested_begin(&heap.writer, &packet, 1);
	orma_proto_write_varint(&heap.writer, 10, 1);
	orma_proto_nested_begin(&heap.writer, &config, 33);
	if (is_streamed)
		orma_proto_write_bool(&heap.writer, 8, true);
	orma_proto_nested_end(&heap.writer, &config);
	orma_proto_nested_end(&heap.writer, &packet);
	put_packet(&heap.writer, 2, begin_ns, 0, 0, 0);
	put_packet(&heap.writer, 3, 77, 0, 2, 65); /* a difference to a packet that is gone */
	put_packet(&heap.writer, 3, begin_ns + UINT64_C(6000000000), 6, 1, 0);
	put_packet(&heap.writer, 3, 78, 0, 2, 0);
	put_packet(&heap.writer, 3, begin_ns + UINT64_C(9250000000), 6, 1, 0);
	put_clock(&heap.writer, 3, begin_ns + UINT64_C(9250000000));
	put_packet(&heap.writer, 3, 150000000, 0, 2, 0);
	put_packet(&heap.writer, 3, UINT64_C(5000000000), 0, 2, 64); /* behind a gap */
	put_packet(&heap.writer, 3, 1, 3, 0, 0);                     /* another clock */
	orma_proto_nested_begin(&heap.writer, &packet, 1);
	orma_proto_write_varint(&heap.writer, 10, 1);
	orma_proto_nested_begin(&heap.writer, &stats, 35);
	put_buffer_stats(&heap.writer, 1 << 20, 0);
	put_buffer_stats(&heap.writer, 2 << 20, 34);
	put_writer_stats(&heap.writer, 2, 0);
	put_writer_stats(&heap.writer, 3, 1);
	orma_proto_nested_end(&heap.writer, &stats);
	orma_proto_nested_end(&heap.writer, &packet);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
}

static void print_summary(const struct orma_buf *trace, char *text, size_t size)
{
	struct orma_tool_summary summary;
	int fd = file_of(trace->data, trace->size);
	FILE *out = fmemopen(text, size, "w");

	CHECK(out);
	CHECK_INT(orma_tool_trace_summarize(fd, &summary, NULL), 0);
	orma_tool_summary_print(&summary, out);
	fclose(out);
	close(fd);
}

ORMA_TEST(a_summary_says_how_much_time_a_ring_that_wrapped_covers_and_what_keeps_more)
{
	struct orma_buf buf = {0};
	char text[2048];

	make_wrapped_trace(&buf, false);
	print_summary(&buf, text, sizeof(text));
	CHECK(strstr(text, "lost: 34 chunks overwritten\n"));
	CHECK(strstr(text, "  Buffer 1 (2048 KB) was full and overwrote its oldest data: the trace "
			   "covers its last 3.4 s. A larger buffer (-b SIZE) keeps more, "
			   "--stream keeps all.\n"));
	CHECK(!strstr(text, "Buffer 0"));
	buf.size = 0;
	make_wrapped_trace(&buf, true);
	print_summary(&buf, text, sizeof(text));
	CHECK(strstr(text, "was filled faster than the file took it"));
	CHECK(!strstr(text, "--stream"));
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_summary_says_in_milliseconds_what_is_shorter_than_a_second)
{
	const struct orma_tool_summary summary = {
		.buffers = {{.first_ns = 1, .last_ns = 12300001, .overwritten_chunks = 1}},
		.buffer_count = 1,
	};
	char text[1000];
	FILE *out = fmemopen(text, sizeof(text), "w");

	CHECK(out);
	orma_tool_summary_print(&summary, out);
	fclose(out);
	CHECK(strstr(text, "the trace covers its last 12.3 ms. "));
}

/* Returns the text of a summary in which each number has this value. */
static const char *print_counts(uint64_t count)
{
	const struct orma_tool_summary summary = {
		.sources = {{"service", count}},
		.source_count = 1,
		.lost_packets = count,
		.lost_chunks = count,
		.full_gaps = count,
		.gaps = count,
		.invalid_packets = count,
		.late_flushes = count,
		.has_stats = true,
	};
	static char text[1000];
	FILE *out = fmemopen(text, sizeof(text), "w");

	CHECK(out);
	orma_tool_summary_print(&summary, out);
	fclose(out);
	return text;
}

ORMA_TEST(counts_agree_with_their_nouns)
{
	CHECK_STR(print_counts(1),
		  "  service                       1 packet\n"
		  "  lost: 1 packet that found no room in shared memory, 1 chunk "
		  "discarded, 1 gap where shared memory was full, 1 gap, 1 invalid packet, 1 flush "
		  "not answered in time\n");
	CHECK_STR(print_counts(2),
		  "  service                       2 packets\n"
		  "  lost: 2 packets that found no room in shared memory, 2 chunks "
		  "discarded, 2 gaps where shared memory was full, 2 gaps, 2 invalid packets, 2 "
		  "flushes not answered in time\n");
	CHECK_STR(print_counts(0), "  service                       0 packets\n  lost: nothing\n");
}

ORMA_TEST(a_file_of_another_kind_is_called_what_it_is_also_through_a_pipe)
{
	static const char json[] = "{\"traceEvents\":[]}";
	struct orma_error error = {0};
	struct seen seen = {0};
	int fds[2];

	CHECK_INT(read_bytes(json, sizeof(json) - 1, &seen, &error), -EPROTO);
	CHECK(strncmp(error.message, "this is JSON; ", 14) == 0);
	error = (struct orma_error){0};
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	CHECK_INT(write(fds[1], "PK\x03\x04", 4), 4);
	close(fds[1]);
	CHECK_INT(orma_tool_trace_read(fds[0], count, &seen, &error), -EPROTO);
	CHECK(strncmp(error.message, "this is a zip archive; ", 23) == 0);
	close(fds[0]);
}

ORMA_TEST(without_statistics_losses_are_unknown_and_not_nothing)
{
	struct orma_tool_summary summary = {.packets = 1};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	orma_tool_summary_print(&summary, out);
	summary.has_stats = true;
	orma_tool_summary_print(&summary, out);
	summary.gaps = 2;
	orma_tool_summary_print(&summary, out);
	fclose(out);
	CHECK_STR(text, "  lost: unknown, as the trace has no statistics\n"
			"  lost: nothing\n"
			"  lost: 2 gaps\n");
	free(text);
}

ORMA_TEST(the_whole_packets_of_a_piece_of_a_trace_are_found)
{
	/* There are two packets and the beginning of a third. */
	static const uint8_t trace[] = {0x0a, 2, 8, 1, 0x0a, 0, 0x0a, 0x81, 1, 8};
	static const uint8_t endless[] = {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 1};
	struct orma_str packet;

	CHECK_INT(orma_tool_trace_whole_bytes(trace, sizeof(trace)), 6);
	CHECK_INT(orma_tool_trace_whole_bytes(trace, 7), 6);
	CHECK_INT(orma_tool_trace_whole_bytes(trace, 3), 0);
	CHECK_INT(orma_tool_trace_whole_bytes(trace, 0), 0);
	CHECK_INT(orma_tool_trace_next_packet(trace, sizeof(trace), &packet), 4);
	CHECK_MEM(packet.data, packet.size, "\x08\x01", 2);
	CHECK_INT(orma_tool_trace_next_packet(endless, sizeof(endless), &packet), 0);
	/* This field is not a packet. */
	CHECK_INT(orma_tool_trace_whole_bytes("\x12\x00", 2), 0);
}

/* --- compressed packets ----------------------------------------------------------------------- */

static void append_field(struct orma_buf *buf, uint32_t id, const void *data, size_t size)
{
	struct orma_proto_heap_writer heap;

	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_write_bytes(&heap.writer, id, data, size);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
}

/* Appends to `trace` a packet with the compressed trace `content`. */
static void append_compressed(struct orma_buf *trace, enum orma_codec codec,
			      const struct orma_buf *content)
{
	struct orma_buf packed = {0}, packet = {0};
	struct orma_tool_compressor *compressor;

	if (!(orma_tool_codecs() >> codec & 1))
		orma_test_skip("built without a codec");
	CHECK_INT(orma_tool_compressor_new(codec, 0, &compressor), 0);
	CHECK_INT(orma_tool_compress(compressor, content->data, content->size, &packed), 0);
	orma_tool_compressor_free(compressor);
	append_field(&packet, codec == ORMA_CODEC_ZSTD ? 133 : 50, packed.data, packed.size);
	append_field(trace, 1, packet.data, packet.size);
	orma_base_buf_done(&packed);
	orma_base_buf_done(&packet);
}

static void append_text(struct orma_buf *trace, const char *text)
{
	append_field(trace, 1, text, strlen(text));
}

static int collect(void *ctx, const void *data, size_t size)
{
	return orma_base_buf_append(ctx, data, size);
}

/* Returns the contents of a trace's packets, concatenated. */
static const char *collected(const struct orma_buf *trace, int expected, struct orma_error *error)
{
	static struct orma_buf seen;
	int fd = file_of(trace->data, trace->size);

	seen.size = 0;
	error->message[0] = '\0';
	CHECK_INT(orma_tool_trace_read(fd, collect, &seen, error), expected);
	close(fd);
	return orma_base_buf_cstr(&seen);
}

/* Fields that identify packets: "\x08A" is field 1 with the value 'A'. */
#define A                                                                                          \
	"\x08"                                                                                     \
	"A"
#define B                                                                                          \
	"\x08"                                                                                     \
	"B"
#define C                                                                                          \
	"\x08"                                                                                     \
	"C"
#define D                                                                                          \
	"\x08"                                                                                     \
	"D"

ORMA_TEST(compressed_packets_are_seen_in_their_place)
{
	struct orma_buf trace = {0}, inner = {0}, nested = {0};
	struct orma_error error;

	append_text(&trace, A);
	append_text(&inner, B);
	append_field(&inner, 7, "not a packet", 12);
	append_text(&inner, C);
	append_compressed(&trace, ORMA_CODEC_DEFLATE, &inner);
	append_compressed(&trace, ORMA_CODEC_ZSTD, &inner);
	append_text(&trace, D);
	CHECK_STR(collected(&trace, 0, &error), A B C B C D);

	/* One codec is inside of the other, with packets around it. */
	trace.size = 0;
	append_text(&nested, A);
	append_compressed(&nested, ORMA_CODEC_ZSTD, &inner);
	append_compressed(&nested, ORMA_CODEC_ZSTD, &inner);
	append_text(&nested, D);
	append_compressed(&trace, ORMA_CODEC_DEFLATE, &nested);
	append_text(&trace, A);
	CHECK_STR(collected(&trace, 0, &error), A B C B C D A);
	orma_base_buf_done(&trace);
	orma_base_buf_done(&inner);
	orma_base_buf_done(&nested);
}

ORMA_TEST(a_codec_inside_of_itself_is_damage)
{
	struct orma_buf trace = {0}, inner = {0}, middle = {0}, outer = {0};
	struct orma_error error;

	append_text(&inner, B);
	append_compressed(&middle, ORMA_CODEC_DEFLATE, &inner);
	append_text(&trace, A);
	append_compressed(&trace, ORMA_CODEC_DEFLATE, &middle);
	CHECK_STR(collected(&trace, -EBADMSG, &error), A);
	CHECK_STR(error.message, "the trace is damaged inside the packet that begins at byte 4");
	/* The same holds with the other codec between. */
	append_compressed(&outer, ORMA_CODEC_ZSTD, &middle);
	trace.size = 0;
	append_compressed(&trace, ORMA_CODEC_DEFLATE, &outer);
	CHECK_STR(collected(&trace, -EBADMSG, &error), "");
	orma_base_buf_done(&trace);
	orma_base_buf_done(&inner);
	orma_base_buf_done(&middle);
	orma_base_buf_done(&outer);
}

ORMA_TEST(what_does_not_decompress_is_damage)
{
	struct orma_buf trace = {0}, inner = {0}, packet = {0};
	struct orma_error error;

	if (!orma_tool_codecs())
		orma_test_skip("built without a codec");
	append_text(&trace, A);
	append_field(&packet, 50, "nonsense", 8);
	append_field(&trace, 1, packet.data, packet.size);
	CHECK_STR(collected(&trace, -EBADMSG, &error), A);
	/* The compressed trace is cut. */
	trace.size = 0;
	append_text(&inner, A);
	append_text(&inner, B);
	inner.size--;
	append_compressed(&trace, ORMA_CODEC_ZSTD, &inner);
	CHECK_STR(collected(&trace, -EBADMSG, &error), A);
	orma_base_buf_done(&trace);
	orma_base_buf_done(&inner);
	orma_base_buf_done(&packet);
}

ORMA_TEST(a_packet_that_unfolds_into_too_much_is_refused)
{
	struct orma_buf trace = {0}, bomb = {0}, nested = {0};
	struct orma_error error;

	/* Nothing reads field 2 of a trace. */
	CHECK_INT(orma_base_buf_reserve(&bomb, 40 << 20), 0);
	memset(bomb.data, 0, 40 << 20);
	memcpy(bomb.data, "\x12\xf4\xff\xff\x13", 5); /* 40 MiB less 12 */
	bomb.size = (40 << 20) - 7;
	for (int i = 0; i < 8; i++)
		append_compressed(&nested, ORMA_CODEC_ZSTD, &bomb);
	append_compressed(&trace, ORMA_CODEC_DEFLATE, &nested);
	CHECK(trace.size < 100000);
	CHECK_STR(collected(&trace, -EMSGSIZE, &error), "");
	CHECK_STR(error.message, "the packet at byte 0 holds more than 256 MiB compressed");
	orma_base_buf_done(&trace);
	orma_base_buf_done(&bomb);
	orma_base_buf_done(&nested);
}

ORMA_TEST(the_callback_can_end_the_walk_inside_of_a_compressed_packet)
{
	struct orma_buf trace = {0}, inner = {0};
	struct seen stop = {.answer = 1};

	append_text(&inner, A);
	append_text(&inner, B);
	append_compressed(&trace, ORMA_CODEC_ZSTD, &inner);
	CHECK_INT(read_bytes(trace.data, trace.size, &stop, NULL), 1);
	CHECK_INT(stop.packets, 1);
	orma_base_buf_done(&trace);
	orma_base_buf_done(&inner);
}

/* --- damaged files ---------------------------------------------------------------------------- */

struct repaired {
	struct seen seen;
	int gaps;
	uint64_t begin, end, rescued; /* the last gap */
	bool is_cut;
};

static int note_gap(void *ctx, const struct orma_tool_damage *damage)
{
	struct repaired *repaired = ctx;

	repaired->gaps++;
	repaired->begin = damage->begin;
	repaired->end = damage->end;
	repaired->is_cut = damage->is_cut;
	repaired->rescued = damage->rescued_packets;
	return repaired->seen.answer;
}

static int repair_bytes(const void *data, size_t size, struct repaired *ret,
			struct orma_error *error)
{
	int fd = file_of(data, size), r;

	*ret = (struct repaired){.seen.answer = ret->seen.answer};
	r = orma_tool_trace_repair(fd, count, note_gap, ret, error);
	close(fd);
	return r;
}

/* Three packets of 15 bytes with the trusted fields. */
static const char three_packets[] = "\x0a\x0d\x18\x01\x50\x01\x3a\x07\x22\x05\x08\x01\x0a\x01x"
				    "\x0a\x0d\x18\x01\x50\x01\x3a\x07\x22\x05\x08\x02\x0a\x01y"
				    "\x0a\x0d\x18\x01\x50\x01\x3a\x07\x22\x05\x08\x03\x0a\x01z";

ORMA_TEST(a_whole_trace_needs_no_repair)
{
	struct repaired repaired = {0};

	CHECK_INT(repair_bytes(three_packets, 45, &repaired, NULL), 0);
	CHECK_INT(repaired.seen.packets, 3);
	CHECK_INT(repaired.gaps, 0);
}

ORMA_TEST(packets_behind_a_damaged_one_are_found_again)
{
	static const uint8_t wrong[] = {0x00, 0x07, 0xff};

	for (size_t i = 0; i < sizeof(wrong); i++) {
		struct repaired repaired = {0};
		char damaged[45];

		memcpy(damaged, three_packets, 45);
		damaged[15] = (char)wrong[i];
		CHECK_INT(repair_bytes(damaged, 45, &repaired, NULL), 0);
		CHECK_INT(repaired.seen.packets, 2);
		CHECK_INT(repaired.gaps, 1);
		CHECK_INT(repaired.begin, 15);
		CHECK_INT(repaired.end, 30);
		CHECK(!repaired.is_cut);
	}
}

ORMA_TEST(a_cut_trace_loses_its_last_packet_alone)
{
	for (size_t size = 31; size < 45; size++) {
		struct repaired repaired = {0};

		CHECK_INT(repair_bytes(three_packets, size, &repaired, NULL), 0);
		CHECK_INT(repaired.seen.packets, 2);
		CHECK_INT(repaired.gaps, 1);
		CHECK_INT(repaired.begin, 30);
		CHECK_INT(repaired.end, size);
		CHECK(repaired.is_cut);
	}
}

ORMA_TEST(a_hole_of_zeros_larger_than_the_window_is_skipped)
{
	size_t hole = (size_t)5 << 20;
	struct repaired repaired = {0};
	char *bytes = calloc(1, 45 + hole);

	memcpy(bytes, three_packets, 15);
	memcpy(bytes + 15 + hole, three_packets + 15, 30);
	CHECK_INT(repair_bytes(bytes, 45 + hole, &repaired, NULL), 0);
	CHECK_INT(repaired.seen.packets, 3);
	CHECK_INT(repaired.gaps, 1);
	CHECK_INT(repaired.begin, 15);
	CHECK_INT(repaired.end, 15 + hole);
	free(bytes);
}

/* Appends packets with the trusted fields, and content that compresses to a half. */
static void append_packets(struct orma_buf *trace, size_t count)
{
	char packet[40] = "\x18\x01\x50\x01\xda\x35\x21"; /* field 859 with 33 bytes */
	uint32_t state = 1;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 7; k < sizeof(packet); k++) {
			state = state * 1664525 + 1013904223;
			packet[k] = (char)('a' + (state >> 28));
		}
		append_field(trace, 1, packet, sizeof(packet));
	}
}

/* Repairs a trace of a packet, one with compressed packets, and a third, which may be cut off. Checks that
 * at least `share` percent of the compressed packets are found, and the others. Returns how many of the
 * compressed packets are found. */
static uint64_t check_rescue(const struct orma_buf *trace, size_t size, size_t count, size_t share)
{
	struct repaired repaired = {0};

	CHECK_INT(repair_bytes(trace->data, size, &repaired, NULL), 0);
	CHECK_INT(repaired.gaps, 1);
	CHECK_INT(repaired.begin, 15);
	CHECK(repaired.rescued * 100 >= count * share && repaired.rescued <= count);
	CHECK_INT(repaired.seen.packets, 1 + repaired.rescued + (size == trace->size));
	return repaired.rescued;
}

static void check_damage_of(enum orma_codec codec)
{
	enum { COUNT = 20000 };
	struct orma_buf trace = {0}, inner = {0};

	append_field(&trace, 1, three_packets + 2, 13);
	append_packets(&inner, COUNT);
	append_compressed(&trace, codec, &inner);
	size_t size = trace.size;
	append_field(&trace, 1, three_packets + 2, 13);
	for (size_t percent = 1; percent < 100; percent += 7) {
		size_t at = size / 100 * percent;
		size_t share = percent > 25 ? percent - 25 : 0;

		trace.data[at] ^= 0x10;
		/* zstd may take wrong bytes for right ones: nothing is damaged then. */
		struct repaired repaired = {0};
		CHECK_INT(repair_bytes(trace.data, trace.size, &repaired, NULL), 0);
		if (repaired.gaps > 0)
			check_rescue(&trace, trace.size, COUNT, share);
		trace.data[at] ^= 0x10;
		CHECK(check_rescue(&trace, at, COUNT, share) < COUNT);
	}
	orma_base_buf_done(&trace);
	orma_base_buf_done(&inner);
}

ORMA_TEST(packets_before_damage_in_compressed_ones_are_rescued)
{
	check_damage_of(ORMA_CODEC_DEFLATE);
	check_damage_of(ORMA_CODEC_ZSTD);
}

ORMA_TEST(a_wrong_checksum_loses_nothing)
{
	struct orma_buf trace = {0}, inner = {0};

	append_field(&trace, 1, three_packets + 2, 13);
	append_packets(&inner, 10);
	append_compressed(&trace, ORMA_CODEC_DEFLATE, &inner);
	trace.data[trace.size - 1] ^= 1;
	append_field(&trace, 1, three_packets + 2, 13);
	CHECK_INT(check_rescue(&trace, trace.size, 10, 100), 10);
	orma_base_buf_done(&trace);
	orma_base_buf_done(&inner);
}

ORMA_TEST(what_has_no_packet_cannot_be_repaired)
{
	struct orma_error error = {0};
	struct repaired repaired = {0};

	CHECK_INT(repair_bytes("root:x:0:0", 10, &repaired, &error), -EPROTO);
	CHECK(strstr(error.message, "this is text"));
	CHECK_INT(repair_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, &repaired,
			       &error),
		  -EBADMSG);
	CHECK_STR(error.message, "there is no packet in it");
	CHECK_INT(repair_bytes("", 0, &repaired, NULL), 0);
}

ORMA_TEST(both_callbacks_can_end_a_repair)
{
	struct repaired repaired = {.seen.answer = 7};

	CHECK_INT(repair_bytes(three_packets, 45, &repaired, NULL), 7);
	CHECK_INT(repaired.seen.packets, 1);
	CHECK_INT(repair_bytes("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, &repaired,
			       NULL),
		  7);
	CHECK_INT(repaired.gaps, 1);
}
