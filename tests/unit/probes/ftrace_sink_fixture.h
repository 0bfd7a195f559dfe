/* SPDX-License-Identifier: Apache-2.0
 * ftrace_sink_fixture.h - a session with one sink over made-up pages.
 */
#ifndef ORMA_TESTS_FTRACE_SINK_FIXTURE_H
#define ORMA_TESTS_FTRACE_SINK_FIXTURE_H

#include "ftrace_fixture.h"

static struct test_session session;
static struct test_pages pages;

#define OPTIONS(...) ((struct orma_ftrace_sink_options){__VA_ARGS__})

/* Opens the session over the made-up tracefs, with a sink that wants events: "group/name group/name". */
static inline struct orma_ftrace_sink *begin(struct orma_ftrace_sink_options options,
					     const char *events)
{
	char names[256], *save = NULL;

	open_session(&session);
	struct orma_ftrace_sink *sink = add_sink(&session, options);
	snprintf(names, sizeof(names), "%s", events);
	for (char *group = strtok_r(names, " ", &save); group; group = strtok_r(NULL, " ", &save)) {
		char *name = strchr(group, '/');
		*name++ = '\0';
		want(&session, sink, group, name);
	}
	return sink;
}

/* The bundles as text, without what they all have. */
static inline const char *events_of(size_t at)
{
	struct orma_pb_ftrace_event_bundle *bundle = bundle_at(at);
	CHECK_INT(bundle->cpu, 2);
	bundle->base.desc = &orma_pb_ftrace_event_bundle_desc;
	return fake_text(bundle);
}

static inline bool has(const char *text, const char *part)
{
	if (!strstr(text, part))
		orma_test_fail(__FILE__, __LINE__, "%s is not in %s", part, text);
	return true;
}

#endif
