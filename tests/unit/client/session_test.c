/* SPDX-License-Identifier: Apache-2.0
 * session_test.c - everything that a session can do, against the service of this process and
 * against a daemon: the waiting and the polled forms, and their errors.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ipc/host.h"
#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

/* Where the service is: the same test runs twice. */
struct place {
	bool is_daemon;
	struct daemon daemon;
	struct source_log log;
	struct orma_data_source *source;
};

static void place_open(struct place *place, bool is_daemon)
{
	*place = (struct place){.is_daemon = is_daemon};
	if (is_daemon) {
		const struct orma_init_options options = {.struct_size = sizeof(options),
							  .producer_name = "test.producer",
							  .producer_socket =
								  place->daemon.producer};

		daemon_addresses(&place->daemon);
		daemon_start(&place->daemon);
		CHECK_INT(orma_init(&options), 0);
	} else {
		init_in_process();
	}
	place->source = register_source("test.source", &place->log);
	CHECK_INT(orma_sync(WAIT_MS), 0);
}

static void place_close(struct place *place)
{
	orma_shutdown();
	if (place->is_daemon)
		daemon_stop(&place->daemon);
}

/* What a session told its owner. */
struct told {
	int instances_started, instances_stopped, triggers;
	uint64_t session_id;
	struct orma_session *session;
	int connected, started, stopped, errors, done, events;
	int error; /* of the last callback that had one */
	char text[ORMA_ERROR_MESSAGE_BYTES];
	size_t data_size;
	struct packets packets;
	struct orma_trace_stats *stats;
	struct orma_session_clone_result clone;
	int inner; /* what a function that waits said inside a callback */
	bool is_nosy;
};

static void note(struct told *told, const struct orma_error *error)
{
	told->error = error ? error->code : 0;
	snprintf(told->text, sizeof(told->text), "%s", error ? error->message : "");
}

static void on_stopped(void *ctx, const char *error)
{
	struct told *told = ctx;

	told->stopped++;
	snprintf(told->text, sizeof(told->text), "%s", error ? error : "");
}

static void on_events(void *ctx, const void *events, size_t size)
{
	struct told *told = ctx;

	(void)events;
	CHECK(size > 0);
	told->events++;
}

static void on_instance(void *ctx, const struct orma_instance_event *event)
{
	struct told *told = ctx;

	CHECK_INT(event->struct_size, sizeof(*event));
	CHECK_STR(event->producer_name, "test.producer");
	CHECK_STR(event->data_source_name, "test.source");
	told->instances_started += event->is_started;
	told->instances_stopped += !event->is_started;
}

static void on_trigger(void *ctx, const struct orma_trigger_event *event)
{
	struct told *told = ctx;

	CHECK_INT(event->struct_size, sizeof(*event));
	CHECK_STR(event->trigger_name, "snap");
	CHECK_STR(event->producer_name, "test.producer");
	CHECK_INT(event->producer_uid, getuid());
	CHECK(event->boot_time_ns > 0);
	CHECK_INT(event->delay_ms, 1);
	told->session_id = event->session_id;
	told->triggers++;
}

static void on_started(void *ctx)
{
	struct told *told = ctx;

	told->started++;
	if (told->is_nosy)
		told->inner = orma_session_read(told->session, packets_add, &told->packets);
}

static void on_error(void *ctx, const struct orma_error *error)
{
	struct told *told = ctx;

	CHECK_INT(told->stopped, 0);
	told->errors++;
	note(told, error);
}

static void on_connected(void *ctx, const struct orma_error *error)
{
	struct told *told = ctx;

	told->connected++;
	note(told, error);
}

static void on_done(void *ctx, const struct orma_error *error)
{
	struct told *told = ctx;

	told->done++;
	note(told, error);
}

static void on_data(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	on_done(ctx, error);
	CHECK((data != NULL) == (error == NULL));
	((struct told *)ctx)->data_size = size;
}

static void on_stats(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	on_data(ctx, error, data, size);
	CHECK_INT(orma_trace_stats_parse(data, size, &((struct told *)ctx)->stats), 0);
}

static void on_clone(void *ctx, const struct orma_error *error,
		     const struct orma_session_clone_result *result)
{
	on_done(ctx, error);
	CHECK((result != NULL) == (error == NULL));
	if (result)
		((struct told *)ctx)->clone = *result;
}

static int add_packet(void *ctx, const void *data, size_t size)
{
	return packets_add(&((struct told *)ctx)->packets, data, size);
}

static struct orma_session_options options_for(const struct place *place, struct told *told)
{
	return (struct orma_session_options){
		.struct_size = sizeof(struct orma_session_options),
		.consumer_socket = place->is_daemon ? place->daemon.consumer : NULL,
		.in_process = !place->is_daemon,
		.ctx = told,
		.on_stopped = on_stopped,
		.on_events = on_events,
		.on_started = on_started,
		.on_error = on_error,
		.on_connected = on_connected,
		.on_instance = on_instance,
		.on_trigger = on_trigger,
	};
}

static struct orma_session *open_session(const struct place *place, struct told *told)
{
	const struct orma_session_options options = options_for(place, told);

	return told->session = session_new(&options);
}

static void dispatch_once(struct orma_session *session)
{
	struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

	CHECK_INT(poll(&poll_fd, 1, WAIT_MS), 1);
	orma_session_dispatch(session);
}

/* Polls and dispatches until the counter is so high. */
static void dispatch_until(struct orma_session *session, const int *counter, int count)
{
	while (*counter < count)
		dispatch_once(session);
	CHECK_INT(*counter, count);
}

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
	/* Nothing is enabled: nothing happens. */
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
	/* Once more: there are none. */
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
	/* The trigger comes over another connection: the wish must have arrived before. */
	CHECK_INT(orma_session_query_capabilities(session, &answer, &size), 0);
	orma_config_free(answer);
	emit(place.source, 1);
	CHECK_INT(orma_activate_triggers(names, 1, 0), 0);
	dispatch_until(session, &told.triggers, 1);
	/* Which one it was, is what the event says. */
	copy = open_session(&place, &other);
	clone.session_id = told.session_id;
	clone.trigger_name = "snap";
	CHECK_INT(orma_session_clone(copy, &clone, NULL, NULL), 0);
	CHECK_INT(orma_session_read(copy, add_packet, &other), 0);
	CHECK_INT(count_values(&other.packets, 1, 1), 1);
	packets_done(&other.packets);
	orma_session_free(copy);
	/* Not wished any more. */
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

static void on_file(void *ctx, const struct orma_error *error, uint64_t bytes)
{
	on_done(ctx, error);
	((struct told *)ctx)->data_size = bytes;
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

/* --- a service that takes every call and answers none ------------------------------------------- */

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
	/* It answers to being connected, when its thread gets a turn: that takes what it takes. */
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
	/* The same time is all that a connection has, and on a busy machine it may not suffice. */
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
	/* What it does not even offer. */
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
		/* The service, on its own thread, may have met the planned failure: any end will do. */
		dispatch_until(session, &told.done, 1);
		packets_done(&told.packets);
		orma_session_free(session);
	}
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
	/* What this one has at the end does not exist for it. */
	newer.known.struct_size = offsetof(struct orma_session_options, on_started);
	newer.known.connects_later = true;
	CHECK_INT(orma_session_new(&newer.known, &session, NULL), 0);
	CHECK_INT(orma_session_flush(session, 0, 0), -EIO);
	orma_session_free(session);
	CHECK_INT(orma_session_new(&newer.known, NULL, NULL), -EINVAL);
	place_close(&place);
}
