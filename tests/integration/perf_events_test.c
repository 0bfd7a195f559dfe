/* SPDX-License-Identifier: Apache-2.0
 * perf_events_test.c - linux.perf with events that happen, instead of time that passes: waits and page faults, by their stacks.
 *
 * Each event is recorded, or one in N. The tests compare the lengths of waits and the numbers of faults that a program causes.
 */
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock_ns.h"
#include "perf_recording.h"

static void sleep_for_ever(void)
{
	for (;;)
		nanosleep(&(struct timespec){0, 20000000}, NULL);
}

/* A sanitizer may have a thread of its own in each process. */
static unsigned count_threads(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	unsigned count = 0;

	CHECK(tasks);
	for (struct dirent *task; (task = readdir(tasks));)
		count += task->d_name[0] != '.';
	closedir(tasks);
	return count;
}

/* Records the waits of a process. Returns how many seconds the recording took, with its beginning and its end. */
static double record_waits(pid_t pid, unsigned ms)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	char config[256];

	snprintf(
		config, sizeof(config),
		"off_cpu: true callstack_sampling { scope { target_pid: %d } kernel_frames: true }",
		(int)pid);
	record(config, ms);
	return (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
}

ORMA_TEST(waits_are_measured_in_nanoseconds)
{
	skip_without_events();
	pid_t pid = start(sleep_for_ever);

	double seconds = record_waits(pid, 1500);
	unsigned threads = count_threads(pid);
	end(pid);
	/* Each thread waits nearly all of the time, and never more. */
	double waited = ask("select sum(value) from counter c join track t on t.id = c.track_id "
			    "where t.type = 'stack_sample_session_counter'") /
			1e9 / threads;
	CHECK_FIGURE(waited > 0.9 && waited < seconds);
	CHECK_FIGURE(ask("select count(*) from stack_profile_frame where name like '%nanosleep%'") >
		     0);
	remove_folder();
}

ORMA_TEST(waits_have_their_length_for_a_user_without_rights)
{
	skip_without_events();
	become_nobody();
	pid_t pid = start(sleep_for_ever);

	double seconds = record_waits(pid, 1000);
	unsigned threads = count_threads(pid);
	end(pid);
	double waited = ask("select sum(value) from counter c join track t on t.id = c.track_id "
			    "where t.name = 'off-cpu'") /
			1e9 / threads;
	CHECK_FIGURE(waited > 0.5 && waited < seconds);
	CHECK_FIGURE(
		ask("select count(*) from stack_profile_frame where name like '%not permitted%'") ==
		1);
	remove_folder();
}

/* Two processes wake each other as fast as they can. */
static void bounce_for_ever(void)
{
	int there[2], back[2];
	char byte = 0;

	CHECK(pipe(there) == 0 && pipe(back) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	int from = child == 0 ? there[0] : back[0], to = child == 0 ? back[1] : there[1];
	while (write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1)
		;
}

ORMA_TEST(one_in_n_of_many_waits_is_recorded_and_weighs_n_times_as_much)
{
	skip_without_events();
	pid_t pid = start(bounce_for_ever);

	pid_t recorder = begin_recording("off_cpu: true timebase { frequency: 50 } "
					 "callstack_sampling { kernel_frames: true }");
	usleep(1000000); /* the rate is measured */
	await_work(pid, 200);
	end_recording(recorder);
	end(pid);
	double waits = ask("select sum(value) from counter c join track t on t.id = c.track_id "
			   "where t.name = 'waits'");
	double recorded = ask("select count(*) from counter c join track t on t.id = c.track_id "
			      "where t.name = 'waits'");
	CHECK_FIGURE(recorded > 20);
	CHECK_FIGURE(waits > 5 * recorded);
	remove_folder();
}

ORMA_TEST(waits_of_a_named_process_have_the_budget_of_those_of_the_machine)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(bounce_for_ever);

	snprintf(config, sizeof(config),
		 "off_cpu: true timebase { frequency: 50 } follow_children: true "
		 "callstack_sampling { scope { target_pid: %d } kernel_frames: true }",
		 (int)pid);
	pid_t recorder = begin_recording(config);
	usleep(1500000); /* the rate is measured; until then, each wait is recorded */
	await_work(pid, 600);
	end_recording(recorder);
	end(pid);
	double waits = ask("select sum(value) from counter c join track t on t.id = c.track_id "
			   "where t.name = 'waits'");
	double recorded = ask("select count(*) from counter c join track t on t.id = c.track_id "
			      "where t.name = 'waits'");
	/* The two, and no other program of the machine. */
	double processes = ask("select count(distinct upid) from stack_sample_task_context");
	CHECK_FIGURE(recorded > 20);
	CHECK_FIGURE(waits > 2 * recorded);
	CHECK_INT(processes, 2);
	remove_folder();
}

/* ---- long stacks of events that happen, not of time ---- */

static void sleep_deep_for_ever(void)
{
	deep_work = sleep_for_ever;
	orma_perf_test_bottom();
}

static void fault_for_ever(void);

static void fault_deep_for_ever(void)
{
	deep_work = fault_for_ever;
	orma_perf_test_bottom();
}

static void check_deep_events(void (*run)(void), const char *what)
{
	char config[256];
	pid_t pid = start(run);

	snprintf(config, sizeof(config),
		 "%s follow_children: true callstack_sampling { scope { target_pid: %d } }", what,
		 (int)pid);
	record(config, 2000);
	end(pid);
	CHECK_FIGURE(
		ask("select count(*) from stack_profile_callsite c join stack_profile_frame f on "
		    "f.id = c.frame_id join stack_profile_symbol y on y.symbol_set_id = "
		    "f.symbol_set_id where y.name = 'orma_perf_test_bottom'") > 0);
	remove_folder();
}

ORMA_TEST(long_stacks_of_waits_are_whole)
{
	skip_without_events();
	check_deep_events(sleep_deep_for_ever, "off_cpu: true");
}

ORMA_TEST(long_stacks_of_page_faults_are_whole)
{
	skip_without_events();
	check_deep_events(fault_deep_for_ever, "timebase { counter: SW_PAGE_FAULTS period: 1 }");
}

ORMA_TEST(long_stacks_of_page_faults_are_whole_for_a_user_without_rights)
{
	skip_without_events();
	become_nobody();
	check_deep_events(fault_deep_for_ever, "timebase { counter: SW_PAGE_FAULTS period: 1 }");
}

static void fault_for_ever(void)
{
	for (;;) {
		char *memory = mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(memory, 256 << 10, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < 256 << 10; i += 4096)
			memory[i] = 1;
		munmap(memory, 256 << 10);
		nanosleep(&(struct timespec){0, 50000000}, NULL);
	}
}

ORMA_TEST(page_faults_have_stacks_one_by_one)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(fault_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { counter: SW_PAGE_FAULTS period: 1 } follow_children: true "
		 "callstack_sampling { scope { target_pid: %d } }",
		 (int)pid);
	pid_t recorder = begin_recording(config);
	await_faults(pid, 20 * 64);
	end_recording(recorder);
	end(pid);
	CHECK_FIGURE(ask("select count(*) from perf_sample") >= 19 * 64);
	CHECK_FIGURE(ask("select count(*) from perf_sample where callsite_id is null") == 0);
	remove_folder();
}

ORMA_TEST(each_nth_page_fault_is_sampled_if_the_period_is_n)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(fault_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { counter: SW_PAGE_FAULTS period: 16 } "
		 "callstack_sampling { scope { target_pid: %d } }",
		 (int)pid);
	pid_t recorder = begin_recording(config);
	await_faults(pid, 20 * 64);
	end_recording(recorder);
	end(pid);
	/* Two samples of a CPU are 16 faults apart, or more if others were sampled between them. */
	CHECK_FIGURE(ask("select min(step) from (select (max(value) - min(value)) / (count(*) - 1) "
			 "as step from counter c join track t on t.id = c.track_id "
			 "where t.type = 'perf_cpu_counter' group by t.id having count(*) > 2)") >=
		     15.9);
	remove_folder();
}
