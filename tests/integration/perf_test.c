/* SPDX-License-Identifier: Apache-2.0
 * perf_test.c - linux.perf with the kernel of this machine: programs whose shares of time are known.
 *
 * Other programs run at the same time, so shares of the program's own time are compared and not
 * rates. Single threads are sampled each millisecond, because a busy machine gives them a CPU for short
 * times only. Where the kernel grants no perf events, the tests are skipped.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock_ns.h"
#include "perf_recording.h"

static void check_shares(pid_t pid)
{
	double three = count_function(pid, "orma_perf_test_three");
	double one = count_function(pid, "orma_perf_test_one");
	double spin = count_function(pid, "orma_perf_test_spin");

	CHECK_FIGURE(three + one > 50);
	double share = three / (three + one);
	/* Three sigma of 50 samples are 0.18. */
	CHECK_FIGURE(share > 0.57 && share < 0.93);
	CHECK(spin >= three + one - 5);
}

ORMA_TEST(a_program_has_its_shares_of_time)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(spin_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 1000 } follow_children: true "
		 "callstack_sampling { kernel_frames: true scope { target_pid: %d } }",
		 (int)pid);
	record_work(config, pid, 300);
	end(pid);
	check_shares(pid);
	remove_folder();
}

ORMA_TEST(the_whole_machine_is_sampled)
{
	skip_without_events();
	pid_t one = start(spin_for_ever), other = start(spin_for_ever);

	pid_t recorder = begin_recording(
		"timebase { frequency: 100 } callstack_sampling { kernel_frames: true }");
	await_work(one, 300);
	await_work(other, 300);
	end_recording(recorder);
	CHECK(kill(other, SIGKILL) == 0);
	end(one);
	CHECK_FIGURE(count_function(one, "orma_perf_test_spin") > 5);
	CHECK_FIGURE(count_function(other, "orma_perf_test_spin") > 5);
	remove_folder();
}

ORMA_TEST(only_the_process_of_the_scope_has_stacks)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(spin_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 1000 } callstack_sampling { scope { target_pid: %d } "
		 "user_frames: UNWIND_FRAME_POINTER }",
		 (int)pid);
	record_work(config, pid, 300);
	end(pid);
	char query[256];
	snprintf(query, sizeof(query),
		 "select count(*) from perf_sample join thread t using(utid) where t.tid != %d and "
		 "callsite_id is not null",
		 (int)pid);
	CHECK_FIGURE(ask(query) == 0);
	CHECK_FIGURE(count_function(pid, "orma_perf_test_spin") > 10);
	remove_folder();
}

/* One child after the other, each of which runs a function some times. */
static _Noreturn void start_children(void (*run)(void), int times)
{
	/* Children that are left behind end by themselves, and the system collects them. */
	for (;;) {
		pid_t pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (int i = 0; i < times; i++)
				run();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void start_children_for_ever(void)
{
	start_children(orma_perf_test_three, 20);
}

ORMA_TEST(children_are_followed)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(start_children_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 1000 } callstack_sampling { scope { target_pid: %d } } "
		 "follow_children: true",
		 (int)pid);
	record_work(config, pid, 300);
	end(pid);
	CHECK_FIGURE(ask("select count(*) from perf_sample where callsite_id is null") == 0);
	CHECK_FIGURE(ask("select count(distinct utid) from perf_sample") > 3);
	CHECK_FIGURE(ask("select count(*) from stack_profile_symbol where name = "
			 "'orma_perf_test_three'") > 0);
	remove_folder();
}

/* Half a millisecond each, a twentieth of a period of 99 Hz. */
static void start_short_children_for_ever(void)
{
	start_children(orma_perf_test_three, 1);
}

ORMA_TEST(children_that_are_shorter_than_a_period_have_their_share)
{
	char config[256], query[128];
	skip_without_events();
	pid_t pid = start(start_short_children_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 99 } callstack_sampling { scope { target_pid: %d } } "
		 "follow_children: true",
		 (int)pid);
	record_work(config, pid, 1000);
	end(pid);
	snprintf(query, sizeof(query),
		 "select count(*) from perf_sample join thread using(utid) where tid != %d",
		 (int)pid);
	/* Half of a CPU is 200 samples; a busy machine gives them less. Inherited events have none. */
	CHECK_FIGURE(ask(query) > 5);
	/* Their last samples, when their memory is gone, have a stack as well. */
	CHECK_FIGURE(ask("select count(*) from perf_sample where callsite_id is null") == 0);
	CHECK_FIGURE(ask("select count(*) from stack_profile_symbol where name = "
			 "'orma_perf_test_three'") > 0);
	remove_folder();
}

static void start_deep_children_for_ever(void)
{
	start_children(orma_perf_test_bottom, 200);
}

static void check_deep_stacks(unsigned hz)
{
	char config[256];
	pid_t pid = start(start_deep_children_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { frequency: %u } callstack_sampling { scope { target_pid: %d } } "
		 "follow_children: true",
		 hz, (int)pid);
	/* Copies of whole CPUs are large enough after a third of a second on an idle machine. */
	record_work(config, pid, 2500);
	end(pid);
	double deep = count_function(0, "orma_perf_test_three");
	CHECK_FIGURE(deep > 5);
	/* The first copies of whole CPUs do not reach the outermost function. */
	CHECK_FIGURE(count_function(0, "orma_perf_test_bottom") > deep * 2 / 3);
	remove_folder();
}

ORMA_TEST(long_stacks_of_children_are_whole)
{
	skip_without_events();
	check_deep_stacks(1000);
}

/* The rings of this user have no room for a thousand long copies a second. */
ORMA_TEST(long_stacks_of_children_are_whole_for_a_user_without_rights)
{
	skip_without_events();
	become_nobody();
	check_deep_stacks(400);
}

static int child_pipe[2];

static void start_child_and_wait(void)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid_t self = getpid();
		CHECK(write(child_pipe[1], &self, sizeof(self)) == sizeof(self));
		spin_for_ever();
	}
	for (;;)
		pause();
}

static void check_running_child(void)
{
	char config[256];
	pid_t child;

	CHECK(pipe(child_pipe) == 0);
	pid_t pid = start(start_child_and_wait);
	CHECK(read(child_pipe[0], &child, sizeof(child)) == sizeof(child));
	close(child_pipe[0]);
	close(child_pipe[1]);
	snprintf(config, sizeof(config),
		 "timebase { frequency: 1000 } callstack_sampling { scope { target_pid: %d } } "
		 "follow_children: true",
		 (int)pid);
	record_work(config, child, 300);
	end(pid);
	CHECK_FIGURE(count_function(0, "orma_perf_test_spin") > 5);
	remove_folder();
}

ORMA_TEST(children_that_run_already_are_followed)
{
	skip_without_events();
	check_running_child();
}

ORMA_TEST(children_that_run_already_are_followed_for_a_user_without_rights)
{
	skip_without_events();
	become_nobody();
	check_running_child();
}

static void *wait_as_thread(void *unused)
{
	for (;;)
		pause();
	return unused;
}

enum { THREADS = 200 };

/* Ends five seconds later. */
static void start_threads_and_end(void)
{
	struct timespec begin, now;
	pthread_t thread;

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread, NULL, wait_as_thread, NULL) == 0);
	CHECK(write(child_pipe[1], "", 1) == 1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		orma_perf_test_three();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < begin.tv_sec + 5);
	_exit(0);
}

/* The descriptors are one for each thread and CPU, and more than the soft limit. */
ORMA_TEST(a_profile_of_many_threads_ends_with_their_process)
{
	char command[512], byte;
	skip_without_events();
	become_nobody();
	CHECK(pipe(child_pipe) == 0);
	pid_t pid = start(start_threads_and_end);
	CHECK(read(child_pipe[0], &byte, 1) == 1);
	close(child_pipe[0]);
	close(child_pipe[1]);
	snprintf(command, sizeof(command),
		 "cd %s && ulimit -Sn 150 && timeout 60 " ORMA
		 " profile -F 1000 -q -o trace -p %d 2> messages && grep -q 'process %d has ended' "
		 "messages",
		 folder, (int)pid, (int)pid);
	CHECK(system(command) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK_FIGURE(count_function(0, "orma_perf_test_three") > 5);
	remove_folder();
}

ORMA_TEST(a_profiled_program_has_the_limits_of_its_user)
{
	char command[512];
	skip_without_events();
	snprintf(command, sizeof(command),
		 "cd %s && ulimit -Sn 150 && test $(" ORMA
		 " profile -q -o trace -- sh -c 'ulimit -Sn' 2> messages) = 150",
		 folder);
	CHECK(system(command) == 0);
	remove_folder();
}

static void *spin_as_thread(void *unused)
{
	spin_for_ever();
	return unused;
}

static void name_and_spin(void)
{
	pthread_t thread;

	CHECK(prctl(PR_SET_NAME, "name of process") == 0);
	CHECK(pthread_create(&thread, NULL, spin_as_thread, NULL) == 0);
	CHECK(pthread_setname_np(thread, "name of thread") == 0);
	spin_for_ever();
}

/* The session has no linux.process_stats. */
ORMA_TEST(processes_and_threads_have_names)
{
	char query[512];

	skip_without_events();
	pid_t pid = start(name_and_spin);
	record_work("timebase { frequency: 500 } callstack_sampling { }", pid, 300);
	end(pid);
	snprintf(query, sizeof(query),
		 "select count(distinct t.name) from perf_sample join thread t using (utid) "
		 "join process p using (upid) where p.pid = %d and p.cmdline like "
		 "'%%integration_perf_test%%' and t.name in ('name of process', 'name of thread')",
		 (int)pid);
	CHECK(ask(query) == 2);
	remove_folder();
}

static void end_main_thread(void)
{
	pthread_t thread;
	sigset_t signals;
	int number;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	CHECK_INT(pthread_sigmask(SIG_BLOCK, &signals, NULL), 0);
	CHECK(pthread_create(&thread, NULL, spin_as_thread, NULL) == 0);
	CHECK_INT(sigwait(&signals, &number), 0);
	pthread_exit(NULL);
}

static void check_stacks_after_main_thread(bool begins_after)
{
	char config[256], query[256];
	pid_t pid = start(end_main_thread), recorder = 0;

	snprintf(config, sizeof(config),
		 "timebase { frequency: 1000 } callstack_sampling { scope { target_pid: %d } } "
		 "follow_children: true",
		 (int)pid);
	if (!begins_after)
		recorder = begin_recording(config);
	await_work(pid, 300);
	CHECK_INT(kill(pid, SIGUSR1), 0);
	while (usage_of(pid).state != 'Z')
		usleep(10000);
	uint64_t main_end_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	if (begins_after)
		recorder = begin_recording(config);
	await_work(pid, 300);
	end_recording(recorder);
	end(pid);
	snprintf(query, sizeof(query), "select count(*) from perf_sample where ts > %llu",
		 (unsigned long long)main_end_ns);
	double late = ask(query);
	snprintf(query, sizeof(query),
		 "select count(*) from perf_sample s join stack_profile_callsite c on "
		 "c.id = s.callsite_id where c.depth > 1 and ts > %llu",
		 (unsigned long long)main_end_ns);
	double names = ask(query);
	CHECK_FIGURE(late > 10 && names > late * 2 / 3);
	remove_folder();
}

ORMA_TEST(threads_have_stacks_after_the_end_of_the_main_thread)
{
	skip_without_events();
	check_stacks_after_main_thread(false);
}

ORMA_TEST(a_profile_may_begin_after_the_end_of_the_main_thread)
{
	skip_without_events();
	check_stacks_after_main_thread(true);
}

ORMA_TEST(counters_are_read_without_samples)
{
	skip_without_events();
	record("timebase { counter: SW_TASK_CLOCK poll_period_ms: 100 } "
	       "followers { counter: SW_PAGE_FAULTS }",
	       1000);
	CHECK_FIGURE(ask("select count(distinct c.track_id) from counter c join track t on t.id = "
			 "c.track_id where t.type = 'perf_cpu_counter'") >= 2);
	remove_folder();
}

/* The memory is looked at every second. */
ORMA_TEST(a_profiler_that_takes_too_much_memory_ends_the_samples)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(spin_for_ever);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 500 } max_daemon_memory_kb: 1 "
		 "callstack_sampling { scope { target_pid: %d } }",
		 (int)pid);
	record(config, 2500);
	end(pid);
	CHECK_FIGURE(ask("select count(*) from perf_sample") > 20);
	CHECK_FIGURE(ask("select sum(value > 0) from stats where name = "
			 "'perf_guardrail_stop_ts'") == 1);
	/* Not a sample is younger than the end. */
	CHECK_FIGURE(ask("select count(*) from perf_sample where ts > (select max(value) from "
			 "stats where name = 'perf_guardrail_stop_ts')") == 0);
	CHECK_FIGURE(ask("select max(ts) - min(ts) from perf_sample") < 2e9);
	remove_folder();
}

/* The kernel has control groups of its version 2 at one of two places. */
static bool make_group(char *ret_path, size_t size, const char **ret_name)
{
	static const char *const parents[] = {"", "unified/"};
	static char name[64];

	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%sorma-perf-test-%d", parents[i], (int)getpid());
		snprintf(ret_path, size, "/sys/fs/cgroup/%scgroup.procs", parents[i]);
		if (access(ret_path, W_OK) < 0)
			continue;
		snprintf(ret_path, size, "/sys/fs/cgroup/%s", name);
		*ret_name = name;
		if (mkdir(ret_path, 0700) == 0)
			return true;
	}
	return false;
}

static void move_into(const char *group, pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	FILE *file = fopen(path, "we");
	CHECK(file != NULL && fprintf(file, "%d\n", (int)pid) > 0);
	CHECK(fclose(file) == 0);
}

ORMA_TEST(only_the_control_group_is_sampled)
{
	char path[128], config[256];
	const char *name;
	skip_without_events();
	if (!make_group(path, sizeof(path), &name))
		orma_test_skip("a control group of version 2 that can be made");
	pid_t inside = start(spin_for_ever), outside = start(spin_for_ever);

	move_into(path, inside);
	snprintf(config, sizeof(config),
		 "timebase { frequency: 500 } cgroup: '%s' callstack_sampling {}", name);
	pid_t recorder = begin_recording(config);
	await_work(inside, 300);
	await_work(outside, 300);
	end_recording(recorder);
	kill(outside, SIGKILL);
	end(inside);
	CHECK(rmdir(path) == 0);
	CHECK_FIGURE(count_function(inside, "orma_perf_test_spin") > 20);
	CHECK_FIGURE(count_function(outside, "orma_perf_test_spin") == 0);
	remove_folder();
}

static void exec_short_programs(void)
{
	for (;;) {
		pid_t pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

ORMA_TEST(targets_that_are_killed_do_no_harm)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(exec_short_programs);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 4000 } follow_children: true "
		 "callstack_sampling { scope { target_pid: %d } kernel_frames: true }",
		 (int)pid);
	record_work(config, pid, 300);
	end(pid);
	CHECK_FIGURE(ask("select count(*) from perf_sample") > 20);
	remove_folder();
}
