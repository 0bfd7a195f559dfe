/* SPDX-License-Identifier: Apache-2.0
 * ftrace_line.c - cuts lines of kernel events into their parts.
 *
 * The name of a task may hold any character, so the line is tried from each '-' that a number follows, until the rest fits.
 */
#include "formats/ftrace_line.h"

#include "base/macros.h"
#include "formats/text_lines.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A text that is consumed from its beginning. */
static void skip_blanks(struct orma_str *text)
{
	while (text->size > 0 && is_blank(text->data[0])) {
		text->data++;
		text->size--;
	}
}

static void skip(struct orma_str *text, size_t size)
{
	text->data += size;
	text->size -= size;
}

static bool take(struct orma_str *text, char c)
{
	bool is_there = text->size > 0 && text->data[0] == c;
	if (is_there)
		skip(text, 1);
	return is_there;
}

static bool take_number(struct orma_str *text, uint32_t *ret)
{
	size_t size = 0;
	uint64_t value;
	while (size < text->size && is_digit(text->data[size]))
		size++;
	if (!orma_text_read_u64((struct orma_str){text->data, size}, 10, &value) ||
	    value > INT32_MAX)
		return false;
	skip(text, size);
	*ret = (uint32_t)value;
	return true;
}

/* Skips the process's number in parentheses, which may be dashes. */
static void take_tgid(struct orma_str *text, uint32_t *ret)
{
	struct orma_str rest = *text;
	if (!take(&rest, '('))
		return;
	skip_blanks(&rest);
	uint32_t tgid = 0;
	bool has_tgid = take_number(&rest, &tgid);
	while (rest.size > 0 && rest.data[0] != ')')
		skip(&rest, 1);
	if (!take(&rest, ')'))
		return;
	skip_blanks(&rest);
	*ret = has_tgid ? tgid : 0;
	*text = rest;
}

/* Skips what is known of interrupts and locks: four or five characters, like "d.h2.". */
static void skip_flags(struct orma_str *text)
{
	struct orma_str rest = *text;
	if (rest.size == 0 || is_digit(rest.data[0]))
		return;
	const char *blank = memchr(rest.data, ' ', rest.size);
	size_t size = blank ? (size_t)(blank - rest.data) : rest.size;
	/* The time may follow without a blank. */
	skip(&rest, ORMA_MIN(size <= 5 ? size : 4, rest.size));
	skip_blanks(&rest);
	*text = rest;
}

/* Reads what follows the task's name and the '-'. */
static bool read_rest(struct orma_str rest, struct orma_ftrace_line *ret)
{
	if (!take_number(&rest, &ret->tid) || rest.size == 0 || !is_blank(rest.data[0]))
		return false;
	skip_blanks(&rest);
	take_tgid(&rest, &ret->tgid);
	if (!take(&rest, '[') || !take_number(&rest, &ret->cpu) || !take(&rest, ']'))
		return false;
	skip_blanks(&rest);
	skip_flags(&rest);
	struct orma_str time = orma_text_cut(&rest, ':');
	if (!rest.data || !memchr(time.data, '.', time.size) ||
	    !orma_text_read_seconds(time, &ret->ns) || ret->ns < 0)
		return false;
	skip_blanks(&rest);
	ret->event = orma_text_cut(&rest, ':');
	if (!rest.data || ret->event.size == 0 || memchr(ret->event.data, ' ', ret->event.size))
		return false;
	ret->args = orma_text_trim(rest);
	return true;
}

bool orma_ftrace_line_read(struct orma_str line, struct orma_ftrace_line *ret)
{
	*ret = (struct orma_ftrace_line){0};
	for (size_t i = 0; i + 1 < line.size; i++) {
		if (line.data[i] != '-' || !is_digit(line.data[i + 1]))
			continue;
		ret->tgid = 0;
		if (read_rest((struct orma_str){line.data + i + 1, line.size - i - 1}, ret)) {
			ret->task = orma_text_trim((struct orma_str){line.data, i});
			return true;
		}
	}
	return false;
}

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/* Finds the next "key=" from `at` on; its size is that of the key, 0 = there is none. */
static size_t find_key(struct orma_str args, size_t at, size_t *ret_begin)
{
	for (; at < args.size; at++) {
		const char *equals = memchr(args.data + at, '=', args.size - at);
		if (!equals)
			return 0;
		size_t end = (size_t)(equals - args.data), begin = end;
		while (begin > 0 && is_of_name(args.data[begin - 1]))
			begin--;
		if (begin < end && (begin == 0 || strchr(" \t,({", args.data[begin - 1]))) {
			*ret_begin = begin;
			return end - begin;
		}
		at = end;
	}
	return 0;
}

static struct orma_str cut_value(struct orma_str args, size_t begin, size_t end)
{
	struct orma_str value = orma_text_trim((struct orma_str){args.data + begin, end - begin});
	/* An arrow is between the two halves of a switch, and commas are between some fields. */
	if (value.size >= 3 && memcmp(value.data + value.size - 3, "==>", 3) == 0)
		value.size -= 3;
	value = orma_text_trim(value);
	if (value.size > 0 && value.data[value.size - 1] == ',')
		value.size--;
	return value;
}

unsigned orma_ftrace_fields_read(struct orma_str args,
				 struct orma_ftrace_field ret[ORMA_FTRACE_FIELDS_MAX])
{
	unsigned count = 0;
	size_t begin = args.size, size = find_key(args, 0, &begin);
	struct orma_str name =
		orma_text_trim((struct orma_str){args.data, size ? begin : args.size});
	if (name.size > 0)
		ret[count++] = (struct orma_ftrace_field){ORMA_STR("name"), name};
	while (size > 0 && count < ORMA_FTRACE_FIELDS_MAX) {
		size_t next = args.size, value = begin + size + 1;
		size_t next_size = find_key(args, value, &next);
		ret[count++] = (struct orma_ftrace_field){
			{args.data + begin, size},
			cut_value(args, value, next_size ? next : args.size)};
		begin = next;
		size = next_size;
	}
	return count;
}

struct orma_str orma_ftrace_field_find(const struct orma_ftrace_field *fields, unsigned count,
				       const char *key)
{
	for (unsigned i = 0; i < count; i++)
		if (orma_base_str_is(fields[i].key, key))
			return fields[i].value;
	return (struct orma_str){NULL, 0};
}

bool orma_ftrace_number_read(struct orma_str text, int64_t *ret)
{
	bool is_negative = text.size > 0 && text.data[0] == '-';
	uint64_t value;
	skip(&text, is_negative);
	bool is_hex = text.size > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x';
	skip(&text, is_hex ? 2 : 0);
	size_t size = 0;
	while (size < text.size &&
	       (is_digit(text.data[size]) ||
		(is_hex && strchr("abcdefABCDEF", text.data[size]) && text.data[size])))
		size++;
	if (!orma_text_read_u64((struct orma_str){text.data, size}, is_hex ? 16 : 10, &value))
		return false;
	*ret = (int64_t)(is_negative ? 0 - value : value);
	return true;
}

int64_t orma_ftrace_state_read(struct orma_str letters)
{
	/* The bits that a kernel before 4.8 has, because readers take an unknown kernel for one. */
	static const char names[] = "SDTtXZxKWPN+";
	static const int64_t bits[] = {0x1,  0x2,  0x4,   0x8,   0x10,  0x20,
				       0x40, 0x80, 0x100, 0x200, 0x400, 0x800};
	int64_t state = 0;
	for (size_t i = 0; i < letters.size; i++) {
		char c = letters.data[i];
		const char *found = c ? strchr(names, c) : NULL;
		if (found)
			state |= bits[found - names];
		else if (c == 'I')
			state |= 0x402;
	}
	return state;
}
