/* SPDX-License-Identifier: Apache-2.0
 * perf_fixture.h - an instance of linux.perf without the kernel: records that a test makes go through
 * rings, and come out as packets. Include it in one file per program.
 */
#ifndef ORMA_TESTS_PERF_FIXTURE_H
#define ORMA_TESTS_PERF_FIXTURE_H

#include <linux/perf_event.h>

#include "fake_api.h"
#include "probes/perf/perf_reader.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/perf_event_config.pb.h"

enum { PERF_CPUS = 2, PERF_REGS = 3 };

struct perf_fixture {
	struct orma_perf_kernel kernel;
	struct perf_event_mmap_page *pages[PERF_CPUS]; /* by CPU; descriptors are CPUs plus 100 */
	size_t ring_bytes;
	struct orma_perf_config config;
	struct orma_pb_perf_event_config *source;
	struct orma_perf_scope scope;
	struct orma_perf_events events;
	struct orma_perf_processes processes;
	struct orma_perf_stacks stacks;
	struct orma_perf_packets packets;
	struct orma_perf_reader reader;
};

/* ---- a kernel that grants everything ---- */

static int perf_fixture_open(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
			     int group_fd, unsigned long flags)
{
	(void)ctx, (void)attr, (void)pid, (void)group_fd, (void)flags;
	return 100 + cpu;
}

static void perf_fixture_close(void *ctx, int fd)
{
	(void)ctx, (void)fd;
}

static int perf_fixture_control(void *ctx, int fd, unsigned long request, unsigned long argument)
{
	(void)ctx, (void)fd, (void)request, (void)argument;
	return 0;
}

static int perf_fixture_map(void *ctx, int fd, size_t size, void **ret)
{
	struct perf_fixture *fixture = ctx;
	void *memory = NULL;

	CHECK(posix_memalign(&memory, (size_t)getpagesize(), size) == 0);
	memset(memory, 0, size);
	*ret = memory;
	fixture->pages[fd - 100] = memory;
	fixture->ring_bytes = size - (size_t)getpagesize();
	return 0;
}

static void perf_fixture_unmap(void *ctx, void *memory, size_t size)
{
	(void)ctx, (void)size;
	free(memory);
}

/* ---- the instance ---- */

/* Set `config` and `scope` before. Copies of stacks have stack_bytes; rings have ring_pages. */
static void perf_fixture_start(struct perf_fixture *fixture)
{
	static const uint32_t cpus[PERF_CPUS] = {0, 1};
	struct orma_perf_open wish = {.kernel = &fixture->kernel,
				      .config = &fixture->config,
				      .paths = {NULL, "/sys", "/proc"},
				      .cpus = cpus,
				      .cpu_count = PERF_CPUS,
				      .stack_bytes = fixture->config.stack_bytes};

	fixture->kernel = (struct orma_perf_kernel){.ctx = fixture,
						    .open = perf_fixture_open,
						    .close = perf_fixture_close,
						    .control = perf_fixture_control,
						    .map = perf_fixture_map,
						    .unmap = perf_fixture_unmap};
	fixture->source = orma_pb_perf_event_config_new(&fake_arena);
	fixture->config.source = fixture->source;
	fixture->config.wants_stacks = true;
	fixture->config.timebase.counter = 1;
	fixture->config.clock_id = 5;
	CHECK(orma_perf_events_open(&wish, &fixture->events) == 0);
	orma_perf_scope_init(&fixture->scope, &fixture->config.scope, 0);
	fixture->processes.scope = &fixture->scope;
	CHECK(orma_unwind_files_new(NULL, &fixture->processes.files) == 0);
	fixture->processes.proc_fd = open("/proc", O_PATH | O_CLOEXEC);
	fixture->stacks.config = &fixture->config;
	fixture->stacks.processes = &fixture->processes;
	CHECK(orma_perf_stacks_init(&fixture->stacks) == 0);
	CHECK(orma_perf_packets_init(&fixture->packets, &fake_source, 0, &fixture->config, 0,
				     &fixture->stacks) == 0);
	CHECK(orma_perf_reader_init(&fixture->reader, PERF_CPUS) == 0);
	fixture->reader.config = &fixture->config;
	fixture->reader.events = &fixture->events;
	fixture->reader.processes = &fixture->processes;
	fixture->reader.stacks = &fixture->stacks;
	fixture->reader.packets = &fixture->packets;
	fake_source.started = 1;
	fake_source.needs_state = 1;
}

static void perf_fixture_end(struct perf_fixture *fixture)
{
	orma_perf_reader_done(&fixture->reader);
	orma_perf_packets_done(&fixture->packets);
	orma_perf_stacks_done(&fixture->stacks);
	orma_perf_processes_done(&fixture->processes);
	orma_unwind_files_free(fixture->processes.files);
	close(fixture->processes.proc_fd);
	orma_perf_scope_done(&fixture->scope);
	orma_perf_events_close(&fixture->events);
	fake_forget_packets();
	orma_base_arena_done(&fake_arena);
}

__attribute__((unused)) static void perf_fixture_run(struct perf_fixture *fixture)
{
	CHECK(!orma_perf_reader_run(&fixture->reader, UINT64_MAX - 1, NULL, NULL));
}

/* ---- records ---- */

__attribute__((unused)) static void perf_put(struct orma_buf *buf, const void *data, size_t size)
{
	CHECK_INT(orma_base_buf_append(buf, data, size), 0);
}

__attribute__((unused)) static void perf_put_u64(struct orma_buf *buf, uint64_t value)
{
	perf_put(buf, &value, sizeof(value));
}

__attribute__((unused)) static void perf_put_u32s(struct orma_buf *buf, uint32_t a, uint32_t b)
{
	perf_put(buf, &a, sizeof(a));
	perf_put(buf, &b, sizeof(b));
}

/* Writes a record into the ring of a CPU as the kernel does: its bytes, which may wrap, and then the
 * head. The buffer is freed. */
static void perf_fixture_write(struct perf_fixture *fixture, uint32_t cpu, struct orma_buf *record)
{
	struct perf_event_mmap_page *page = fixture->pages[cpu];
	uint8_t *ring = (uint8_t *)page + getpagesize();

	CHECK(record->size <= UINT16_MAX && record->size % 8 == 0);
	CHECK(page->data_head + record->size - page->data_tail <= fixture->ring_bytes);
	for (size_t i = 0; i < record->size; i++)
		ring[(page->data_head + i) % fixture->ring_bytes] = record->data[i];
	__atomic_store_n(&page->data_head, page->data_head + record->size, __ATOMIC_RELEASE);
	orma_base_buf_done(record);
}

static struct orma_buf perf_record_begin(uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};
	struct orma_buf record = {0};

	perf_put(&record, &header, sizeof(header));
	return record;
}

static void perf_record_finish(struct orma_buf *record)
{
	uint16_t size = (uint16_t)record->size;

	memcpy(record->data + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

struct made_sample {
	uint32_t pid, tid, cpu;
	uint64_t time;
	uint16_t misc;
	const uint64_t *chain;
	size_t chain_count;
	uint64_t abi;             /* 0 = no registers */
	uint64_t regs[PERF_REGS]; /* fp, sp, pc */
	const void *stack;
	size_t stack_size; /* bytes of the copy */
	uint64_t used;     /* bytes that the kernel claims to have copied */
};

/* A sample has the parts that perf_attr.c asks for. */
__attribute__((unused)) static void perf_fixture_sample(struct perf_fixture *fixture,
							const struct made_sample *sample)
{
	uint64_t type = fixture->events.layout.sample_type;
	struct orma_buf record =
		perf_record_begin(PERF_RECORD_SAMPLE, sample->misc ? sample->misc : 2 /* user */);

	perf_put_u64(&record, sample->regs[2]);
	perf_put_u32s(&record, sample->pid, sample->tid);
	perf_put_u64(&record, sample->time);
	perf_put_u32s(&record, sample->cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		perf_put_u64(&record, 1);
	if (type & PERF_SAMPLE_READ)
		perf_put_u64(&record, sample->time * 10);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		perf_put_u64(&record, sample->chain_count);
		perf_put(&record, sample->chain, sample->chain_count * sizeof(*sample->chain));
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		perf_put_u64(&record, sample->abi);
		if (sample->abi != 0)
			perf_put(&record, sample->regs, sizeof(sample->regs));
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		perf_put_u64(&record, sample->stack_size);
		perf_put(&record, sample->stack, sample->stack_size);
		if (sample->stack_size > 0)
			perf_put_u64(&record, sample->used);
	}
	perf_record_finish(&record);
	perf_fixture_write(fixture, sample->cpu, &record);
}

/* Another record: its content is `words`, and then comes the identity of the event. */
__attribute__((unused)) static void perf_fixture_other(struct perf_fixture *fixture, uint32_t type,
						       uint16_t misc, const uint64_t *words,
						       size_t word_count, uint32_t tid,
						       uint64_t time, uint32_t cpu)
{
	struct orma_buf record = perf_record_begin(type, misc);

	perf_put(&record, words, word_count * sizeof(*words));
	perf_put_u32s(&record, tid, tid);
	perf_put_u64(&record, time);
	perf_put_u32s(&record, cpu, 0);
	perf_record_finish(&record);
	perf_fixture_write(fixture, cpu, &record);
}

/* A pair of ids, as records have them. */
__attribute__((unused)) static uint64_t perf_pair(uint32_t first, uint32_t second)
{
	uint32_t ids[] = {first, second};
	uint64_t word;

	memcpy(&word, ids, sizeof(word));
	return word;
}

__attribute__((unused)) static void perf_fixture_fork(struct perf_fixture *fixture, uint32_t pid,
						      uint32_t parent, uint64_t time)
{
	uint64_t words[] = {perf_pair(pid, parent), perf_pair(pid, parent), time};

	perf_fixture_other(fixture, PERF_RECORD_FORK, 0, words, 3, parent, time, 0);
}

__attribute__((unused)) static void perf_fixture_exit(struct perf_fixture *fixture, uint32_t pid,
						      uint32_t tid, uint64_t time)
{
	uint64_t words[] = {perf_pair(pid, pid), perf_pair(tid, tid), time};

	perf_fixture_other(fixture, PERF_RECORD_EXIT, 0, words, 3, tid, time, 0);
}

/* A thread runs again. */
__attribute__((unused)) static void perf_fixture_runs(struct perf_fixture *fixture, uint32_t tid,
						      uint64_t time, uint32_t cpu)
{
	perf_fixture_other(fixture, PERF_RECORD_SWITCH, 0, NULL, 0, tid, time, cpu);
}

#endif
