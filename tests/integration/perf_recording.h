/* SPDX-License-Identifier: Apache-2.0
 * perf_recording.h - programs with known functions, and recordings of them by linux.perf, for one test program.
 *
 * The profiles are those of this machine's kernel. Where it grants no perf events, the tests are skipped.
 */
#ifndef ORMA_TESTS_INTEGRATION_PERF_RECORDING_H
#define ORMA_TESTS_INTEGRATION_PERF_RECORDING_H

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

static inline void skip_without_events(void)
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
static inline void skip_because(const char *missing)
{
	char text[200];

	snprintf(text, sizeof(text), "%s (%s)", missing, strerror(errno));
	orma_test_skip(text);
}

/* This test, its program and its recording are those of a user who may not watch whole CPUs. */
static inline void become_nobody(void)
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

static inline void remove_folder(void)
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

static inline void spin_for_ever(void)
{
	for (;;) {
		orma_perf_test_three();
		orma_perf_test_one();
	}
}

static inline pid_t start(void (*run)(void))
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

static inline void end(pid_t pid)
{
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, NULL, 0) == pid);
	/* Its children are ours now. */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* ---- recording and asking ---- */

static inline void check_ended_well(int status)
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
static inline pid_t begin_recording(const char *perf_config)
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

static inline void end_recording(pid_t recorder)
{
	int status;

	CHECK(kill(recorder, SIGINT) == 0);
	CHECK(waitpid(recorder, &status, 0) == recorder);
	check_ended_well(status);
}

static inline void record(const char *perf_config, unsigned duration_ms)
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

static inline struct usage usage_of(pid_t pid)
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
static inline void await_work(pid_t pid, unsigned work_ms)
{
#ifdef __SANITIZE_THREAD__
	work_ms /= 10;
#endif
	double end_ms = usage_of(pid).cpu_ms + work_ms;

	while (usage_of(pid).cpu_ms < end_ms)
		usleep(10000);
}

static inline void await_faults(pid_t pid, unsigned long count)
{
	unsigned long end = usage_of(pid).faults + count;

	while (usage_of(pid).faults < end)
		usleep(10000);
}

static inline void record_work(const char *perf_config, pid_t pid, unsigned work_ms)
{
	pid_t recorder = begin_recording(perf_config);

	await_work(pid, work_ms);
	end_recording(recorder);
}

/* The only number in the answer of a query. */
static inline double ask(const char *query)
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
static inline double count_function(pid_t pid, const char *function)
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

/* ---- a program with a long stack ---- */

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

#endif
