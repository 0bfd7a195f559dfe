/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx.c - the names of C++ in the Itanium ABI, as g++ and clang++ write them: names of functions and data.
 *
 * The name is read once, and its texts are put together from the inside out. A substitution is a text that was read earlier. A
 * hostile name can double its text with each substitution: with one of 280 bytes, c++filt takes a minute and 4 GB. Therefore
 * demangle_cxx_text.c limits the sum of all texts of a name.
 *
 * A name that is not understood is shown as it is in the file. Some names with rare forms of expressions are not understood.
 *
 * Rejected: __cxa_demangle() of libstdc++, because it has no limit; libiberty, for the same reason and for its licences.
 */
#include "symbols/demangle_cxx.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "symbols/demangle.h"

/* --- parts of names --------------------------------------------------------------------------- */

/* NOLINTBEGIN(misc-no-recursion): names nest. orma_cxx_enter() bounds the depth, and so the stack. */

struct orma_cxx_text orma_cxx_source_name(struct orma_cxx *cxx)
{
	int64_t size = orma_cxx_number(cxx);

	if (size <= 0 || size > cxx->end - cxx->at) {
		orma_cxx_refuse(cxx);
		return (struct orma_cxx_text){0, 0};
	}
	cxx->at += size;
	if (size >= 10 && memcmp(cxx->at - size, "_GLOBAL__N", 10) == 0)
		return orma_cxx_str(cxx, "(anonymous namespace)");
	return orma_cxx_put(cxx, cxx->at - size, (size_t)size);
}

const char *orma_cxx_operator(struct orma_cxx *cxx, unsigned *ret_operands)
{
	static const struct {
		char letters[3];
		uint8_t operands;
		const char *name;
	} operators[] = {
		{"aN", 2, "&="},     {"aS", 2, "="},        {"aa", 2, "&&"},
		{"ad", 1, "&"},      {"an", 2, "&"},        {"aw", 1, "co_await "},
		{"cl", 0, "()"},     {"cm", 2, ","},        {"co", 1, "~"},
		{"dV", 2, "/="},     {"da", 1, "delete[]"}, {"de", 1, "*"},
		{"dl", 1, "delete"}, {"dv", 2, "/"},        {"eO", 2, "^="},
		{"eo", 2, "^"},      {"eq", 2, "=="},       {"ge", 2, ">="},
		{"gt", 2, ">"},      {"ix", 0, "[]"},       {"lS", 2, "<<="},
		{"le", 2, "<="},     {"ls", 2, "<<"},       {"lt", 2, "<"},
		{"mI", 2, "-="},     {"mL", 2, "*="},       {"mi", 2, "-"},
		{"ml", 2, "*"},      {"mm", 1, "--"},       {"na", 0, "new[]"},
		{"ne", 2, "!="},     {"ng", 1, "-"},        {"nt", 1, "!"},
		{"nw", 0, "new"},    {"oR", 2, "|="},       {"oo", 2, "||"},
		{"or", 2, "|"},      {"pL", 2, "+="},       {"pl", 2, "+"},
		{"pm", 2, "->*"},    {"pp", 1, "++"},       {"ps", 1, "+"},
		{"pt", 2, "->"},     {"qu", 3, "?"},        {"rM", 2, "%="},
		{"rS", 2, ">>="},    {"rm", 2, "%"},        {"rs", 2, ">>"},
		{"ss", 2, "<=>"},
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (orma_cxx_eat(cxx, operators[i].letters)) {
			*ret_operands = operators[i].operands;
			return operators[i].name;
		}
	return NULL;
}

static struct orma_cxx_text read_operator(struct orma_cxx *cxx, struct orma_cxx_name *name)
{
	struct orma_cxx_text none = {0, 0};
	unsigned operands;

	if (orma_cxx_eat(cxx, "cv")) {
		name->has_no_result = true;
		return orma_cxx_join(cxx, orma_cxx_str(cxx, "operator "),
				     orma_cxx_type_text(cxx, orma_cxx_read_type(cxx)));
	}
	if (orma_cxx_eat(cxx, "li"))
		return orma_cxx_join(cxx, orma_cxx_str(cxx, "operator\"\" "),
				     orma_cxx_source_name(cxx));
	const char *text = orma_cxx_operator(cxx, &operands);
	if (!text) {
		orma_cxx_refuse(cxx);
		return none;
	}
	bool is_word = text[0] >= 'a' && text[0] <= 'z';
	struct orma_cxx_text full =
		orma_cxx_join(cxx, orma_cxx_str(cxx, is_word ? "operator " : "operator"),
			      orma_cxx_str(cxx, text));
	/* Its arguments would look like a part of it. */
	bool needs_space = orma_cxx_peek(cxx) == 'I' && orma_cxx_last(cxx, full) == '<';
	return needs_space ? orma_cxx_join(cxx, full, orma_cxx_str(cxx, " ")) : full;
}

/* The number of a lambda or a type without a name: "_" is the first one. */
static struct orma_cxx_text read_ordinal(struct orma_cxx *cxx, struct orma_cxx_text before)
{
	char digits[24];
	int64_t number = orma_cxx_number(cxx) + 2;
	size_t at = sizeof(digits);

	if (!orma_cxx_eat(cxx, "_"))
		orma_cxx_refuse(cxx);
	digits[--at] = '}';
	for (; number > 0; number /= 10)
		digits[--at] = "0123456789"[number % 10];
	digits[--at] = '#';
	return orma_cxx_join(cxx, before, orma_cxx_put(cxx, digits + at, sizeof(digits) - at));
}

static struct orma_cxx_text read_unnamed(struct orma_cxx *cxx)
{
	if (orma_cxx_eat(cxx, "Ut"))
		return read_ordinal(cxx, orma_cxx_str(cxx, "{unnamed type"));
	if (!orma_cxx_eat(cxx, "Ul")) {
		orma_cxx_refuse(cxx);
		return (struct orma_cxx_text){0, 0};
	}
	cxx->lambdas++;
	struct orma_cxx_text parameters = orma_cxx_parameters(cxx);
	cxx->lambdas--;
	if (!orma_cxx_eat(cxx, "E"))
		orma_cxx_refuse(cxx);
	struct orma_cxx_text text =
		orma_cxx_join3(cxx, orma_cxx_str(cxx, "{lambda("), "", parameters);
	return read_ordinal(cxx, orma_cxx_join(cxx, text, orma_cxx_str(cxx, ")")));
}

static struct orma_cxx_text read_constructor(struct orma_cxx *cxx, struct orma_cxx_name *name)
{
	bool is_destructor = *cxx->at == 'D';

	cxx->at++;
	if (!is_destructor && orma_cxx_eat(cxx, "I")) {
		cxx->at += cxx->at < cxx->end;
		(void)orma_cxx_read_type(cxx);
	} else {
		cxx->at += cxx->at < cxx->end;
	}
	if (name->last.size == 0)
		orma_cxx_refuse(cxx);
	name->has_no_result = true;
	return is_destructor ? orma_cxx_join(cxx, orma_cxx_str(cxx, "~"), name->last) : name->last;
}

struct orma_cxx_text orma_cxx_unqualified(struct orma_cxx *cxx, struct orma_cxx_name *name)
{
	struct orma_cxx_text text;

	(void)orma_cxx_eat(cxx, "L"); /* a function that is local to its file */
	char c = orma_cxx_peek(cxx);
	bool is_constructor = (c == 'C' || c == 'D') && cxx->end - cxx->at > 1 &&
			      ((cxx->at[1] >= '0' && cxx->at[1] <= '9') || cxx->at[1] == 'I');
	if (is_constructor) {
		text = read_constructor(cxx, name);
	} else {
		name->has_no_result = false;
		text = c >= '0' && c <= '9' ? orma_cxx_source_name(cxx)
		       : c == 'U'           ? read_unnamed(cxx)
		       : c >= 'a' && c <= 'z'
			       ? read_operator(cxx, name)
			       : (orma_cxx_refuse(cxx), (struct orma_cxx_text){0, 0});
		name->last = text;
	}
	while (orma_cxx_eat(cxx, "B")) {
		text = orma_cxx_join3(cxx, text, "[abi:", orma_cxx_source_name(cxx));
		text = orma_cxx_join(cxx, text, orma_cxx_str(cxx, "]"));
	}
	name->has_arguments = false;
	return text;
}

struct orma_cxx_text orma_cxx_qualifiers(struct orma_cxx *cxx)
{
	struct orma_cxx_text text = {0, 0};
	bool is_restrict = orma_cxx_eat(cxx, "r");
	bool is_volatile = orma_cxx_eat(cxx, "V");
	bool is_const = orma_cxx_eat(cxx, "K");

	if (is_const)
		text = orma_cxx_str(cxx, " const");
	if (is_volatile)
		text = orma_cxx_join(cxx, text, orma_cxx_str(cxx, " volatile"));
	if (is_restrict)
		text = orma_cxx_join(cxx, text, orma_cxx_str(cxx, " __restrict"));
	return text;
}

static struct orma_cxx_text last_part(struct orma_cxx *cxx, struct orma_cxx_text text)
{
	/* The last part of "std::allocator" is "allocator". */
	if (text.size == 0)
		return text;
	const char *bytes = (const char *)cxx->scratch->data + text.at;
	uint32_t begin = 0, depth = 0, end = text.size;

	for (uint32_t i = 0; cxx->error == 0 && i < text.size; i++) {
		depth += bytes[i] == '<';
		depth -= bytes[i] == '>' && depth > 0;
		if (depth == 0 && bytes[i] == ':')
			begin = i + 1;
		if (depth == 1 && bytes[i] == '<')
			end = i > begin ? i : text.size;
	}
	if (end < begin)
		end = text.size;
	return (struct orma_cxx_text){text.at + begin, end - begin};
}

/* N [qualifiers] parts E */
static struct orma_cxx_name read_nested(struct orma_cxx *cxx, bool is_type)
{
	struct orma_cxx_name name = {.qualifiers = orma_cxx_qualifiers(cxx)};
	struct orma_cxx_text none = {0, 0};

	if (orma_cxx_eat(cxx, "R"))
		name.qualifiers = orma_cxx_join(cxx, name.qualifiers, orma_cxx_str(cxx, " &"));
	else if (orma_cxx_eat(cxx, "O"))
		name.qualifiers = orma_cxx_join(cxx, name.qualifiers, orma_cxx_str(cxx, " &&"));
	while (cxx->error == 0 && !orma_cxx_eat(cxx, "E")) {
		char c = orma_cxx_peek(cxx);
		bool was_known = false;

		if (c == 'I' && name.text.size > 0) {
			name.text = orma_cxx_join(cxx, name.text,
						  orma_cxx_template_arguments(cxx, !is_type));
			name.has_arguments = true;
		} else if (c == 'S') {
			bool is_std = orma_cxx_second(cxx) == 't';
			struct orma_cxx_type type = orma_cxx_substitution(cxx, true);
			name.text = orma_cxx_type_text(cxx, type);
			name.last = is_std ? none : last_part(cxx, name.text);
			was_known = true;
		} else if (c == 'T') {
			name.text = orma_cxx_type_text(cxx, orma_cxx_template_parameter(cxx));
			name.last = name.text;
		} else if (c == 'D' && cxx->end - cxx->at > 1 &&
			   (cxx->at[1] == 't' || cxx->at[1] == 'T')) {
			name.text = orma_cxx_type_text(cxx, orma_cxx_read_type(cxx));
			was_known = true;
		} else if (c == 'M') {
			cxx->at++;
			was_known = true;
		} else {
			struct orma_cxx_text part = orma_cxx_unqualified(cxx, &name);
			name.text = name.text.size > 0 ? orma_cxx_join3(cxx, name.text, "::", part)
						       : part;
		}
		if (!was_known && orma_cxx_peek(cxx) != 'E')
			orma_cxx_add_substitution(cxx, orma_cxx_plain(name.text));
	}
	return name;
}

static void skip_discriminator(struct orma_cxx *cxx)
{
	if (!orma_cxx_eat(cxx, "_"))
		return;
	bool is_long = orma_cxx_eat(cxx, "_");
	if (orma_cxx_number(cxx) < 0 || (is_long && !orma_cxx_eat(cxx, "_")))
		orma_cxx_refuse(cxx);
}

/* Z function E name: something in a function */
static struct orma_cxx_name read_local(struct orma_cxx *cxx, bool is_type)
{
	struct orma_cxx_name name = {.has_arguments = false};
	uint32_t first = cxx->template_first, count = cxx->template_count;
	struct orma_cxx_text outer = orma_cxx_encoding(cxx);

	if (is_type) {
		cxx->template_first = first;
		cxx->template_count = count;
	}
	if (!orma_cxx_eat(cxx, "E"))
		orma_cxx_refuse(cxx);
	if (orma_cxx_eat(cxx, "s")) {
		skip_discriminator(cxx);
		name.text = orma_cxx_join(cxx, outer, orma_cxx_str(cxx, "::string literal"));
		return name;
	}
	if (orma_cxx_eat(cxx, "d")) {
		(void)orma_cxx_number(cxx);
		if (!orma_cxx_eat(cxx, "_"))
			orma_cxx_refuse(cxx);
	}
	name = orma_cxx_read_name(cxx, is_type);
	skip_discriminator(cxx);
	name.text = orma_cxx_join3(cxx, outer, "::", name.text);
	return name;
}

struct orma_cxx_name orma_cxx_read_name(struct orma_cxx *cxx, bool is_type)
{
	struct orma_cxx_name name = {.has_arguments = false};
	bool was_known = false;

	if (!orma_cxx_enter(cxx)) {
		cxx->depth--;
		return name;
	}
	if (orma_cxx_eat(cxx, "N")) {
		name = read_nested(cxx, is_type);
		cxx->depth--;
		return name;
	}
	if (orma_cxx_eat(cxx, "Z")) {
		name = read_local(cxx, is_type);
		cxx->depth--;
		return name;
	}
	if (orma_cxx_eat(cxx, "St")) {
		struct orma_cxx_text part = orma_cxx_unqualified(cxx, &name);
		name.text = orma_cxx_join3(cxx, orma_cxx_str(cxx, "std"), "::", part);
	} else if (orma_cxx_peek(cxx) == 'S') {
		name.text = orma_cxx_type_text(cxx, orma_cxx_substitution(cxx, false));
		was_known = true;
	} else {
		name.text = orma_cxx_unqualified(cxx, &name);
	}
	if (orma_cxx_peek(cxx) == 'I') {
		if (!was_known)
			orma_cxx_add_substitution(cxx, orma_cxx_plain(name.text));
		name.text =
			orma_cxx_join(cxx, name.text, orma_cxx_template_arguments(cxx, !is_type));
		name.has_arguments = true;
	}
	cxx->depth--;
	return name;
}

/* --- whole names ------------------------------------------------------------------------------ */

static bool has_ended(const struct orma_cxx *cxx)
{
	char c = orma_cxx_peek(cxx);

	return c == 0 || c == 'E' || c == '.';
}

static void skip_offset(struct orma_cxx *cxx)
{
	(void)orma_cxx_eat(cxx, "n");
	if (orma_cxx_number(cxx) < 0 || !orma_cxx_eat(cxx, "_"))
		orma_cxx_refuse(cxx);
}

/* Names of what the compiler generates, such as tables of virtual functions and thunks. */
static struct orma_cxx_text read_special(struct orma_cxx *cxx)
{
	static const struct {
		const char *letters, *text;
		enum { TYPE, NAME, ENCODING, OFFSET, OFFSETS, TWO_OFFSETS } what;
	} kinds[] = {
		{"TV", "vtable for ", TYPE},
		{"TT", "VTT for ", TYPE},
		{"TI", "typeinfo for ", TYPE},
		{"TS", "typeinfo name for ", TYPE},
		{"TW", "TLS wrapper function for ", NAME},
		{"TH", "TLS init function for ", NAME},
		{"GV", "guard variable for ", NAME},
		{"GA", "hidden alias for ", ENCODING},
		{"GTt", "transaction clone for ", ENCODING},
		{"Th", "non-virtual thunk to ", OFFSET},
		{"Tv", "virtual thunk to ", OFFSETS},
		{"Tch", "covariant return thunk to ", TWO_OFFSETS},
	};
	struct orma_cxx_text none = {0, 0};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!orma_cxx_eat(cxx, kinds[i].letters))
			continue;
		if (kinds[i].what >= OFFSET)
			skip_offset(cxx);
		if (kinds[i].what == OFFSETS)
			skip_offset(cxx);
		if (kinds[i].what == TWO_OFFSETS) {
			if (!orma_cxx_eat(cxx, "h"))
				orma_cxx_refuse(cxx);
			skip_offset(cxx);
		}
		struct orma_cxx_text of =
			kinds[i].what == TYPE   ? orma_cxx_type_text(cxx, orma_cxx_read_type(cxx))
			: kinds[i].what == NAME ? orma_cxx_read_name(cxx, false).text
						: orma_cxx_encoding(cxx);
		return orma_cxx_join(cxx, orma_cxx_str(cxx, kinds[i].text), of);
	}
	orma_cxx_refuse(cxx);
	return none;
}

static struct orma_cxx_text read_function(struct orma_cxx *cxx, struct orma_cxx_name name)
{
	struct orma_cxx_type result = {.kind = ORMA_CXX_PLAIN};
	struct orma_cxx_text text = name.text;

	if (name.has_arguments && !name.has_no_result) {
		result = orma_cxx_read_type(cxx);
		bool needs_space = result.right.size == 0;
		text = orma_cxx_join3(cxx, result.left, needs_space ? " " : "", text);
	}
	text = orma_cxx_join3(cxx, text, "(", orma_cxx_parameters(cxx));
	text = orma_cxx_join3(cxx, text, ")", name.qualifiers);
	return orma_cxx_join(cxx, text, result.right);
}

struct orma_cxx_text orma_cxx_encoding(struct orma_cxx *cxx)
{
	struct orma_cxx_text text = {0, 0};
	char c = orma_cxx_peek(cxx);

	if (orma_cxx_enter(cxx)) {
		if (c == 'T' || c == 'G') {
			text = read_special(cxx);
		} else {
			struct orma_cxx_name name = orma_cxx_read_name(cxx, false);
			text = has_ended(cxx) ? name.text : read_function(cxx, name);
		}
	}
	cxx->depth--;
	return text;
}

/* NOLINTEND(misc-no-recursion) */

/* ".constprop.0" is shown as " [clone .constprop.0]". */
static struct orma_cxx_text read_suffix(struct orma_cxx *cxx, struct orma_cxx_text text)
{
	while (orma_cxx_peek(cxx) == '.') {
		const char *begin = cxx->at++;

		while (orma_cxx_peek(cxx) && orma_cxx_peek(cxx) != '.')
			cxx->at++;
		while (cxx->end - cxx->at > 1 && *cxx->at == '.' && cxx->at[1] >= '0' &&
		       cxx->at[1] <= '9') {
			cxx->at++;
			(void)orma_cxx_number(cxx);
		}
		text = orma_cxx_join3(cxx, text, " [clone ",
				      orma_cxx_put(cxx, begin, (size_t)(cxx->at - begin)));
		text = orma_cxx_join(cxx, text, orma_cxx_str(cxx, "]"));
	}
	return text;
}

int orma_demangle_cxx(const char *name, struct orma_buf *buf)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf scratch = {0};
	size_t size = strlen(name);

	if (size < 3 || memcmp(name, "_Z", 2) != 0)
		return 0;
	struct orma_cxx *cxx = orma_base_zalloc(sizeof(*cxx));
	if (!cxx)
		return -ENOMEM;
	cxx->at = name + 2;
	cxx->end = name + size;
	cxx->scratch = &scratch;
	cxx->pack_idx = cxx->pack_size = -1;
	struct orma_cxx_text text = read_suffix(cxx, orma_cxx_encoding(cxx));
	if (cxx->at != cxx->end || text.size == 0)
		orma_cxx_refuse(cxx);
	int r = cxx->error;
	if (r == 0)
		r = orma_base_buf_append(buf, scratch.data + text.at, text.size);
	orma_base_free(cxx);
	return r == -EBADMSG ? 0 : r < 0 ? r : 1;
}
