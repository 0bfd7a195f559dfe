/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx_expression.c - the expressions in C++ names. They stand for template arguments that are values, for the sizes of
 * arrays, and for values that a template computes from its parameters.
 */
#include "symbols/demangle_cxx.h"

/* NOLINTBEGIN(misc-no-recursion): expressions nest. orma_cxx_enter() bounds the depth, and so the stack. */

/* L type value E, or L name E */
static struct orma_cxx_text read_literal(struct orma_cxx *cxx)
{
	static const char *const suffixes[][2] = {{"i", ""},   {"j", "u"},  {"l", "l"},
						  {"m", "ul"}, {"x", "ll"}, {"y", "ull"}};
	struct orma_cxx_text text = {0, 0};
	const char *suffix = NULL;

	if (orma_cxx_eat(cxx, "_Z")) {
		text = orma_cxx_encoding(cxx);
		if (!orma_cxx_eat(cxx, "E"))
			orma_cxx_refuse(cxx);
		return text;
	}
	if (orma_cxx_eat(cxx, "b0E"))
		return orma_cxx_str(cxx, "false");
	if (orma_cxx_eat(cxx, "b1E"))
		return orma_cxx_str(cxx, "true");
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && !suffix; i++)
		if (orma_cxx_eat(cxx, suffixes[i][0]))
			suffix = suffixes[i][1];
	if (!suffix) {
		struct orma_cxx_text type = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
		text = orma_cxx_join3(cxx, orma_cxx_str(cxx, "("), "", type);
		text = orma_cxx_join(cxx, text, orma_cxx_str(cxx, ")"));
	}
	if (orma_cxx_eat(cxx, "n"))
		text = orma_cxx_join(cxx, text, orma_cxx_str(cxx, "-"));
	const char *begin = cxx->at;
	while (orma_cxx_peek(cxx) && orma_cxx_peek(cxx) != 'E')
		cxx->at++;
	text = orma_cxx_join(cxx, text, orma_cxx_put(cxx, begin, (size_t)(cxx->at - begin)));
	if (!orma_cxx_eat(cxx, "E"))
		orma_cxx_refuse(cxx);
	return orma_cxx_join(cxx, text, orma_cxx_str(cxx, suffix ? suffix : ""));
}

static struct orma_cxx_text in_parentheses(struct orma_cxx *cxx, const char *before,
					   struct orma_cxx_text text)
{
	text = orma_cxx_join3(cxx, orma_cxx_str(cxx, before), "(", text);
	return orma_cxx_join(cxx, text, orma_cxx_str(cxx, ")"));
}

static struct orma_cxx_text read_operation(struct orma_cxx *cxx)
{
	unsigned operands = 0;
	const char *name = orma_cxx_operator(cxx, &operands);

	if (!name || operands == 0 || operands > 2) {
		orma_cxx_refuse(cxx);
		return (struct orma_cxx_text){0, 0};
	}
	struct orma_cxx_text left = orma_cxx_read_expression(cxx);
	if (operands == 1)
		return in_parentheses(cxx, name, left);
	struct orma_cxx_text right = in_parentheses(cxx, "", orma_cxx_read_expression(cxx));
	return orma_cxx_join3(cxx, in_parentheses(cxx, "", left), name, right);
}

/* A name with arguments, perhaps. */
static struct orma_cxx_text read_simple(struct orma_cxx *cxx)
{
	struct orma_cxx_name name = {.has_arguments = false};
	struct orma_cxx_text text = orma_cxx_unqualified(cxx, &name);

	return orma_cxx_peek(cxx) == 'I'
		       ? orma_cxx_join(cxx, text, orma_cxx_template_arguments(cxx, false))
		       : text;
}

/* sr type name, or sr names E name: a name in something that depends on arguments */
static struct orma_cxx_text read_unresolved(struct orma_cxx *cxx)
{
	struct orma_cxx_text text = {0, 0};

	if (orma_cxx_peek(cxx) < '0' || orma_cxx_peek(cxx) > '9') {
		text = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
		return orma_cxx_join3(cxx, text, "::", read_simple(cxx));
	}
	while (cxx->error == 0 && !orma_cxx_eat(cxx, "E")) {
		struct orma_cxx_text part = read_simple(cxx);
		text = text.size > 0 ? orma_cxx_join3(cxx, text, "::", part) : part;
	}
	return orma_cxx_join3(cxx, text, "::", read_simple(cxx));
}

struct orma_cxx_text orma_cxx_read_expression(struct orma_cxx *cxx)
{
	struct orma_cxx_text text = {0, 0};

	if (orma_cxx_enter(cxx)) {
		if (orma_cxx_eat(cxx, "L"))
			text = read_literal(cxx);
		else if (orma_cxx_peek(cxx) == 'T')
			text = orma_cxx_type_text(cxx, orma_cxx_template_parameter(cxx));
		else if (orma_cxx_eat(cxx, "st"))
			text = in_parentheses(cxx, "sizeof ",
					      orma_cxx_type_text(cxx, orma_cxx_read_type(cxx)));
		else if (orma_cxx_eat(cxx, "sr")) {
			text = read_unresolved(cxx);
		} else {
			text = read_operation(cxx);
		}
	}
	cxx->depth--;
	return text;
}

/* NOLINTEND(misc-no-recursion) */
