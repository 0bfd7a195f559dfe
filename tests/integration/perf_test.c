/* SPDX-License-Identifier: Apache-2.0
 * perf_test.c - linux.perf with the kernel of this machine: programs whose shares of time are known.
 *
 * Other programs run at the same time, so shares of the program's own time are compared and not
 * rates. Single threads are sampled each millisecond, because a busy machine gives them a CPU for short
 * times only. Where the kernel grants no perf events, the tests are skipped.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "harness.h"

#define ORMA ORMA_BUILD_DIR "/orma"

/* With ThreadSanitizer the profiler is too slow to keep up on a busy machine. Only races are looked for then. */
#ifdef __SANITIZE_THREAD__
#define CHECK_FIGURE(condition) ((void)(condition))
#else
#define CHECK_FIGURE(condition) CHECK(condition)
#endif

static char folder[64];
static volatile unsigned long sink;

static void skip_without_events(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		orma_test_skip("perf events of whole CPUs; they need root, and a container that "
			       "permits them");
	close(fd);
	strcpy(folder, "/tmp/orma-perf-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
}

/* The error number says what the kernel refused. */
static void skip_because(const char *missing)
{
	char text[200];

	snprintf(text, sizeof(text), "%s (%s)", missing, strerror(errno));
	orma_test_skip(text);
}

/* This test, its program and its recording are those of a user who may not watch whole CPUs. */
static void become_nobody(void)
{
	enum { NOBODY = 65534 };
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .exclude_kernel = 1};

	if (geteuid() != 0)
		orma_test_skip("root, to become another user");
	CHECK(chown(folder, NOBODY, NOBODY) == 0);
	CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	/* Without this, the kernel protects a process that has changed its user. */
	CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		skip_because("perf events of a user's own; kernel.perf_event_paranoid up to 2");
	close(fd);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	close(fd);
	if (fd >= 0)
		orma_test_skip("kernel.perf_event_paranoid of at least 1");
	if (access(ORMA, X_OK) < 0)
		skip_because("a build that other users can read");
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK(system(command) == 0);
}

/* ---- a program ---- */

__attribute__((noinline)) void orma_perf_test_spin(unsigned long count);
__attribute__((noinline)) void orma_perf_test_three(void);
__attribute__((noinline)) void orma_perf_test_one(void);

void orma_perf_test_spin(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sink += i;
}

void orma_perf_test_three(void)
{
	orma_perf_test_spin(300000);
	__asm__ volatile("");
}

void orma_perf_test_one(void)
{
	orma_perf_test_spin(100000);
	__asm__ volatile("");
}

static void spin_for_ever(void)
{
	for (;;) {
		orma_perf_test_three();
		orma_perf_test_one();
	}
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	/* Its children are ours now. */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* ---- recording and asking ---- */

static void check_ended_well(int status)
{
	char command[128];

	if (status != 0) {
		snprintf(command, sizeof(command), "cat %s/messages >&2", folder);
		(void)system(command);
	}
	CHECK(status == 0);
}

/*
 * Returns when sampling has begun, which takes as long as the kernel's names and the machine's load make it. The recorder is a
 * child of this process after its parent has ended.
 */
static pid_t begin_recording(const char *perf_config)
{
	char path[128], command[1024];
	int pid = 0;

	snprintf(path, sizeof(path), "%s/config", folder);
	FILE *file = fopen(path, "we");
	CHECK(file != NULL);
	fprintf(file,
		"buffers { size_kb: 16384 } "
		"data_sources { config { name: \"linux.perf\" perf_event_config { %s } } }",
		perf_config);
	CHECK(fclose(file) == 0);
	/* It has a service of its own, also when another one runs. */
	snprintf(command, sizeof(command),
		 "cd %s && PERFETTO_PRODUCER_SOCK_NAME=%s/p PERFETTO_CONSUMER_SOCK_NAME=%s/c " ORMA
		 " record -q --background-wait -c config --txt -o trace 2> messages > process",
		 folder, folder, folder);
	check_ended_well(system(command));
	snprintf(path, sizeof(path), "%s/process", folder);
	file = fopen(path, "re");
	CHECK(file != NULL && fscanf(file, "%d", &pid) == 1 && pid > 1);
	CHECK(fclose(file) == 0);
	return pid;
}

static void end_recording(pid_t recorder)
{
	int status;

	CHECK(kill(recorder, SIGINT) == 0);
	CHECK(waitpid(recorder, &status, 0) == recorder);
	check_ended_well(status);
}

static void record(const char *perf_config, unsigned duration_ms)
{
	pid_t recorder = begin_recording(perf_config);

	CHECK(usleep(duration_ms * 1000) == 0);
	end_recording(recorder);
}

/* Resources that a process has used, together with those of its children that have ended. */
struct usage {
	double cpu_ms;
	unsigned long faults; /* without reading from a disk */
	char state;
};

static struct usage usage_of(pid_t pid)
{
	unsigned long faults[2], ticks[4];
	struct usage usage;
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	CHECK(file != NULL);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	const char *behind_name = strrchr(text, ')');
	CHECK(behind_name != NULL);
	CHECK_INT(sscanf(behind_name,
			 ") %c %*d %*d %*d %*d %*d %*u %lu %lu %*u %*u %lu %lu %lu %lu",
			 &usage.state, &faults[0], &faults[1], &ticks[0], &ticks[1], &ticks[2],
			 &ticks[3]),
		  7);
	usage.faults = faults[0] + faults[1];
	usage.cpu_ms = (double)(ticks[0] + ticks[1] + ticks[2] + ticks[3]) * 1000 /
		       (double)sysconf(_SC_CLK_TCK);
	return usage;
}

/*
 * Waits until a program has worked for a time of the CPU, which a busy machine gives it later. No figures are checked with
 * ThreadSanitizer, so that a moment is enough there.
 */
static void await_work(pid_t pid, unsigned work_ms)
{
#ifdef __SANITIZE_THREAD__
	work_ms /= 10;
#endif
	double end_ms = usage_of(pid).cpu_ms + work_ms;

	while (usage_of(pid).cpu_ms < end_ms)
		usleep(10000);
}

static void await_faults(pid_t pid, unsigned long count)
{
	unsigned long end = usage_of(pid).faults + count;

	while (usage_of(pid).faults < end)
		usleep(10000);
}

static void record_work(const char *perf_config, pid_t pid, unsigned work_ms)
{
	pid_t recorder = begin_recording(perf_config);

	await_work(pid, work_ms);
	end_recording(recorder);
}

/* The only number in the answer of a query. */
static double ask(const char *query)
{
	char command[2048], line[256] = "";
	double number = -1;

	snprintf(command, sizeof(command), ORMA " sql %s/trace \"%s\"", folder, query);
	FILE *answer = popen(command, "re");
	CHECK(answer != NULL);
	while (fgets(line, sizeof(line), answer))
		number = strtod(line, NULL);
	CHECK(pclose(answer) == 0);
	return number;
}

/* Samples whose stack has the function, of a process; 0 = of all. */
static double count_function(pid_t pid, const char *function)
{
	char query[1024];

	snprintf(
		query, sizeof(query),
		"with recursive up(sample, site) as (select s.id, s.callsite_id from perf_sample s "
		"join thread t using(utid) where %d in (0, t.tid) union all select sample, "
		"c.parent_id "
		"from up join stack_profile_callsite c on c.id = site where c.parent_id is not "
		"null) select count(distinct sample) from up join stack_profile_callsite c on c.id "
		"= site join stack_profile_frame f on f.id = c.frame_id join stack_profile_symbol "
		"y "
		"on y.symbol_set_id = f.symbol_set_id where y.name = '%s'",
		(int)pid, function);
	return ask(query);
}

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

__attribute__((noinline)) void orma_perf_test_deep(unsigned depth);
__attribute__((noinline)) void orma_perf_test_bottom(void);
static void (*deep_work)(void) = orma_perf_test_three;

/* Each call takes a KiB of the stack. */
void orma_perf_test_deep(unsigned depth)
{
	volatile char room[1024];

	room[0] = 1;
	if (depth > 0)
		orma_perf_test_deep(depth - 1); /* NOLINT(misc-no-recursion): a deep stack */
	else
		deep_work();
	room[1] = room[0];
}

void orma_perf_test_bottom(void)
{
	orma_perf_test_deep(30);
	__asm__ volatile("");
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

	CHECK(pthread_create(&thread, NULL, spin_as_thread, NULL) == 0);
	nanosleep(&(struct timespec){1, 0}, NULL);
	pthread_exit(NULL);
}

ORMA_TEST(threads_have_stacks_after_the_end_of_the_main_thread)
{
	char config[256], query[256];
	skip_without_events();
	pid_t pid = start(end_main_thread);

	snprintf(config, sizeof(config),
		 "timebase { frequency: 1000 } callstack_sampling { scope { target_pid: %d } } "
		 "follow_children: true",
		 (int)pid);
	pid_t recorder = begin_recording(config);
	while (usage_of(pid).state != 'Z')
		usleep(10000);
	uint64_t main_end_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
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

ORMA_TEST(waits_are_measured_in_nanoseconds)
{
	char config[256];
	skip_without_events();
	pid_t pid = start(sleep_for_ever);

	snprintf(
		config, sizeof(config),
		"off_cpu: true callstack_sampling { scope { target_pid: %d } kernel_frames: true }",
		(int)pid);
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	record(config, 1500);
	double seconds = (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
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
	char config[256];
	skip_without_events();
	become_nobody();
	pid_t pid = start(sleep_for_ever);

	snprintf(
		config, sizeof(config),
		"off_cpu: true callstack_sampling { scope { target_pid: %d } kernel_frames: true }",
		(int)pid);
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	record(config, 1000);
	double seconds = (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
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
	usleep(1500000); /* the rate is measured */
	await_work(pid, 200);
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
