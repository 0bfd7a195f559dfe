/* SPDX-License-Identifier: Apache-2.0
 * event_filter.c - reads the options that choose events.
 */
#include "tool/ask/event_filter.h"

#include <string.h>

#include "base/macros.h"
#include "tool/tool.h"

static const char *const kind_names[] = {"slice", "instant", "counter", "state", "kernel", "log"};

static int add_pattern(struct orma_filter_list *list, const char *pattern)
{
	if (list->count == ORMA_FILTER_PATTERNS_MAX)
		return orma_tool_usage_error("an option is given more than %d times",
					     ORMA_FILTER_PATTERNS_MAX);
	list->patterns[list->count++] = pattern;
	return -1;
}

static int add_kind(struct orma_event_filter *filter, const char *value)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(kind_names); i++)
		if (strcmp(value, kind_names[i]) == 0) {
			filter->kinds |= 1u << i;
			return -1;
		}
	return orma_tool_usage_error("\"%s\" is not a kind of events: slice, instant, counter, "
				     "state, kernel or log",
				     value);
}

static int take_least(struct orma_event_filter *filter, const char *value)
{
	struct orma_time_limit limit;
	if (!orma_time_limit_parse(value, &limit) || limit.base != ORMA_TIME_AFTER_BEGIN ||
	    limit.ns > INT64_MAX)
		return orma_tool_usage_error("\"%s\" is not a time; try 5ms", value);
	filter->least_ns = (int64_t)limit.ns;
	return -1;
}

static int take_limit(struct orma_time_limit *limit, const char *value)
{
	return orma_time_limit_parse(value, limit)
		       ? -1
		       : orma_tool_usage_error("\"%s\" is not a time like 1.5s, 200ms, -3s (before "
					       "the end) or @NANOSECONDS",
					       value);
}

int orma_event_filter_take(struct orma_event_filter *filter, int id, char *value)
{
	switch (id) {
	case 'e':
		return add_pattern(&filter->names, value);
	case 'c':
		return add_pattern(&filter->categories, value);
	case 't':
		return add_pattern(&filter->threads, value);
	case 'p':
		return add_pattern(&filter->processes, value);
	case ORMA_EVENT_OPTION_KIND:
		return add_kind(filter, value);
	case ORMA_EVENT_OPTION_LEAST:
		return take_least(filter, value);
	case ORMA_SELECT_FROM:
	case ORMA_SELECT_TO:
		return take_limit(id == ORMA_SELECT_FROM ? &filter->from : &filter->to, value);
	default:
		return -2;
	}
}
