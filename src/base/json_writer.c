/* SPDX-License-Identifier: Apache-2.0
 * json_writer.c - values of JSON. A comma is due when the last byte of the buffer does not open a list, so
 * that callers keep no state. Rejected: a tree that is printed at the end, for reports of 20 values.
 */
#include "base/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

int orma_json_begin_value(struct orma_buf *json)
{
	uint8_t last = json->size > 0 ? json->data[json->size - 1] : '{';

	return last == '{' || last == '[' || last == ':' ? 0 : orma_base_buf_append_str(json, ",");
}

static uint32_t code_point(const char *at, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)at;
	uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);

	for (size_t i = 1; i < size; i++)
		code = code << 6 | (bytes[i] & 0x3f);
	return code;
}

/* Appends the character with which the text begins. Its `size` is 0 if it is not one of UTF-8. */
static int append_character(struct orma_buf *json, struct orma_str text, size_t size)
{
	uint32_t code = size ? code_point(text.data, size) : 0xfffd;

	if (code == '"' || code == '\\')
		return orma_base_buf_printf(json, "\\%c", (int)code);
	if (size > 0 && orma_base_utf8_visible_size(text) > 0)
		return orma_base_buf_append(json, text.data, size);
	if (code > 0xffff)
		return orma_base_buf_printf(json, "\\u%04" PRIx32 "\\u%04" PRIx32,
					    0xd800 + ((code - 0x10000) >> 10),
					    0xdc00 + ((code - 0x10000) & 0x3ff));
	return orma_base_buf_printf(json, "\\u%04" PRIx32, code);
}

int orma_json_append_string(struct orma_buf *json, struct orma_str text)
{
	int r = orma_base_buf_append_str(json, "\"");

	while (text.size > 0 && r == 0) {
		size_t size = orma_base_utf8_size(text);

		r = append_character(json, text, size);
		size = size ? size : 1;
		text = (struct orma_str){text.data + size, text.size - size};
	}
	return r ? r : orma_base_buf_append_str(json, "\"");
}

int orma_json_append_double(struct orma_buf *json, double value)
{
	enum { DIGITS_MIN = 15, DIGITS_MAX = 17 };
	char text[40];
	if (!isfinite(value))
		return orma_base_buf_append_str(json, "null");
	for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return orma_base_buf_append_str(json, text);
}

int orma_json_append_integer(struct orma_buf *json, int64_t value)
{
	const int64_t exact_max = INT64_C(1) << 53;
	bool is_exact = value >= -exact_max && value <= exact_max;
	return orma_base_buf_printf(json, is_exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}

int orma_json_append_key(struct orma_buf *json, const char *name)
{
	int r = orma_json_begin_value(json);

	return r ? r : orma_base_buf_printf(json, "\"%s\":", name);
}

int orma_json_append_text(struct orma_buf *json, const char *name, struct orma_str text)
{
	int r = orma_json_append_key(json, name);

	return r ? r : orma_json_append_string(json, text);
}

int orma_json_append_number(struct orma_buf *json, const char *name, uint64_t number)
{
	int r = orma_json_append_key(json, name);

	return r ? r : orma_base_buf_printf(json, "%" PRIu64, number);
}

int orma_json_begin_element(struct orma_buf *json)
{
	int r = orma_json_begin_value(json);

	return r ? r : orma_base_buf_append_str(json, "{");
}
