/* SPDX-License-Identifier: Apache-2.0
 * demangle_rust.c - the names that rustc writes since 1.37 ("v0", RFC 2603).
 *
 * A name is read and printed in one pass. A back reference moves the position back and returns. Invariants: `depth`
 * bounds the recursion, and `budget` the output, because a few back references in each other can stand for more text than
 * there is memory. Where only the syntax counts, `is_silent` keeps the text away.
 *
 * Printed as rustc's own short form: without the hashes of crates and the types of constants.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "symbols/demangle.h"

enum { DEPTH_MAX = 128, OUTPUT_MAX = 64 << 10, STEPS_MAX = 1 << 16 };

struct v0 {
	const char *text; /* behind the prefix */
	size_t at, size;
	struct orma_buf *out;
	size_t budget;
	unsigned steps, depth;
	uint64_t bound_lifetimes;
	bool is_silent;
	int error; /* 0; -EBADMSG: not such a name; -ENOMEM */
};

/* NOLINTBEGIN(misc-no-recursion): names nest. enter() bounds the depth, and so the stack. */
static void print_path(struct v0 *v0, bool is_value);
static void print_type(struct v0 *v0);
static void print_const(struct v0 *v0);

static bool has_failed(const struct v0 *v0)
{
	return v0->error != 0;
}

static void refuse(struct v0 *v0)
{
	if (v0->error == 0)
		v0->error = -EBADMSG;
}

static void print(struct v0 *v0, const char *text, size_t size)
{
	if (v0->is_silent || has_failed(v0))
		return;
	if (size > v0->budget) {
		refuse(v0);
		return;
	}
	v0->budget -= size;
	v0->error = orma_base_buf_append(v0->out, text, size);
}

static void print_str(struct v0 *v0, const char *text)
{
	print(v0, text, strlen(text));
}

static void print_number(struct v0 *v0, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789"[number % 10];
	while (number /= 10);
	print(v0, digits + at, sizeof(digits) - at);
}

static char peek(const struct v0 *v0)
{
	if (v0->at == v0->size || has_failed(v0))
		return 0;
	return v0->text[v0->at];
}

static bool eat(struct v0 *v0, char wanted)
{
	if (peek(v0) != wanted)
		return false;
	v0->at++;
	return true;
}

static char take(struct v0 *v0)
{
	char c = peek(v0);

	if (c == 0 || ++v0->steps > STEPS_MAX)
		refuse(v0);
	else
		v0->at++;
	return c;
}

/* Base 62 with an underscore at its end; "_" alone is 0. */
static uint64_t read_base62(struct v0 *v0)
{
	uint64_t value = 0;

	if (eat(v0, '_'))
		return 0;
	for (char c; (c = take(v0)) != '_' && !has_failed(v0);) {
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
							: 62;
		if (digit > 61 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			refuse(v0);
	}
	if (value == UINT64_MAX)
		refuse(v0);
	return value + 1;
}

/* An optional number behind a tag: 0 without it, else one more than what is written. */
static uint64_t read_optional(struct v0 *v0, char tag)
{
	return eat(v0, tag) ? read_base62(v0) + 1 : 0;
}

static struct orma_str read_undisambiguated(struct v0 *v0, bool *ret_is_punycode)
{
	uint64_t size = 0;

	*ret_is_punycode = eat(v0, 'u');
	if (!eat(v0, '0')) {
		if (peek(v0) < '1' || peek(v0) > '9')
			refuse(v0);
		while (peek(v0) >= '0' && peek(v0) <= '9' && size < v0->size)
			size = size * 10 + (uint64_t)(take(v0) - '0');
	}
	(void)eat(v0, '_');
	if (has_failed(v0) || size > v0->size - v0->at) {
		refuse(v0);
		return (struct orma_str){"", 0};
	}
	v0->at += (size_t)size;
	return (struct orma_str){v0->text + v0->at - size, (size_t)size};
}

static void print_identifier(struct v0 *v0, struct orma_str name, bool is_punycode)
{
	if (is_punycode)
		print_str(v0, "punycode{");
	print(v0, name.data, name.size);
	if (is_punycode)
		print_str(v0, "}");
}

/* Goes back to where a back reference points, if it is one, and has it printed there. */
static bool follow(struct v0 *v0, void (*print_there)(struct v0 *v0))
{
	size_t start = v0->at;

	if (!eat(v0, 'B'))
		return false;
	uint64_t target = read_base62(v0);
	size_t next = v0->at;
	if (target >= start) /* it would never end */
		refuse(v0);
	/* Without printing there is no reason to read it again. */
	if (has_failed(v0) || v0->is_silent)
		return true;
	v0->at = (size_t)target;
	print_there(v0);
	v0->at = next;
	return true;
}

static bool enter(struct v0 *v0)
{
	if (++v0->depth > DEPTH_MAX)
		refuse(v0);
	return !has_failed(v0);
}

/* --- paths ------------------------------------------------------------------------------------ */

static void print_value_path(struct v0 *v0)
{
	print_path(v0, true);
}

static void print_type_path(struct v0 *v0)
{
	print_path(v0, false);
}

static void print_lifetime(struct v0 *v0, uint64_t idx)
{
	print_str(v0, "'");
	if (idx == 0) {
		print_str(v0, "_");
		return;
	}
	if (idx > v0->bound_lifetimes) {
		refuse(v0);
		return;
	}
	uint64_t depth = v0->bound_lifetimes - idx;
	char letter = (char)('a' + depth % 26);
	if (depth < 26) {
		print(v0, &letter, 1);
	} else {
		print_str(v0, "_");
		print_number(v0, depth);
	}
}

static void print_generic_arg(struct v0 *v0)
{
	if (eat(v0, 'L'))
		print_lifetime(v0, read_base62(v0));
	else if (eat(v0, 'K'))
		print_const(v0);
	else
		print_type(v0);
}

/* A list up to its E. Returns how many there are. */
static size_t print_list(struct v0 *v0, void (*print_item)(struct v0 *v0), const char *separator)
{
	size_t count = 0;

	while (!has_failed(v0) && !eat(v0, 'E')) {
		if (count++ > 0)
			print_str(v0, separator);
		print_item(v0);
	}
	return count;
}

/* Reads where an implementation stands, which is not printed. */
static void skip_impl_path(struct v0 *v0)
{
	bool was_silent = v0->is_silent;

	v0->is_silent = true;
	(void)read_optional(v0, 's');
	print_path(v0, false);
	v0->is_silent = was_silent;
}

static void print_nested(struct v0 *v0, bool is_value)
{
	char kind = take(v0);
	bool is_punycode;

	print_path(v0, is_value);
	uint64_t disambiguator = read_optional(v0, 's');
	struct orma_str name = read_undisambiguated(v0, &is_punycode);
	if (kind >= 'A' && kind <= 'Z') {
		print_str(v0, "::{");
		print_str(v0, kind == 'C' ? "closure" : kind == 'S' ? "shim" : "");
		if (kind != 'C' && kind != 'S')
			print(v0, &kind, 1);
		if (name.size > 0) {
			print_str(v0, ":");
			print_identifier(v0, name, is_punycode);
		}
		print_str(v0, "#");
		print_number(v0, disambiguator);
		print_str(v0, "}");
	} else if (kind >= 'a' && kind <= 'z') {
		if (name.size > 0) {
			print_str(v0, "::");
			print_identifier(v0, name, is_punycode);
		}
	} else {
		refuse(v0);
	}
}

static void print_impl(struct v0 *v0, char kind)
{
	if (kind != 'Y')
		skip_impl_path(v0);
	print_str(v0, "<");
	print_type(v0);
	if (kind != 'M') {
		print_str(v0, " as ");
		print_path(v0, false);
	}
	print_str(v0, ">");
}

static void print_path(struct v0 *v0, bool is_value)
{
	bool is_punycode;

	if (!enter(v0) || follow(v0, is_value ? print_value_path : print_type_path)) {
		v0->depth--;
		return;
	}
	char kind = take(v0);
	switch (kind) {
	case 'C':
		(void)read_optional(v0, 's');
		struct orma_str name = read_undisambiguated(v0, &is_punycode);
		print_identifier(v0, name, is_punycode);
		break;
	case 'N':
		print_nested(v0, is_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		print_impl(v0, kind);
		break;
	case 'I':
		print_path(v0, is_value);
		print_str(v0, is_value ? "::<" : "<");
		(void)print_list(v0, print_generic_arg, ", ");
		print_str(v0, ">");
		break;
	default:
		refuse(v0);
	}
	v0->depth--;
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

/* Lifetimes that `for<...>` declares. Returns how many there are, for the end of their scope. */
static uint64_t print_binder(struct v0 *v0)
{
	uint64_t count = read_optional(v0, 'G');

	if (count == 0)
		return 0;
	if (count > DEPTH_MAX) {
		refuse(v0);
		return 0;
	}
	print_str(v0, "for<");
	for (uint64_t i = 0; i < count; i++) {
		if (i > 0)
			print_str(v0, ", ");
		v0->bound_lifetimes++;
		print_lifetime(v0, 1);
	}
	print_str(v0, "> ");
	return count;
}

static void print_abi(struct v0 *v0)
{
	bool is_punycode;

	print_str(v0, "extern \"");
	if (eat(v0, 'C')) {
		print_str(v0, "C");
	} else {
		struct orma_str name = read_undisambiguated(v0, &is_punycode);
		for (size_t i = 0; i < name.size; i++)
			print(v0, name.data[i] == '_' ? "-" : name.data + i, 1);
	}
	print_str(v0, "\" ");
}

static void print_function(struct v0 *v0)
{
	uint64_t bound = print_binder(v0);

	if (eat(v0, 'U'))
		print_str(v0, "unsafe ");
	if (eat(v0, 'K'))
		print_abi(v0);
	print_str(v0, "fn(");
	(void)print_list(v0, print_type, ", ");
	print_str(v0, ")");
	if (!eat(v0, 'u')) {
		print_str(v0, " -> ");
		print_type(v0);
	}
	v0->bound_lifetimes -= bound;
}

/* A trait whose arguments stay open, so that its associated types can be added. Returns whether they are. */
static bool print_open_trait(struct v0 *v0)
{
	size_t next = 0;

	/* A back reference to one is read there, and what follows it is read here. */
	if (peek(v0) == 'B') {
		size_t start = v0->at++;
		uint64_t target = read_base62(v0);
		next = v0->at;
		if (target >= start || !enter(v0)) {
			refuse(v0);
			return false;
		}
		v0->at = (size_t)target;
		bool is_open = print_open_trait(v0);
		v0->depth--;
		v0->at = next;
		return is_open;
	}
	if (!eat(v0, 'I')) {
		print_path(v0, false);
		return false;
	}
	print_path(v0, false);
	print_str(v0, "<");
	(void)print_list(v0, print_generic_arg, ", ");
	return true;
}

static void print_dyn_trait(struct v0 *v0)
{
	bool is_open = print_open_trait(v0), is_punycode;

	while (eat(v0, 'p')) {
		print_str(v0, is_open ? ", " : "<");
		is_open = true;
		struct orma_str name = read_undisambiguated(v0, &is_punycode);
		print_identifier(v0, name, is_punycode);
		print_str(v0, " = ");
		print_type(v0);
	}
	if (is_open)
		print_str(v0, ">");
}

static void print_dyn(struct v0 *v0)
{
	print_str(v0, "dyn ");
	uint64_t bound = print_binder(v0);
	(void)print_list(v0, print_dyn_trait, " + ");
	v0->bound_lifetimes -= bound;
	if (!eat(v0, 'L')) {
		refuse(v0);
		return;
	}
	uint64_t lifetime = read_base62(v0);
	if (lifetime > 0) {
		print_str(v0, " + ");
		print_lifetime(v0, lifetime);
	}
}

static void print_reference(struct v0 *v0, bool is_mutable)
{
	print_str(v0, "&");
	if (eat(v0, 'L')) {
		uint64_t lifetime = read_base62(v0);
		if (lifetime > 0) {
			print_lifetime(v0, lifetime);
			print_str(v0, " ");
		}
	}
	print_str(v0, is_mutable ? "mut " : "");
	print_type(v0);
}

static void print_array(struct v0 *v0, bool has_size)
{
	print_str(v0, "[");
	print_type(v0);
	if (has_size) {
		print_str(v0, "; ");
		print_const(v0);
	}
	print_str(v0, "]");
}

static void print_tuple(struct v0 *v0)
{
	print_str(v0, "(");
	if (print_list(v0, print_type, ", ") == 1)
		print_str(v0, ",");
	print_str(v0, ")");
}

static void print_other_type(struct v0 *v0, char kind)
{
	switch (kind) {
	case 'R':
	case 'Q':
		print_reference(v0, kind == 'Q');
		break;
	case 'P':
	case 'O':
		print_str(v0, kind == 'P' ? "*const " : "*mut ");
		print_type(v0);
		break;
	case 'A':
	case 'S':
		print_array(v0, kind == 'A');
		break;
	case 'T':
		print_tuple(v0);
		break;
	case 'F':
		print_function(v0);
		break;
	case 'D':
		print_dyn(v0);
		break;
	default:
		/* Everything else is a path. */
		v0->at--;
		print_path(v0, false);
	}
}

static void print_type(struct v0 *v0)
{
	const char *basic = basic_type(peek(v0));

	if (basic) {
		(void)take(v0);
		print_str(v0, basic);
		return;
	}
	if (enter(v0) && !follow(v0, print_type)) {
		char kind = take(v0);
		if (!has_failed(v0))
			print_other_type(v0, kind);
	}
	v0->depth--;
}

/* --- constants -------------------------------------------------------------------------------- */

/* Hexadecimal digits up to the underscore. */
static struct orma_str read_hex(struct v0 *v0, uint64_t *ret)
{
	size_t start = v0->at;

	*ret = 0;
	for (char c; (c = take(v0)) != '_' && !has_failed(v0);) {
		bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');

		if (!is_digit)
			refuse(v0);
		*ret = *ret << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return has_failed(v0) ? (struct orma_str){"", 0}
			      : (struct orma_str){v0->text + start, v0->at - 1 - start};
}

static void print_char(struct v0 *v0, uint64_t value)
{
	char c = (char)value;

	if (value < 0x20 || value >= 0x7f) {
		char text[16];
		int size = snprintf(text, sizeof(text), "\\u{%x}", (unsigned)value);
		print_str(v0, "'");
		print(v0, text, (size_t)size);
		print_str(v0, "'");
		return;
	}
	print_str(v0, c == '\'' || c == '\\' ? "'\\" : "'");
	print(v0, &c, 1);
	print_str(v0, "'");
}

static void print_integer(struct v0 *v0, bool can_be_negative)
{
	uint64_t value;

	if (eat(v0, 'n')) {
		if (!can_be_negative)
			refuse(v0);
		print_str(v0, "-");
	}
	struct orma_str digits = read_hex(v0, &value);
	if (digits.size <= 16) {
		print_number(v0, value);
	} else {
		print_str(v0, "0x");
		print(v0, digits.data, digits.size);
	}
}

static void print_const(struct v0 *v0)
{
	uint64_t value;

	if (follow(v0, print_const))
		return;
	char kind = take(v0);
	switch (kind) {
	case 'p':
		print_str(v0, "_");
		break;
	case 'h':
	case 't':
	case 'm':
	case 'y':
	case 'o':
	case 'j':
		print_integer(v0, false);
		break;
	case 'a':
	case 's':
	case 'l':
	case 'x':
	case 'n':
	case 'i':
		print_integer(v0, true);
		break;
	case 'b':
		(void)read_hex(v0, &value);
		if (value > 1)
			refuse(v0);
		print_str(v0, value ? "true" : "false");
		break;
	case 'c':
		(void)read_hex(v0, &value);
		if (value > 0x10ffff)
			refuse(v0);
		print_char(v0, value);
		break;
	default:
		refuse(v0);
	}
}

/* NOLINTEND(misc-no-recursion) */

/* --- the whole name ---------------------------------------------------------------------------- */

int orma_demangle_rust_v0(const char *name, struct orma_buf *buf)
{
	/* Compilers add suffixes for copies of a function, which begin with a dot. */
	size_t size = strcspn(name, "."), before = buf->size;
	struct v0 v0 = {.out = buf, .budget = OUTPUT_MAX};

	/* A number would be the version of another encoding. */
	if (size < 3 || memcmp(name, "_R", 2) != 0 || name[2] < 'A' || name[2] > 'Z')
		return 0;
	v0.text = name + 2;
	v0.size = size - 2;
	print_path(&v0, true);
	/* The crate that a generic function was compiled for may follow. */
	if (v0.at < v0.size) {
		v0.is_silent = true;
		print_path(&v0, false);
	}
	/* An empty text would say less than the name. */
	if (v0.at < v0.size || buf->size == before)
		refuse(&v0);
	if (v0.error)
		buf->size = before;
	return v0.error == -ENOMEM ? -ENOMEM : v0.error == 0;
}
