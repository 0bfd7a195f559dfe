/* SPDX-License-Identifier: Apache-2.0
 * demangle_rust_const.c - the constants in names of Rust, which are arguments of generic code and sizes of arrays.
 *
 * A constant is a letter for its type, and its value in hexadecimal digits. The type is not printed, as in rustc's short form.
 */
#include <stdio.h>

#include "symbols/demangle_rust.h"

/* Reads hexadecimal digits and the underscore after them. If there are more than 16, *ret has the last 16. */
static struct orma_str read_hex(struct orma_rust *rust, uint64_t *ret)
{
	size_t start = rust->at;

	*ret = 0;
	for (char c; (c = orma_rust_take(rust)) != '_' && !orma_rust_has_failed(rust);) {
		bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');

		if (!is_digit)
			orma_rust_refuse(rust);
		*ret = *ret << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return orma_rust_has_failed(rust)
		       ? (struct orma_str){"", 0}
		       : (struct orma_str){rust->text + start, rust->at - 1 - start};
}

static void print_char(struct orma_rust *rust, uint64_t value)
{
	char c = (char)value;

	if (value < 0x20 || value >= 0x7f) {
		char text[16];
		int size = snprintf(text, sizeof(text), "\\u{%x}", (unsigned)value);
		orma_rust_print_str(rust, "'");
		orma_rust_print(rust, text, (size_t)size);
		orma_rust_print_str(rust, "'");
		return;
	}
	orma_rust_print_str(rust, c == '\'' || c == '\\' ? "'\\" : "'");
	orma_rust_print(rust, &c, 1);
	orma_rust_print_str(rust, "'");
}

static void print_integer(struct orma_rust *rust, bool can_be_negative)
{
	uint64_t value;

	if (orma_rust_eat(rust, 'n')) {
		if (!can_be_negative)
			orma_rust_refuse(rust);
		orma_rust_print_str(rust, "-");
	}
	struct orma_str digits = read_hex(rust, &value);
	if (digits.size <= 16) {
		orma_rust_print_number(rust, value);
	} else {
		orma_rust_print_str(rust, "0x");
		orma_rust_print(rust, digits.data, digits.size);
	}
}

static void print_value(struct orma_rust *rust)
{
	uint64_t value;
	char kind = orma_rust_take(rust);
	switch (kind) {
	case 'p':
		orma_rust_print_str(rust, "_");
		break;
	case 'h':
	case 't':
	case 'm':
	case 'y':
	case 'o':
	case 'j':
		print_integer(rust, false);
		break;
	case 'a':
	case 's':
	case 'l':
	case 'x':
	case 'n':
	case 'i':
		print_integer(rust, true);
		break;
	case 'b':
		(void)read_hex(rust, &value);
		if (value > 1)
			orma_rust_refuse(rust);
		orma_rust_print_str(rust, value ? "true" : "false");
		break;
	case 'c':
		(void)read_hex(rust, &value);
		if (value > 0x10ffff)
			orma_rust_refuse(rust);
		print_char(rust, value);
		break;
	default:
		orma_rust_refuse(rust);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): orma_rust_enter() bounds the depth, and so the stack. */
void orma_rust_print_const(struct orma_rust *rust)
{
	if (orma_rust_enter(rust) && !orma_rust_follow(rust, orma_rust_print_const))
		print_value(rust);
	rust->depth--;
}
