/* SPDX-License-Identifier: Apache-2.0
 * json_scan.c - strings and nested values are skipped a block of bytes at a time, and read only if somebody needs them.
 *
 * The bracket that closes a value is looked for among the marks of whole blocks, without those in strings. A block with a
 * backslash is read in steps from mark to mark.
 */
#include "trace/json_scan.h"

#include <string.h>

#include "trace/json_key.h"

void orma_json_skip_blanks(struct orma_json_scan *scan)
{
	orma_json_pass_blanks(scan);
}

/* Goes on behind the next string, or bracket if that comes first. NULL when the text ends before. *ret_bracket is 0 or the bracket. */
static const char *step(const char *at, const char *end, char open, char close, char *ret_bracket)
{
	bool has_escapes;
	*ret_bracket = 0;
	while (at < end && *at != '"' && *at != open && *at != close)
		at++;
	if (at == end)
		return NULL;
	if (*at != '"') {
		*ret_bracket = *at;
		return at + 1;
	}
	at = orma_json_find_quote(at + 1, end, &has_escapes);
	return at ? at + 1 : NULL;
}

/* A block of a text, outside of a string or in one. */
struct block_state {
	unsigned depth;
	bool is_in_string;
};

/* Looks for the bracket that closes in a whole block without a backslash. NULL when it is not there. */
static inline const char *find_close_in(const char *at, char open, char close,
					struct block_state *state)
{
	orma_json_block bytes = orma_json_block_load(at);
	uint64_t inside = orma_json_mask_parity(orma_json_block_find(bytes, '"'));
	uint64_t marks = orma_json_block_find_both(bytes, open, close);
	inside = state->is_in_string ? ~inside : inside;
	for (marks &= ~inside; marks; marks &= marks - 1) {
		const char *mark = at + orma_json_mask_first(marks);
		if (*mark == open)
			state->depth++;
		else if (--state->depth == 0)
			return mark;
	}
	state->is_in_string = orma_json_mask_has_last(inside);
	return NULL;
}

const char *orma_json_find_close(const char *at, const char *end, char open, char close)
{
	struct block_state state = {.depth = 1};
	bool has_escapes;
	while (at) {
		if (end - at >= ORMA_JSON_BLOCK_BYTES &&
		    !orma_json_block_find(orma_json_block_load(at), '\\')) {
			const char *found = find_close_in(at, open, close, &state);
			if (found)
				return found;
			at += ORMA_JSON_BLOCK_BYTES;
		} else if (state.is_in_string) {
			at = orma_json_find_quote(at, end, &has_escapes);
			at = at ? at + 1 : NULL;
			state.is_in_string = false;
		} else {
			char bracket;
			at = step(at, end, open, close, &bracket);
			state.depth += bracket == open;
			if (at && bracket == close && --state.depth == 0)
				return at - 1;
		}
	}
	return NULL;
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
	ret->text = (struct orma_str){scan->at, size};
	scan->at += size;
	return ORMA_JSON_MEMBER;
}

static enum orma_json_next read_block(struct orma_json_scan *scan, enum orma_json_kind kind,
				      char open, char close, struct orma_json_value *ret)
{
	const char *begin = scan->at + 1;
	const char *end = orma_json_find_close(begin, scan->end, open, close);
	if (!end)
		return ORMA_JSON_CUT;
	ret->kind = kind;
	ret->text = (struct orma_str){begin, (size_t)(end - begin)};
	scan->at = end + 1;
	return ORMA_JSON_MEMBER;
}

enum orma_json_next orma_json_read_value(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	orma_json_pass_blanks(scan);
	if (scan->at == scan->end)
		return ORMA_JSON_CUT;
	switch (*scan->at) {
	case '"':
		return orma_json_read_string(scan, ret);
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

enum orma_json_next orma_json_read_field(struct orma_json_scan *scan,
					 struct orma_json_value *ret_key,
					 struct orma_json_value *ret)
{
	enum orma_json_next next = orma_json_read_key(scan, ret_key);
	return next == ORMA_JSON_MEMBER ? orma_json_read_value(scan, ret) : next;
}

enum orma_json_next orma_json_read_item(struct orma_json_scan *scan, struct orma_json_value *ret)
{
	enum orma_json_next next = orma_json_next_member(scan, ']');
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
	if (value->kind != ORMA_JSON_STRING || !value->has_escapes)
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
