/* SPDX-License-Identifier: Apache-2.0
 * demangle_rust_text.c - reads a mangled name of Rust and prints into the result, both bounded.
 *
 * A back reference is printed by reading its target again, so a few references to each other can stand for more text than there is
 * memory. Invariants: the position never passes `size`; `budget` bounds the output, `steps` the characters that are read, and
 * `depth` the recursion. After the first error, reading gives 0 and false and printing does nothing; so the grammar ends by itself
 * and checks the error once.
 */
#include "symbols/demangle_rust.h"

#include <errno.h>
#include <string.h>

enum { STEPS_MAX = 1 << 16 };

bool orma_rust_has_failed(const struct orma_rust *rust)
{
	return rust->error != 0;
}

void orma_rust_refuse(struct orma_rust *rust)
{
	if (rust->error == 0)
		rust->error = -EBADMSG;
}

void orma_rust_print(struct orma_rust *rust, const char *text, size_t size)
{
	if (rust->is_silent || orma_rust_has_failed(rust))
		return;
	if (size > rust->budget) {
		orma_rust_refuse(rust);
		return;
	}
	rust->budget -= size;
	rust->error = orma_base_buf_append(rust->out, text, size);
}

void orma_rust_print_str(struct orma_rust *rust, const char *text)
{
	orma_rust_print(rust, text, strlen(text));
}

void orma_rust_print_number(struct orma_rust *rust, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789"[number % 10];
	while (number /= 10);
	orma_rust_print(rust, digits + at, sizeof(digits) - at);
}

char orma_rust_peek(const struct orma_rust *rust)
{
	if (rust->at == rust->size || orma_rust_has_failed(rust))
		return 0;
	return rust->text[rust->at];
}

bool orma_rust_eat(struct orma_rust *rust, char wanted)
{
	if (orma_rust_peek(rust) != wanted)
		return false;
	rust->at++;
	return true;
}

char orma_rust_take(struct orma_rust *rust)
{
	char c = orma_rust_peek(rust);

	if (c == 0 || ++rust->steps > STEPS_MAX)
		orma_rust_refuse(rust);
	else
		rust->at++;
	return c;
}

uint64_t orma_rust_read_base62(struct orma_rust *rust)
{
	uint64_t value = 0;

	if (orma_rust_eat(rust, '_'))
		return 0;
	for (char c; (c = orma_rust_take(rust)) != '_' && !orma_rust_has_failed(rust);) {
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
							: 62;
		if (digit > 61 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			orma_rust_refuse(rust);
	}
	if (value == UINT64_MAX)
		orma_rust_refuse(rust);
	return value + 1;
}

uint64_t orma_rust_read_optional(struct orma_rust *rust, char tag)
{
	return orma_rust_eat(rust, tag) ? orma_rust_read_base62(rust) + 1 : 0;
}

bool orma_rust_follow(struct orma_rust *rust, void (*print_there)(struct orma_rust *rust))
{
	size_t start = rust->at;

	if (!orma_rust_eat(rust, 'B'))
		return false;
	uint64_t target = orma_rust_read_base62(rust);
	size_t next = rust->at;
	/* A reference to itself or to what follows would never end. */
	if (target >= start)
		orma_rust_refuse(rust);
	/* The target was read before, so its syntax is right. */
	if (orma_rust_has_failed(rust) || rust->is_silent)
		return true;
	rust->at = (size_t)target;
	print_there(rust);
	rust->at = next;
	return true;
}

bool orma_rust_enter(struct orma_rust *rust)
{
	if (++rust->depth > ORMA_RUST_DEPTH_MAX)
		orma_rust_refuse(rust);
	return !orma_rust_has_failed(rust);
}
