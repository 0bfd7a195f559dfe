/* SPDX-License-Identifier: Apache-2.0
 * codec_test.c - decode and encode through the tables of a real schema, and their limits.
 *
 * Uses TraceConfig and its messages, and so tests the generator as well. Short encodings are written out;
 * deep ones come from the single-pass writer. Rejected: a schema for tests only, because the generator
 * would have to run in every build.
 */
#include "base/alloc.h"
#include "harness.h"
#include "proto/codec.h"
#include "proto/writer.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/statsd_atom_ids.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"

static void check_encodes(const void *message, const void *expected, size_t size)
{
	struct orma_buf buf = {0};

	CHECK_INT(orma_proto_encode(message, &buf), 0);
	CHECK_MEM(buf.data, buf.size, expected, size);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_config_survives_encode_and_decode)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_config *config = orma_pb_trace_config_new(&arena), *back;
	struct orma_pb_trace_config_buffer_config *buffer;
	struct orma_buf buf = {0};

	CHECK(!orma_pb_trace_config_has_duration_ms(config));
	orma_pb_trace_config_set_duration_ms(config, 1000);
	orma_pb_trace_config_set_output_path(config, ORMA_STR("/tmp/x"));
	for (uint32_t i = 0; i < 9; i++) {
		buffer = orma_pb_trace_config_add_buffers(config, &arena);
		orma_pb_trace_config_buffer_config_set_size_kb(buffer, i * 100);
	}
	CHECK_INT(orma_proto_encode(config, &buf), 0);
	CHECK_INT(orma_pb_trace_config_decode(buf.data, buf.size, &arena, &back), 0);
	CHECK(orma_pb_trace_config_has_duration_ms(back));
	CHECK_INT(back->duration_ms, 1000);
	CHECK(orma_base_str_is(back->output_path, "/tmp/x"));
	CHECK_INT(back->buffers.count, 9);
	CHECK_INT(back->buffers.items[8]->size_kb, 800);
	check_encodes(back, buf.data, buf.size);
	orma_base_buf_done(&buf);
	orma_base_arena_done(&arena);
}

ORMA_TEST(unknown_fields_survive)
{
	/* duration_ms (3) as varint, field 1000 as varint and as bytes, duration_ms as string: all
	 * except the first are unknown. */
	static const uint8_t in[] = {0xc0, 0x3e, 0x07, 0x18, 0x05, 0xc2,
				     0x3e, 0x01, 'x',  0x1a, 0x01, 'y'};
	static const uint8_t out[] = {0x18, 0x05, 0xc0, 0x3e, 0x07, 0xc2,
				      0x3e, 0x01, 'x',  0x1a, 0x01, 'y'};
	struct orma_arena arena = {0};
	struct orma_pb_trace_config *config;

	CHECK_INT(orma_pb_trace_config_decode(in, sizeof(in), &arena, &config), 0);
	CHECK_INT(config->duration_ms, 5);
	CHECK(config->base.unknown && config->base.unknown->next == config->base.unknown_last);
	check_encodes(config, out, sizeof(out));
	orma_base_arena_done(&arena);
}

ORMA_TEST(decode_copy_outlives_the_bytes)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_config *config;
	static const uint8_t encoded[] = {0xea, 0x01, 0x01, 'x'};
	char *bytes = malloc(4);

	memcpy(bytes, encoded, 4);
	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_config_desc, bytes, 4, &arena, &config), 0);
	memset(bytes, 0, 4);
	free(bytes);
	CHECK(orma_base_str_is(config->output_path, "x"));
	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_config_desc, NULL, 0, &arena, &config), 0);
	check_encodes(config, "", 0);
	orma_base_arena_done(&arena);
}

ORMA_TEST(the_last_scalar_wins_and_messages_merge)
{
	/* 3: 1, 3: 2; 20 { 1: 1 } 20 { 2: 1 } (builtin_data_sources is 20, in two halves) */
	static const uint8_t in[] = {0x18, 0x01, 0xa2, 0x01, 0x02, 0x08, 0x01,
				     0x18, 0x02, 0xa2, 0x01, 0x02, 0x10, 0x01};
	static const uint8_t out[] = {0x18, 0x02, 0xa2, 0x01, 0x04, 0x08, 0x01, 0x10, 0x01};
	struct orma_arena arena = {0};
	struct orma_pb_trace_config *config;

	CHECK_INT(orma_pb_trace_config_decode(in, sizeof(in), &arena, &config), 0);
	check_encodes(config, out, sizeof(out));
	orma_base_arena_done(&arena);
}

ORMA_TEST(the_last_of_a_oneof_wins)
{
	/* DebugAnnotation: bool_value (2), int_value (4), string_value (6) */
	static const uint8_t in[] = {0x10, 0x01, 0x20, 0x05, 0x32, 0x01, 'x'};
	struct orma_arena arena = {0};
	struct orma_pb_debug_annotation *annotation;

	CHECK_INT(orma_pb_debug_annotation_decode(in, sizeof(in), &arena, &annotation), 0);
	check_encodes(annotation, in + 4, 3);
	orma_pb_debug_annotation_set_int_value(annotation, -1);
	CHECK(!orma_pb_debug_annotation_has_string_value(annotation));
	check_encodes(annotation, "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	CHECK(orma_pb_debug_annotation_set_new_nested_value(annotation, &arena) != NULL);
	CHECK(!orma_pb_debug_annotation_has_int_value(annotation));
	CHECK(orma_pb_debug_annotation_has_nested_value(annotation));
	orma_pb_debug_annotation_set_bool_value(annotation, true);
	check_encodes(annotation, "\x10\x01", 2);
	orma_base_arena_done(&arena);
}

ORMA_TEST(packed_and_unpacked_lists_are_both_read)
{
	/* CompactSched.switch_timestamp (1, packed in the schema): [1, 300] packed, then 2 alone */
	static const uint8_t in[] = {0x0a, 0x03, 0x01, 0xac, 0x02, 0x08, 0x02};
	static const uint8_t out[] = {0x0a, 0x04, 0x01, 0xac, 0x02, 0x02};
	struct orma_arena arena = {0};
	struct orma_pb_ftrace_event_bundle_compact_sched *sched;

	CHECK_INT(orma_pb_ftrace_event_bundle_compact_sched_decode(in, sizeof(in), &arena, &sched),
		  0);
	CHECK_INT(sched->switch_timestamp.count, 3);
	CHECK_INT(sched->switch_timestamp.items[1], 300);
	check_encodes(sched, out, sizeof(out));
	CHECK_INT(orma_pb_ftrace_event_bundle_compact_sched_add_switch_timestamp(sched, &arena, 9),
		  0);
	CHECK_INT(sched->switch_timestamp.items[3], 9);
	CHECK_INT(orma_pb_ftrace_event_bundle_compact_sched_decode("\x0a\x02\x01\x80", 4, &arena,
								   &sched),
		  -EBADMSG);
	orma_base_arena_done(&arena);
}

ORMA_TEST(every_scalar_kind_goes_through_memory_unchanged)
{
	static const enum orma_proto_kind kinds[] = {
		ORMA_PROTO_KIND_BOOL,     ORMA_PROTO_KIND_INT32,    ORMA_PROTO_KIND_INT64,
		ORMA_PROTO_KIND_UINT32,   ORMA_PROTO_KIND_UINT64,   ORMA_PROTO_KIND_SINT32,
		ORMA_PROTO_KIND_SINT64,   ORMA_PROTO_KIND_FIXED32,  ORMA_PROTO_KIND_FIXED64,
		ORMA_PROTO_KIND_SFIXED32, ORMA_PROTO_KIND_SFIXED64, ORMA_PROTO_KIND_FLOAT,
		ORMA_PROTO_KIND_DOUBLE,   ORMA_PROTO_KIND_ENUM};
	static const struct {
		const char *bytes;
		size_t size;
	} wires[] = {{"\x01", 1},
		     {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
		     {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
		     {"\xff\xff\xff\xff\x0f", 5},
		     {"\xff\xff\xff\xff\x0f", 5},
		     {"\x03", 1},
		     {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
		     {"\x01\x02\x03\x84", 4},
		     {"\x01\x02\x03\x04\x05\x06\x07\x88", 8},
		     {"\x01\x02\x03\x84", 4},
		     {"\x01\x02\x03\x04\x05\x06\x07\x88", 8},
		     {"\x01\x02\x03\x84", 4},
		     {"\x01\x02\x03\x04\x05\x06\x07\x88", 8},
		     {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10}};
	static const int types[] = {0, 0, 0, 0, 0, 0, 0, 5, 1, 5, 1, 5, 1, 0};
	struct any {
		struct orma_proto_message base;
		uint32_t has[1];
		uint64_t single;
		struct orma_proto_repeated many, packed;
	};
	struct orma_arena arena = {0};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(kinds); i++) {
		uint8_t bytes[64], *at = bytes;
		const struct orma_proto_field_desc fields[] = {
			{1, 0, 4, offsetof(struct any, single), 0, 0, kinds[i], 0},
			{2, 1, 4, offsetof(struct any, many), 0, 0, kinds[i], 0},
			{3, 3, 4, offsetof(struct any, packed), 0, 0, kinds[i], 0}};
		const struct orma_proto_desc desc = {"Any\0x",           fields, NULL,
						     sizeof(struct any), 3,      1};
		void *message;

		for (int n = 0; n < 3; n++) {
			*at++ = (uint8_t)((n == 0 ? 8 : 16) | types[i]);
			memcpy(at, wires[i].bytes, wires[i].size);
			at += wires[i].size;
		}
		*at++ = 3 << 3 | 2;
		*at++ = (uint8_t)(wires[i].size + wires[i].size);
		for (int n = 0; n < 2; n++) {
			memcpy(at, wires[i].bytes, wires[i].size);
			at += wires[i].size;
		}
		CHECK_INT(orma_proto_decode(&desc, bytes, (size_t)(at - bytes), &arena, &message),
			  0);
		CHECK_INT(((struct any *)message)->many.count, 2);
		CHECK_INT(((struct any *)message)->packed.count, 2);
		check_encodes(message, bytes, (size_t)(at - bytes));
	}
	orma_base_arena_done(&arena);
}

/* `depth` nested messages: dict_entries (11) of DebugAnnotation. */
static void put_nested(struct orma_buf *buf, size_t depth)
{
	struct orma_buf content = {0};

	for (size_t i = 0; i < depth; i++) {
		uint8_t head[16];
		uint8_t *end = orma_proto_put_varint(head, orma_proto_tag(11, ORMA_PROTO_BYTES));

		end = orma_proto_put_varint(end, content.size);
		CHECK_INT(orma_base_buf_reserve(&content, 16), 0);
		memmove(content.data + (end - head), content.data, content.size);
		memcpy(content.data, head, (size_t)(end - head));
		content.size += (size_t)(end - head);
	}
	CHECK_INT(orma_base_buf_append(buf, content.data, content.size), 0);
	orma_base_buf_done(&content);
}

ORMA_TEST(messages_nest_to_the_limit_and_not_beyond)
{
	struct orma_arena arena = {0};
	struct orma_pb_debug_annotation *annotation, *outer;
	struct orma_buf buf = {0};

	put_nested(&buf, ORMA_PROTO_DEPTH_MAX);
	CHECK_INT(orma_pb_debug_annotation_decode(buf.data, buf.size, &arena, &annotation), 0);
	check_encodes(annotation, buf.data, buf.size);
	outer = orma_pb_debug_annotation_new(&arena);
	*(void **)orma_proto_repeated_add((struct orma_proto_repeated *)&outer->dict_entries,
					  sizeof(void *), &arena) = annotation;
	buf.size = 0;
	CHECK_INT(orma_proto_encode(outer, &buf), -EMSGSIZE);
	CHECK_INT(buf.size, 0);
	put_nested(&buf, ORMA_PROTO_DEPTH_MAX + 1);
	CHECK_INT(orma_pb_debug_annotation_decode(buf.data, buf.size, &arena, &annotation),
		  -EBADMSG);
	buf.size = 0;
	put_nested(&buf, 20000);
	CHECK_INT(orma_pb_debug_annotation_decode(buf.data, buf.size, &arena, &annotation),
		  -EBADMSG);
	orma_base_buf_done(&buf);
	orma_base_arena_done(&arena);
}

ORMA_TEST(malformed_bytes_do_not_decode)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_config *config = NULL;

	CHECK_INT(orma_pb_trace_config_decode("\x18\x80", 2, &arena, &config), -EBADMSG);
	CHECK_INT(orma_pb_trace_config_decode("\x0a\x02\x08", 3, &arena, &config), -EBADMSG);
	CHECK_INT(orma_pb_trace_config_decode("\x0a\x01\x08", 3, &arena, &config), -EBADMSG);
	CHECK(config == NULL);
	orma_base_arena_done(&arena);
}

ORMA_TEST(without_memory_nothing_is_decoded_or_encoded)
{
	struct orma_buf bytes = {0};
	struct orma_pb_trace_packet *packet;

	/* trace_packet_defaults (59) > track_event_defaults (11) > track uuids, and an unknown
	 * field */
	CHECK_INT(
		orma_base_buf_append(
			&bytes, "\xda\x03\x09\x5a\x07\xfa\x01\x04\x01\x02\x03\x04\xc0\x3e\x01", 15),
		0);
	for (uint64_t nth = 1;; nth++) {
		struct orma_arena arena = {0};
		struct orma_buf out = {0};
		bool has_failed;
		int r;

		orma_test_fail_allocation(nth);
		r = orma_proto_decode_copy(&orma_pb_trace_packet_desc, bytes.data, bytes.size,
					   &arena, &packet);
		if (r == 0)
			r = orma_proto_encode(packet, &out);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (has_failed)
			CHECK_INT(out.size, 0);
		orma_base_buf_done(&out);
		orma_base_arena_done(&arena);
		if (!has_failed)
			break;
	}
	orma_base_buf_done(&bytes);
}

ORMA_TEST(an_arena_limit_bounds_what_a_peer_can_make_us_allocate)
{
	struct orma_arena arena = {.limit_bytes = 65536};
	struct orma_pb_trace_config *config;
	struct orma_buf buf = {0};

	for (int i = 0; i < 10000; i++)
		CHECK_INT(orma_base_buf_append(&buf, "\x0a\x00", 2), 0);
	CHECK_INT(orma_pb_trace_config_decode(buf.data, buf.size, &arena, &config), -ENOMEM);
	orma_base_buf_done(&buf);
	orma_base_arena_done(&arena);
}

ORMA_TEST(tables_are_found_by_id_and_name)
{
	const struct orma_proto_desc *desc = &orma_pb_trace_packet_desc;
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
	int32_t number;

	for (size_t i = 0; i < desc->field_count; i++) {
		const struct orma_proto_field_desc *field = &desc->fields[i];

		CHECK(i == 0 || field[-1].id < field->id);
		CHECK(orma_proto_desc_find(desc, field->id) == field);
		CHECK(orma_proto_desc_find_name(
			      desc, orma_base_str(orma_proto_field_name(desc, field))) == field);
	}
	CHECK(orma_proto_desc_find(desc, 0) == NULL);
	CHECK(orma_proto_desc_find(desc, ORMA_PROTO_FIELD_ID_MAX) == NULL);
	CHECK(orma_proto_desc_find_name(desc, ORMA_STR("nonsense")) == NULL);
	CHECK_STR(desc->name, "TracePacket");
	CHECK_STR(orma_proto_enum_name(&orma_pb_trace_config_buffer_config_fill_policy_enum, 1,
				       buffer),
		  "RING_BUFFER");
	CHECK(orma_proto_enum_name(&orma_pb_trace_config_buffer_config_fill_policy_enum, 99,
				   buffer) == NULL);
	CHECK(orma_proto_enum_find(&orma_pb_trace_config_buffer_config_fill_policy_enum,
				   ORMA_STR("DISCARD"), &number));
	CHECK_INT(number, 2);
	CHECK(!orma_proto_enum_find(&orma_pb_trace_config_buffer_config_fill_policy_enum,
				    ORMA_STR("RING"), &number));
}

/* Every name is found by its number and the other way round, up to the last one. */
ORMA_TEST(names_that_are_packed_are_found_like_others)
{
	const struct orma_proto_enum_desc *desc = &orma_pb_atom_id_enum;
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
	int32_t number;

	CHECK(desc->is_packed);
	CHECK_STR(desc->name, "AtomId");
	CHECK_STR(orma_proto_enum_name(desc, 2, buffer), "ATOM_BLE_SCAN_STATE_CHANGED");
	CHECK(orma_proto_enum_find(desc, ORMA_STR("ATOM_BLE_SCAN_STATE_CHANGED"), &number));
	CHECK_INT(number, 2);
	for (size_t i = 0; i < desc->value_count; i++) {
		const char *name = orma_proto_enum_name(desc, desc->numbers[i], buffer);

		CHECK(strncmp(name, "ATOM_", 5) == 0);
		CHECK(orma_proto_enum_find(desc, orma_base_str(name), &number));
		CHECK_INT(number, desc->numbers[i]);
	}
	CHECK(orma_proto_enum_name(desc, 1, buffer) == NULL);
	CHECK(!orma_proto_enum_find(desc, ORMA_STR("ATOM_BLE_SCAN_STATE_CHANGE"), &number));
	CHECK(!orma_proto_enum_find(desc, ORMA_STR(""), &number));
}
