/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx_type.c - the types and template arguments in names of C++.
 */
#include "symbols/demangle_cxx.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct orma_cxx_type plain(struct orma_cxx_text text)
{
	return (struct orma_cxx_type){.left = text};
}

void orma_cxx_add_substitution(struct orma_cxx *cxx, struct orma_cxx_type type)
{
	if (cxx->substitution_count == ORMA_CXX_SUBSTITUTIONS_MAX)
		orma_cxx_refuse(cxx);
	if (cxx->error == 0)
		cxx->substitutions[cxx->substitution_count++] = type;
}

struct orma_cxx_text orma_cxx_type_text(struct orma_cxx *cxx, struct orma_cxx_type type)
{
	return orma_cxx_join(cxx, type.left, type.right);
}

/* NOLINTBEGIN(misc-no-recursion): types nest. orma_cxx_enter() bounds the depth, and so the stack. */

/* --- substitutions and parameters of templates -------------------------------------------------- */

/* Base 36 with an underscore at its end; "_" alone is 0, "0_" is 1. */
static int64_t read_sequence(struct orma_cxx *cxx)
{
	int64_t value = 0;

	if (orma_cxx_eat(cxx, "_"))
		return 0;
	for (;;) {
		char c = orma_cxx_peek(cxx);

		if (orma_cxx_eat(cxx, "_"))
			return value + 1;
		if ((c < '0' || c > '9') && (c < 'A' || c > 'Z')) {
			orma_cxx_refuse(cxx);
			return 0;
		}
		value = value * 36 + (c <= '9' ? c - '0' : c - 'A' + 10);
		cxx->at++;
		if (value > ORMA_CXX_SUBSTITUTIONS_MAX)
			orma_cxx_refuse(cxx);
	}
}

/* Names of the standard library have short forms. A constructor needs the whole one. */
struct orma_cxx_type orma_cxx_substitution(struct orma_cxx *cxx, bool is_whole)
{
	static const char *const names[][3] = {
		{"St", "std", "std"},
		{"Sa", "std::allocator", "std::allocator"},
		{"Sb", "std::basic_string", "std::basic_string"},
		{"Ss", "std::string",
		 "std::basic_string<char, std::char_traits<char>, std::allocator<char> >"},
		{"Si", "std::istream", "std::basic_istream<char, std::char_traits<char> >"},
		{"So", "std::ostream", "std::basic_ostream<char, std::char_traits<char> >"},
		{"Sd", "std::iostream", "std::basic_iostream<char, std::char_traits<char> >"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!orma_cxx_eat(cxx, names[i][0]))
			continue;
		char next = orma_cxx_peek(cxx);
		bool has_constructor = is_whole && (next == 'C' || next == 'D');
		return plain(orma_cxx_str(cxx, names[i][has_constructor ? 2 : 1]));
	}
	if (!orma_cxx_eat(cxx, "S"))
		orma_cxx_refuse(cxx);
	int64_t number = read_sequence(cxx);
	if (cxx->error || number >= cxx->substitution_count) {
		orma_cxx_refuse(cxx);
		return plain((struct orma_cxx_text){0, 0});
	}
	return cxx->substitutions[number];
}

/* The arguments of a pack, with commas. */
static struct orma_cxx_text pack_text(struct orma_cxx *cxx, const struct orma_cxx_argument *pack)
{
	struct orma_cxx_text text = {0, 0};

	for (uint32_t i = 0; i < pack->count; i++) {
		struct orma_cxx_text one =
			orma_cxx_type_text(cxx, cxx->arguments[pack->first + i].type);
		text = text.size > 0 && one.size > 0 ? orma_cxx_join3(cxx, text, ", ", one)
						     : orma_cxx_join(cxx, text, one);
	}
	return text;
}

struct orma_cxx_type orma_cxx_template_parameter(struct orma_cxx *cxx)
{
	struct orma_cxx_type none = plain((struct orma_cxx_text){0, 0});

	if (!orma_cxx_eat(cxx, "T"))
		orma_cxx_refuse(cxx);
	int64_t number = read_sequence(cxx);
	if (cxx->error)
		return none;
	if (cxx->lambdas > 0) {
		char text[24];
		int size = snprintf(text, sizeof(text), "auto:%lld", (long long)number + 1);
		return plain(orma_cxx_put(cxx, text, (size_t)size));
	}
	if (number >= cxx->template_count) {
		orma_cxx_refuse(cxx);
		return none;
	}
	const struct orma_cxx_argument *argument =
		&cxx->arguments[cxx->template_first + (uint32_t)number];
	if (!argument->is_pack)
		return argument->type;
	cxx->pack_size = (int32_t)argument->count;
	if (cxx->pack_idx < 0)
		return plain(pack_text(cxx, argument));
	if ((uint32_t)cxx->pack_idx < argument->count)
		return cxx->arguments[argument->first + (uint32_t)cxx->pack_idx].type;
	return none;
}

/* --- template arguments ------------------------------------------------------------------------- */

static struct orma_cxx_type read_argument(struct orma_cxx *cxx)
{
	struct orma_cxx_text text;

	if (orma_cxx_eat(cxx, "X")) {
		text = orma_cxx_read_expression(cxx);
		if (!orma_cxx_eat(cxx, "E"))
			orma_cxx_refuse(cxx);
		return plain(text);
	}
	if (orma_cxx_peek(cxx) == 'L')
		return plain(orma_cxx_read_expression(cxx));
	return orma_cxx_read_type(cxx);
}

/* Reads the arguments of a list or of a pack into `list`. Returns how many there are. */
static uint32_t read_arguments(struct orma_cxx *cxx, struct orma_cxx_argument *list, uint32_t max,
			       struct orma_cxx_argument *inner, uint32_t *inner_count)
{
	uint32_t count = 0;

	while (cxx->error == 0 && !orma_cxx_eat(cxx, "E")) {
		if (count == max) {
			orma_cxx_refuse(cxx);
			break;
		}
		struct orma_cxx_argument *argument = &list[count++];
		*argument = (struct orma_cxx_argument){.is_pack = false};
		if (inner && orma_cxx_eat(cxx, "J")) {
			argument->is_pack = true;
			argument->first = *inner_count;
			argument->count =
				read_arguments(cxx, inner + *inner_count,
					       ORMA_CXX_LIST_MAX - *inner_count, NULL, NULL);
			*inner_count += argument->count;
		} else {
			argument->type = read_argument(cxx);
		}
	}
	return count;
}

/* Keeps arguments for T_, behind those from before. */
static void keep_arguments(struct orma_cxx *cxx, const struct orma_cxx_argument *list,
			   uint32_t count, const struct orma_cxx_argument *inner,
			   uint32_t inner_count)
{
	uint32_t first = cxx->argument_count;

	if (first + count + inner_count > ORMA_CXX_ARGUMENTS_MAX)
		orma_cxx_refuse(cxx);
	if (cxx->error)
		return;
	memcpy(cxx->arguments + first, list, count * sizeof(*list));
	memcpy(cxx->arguments + first + count, inner, inner_count * sizeof(*inner));
	for (uint32_t i = 0; i < count; i++)
		cxx->arguments[first + i].first += first + count;
	cxx->argument_count += count + inner_count;
	cxx->template_first = first;
	cxx->template_count = count;
}

struct orma_cxx_text orma_cxx_template_arguments(struct orma_cxx *cxx, bool becomes_current)
{
	struct orma_cxx_argument list[ORMA_CXX_LIST_MAX], inner[ORMA_CXX_LIST_MAX];
	struct orma_cxx_text text = {0, 0};
	uint32_t inner_count = 0;

	if (!orma_cxx_enter(cxx) || !orma_cxx_eat(cxx, "I")) {
		orma_cxx_refuse(cxx);
		cxx->depth--;
		return text;
	}
	uint32_t count = read_arguments(cxx, list, ORMA_CXX_LIST_MAX, inner, &inner_count);
	for (uint32_t i = 0; i < count && cxx->error == 0; i++) {
		struct orma_cxx_text one = orma_cxx_type_text(cxx, list[i].type);

		for (uint32_t k = 0; list[i].is_pack && k < list[i].count; k++) {
			struct orma_cxx_text part =
				orma_cxx_type_text(cxx, inner[list[i].first + k].type);
			one = one.size > 0 ? orma_cxx_join3(cxx, one, ", ", part) : part;
		}
		text = text.size > 0 && one.size > 0 ? orma_cxx_join3(cxx, text, ", ", one)
						     : orma_cxx_join(cxx, text, one);
	}
	if (becomes_current)
		keep_arguments(cxx, list, count, inner, inner_count);
	text = orma_cxx_join(cxx, orma_cxx_str(cxx, "<"), text);
	cxx->depth--;
	return orma_cxx_join(cxx, text,
			     orma_cxx_str(cxx, orma_cxx_last(cxx, text) == '>' ? " >" : ">"));
}

/* --- types -------------------------------------------------------------------------------------- */

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
	/* References to references are one. */
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
	return plain(text);
}

/* Types that begin with D. 1 and the type, or 0: it is not a builtin one, and becomes a substitution. */
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
			*ret = plain(orma_cxx_str(cxx, names[i][1]));
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
		*ret = plain(orma_cxx_join(cxx, of, orma_cxx_str(cxx, ")")));
	} else if (orma_cxx_eat(cxx, "Dt") || orma_cxx_eat(cxx, "DT")) {
		struct orma_cxx_text of = orma_cxx_join3(cxx, orma_cxx_str(cxx, "decltype ("), "",
							 orma_cxx_read_expression(cxx));
		if (!orma_cxx_eat(cxx, "E"))
			orma_cxx_refuse(cxx);
		*ret = plain(orma_cxx_join(cxx, of, orma_cxx_str(cxx, ")")));
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

/* A class, or the template parameter, perhaps with arguments. */
static struct orma_cxx_type read_named_type(struct orma_cxx *cxx, bool *ret_is_known)
{
	char c = orma_cxx_peek(cxx), next = orma_cxx_second(cxx);
	struct orma_cxx_type type;

	*ret_is_known = false;
	if (c == 'T' && (next == 's' || next == 'u' || next == 'e')) {
		cxx->at += 2;
		return plain(orma_cxx_read_name(cxx, true).text);
	}
	if (c == 'T') {
		type = orma_cxx_template_parameter(cxx);
	} else if (c == 'S' && next != 't') {
		type = orma_cxx_substitution(cxx, false);
		*ret_is_known = true;
	} else {
		return plain(orma_cxx_read_name(cxx, true).text);
	}
	if (orma_cxx_peek(cxx) == 'I') {
		if (!*ret_is_known)
			orma_cxx_add_substitution(cxx, type);
		type = plain(
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
		if (cxx->end - cxx->at > 1 && (cxx->at[1] == 'l' || cxx->at[1] == 't'))
			return read_named_type(cxx, ret_is_known);
		cxx->at++;
		struct orma_cxx_text name = orma_cxx_source_name(cxx);
		struct orma_cxx_type type = orma_cxx_read_type(cxx);
		type.left = orma_cxx_join3(cxx, type.left, " ", name);
		return type;
	}
	case 'u':
		cxx->at++;
		return plain(orma_cxx_source_name(cxx));
	default:
		return read_named_type(cxx, ret_is_known);
	}
}

struct orma_cxx_type orma_cxx_read_type(struct orma_cxx *cxx)
{
	struct orma_cxx_type type = plain((struct orma_cxx_text){0, 0});
	char c = orma_cxx_peek(cxx);
	const char *name = builtin(c);
	bool is_known = false;

	if (name && c != 'r') {
		cxx->at++;
		return plain(orma_cxx_str(cxx, name));
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
	return cxx->error ? plain((struct orma_cxx_text){0, 0}) : type;
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
		/* A qualifier of a member function stands at the end. */
		if ((orma_cxx_peek(cxx) == 'R' || orma_cxx_peek(cxx) == 'O') &&
		    cxx->end - cxx->at > 1 && cxx->at[1] == 'E')
			break;
		struct orma_cxx_text one = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
		text = text.size > 0 && one.size > 0 ? orma_cxx_join3(cxx, text, ", ", one)
						     : orma_cxx_join(cxx, text, one);
	}
	return text;
}

/* NOLINTEND(misc-no-recursion) */
