/* SPDX-License-Identifier: Apache-2.0
 * regex.h - one regular expression of a config, compiled by the embedder's engine or the POSIX one.
 */
#ifndef ORMA_SERVICE_REGEX_H
#define ORMA_SERVICE_REGEX_H

#include <orma/service.h>

#include "base/str.h"

struct orma_service;

struct orma_service_regex {
	const struct orma_regex_ops *ops;
	void *regex; /* NULL = not compiled */
	size_t group_count;
};

/* On failure `reterr` says what is wrong with the pattern; the caller prefixes the field's name. */
int orma_service_regex_compile(const struct orma_service *service, struct orma_str pattern,
			       bool is_whole, struct orma_service_regex *ret,
			       struct orma_error *reterr);
/* Calls match() of the engine. */
int orma_service_regex_match(const struct orma_service_regex *regex, struct orma_str text,
			     size_t offset, uint32_t step_limit, struct orma_regex_group *groups,
			     size_t group_max);
/* Matches a producer's name; an expression that exceeds its steps does not match. */
bool orma_service_regex_matches_name(const struct orma_service_regex *regex, const char *name,
				     uint32_t step_limit);
void orma_service_regex_done(struct orma_service_regex *regex);

/* regex_posix.c */
extern const struct orma_regex_ops orma_service_regex_ops_posix;

#endif
