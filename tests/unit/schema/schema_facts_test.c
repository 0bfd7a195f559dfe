/* SPDX-License-Identifier: Apache-2.0
 * schema_facts_test.c - the schema agrees with the protocol: names, numbers and types of fields.
 *
 * A .fields file has one line per field, "MESSAGE FIELD NUMBER [repeated] TYPE". The first message is
 * the root; every other message is the type of a field before it, and therefore found by walking the
 * tables from the root. "ENUM.VALUE = NUMBER" is a value of an enum. "@NUMBER GROUP NAME" is the tracepoint of
 * a member of FtraceEvent. Rejected: upstream's .proto files as the other side, because they are not
 * ours to keep; protoc, because it would read our own files twice.
 */
#include "base/macros.h"
#include "harness.h"
#include "probes/ftrace/event_groups.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/orma_heap_record.pb.h"
#include "schema/gen/other_data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define TYPES_MAX 1000

static const char *const kind_names[] = {
	"bool",   "int32",   "int64",   "uint32",   "uint64",   "sint32",
	"sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "float",
	"double", "enum",    "string",  "bytes",    "message",
};

static const struct orma_proto_extension extension = {&orma_pb_data_source_config_desc,
						      &orma_pb_other_data_source_config_desc};

struct message {
	const struct orma_proto_desc *desc;
	unsigned seen; /* fields that the file names */
	/* The field by which it was met first: its message (the root has none), number and name. */
	size_t parent;
	uint32_t id;
	const char *name;
};

struct facts {
	struct message messages[TYPES_MAX];
	const struct orma_proto_enum_desc *enums[TYPES_MAX];
	size_t message_count, enum_count;
	bool is_parsed; /* each field is also looked for in a text */
};

static size_t find_message(const struct facts *facts, const char *name)
{
	size_t i = 0;

	while (i < facts->message_count && strcmp(facts->messages[i].desc->name, name) != 0)
		i++;
	return i;
}

static size_t find_enum(const struct facts *facts, const char *name)
{
	size_t i = 0;

	while (i < facts->enum_count && strcmp(facts->enums[i]->name, name) != 0)
		i++;
	return i;
}

/* Opens the message in a text of the root, and closes it. */
static void open_message(const struct facts *facts, size_t idx, struct orma_buf *text)
{
	if (idx == 0)
		return;
	open_message(facts, facts->messages[idx].parent, text);
	CHECK_INT(orma_base_buf_printf(text, "%s { ", facts->messages[idx].name), 0);
}

static void close_message(const struct facts *facts, size_t idx, struct orma_buf *text)
{
	for (; idx > 0; idx = facts->messages[idx].parent)
		CHECK_INT(orma_base_buf_append_str(text, " }"), 0);
}

/* Finds the content of the message in the encoding of the root. */
static struct orma_str unwrap(const struct facts *facts, size_t idx, struct orma_str root)
{
	struct orma_proto_field field;
	struct orma_str around;

	if (idx == 0)
		return root;
	around = unwrap(facts, facts->messages[idx].parent, root);
	CHECK_INT(orma_proto_reader_find(around.data, around.size, facts->messages[idx].id, &field),
		  1);
	return field.bytes;
}

/* The field's name is accepted in a text, and becomes its number. */
static void check_text(const struct facts *facts, size_t idx, const char *name, uint32_t id,
		       const char *type)
{
	const char *value = strncmp(type, "message", 7) == 0                            ? "{}"
			    : strcmp(type, "string") == 0 || strcmp(type, "bytes") == 0 ? "'x'"
			    : strcmp(type, "bool") == 0                                 ? "true"
											: "1";
	struct orma_buf text = {0}, encoded = {0};
	struct orma_error error = {0};
	struct orma_arena arena = {0};
	const struct orma_proto_text_options options = {&extension, 0};
	struct orma_proto_field field;
	struct orma_str content;
	void *config;

	open_message(facts, idx, &text);
	CHECK_INT(orma_base_buf_printf(&text, "%s: %s", name, value), 0);
	close_message(facts, idx, &text);
	if (orma_proto_text_parse_extended(facts->messages[0].desc, &options, "t",
					   (const char *)text.data, text.size, &arena, &config,
					   &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(config, &encoded), 0);
	content = unwrap(facts, idx, (struct orma_str){(const char *)encoded.data, encoded.size});
	CHECK_INT(orma_proto_reader_find(content.data, content.size, id, &field), 1);
	orma_base_buf_done(&text);
	orma_base_buf_done(&encoded);
	orma_base_arena_done(&arena);
}

static void note_type(struct facts *facts, size_t idx, const struct orma_proto_desc *desc,
		      const struct orma_proto_field_desc *field, const char *type_name)
{
	if (field->kind == ORMA_PROTO_KIND_ENUM) {
		CHECK_STR(desc->types[field->type_idx].enumeration->name, type_name);
		if (find_enum(facts, type_name) == facts->enum_count)
			facts->enums[facts->enum_count++] =
				desc->types[field->type_idx].enumeration;
	} else if (field->kind == ORMA_PROTO_KIND_MESSAGE) {
		CHECK_STR(desc->types[field->type_idx].message->name, type_name);
		if (find_message(facts, type_name) == facts->message_count)
			facts->messages[facts->message_count++] =
				(struct message){desc->types[field->type_idx].message, 0, idx,
						 field->id, orma_proto_field_name(desc, field)};
	}
	CHECK(facts->message_count < TYPES_MAX && facts->enum_count < TYPES_MAX);
}

static void check_field(struct facts *facts, char *line)
{
	char *message = strtok(line, " "), *name = strtok(NULL, " "), *number = strtok(NULL, " ");
	char *type = strtok(NULL, "\n"), *type_name;
	size_t idx = find_message(facts, message);
	const struct orma_proto_field_desc *field;
	const struct orma_proto_desc *desc;
	bool is_repeated;

	if (idx == facts->message_count)
		orma_test_fail(__FILE__, __LINE__, "no message %s", message);
	desc = facts->messages[idx].desc;
	field = orma_proto_desc_find_name(desc, orma_base_str(name));
	if (!field && desc == extension.extendee)
		field = orma_proto_desc_find_name(desc = extension.fields, orma_base_str(name));
	else
		facts->messages[idx].seen++;
	if (!field)
		orma_test_fail(__FILE__, __LINE__, "no field %s in %s", name, message);
	CHECK_INT(field->id, atoi(number));
	is_repeated = strncmp(type, "repeated ", 9) == 0;
	CHECK_INT((field->flags & ORMA_PROTO_REPEATED_FLAG) != 0, is_repeated);
	type += is_repeated ? 9 : 0;
	if (facts->is_parsed)
		check_text(facts, idx, name, field->id, type);
	type_name = strchr(type, ' ');
	if (type_name)
		*type_name++ = '\0';
	CHECK_STR(kind_names[field->kind], type);
	note_type(facts, idx, desc, field, type_name);
}

static void check_enum_value(const struct facts *facts, char *line)
{
	char *name = strtok(line, " "), *value = strrchr(name, '.');
	int expected = atoi(strtok(NULL, "= \n"));
	int32_t number = 0;
	size_t idx;

	*value++ = '\0';
	idx = find_enum(facts, name);
	if (idx == facts->enum_count ||
	    !orma_proto_enum_find(facts->enums[idx], orma_base_str(value), &number))
		orma_test_fail(__FILE__, __LINE__, "no value %s of %s", value, name);
	CHECK_INT(number, expected);
}

static const char *group_of(uint32_t id)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(orma_ftrace_event_groups); i++) {
		const struct orma_ftrace_event_group *run = &orma_ftrace_event_groups[i];

		if (id >= run->first_field && id <= run->last_field)
			return run->group;
	}
	return NULL;
}

static void check_tracepoint(char *line)
{
	uint32_t id = (uint32_t)atoi(strtok(line, " "));
	char *group = strtok(NULL, " "), *name = strtok(NULL, "\n"), prefixed[100];
	const struct orma_proto_desc *desc = &orma_pb_ftrace_event_desc;
	const char *member = orma_proto_field_name(desc, orma_proto_desc_find(desc, id));

	CHECK_STR(group_of(id), group);
	snprintf(prefixed, sizeof(prefixed), "%s_%s", group, name);
	CHECK_STR(member, strcmp(member, name) == 0 ? name : prefixed);
}

static void check_file(const char *name, const struct orma_proto_desc *root, struct facts *facts)
{
	char path[512], line[512];
	FILE *file;

	facts->messages[facts->message_count++].desc = root;
	snprintf(path, sizeof(path), "%s/tests/unit/schema/%s", ORMA_SOURCE_DIR, name);
	file = fopen(path, "rbe");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '@')
			check_tracepoint(line + 1);
		else if (strstr(line, " = "))
			check_enum_value(facts, line);
		else if (line[0] != '#')
			check_field(facts, line);
	}
	fclose(file);
}

ORMA_TEST(every_kernel_event_has_the_fields_of_the_protocol)
{
	static struct facts facts;

	check_file("ftrace_event.fields", &orma_pb_ftrace_event_desc, &facts);
	CHECK(facts.message_count > 400);
	for (size_t i = 0; i < facts.message_count; i++) {
		if (facts.messages[i].seen != facts.messages[i].desc->field_count)
			orma_test_fail(__FILE__, __LINE__, "%s has fields that the list lacks",
				       facts.messages[i].desc->name);
	}
}

ORMA_TEST(every_field_of_a_config_is_accepted_in_a_text)
{
	static struct facts facts = {.is_parsed = true};

	check_file("trace_config.fields", &orma_pb_trace_config_desc, &facts);
	CHECK(facts.message_count > 90);
	CHECK(facts.enum_count > 40);
}

/* The reader of raw pages (src/probes/ftrace) translates values one by one and relies on this. */
ORMA_TEST(kernel_events_are_flat)
{
	const struct orma_proto_desc *desc = &orma_pb_ftrace_event_desc;

	for (size_t i = 0; i < desc->field_count; i++) {
		const struct orma_proto_field_desc *member = &desc->fields[i];
		const struct orma_proto_desc *event;

		if (member->kind != ORMA_PROTO_KIND_MESSAGE)
			continue;
		event = desc->types[member->type_idx].message;
		CHECK(member->oneof != 0);
		if (strcmp(orma_proto_field_name(desc, member), "generic") == 0 ||
		    strcmp(orma_proto_field_name(desc, member), "kprobe_event") == 0)
			continue;
		for (size_t j = 0; j < event->field_count; j++) {
			CHECK(event->fields[j].kind != ORMA_PROTO_KIND_MESSAGE);
			CHECK(event->fields[j].kind != ORMA_PROTO_KIND_ENUM);
		}
	}
}

/* The packets of a profiled process are private. No tool may take one for a packet of another kind. */
ORMA_TEST(no_field_of_trace_packet_has_the_number_of_heap_records)
{
	CHECK(!orma_proto_desc_find(&orma_pb_trace_packet_desc,
				    ORMA_PB_ORMA_HEAP_RECORD_PACKET_FIELD_PACKET_FIELD));
}
