/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx_template.c - what names of C++ refer back to: substitutions (S_) and template parameters (T_).
 *
 * Owns the two tables in struct orma_cxx. `substitutions` has every part of the name that was read so far and may be referred to.
 * `arguments` has the template arguments of all lists that were read, and T_ means those of the last list that belongs to a name:
 * `template_count` of them, from `template_first` on. The arguments in a pack stand behind those of its list, so that a pack is a
 * range of the same array. Invariant: `first` and `count` of a pack lie within the array.
 */
#include "symbols/demangle_cxx.h"

#include <stdio.h>
#include <string.h>

void orma_cxx_add_substitution(struct orma_cxx *cxx, struct orma_cxx_type type)
{
	if (cxx->substitution_count == ORMA_CXX_SUBSTITUTIONS_MAX)
		orma_cxx_refuse(cxx);
	if (cxx->error == 0)
		cxx->substitutions[cxx->substitution_count++] = type;
}

/* NOLINTBEGIN(misc-no-recursion): arguments nest. orma_cxx_enter() bounds the depth, and so the stack. */

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

/* S_, or the short form of a name of the standard library. Constructors and destructors are named after the long form. */
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
		return orma_cxx_plain(orma_cxx_str(cxx, names[i][has_constructor ? 2 : 1]));
	}
	if (!orma_cxx_eat(cxx, "S"))
		orma_cxx_refuse(cxx);
	int64_t number = read_sequence(cxx);
	if (cxx->error || number >= cxx->substitution_count) {
		orma_cxx_refuse(cxx);
		return orma_cxx_plain((struct orma_cxx_text){0, 0});
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
		text = orma_cxx_append_item(cxx, text, one);
	}
	return text;
}

struct orma_cxx_type orma_cxx_template_parameter(struct orma_cxx *cxx)
{
	struct orma_cxx_type none = orma_cxx_plain((struct orma_cxx_text){0, 0});

	if (!orma_cxx_eat(cxx, "T"))
		orma_cxx_refuse(cxx);
	int64_t number = read_sequence(cxx);
	if (cxx->error)
		return none;
	if (cxx->lambdas > 0) {
		char text[24];
		int size = snprintf(text, sizeof(text), "auto:%lld", (long long)number + 1);
		return orma_cxx_plain(orma_cxx_put(cxx, text, (size_t)size));
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
		return orma_cxx_plain(pack_text(cxx, argument));
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
		return orma_cxx_plain(text);
	}
	if (orma_cxx_peek(cxx) == 'L')
		return orma_cxx_plain(orma_cxx_read_expression(cxx));
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

/* Makes the list the one that T_ means, and keeps it behind the earlier lists. */
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
		text = orma_cxx_append_item(cxx, text, one);
	}
	if (becomes_current)
		keep_arguments(cxx, list, count, inner, inner_count);
	text = orma_cxx_join(cxx, orma_cxx_str(cxx, "<"), text);
	cxx->depth--;
	return orma_cxx_join(cxx, text,
			     orma_cxx_str(cxx, orma_cxx_last(cxx, text) == '>' ? " >" : ">"));
}

/* NOLINTEND(misc-no-recursion) */
