/* SPDX-License-Identifier: Apache-2.0
 * on_track_test.c - events on tracks other than the thread's, counters, states, and how a config changes
 * events.
 */
#include <orma/orma.h>
#include <stdio.h>
#include <stdlib.h>

#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/track_limits.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG(track_event)                                                                        \
	"buffers { size_kb: 65536 } data_sources { config { name: \"track_event\" "                \
	"track_event_config { " track_event " } } }"

static struct packets packets;

static void finish(struct orma_session *session)
{
	session_finish(session, &packets);
	orma_shutdown();
}

/* Returns the n-th event of a type; the test fails if there is none. */
static const struct orma_pb_track_event *event_at(int type, size_t n)
{
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_event *event = packets.list.items[i]->track_event;

		if (event && event->type == type && n-- == 0)
			return event;
	}
	orma_test_fail(__FILE__, __LINE__, "no event of type %d", type);
	return NULL;
}

static size_t count_resets(void)
{
	size_t resets = 0;

	for (size_t i = 0; i < packets.list.count; i++)
		resets += packets.list.items[i]->trace_packet_defaults != NULL;
	return resets;
}

/* True when the sequence has described the track before the packet. */
static bool is_described(size_t before, uint64_t uuid)
{
	for (size_t i = before; i-- > 0;) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		if (packet->track_descriptor && packet->track_descriptor->uuid == uuid)
			return true;
		if (packet->trace_packet_defaults)
			return false;
	}
	return false;
}

ORMA_TEST(an_event_is_on_the_track_that_it_names_and_described_before)
{
	static struct orma_track registered = {.name = "registered"};
	const struct orma_track parent = {.name = "parent"},
				child = {.name = "child", .parent = &parent};
	struct orma_session *session = session_start_events(CONFIG(""));
	size_t descriptors = 0;

	CHECK_INT(orma_track_register(&registered), 0);
	for (int i = 0; i < 3; i++) {
		ORMA_INSTANT(gfx, "event", ORMA_ON(&child));
		ORMA_INSTANT(gfx, "event", ORMA_ON(&registered), "key", i);
		ORMA_INSTANT(gfx, "event");
	}
	finish(session);
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		descriptors += packet->track_descriptor != NULL;
		if (packet->track_event && orma_pb_track_event_has_track_uuid(packet->track_event))
			CHECK(is_described(i, packet->track_event->track_uuid));
	}
	CHECK_INT(descriptors, 5);
	CHECK(event_at(3, 0)->track_uuid == orma_track_uuid(&child));
	CHECK(event_at(3, 4)->track_uuid == orma_track_uuid(&registered));
	CHECK(!orma_pb_track_event_has_track_uuid(event_at(3, 8)));
	packets_done(&packets);
}

ORMA_TEST(ten_thousand_tracks_are_described_whenever_they_have_to_be)
{
	enum { COUNT = 10000 };
	struct orma_session *session = session_start_events(CONFIG(""));
	size_t found = 0;

	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= COUNT; i++) {
			const struct orma_track track = {.name = "request", .id = i << 32};

			ORMA_INSTANT(gfx, "event", ORMA_ON(&track));
			/* More than the shared memory holds. */
			if (i % 500 == 0)
				CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
		}
	}
	finish(session);
	/* The last description of a track is near: look back no further than the last reset. */
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_event *event = packets.list.items[i]->track_event;

		if (!event)
			continue;
		found++;
		if (found % 97 == 0)
			CHECK(is_described(i, event->track_uuid));
	}
	CHECK_INT(found, 2 * COUNT);
	CHECK(count_resets() > 2);
	CHECK(count_resets() < 10);
	packets_done(&packets);
}

ORMA_TEST(incremental_counters_are_written_as_differences_of_what_is_handed_in)
{
	static const struct orma_track integers = {
		.kind = ORMA_TRACK_COUNTER, .name = "integers", .is_incremental = true};
	static const struct orma_track doubles = {.kind = ORMA_TRACK_COUNTER,
						  .name = "doubles",
						  .is_incremental = true,
						  .root = ORMA_TRACK_OF_THREAD};
	static const struct orma_track plain = {.kind = ORMA_TRACK_COUNTER, .name = "plain"};
	struct orma_session *session = session_start_events(CONFIG(""));

	ORMA_COUNTER(gfx, "", 100, ORMA_ON(&integers));
	ORMA_COUNTER(gfx, "", 90, ORMA_ON(&integers));
	ORMA_COUNTER(gfx, "", INT64_MIN, ORMA_ON(&integers));
	ORMA_COUNTER(gfx, "", INT64_MAX, ORMA_ON(&integers));
	ORMA_COUNTER(gfx, "", 1.5, ORMA_ON(&doubles));
	ORMA_COUNTER(gfx, "", 4.0, ORMA_ON(&doubles));
	ORMA_COUNTER(gfx, "", 7, ORMA_ON(&plain));
	ORMA_COUNTER(gfx, "", 7, ORMA_ON(&plain));
	finish(session);
	CHECK_INT(event_at(4, 0)->counter_value, 100);
	CHECK_INT(event_at(4, 1)->counter_value, -10);
	CHECK((uint64_t)event_at(4, 2)->counter_value == (uint64_t)INT64_MIN - 90);
	CHECK_INT(event_at(4, 3)->counter_value, -1);
	CHECK(event_at(4, 4)->double_counter_value == 1.5);
	CHECK(event_at(4, 5)->double_counter_value == 2.5);
	CHECK_INT(event_at(4, 7)->counter_value, 7);
	packets_done(&packets);
}

ORMA_TEST(states_have_a_track_of_their_name_or_the_one_that_they_name)
{
	static const struct orma_track mode = {.kind = ORMA_TRACK_STATE, .name = "mode", .id = 5};
	const struct orma_track power = {.kind = ORMA_TRACK_STATE, .name = "power"};
	struct orma_session *session = session_start_events(CONFIG(""));

	ORMA_STATE(gfx, "power", "on");
	ORMA_STATE(gfx, "mode", "idle", ORMA_ON(&mode));
	finish(session);
	CHECK(event_at(5, 0)->track_uuid == orma_track_uuid(&power));
	CHECK(event_at(5, 1)->track_uuid == orma_track_uuid(&mode));
	packets_done(&packets);
}

ORMA_TEST(categories_that_events_name_are_judged_by_the_config)
{
	struct orma_session *session = session_start_events(CONFIG(
		"disabled_categories: \"*\" enabled_categories: \"net.*\" enabled_tags: \"on\""));
	static const struct orma_category tagged = {.name = "sys.all", .tags = "x,on"},
					  untagged = {.name = "sys.one", .tags = "x"};
	static const char *const names[] = {"net.dns", "disk", "net.tcp", "gfx"};
	size_t types[8] = {0};

	CHECK(!ORMA_IS_ENABLED(gfx));
	CHECK(ORMA_IS_ENABLED(dynamic));
	for (int i = 0; i < 400; i++)
		ORMA_INSTANT(dynamic, "event", ORMA_CATEGORY(names[i % 4]));
	for (int i = 0; i < 4; i++) {
		/* The slice of a category that is not enabled has no end in the trace either. */
		ORMA_BEGIN(dynamic, "slice", ORMA_CATEGORY("net.all"));
		ORMA_BEGIN(dynamic, "slice", ORMA_CATEGORY(names[i]));
		ORMA_END(dynamic);
		ORMA_END(dynamic, ORMA_CATEGORY("net.all"));
		ORMA_SCOPE(dynamic, "scope", ORMA_CATEGORY(names[i]));
	}
	ORMA_INSTANT(dynamic, "event without a category");
	ORMA_BEGIN(dynamic, "slice without a category");
	ORMA_END(dynamic);
	ORMA_COUNTER(dynamic, "counter without a category", 5);
	ORMA_INSTANT(dynamic, "event of none", ORMA_CATEGORY(NULL));
	ORMA_INSTANT(dynamic, "event of none", ORMA_CATEGORY_OF(NULL));
	ORMA_INSTANT(dynamic, "event of a category with tags", ORMA_CATEGORY_OF(&tagged));
	ORMA_INSTANT(dynamic, "event of a category with tags", ORMA_CATEGORY_OF(&untagged));
	finish(session);
	CHECK(!ORMA_IS_ENABLED(dynamic));
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_event *event = packets.list.items[i]->track_event;

		if (!event)
			continue;
		types[event->type]++;
		if (event->type == ORMA_EVENT_END)
			continue;
		CHECK_INT(event->categories.count, 1);
		CHECK(event->categories.items[0].size == 7);
	}
	CHECK_INT(types[ORMA_EVENT_INSTANT], 201);
	CHECK_INT(types[ORMA_EVENT_BEGIN], 8);
	CHECK_INT(types[ORMA_EVENT_END], 8);
	CHECK_INT(types[ORMA_EVENT_COUNTER], 0);
	packets_done(&packets);
}

ORMA_TEST(a_config_filters_arguments_and_dynamic_names)
{
	struct orma_session *session = session_start_events(
		CONFIG("filter_debug_annotations: true filter_dynamic_event_names: true"));
	const char *secret = "secret";
	size_t filtered = 0, kept = 0;

	for (int i = 0; i < 3; i++) {
		ORMA_INSTANT(gfx, ORMA_DYNAMIC(secret), "key", secret);
		ORMA_INSTANT(gfx, "kept", "key", secret, ORMA_FLOW(1));
	}
	finish(session);
	CHECK_INT(event_at(3, 5)->flow_ids.count, 1);
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		if (packet->track_event)
			CHECK_INT(packet->track_event->debug_annotations.count, 0);
		for (size_t j = 0;
		     packet->interned_data && j < packet->interned_data->event_names.count; j++) {
			struct orma_str name = packet->interned_data->event_names.items[j]->name;

			filtered += orma_base_str_is(name, "FILTERED");
			kept += orma_base_str_is(name, "kept");
			CHECK(!orma_base_str_is(name, secret));
		}
	}
	CHECK_INT(filtered, 1);
	CHECK_INT(kept, 1);
	packets_done(&packets);
}

/* The sum of the deltas is the CPU time of the thread at its last event. */
static uint64_t thread_time(size_t *ret_count, size_t *ret_zeros)
{
	uint64_t sum = 0;

	*ret_count = *ret_zeros = 0;
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_event *event = packets.list.items[i]->track_event;

		if (!event || event->extra_counter_values.count == 0)
			continue;
		CHECK_INT(event->extra_counter_values.count, 1);
		sum += (uint64_t)event->extra_counter_values.items[0];
		(*ret_count)++;
		*ret_zeros += event->extra_counter_values.items[0] == 0;
	}
	return sum;
}

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

ORMA_TEST(the_time_of_a_thread_is_beside_its_events_and_adds_up)
{
	static const struct orma_track other = {.name = "other"};
	struct orma_session *session =
		session_start_events(CONFIG("enable_thread_time_sampling: true"));
	uint64_t before_ns = cpu_ns(), after_ns, sum;
	size_t count, zeros;

	for (int i = 0; i < 10; i++) {
		ORMA_SCOPE(gfx, "slice");
		ORMA_INSTANT(gfx, "not on the thread's track", ORMA_ON(&other));
		ORMA_COUNTER(gfx, "neither", i);
	}
	after_ns = cpu_ns();
	finish(session);
	sum = thread_time(&count, &zeros);
	CHECK_INT(count, 20);
	CHECK(sum > before_ns && sum < after_ns);
	packets_done(&packets);
}

ORMA_TEST(the_time_of_a_thread_is_read_no_more_often_than_asked_for)
{
	struct orma_session *session =
		session_start_events(CONFIG("enable_thread_time_sampling: true "
					    "thread_time_subsampling_ns: 3600000000000"));
	size_t count, zeros;

	for (int i = 0; i < 10; i++)
		ORMA_INSTANT(gfx, "event");
	finish(session);
	CHECK(thread_time(&count, &zeros) > 0);
	CHECK_INT(count, 10);
	CHECK_INT(zeros, 9);
	packets_done(&packets);
}

static sem_t is_cleared;

static void on_clear(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	sem_post(&is_cleared);
}

ORMA_TEST(a_slice_that_is_open_when_state_is_cleared_has_its_end)
{
	static const struct orma_track sums = {
		.kind = ORMA_TRACK_COUNTER, .name = "sums", .is_incremental = true};
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "test.source",
							 .on_clear_incremental_state = on_clear};
	struct orma_data_source *source;
	struct orma_session *session;

	init_in_process();
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	session = session_start(CONFIG("") "data_sources { config { name: \"test.source\" } } "
					   "incremental_state_config { clear_period_ms: 20 }");
	ORMA_BEGIN(gfx, "slice");
	ORMA_COUNTER(gfx, "", 100, ORMA_ON(&sums));
	/* Wait for a clearing of incremental state that comes after these events. */
	while (sem_trywait(&is_cleared) == 0)
		;
	wait_for(&is_cleared);
	/* The callback of one before may have come late. */
	wait_for(&is_cleared);
	/* A chunk that has a state keeps it, and on a slow machine it has a second one by now; a flush ends the chunk. */
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	ORMA_END(gfx);
	ORMA_COUNTER(gfx, "", 150, ORMA_ON(&sums));
	finish(session);
	CHECK(count_resets() > 1);
	event_at(2, 0);
	/* The value is absolute again, because the reader has forgotten the last one. */
	CHECK_INT(event_at(4, 0)->counter_value, 100);
	CHECK_INT(event_at(4, 1)->counter_value, 150);
	packets_done(&packets);
}
