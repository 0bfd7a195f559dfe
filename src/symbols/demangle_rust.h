/* SPDX-License-Identifier: Apache-2.0
 * demangle_rust.h - the state of reading a name of Rust, which the files demangle_rust*.c share.
 */
#ifndef ORMA_SYMBOLS_DEMANGLE_RUST_H
#define ORMA_SYMBOLS_DEMANGLE_RUST_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum { ORMA_RUST_DEPTH_MAX = 128, ORMA_RUST_OUTPUT_MAX = 64 << 10 };

struct orma_rust {
	const char *text; /* the name without its prefix */
	size_t at, size;
	struct orma_buf *out;
	size_t budget; /* bytes that may still be printed */
	unsigned steps, depth;
	uint64_t bound_lifetimes; /* declared by the `for<...>` around this place */
	bool is_silent;           /* only the syntax counts: nothing is printed */
	int error;                /* 0; -EBADMSG: not such a name; -ENOMEM */
};

/* --- input and output (demangle_rust_text.c) ---------------------------------------------------- */

bool orma_rust_has_failed(const struct orma_rust *rust);
/* The name is not understood. */
void orma_rust_refuse(struct orma_rust *rust);

void orma_rust_print(struct orma_rust *rust, const char *text, size_t size);
void orma_rust_print_str(struct orma_rust *rust, const char *text);
void orma_rust_print_number(struct orma_rust *rust, uint64_t number);

/* The next character, or 0 at the end or after an error. */
char orma_rust_peek(const struct orma_rust *rust);
/* Passes over `wanted` if it is the next character. */
bool orma_rust_eat(struct orma_rust *rust, char wanted);
/* Passes over the next character and returns it. The end is an error. */
char orma_rust_take(struct orma_rust *rust);
/* A number in base 62 that ends with an underscore. "_" is 0, "0_" is 1. */
uint64_t orma_rust_read_base62(struct orma_rust *rust);
/* An optional number after a tag: 0 without the tag, else orma_rust_read_base62() plus 1. */
uint64_t orma_rust_read_optional(struct orma_rust *rust, char tag);

/* Counts a level of nesting; the caller does `depth--` when it leaves. False after an error. */
bool orma_rust_enter(struct orma_rust *rust);
/* Reads a back reference, if there is one, and calls `print_there` at its target. False when there is none. */
bool orma_rust_follow(struct orma_rust *rust, void (*print_there)(struct orma_rust *rust));

/* --- constants (demangle_rust_const.c) ------------------------------------------------------------ */

void orma_rust_print_const(struct orma_rust *rust);

#endif
