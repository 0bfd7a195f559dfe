/* SPDX-License-Identifier: Apache-2.0
 * demangle_cxx.h - the state of reading a name of C++, which demangle_cxx.c and demangle_cxx_type.c share.
 *
 * A text is a run of bytes in `scratch`, which only grows, and has a limit. So the work for a name is limited, too.
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
	/* All template arguments; `template_first` and `template_count` are those that T_ means. */
	struct orma_cxx_argument arguments[ORMA_CXX_ARGUMENTS_MAX];
	uint32_t argument_count, template_first, template_count;
	int32_t pack_idx, pack_size; /* within an expansion; -1 = none, not seen */
	unsigned depth, lambdas;
	int error; /* 0; -EBADMSG: not understood; -ENOMEM */
};

/* How a name ends, which says how its function is written. */
struct orma_cxx_name {
	struct orma_cxx_text text, last; /* `last` is that of its last part, for constructors */
	struct orma_cxx_text qualifiers; /* " const" */
	bool has_arguments, has_no_result;
};

/* --- texts ------------------------------------------------------------------------------------ */

void orma_cxx_refuse(struct orma_cxx *cxx);
static inline char orma_cxx_peek(const struct orma_cxx *cxx)
{
	if (cxx->error || cxx->at >= cxx->end)
		return 0;
	return *cxx->at;
}
/* The character behind that one, or 0. */
static inline char orma_cxx_second(const struct orma_cxx *cxx)
{
	if (cxx->error || cxx->end - cxx->at < 2)
		return 0;
	return cxx->at[1];
}
bool orma_cxx_eat(struct orma_cxx *cxx, const char *wanted);
struct orma_cxx_text orma_cxx_put(struct orma_cxx *cxx, const char *text, size_t size);
struct orma_cxx_text orma_cxx_str(struct orma_cxx *cxx, const char *text);
/* Puts some texts together. */
struct orma_cxx_text orma_cxx_join(struct orma_cxx *cxx, struct orma_cxx_text a,
				   struct orma_cxx_text b);
struct orma_cxx_text orma_cxx_join3(struct orma_cxx *cxx, struct orma_cxx_text a, const char *b,
				    struct orma_cxx_text c);
char orma_cxx_last(const struct orma_cxx *cxx, struct orma_cxx_text text);
/* A decimal number, or -1. */
int64_t orma_cxx_number(struct orma_cxx *cxx);
bool orma_cxx_enter(struct orma_cxx *cxx);

/* --- grammar ---------------------------------------------------------------------------------- */

struct orma_cxx_text orma_cxx_encoding(struct orma_cxx *cxx);
struct orma_cxx_name orma_cxx_read_name(struct orma_cxx *cxx, bool is_type);
struct orma_cxx_text orma_cxx_source_name(struct orma_cxx *cxx);
/* The name of an operator from its two letters, and its operands; NULL. */
const char *orma_cxx_operator(struct orma_cxx *cxx, unsigned *ret_operands);
struct orma_cxx_text orma_cxx_unqualified(struct orma_cxx *cxx, struct orma_cxx_name *name);

struct orma_cxx_type orma_cxx_read_type(struct orma_cxx *cxx);
struct orma_cxx_text orma_cxx_read_expression(struct orma_cxx *cxx);
struct orma_cxx_text orma_cxx_type_text(struct orma_cxx *cxx, struct orma_cxx_type type);
/* Types up to the end of a function, as "int, char". */
struct orma_cxx_text orma_cxx_parameters(struct orma_cxx *cxx);
struct orma_cxx_text orma_cxx_template_arguments(struct orma_cxx *cxx, bool becomes_current);
struct orma_cxx_type orma_cxx_template_parameter(struct orma_cxx *cxx);
/* `ret_is_name` is false for "std", which is no substitution by itself. */
struct orma_cxx_type orma_cxx_substitution(struct orma_cxx *cxx, bool is_whole);
void orma_cxx_add_substitution(struct orma_cxx *cxx, struct orma_cxx_type type);
struct orma_cxx_text orma_cxx_qualifiers(struct orma_cxx *cxx);

#endif
