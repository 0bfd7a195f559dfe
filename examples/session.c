/* SPDX-License-Identifier: Apache-2.0
 * session.c - a program that records itself and decides afterwards whether to keep the trace. Service,
 * producer and consumer are all in this process; no other program is needed.
 *
 *	orma_session [trace file]
 *
 * The session is driven by poll(), as in a program with an event loop of its own. Without the option
 * in_process, the same session would run in the daemon and record the whole machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/orma.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ORMA_CATEGORY_DEFINE(work, "example.work", "What the program is busy with");

static const char config[] = "buffers { size_kb: 1024 }\n"
			     "data_sources { config { name: \"track_event\" } }\n";

/* The state of the recording; each callback is one step. */
struct recording {
	struct orma_session *session;
	int packets;
	bool is_over;
};

static void give_up(struct recording *recording, const char *what)
{
	fprintf(stderr, "%s\n", what);
	recording->is_over = true;
}

static void on_error(void *ctx, const struct orma_error *error)
{
	give_up(ctx, error->message);
}

static int on_packet(void *ctx, const void *packet, size_t size)
{
	struct recording *recording = ctx;

	(void)packet; /* a serialized TracePacket */
	(void)size;
	recording->packets++;
	return 0;
}

static void on_read(void *ctx, const struct orma_error *error)
{
	struct recording *recording = ctx;

	if (error)
		fprintf(stderr, "%s\n", error->message);
	recording->is_over = true;
}

static void on_stopped(void *ctx, const char *error)
{
	struct recording *recording = ctx;

	if (error)
		give_up(recording, error);
	else if (orma_session_read_async(recording->session, on_packet, on_read, recording) < 0)
		give_up(recording, "cannot read");
}

static void on_flushed(void *ctx, const struct orma_error *error)
{
	struct recording *recording = ctx;

	if (error)
		fprintf(stderr, "%s\n", error->message);
	orma_session_stop(recording->session);
}

/* All data sources have started. Emits something to record. */
static void on_started(void *ctx)
{
	struct recording *recording = ctx;

	for (int i = 0; i < 100; i++) {
		ORMA_SCOPE(work, "step");
		ORMA_COUNTER(work, "number", i);
	}
	if (orma_session_flush_async(recording->session, 0, 0, on_flushed, recording) < 0)
		give_up(recording, "cannot flush");
}

static void drive(struct recording *recording)
{
	while (!recording->is_over) {
		struct pollfd poll_fd = {.fd = orma_session_poll_fd(recording->session),
					 .events = POLLIN};

		poll(&poll_fd, 1, -1); /* together with the program's own descriptors */
		if (orma_session_dispatch(recording->session) < 0)
			recording->is_over = true;
	}
}

/* The same with blocking functions, and into a file. */
static int record_into(struct orma_session *session, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct orma_trace_stats *stats;
	struct orma_error error = {0};
	uint64_t bytes;
	int r;

	if (fd < 0)
		return -errno;
	r = orma_session_enable_text(session, "config", config, strlen(config), -1, &error);
	if (r == 0)
		r = orma_session_wait_started(session, 5000);
	if (r == 0) {
		ORMA_INSTANT(work, "now");
		r = orma_session_flush(session, 0, 0);
	}
	if (r == 0 && orma_session_read_stats(session, &stats) == 0) {
		printf("buffer of %llu bytes, %llu written, %llu packets lost\n",
		       (unsigned long long)stats->buffers[0]->size_bytes,
		       (unsigned long long)stats->buffers[0]->written_bytes,
		       (unsigned long long)stats->lost_packets);
		orma_trace_stats_free(stats);
	}
	if (r == 0)
		r = orma_session_stop(session);
	if (r == 0)
		r = orma_session_wait_stopped(session, 5000, &error);
	if (r == 0)
		r = orma_session_read_into_fd(session, fd, &bytes);
	close(fd);
	if (r == 0)
		printf("%llu bytes in %s\n", (unsigned long long)bytes, path);
	else
		fprintf(stderr, "%s (error %d)\n", error.message, -r);
	return r;
}

static struct orma_session *open_session(struct recording *recording)
{
	const struct orma_session_options options = {
		.struct_size = sizeof(options),
		.in_process = true,
		.ctx = recording,
		.on_started = recording ? on_started : NULL,
		.on_stopped = recording ? on_stopped : NULL,
		.on_error = recording ? on_error : NULL,
	};
	struct orma_session *session;
	struct orma_error error;

	if (orma_session_new(&options, &session, &error) == 0)
		return session;
	fprintf(stderr, "%s\n", error.message);
	exit(1);
}

int main(int argc, char **argv)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS};
	struct recording recording = {0};
	struct orma_session *session;
	int r;

	if (orma_init(&options) < 0 || orma_sync(5000) < 0)
		return 1;
	recording.session = open_session(&recording);
	if (orma_session_enable_text(recording.session, "config", config, strlen(config), -1,
				     NULL) < 0)
		return 1;
	drive(&recording);
	printf("%d packets read\n", recording.packets);
	orma_session_free(recording.session);

	session = open_session(NULL);
	r = record_into(session, argc > 1 ? argv[1] : "session.pftrace");
	orma_session_free(session);
	orma_shutdown();
	return r == 0 && recording.packets > 200 ? 0 : 1;
}
