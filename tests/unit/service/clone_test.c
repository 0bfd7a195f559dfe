/* SPDX-License-Identifier: Apache-2.0
 * clone_test.c - clones: which session, whose, what is in them, and that nobody waits for them.
 */
#include <fcntl.h>

#include "fixture.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "schema/gen/trace_uuid.pb.h"
#include "schema/gen/trigger.pb.h"

struct scene {
	struct world world;
	struct producer producer;
	struct consumer owner, other;
	struct packets packets;
	struct log log; /* how clones ended */
	struct orma_clone_result result;
};

static void scene_open_with(struct scene *scene, const struct orma_compressor_ops *ops,
			    const char *config)
{
	memset(scene, 0, sizeof(*scene));
	world_open_full(&scene->world, NULL, ops);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->owner);
	consumer_open(&scene->world, &scene->other);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
	if (config)
		enable_ok(&scene->owner, config);
	log_clear(&scene->producer.log);
}

static void scene_open(struct scene *scene, const char *config)
{
	scene_open_with(scene, NULL, config);
}

static void scene_close(struct scene *scene)
{
	packets_done(&scene->packets);
	consumer_close(&scene->other);
	consumer_close(&scene->owner);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

static void on_cloned(void *ctx, const struct orma_clone_result *result)
{
	struct scene *scene = ctx;

	if (result->error)
		log_add(&scene->log, "%s", result->error);
	else
		log_add(&scene->log, result->was_write_into_file ? "cloned_file" : "cloned");
	scene->result = *result;
}

static void clone_with(struct scene *scene, struct consumer *consumer,
		       struct orma_clone_request request)
{
	request.struct_size = sizeof(request);
	orma_consumer_port_clone(consumer->port, &request, on_cloned, scene);
	orma_service_run(scene->world.service);
}

static void clone_session(struct scene *scene, uint64_t id)
{
	clone_with(scene, &scene->other,
		   (struct orma_clone_request){.session_id = id, .file_fd = -1});
}

/* As many steps as it takes: copying is spread over them. */
static void finish_clone(struct scene *scene)
{
	for (int i = 0;
	     i < 5000 && orma_service_next_deadline_ns(scene->world.service) <=
				 START_NS + scene->world.passed_ns + ORMA_SERVICE_STEP_PAUSE_NS;
	     i++)
		pass_ns(&scene->world, ORMA_SERVICE_STEP_PAUSE_NS);
}

static void answer_and_finish(struct scene *scene)
{
	answer_flush(&scene->producer);
	finish_clone(scene);
}

ORMA_TEST(clone_is_a_session_of_its_own_and_the_source_goes_on)
{
	struct packets later = {0};
	struct scene scene;

	scene_open(&scene, ONE_BUFFER);
	send_packet(&scene.producer, 0, "one");
	clone_session(&scene, 1);
	CHECK_LOG(&scene.producer.log, "flush:1 of:1");
	CHECK(scene.producer.flush_flags == 0x13); /* by the service, for a clone */
	CHECK_LOG(&scene.log, "");
	send_packet(&scene.producer, 1, "two");
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	send_packet(&scene.producer, 2, "three");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one two");
	CHECK_STR(kinds_of(&scene.packets),
		  "clocks clocks sync config uuid provenance system started all_started flush "
		  "flushed clone_started buffer_cloned disabled data data read stats");
	CHECK_INT(stats_of(&scene.packets)->final_flush_outcome, 1);
	CHECK_LOG(&scene.other.log, "");
	orma_consumer_port_disable(scene.owner.port);
	read_all(&scene.owner, &later);
	CHECK_STR(texts_of(&later), "one two three");
	orma_consumer_port_free_buffers(scene.other.port);
	CHECK_LOG(&scene.other.log, ""); /* it never enabled anything */
	packets_done(&later);
	scene_close(&scene);
}

ORMA_TEST(clone_has_the_low_half_of_the_uuid_and_a_high_one_of_its_own)
{
	struct scene scene;

	scene_open(&scene, ONE_BUFFER "trace_uuid_msb: 5 trace_uuid_lsb: 6");
	clone_session(&scene, 1);
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	CHECK(scene.result.uuid_lsb == 6 && scene.result.uuid_msb == 0x5a5a5a5a5a5a4a5a);
	read_all(&scene.other, &scene.packets);
	for (size_t i = 0; i < scene.packets.count; i++)
		if (scene.packets.items[i]->trace_uuid)
			CHECK((uint64_t)scene.packets.items[i]->trace_uuid->msb ==
			      scene.result.uuid_msb);
	scene_close(&scene);
}

ORMA_TEST(clone_is_found_by_name_by_id_and_by_its_score)
{
	struct consumer third;
	struct scene scene;

	scene_open(&scene, ONE_BUFFER "unique_session_name: 'a' bugreport_score: 3");
	consumer_open(&scene.world, &third);
	enable_ok(&third, ONE_BUFFER "unique_session_name: 'b' bugreport_score: 5");
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.unique_session_name = "a", .file_fd = -1});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR("a", orma_base_arena_strdup(
			       &scene.packets.arena,
			       scene.packets.items[3]->trace_config->unique_session_name));
	orma_consumer_port_free_buffers(scene.other.port);
	packets_done(&scene.packets);

	clone_session(&scene, UINT64_MAX);
	CHECK(scene.producer.flush_flags == 0x113); /* ... of a bugreport */
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR("b", orma_base_arena_strdup(
			       &scene.packets.arena,
			       scene.packets.items[3]->trace_config->unique_session_name));
	orma_consumer_port_free_buffers(scene.other.port);

	clone_session(&scene, 99);
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.unique_session_name = "c", .file_fd = -1});
	CHECK_LOG(&scene.log, "session_id: there is no session 99 "
			      "unique_session_name: there is no session \"c\"");
	consumer_close(&third);
	consumer_close(&scene.owner);
	consumer_open(&scene.world, &scene.owner);
	clone_session(&scene, UINT64_MAX);
	CHECK_LOG(&scene.log, "session_id: no started session has a bugreport_score");
	scene_close(&scene);
}

ORMA_TEST(clone_is_for_the_same_user_and_for_root)
{
	struct consumer stranger, root;
	struct scene scene;
	char text[128];

	scene_open(&scene, ONE_BUFFER);
	consumer_open_as(&scene.world, &stranger, getuid() + 1);
	consumer_open_as(&scene.world, &root, 0);
	clone_with(&scene, &stranger, (struct orma_clone_request){.session_id = 1, .file_fd = -1});
	snprintf(text, sizeof(text), "session 1 belongs to user %u, whom only root may clone",
		 getuid());
	CHECK_LOG(&scene.log, text);
	CHECK_LOG(&scene.producer.log, ""); /* checked before anything happens */
	clone_with(&scene, &root, (struct orma_clone_request){.session_id = 1, .file_fd = -1});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	consumer_close(&stranger);
	consumer_close(&root);
	scene_close(&scene);
}

ORMA_TEST(consumer_with_a_session_or_a_clone_under_way_cannot_clone)
{
	struct scene scene;

	scene_open(&scene, ONE_BUFFER);
	clone_with(&scene, &scene.owner,
		   (struct orma_clone_request){.session_id = 1, .file_fd = -1});
	CHECK_LOG(&scene.log, "this consumer has a session already (FreeBuffers ends it)");
	clone_session(&scene, 1);
	clone_session(&scene, 1);
	CHECK_LOG(&scene.log, "this consumer is cloning a session already");
	CHECK_INT(enable(&scene.other, ONE_BUFFER), -EBUSY);
	CHECK_STR(scene.other.error.message, "this consumer is cloning a session already");
	CHECK_INT(orma_consumer_port_attach(scene.other.port, "key"), -EEXIST);
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	CHECK_INT(enable(&scene.other, ONE_BUFFER), -EBUSY);
	CHECK_INT(orma_consumer_port_detach(scene.other.port, "key"), -ESTALE);
	CHECK_INT(orma_consumer_port_start(scene.other.port, &scene.other.error), -EBUSY);
	CHECK_STR(scene.other.error.message,
		  "the session cannot be started: it is CLONED_READ_ONLY");
	orma_consumer_port_disable(scene.other.port);
	scene_close(&scene);
}

ORMA_TEST(clones_have_a_limit_of_their_own)
{
	struct consumer consumers[6];
	struct scene scene;
	char text[128];

	scene_open(&scene, ONE_BUFFER);
	for (size_t i = 0; i < 6; i++) {
		consumer_open(&scene.world, &consumers[i]);
		clone_with(&scene, &consumers[i],
			   (struct orma_clone_request){.session_id = 1, .file_fd = -1});
	}
	snprintf(text, sizeof(text), "too many clones: user %u has 5, the maximum", getuid());
	CHECK_LOG(&scene.log, text);
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned cloned cloned cloned cloned");
	clone_with(&scene, &consumers[5],
		   (struct orma_clone_request){.session_id = 1, .file_fd = -1});
	CHECK_LOG(&scene.log, text);
	/* They do not count as sessions, and do not hold names. */
	enable_ok(&scene.other, ONE_BUFFER);
	for (size_t i = 0; i < 6; i++)
		consumer_close(&consumers[i]);
	scene_close(&scene);
}

/* In the state, in the numbers, and which buffer was taken when. */
ORMA_TEST(clone_is_seen_as_a_session_of_its_own)
{
	struct orma_arena arena = {0};
	const struct orma_pb_tracing_service_state *state;
	uint32_t index = 0;
	struct scene scene;

	scene_open(&scene, "buffers { size_kb: 64 } buffers { size_kb: 128 } "
			   "data_sources { config { name: 'test' } } unique_session_name: 'mine'");
	clone_session(&scene, 1);
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	state = query(&scene.owner, true, &arena);
	CHECK_INT(state->tracing_sessions.count, 2);
	CHECK_INT(state->tracing_sessions.items[1]->id, 2);
	CHECK(orma_base_str_is(state->tracing_sessions.items[1]->state, "CLONED_READ_ONLY"));
	CHECK(orma_base_str_is(state->tracing_sessions.items[1]->unique_session_name, "mine"));
	CHECK_INT(state->tracing_sessions.items[1]->buffer_size_kb.count, 2);
	CHECK_INT(state->tracing_sessions.items[1]->buffer_size_kb.items[1], 128);
	read_all(&scene.other, &scene.packets);
	CHECK_INT(stats_of(&scene.packets)->tracing_sessions, 2);
	CHECK_INT(stats_of(&scene.packets)->total_buffers, 4);
	for (size_t i = 0; i < scene.packets.count; i++) {
		const struct orma_pb_tracing_service_event *event =
			scene.packets.items[i]->service_event;

		if (event && orma_pb_tracing_service_event_has_buffer_cloned(event))
			CHECK_INT(event->buffer_cloned, index++);
	}
	CHECK_INT(index, 2);
	orma_base_arena_done(&arena);
	scene_close(&scene);
}

/* One user for each five clones, which all have a session. */
ORMA_TEST(clones_of_all_users_have_a_limit_that_leaves_places_for_others)
{
	enum { SHARED = ORMA_SERVICE_CLONES_MAX, USERS = SHARED / ORMA_SERVICE_CLONES_PER_UID };
	struct consumer owners[USERS + 1], consumers[SHARED], fourth[2], root;
	struct scene scene;

	scene_open(&scene, NULL);
	for (size_t i = 0; i < USERS + 1; i++) {
		consumer_open_as(&scene.world, &owners[i], 5000 + (uid_t)i);
		enable_ok(&owners[i], ONE_BUFFER);
	}
	for (size_t i = 0; i < SHARED; i++) {
		size_t owner = i / ORMA_SERVICE_CLONES_PER_UID;

		consumer_open_as(&scene.world, &consumers[i], 5000 + (uid_t)owner);
		clone_with(&scene, &consumers[i],
			   (struct orma_clone_request){.session_id = owner + 1, .file_fd = -1});
	}
	for (size_t i = 0; i < 2; i++) {
		CHECK_LOG(&scene.log, "");
		consumer_open_as(&scene.world, &fourth[i], 5000 + USERS);
		clone_with(&scene, &fourth[i],
			   (struct orma_clone_request){.session_id = USERS + 1, .file_fd = -1});
	}
	CHECK_LOG(&scene.log,
		  "too many clones: the service has 16, the maximum for users that have one");
	consumer_open_as(&scene.world, &root, 0);
	clone_with(&scene, &root, (struct orma_clone_request){.session_id = 1, .file_fd = -1});
	CHECK_LOG(&scene.log, "");
	consumer_close(&root);
	for (size_t i = 0; i < 2; i++)
		consumer_close(&fourth[i]);
	for (size_t i = 0; i < SHARED; i++)
		consumer_close(&consumers[i]);
	for (size_t i = 0; i < USERS + 1; i++)
		consumer_close(&owners[i]);
	scene_close(&scene);
}

ORMA_TEST(a_service_that_shuts_down_clones_nothing)
{
	struct scene scene;

	scene_open(&scene, ONE_BUFFER);
	orma_service_shut_down(scene.world.service, 100);
	clone_session(&scene, 1);
	CHECK_LOG(&scene.log, "the service is ending");
	scene_close(&scene);
}

ORMA_TEST(flush_that_nobody_answers_makes_a_clone_that_says_so)
{
	struct scene scene;

	scene_open(&scene, ONE_BUFFER "flush_timeout_ms: 100");
	send_packet(&scene.producer, 0, "one");
	clone_session(&scene, 1);
	pass_ms(&scene.world, 99);
	CHECK_LOG(&scene.log, "");
	pass_ms(&scene.world, 1);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	CHECK_INT(stats_of(&scene.packets)->final_flush_outcome, 2);
	CHECK(strstr(kinds_of(&scene.packets), "slow_flush"));
	scene_close(&scene);
}

ORMA_TEST(session_that_has_ended_or_not_begun_can_be_cloned)
{
	struct scene scene;

	scene_open(&scene, ONE_BUFFER);
	send_packet(&scene.producer, 0, "one");
	orma_consumer_port_disable(scene.owner.port);
	clone_session(&scene, 1);
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	scene_close(&scene);

	scene_open(&scene, ONE_BUFFER "deferred_start: true");
	clone_session(&scene, 1);
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "cloned");
	scene_close(&scene);
}

ORMA_TEST(source_that_ends_while_it_is_cloned_does_not_take_the_clone_with_it)
{
	struct scene scene;

	scene_open(&scene, ONE_BUFFER);
	send_packet(&scene.producer, 0, "one");
	clone_session(&scene, 1);
	orma_consumer_port_free_buffers(scene.owner.port);
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	scene_close(&scene);

	/* The same behind the flush, while the buffer is being copied. */
	scene_open(&scene, "buffers { size_kb: 8192 } data_sources { config { name: 'test' } } ");
	for (uint32_t i = 0; i < 40000; i++)
		send_packet(&scene.producer, i, "0123456789012345678901234567890123456789");
	clone_session(&scene, 1);
	answer_flush(&scene.producer);
	orma_service_run(scene.world.service);
	CHECK_LOG(&scene.log, "");
	orma_consumer_port_free_buffers(scene.owner.port);
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "cloned");
	scene_close(&scene);
}

ORMA_TEST(consumer_that_leaves_takes_its_clone_with_it)
{
	struct scene scene;

	for (int i = 0; i < 3; i++) {
		scene_open(&scene, ONE_BUFFER);
		send_packet(&scene.producer, 0, "one");
		clone_session(&scene, 1);
		if (i > 0)
			answer_flush(&scene.producer);
		if (i > 1)
			finish_clone(&scene);
		consumer_close(&scene.other);
		CHECK_LOG(&scene.log, i > 1 ? "cloned" : "");
		answer_and_finish(&scene);
		consumer_open(&scene.world, &scene.other);
		scene_close(&scene);
	}
}

/* Goes to the next deadline, for one turn of a loop. */
static void run_once(struct world *world)
{
	uint64_t next_ns = orma_service_next_deadline_ns(world->service);

	CHECK(next_ns != UINT64_MAX);
	if (next_ns > START_NS + world->passed_ns)
		world->passed_ns = next_ns - START_NS;
	orma_service_run(world->service);
}

ORMA_TEST(large_buffer_is_cloned_in_steps_as_it_was_at_the_flush)
{
	struct scene scene;
	uint32_t id = 0, steps = 0, old = 0;
	bool has_more;

	scene_open(&scene, "buffers { size_kb: 8192 } data_sources { config { name: 'test' } } ");
	for (; id < 60000; id++)
		send_packet(&scene.producer, id,
			    "0123456789012345678901234567890123456789"
			    "0123456789012345678901234567890123456789");
	clone_session(&scene, 1);
	answer_flush(&scene.producer);
	for (; !scene.log.size; steps++) {
		CHECK(steps < 1000);
		run_once(&scene.world);
		/* Overwrites what may not have been copied yet. */
		for (int i = 0; i < 5000; i++)
			send_packet(&scene.producer, id++, "new");
		/* It takes time, or what is due at once would always come first. */
		scene.world.passed_ns += ORMA_SERVICE_STEP_PAUSE_NS;
	}
	CHECK(steps > 8192 / (ORMA_SERVICE_CLONE_STEP_BYTES >> 10) - 4);
	CHECK_LOG(&scene.log, "cloned");
	do {
		packets_done(&scene.packets);
		has_more = read_batch(&scene.other, 32 << 10, &scene.packets);
		for (size_t i = 0; i < scene.packets.count; i++) {
			if (!scene.packets.items[i]->for_testing)
				continue;
			CHECK_INT(scene.packets.items[i]->for_testing->str.size, 80);
			old++;
		}
	} while (has_more);
	CHECK(old == 60000);
	scene_close(&scene);
}

ORMA_TEST(transferred_buffer_goes_over_and_the_source_gets_a_new_one)
{
	struct packets later = {0};
	struct scene scene;

	scene_open(&scene, "buffers { size_kb: 64 transfer_on_clone: true } "
			   "data_sources { config { name: 'test' } } ");
	send_packet(&scene.producer, 0, "one");
	clone_session(&scene, 1);
	answer_and_finish(&scene);
	send_packet(&scene.producer, 1, "two");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	orma_consumer_port_disable(scene.owner.port);
	read_all(&scene.owner, &later);
	CHECK_STR(texts_of(&later), "two");
	packets_done(&later);
	scene_close(&scene);
}

ORMA_TEST(slow_flush_of_transferred_buffers_does_not_blur_the_others)
{
	struct producer slow;
	uint64_t slow_flush;
	struct scene scene;

	scene_open(&scene, NULL);
	producer_open(&scene.world, &slow, "slow");
	CHECK_INT(register_source(&slow, "name: 'slow'"), 0);
	enable_ok(&scene.owner,
		  "buffers { size_kb: 64 transfer_on_clone: true } buffers { size_kb: 64 } "
		  "data_sources { config { name: 'slow' } } "
		  "data_sources { config { name: 'test' target_buffer: 1 } } ");
	send_packet(&scene.producer, 0, "one");
	clone_session(&scene, 1);
	CHECK(slow.flush_id && scene.producer.flush_id);
	CHECK(slow.flush_id != scene.producer.flush_id);
	slow_flush = slow.flush_id;
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "");
	send_packet(&scene.producer, 1, "late");
	send_packet(&slow, 0, "slow");
	CHECK(slow.flush_id == slow_flush);
	answer_flush(&slow);
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "slow one");
	producer_close(&slow);
	scene_close(&scene);
}

ORMA_TEST(buffer_cleared_before_the_clone_holds_what_the_flush_brought)
{
	struct scene scene;

	scene_open(&scene, "buffers { size_kb: 64 clear_before_clone: true } "
			   "data_sources { config { name: 'test' } } ");
	send_packet(&scene.producer, 0, "old");
	clone_session(&scene, 1);
	send_packet(&scene.producer, 1, "new");
	answer_and_finish(&scene);
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "new");
	scene_close(&scene);
}

ORMA_TEST(triggers_go_over_to_the_clone_with_the_one_that_made_it)
{
	const char *name = "hit";
	struct packets second = {0};
	size_t hits = 0, causes = 0;
	struct scene scene;

	scene_open(&scene, ONE_BUFFER "trigger_config { trigger_mode: CLONE_SNAPSHOT "
				      "trigger_timeout_ms: 10000 triggers { name: 'hit' } }");
	send_packet(&scene.producer, 0, "one");
	orma_producer_port_activate_triggers(scene.producer.port, &name, 1);
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 1,
					       .file_fd = -1,
					       .trigger_name = "hit",
					       .trigger_producer_name = "p",
					       .trigger_producer_uid = 7,
					       .trigger_boot_time_ns = 1234,
					       .trigger_delay_ms = 9});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned");
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one"); /* though the session itself is not readable */
	for (size_t i = 0; i < scene.packets.count; i++) {
		const struct orma_pb_trace_packet *packet = scene.packets.items[i];

		hits += packet->trigger != NULL;
		if (!packet->clone_snapshot_trigger)
			continue;
		causes++;
		CHECK_INT(hits, 0); /* comes first */
		CHECK_INT(packet->timestamp, 1234);
		CHECK(orma_base_str_is(packet->clone_snapshot_trigger->trigger_name, "hit"));
		CHECK(orma_base_str_is(packet->clone_snapshot_trigger->producer_name, "p"));
		CHECK_INT(packet->clone_snapshot_trigger->trusted_producer_uid, 7);
		CHECK_INT(packet->clone_snapshot_trigger->stop_delay_ms, 9);
	}
	CHECK_INT(hits, 1);
	CHECK_INT(causes, 1);
	orma_consumer_port_free_buffers(scene.other.port);
	clone_session(&scene, 1);
	answer_and_finish(&scene);
	read_all(&scene.other, &second);
	for (size_t i = 0; i < second.count; i++)
		CHECK(!second.items[i]->trigger && !second.items[i]->clone_snapshot_trigger);
	packets_done(&second);
	scene_close(&scene);
}

ORMA_TEST(clone_keeps_what_is_unread_only)
{
	struct packets first = {0};
	struct scene scene;

	scene_open(&scene, ONE_BUFFER);
	send_packet(&scene.producer, 0, "one");
	read_all(&scene.owner, &first);
	send_packet(&scene.producer, 1, "two");
	clone_session(&scene, 1);
	answer_and_finish(&scene);
	read_all(&scene.other, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "two");
	packets_done(&first);
	scene_close(&scene);
}

/* --- sessions that write into files ----------------------------------------------------------- */

#define INTO_FILE ONE_BUFFER "write_into_file: true file_write_period_ms: 1000 "

static int open_temporary(void)
{
	char path[] = "/tmp/orma-clone-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_INT(unlink(path), 0);
	return fd;
}

static void check_file(struct scene *scene, int fd, const char *texts)
{
	static char data[1 << 16];
	ssize_t size = pread(fd, data, sizeof(data), 0);

	packets_done(&scene->packets);
	CHECK(size > 0);
	read_trace_file(data, (size_t)size, &scene->packets);
	CHECK_STR(texts_of(&scene->packets), texts);
}

ORMA_TEST(clone_of_a_file_has_what_is_in_the_file_and_what_is_not_yet)
{
	int file = open_temporary(), copy = open_temporary();
	struct orma_trace_batch batch;
	struct scene scene;

	scene_open(&scene, NULL);
	/* The file's earlier contents are not part of the session. */
	CHECK_INT(write(file, "before", 6), 6);
	CHECK_INT(enable_into(&scene.owner, file, INTO_FILE), 0);
	send_packet(&scene.producer, 0, "one");
	pass_ms(&scene.world, 1000);
	CHECK(lseek(file, 0, SEEK_CUR) > 6);
	send_packet(&scene.producer, 1, "two");
	clone_session(&scene, 1);
	CHECK_LOG(&scene.log, "session 1 writes into a file: a clone needs a file descriptor to "
			      "copy it to");
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 1, .file_fd = copy});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned_file");
	check_file(&scene, copy, "one two");
	CHECK_INT(orma_consumer_port_read(scene.other.port, 1000, &batch), -EBUSY);
	send_packet(&scene.producer, 2, "three");
	orma_consumer_port_disable(scene.owner.port);
	finish_clone(&scene);
	CHECK_INT(close(file), 0);
	CHECK_INT(close(copy), 0);
	scene_close(&scene);
}

/* Steps until the clone is a session whose file is being written. */
static void clone_large_file(struct scene *scene, int copy)
{
	struct orma_trace_batch batch;

	for (uint32_t id = 0; id < 60000; id++)
		send_packet(&scene->producer, id,
			    "0123456789012345678901234567890123456789"
			    "0123456789012345678901234567890123456789");
	clone_with(scene, &scene->other,
		   (struct orma_clone_request){.session_id = 1, .file_fd = copy});
	answer_flush(&scene->producer);
	for (int i = 0; orma_consumer_port_read(scene->other.port, 1, &batch) != -EBUSY; i++) {
		CHECK(i < 1000);
		scene->world.passed_ns += ORMA_SERVICE_STEP_PAUSE_NS;
		orma_service_run(scene->world.service);
	}
	CHECK_LOG(&scene->log, "");
}

ORMA_TEST(clone_that_is_freed_while_its_file_is_written_is_told_so)
{
	int file = open_temporary(), copy = open_temporary();
	struct scene scene;

	scene_open(&scene, NULL);
	CHECK_INT(enable_into(&scene.owner, file,
			      "buffers { size_kb: 16384 } data_sources { config { name: 'test' } } "
			      "write_into_file: true file_write_period_ms: 1000000"),
		  0);
	clone_large_file(&scene, copy);
	orma_consumer_port_free_buffers(scene.other.port);
	CHECK_LOG(&scene.log, "the clone was freed before its file was written");
	finish_clone(&scene);
	/* Its consumer can go on. */
	clone_large_file(&scene, copy);
	consumer_close(&scene.other);
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "");
	consumer_open(&scene.world, &scene.other);
	CHECK_INT(close(file), 0);
	CHECK_INT(close(copy), 0);
	scene_close(&scene);
}

/* Streams of one block at a time: the first one opened never finishes its blocks, the others at
 * once, and as they were. */
static struct stream {
	struct orma_buf block;
	bool is_finished;
} streams[2];
static size_t stream_count;

static int open_stream(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		       void **ret_stream)
{
	CHECK(ctx && codec && level == 0 && session_id && stream_count < 2);
	*ret_stream = &streams[stream_count++];
	return 0;
}

static int submit_block(void *ctx, void *stream, const void *data, size_t size)
{
	struct stream *to = stream;

	CHECK(ctx);
	to->block.size = 0;
	to->is_finished = to != &streams[0];
	return orma_base_buf_append(&to->block, data, size);
}

static int take_block(void *ctx, void *stream, const void **ret_data, size_t *ret_size)
{
	struct stream *from = stream;

	CHECK(ctx);
	if (!from->is_finished)
		return 0;
	from->is_finished = false;
	*ret_data = from->block.data;
	*ret_size = from->block.size;
	return 1;
}

static void close_stream(void *ctx, void *stream)
{
	CHECK(ctx);
	orma_base_buf_done(&((struct stream *)stream)->block);
}

ORMA_TEST(clone_of_a_file_has_what_its_source_is_still_compressing)
{
	static const struct orma_compressor_ops ops = {
		.struct_size = sizeof(ops),
		.codecs = 1u << ORMA_CODEC_DEFLATE,
		.open = open_stream,
		.submit = submit_block,
		.take = take_block,
		.close = close_stream,
	};
	int file = open_temporary(), copy = open_temporary();
	struct packets inner = {0};
	struct scene scene;

	scene_open_with(&scene, &ops, NULL);
	CHECK_INT(enable_into(&scene.owner, file, INTO_FILE "compression { deflate {} }"), 0);
	send_packet(&scene.producer, 0, "one");
	pass_ms(&scene.world, 1000);
	CHECK_INT(lseek(file, 0, SEEK_CUR), 0);
	send_packet(&scene.producer, 1, "two");
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 1, .file_fd = copy});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "cloned_file");
	/* As it was before compression; then what the clone itself has compressed. */
	check_file(&scene, copy, "one");
	struct orma_str last = scene.packets.items[scene.packets.count - 1]->compressed_packets;
	read_trace_file(last.data, last.size, &inner);
	CHECK_STR(texts_of(&inner), "two");
	packets_done(&inner);
	CHECK_INT(close(file) | close(copy), 0);
	scene_close(&scene);
	orma_base_buf_done(&streams[0].block);
}

ORMA_TEST(clone_of_a_file_that_cannot_be_written_or_read_fails_alone)
{
	int full = open("/dev/full", O_RDWR | O_CLOEXEC), file = open_temporary(), pipe_fds[2];
	struct scene scene;

	CHECK_INT(pipe(pipe_fds), 0);
	scene_open(&scene, NULL);
	CHECK_INT(enable_into(&scene.owner, file, INTO_FILE), 0);
	send_packet(&scene.producer, 0, "one");
	pass_ms(&scene.world, 1000);
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 1, .file_fd = full});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "the session's file: no space left on the device");
	CHECK_LOG(&scene.owner.log, "");
	orma_consumer_port_free_buffers(scene.owner.port);

	CHECK_INT(enable_into(&scene.owner, pipe_fds[1], INTO_FILE), 0);
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 3, .file_fd = file});
	answer_and_finish(&scene);
	CHECK_LOG(&scene.log, "the session's file: what was written cannot be read again");
	CHECK_INT(close(file) | close(full) | close(pipe_fds[0]) | close(pipe_fds[1]), 0);
	scene_close(&scene);
}

ORMA_TEST(completed_file_is_not_cloned)
{
	int file = open_temporary(), copy = open_temporary();
	struct scene scene;

	scene_open(&scene, NULL);
	CHECK_INT(enable_into(&scene.owner, file, INTO_FILE), 0);
	orma_consumer_port_disable(scene.owner.port);
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 1, .file_fd = copy});
	CHECK_LOG(&scene.log, "session 1 has completed its file: copy that");
	CHECK_INT(close(file) | close(copy), 0);
	scene_close(&scene);
}

ORMA_TEST(service_that_ends_with_clones_under_way_frees_them)
{
	int file = open_temporary(), copy = open_temporary();
	struct scene scene;

	scene_open(&scene, NULL);
	CHECK_INT(enable_into(&scene.owner, file, INTO_FILE), 0);
	clone_with(&scene, &scene.other,
		   (struct orma_clone_request){.session_id = 1, .file_fd = copy});
	orma_service_free(scene.world.service);
	CHECK_LOG(&scene.log, "");
	orma_base_buf_done(&scene.producer.config);
	CHECK_INT(close(file) | close(copy), 0);
}

/* Chunks that the statistics tell of, all writers together. */
static uint64_t chunks_of_writers(struct scene *scene, struct consumer *consumer, size_t writers)
{
	const struct orma_pb_trace_stats *stats;
	uint64_t count = 0;

	packets_done(&scene->packets);
	read_all(consumer, &scene->packets);
	stats = stats_of(&scene->packets);
	CHECK_INT(stats->writer_stats.count, writers);
	for (size_t i = 0; i < writers; i++)
		for (size_t k = 0;
		     k < stats->writer_stats.items[i]->chunk_payload_histogram_counts.count; k++)
			count += stats->writer_stats.items[i]
					 ->chunk_payload_histogram_counts.items[k];
	return count;
}

ORMA_TEST(writers_of_a_clone_are_those_of_its_source_at_that_moment)
{
	struct scene scene;

	scene_open(&scene, "buffers { size_kb: 1024 } data_sources { config { name: 'test' } } ");
	for (uint16_t id = 1; id <= 600; id++) {
		write_chunk(&scene.producer, (struct chunk){.writer_id = id}, TEXTS("a"));
		commit_page(&scene.producer, 0, scene.producer.target_buffer);
	}
	clone_session(&scene, 1);
	answer_flush(&scene.producer);
	for (uint16_t id = 1; id <= 700; id++) {
		write_chunk(&scene.producer, (struct chunk){.writer_id = id, .chunk_id = 1},
			    TEXTS("b"));
		commit_page(&scene.producer, 0, scene.producer.target_buffer);
	}
	finish_clone(&scene);
	CHECK_LOG(&scene.log, "cloned");
	CHECK_INT(chunks_of_writers(&scene, &scene.owner, 700), 1300);
	/* The source may go first. */
	consumer_close(&scene.owner);
	CHECK_INT(chunks_of_writers(&scene, &scene.other, 600), 600);
	consumer_open(&scene.world, &scene.owner);
	scene_close(&scene);
}

ORMA_TEST(large_buffers_of_sessions_and_clones_that_end_go_in_steps)
{
	struct scene scene;

	scene_open(&scene, "buffers { size_kb: 8192 } data_sources { config { name: 'test' } } ");
	for (uint32_t id = 0; id < 60000; id++)
		send_packet(&scene.producer, id,
			    "0123456789012345678901234567890123456789"
			    "0123456789012345678901234567890123456789");
	/* A clone half-way, its source, and nobody left. */
	clone_session(&scene, 1);
	answer_flush(&scene.producer);
	pass_ns(&scene.world, 3 * ORMA_SERVICE_STEP_PAUSE_NS);
	consumer_close(&scene.owner);
	consumer_close(&scene.other);
	CHECK(orma_service_next_deadline_ns(scene.world.service) <=
	      START_NS + scene.world.passed_ns);
	pass_ns(&scene.world, 10 * ORMA_SERVICE_STEP_PAUSE_NS);
	CHECK(orma_service_next_deadline_ns(scene.world.service) == UINT64_MAX);
	consumer_open(&scene.world, &scene.owner);
	consumer_open(&scene.world, &scene.other);
	scene_close(&scene);
}

ORMA_TEST(clone_without_memory_fails_and_the_source_stays_whole)
{
	for (uint64_t nth = 1;; nth++) {
		struct scene scene;
		bool has_failed;

		scene_open(&scene, "buffers { size_kb: 64 } buffers { size_kb: 64 "
				   "transfer_on_clone: true } data_sources { config { name: "
				   "'test' } } ");
		send_packet(&scene.producer, 0, "one");
		orma_test_fail_allocation(nth);
		clone_with(&scene, &scene.other,
			   (struct orma_clone_request){
				   .session_id = 1, .file_fd = -1, .trigger_name = "t"});
		if (scene.producer.flush_id)
			answer_flush(&scene.producer);
		finish_clone(&scene);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		if (strcmp(scene.log.text, "cloned"))
			CHECK(has_failed && (strstr(scene.log.text, "no memory") ||
					     strstr(scene.log.text, "too large to hold")));
		orma_consumer_port_disable(scene.owner.port);
		read_all(&scene.owner, &scene.packets);
		CHECK_STR(texts_of(&scene.packets), "one");
		scene_close(&scene);
		if (!has_failed)
			return;
	}
}
