/* SPDX-License-Identifier: Apache-2.0
 * session_test.c - the life of a session: states, acknowledgements, timeouts, durations, detaching.
 */
#include "fixture.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/trace_stats.pb.h"

ORMA_TEST(idle_service_wants_no_wake_up)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	enable_ok(&consumer, ONE_BUFFER);
	CHECK(orma_service_next_deadline_ns(world.service) < UINT64_MAX);
	orma_consumer_port_disable(consumer.port);
	CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(session_is_set_up_started_read_and_stopped)
{
	struct packets packets = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	CHECK_LOG(&producer.log, "memory:256/4 setup:1 start:1");
	send_packet(&producer, 0, "one");
	send_packet(&producer, 1, "two");
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&producer.log, "stop:1");
	CHECK_LOG(&consumer.log, "disabled");
	read_all(&consumer, &packets);
	CHECK_STR(texts_of(&packets), "one two");
	CHECK_STR(kinds_of(&packets), "clocks clocks sync config uuid provenance system started "
				      "all_started disabled data data read stats");
	packets_done(&packets);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(deferred_session_is_set_up_at_once_and_started_on_demand)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_INT(orma_consumer_port_start(consumer.port, &consumer.error), -ENOENT);
	enable_ok(&consumer, ONE_BUFFER "deferred_start: true");
	CHECK_LOG(&producer.log, "memory:256/4 setup:1");
	CHECK_INT(orma_consumer_port_start(consumer.port, &consumer.error), 0);
	CHECK_LOG(&producer.log, "start:1");
	CHECK_INT(orma_consumer_port_start(consumer.port, &consumer.error), -EBUSY);
	CHECK_STR(consumer.error.message, "the session cannot be started: it is STARTED");
	consumer_close(&consumer);
	CHECK_LOG(&producer.log, "stop:1");
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(configured_session_is_disabled_without_waiting)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER "deferred_start: true");
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "disabled");
	CHECK_LOG(&producer.log, "memory:256/4 setup:1 stop:1");
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(session_ends_when_all_stops_are_acknowledged)
{
	struct world world;
	struct producer one, two;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &one, "one");
	producer_open(&world, &two, "two");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&one, "name: 'test' will_notify_on_stop: true"), 0);
	CHECK_INT(register_source(&two, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	orma_consumer_port_disable(consumer.port);
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "");
	orma_producer_port_data_source_stopped(one.port, 1);
	orma_producer_port_data_source_stopped(one.port, 1);
	orma_producer_port_data_source_stopped(one.port, 2); /* another's instance */
	CHECK_LOG(&consumer.log, "");
	orma_producer_port_data_source_stopped(two.port, 2);
	CHECK_LOG(&consumer.log, "disabled");
	CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	consumer_close(&consumer);
	producer_close(&one);
	producer_close(&two);
	world_close(&world);
}

ORMA_TEST(stop_that_is_not_acknowledged_times_out)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	orma_consumer_port_disable(consumer.port);
	pass_ms(&world, 4999);
	CHECK_LOG(&consumer.log, "");
	pass_ms(&world, 1);
	CHECK_LOG(&consumer.log, "disabled");
	orma_consumer_port_free_buffers(consumer.port);

	enable_ok(&consumer, ONE_BUFFER "data_source_stop_timeout_ms: 100");
	orma_consumer_port_disable(consumer.port);
	pass_ms(&world, 100);
	CHECK_LOG(&consumer.log, "disabled");
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(consumer_that_leaves_waits_for_no_acknowledgement)
{
	struct orma_arena arena = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer, root;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	consumer_open_as(&world, &root, 0);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	orma_consumer_port_disable(consumer.port);
	CHECK(orma_base_str_is(query(&root, true, &arena)->tracing_sessions.items[0]->state,
			       "STOP_WAIT"));
	consumer_close(&consumer);
	CHECK_INT(query(&root, true, &arena)->tracing_sessions.count, 0);
	CHECK_INT(query(&root, false, &arena)->num_sessions, 0);
	orma_base_arena_done(&arena);
	consumer_close(&root);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(producer_that_leaves_counts_as_stopped)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	orma_consumer_port_disable(consumer.port);
	producer_close(&producer);
	CHECK_LOG(&consumer.log, "disabled");
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(duration_flushes_and_ends_the_session)
{
	struct packets packets = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	enable_ok(&consumer, ONE_BUFFER "duration_ms: 1500");
	pass_ms(&world, 1499);
	CHECK_LOG(&producer.log, "memory:256/4 setup:1 start:1");
	pass_ms(&world, 1);
	CHECK_LOG(&producer.log, "flush:1 of:1");
	CHECK_INT(producer.flush_flags, 0x12);
	CHECK_LOG(&consumer.log, "");
	answer_flush(&producer);
	CHECK_LOG(&producer.log, "stop:1");
	CHECK_LOG(&consumer.log, "disabled");
	read_all(&consumer, &packets);
	CHECK_INT(stats_of(&packets)->final_flush_outcome, 1);
	packets_done(&packets);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(duration_begins_when_all_data_sources_have_started)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_start: true"), 0);
	for (uint64_t i = 0; i < 2; i++) { /* the second start takes too long to count */
		enable_ok(&consumer, ONE_BUFFER "duration_ms: 30000 flush_timeout_ms: 1");
		pass_ms(&world, i == 0 ? 700 : 20001);
		orma_producer_port_data_source_started(producer.port, i + 1);
		pass_ms(&world, i == 0 ? 30000 : 9999);
		CHECK_LOG(&consumer.log, "");
		pass_ms(&world, 1);
		CHECK_LOG(&consumer.log, "disabled");
		orma_consumer_port_free_buffers(consumer.port);
	}
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(a_short_duration_waits_for_data_sources_to_start)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_start: true"), 0);
	for (uint64_t i = 0; i < 4; i++) { /* every other source never starts */
		enable_ok(&consumer, i < 2 ? ONE_BUFFER "duration_ms: 100 flush_timeout_ms: 1"
					   : ONE_BUFFER "duration_ms: 100 flush_timeout_ms: 1 "
							"prefer_suspend_clock_for_duration: true");
		pass_ms(&world, 4900);
		if (i % 2 == 0)
			orma_producer_port_data_source_started(producer.port, i + 1);
		pass_ms(&world, 99);
		CHECK_LOG(&consumer.log, "");
		pass_ms(&world, 2);
		CHECK_LOG(&consumer.log, "disabled");
		orma_consumer_port_free_buffers(consumer.port);
	}
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(duration_ends_the_session_even_when_the_flush_is_not_answered)
{
	struct packets packets = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	enable_ok(&consumer, ONE_BUFFER "duration_ms: 1000 flush_timeout_ms: 300");
	pass_ms(&world, 1299);
	CHECK_LOG(&consumer.log, "");
	pass_ms(&world, 1);
	CHECK_LOG(&consumer.log, "disabled");
	read_all(&consumer, &packets);
	CHECK_INT(stats_of(&packets)->final_flush_outcome, 2);
	CHECK_INT(stats_of(&packets)->flushes_failed, 1);
	CHECK(strstr(kinds_of(&packets), "slow_flush"));
	packets_done(&packets);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(suspended_time_counts_when_the_config_prefers_it)
{
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer,
		  ONE_BUFFER "duration_ms: 60000 prefer_suspend_clock_for_duration: true");
	pass_ms(&world, 5000);
	world.suspended_ns = 54 * ORMA_NS_PER_SEC;
	pass_ms(&world, 500);
	CHECK_LOG(&consumer.log, "");
	pass_ms(&world, 1000);
	CHECK_LOG(&consumer.log, "disabled");
	orma_consumer_port_free_buffers(consumer.port);

	enable_ok(&consumer, ONE_BUFFER "duration_ms: 60000");
	world.suspended_ns *= 10;
	pass_ms(&world, 59999);
	CHECK_LOG(&consumer.log, "");
	pass_ms(&world, 1);
	CHECK_LOG(&consumer.log, "disabled");
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(detached_session_goes_on_and_is_attached_by_its_key)
{
	struct packets packets = {0};
	struct world world;
	struct producer producer;
	struct consumer first, second, stranger;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &first);
	consumer_open(&world, &second);
	consumer_open_as(&world, &stranger, getuid() + 1);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_INT(orma_consumer_port_detach(first.port, "key"), -ENOENT);
	enable_ok(&first, ONE_BUFFER);
	CHECK_INT(orma_consumer_port_detach(first.port, ""), -EINVAL);
	CHECK_INT(orma_consumer_port_attach(second.port, ""), -EINVAL);
	CHECK_INT(orma_consumer_port_attach(second.port, "key"), -ENOENT);
	CHECK_INT(orma_consumer_port_detach(first.port, "key"), 0);
	enable_ok(&first, ONE_BUFFER);
	CHECK_INT(orma_consumer_port_detach(first.port, "key"), -EEXIST);
	consumer_close(&first);
	CHECK_INT(orma_consumer_port_attach(stranger.port, "key"), -ENOENT);
	producer.target_buffer = 1;
	send_packet(&producer, 0, "kept");
	CHECK_INT(orma_consumer_port_attach(second.port, "key"), 0);
	CHECK_INT(orma_consumer_port_attach(second.port, "key"), -EEXIST);
	orma_consumer_port_disable(second.port);
	CHECK_LOG(&second.log, "disabled");
	CHECK_INT(orma_consumer_port_detach(second.port, "key"), -ESTALE);
	read_all(&second, &packets);
	CHECK_STR(texts_of(&packets), "kept");
	packets_done(&packets);
	consumer_close(&second);
	consumer_close(&stranger);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(detached_session_whose_time_is_up_is_freed)
{
	struct world world;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER "duration_ms: 1000");
	CHECK_INT(orma_consumer_port_detach(consumer.port, "key"), 0);
	pass_ms(&world, 1000);
	CHECK_INT(orma_consumer_port_attach(consumer.port, "key"), -ENOENT);
	CHECK_LOG(&consumer.log, "");
	CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(freeing_the_buffers_of_a_running_session_tells_the_consumer_once)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct orma_trace_batch batch;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	flush(&consumer, 0);
	orma_consumer_port_free_buffers(consumer.port);
	CHECK_LOG(&consumer.log, "disabled flush_failed");
	orma_consumer_port_free_buffers(consumer.port);
	CHECK_LOG(&consumer.log, "");
	CHECK_INT(orma_consumer_port_read(consumer.port, 1, &batch), -ENOENT);
	answer_flush(&producer);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(incremental_state_is_cleared_on_the_wall_period_where_it_is_handled)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	CHECK_INT(register_source(&producer, "name: 'other' handles_incremental_state_clear: true"),
		  0);
	world.wall_jump_ns = 300 * ORMA_NS_PER_MS;
	enable_ok(&consumer, ONE_BUFFER "data_sources { config { name: 'other' } } "
					"incremental_state_config { clear_period_ms: 1000 }");
	CHECK_LOG(&producer.log, "memory:256/4 setup:1 setup:2 start:1 start:2");
	pass_ms(&world, 699);
	CHECK_LOG(&producer.log, "");
	pass_ms(&world, 1);
	CHECK_LOG(&producer.log, "clear:2");
	pass_ms(&world, 1000);
	CHECK_LOG(&producer.log, "clear:2");
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(observers_hear_of_instances_and_of_all_started)
{
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_start: true"), 0);
	CHECK_INT(orma_consumer_port_observe(consumer.port, 3), 0);
	enable_ok(&consumer, ONE_BUFFER);
	CHECK_LOG(&consumer.log, "p/test:stopped");
	orma_producer_port_data_source_started(producer.port, 99);
	CHECK_LOG(&consumer.log, "");
	orma_producer_port_data_source_started(producer.port, 1);
	CHECK_LOG(&consumer.log, "p/test:started all_started");
	orma_producer_port_data_source_started(producer.port, 1);
	CHECK_LOG(&consumer.log, "");
	/* A consumer that observes again gets the present state. */
	CHECK_INT(orma_consumer_port_observe(consumer.port, 0), 0);
	CHECK_INT(orma_consumer_port_observe(consumer.port, 3), 0);
	CHECK_LOG(&consumer.log, "p/test:started all_started");
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "p/test:stopped disabled");
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

static const struct orma_pb_tracing_service_event_data_sources *slow_of(struct packets *packets)
{
	for (size_t i = 0; i < packets->count; i++)
		if (packets->items[i]->service_event &&
		    packets->items[i]->service_event->slow_starting_data_sources)
			return packets->items[i]->service_event->slow_starting_data_sources;
	return NULL;
}

ORMA_TEST(data_sources_that_do_not_start_in_20_seconds_are_listed)
{
	struct packets packets = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_start: true"), 0);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	pass_ms(&world, 19999);
	read_all(&consumer, &packets);
	CHECK(!slow_of(&packets));
	pass_ms(&world, 1);
	read_all(&consumer, &packets);
	CHECK_INT(slow_of(&packets)->data_source.count, 1);
	CHECK(orma_base_str_is(slow_of(&packets)->data_source.items[0]->producer_name, "p"));
	CHECK(orma_base_str_is(slow_of(&packets)->data_source.items[0]->data_source_name, "test"));
	packets_done(&packets);
	/* No more than there is room for. */
	orma_consumer_port_free_buffers(consumer.port);
	for (unsigned i = 0; i < ORMA_SERVICE_SLOW_SOURCES_LISTED + 5; i++)
		CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_start: true"), 0);
	enable_ok(&consumer, ONE_BUFFER);
	pass_ms(&world, 20000);
	read_all(&consumer, &packets);
	CHECK_INT(slow_of(&packets)->data_source.count, ORMA_SERVICE_SLOW_SOURCES_LISTED);
	packets_done(&packets);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(service_may_be_freed_with_everything_running)
{
	struct world world;
	struct producer producer;
	struct consumer consumer, detached;

	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	consumer_open(&world, &detached);
	CHECK_INT(register_source(&producer, "name: 'test' will_notify_on_stop: true"), 0);
	enable_ok(&consumer, ONE_BUFFER "duration_ms: 1000");
	enable_ok(&detached, ONE_BUFFER);
	CHECK_INT(orma_consumer_port_detach(detached.port, "key"), 0);
	flush(&consumer, 0);
	world_close(&world);
	orma_base_buf_done(&producer.config);
}
