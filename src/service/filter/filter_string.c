/* SPDX-License-Identifier: Apache-2.0
 * filter_string.c - rules that redact strings, one after the other until one of them decides.
 *
 * A rule has an expression and a policy. MATCH policies ask whether the whole string matches; then
 * either its groups are redacted, or (BREAK) the string stays as it is, and the remaining rules are
 * skipped. ATRACE policies apply only to strings of the form "B|1234|payload" whose payload starts
 * as the rule says; among these, REPEATED_SEARCH redacts the groups of all matches within the
 * string. A redacted group is overwritten with "P60REDACTED" and then with "-" up to its length: no
 * byte of the surrounding message moves.
 *
 * A rule applies to fields of its semantic types only; one that names no types applies to fields
 * without a type. A rule of the second chain replaces the rule of the first chain that has its
 * name.
 *
 * When an expression cannot decide (too many steps, too long a text), secrecy wins: a rule that
 * redacts redacts the whole string, and a rule that breaks does not apply. Upstream treats such a
 * rule as one that does not match. All strings of a packet together have a time budget. It is far
 * beyond what ordinary configs need and stops configs that are made to block the service. Rejected:
 * limiting a match by time as well (the contents of a trace would depend on the machine's load).
 */
#include "service/filter/filter_string.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "service/service_core.h"

enum policy {
	MATCH_REDACT =
		ORMA_PB_TRACE_CONFIG_TRACE_FILTER_STRING_FILTER_POLICY_SFP_MATCH_REDACT_GROUPS,
	ATRACE_MATCH_REDACT =
		ORMA_PB_TRACE_CONFIG_TRACE_FILTER_STRING_FILTER_POLICY_SFP_ATRACE_MATCH_REDACT_GROUPS,
	MATCH_BREAK = ORMA_PB_TRACE_CONFIG_TRACE_FILTER_STRING_FILTER_POLICY_SFP_MATCH_BREAK,
	ATRACE_MATCH_BREAK =
		ORMA_PB_TRACE_CONFIG_TRACE_FILTER_STRING_FILTER_POLICY_SFP_ATRACE_MATCH_BREAK,
	ATRACE_SEARCH_REDACT =
		ORMA_PB_TRACE_CONFIG_TRACE_FILTER_STRING_FILTER_POLICY_SFP_ATRACE_REPEATED_SEARCH_REDACT_GROUPS,
};

/* --- loading --------------------------------------------------------------------------------- */

static int load_types(struct orma_filter_rule *rule,
		      const struct orma_pb_trace_config_trace_filter_string_filter_rule *config,
		      const char *path, struct orma_error *reterr)
{
	if (config->semantic_type.count == 0)
		rule->types[0] = 1;
	for (size_t i = 0; i < config->semantic_type.count; i++) {
		int32_t type = config->semantic_type.items[i];

		if (type < 0 || type >= (int32_t)ORMA_SERVICE_FILTER_TYPES_MAX)
			return orma_base_error_set(
				reterr, -EINVAL, "%s.semantic_type: %d is not a type", path, type);
		rule->types[type / 64] |= UINT64_C(1) << type % 64;
	}
	return 0;
}

static int load_rule(struct orma_filter_rule *rule, const struct orma_service *service,
		     const struct orma_pb_trace_config_trace_filter_string_filter_rule *config,
		     const char *path, struct orma_error *reterr)
{
	struct orma_error why;
	int r;

	if (config->policy < MATCH_REDACT || config->policy > ATRACE_SEARCH_REDACT)
		return orma_base_error_set(reterr, -EINVAL, "%s.policy: %d is not a policy", path,
					   config->policy);
	*rule = (struct orma_filter_rule){
		.policy = config->policy,
		.payload_start = config->atrace_payload_starts_with,
		.name = config->name,
	};
	r = load_types(rule, config, path, reterr);
	if (r < 0)
		return r;
	r = orma_service_regex_compile(service, config->regex_pattern,
				       config->policy != ATRACE_SEARCH_REDACT, &rule->regex, &why);
	if (r < 0)
		orma_base_error_set(reterr, r, "%s.regex_pattern: %s", path, why.message);
	return r;
}

static void put_rule(struct orma_filter_rules *rules, const struct orma_filter_rule *rule)
{
	for (size_t i = 0; i < rules->count && rule->name.size; i++) {
		if (!orma_base_str_is_equal(rules->items[i].name, rule->name))
			continue;
		orma_service_regex_done(&rules->items[i].regex);
		rules->items[i] = *rule;
		return;
	}
	rules->items[rules->count++] = *rule;
}

static int load_chain(struct orma_filter_rules *rules, const struct orma_service *service,
		      const struct orma_pb_trace_config_trace_filter_string_filter_chain *chain,
		      const char *name, struct orma_error *reterr)
{
	char path[96];

	for (size_t i = 0; chain && i < chain->rules.count; i++) {
		struct orma_filter_rule rule = {0};
		int r;

		snprintf(path, sizeof(path), "trace_filter.%s.rules[%zu]", name, i);
		r = load_rule(&rule, service, chain->rules.items[i], path, reterr);
		if (r < 0)
			return r;
		put_rule(rules, &rule);
	}
	return 0;
}

int orma_service_rules_load(struct orma_filter_rules *rules, const struct orma_service *service,
			    const struct orma_pb_trace_config_trace_filter *config,
			    struct orma_error *reterr)
{
	const struct orma_pb_trace_config_trace_filter_string_filter_chain *chain =
		config->string_filter_chain;
	const struct orma_pb_trace_config_trace_filter_string_filter_chain *newer =
		config->string_filter_chain_v54;
	size_t count = (chain ? chain->rules.count : 0) + (newer ? newer->rules.count : 0);
	int r;

	if (count == 0)
		return 0;
	if (count > ORMA_SERVICE_FILTER_RULES_MAX)
		return orma_base_error_set(
			reterr, -EINVAL,
			"trace_filter.string_filter_chain: %zu rules are more than the "
			"maximum of %u",
			count, ORMA_SERVICE_FILTER_RULES_MAX);
	rules->service = service;
	rules->items = orma_base_alloc_array(count, sizeof(*rules->items));
	if (!rules->items)
		return -ENOMEM;
	r = load_chain(rules, service, chain, "string_filter_chain", reterr);
	if (r == 0)
		r = load_chain(rules, service, newer, "string_filter_chain_v54", reterr);
	if (r < 0)
		orma_service_rules_done(rules);
	return r;
}

void orma_service_rules_done(struct orma_filter_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		orma_service_regex_done(&rules->items[i].regex);
	orma_base_free(rules->items);
	*rules = (struct orma_filter_rules){0};
}

/* --- applying -------------------------------------------------------------------------------- */

struct subject {
	char *text;
	size_t size;
	bool is_parsed;
	size_t payload_at; /* after the second "|"; 0 = not an atrace string */
};

/* The first "|" is at index 1. Lines that end a slice ("E") have no payload. */
static size_t find_payload(struct subject *subject)
{
	const char *bar;

	if (subject->is_parsed)
		return subject->payload_at;
	subject->is_parsed = true;
	if (subject->size <= 2 || subject->text[0] == 'E')
		return 0;
	bar = memchr(subject->text + 2, '|', subject->size - 2);
	if (bar)
		subject->payload_at = (size_t)(bar - subject->text) + 1;
	return subject->payload_at;
}

static bool is_for_payload(const struct orma_filter_rule *rule, struct subject *subject)
{
	size_t at = find_payload(subject), wanted = rule->payload_start.size;

	return at != 0 && wanted <= subject->size - at &&
	       (wanted == 0 || memcmp(subject->text + at, rule->payload_start.data, wanted) == 0);
}

static bool is_for(const struct orma_filter_rule *rule, struct subject *subject,
		   uint32_t semantic_type)
{
	/* All rules apply to a type that no rule can name: that is the safe side. */
	if (semantic_type < ORMA_SERVICE_FILTER_TYPES_MAX &&
	    !(rule->types[semantic_type / 64] >> semantic_type % 64 & 1))
		return false;
	return rule->policy == MATCH_REDACT || rule->policy == MATCH_BREAK ||
	       is_for_payload(rule, subject);
}

static void redact(char *text, size_t size)
{
	static const char redacted[] = "P60REDACTED";
	size_t head = ORMA_MIN(size, sizeof(redacted) - 1);

	memcpy(text, redacted, head);
	memset(text + head, '-', size - head);
}

static void redact_groups(const struct orma_filter_rule *rule, struct subject *subject,
			  const struct orma_regex_group *groups)
{
	for (size_t i = 1; i <= rule->regex.group_count; i++)
		if (groups[i].begin != SIZE_MAX)
			redact(subject->text + groups[i].begin, groups[i].end - groups[i].begin);
}

static uint32_t step_limit(size_t size)
{
	size_t steps = ORMA_SERVICE_FILTER_STEP_BYTES / (size + 1);

	steps = ORMA_MIN(steps, (size_t)ORMA_SERVICE_FILTER_STEPS);
	return (uint32_t)ORMA_MAX(steps, (size_t)ORMA_SERVICE_FILTER_STEPS_MIN);
}

/* True when a match was found or could not be ruled out. */
static bool search(const struct orma_filter_rule *rule, struct subject *subject)
{
	struct orma_regex_group groups[ORMA_SERVICE_REGEX_GROUPS_MAX + 1];
	struct orma_str text = {subject->text, subject->size};
	bool has_found = false;
	int r = 1;

	for (size_t offset = 0; offset <= text.size; has_found = true) {
		r = orma_service_regex_match(&rule->regex, text, offset, step_limit(text.size),
					     groups, ORMA_ARRAY_SIZE(groups));
		if (r <= 0)
			break;
		redact_groups(rule, subject, groups);
		/* An engine may let a match begin before the offset; the search still has to
		 * advance. */
		offset = groups[0].begin == groups[0].end || groups[0].end <= offset
				 ? ORMA_MAX(groups[0].end, offset) + 1
				 : groups[0].end;
	}
	if (r < 0)
		redact(subject->text, subject->size);
	return has_found || r < 0;
}

/* True when the rule decides; then no further rule is applied. */
static bool apply(const struct orma_filter_rule *rule, struct subject *subject)
{
	struct orma_regex_group groups[ORMA_SERVICE_REGEX_GROUPS_MAX + 1];
	struct orma_str text = {subject->text, subject->size};
	bool redacts = rule->policy == MATCH_REDACT || rule->policy == ATRACE_MATCH_REDACT;
	int r;

	if (rule->policy == ATRACE_SEARCH_REDACT)
		return search(rule, subject);
	r = orma_service_regex_match(&rule->regex, text, 0, step_limit(text.size), groups,
				     redacts ? ORMA_ARRAY_SIZE(groups) : 0);
	if (r > 0 && redacts)
		redact_groups(rule, subject, groups);
	if (r < 0 && redacts)
		redact(subject->text, subject->size);
	return r > 0 || (r < 0 && redacts);
}

/* A string can cost far more time than its length suggests. */
static int check_time(const struct orma_filter_rules *rules, struct orma_filter_budget *budget)
{
	const struct orma_service *service = rules->service;
	uint64_t now_ns = orma_service_now_ns(service), thread_ns;

	if (budget->wall_end_ns == 0)
		budget->wall_end_ns = now_ns + budget->limit_ns;
	if (now_ns < budget->wall_end_ns)
		return 0;
	thread_ns = service->clock_ns(service->ctx, CLOCK_THREAD_CPUTIME_ID);
	if (budget->thread_end_ns == 0)
		budget->thread_end_ns = thread_ns + budget->limit_ns;
	return thread_ns < budget->thread_end_ns ? 0 : -ETIMEDOUT;
}

int orma_service_rules_apply(const struct orma_filter_rules *rules, char *text, size_t size,
			     uint32_t semantic_type, struct orma_filter_budget *budget)
{
	struct subject subject = {.text = text, .size = size};

	for (size_t i = 0; i < rules->count && size > 0; i++) {
		if (!is_for(&rules->items[i], &subject, semantic_type))
			continue;
		if (check_time(rules, budget) < 0)
			return -ETIMEDOUT;
		if (apply(&rules->items[i], &subject))
			break;
	}
	return 0;
}
