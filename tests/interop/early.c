/* SPDX-License-Identifier: Apache-2.0
 * early.c - producers that start in unusual ways, for recorders and daemons of both sides.
 *
 *   early startup READY   records 50 instants "early" and a custom source's packets before there is
 *                         a daemon; then one instant "late" every 10 ms until killed
 *   early fork READY      an instant every 10 ms, "parent" and, in a child of a fork, "child"
 *
 * The file READY is created once the producer emits.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/orma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

ORMA_CATEGORY_DEFINE(early, "early", "What begins early");

static const char config[] =
	"data_sources { config { name: \"track_event\" track_event_config { "
	"enabled_categories: \"*\" } } } data_sources { config { name: \"test.early\" } }";

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void say_ready(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
}

static int start_up(void)
{
	struct orma_startup_options options = {.struct_size = sizeof(options), .timeout_ms = 60000};
	const struct orma_data_source_options source_options = {
		.struct_size = sizeof(source_options), .name = "test.early"};
	struct orma_data_source *source;
	void *bytes;
	size_t size;

	if (orma_data_source_register(&source_options, &source) < 0 ||
	    orma_config_parse("early", config, strlen(config), &bytes, &size, NULL) < 0)
		return 1;
	options.config = bytes;
	options.config_size = size;
	if (orma_startup_tracing(&options) != 2)
		return 1;
	orma_config_free(bytes);
	for (int i = 0; i < 50; i++)
		ORMA_INSTANT(early, "early");
	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);
		struct orma_nested nested;

		if (!packet)
			continue;
		orma_packet_nested_begin(packet, &nested, 900);
		/* The text is longer than a page, so that a length must be patched. */
		for (int i = 0; i < 300; i++)
			orma_packet_string(packet, 1, "before there was a daemon");
		orma_packet_nested_end(packet, &nested);
		orma_packet_end(packet);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool is_child = false;

	if (argc < 3 || orma_init(NULL) < 0 || orma_track_event_register() < 0)
		return 2;
	if (strcmp(argv[1], "startup") == 0) {
		if (start_up() != 0)
			return 1;
	} else if (strcmp(argv[1], "fork") == 0) {
		is_child = fork() == 0;
		if (is_child)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
	} else {
		return 2;
	}
	say_ready(argv[2]);
	for (;;) {
		if (is_child)
			ORMA_INSTANT(early, "child");
		else if (strcmp(argv[1], "fork") == 0)
			ORMA_INSTANT(early, "parent");
		else
			ORMA_INSTANT(early, "late");
		pause_ms(10);
	}
}
