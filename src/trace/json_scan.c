/* SPDX-License-Identifier: Apache-2.0
 * json_scan.c - strings and nested values are skipped eight bytes at a time, and read only if somebody needs them.
 *
 * Eight bytes are compared with a character at once: of `x = word ^ repeated character`, the bytes that are zero are found by
 * (x - 0x01..) & ~x & 0x80.., whose lowest set bit is exact.
 */
#include "trace/json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"

#define EACH_BYTE(c) ((uint64_t)(uint8_t)(c)*UINT64_C(0x0101010101010101))

enum { NUMBER_MAX_BYTES = 400 };

static uint64_t load(const char *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static uint64_t find_byte(uint64_t word, char c)
{
	uint64_t x = word ^ EACH_BYTE(c);
	return (x - EACH_BYTE(1)) & ~x & EACH_BYTE(0x80);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

void orma_json_skip_blanks(struct orma_json_scan *scan)
{
	while (scan->at < scan->end && is_blank(*scan->at))
		scan->at++;
}

/* Finds the quote that ends a string, from behind the one that begins it; NULL when the text ends before. */
static const char *find_quote(const char *at, const char *end, bool *ret_has_escapes)
{
	*ret_has_escapes = false;
	for (;;) {
		while (end - at >= 8) {
			uint64_t word = load(at);
			uint64_t found = find_byte(word, '"') | find_byte(word, '\\');
			if (found) {
				at += __builtin_ctzll(found) / 8;
				break;
			}
			at += 8;
		}
		while (at < end && *at != '"' && *at != '\\')
			at++;
		if (at == end || (*at == '\\' && end - at < 2))
			return NULL;
		if (*at == '"')
			return at;
		*ret_has_escapes = true;
		at += 2;
	}
}

/* Finds the bracket that closes an object or an array, from behind the one that opens it. Brackets of the other kind need no
 * attention, because those of a well-formed value are balanced. */
static const char *find_close(const char *at, const char *end, char open, char close)
{
	unsigned depth = 1;
	bool has_escapes;
	for (;;) {
		while (end - at >= 8) {
			uint64_t word = load(at);
			uint64_t found = find_byte(word, '"') | find_byte(word, open) |
					 find_byte(word, close);
			if (found) {
				at += __builtin_ctzll(found) / 8;
				break;
			}
			at += 8;
		}
		if (at == end)
			return NULL;
		char c = *at++;
		if (c == '"') {
			at = find_quote(at, end, &has_escapes);
			if (!at)
				return NULL;
			at++;
		} else if (c == open) {
			depth++;
		} else if (c == close && --depth == 0) {
			return at - 1;
		}
	}
}

static bool is_of_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static enum orma_json_next read_number(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	const char *at = scan->at;
	ret->kind = ORMA_JSON_INTEGER;
	while (at < scan->end && is_of_number(*at)) {
		if (*at == '.' || *at == 'e' || *at == 'E')
			ret->kind = ORMA_JSON_REAL;
		at++;
	}
	if (at == scan->end && !scan->is_inner)
		return ORMA_JSON_CUT;
	ret->text = (struct orma_str){scan->at, (size_t)(at - scan->at)};
	scan->at = at;
	return ret->text.size > 0 && ret->text.size < NUMBER_MAX_BYTES ? ORMA_JSON_MEMBER
								       : ORMA_JSON_DAMAGED;
}

static enum orma_json_next read_word(struct orma_json_scan *scan, const char *word,
				     enum orma_json_kind kind, struct orma_json_value *ret)
{
	size_t size = strlen(word), have = (size_t)(scan->end - scan->at);
	if (memcmp(scan->at, word, have < size ? have : size) != 0)
		return ORMA_JSON_DAMAGED;
	if (have < size)
		return ORMA_JSON_CUT;
	ret->kind = kind;
	scan->at += size;
	return ORMA_JSON_MEMBER;
}

static enum orma_json_next read_block(struct orma_json_scan *scan, enum orma_json_kind kind,
				      char open, char close, struct orma_json_value *ret)
{
	const char *begin = scan->at + 1;
	const char *end = find_close(begin, scan->end, open, close);
	if (!end)
		return ORMA_JSON_CUT;
	ret->kind = kind;
	ret->text = (struct orma_str){begin, (size_t)(end - begin)};
	scan->at = end + 1;
	return ORMA_JSON_MEMBER;
}

static enum orma_json_next read_string(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	const char *begin = scan->at + 1;
	const char *end = find_quote(begin, scan->end, &ret->has_escapes);
	if (!end)
		return ORMA_JSON_CUT;
	ret->kind = ORMA_JSON_STRING;
	ret->text = (struct orma_str){begin, (size_t)(end - begin)};
	scan->at = end + 1;
	return ORMA_JSON_MEMBER;
}

enum orma_json_next orma_json_read_value(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	orma_json_skip_blanks(scan);
	if (scan->at == scan->end)
		return ORMA_JSON_CUT;
	switch (*scan->at) {
	case '"':
		return read_string(scan, ret);
	case '{':
		return read_block(scan, ORMA_JSON_OBJECT, '{', '}', ret);
	case '[':
		return read_block(scan, ORMA_JSON_ARRAY, '[', ']', ret);
	case 't':
		return read_word(scan, "true", ORMA_JSON_TRUE, ret);
	case 'f':
		return read_word(scan, "false", ORMA_JSON_FALSE, ret);
	case 'n':
		return read_word(scan, "null", ORMA_JSON_NULL, ret);
	default:
		return read_number(scan, ret);
	}
}

/* Goes to the next member. MEMBER, END, or CUT. */
static enum orma_json_next next_member(struct orma_json_scan *scan, char close)
{
	while (scan->at < scan->end && (is_blank(*scan->at) || *scan->at == ','))
		scan->at++;
	if (scan->at == scan->end)
		return scan->is_inner ? ORMA_JSON_END : ORMA_JSON_CUT;
	if (*scan->at != close || scan->is_inner)
		return ORMA_JSON_MEMBER;
	scan->at++;
	return ORMA_JSON_END;
}

enum orma_json_next orma_json_read_field(struct orma_json_scan *scan,
					 struct orma_json_value *ret_key,
					 struct orma_json_value *ret)
{
	enum orma_json_next next = next_member(scan, '}');
	if (next != ORMA_JSON_MEMBER)
		return next;
	if (*scan->at != '"')
		return ORMA_JSON_DAMAGED;
	next = read_string(scan, ret_key);
	if (next != ORMA_JSON_MEMBER)
		return next;
	orma_json_skip_blanks(scan);
	if (scan->at == scan->end)
		return ORMA_JSON_CUT;
	if (*scan->at++ != ':')
		return ORMA_JSON_DAMAGED;
	return orma_json_read_value(scan, ret);
}

enum orma_json_next orma_json_read_item(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	enum orma_json_next next = next_member(scan, ']');
	return next == ORMA_JSON_MEMBER ? orma_json_read_value(scan, ret) : next;
}

/* --- strings ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads four digits; -1 when there are none. */
static int32_t read_unit(const char *at, const char *end)
{
	int32_t unit = 0;
	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(at[i]);
		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	return unit;
}

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Reads what follows "\u", and "\u" with the second half of a pair. Half a pair alone is a character that cannot be. */
static const char *unescape_unit(const char *at, const char *end, char **to)
{
	enum { REPLACEMENT = 0xfffd, HIGH = 0xd800, LOW = 0xdc00, LOW_END = 0xe000 };
	int32_t unit = read_unit(at, end);
	if (unit < 0) {
		*to = put_utf8(*to, REPLACEMENT);
		return at;
	}
	at += 4;
	uint32_t c = (uint32_t)unit;
	if (unit >= HIGH && unit < LOW_END) {
		int32_t low = unit < LOW && end - at >= 6 && at[0] == '\\' && at[1] == 'u'
				      ? read_unit(at + 2, end)
				      : -1;
		bool is_pair = low >= LOW && low < LOW_END;
		c = is_pair ? 0x10000 + ((uint32_t)(unit - HIGH) << 10) + (uint32_t)(low - LOW)
			    : REPLACEMENT;
		at += is_pair ? 6 : 0;
	}
	*to = put_utf8(*to, c);
	return at;
}

struct orma_str orma_json_unescape(const struct orma_json_value *value, struct orma_arena *arena)
{
	static const char names[] = "bfnrt", characters[] = "\b\f\n\r\t";
	if (!value->has_escapes)
		return value->text;
	/* No escape is shorter than what it stands for, but for "\u" without digits. */
	char *copy = orma_base_arena_alloc(arena, value->text.size * 2 + 1), *to = copy;
	const char *at = value->text.data, *end = at + value->text.size;
	if (!copy)
		return (struct orma_str){NULL, 0};
	while (at < end) {
		if (*at != '\\' || at + 1 == end) {
			*to++ = *at++;
			continue;
		}
		char c = at[1];
		const char *name = c ? strchr(names, c) : NULL;
		at += 2;
		if (c == 'u')
			at = unescape_unit(at, end, &to);
		else
			*to++ = (char)(name ? characters[name - names] : c);
	}
	return (struct orma_str){copy, (size_t)(to - copy)};
}

/* --- numbers ---------------------------------------------------------------------------------- */

bool orma_json_read_i64(struct orma_str number, int64_t *ret)
{
	bool is_negative = number.size > 0 && number.data[0] == '-';
	uint64_t value = 0;
	size_t i = is_negative;
	if (i == number.size)
		return false;
	for (; i < number.size; i++) {
		unsigned digit = (unsigned)(number.data[i] - '0');
		if (digit > 9 || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (value > (uint64_t)INT64_MAX + is_negative)
		return false;
	*ret = (int64_t)(is_negative ? 0 - value : value);
	return true;
}

bool orma_json_read_double(struct orma_str number, double *ret)
{
	char text[NUMBER_MAX_BYTES + 1];
	char *end;
	/* strtod() also reads "inf", "nan" and hexadecimal digits. */
	for (size_t i = 0; i < number.size; i++)
		if (!is_of_number(number.data[i]))
			return false;
	if (number.size == 0 || number.size > NUMBER_MAX_BYTES)
		return false;
	memcpy(text, number.data, number.size);
	text[number.size] = '\0';
	*ret = strtod(text, &end);
	return end == text + number.size && isfinite(*ret);
}

/* For numbers with an exponent, and those that are wrong. */
static bool read_us_slowly(struct orma_str number, int64_t *ret_ns)
{
	double us;
	if (!orma_json_read_double(number, &us) || fabs(us) > 9.2e15)
		return false;
	*ret_ns = llround(us * 1000.0);
	return true;
}

bool orma_json_read_us(struct orma_str number, int64_t *ret_ns)
{
	const char *at = number.data, *end = at + number.size;
	bool is_negative = at < end && *at == '-';
	uint64_t value = 0;
	const char *begin = at += is_negative;
	while (at < end && (unsigned)(*at - '0') <= 9)
		value = value * 10 + (unsigned)(*at++ - '0');
	/* 18 digits do not overflow, and the three of the fraction have to fit too. */
	if (at == begin || at - begin > 18 || value >= INT64_MAX / 1000)
		return read_us_slowly(number, ret_ns);
	unsigned fraction = 0, digits = 0, next = 0;
	if (at < end && *at == '.') {
		const char *point = at++;
		while (at < end && (unsigned)(*at - '0') <= 9) {
			unsigned digit = (unsigned)(*at++ - '0');
			if (digits < 3)
				fraction = fraction * 10 + digit;
			else if (digits == 3)
				next = digit;
			digits++;
		}
		if (at == point + 1)
			return read_us_slowly(number, ret_ns);
	}
	if (at != end)
		return read_us_slowly(number, ret_ns);
	for (; digits < 3; digits++)
		fraction *= 10;
	value = value * 1000 + fraction + (next >= 5);
	*ret_ns = is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}
