/* SPDX-License-Identifier: Apache-2.0
 * probe_text.c - cursors over text that the kernel wrote.
 *
 * A struct orma_str is the cursor, so that a parser can keep several and go back. Invariant: a
 * cursor only shrinks, and stays inside the text that it began with. A text that is not a number is
 * an error and not 0: unprivileged programs can choose names in these files, and a missing field
 * must not become a value. Rejected: sscanf, which cannot express a name with spaces and costs more
 * than the system call that read the file; strtoull, which needs a NUL, skips newlines and accepts
 * a sign.
 */
#include "probes/probe_text.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip(struct orma_str *text, size_t size)
{
	text->data += size;
	text->size -= size;
}

bool orma_probes_text_line(struct orma_str *rest, struct orma_str *ret)
{
	if (rest->size == 0)
		return false;
	const char *end = memchr(rest->data, '\n', rest->size);
	size_t size = end ? (size_t)(end - rest->data) : rest->size;
	*ret = (struct orma_str){rest->data, size};
	skip(rest, end ? size + 1 : size);
	return true;
}

bool orma_probes_text_word(struct orma_str *rest, struct orma_str *ret)
{
	size_t begin = 0;
	while (begin < rest->size && is_blank(rest->data[begin]))
		begin++;
	size_t end = begin;
	while (end < rest->size && !is_blank(rest->data[end]))
		end++;
	if (begin == end)
		return false;
	*ret = (struct orma_str){rest->data + begin, end - begin};
	skip(rest, end);
	return true;
}

bool orma_probes_text_until(struct orma_str *rest, char separator, struct orma_str *ret)
{
	const char *end = rest->size > 0 ? memchr(rest->data, separator, rest->size) : NULL;
	if (!end)
		return false;
	*ret = (struct orma_str){rest->data, (size_t)(end - rest->data)};
	skip(rest, ret->size + 1);
	return true;
}

bool orma_probes_text_skip_name(struct orma_str *stat)
{
	const char *end = stat->size > 0 ? memrchr(stat->data, ')', stat->size) : NULL;
	if (!end)
		return false;
	skip(stat, (size_t)(end - stat->data) + 1);
	return true;
}

struct orma_str orma_probes_text_trim(struct orma_str text)
{
	while (text.size > 0 && is_blank(text.data[0]))
		skip(&text, 1);
	while (text.size > 0 && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

bool orma_probes_text_has_prefix(struct orma_str text, const char *prefix)
{
	size_t size = strlen(prefix);
	return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

bool orma_probes_text_has_suffix(struct orma_str text, const char *suffix)
{
	size_t size = strlen(suffix);
	return text.size >= size && memcmp(text.data + text.size - size, suffix, size) == 0;
}

bool orma_probes_text_u64(struct orma_str text, uint64_t *ret)
{
	uint64_t value = 0;
	if (text.size == 0)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

bool orma_probes_text_i64(struct orma_str text, int64_t *ret)
{
	uint64_t magnitude;
	bool is_negative = text.size > 0 && text.data[0] == '-';
	if (is_negative)
		skip(&text, 1);
	if (!orma_probes_text_u64(text, &magnitude) || magnitude > INT64_MAX)
		return false;
	*ret = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

bool orma_probes_text_u32(struct orma_str text, uint32_t *ret)
{
	uint64_t value;
	if (!orma_probes_text_u64(text, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool orma_probes_text_hex64(struct orma_str text, uint64_t *ret)
{
	if (orma_probes_text_has_prefix(text, "0x") || orma_probes_text_has_prefix(text, "0X"))
		skip(&text, 2);
	if (text.size == 0 || text.size > 16)
		return false;
	uint64_t value = 0;
	for (size_t i = 0; i < text.size; i++) {
		int digit = hex_digit(text.data[i]);
		if (digit < 0)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	return true;
}

bool orma_probes_text_hex32(struct orma_str text, uint32_t *ret)
{
	uint64_t value;
	if (!orma_probes_text_hex64(text, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool orma_probes_text_next_u64(struct orma_str *rest, uint64_t *ret)
{
	struct orma_str word;
	return orma_probes_text_word(rest, &word) && orma_probes_text_u64(word, ret);
}

bool orma_probes_text_resident(struct orma_str statm, uint64_t page_bytes, uint64_t *ret_bytes)
{
	uint64_t pages;
	return orma_probes_text_next_u64(&statm, &pages) &&
	       orma_probes_text_next_u64(&statm, &pages) &&
	       !__builtin_mul_overflow(pages, page_bytes, ret_bytes);
}
