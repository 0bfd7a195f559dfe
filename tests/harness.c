/* SPDX-License-Identifier: Apache-2.0
 * harness.c - runs each registered test in a child process and reports one line per test.
 *
 * The parent stays single-threaded and does nothing but fork, wait with a deadline and clean up, so
 * a test may crash, hang or leak without touching the next one. A page shared with the child
 * carries the reason of a failure, which an exit status cannot. The child ends through exit(),
 * because that runs the leak check of AddressSanitizer.
 */
#include "harness.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

enum { STATUS_FAILED = 1, STATUS_SKIPPED = 77, DEFAULT_TIMEOUT_SEC = 30, FDS_MAX = 4096 };

enum outcome { PASSED, FAILED, SKIPPED, OUTCOME_COUNT };

struct report {
	char reason[1024];
	bool is_skip_permitted; /* also under CI=true */
};

static struct orma_test *first_test, **last_link = &first_test;
static struct report *report; /* shared between parent and children */
static pid_t test_pid;        /* in the child: itself */
static char tmpdir[256];
static bool is_tmpdir_made; /* in the child */

void orma_test_register(struct orma_test *test)
{
	*last_link = test;
	last_link = &test->next;
}

/* ---- in the child ---- */

/* Kills the children that one thread has started. */
static void kill_children_of(const char *thread)
{
	char path[300];
	long pid;

	snprintf(path, sizeof(path), "/proc/self/task/%s/children", thread);
	FILE *file = fopen(path, "re");
	while (file && fscanf(file, "%ld", &pid) == 1)
		kill((pid_t)pid, SIGKILL);
	if (file)
		fclose(file);
}

/* Kills what the test has started; being a subreaper, the child also has the orphans. */
static void kill_children(void)
{
	for (int round = 0; round < 100; round++) {
		DIR *threads = opendir("/proc/self/task");
		const struct dirent *entry;

		while (threads && (entry = readdir(threads)))
			kill_children_of(entry->d_name);
		if (threads)
			closedir(threads);
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			return;
	}
}

static _Noreturn void end_test(int status)
{
	if (getpid() == test_pid)
		kill_children();
	fflush(NULL);
	_exit(status);
}

void orma_test_fail(const char *file, int line, const char *format, ...)
{
	char message[900];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	snprintf(report->reason, sizeof(report->reason), "%s:%d: %s", file, line, message);
	end_test(STATUS_FAILED);
}

void orma_test_skip(const char *missing)
{
	snprintf(report->reason, sizeof(report->reason), "%s", missing);
	end_test(STATUS_SKIPPED);
}

void orma_test_skip_if_emulated(const char *missing)
{
	if (!getenv("ORMA_TEST_EMULATED"))
		return;
	report->is_skip_permitted = true;
	orma_test_skip(missing);
}

void orma_test_need_tls_after_signals(void)
{
#ifdef __i386__
	orma_test_skip_if_emulated("a machine that runs 32-bit programs itself");
#endif
}

const char *orma_test_tmpdir(void)
{
	if (!is_tmpdir_made && mkdir(tmpdir, 0700) < 0)
		orma_test_fail(__FILE__, __LINE__, "mkdir %s: %s", tmpdir, strerror(errno));
	is_tmpdir_made = true;
	return tmpdir;
}

void orma_test_fail_allocation(uint64_t nth)
{
	orma_base_alloc_fail_nth(nth);
}

bool orma_test_allocation_failed(void)
{
	return orma_base_alloc_has_failed();
}

static void list_fds(bool is_open[FDS_MAX])
{
	DIR *dir = opendir("/proc/self/fd");
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fd < FDS_MAX)
			is_open[fd] = true;
	}
	closedir(dir);
}

static void check_fds(const bool before[FDS_MAX])
{
	static bool after[FDS_MAX];
	list_fds(after);
	for (int fd = 0; fd < FDS_MAX; fd++) {
		if (after[fd] == before[fd])
			continue;
		char path[64], target[256] = "?";
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = '\0';
		orma_test_fail("harness", 0,
			       after[fd] ? "descriptor %d (%s) was left open"
					 : "descriptor %d was closed, and was not the test's%s",
			       fd, target);
	}
}

static void check_children(void)
{
	siginfo_t info = {0};
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		return;
	char path[64], name[16] = "?";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)info.si_pid);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%15[^\n]", name) != 1)
		snprintf(name, sizeof(name), "?");
	if (file)
		fclose(file);
	orma_test_fail("harness", 0, "a child process was left behind (%s, %s)", name,
		       info.si_pid ? "ended, but not waited for" : "running");
}

static _Noreturn void run_in_child(const struct orma_test *test)
{
	static bool fds_before[FDS_MAX];
	test_pid = getpid();
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	list_fds(fds_before);
	test->run();
	orma_base_alloc_fail_nth(0);
	check_children();
	check_fds(fds_before);
	exit(0);
}

/* ---- in the parent ---- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void choose_tmpdir(void)
{
	const char *parent = getenv("TMPDIR");
	uint64_t random = 0;
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (uint64_t)time(NULL);
	snprintf(tmpdir, sizeof(tmpdir), "%s/orma-%d-%08x", parent && *parent ? parent : "/tmp",
		 (int)getpid(), (unsigned)random);
}

static int timeout_sec(void)
{
	const char *text = getenv("ORMA_TEST_TIMEOUT");
	int seconds = text ? atoi(text) : 0;
	return seconds > 0 ? seconds : DEFAULT_TIMEOUT_SEC;
}

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* SIGCHLD is blocked all the time, so waiting for it with a deadline cannot miss it. */
static bool wait_child(pid_t pid, int *ret_status)
{
	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	int64_t deadline = now_ms() + (int64_t)timeout_sec() * 1000;
	for (;;) {
		if (waitpid(pid, ret_status, WNOHANG) == pid)
			return true;
		int64_t left = deadline - now_ms();
		if (left <= 0)
			break;
		struct timespec wait = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
		sigtimedwait(&chld, NULL, &wait);
	}
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, ret_status, 0);
	return false;
}

static enum outcome judge(bool is_in_time, int status)
{
	size_t size = sizeof(report->reason);
	if (!is_in_time) {
		snprintf(report->reason, size, "not done after %d s", timeout_sec());
		return FAILED;
	}
	if (WIFSIGNALED(status)) {
		snprintf(report->reason, size, "died from signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
		return FAILED;
	}
	if (WEXITSTATUS(status) == 0)
		return PASSED;
	if (WEXITSTATUS(status) != STATUS_SKIPPED) {
		if (!report->reason[0])
			snprintf(report->reason, size, "exit status %d", WEXITSTATUS(status));
		return FAILED;
	}
	const char *ci = getenv("CI");
	return ci && strcmp(ci, "true") == 0 && !report->is_skip_permitted ? FAILED : SKIPPED;
}

static enum outcome run_test(const struct orma_test *test)
{
	*report = (struct report){0};
	choose_tmpdir();
	int64_t start = now_ms();
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		perror("fork");
		return FAILED;
	}
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		run_in_child(test);
	}
	int status = 0;
	bool is_in_time = wait_child(pid, &status);
	kill(-pid, SIGKILL);
	nftw(tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	static const char *const words[OUTCOME_COUNT] = {"ok  ", "FAIL", "skip"};
	enum outcome outcome = judge(is_in_time, status);
	printf("%s %s (%lld ms)%s%s\n", words[outcome], test->name, (long long)(now_ms() - start),
	       outcome == PASSED ? "" : ": ", outcome == PASSED ? "" : report->reason);
	return outcome;
}

static bool is_wanted(const struct orma_test *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(test->name, argv[i]) == 0)
			return true;
	return argc <= 1;
}

/* A daemon and its crowd of clients share a process here, which is more than the usual 1,024. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= FDS_MAX)
		return;
	limit.rlim_cur = limit.rlim_max < FDS_MAX ? limit.rlim_max : FDS_MAX;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		perror("setrlimit");
}

int main(int argc, char **argv)
{
	raise_descriptor_limit();
	/* The kernel's tracing belongs to this machine, not to a test. */
	setenv("ORMA_TRACEFS", "/nonexistent/tracefs", 1);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (report == MAP_FAILED)
		return perror("mmap"), 2;
	sigset_t chld;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	int counts[OUTCOME_COUNT] = {0};
	for (const struct orma_test *test = first_test; test; test = test->next)
		if (is_wanted(test, argc, argv))
			counts[run_test(test)]++;
	int total = counts[PASSED] + counts[FAILED] + counts[SKIPPED];
	printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED],
	       counts[SKIPPED]);
	if (total == 0) {
		fprintf(stderr, "no such test\n");
		return 2;
	}
	if (counts[FAILED] > 0)
		return STATUS_FAILED;
	return counts[SKIPPED] == total ? STATUS_SKIPPED : 0;
}
