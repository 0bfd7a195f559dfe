/* SPDX-License-Identifier: Apache-2.0
 * regex.c - regular expressions of configs, whichever engine runs them.
 *
 * Expressions come from strangers, and so do the texts. The engine bounds the cost of one match by
 * a number of steps that the caller sets; a caller that matches in a loop bounds the loop.
 * Rejected: compiling per match (a config has few expressions and a trace has millions of strings),
 * refusing expressions that look dangerous (which ones are depends on the engine and the text).
 */
#include "service/filter/regex.h"

#include <errno.h>

#include "base/error_message.h"
#include "service/service_core.h"

int orma_service_regex_compile(const struct orma_service *service, struct orma_str pattern,
			       bool is_whole, struct orma_service_regex *ret,
			       struct orma_error *reterr)
{
	struct orma_error unused, *error = reterr ? reterr : &unused;
	void *regex = NULL;
	int r;

	if (pattern.size > ORMA_SERVICE_REGEX_BYTES_MAX)
		return orma_base_error_set(error, -EINVAL, "longer than %u bytes",
					   ORMA_SERVICE_REGEX_BYTES_MAX);
	error->message[0] = '\0';
	r = service->regex_ops.compile(service->ctx, pattern.data ? pattern.data : "", pattern.size,
				       is_whole, &regex, error);
	if (r < 0)
		return error->message[0] ? r : orma_base_error_set(error, r, "cannot be compiled");
	if (r > (int)ORMA_SERVICE_REGEX_GROUPS_MAX) {
		service->regex_ops.free(regex);
		return orma_base_error_set(error, -EINVAL, "more than %u capturing groups",
					   ORMA_SERVICE_REGEX_GROUPS_MAX);
	}
	*ret = (struct orma_service_regex){&service->regex_ops, regex, (size_t)r};
	return 0;
}

int orma_service_regex_match(const struct orma_service_regex *regex, struct orma_str text,
			     size_t offset, uint32_t step_limit, struct orma_regex_group *groups,
			     size_t group_max)
{
	return regex->ops->match(regex->regex, text.data ? text.data : "", text.size, offset,
				 step_limit, groups, group_max);
}

bool orma_service_regex_matches_name(const struct orma_service_regex *regex, const char *name,
				     uint32_t step_limit)
{
	return orma_service_regex_match(regex, orma_base_str(name), 0, step_limit, NULL, 0) > 0;
}

void orma_service_regex_done(struct orma_service_regex *regex)
{
	if (regex->regex)
		regex->ops->free(regex->regex);
	regex->regex = NULL;
}
