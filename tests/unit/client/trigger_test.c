/* SPDX-License-Identifier: Apache-2.0
 * trigger_test.c - triggers reach connected services, and those that connect in time.
 */
#include "schema/gen/service_state.pb.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

#define WAITING_CONFIG                                                                             \
	SOURCE_CONFIG " trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 20000 "   \
		      "triggers { name: \"go\" stop_delay_ms: 20000 } }"

static void init_both(const struct daemon *daemon)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_SYSTEM |
							      ORMA_BACKEND_IN_PROCESS,
						  .producer_name = "test.producer",
						  .producer_socket = daemon->producer};

	CHECK_INT(orma_init(&options), 0);
}

static struct orma_session *wait_in_daemon(const struct daemon *daemon)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .consumer_socket = daemon->consumer};
	struct orma_session *session = session_new(&options);
	void *answer;
	size_t size;

	session_enable(session, WAITING_CONFIG);
	/* The trigger arrives over another connection, so the config must have arrived before. */
	CHECK_INT(orma_session_query_capabilities(session, &answer, &size), 0);
	orma_config_free(answer);
	return session;
}

/* The in-process service alone is enough for orma_sync(). */
static void await_producer(struct orma_session *session)
{
	size_t count;

	do {
		struct orma_arena arena = {0};
		struct orma_pb_tracing_service_state *state;
		void *data;
		size_t size;

		CHECK_INT(orma_session_query_state(session, false, &data, &size), 0);
		CHECK_INT(orma_pb_tracing_service_state_decode(data, size, &arena, &state), 0);
		count = state->data_sources.count;
		orma_base_arena_done(&arena);
		orma_config_free(data);
	} while (count == 0);
}

static const char *const names[] = {"nobody waits for this", "go"};

ORMA_TEST(all_services_that_are_connected_hear_of_a_trigger)
{
	struct source_log log = {0};
	struct orma_session *here, *there;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	init_both(&daemon);
	register_source("test.source", &log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	here = session_new(NULL);
	session_enable(here, WAITING_CONFIG);
	there = wait_in_daemon(&daemon);
	await_producer(there);
	CHECK_INT(log.starts, 0);
	CHECK_INT(orma_activate_triggers(names, 1, 0), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(log.starts, 0);
	CHECK_INT(orma_activate_triggers(names, 2, 0), 0);
	CHECK_INT(orma_session_wait_started(here, WAIT_MS), 0);
	CHECK_INT(orma_session_wait_started(there, WAIT_MS), 0);
	CHECK_INT(log.starts, 2);
	orma_session_free(here);
	orma_session_free(there);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(a_service_that_comes_in_time_hears_of_it_and_one_that_is_late_does_not)
{
	struct source_log log = {0};
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	daemon_start(&daemon);
	session = wait_in_daemon(&daemon);
	init_both(&daemon);
	register_source("test.source", &log);
	CHECK_INT(orma_activate_triggers(names, 2, WAIT_MS), 0);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	orma_session_free(session);
	daemon_stop(&daemon);
	CHECK_INT(orma_activate_triggers(names, 2, 0), 0);
	for (int i = 0; i < 200; i++)
		CHECK_INT(orma_activate_triggers(names, 1, WAIT_MS), 0);
	daemon_start(&daemon);
	session = wait_in_daemon(&daemon);
	CHECK_INT(orma_session_wait_started(session, 300), -ETIMEDOUT);
	orma_session_free(session);
	CHECK_INT(orma_activate_triggers(names, 1, WAIT_MS), 0);
	orma_shutdown();
	daemon_stop(&daemon);
}

ORMA_TEST(triggers_without_a_name_or_with_too_much_of_it_are_refused)
{
	static char large[20000];
	const char *const bad[] = {"a", ""}, *const huge[] = {large}, *const null[] = {NULL};

	memset(large, 'x', sizeof(large) - 1);
	CHECK_INT(orma_activate_triggers(names, 2, 0), -ENOTCONN);
	CHECK_INT(orma_activate_triggers(NULL, 2, 0), -EINVAL);
	CHECK_INT(orma_activate_triggers(names, 0, 0), -EINVAL);
	CHECK_INT(orma_activate_triggers(bad, 2, 0), -EINVAL);
	CHECK_INT(orma_activate_triggers(null, 1, 0), -EINVAL);
	CHECK_INT(orma_activate_triggers(huge, 1, 0), -EMSGSIZE);
	CHECK_INT(orma_activate_triggers(names, 1u << 30, 0), -EMSGSIZE);
}
