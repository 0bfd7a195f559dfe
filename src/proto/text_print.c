/* SPDX-License-Identifier: Apache-2.0
 * text_print.c - prints structs as text, driven by the generated tables.
 *
 * Data structure: a stack of messages that are being printed. A frame walks the fields of a struct
 * and then its unknown fields, or the bytes of a message that no table describes. Rejected:
 * recursion, because the depth may come from a peer; printing unknown fields as comments, because
 * they would be lost when the text is parsed again.
 */
#include <errno.h>
#include <inttypes.h>

#include "proto/kind.h"
#include "proto/reader.h"
#include "proto/text_lexer.h"

struct print_frame {
	const struct orma_proto_message *message; /* NULL = bytes without a table */
	size_t next_field, next_item;
	const struct orma_proto_unknown *unknown; /* the block after the one in `reader` */
	struct orma_proto_reader reader;
};

struct printer {
	struct orma_buf *out;
	unsigned indent;
	size_t depth; /* frames in use */
	struct print_frame frames[ORMA_PROTO_DEPTH_MAX + 1];
};

static int put_indent(struct printer *printer)
{
	return orma_base_buf_printf(printer->out, "%*s",
				    (int)(2 * (printer->indent + printer->depth - 1)), "");
}

static int push(struct printer *printer, const struct orma_proto_message *message,
		struct orma_str bytes)
{
	struct print_frame *frame;

	if (printer->depth > ORMA_PROTO_DEPTH_MAX)
		return -EMSGSIZE;
	frame = &printer->frames[printer->depth++];
	*frame = (struct print_frame){.message = message,
				      .unknown = message ? message->unknown : NULL};
	orma_proto_reader_init(&frame->reader, bytes.data, bytes.size);
	return 0;
}

static int put_integer(struct orma_buf *out, enum orma_proto_kind kind, const void *at)
{
	int32_t narrow;
	int64_t wide = 0;

	memcpy(&wide, at, orma_proto_kind_size(kind));
	switch (kind) {
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_SINT32:
	case ORMA_PROTO_KIND_SFIXED32:
	case ORMA_PROTO_KIND_ENUM:
		memcpy(&narrow, at, sizeof(narrow));
		return orma_base_buf_printf(out, "%" PRId32, narrow);
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_SINT64:
	case ORMA_PROTO_KIND_SFIXED64:
		return orma_base_buf_printf(out, "%" PRId64, wide);
	default:
		return orma_base_buf_printf(out, "%" PRIu64, (uint64_t)wide);
	}
}

static int put_value(struct orma_buf *out, const struct orma_proto_desc *desc,
		     const struct orma_proto_field_desc *field, const void *at)
{
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
	const char *name;

	switch (field->kind) {
	case ORMA_PROTO_KIND_BOOL:
		return orma_base_buf_append_str(out, *(const uint8_t *)at ? "true" : "false");
	case ORMA_PROTO_KIND_FLOAT:
		return orma_proto_text_put_float(out, *(const float *)at);
	case ORMA_PROTO_KIND_DOUBLE:
		return orma_proto_text_put_double(out, *(const double *)at);
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
		return orma_proto_text_put_string(out, *(const struct orma_str *)at,
						  field->kind == ORMA_PROTO_KIND_STRING);
	case ORMA_PROTO_KIND_ENUM:
		name = orma_proto_enum_name(desc->types[field->type_idx].enumeration,
					    *(const int32_t *)at, buffer);
		if (name)
			return orma_base_buf_append_str(out, name);
		break;
	default:
		break;
	}
	return put_integer(out, field->kind, at);
}

/* Prints `name: value` or `name {`. */
static int print_item(struct printer *printer, const struct orma_proto_message *message,
		      const struct orma_proto_field_desc *field, const void *at)
{
	const char *name = orma_proto_field_name(message->desc, field);
	int r = put_indent(printer);

	if (r == 0)
		r = orma_base_buf_append_str(printer->out, name);
	if (r < 0)
		return r;
	if (field->kind == ORMA_PROTO_KIND_MESSAGE) {
		r = orma_base_buf_append(printer->out, " {\n", 3);
		return r < 0 ? r : push(printer, *(void *const *)at, ORMA_STR(""));
	}
	r = orma_base_buf_append(printer->out, ": ", 2);
	if (r == 0)
		r = put_value(printer->out, message->desc, field, at);
	return r < 0 ? r : orma_base_buf_append(printer->out, "\n", 1);
}

/* Prints the next field, or the next item of a repeated field. */
static int print_field(struct printer *printer, struct print_frame *frame)
{
	const struct orma_proto_message *message = frame->message;
	const struct orma_proto_field_desc *field = &message->desc->fields[frame->next_field];
	const struct orma_proto_repeated *repeated = orma_proto_const_member(message, field);

	if (!(field->flags & ORMA_PROTO_REPEATED_FLAG)) {
		frame->next_field++;
		if (!orma_proto_has(message, field))
			return 0;
		return print_item(printer, message, field, repeated);
	}
	if (frame->next_item == repeated->count) {
		frame->next_field++;
		frame->next_item = 0;
		return 0;
	}
	return print_item(printer, message, field,
			  (const uint8_t *)repeated->items +
				  frame->next_item++ * orma_proto_kind_size(field->kind));
}

/* True when reading these bytes and encoding the fields again would give the same bytes. */
static bool is_canonical_message(struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int more;

	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while ((more = orma_proto_reader_next(&reader, &field)) > 0) {
		enum orma_proto_wire_type type = field.type;
		size_t size = orma_proto_varint_size(orma_proto_tag(field.id, type));

		if (type == ORMA_PROTO_FIXED32 || type == ORMA_PROTO_FIXED64)
			size += type == ORMA_PROTO_FIXED32 ? 4 : 8;
		else
			size += orma_proto_varint_size(field.value);
		if (type == ORMA_PROTO_BYTES)
			size += field.bytes.size;
		if (size != (size_t)(reader.at - field.begin))
			return false;
		if (type == ORMA_PROTO_VARINT && field.value >> 63 && reader.at[-1] != 1)
			return false; /* bits beyond the 64th */
	}
	return more == 0 && bytes.size > 0;
}

static int print_unknown(struct printer *printer, const struct orma_proto_field *field)
{
	struct orma_buf *out = printer->out;
	int r = put_indent(printer);

	if (r == 0)
		r = orma_base_buf_printf(out, "%" PRIu32, field->id);
	if (r < 0)
		return r;
	switch (field->type) {
	case ORMA_PROTO_VARINT:
		return orma_base_buf_printf(out, ": %" PRIu64 "\n", field->value);
	case ORMA_PROTO_FIXED32:
		return orma_base_buf_printf(out, ": 0x%08" PRIx64 "\n", field->value);
	case ORMA_PROTO_FIXED64:
		return orma_base_buf_printf(out, ": 0x%016" PRIx64 "\n", field->value);
	case ORMA_PROTO_BYTES:
		break;
	}
	if (printer->depth <= ORMA_PROTO_DEPTH_MAX && !orma_proto_text_is_printable(field->bytes) &&
	    is_canonical_message(field->bytes)) {
		r = orma_base_buf_append(out, " {\n", 3);
		return r < 0 ? r : push(printer, NULL, field->bytes);
	}
	r = orma_base_buf_append(out, ": ", 2);
	if (r == 0)
		r = orma_proto_text_put_string(out, field->bytes, true);
	return r < 0 ? r : orma_base_buf_append(out, "\n", 1);
}

/* Prints one field, or the end of the innermost message. */
static int step(struct printer *printer)
{
	struct print_frame *frame = &printer->frames[printer->depth - 1];
	struct orma_proto_field field;
	int more, r;

	if (frame->message && frame->next_field < frame->message->desc->field_count)
		return print_field(printer, frame);
	more = orma_proto_reader_next(&frame->reader, &field);
	if (more > 0)
		return print_unknown(printer, &field);
	if (more < 0)
		return more;
	if (frame->unknown) {
		orma_proto_reader_init(&frame->reader, frame->unknown->bytes.data,
				       frame->unknown->bytes.size);
		frame->unknown = frame->unknown->next;
		return 0;
	}
	if (--printer->depth == 0)
		return 0;
	r = put_indent(printer);
	return r < 0 ? r : orma_base_buf_append(printer->out, "}\n", 2);
}

static int print(const struct orma_proto_message *message, struct orma_str fields, unsigned indent,
		 struct orma_buf *buf)
{
	struct printer printer; /* frames are filled in as they are pushed */
	size_t size_before = buf->size;
	int r;

	printer.out = buf;
	printer.indent = indent;
	printer.depth = 0;
	r = push(&printer, message, fields);
	while (r == 0 && printer.depth > 0)
		r = step(&printer);
	if (r < 0)
		buf->size = size_before;
	return r;
}

int orma_proto_text_print(const void *message, unsigned indent, struct orma_buf *buf)
{
	return print(message, ORMA_STR(""), indent, buf);
}

int orma_proto_text_print_unknown(struct orma_str fields, unsigned indent, struct orma_buf *buf)
{
	return print(NULL, fields, indent, buf);
}
