/* SPDX-License-Identifier: Apache-2.0
 * pending_ends_test.c - ends of slices that found no room: their items, how many of them are kept, and how
 * lost items are reported.
 */
#include <orma/track.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "base/alloc.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/commit_event.h"
#include "track/interned_name.h"
#include "track/loss.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG                                                                                     \
	"buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } } "             \
	"data_sources { config { name: \"test.source\" } }"

static sem_t is_blocked, go_on, is_flushed, may_stop, is_running;
static struct packets packets;
static const struct orma_pb_track_event *ends[1024];
static uint64_t times[1024];
static size_t end_count;

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
	struct orma_session *session = session_start(CONFIG);

	(void)ctx;
	sem_post(&is_running);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	sem_post(&is_flushed);
	wait_for(&may_stop);
	session_finish(session, &packets);
	return NULL;
}

static void learn_ends(void)
{
	uint64_t now_ns = 0;

	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		if (packet->sequence_flags & 1)
			now_ns = packet->timestamp;
		else if (!orma_pb_trace_packet_has_timestamp_clock_id(packet))
			now_ns += packet->timestamp;
		if (packet->track_event && packet->track_event->type == ORMA_EVENT_END) {
			times[end_count] = orma_pb_trace_packet_has_timestamp_clock_id(packet)
						   ? packet->timestamp
						   : now_ns;
			ends[end_count++] = packet->track_event;
		}
	}
}

/* Emits `begin` while there is room and `end` when there is none. Keeps the ends that arrived. */
static void run(void (*begin)(void), void (*end)(void))
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options), .name = "test.source", .on_flush = block};
	struct orma_data_source *source;
	pthread_t thread;

	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	CHECK_INT(pthread_create(&thread, NULL, flush_and_read, NULL), 0);
	wait_for(&is_running);
	wait_for(&is_blocked);
	begin();
	for (int i = 0; i < 30000; i++)
		ORMA_COUNTER(gfx, "filler", INT64_MAX);
	end();
	sem_post(&go_on);
	wait_for(&is_flushed);
	ORMA_INSTANT(gfx, "after");
	sem_post(&may_stop);
	pthread_join(thread, NULL);
	learn_ends();
}

static void done(void)
{
	packets_done(&packets);
	orma_shutdown();
}

static const struct orma_pb_debug_annotation *argument(size_t end, size_t idx, const char *key)
{
	const struct orma_pb_debug_annotation *argument;

	CHECK(end < end_count && idx < ends[end]->debug_annotations.count);
	argument = ends[end]->debug_annotations.items[idx];
	CHECK(orma_base_str_is(argument->name, key));
	return argument;
}

/* --- their items -------------------------------------------------------------------------- */

static const struct orma_track request = {.name = "request"};

static void begin_four(void)
{
	for (int i = 0; i < 3; i++)
		ORMA_BEGIN(gfx, "slice");
	ORMA_BEGIN(gfx, "request", ORMA_ON(&request));
}

static void end_four_with_items(void)
{
	char text[] = "gone soon", large[2000];

	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	ORMA_END(gfx, "n", 7, "text", text, "dict", ORMA_DICT("in", 2.5), ORMA_TERMINATING_FLOW(3),
		 ORMA_FIELD_VARINT(1000, 5));
	memset(text, '?', sizeof(text) - 1);
	ORMA_END(gfx, "large", large, "n", 8);
	ORMA_END(gfx, "when", "then", ORMA_AT_CLOCK(123456, 6));
	ORMA_END(gfx, ORMA_ON(&request), "result", -1);
}

ORMA_TEST(pending_ends_keep_their_items)
{
	const struct orma_pb_debug_annotation *dict;

	run(begin_four, end_four_with_items);
	CHECK_INT(end_count, 4);
	CHECK_INT(argument(0, 0, "n")->int_value, 7);
	CHECK(orma_base_str_is(argument(0, 1, "text")->string_value, "gone soon"));
	dict = argument(0, 2, "dict");
	CHECK_INT(dict->dict_entries.count, 1);
	CHECK(orma_base_str_is(dict->dict_entries.items[0]->name, "in"));
	CHECK_INT(ends[0]->terminating_flow_ids.count, 1);
	CHECK_INT(ends[1]->debug_annotations.count, 1);
	CHECK_INT(ends[1]->debug_annotations.items[0]->uint_value, 4);
	CHECK(orma_base_str_is(argument(2, 0, "when")->string_value, "then"));
	CHECK_INT(times[2], 123456);
	CHECK_INT(argument(3, 0, "result")->int_value, -1);
	CHECK(ends[3]->track_uuid == orma_track_uuid(&request));
	done();
}

static void begin_many(void)
{
	for (int i = 0; i < 200; i++)
		ORMA_BEGIN(gfx, "slice");
}

static void end_many(void)
{
	char text[128];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 200; i++)
		ORMA_END(gfx, "number", i, "text", text);
}

ORMA_TEST(many_ends_keep_their_times_and_say_what_they_lost)
{
	size_t whole = 0;

	run(begin_many, end_many);
	CHECK_INT(end_count, 200);
	for (size_t i = 0; i < end_count; i++) {
		CHECK(i == 0 || times[i] > times[i - 1]);
		if (ends[i]->debug_annotations.count == 2) {
			CHECK_INT(argument(i, 0, "number")->int_value, i);
			whole++;
		} else {
			CHECK_INT(ends[i]->debug_annotations.items[0]->uint_value, 4);
		}
	}
	CHECK(whole >= 16 && whole <= ORMA_TRACK_PENDING_ENDS_BYTES / 128);
	done();
}

/* --- bounds ----------------------------------------------------------------------------------- */

static struct orma_track_sequence sequence;

static void add(uint64_t now_ns, uint64_t uuid, const struct orma_item *items, size_t count)
{
	const struct orma_track_event event = {
		.type = ORMA_EVENT_END, .now_ns = now_ns, .items = items, .count = count};
	struct orma_track_lookup lookup;

	orma_track_lookup_init(&lookup, &event);
	lookup.slice_uuid = uuid;
	orma_track_keep_end(&sequence, &event, &lookup);
}

ORMA_TEST(beyond_the_last_slot_ends_join_one_of_their_track_or_are_counted)
{
	const struct orma_item items[] = {orma_item_text("key", true), orma_item_int(1, false)};
	struct orma_track_pending_ends *pending = &sequence.pending_ends;

	for (uint64_t i = 0; i < ORMA_TRACK_PENDING_ENDS_MAX; i++)
		add(100 + i, (i + 1) % ORMA_TRACK_PENDING_ENDS_MAX, items, 2);
	CHECK_INT(pending->count, ORMA_TRACK_PENDING_ENDS_MAX);
	CHECK_INT(pending->grown[ORMA_TRACK_PENDING_ENDS_MAX - 1].uuid, 0);
	CHECK_INT(orma_track_pending_ends_array(pending)->ns, 100);
	CHECK(pending->items_bytes > 0 && pending->items_bytes <= ORMA_TRACK_PENDING_ENDS_BYTES);
	CHECK(pending->grown[0].items && pending->grown[0].lost_items == 0);
	CHECK(!pending->grown[ORMA_TRACK_PENDING_ENDS_MAX - 1].items);
	CHECK_INT(pending->grown[ORMA_TRACK_PENDING_ENDS_MAX - 1].lost_items, 2);
	add(5000, 8, items, 2);
	add(6000, 8, items, 1);
	CHECK_INT(pending->grown[7].ends, 3);
	CHECK_INT(pending->grown[7].ns, 6000);
	CHECK_INT(pending->grown[7].lost_items, 3);
	add(7000, ORMA_TRACK_PENDING_ENDS_MAX + 1, NULL, 0);
	CHECK_INT(sequence.losses[0].events, 1);
	CHECK_STR(orma_track_name_get(sequence.losses[0].name)->text, "(ends)");
	orma_track_pending_ends_done(pending);
	CHECK_INT(pending->count, 0);
	CHECK_INT(pending->items_bytes, 0);
}

ORMA_TEST(ends_of_the_thread_have_a_slot_when_other_tracks_have_taken_the_rest)
{
	struct orma_track_pending_ends *pending = &sequence.pending_ends;
	uint64_t others = ORMA_TRACK_PENDING_ENDS_MAX + 100;

	for (uint64_t uuid = 1; uuid <= others; uuid++)
		add(100 + uuid, uuid, NULL, 0);
	CHECK_INT(pending->count, ORMA_TRACK_PENDING_ENDS_MAX - 1);
	CHECK_INT(sequence.losses[0].events, others - pending->count);
	add(5000, 0, NULL, 0);
	add(6000, 0, NULL, 0);
	CHECK_INT(pending->count, ORMA_TRACK_PENDING_ENDS_MAX);
	CHECK_INT(pending->grown[ORMA_TRACK_PENDING_ENDS_MAX - 1].ends, 2);
	CHECK_INT(sequence.losses[0].events, others - pending->count + 1);
	orma_track_pending_ends_done(pending);
}

ORMA_TEST(without_memory_a_few_ends_have_slots_and_lose_their_items)
{
	const struct orma_item items[] = {orma_item_text("key", true), orma_item_int(1, false)};
	struct orma_track_pending_ends *pending = &sequence.pending_ends;

	orma_base_alloc_fail_nth(1);
	add(1, 0, items, 2);
	CHECK_INT(pending->embedded[0].lost_items, 2);
	orma_base_alloc_fail_nth(0);
	for (uint64_t i = 2; i <= ORMA_TRACK_PENDING_ENDS_EMBEDDED; i++)
		add(i, 0, NULL, 0);
	orma_base_alloc_fail_nth(1);
	add(9, 0, NULL, 0);
	orma_base_alloc_fail_nth(0);
	CHECK_INT(pending->count, ORMA_TRACK_PENDING_ENDS_EMBEDDED);
	CHECK(!pending->grown);
	CHECK_INT(pending->embedded[ORMA_TRACK_PENDING_ENDS_EMBEDDED - 1].ends, 2);
	CHECK_INT(pending->embedded[ORMA_TRACK_PENDING_ENDS_EMBEDDED - 1].ns, 9);
	/* A sequence that is only cleared keeps its pending ends; a new one has none. */
	orma_track_sequence_lost(&sequence, false);
	CHECK_INT(pending->count, ORMA_TRACK_PENDING_ENDS_EMBEDDED);
	orma_track_sequence_lost(&sequence, true);
	CHECK_INT(pending->count, 0);
}
