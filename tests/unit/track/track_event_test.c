/* SPDX-License-Identifier: Apache-2.0
 * track_event_test.c - events from the macros to decoded packets, through the service of this
 * process.
 */
#include <orma/track_event.h>
#include <pthread.h>
#include <unistd.h>

#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");
ORMA_CATEGORY_DEFINE(net, "net", NULL);
ORMA_CATEGORY_DEFINE_TAGGED(noisy, "noisy", "Off by default", "slow,x");

#define CONFIG(track_event)                                                                        \
	"buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" "                 \
	"track_event_config { " track_event " } } }"

/* --- what a reader of the trace makes of the packets of one sequence ---------------------------
 */

struct event {
	uint64_t ts;
	int type;
	const char *category, *name;
	uint64_t track;
	int64_t value;
	double number;
};

struct reader {
	uint32_t sequence; /* 0 = the first with events */
	uint64_t clock_ns;
	uint64_t default_track;
	const char *names[64], *categories[64];
	int resets, threads, processes, counters;
	uint64_t last_boot_ns;
	struct event events[4096];
	size_t count;
};

static const char *text(struct packets *packets, struct orma_str str)
{
	return orma_base_arena_strdup(&packets->arena, str);
}

static void read_state(struct reader *reader, const struct orma_pb_trace_packet *packet)
{
	if (packet->sequence_flags & 1) {
		memset(reader->names, 0, sizeof(reader->names));
		memset(reader->categories, 0, sizeof(reader->categories));
		reader->resets++;
	}
	if (packet->trace_packet_defaults)
		reader->default_track =
			packet->trace_packet_defaults->track_event_defaults->track_uuid;
	if (packet->clock_snapshot && packet->sequence_flags & 1) {
		CHECK_INT(packet->clock_snapshot->clocks.count, 2);
		CHECK_INT(packet->clock_snapshot->clocks.items[0]->clock_id, 6);
		CHECK_INT(packet->clock_snapshot->clocks.items[1]->clock_id, 64);
		CHECK(packet->clock_snapshot->clocks.items[1]->is_incremental);
		reader->clock_ns = packet->clock_snapshot->clocks.items[1]->timestamp;
		CHECK_INT(reader->clock_ns, packet->clock_snapshot->clocks.items[0]->timestamp);
	}
}

static void read_interned(struct reader *reader, struct packets *packets,
			  const struct orma_pb_interned_data *data)
{
	for (size_t i = 0; data && i < data->event_names.count; i++)
		reader->names[data->event_names.items[i]->iid] =
			text(packets, data->event_names.items[i]->name);
	for (size_t i = 0; data && i < data->event_categories.count; i++)
		reader->categories[data->event_categories.items[i]->iid] =
			text(packets, data->event_categories.items[i]->name);
}

static void read_event(struct reader *reader, const struct orma_pb_track_event *event)
{
	struct event *out = &reader->events[reader->count++];

	out->ts = reader->clock_ns;
	out->type = event->type;
	out->name = orma_pb_track_event_has_name_iid(event) ? reader->names[event->name_iid] : NULL;
	out->category = event->category_iids.count
				? reader->categories[event->category_iids.items[0]]
				: NULL;
	out->track = orma_pb_track_event_has_track_uuid(event) ? event->track_uuid
							       : reader->default_track;
	out->value = event->counter_value;
	out->number = event->double_counter_value;
}

static void read_packet(struct reader *reader, struct packets *packets,
			const struct orma_pb_trace_packet *packet)
{
	if (!(packet->sequence_flags & 3))
		return;
	if (reader->sequence == 0)
		reader->sequence = packet->trusted_packet_sequence_id;
	if (packet->trusted_packet_sequence_id != reader->sequence)
		return;
	read_state(reader, packet);
	if (!(packet->sequence_flags & 1))
		reader->clock_ns += packet->timestamp;
	read_interned(reader, packets, packet->interned_data);
	if (packet->track_descriptor) {
		reader->threads += packet->track_descriptor->thread != NULL;
		reader->processes += packet->track_descriptor->process != NULL;
		reader->counters += packet->track_descriptor->counter != NULL;
	}
	if (packet->track_event)
		read_event(reader, packet->track_event);
}

static struct reader *read_trace(struct packets *packets)
{
	static struct reader reader;

	memset(&reader, 0, sizeof(reader));
	for (size_t i = 0; i < packets->list.count; i++)
		read_packet(&reader, packets, packets->list.items[i]);
	return &reader;
}

static void check_event(const struct reader *reader, size_t idx, int type, const char *category,
			const char *name)
{
	const struct event *event = &reader->events[idx];

	CHECK(idx < reader->count);
	CHECK_INT(event->type, type);
	if (category)
		CHECK_STR(event->category, category);
	else
		CHECK(!event->category);
	if (name)
		CHECK_STR(event->name, name);
	else
		CHECK(!event->name);
}

static struct orma_session *start(const char *config)
{
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	return session_start(config);
}

/* --- tests ------------------------------------------------------------------------------------ */

ORMA_TEST(slices_instants_and_counters_arrive_as_they_were_emitted)
{
	struct packets packets = {0};
	struct orma_session *session = start(CONFIG(""));
	struct reader *reader;

	CHECK(ORMA_IS_ENABLED(gfx));
	CHECK(!ORMA_IS_ENABLED(noisy));
	ORMA_BEGIN(gfx, "outer");
	{
		ORMA_SCOPE(net, "inner");
		ORMA_INSTANT(gfx, "now");
	}
	ORMA_END(gfx);
	ORMA_COUNTER(gfx, "fps", 59.5);
	ORMA_COUNTER(gfx, "count", -7);
	ORMA_COUNTER_INT(gfx, "count", INT64_MAX);
	ORMA_INSTANT(noisy, "never");
	session_finish(session, &packets);
	reader = read_trace(&packets);
	CHECK_INT(reader->resets, 1);
	CHECK_INT(reader->threads, 1);
	CHECK_INT(reader->processes, 1);
	CHECK_INT(reader->counters, 2);
	CHECK_INT(reader->count, 8);
	check_event(reader, 0, 1, "gfx", "outer");
	check_event(reader, 1, 1, "net", "inner");
	check_event(reader, 2, 3, "gfx", "now");
	check_event(reader, 3, 2, NULL, NULL);
	check_event(reader, 4, 2, NULL, NULL);
	check_event(reader, 5, 4, NULL, NULL);
	CHECK(reader->events[5].number == 59.5);
	CHECK_INT(reader->events[6].value, -7);
	CHECK(reader->events[7].value == INT64_MAX);
	CHECK(reader->events[6].track == reader->events[7].track);
	CHECK(reader->events[5].track != reader->events[6].track);
	CHECK(reader->events[0].track == reader->events[4].track);
	for (size_t i = 1; i < reader->count; i++)
		CHECK(reader->events[i].ts >= reader->events[i - 1].ts);
	packets_done(&packets);
	orma_shutdown();
	CHECK(!ORMA_IS_ENABLED(gfx));
}

ORMA_TEST(a_thousand_events_declare_their_names_once)
{
	struct packets packets = {0};
	struct orma_session *session = start(CONFIG(""));
	struct reader *reader;

	for (int i = 0; i < 1000; i++)
		ORMA_INSTANT(gfx, "tick");
	session_finish(session, &packets);
	reader = read_trace(&packets);
	CHECK_INT(reader->resets, 1);
	CHECK_INT(reader->count, 1000);
	check_event(reader, 999, 3, "gfx", "tick");
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(an_end_whose_begin_was_not_recorded_is_not_emitted)
{
	struct packets packets = {0};
	struct orma_session *session;
	struct reader *reader;

	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	ORMA_BEGIN(gfx, "before");
	{
		ORMA_SCOPE(gfx, "scope before");
		session = session_start(CONFIG(""));
		ORMA_INSTANT(gfx, "inside");
	}
	ORMA_END(gfx);
	session_finish(session, &packets);
	reader = read_trace(&packets);
	CHECK_INT(reader->count, 1);
	check_event(reader, 0, 3, "gfx", "inside");
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(two_sessions_get_the_categories_that_each_wants)
{
	struct packets first_packets = {0}, second_packets = {0};
	struct orma_session *first = start(CONFIG("enabled_categories: \"gfx\" "
						  "disabled_categories: \"*\"")),
			    *second = session_start(CONFIG("enabled_categories: \"n*\" "
							   "disabled_categories: \"*\""));
	struct reader *reader;

	ORMA_INSTANT(gfx, "for the first");
	ORMA_INSTANT(net, "for the second");
	ORMA_INSTANT(noisy, "also for the second");
	session_finish(first, &first_packets);
	session_finish(second, &second_packets);
	reader = read_trace(&first_packets);
	CHECK_INT(reader->count, 1);
	check_event(reader, 0, 3, "gfx", "for the first");
	reader = read_trace(&second_packets);
	/* "noisy" has a tag that is off by default, and an exact match goes before a pattern. */
	CHECK_INT(reader->count, 1);
	check_event(reader, 0, 3, "net", "for the second");
	packets_done(&first_packets);
	packets_done(&second_packets);
	orma_shutdown();
}

ORMA_TEST(registering_twice_is_refused_and_again_after_a_shutdown_works)
{
	CHECK_INT(orma_track_event_register(), -ENOTCONN);
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_track_event_register(), -EALREADY);
	orma_shutdown();
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	orma_shutdown();
}
