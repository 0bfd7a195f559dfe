/* SPDX-License-Identifier: Apache-2.0
 * proto_file_test.c - .proto files: what is read from them, what is refused and where, and the
 * setters that are made of them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "harness.h"
#include "schema/gen/commit_data.pb.h"
#include "schema/gen/consumer_port.pb.h"
#include "schema/gen/observable_events.pb.h"
#include "schema/gen/producer_port.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "tool/protogen/proto_setters.h"

static int parse(struct orma_tool_proto_set *set, const char *text)
{
	struct orma_tool_proto_file *file;
	int r = orma_tool_proto_parse(set, "x.proto", text, strlen(text), &file);

	return r < 0 ? r : orma_tool_proto_resolve(set);
}

/* Returns the header for the text, which the caller frees; or NULL with the error in *ret_error. */
static char *emit(const char *text, struct orma_error *ret_error)
{
	struct orma_tool_proto_set set = {0};
	struct orma_tool_proto_file *file;
	struct orma_buf out = {0};
	int r = orma_tool_proto_parse(&set, "x.proto", text, strlen(text), &file);

	if (r == 0)
		r = orma_tool_proto_resolve(&set);
	if (r == 0)
		r = orma_tool_proto_emit_setters(&set, file, "X_H", NULL, &out);
	*ret_error = set.error;
	orma_tool_proto_set_done(&set);
	if (r == 0)
		return (char *)orma_base_buf_cstr(&out);
	orma_base_buf_done(&out);
	return NULL;
}

static void load_schema(struct orma_tool_proto_set *set)
{
	const char *folder = ORMA_SOURCE_DIR "/src/schema/protos";
	DIR *dir = opendir(folder);
	struct dirent *entry;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		struct orma_buf text = {0};
		struct orma_tool_proto_file *file;

		if (!strstr(entry->d_name, ".proto"))
			continue;
		CHECK_INT(orma_base_file_read(dirfd(dir), entry->d_name, 1 << 20, &text), 0);
		CHECK_INT(orma_tool_proto_parse(set, entry->d_name, (const char *)text.data,
						text.size, &file),
			  0);
		orma_base_buf_done(&text);
	}
	closedir(dir);
	CHECK_INT(orma_tool_proto_resolve(set), 0);
}

static const struct orma_tool_proto_type *find_any(const struct orma_tool_proto_set *set,
						   const char *name)
{
	char full[300];

	snprintf(full, sizeof(full), "perfetto.protos.%s", name);
	struct orma_tool_proto_type *type = orma_tool_proto_find(set, full, strlen(full));
	return type ? type : orma_tool_proto_find(set, name, strlen(name));
}

static void compare_enum(const struct orma_tool_proto_set *set,
			 const struct orma_proto_enum_desc *desc)
{
	const struct orma_tool_proto_type *type = find_any(set, desc->name);
	size_t count = 0;

	CHECK(type != NULL && type->is_enum);
	for (const struct orma_tool_proto_value *value = type->values; value; value = value->next) {
		int32_t number;

		CHECK(orma_proto_enum_find(desc, value->name, &number));
		CHECK_INT(number, value->number);
		count++;
	}
	CHECK_INT(count, desc->value_count);
}

static void compare_field(const struct orma_tool_proto_set *set,
			  const struct orma_tool_proto_field *field,
			  const struct orma_proto_desc *desc)
{
	const struct orma_proto_field_desc *expected = orma_proto_desc_find(desc, field->number);

	CHECK(expected != NULL);
	CHECK(orma_base_str_is(field->name, orma_proto_field_name(desc, expected)));
	CHECK_INT(field->kind, expected->kind);
	CHECK_INT(field->is_repeated, (expected->flags & ORMA_PROTO_REPEATED_FLAG) != 0);
	CHECK_INT(field->is_required, (expected->flags & ORMA_PROTO_REQUIRED_FLAG) != 0);
	CHECK_INT(field->is_packed, (expected->flags & ORMA_PROTO_PACKED_FLAG) != 0);
	if (field->kind == ORMA_PROTO_KIND_ENUM)
		compare_enum(set, desc->types[expected->type_idx].enumeration);
}

/* Compares all messages that are reached from the root, each once. Returns their number. */
static size_t compare_messages(const struct orma_tool_proto_set *set,
			       const struct orma_proto_desc *root)
{
	static const struct orma_proto_desc *seen[2000];
	size_t done = 0, count = 1;

	seen[0] = root;
	for (; done < count; done++) {
		const struct orma_proto_desc *desc = seen[done];
		const struct orma_tool_proto_type *type = find_any(set, desc->name);
		size_t fields = 0;

		CHECK(type != NULL && !type->is_enum);
		for (const struct orma_tool_proto_field *field = type->fields; field;
		     field = field->next) {
			compare_field(set, field, desc);
			fields++;
		}
		CHECK_INT(fields, desc->field_count);
		for (size_t i = 0; i < desc->field_count; i++) {
			const struct orma_proto_desc *next;
			size_t j = 0;

			if (desc->fields[i].kind != ORMA_PROTO_KIND_MESSAGE)
				continue;
			next = desc->types[desc->fields[i].type_idx].message;
			while (j < count && seen[j] != next)
				j++;
			CHECK(count < ORMA_ARRAY_SIZE(seen));
			if (j == count)
				seen[count++] = next;
		}
	}
	return count;
}

ORMA_TEST(our_own_schema_is_read_as_its_tables_say)
{
	struct orma_tool_proto_set set = {0};

	load_schema(&set);
	CHECK(compare_messages(&set, &orma_pb_trace_desc) > 100);
	CHECK(compare_messages(&set, &orma_pb_trace_config_desc) > 30);
	compare_messages(&set, &orma_pb_commit_data_request_desc);
	compare_messages(&set, &orma_pb_observable_events_desc);
	orma_tool_proto_set_done(&set);
}

ORMA_TEST(every_kind_of_statement_is_understood)
{
	struct orma_error error;
	char *header = emit(
		"/* a comment */ syntax = \"proto2\"; // another\n"
		"package my.app;\n"
		"option java_package = \"x\"; option (custom.thing) = { a: [1, 2] };\n"
		"enum Color { option allow_alias = true; RED = 0; ROT = 0 [deprecated = true];\n"
		"  DARK = -2147483648; reserved 5, -7 to -6, \"BLUE\"; }\n"
		"message HTTPRequest {\n"
		"  reserved 90 to 99, 100; reserved \"old\"; extensions 1000 to max;\n"
		"  message Header { required string name = 1; optional bytes raw = 2; }\n"
		"  repeated Header header = 1;\n"
		"  optional Color color = 2 [default = RED, (validate.rules) = {x: 1}];\n"
		"  repeated sint32 deltas = 3 [packed = true];\n"
		"  oneof body { string text = 4; .my.app.HTTPRequest inner = 5; }\n"
		"  map<string, int32> counts = 6;\n"
		"  optional sfixed64 at = 0x10;\n"
		"  extend HTTPRequest { optional bool more = 1000; }\n"
		"}\n"
		"extend perfetto.protos.TrackEvent { optional HTTPRequest request = 9901; }\n"
		"service S { rpc F(HTTPRequest) returns (HTTPRequest) { option a = {}; } }\n",
		&error);
	static const char *const parts[] = {
		"MY_APP_COLOR_DARK = -2147483647 - 1,",
		"my_app_http_request_header_set_name(struct orma_packet *packet, const char "
		"*value)",
		"my_app_http_request_header_set_raw(struct orma_packet *packet, const void *data, "
		"size_t size)",
		"my_app_http_request_begin_header(struct orma_packet *packet, struct orma_nested "
		"*nested)",
		"my_app_http_request_set_color(struct orma_packet *packet, enum my_app_color "
		"value)",
		"my_app_http_request_set_deltas(struct orma_packet *packet, const int32_t *values, "
		"size_t count)",
		"my_app_http_request_set_text(",
		"my_app_http_request_begin_inner(",
		"my_app_http_request_counts_entry_set_value(struct orma_packet *packet, int32_t "
		"value)",
		"MY_APP_HTTP_REQUEST_FIELD_AT = 16,",
		"my_app_http_request_http_request_set_more(",
		"MY_APP_TRACK_EVENT_FIELD_REQUEST = 9901,",
		"my_app_track_event_begin_request(",
	};

	if (!header)
		fprintf(stderr, "%s\n", error.message);
	CHECK(header != NULL);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(parts); i++) {
		if (!strstr(header, parts[i]))
			fprintf(stderr, "missing: %s\n", parts[i]);
		CHECK(strstr(header, parts[i]) != NULL);
	}
	orma_base_free(header);
}

ORMA_TEST(editions_are_read_and_their_packing_features_obeyed)
{
	static const char text[] =
		"edition = \"2023\";\n"
		"package p;\n"
		"option features.field_presence = IMPLICIT;\n"
		"message M {\n"
		"  reserved 9, 10 to 12; reserved old, older;\n"
		"  string name = 1;\n"
		"  repeated int32 packed = 2;\n"
		"  repeated int32 loose = 3 [features.repeated_field_encoding = EXPANDED];\n"
		"  repeated string names = 4;\n"
		"  repeated int32 loose_too = 5 [features = { repeated_field_encoding: EXPANDED "
		"}];\n"
		"}\n";
	static const char expanded[] = "edition = \"2024\";\n"
				       "option features.repeated_field_encoding = EXPANDED;\n"
				       "message M { repeated int32 a = 1; repeated int32 b = 2 "
				       "[features.repeated_field_encoding = PACKED]; }";
	struct orma_error error;
	char *header = emit(text, &error);

	CHECK(header);
	CHECK(strstr(header, "p_m_set_name(struct orma_packet *packet, const char *value)"));
	CHECK(strstr(header, "p_m_set_packed(struct orma_packet *packet, const int32_t *values"));
	CHECK(strstr(header, "p_m_add_loose(struct orma_packet *packet, int32_t value)"));
	CHECK(strstr(header, "p_m_add_names(struct orma_packet *packet, const char *value)"));
	CHECK(strstr(header, "p_m_add_loose_too(struct orma_packet *packet, int32_t value)"));
	orma_base_free(header);
	header = emit(expanded, &error);
	CHECK(header);
	CHECK(strstr(header, "m_add_a(struct orma_packet *packet, int32_t value)"));
	CHECK(strstr(header, "m_set_b(struct orma_packet *packet, const int32_t *values"));
	orma_base_free(header);
}

static const struct {
	const char *text, *error;
} refused[] = {
	{"syntax = \"proto4\";",
	 "x.proto:1:10: found \"proto4\", expected \"proto2\" or \"proto3\""},
	{"edition = \"1999\";", "x.proto:1:11: found \"1999\", expected \"2023\" or \"2024\""},
	{"package p; edition = \"2023\";", "found \"edition\", expected package"},
	{"edition = \"2023\"; message M { required int32 a = 1; }",
	 "an edition has no required fields"},
	{"edition = \"2023\"; message N { int32 a = 1; }\n"
	 "message M { N n = 1 [features.message_encoding = DELIMITED]; }",
	 "2:50: groups (DELIMITED) are not supported"},
	{"edition = \"2023\"; option features.message_encoding = DELIMITED;",
	 "1:54: groups (DELIMITED) are not supported"},
	{"message M {\n  optional int32 a = 0;\n}", "x.proto:2:22: field numbers begin at 1"},
	{"message M { optional int32 a = 19500; }", "protobuf reserves 19000"},
	{"message M { optional int32 a = 536870912; }", "a field's number is at most 536870911"},
	{"message M { int32 a = 1; }",
	 "1:13: found \"int32\", expected optional, required or repeated"},
	{"message M { optional int32 a = 1; optional int32 b = 1; }",
	 "number 1 already belongs to \"a\""},
	{"message M { optional int32 a = 1; optional int32 a = 2; }",
	 "a field of this name already exists"},
	{"message M { reserved 1 to 5; optional int32 a = 3; }", "number 3 is reserved"},
	{"message M { optional int32 a = 3; reserved 7, 1 to 5, 2; }", "number 3 is reserved"},
	{"message M { optional int32 a = 6; oneof o { int32 b = 9; } reserved 1 to 5, 8 to max; }",
	 "number 9 is reserved"},
	{"message M { oneof o { int32 a = 1; } optional int32 a = 2; }",
	 "a field of this name already exists"},
	{"message M { optional N a = 1; }", "1:22: type \"N\" is neither defined here"},
	{"message M { optional .M.N a = 1; }", "type \".M.N\" is neither defined here"},
	{"message M { optional group G = 1 { } }", "groups are not supported"},
	{"message M {", "found the end of the text, expected '}'"},
	{"message M { } message M { }", "\"M\" is already defined"},
	{"message M { optional int32 a 1; }", "found \"1\", expected '='"},
	{"message M { optional int32 = 1; }", "found \"=\", expected the field's name"},
	{"message M { optional int32 a = 1 [packed = maybe]; }", "expected true or false"},
	{"message M { optional int32 a = 1 [packed = true]; }",
	 "only repeated numbers can be packed"},
	{"message M { repeated M a = 1 [packed = true]; }", "only repeated numbers can be packed"},
	{"message M { optional int32 a = 1 [deprecated = true; }", "expected ']'"},
	{"message M { map<float, int32> a = 1; }",
	 "the keys of a map are integers, bools or strings"},
	{"message M { oneof o { map<int32, int32> a = 1; } }", "a map has no label"},
	{"message M { oneof o { repeated int32 a = 1; } }", "fields of a oneof have no label"},
	{"syntax = \"proto3\"; message M { required int32 a = 1; }", "proto3 has no required"},
	{"enum E { }", "an enum cannot be empty"},
	{"enum E { A = 0; A = 1; }", "a value of this name already exists"},
	{"enum E { A = 2147483648; }", "a value's number is at most 2147483647"},
	{"extend Nothing { optional int32 a = 1; }", "message \"Nothing\" is neither defined here"},
	{"enum E { A = 0; } extend E { optional int32 a = 1; }",
	 "message \"E\" is neither defined here"},
	{"package a; package b;", "a file has at most one package"},
	{"import 5;", "expected the path of a .proto file"},
	{"option a = \"x", "a string that does not end"},
	{"/* for ever", "1:1: found \"/\""},
	{"message M { optional a. b c = 1; }", "expected a field's type"},
	{"# hash\n", "found \"#\""},
	{"message A { message B { optional int32 x = 1; } } message A_B { optional int32 x = 1; }",
	 "two things would be called A_B_FIELD_X in C"},
	{"message M { optional int32 c = 1; } enum M_SET { c = 1; }", NULL},
};

ORMA_TEST(what_is_wrong_is_refused_with_its_place)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(refused); i++) {
		struct orma_error error = {0};
		char *header = emit(refused[i].text, &error);

		if (!refused[i].error) {
			CHECK(header != NULL);
			orma_base_free(header);
			continue;
		}
		if (header || !strstr(error.message, refused[i].error))
			fprintf(stderr, "%s\n -> %s\n", refused[i].text, error.message);
		CHECK(header == NULL && strstr(error.message, refused[i].error) != NULL);
	}
}

ORMA_TEST(blocks_without_end_are_refused_and_nothing_recurses)
{
	struct orma_tool_proto_set set = {0};
	struct orma_buf text = {0};

	for (int i = 0; i < 100000; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "message M {"), 0);
	CHECK_INT(parse(&set, orma_base_buf_cstr(&text)), -EBADMSG);
	CHECK(strstr(set.error.message, "nested more than 32 deep") != NULL);
	orma_tool_proto_set_done(&set);
	text.size = 0;
	CHECK_INT(orma_base_buf_append_str(&text, "option a = "), 0);
	for (int i = 0; i < 100000; i++)
		CHECK_INT(orma_base_buf_append_str(&text, "{["), 0);
	set = (struct orma_tool_proto_set){0};
	CHECK_INT(parse(&set, orma_base_buf_cstr(&text)), -EBADMSG);
	orma_tool_proto_set_done(&set);
	orma_base_buf_done(&text);
}

ORMA_TEST(without_memory_there_is_no_header_and_no_leak)
{
	static const char text[] = "package p; enum E { A = 0; } message M { optional E e = 1;\n"
				   "map<int32, M> m = 2; repeated int32 p = 3 [packed = true]; }\n"
				   "extend M { optional int32 x = 9; }";
	int tries = 0;

	for (uint64_t nth = 1; nth < 500; nth++) {
		struct orma_error error;
		char *header;
		bool failed;

		orma_base_alloc_fail_nth(nth);
		header = emit(text, &error);
		failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		orma_base_free(header);
		if (!failed)
			break;
		tries++;
	}
	CHECK(tries > 2 && tries < 400);
}
