/* SPDX-License-Identifier: Apache-2.0
 * macro.h - PerfettoSQL's macros: `name!(a, b)` becomes the macro's text with `$x` replaced.
 */
#ifndef ORMA_SQL_MACRO_H
#define ORMA_SQL_MACRO_H

#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"

/* {0} is empty. */
struct orma_macro_set {
	struct orma_map by_name;
};

void orma_sql_macros_done(struct orma_macro_set *set);
/* Copies all. `parameters` are the names without `$`. 0, -ENOMEM, or -EEXIST when it exists and is not to be replaced. */
int orma_sql_macros_add(struct orma_macro_set *set, struct orma_str name,
			const struct orma_str *parameters, size_t parameter_count,
			struct orma_str body, bool replaces);
/* Where a call is in the text, and where that which it became is in the result. */
struct orma_macro_call {
	size_t begin, end, result_begin, result_end;
};

/* The calls of a text that are not in other calls, in their order. {0} is empty. */
struct orma_macro_calls {
	struct orma_macro_call *calls;
	size_t count, capacity;
};

void orma_sql_macro_calls_done(struct orma_macro_calls *calls);
/* Returns the place in the text for one in the result; in a call it is the call's begin. */
size_t orma_sql_macro_calls_find(const struct orma_macro_calls *calls, size_t result_offset,
				 bool *ret_is_in_call);

/*
 * Appends the text to `ret` with all macros expanded, and tells which calls there were. 0, -ENOMEM, or -EINVAL: an unknown
 * macro, the wrong number of arguments, an expansion that does not end; then the last call is to blame.
 */
int orma_sql_macros_expand(const struct orma_macro_set *set, struct orma_str sql,
			   struct orma_buf *ret, struct orma_macro_calls *ret_calls,
			   struct orma_error *reterr);

#endif
