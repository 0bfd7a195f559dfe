/* SPDX-License-Identifier: Apache-2.0
 * sessions.c - everything that a session of the library can do, with the daemon of either side whose
 * sockets are in the environment.
 *
 *	sessions waiting|polled
 *
 * The program is the producer too, so that it knows what the trace must contain. It uses public
 * headers only.
 */
#include <errno.h>
#include <orma/orma.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS 20000
#define MARK    "interop-session-mark"

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "sessions.c:%d: not so: %s (%s)\n", __LINE__, #condition,  \
				last_error.message);                                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define REQUIRE_INT(call, expected)                                                                \
	do {                                                                                       \
		long got_ = (long)(call);                                                          \
		if (got_ != (long)(expected)) {                                                    \
			fprintf(stderr, "sessions.c:%d: %s is %ld, not %ld (%s)\n", __LINE__,      \
				#call, got_, (long)(expected), last_error.message);                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static struct orma_error last_error;
static struct orma_data_source *source;

static void emit(int count)
{
	for (int i = 0; i < count; i++) {
		ORMA_FOR_EACH_INSTANCE(source, idx)
		{
			struct orma_packet *packet = orma_packet_begin(source, idx);
			struct orma_nested nested;

			REQUIRE(packet);
			orma_packet_nested_begin(packet, &nested, 900); /* for_testing */
			orma_packet_string(packet, 1, MARK);
			orma_packet_nested_end(packet, &nested);
			orma_packet_end(packet);
		}
	}
}

static int count_mark(void *ctx, const void *packet, size_t size)
{
	*(int *)ctx += memmem(packet, size, MARK, strlen(MARK)) != NULL;
	return 0;
}

static void await_instances(uint32_t instances)
{
	for (int i = 0; orma_data_source_started(source) != instances; i++) {
		REQUIRE(i < WAIT_MS);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static struct orma_session *connect_session(const struct orma_session_options *options)
{
	struct orma_session *session;

	REQUIRE_INT(orma_session_new(options, &session, &last_error), 0);
	return session;
}

static void enable(struct orma_session *session, const char *text)
{
	REQUIRE_INT(
		orma_session_enable_text(session, "config", text, strlen(text), -1, &last_error),
		0);
}

#define CONFIG(more)                                                                               \
	"unique_session_name: \"interop\" buffers { size_kb: 4096 } "                              \
	"data_sources { config { name: \"interop.session\" } " more " }"

/* --- functions that block ----------------------------------------------------------------------- */

static void change(struct orma_session *session)
{
	static const char text[] =
		CONFIG("producer_name_filter: \"nobody\" producer_name_filter: \"sessions\"");
	void *config;
	size_t size;

	REQUIRE_INT(orma_config_parse(NULL, text, strlen(text), &config, &size, &last_error), 0);
	REQUIRE_INT(orma_session_change_config(session, config, size), 0);
	orma_config_free(config);
}

static void check_stats(struct orma_session *session)
{
	struct orma_trace_stats *stats;

	REQUIRE_INT(orma_session_read_stats(session, &stats), 0);
	REQUIRE_INT(stats->buffer_count, 1);
	REQUIRE_INT(stats->buffers[0]->size_bytes, 4096 * 1024);
	REQUIRE(stats->buffers[0]->written_bytes > 1000 * strlen(MARK));
	REQUIRE(stats->buffers[0]->chunks_written > 0);
	REQUIRE_INT(stats->lost_packets + stats->lost_chunks, 0);
	REQUIRE(stats->producers_connected >= 1);
	REQUIRE(stats->flushes_requested >= 1);
	REQUIRE_INT(stats->flushes_failed, 0);
	orma_trace_stats_free(stats);
}

static void check_queries(struct orma_session *session)
{
	void *data;
	size_t size;

	REQUIRE_INT(orma_session_query_state(session, false, &data, &size), 0);
	REQUIRE(memmem(data, size, "sessions", 8));
	REQUIRE(memmem(data, size, "interop.session", 15));
	orma_config_free(data);
	REQUIRE_INT(orma_session_query_state(session, true, &data, &size), 0);
	orma_config_free(data);
	REQUIRE_INT(orma_session_query_capabilities(session, &data, &size), 0);
	REQUIRE(size > 0);
	orma_config_free(data);
}

static void clone_it(int expected)
{
	struct orma_session_clone_options options = {.struct_size = sizeof(options),
						     .unique_session_name = "interop"};
	struct orma_session_clone_result result = {.struct_size = sizeof(result)};
	struct orma_session *session = connect_session(NULL);
	int count = 0;

	REQUIRE_INT(orma_session_clone(session, &options, &result, &last_error), 0);
	REQUIRE(result.uuid_lsb != 0 || result.uuid_msb != 0);
	REQUIRE(!result.was_write_into_file);
	REQUIRE_INT(orma_session_read(session, count_mark, &count), 0);
	REQUIRE_INT(count, expected);
	orma_session_free(session);
	session = connect_session(NULL);
	options.unique_session_name = "nobody";
	REQUIRE_INT(orma_session_clone(session, &options, NULL, &last_error), -EPROTO);
	REQUIRE(last_error.message[0]);
	orma_session_free(session);
}

static void check_refusal(void)
{
	struct orma_session *session = connect_session(NULL);

	enable(session, "data_sources { config { name: \"x\" target_buffer: 7 } }");
	REQUIRE_INT(orma_session_wait_stopped(session, WAIT_MS, &last_error), -EPROTO);
	REQUIRE(last_error.message[0]);
	orma_session_free(session);
}

static void wait_for_everything(void)
{
	struct orma_session *session = connect_session(NULL);
	int count = 0;

	check_queries(session);
	enable(session, CONFIG("producer_name_filter: \"nobody\""));
	REQUIRE_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	REQUIRE_INT(orma_data_source_started(source), 0);
	change(session);
	await_instances(1);
	emit(1000);
	REQUIRE_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	check_stats(session);
	REQUIRE_INT(orma_session_detach(session, "key"), 0);
	REQUIRE_INT(orma_session_detach(session, "key"), -ESTALE);
	orma_session_free(session);
	clone_it(1000);
	session = connect_session(NULL);
	REQUIRE_INT(orma_session_attach(session, "nobody's"), -ENOENT);
	REQUIRE_INT(orma_session_attach(session, "key"), 0);
	emit(1);
	REQUIRE_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	REQUIRE_INT(orma_session_stop(session), 0);
	REQUIRE_INT(orma_session_wait_stopped(session, WAIT_MS, &last_error), 0);
	REQUIRE_INT(orma_session_read(session, count_mark, &count), 0);
	REQUIRE_INT(count, 1001);
	REQUIRE_INT(orma_session_free_buffers(session), 0);
	orma_session_free(session);
	check_refusal();
}

/* --- functions that do not block ------------------------------------------------------------------ */

struct polled {
	struct orma_session *session;
	int connected, started, stopped, errors, done, marks, events;
	struct orma_session_clone_result clone;
};

static void on_connected(void *ctx, const struct orma_error *error)
{
	REQUIRE(!error);
	((struct polled *)ctx)->connected++;
}

static void on_started(void *ctx)
{
	((struct polled *)ctx)->started++;
}

static void on_stopped(void *ctx, const char *error)
{
	REQUIRE(!error);
	((struct polled *)ctx)->stopped++;
}

static void on_error(void *ctx, const struct orma_error *error)
{
	last_error = *error;
	((struct polled *)ctx)->errors++;
}

static void on_events(void *ctx, const void *events, size_t size)
{
	REQUIRE(events && size > 0);
	((struct polled *)ctx)->events++;
}

static void on_done(void *ctx, const struct orma_error *error)
{
	if (error)
		last_error = *error;
	REQUIRE(!error);
	((struct polled *)ctx)->done++;
}

static void on_data(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	struct orma_trace_stats *stats;

	REQUIRE_INT(orma_trace_stats_parse(data, size, &stats), 0);
	REQUIRE_INT(stats->buffer_count, 1);
	orma_trace_stats_free(stats);
	on_done(ctx, error);
}

static void on_clone(void *ctx, const struct orma_error *error,
		     const struct orma_session_clone_result *result)
{
	on_done(ctx, error);
	((struct polled *)ctx)->clone = *result;
}

static int on_packet(void *ctx, const void *packet, size_t size)
{
	return count_mark(&((struct polled *)ctx)->marks, packet, size);
}

static void dispatch_until(struct orma_session *session, const int *counter, int count)
{
	while (*counter < count) {
		struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

		REQUIRE_INT(poll(&poll_fd, 1, WAIT_MS), 1);
		REQUIRE_INT(orma_session_dispatch(session), 0);
	}
}

static void poll_everything(void)
{
	struct polled polled = {0}, other = {0};
	struct orma_session_options options = {
		.struct_size = sizeof(options),
		.ctx = &polled,
		.on_stopped = on_stopped,
		.on_events = on_events,
		.on_started = on_started,
		.on_error = on_error,
		.connects_later = true,
		.on_connected = on_connected,
	};
	const struct orma_session_clone_options clone = {.struct_size = sizeof(clone),
							 .unique_session_name = "interop"};
	struct orma_session *session = connect_session(&options), *copy;

	dispatch_until(session, &polled.connected, 1);
	REQUIRE_INT(orma_session_observe(session, ORMA_OBSERVE_INSTANCES), 0);
	enable(session, "deferred_start: true " CONFIG(""));
	REQUIRE_INT(orma_session_start_async(session, on_done, &polled), 0);
	dispatch_until(session, &polled.done, 1);
	dispatch_until(session, &polled.started, 1);
	dispatch_until(session, &polled.events, 1);
	await_instances(1);
	emit(1000);
	REQUIRE_INT(orma_session_flush_async(session, WAIT_MS, 0, on_done, &polled), 0);
	dispatch_until(session, &polled.done, 2);
	REQUIRE_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATS, on_data, &polled),
		    0);
	dispatch_until(session, &polled.done, 3);

	options.ctx = &other;
	copy = connect_session(&options);
	dispatch_until(copy, &other.connected, 1);
	REQUIRE_INT(orma_session_clone_async(copy, &clone, on_clone, &other), 0);
	dispatch_until(copy, &other.done, 1);
	REQUIRE(other.clone.uuid_lsb != 0 || other.clone.uuid_msb != 0);
	REQUIRE_INT(orma_session_read_async(copy, on_packet, on_done, &other), 0);
	dispatch_until(copy, &other.done, 2);
	REQUIRE_INT(other.marks, 1000);
	orma_session_free(copy);

	orma_session_request_stop(session);
	dispatch_until(session, &polled.stopped, 1);
	REQUIRE_INT(orma_session_read_async(session, on_packet, on_done, &polled), 0);
	dispatch_until(session, &polled.done, 4);
	REQUIRE_INT(polled.marks, 1000);
	REQUIRE_INT(polled.errors + other.errors, 0);
	orma_session_free(session);
}

int main(int argc, char **argv)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "interop.session",
		.policy = ORMA_EXHAUSTED_STALL,
	};
	const struct orma_init_options init = {.struct_size = sizeof(init),
					       .producer_name = "sessions"};

	REQUIRE_INT(orma_init(&init), 0);
	REQUIRE_INT(orma_data_source_register(&options, &source), 0);
	REQUIRE_INT(orma_sync(WAIT_MS), 0);
	if (argc > 1 && strcmp(argv[1], "polled") == 0)
		poll_everything();
	else
		wait_for_everything();
	orma_shutdown();
	return 0;
}
