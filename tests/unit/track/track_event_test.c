/* SPDX-License-Identifier: Apache-2.0
 * track_event_test.c - events from the macros to decoded packets, through the service of this
 * process.
 */
#include <orma/track_event.h>
#include <pthread.h>
#include <unistd.h>

#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");
ORMA_CATEGORY_DEFINE(net, "net", NULL);
ORMA_CATEGORY_DEFINE_TAGGED(noisy, "noisy", "Off by default", "slow,x");

#define CONFIG(track_event)                                                                        \
	"buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" "                 \
	"track_event_config { " track_event " } } }"

/* --- one sequence as a reader of the trace sees it ---------------------------
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

/* --- tests ------------------------------------------------------------------------------------ */

ORMA_TEST(slices_instants_and_counters_arrive_as_they_were_emitted)
{
	struct packets packets = {0};
	struct orma_session *session = session_start_events(CONFIG(""));
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
	ORMA_COUNTER(gfx, "count", INT64_MAX);
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
	struct orma_session *session = session_start_events(CONFIG(""));
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
	struct orma_session *first = session_start_events(CONFIG("enabled_categories: \"gfx\" "
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
	/* "noisy" has a tag that is disabled by default. An exact match precedes a pattern. */
	CHECK_INT(reader->count, 1);
	check_event(reader, 0, 3, "net", "for the second");
	packets_done(&first_packets);
	packets_done(&second_packets);
	orma_shutdown();
}

ORMA_TEST(registering_again_is_harmless_and_works_after_a_shutdown)
{
	CHECK_INT(orma_track_event_register(), -ENOTCONN);
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_track_event_register(), 0);
	orma_shutdown();
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	orma_shutdown();
}

/* --- losses ----------------------------------------------------------------------------------- */

static sem_t is_blocked, go_on, is_flushed, may_stop, is_running;

/* While it blocks, nobody empties the shared memory. */
static enum orma_completion block(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	sem_post(&is_blocked);
	wait_for(&go_on);
	return ORMA_COMPLETE;
}

static void *flush_and_read(void *ctx)
{
	struct orma_session *session =
		session_start(CONFIG("") "data_sources { config { name: \"test.source\" } }");

	sem_post(&is_running);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	sem_post(&is_flushed);
	wait_for(&may_stop);
	session_finish(session, ctx);
	return NULL;
}

/* Sums up the instants "events lost" of a category. */
static uint64_t lost_events(const struct packets *packets, const char *category)
{
	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_track_event *event = packets->list.items[i]->track_event;

		if (event && event->categories.count == 1 &&
		    orma_base_str_is(event->categories.items[0], "orma.loss") &&
		    event->debug_annotations.count == 3 &&
		    orma_base_str_is(event->debug_annotations.items[0]->string_value, category))
			return event->debug_annotations.items[1]->uint_value;
	}
	return 0;
}

ORMA_TEST(a_loss_takes_whole_slices_and_an_end_without_room_is_written_later)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options), .name = "test.source", .on_flush = block};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct reader *reader;
	struct timespec time;
	uint64_t end_ns;
	pthread_t thread;
	size_t instants;

	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	CHECK_INT(pthread_create(&thread, NULL, flush_and_read, &packets), 0);
	wait_for(&is_running);
	wait_for(&is_blocked);
	ORMA_BEGIN(gfx, "outer");
	ORMA_BEGIN(gfx, "inner");
	/* Each counter event takes 25 bytes; together they take more than 256 KiB. */
	for (int i = 0; i < 30000; i++)
		ORMA_COUNTER(net, "filler", INT64_MAX);
	ORMA_BEGIN(gfx, "lost");
	ORMA_END(gfx);
	ORMA_END(gfx);
	clock_gettime(CLOCK_BOOTTIME, &time);
	end_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	ORMA_END(gfx);
	sem_post(&go_on);
	wait_for(&is_flushed);
	ORMA_INSTANT(gfx, "after");
	sem_post(&may_stop);
	pthread_join(thread, NULL);
	/* Leaves out the filler: the reader holds 4096 events. */
	for (size_t i = instants = 0; i < packets.list.count; i++) {
		struct orma_pb_trace_packet *packet = packets.list.items[i];

		if (packet->track_event && packet->track_event->type == ORMA_EVENT_COUNTER) {
			instants++;
			packet->track_event = NULL;
		}
	}
	CHECK(instants > 1000 && instants < 30000);
	reader = read_trace(&packets);
	CHECK_INT(reader->resets, 2);
	CHECK_INT(reader->count, 7);
	check_event(reader, 0, 1, "gfx", "outer");
	check_event(reader, 1, 1, "gfx", "inner");
	check_event(reader, 2, 2, NULL, NULL);
	check_event(reader, 3, 2, NULL, NULL);
	check_event(reader, 4, 3, NULL, "events lost");
	check_event(reader, 5, 3, NULL, "events lost");
	check_event(reader, 6, 3, "gfx", "after");
	CHECK_INT(lost_events(&packets, "net"), 30000 - instants);
	CHECK_INT(lost_events(&packets, "gfx"), 1);
	CHECK(reader->events[2].ts <= end_ns);
	CHECK(reader->events[3].ts >= end_ns);
	CHECK(reader->events[4].ts > reader->events[3].ts);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(timestamps_come_in_the_unit_and_clock_that_the_config_asks_for)
{
	struct packets packets = {0};
	struct orma_session *session =
		session_start_events(CONFIG("timestamp_unit_multiplier: 1000 "
					    "disable_incremental_timestamps: true"));
	const struct orma_pb_clock_snapshot *snapshot = NULL;
	uint64_t before_us, event_us = 0;
	struct timespec time;

	clock_gettime(CLOCK_BOOTTIME, &time);
	before_us = (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000;
	ORMA_INSTANT(gfx, "now");
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		if (packet->sequence_flags & 1 && packet->clock_snapshot)
			snapshot = packet->clock_snapshot;
		if (packet->track_event)
			event_us = packet->timestamp;
	}
	CHECK(snapshot);
	CHECK_INT(snapshot->clocks.items[1]->clock_id, 65);
	CHECK_INT(snapshot->clocks.items[1]->unit_multiplier_ns, 1000);
	CHECK(event_us >= before_us && event_us < before_us + 60 * 1000000u);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(names_beyond_the_limit_are_written_out)
{
	static char names[3000][16];
	static struct orma_call_site sites[3000];
	struct packets packets = {0};
	struct orma_session *session = session_start_events(CONFIG(""));
	size_t found = 0;

	for (int i = 0; i < 3000; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		sites[i] = (struct orma_call_site){.category = &orma_category_gfx,
						   .name = names[i],
						   .type = ORMA_EVENT_INSTANT};
		orma_event_emit(&sites[i]);
	}
	sites[2999].type = ORMA_EVENT_COUNTER;
	orma_event_emit_counter_double(&sites[2999], 1.5);
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_event *event = packets.list.items[i]->track_event;

		found += event && orma_pb_track_event_has_name(event);
	}
	CHECK(found >= 3000 - 2048);
	packets_done(&packets);
	orma_shutdown();
}

static void emit_every_kind(int count)
{
	for (int i = 0; i < count; i++) {
		struct orma_scope scope = {&orma_category_gfx, 0};
		static struct orma_key keys[1];
		static struct orma_call_site site = {.category = &orma_category_gfx,
						     .name = "scope",
						     .type = ORMA_EVENT_BEGIN,
						     .keys = keys,
						     .key_count = 1};
		const struct orma_item items[] = {orma_item_text("number", true),
						  orma_item_int(i, false)};

		scope.instances = orma_event_scope_begin(&site, items, 2);
		/* The end goes only to the instances that have the begin. */
		CHECK_INT(scope.instances,
			  __atomic_load_n(&orma_category_gfx.enabled, __ATOMIC_RELAXED));
		ORMA_BEGIN(gfx, "slice");
		ORMA_INSTANT(gfx, "instant", "number", i);
		ORMA_INSTANT(gfx, "instant");
		ORMA_COUNTER(gfx, "integer", i);
		ORMA_COUNTER(gfx, "double", 0.5 * i);
		ORMA_END(gfx);
		orma_event_scope_end(&scope);
	}
}

ORMA_TEST(a_session_that_outlives_an_earlier_one_goes_on_with_every_kind_of_event)
{
	struct packets packets = {0}, earlier = {0};
	struct orma_session *first = session_start_events(CONFIG("")),
			    *second = session_start(CONFIG(""));
	int types[ORMA_EVENT_STATE + 1] = {0};
	const struct event *event;
	struct reader *reader;

	CHECK_INT(__atomic_load_n(&orma_category_gfx.enabled, __ATOMIC_RELAXED), 3);
	emit_every_kind(100);
	session_finish(first, &earlier);
	packets_done(&earlier);
	CHECK_INT(__atomic_load_n(&orma_category_gfx.enabled, __ATOMIC_RELAXED), 2);
	emit_every_kind(100);
	session_finish(second, &packets);
	reader = read_trace(&packets);
	event = reader->events;
	CHECK_INT(reader->count, 200 * 8);
	for (size_t i = 0; i < reader->count; i++) {
		CHECK(i == 0 || event[i].ts >= event[i - 1].ts);
		types[event[i].type]++;
	}
	CHECK_INT(types[ORMA_EVENT_BEGIN], 400);
	CHECK_INT(types[ORMA_EVENT_END], 400);
	CHECK_INT(types[ORMA_EVENT_INSTANT], 400);
	CHECK_INT(types[ORMA_EVENT_COUNTER], 400);
	packets_done(&packets);
	orma_shutdown();
}
