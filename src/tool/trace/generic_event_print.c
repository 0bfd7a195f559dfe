/* SPDX-License-Identifier: Apache-2.0
 * generic_event_print.c - prints kernel events without a message of their own.
 *
 * Their bundle describes them (printer->bundle): text has the names as comments, JSON as keys,
 * "group/name".
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "tool/trace/packet_value.h"

/* Field numbers of google.protobuf.DescriptorProto and FieldDescriptorProto. */
enum {
	DESCRIPTOR_NAME = 1,
	DESCRIPTOR_FIELD = 2,
	DESCRIPTOR_FIELD_NAME = 1,
	DESCRIPTOR_FIELD_NUMBER = 3,
	DESCRIPTOR_FIELD_TYPE = 5,
	DESCRIPTOR_TYPE_INT64 = 3,
	DESCRIPTOR_TYPE_INT32 = 5,
	DESCRIPTOR_TYPE_STRING = 9,
};

static uint64_t find_number(struct orma_str message, uint32_t id)
{
	struct orma_proto_field field;

	return orma_proto_reader_find(message.data, message.size, id, &field) > 0 &&
			       field.type == ORMA_PROTO_VARINT
		       ? field.value
		       : 0;
}

static struct orma_str find_bytes(struct orma_str message, uint32_t id)
{
	struct orma_proto_field field;

	return orma_proto_reader_find(message.data, message.size, id, &field) > 0 &&
			       field.type == ORMA_PROTO_BYTES
		       ? field.bytes
		       : ORMA_STR("");
}

/* Finds the entry of a list (field `list` of `message`) whose field `key` is `value`. */
static bool find_entry(struct orma_str message, uint32_t list, uint32_t key, uint64_t value,
		       struct orma_str *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, message.data, message.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == list && field.type == ORMA_PROTO_BYTES &&
		    find_number(field.bytes, key) == value) {
			*ret = field.bytes;
			return true;
		}
	}
	return false;
}

/* Names come from the kernel, or from a file. What is not a character of a name becomes "?". */
static void copy_name(char *ret, size_t size, struct orma_str name)
{
	size_t count = ORMA_MIN(name.size, size - 1);

	for (size_t i = 0; i < count; i++) {
		ret[i] = name.data[i];
		if (ret[i] <= ' ' || ret[i] >= 0x7f)
			ret[i] = '?';
	}
	ret[count] = '\0';
}

static int print_generic_field(struct orma_packet_printer *printer, struct orma_str descriptor,
			       const struct orma_proto_field *field, unsigned depth)
{
	struct orma_str entry = {0};
	char name[100], number[16];

	if (!find_entry(descriptor, DESCRIPTOR_FIELD, DESCRIPTOR_FIELD_NUMBER, field->id, &entry))
		entry = ORMA_STR("");
	uint64_t type = find_number(entry, DESCRIPTOR_FIELD_TYPE);
	snprintf(number, sizeof(number), "%" PRIu32, field->id);
	copy_name(name, sizeof(name), find_bytes(entry, DESCRIPTOR_FIELD_NAME));
	ORMA_PACKET_TRY(orma_packet_put_name(
		printer, orma_base_str(printer->is_json && name[0] != '\0' ? name : number),
		depth));
	if (!printer->is_json)
		ORMA_PACKET_TRY(orma_packet_put(printer, ": "));
	if (field->type == ORMA_PROTO_BYTES)
		ORMA_PACKET_TRY(orma_packet_put_string(printer, field->bytes,
						       type == DESCRIPTOR_TYPE_STRING));
	else
		ORMA_PACKET_TRY(orma_packet_put_wide(printer, field->value,
						     type == DESCRIPTOR_TYPE_INT64 ||
							     type == DESCRIPTOR_TYPE_INT32));
	return printer->is_json ? 0 : orma_base_buf_printf(&printer->out, "  # %s\n", name);
}

int orma_packet_print_generic_event(struct orma_packet_printer *printer,
				    const struct orma_proto_field *event, unsigned depth)
{
	struct orma_str entry, descriptor;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	char group[100], name[100], path[202], number[16];
	int more;

	if (event->type != ORMA_PROTO_BYTES ||
	    !find_entry(printer->bundle, ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS,
			ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, event->id,
			&entry))
		return 0;
	descriptor = find_bytes(
		entry, ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	copy_name(
		group, sizeof(group),
		find_bytes(entry, ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME));
	copy_name(name, sizeof(name), find_bytes(descriptor, DESCRIPTOR_NAME));
	snprintf(path, sizeof(path), "%s/%s", group, name);
	snprintf(number, sizeof(number), "%" PRIu32, event->id);
	ORMA_PACKET_TRY(orma_packet_put_name(
		printer, orma_base_str(printer->is_json ? path : number), depth));
	ORMA_PACKET_TRY(orma_packet_open_message(printer, path));
	orma_proto_reader_init(&reader, event->bytes.data, event->bytes.size);
	while ((more = orma_proto_reader_next(&reader, &field)) > 0)
		ORMA_PACKET_TRY(print_generic_field(printer, descriptor, &field, depth + 1));
	ORMA_PACKET_TRY(more);
	ORMA_PACKET_TRY(orma_packet_close_message(printer, depth));
	return 1;
}
