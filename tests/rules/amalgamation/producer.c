/* SPDX-License-Identifier: Apache-2.0
 * producer.c - a program that only emits, for a library that was built with ORMA_PRODUCER_ONLY: an event and a packet of
 * its own data source, as soon as something on this machine records both. "producer refused" asks for
 * a service in the process.
 */
#include <orma.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

ORMA_CATEGORY_DEFINE(producer, "producer", "What the test emits");

static int fail(const char *what, int r)
{
	fprintf(stderr, "producer: %s: %s\n", what, strerror(-r));
	return 1;
}

static int be_refused(void)
{
	struct orma_init_options init = {};
	int r;

	init.struct_size = sizeof(init);
	init.backends = ORMA_BACKEND_SYSTEM | ORMA_BACKEND_IN_PROCESS;
	r = orma_init(&init);
	if (r != -ENOTSUP)
		return fail("a service of its own is not refused", r);
	printf("this library was built without the service\n");
	return 0;
}

static bool emit_packet(struct orma_data_source *source)
{
	bool is_written = false;

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
		is_written = true;
	}
	return is_written;
}

/* There is no notification when another process records this one, so that this polls. */
static int emit(void)
{
	struct orma_data_source_options options = {};
	struct orma_data_source *source;
	bool has_event = false, has_packet = false;
	int r = orma_init(NULL);

	options.struct_size = sizeof(options);
	options.name = "test.source";
	if (r == 0)
		r = orma_track_event_register();
	if (r == 0)
		r = orma_data_source_register(&options, &source);
	for (int i = 0; r == 0 && !(has_event && has_packet); i++) {
		if (i == 30000)
			return fail("waiting to be recorded", -ETIMEDOUT);
		if (!has_event && ORMA_IS_ENABLED(producer)) {
			ORMA_INSTANT(producer, "a mark");
			has_event = true;
		}
		has_packet = has_packet || emit_packet(source);
		poll(NULL, 0, 1);
	}
	if (r < 0)
		return fail("joining", r);
	orma_shutdown();
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "refused") == 0 ? be_refused() : emit();
}
