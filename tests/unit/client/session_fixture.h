/* SPDX-License-Identifier: Apache-2.0
 * session_fixture.h - sessions of the service of this process or of a daemon, with a record of
 * their callbacks.
 */
#ifndef ORMA_TESTS_SESSION_FIXTURE_H
#define ORMA_TESTS_SESSION_FIXTURE_H

#include <poll.h>
#include <unistd.h>

#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

/* The place of the service; the same test runs with each. */
struct place {
	bool is_daemon;
	struct daemon daemon;
	struct source_log log;
	struct orma_data_source *source;
};

static inline void place_open(struct place *place, bool is_daemon)
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

static inline void place_close(struct place *place)
{
	orma_shutdown();
	if (place->is_daemon)
		daemon_stop(&place->daemon);
}

/* A record of a session's callbacks. */
struct told {
	int instances_started, instances_stopped, triggers;
	uint64_t session_id;
	struct orma_session *session;
	int connected, started, stopped, errors, done, events;
	int error; /* the code of the last callback with an error */
	char text[ORMA_ERROR_MESSAGE_BYTES];
	size_t data_size;
	struct packets packets;
	struct orma_trace_stats *stats;
	struct orma_session_clone_result clone;
	int inner; /* the result of a function that waits, called inside a callback */
	bool is_nosy;
};

static inline void note(struct told *told, const struct orma_error *error)
{
	told->error = error ? error->code : 0;
	snprintf(told->text, sizeof(told->text), "%s", error ? error->message : "");
}

static inline void on_stopped(void *ctx, const char *error)
{
	struct told *told = ctx;

	told->stopped++;
	snprintf(told->text, sizeof(told->text), "%s", error ? error : "");
}

static inline void on_events(void *ctx, const void *events, size_t size)
{
	struct told *told = ctx;

	(void)events;
	CHECK(size > 0);
	told->events++;
}

static inline void on_instance(void *ctx, const struct orma_instance_event *event)
{
	struct told *told = ctx;

	CHECK_INT(event->struct_size, sizeof(*event));
	CHECK_STR(event->producer_name, "test.producer");
	CHECK_STR(event->data_source_name, "test.source");
	told->instances_started += event->is_started;
	told->instances_stopped += !event->is_started;
}

static inline void on_trigger(void *ctx, const struct orma_trigger_event *event)
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

static inline void on_started(void *ctx)
{
	struct told *told = ctx;

	told->started++;
	if (told->is_nosy)
		told->inner = orma_session_read(told->session, packets_add, &told->packets);
}

static inline void on_error(void *ctx, const struct orma_error *error)
{
	struct told *told = ctx;

	CHECK_INT(told->stopped, 0);
	told->errors++;
	note(told, error);
}

static inline void on_connected(void *ctx, const struct orma_error *error)
{
	struct told *told = ctx;

	told->connected++;
	note(told, error);
}

static inline void on_done(void *ctx, const struct orma_error *error)
{
	struct told *told = ctx;

	told->done++;
	note(told, error);
}

static inline void on_data(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	on_done(ctx, error);
	CHECK((data != NULL) == (error == NULL));
	((struct told *)ctx)->data_size = size;
}

static inline void on_stats(void *ctx, const struct orma_error *error, const void *data,
			    size_t size)
{
	on_data(ctx, error, data, size);
	CHECK_INT(orma_trace_stats_parse(data, size, &((struct told *)ctx)->stats), 0);
}

static inline void on_clone(void *ctx, const struct orma_error *error,
			    const struct orma_session_clone_result *result)
{
	on_done(ctx, error);
	CHECK((result != NULL) == (error == NULL));
	if (result)
		((struct told *)ctx)->clone = *result;
}

static inline void on_file(void *ctx, const struct orma_error *error, uint64_t bytes)
{
	on_done(ctx, error);
	((struct told *)ctx)->data_size = (size_t)bytes;
}

static inline int add_packet(void *ctx, const void *data, size_t size)
{
	return packets_add(&((struct told *)ctx)->packets, data, size);
}

static inline struct orma_session_options options_for(const struct place *place, struct told *told)
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

static inline struct orma_session *open_session(const struct place *place, struct told *told)
{
	const struct orma_session_options options = options_for(place, told);

	return told->session = session_new(&options);
}

static inline void dispatch_once(struct orma_session *session)
{
	struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

	CHECK_INT(poll(&poll_fd, 1, WAIT_MS), 1);
	orma_session_dispatch(session);
}

/* Polls and dispatches until the counter reaches this value. */
static inline void dispatch_until(struct orma_session *session, const int *counter, int count)
{
	while (*counter < count)
		dispatch_once(session);
	CHECK_INT(*counter, count);
}

#endif
