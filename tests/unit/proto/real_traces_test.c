/* SPDX-License-Identifier: Apache-2.0
 * real_traces_test.c - traces that Perfetto recorded go through the codec and the text format
 * unchanged.
 *
 * The traces are in ../shared/data beside the repository. Each packet is decoded, encoded, printed,
 * parsed and encoded again. Both encodings must agree, and decode to the original message. Rejected:
 * copies of the traces in the repository, because they are half a megabyte that only this test reads;
 * comparing with the recorded bytes, because their lengths are padded to four bytes.
 */
#include "harness.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"

static void read_trace(const char *name, struct orma_buf *out)
{
	char path[512], chunk[4096];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/../shared/data/%s", ORMA_SOURCE_DIR, name);
	file = fopen(path, "rbe");
	if (!file)
		orma_test_skip(path);
	while ((size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		CHECK_INT(orma_base_buf_append(out, chunk, size), 0);
	fclose(file);
}

static void check_packet(struct orma_str bytes)
{
	struct orma_arena arena = {0};
	struct orma_buf direct = {0}, text = {0}, parsed = {0}, again = {0};
	struct orma_error error = {0};
	struct orma_pb_trace_packet *packet, *back;

	CHECK_INT(orma_pb_trace_packet_decode(bytes.data, bytes.size, &arena, &packet), 0);
	CHECK_INT(orma_proto_encode(packet, &direct), 0);
	CHECK_INT(orma_proto_text_print(packet, 0, &text), 0);
	if (orma_proto_text_parse(&orma_pb_trace_packet_desc, "packet", (const char *)text.data,
				  text.size, 0, &arena, &back, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(back, &parsed), 0);
	CHECK_MEM(parsed.data, parsed.size, direct.data, direct.size);
	CHECK_INT(orma_pb_trace_packet_decode(direct.data, direct.size, &arena, &back), 0);
	CHECK_INT(orma_proto_encode(back, &again), 0);
	CHECK_MEM(again.data, again.size, direct.data, direct.size);
	orma_base_buf_done(&direct);
	orma_base_buf_done(&text);
	orma_base_buf_done(&parsed);
	orma_base_buf_done(&again);
	orma_base_arena_done(&arena);
}

static void check_trace(const char *name)
{
	struct orma_buf trace = {0};
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	size_t packets = 0;
	int more;

	read_trace(name, &trace);
	orma_proto_reader_init(&reader, trace.data, trace.size);
	while ((more = orma_proto_reader_next(&reader, &field)) > 0) {
		CHECK_INT(field.id, 1);
		CHECK_INT(field.type, ORMA_PROTO_BYTES);
		check_packet(field.bytes);
		packets++;
	}
	CHECK_INT(more, 0);
	CHECK(packets > 20);
	orma_base_buf_done(&trace);
}

ORMA_TEST(a_trace_of_proc_goes_through_text_unchanged)
{
	check_trace("linux-procfs.pftrace");
}

ORMA_TEST(a_trace_of_the_kernel_goes_through_text_unchanged)
{
	check_trace("linux-ftrace.pftrace");
}

ORMA_TEST(a_trace_of_track_events_goes_through_text_unchanged)
{
	check_trace("track-event-csdk.pftrace");
}

/* A stream that is cut at any byte must end early or be refused. */
ORMA_TEST(a_trace_cut_at_any_byte_is_read_up_to_there)
{
	struct orma_buf trace = {0};

	read_trace("track-event-csdk.pftrace", &trace);
	for (size_t size = 0; size < trace.size; size++) {
		uint8_t *cut = malloc(size ? size : 1);
		struct orma_proto_reader reader;
		struct orma_proto_field field;
		int more;

		memcpy(cut, trace.data, size);
		orma_proto_reader_init(&reader, cut, size);
		while ((more = orma_proto_reader_next(&reader, &field)) > 0) {
			struct orma_arena arena = {0};
			void *packet;

			CHECK_INT(orma_proto_decode(&orma_pb_trace_packet_desc, field.bytes.data,
						    field.bytes.size, &arena, &packet),
				  0);
			orma_base_arena_done(&arena);
		}
		CHECK(more == 0 || more == -EBADMSG);
		CHECK((more == 0) == (reader.at == reader.end));
		free(cut);
	}
	orma_base_buf_done(&trace);
}
