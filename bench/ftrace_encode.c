/* SPDX-License-Identifier: Apache-2.0
 * ftrace_encode.c - the cost of a kernel event for linux.ftrace: from raw pages of the ring buffer to packets.
 *
 *	bench_ftrace_encode [CASE [ROUNDS]]
 *
 * It makes pages as the kernel does, puts them into files of a made-up tracefs, and drains those. The packets go to a
 * buffer in memory: this file implements the functions of orma/packet.h that the probe calls, so that no service runs and
 * `valgrind --tool=callgrind` counts the probe alone.
 */
#include <fcntl.h>
#include <orma/data_source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/macros.h"
#include "probes/ftrace/ftrace_cpu_reader.h"
#include "proto/writer.h"

enum { PAGE_BYTES = 4096, PAGES = 1024, DEFAULT_ROUNDS = 40 };

/* --- packets that nobody reads ---------------------------------------------------------------- */

struct orma_packet {
	struct orma_proto_heap_writer heap;
	struct orma_buf buf;
};

static struct orma_packet the_packet;
static uint64_t packet_bytes;

struct orma_packet *orma_packet_begin(struct orma_data_source *source, uint32_t idx)
{
	(void)source;
	(void)idx;
	orma_proto_heap_writer_init(&the_packet.heap, &the_packet.buf);
	return &the_packet;
}

void orma_packet_end(struct orma_packet *packet)
{
	if (orma_proto_heap_writer_finish(&packet->heap) < 0)
		abort();
	packet_bytes += packet->buf.size;
	packet->buf.size = 0;
}

bool orma_packet_take_needs_state(struct orma_packet *packet)
{
	(void)packet;
	return false;
}

void orma_packet_varint(struct orma_packet *packet, uint32_t field_id, uint64_t value)
{
	orma_proto_write_varint(&packet->heap.writer, field_id, value);
}

void orma_packet_bytes(struct orma_packet *packet, uint32_t field_id, const void *data, size_t size)
{
	orma_proto_write_bytes(&packet->heap.writer, field_id, data, size);
}

void orma_packet_raw(struct orma_packet *packet, const void *data, size_t size)
{
	orma_proto_write_raw(&packet->heap.writer, data, size);
}

void orma_packet_nested_begin(struct orma_packet *packet, struct orma_nested *nested,
			      uint32_t field_id)
{
	orma_proto_nested_begin(&packet->heap.writer, (struct orma_proto_nested *)(void *)nested,
				field_id);
}

void orma_packet_nested_end(struct orma_packet *packet, struct orma_nested *nested)
{
	orma_proto_nested_end(&packet->heap.writer, (struct orma_proto_nested *)(void *)nested);
}

/* --- tracefs ---------------------------------------------------------------------------------- */

#define FIELD(declaration, offset, size, is_signed)                                                \
	"\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
#define FORMAT(name, id, fields)                                                                   \
	"name: " name "\nID: " #id "\nformat:\n" FIELD("unsigned short common_type", 0, 2, 0)      \
		FIELD("unsigned char common_flags", 2, 1, 0)                                       \
			FIELD("unsigned char common_preempt_count", 3, 1, 0)                       \
				FIELD("int common_pid", 4, 4, 1) "\n" fields

static const struct {
	const char *path, *text;
} files[] = {
	{"events/header_page", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"},
	{"events/sched/sched_switch/format",
	 FORMAT("sched_switch", 314,
		FIELD("char prev_comm[16]", 8, 16, 0) FIELD("pid_t prev_pid", 24, 4, 1)
			FIELD("int prev_prio", 28, 4, 1) FIELD("long prev_state", 32, 8, 1) FIELD(
				"char next_comm[16]", 40, 16, 0) FIELD("pid_t next_pid", 56, 4, 1)
				FIELD("int next_prio", 60, 4, 1))},
	{"events/sched/sched_waking/format",
	 FORMAT("sched_waking", 317,
		FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)
			FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1))},
	{"events/raw_syscalls/sys_enter/format",
	 FORMAT("sys_enter", 22,
		FIELD("long id", 8, 8, 1) FIELD("unsigned long args[6]", 16, 48, 0))},
	{"events/ftrace/print/format",
	 FORMAT("print", 5, FIELD("unsigned long ip", 8, 8, 0) FIELD("char buf[]", 16, 0, 0))},
	{"events/vendor/made_up/format",
	 FORMAT("made_up", 1300,
		FIELD("u32 count", 8, 4, 0) FIELD("s32 level", 12, 4, 1)
			FIELD("u64 bytes", 16, 8, 0) FIELD("char name[16]", 24, 16, 0))},
};

static char root[] = "/tmp/orma-bench-XXXXXX";

static void put_file(const char *name, const void *data, size_t size)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	FILE *file = fopen(path, "we");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		abort();
}

/* --- pages ------------------------------------------------------------------------------------ */

struct maker {
	uint8_t *page;
	size_t used;
	uint32_t random;
	uint32_t events;
};

static uint32_t next_random(struct maker *maker)
{
	maker->random = maker->random * 1664525 + 1013904223;
	return maker->random >> 8;
}

/* Returns false when the page is full. */
static bool put_event(struct maker *maker, void *data, size_t size, uint16_t id)
{
	size_t words = (size + 3) / 4;
	uint32_t header = (uint32_t)words | (200 + next_random(maker) % 20000) << 5;
	uint8_t *at = maker->page + 16 + maker->used;

	if (maker->used + 4 + 4 * words > PAGE_BYTES - 16)
		return false;
	memcpy(data, &id, sizeof(id));
	memcpy(at, &header, 4);
	memcpy(at + 4, data, 4 * words);
	maker->used += 4 + 4 * words;
	maker->events++;
	return true;
}

static void put_i32(uint8_t *data, size_t offset, int32_t value)
{
	memcpy(data + offset, &value, sizeof(value));
}

static int32_t put_task(struct maker *maker, uint8_t *data, size_t comm_offset, size_t pid_offset)
{
	uint32_t task = next_random(maker) % 24;
	int32_t pid = task < 6 ? 0 : (int32_t)(800 + 37 * task);

	snprintf((char *)data + comm_offset, 16, pid ? "worker-%u" : "swapper/0", task);
	put_i32(data, pid_offset, pid);
	return pid;
}

static bool put_switch(struct maker *maker)
{
	uint8_t data[64] = {0};

	put_i32(data, 4, put_task(maker, data, 8, 24));
	put_task(maker, data, 40, 56);
	put_i32(data, 28, 120);
	put_i32(data, 32, (int32_t)(next_random(maker) % 3));
	put_i32(data, 60, 120);
	return put_event(maker, data, sizeof(data), 314);
}

static bool put_waking(struct maker *maker)
{
	uint8_t data[36] = {0};

	put_i32(data, 4, 1500);
	put_task(maker, data, 8, 24);
	put_i32(data, 28, 120);
	put_i32(data, 32, (int32_t)(next_random(maker) % 8));
	return put_event(maker, data, sizeof(data), 317);
}

static bool put_both(struct maker *maker)
{
	return put_waking(maker) && put_switch(maker);
}

static bool put_sys_enter(struct maker *maker)
{
	uint8_t data[64] = {0};

	put_i32(data, 4, 1500);
	put_i32(data, 8, (int32_t)(next_random(maker) % 300));
	put_i32(data, 16, 5);
	for (size_t i = 0; i < 3; i++) {
		uint64_t address = UINT64_C(0x7fff00000000) + next_random(maker);
		memcpy(data + 24 + 8 * i, &address, 8);
	}
	return put_event(maker, data, sizeof(data), 22);
}

static bool put_print(struct maker *maker)
{
	uint8_t data[60] = {0};

	put_i32(data, 4, 1500);
	snprintf((char *)data + 16, 44, "B|1500|a slice of some length %u\n",
		 next_random(maker) % 1000);
	return put_event(maker, data, sizeof(data), 5);
}

static bool put_generic(struct maker *maker)
{
	uint8_t data[40] = {0};

	put_i32(data, 4, 1500);
	put_i32(data, 8, (int32_t)next_random(maker));
	put_i32(data, 12, -5);
	put_i32(data, 16, (int32_t)next_random(maker));
	snprintf((char *)data + 24, 16, "name %u", next_random(maker) % 10);
	return put_event(maker, data, sizeof(data), 1300);
}

/* Returns the number of events. */
static uint32_t put_pages(bool (*put)(struct maker *maker))
{
	static uint8_t pages[PAGES][PAGE_BYTES];
	struct maker maker = {.random = 1};

	memset(pages, 0, sizeof(pages));
	for (size_t i = 0; i < PAGES; i++) {
		uint64_t timestamp = UINT64_C(123456789000000) + i * 1000000, commit;
		maker.page = pages[i];
		maker.used = 0;
		while (put(&maker))
			continue;
		commit = maker.used;
		memcpy(maker.page, &timestamp, 8);
		memcpy(maker.page + 8, &commit, 8);
	}
	put_file("per_cpu/cpu0/trace_pipe_raw", pages, sizeof(pages));
	return maker.events;
}

/* --- cases ------------------------------------------------------------------------------------ */

static const struct bench_case {
	const char *name, *group, *event, *second_event;
	bool is_compact;
	bool (*put)(struct maker *maker);
} cases[] = {
	{"sched, columns", "sched", "sched_switch", "sched_waking", true, put_both},
	{"sched, messages", "sched", "sched_switch", "sched_waking", false, put_both},
	{"sys_enter", "raw_syscalls", "sys_enter", NULL, false, put_sys_enter},
	{"print", "ftrace", "print", NULL, false, put_print},
	{"generic", "vendor", "made_up", NULL, false, put_generic},
	{"unwanted", "raw_syscalls", "sys_enter", NULL, false, put_both},
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
	uint64_t tasks = 0, best_ns = UINT64_MAX;
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
		packet_bytes = 0;
		uint64_t begin_ns = now_ns();
		orma_ftrace_cpu_reader_drain(reader, &drain, PAGES, false);
		best_ns = ORMA_MIN(best_ns, now_ns() - begin_ns);
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
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(files); i++)
		put_file(files[i].path, files[i].text, strlen(files[i].text));
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
