/* SPDX-License-Identifier: Apache-2.0
 * perf_replay.c - the cost of a sample for linux.perf, from recorded rings.
 *
 *	bench_perf_replay record FILE SECONDS PROGRAM [ARGS]    as root; the samples of PROGRAM and its children
 *	bench_perf_replay FILE [ROUNDS [COLD_MIB]]
 *
 * The first form writes what the kernel wrote into the rings at 1,000 samples a second on each CPU. The second one puts that
 * into rings of its own, a quarter of a ring at a time, and measures the CPU time in which the reader makes packets of it: from
 * records to encoded packets, with walking and interning. Each round begins without any state but the unwind tables. So the
 * numbers depend neither on the load of the machine nor on what ran meanwhile; the least of all rounds counts. With COLD_MIB, so
 * much other memory is read before each turn of the reader, as the profiled programs do.
 *
 * The sample's cost for the kernel, the shared memory and the service are not in it: bench/profile measures those.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/map.h"
#include "packet_sink.h"
#include "probes/perf/perf_reader.h"
#include "schema/gen/perf_event_config.pb.h"

enum { CPUS = 2, HZ = 1000, ROUNDS = 7, LINE = 64, RECORD_BYTES_MAX = 65536 };

static struct orma_arena arena;
static struct orma_perf_config config = {
	.timebase = {.kind = ORMA_PERF_EVENT_COUNTER, .counter = 1 /* SW_CPU_CLOCK */},
	.hz = HZ,
	.clock = CLOCK_BOOTTIME,
	.clock_id = 6,
	.wants_stacks = true,
	.kernel_frames = true,
	.user_frames = ORMA_PERF_USER_DWARF,
	.stack_bytes = ORMA_PERF_STACK_BYTES_DEFAULT,
};

static void fail(const char *what, int error)
{
	fprintf(stderr, "perf_replay: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

static void open_events(const struct orma_perf_kernel *kernel, struct orma_perf_events *ret)
{
	static const uint32_t cpus[CPUS] = {0, 1};
	const struct orma_perf_open wish = {.kernel = kernel,
					    .config = &config,
					    .paths = {NULL, "/sys", "/proc"},
					    .cpus = cpus,
					    .cpu_count = CPUS,
					    .stack_bytes = config.stack_bytes};
	int r = orma_perf_events_open(&wish, ret);

	if (r < 0)
		fail("the kernel's events", r);
}

/* --- recording -------------------------------------------------------------------------------- */

/* Stands before each record of the file. */
struct prefix {
	uint32_t cpu, size;
};

/* A process that began during the recording: its mappings are all in the file. */
static bool is_young(struct orma_map *young, const struct orma_perf_record *record)
{
	static int yes;

	if (record->type == PERF_RECORD_FORK && record->pid != record->parent.pid &&
	    (record->parent.pid == (uint32_t)getpid() ||
	     orma_base_map_get(young, record->parent.pid)))
		(void)orma_base_map_put(young, record->pid, &yes);
	return orma_base_map_get(young, record->pid) != NULL;
}

static void copy_records(struct orma_perf_events *events, struct orma_map *young, FILE *file)
{
	struct orma_perf_record record;
	struct orma_perf_cpu *cpu;
	const uint64_t settled_ns = orma_base_clock_ns(CLOCK_BOOTTIME) - 100000;

	orma_perf_events_refresh(events);
	while (orma_perf_events_next(events, settled_ns, &record, &cpu)) {
		struct prefix prefix = {.cpu = cpu->cpu};
		size_t size;
		const void *bytes = orma_perf_ring_peek(&cpu->ring, &size);

		prefix.size = (uint32_t)size;
		if (is_young(young, &record) && (fwrite(&prefix, sizeof(prefix), 1, file) != 1 ||
						 fwrite(bytes, size, 1, file) != 1))
			fail("write", errno);
		if (record.type == PERF_RECORD_LOST)
			fprintf(stderr, "perf_replay: %llu records are lost\n",
				(unsigned long long)record.lost);
		orma_perf_events_advance(events, cpu);
	}
	orma_perf_events_release(events);
}

static int record_program(const char *path, double seconds, char **argv)
{
	struct orma_perf_events events;
	struct orma_map young = {0};
	FILE *file = fopen(path, "wbe");

	if (!file)
		fail(path, errno);
	open_events(&orma_perf_kernel_real, &events);
	orma_perf_events_enable(&events);
	pid_t child = fork();
	if (child == 0) {
		setpgid(0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	while (orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		usleep(20000);
		copy_records(&events, &young, file);
	}
	kill(-child, SIGKILL);
	waitpid(child, NULL, 0);
	orma_base_map_done(&young);
	orma_perf_events_close(&events);
	return fclose(file) == 0 ? 0 : 1;
}

/* --- a kernel that has recorded everything ------------------------------------------------------ */

static struct perf_event_mmap_page *rings[CPUS];
static size_t page_bytes, ring_bytes;

static int replay_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	(void)ctx, (void)attr, (void)pid, (void)group_fd, (void)flags;
	return 100 + cpu;
}

static void replay_close(void *ctx, int fd)
{
	(void)ctx, (void)fd;
}

static int replay_control(void *ctx, int fd, unsigned long request, unsigned long argument)
{
	(void)ctx, (void)fd, (void)request, (void)argument;
	return 0;
}

static int replay_map(void *ctx, int fd, size_t size, void **ret)
{
	(void)ctx;
	if (posix_memalign(ret, page_bytes, size) != 0)
		return -ENOMEM;
	memset(*ret, 0, size);
	rings[fd - 100] = *ret;
	ring_bytes = size - page_bytes;
	return 0;
}

static void replay_unmap(void *ctx, void *memory, size_t size)
{
	(void)ctx, (void)size;
	free(memory);
}

static const struct orma_perf_kernel replay_kernel = {
	.open = replay_open,
	.close = replay_close,
	.control = replay_control,
	.map = replay_map,
	.unmap = replay_unmap,
};

static void put_bytes(struct perf_event_mmap_page *ring, const uint8_t *bytes, size_t size)
{
	uint8_t *data = (uint8_t *)ring + page_bytes;
	size_t offset = (size_t)(ring->data_head & (ring_bytes - 1));
	size_t first = ORMA_MIN(size, ring_bytes - offset);

	memcpy(data + offset, bytes, first);
	memcpy(data, bytes + first, size - first);
	ring->data_head += size;
}

/* Fills the rings until the next record would fill more than a quarter of its own. */
static const uint8_t *fill(const uint8_t *at, const uint8_t *end)
{
	struct prefix prefix;

	for (; at < end; at += sizeof(prefix) + prefix.size) {
		memcpy(&prefix, at, sizeof(prefix));
		struct perf_event_mmap_page *ring = rings[prefix.cpu];
		if (ring->data_head + prefix.size - ring->data_tail > ring_bytes / 4)
			break;
		put_bytes(ring, at + sizeof(prefix), prefix.size);
	}
	return at;
}

/* --- one round -------------------------------------------------------------------------------- */

struct round {
	uint64_t ns, samples, frames, errors;
	struct bench_packets packets;
};

static uint64_t cpu_ns(void)
{
	return orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void run_round(struct orma_unwind_files *files, struct orma_buf *records,
		      struct orma_buf *others, const struct orma_kallsyms *kallsyms,
		      struct round *ret)
{
	struct orma_perf_events events;
	struct orma_perf_scope scope;
	struct orma_perf_processes processes = {.files = files, .scope = &scope};
	struct orma_perf_stacks stacks = {
		.config = &config, .processes = &processes, .kallsyms = kallsyms};
	struct orma_perf_packets packets;
	struct orma_perf_reader reader;

	*ret = (struct round){0};
	open_events(&replay_kernel, &events);
	orma_perf_scope_init(&scope, &config.scope, 0);
	processes.proc_fd = open("/proc", O_PATH | O_CLOEXEC);
	if (orma_perf_stacks_init(&stacks) < 0 ||
	    orma_perf_packets_init(&packets, NULL, 0, &config, 0, &stacks) < 0 ||
	    orma_perf_reader_init(&reader, CPUS) < 0)
		fail("start", ENOMEM);
	reader.config = &config;
	reader.events = &events;
	reader.processes = &processes;
	reader.stacks = &stacks;
	reader.packets = &packets;
	(void)bench_take_packets();
	const uint8_t *at = records->data, *end = records->data + records->size;
	while (at < end) {
		at = fill(at, end);
		for (size_t i = 0; i < others->size; i += LINE)
			others->data[i]++;
		uint64_t begin_ns = cpu_ns();
		(void)orma_perf_reader_run(&reader, UINT64_MAX - 1, NULL, NULL);
		ret->ns += cpu_ns() - begin_ns;
	}
	ret->packets = bench_take_packets();
	ret->samples = reader.sample_count;
	ret->frames = stacks.frame_count;
	ret->errors = stacks.error_count;
	orma_perf_reader_done(&reader);
	orma_perf_packets_done(&packets);
	orma_perf_stacks_done(&stacks);
	orma_perf_processes_done(&processes);
	close(processes.proc_fd);
	orma_perf_scope_done(&scope);
	orma_perf_events_close(&events);
}

static int replay(const char *path, unsigned rounds, size_t cold_mib)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf records = {0}, others = {0}, text = {0};
	struct orma_unwind_files *files;
	struct orma_kallsyms *kallsyms = NULL;
	struct round round;
	uint64_t best_ns = UINT64_MAX;
	int r = orma_base_file_read(AT_FDCWD, path, SIZE_MAX / 2, &records);

	if (r == 0)
		r = orma_base_file_read(AT_FDCWD, "/proc/kallsyms", 64u << 20, &text);
	if (r < 0)
		fail(path, r);
	(void)orma_kallsyms_parse(orma_base_buf_str(&text), &kallsyms);
	if (orma_base_buf_reserve(&others, (cold_mib << 20) + 1) < 0)
		fail("memory", ENOMEM);
	memset(others.data, 0, cold_mib << 20);
	others.size = cold_mib << 20;
	if (orma_unwind_files_new(NULL, &files) < 0)
		fail("memory", ENOMEM);
	/* The first one builds the tables. */
	for (unsigned i = 0; i < rounds + 1; i++) {
		run_round(files, &records, &others, kallsyms, &round);
		if (i > 0 || rounds == 0)
			best_ns = ORMA_MIN(best_ns, round.ns);
	}
	printf("%llu samples, %.1f frames each, %llu not whole: %.0f ns a sample, %.1f bytes\n",
	       (unsigned long long)round.samples, (double)round.frames / (double)round.samples,
	       (unsigned long long)round.errors, (double)best_ns / (double)round.samples,
	       (double)round.packets.bytes / (double)round.samples);
	orma_unwind_files_free(files);
	orma_kallsyms_free(kallsyms);
	return 0;
}

int main(int argc, char **argv)
{
	page_bytes = (size_t)getpagesize();
	config.source = orma_pb_perf_event_config_new(&arena);
	if (argc > 4 && strcmp(argv[1], "record") == 0)
		return record_program(argv[2], atof(argv[3]), argv + 4);
	if (argc < 2) {
		fprintf(stderr, "usage: bench_perf_replay record FILE SECONDS PROGRAM [ARGS]\n"
				"       bench_perf_replay FILE [ROUNDS [COLD_MIB]]\n");
		return 2;
	}
	return replay(argv[1], argc > 2 ? (unsigned)atoi(argv[2]) : ROUNDS,
		      argc > 3 ? (size_t)atoi(argv[3]) : 0);
}
