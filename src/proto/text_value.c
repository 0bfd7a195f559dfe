/* SPDX-License-Identifier: Apache-2.0
 * text_value.c - converts numbers and strings from and to the text format.
 *
 * Owns nothing. Floating-point numbers are converted by the C library in the "C" locale, because
 * the program's own locale may have another decimal point. Rejected: a conversion of our own,
 * because correct rounding takes thousands of lines; setlocale(), because it changes the whole
 * process.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/utf8.h"
#include "proto/text_lexer.h"

bool orma_proto_text_to_u64(struct orma_str text, uint64_t *ret)
{
	unsigned base = 10;
	uint64_t value = 0;
	size_t i = 0;

	if (text.size >= 2 && text.data[0] == '0') {
		bool is_hex = (text.data[1] | 0x20) == 'x';

		base = is_hex ? 16 : 8;
		i = is_hex ? 2 : 1;
	}
	if (i == text.size)
		return false;
	for (; i < text.size; i++) {
		char c = text.data[i];
		unsigned digit = 99;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (unsigned)((c | 0x20) - 'a') + 10;
		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

bool orma_proto_text_to_double(struct orma_str text, double *ret)
{
	char copy[400], *end; /* no longer number is accepted */
	locale_t c_locale;

	if (text.size == 0 || text.size >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	if (strcasecmp(copy, "inf") == 0 || strcasecmp(copy, "infinity") == 0) {
		*ret = (double)INFINITY;
		return true;
	}
	if (strcasecmp(copy, "nan") == 0) {
		*ret = (double)NAN;
		return true;
	}
	if (copy[0] != '.' && (copy[0] < '0' || copy[0] > '9'))
		return false;
	c_locale = newlocale(LC_ALL_MASK, "C", NULL);
	if (!c_locale)
		return false;
	*ret = strtod_l(copy, &end, c_locale);
	freelocale(c_locale);
	if ((*end | 0x20) == 'f' && end > copy)
		end++;
	return *end == '\0';
}

/* snprintf("%.*g") in the C locale. */
static void print_general(char *out, size_t size, int precision, double value)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", NULL);
	locale_t old = c_locale ? uselocale(c_locale) : NULL;

	snprintf(out, size, "%.*g", precision, value);
	if (c_locale) {
		uselocale(old);
		freelocale(c_locale);
	}
}

static int put_number(struct orma_buf *out, double value, int first_precision, int last_precision,
		      bool is_float)
{
	char text[40];

	if (isnan(value))
		return orma_base_buf_append_str(out, "nan");
	if (isinf(value))
		return orma_base_buf_append_str(out, value < 0 ? "-inf" : "inf");
	for (int precision = first_precision; precision <= last_precision; precision++) {
		double back = 0;
		bool is_same;

		print_general(text, sizeof(text), precision, fabs(value));
		if (!orma_proto_text_to_double(orma_base_str(text), &back))
			continue;
		is_same = is_float ? (float)back == (float)fabs(value) : back == fabs(value);
		if (is_same)
			break;
	}
	if (signbit(value) && orma_base_buf_append_str(out, "-") < 0)
		return -ENOMEM;
	return orma_base_buf_append_str(out, text);
}

int orma_proto_text_put_float(struct orma_buf *out, float value)
{
	return put_number(out, (double)value, 6, 9, true);
}

int orma_proto_text_put_double(struct orma_buf *out, double value)
{
	return put_number(out, value, 15, 17, false);
}

static void put_utf8(uint32_t code_point, char out[4], size_t *ret_size)
{
	if (code_point < 0x80) {
		out[0] = (char)code_point;
		*ret_size = 1;
	} else if (code_point < 0x800) {
		out[0] = (char)(0xc0 | code_point >> 6);
		out[1] = (char)(0x80 | (code_point & 0x3f));
		*ret_size = 2;
	} else if (code_point < 0x10000) {
		out[0] = (char)(0xe0 | code_point >> 12);
		out[1] = (char)(0x80 | (code_point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code_point & 0x3f));
		*ret_size = 3;
	} else {
		out[0] = (char)(0xf0 | code_point >> 18);
		out[1] = (char)(0x80 | (code_point >> 12 & 0x3f));
		out[2] = (char)(0x80 | (code_point >> 6 & 0x3f));
		out[3] = (char)(0x80 | (code_point & 0x3f));
		*ret_size = 4;
	}
}

/* Takes up to `max` digits of an escape, in base 8 or 16. */
static uint32_t take_digits(const char **at, const char *end, unsigned base, unsigned max,
			    unsigned *ret_count)
{
	uint32_t value = 0;

	for (*ret_count = 0; *at < end && *ret_count < max; (*at)++, (*ret_count)++) {
		char c = **at;
		unsigned digit = 99;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (unsigned)((c | 0x20) - 'a') + 10;
		if (digit >= base)
			break;
		value = value * base + digit;
	}
	return value;
}

/* Takes the code point after \u or \U, which may be a pair of surrogates. *ret_ok = false:
 * malformed. */
static uint32_t take_code_point(const char **at, const char *end, unsigned digits, bool *ret_ok)
{
	unsigned count;
	uint32_t value = take_digits(at, end, 16, digits, &count), low;

	*ret_ok = count == digits;
	if (value >= 0xd800 && value < 0xdc00 && end - *at >= 2 && (*at)[0] == '\\' &&
	    (*at)[1] == 'u') {
		*at += 2;
		low = take_digits(at, end, 16, 4, &count);
		*ret_ok = *ret_ok && count == 4 && low >= 0xdc00 && low < 0xe000;
		value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
	}
	if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		*ret_ok = false;
	return value;
}

/* *at is behind the backslash. Moves it behind the escape. */
static int unescape_one(struct orma_proto_lexer *lexer, const char **at, const char *end,
			struct orma_buf *out)
{
	static const char letters[] = "abfnrtv\\'\"?", meanings[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *begin = *at - 1, *letter = strchr(letters, **at);
	char bytes[4];
	size_t size = 1;
	unsigned count = 1;
	bool ok = true;
	uint32_t value = 0;

	if (letter && **at != '\0') {
		bytes[0] = meanings[letter - letters];
		(*at)++;
	} else if (**at >= '0' && **at <= '7') {
		value = take_digits(at, end, 8, 3, &count);
		bytes[0] = (char)value;
		ok = value <= 0xff;
	} else if ((**at | 0x20) == 'x') {
		(*at)++;
		bytes[0] = (char)take_digits(at, end, 16, 2, &count);
		ok = count > 0;
	} else if ((**at | 0x20) == 'u') {
		unsigned digits = **at == 'u' ? 4 : 8;

		(*at)++;
		value = take_code_point(at, end, digits, &ok);
		if (ok)
			put_utf8(value, bytes, &size);
	} else {
		do
			(*at)++;
		while (*at < end && (**at & 0xc0) == 0x80); /* messages show whole code points */
		ok = false;
	}
	if (!ok) {
		struct orma_str escape = {begin, (size_t)(*at - begin)};

		return orma_proto_lexer_fail_at(
			lexer, escape,
			"found %s, expected an escape: \\n \\r \\t \\a \\b \\f "
			"\\v \\\\ \\' \\\" \\? \\NNN (up to \\377) \\xHH \\uHHHH",
			orma_proto_quote(escape).text);
	}
	return orma_base_buf_append(out, bytes, size);
}

int orma_proto_text_unescape(struct orma_proto_lexer *lexer, struct orma_str literal,
			     struct orma_buf *out)
{
	const char *at = literal.data + 1, *end = literal.data + literal.size - 1;
	int r = 0;

	while (at < end && r == 0) {
		const char *run = at;

		while (at < end && *at != '\\')
			at++;
		r = orma_base_buf_append(out, run, (size_t)(at - run));
		if (r == 0 && at < end) {
			at++;
			r = unescape_one(lexer, &at, end, out);
		}
	}
	return r;
}

static bool is_utf8(struct orma_str text)
{
	while (text.size > 0) {
		size_t size = orma_base_utf8_size(text);

		if (size == 0)
			return false;
		text.data += size;
		text.size -= size;
	}
	return true;
}

bool orma_proto_text_is_printable(struct orma_str text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			return false;
	}
	return is_utf8(text);
}

static int put_byte(struct orma_buf *out, unsigned char byte)
{
	switch (byte) {
	case '\n':
		return orma_base_buf_append(out, "\\n", 2);
	case '\r':
		return orma_base_buf_append(out, "\\r", 2);
	case '\t':
		return orma_base_buf_append(out, "\\t", 2);
	case '"':
	case '\\':
		return orma_base_buf_printf(out, "\\%c", byte);
	default:
		return byte >= ' ' && byte <= '~' ? orma_base_buf_append(out, &byte, 1)
						  : orma_base_buf_printf(out, "\\%03o", byte);
	}
}

/* Text from others may hold control sequences for terminals, so characters that are not visible are
 * escaped in text as well. */
int orma_proto_text_put_string(struct orma_buf *out, struct orma_str text, bool is_text)
{
	bool is_raw = is_text && is_utf8(text);
	int r = orma_base_buf_append(out, "\"", 1);

	for (size_t i = 0, size; i < text.size && r == 0; i += size) {
		struct orma_str rest = {text.data + i, text.size - i};

		size = is_raw ? orma_base_utf8_visible_size(rest) : 0;
		if (size > 1)
			r = orma_base_buf_append(out, rest.data, size);
		else
			r = put_byte(out, (unsigned char)rest.data[0]);
		size = size ? size : 1;
	}
	return r < 0 ? r : orma_base_buf_append(out, "\"", 1);
}
