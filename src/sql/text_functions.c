/* SPDX-License-Identifier: Apache-2.0
 * text_functions.c - functions of texts and bytes.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/map.h"
#include "sql/functions.h"
#include "sql/text_match.h"
#include "symbols/demangle.h"

static void fail(sqlite3_context *context, const char *message)
{
	sqlite3_result_error(context, message, -1);
}

/* Gives memory of orma_base_alloc() to SQLite. */
static void give_text(sqlite3_context *context, char *text, size_t size)
{
	sqlite3_result_text64(context, text, size, orma_base_free, SQLITE_UTF8);
}

/* True for NULL, which is then the result, and for what is no text, which is refused. */
static bool is_no_text(sqlite3_context *context, sqlite3_value *value, const char *message)
{
	if (sqlite3_value_type(value) == SQLITE_TEXT)
		return false;
	if (sqlite3_value_type(value) != SQLITE_NULL)
		fail(context, message);
	return true;
}

static void glob(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct orma_str pattern = orma_sql_text_of(argv[0]), text = orma_sql_text_of(argv[1]);
	if (pattern.data && text.data)
		sqlite3_result_int(context, orma_sql_glob(pattern, text));
}

/* The n-th field of a text, counting from 0. */
static void str_split(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_no_text(context, argv[0], "str_split: the first argument must be a text") ||
	    is_no_text(context, argv[1], "str_split: the delimiter must be a text"))
		return;
	if (sqlite3_value_type(argv[2]) != SQLITE_INTEGER || sqlite3_value_int64(argv[2]) < 0) {
		fail(context, "str_split: the index must be an integer, and not negative");
		return;
	}
	struct orma_str text = orma_sql_text_of(argv[0]), delimiter = orma_sql_text_of(argv[1]);
	if (!text.data || !delimiter.data) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (delimiter.size == 0) {
		fail(context, "str_split: the delimiter must not be empty");
		return;
	}
	for (int64_t left = sqlite3_value_int64(argv[2]);; left--) {
		const char *end = memmem(text.data, text.size, delimiter.data, delimiter.size);
		size_t size = end ? (size_t)(end - text.data) : text.size;
		if (left == 0) {
			sqlite3_result_text64(context, text.data, size, SQLITE_TRANSIENT,
					      SQLITE_UTF8);
			return;
		}
		if (!end)
			return;
		text.data = end + delimiter.size;
		text.size -= size + delimiter.size;
	}
}

/* Byte by byte, but the bytes of a character stay in order. */
static void reverse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_no_text(context, argv[0], "reverse: the argument must be a text"))
		return;
	struct orma_str text = orma_sql_text_of(argv[0]);
	char *out = orma_base_alloc(text.size + 1);
	if (!text.data || !out) {
		orma_base_free(out);
		sqlite3_result_error_nomem(context);
		return;
	}
	for (size_t i = 0, size; i < text.size; i += size) {
		size = 1;
		while (i + size < text.size && ((unsigned char)text.data[i + size] & 0xc0) == 0x80)
			size++;
		memcpy(out + text.size - i - size, text.data + i, size);
	}
	give_text(context, out, text.size);
}

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void base64_encode(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	int type = sqlite3_value_type(argv[0]);
	if (type == SQLITE_NULL)
		return;
	if (type != SQLITE_BLOB) {
		fail(context, "base64_encode: the argument must be bytes");
		return;
	}
	const uint8_t *data = sqlite3_value_blob(argv[0]);
	size_t size = (size_t)sqlite3_value_bytes(argv[0]), at = 0;
	char *out = orma_base_alloc(size / 3 * 4 + 5);
	if (!out) {
		sqlite3_result_error_nomem(context);
		return;
	}
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		unsigned bits = (unsigned)data[i] << 16 |
				(left > 1 ? (unsigned)data[i + 1] << 8 : 0u) |
				(left > 2 ? data[i + 2] : 0u);
		out[at++] = base64_digits[bits >> 18 & 63];
		out[at++] = base64_digits[bits >> 12 & 63];
		const char last[2] = {base64_digits[bits >> 6 & 63], base64_digits[bits & 63]};
		memset(out + at, '=', 2);
		memcpy(out + at, last, left > 2 ? 2 : left - 1);
		at += 2;
	}
	give_text(context, out, at);
}

/* Bytes of base64; NULL when the text is not. */
static void base64_decode(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_no_text(context, argv[0], "base64_decode: the argument must be a text"))
		return;
	struct orma_str text = orma_sql_text_of(argv[0]);
	uint8_t *out = orma_base_alloc(text.size / 4 * 3 + 4);
	if (!text.data || !out) {
		orma_base_free(out);
		sqlite3_result_error_nomem(context);
		return;
	}
	size_t at = 0, digits = 0;
	unsigned bits = 0;
	while (text.size > 0 && text.data[text.size - 1] == '=')
		text.size--;
	for (size_t i = 0; i < text.size; i++) {
		const char *digit = text.data[i] ? strchr(base64_digits, text.data[i]) : NULL;
		if (!digit) {
			orma_base_free(out);
			return;
		}
		bits = bits << 6 | (unsigned)(digit - base64_digits);
		if (++digits % 4 != 1)
			out[at++] = (uint8_t)(bits >> (6 - 2 * ((digits - 1) % 4)));
	}
	sqlite3_result_blob64(context, out, at, orma_base_free);
}

static struct orma_str without_0x(struct orma_str text)
{
	if (text.size >= 2 && text.data[0] == '0' && (text.data[1] == 'x' || text.data[1] == 'X'))
		return (struct orma_str){text.data + 2, text.size - 2};
	return text;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct orma_str without_spaces(struct orma_str text)
{
	while (text.size > 0 && is_space(text.data[0]))
		text = (struct orma_str){text.data + 1, text.size - 1};
	while (text.size > 0 && is_space(text.data[text.size - 1]))
		text.size--;
	return text;
}

/* A number of hexadecimal digits, which spaces may surround. */
static void unhex(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_no_text(context, argv[0], "unhex: the argument must be a text"))
		return;
	struct orma_str digits = without_0x(without_spaces(orma_sql_text_of(argv[0])));
	uint64_t value = 0;
	bool is_valid = digits.size > 0;
	for (size_t i = 0; is_valid && i < digits.size; i++) {
		unsigned char c = (unsigned char)digits.data[i];
		unsigned digit = c - '0';
		if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10u;
		else if (c >= 'A' && c <= 'F')
			digit = c - 'A' + 10u;
		is_valid = digit < 16 && value >> 60 == 0;
		value = value << 4 | digit;
	}
	if (is_valid)
		sqlite3_result_int64(context, (int64_t)value);
	else
		fail(context, "unhex: the text is not a hexadecimal number of 64 bits");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * Writes the text with `<num>` in the place of numbers of at least `least` digits, decimal or hexadecimal. A number begins
 * behind `0x`, where it may have letters only, behind a sign, with a digit, or with the text. Returns the size.
 */
static size_t replace_numbers(struct orma_str text, int64_t least, char *out)
{
	static const char replacement[] = "<num>";
	size_t at = 0;
	for (size_t i = 0; i < text.size;) {
		char c = text.data[i];
		bool is_prefixed = (c == 'x' || c == 'X') && i > 0 && text.data[i - 1] == '0';
		bool is_number = is_prefixed;
		if (is_prefixed || (!is_digit(c) && !is_letter(c))) {
			out[at++] = text.data[i++];
		} else if (!is_digit(c) && (i > 0 || !is_hex(c))) {
			out[at++] = text.data[i++];
			continue;
		}
		size_t begin = i;
		for (; i < text.size && is_hex(text.data[i]); i++)
			is_number = is_number || is_digit(text.data[i]);
		bool is_replaced = is_number && (int64_t)(i - begin) >= least;
		size_t size = is_replaced ? sizeof(replacement) - 1 : i - begin;
		memcpy(out + at, is_replaced ? replacement : text.data + begin, size);
		at += size;
	}
	return at;
}

/* `f_1f` and `f_20` become one name. */
static void strip_hex(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_no_text(context, argv[0], "__intrinsic_strip_hex: the argument must be a text"))
		return;
	int64_t least = sqlite3_value_int64(argv[1]);
	if (sqlite3_value_type(argv[1]) != SQLITE_INTEGER || least <= 0) {
		fail(context, "__intrinsic_strip_hex: the number of digits must be positive");
		return;
	}
	struct orma_str text = orma_sql_text_of(argv[0]);
	/* A digit alone becomes five characters. */
	char *out = orma_base_alloc_array(text.size + 1, 5);
	if (!text.data || !out) {
		orma_base_free(out);
		sqlite3_result_error_nomem(context);
		return;
	}
	give_text(context, out, replace_numbers(text, least, out));
}

/* FNV-1a over all arguments. */
static void hash(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint64_t digest = ORMA_FNV1A_INIT;
	for (int i = 0; i < argc; i++) {
		int type = sqlite3_value_type(argv[i]);
		if (type == SQLITE_INTEGER) {
			int64_t value = sqlite3_value_int64(argv[i]);
			digest = orma_base_fnv1a(digest, &value, sizeof(value));
		} else if (type == SQLITE_TEXT) {
			struct orma_str text = orma_sql_text_of(argv[i]);
			digest = orma_base_fnv1a(digest, text.data, text.size);
		} else {
			fail(context, "hash: arguments must be integers or texts");
			return;
		}
	}
	sqlite3_result_int64(context, (int64_t)digest);
}

static void demangle(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	if (is_no_text(context, argv[0], "demangle: the argument must be a text"))
		return;
	struct orma_str name = orma_sql_text_of(argv[0]);
	struct orma_buf text = {0};
	int r = name.data ? orma_demangle(name.data, &text) : 0;
	if (r > 0)
		sqlite3_result_text(context, (const char *)text.data, (int)text.size,
				    SQLITE_TRANSIENT);
	else if (r == -ENOMEM)
		sqlite3_result_error_nomem(context);
	orma_base_buf_done(&text);
}

const struct orma_sql_function_spec orma_sql_text_functions[] = {
	{"glob", 2, glob},
	{"str_split", 3, str_split},
	{"reverse", 1, reverse},
	{"base64_encode", 1, base64_encode},
	{"base64_decode", 1, base64_decode},
	{"unhex", 1, unhex},
	{"hash", -1, hash},
	{"demangle", 1, demangle},
	{"__intrinsic_reverse", 1, reverse},
	{"__intrinsic_base64_encode", 1, base64_encode},
	{"__intrinsic_base64_decode", 1, base64_decode},
	{"__intrinsic_demangle", 1, demangle},
	{"__intrinsic_unhex", 1, unhex},
	{"__intrinsic_strip_hex", 2, strip_hex},
};
const size_t orma_sql_text_function_count = ORMA_ARRAY_SIZE(orma_sql_text_functions);
