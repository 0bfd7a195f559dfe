/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx_type.c - the types in names of C++.
 *
 * A declarator of C++ stands inside of its type, as in "void (*)(int)", so a type is two texts: `left` and `right` of it. Each type
 * that is not a builtin one becomes a substitution (demangle_cxx_template.c) as soon as it was read, parts before the whole.
 */
#include "symbols/demangle_cxx.h"

#include <string.h>

struct orma_cxx_text orma_cxx_type_text(struct orma_cxx *cxx, struct orma_cxx_type type)
{
	return orma_cxx_join(cxx, type.left, type.right);
}

/* NOLINTBEGIN(misc-no-recursion): types nest. orma_cxx_enter() bounds the depth, and so the stack. */

static const char *builtin(char c)
{
	static const char *const names['z' - 'a' + 1] = {"signed char",
							 "bool",
							 "char",
							 "double",
							 "long double",
							 "float",
							 "__float128",
							 "unsigned char",
							 "int",
							 "unsigned int",
							 NULL,
							 "long",
							 "unsigned long",
							 "__int128",
							 "unsigned __int128",
							 NULL,
							 NULL,
							 NULL,
							 "short",
							 "unsigned short",
							 NULL,
							 "void",
							 "wchar_t",
							 "long long",
							 "unsigned long long",
							 "..."};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static struct orma_cxx_type pointer_to(struct orma_cxx *cxx, struct orma_cxx_type type,
				       const char *mark)
{
	if (type.kind == ORMA_CXX_FUNCTION || type.kind == ORMA_CXX_ARRAY) {
		struct orma_cxx_text open = orma_cxx_join(cxx, type.left, orma_cxx_str(cxx, "("));
		bool is_array = type.kind == ORMA_CXX_ARRAY;

		type.left = orma_cxx_join(cxx, open, orma_cxx_str(cxx, mark));
		type.right =
			orma_cxx_join(cxx, orma_cxx_str(cxx, is_array ? ") " : ")"), type.right);
	} else {
		type.left = orma_cxx_join(cxx, type.left, orma_cxx_str(cxx, mark));
	}
	type.kind = ORMA_CXX_PLAIN;
	return type;
}

static struct orma_cxx_type reference_to(struct orma_cxx *cxx, struct orma_cxx_type type,
					 bool is_rvalue)
{
	/* A reference to a reference collapses, as in C++: & wins over &&. */
	if (type.kind == ORMA_CXX_LVALUE || (type.kind == ORMA_CXX_RVALUE && is_rvalue))
		return type;
	if (type.kind == ORMA_CXX_RVALUE) {
		type.left.size -= 1;
		type.kind = ORMA_CXX_LVALUE;
		return type;
	}
	type = pointer_to(cxx, type, is_rvalue ? "&&" : "&");
	type.kind = is_rvalue ? ORMA_CXX_RVALUE : ORMA_CXX_LVALUE;
	return type;
}

/* F [Y] result parameters [R or O] E */
static struct orma_cxx_type read_function_type(struct orma_cxx *cxx)
{
	struct orma_cxx_type type;

	(void)orma_cxx_eat(cxx, "Y");
	struct orma_cxx_type result = orma_cxx_read_type(cxx);
	bool needs_space = result.right.size == 0;
	type.left = orma_cxx_join(cxx, result.left, orma_cxx_str(cxx, needs_space ? " " : ""));
	struct orma_cxx_text parameters = orma_cxx_parameters(cxx);
	type.right = orma_cxx_join3(cxx, orma_cxx_str(cxx, "("), "", parameters);
	type.right = orma_cxx_join(cxx, type.right, orma_cxx_str(cxx, ")"));
	if (orma_cxx_eat(cxx, "R"))
		type.right = orma_cxx_join(cxx, type.right, orma_cxx_str(cxx, " &"));
	else if (orma_cxx_eat(cxx, "O"))
		type.right = orma_cxx_join(cxx, type.right, orma_cxx_str(cxx, " &&"));
	if (!orma_cxx_eat(cxx, "E"))
		orma_cxx_refuse(cxx);
	type.right = orma_cxx_join(cxx, type.right, result.right);
	type.kind = ORMA_CXX_FUNCTION;
	return type;
}

static struct orma_cxx_type read_array_type(struct orma_cxx *cxx)
{
	struct orma_cxx_text size = {0, 0};
	const char *begin = cxx->at;

	if (orma_cxx_number(cxx) >= 0)
		size = orma_cxx_put(cxx, begin, (size_t)(cxx->at - begin));
	else if (orma_cxx_peek(cxx) != '_')
		size = orma_cxx_read_expression(cxx);
	if (!orma_cxx_eat(cxx, "_"))
		orma_cxx_refuse(cxx);
	struct orma_cxx_type type = orma_cxx_read_type(cxx);
	struct orma_cxx_text mine = orma_cxx_join3(cxx, orma_cxx_str(cxx, "["), "", size);
	mine = orma_cxx_join(cxx, mine, orma_cxx_str(cxx, "]"));
	if (type.kind != ORMA_CXX_ARRAY)
		type.left = orma_cxx_join(cxx, type.left, orma_cxx_str(cxx, " "));
	type.right = orma_cxx_join(cxx, mine, type.right);
	type.kind = ORMA_CXX_ARRAY;
	return type;
}

static struct orma_cxx_type read_member_pointer(struct orma_cxx *cxx)
{
	struct orma_cxx_text of = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
	struct orma_cxx_type type = orma_cxx_read_type(cxx);
	bool is_function = type.kind == ORMA_CXX_FUNCTION;
	struct orma_cxx_text mark = orma_cxx_join(cxx, of, orma_cxx_str(cxx, "::*"));

	type.left = orma_cxx_join3(cxx, type.left, is_function ? "(" : " ", mark);
	if (is_function)
		type.right = orma_cxx_join(cxx, orma_cxx_str(cxx, ")"), type.right);
	type.kind = ORMA_CXX_PLAIN;
	return type;
}

/* Dp: reads the pattern once for each argument of the pack in it. */
static struct orma_cxx_type read_expansion(struct orma_cxx *cxx)
{
	int32_t idx = cxx->pack_idx, size = cxx->pack_size;
	const char *begin = cxx->at;
	struct orma_cxx_text text = {0, 0};

	cxx->pack_idx = 0;
	cxx->pack_size = -1;
	struct orma_cxx_type type = orma_cxx_read_type(cxx);
	int32_t count = cxx->pack_size;
	uint32_t substitutions = cxx->substitution_count;
	if (count < 0)
		text = orma_cxx_join(cxx, orma_cxx_type_text(cxx, type), orma_cxx_str(cxx, "..."));
	for (int32_t i = 0; i < count && cxx->error == 0; i++) {
		cxx->at = begin;
		cxx->pack_idx = i;
		struct orma_cxx_text one = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
		cxx->substitution_count = substitutions;
		text = text.size > 0 ? orma_cxx_join3(cxx, text, ", ", one) : one;
	}
	cxx->pack_idx = idx;
	cxx->pack_size = size;
	return orma_cxx_plain(text);
}

/* Reads a type that begins with D. True for a builtin type, which does not become a substitution. */
static bool read_d_type(struct orma_cxx *cxx, struct orma_cxx_type *ret)
{
	static const char *const names[][2] = {
		{"Da", "auto"},      {"Dc", "decltype(auto)"}, {"Dn", "decltype(nullptr)"},
		{"Di", "char32_t"},  {"Ds", "char16_t"},       {"Du", "char8_t"},
		{"Dd", "decimal64"}, {"De", "decimal128"},     {"Df", "decimal32"},
		{"Dh", "_Float16"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (orma_cxx_eat(cxx, names[i][0])) {
			*ret = orma_cxx_plain(orma_cxx_str(cxx, names[i][1]));
			return true;
		}
	if (orma_cxx_eat(cxx, "Dp")) {
		*ret = read_expansion(cxx);
	} else if (orma_cxx_eat(cxx, "Dv")) {
		const char *begin = cxx->at;
		if (orma_cxx_number(cxx) < 0)
			orma_cxx_refuse(cxx);
		struct orma_cxx_text size = orma_cxx_put(cxx, begin, (size_t)(cxx->at - begin));
		if (!orma_cxx_eat(cxx, "_"))
			orma_cxx_refuse(cxx);
		struct orma_cxx_text of = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
		of = orma_cxx_join3(cxx, of, " __vector(", size);
		*ret = orma_cxx_plain(orma_cxx_join(cxx, of, orma_cxx_str(cxx, ")")));
	} else if (orma_cxx_eat(cxx, "Dt") || orma_cxx_eat(cxx, "DT")) {
		struct orma_cxx_text of = orma_cxx_join3(cxx, orma_cxx_str(cxx, "decltype ("), "",
							 orma_cxx_read_expression(cxx));
		if (!orma_cxx_eat(cxx, "E"))
			orma_cxx_refuse(cxx);
		*ret = orma_cxx_plain(orma_cxx_join(cxx, of, orma_cxx_str(cxx, ")")));
	} else if (orma_cxx_eat(cxx, "DoF")) {
		*ret = read_function_type(cxx);
		ret->right = orma_cxx_join(cxx, ret->right, orma_cxx_str(cxx, " noexcept"));
	} else {
		orma_cxx_refuse(cxx);
	}
	return false;
}

static struct orma_cxx_type read_qualified(struct orma_cxx *cxx)
{
	struct orma_cxx_text qualifiers = orma_cxx_qualifiers(cxx);
	struct orma_cxx_type type = orma_cxx_read_type(cxx);

	if (type.kind == ORMA_CXX_FUNCTION) {
		type.right = orma_cxx_join(cxx, type.right, qualifiers);
	} else if (type.kind == ORMA_CXX_ARRAY) {
		/* "int const [2]" */
		type.left.size -= 1;
		type.left = orma_cxx_join3(cxx, type.left, "", qualifiers);
		type.left = orma_cxx_join(cxx, type.left, orma_cxx_str(cxx, " "));
	} else if (type.right.size > 0) {
		type.left = orma_cxx_join(cxx, type.left, qualifiers);
	} else {
		/* A substitution may have the qualifier already. */
		const char *bytes = (const char *)cxx->scratch->data;
		bool has_it = cxx->error == 0 && type.left.size > qualifiers.size &&
			      memcmp(bytes + type.left.at + type.left.size - qualifiers.size,
				     bytes + qualifiers.at, qualifiers.size) == 0;
		if (!has_it)
			type.left = orma_cxx_join(cxx, type.left, qualifiers);
	}
	return type;
}

/* A class or a template parameter, with or without arguments. */
static struct orma_cxx_type read_named_type(struct orma_cxx *cxx, bool *ret_is_known)
{
	char c = orma_cxx_peek(cxx), next = orma_cxx_second(cxx);
	struct orma_cxx_type type;

	*ret_is_known = false;
	if (c == 'T' && (next == 's' || next == 'u' || next == 'e')) {
		cxx->at += 2;
		return orma_cxx_plain(orma_cxx_read_name(cxx, true).text);
	}
	if (c == 'T') {
		type = orma_cxx_template_parameter(cxx);
	} else if (c == 'S' && next != 't') {
		type = orma_cxx_substitution(cxx, false);
		*ret_is_known = true;
	} else {
		return orma_cxx_plain(orma_cxx_read_name(cxx, true).text);
	}
	if (orma_cxx_peek(cxx) == 'I') {
		if (!*ret_is_known)
			orma_cxx_add_substitution(cxx, type);
		type = orma_cxx_plain(
			orma_cxx_join(cxx, type.left, orma_cxx_template_arguments(cxx, false)));
		*ret_is_known = false;
	}
	return type;
}

static struct orma_cxx_type read_compound(struct orma_cxx *cxx, char c, bool *ret_is_known)
{
	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return read_qualified(cxx);
	case 'P':
		cxx->at++;
		return pointer_to(cxx, orma_cxx_read_type(cxx), "*");
	case 'R':
	case 'O':
		cxx->at++;
		return reference_to(cxx, orma_cxx_read_type(cxx), c == 'O');
	case 'F':
		cxx->at++;
		return read_function_type(cxx);
	case 'A':
		cxx->at++;
		return read_array_type(cxx);
	case 'M':
		cxx->at++;
		return read_member_pointer(cxx);
	case 'C':
	case 'G': {
		cxx->at++;
		struct orma_cxx_type type = orma_cxx_read_type(cxx);
		type.left = orma_cxx_join(
			cxx, type.left, orma_cxx_str(cxx, c == 'C' ? " _Complex" : " _Imaginary"));
		return type;
	}
	case 'U': {
		if (orma_cxx_second(cxx) == 'l' || orma_cxx_second(cxx) == 't')
			return read_named_type(cxx, ret_is_known);
		cxx->at++;
		struct orma_cxx_text name = orma_cxx_source_name(cxx);
		struct orma_cxx_type type = orma_cxx_read_type(cxx);
		type.left = orma_cxx_join3(cxx, type.left, " ", name);
		return type;
	}
	case 'u':
		cxx->at++;
		return orma_cxx_plain(orma_cxx_source_name(cxx));
	default:
		return read_named_type(cxx, ret_is_known);
	}
}

struct orma_cxx_type orma_cxx_read_type(struct orma_cxx *cxx)
{
	struct orma_cxx_type type = orma_cxx_plain((struct orma_cxx_text){0, 0});
	char c = orma_cxx_peek(cxx);
	const char *name = builtin(c);
	bool is_known = false;

	if (name && c != 'r') {
		cxx->at++;
		return orma_cxx_plain(orma_cxx_str(cxx, name));
	}
	if (!orma_cxx_enter(cxx)) {
		cxx->depth--;
		return type;
	}
	if (c == 'D')
		is_known = read_d_type(cxx, &type);
	else
		type = read_compound(cxx, c, &is_known);
	if (!is_known)
		orma_cxx_add_substitution(cxx, type);
	cxx->depth--;
	return cxx->error ? orma_cxx_plain((struct orma_cxx_text){0, 0}) : type;
}

struct orma_cxx_text orma_cxx_parameters(struct orma_cxx *cxx)
{
	struct orma_cxx_text text = {0, 0};
	char next = orma_cxx_second(cxx);

	if (orma_cxx_peek(cxx) == 'v' &&
	    (next == '\0' || next == 'E' || next == '.' || next == 'R' || next == 'O')) {
		cxx->at++;
		return text;
	}
	while (orma_cxx_peek(cxx) && orma_cxx_peek(cxx) != 'E' && orma_cxx_peek(cxx) != '.') {
		/* "RE" or "OE" is the reference qualifier of a member function, not a parameter. */
		if ((orma_cxx_peek(cxx) == 'R' || orma_cxx_peek(cxx) == 'O') &&
		    orma_cxx_second(cxx) == 'E')
			break;
		struct orma_cxx_text one = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
		text = orma_cxx_append_item(cxx, text, one);
	}
	return text;
}

/* NOLINTEND(misc-no-recursion) */
