/* SPDX-License-Identifier: Apache-2.0
 * perf_events_test.c - opening events and merging their records, with a kernel of our own.
 */
#include "probes/perf/perf_events.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "harness.h"

#define EVENTS_MAX 64

struct made_event {
	struct perf_event_attr attr;
	pid_t pid;
	int cpu, group_fd, output_fd;
	void *memory;
	const char *filter;
	ino_t cgroup; /* 0 = none */
	bool is_closed, is_enabled;
};

/* A kernel that grants what its members say. */
struct made_kernel {
	struct orma_perf_kernel base;
	struct made_event events[EVENTS_MAX];
	int count, open_count;
	bool refuses_inherit_thread, refuses_kernel, refuses_whole_cpus;
	int cpu_without_event; /* 0 = all have it */
	pid_t dead_pid;
	size_t locked_max;
	bool refuses_filter;
};

static int open_made(void *ctx, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     int group_fd, unsigned long flags)
{
	struct made_kernel *kernel = ctx;
	struct stat cgroup = {0};

	/* Before Linux 6.13, inherited events cannot be read with a sample. */
	if ((kernel->refuses_inherit_thread && attr->inherit_thread) ||
	    (attr->inherit && attr->sample_type & PERF_SAMPLE_READ))
		return -EINVAL;
	if ((kernel->refuses_kernel && !attr->exclude_kernel) ||
	    (kernel->refuses_whole_cpus && pid == -1))
		return -EACCES;
	if (cpu > 0 && cpu == kernel->cpu_without_event)
		return -ENOENT;
	if (pid > 0 && pid == kernel->dead_pid)
		return -ESRCH;
	CHECK(kernel->count < EVENTS_MAX);
	if (flags & PERF_FLAG_PID_CGROUP)
		CHECK_INT(fstat(pid, &cgroup), 0);
	kernel->events[kernel->count] = (struct made_event){.attr = *attr,
							    .pid = pid,
							    .cpu = cpu,
							    .group_fd = group_fd,
							    .output_fd = -1,
							    .cgroup = cgroup.st_ino};
	kernel->open_count++;
	return kernel->count++;
}

static void close_made(void *ctx, int fd)
{
	struct made_kernel *kernel = ctx;

	CHECK(!kernel->events[fd].is_closed);
	kernel->events[fd].is_closed = true;
	kernel->open_count--;
}

static int control_made(void *ctx, int fd, unsigned long request, unsigned long argument)
{
	struct made_kernel *kernel = ctx;
	struct made_event *event = &kernel->events[fd];

	if (request == PERF_EVENT_IOC_SET_OUTPUT)
		event->output_fd = (int)argument;
	else if (request == PERF_EVENT_IOC_SET_FILTER && kernel->refuses_filter)
		return -EINVAL;
	else if (request == PERF_EVENT_IOC_SET_FILTER)
		event->filter = (const char *)(uintptr_t)argument;
	else
		event->is_enabled = request == PERF_EVENT_IOC_ENABLE;
	return 0;
}

static int map_made(void *ctx, int fd, size_t size, void **ret)
{
	struct made_kernel *kernel = ctx;
	void *memory = NULL;

	if (kernel->locked_max && size > kernel->locked_max)
		return -EPERM;
	CHECK(posix_memalign(&memory, (size_t)getpagesize(), size) == 0);
	memset(memory, 0, size);
	*ret = kernel->events[fd].memory = memory;
	return 0;
}

static void unmap_made(void *ctx, void *memory, size_t size)
{
	(void)ctx, (void)size;
	free(memory);
}

static ssize_t read_made(void *ctx, int fd, void *buf, size_t size)
{
	uint64_t words[] = {2, 100, 200};

	(void)ctx, (void)fd;
	CHECK(size >= sizeof(words));
	memcpy(buf, words, sizeof(words));
	return sizeof(words);
}

static void init_kernel(struct made_kernel *kernel)
{
	*kernel = (struct made_kernel){.base = {.open = open_made,
						.close = close_made,
						.control = control_made,
						.map = map_made,
						.unmap = unmap_made,
						.read = read_made}};
	kernel->base.ctx = kernel;
}

static const uint32_t two_cpus[] = {0, 1};

static struct orma_perf_config stack_config = {
	.timebase = {.counter = 1},
	.hz = 100,
	.wants_stacks = true,
	.kernel_frames = true,
	.user_frames = ORMA_PERF_USER_DWARF,
};

static struct orma_perf_open make_open(const struct made_kernel *kernel)
{
	return (struct orma_perf_open){.kernel = &kernel->base,
				       .config = &stack_config,
				       .paths = {NULL, "/sys", "/proc"},
				       .cpus = two_cpus,
				       .cpu_count = 2,
				       .stack_bytes = 16384};
}

/* Writes a switch of tid at a time, as the kernel does. */
static void put_switch(struct made_event *event, uint32_t tid, uint64_t time)
{
	struct perf_event_mmap_page *page = event->memory;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} record = {{PERF_RECORD_SWITCH, 0, sizeof(record)}, 1, tid, time, 0, 0};

	memcpy((char *)event->memory + getpagesize() + page->data_head, &record, sizeof(record));
	__atomic_store_n(&page->data_head, page->data_head + sizeof(record), __ATOMIC_RELEASE);
}

ORMA_TEST(whole_cpus_have_a_group_and_a_ring_each)
{
	static struct made_kernel kernel;
	struct orma_perf_events events;
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);
	struct orma_perf_config config = stack_config;

	config.follower_count = 1;
	config.followers[0] = (struct orma_perf_event){.counter = 2};
	open.config = &config;
	CHECK(orma_perf_events_open(&open, &events) == 0);
	CHECK(kernel.open_count == 4 && events.cpu_count == 2 && events.can == ORMA_PERF_CAN_ALL);
	CHECK(kernel.events[0].pid == -1 && kernel.events[0].cpu == 0);
	CHECK(kernel.events[1].group_fd == 0 && kernel.events[3].group_fd == 2);
	/* 100 Hz of 17 KiB for half a second. */
	CHECK(events.ring_bytes == 1 << 20);
	CHECK(kernel.events[0].attr.wakeup_watermark == 1 << 18);
	orma_perf_events_enable(&events);
	CHECK(kernel.events[0].is_enabled && kernel.events[2].is_enabled);
	uint64_t counts[4];
	CHECK(orma_perf_events_read(&events, &events.cpus[0], counts, 4) == 2 && counts[1] == 200);
	orma_perf_events_close(&events);
	CHECK(kernel.open_count == 0);
}

ORMA_TEST(records_of_all_cpus_come_in_the_order_of_time)
{
	static struct made_kernel kernel;
	struct orma_perf_events events;
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);
	struct orma_perf_record record;
	struct orma_perf_cpu *cpu;

	CHECK(orma_perf_events_open(&open, &events) == 0);
	put_switch(&kernel.events[0], 1, 10);
	put_switch(&kernel.events[1], 2, 5);
	put_switch(&kernel.events[0], 3, 30);
	put_switch(&kernel.events[1], 4, 20);
	put_switch(&kernel.events[1], 5, 50);
	orma_perf_events_refresh(&events);
	static const uint32_t order[] = {2, 1, 4, 3};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(order); i++) {
		CHECK(orma_perf_events_next(&events, 40, &record, &cpu));
		CHECK(record.tid == order[i]);
		orma_perf_events_advance(&events, cpu);
	}
	/* The last is newer than the limit. */
	CHECK(!orma_perf_events_next(&events, 40, &record, &cpu));
	CHECK(orma_perf_events_next(&events, UINT64_MAX - 1, &record, &cpu) && record.tid == 5);
	orma_perf_events_advance(&events, cpu);
	orma_perf_events_release(&events);
	CHECK(((struct perf_event_mmap_page *)kernel.events[1].memory)->data_tail == 96);
	orma_perf_events_close(&events);
}

ORMA_TEST(features_that_the_kernel_refuses_are_dropped_one_by_one)
{
	static struct made_kernel kernel;
	static const uint32_t tid = 100;
	struct orma_perf_events events;
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);

	kernel.refuses_inherit_thread = true;
	open.is_per_task = true;
	open.tids = &tid;
	open.tid_count = 1;
	CHECK(orma_perf_events_open(&open, &events) == 0);
	CHECK(!(events.can & ORMA_PERF_CAN_INHERIT_THREAD) && events.can & ORMA_PERF_CAN_KERNEL);
	orma_perf_events_close(&events);
	open.is_per_task = false;
	/* The kernel's refusal to lock so much memory is not one to show itself. */
	kernel.locked_max = 300 << 10;
	CHECK(orma_perf_events_open(&open, &events) == 0);
	CHECK(events.can & ORMA_PERF_CAN_KERNEL && events.ring_bytes == 256 << 10);
	orma_perf_events_close(&events);
	kernel.locked_max = 1;
	CHECK_INT(orma_perf_events_open(&open, &events), -ENOBUFS);
	kernel.refuses_kernel = true;
	kernel.locked_max = 300 << 10;
	CHECK(orma_perf_events_open(&open, &events) == 0);
	CHECK(!(events.can & ORMA_PERF_CAN_KERNEL) && events.ring_bytes == 256 << 10);
	orma_perf_events_close(&events);
	kernel.refuses_whole_cpus = true;
	CHECK(orma_perf_events_open(&open, &events) == -EACCES);
	CHECK(kernel.open_count == 0);
}

ORMA_TEST(tasks_write_to_the_ring_of_their_cpu)
{
	static struct made_kernel kernel;
	static const uint32_t tids[] = {100, 101, 102};
	struct orma_perf_events events;
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);

	kernel.refuses_whole_cpus = true;
	kernel.dead_pid = 101;
	open.is_per_task = true;
	open.tids = tids;
	open.tid_count = 3;
	CHECK(orma_perf_events_open(&open, &events) == 0);
	CHECK(events.task_count == 2 && kernel.open_count == 6);
	for (int i = 0; i < kernel.count; i++) {
		const struct made_event *event = &kernel.events[i];
		if (event->is_closed || event->pid == 0)
			continue;
		CHECK(event->attr.inherit);
		CHECK(kernel.events[event->output_fd].cpu == event->cpu);
		CHECK(kernel.events[event->output_fd].attr.config == PERF_COUNT_SW_DUMMY);
	}
	orma_perf_events_close(&events);
	open.tids = &tids[1];
	open.tid_count = 1;
	CHECK(orma_perf_events_open(&open, &events) == -ENODATA);
	CHECK(kernel.open_count == 0);
}

ORMA_TEST(a_cpu_without_the_event_is_left_out_if_the_config_permits_that)
{
	static struct made_kernel kernel;
	static const uint32_t second_cpu[] = {1};
	struct orma_perf_events events;
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);
	struct orma_perf_config config = stack_config;
	struct orma_perf_record record;
	struct orma_perf_cpu *cpu;

	kernel.cpu_without_event = 1;
	open.config = &config;
	CHECK_INT(orma_perf_events_open(&open, &events), -ENOENT);
	config.ignore_open_failure = true;
	CHECK_INT(orma_perf_events_open(&open, &events), 0);
	CHECK_INT(kernel.open_count, 1);
	orma_perf_events_enable(&events);
	put_switch(&kernel.events[kernel.count - 1], 7, 10);
	orma_perf_events_refresh(&events);
	CHECK(orma_perf_events_next(&events, 40, &record, &cpu) && record.tid == 7);
	orma_perf_events_advance(&events, cpu);
	uint64_t count;
	CHECK_INT(orma_perf_events_read(&events, &events.cpus[1], &count, 1), -ENODATA);
	orma_perf_events_close(&events);
	/* None has it. */
	open.cpus = second_cpu;
	open.cpu_count = 1;
	CHECK_INT(orma_perf_events_open(&open, &events), -ENOENT);
	/* A lack of rights is told, and not left out. */
	open = make_open(&kernel);
	open.config = &config;
	kernel.refuses_whole_cpus = true;
	CHECK_INT(orma_perf_events_open(&open, &events), -EACCES);
	CHECK_INT(kernel.open_count, 0);
}

static void make_folder(const char *below, char ret[256])
{
	char command[600];

	snprintf(ret, 256, "%s/%s", orma_test_tmpdir(), below);
	snprintf(command, sizeof(command), "mkdir -p %s", ret);
	CHECK_INT(system(command), 0);
}

ORMA_TEST(each_tracepoint_has_its_own_filter_and_other_events_have_none)
{
	static struct made_kernel kernel;
	struct orma_perf_events events;
	struct orma_perf_config config = stack_config;
	char folder[256], path[300];
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);

	make_folder("events/sched/sched_switch", folder);
	snprintf(path, sizeof(path), "%s/id", folder);
	FILE *id = fopen(path, "we");
	CHECK(id && fputs("314\n", id) >= 0);
	CHECK_INT(fclose(id), 0);
	config.timebase = (struct orma_perf_event){.kind = ORMA_PERF_EVENT_TRACEPOINT,
						   .tracepoint = ORMA_STR("sched:sched_switch"),
						   .filter = "prev_pid != 0"};
	config.follower_count = 3;
	config.followers[0] = config.timebase;
	config.followers[0].filter = "next_pid != 0";
	config.followers[1] = config.timebase;
	config.followers[1].filter = "";
	config.followers[2] = (struct orma_perf_event){.counter = 2, .filter = "none"};
	open.config = &config;
	open.paths.tracefs = orma_test_tmpdir();
	CHECK_INT(orma_perf_events_open(&open, &events), 0);
	CHECK_INT(kernel.count, 8);
	for (int i = 0; i < kernel.count; i += 4) {
		CHECK_INT(kernel.events[i].attr.config, 314);
		CHECK_STR(kernel.events[i].filter, "prev_pid != 0");
		CHECK_STR(kernel.events[i + 1].filter, "next_pid != 0");
		CHECK(!kernel.events[i + 2].filter && !kernel.events[i + 3].filter);
	}
	orma_perf_events_close(&events);
	/* A filter that makes no sense would otherwise let everything in. */
	kernel.refuses_filter = true;
	CHECK_INT(orma_perf_events_open(&open, &events), -EINVAL);
	CHECK_INT(kernel.open_count, 0);
}

ORMA_TEST(each_control_group_has_a_group_of_events_on_each_cpu)
{
	const struct orma_str groups[] = {ORMA_STR("app.slice"), ORMA_STR("app.slice/user@1000")};
	const struct orma_str wrong[] = {ORMA_STR("no.slice"), ORMA_STR(""),
					 ORMA_STR("app.slice/.."), ORMA_STR("app.slice\0x")};
	static const int errors[] = {-ENOENT, -EINVAL, -EINVAL, -EINVAL};
	static struct made_kernel kernel;
	struct orma_perf_events events;
	struct orma_perf_config config = stack_config;
	char parent[256], child[256];
	struct stat facts[2];
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);

	make_folder("fs/cgroup/app.slice/user@1000", child);
	make_folder("fs/cgroup/app.slice", parent);
	CHECK(stat(parent, &facts[0]) == 0 && stat(child, &facts[1]) == 0);
	config.cgroups = groups;
	config.cgroup_count = 2;
	config.follower_count = 1;
	config.followers[0] = (struct orma_perf_event){.counter = 2};
	open.config = &config;
	open.paths.sys = orma_test_tmpdir();
	CHECK_INT(orma_perf_events_open(&open, &events), 0);
	/* Each CPU has the owner of the ring and two groups of two. */
	CHECK_INT(kernel.count, 10);
	for (int i = 0; i < kernel.count; i++) {
		const struct made_event *event = &kernel.events[i];
		int owner = i / 5 * 5, place = i % 5;
		CHECK_INT(event->cpu, i / 5);
		CHECK(event->cgroup == (place > 0 ? facts[(place - 1) / 2].st_ino : 0));
		CHECK_INT(event->attr.config == PERF_COUNT_SW_DUMMY, place == 0);
		CHECK_INT(event->output_fd, place == 1 || place == 3 ? owner : -1);
		CHECK_INT(event->group_fd, place == 2 || place == 4 ? i - 1 : -1);
		CHECK_INT(event->memory != NULL, place == 0);
	}
	orma_perf_events_close(&events);
	config.cgroup_count = 1;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++) {
		init_kernel(&kernel);
		config.cgroups = &wrong[i];
		CHECK_INT(orma_perf_events_open(&open, &events), errors[i]);
		CHECK_INT(kernel.open_count, 0);
	}
}

ORMA_TEST(whole_cpus_may_be_watched_if_the_kernel_opens_an_event_of_one)
{
	static struct made_kernel kernel;
	init_kernel(&kernel);
	struct orma_perf_open open = make_open(&kernel);

	CHECK(orma_perf_events_may_watch(&open));
	kernel.refuses_whole_cpus = true;
	CHECK(!orma_perf_events_may_watch(&open));
	open.cpu_count = 0;
	CHECK(!orma_perf_events_may_watch(&open));
	CHECK_INT(kernel.open_count, 0);
}

ORMA_TEST(opening_survives_a_lack_of_memory)
{
	static struct made_kernel kernel;
	struct orma_perf_events events;

	for (uint64_t nth = 1;; nth++) {
		init_kernel(&kernel);
		struct orma_perf_open open = make_open(&kernel);
		orma_base_alloc_fail_nth(nth);
		int r = orma_perf_events_open(&open, &events);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		if (r == 0)
			orma_perf_events_close(&events);
		CHECK(kernel.open_count == 0);
		if (!has_failed)
			break;
	}
}

static void ignore(void *ctx)
{
	(void)ctx;
}

ORMA_TEST(the_real_kernel_samples_this_process)
{
	struct orma_perf_events events;
	struct orma_perf_config config = stack_config;
	uint32_t cpus[] = {0}, tid = (uint32_t)getpid();
	struct orma_perf_record record;
	struct orma_perf_cpu *cpu;
	struct orma_perf_open open = {.kernel = &orma_perf_kernel_real,
				      .config = &config,
				      .paths = {NULL, "/sys", "/proc"},
				      .cpus = cpus,
				      .cpu_count = 1,
				      .tids = &tid,
				      .tid_count = 1,
				      .is_per_task = true,
				      .stack_bytes = 16384,
				      .on_ready = ignore};
	unsigned samples = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		orma_test_skip("CPU 0");
	config.hz = 5000;
	int r = orma_perf_events_open(&open, &events);
	if (r < 0)
		orma_test_skip("perf events; see perf_event_paranoid");
	orma_perf_events_enable(&events);
	for (unsigned turn = 0; turn < 20000 && samples < 3; turn++) {
		for (volatile unsigned spin = 0; spin < 100000; spin++)
			;
		orma_perf_events_refresh(&events);
		while (orma_perf_events_next(&events, UINT64_MAX - 1, &record, &cpu)) {
			if (record.type == PERF_RECORD_SAMPLE) {
				CHECK(record.tid == tid && record.cpu == 0);
				CHECK(record.sample.regs.count > 0);
				CHECK(record.sample.stack_size > 0);
				samples++;
			}
			orma_perf_events_advance(&events, cpu);
		}
		orma_perf_events_release(&events);
	}
	orma_perf_events_disable(&events);
	CHECK(samples >= 3 && events.bad_count == 0);
	orma_perf_events_close(&events);
}
