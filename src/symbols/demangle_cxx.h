/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx.h - the state of reading a name of C++, which the files demangle_cxx*.c share.
 *
 * A text is a range of bytes in `scratch`, which only grows and has a limit. This bounds the work for a name, too.
 */
#ifndef ORMA_SYMBOLS_DEMANGLE_CXX_H
#define ORMA_SYMBOLS_DEMANGLE_CXX_H

#include <stdbool.h>

#include "base/buf.h"

enum {
	ORMA_CXX_SUBSTITUTIONS_MAX = 512,
	ORMA_CXX_ARGUMENTS_MAX = 256, /* arguments of templates, with those in packs */
	ORMA_CXX_LIST_MAX = 64,       /* arguments in a list */
	ORMA_CXX_DEPTH_MAX = 96,
	ORMA_CXX_SCRATCH_MAX = 1 << 20,
};

struct orma_cxx_text {
	uint32_t at, size;
};

/* A declarator stands between the two texts: "void (" and ")(int)". */
struct orma_cxx_type {
	struct orma_cxx_text left, right;
	enum {
		ORMA_CXX_PLAIN,
		ORMA_CXX_LVALUE,
		ORMA_CXX_RVALUE,
		ORMA_CXX_FUNCTION, /* a pointer to it needs parentheses */
		ORMA_CXX_ARRAY,
	} kind;
};

struct orma_cxx_argument {
	struct orma_cxx_type type;
	uint32_t first, count; /* the arguments in a pack */
	bool is_pack;
};

struct orma_cxx {
	const char *at, *end;
	struct orma_buf *scratch;
	struct orma_cxx_type substitutions[ORMA_CXX_SUBSTITUTIONS_MAX];
	uint32_t substitution_count;
	/* See demangle_cxx_template.c. */
	struct orma_cxx_argument arguments[ORMA_CXX_ARGUMENTS_MAX];
	uint32_t argument_count, template_first, template_count;
	/* While the pattern of a pack expansion is read: the element that it is read for (-1 = no expansion), and the size of the
	 * pack (-1 = no pack was seen yet). */
	int32_t pack_idx, pack_size;
	unsigned depth, lambdas;
	int error; /* 0; -EBADMSG: not understood; -ENOMEM */
};

/* A name, and what decides how its function is written. */
struct orma_cxx_name {
	struct orma_cxx_text text, last; /* `last` is the last part, which names constructors */
	struct orma_cxx_text qualifiers; /* " const" */
	bool has_arguments, has_no_result;
};

static inline struct orma_cxx_type orma_cxx_plain(struct orma_cxx_text text)
{
	return (struct orma_cxx_type){.left = text};
}

/* --- input and texts (demangle_cxx_text.c) ------------------------------------------------------ */

/* The name is not understood. */
void orma_cxx_refuse(struct orma_cxx *cxx);
/* The next character, or 0 at the end or after an error. */
static inline char orma_cxx_peek(const struct orma_cxx *cxx)
{
	if (cxx->error || cxx->at >= cxx->end)
		return 0;
	return *cxx->at;
}
/* The character after the next one, or 0. */
static inline char orma_cxx_second(const struct orma_cxx *cxx)
{
	if (cxx->error || cxx->end - cxx->at < 2)
		return 0;
	return cxx->at[1];
}
/* Passes over `wanted` if the input goes on with it. */
bool orma_cxx_eat(struct orma_cxx *cxx, const char *wanted);
struct orma_cxx_text orma_cxx_put(struct orma_cxx *cxx, const char *text, size_t size);
struct orma_cxx_text orma_cxx_str(struct orma_cxx *cxx, const char *text);
struct orma_cxx_text orma_cxx_join(struct orma_cxx *cxx, struct orma_cxx_text a,
				   struct orma_cxx_text b);
struct orma_cxx_text orma_cxx_join3(struct orma_cxx *cxx, struct orma_cxx_text a, const char *b,
				    struct orma_cxx_text c);
/* Appends an item to a list with commas. An empty item leaves the list as it is. */
struct orma_cxx_text orma_cxx_append_item(struct orma_cxx *cxx, struct orma_cxx_text list,
					  struct orma_cxx_text item);
/* The last character, or 0. */
char orma_cxx_last(const struct orma_cxx *cxx, struct orma_cxx_text text);
/* A decimal number, or -1. */
int64_t orma_cxx_number(struct orma_cxx *cxx);
/* Counts a level of nesting; the caller does `depth--` when it leaves. False after an error. */
bool orma_cxx_enter(struct orma_cxx *cxx);

/* --- names (demangle_cxx.c) --------------------------------------------------------------------- */

struct orma_cxx_text orma_cxx_encoding(struct orma_cxx *cxx);
struct orma_cxx_name orma_cxx_read_name(struct orma_cxx *cxx, bool is_type);
struct orma_cxx_text orma_cxx_source_name(struct orma_cxx *cxx);
/* Reads the two letters of an operator. Its name and number of operands, or NULL. */
const char *orma_cxx_operator(struct orma_cxx *cxx, unsigned *ret_operands);
struct orma_cxx_text orma_cxx_unqualified(struct orma_cxx *cxx, struct orma_cxx_name *name);

/* Qualifiers such as " const volatile". */
struct orma_cxx_text orma_cxx_qualifiers(struct orma_cxx *cxx);

/* --- types (demangle_cxx_type.c) and expressions (demangle_cxx_expression.c) ----------------------- */

struct orma_cxx_type orma_cxx_read_type(struct orma_cxx *cxx);
struct orma_cxx_text orma_cxx_type_text(struct orma_cxx *cxx, struct orma_cxx_type type);
/* Types up to the end of a function, as "int, char". */
struct orma_cxx_text orma_cxx_parameters(struct orma_cxx *cxx);
struct orma_cxx_text orma_cxx_read_expression(struct orma_cxx *cxx);

/* --- templates and substitutions (demangle_cxx_template.c) ----------------------------------------- */

/* Reads a list of arguments, as "<int, char>". T_ means this list from then on if `becomes_current` is set. */
struct orma_cxx_text orma_cxx_template_arguments(struct orma_cxx *cxx, bool becomes_current);
struct orma_cxx_type orma_cxx_template_parameter(struct orma_cxx *cxx);
/* `is_whole`: a constructor may follow, which is named after the long form of the class. */
struct orma_cxx_type orma_cxx_substitution(struct orma_cxx *cxx, bool is_whole);
void orma_cxx_add_substitution(struct orma_cxx *cxx, struct orma_cxx_type type);

#endif
