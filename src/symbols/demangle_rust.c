/* SPDX-License-Identifier: Apache-2.0
 * demangle_rust.c - the paths and types in names that rustc writes since 1.37 ("v0", RFC 2603).
 *
 * A name is read and printed in one pass; a back reference is printed by reading its target again. demangle_rust_text.c bounds
 * both. Where only the syntax counts, `is_silent` suppresses the output.
 *
 * The result is rustc's short form: without the hashes of crates and the types of constants.
 */
#include "symbols/demangle_rust.h"

#include <errno.h>
#include <string.h>

#include "symbols/demangle.h"

/* NOLINTBEGIN(misc-no-recursion): names nest. orma_rust_enter() bounds the depth, and so the stack. */
static void print_path(struct orma_rust *rust, bool is_value);
static void print_type(struct orma_rust *rust);

/* --- paths ------------------------------------------------------------------------------------ */

/* "5hello", or "u" and the same for names that are not ASCII. */
static struct orma_str read_identifier(struct orma_rust *rust, bool *ret_is_punycode)
{
	uint64_t size = 0;

	*ret_is_punycode = orma_rust_eat(rust, 'u');
	if (!orma_rust_eat(rust, '0')) {
		if (orma_rust_peek(rust) < '1' || orma_rust_peek(rust) > '9')
			orma_rust_refuse(rust);
		while (orma_rust_peek(rust) >= '0' && orma_rust_peek(rust) <= '9' &&
		       size < rust->size)
			size = size * 10 + (uint64_t)(orma_rust_take(rust) - '0');
	}
	(void)orma_rust_eat(rust, '_');
	if (orma_rust_has_failed(rust) || size > rust->size - rust->at) {
		orma_rust_refuse(rust);
		return (struct orma_str){"", 0};
	}
	rust->at += (size_t)size;
	return (struct orma_str){rust->text + rust->at - size, (size_t)size};
}

static void print_identifier(struct orma_rust *rust, struct orma_str name, bool is_punycode)
{
	if (is_punycode)
		orma_rust_print_str(rust, "punycode{");
	orma_rust_print(rust, name.data, name.size);
	if (is_punycode)
		orma_rust_print_str(rust, "}");
}

static void print_value_path(struct orma_rust *rust)
{
	print_path(rust, true);
}

static void print_type_path(struct orma_rust *rust)
{
	print_path(rust, false);
}

static void print_lifetime(struct orma_rust *rust, uint64_t idx)
{
	orma_rust_print_str(rust, "'");
	if (idx == 0) {
		orma_rust_print_str(rust, "_");
		return;
	}
	if (idx > rust->bound_lifetimes) {
		orma_rust_refuse(rust);
		return;
	}
	uint64_t depth = rust->bound_lifetimes - idx;
	char letter = (char)('a' + depth % 26);
	if (depth < 26) {
		orma_rust_print(rust, &letter, 1);
	} else {
		orma_rust_print_str(rust, "_");
		orma_rust_print_number(rust, depth);
	}
}

static void print_generic_arg(struct orma_rust *rust)
{
	if (orma_rust_eat(rust, 'L'))
		print_lifetime(rust, orma_rust_read_base62(rust));
	else if (orma_rust_eat(rust, 'K'))
		orma_rust_print_const(rust);
	else
		print_type(rust);
}

/* Prints the items of a list up to its E. Returns their number. */
static size_t print_list(struct orma_rust *rust, void (*print_item)(struct orma_rust *rust),
			 const char *separator)
{
	size_t count = 0;

	while (!orma_rust_has_failed(rust) && !orma_rust_eat(rust, 'E')) {
		if (count++ > 0)
			orma_rust_print_str(rust, separator);
		print_item(rust);
	}
	return count;
}

/* Reads the path of the module that has an `impl`. The short form does not print it. */
static void skip_impl_path(struct orma_rust *rust)
{
	bool was_silent = rust->is_silent;

	rust->is_silent = true;
	(void)orma_rust_read_optional(rust, 's');
	print_path(rust, false);
	rust->is_silent = was_silent;
}

static void print_nested(struct orma_rust *rust, bool is_value)
{
	char kind = orma_rust_take(rust);
	bool is_punycode;

	print_path(rust, is_value);
	uint64_t disambiguator = orma_rust_read_optional(rust, 's');
	struct orma_str name = read_identifier(rust, &is_punycode);
	if (kind >= 'A' && kind <= 'Z') {
		orma_rust_print_str(rust, "::{");
		orma_rust_print_str(rust, kind == 'C' ? "closure" : kind == 'S' ? "shim" : "");
		if (kind != 'C' && kind != 'S')
			orma_rust_print(rust, &kind, 1);
		if (name.size > 0) {
			orma_rust_print_str(rust, ":");
			print_identifier(rust, name, is_punycode);
		}
		orma_rust_print_str(rust, "#");
		orma_rust_print_number(rust, disambiguator);
		orma_rust_print_str(rust, "}");
	} else if (kind >= 'a' && kind <= 'z') {
		if (name.size > 0) {
			orma_rust_print_str(rust, "::");
			print_identifier(rust, name, is_punycode);
		}
	} else {
		orma_rust_refuse(rust);
	}
}

static void print_impl(struct orma_rust *rust, char kind)
{
	if (kind != 'Y')
		skip_impl_path(rust);
	orma_rust_print_str(rust, "<");
	print_type(rust);
	if (kind != 'M') {
		orma_rust_print_str(rust, " as ");
		print_path(rust, false);
	}
	orma_rust_print_str(rust, ">");
}

static void print_path(struct orma_rust *rust, bool is_value)
{
	bool is_punycode;

	if (!orma_rust_enter(rust) ||
	    orma_rust_follow(rust, is_value ? print_value_path : print_type_path)) {
		rust->depth--;
		return;
	}
	char kind = orma_rust_take(rust);
	switch (kind) {
	case 'C':
		(void)orma_rust_read_optional(rust, 's');
		struct orma_str name = read_identifier(rust, &is_punycode);
		print_identifier(rust, name, is_punycode);
		break;
	case 'N':
		print_nested(rust, is_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		print_impl(rust, kind);
		break;
	case 'I':
		print_path(rust, is_value);
		orma_rust_print_str(rust, is_value ? "::<" : "<");
		(void)print_list(rust, print_generic_arg, ", ");
		orma_rust_print_str(rust, ">");
		break;
	default:
		orma_rust_refuse(rust);
	}
	rust->depth--;
}

/* --- types ------------------------------------------------------------------------------------ */

static const char *basic_type(char c)
{
	static const char *const names['z' - 'a' + 1] = {
		"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
		"usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
		"i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* Prints the lifetimes that `for<...>` declares. Returns their number; the caller ends their scope. */
static uint64_t print_binder(struct orma_rust *rust)
{
	uint64_t count = orma_rust_read_optional(rust, 'G');

	if (count == 0)
		return 0;
	if (count > ORMA_RUST_DEPTH_MAX) {
		orma_rust_refuse(rust);
		return 0;
	}
	orma_rust_print_str(rust, "for<");
	for (uint64_t i = 0; i < count; i++) {
		if (i > 0)
			orma_rust_print_str(rust, ", ");
		rust->bound_lifetimes++;
		print_lifetime(rust, 1);
	}
	orma_rust_print_str(rust, "> ");
	return count;
}

static void print_abi(struct orma_rust *rust)
{
	bool is_punycode;

	orma_rust_print_str(rust, "extern \"");
	if (orma_rust_eat(rust, 'C')) {
		orma_rust_print_str(rust, "C");
	} else {
		struct orma_str name = read_identifier(rust, &is_punycode);
		for (size_t i = 0; i < name.size; i++)
			orma_rust_print(rust, name.data[i] == '_' ? "-" : name.data + i, 1);
	}
	orma_rust_print_str(rust, "\" ");
}

static void print_function(struct orma_rust *rust)
{
	uint64_t bound = print_binder(rust);

	if (orma_rust_eat(rust, 'U'))
		orma_rust_print_str(rust, "unsafe ");
	if (orma_rust_eat(rust, 'K'))
		print_abi(rust);
	orma_rust_print_str(rust, "fn(");
	(void)print_list(rust, print_type, ", ");
	orma_rust_print_str(rust, ")");
	if (!orma_rust_eat(rust, 'u')) {
		orma_rust_print_str(rust, " -> ");
		print_type(rust);
	}
	rust->bound_lifetimes -= bound;
}

/* Prints a trait. True when it has arguments: their list is not closed yet, so that the caller can add the associated types. */
static bool print_open_trait(struct orma_rust *rust)
{
	size_t next = 0;

	/* As orma_rust_follow(), but the list of the target stays open. */
	if (orma_rust_peek(rust) == 'B') {
		size_t start = rust->at++;
		uint64_t target = orma_rust_read_base62(rust);
		next = rust->at;
		if (target >= start || !orma_rust_enter(rust)) {
			orma_rust_refuse(rust);
			return false;
		}
		rust->at = (size_t)target;
		bool is_open = print_open_trait(rust);
		rust->depth--;
		rust->at = next;
		return is_open;
	}
	if (!orma_rust_eat(rust, 'I')) {
		print_path(rust, false);
		return false;
	}
	print_path(rust, false);
	orma_rust_print_str(rust, "<");
	(void)print_list(rust, print_generic_arg, ", ");
	return true;
}

static void print_dyn_trait(struct orma_rust *rust)
{
	bool is_open = print_open_trait(rust), is_punycode;

	while (orma_rust_eat(rust, 'p')) {
		orma_rust_print_str(rust, is_open ? ", " : "<");
		is_open = true;
		struct orma_str name = read_identifier(rust, &is_punycode);
		print_identifier(rust, name, is_punycode);
		orma_rust_print_str(rust, " = ");
		print_type(rust);
	}
	if (is_open)
		orma_rust_print_str(rust, ">");
}

static void print_dyn(struct orma_rust *rust)
{
	orma_rust_print_str(rust, "dyn ");
	uint64_t bound = print_binder(rust);
	(void)print_list(rust, print_dyn_trait, " + ");
	rust->bound_lifetimes -= bound;
	if (!orma_rust_eat(rust, 'L')) {
		orma_rust_refuse(rust);
		return;
	}
	uint64_t lifetime = orma_rust_read_base62(rust);
	if (lifetime > 0) {
		orma_rust_print_str(rust, " + ");
		print_lifetime(rust, lifetime);
	}
}

static void print_reference(struct orma_rust *rust, bool is_mutable)
{
	orma_rust_print_str(rust, "&");
	if (orma_rust_eat(rust, 'L')) {
		uint64_t lifetime = orma_rust_read_base62(rust);
		if (lifetime > 0) {
			print_lifetime(rust, lifetime);
			orma_rust_print_str(rust, " ");
		}
	}
	orma_rust_print_str(rust, is_mutable ? "mut " : "");
	print_type(rust);
}

static void print_array(struct orma_rust *rust, bool has_size)
{
	orma_rust_print_str(rust, "[");
	print_type(rust);
	if (has_size) {
		orma_rust_print_str(rust, "; ");
		orma_rust_print_const(rust);
	}
	orma_rust_print_str(rust, "]");
}

static void print_tuple(struct orma_rust *rust)
{
	orma_rust_print_str(rust, "(");
	if (print_list(rust, print_type, ", ") == 1)
		orma_rust_print_str(rust, ",");
	orma_rust_print_str(rust, ")");
}

static void print_other_type(struct orma_rust *rust, char kind)
{
	switch (kind) {
	case 'R':
	case 'Q':
		print_reference(rust, kind == 'Q');
		break;
	case 'P':
	case 'O':
		orma_rust_print_str(rust, kind == 'P' ? "*const " : "*mut ");
		print_type(rust);
		break;
	case 'A':
	case 'S':
		print_array(rust, kind == 'A');
		break;
	case 'T':
		print_tuple(rust);
		break;
	case 'F':
		print_function(rust);
		break;
	case 'D':
		print_dyn(rust);
		break;
	default:
		rust->at--;
		print_path(rust, false);
	}
}

static void print_type(struct orma_rust *rust)
{
	const char *basic = basic_type(orma_rust_peek(rust));

	if (basic) {
		(void)orma_rust_take(rust);
		orma_rust_print_str(rust, basic);
		return;
	}
	if (orma_rust_enter(rust) && !orma_rust_follow(rust, print_type)) {
		char kind = orma_rust_take(rust);
		if (!orma_rust_has_failed(rust))
			print_other_type(rust, kind);
	}
	rust->depth--;
}

/* NOLINTEND(misc-no-recursion) */

/* --- the whole name ---------------------------------------------------------------------------- */

int orma_demangle_rust_v0(const char *name, struct orma_buf *buf)
{
	/* A suffix that begins with a dot marks a copy of the function. */
	size_t size = strcspn(name, "."), before = buf->size;
	struct orma_rust rust = {.out = buf, .budget = ORMA_RUST_OUTPUT_MAX};

	/* A digit after "_R" is the version of another encoding. */
	if (size < 3 || memcmp(name, "_R", 2) != 0 || name[2] < 'A' || name[2] > 'Z')
		return 0;
	rust.text = name + 2;
	rust.size = size - 2;
	print_path(&rust, true);
	/* The path of the crate that a generic function was instantiated in may follow. */
	if (rust.at < rust.size) {
		rust.is_silent = true;
		print_path(&rust, false);
	}
	/* The mangled name says more than an empty text. */
	if (rust.at < rust.size || buf->size == before)
		orma_rust_refuse(&rust);
	if (rust.error)
		buf->size = before;
	return rust.error == -ENOMEM ? -ENOMEM : rust.error == 0;
}
