/* SPDX-License-Identifier: Apache-2.0
 * schema_facts_test.c - the schema agrees with the protocol: names, numbers and types of fields.
 *
 * A .fields file has one line per field, "MESSAGE FIELD NUMBER [repeated] TYPE". The first message is the
 * root; every other message is the type of a field before it, and therefore found by walking the
 * tables from the root. "@NUMBER GROUP NAME" is the tracepoint of a member of FtraceEvent. Rejected: upstream's .proto files as the other side, because they are not ours to
 * keep; protoc, because it would read our own files twice.
 */
#include "base/macros.h"
#include "harness.h"
#include "probes/ftrace/event_groups.h"
#include "proto/codec.h"
#include "schema/gen/ftrace_event.pb.h"

#define MESSAGES_MAX 1000

static const char *const kind_names[] = {
	"bool",   "int32",   "int64",   "uint32",   "uint64",   "sint32",
	"sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "float",
	"double", "enum",    "string",  "bytes",    "message",
};

struct catalogue {
	const struct orma_proto_desc *messages[MESSAGES_MAX];
	unsigned seen[MESSAGES_MAX]; /* fields that the file names */
	size_t count;
};

static size_t find_message(const struct catalogue *catalogue, const char *name)
{
	size_t i = 0;

	while (i < catalogue->count && strcmp(catalogue->messages[i]->name, name) != 0)
		i++;
	return i;
}

static void check_type(struct catalogue *catalogue, const struct orma_proto_desc *desc,
		       const struct orma_proto_field_desc *field, char *expected)
{
	char *type_name = strchr(expected, ' ');

	if (type_name)
		*type_name++ = '\0';
	CHECK_STR(kind_names[field->kind], expected);
	if (field->kind == ORMA_PROTO_KIND_ENUM)
		CHECK_STR(desc->types[field->type_idx].enumeration->name, type_name);
	if (field->kind != ORMA_PROTO_KIND_MESSAGE)
		return;
	CHECK_STR(desc->types[field->type_idx].message->name, type_name);
	if (find_message(catalogue, type_name) == catalogue->count) {
		CHECK(catalogue->count < MESSAGES_MAX);
		catalogue->messages[catalogue->count++] = desc->types[field->type_idx].message;
	}
}

static void check_line(struct catalogue *catalogue, char *line)
{
	char *message = strtok(line, " "), *name = strtok(NULL, " "), *number = strtok(NULL, " ");
	char *type = strtok(NULL, "\n");
	size_t idx = find_message(catalogue, message);
	const struct orma_proto_field_desc *field;
	bool is_repeated;

	if (idx == catalogue->count)
		orma_test_fail(__FILE__, __LINE__, "no message %s", message);
	field = orma_proto_desc_find_name(catalogue->messages[idx],
					  (struct orma_str){name, strlen(name)});
	if (!field)
		orma_test_fail(__FILE__, __LINE__, "no field %s in %s", name, message);
	CHECK_INT(field->id, atoi(number));
	is_repeated = strncmp(type, "repeated ", 9) == 0;
	CHECK_INT((field->flags & ORMA_PROTO_REPEATED_FLAG) != 0, is_repeated);
	check_type(catalogue, catalogue->messages[idx], field, type + (is_repeated ? 9 : 0));
	catalogue->seen[idx]++;
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

/* Returns what the file mentions. */
static struct catalogue check_file(const char *name, const struct orma_proto_desc *root)
{
	struct catalogue catalogue = {{root}, {0}, 1};
	char path[512], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/schema/%s", ORMA_SOURCE_DIR, name);
	file = fopen(path, "rbe");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '@')
			check_tracepoint(line + 1);
		else if (line[0] != '#')
			check_line(&catalogue, line);
	}
	fclose(file);
	return catalogue;
}

ORMA_TEST(every_kernel_event_has_the_fields_of_the_protocol)
{
	struct catalogue catalogue = check_file("ftrace_event.fields", &orma_pb_ftrace_event_desc);

	CHECK(catalogue.count > 400);
	for (size_t i = 0; i < catalogue.count; i++) {
		if (catalogue.seen[i] != catalogue.messages[i]->field_count)
			orma_test_fail(__FILE__, __LINE__, "%s has fields that the list lacks",
				       catalogue.messages[i]->name);
	}
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
