/* SPDX-License-Identifier: Apache-2.0
 * event_filter.h - the options that choose events.
 */
#ifndef ORMA_TOOL_EVENT_FILTER_H
#define ORMA_TOOL_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/option.h"
#include "tool/trace/packet_select.h"

enum { ORMA_FILTER_PATTERNS_MAX = 16 };

/* Texts of options; one of them has to fit, and without any all do. */
struct orma_filter_list {
	const char *patterns[ORMA_FILTER_PATTERNS_MAX];
	size_t count;
};

/* {0} chooses all. */
struct orma_event_filter {
	struct orma_filter_list names, categories, threads, processes;
	unsigned kinds; /* bits by enum orma_event_kind; 0 = all */
	int64_t least_ns;
	struct orma_time_limit from, to;
};

/* Numbers of the options; the command's own begin at the last. */
enum {
	ORMA_EVENT_OPTION_KIND = ORMA_SELECT_FIRST_FREE,
	ORMA_EVENT_OPTION_LEAST,
	ORMA_EVENT_OPTION_FIRST_FREE,
};

/* Rows of the command's table. */
#define ORMA_EVENT_FILTER_OPTIONS                                                                  \
	{'e', "name", "PATTERN",                                                                   \
	 "Print only events with such a name; * and ? stand for other characters. This and the "   \
	 "next three options may be repeated.",                                                    \
	 NULL},                                                                                    \
		{'c', "category", "PATTERN", "Print only events with such a category.", NULL},     \
		{'t', "thread", "THREAD",                                                          \
		 "Print only events of this thread: an id, or a pattern for names.", NULL},        \
		{'p', "process", "PROCESS",                                                        \
		 "Print only events of this process: an id, or a pattern for names.", NULL},       \
		{ORMA_EVENT_OPTION_KIND, "kind", "KIND",                                           \
		 "Print only events of this kind: slice, instant, counter, state, kernel or log. " \
		 "May be repeated.",                                                               \
		 "slice instant counter state kernel log"},                                        \
		ORMA_SELECT_TIME_OPTIONS,                                                          \
	{                                                                                          \
		ORMA_EVENT_OPTION_LEAST, "longer", "TIME",                                         \
			"Print only slices and states that take at least TIME: 5ms, 20us.", NULL   \
	}

/* Takes one of these options. Returns -1, the exit status after a message, or -2 for another option. */
int orma_event_filter_take(struct orma_event_filter *filter, int id, char *value);

#endif
