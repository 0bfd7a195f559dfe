/* SPDX-License-Identifier: Apache-2.0
 * packet_value.c - writes names, values and braces of a packet, as text or as JSON.
 *
 * Text is protobuf's text format, which orma_proto_text_parse() reads again. JSON is protobuf's mapping
 * to JSON: integers of 64 bits are strings, because many readers of JSON round them; bytes are in base64;
 * enums are names. Names of fields are as in the .proto files. A field without a name is named by its
 * number.
 */
#include "tool/trace/packet_value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/macros.h"
#include "proto/text_lexer.h"
#include "proto/wire.h"

int orma_packet_put(struct orma_packet_printer *printer, const char *text)
{
	return orma_base_buf_append_str(&printer->out, text);
}

static int put_base64(struct orma_buf *out, struct orma_str bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *at = (const uint8_t *)bytes.data;

	ORMA_PACKET_TRY(orma_base_buf_append(out, "\"", 1));
	for (size_t left = bytes.size; left > 0; left -= ORMA_MIN(left, (size_t)3), at += 3) {
		uint32_t bits = (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0) |
				(left > 2 ? at[2] : 0);
		char quad[4] = {digits[bits >> 18], digits[bits >> 12 & 63], digits[bits >> 6 & 63],
				digits[bits & 63]};

		if (left < 3)
			memcpy(quad + 1 + left, "==", 3 - left);
		ORMA_PACKET_TRY(orma_base_buf_append(out, quad, 4));
	}
	return orma_base_buf_append(out, "\"", 1);
}

int orma_packet_put_string(struct orma_packet_printer *printer, struct orma_str bytes, bool is_text)
{
	if (!printer->is_json)
		return orma_proto_text_put_string(&printer->out, bytes, is_text);
	return is_text ? orma_json_append_string(&printer->out, bytes)
		       : put_base64(&printer->out, bytes);
}

static int put_floating(struct orma_packet_printer *printer, double value, bool is_float)
{
	struct orma_buf *out = &printer->out;

	if (printer->is_json && isnan(value))
		return orma_packet_put(printer, "\"NaN\"");
	if (printer->is_json && isinf(value))
		return orma_packet_put(printer, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	return is_float ? orma_proto_text_put_float(out, (float)value)
			: orma_proto_text_put_double(out, value);
}

int orma_packet_put_wide(struct orma_packet_printer *printer, uint64_t value, bool is_signed)
{
	const char *quote = printer->is_json ? "\"" : "";

	return is_signed ? orma_base_buf_printf(&printer->out, "%s%" PRId64 "%s", quote,
						(int64_t)value, quote)
			 : orma_base_buf_printf(&printer->out, "%s%" PRIu64 "%s", quote, value,
						quote);
}

static int put_enum(struct orma_packet_printer *printer, const struct orma_proto_desc *table,
		    const struct orma_proto_field_desc *known, int32_t value)
{
	const struct orma_proto_enum_desc *type = table->types[known->type_idx].enumeration;
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
	const char *name = orma_proto_enum_name(type, value, buffer);

	if (!name)
		return orma_base_buf_printf(&printer->out, "%" PRId32, value);
	return orma_base_buf_printf(&printer->out, printer->is_json ? "\"%s\"" : "%s", name);
}

int orma_packet_put_number(struct orma_packet_printer *printer, const struct orma_proto_desc *table,
			   const struct orma_proto_field_desc *known, uint64_t value)
{
	struct orma_buf *out = &printer->out;
	uint32_t narrow = (uint32_t)value;
	double wide_number;
	float number;

	switch (known->kind) {
	case ORMA_PROTO_KIND_BOOL:
		return orma_packet_put(printer, value ? "true" : "false");
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_SFIXED32:
		return orma_base_buf_printf(out, "%" PRId32, (int32_t)value);
	case ORMA_PROTO_KIND_SINT32:
		return orma_base_buf_printf(out, "%" PRId32, (int32_t)orma_proto_unzigzag(narrow));
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_FIXED32:
		return orma_base_buf_printf(out, "%" PRIu32, narrow);
	case ORMA_PROTO_KIND_SINT64:
		return orma_packet_put_wide(printer, (uint64_t)orma_proto_unzigzag(value), true);
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_SFIXED64:
		return orma_packet_put_wide(printer, value, true);
	case ORMA_PROTO_KIND_FLOAT:
		memcpy(&number, &narrow, sizeof(number));
		return put_floating(printer, (double)number, true);
	case ORMA_PROTO_KIND_DOUBLE:
		memcpy(&wide_number, &value, sizeof(wide_number));
		return put_floating(printer, wide_number, false);
	case ORMA_PROTO_KIND_ENUM:
		return put_enum(printer, table, known, (int32_t)value);
	default:
		return orma_packet_put_wide(printer, value, false);
	}
}

static int put_indent(struct orma_packet_printer *printer, unsigned depth)
{
	return orma_base_buf_printf(&printer->out, "%*s", (int)(2 * depth), "");
}

int orma_packet_put_name(struct orma_packet_printer *printer, struct orma_str name, unsigned depth)
{
	struct orma_buf *out = &printer->out;

	if (!printer->is_json) {
		ORMA_PACKET_TRY(put_indent(printer, depth));
		return orma_base_buf_append(out, name.data, name.size);
	}
	if (out->data[out->size - 1] != '{')
		ORMA_PACKET_TRY(orma_packet_put(printer, ","));
	ORMA_PACKET_TRY(orma_json_append_string(out, name));
	return orma_packet_put(printer, ":");
}

int orma_packet_open_message(struct orma_packet_printer *printer, const char *note)
{
	if (printer->is_json)
		return orma_packet_put(printer, "{");
	return note ? orma_base_buf_printf(&printer->out, " {  # %s\n", note)
		    : orma_packet_put(printer, " {\n");
}

int orma_packet_close_message(struct orma_packet_printer *printer, unsigned depth)
{
	if (printer->is_json)
		return orma_packet_put(printer, "}");
	ORMA_PACKET_TRY(put_indent(printer, depth));
	return orma_packet_put(printer, "}\n");
}
