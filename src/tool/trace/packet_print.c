/* SPDX-License-Identifier: Apache-2.0
 * packet_print.c - prints packets straight from their bytes, with the names of the generated tables.
 *
 * The fields of a message are collected, sorted by number (unknown ones come last, in their order), and
 * printed. If a singular field occurs several times, the last value counts, as for every reader.
 * Open messages are on a stack of limited depth, because the depth comes from the input.
 *
 * Text is protobuf's text format, which orma_proto_text_parse() reads again. JSON is protobuf's mapping
 * to JSON: integers of 64 bits are strings, because many readers of JSON round them; bytes are in base64;
 * enums are names. Names of fields are as in the .proto files. A field without a name is named by its
 * number.
 *
 * Kernel events without a message of their own are described by their bundle: text has the names as
 * comments, JSON as keys, "group/name".
 *
 * Rejected: decoding into structs first. A kernel event's struct has a pointer for each of hundreds of
 * types, so a bundle of 20,000 events would take 70 MB to print.
 */
#include "tool/trace/packet_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "proto/text_lexer.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/tool.h"

#define TRY(expression)                                                                            \
	do {                                                                                       \
		int try_r = (expression);                                                          \
		if (try_r < 0)                                                                     \
			return try_r;                                                              \
	} while (0)

struct orma_print_field {
	struct orma_proto_field wire;
	struct orma_str whole; /* with its tag */
	size_t order;
	/* NULL = the table does not have it, or with another wire type. */
	const struct orma_proto_field_desc *known;
	const struct orma_proto_desc *table; /* that has it */
};

void orma_packet_printer_done(struct orma_packet_printer *printer)
{
	orma_base_buf_done(&printer->out);
	orma_base_free(printer->fields);
}

static int put(struct orma_packet_printer *printer, const char *text)
{
	return orma_base_buf_append_str(&printer->out, text);
}

/* --- fields of a message ---------------------------------------------------------------------- */

static bool has_expected_type(const struct orma_proto_field_desc *known,
			      enum orma_proto_wire_type type)
{
	switch (known->kind) {
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
	case ORMA_PROTO_KIND_MESSAGE:
		return type == ORMA_PROTO_BYTES;
	default:
		break;
	}
	/* Numbers of a list may be packed. */
	if (type == ORMA_PROTO_BYTES)
		return known->flags & ORMA_PROTO_REPEATED_FLAG;
	switch (known->kind) {
	case ORMA_PROTO_KIND_FIXED32:
	case ORMA_PROTO_KIND_SFIXED32:
	case ORMA_PROTO_KIND_FLOAT:
		return type == ORMA_PROTO_FIXED32;
	case ORMA_PROTO_KIND_FIXED64:
	case ORMA_PROTO_KIND_SFIXED64:
	case ORMA_PROTO_KIND_DOUBLE:
		return type == ORMA_PROTO_FIXED64;
	default:
		return type == ORMA_PROTO_VARINT;
	}
}

static void look_up(const struct orma_proto_desc *desc, struct orma_print_field *field)
{
	const struct orma_proto_extension *extension = &orma_tool_config_extension;

	if (!desc)
		return;
	field->table = desc;
	field->known = orma_proto_desc_find(desc, field->wire.id);
	if (!field->known && desc == extension->extendee) {
		field->table = extension->fields;
		field->known = orma_proto_desc_find(extension->fields, field->wire.id);
	}
	if (field->known && !has_expected_type(field->known, field->wire.type))
		field->known = NULL;
}

static int add_field(struct orma_packet_printer *printer, const struct orma_print_field *field)
{
	if (printer->field_count == printer->field_capacity) {
		size_t capacity = printer->field_capacity ? 2 * printer->field_capacity : 64;
		void *grown =
			orma_base_realloc(printer->fields, capacity * sizeof(*printer->fields));
		if (!grown)
			return -ENOMEM;
		printer->fields = grown;
		printer->field_capacity = capacity;
	}
	printer->fields[printer->field_count++] = *field;
	return 0;
}

static int compare_fields(const void *a, const void *b)
{
	const struct orma_print_field *x = a, *y = b;

	if (!x->known != !y->known)
		return x->known ? -1 : 1;
	if (x->known && x->wire.id != y->wire.id)
		return x->wire.id < y->wire.id ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Appends the message's fields to printer->fields, sorted. 0 or -errno. */
static int collect(struct orma_packet_printer *printer, const struct orma_proto_desc *desc,
		   struct orma_str bytes)
{
	size_t begin = printer->field_count;
	struct orma_print_field field = {0};
	struct orma_proto_reader reader;
	int more;

	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while ((more = orma_proto_reader_next(&reader, &field.wire)) > 0) {
		field.whole = (struct orma_str){(const char *)field.wire.begin,
						(size_t)(reader.at - field.wire.begin)};
		field.order = printer->field_count;
		field.known = NULL;
		look_up(desc, &field);
		TRY(add_field(printer, &field));
	}
	if (printer->field_count > begin)
		qsort(printer->fields + begin, printer->field_count - begin,
		      sizeof(*printer->fields), compare_fields);
	return more;
}

/* --- values ----------------------------------------------------------------------------------- */

static int put_base64(struct orma_buf *out, struct orma_str bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = (const uint8_t *)bytes.data;

	TRY(orma_base_buf_append(out, "\"", 1));
	for (size_t left = bytes.size; left > 0; left -= ORMA_MIN(left, (size_t)3), at += 3) {
		uint32_t bits = (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0) |
				(left > 2 ? at[2] : 0);
		char quad[4] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63],
				digits[bits & 63]};

		if (left < 3)
			memcpy(quad + 1 + left, "==", 3 - left);
		TRY(orma_base_buf_append(out, quad, 4));
	}
	return orma_base_buf_append(out, "\"", 1);
}

static uint32_t code_point(const char *at, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)at;
	uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);

	for (size_t i = 1; i < size; i++)
		code = code << 6 | (bytes[i] & 0x3f);
	return code;
}

/* Replaces bytes that are not UTF-8 by U+FFFD. Characters that are not visible are escaped. */
static int put_json_string(struct orma_buf *out, struct orma_str text)
{
	TRY(orma_base_buf_append(out, "\"", 1));
	while (text.size > 0) {
		size_t size = orma_base_utf8_size(text);
		uint32_t code = size ? code_point(text.data, size) : 0xfffd;

		if (code == '"' || code == '\\')
			TRY(orma_base_buf_printf(out, "\\%c", (int)code));
		else if (size > 0 && orma_base_utf8_visible_size(text) > 0)
			TRY(orma_base_buf_append(out, text.data, size));
		else if (code > 0xffff)
			TRY(orma_base_buf_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32,
						 0xd800 + ((code - 0x10000) >> 10),
						 0xdc00 + ((code - 0x10000) & 0x3ff)));
		else
			TRY(orma_base_buf_printf(out, "\\u%04" PRIx32, code));
		text.data += size ? size : 1;
		text.size -= size ? size : 1;
	}
	return orma_base_buf_append(out, "\"", 1);
}

static int put_string(struct orma_packet_printer *printer, struct orma_str bytes, bool is_text)
{
	if (!printer->is_json)
		return orma_proto_text_put_string(&printer->out, bytes, is_text);
	return is_text ? put_json_string(&printer->out, bytes) : put_base64(&printer->out, bytes);
}

static int put_floating(struct orma_packet_printer *printer, double value, bool is_float)
{
	struct orma_buf *out = &printer->out;

	if (printer->is_json && isnan(value))
		return put(printer, "\"NaN\"");
	if (printer->is_json && isinf(value))
		return put(printer, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	return is_float ? orma_proto_text_put_float(out, (float)value)
			: orma_proto_text_put_double(out, value);
}

/* JSON has 64 bits as a string. */
static int put_wide(struct orma_packet_printer *printer, uint64_t value, bool is_signed)
{
	const char *quote = printer->is_json ? "\"" : "";

	return is_signed ? orma_base_buf_printf(&printer->out, "%s%" PRId64 "%s", quote,
						(int64_t)value, quote)
			 : orma_base_buf_printf(&printer->out, "%s%" PRIu64 "%s", quote, value,
						quote);
}

static int put_enum(struct orma_packet_printer *printer, const struct orma_print_field *field,
		    int32_t value)
{
	const struct orma_proto_enum_desc *type =
		field->table->types[field->known->type_idx].enumeration;
	const char *name = orma_proto_enum_name(type, value);

	if (!name)
		return orma_base_buf_printf(&printer->out, "%" PRId32, value);
	return orma_base_buf_printf(&printer->out, printer->is_json ? "\"%s\"" : "%s", name);
}

/* `value` is as on the wire. */
static int put_number(struct orma_packet_printer *printer, const struct orma_print_field *field,
		      uint64_t value)
{
	struct orma_buf *out = &printer->out;
	uint32_t narrow = (uint32_t)value;
	double wide_number;
	float number;

	switch (field->known->kind) {
	case ORMA_PROTO_KIND_BOOL:
		return put(printer, value ? "true" : "false");
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_SFIXED32:
		return orma_base_buf_printf(out, "%" PRId32, (int32_t)value);
	case ORMA_PROTO_KIND_SINT32:
		return orma_base_buf_printf(out, "%" PRId32, (int32_t)orma_proto_unzigzag(narrow));
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_FIXED32:
		return orma_base_buf_printf(out, "%" PRIu32, narrow);
	case ORMA_PROTO_KIND_SINT64:
		return put_wide(printer, (uint64_t)orma_proto_unzigzag(value), true);
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_SFIXED64:
		return put_wide(printer, value, true);
	case ORMA_PROTO_KIND_FLOAT:
		memcpy(&number, &narrow, sizeof(number));
		return put_floating(printer, (double)number, true);
	case ORMA_PROTO_KIND_DOUBLE:
		memcpy(&wide_number, &value, sizeof(wide_number));
		return put_floating(printer, wide_number, false);
	case ORMA_PROTO_KIND_ENUM:
		return put_enum(printer, field, (int32_t)value);
	default:
		return put_wide(printer, value, false);
	}
}

/* --- lines and keys --------------------------------------------------------------------------- */

static int put_indent(struct orma_packet_printer *printer, unsigned depth)
{
	return orma_base_buf_printf(&printer->out, "%*s", (int)(2 * depth), "");
}

/* Text: an indented name. JSON: a comma, where one is needed, and the key. */
static int put_name(struct orma_packet_printer *printer, struct orma_str name, unsigned depth)
{
	struct orma_buf *out = &printer->out;

	if (!printer->is_json) {
		TRY(put_indent(printer, depth));
		return orma_base_buf_append(out, name.data, name.size);
	}
	if (out->data[out->size - 1] != '{')
		TRY(put(printer, ","));
	TRY(put_json_string(out, name));
	return put(printer, ":");
}

/* The braces of a message around its fields; `note` is a comment in text, or NULL. */
static int open_message(struct orma_packet_printer *printer, const char *note)
{
	if (printer->is_json)
		return put(printer, "{");
	return note ? orma_base_buf_printf(&printer->out, " {  # %s\n", note)
		    : put(printer, " {\n");
}

static int close_message(struct orma_packet_printer *printer, unsigned depth)
{
	if (printer->is_json)
		return put(printer, "}");
	TRY(put_indent(printer, depth));
	return put(printer, "}\n");
}

/* --- kernel events that their bundle describes ------------------------------------------------ */

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
	TRY(put_name(printer, orma_base_str(printer->is_json && name[0] != '\0' ? name : number),
		     depth));
	if (!printer->is_json)
		TRY(put(printer, ": "));
	if (field->type == ORMA_PROTO_BYTES)
		TRY(put_string(printer, field->bytes, type == DESCRIPTOR_TYPE_STRING));
	else
		TRY(put_wide(printer, field->value,
			     type == DESCRIPTOR_TYPE_INT64 || type == DESCRIPTOR_TYPE_INT32));
	return printer->is_json ? 0 : orma_base_buf_printf(&printer->out, "  # %s\n", name);
}

/* Returns 1 when the field is an event that the bundle describes, 0 when it is not, or -errno. */
static int print_generic_event(struct orma_packet_printer *printer,
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
	TRY(put_name(printer, orma_base_str(printer->is_json ? path : number), depth));
	TRY(open_message(printer, path));
	orma_proto_reader_init(&reader, event->bytes.data, event->bytes.size);
	while ((more = orma_proto_reader_next(&reader, &field)) > 0)
		TRY(print_generic_field(printer, descriptor, &field, depth + 1));
	TRY(more);
	TRY(close_message(printer, depth));
	return 1;
}

/* --- messages --------------------------------------------------------------------------------- */

static int print_unknown(struct orma_packet_printer *printer, const struct orma_print_field *field,
			 unsigned depth)
{
	char number[16];

	if (field->table == &orma_pb_ftrace_event_desc) {
		int r = print_generic_event(printer, &field->wire, depth);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	if (!printer->is_json)
		return orma_proto_text_print_unknown(field->whole, depth, &printer->out);
	snprintf(number, sizeof(number), "%" PRIu32, field->wire.id);
	TRY(put_name(printer, orma_base_str(number), depth));
	return field->wire.type == ORMA_PROTO_BYTES ? put_base64(&printer->out, field->wire.bytes)
						    : put_wide(printer, field->wire.value, false);
}

/* Text has the name before each value of a list; JSON separates the values. */
static int begin_value(struct orma_packet_printer *printer, const struct orma_print_field *field,
		       unsigned depth)
{
	const struct orma_buf *out = &printer->out;

	if (!printer->is_json)
		return put_name(printer,
				orma_base_str(orma_proto_field_name(field->table, field->known)),
				depth);
	return (field->known->flags & ORMA_PROTO_REPEATED_FLAG) && out->data[out->size - 1] != '['
		       ? put(printer, ",")
		       : 0;
}

/* Prints a value that is not a message. */
static int print_value(struct orma_packet_printer *printer, const struct orma_print_field *field,
		       const uint64_t *number, unsigned depth)
{
	TRY(begin_value(printer, field, depth));
	if (!printer->is_json)
		TRY(put(printer, ": "));
	if (number)
		TRY(put_number(printer, field, *number));
	else
		TRY(put_string(printer, field->wire.bytes,
			       field->known->kind == ORMA_PROTO_KIND_STRING));
	return printer->is_json ? 0 : put(printer, "\n");
}

/* Prints the numbers of a packed list. */
static int print_packed(struct orma_packet_printer *printer, const struct orma_print_field *field,
			unsigned depth)
{
	const uint8_t *at = (const uint8_t *)field->wire.bytes.data;
	const uint8_t *end = at + field->wire.bytes.size;
	size_t fixed = 0;

	switch (field->known->kind) {
	case ORMA_PROTO_KIND_FIXED32:
	case ORMA_PROTO_KIND_SFIXED32:
	case ORMA_PROTO_KIND_FLOAT:
		fixed = 4;
		break;
	case ORMA_PROTO_KIND_FIXED64:
	case ORMA_PROTO_KIND_SFIXED64:
	case ORMA_PROTO_KIND_DOUBLE:
		fixed = 8;
		break;
	default:
		break;
	}
	while (at < end) {
		uint64_t number = 0;

		if (fixed > (size_t)(end - at))
			return -EBADMSG;
		memcpy(&number, at, fixed);
		at = fixed ? at + fixed : orma_proto_get_varint(at, end, &number);
		if (!at)
			return -EBADMSG;
		TRY(print_value(printer, field, &number, depth));
	}
	return 0;
}

static int print_scalar(struct orma_packet_printer *printer, const struct orma_print_field *field,
			unsigned depth)
{
	bool is_number = field->known->kind != ORMA_PROTO_KIND_STRING &&
			 field->known->kind != ORMA_PROTO_KIND_BYTES;

	if (is_number && field->wire.type == ORMA_PROTO_BYTES)
		return print_packed(printer, field, depth);
	return print_value(printer, field, is_number ? &field->wire.value : NULL, depth);
}

/* --- messages --------------------------------------------------------------------------------- */

/* A message that is open. Its fields are those of the printer from `begin` to `end`; those before `at` are printed,
 * and `left` of the values of one field from there on are to come. */
struct open_message {
	size_t begin, at, end, left;
	bool is_list;
};

static int enter(struct orma_packet_printer *printer, const struct orma_proto_desc *desc,
		 struct orma_str bytes, struct open_message *ret)
{
	if (desc == &orma_pb_ftrace_event_bundle_desc)
		printer->bundle = bytes;
	*ret = (struct open_message){.begin = printer->field_count, .at = printer->field_count};
	TRY(collect(printer, desc, bytes));
	ret->end = printer->field_count;
	return 0;
}

/* Begins the field at `message->at`, which may have several values. An unknown field is printed whole. */
static int begin_field(struct orma_packet_printer *printer, struct open_message *message,
		       unsigned depth)
{
	const struct orma_print_field *field = &printer->fields[message->at];
	size_t count = 1;

	if (!field->known) {
		message->at++;
		return print_unknown(printer, field, depth);
	}
	while (message->at + count < message->end && field[count].known == field->known)
		count++;
	message->is_list = field->known->flags & ORMA_PROTO_REPEATED_FLAG;
	message->left = message->is_list ? count : 1;
	message->at += count - message->left;
	if (!printer->is_json)
		return 0;
	TRY(put_name(printer, orma_base_str(orma_proto_field_name(field->table, field->known)),
		     depth));
	return message->is_list ? put(printer, "[") : 0;
}

/* Takes the next value of the field. Returns the table of a message that it opened, or NULL with 0 or -errno. */
static const struct orma_proto_desc *take_value(struct orma_packet_printer *printer,
						struct open_message *message, unsigned depth,
						struct orma_str *ret_bytes, int *ret)
{
	const struct orma_print_field *field = &printer->fields[message->at];

	message->at++;
	message->left--;
	if (field->known->kind != ORMA_PROTO_KIND_MESSAGE) {
		*ret = print_scalar(printer, field, depth);
		return NULL;
	}
	*ret_bytes = field->wire.bytes;
	const struct orma_proto_desc *desc = field->table->types[field->known->type_idx].message;
	*ret = begin_value(printer, field, depth);
	if (*ret == 0)
		*ret = open_message(printer, NULL);
	return *ret == 0 ? desc : NULL;
}

static int print_packet(struct orma_packet_printer *printer, struct orma_str bytes)
{
	struct open_message open[ORMA_PROTO_DEPTH_MAX + 1]; /* from 1 on, which is the packet */
	unsigned depth = 1;

	TRY(enter(printer, &orma_pb_trace_packet_desc, bytes, &open[depth]));
	while (depth > 0) {
		struct open_message *message = &open[depth];

		if (message->left > 0) {
			int r;
			const struct orma_proto_desc *desc =
				take_value(printer, message, depth, &bytes, &r);
			TRY(r);
			if (desc) {
				if (depth == ORMA_PROTO_DEPTH_MAX)
					return -EMSGSIZE;
				TRY(enter(printer, desc, bytes, &open[++depth]));
				continue;
			}
		} else if (message->at < message->end) {
			TRY(begin_field(printer, message, depth));
			continue;
		} else {
			printer->field_count = message->begin;
			if (--depth == 0)
				break;
			TRY(close_message(printer, depth));
			message = &open[depth];
		}
		if (message->left == 0 && message->is_list && printer->is_json)
			TRY(put(printer, "]"));
	}
	return 0;
}

int orma_packet_print(struct orma_packet_printer *printer, const void *data, size_t size)
{
	printer->field_count = 0;
	printer->bundle = ORMA_STR("");
	TRY(put(printer, printer->is_json ? "{" : "packet {\n"));
	TRY(print_packet(printer, (struct orma_str){data, size}));
	return put(printer, "}\n");
}
