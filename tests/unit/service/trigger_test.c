/* SPDX-License-Identifier: Apache-2.0
 * trigger_test.c - triggers that start, stop and announce, their limits, and what is read.
 */
#include "fixture.h"
#include "schema/gen/trigger.pb.h"

#define START  ONE_BUFFER "trigger_config { trigger_mode: START_TRACING "
#define STOP   ONE_BUFFER "trigger_config { trigger_mode: STOP_TRACING "
#define CLONE  ONE_BUFFER "trigger_config { trigger_mode: CLONE_SNAPSHOT "
#define TIMED  "trigger_timeout_ms: 10000 "
#define ON_HIT "triggers { name: 'hit' stop_delay_ms: 500 } }"

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets;
};

static void scene_open(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	world_open(&scene->world);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
}

static void scene_close(struct scene *scene)
{
	packets_done(&scene->packets);
	consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

static void activate(struct producer *producer, const char *name)
{
	orma_producer_port_activate_triggers(producer->port, &name, 1);
	orma_service_run(producer->world->service);
}

/* The names of the triggers in a trace, in order, with producer and delay. */
static const char *triggers_of(const struct packets *packets)
{
	static struct log log;

	log_clear(&log);
	for (size_t i = 0; i < packets->count; i++) {
		const struct orma_pb_trigger *trigger = packets->items[i]->trigger;

		if (trigger)
			log_add(&log, "%.*s/%.*s/%llu", (int)trigger->trigger_name.size,
				trigger->trigger_name.data, (int)trigger->producer_name.size,
				trigger->producer_name.data,
				(unsigned long long)trigger->stop_delay_ms);
	}
	return log.text;
}

ORMA_TEST(start_trigger_starts_a_configured_session_for_its_delay)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, START TIMED ON_HIT);
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1");
	activate(&scene.producer, "other");
	CHECK_LOG(&scene.producer.log, "");
	activate(&scene.producer, "hit");
	CHECK_LOG(&scene.producer.log, "start:1");
	send_packet(&scene.producer, 0, "one");
	activate(&scene.producer, "hit"); /* recorded, and nothing else */
	CHECK_LOG(&scene.producer.log, "");
	pass_ms(&scene.world, 499);
	CHECK_LOG(&scene.producer.log, "");
	pass_ms(&scene.world, 1);
	CHECK_LOG(&scene.producer.log, "flush:1 of:1");
	answer_flush(&scene.producer);
	CHECK_LOG(&scene.consumer.log, "disabled");
	read_all(&scene.consumer, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	CHECK_STR(triggers_of(&scene.packets), "hit/p/500 hit/p/500");
	scene_close(&scene);
}

ORMA_TEST(start_trigger_without_a_delay_starts_a_session_that_the_consumer_ends)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, START TIMED "triggers { name: 'hit' } }");
	activate(&scene.producer, "hit");
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1 start:1");
	pass_ms(&scene.world, 60000);
	CHECK_LOG(&scene.consumer.log, "");
	scene_close(&scene);
}

ORMA_TEST(start_trigger_that_never_comes_leaves_nothing_to_read)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, START TIMED ON_HIT);
	pass_ms(&scene.world, 9999);
	CHECK_LOG(&scene.consumer.log, "");
	pass_ms(&scene.world, 1);
	CHECK_LOG(&scene.consumer.log, "disabled");
	activate(&scene.producer, "hit");
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1 stop:1");
	read_all(&scene.consumer, &scene.packets);
	CHECK_INT(scene.packets.count, 0);
	scene_close(&scene);
}

ORMA_TEST(start_trigger_fills_the_file_of_its_session)
{
	char path[] = "/tmp/orma-trigger-XXXXXX", data[8192];
	int fd = mkstemp(path);
	struct scene scene;
	ssize_t size;

	CHECK(fd >= 0);
	scene_open(&scene);
	CHECK_INT(enable_into(&scene.consumer, fd, START TIMED ON_HIT " write_into_file: true "),
		  0);
	pass_ms(&scene.world, 6000);
	CHECK_INT(lseek(fd, 0, SEEK_END), 0);
	activate(&scene.producer, "hit");
	send_packet(&scene.producer, 0, "one");
	pass_ms(&scene.world, 500);
	answer_flush(&scene.producer);
	CHECK_LOG(&scene.consumer.log, "disabled");
	size = pread(fd, data, sizeof(data), 0);
	CHECK(size > 0);
	read_trace_file(data, (size_t)size, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	CHECK_STR(triggers_of(&scene.packets), "hit/p/500");
	CHECK_INT(close(fd), 0);
	CHECK_INT(unlink(path), 0);
	scene_close(&scene);
}

ORMA_TEST(stop_trigger_ends_the_session_after_its_delay_and_the_first_decides)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer,
		  STOP TIMED "triggers { name: 'slow' stop_delay_ms: 20000 } " ON_HIT);
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1 start:1");
	send_packet(&scene.producer, 0, "one");
	read_all(&scene.consumer, &scene.packets);
	CHECK_INT(scene.packets.count, 0); /* waits for its trigger */
	activate(&scene.producer, "slow");
	pass_ms(&scene.world, 5000);
	activate(&scene.producer, "hit");
	pass_ms(&scene.world, 14999); /* also past the timeout */
	CHECK_LOG(&scene.producer.log, "");
	pass_ms(&scene.world, 1);
	CHECK_LOG(&scene.producer.log, "flush:1 of:1");
	answer_flush(&scene.producer);
	CHECK_LOG(&scene.consumer.log, "disabled");
	read_all(&scene.consumer, &scene.packets);
	CHECK_STR(texts_of(&scene.packets), "one");
	CHECK_STR(triggers_of(&scene.packets), "slow/p/20000 hit/p/500");
	scene_close(&scene);
}

ORMA_TEST(stop_trigger_that_never_comes_leaves_nothing_to_read)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, STOP TIMED ON_HIT);
	send_packet(&scene.producer, 0, "one");
	pass_ms(&scene.world, 10000);
	answer_flush(&scene.producer);
	CHECK_LOG(&scene.consumer.log, "disabled");
	read_all(&scene.consumer, &scene.packets);
	CHECK_INT(scene.packets.count, 0);
	scene_close(&scene);
}

ORMA_TEST(clone_trigger_tells_its_consumer_after_the_delay_each_time)
{
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(orma_consumer_port_observe(scene.consumer.port, 4), 0);
	enable_ok(&scene.consumer, CLONE TIMED ON_HIT);
	send_packet(&scene.producer, 0, "one");
	activate(&scene.producer, "hit");
	pass_ms(&scene.world, 400);
	activate(&scene.producer, "hit");
	CHECK_LOG(&scene.consumer.log, "");
	pass_ms(&scene.world, 100);
	CHECK_LOG(&scene.consumer.log, "clone:1/hit/p/500");
	pass_ms(&scene.world, 400);
	CHECK_LOG(&scene.consumer.log, "clone:1/hit/p/500");
	pass_ms(&scene.world, 9100);
	answer_flush(&scene.producer);
	CHECK_LOG(&scene.consumer.log, "disabled");
	read_all(&scene.consumer, &scene.packets);
	CHECK_INT(scene.packets.count, 0); /* only its clones can be read */
	scene_close(&scene);
}

ORMA_TEST(stop_trigger_can_ask_to_be_a_clone_trigger)
{
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(orma_consumer_port_observe(scene.consumer.port, 4), 0);
	enable_ok(&scene.consumer,
		  STOP "use_clone_snapshot_if_available: true " TIMED "triggers { name: 'hit' } }");
	activate(&scene.producer, "hit");
	pass_ms(&scene.world, 0);
	CHECK_LOG(&scene.consumer.log, "clone:1/hit/p/0");
	scene_close(&scene);
}

ORMA_TEST(clone_triggers_of_a_session_that_ends_are_forgotten)
{
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(orma_consumer_port_observe(scene.consumer.port, 4), 0);
	enable_ok(&scene.consumer, CLONE TIMED ON_HIT);
	for (int i = 0; i < 300; i++)
		activate(&scene.producer, "hit");
	orma_consumer_port_free_buffers(scene.consumer.port);
	CHECK_LOG(&scene.consumer.log, "disabled");
	pass_ms(&scene.world, 10000);
	CHECK_LOG(&scene.consumer.log, "");
	scene_close(&scene);
}

ORMA_TEST(trigger_can_be_kept_for_some_producers)
{
	struct producer other;
	struct scene scene;

	scene_open(&scene);
	producer_open(&scene.world, &other, "camera2");
	enable_ok(&scene.consumer,
		  START TIMED "triggers { name: 'hit' producer_name_regex: 'cam.*[0-9]' } }");
	activate(&scene.producer, "hit");
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1");
	activate(&other, "hit");
	CHECK_LOG(&scene.producer.log, "start:1");
	producer_close(&other);
	scene_close(&scene);
}

ORMA_TEST(trigger_is_skipped_with_the_probability_it_names)
{
	struct scene scene;

	/* The test's random numbers are all 0.3529. */
	scene_open(&scene);
	enable_ok(&scene.consumer,
		  START TIMED "triggers { name: 'often' skip_probability: 0.36 } "
			      "triggers { name: 'seldom' skip_probability: 0.35 } }");
	activate(&scene.producer, "often");
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1");
	activate(&scene.producer, "seldom");
	CHECK_LOG(&scene.producer.log, "start:1");
	scene_close(&scene);
}

ORMA_TEST(trigger_works_no_more_often_than_its_limit_in_24_hours)
{
	const char *config = START TIMED "triggers { name: 'hit' max_per_24_h: 2 } }";
	struct scene scene;

	scene_open(&scene);
	for (int i = 0; i < 4; i++) {
		log_clear(&scene.producer.log);
		enable_ok(&scene.consumer, config);
		activate(&scene.producer, "hit");
		pass_ms(&scene.world, 1000);
		orma_consumer_port_free_buffers(scene.consumer.port);
		CHECK(strstr(scene.producer.log.text, "start") ? i < 2 : i >= 2);
	}
	/* The first of the two is a day old, the second is not yet. */
	pass_ms(&scene.world, 24 * 3600 * 1000 - 3500);
	for (int i = 0; i < 2; i++) {
		log_clear(&scene.producer.log);
		enable_ok(&scene.consumer, config);
		activate(&scene.producer, "hit");
		orma_consumer_port_free_buffers(scene.consumer.port);
		CHECK(strstr(scene.producer.log.text, "start") ? i < 1 : i >= 1);
	}
	scene_close(&scene);
}

ORMA_TEST(hits_beyond_the_limit_push_out_the_oldest)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, STOP TIMED "triggers { name: 'first' stop_delay_ms: 500 } "
					      "triggers { name: 'hit' } }");
	activate(&scene.producer, "first");
	for (int i = 0; i < 1030; i++)
		activate(&scene.producer, "hit");
	orma_consumer_port_disable(scene.consumer.port);
	read_all(&scene.consumer, &scene.packets);
	CHECK(!strstr(triggers_of(&scene.packets), "first"));
	scene_close(&scene);
}

ORMA_TEST(names_that_are_too_many_or_too_long_are_ignored)
{
	const char *names[65];
	char *longest = orma_base_alloc(2000);
	struct scene scene;

	memset(longest, 'x', 1999);
	longest[1999] = '\0';
	for (size_t i = 0; i < 64; i++)
		names[i] = longest;
	names[64] = "hit";
	scene_open(&scene);
	enable_ok(&scene.consumer, START TIMED ON_HIT);
	orma_producer_port_activate_triggers(scene.producer.port, names, 65);
	pass_ms(&scene.world, 0);
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1");
	orma_producer_port_activate_triggers(scene.producer.port, names + 1, 64);
	pass_ms(&scene.world, 0);
	CHECK_LOG(&scene.producer.log, "start:1");
	orma_base_free(longest);
	scene_close(&scene);
}

ORMA_TEST(probes_that_leave_are_a_trigger)
{
	struct producer probes;
	struct scene scene;

	scene_open(&scene);
	producer_open(&scene.world, &probes, "perfetto.traced_probes");
	enable_ok(&scene.consumer,
		  START TIMED "triggers { name: 'perfetto.traced_probes.disconnect' } }");
	producer_close(&probes);
	pass_ms(&scene.world, 0);
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1 start:1");
	scene_close(&scene);
}

ORMA_TEST(detached_session_obeys_its_trigger)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, STOP TIMED ON_HIT);
	CHECK_INT(orma_consumer_port_detach(scene.consumer.port, "key"), 0);
	activate(&scene.producer, "hit");
	pass_ms(&scene.world, 500);
	answer_flush(&scene.producer);
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1 start:1 flush:1 of:1 stop:1");
	CHECK_INT(orma_consumer_port_attach(scene.consumer.port, "key"), -ENOENT);
	scene_close(&scene);
}

ORMA_TEST(trigger_configs_that_cannot_be_are_refused)
{
	static const struct {
		const char *config, *error;
	} cases[] = {
		{START ON_HIT, "trigger_config.trigger_timeout_ms: 0 is not between 1 and the "
			       "maximum of 604800000"},
		{STOP "trigger_timeout_ms: 604800001 " ON_HIT,
		 "trigger_config.trigger_timeout_ms: 604800001 is not between 1 and the maximum of "
		 "604800000"},
		{CLONE "trigger_timeout_ms: 86400001 " ON_HIT " enable_extra_guardrails: true",
		 "trigger_config.trigger_timeout_ms: 86400001 is not between 1 and the maximum of "
		 "86400000"},
		{START TIMED ON_HIT " duration_ms: 1",
		 "duration_ms: not allowed together with triggers, whose trigger_timeout_ms ends "
		 "the session"},
		{START TIMED "use_clone_snapshot_if_available: true " ON_HIT,
		 "trigger_config.use_clone_snapshot_if_available: needs trigger_mode "
		 "STOP_TRACING"},
		{STOP TIMED ON_HIT " write_into_file: true output_path: '/x'",
		 "write_into_file: not allowed together with STOP_TRACING and CLONE_SNAPSHOT "
		 "triggers"},
		{START TIMED "triggers { name: 'a' } triggers { name: 'b' } triggers { name: 'a' } "
			     "}",
		 "trigger_config.triggers[2].name: \"a\" is the name of triggers[0] too"},
		{START TIMED "triggers { name: 'a' producer_name_regex: '(' } }",
		 "trigger_config.triggers[0].producer_name_regex: "},
		{START TIMED "triggers { name: 'a' skip_probability: 1.5 } }",
		 "trigger_config.triggers[0].skip_probability: 1.5 is not between 0 and 1"},
		{START TIMED "triggers { name: 'a' max_per_24_h: 1025 } }",
		 "trigger_config.triggers[0].max_per_24_h: 1025 is more than the maximum of 1024"},
		{ONE_BUFFER "trigger_config { " TIMED ON_HIT,
		 "trigger_config.trigger_mode: missing, but there are triggers"},
	};
	struct scene scene;

	scene_open(&scene);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		CHECK_INT(enable(&scene.consumer, cases[i].config), -EINVAL);
		if (strncmp(scene.consumer.error.message, cases[i].error, strlen(cases[i].error)))
			orma_test_fail(__FILE__, __LINE__, "%s", scene.consumer.error.message);
	}
	scene_close(&scene);
}

ORMA_TEST(trigger_mode_that_no_service_knows_is_refused)
{
	/* buffers { size_kb: 4 } trigger_config { trigger_mode: 3 } */
	static const uint8_t config[] = {0x0a, 2, 0x08, 4, 0x8a, 1, 2, 0x08, 3};
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(orma_consumer_port_enable(scene.consumer.port, config, sizeof(config), -1,
					    &scene.consumer.error),
		  -EINVAL);
	CHECK_STR(scene.consumer.error.message, "trigger_config.trigger_mode: 3 is not a mode");
	scene_close(&scene);
}

ORMA_TEST(triggers_without_memory_fail_cleanly)
{
	for (uint64_t nth = 1;; nth++) {
		struct scene scene;
		bool has_failed;
		int r;

		struct orma_buf config =
			encode_text(&orma_pb_trace_config_desc, CLONE TIMED ON_HIT);

		scene_open(&scene);
		orma_test_fail_allocation(nth);
		r = orma_consumer_port_enable(scene.consumer.port, config.data, config.size, -1,
					      &scene.consumer.error);
		activate(&scene.producer, "hit");
		pass_ms(&scene.world, 500);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(r == 0 || (r == -ENOMEM && has_failed));
		scene_close(&scene);
		orma_base_buf_done(&config);
		if (!has_failed)
			return;
	}
}

static void activate_often(struct producer *producer, const char *name, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		orma_producer_port_activate_triggers(producer->port, &name, 1);
}

ORMA_TEST(limits_in_24_hours_are_each_name_s_own)
{
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(orma_consumer_port_observe(scene.consumer.port, 4), 0);
	enable_ok(&scene.consumer, CLONE TIMED "triggers { name: 'a' max_per_24_h: 1 } "
					       "triggers { name: 'b' max_per_24_h: 1 } }");
	activate(&scene.producer, "a");
	CHECK_LOG(&scene.consumer.log, "clone:1/a/p/0");
	activate(&scene.producer, "b");
	CHECK_LOG(&scene.consumer.log, "clone:1/b/p/0");
	activate(&scene.producer, "a");
	activate(&scene.producer, "b");
	CHECK_LOG(&scene.consumer.log, "");
	scene_close(&scene);
}

/* The history of 24 hours has a limit for each name and one for all names. */
ORMA_TEST(a_name_that_is_called_out_all_the_time_forgets_its_own_past_only)
{
	struct orma_buf config = {0};
	struct scene scene;
	char name[] = "?";

	scene_open(&scene);
	CHECK_INT(orma_consumer_port_observe(scene.consumer.port, 4), 0);
	CHECK_INT(orma_base_buf_append_str(&config, CLONE TIMED "triggers { name: 'rare' "
								"max_per_24_h: 1 } "),
		  0);
	for (name[0] = 'a'; name[0] <= 'q'; name[0]++)
		CHECK_INT(orma_base_buf_printf(
				  &config, "triggers { name: '%s' stop_delay_ms: 5000 } ", name),
			  0);
	CHECK_INT(orma_base_buf_append_str(&config, "}"), 0);
	enable_ok(&scene.consumer, orma_base_buf_cstr(&config));
	activate(&scene.producer, "rare");
	CHECK_LOG(&scene.consumer.log, "clone:1/rare/p/0");
	activate_often(&scene.producer, "a", ORMA_SERVICE_TRIGGER_USES_KEPT + 1);
	activate(&scene.producer, "rare");
	CHECK_LOG(&scene.consumer.log, "");
	/* More than all that is kept: the oldest go. */
	for (name[0] = 'a'; name[0] <= 'q'; name[0]++)
		activate_often(&scene.producer, name, ORMA_SERVICE_TRIGGER_USES_PER_NAME);
	pass_ms(&scene.world, 5000);
	log_clear(&scene.consumer.log);
	activate(&scene.producer, "rare");
	CHECK_LOG(&scene.consumer.log, "clone:1/rare/p/0");
	orma_base_buf_done(&config);
	scene_close(&scene);
}

ORMA_TEST(the_first_of_two_start_triggers_says_how_long)
{
	static const char *const both[] = {"hit", "more"};
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.consumer, START TIMED "triggers { name: 'more' stop_delay_ms: 900 } "
					       "triggers { name: 'hit' stop_delay_ms: 500 } }");
	orma_producer_port_activate_triggers(scene.producer.port, both, 2);
	orma_service_run(scene.world.service);
	log_clear(&scene.producer.log);
	pass_ms(&scene.world, 499);
	CHECK_LOG(&scene.producer.log, "");
	pass_ms(&scene.world, 1);
	CHECK_LOG(&scene.producer.log, "flush:1 of:1");
	scene_close(&scene);
}

ORMA_TEST(a_session_that_stops_obeys_no_trigger)
{
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(orma_producer_port_unregister_data_source(scene.producer.port, "test"), 0);
	CHECK_INT(register_source(&scene.producer, "name: 'test' will_notify_on_stop: true"), 0);
	CHECK_INT(orma_consumer_port_observe(scene.consumer.port, 4), 0);
	enable_ok(&scene.consumer, CLONE TIMED "triggers { name: 'hit' } }");
	orma_consumer_port_disable(scene.consumer.port);
	activate(&scene.producer, "hit");
	CHECK_LOG(&scene.consumer.log, "");
	orma_producer_port_data_source_stopped(scene.producer.port,
					       scene.producer.last_instance_id);
	CHECK_LOG(&scene.consumer.log, "disabled");
	scene_close(&scene);
}

static unsigned count_kind(struct packets *packets, const char *kind)
{
	unsigned count = 0;

	for (size_t i = 0; i < packets->count; i++) {
		struct packets one = {.items = {packets->items[i]}, .count = 1};

		count += strcmp(kinds_of(&one), kind) == 0;
	}
	return count;
}

/* Also when the clocks have agreed again by the time anything else is recorded. */
ORMA_TEST(a_trigger_comes_with_the_clocks_of_its_moment)
{
	unsigned clocks[2];

	for (int i = 0; i < 2; i++) {
		struct scene scene;

		scene_open(&scene);
		enable_ok(&scene.consumer, STOP TIMED ON_HIT);
		activate(&scene.producer, "hit");
		scene.world.wall_jump_ns = ORMA_NS_PER_SEC;
		activate(&scene.producer, i ? "hit" : "other");
		scene.world.wall_jump_ns = 0;
		read_all(&scene.consumer, &scene.packets);
		clocks[i] = count_kind(&scene.packets, "clocks");
		scene_close(&scene);
	}
	CHECK_INT(clocks[1], clocks[0] + 1);
}
