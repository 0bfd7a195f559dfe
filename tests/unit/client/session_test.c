/* SPDX-License-Identifier: Apache-2.0
 * session_test.c - everything that a session can do, against the service of this process and
 * against a daemon: the waiting and the polled forms.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "unit/client/session_fixture.h"

static void check_polled_life(bool is_daemon)
{
	struct told told = {0};
	struct place place;
	struct orma_session_options options;
	struct orma_session *session;

	place_open(&place, is_daemon);
	options = options_for(&place, &told);
	options.connects_later = true;
	session = told.session = session_new(&options);
	CHECK_INT(orma_session_flush_async(session, 0, 0, on_done, &told), -ENOTCONN);
	CHECK_INT(orma_session_enable(session, "", 0, -1), -ENOTCONN);
	dispatch_until(session, &told.connected, 1);
	CHECK_INT(told.error, 0);
	CHECK_INT(orma_session_enable_text(session, "test", "deferred_start: true " SOURCE_CONFIG,
					   strlen("deferred_start: true " SOURCE_CONFIG), -1, NULL),
		  0);
	CHECK_INT(orma_session_start_async(session, on_done, &told), 0);
	dispatch_until(session, &told.done, 1);
	dispatch_until(session, &told.started, 1);
	for (uint64_t i = 1; i <= 100; i++)
		emit(place.source, i);
	CHECK_INT(orma_session_flush_async(session, WAIT_MS, 0, on_done, &told), 0);
	dispatch_until(session, &told.done, 2);
	CHECK_INT(told.error, 0);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATS, on_stats, &told), 0);
	dispatch_until(session, &told.done, 3);
	CHECK_INT(told.stats->buffer_count, 1);
	CHECK_INT(told.stats->buffers[0]->size_bytes, 1024 * 1024);
	CHECK(told.stats->buffers[0]->written_bytes > 0);
	CHECK_INT(told.stats->lost_packets + told.stats->lost_chunks, 0);
	orma_trace_stats_free(told.stats);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATE, on_data, &told), 0);
	CHECK_INT(
		orma_session_query_async(session, ORMA_SESSION_QUERY_CAPABILITIES, on_data, &told),
		0);
	dispatch_until(session, &told.done, 5);
	CHECK(told.data_size > 0);
	CHECK_INT(orma_session_stop(session), 0);
	dispatch_until(session, &told.stopped, 1);
	CHECK_STR(told.text, "");
	CHECK_INT(orma_session_read_async(session, add_packet, on_done, &told), 0);
	dispatch_until(session, &told.done, 6);
	CHECK_INT(told.error, 0);
	CHECK_INT(count_values(&told.packets, 1, 100), 100);
	CHECK_INT(told.errors, 0);
	packets_done(&told.packets);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(a_polled_session_in_process_never_waits)
{
	check_polled_life(false);
}

ORMA_TEST(a_polled_session_of_a_daemon_never_waits)
{
	check_polled_life(true);
}

ORMA_TEST(a_session_that_connects_later_is_told_that_nobody_is_there)
{
	struct told told = {0};
	struct place place = {.is_daemon = true};
	struct orma_session_options options;
	struct orma_session *session;

	daemon_addresses(&place.daemon);
	options = options_for(&place, &told);
	options.connects_later = true;
	CHECK_INT(orma_session_new(&options, &session, NULL), 0);
	dispatch_until(session, &told.connected, 1);
	CHECK_INT(told.error, -ENOENT);
	CHECK(strstr(told.text, place.daemon.consumer));
	CHECK_INT(told.errors, 0);
	CHECK_INT(orma_session_stop(session), -ECONNRESET);
	CHECK_INT(orma_session_dispatch(session), -ECONNRESET);
	orma_session_free(session);
}

ORMA_TEST(what_waits_is_refused_inside_a_callback_and_nothing_is_lost)
{
	struct told told = {.is_nosy = true};
	struct packets packets = {0};
	struct place place;
	struct orma_session *session;

	place_open(&place, false);
	session = open_session(&place, &told);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(told.inner, -EBUSY);
	CHECK_INT(told.packets.list.count, 0);
	emit(place.source, 1);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, 1), 1);
	packets_done(&packets);
	place_close(&place);
}

static void *request_stop(void *ctx)
{
	orma_session_request_stop(ctx);
	return NULL;
}

ORMA_TEST(any_thread_may_ask_a_waiting_session_to_stop)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;
	pthread_t thread;

	place_open(&place, true);
	session = open_session(&place, &told);
	/* Nothing is enabled, so nothing happens. */
	orma_session_request_stop(session);
	CHECK_INT(orma_session_dispatch(session), 0);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(orma_session_wait_stopped(session, 0, NULL), -ETIMEDOUT);
	CHECK_INT(pthread_create(&thread, NULL, request_stop, session), 0);
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(told.stopped, 1);
	CHECK(orma_session_is_stopped(session));
	orma_session_free(session);
	place_close(&place);
}

static struct orma_session *signalled_session;

static void on_signal(int number)
{
	(void)number;
	orma_session_request_stop(signalled_session);
}

static void *send_signal(void *ctx)
{
	pthread_kill(*(pthread_t *)ctx, SIGUSR1);
	return NULL;
}

ORMA_TEST(a_signal_handler_may_ask_a_waiting_session_to_stop)
{
	orma_test_need_tls_after_signals();
	const struct sigaction action = {.sa_handler = on_signal};
	pthread_t waiting = pthread_self(), thread;
	struct told told = {0};
	struct place place;
	struct orma_session *session;

	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	place_open(&place, false);
	session = signalled_session = open_session(&place, &told);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(pthread_create(&thread, NULL, send_signal, &waiting), 0);
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	orma_session_free(session);
	place_close(&place);
}

static void *record_elsewhere(void *ctx)
{
	struct told *told = ctx;

	session_enable(told->session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(told->session, WAIT_MS), 0);
	return NULL;
}

ORMA_TEST(a_session_may_move_from_thread_to_thread)
{
	struct told told = {0};
	struct packets packets = {0};
	struct place place;
	pthread_t thread;

	place_open(&place, true);
	open_session(&place, &told);
	CHECK_INT(pthread_create(&thread, NULL, record_elsewhere, &told), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(told.started, 1);
	emit(place.source, 1);
	session_finish(told.session, &packets);
	CHECK_INT(count_values(&packets, 1, 1), 1);
	packets_done(&packets);
	place_close(&place);
}

ORMA_TEST(a_session_survives_the_library_whose_service_it_used)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;
	struct orma_trace_stats *stats;

	place_open(&place, false);
	session = open_session(&place, &told);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	orma_shutdown();
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), -ECONNRESET);
	CHECK_INT(told.errors, 1);
	CHECK_INT(told.stopped, 1);
	CHECK_INT(orma_session_read_stats(session, &stats), -ECONNRESET);
	CHECK_INT(orma_session_stop(session), -ECONNRESET);
	orma_session_request_stop(session);
	CHECK_INT(orma_session_dispatch(session), -ECONNRESET);
	orma_session_free(session);
}

static void check_change(bool is_daemon)
{
	static const char before[] =
		"buffers { size_kb: 64 } data_sources { config { name: \"test.source\" } "
		"producer_name_filter: \"somebody.else\" }";
	static const char after[] =
		"buffers { size_kb: 64 } data_sources { config { name: \"test.source\" } "
		"producer_name_filter: \"somebody.else\" producer_name_filter: \"test.producer\" }";
	struct told told = {0};
	struct place place;
	struct orma_session *session;
	void *config;
	size_t size;

	place_open(&place, is_daemon);
	session = open_session(&place, &told);
	session_enable(session, before);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(place.log.setups, 0);
	CHECK_INT(orma_config_parse(NULL, after, strlen(after), &config, &size, NULL), 0);
	if (is_daemon) {
		CHECK_INT(orma_session_change_config_async(session, config, size, on_done, &told),
			  0);
		dispatch_until(session, &told.done, 1);
		CHECK_INT(told.error, 0);
	} else {
		CHECK_INT(orma_session_change_config(session, config, size), 0);
	}
	wait_for(&place.log.is_started);
	CHECK_INT(orma_session_change_config(session, "\x0a\x7f", 2), 0);
	CHECK_INT(orma_session_change_config(session, config, 1 << 20), -EMSGSIZE);
	CHECK_INT(orma_session_change_config(session, NULL, 1), -EINVAL);
	CHECK_INT(orma_session_change_config_async(session, NULL, 1, on_done, &told), -EINVAL);
	CHECK_INT(orma_session_change_config_async(session, "", 0, NULL, &told), -EINVAL);
	orma_config_free(config);
	session_stop(session);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(a_changed_config_admits_another_producer_in_process)
{
	check_change(false);
}

ORMA_TEST(a_changed_config_admits_another_producer_at_a_daemon)
{
	check_change(true);
}

ORMA_TEST(freed_buffers_end_the_session)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;

	place_open(&place, false);
	session = open_session(&place, &told);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	emit(place.source, 1);
	CHECK_INT(orma_session_free_buffers_async(session, on_done, &told), 0);
	dispatch_until(session, &told.done, 1);
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), 0);
	/* The second call finds none. */
	CHECK_INT(orma_session_free_buffers(session), 0);
	wait_for(&place.log.is_destroyed);
	orma_session_read(session, add_packet, &told);
	CHECK_INT(told.packets.list.count, 0);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(a_session_is_detached_attached_and_cloned_without_waiting)
{
	struct told told = {0}, other = {0};
	struct orma_session_clone_options clone = {.struct_size = sizeof(clone),
						   .unique_session_name = "original"};
	struct place place;
	struct orma_session *session, *copy;

	place_open(&place, true);
	session = open_session(&place, &told);
	session_enable(session, "unique_session_name: \"original\" " SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	emit(place.source, 1);
	CHECK_INT(orma_session_detach_async(session, "", on_done, &told), -EINVAL);
	CHECK_INT(orma_session_detach_async(session, "key", on_done, &told), 0);
	dispatch_until(session, &told.done, 1);
	CHECK_INT(told.error, 0);
	CHECK_INT(told.stopped, 0);
	CHECK_INT(orma_session_detach_async(session, "key", on_done, &told), -ESTALE);
	CHECK_INT(orma_session_detach(session, "key"), -ESTALE);
	orma_session_free(session);

	copy = open_session(&place, &other);
	CHECK_INT(orma_session_clone_async(copy, NULL, on_clone, &other), -EINVAL);
	CHECK_INT(orma_session_clone_async(copy, &clone, NULL, &other), -EINVAL);
	CHECK_INT(orma_session_clone_async(copy, &clone, on_clone, &other), 0);
	dispatch_until(copy, &other.done, 1);
	CHECK_INT(other.error, 0);
	CHECK(other.clone.uuid_msb != 0 || other.clone.uuid_lsb != 0);
	CHECK_INT(orma_session_read(copy, add_packet, &other), 0);
	CHECK_INT(count_values(&other.packets, 1, 1), 1);
	packets_done(&other.packets);
	orma_session_free(copy);

	clone.unique_session_name = "nobody";
	copy = open_session(&place, &other);
	CHECK_INT(orma_session_clone_async(copy, &clone, on_clone, &other), 0);
	dispatch_until(copy, &other.done, 2);
	CHECK_INT(other.error, -EPROTO);
	CHECK(other.text[0]);
	CHECK_INT(orma_session_attach_async(copy, NULL, on_done, &other), -EINVAL);
	CHECK_INT(orma_session_attach_async(copy, "other", on_done, &other), 0);
	dispatch_until(copy, &other.done, 3);
	CHECK_INT(other.error, -ENOENT);
	CHECK_INT(orma_session_attach_async(copy, "key", on_done, &other), 0);
	dispatch_until(copy, &other.done, 4);
	CHECK_INT(other.error, 0);
	CHECK_INT(orma_session_attach_async(copy, "key", on_done, &other), -EBUSY);
	CHECK_INT(orma_session_attach(copy, "key"), -EBUSY);
	CHECK_INT(orma_session_clone_async(copy, &clone, on_clone, &other), -EBUSY);
	emit(place.source, 2);
	session_stop(copy);
	CHECK_INT(other.stopped, 1);
	CHECK_INT(orma_session_read(copy, add_packet, &other), 0);
	CHECK_INT(count_values(&other.packets, 1, 2), 2);
	packets_done(&other.packets);
	orma_session_free(copy);
	place_close(&place);
}

static void check_events(bool is_daemon)
{
	static const char *const names[] = {"snap"};
	struct told told = {0}, other = {0};
	struct orma_session_clone_options clone = {.struct_size = sizeof(clone)};
	struct place place;
	struct orma_session *session, *copy;
	void *answer;
	size_t size;

	place_open(&place, is_daemon);
	session = open_session(&place, &told);
	CHECK_INT(orma_session_observe(session, ORMA_OBSERVE_INSTANCES), 0);
	session_enable(session,
		       "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 "
		       "triggers { name: \"snap\" stop_delay_ms: 1 } } " SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	dispatch_until(session, &told.instances_started, 1);
	CHECK(told.events > 0);
	told.instances_stopped = 0; /* as it was before the start */
	CHECK_INT(orma_session_observe(session, ORMA_OBSERVE_CLONE_TRIGGER), 0);
	/* The trigger arrives over another connection, so the request must have arrived before. */
	CHECK_INT(orma_session_query_capabilities(session, &answer, &size), 0);
	orma_config_free(answer);
	emit(place.source, 1);
	CHECK_INT(orma_activate_triggers(names, 1, 0), 0);
	dispatch_until(session, &told.triggers, 1);
	/* The event names the trigger. */
	copy = open_session(&place, &other);
	clone.session_id = told.session_id;
	clone.trigger_name = "snap";
	CHECK_INT(orma_session_clone(copy, &clone, NULL, NULL), 0);
	CHECK_INT(orma_session_read(copy, add_packet, &other), 0);
	CHECK_INT(count_values(&other.packets, 1, 1), 1);
	packets_done(&other.packets);
	orma_session_free(copy);
	/* The events are no longer requested. */
	session_stop(session);
	CHECK_INT(told.instances_stopped, 0);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(events_in_process_come_as_structs)
{
	check_events(false);
}

ORMA_TEST(events_of_a_daemon_come_as_structs)
{
	check_events(true);
}

ORMA_TEST(a_trace_is_read_into_a_file_without_waiting)
{
	struct told told = {0};
	struct place place;
	struct orma_session *session;
	int fd = memfd_create("trace", MFD_CLOEXEC), full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && full >= 0);
	place_open(&place, true);
	session = open_session(&place, &told);
	CHECK_INT(orma_session_read_into_fd_async(session, -1, on_file, &told), -EINVAL);
	CHECK_INT(orma_session_read_into_fd_async(session, fd, NULL, &told), -EINVAL);
	session_enable(session, SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	for (uint64_t i = 1; i <= 5000; i++)
		emit(place.source, i);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_read_into_fd_async(session, fd, on_file, &told), 0);
	dispatch_until(session, &told.done, 1);
	CHECK_INT(told.error, 0);
	CHECK(told.data_size > 5000);
	CHECK_INT(lseek(fd, 0, SEEK_END), told.data_size);
	emit(place.source, 1);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_read_into_fd_async(session, full, on_file, &told), 0);
	dispatch_until(session, &told.done, 2);
	CHECK_INT(told.error, -ENOSPC);
	CHECK(told.text[0]);
	CHECK_INT(told.data_size, 0);
	CHECK_INT(orma_session_read_into_fd_async(session, fd, on_file, &told), 0);
	orma_session_free(session);
	CHECK_INT(told.done, 2);
	close(fd);
	close(full);
	place_close(&place);
}

ORMA_TEST(a_session_reads_who_is_there)
{
	struct told told = {0};
	struct orma_service_state *state;
	struct place place;
	struct orma_session *session;
	bool is_there = false;

	place_open(&place, true);
	session = open_session(&place, &told);
	session_enable(session, "unique_session_name: \"mine\" duration_ms: 77000 " SOURCE_CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	CHECK_INT(orma_session_read_state(session, false, &state), 0);
	CHECK_INT(state->producer_count, 1);
	CHECK_STR(state->producers[0]->name, "test.producer");
	CHECK_INT(state->producers[0]->pid, getpid());
	CHECK(strstr(state->producers[0]->sdk_version, "orma"));
	for (size_t i = 0; i < state->data_source_count; i++)
		is_there |= strcmp(state->data_sources[i]->name, "test.source") == 0 &&
			    state->data_sources[i]->producer_id == state->producers[0]->id &&
			    state->data_sources[i]->descriptor_size > 0;
	CHECK(is_there);
	CHECK_INT(state->started_count, 1);
	CHECK(state->lists_sessions);
	CHECK_INT(state->listed_count, 1);
	CHECK_STR(state->sessions[0]->unique_name, "mine");
	CHECK_STR(state->sessions[0]->state, "STARTED");
	CHECK(state->sessions[0]->is_started);
	CHECK_INT(state->sessions[0]->duration_ms, 77000);
	CHECK_INT(state->sessions[0]->buffers_bytes, 1024 * 1024);
	orma_service_state_free(state);
	CHECK_INT(orma_session_read_state(session, true, &state), 0);
	CHECK_INT(state->producer_count + state->data_source_count, 0);
	CHECK_INT(state->listed_count, 1);
	orma_service_state_free(state);
	orma_session_free(session);
	place_close(&place);
}

ORMA_TEST(options_of_older_and_newer_programs_are_understood)
{
	struct {
		struct orma_session_options known;
		void *unknown;
	} newer = {.known = {.struct_size = sizeof(newer), .in_process = true}};
	struct orma_session *session;
	struct place place;

	place_open(&place, false);
	CHECK_INT(orma_session_new(&newer.known, &session, NULL), 0);
	orma_session_free(session);
	newer.unknown = &newer;
	CHECK_INT(orma_session_new(&newer.known, &session, NULL), -EINVAL);
	/* The library does not know the fields that this struct has at its end. */
	newer.known.struct_size = offsetof(struct orma_session_options, on_started);
	newer.known.connects_later = true;
	CHECK_INT(orma_session_new(&newer.known, &session, NULL), 0);
	CHECK_INT(orma_session_flush(session, 0, 0), -EIO);
	orma_session_free(session);
	CHECK_INT(orma_session_new(&newer.known, NULL, NULL), -EINVAL);
	place_close(&place);
}
