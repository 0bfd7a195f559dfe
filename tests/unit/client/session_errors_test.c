/* SPDX-License-Identifier: Apache-2.0
 * session_errors_test.c - a session's errors: refusals, missing answers, lost connections, no
 * memory.
 */
#include <pthread.h>

#include "ipc/ipc_host.h"
#include "unit/client/session_fixture.h"

ORMA_TEST(a_config_in_text_is_refused_with_its_line)
{
	static const char text[] = "buffers { size_kb: 64 }\nbuffers { size: 64 }";
	struct told told = {0};
	struct orma_error error = {0};
	struct place place;
	struct orma_session *session;

	place_open(&place, false);
	session = open_session(&place, &told);
	CHECK_INT(orma_session_enable_text(session, "my.cfg", text, strlen(text), -1, &error),
		  -EBADMSG);
	CHECK(strstr(error.message, "my.cfg:2"));
	CHECK_INT(orma_session_enable(session, NULL, 3, -1), -EINVAL);
	/* Nothing has happened to the session. */
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_enable_text(session, "my.cfg", "", 0, -1, &error), -EBUSY);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(a_refused_config_is_an_error_and_then_the_end)
{
	struct told told = {0};
	struct orma_error error = {0};
	struct place place;
	struct orma_session *session;

	place_open(&place, true);
	session = open_session(&place, &told);
	session_enable(session, "data_sources { config { name: \"test.source\" } }");
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, &error), -EPROTO);
	CHECK(error.message[0]);
	CHECK_INT(told.errors, 1);
	CHECK_INT(told.error, -EPROTO);
	CHECK_INT(told.stopped, 1);
	CHECK_STR(told.text, error.message);
	CHECK_INT(orma_session_start(session, &error), -EPROTO);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), -ESTALE);
	CHECK_INT(orma_session_change_config(session, "", 0), -ESTALE);
	CHECK_INT(orma_session_detach(session, "key"), -ESTALE);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(nothing_that_was_not_enabled_can_be_read_asked_or_waited_for)
{
	struct told told = {0};
	struct orma_trace_stats *stats;
	struct place place;
	struct orma_session *session;

	place_open(&place, false);
	session = open_session(&place, &told);
	CHECK_INT(orma_session_wait_stopped(session, 1, NULL), -ESTALE);
	CHECK_INT(orma_session_wait_started(session, 1), -ESTALE);
	CHECK_INT(orma_session_change_config(session, "", 0), -ESTALE);
	CHECK_INT(orma_session_detach(session, "key"), -ESTALE);
	CHECK_INT(orma_session_attach(session, NULL), -EINVAL);
	CHECK_INT(orma_session_attach(session, "nobody"), -ENOENT);
	CHECK_INT(orma_session_read(session, NULL, NULL), -EINVAL);
	CHECK_INT(orma_session_read_async(session, NULL, on_done, &told), -EINVAL);
	CHECK_INT(orma_session_read_async(session, add_packet, NULL, &told), -EINVAL);
	CHECK_INT(orma_session_start_async(session, NULL, &told), -EINVAL);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATE, NULL, &told),
		  -EINVAL);
	CHECK_INT(orma_session_query_async(session, (enum orma_session_query)99, on_data, &told),
		  -EINVAL);
	CHECK_INT(orma_session_read_stats(session, &stats), -ESTALE);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATS, on_data, &told), 0);
	dispatch_until(session, &told.done, 1);
	CHECK_INT(told.error, -ESTALE);
	CHECK_INT(orma_session_flush(session, 0, 0), -EIO);
	CHECK_INT(orma_session_flush_async(session, 0, 0, on_done, &told), 0);
	dispatch_until(session, &told.done, 2);
	CHECK_INT(told.error, -EIO);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(a_data_source_that_does_not_answer_fails_the_flush_and_not_the_session)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;

	place_open(&place, false);
	place.log.flush_completion = ORMA_POSTPONE;
	session = open_session(&place, &told);
	session_enable(session, "flush_timeout_ms: 20 " SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(orma_session_flush_async(session, 1, 0, on_done, &told), 0);
	dispatch_until(session, &told.done, 1);
	CHECK_INT(told.error, -EIO);
	CHECK_INT(orma_session_flush(session, 1, 0), -EIO);
	session_stop(session);
	orma_session_free(session);
	place_close(&place);
}

/* --- a service that accepts every call and answers none --------------------------------------- */

struct silence {
	struct orma_loop *loop;
	struct orma_ipc_host *host;
	pthread_t thread;
	char address[256];
};

static int keep_silent(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		       size_t size)
{
	(void)peer;
	(void)call;
	(void)args;
	(void)size;
	return 0;
}

static const struct orma_ipc_method silent_methods[] = {
	{"EnableTracing", keep_silent}, {"StartTracing", keep_silent},
	{"Flush", keep_silent},         {"ReadBuffers", keep_silent},
	{"FreeBuffers", keep_silent},   {"ChangeTraceConfig", keep_silent},
	{"Detach", keep_silent},        {"Attach", keep_silent},
	{"GetTraceStats", keep_silent}, {"QueryServiceState", keep_silent},
	{"CloneSession", keep_silent},
};

static const struct orma_ipc_service silent_services[] = {
	{"ConsumerPort", silent_methods, ORMA_ARRAY_SIZE(silent_methods)},
};

static void *run_silence(void *ctx)
{
	orma_base_loop_run(ctx);
	return NULL;
}

static void silence_begin(struct silence *silence)
{
	struct orma_ipc_host_options options = {.services = silent_services, .service_count = 1};

	snprintf(silence->address, sizeof(silence->address), "%s/silent", orma_test_tmpdir());
	CHECK_INT(orma_base_loop_new(&silence->loop), 0);
	options.loop = silence->loop;
	CHECK_INT(orma_ipc_host_new(&options, &silence->host), 0);
	CHECK_INT(orma_ipc_host_listen(silence->host, silence->address, 0), 0);
	orma_base_loop_set_wake_handler(silence->loop, daemon_stop_loop, silence->loop);
	CHECK_INT(pthread_create(&silence->thread, NULL, run_silence, silence->loop), 0);
}

static void silence_end(struct silence *silence)
{
	orma_base_loop_wake(silence->loop);
	pthread_join(silence->thread, NULL);
	orma_ipc_host_free(silence->host);
	orma_base_loop_free(silence->loop);
}

ORMA_TEST(a_service_that_never_answers_is_a_timeout_for_whoever_waits)
{
	struct told told = {0};
	/* It answers the connection when its thread runs, which may take any time. */
	struct orma_session_options options = {.struct_size = sizeof(options),
					       .ctx = &told,
					       .connects_later = true,
					       .on_connected = on_connected,
					       .timeout_ms = 20};
	const struct orma_session_clone_options clone = {.struct_size = sizeof(clone),
							 .session_id = 1};
	struct silence silence;
	struct orma_session *session;
	struct orma_error error;
	void *data;
	size_t size;

	silence_begin(&silence);
	options.consumer_socket = silence.address;
	session = session_new(&options);
	dispatch_until(session, &told.connected, 1);
	/* A connection has the same timeout, which may not suffice on a busy machine. */
	while (told.error) {
		CHECK_INT(told.error, -ETIMEDOUT);
		orma_session_free(session);
		told = (struct told){0};
		session = session_new(&options);
		dispatch_until(session, &told.connected, 1);
	}
	CHECK_INT(orma_session_clone(session, &clone, NULL, &error), -ETIMEDOUT);
	CHECK_INT(orma_session_attach(session, "key"), -ETIMEDOUT);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_start(session, &error), -ETIMEDOUT);
	CHECK_INT(orma_session_flush(session, 1, 0), -ETIMEDOUT);
	CHECK_INT(orma_session_read(session, packets_add, NULL), -ETIMEDOUT);
	CHECK_INT(orma_session_get_stats(session, &data, &size), -ETIMEDOUT);
	CHECK_INT(orma_session_query_state(session, false, &data, &size), -ETIMEDOUT);
	CHECK_INT(orma_session_change_config(session, "", 0), -ETIMEDOUT);
	CHECK_INT(orma_session_free_buffers(session), -ETIMEDOUT);
	CHECK_INT(orma_session_detach(session, "key"), -ETIMEDOUT);
	/* A method that it does not even offer. */
	CHECK_INT(orma_session_query_capabilities(session, &data, &size), -ENOTSUP);
	CHECK_INT(orma_session_stop(session), -ENOTSUP);
	CHECK_INT(orma_session_wait_started(session, 1), -ENOTSUP);
	CHECK_INT(orma_session_wait_stopped(session, 1, &error), -ETIMEDOUT);
	CHECK_INT(orma_session_flush_async(session, 1, 0, on_done, &told), 0);
	CHECK_INT(orma_session_read_async(session, add_packet, on_done, &told), 0);
	CHECK_INT(orma_session_start_async(session, on_done, &told), 0);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATS, on_data, &told), 0);
	while (told.done < 4) {
		dispatch_once(session);
		CHECK(told.done == 0 || (told.error == -ETIMEDOUT && told.text[0]));
	}
	orma_session_free(session);
	silence_end(&silence);
}

ORMA_TEST(a_lost_daemon_is_told_once_and_ends_every_call)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;

	place_open(&place, true);
	place.log.flush_completion = ORMA_POSTPONE;
	session = open_session(&place, &told);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(orma_session_flush_async(session, WAIT_MS, 0, on_done, &told), 0);
	orma_session_dispatch(session);
	wait_for(&place.log.is_flushing);
	daemon_stop(&place.daemon);
	dispatch_until(session, &told.stopped, 1);
	CHECK_INT(told.errors, 1);
	CHECK_INT(told.done, 1);
	CHECK_INT(told.error, -ECONNRESET);
	CHECK_INT(orma_session_dispatch(session), -ECONNRESET);
	CHECK_INT(orma_session_read_async(session, add_packet, on_done, &told), -ECONNRESET);
	CHECK_INT(orma_session_free_buffers(session), -ECONNRESET);
	orma_session_free(session);

	daemon_start(&place.daemon);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	told = (struct told){0};
	session = open_session(&place, &told);
	daemon_stop(&place.daemon);
	dispatch_until(session, &told.errors, 1);
	CHECK_INT(told.error, -ECONNRESET);
	CHECK_INT(told.stopped, 0);
	orma_session_free(session);
	orma_shutdown();
}

ORMA_TEST(a_session_with_calls_under_way_can_be_freed)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;
	const struct orma_session_clone_options clone = {.struct_size = sizeof(clone),
							 .session_id = UINT64_MAX};

	place_open(&place, false);
	session = open_session(&place, &told);
	CHECK_INT(orma_session_clone_async(session, &clone, on_clone, &told), 0);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_start_async(session, on_done, &told), 0);
	CHECK_INT(orma_session_flush_async(session, 0, 0, on_done, &told), 0);
	CHECK_INT(orma_session_read_async(session, add_packet, on_done, &told), 0);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_SESSIONS, on_data, &told),
		  0);
	orma_session_free(session);
	CHECK_INT(told.done, 0);
	place_close(&place);
}

static int begin_call(struct orma_session *session, int kind, struct told *told)
{
	const struct orma_session_clone_options clone = {.struct_size = sizeof(clone),
							 .session_id = UINT64_MAX};

	switch (kind) {
	case 0:
		return orma_session_flush_async(session, 0, 0, on_done, told);
	case 1:
		return orma_session_read_async(session, add_packet, on_done, told);
	case 2:
		return orma_session_query_async(session, ORMA_SESSION_QUERY_STATE, on_data, told);
	case 3:
		return orma_session_clone_async(session, &clone, on_clone, told);
	case 4:
		return orma_session_attach_async(session, "key", on_done, told);
	case 5:
		return orma_session_read_into_fd_async(session, 0, on_file, told);
	default:
		return orma_session_start_async(session, on_done, told);
	}
}

ORMA_TEST(calls_survive_any_failing_allocation)
{
	struct place place;

	place_open(&place, false);
	for (int kind = 0; kind < 7; kind++) {
		struct told told = {0};
		struct orma_session *session = open_session(&place, &told);
		int r = -ENOMEM;

		for (uint64_t nth = 1; r < 0; nth++) {
			orma_test_fail_allocation(nth);
			r = begin_call(session, kind, &told);
			orma_test_fail_allocation(0);
			CHECK(r == 0 || r == -ENOMEM);
		}
		/* The planned failure may have hit the service, on its own thread, so any result
		 * is valid. */
		dispatch_until(session, &told.done, 1);
		packets_done(&told.packets);
		orma_session_free(session);
	}
	place_close(&place);
}
