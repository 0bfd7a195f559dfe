/* SPDX-License-Identifier: Apache-2.0
 * print_filter.c - matches the texts of ftrace/print against a session's rules.
 *
 * Owns copies of the rules' strings. A rule says how a text begins: either with a prefix, or, for the messages of
 * Android's atrace ("B|1234|name"), with a type, any number, and a prefix behind it.
 */
#include "probes/ftrace/print_filter.h"

#include <errno.h>

#include "base/alloc.h"

static int copy(struct orma_str text, struct orma_str *ret)
{
	char *data = orma_base_str_dup(text);

	if (!data)
		return -ENOMEM;
	*ret = (struct orma_str){data, text.size};
	return 0;
}

static int init_rule(struct orma_print_rule *rule,
		     const struct orma_pb_ftrace_config_print_filter_rule *config)
{
	const struct orma_pb_ftrace_config_print_filter_rule_atrace_message *atrace =
		config->atrace_msg;

	rule->allow = config->allow;
	if (!atrace)
		return copy(config->prefix, &rule->prefix);
	int r = copy(atrace->type, &rule->atrace_type);
	return r < 0 ? r : copy(atrace->prefix, &rule->prefix);
}

int orma_print_filter_init(struct orma_print_filter *filter,
			   const struct orma_pb_ftrace_config_print_filter *config)
{
	*filter = (struct orma_print_filter){0};
	if (config->rules.count == 0)
		return 0;
	filter->rules = orma_base_alloc_array(config->rules.count, sizeof(*filter->rules));
	if (!filter->rules)
		return -ENOMEM;
	while (filter->rule_count < config->rules.count) {
		uint32_t i = filter->rule_count++;
		if (init_rule(&filter->rules[i], config->rules.items[i]) < 0) {
			orma_print_filter_done(filter);
			return -ENOMEM;
		}
	}
	return 0;
}

void orma_print_filter_done(struct orma_print_filter *filter)
{
	for (uint32_t i = 0; i < filter->rule_count; i++) {
		orma_base_free((char *)filter->rules[i].atrace_type.data);
		orma_base_free((char *)filter->rules[i].prefix.data);
	}
	orma_base_free(filter->rules);
	*filter = (struct orma_print_filter){0};
}

static bool take(struct orma_str *text, struct orma_str prefix)
{
	if (prefix.size > text->size ||
	    (prefix.size > 0 && memcmp(text->data, prefix.data, prefix.size) != 0))
		return false;
	text->data += prefix.size;
	text->size -= prefix.size;
	return true;
}

static bool take_number(struct orma_str *text)
{
	while (text->size > 0 && text->data[0] >= '0' && text->data[0] <= '9')
		take(text, (struct orma_str){text->data, 1});
	return take(text, ORMA_STR("|"));
}

static bool is_match(const struct orma_print_rule *rule, struct orma_str text)
{
	if (rule->atrace_type.data &&
	    !(take(&text, rule->atrace_type) && take(&text, ORMA_STR("|")) && take_number(&text)))
		return false;
	return take(&text, rule->prefix);
}

bool orma_print_filter_allows(const struct orma_print_filter *filter, struct orma_str text)
{
	for (uint32_t i = 0; i < filter->rule_count; i++) {
		if (is_match(&filter->rules[i], text))
			return filter->rules[i].allow;
	}
	return true;
}
