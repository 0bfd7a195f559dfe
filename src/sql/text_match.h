/* SPDX-License-Identifier: Apache-2.0
 * text_match.h - a pattern or a comparison with a text, evaluated once for each string of a pool.
 */
#ifndef ORMA_SQL_TEXT_MATCH_H
#define ORMA_SQL_TEXT_MATCH_H

#include <orma/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct orma_string_pool;
struct orma_text_match;

enum orma_text_match_kind {
	ORMA_MATCH_GLOB,
	ORMA_MATCH_LIKE,
	ORMA_MATCH_REGEXP,
	ORMA_MATCH_LESS,
	ORMA_MATCH_LESS_OR_EQUAL,
	ORMA_MATCH_GREATER,
	ORMA_MATCH_GREATER_OR_EQUAL,
};

/*
 * The text is copied; the pool outlives the match. 0 or -ENOMEM, and for ORMA_MATCH_REGEXP the errors of
 * orma_sql_regex_new().
 */
int orma_sql_text_match_new(enum orma_text_match_kind kind, struct orma_str text,
			    const struct orma_string_pool *pool, struct orma_text_match **ret,
			    struct orma_error *reterr);
/* True when the match was made with this text. */
bool orma_sql_text_match_is(const struct orma_text_match *match, struct orma_str text);
void orma_sql_text_match_free(struct orma_text_match *match);
/* `id` is one of the pool's. 1, 0 or a negative errno value: -ENOMEM, -EOVERFLOW (an expression takes too many steps). */
int orma_sql_text_match_id(struct orma_text_match *match, uint32_t id);

/* A pattern of GLOB: `*`, `?` and `[...]`, with regard to case. Characters are UTF-8. */
bool orma_sql_glob(struct orma_str pattern, struct orma_str text);

#endif
