/* SPDX-License-Identifier: Apache-2.0
 * record_connect.c - finds the service of a recording: the daemon, another recorder's service, or one
 * of its own.
 *
 *   daemon, or another recorder --none--> own service --its address is in use--> try again
 *
 * The address is in use when another recorder has begun and is about to open its socket for others,
 * or when it ends. So both are tried in turn, for a few seconds.
 */
#include <errno.h>
#include <orma/session.h>
#include <poll.h>
#include <string.h>

#include "base/error_message.h"
#include "tool/record/recorder.h"
#include "tool/tool.h"

#define JOIN_TRIES    60
#define JOIN_PAUSE_MS 50

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* A service accepts the config before it tries to create the file of output_path. */
static void on_stopped(void *ctx, const char *error)
{
	struct orma_recorder *recorder = ctx;
	if (error)
		snprintf(recorder->error, sizeof(recorder->error), "%s", error);
	/* A lost connection is the client's own message. */
	recorder->is_refused = error && !begins_with(error, "the connection") &&
			       (!recorder->is_accepted || begins_with(error, "output_path:") ||
				begins_with(error, "max_file_count:"));
}

static void on_events(void *ctx, const void *events, size_t size)
{
	struct orma_recorder *recorder = ctx;
	orma_snapshots_take_events(&recorder->snapshots, events, size);
}

/* A program begins to record: its categories are known now. */
static void on_instance(void *ctx, const struct orma_instance_event *event)
{
	struct orma_recorder *recorder = ctx;

	if (event->is_started && strcmp(event->data_source_name, "track_event") == 0)
		recorder->categories.has_seen = recorder->categories.must_ask = true;
}

bool orma_recorder_is_clone(const struct orma_recorder *recorder)
{
	return recorder->options->clone_id || recorder->options->clone_name;
}

static int connect_session(struct orma_recorder *recorder, const char *address,
			   struct orma_error *reterr)
{
	struct orma_session_options options = {
		.struct_size = sizeof(options),
		.consumer_socket = address,
		.ctx = recorder,
		.on_stopped = on_stopped,
		.on_events = on_events,
		.on_instance = on_instance,
		.timeout_ms = orma_recorder_is_clone(recorder) ? ORMA_CLONE_TIMEOUT_MS : 0,
	};
	return orma_session_new(&options, &recorder->session, reterr);
}

static bool is_absent(int r)
{
	return r == -ECONNREFUSED || r == -ENOENT;
}

static int serve(struct orma_recorder *recorder, struct orma_error *reterr)
{
	int r = orma_embedded_start(recorder->options, &recorder->embedded, reterr);

	if (r < 0)
		return r;
	recorder->snapshots.consumer_address = orma_embedded_consumer_address(recorder->embedded);
	return connect_session(recorder, recorder->snapshots.consumer_address, reterr);
}

static int try_to_connect(struct orma_recorder *recorder, struct orma_error *reterr)
{
	int r;

	*reterr = (struct orma_error){0};
	if (recorder->options->places)
		return serve(recorder, reterr);
	r = connect_session(recorder, NULL, reterr);
	if (!is_absent(r) || !recorder->options->may_serve)
		return r;
	*reterr = (struct orma_error){0};
	return serve(recorder, reterr);
}

int orma_recorder_connect(struct orma_recorder *recorder)
{
	struct pollfd signals = {.fd = recorder->signal_fd, .events = POLLIN};
	struct orma_error error;
	int r = try_to_connect(recorder, &error);

	/* Another recorder serves, and is about to open its socket (-EADDRINUSE), or has just ended
	 * (-ECONNRESET). */
	for (int i = 0; (r == -EADDRINUSE || r == -ECONNRESET) && i < JOIN_TRIES; i++) {
		if (poll(&signals, 1, JOIN_PAUSE_MS) > 0)
			return orma_tool_fail(ORMA_RECORD_INTERRUPTED);
		r = try_to_connect(recorder, &error);
	}
	if (r)
		return orma_tool_fail("%s", error.message[0] ? error.message : strerror(-r));
	return ORMA_EXIT_OK;
}

int orma_recorder_find_detached(const char *key, struct orma_error *reterr)
{
	const struct orma_record_options options = {0};
	struct orma_recorder recorder = {.options = &options};
	int r = connect_session(&recorder, NULL, reterr);
	if (r && reterr && !reterr->message[0])
		(void)orma_base_error_set(reterr, r, "%s", strerror(-r));
	if (r)
		return -EHOSTDOWN;
	r = orma_session_attach(recorder.session, key);
	if (r == 0)
		r = orma_session_detach(recorder.session, key);
	orma_session_free(recorder.session);
	return r;
}

int orma_record_is_detached(const char *key)
{
	struct orma_error error = {0};
	int r = orma_recorder_find_detached(key, &error);
	if (error.message[0])
		return orma_tool_fail("%s", error.message);
	return r == 0 ? 0 : r == -ENOENT ? 2 : 1;
}
