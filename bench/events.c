/* SPDX-License-Identifier: Apache-2.0
 * events.c - the cost of an event for the thread that emits it, with an in-process service.
 *
 *	bench_events [--clock-only]
 *	bench_events --ring KB [--never-clear]
 *
 * The environment variable ORMA_CLOCK chooses the clock. --clock-only runs only the kinds that have
 * one thread. --ring measures only the mean cost of a slice's events, while a ring buffer of this
 * size is filled many times. Meanwhile the service asks for new incremental states, or never with
 * --never-clear. The exit status is 1 when anything was lost, because losing is faster than writing.
 */
#include <orma/orma.h>
#include <stdbool.h>

#include "event_loop.h"

ORMA_CATEGORY_DEFINE(on, "on", "Recorded");
ORMA_CATEGORY_DEFINE(off, "off", "Not recorded");

#define SHM_BYTES (8u << 20)
/* An event has 15 bytes. */
#define WARM_UP_BATCHES (2 * (int)SHM_BYTES / (15 * EVENT_BATCH))
/* They fill 90 MB. */
#define RING_BATCHES 3000
#define RING_KB      65536u

static const char *title = "a title of 24 bytes long";
static const char *name = "a name of the moment";
static struct orma_data_source *source;
static char payload[10000];
static size_t payload_size;

/* The lower bound on this machine: reading the clock and writing three words. */
static void floor_of_machine(unsigned count)
{
	static __thread uint64_t memory[8192];
	uint64_t *at = memory;

	for (unsigned i = 0; i < count; i++) {
		uint64_t now = event_ticks();

		at[0] = now;
		at[1] = i;
		at[2] = now;
		at = at + 6 < memory + 8192 ? at + 3 : memory;
		__asm__ volatile("" : : "r"(at) : "memory");
	}
}

static void disabled(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ORMA_INSTANT(off, "instant");
}

static void instant(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ORMA_INSTANT(on, "instant");
}

static void slice(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		ORMA_BEGIN(on, "slice");
		ORMA_END(on);
	}
}

static void two_integers(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ORMA_INSTANT(on, "integers", "number", i, "limit", 1000);
}

static void string(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ORMA_INSTANT(on, "string", "title", title);
}

static void counter(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ORMA_COUNTER(on, "counter", 0.5 * i);
}

static void dynamic_name(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ORMA_INSTANT(on, ORMA_DYNAMIC(name));
}

#define STACK_DEPTH 37 /* with main() and what calls it, about 40 frames */

/* NOLINTNEXTLINE(misc-no-recursion): a deep stack is what is measured */
static __attribute__((noinline)) void callstack_at(unsigned depth, unsigned count)
{
	for (unsigned i = 0; depth == 0 && i < count; i++)
		ORMA_INSTANT(on, "callstack", ORMA_CALLSTACK());
	if (depth > 0)
		callstack_at(depth - 1, count);
	/* Otherwise the call would be a jump. */
	__asm__ volatile("");
}

static void callstack(unsigned count)
{
	callstack_at(STACK_DEPTH, count);
}

static void packet(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct orma_packet *one = orma_packet_begin(source, 0);

		orma_packet_raw(one, payload, payload_size);
		orma_packet_end(one);
	}
}

struct options {
	bool is_short, never_clears;
	unsigned ring_kb; /* 0 = all kinds */
};

static struct orma_session *start(const struct options *wanted)
{
	char text[512];
	int text_size = snprintf(
		text, sizeof(text),
		"buffers { size_kb: %u } %s"
		"data_sources { config { name: \"bench\" } } "
		"data_sources { config { name: \"track_event\" track_event_config "
		"{ enabled_categories: \"on\" disabled_categories: \"*\" } } }",
		wanted->ring_kb ? wanted->ring_kb : RING_KB,
		wanted->never_clears ? "incremental_state_config { clear_period_ms: 0 } " : "");
	const struct orma_init_options init = {.struct_size = sizeof(init),
					       .backends = ORMA_BACKEND_IN_PROCESS,
					       .shm_size_bytes = SHM_BYTES};
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .in_process = true};
	const struct orma_data_source_options own = {.struct_size = sizeof(own), .name = "bench"};
	struct orma_session *session;
	struct orma_error error;
	void *config;
	size_t size;

	if (orma_init(&init) < 0 || orma_data_source_register(&own, &source) < 0 ||
	    orma_sync(5000) < 0 || orma_session_new(&options, &session, &error) < 0 ||
	    orma_config_parse("bench", text, (size_t)text_size, &config, &size, &error) < 0 ||
	    orma_session_enable(session, config, size, -1) < 0 ||
	    orma_session_wait_started(session, 5000) < 0) {
		fputs("bench_events: no session\n", stderr);
		exit(1);
	}
	orma_config_free(config);
	return session;
}

static int check_losses(struct orma_session *session)
{
	struct orma_trace_stats *stats;
	uint64_t lost;

	orma_session_flush(session, 5000, 0);
	if (orma_session_read_stats(session, &stats) < 0)
		return 1;
	lost = stats->lost_packets;
	orma_trace_stats_free(stats);
	if (lost > 0)
		fprintf(stderr, "bench_events: %llu packets were lost\n", (unsigned long long)lost);
	return lost > 0;
}

static void report_packets(void)
{
	static const size_t sizes[] = {31, 100, 1000, 10000};
	static const uint8_t head[] = {0xa2, 0x38}; /* field 900, for_testing */
	char text[64];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct event_kind kind = {text, packet, 1, sizes[i] > 1000 ? 100 : 1000};
		size_t size = sizes[i] - (sizes[i] < 128 ? 3 : 4), at = sizeof(head);

		memcpy(payload, head, sizeof(head));
		if (size >= 128)
			payload[at++] = (char)(size | 0x80);
		payload[at] = (char)(size < 128 ? size : size >> 7);
		payload_size = sizes[i];
		snprintf(text, sizeof(text), "packet of %zu bytes", sizes[i]);
		event_report_warm(&kind, 1);
	}
}

/* This is the mean, because the median would hide new states: one event in thousands has one. */
static void report_ring(const struct options *wanted)
{
	double ns = 0;

	for (int i = 0; i < RING_BATCHES; i++) {
		double begin = event_cpu_ns();

		slice(EVENT_BATCH / 2);
		ns += event_cpu_ns() - begin;
		event_pause();
	}
	printf("begin and end, each, mean in a ring of %u KB|ns|%.2f\n", wanted->ring_kb,
	       ns / RING_BATCHES / EVENT_BATCH);
}

static void report_kinds(bool is_short)
{
	static const struct event_kind kinds[] = {
		{"floor: TSC and 24 bytes", floor_of_machine, 1, 0},
		{"disabled", disabled, 1, 0},
		{"instant", instant, 1, 0},
		{"begin and end, each", slice, 2, 0},
		{"instant with two integers", two_integers, 1, 0},
		{"instant with a string", string, 1, 0},
		{"counter", counter, 1, 0},
		{"instant with a dynamic name", dynamic_name, 1, 0},
		{"instant with a call stack of 40 frames", callstack, 1, 0},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		event_report_warm(&kinds[i], 1);
		if (is_short || i < 2)
			continue;
		event_report_warm(&kinds[i], 2);
		event_report_warm(&kinds[i], 4);
		event_report_cold(&kinds[i]);
	}
	if (!is_short) {
		event_report_tail(&kinds[2]);
		report_packets();
	}
}

static struct options parse(int argc, char **argv)
{
	struct options options = {0};

	for (int i = 1; i < argc; i++) {
		options.is_short |= strcmp(argv[i], "--clock-only") == 0;
		options.never_clears |= strcmp(argv[i], "--never-clear") == 0;
		if (strcmp(argv[i], "--ring") == 0 && i + 1 < argc)
			options.ring_kb = (unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	return options;
}

int main(int argc, char **argv)
{
	const struct options options = parse(argc, argv);
	struct orma_session *session = start(&options);
	int r;

	/* Calibrate the clock and touch the memory first: neither is a cost of an event. */
	for (int i = 0; i < WARM_UP_BATCHES; i++) {
		instant(EVENT_BATCH);
		event_pause();
	}
	if (options.ring_kb)
		report_ring(&options);
	else
		report_kinds(options.is_short);
	r = check_losses(session);
	orma_shutdown();
	return r;
}
