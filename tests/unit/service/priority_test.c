/* SPDX-License-Identifier: Apache-2.0
 * priority_test.c - exclusive sessions, and those that boost the service's thread.
 */
#include <fcntl.h>

#include "fixture.h"

#define EXCLUSIVE(n) ONE_BUFFER "exclusive_prio: " #n " "
#define FIFO(n)      ONE_BUFFER "priority_boost { policy: POLICY_SCHED_FIFO priority: " #n " } "
#define OTHER(n)     ONE_BUFFER "priority_boost { policy: POLICY_SCHED_OTHER priority: " #n " } "

struct scene {
	struct world world;
	struct producer producer;
	struct consumer one, two;
};

static void scene_open(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	world_open(&scene->world);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->one);
	consumer_open(&scene->world, &scene->two);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
}

static void scene_close(struct scene *scene)
{
	consumer_close(&scene->one);
	consumer_close(&scene->two);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

ORMA_TEST(exclusive_session_ends_all_others_and_says_why)
{
	struct orma_trace_batch batch;
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.one, ONE_BUFFER "unique_session_name: 'n'");
	flush(&scene.one, 0);
	/* It takes the name over too. */
	enable_ok(&scene.two, EXCLUSIVE(3) "unique_session_name: 'n'");
	CHECK_LOG(&scene.one.log, "disabled:an exclusive session of priority 3 has begun and ended "
				  "this one flush_failed");
	CHECK_INT(orma_consumer_port_read(scene.one.port, 1000, &batch), -ENOENT);
	CHECK_LOG(&scene.producer.log, "memory:256/4 setup:1 start:1 flush:1 of:1 stop:1 setup:2 "
				       "start:2");
	scene_close(&scene);
}

ORMA_TEST(while_an_exclusive_session_runs_only_a_higher_one_begins)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.one, EXCLUSIVE(3));
	CHECK_INT(enable(&scene.two, ONE_BUFFER), -EBUSY);
	CHECK_STR(scene.two.error.message, "exclusive_prio: an exclusive session of priority 3 is "
					   "running, and this one has 0");
	CHECK_INT(enable(&scene.two, EXCLUSIVE(3)), -EBUSY);
	CHECK_LOG(&scene.one.log, "");
	enable_ok(&scene.two, EXCLUSIVE(4));
	CHECK_LOG(&scene.one.log, "disabled:an exclusive session of priority 4 has begun and ended "
				  "this one");
	orma_consumer_port_disable(scene.two.port);
	enable_ok(&scene.one, ONE_BUFFER); /* it has ended */
	scene_close(&scene);
}

ORMA_TEST(exclusive_session_is_for_root_and_the_services_user)
{
	struct consumer stranger, root;
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.one, ONE_BUFFER);
	consumer_open_as(&scene.world, &stranger, getuid() + 1);
	consumer_open_as(&scene.world, &root, 0);
	CHECK_INT(enable(&stranger, ONE_BUFFER "lockdown_mode: LOCKDOWN_SET"), -EACCES);
	CHECK_STR(stranger.error.message,
		  "lockdown_mode: only root and the service's own user may change it");
	enable_ok(&stranger, ONE_BUFFER "lockdown_mode: LOCKDOWN_CLEAR");
	orma_consumer_port_free_buffers(stranger.port);
	CHECK_INT(enable(&stranger, EXCLUSIVE(9)), -EACCES);
	CHECK_STR(stranger.error.message,
		  "exclusive_prio: only root and the service's own user may ask for it");
	CHECK_LOG(&scene.one.log, "");
	enable_ok(&root, EXCLUSIVE(9));
	CHECK(strstr(scene.one.log.text, "disabled:"));
	consumer_close(&stranger);
	consumer_close(&root);
	scene_close(&scene);
}

ORMA_TEST(exclusive_session_that_is_refused_ends_nobody)
{
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.one, ONE_BUFFER);
	CHECK(enable(&scene.two, EXCLUSIVE(3) "write_into_file: true") < 0);
	CHECK(enable(&scene.two, EXCLUSIVE(3) "write_into_file: true output_path: '/none/x'") < 0);
	CHECK(enable(&scene.two, "exclusive_prio: 3 buffers { size_kb: 4194303 } "
				 "data_sources { producer_name_regex_filter: '(' }") < 0);
	scene.world.priority_error = -EPERM;
	CHECK(enable(&scene.two, EXCLUSIVE(3) "priority_boost { policy: POLICY_SCHED_FIFO "
					      "priority: 1 }") < 0);
	CHECK_LOG(&scene.one.log, "");
	send_packet(&scene.producer, 0, "goes on");
	scene_close(&scene);
}

ORMA_TEST(exclusive_session_ends_detached_ones_and_completes_their_files)
{
	char path[] = "/tmp/orma-exclusive-XXXXXX";
	struct packets packets = {0};
	static char data[1 << 16];
	int fd = mkstemp(path);
	struct scene scene;
	ssize_t size;

	CHECK(fd >= 0);
	CHECK_INT(unlink(path), 0);
	scene_open(&scene);
	CHECK_INT(enable_into(&scene.one, fd, ONE_BUFFER "write_into_file: true"), 0);
	send_packet(&scene.producer, 0, "one");
	CHECK_INT(orma_consumer_port_detach(scene.one.port, "key"), 0);
	enable_ok(&scene.two, EXCLUSIVE(1));
	pass_ms(&scene.world, 0);
	CHECK_INT(orma_consumer_port_attach(scene.one.port, "key"), -ENOENT);
	size = pread(fd, data, sizeof(data), 0);
	CHECK(size > 0);
	read_trace_file(data, (size_t)size, &packets);
	CHECK_STR(texts_of(&packets), "one");
	packets_done(&packets);
	CHECK_INT(close(fd), 0);
	scene_close(&scene);
}

ORMA_TEST(thread_has_the_highest_priority_that_sessions_ask_for)
{
	struct consumer three;
	struct scene scene;

	scene_open(&scene);
	consumer_open(&scene.world, &three);
	enable_ok(&scene.one, OTHER(10));
	CHECK(scene.world.policy == ORMA_PRIORITY_OTHER && scene.world.priority == 10);
	enable_ok(&scene.two, FIFO(2));
	CHECK(scene.world.policy == ORMA_PRIORITY_FIFO && scene.world.priority == 2);
	enable_ok(&three, OTHER(20)); /* any real-time priority is above it */
	CHECK(scene.world.policy == ORMA_PRIORITY_FIFO && scene.world.priority == 2);
	orma_consumer_port_free_buffers(scene.two.port);
	CHECK(scene.world.policy == ORMA_PRIORITY_OTHER && scene.world.priority == 20);
	consumer_close(&three);
	CHECK(scene.world.policy == ORMA_PRIORITY_OTHER && scene.world.priority == 10);
	orma_consumer_port_free_buffers(scene.one.port);
	CHECK(scene.world.policy == ORMA_PRIORITY_INITIAL);
	scene_close(&scene);
}

ORMA_TEST(boost_that_is_not_permitted_refuses_the_session)
{
	struct scene scene;

	scene_open(&scene);
	scene.world.priority_error = -EPERM;
	CHECK_INT(enable(&scene.one, FIFO(5)), -EPERM);
	CHECK_STR(scene.one.error.message,
		  "priority_boost: the service may not raise its priority: "
		  "it lacks CAP_SYS_NICE");
	CHECK_LOG(&scene.producer.log, "");
	scene.world.priority_error = 0;
	/* A failure after it restores the priority. */
	CHECK(enable(&scene.one, FIFO(5) "write_into_file: true output_path: '/none/x'") < 0);
	CHECK(scene.world.policy == ORMA_PRIORITY_INITIAL);
	scene_close(&scene);
}

ORMA_TEST(boost_beyond_its_range_is_refused)
{
	static const struct {
		const char *config, *error;
	} cases[] = {
		{FIFO(0), "priority_boost.priority: 0 is not between 1 and 99"},
		{FIFO(100), "priority_boost.priority: 100 is not between 1 and 99"},
		{OTHER(21), "priority_boost.priority: 21 is not between 0 and 20"},
		{ONE_BUFFER "priority_boost { priority: 1 }",
		 "priority_boost.policy: 0 is not a policy"},
	};
	struct scene scene;

	scene_open(&scene);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		CHECK_INT(enable(&scene.one, cases[i].config), -EINVAL);
		CHECK_STR(scene.one.error.message, cases[i].error);
	}
	CHECK(scene.world.policy == ORMA_PRIORITY_INITIAL);
	scene_close(&scene);
}

ORMA_TEST(service_that_leaves_its_process_alone_refuses_boosts)
{
	struct orma_service_options options = {.struct_size = sizeof(options)};
	struct world world = {0};
	struct consumer consumer;

	CHECK_INT(orma_service_new(&options, &world.service), 0);
	consumer_open(&world, &consumer);
	CHECK_INT(enable(&consumer, OTHER(1)), -ENOTSUP);
	CHECK_STR(consumer.error.message,
		  "priority_boost: this service cannot change its priority");
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(boost_of_a_data_source_is_for_its_producer)
{
	struct orma_arena arena = {0};
	struct orma_pb_data_source_config *config;
	struct scene scene;

	scene_open(&scene);
	enable_ok(&scene.one, "buffers { size_kb: 64 } data_sources { config { name: 'test' "
			      "priority_boost { policy: POLICY_SCHED_FIFO priority: 7 } } }");
	CHECK(scene.world.policy == ORMA_PRIORITY_INITIAL);
	CHECK_INT(orma_pb_data_source_config_decode(scene.producer.config.data,
						    scene.producer.config.size, &arena, &config),
		  0);
	CHECK(config->priority_boost);
	orma_base_arena_done(&arena);
	scene_close(&scene);
}

ORMA_TEST(protovm_is_refused_by_name)
{
	struct scene scene;

	scene_open(&scene);
	CHECK_INT(enable(&scene.one,
			 ONE_BUFFER "data_sources { config { name: 'b' protovm_config {} } }"),
		  -ENOTSUP);
	CHECK_STR(scene.one.error.message,
		  "data_sources[1].config.protovm_config: this service has no ProtoVM");
	scene_close(&scene);
}
