/* SPDX-License-Identifier: Apache-2.0
 * deep_test.c - slices nested so deep that only the stack is a limit. Each begin in the trace has its end
 * there, even if events are lost on the way down, on the way up, or in both directions.
 */
#include <orma/track.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/track_limits.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");
ORMA_CATEGORY_DEFINE(net, "net", "Requests");

#define CONFIG                                                                                     \
	"buffers { size_kb: 65536 } data_sources { config { name: \"track_event\" } } "            \
	"data_sources { config { name: \"test.source\" } }"
#define STARTUP_CONFIG                                                                             \
	"buffers { size_kb: 65536 } data_sources { config { name: \"track_event\" "                \
	"track_event_config { disabled_categories: \"none\" } } }"
/* Deep enough to exceed any limit but the stack. Only one test goes as deep as a stack allows. */
#define DEEP 20000
/* ThreadSanitizer keeps 65,536 frames of a thread at most. */
#ifdef __SANITIZE_THREAD__
#define DEEPEST DEEP
#else
#define DEEPEST 100000
#endif
#define STACK_BYTES (192u << 20)

static const struct orma_track request = {.name = "request"};

/* --- contents of a trace ----------------------------------------------------------------------- */

struct line {
	uint32_t sequence_id;
	uint64_t uuid; /* its track; 0 = the thread's own */
	uint64_t begins, ends;
};
struct tally {
	struct line lines[8];
	size_t count;
	uint64_t lost; /* events that the trace says are lost */
};

static struct line *line_of(struct tally *tally, uint32_t sequence_id, uint64_t uuid)
{
	for (size_t i = 0; i < tally->count; i++)
		if (tally->lines[i].sequence_id == sequence_id && tally->lines[i].uuid == uuid)
			return &tally->lines[i];
	CHECK(tally->count < ORMA_ARRAY_SIZE(tally->lines));
	tally->lines[tally->count] = (struct line){.sequence_id = sequence_id, .uuid = uuid};
	return &tally->lines[tally->count++];
}

/* Reads an event "events lost": the category, how many, and over which time. */
static uint64_t count_lost(const struct orma_pb_track_event *event)
{
	return event->debug_annotations.count == 3 ? event->debug_annotations.items[1]->uint_value
						   : 0;
}

static void tally_event(struct tally *tally, uint32_t sequence_id, struct orma_str encoded)
{
	struct orma_proto_field type, field;
	struct line *line;

	CHECK_INT(
		orma_proto_reader_find(encoded.data, encoded.size, ORMA_PB_TRACK_EVENT_TYPE, &type),
		1);
	if (orma_proto_reader_find(encoded.data, encoded.size, ORMA_PB_TRACK_EVENT_TRACK_UUID,
				   &field) == 0)
		field.value = 0;
	line = line_of(tally, sequence_id, field.value);
	line->begins += type.value == ORMA_EVENT_BEGIN;
	line->ends += type.value == ORMA_EVENT_END;
	/* Each end closes the slice that it belongs to. */
	CHECK(line->ends <= line->begins);
	if (type.value == ORMA_EVENT_INSTANT) {
		ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
		struct orma_pb_track_event *event;

		CHECK_INT(orma_proto_decode(&orma_pb_track_event_desc, encoded.data, encoded.size,
					    &arena, &event),
			  0);
		tally->lost += count_lost(event);
	}
}

/* Decodes only the fields that are checked, because there are many packets. */
static int tally_packet(void *ctx, const void *data, size_t size)
{
	struct orma_proto_field event, sequence;

	if (orma_proto_reader_find(data, size, ORMA_PB_TRACE_PACKET_TRACK_EVENT, &event) == 0)
		return 0;
	CHECK_INT(orma_proto_reader_find(
			  data, size, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, &sequence),
		  1);
	tally_event(ctx, (uint32_t)sequence.value, event.bytes);
	return 0;
}

/* The begins of all slices, each of which has ended. */
static uint64_t finish(struct orma_session *session, uint64_t *ret_lost)
{
	struct tally tally = {0};
	uint64_t begins = 0;

	session_stop(session);
	CHECK_INT(orma_session_read(session, tally_packet, &tally), 0);
	orma_session_free(session);
	for (size_t i = 0; i < tally.count; i++) {
		CHECK_INT(tally.lines[i].ends, tally.lines[i].begins);
		begins += tally.lines[i].begins;
	}
	if (ret_lost)
		*ret_lost = tally.lost;
	return begins;
}

/* --- a thread that goes deep ------------------------------------------------------------------ */

static void init(enum orma_exhausted_policy policy)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .event_policy = policy,
						  .event_stall_timeout_ms = WAIT_MS};

	CHECK_INT(orma_init(&options), 0);
}

static void nest(uint32_t depth)
{
	ORMA_SCOPE(gfx, "level");
	if (depth > 1)
		nest(depth - 1);
}

static void nest_with_arguments(uint32_t depth)
{
	ORMA_SCOPE(gfx, "level", "depth", depth);
	if (depth > 1)
		nest_with_arguments(depth - 1);
}

static void *run_deep(void *ctx)
{
	nest(*(const uint32_t *)ctx);
	return NULL;
}

static void *run_deep_with_arguments(void *ctx)
{
	nest_with_arguments(*(const uint32_t *)ctx);
	return NULL;
}

static void *run_deep_on_track(void *ctx)
{
	uint32_t depth = *(const uint32_t *)ctx;

	for (uint32_t i = 0; i < depth; i++)
		ORMA_BEGIN(gfx, "level", ORMA_ON(&request));
	for (uint32_t i = 0; i < depth; i++)
		ORMA_END(gfx, ORMA_ON(&request));
	return NULL;
}

static void on_large_stack(void *(*run)(void *), void *ctx)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_INT(pthread_attr_init(&attr), 0);
	CHECK_INT(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
	CHECK_INT(pthread_create(&thread, &attr, run, ctx), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
}

/* --- nothing is lost -------------------------------------------------------------------------- */

static void record(void *(*run)(void *), uint32_t depth)
{
	struct orma_session *session = session_start(CONFIG);

	on_large_stack(run, &depth);
	CHECK_INT(finish(session, NULL), depth);
}

ORMA_TEST(three_hundred_nested_scopes_have_as_many_ends_as_begins)
{
	init(ORMA_EXHAUSTED_STALL);
	record(run_deep, 300);
	record(run_deep_with_arguments, 300);
	record(run_deep_on_track, 300);
	orma_shutdown();
}

ORMA_TEST(scopes_nested_as_deep_as_a_stack_allows_have_as_many_ends_as_begins)
{
	init(ORMA_EXHAUSTED_STALL);
	record(run_deep, DEEPEST);
	record(run_deep_on_track, DEEPEST);
	orma_shutdown();
}

ORMA_TEST(each_of_two_sessions_has_the_ends_of_its_own_begins)
{
	struct orma_session *first, *second;
	uint32_t depth = DEEP / 2;
	uint64_t begins;

	init(ORMA_EXHAUSTED_STALL);
	first = session_start(CONFIG);
	ORMA_BEGIN(gfx, "only in the first");
	second = session_start(CONFIG);
	on_large_stack(run_deep, &depth);
	on_large_stack(run_deep_on_track, &depth);
	for (uint32_t i = 0; i < depth; i++)
		ORMA_BEGIN(gfx, "level");
	begins = 3 * depth;
	for (uint32_t i = 0; i < depth; i++)
		ORMA_END(gfx);
	ORMA_END(gfx);
	CHECK_INT(finish(first, NULL), begins + 1);
	CHECK_INT(finish(second, NULL), begins);
	orma_shutdown();
}

ORMA_TEST(slices_whose_category_is_not_wanted_may_lie_between_those_that_are)
{
	struct orma_session *session;
	const char *names[] = {"wanted", "unwanted"};

	init(ORMA_EXHAUSTED_STALL);
	session = session_start(
		"buffers { size_kb: 65536 } data_sources { config { name: \"track_event\" "
		"track_event_config { enabled_categories: \"wanted\" "
		"disabled_categories: \"*\" } } }");
	for (int i = 0; i < DEEP; i++)
		ORMA_BEGIN(dynamic, "level", ORMA_CATEGORY(names[i % 2]));
	for (int i = 0; i < DEEP; i++)
		ORMA_END(dynamic);
	CHECK_INT(finish(session, NULL), DEEP / 2);
	orma_shutdown();
}

/* --- the shared memory is full at some depths ------------------------------------------------- */

static sem_t is_blocked, go_on, is_flushed, is_read;

/* While it blocks, nobody empties the shared memory. */
static enum orma_completion block(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	sem_post(&is_blocked);
	wait_for(&go_on);
	return ORMA_COMPLETE;
}

/* Each round flushes once, which blocks the loop thread. */
#define ROUNDS 12

static void *flush_rounds(void *ctx)
{
	for (int i = 0; i < ROUNDS; i++) {
		wait_for(&is_read);
		CHECK_INT(orma_session_flush(ctx, WAIT_MS, 0), 0);
		sem_post(&is_flushed);
	}
	return NULL;
}

static void fill_memory(void)
{
	sem_post(&is_read);
	wait_for(&is_blocked);
	for (int i = 0; i < 30000; i++)
		ORMA_COUNTER(net, "filler", INT64_MAX);
}

static void empty_memory(void)
{
	sem_post(&go_on);
	wait_for(&is_flushed);
}

static void begin_some(const struct orma_track *track, int count)
{
	for (int i = 0; i < count; i++) {
		if (track)
			ORMA_BEGIN(gfx, "level", ORMA_ON(track));
		else
			ORMA_BEGIN(gfx, "level");
	}
}

static void end_some(const struct orma_track *track, int count)
{
	for (int i = 0; i < count; i++) {
		if (track)
			ORMA_END(gfx, ORMA_ON(track));
		else
			ORMA_END(gfx);
	}
}

/* Goes down in steps. All begins of every second step are lost. Returns how many are written. */
static int go_down(const struct orma_track *track, int steps, int step)
{
	for (int i = 0; i < steps; i++) {
		begin_some(track, step);
		fill_memory();
		begin_some(track, step);
		empty_memory();
	}
	return steps * step;
}

static struct orma_session *start_losing(pthread_t *ret_flusher)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options), .name = "test.source", .on_flush = block};
	struct orma_data_source *source;
	struct orma_session *session;

	init(ORMA_EXHAUSTED_DROP);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	session = session_start(CONFIG);
	CHECK_INT(pthread_create(ret_flusher, NULL, flush_rounds, session), 0);
	return session;
}

/* Lets the remaining rounds run, and the flush at the end. */
static void stop_losing(pthread_t flusher)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_post(&is_read);
		sem_post(&go_on);
	}
	pthread_join(flusher, NULL);
	sem_post(&go_on);
}

static void lose_at_depths(const struct orma_track *track)
{
	enum { STEPS = 5, STEP = 200 };
	uint64_t lost;
	pthread_t flusher;
	struct orma_session *session = start_losing(&flusher);
	int written = go_down(track, STEPS, STEP);

	/* On the way up ends find no room either, and are written later. */
	end_some(track, STEP / 2);
	fill_memory();
	end_some(track, 2 * STEP);
	empty_memory();
	end_some(track, STEP);
	begin_some(track, STEP);
	end_some(track, 2 * STEPS * STEP - 4 * STEP + STEP / 2 + STEP);
	ORMA_INSTANT(gfx, "all have ended");
	stop_losing(flusher);
	CHECK_INT(finish(session, &lost), written + STEP);
	CHECK(lost >= STEPS * STEP);
	orma_shutdown();
}

ORMA_TEST(begins_that_are_lost_at_several_depths_have_no_ends_and_the_others_do)
{
	lose_at_depths(NULL);
}

ORMA_TEST(begins_that_are_lost_at_several_depths_of_a_track_have_no_ends_and_the_others_do)
{
	lose_at_depths(&request);
}

ORMA_TEST(ends_of_lost_begins_are_left_out_on_as_many_tracks_as_there_are)
{
	static const struct orma_track parent = {.name = "connections"};
	enum { TRACKS = 300 };
	struct orma_track tracks[TRACKS];
	struct tally tally = {0};
	struct orma_session *session;
	pthread_t flusher;

	session = start_losing(&flusher);
	fill_memory();
	for (uint64_t i = 0; i < TRACKS; i++) {
		tracks[i] = (struct orma_track){.name = "request", .id = i + 1, .parent = &parent};
		ORMA_BEGIN(gfx, "level", ORMA_ON(&tracks[i]));
	}
	empty_memory();
	for (uint64_t i = 0; i < TRACKS; i++)
		ORMA_END(gfx, ORMA_ON(&tracks[i]));
	ORMA_INSTANT(gfx, "all have ended");
	stop_losing(flusher);
	session_stop(session);
	/* An end without its begin would fail here. */
	CHECK_INT(orma_session_read(session, tally_packet, &tally), 0);
	CHECK(tally.lost >= TRACKS);
	orma_session_free(session);
	orma_shutdown();
}

/* --- children of forks, startup tracing ------------------------------------------------------- */

/* Forks without another thread: ThreadSanitizer cannot follow threads into a child. */
static void init_driven(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true,
						  .shm_size_bytes = 16u << 20};

	CHECK_INT(orma_init(&options), 0);
}

static void record_child(int inherited)
{
	struct orma_session *session;

	ORMA_INSTANT(gfx, "revives");
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_start(CONFIG);
	begin_some(NULL, DEEP / 2);
	begin_some(&request, DEEP / 2);
	end_some(&request, DEEP / 2);
	/* The begins of the slices that the parent opened are in the parent's trace. */
	end_some(NULL, inherited + DEEP / 2);
	CHECK_INT(finish(session, NULL), DEEP);
	orma_shutdown();
	_exit(0);
}

ORMA_TEST(a_child_ends_what_it_has_begun_and_its_parent_goes_on)
{
	struct orma_session *session;
	int status, inherited = DEEP / 2;
	pid_t child;

	init_driven();
	session = session_start(CONFIG);
	begin_some(NULL, inherited);
	begin_some(&request, inherited);
	child = fork();
	if (child == 0)
		record_child(inherited);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	end_some(&request, inherited);
	end_some(NULL, inherited);
	CHECK_INT(finish(session, NULL), 2 * inherited);
	orma_shutdown();
}

static void start_early(const char *text)
{
	struct orma_startup_options options = {.struct_size = sizeof(options)};
	void *config;
	size_t size;

	CHECK_INT(orma_config_parse("test", text, strlen(text), &config, &size, NULL), 0);
	options.config = config;
	options.config_size = size;
	CHECK_INT(orma_startup_tracing(&options), 1);
	orma_config_free(config);
}

/* Begins `depth` slices before there is a daemon. They may not all fit into the memory. */
static uint64_t record_from_the_start(int depth)
{
	struct daemon daemon;
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_socket = daemon.producer};
	struct orma_session_options for_session = {.struct_size = sizeof(for_session),
						   .consumer_socket = daemon.consumer};
	struct orma_session *session;
	uint64_t begins;

	daemon_addresses(&daemon);
	CHECK_INT(orma_init(&options), 0);
	start_early(STARTUP_CONFIG);
	begin_some(NULL, depth);
	daemon_start(&daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	end_some(NULL, depth / 2);
	session = session_new(&for_session);
	session_enable(session, STARTUP_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	end_some(NULL, depth - depth / 2);
	ORMA_INSTANT(gfx, "all have ended");
	begins = finish(session, NULL);
	orma_shutdown();
	daemon_stop(&daemon);
	return begins;
}

ORMA_TEST(slices_that_are_begun_before_there_is_a_daemon_have_their_ends)
{
	CHECK_INT(record_from_the_start(300), 300);
}

ORMA_TEST(slices_that_are_begun_before_there_is_a_daemon_and_lost_have_no_ends)
{
	uint64_t begins = record_from_the_start(2 * DEEP);

	CHECK(begins > 256 && begins < 2 * DEEP);
}
