/* SPDX-License-Identifier: Apache-2.0
 * ftrace_encode.c - the cost of a kernel event for linux.ftrace: from raw pages of the ring buffer to packets.
 *
 *	bench_ftrace_encode [CASE [ROUNDS]]
 *
 * It makes pages as the kernel does, puts them into files of a made-up tracefs, and drains those. The packets go to a
 * buffer in memory (packet_sink.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "ftrace_pages.h"
#include "packet_sink.h"
#include "probes/ftrace/ftrace_cpu_reader.h"

enum { PAGES = 1024, DEFAULT_ROUNDS = 40 };

static char root[] = "/tmp/orma-bench-XXXXXX";

/* --- events ----------------------------------------------------------------------------------- */

static bool put_sys_enter(struct bench_page *at)
{
	uint8_t data[64] = {0};

	bench_put_i32(data, 4, 1500);
	bench_put_i32(data, 8, (int32_t)(bench_random(at) % 300));
	bench_put_i32(data, 16, 5);
	for (size_t i = 0; i < 3; i++) {
		uint64_t address = UINT64_C(0x7fff00000000) + bench_random(at);
		memcpy(data + 24 + 8 * i, &address, 8);
	}
	return bench_put_event(at, data, sizeof(data), 22);
}

static bool put_print(struct bench_page *at)
{
	uint8_t data[60] = {0};

	bench_put_i32(data, 4, 1500);
	snprintf((char *)data + 16, 44, "B|1500|a slice of some length %u\n",
		 bench_random(at) % 1000);
	return bench_put_event(at, data, sizeof(data), 5);
}

static bool put_generic(struct bench_page *at)
{
	uint8_t data[40] = {0};

	bench_put_i32(data, 4, 1500);
	bench_put_i32(data, 8, (int32_t)bench_random(at));
	bench_put_i32(data, 12, -5);
	bench_put_i32(data, 16, (int32_t)bench_random(at));
	snprintf((char *)data + 24, 16, "name %u", bench_random(at) % 10);
	return bench_put_event(at, data, sizeof(data), 1300);
}

/* Returns the number of events. */
static uint32_t put_pages(bool (*put)(struct bench_page *at))
{
	static uint8_t pages[PAGES][BENCH_PAGE_BYTES];
	struct bench_page at = {.random = 1, .gap_ns = 10000};

	memset(pages, 0, sizeof(pages));
	for (size_t i = 0; i < PAGES; i++)
		bench_fill_page(&at, pages[i], UINT64_C(123456789000000) + i * 1000000, put);
	bench_put_file(root, "per_cpu/cpu0/trace_pipe_raw", pages, sizeof(pages));
	return (uint32_t)at.events;
}

/* --- cases ------------------------------------------------------------------------------------ */

static const struct bench_case {
	const char *name, *group, *event, *second_event;
	bool is_compact;
	bool (*put)(struct bench_page *at);
} cases[] = {
	{"sched, columns", "sched", "sched_switch", "sched_waking", true, bench_put_sched},
	{"sched, messages", "sched", "sched_switch", "sched_waking", false, bench_put_sched},
	{"sys_enter", "raw_syscalls", "sys_enter", NULL, false, put_sys_enter},
	{"print", "ftrace", "print", NULL, false, put_print},
	{"generic", "vendor", "made_up", NULL, false, put_generic},
	{"unwanted", "raw_syscalls", "sys_enter", NULL, false, bench_put_sched},
};

static void want(struct orma_ftrace_events *events, struct orma_ftrace_sink *sink,
		 const char *group, const char *name)
{
	const struct orma_ftrace_event *event;

	if (orma_ftrace_events_load(events, group, name, &event) < 0 ||
	    orma_ftrace_sink_want(sink, event) < 0)
		abort();
}

static void on_task(void *ctx, int32_t tid, struct orma_str comm)
{
	(void)tid;
	(void)comm;
	++*(uint64_t *)ctx;
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void run_case(const struct bench_case *bench, unsigned rounds)
{
	struct orma_ftrace_events *events;
	struct orma_ftrace_drain drain;
	struct orma_ftrace_cpu_reader *reader;
	uint64_t tasks = 0, best_ns = UINT64_MAX, packet_bytes = 0;
	struct orma_ftrace_sink_options options = {.cpu_count = 1,
						   .compact_sched = bench->is_compact,
						   .describe_generic = true,
						   .ctx = &tasks,
						   .on_task = on_task};
	uint32_t count = put_pages(bench->put);

	if (orma_ftrace_events_new(root, &events) < 0 || orma_ftrace_drain_init(&drain, root) < 0 ||
	    orma_ftrace_sink_new(events, &options, &drain.sinks[drain.sink_count++]) < 0)
		abort();
	want(events, drain.sinks[0], bench->group, bench->event);
	if (bench->second_event)
		want(events, drain.sinks[0], bench->group, bench->second_event);
	for (unsigned i = 0; i < rounds; i++) {
		if (orma_ftrace_cpu_reader_new(root, 0, &reader) < 0)
			abort();
		(void)bench_take_packets();
		uint64_t begin_ns = now_ns();
		orma_ftrace_cpu_reader_drain(reader, &drain, PAGES, false);
		best_ns = ORMA_MIN(best_ns, now_ns() - begin_ns);
		packet_bytes = bench_take_packets().bytes;
		orma_ftrace_cpu_reader_free(reader);
	}
	printf("%-16s %8u events  %6.1f ns/event  %5.1f bytes/event\n", bench->name, count,
	       (double)best_ns / count, (double)packet_bytes / count);
	orma_ftrace_sink_free(drain.sinks[0]);
	orma_ftrace_drain_done(&drain);
	orma_ftrace_events_free(events);
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : DEFAULT_ROUNDS;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!mkdtemp(root))
		return 1;
	bench_put_formats(root);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		if (argc < 2 || strcmp(argv[1], "all") == 0 || strstr(cases[i].name, argv[1]))
			run_case(&cases[i], rounds);
	}
	pid_t child = fork();
	if (child == 0) {
		execlp("rm", "rm", "-rf", root, (char *)NULL);
		_exit(1);
	}
	return child < 0 || waitpid(child, NULL, 0) < 0;
}
