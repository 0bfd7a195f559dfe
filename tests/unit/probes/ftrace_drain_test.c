/* SPDX-License-Identifier: Apache-2.0
 * ftrace_drain_test.c - when and how far linux.ftrace reads the buffers of the CPUs: flushes, fairness, pauses, CPUs that
 * cannot be read.
 *
 * A CPU's buffer is a file to which the tests append pages; its end is what an empty buffer is in the kernel.
 */
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "fake_api.h"
#include "fake_tracefs.h"
#include "ftrace_fixture.h"
#include "probes/ftrace/ftrace_drain.h"
#include "schema/gen/ftrace_stats.pb.h"

#define CONFIG(text)  "name: 'linux.ftrace' ftrace_config { " text " }"
#define PRINTS        "ftrace_events: 'ftrace/print' "
#define RARELY        "drain_period_ms: 60000 "
#define PAGE_BYTES    4096u
#define HALF_BYTES    2048u
#define TEST_CPUS_MAX 8

/* ---- the kernel's side of read() and uname() ---- */

static struct {
	unsigned reads;  /* pages that were tried to read */
	int error;       /* each read fails with it; 0 = none */
	bool is_endless; /* full pages without an end */
	char pipe[64];   /* "pipe:[123]", if the buffer is a pipe */
} cpus[TEST_CPUS_MAX];
static int symbols_gate_fd = -1; /* a read of the symbols waits until this one has a byte */

/* The CPU whose buffer the descriptor is; -1 = it is another file. */
static int cpu_of(int fd)
{
	char link[64], path[512];
	int cpu;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return -1;
	path[size] = '\0';
	if (symbols_gate_fd >= 0 && strstr(path, "/kallsyms")) {
		char byte;
		CHECK_INT(syscall(SYS_read, symbols_gate_fd, &byte, 1), 1);
	}
	for (cpu = 0; cpu < TEST_CPUS_MAX; cpu++)
		if (strcmp(cpus[cpu].pipe, path) == 0)
			return cpu;
	const char *at = strstr(path, "/tracing/per_cpu/cpu");
	return at && strstr(at, "/trace_pipe_raw") &&
			       sscanf(at, "/tracing/per_cpu/cpu%d/", &cpu) == 1 &&
			       cpu < TEST_CPUS_MAX
		       ? cpu
		       : -1;
}

ssize_t read(int fd, void *data, size_t size)
{
	int cpu = cpu_of(fd);

	if (cpu >= 0) {
		cpus[cpu].reads++;
		if (cpus[cpu].error) {
			errno = cpus[cpu].error;
			return -1;
		}
		if (cpus[cpu].is_endless) {
			uint64_t commit = PAGE_BYTES - 16;
			/* Discarded events: a record of padding that fills the page. */
			uint32_t records[2] = {DELTA(29, 1), PAGE_BYTES - 16 - 4};
			CHECK_INT(size, PAGE_BYTES);
			memset(data, 0, size);
			memcpy((uint8_t *)data + 8, &commit, sizeof(commit));
			memcpy((uint8_t *)data + 16, records, sizeof(records));
			return (ssize_t)size;
		}
	}
	return syscall(SYS_read, fd, data, size);
}

/* The first kernel that can be polled. */
int uname(struct utsname *ret)
{
	long r = syscall(SYS_uname, ret);

	snprintf(ret->release, sizeof(ret->release), "6.9.0");
	return (int)r;
}

/* ---- the tree ---- */

static void open_tree(unsigned cpu_count)
{
	fake_capture_log();
	fake_tracefs_make();
	fake_put("tracing/events/header_page", HEADER_PAGE_64);
	fake_put("tracing/events/ftrace/print/format", FORMAT_PRINT);
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		char name[64];

		snprintf(name, sizeof(name), "tracing/per_cpu/cpu%u/trace_pipe_raw", cpu);
		fake_put(name, "");
		snprintf(name, sizeof(name), "tracing/per_cpu/cpu%u/buffer_size_kb", cpu);
		fake_put(name, "1408\n");
	}
	fake_env.tracefs_path = fake_tracefs_path;
	fake_env.ftrace_state_path = fake_state_path;
	fake_open(orma_probe_ftrace_new);
}

/* Appends the pages to a CPU's buffer, and empties them. */
static void append_pages(unsigned cpu, struct test_pages *pages)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/tracing/per_cpu/cpu%u/trace_pipe_raw", fake_root, cpu);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, pages->bytes.data, pages->bytes.size), pages->bytes.size);
	close(fd);
	orma_base_buf_done(&pages->bytes);
	*pages = (struct test_pages){0};
}

static void put_print(struct test_pages *pages, size_t bytes)
{
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t ip;
		char text[PAGE_BYTES];
	} print = {.common = {ID_PRINT, 0, 0, 5}, .ip = 9};

	CHECK(bytes < PAGE_BYTES - 100);
	memset(print.text, 'x', bytes);
	put_event(pages, 1, &print, 16 + bytes + 1);
}

/* Appends pages with one print each. */
static void append_prints(unsigned cpu, unsigned count, size_t bytes)
{
	struct test_pages pages = {0};

	for (unsigned i = 0; i < count; i++) {
		new_page(&pages, 1000 + i);
		put_print(&pages, bytes);
	}
	append_pages(cpu, &pages);
}

static size_t count_events(void)
{
	size_t count = 0;

	for (size_t i = 0; i < fake_packet_count; i++)
		if (fake_packet(i)->ftrace_events)
			count += fake_packet(i)->ftrace_events->event.count;
	return count;
}

static enum orma_completion flush_later(uint32_t idx, uint64_t completion)
{
	struct orma_instance instance = fake_instance(idx);

	instance.completion = completion;
	return fake_source.options.on_flush(fake_source.options.ctx, &instance);
}

static void turn_until_completed(uint64_t completion)
{
	while (fake_completed != completion)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
}

static unsigned count_reads(void)
{
	unsigned reads = 0;

	for (size_t i = 0; i < TEST_CPUS_MAX; i++)
		reads += cpus[i].reads;
	return reads;
}

/* ---- flushes and stops ---- */

ORMA_TEST(a_flush_reads_what_is_behind_pages_that_are_not_full)
{
	open_tree(2);
	fake_start(0, CONFIG(PRINTS RARELY));
	append_prints(0, 7, 10);
	append_prints(1, 1, 10);
	fake_flush(0);
	CHECK_INT(count_events(), 8);
	append_prints(1, 7, 10);
	struct orma_instance instance = fake_instance(0);
	CHECK_INT(fake_source.options.on_stop(fake_source.options.ctx, &instance), ORMA_COMPLETE);
	CHECK_INT(count_events(), 15);
	fake_close();
}

ORMA_TEST(a_cpu_that_always_has_more_holds_a_flush_up_for_the_size_of_its_buffer_at_most)
{
	open_tree(2);
	fake_put("tracing/buffer_size_kb", "X\n");
	fake_put("tracing/per_cpu/cpu0/buffer_size_kb", "64\n");
	fake_put("tracing/per_cpu/cpu1/buffer_size_kb", "4096\n");
	fake_start(0, CONFIG(PRINTS RARELY "preserve_ftrace_buffer: true"));
	fake_forget_packets();
	cpus[0].is_endless = true;
	fake_flush(0);
	/* 64 KiB are 17 pages, one more is the reader's, and one is the rest of a page. */
	CHECK(cpus[0].reads >= 18 && cpus[0].reads <= 19);
	const struct orma_pb_ftrace_stats *stats = fake_packet(fake_packet_count - 1)->ftrace_stats;
	CHECK_INT(stats->cpu_buffer_size_pages, INT64_C(4096) * 1024 / sysconf(_SC_PAGESIZE));

	cpus[0].is_endless = false;
	cpus[1].is_endless = true;
	cpus[1].reads = 0;
	CHECK_INT(flush_later(0, 5), ORMA_POSTPONE);
	turn_until_completed(5);
	CHECK(cpus[1].reads >= 1029 && cpus[1].reads < 1029 + 2 * 256);
	cpus[1].is_endless = false;
	fake_close();
}

ORMA_TEST(a_flush_during_a_flush_is_complete_when_its_own_events_are_written)
{
	open_tree(1);
	fake_put("tracing/per_cpu/cpu0/buffer_size_kb", "4096\n");
	fake_start(0, CONFIG(PRINTS RARELY));
	fake_start(1, CONFIG(PRINTS RARELY));
	append_prints(0, 300, HALF_BYTES);
	CHECK_INT(flush_later(0, 5), ORMA_POSTPONE);
	append_prints(0, 300, HALF_BYTES);
	CHECK_INT(flush_later(1, 6), ORMA_POSTPONE);
	turn_until_completed(5);
	turn_until_completed(6);
	CHECK_INT(count_events(), 2 * 600);
	/* One that is taken back with its session leaves the others. */
	append_prints(0, 300, 10);
	CHECK_INT(flush_later(0, 7), ORMA_POSTPONE);
	CHECK_INT(flush_later(1, 8), ORMA_POSTPONE);
	struct orma_instance instance = fake_instance(1);
	fake_source.started &= ~2u;
	fake_source.options.on_destroy(fake_source.options.ctx, &instance);
	orma_base_buf_done(&fake_source.config[1]);
	turn_until_completed(7);
	fake_close();
}

/* ---- other data sources ---- */

static struct orma_buf heard;

static void hear_tasks(void *ctx, const struct orma_task_sighting *tasks, size_t count)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		orma_base_buf_printf(&heard, "%u%s%s;", tasks[i].tid, *tasks[i].comm ? " " : "",
				     tasks[i].comm);
}

ORMA_TEST(tasks_of_the_events_reach_the_data_sources_of_the_same_session_with_the_drain)
{
	struct orma_sightings_listener listener = {.on_tasks = hear_tasks};
	struct test_pages pages = {0};
	struct __attribute__((packed)) {
		struct test_common common;
		int32_t pid;
		char comm[16];
		uint64_t clone_flags;
	} new_task = {{ID_NEWTASK, 0, 0, 9}, 10, "child", 0x10f00};

	open_tree(1);
	fake_put("tracing/events/sched/sched_switch/format", FORMAT_SWITCH);
	fake_put_event("tracing", "task", "task_newtask", ID_NEWTASK, "");
	fake_put("tracing/events/task/task_newtask/format", FORMAT_NEWTASK);
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	orma_sightings_listen(seen, &listener);
	fake_start(0, "name: 'linux.ftrace' tracing_session_id: 7 ftrace_config { " RARELY
		      "ftrace_events: 'sched/sched_switch' ftrace_events: 'task/task_newtask' }");
	/* The new task has ended before anybody can look into /proc. */
	new_page(&pages, 1000);
	put_event(&pages, 1, &new_task, sizeof(new_task));
	put_switch(&pages, 1, 10, "child", 5, "five");
	append_pages(0, &pages);
	fake_flush(0);
	CHECK_STR(orma_base_buf_cstr(&heard), "9;10 child;5;");
	orma_base_buf_done(&heard);
	fake_stop(0);
	orma_sightings_unlisten(seen, &listener);
	orma_sightings_put(seen);
	fake_close();
}

/* ---- turns ---- */

ORMA_TEST(a_turn_reads_a_bounded_number_of_pages_and_no_cpu_waits_for_another_to_be_empty)
{
	const unsigned turn_pages = ORMA_FTRACE_TURN_PAGES, cpu_pages = ORMA_FTRACE_CPU_PAGES;

	open_tree(8);
	fake_start(0, CONFIG(PRINTS RARELY));
	for (unsigned cpu = 0; cpu < 8; cpu++)
		cpus[cpu].is_endless = true;
	CHECK_INT(flush_later(0, 5), ORMA_POSTPONE);
	CHECK_INT(count_reads(), turn_pages);
	CHECK_INT(cpus[3].reads, cpu_pages);
	CHECK_INT(cpus[4].reads, 0);
	CHECK(orma_base_loop_turn(fake_loop, 0) >= 1);
	CHECK_INT(count_reads(), 2 * turn_pages);
	for (unsigned cpu = 0; cpu < 8; cpu++)
		CHECK_INT(cpus[cpu].reads, cpu_pages);
	for (unsigned cpu = 0; cpu < 8; cpu++)
		cpus[cpu].is_endless = false;
	turn_until_completed(5);
	/* Nothing is left to do. */
	CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	fake_close();
}

/* ---- the watermark and pauses ---- */

/* Makes a CPU's buffer a pipe, which unlike a file can be polled. Returns the end to write to. */
static int make_pipe(unsigned cpu, int *ret_read_fd)
{
	char path[512], target[64];
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	snprintf(path, sizeof(path), "%s/tracing/per_cpu/cpu%u/trace_pipe_raw", fake_root, cpu);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fds[0]);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(symlink(target, path), 0);
	CHECK(readlink(target, cpus[cpu].pipe, sizeof(cpus[cpu].pipe) - 1) > 0);
	*ret_read_fd = fds[0];
	return fds[1];
}

static void write_page(int fd)
{
	struct test_pages pages = {0};

	new_page(&pages, 1000);
	put_print(&pages, 10);
	CHECK_INT(write(fd, pages.bytes.data, pages.bytes.size), pages.bytes.size);
	orma_base_buf_done(&pages.bytes);
}

ORMA_TEST(a_watermark_is_not_watched_while_the_drain_is_paused)
{
	int gate[2], read_fds[2];

	open_tree(2);
	int cpu_fds[2] = {make_pipe(0, &read_fds[0]), make_pipe(1, &read_fds[1])};
	CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
	symbols_gate_fd = gate[0];
	fake_put("proc/kallsyms", "ffffffff81000000 T _text\n");
	fake_start(0, CONFIG(PRINTS RARELY "drain_buffer_percent: 50"));
	write_page(cpu_fds[1]);
	fake_run_until(1);
	/* The second session waits for its symbols, and the buffer with it. */
	fake_start(1, CONFIG(PRINTS RARELY "symbolize_ksyms: true"));
	write_page(cpu_fds[1]);
	for (int i = 0; i < 3; i++)
		CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_INT(write(gate[1], "......", 6), 6);
	fake_run_until(3);
	write_page(cpu_fds[0]);
	fake_run_until(5);
	CHECK_INT(count_events(), 5);
	fake_close();
	for (int i = 0; i < 2; i++) {
		close(cpu_fds[i]);
		close(read_fds[i]);
		close(gate[i]);
	}
}

ORMA_TEST(buffers_that_poll_always_reports_are_not_watched)
{
	int read_fds[2];

	open_tree(2);
	int cpu_fds[2] = {make_pipe(0, &read_fds[0]), make_pipe(1, &read_fds[1])};
	fake_put("tracing/options/block", "0\n");
	fake_start(0,
		   CONFIG(PRINTS RARELY "drain_buffer_percent: 50 "
					"tracefs_options { name: 'block' state: STATE_ENABLED }"));
	write_page(cpu_fds[0]);
	for (int i = 0; i < 3; i++)
		CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	CHECK_INT(count_reads(), 0);
	fake_flush(0);
	CHECK_INT(count_events(), 1);
	fake_stop(0);
	fake_forget_packets();
	fake_start(0, CONFIG(PRINTS RARELY "drain_buffer_percent: 50"));
	write_page(cpu_fds[0]);
	fake_run_until(1);
	fake_close();
	for (int i = 0; i < 2; i++) {
		close(cpu_fds[i]);
		close(read_fds[i]);
	}
}

/* ---- CPUs that cannot be read ---- */

static struct orma_str problems_at(size_t packet)
{
	const struct orma_pb_ftrace_stats *stats = fake_packet(packet)->ftrace_stats;

	CHECK(stats != NULL);
	return stats->atrace_errors;
}

static unsigned count_in(struct orma_str text, const char *part)
{
	unsigned count = 0;

	for (const char *at = text.data; text.size > 0; at++, count++) {
		at = memmem(at, (size_t)(text.data + text.size - at), part, strlen(part));
		if (!at)
			break;
	}
	return count;
}

ORMA_TEST(a_cpu_whose_reads_fail_is_named_once_and_the_others_are_recorded)
{
	open_tree(2);
	fake_start(0, CONFIG(PRINTS RARELY));
	append_prints(0, 1, 10);
	append_prints(1, 1, 10);
	fake_flush(0);
	CHECK_INT(count_events(), 2);
	CHECK_INT(problems_at(fake_packet_count - 2).size, 0);
	cpus[1].error = EIO;
	for (int i = 0; i < 3; i++) {
		append_prints(0, 1, 10);
		append_prints(1, 1, 10);
		fake_flush(0);
	}
	CHECK_INT(count_events(), 5);
	CHECK_INT(count_in(problems_at(fake_packet_count - 2), "cannot read the buffer of CPU 1"),
		  1);
	const struct orma_pb_ftrace_stats *stats = fake_packet(fake_packet_count - 1)->ftrace_stats;
	CHECK_INT(stats->ftrace_parse_errors.count, 1);
	CHECK_INT(stats->ftrace_parse_errors.items[0],
		  ORMA_PB_FTRACE_PARSE_STATUS_FTRACE_STATUS_UNEXPECTED_READ_ERROR);
	CHECK(fake_log_has("cannot read the buffer of CPU 1"));
	cpus[1].error = 0;
	fake_flush(0);
	CHECK_INT(count_events(), 8);
	fake_close();
}

ORMA_TEST(a_cpu_that_goes_offline_is_named_and_one_that_never_was_online_is_not)
{
	open_tree(2);
	cpus[0].error = ENODEV;
	fake_start(0, CONFIG(PRINTS RARELY));
	append_prints(1, 1, 10);
	fake_flush(0);
	cpus[1].error = ENODEV;
	fake_flush(0);
	struct orma_str problems = problems_at(fake_packet_count - 2);
	CHECK_INT(count_in(problems, "CPU 0"), 0);
	CHECK_INT(count_in(problems, "cannot read the buffer of CPU 1"), 1);
	CHECK_INT(fake_packet(fake_packet_count - 1)->ftrace_stats->ftrace_parse_errors.count, 0);
	/* It comes back. */
	cpus[0].error = cpus[1].error = 0;
	append_prints(0, 1, 10);
	append_prints(1, 1, 10);
	fake_flush(0);
	CHECK_INT(count_events(), 3);
	fake_close();
}

ORMA_TEST(a_cpu_that_is_readable_and_cannot_be_read_does_not_keep_the_loop_busy)
{
	int read_fds[2];

	open_tree(2);
	int cpu_fds[2] = {make_pipe(0, &read_fds[0]), make_pipe(1, &read_fds[1])};
	fake_start(0, CONFIG(PRINTS RARELY "drain_buffer_percent: 50"));
	cpus[0].error = EIO;
	cpus[1].error = ENODEV;
	for (int i = 0; i < 2; i++)
		write_page(cpu_fds[i]);
	/* They are found readable; one turn reads. */
	CHECK(orma_base_loop_turn(fake_loop, -1) >= 1);
	CHECK(orma_base_loop_turn(fake_loop, -1) >= 1);
	CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	CHECK(fake_log_has("cannot read the buffer of CPU 0"));
	fake_close();
	for (int i = 0; i < 2; i++) {
		close(cpu_fds[i]);
		close(read_fds[i]);
	}
}

static const struct orma_pb_ftrace_event_bundle *record_bundle(void)
{
	append_prints(0, 1, 10);
	fake_forget_packets();
	fake_flush(0);
	return bundle_at(0);
}

ORMA_TEST(a_trace_clock_that_cannot_be_read_leaves_the_pair_of_clocks_as_it_was)
{
	open_tree(1);
	fake_start(0, CONFIG(PRINTS RARELY "use_monotonic_raw_clock: true"));
	fake_put("tracing/per_cpu/cpu0/stats", "");
	const struct orma_pb_ftrace_event_bundle *bundle = record_bundle();
	CHECK(bundle->ftrace_clock != 0);
	CHECK(!orma_pb_ftrace_event_bundle_has_ftrace_timestamp(bundle) &&
	      !orma_pb_ftrace_event_bundle_has_boot_timestamp(bundle));
	fake_put("tracing/per_cpu/cpu0/stats", "now ts: 12.5\n");
	bundle = record_bundle();
	CHECK_INT(bundle->ftrace_timestamp, INT64_C(12500000000));
	int64_t boot_ns = bundle->boot_timestamp;
	CHECK(boot_ns > 0);
	fake_put("tracing/per_cpu/cpu0/stats", "");
	bundle = record_bundle();
	CHECK_INT(bundle->ftrace_timestamp, INT64_C(12500000000));
	CHECK_INT(bundle->boot_timestamp, boot_ns);
	fake_close();
}

ORMA_TEST(a_kernel_without_a_page_to_spare_holds_no_flush_up_for_ever)
{
	open_tree(1);
	fake_put("tracing/per_cpu/cpu0/buffer_size_kb", "64\n");
	fake_start(0, CONFIG(PRINTS RARELY));
	append_prints(0, 1, 10);
	cpus[0].error = ENOMEM;
	CHECK_INT(flush_later(0, 5), ORMA_POSTPONE);
	CHECK(orma_base_loop_turn(fake_loop, 0) >= 1);
	CHECK_INT(fake_completed, 0);
	cpus[0].error = 0;
	turn_until_completed(5);
	CHECK_INT(count_events(), 1);
	cpus[0].error = EBUSY;
	cpus[0].reads = 0;
	CHECK_INT(flush_later(0, 6), ORMA_POSTPONE);
	turn_until_completed(6);
	CHECK(cpus[0].reads <= 20);
	cpus[0].error = 0;
	fake_close();
}
