/* SPDX-License-Identifier: Apache-2.0
 * json_scan.c - strings and nested values are skipped a block of bytes at a time, and read only if somebody needs them.
 *
 * A block is a vector of sixteen bytes where each machine has those, or a word of eight. Rejected: an index of all quotes and
 * brackets of the text, which is made before the text is read. Half of it is of strings that the reader looks at anyway, and most
 * strings end in their first block.
 */
#include "trace/json_scan.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "trace/json_number.h"

#if defined(__SSE2__)
enum { BLOCK_BYTES = 16, MASK_BITS = 1 }; /* a mask has so many bits for a byte */
typedef __m128i block;
static inline block load(const char *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}
static inline uint64_t find_either(block bytes, char a, char b, char c)
{
	__m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a)),
				     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b)));
	found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
	return (unsigned)_mm_movemask_epi8(found);
}
#elif defined(__aarch64__)
enum { BLOCK_BYTES = 16, MASK_BITS = 4 };
typedef uint8x16_t block;
static inline block load(const char *at)
{
	return vld1q_u8((const uint8_t *)at);
}
static inline uint64_t find_either(block bytes, char a, char b, char c)
{
	uint8x16_t found = vorrq_u8(vceqq_u8(bytes, vdupq_n_u8((uint8_t)a)),
				    vceqq_u8(bytes, vdupq_n_u8((uint8_t)b)));
	found = vorrq_u8(found, vceqq_u8(bytes, vdupq_n_u8((uint8_t)c)));
	return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
}
#else
enum { BLOCK_BYTES = 8, MASK_BITS = 8 };
typedef uint64_t block;
static inline block load(const char *at)
{
	return orma_json_load(at);
}
/* The bytes of `x = bytes ^ repeated character` that are zero are found by (x - 0x01..) & ~x & 0x80.., whose lowest set bit is
 * exact. */
static inline uint64_t find_byte(block bytes, char c)
{
	uint64_t x = bytes ^ ORMA_JSON_EACH_BYTE(c);
	return (x - ORMA_JSON_EACH_BYTE(1)) & ~x & ORMA_JSON_EACH_BYTE(0x80);
}
static inline uint64_t find_either(block bytes, char a, char b, char c)
{
	return find_byte(bytes, a) | find_byte(bytes, b) | find_byte(bytes, c);
}
#endif

/* Finds the first of three characters; `end` if there is none. */
static inline const char *find_first(const char *at, const char *end, char a, char b, char c)
{
	for (; end - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
		uint64_t found = find_either(load(at), a, b, c);
		if (found)
			return at + __builtin_ctzll(found) / MASK_BITS;
	}
	while (at < end && *at != a && *at != b && *at != c)
		at++;
	return at;
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline void skip_blanks(struct orma_json_scan *scan)
{
	while (scan->at < scan->end && is_blank(*scan->at))
		scan->at++;
}

void orma_json_skip_blanks(struct orma_json_scan *scan)
{
	skip_blanks(scan);
}

/* Finds the quote that ends a string, from behind the one that begins it; NULL when the text ends before. */
static inline const char *find_quote(const char *at, const char *end, bool *ret_has_escapes)
{
	*ret_has_escapes = false;
	for (;;) {
		at = find_first(at, end, '"', '\\', '\\');
		if (at == end)
			return NULL;
		if (*at == '"')
			return at;
		if (end - at < 2)
			return NULL;
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
		at = find_first(at, end, '"', open, close);
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

static inline enum orma_json_next read_string(struct orma_json_scan *scan,
					      struct orma_json_value *ret)
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
	skip_blanks(scan);
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
		return orma_json_read_number(scan, ret);
	}
}

/* Goes to the next member. MEMBER, END, or CUT. */
static inline enum orma_json_next next_member(struct orma_json_scan *scan, char close)
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
	skip_blanks(scan);
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
