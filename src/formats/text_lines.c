/* SPDX-License-Identifier: Apache-2.0
 * text_lines.c - lines are found with memchr() in a window of the file, which grows for a long line.
 */
#include "formats/text_lines.h"

#include "base/macros.h"

enum { AHEAD_BYTES = 256 << 10 };

void orma_text_lines_done(struct orma_text_lines *lines)
{
	orma_trace_window_done(&lines->window);
}

int orma_text_lines_next(struct orma_text_lines *lines, struct orma_str *ret)
{
	uint64_t left = orma_trace_bytes_end(lines->input) - lines->address;
	size_t wanted = (size_t)ORMA_MIN(left, (uint64_t)AHEAD_BYTES), searched = 0;
	const uint8_t *data, *end = NULL;
	if (left == 0)
		return 0;
	size_t have = lines->window.size;
	/* The rest of the window mostly has a whole line, so nothing is moved for it. */
	have -= (size_t)ORMA_MIN((uint64_t)have, lines->address - lines->window.address);
	for (size_t size = have > 0 ? have : wanted;; size = wanted) {
		int r = orma_trace_window_read(&lines->window, lines->input, lines->address, size,
					       size, &data);
		if (r <= 0)
			return r; /* the file has become shorter */
		end = memchr(data + searched, '\n', size - searched);
		searched = size;
		if (end || size == left || size >= ORMA_TEXT_LINE_MAX_BYTES)
			break;
		wanted = (size_t)ORMA_MIN(left, (uint64_t)ORMA_MAX(2 * size, (size_t)AHEAD_BYTES));
	}
	size_t size = end ? (size_t)(end - data) : searched;
	lines->address += size + (end != NULL);
	*ret = (struct orma_str){(const char *)data, size - (size > 0 && data[size - 1] == '\r')};
	return 1;
}

struct orma_str orma_text_cut(struct orma_str *rest, char separator)
{
	struct orma_str text = *rest;
	const char *end = text.size > 0 ? memchr(text.data, separator, text.size) : NULL;
	*rest = (struct orma_str){NULL, 0};
	if (!end)
		return text;
	*rest = (struct orma_str){end + 1, text.size - (size_t)(end - text.data) - 1};
	return (struct orma_str){text.data, (size_t)(end - text.data)};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct orma_str orma_text_trim(struct orma_str text)
{
	while (text.size > 0 && is_blank(text.data[0])) {
		text.data++;
		text.size--;
	}
	while (text.size > 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

bool orma_text_starts_with(struct orma_str text, const char *prefix)
{
	size_t size = strlen(prefix);
	return text.size >= size && (size == 0 || memcmp(text.data, prefix, size) == 0);
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

bool orma_text_read_u64(struct orma_str text, unsigned base, uint64_t *ret)
{
	uint64_t value = 0;
	for (size_t i = 0; i < text.size; i++) {
		unsigned digit = digit_value(text.data[i]);
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret = value;
	return text.size > 0;
}

bool orma_text_read_i64(struct orma_str text, int64_t *ret)
{
	uint64_t value;
	bool is_negative = text.size > 0 && text.data[0] == '-';
	if (text.size > 0 && (is_negative || text.data[0] == '+')) {
		text.data++;
		text.size--;
	}
	if (!orma_text_read_u64(text, 10, &value) || value > (uint64_t)INT64_MAX + is_negative)
		return false;
	*ret = (int64_t)(is_negative ? 0 - value : value);
	return true;
}

bool orma_text_read_seconds(struct orma_str text, int64_t *ret_ns)
{
	struct orma_str fraction = text, whole = orma_text_cut(&fraction, '.');
	int64_t seconds, ns = 0;
	if (!orma_text_read_i64(whole, &seconds))
		return false;
	for (size_t i = 0; i < ORMA_MAX(fraction.size, (size_t)9); i++) {
		if (i < fraction.size && digit_value(fraction.data[i]) > 9)
			return false;
		if (i < 9)
			ns = ns * 10 +
			     (i < fraction.size ? (int64_t)digit_value(fraction.data[i]) : 0);
	}
	if (whole.data[0] == '-')
		ns = -ns;
	return !__builtin_mul_overflow(seconds, INT64_C(1000000000), ret_ns) &&
	       !__builtin_add_overflow(*ret_ns, ns, ret_ns);
}
