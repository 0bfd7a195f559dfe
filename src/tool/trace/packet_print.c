/* SPDX-License-Identifier: Apache-2.0
 * packet_print.c - prints packets straight from their bytes, with the names of the generated tables.
 *
 * The fields of a message are collected, sorted by number (unknown ones come last, in their order), and
 * printed. If a singular field occurs several times, the last value counts, as for every reader.
 * Open messages are on a stack of limited depth, because the depth comes from the input.
 *
 * Rejected: decoding into structs first. A kernel event's struct has a pointer for each of hundreds of
 * types, so a bundle of 20,000 events would take 70 MB to print.
 */
#include "tool/trace/packet_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/tool.h"
#include "tool/trace/packet_value.h"

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
		ORMA_PACKET_TRY(add_field(printer, &field));
	}
	if (printer->field_count > begin)
		qsort(printer->fields + begin, printer->field_count - begin,
		      sizeof(*printer->fields), compare_fields);
	return more;
}

/* --- fields that are not messages ------------------------------------------------------------- */

static int print_unknown(struct orma_packet_printer *printer, const struct orma_print_field *field,
			 unsigned depth)
{
	char number[16];

	if (field->table == &orma_pb_ftrace_event_desc) {
		int r = orma_packet_print_generic_event(printer, &field->wire, depth);
		if (r != 0)
			return r < 0 ? r : 0;
	}
	if (!printer->is_json)
		return orma_proto_text_print_unknown(field->whole, depth, &printer->out);
	snprintf(number, sizeof(number), "%" PRIu32, field->wire.id);
	ORMA_PACKET_TRY(orma_packet_put_name(printer, orma_base_str(number), depth));
	return field->wire.type == ORMA_PROTO_BYTES
		       ? orma_packet_put_string(printer, field->wire.bytes, false)
		       : orma_packet_put_wide(printer, field->wire.value, false);
}

/* Text has the name before each value of a list; JSON separates the values. */
static int begin_value(struct orma_packet_printer *printer, const struct orma_print_field *field,
		       unsigned depth)
{
	const struct orma_buf *out = &printer->out;

	if (!printer->is_json)
		return orma_packet_put_name(
			printer, orma_base_str(orma_proto_field_name(field->table, field->known)),
			depth);
	return (field->known->flags & ORMA_PROTO_REPEATED_FLAG) && out->data[out->size - 1] != '['
		       ? orma_packet_put(printer, ",")
		       : 0;
}

/* Prints a value that is not a message. */
static int print_value(struct orma_packet_printer *printer, const struct orma_print_field *field,
		       const uint64_t *number, unsigned depth)
{
	ORMA_PACKET_TRY(begin_value(printer, field, depth));
	if (!printer->is_json)
		ORMA_PACKET_TRY(orma_packet_put(printer, ": "));
	if (number)
		ORMA_PACKET_TRY(
			orma_packet_put_number(printer, field->table, field->known, *number));
	else
		ORMA_PACKET_TRY(orma_packet_put_string(
			printer, field->wire.bytes, field->known->kind == ORMA_PROTO_KIND_STRING));
	return printer->is_json ? 0 : orma_packet_put(printer, "\n");
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
		ORMA_PACKET_TRY(print_value(printer, field, &number, depth));
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
	ORMA_PACKET_TRY(collect(printer, desc, bytes));
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
	ORMA_PACKET_TRY(orma_packet_put_name(
		printer, orma_base_str(orma_proto_field_name(field->table, field->known)), depth));
	return message->is_list ? orma_packet_put(printer, "[") : 0;
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
		*ret = orma_packet_open_message(printer, NULL);
	return *ret == 0 ? desc : NULL;
}

static int print_packet(struct orma_packet_printer *printer, struct orma_str bytes)
{
	struct open_message open[ORMA_PROTO_DEPTH_MAX + 1]; /* from 1 on, which is the packet */
	unsigned depth = 1;

	ORMA_PACKET_TRY(enter(printer, &orma_pb_trace_packet_desc, bytes, &open[depth]));
	while (depth > 0) {
		struct open_message *message = &open[depth];

		if (message->left > 0) {
			int r;
			const struct orma_proto_desc *desc =
				take_value(printer, message, depth, &bytes, &r);
			ORMA_PACKET_TRY(r);
			if (desc) {
				if (depth == ORMA_PROTO_DEPTH_MAX)
					return -EMSGSIZE;
				ORMA_PACKET_TRY(enter(printer, desc, bytes, &open[++depth]));
				continue;
			}
		} else if (message->at < message->end) {
			ORMA_PACKET_TRY(begin_field(printer, message, depth));
			continue;
		} else {
			printer->field_count = message->begin;
			if (--depth == 0)
				break;
			ORMA_PACKET_TRY(orma_packet_close_message(printer, depth));
			message = &open[depth];
		}
		if (message->left == 0 && message->is_list && printer->is_json)
			ORMA_PACKET_TRY(orma_packet_put(printer, "]"));
	}
	return 0;
}

int orma_packet_print(struct orma_packet_printer *printer, const void *data, size_t size)
{
	printer->field_count = 0;
	printer->bundle = ORMA_STR("");
	ORMA_PACKET_TRY(orma_packet_put(printer, printer->is_json ? "{" : "packet {\n"));
	ORMA_PACKET_TRY(print_packet(printer, (struct orma_str){data, size}));
	return orma_packet_put(printer, "}\n");
}
