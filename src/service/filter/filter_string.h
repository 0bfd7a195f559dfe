/* SPDX-License-Identifier: Apache-2.0
 * filter_string.h - a trace filter's rules for strings.
 */
#ifndef ORMA_SERVICE_FILTER_STRING_H
#define ORMA_SERVICE_FILTER_STRING_H

#include <stdbool.h>

#include "schema/gen/trace_config.pb.h"
#include "service/filter/regex.h"
#include "service/service_limits.h"

struct orma_filter_rule {
	int32_t policy;
	struct orma_service_regex regex;
	struct orma_str payload_start, name; /* belong to the config */
	uint64_t types[ORMA_SERVICE_FILTER_TYPES_MAX / 64];
};

/* The rules in order of use; {0} has none. */
struct orma_filter_rules {
	struct orma_filter_rule *items;
	size_t count;
	const struct orma_service *service;
};

/* Loads the rules of both chains of the config, which must outlive them. -EINVAL (`reterr` names
 * the field), -ENOMEM; on failure *rules is empty. */
int orma_service_rules_load(struct orma_filter_rules *rules, const struct orma_service *service,
			    const struct orma_pb_trace_config_trace_filter *config,
			    struct orma_error *reterr);
void orma_service_rules_done(struct orma_filter_rules *rules);
/* The time that the strings of one packet may take. The limit is in the thread's own time, so
 * that a busy machine does not count. The wall clock is cheaper to read and tells when to read
 * the other. */
struct orma_filter_budget {
	uint64_t limit_ns;
	uint64_t wall_end_ns;   /* 0 = no expression was tried yet */
	uint64_t thread_end_ns; /* 0 = not looked at yet */
};

/* Rewrites the text in place, at its length. -ETIMEDOUT when the budget is used up. */
int orma_service_rules_apply(const struct orma_filter_rules *rules, char *text, size_t size,
			     uint32_t semantic_type, struct orma_filter_budget *budget);

#endif
