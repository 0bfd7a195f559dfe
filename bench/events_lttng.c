/* SPDX-License-Identifier: Apache-2.0
 * events_lttng.c - the same events with LTTng-UST, for a session that records orma_bench:*.
 *
 * A begin and an end are two events without fields. A counter is an event with a double. An event
 * with a dynamic name is an event with a string, because the names of LTTng's events are fixed.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events_lttng_provider.h"

#include "event_loop.h"

static const char *title = "a title of 24 bytes long";
static const char *name = "a name of the moment";

static void disabled(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		lttng_ust_tracepoint(orma_bench, off);
}

static void instant(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		lttng_ust_tracepoint(orma_bench, instant);
}

static void slice(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		lttng_ust_tracepoint(orma_bench, begin);
		lttng_ust_tracepoint(orma_bench, end);
	}
}

static void two_integers(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		lttng_ust_tracepoint(orma_bench, integers, i, 1000);
}

static void string(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		lttng_ust_tracepoint(orma_bench, string, title);
}

static void counter(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		lttng_ust_tracepoint(orma_bench, counter, 0.5 * i);
}

static void dynamic_name(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		lttng_ust_tracepoint(orma_bench, string, name);
}

int main(void)
{
	static const struct event_kind kinds[] = {
		{"disabled", disabled, 1, 0},
		{"instant", instant, 1, 0},
		{"begin and end, each", slice, 2, 0},
		{"instant with two integers", two_integers, 1, 0},
		{"instant with a string", string, 1, 0},
		{"counter", counter, 1, 0},
		{"instant with a dynamic name", dynamic_name, 1, 0},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		event_report_warm(&kinds[i], 1);
		if (i == 0)
			continue;
		event_report_warm(&kinds[i], 2);
		event_report_warm(&kinds[i], 4);
		event_report_cold(&kinds[i]);
	}
	event_report_tail(&kinds[1]);
	return 0;
}
