/* SPDX-License-Identifier: Apache-2.0
 * app.c - a program that is built with orma.c: events, a data source and a session in one process.
 * It is compiled as C11 and as C++17. "app system" waits until something on this machine records
 * it, and emits. "app refused" tests a library that was built without the service.
 */
#include <orma.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

ORMA_CATEGORY_DEFINE(app, "app", "What the test emits");

struct counts {
	int packets, tests, frames, marks;
};

static bool holds(const void *data, size_t size, const char *text)
{
	const char *at = (const char *)data;
	size_t length = strlen(text);

	for (size_t i = 0; i + length <= size; i++) {
		if (memcmp(at + i, text, length) == 0)
			return true;
	}
	return false;
}

static int on_packet(void *ctx, const void *packet, size_t size)
{
	struct counts *counts = (struct counts *)ctx;

	counts->packets++;
	counts->tests += holds(packet, size, "from the data source");
	counts->frames += holds(packet, size, "a frame");
	counts->marks += holds(packet, size, "a mark");
	return 0;
}

static void emit_events(void)
{
	for (int i = 0; i < 1000; i++) {
		ORMA_SCOPE(app, "a frame");
		ORMA_COUNTER(app, "i", i);
		if (i == 500)
			ORMA_INSTANT(app, "a mark");
	}
}

static void emit_packets(struct orma_data_source *source)
{
	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);
		struct orma_nested nested;

		if (!packet)
			continue;
		orma_packet_nested_begin(packet, &nested, 900); /* for_testing */
		orma_packet_string(packet, 1, "from the data source");
		orma_packet_nested_end(packet, &nested);
		orma_packet_end(packet);
	}
}

static int fail(const char *what, int r)
{
	fprintf(stderr, "app: %s: %s\n", what, strerror(-r));
	return 1;
}

/* There is no notification when another process records this one, so that this polls. */
static int emit_to_system(void)
{
	int r = orma_init(NULL);

	if (r == 0)
		r = orma_track_event_register();
	for (int i = 0; r == 0 && !ORMA_IS_ENABLED(app); i++) {
		if (i == 30000)
			return fail("waiting to be recorded", -110);
		poll(NULL, 0, 1);
	}
	if (r < 0)
		return fail("joining", r);
	emit_events();
	orma_shutdown();
	return 0;
}

/* Without the service, everything that needs a service in the process is refused. */
static int be_refused(void)
{
	struct orma_init_options init = {};
	struct orma_session_options options = {};
	struct orma_session *session;
	struct orma_error error = {};
	int r;

	init.struct_size = sizeof(init);
	init.backends = ORMA_BACKEND_SYSTEM | ORMA_BACKEND_IN_PROCESS;
	options.struct_size = sizeof(options);
	options.in_process = true;
	r = orma_init(&init);
	if (r != -ENOTSUP)
		return fail("a service of its own is not refused", r);
	r = orma_init(NULL);
	if (r < 0)
		return fail("the system's service is refused", r);
	r = orma_session_new(&options, &session, &error);
	orma_shutdown();
	if (r != -ENOTSUP)
		return fail("a session in the process is not refused", r);
	printf("%s\n", error.message);
	return 0;
}

int main(int argc, char **argv)
{
	static const char config[] = "buffers { size_kb: 4096 fill_policy: DISCARD }\n"
				     "data_sources { config { name: \"track_event\" } }\n"
				     "data_sources { config { name: \"app.source\" } }\n";
	struct orma_init_options init = {};
	struct orma_data_source_options source_options = {};
	struct orma_session_options session_options = {};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_error error;
	struct counts counts = {};
	void *bytes;
	size_t size;
	int r;

	if (argc > 1 && strcmp(argv[1], "system") == 0)
		return emit_to_system();
	if (argc > 1 && strcmp(argv[1], "refused") == 0)
		return be_refused();
	init.struct_size = sizeof(init);
	init.backends = ORMA_BACKEND_IN_PROCESS;
	source_options.struct_size = sizeof(source_options);
	source_options.name = "app.source";
	session_options.struct_size = sizeof(session_options);
	session_options.in_process = true;
	r = orma_init(&init);
	if (r == 0)
		r = orma_track_event_register();
	if (r == 0)
		r = orma_data_source_register(&source_options, &source);
	if (r == 0)
		r = orma_sync(10000);
	if (r < 0)
		return fail("joining", r);
	r = orma_config_parse("config", config, sizeof(config) - 1, &bytes, &size, &error);
	if (r < 0)
		return fail(error.message, r);
	r = orma_session_new(&session_options, &session, &error);
	if (r < 0)
		return fail(error.message, r);
	r = orma_session_enable(session, bytes, size, -1);
	if (r == 0)
		r = orma_session_wait_started(session, 10000);
	if (r < 0)
		return fail("starting", r);
	emit_events();
	emit_packets(source);
	r = orma_session_stop(session);
	if (r == 0)
		r = orma_session_wait_stopped(session, 10000, &error);
	if (r == 0)
		r = orma_session_read(session, on_packet, &counts);
	if (r < 0)
		return fail("ending", r);
	orma_session_free(session);
	orma_config_free(bytes);
	orma_shutdown();
	printf("%s: %d of the data source, %s, %s, %s\n", orma_version(), counts.tests,
	       counts.packets > 2000 ? "packets" : "too few packets",
	       counts.frames > 0 ? "frames" : "no frames", counts.marks > 0 ? "marks" : "no marks");
	return 0;
}
