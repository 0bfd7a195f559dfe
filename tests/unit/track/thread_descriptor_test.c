/* SPDX-License-Identifier: Apache-2.0
 * thread_descriptor_test.c - how tracks, threads and the process are described in a trace.
 */
#include <orma/track.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "track/process_info.h"
#include "track/thread_descriptor.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG(track_event)                                                                        \
	"buffers { size_kb: 16384 } data_sources { config { name: \"track_event\" "                \
	"track_event_config { " track_event " } } }"

static struct packets packets;

static void finish(struct orma_session *session)
{
	session_finish(session, &packets);
	orma_shutdown();
}

/* The last descriptor of the track; NULL = none. */
static const struct orma_pb_track_descriptor *find(uint64_t uuid, size_t *ret_count)
{
	const struct orma_pb_track_descriptor *found = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_descriptor *track =
			packets.list.items[i]->track_descriptor;

		if (track && track->uuid == uuid) {
			found = track;
			(*ret_count)++;
		}
	}
	return found;
}

static const struct orma_pb_track_descriptor *find_one(const struct orma_track *track)
{
	size_t count;
	const struct orma_pb_track_descriptor *found = find(orma_track_uuid(track), &count);

	CHECK_INT(count, 1);
	return found;
}

static void check_text(struct orma_str text, const char *expected)
{
	if (!orma_base_str_is(text, expected))
		orma_test_fail(__FILE__, __LINE__, "\"%.*s\", not \"%s\"", (int)text.size,
			       text.data, expected);
}

/* --- tracks ----------------------------------------------------------------------------------- */

ORMA_TEST(a_named_track_says_all_that_is_known_of_it_parents_first)
{
	static const struct orma_track root = {.name = "root",
					       .is_name_static = true,
					       .child_order = ORMA_TRACK_ORDER_EXPLICIT,
					       .description = "All of it"};
	static const struct orma_track middle = {
		.name = "middle", .id = 7, .parent = &root, .rank = -3};
	static const struct orma_track leaf = {.name = "leaf",
					       .parent = &middle,
					       .merge = ORMA_TRACK_MERGE_BY_KEY,
					       .merge_key = "key",
					       .fields = "\x72\x01x", /* description: "x" */
					       .fields_size = 3};
	static const struct orma_track numbered = {.name = "numbered",
						   .root = ORMA_TRACK_OF_THREAD,
						   .merge = ORMA_TRACK_MERGE_BY_KEY,
						   .merge_key_id = 99};
	struct orma_session *session = session_start_events(CONFIG(""));
	const struct orma_pb_track_descriptor *track;
	uint64_t order[3] = {0};
	size_t count = 0;

	orma_track_announce(&leaf);
	orma_track_announce(&numbered);
	orma_track_announce(NULL);
	finish(session);
	track = find_one(&root);
	check_text(track->static_name, "root");
	CHECK(!orma_pb_track_descriptor_has_name(track));
	CHECK(track->parent_uuid == orma_track_process.uuid);
	CHECK_INT(track->child_ordering, 3);
	check_text(track->description, "All of it");
	track = find_one(&middle);
	check_text(track->name, "middle");
	CHECK(track->parent_uuid == orma_track_uuid(&root));
	CHECK_INT(track->sibling_order_rank, -3);
	track = find_one(&leaf);
	CHECK(track->parent_uuid == orma_track_uuid(&middle));
	CHECK_INT(track->sibling_merge_behavior, 3);
	check_text(track->sibling_merge_key, "key");
	check_text(track->description, "x");
	track = find_one(&numbered);
	CHECK(track->parent_uuid == orma_track_uuid(NULL));
	CHECK_INT(track->sibling_merge_key_int, 99);
	for (size_t i = 0; i < packets.list.count; i++) {
		track = packets.list.items[i]->track_descriptor;
		if (track && !track->thread && !track->process && count < 3)
			order[count++] = track->uuid;
	}
	CHECK(order[0] == orma_track_uuid(&root));
	CHECK(order[1] == orma_track_uuid(&middle));
	CHECK(order[2] == orma_track_uuid(&leaf));
	packets_done(&packets);
}

ORMA_TEST(counters_and_states_are_described_as_what_they_are)
{
	static const struct orma_track heat = {.kind = ORMA_TRACK_COUNTER,
					       .name = "heat",
					       .unit_name = "degrees",
					       .unit_multiplier = 10,
					       .y_axis_share_key = "axis",
					       .is_incremental = true,
					       .categories = "a,,b"};
	static const struct orma_track bytes = {.kind = ORMA_TRACK_COUNTER,
						.name = "bytes",
						.unit = ORMA_TRACK_UNIT_BYTES,
						.unit_multiplier = 1,
						.root = ORMA_TRACK_OF_NOBODY};
	static const struct orma_track state = {.kind = ORMA_TRACK_STATE, .name = "state"};
	struct orma_session *session = session_start_events(CONFIG(""));
	const struct orma_pb_track_descriptor *track;

	orma_track_announce(&heat);
	orma_track_announce(&bytes);
	orma_track_announce(&state);
	finish(session);
	track = find_one(&heat);
	CHECK(track->counter);
	check_text(track->counter->unit_name, "degrees");
	check_text(track->counter->y_axis_share_key, "axis");
	CHECK_INT(track->counter->unit_multiplier, 10);
	CHECK(track->counter->is_incremental);
	CHECK_INT(track->counter->categories.count, 2);
	check_text(track->counter->categories.items[1], "b");
	track = find_one(&bytes);
	CHECK_INT(track->counter->unit, 3);
	CHECK(!orma_pb_counter_descriptor_has_unit_multiplier(track->counter));
	CHECK(!orma_pb_track_descriptor_has_parent_uuid(track));
	track = find_one(&state);
	CHECK(track->state && !track->counter);
	packets_done(&packets);
}

ORMA_TEST(the_root_of_the_trace_is_described_in_every_trace_once_it_is_registered)
{
	static struct orma_track root = {.kind = ORMA_TRACK_GLOBAL,
					 .is_process_order_explicit = true,
					 .is_thread_order_explicit = true};
	struct orma_session *session;
	const struct orma_pb_track_descriptor *track;
	size_t count;

	CHECK_INT(orma_track_register(&root), 0);
	orma_process_set_rank(5);
	CHECK_INT(orma_thread_set_rank(-6), 0);
	session = session_start_events(CONFIG(""));
	ORMA_INSTANT(gfx, "event");
	finish(session);
	track = find(0, &count);
	CHECK_INT(count, 1);
	CHECK(orma_pb_track_descriptor_has_uuid(track));
	CHECK_INT(track->process_ordering, 1);
	CHECK_INT(track->thread_ordering, 1);
	CHECK_INT(find(orma_track_process.uuid, &count)->sibling_order_rank, 5);
	CHECK_INT(find(orma_track_uuid(NULL), &count)->sibling_order_rank, -6);
	packets_done(&packets);
}

ORMA_TEST(strange_tracks_are_described_too_and_end)
{
	enum { SIZE = 1 << 20 };
	struct orma_track circle = {.name = "circle"}, other = {.name = "other", .parent = &circle},
			  nameless = {.id = 5}, raw = {.uuid = 77, .parent = &other},
			  enormous = {.id = 6},
			  broken = {.name = "a\xff\xc3", .description = "\x80"};
	struct orma_session *session = session_start_events(CONFIG(""));
	char *text = malloc(SIZE);

	memset(text, 'x', SIZE);
	text[SIZE - 1] = '\0';
	enormous.name = enormous.description = text;
	circle.parent = &other;
	orma_track_announce(&circle);
	orma_track_announce(&nameless);
	orma_track_announce(&raw);
	orma_track_announce(&broken);
	/* This is more than the memory holds, so the packet may be lost. */
	orma_track_announce(&enormous);
	ORMA_INSTANT(gfx, "on", ORMA_ON(&enormous));
	finish(session);
	CHECK(find_one(&circle)->parent_uuid == orma_track_process.uuid);
	CHECK(!orma_pb_track_descriptor_has_name(find_one(&nameless)));
	CHECK(find_one(&raw)->parent_uuid == orma_track_uuid(&other));
	/* Readers get valid UTF-8. */
	check_text(find_one(&broken)->name, "a??");
	check_text(find_one(&broken)->description, "?");
	packets_done(&packets);
	free(text);
}

/* --- names ------------------------------------------------------------------------------------ */

static sem_t has_emitted, may_go_on, is_renamed, may_end;

static const char *thread_name(uint64_t uuid)
{
	static char name[128];
	size_t count;
	const struct orma_pb_track_descriptor *track = find(uuid, &count);

	CHECK(track && track->thread);
	snprintf(name, sizeof(name), "%.*s", (int)track->thread->thread_name.size,
		 track->thread->thread_name.data);
	return name;
}

static void *emit_and_be_renamed(void *ctx)
{
	prctl(PR_SET_NAME, "before");
	*(uint64_t *)ctx = orma_track_uuid(NULL);
	ORMA_INSTANT(gfx, "event");
	sem_post(&has_emitted);
	wait_for(&may_go_on);
	prctl(PR_SET_NAME, "after");
	sem_post(&is_renamed);
	wait_for(&may_end);
	return NULL;
}

ORMA_TEST(a_thread_that_is_renamed_behind_our_back_has_its_new_name_in_the_trace)
{
	struct orma_session *session = session_start_events(CONFIG(""));
	pthread_t thread;
	uint64_t uuid;
	size_t count;

	CHECK_INT(pthread_create(&thread, NULL, emit_and_be_renamed, &uuid), 0);
	wait_for(&has_emitted);
	sem_post(&may_go_on);
	wait_for(&is_renamed);
	session_finish(session, &packets);
	sem_post(&may_end);
	pthread_join(thread, NULL);
	orma_shutdown();
	CHECK_STR(thread_name(uuid), "after");
	find(uuid, &count);
	CHECK_INT(count, 2);
	packets_done(&packets);
}

ORMA_TEST(a_thread_that_names_itself_has_the_whole_name_until_it_is_renamed)
{
	struct orma_session *session;
	uint64_t uuid;
	char comm[16];
	size_t count;

	CHECK_INT(orma_thread_set_name("a name of more than fifteen bytes"), 0);
	CHECK_INT(orma_thread_set_name(NULL), -EINVAL);
	prctl(PR_GET_NAME, comm);
	CHECK_STR(comm, "a name of more ");
	session = session_start_events(CONFIG(""));
	uuid = orma_track_uuid(NULL);
	ORMA_INSTANT(gfx, "event");
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	session_finish(session, &packets);
	CHECK_STR(thread_name(uuid), "a name of more than fifteen bytes");
	find(uuid, &count);
	CHECK_INT(count, 1);
	packets_done(&packets);
	session = session_start(CONFIG(""));
	ORMA_INSTANT(gfx, "event");
	/* A character that is cut is left out. */
	CHECK_INT(orma_thread_set_name("another fourt\xc3\xa9\xc3\xa9n"), 0);
	prctl(PR_GET_NAME, comm);
	CHECK_STR(comm, "another fourt\xc3\xa9");
	session_finish(session, &packets);
	CHECK_STR(thread_name(uuid), "another fourt\xc3\xa9\xc3\xa9n");
	packets_done(&packets);
	session = session_start(CONFIG(""));
	ORMA_INSTANT(gfx, "event");
	pthread_setname_np(pthread_self(), "plain");
	session_finish(session, &packets);
	CHECK_STR(thread_name(uuid), "plain");
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(the_process_has_the_name_that_it_gave_itself_or_that_of_its_command_line)
{
	struct orma_session *session = session_start_events(CONFIG(""));
	const struct orma_pb_track_descriptor *track;
	char enormous[1000];
	size_t count;

	ORMA_INSTANT(gfx, "event");
	session_finish(session, &packets);
	track = find(orma_track_process.uuid, &count);
	CHECK_INT(count, 1);
	CHECK(track->process->cmdline.count > 0);
	CHECK(orma_base_str_is_equal(track->process->process_name,
				     track->process->cmdline.items[0]));
	packets_done(&packets);
	session = session_start(CONFIG(""));
	orma_process_set_name("renamed");
	session_finish(session, &packets);
	track = find(orma_track_process.uuid, &count);
	check_text(track->process->process_name, "renamed");
	packets_done(&packets);
	memset(enormous, 'x', sizeof(enormous));
	enormous[999] = '\0';
	orma_process_set_name(enormous);
	orma_process_set_name(NULL);
	orma_shutdown();
}

/* Threads that start one after the other, more than are compared at once. */
static void *emit_and_wait(void *ctx)
{
	ORMA_INSTANT(gfx, "event");
	sem_post(&has_emitted);
	wait_for(&may_end);
	return ctx;
}

ORMA_TEST(many_threads_are_looked_at_some_at_a_time)
{
	enum { COUNT = 300 };
	struct orma_session *session = session_start_events(CONFIG(""));
	static pthread_t threads[COUNT];
	pthread_attr_t attributes;
	size_t renamed = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)256 * 1024);
	for (int i = 0; i < COUNT; i++)
		CHECK_INT(pthread_create(&threads[i], &attributes, emit_and_wait, NULL), 0);
	for (int i = 0; i < COUNT; i++)
		wait_for(&has_emitted);
	for (int i = 0; i < COUNT; i++)
		CHECK_INT(pthread_setname_np(threads[i], "crowd"), 0);
	/* The first check compares 256 of them, and the one at the end the rest. */
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	session_finish(session, &packets);
	for (int i = 0; i < COUNT; i++)
		sem_post(&may_end);
	for (int i = 0; i < COUNT; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&attributes);
	orma_shutdown();
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_track_descriptor *track =
			packets.list.items[i]->track_descriptor;

		renamed += track && track->thread &&
			   orma_base_str_is(track->thread->thread_name, "crowd");
	}
	CHECK_INT(renamed, COUNT);
	packets_done(&packets);
}

/* --- fields of the config --------------------------------------------------------------------- */

ORMA_TEST(the_cpu_time_of_a_thread_is_a_counter_beside_its_events)
{
	struct orma_session *session = session_start_events(
		CONFIG("enable_thread_time_sampling: true timestamp_unit_multiplier: 1000"));
	const struct orma_pb_track_descriptor *track = NULL;
	uint64_t uuid = orma_track_thread_time_uuid((int32_t)gettid());
	size_t count;

	ORMA_INSTANT(gfx, "event");
	finish(session);
	track = find(uuid, &count);
	CHECK_INT(count, 1);
	check_text(track->static_name, "thread_time");
	CHECK_INT(track->counter->type, 1);
	CHECK(track->counter->is_incremental);
	CHECK_INT(track->counter->unit_multiplier, 1000);
	CHECK(track->parent_uuid == orma_track_uuid(NULL));
	packets_done(&packets);
}
