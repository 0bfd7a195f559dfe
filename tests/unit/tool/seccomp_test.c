/* SPDX-License-Identifier: Apache-2.0
 * seccomp_test.c - which system calls the daemon's filter allows, and which it refuses.
 */
#include "tool/daemon/seccomp.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

enum { NO_FILTER = 99 };

/*
 * Calls the function with the filter installed. It does so in a child process, because the harness
 * makes calls after a test that the filter refuses. Returns the status of waitpid(), or 0 when this
 * build has no filter.
 */
static int run_behind(enum orma_seccomp_mode mode, void (*fn)(void))
{
	int status;

	orma_test_tmpdir();
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		int r = orma_seccomp_apply(mode);
		if (r == -ENOTSUP)
			_exit(NO_FILTER);
		CHECK_INT(r, 0);
		fn();
		_exit(0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	return WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER ? 0 : status;
}

static void make_path(char path[300], const char *name)
{
	snprintf(path, 300, "%s/%s", orma_test_tmpdir(), name);
}

static void *add_one(void *arg)
{
	char *memory = malloc(100000);

	CHECK(memory);
	memset(memory, 1, 100000);
	*(int *)arg += memory[99999];
	free(memory);
	return NULL;
}

ORMA_TEST(modes_have_names)
{
	enum orma_seccomp_mode mode = ORMA_SECCOMP_KILL;

	CHECK_INT(orma_seccomp_parse("off", &mode), 0);
	CHECK_INT(mode, ORMA_SECCOMP_OFF);
	CHECK_INT(orma_seccomp_parse("kill", &mode), 0);
	CHECK_INT(mode, ORMA_SECCOMP_KILL);
	CHECK_INT(orma_seccomp_parse("errno", &mode), 0);
	CHECK_INT(mode, ORMA_SECCOMP_ERRNO);
	CHECK_INT(orma_seccomp_parse("", &mode), -EINVAL);
	CHECK_INT(orma_seccomp_parse("kills", &mode), -EINVAL);
	CHECK_INT(mode, ORMA_SECCOMP_ERRNO);
	CHECK_INT(orma_seccomp_apply(ORMA_SECCOMP_OFF), 0);
	CHECK_INT(prctl(PR_GET_SECCOMP), 0);
}

static void use_threads(void)
{
	pthread_t threads[4];
	int counts[4] = {0};

	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, add_one, &counts[i]), 0);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(pthread_join(threads[i], NULL), 0);
		CHECK_INT(counts[i], 1);
	}
	CHECK_INT(prctl(PR_SET_NAME, "orma-file"), 0);
}

static void use_memory(void)
{
	char *memory = malloc(64 << 20);

	CHECK(memory);
	memset(memory, 1, 64 << 20);
	memory = realloc(memory, 96 << 20);
	CHECK(memory);
	free(memory);
	int fd = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK_INT(ftruncate(fd, 4096), 0);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	CHECK_INT(munmap(map, 4096), 0);
	close(fd);
}

static void use_files(void)
{
	char path[300], text[4] = "";
	struct iovec iov = {"abc", 3};

	make_path(path, "new");
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	CHECK(fd >= 0);
	CHECK_INT(writev(fd, &iov, 1), 3);
	CHECK_INT(fchmod(fd, 0644), 0);
	CHECK_INT(fdatasync(fd), 0);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT(read(fd, text, sizeof(text)), 3);
	close(fd);
	CHECK_INT(unlink(path), 0);
}

static void work(void)
{
	struct rlimit limit;

	use_threads();
	use_memory();
	use_files();
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK(sysconf(_SC_NPROCESSORS_CONF) > 0);
}

ORMA_TEST(threads_memory_and_files_go_on_working)
{
	CHECK_INT(run_behind(ORMA_SECCOMP_KILL, work), 0);
}

#define CHECK_REFUSED(call)                                                                        \
	do {                                                                                       \
		errno = 0;                                                                         \
		CHECK_INT((long)(call), -1);                                                       \
		CHECK_INT(errno, EPERM);                                                           \
	} while (0)

static void reach_for_rights(void)
{
	struct rlimit limit = {10, 10};

	CHECK_REFUSED(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	CHECK_REFUSED(connect(0, NULL, 0));
	CHECK_REFUSED(setuid(0));
	CHECK_REFUSED(setrlimit(RLIMIT_NOFILE, &limit));
}

static void reach_for_processes(void)
{
	char *arguments[] = {"true", NULL};

	CHECK_REFUSED(execv("/bin/true", arguments));
	CHECK_REFUSED(fork());
	CHECK_REFUSED(kill(1, 0));
	CHECK_REFUSED(syscall(SYS_tgkill, 1, 1, 0));
	CHECK_REFUSED(syscall(SYS_ptrace, 0, 0, 0, 0));
}

static void reach_for_files(void)
{
	char path[300];

	make_path(path, "old");
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK_REFUSED(open(path, O_WRONLY | O_CLOEXEC));
	CHECK_REFUSED(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	CHECK_REFUSED(open(path, O_RDONLY | O_TRUNC | O_CLOEXEC));
	CHECK_REFUSED(open(orma_test_tmpdir(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
	CHECK_REFUSED(chown(path, 1, 1));
}

static void reach_for_the_rest(void)
{
	/* A direct system call: musl's mmap() replaces this error by another. */
	CHECK_REFUSED(syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	CHECK_REFUSED(mprotect((void *)((uintptr_t)&reach_for_files & ~(uintptr_t)4095), 4096,
			       PROT_READ | PROT_EXEC));
	CHECK_REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	CHECK_REFUSED(syscall(SYS_seccomp, 0, 0, NULL));
	CHECK_REFUSED(syscall(100000));
}

static void overstep(void)
{
	reach_for_rights();
	reach_for_processes();
	reach_for_files();
	reach_for_the_rest();
}

ORMA_TEST(what_the_daemon_never_does_is_refused)
{
	CHECK_INT(run_behind(ORMA_SECCOMP_ERRNO, overstep), 0);
}

static void connect_somewhere(void)
{
	(void)!socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

ORMA_TEST(in_the_mode_kill_a_refused_call_is_the_end)
{
	int status = run_behind(ORMA_SECCOMP_KILL, connect_somewhere);

	CHECK((status == 0 && orma_seccomp_apply(ORMA_SECCOMP_KILL) == -ENOTSUP) ||
	      (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS));
}
