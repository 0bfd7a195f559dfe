/* SPDX-License-Identifier: Apache-2.0
 * query_regex.h - regular expressions of queries, as RE2 has them, by PCRE2.
 */
#ifndef ORMA_SQL_QUERY_REGEX_H
#define ORMA_SQL_QUERY_REGEX_H

#include <orma/error.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct orma_regex;

struct orma_regex_span {
	size_t begin, end; /* SIZE_MAX = the group took no part */
};

/* 0, -EINVAL (not an expression; told in reterr), -ENOTSUP (built without PCRE2) or -ENOMEM. */
int orma_sql_regex_new(struct orma_str pattern, bool ignores_case, struct orma_regex **ret,
		       struct orma_error *reterr);
void orma_sql_regex_free(struct orma_regex *regex);
/* Returns the number of groups in parentheses. */
uint32_t orma_sql_regex_groups(const struct orma_regex *regex);
/*
 * Searches from `offset` on. Returns 1 and sets the spans of the match and its first groups, or 0, -EOVERFLOW (too
 * many steps) or -ENOMEM.
 */
int orma_sql_regex_search(const struct orma_regex *regex, struct orma_str text, size_t offset,
			  struct orma_regex_span *spans, size_t span_count);

#endif
