/* SPDX-License-Identifier: Apache-2.0
 * flush_test.c - who is asked, when a flush is complete, and when it is not.
 */
#include "fixture.h"
#include "schema/gen/service_event.pb.h"

struct scene {
	struct world world;
	struct producer one, two;
	struct consumer consumer;
};

static void open_scene(struct scene *scene, const char *config)
{
	world_open(&scene->world);
	producer_open(&scene->world, &scene->one, "one");
	producer_open(&scene->world, &scene->two, "two");
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->one, "name: 'test'"), 0);
	CHECK_INT(register_source(&scene->two, "name: 'test'"), 0);
	CHECK_INT(register_source(&scene->two, "name: 'quiet' no_flush: true"), 0);
	enable_ok(&scene->consumer, config);
	log_clear(&scene->one.log);
	log_clear(&scene->two.log);
}

static void close_scene(struct scene *scene)
{
	if (scene->consumer.port)
		consumer_close(&scene->consumer);
	if (scene->one.port)
		producer_close(&scene->one);
	producer_close(&scene->two);
	world_close(&scene->world);
}

ORMA_TEST(flush_completes_when_every_producer_has_answered)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER "data_sources { config { name: 'quiet' } }");
	flush(&s.consumer, 0);
	CHECK_LOG(&s.one.log, "flush:1 of:1");
	CHECK_LOG(&s.two.log, "flush:1 of:2");
	CHECK_INT(s.one.flush_flags, 0x24);
	answer_flush(&s.one);
	answer_flush(&s.one);
	CHECK_LOG(&s.consumer.log, "");
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "flushed");
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "");
	close_scene(&s);
}

ORMA_TEST(producer_with_quiet_sources_alone_is_not_asked)
{
	struct scene s;

	open_scene(&s, "buffers { size_kb: 4 } data_sources { config { name: 'quiet' } }");
	flush(&s.consumer, 0);
	CHECK_LOG(&s.two.log, "");
	CHECK_LOG(&s.consumer.log, "flushed");
	close_scene(&s);
}

ORMA_TEST(flush_times_out_by_its_own_or_the_sessions_time)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER "flush_timeout_ms: 700");
	flush(&s.consumer, 0);
	flush(&s.consumer, 50);
	answer_flush(&s.two);
	pass_ms(&s.world, 49);
	CHECK_LOG(&s.consumer.log, "");
	pass_ms(&s.world, 1);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	pass_ms(&s.world, 649);
	CHECK_LOG(&s.consumer.log, "");
	pass_ms(&s.world, 1);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	answer_flush(&s.one);
	CHECK_LOG(&s.consumer.log, "");
	close_scene(&s);
}

ORMA_TEST(later_answer_covers_earlier_flushes)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	flush(&s.consumer, 0);
	flush(&s.consumer, 0);
	answer_flush(&s.one);
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "flushed flushed");
	close_scene(&s);
}

ORMA_TEST(producer_that_leaves_has_answered)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	flush(&s.consumer, 0);
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "");
	producer_close(&s.one);
	CHECK_LOG(&s.consumer.log, "flushed");
	close_scene(&s);
}

ORMA_TEST(flush_fails_at_once_unless_the_session_is_started)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER "deferred_start: true");
	flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	orma_consumer_port_disable(s.consumer.port);
	log_clear(&s.consumer.log);
	flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	orma_consumer_port_free_buffers(s.consumer.port);
	flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	close_scene(&s);
}

ORMA_TEST(pending_flushes_are_limited)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	for (unsigned i = 0; i < ORMA_SERVICE_FLUSHES_PENDING_MAX; i++)
		flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "");
	flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	answer_flush(&s.one);
	answer_flush(&s.two);
	CHECK(strncmp(s.consumer.log.text, "flushed flushed", 15) == 0);
	close_scene(&s);
}

/* A producer that answers nothing, and a period that is shorter than the timeout. */
ORMA_TEST(flushes_of_a_period_do_not_pile_up)
{
	struct scene s;
	unsigned asked = 0;

	open_scene(&s, ONE_BUFFER " flush_period_ms: 1 flush_timeout_ms: 60000");
	for (unsigned i = 0; i < 1000; i++)
		pass_ms(&s.world, 1);
	for (const char *at = s.one.log.text; (at = strstr(at, "flush:")); at++)
		asked++;
	CHECK_INT(asked, ORMA_SERVICE_PERIODIC_PENDING_MAX);
	log_clear(&s.one.log);
	log_clear(&s.two.log);
	/* A request of the consumer is sent nevertheless. */
	flush(&s.consumer, 0);
	CHECK(strstr(s.one.log.text, "flush:"));
	answer_flush(&s.one);
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "flushed");
	close_scene(&s);
}

ORMA_TEST(consumer_that_detaches_hears_so_and_one_that_leaves_nothing)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	flush(&s.consumer, 0);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	enable_ok(&s.consumer, ONE_BUFFER);
	flush(&s.consumer, 0);
	consumer_close(&s.consumer);
	answer_flush(&s.one);
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "");
	close_scene(&s);
}

ORMA_TEST(periodic_flushes_are_aligned_to_the_wall_clock)
{
	struct scene s;

	open_scene(&s, "deferred_start: true " ONE_BUFFER "flush_period_ms: 1000");
	s.world.wall_jump_ns = 250 * ORMA_NS_PER_MS;
	CHECK_INT(orma_consumer_port_start(s.consumer.port, NULL), 0);
	log_clear(&s.one.log);
	pass_ms(&s.world, 749);
	CHECK(!strstr(s.one.log.text, "flush"));
	pass_ms(&s.world, 1);
	CHECK_LOG(&s.one.log, "flush:1 of:1");
	CHECK_INT(s.one.flush_flags, 0x11);
	pass_ms(&s.world, 1000);
	CHECK_LOG(&s.one.log, "flush:2 of:1");
	close_scene(&s);
}

ORMA_TEST(answers_of_one_session_leave_the_other_alone)
{
	struct scene s;
	struct consumer second;

	open_scene(&s, ONE_BUFFER);
	consumer_open(&s.world, &second);
	enable_ok(&second, ONE_BUFFER);
	flush(&s.consumer, 0);
	answer_flush(&s.one);
	log_clear(&s.one.log);
	log_clear(&s.two.log);
	flush(&second, 0);
	CHECK_LOG(&s.one.log, "flush:2 of:3");
	answer_flush(&s.one);
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_LOG(&second.log, "flushed");
	consumer_close(&second);
	close_scene(&s);
}

ORMA_TEST(an_answer_is_not_to_later_flushes)
{
	struct orma_commit first = {.flush_request_id = 1};
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	flush(&s.consumer, 0);
	flush(&s.consumer, 0);
	orma_producer_port_commit(s.one.port, &first);
	orma_producer_port_commit(s.two.port, &first);
	CHECK_LOG(&s.consumer.log, "flushed");
	answer_flush(&s.one);
	answer_flush(&s.two);
	CHECK_LOG(&s.consumer.log, "flushed");
	close_scene(&s);
}

static const struct orma_pb_tracing_service_event_data_sources *slow_of(struct packets *packets)
{
	for (size_t i = 0; i < packets->count; i++)
		if (packets->items[i]->service_event &&
		    packets->items[i]->service_event->last_flush_slow_data_sources)
			return packets->items[i]->service_event->last_flush_slow_data_sources;
	return NULL;
}

/* Only data sources of this session are listed, by name, and no more than the limit. */
ORMA_TEST(data_sources_that_hold_up_the_last_flush_are_listed)
{
	const struct orma_pb_tracing_service_event_data_sources *slow;
	struct packets packets = {0};
	struct consumer other;
	struct scene s;

	open_scene(&s, ONE_BUFFER);
	consumer_open(&s.world, &other);
	enable_ok(&other, ONE_BUFFER);
	flush(&s.consumer, 10);
	answer_flush(&s.one);
	pass_ms(&s.world, 10);
	read_all(&s.consumer, &packets);
	CHECK(!slow_of(&packets)); /* an ordinary flush */
	CHECK_INT(orma_consumer_port_flush(s.consumer.port, 10, 0x22, on_flushed, &s.consumer), 0);
	answer_flush(&s.one);
	pass_ms(&s.world, 10);
	packets_done(&packets);
	read_all(&s.consumer, &packets);
	slow = slow_of(&packets);
	CHECK(slow);
	CHECK_INT(slow->data_source.count, 1);
	CHECK(orma_base_str_is(slow->data_source.items[0]->producer_name, "two"));
	CHECK(orma_base_str_is(slow->data_source.items[0]->data_source_name, "test"));
	for (unsigned i = 0; i < ORMA_SERVICE_SLOW_SOURCES_LISTED + 5; i++)
		CHECK_INT(register_source(&s.two, "name: 'test'"), 0);
	CHECK_INT(orma_consumer_port_flush(s.consumer.port, 10, 0x22, on_flushed, &s.consumer), 0);
	pass_ms(&s.world, 10);
	packets_done(&packets);
	read_all(&s.consumer, &packets);
	CHECK_INT(slow_of(&packets)->data_source.count, ORMA_SERVICE_SLOW_SOURCES_LISTED);
	packets_done(&packets);
	consumer_close(&other);
	close_scene(&s);
}
