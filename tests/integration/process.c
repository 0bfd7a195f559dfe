/* SPDX-License-Identifier: Apache-2.0
 * process.c - starts `orma traced` from the build folder and watches it end; runs its clients.
 *
 * The child writes to TRACED_NOTIFY_FD when its sockets are open; if that pipe ends before, the
 * start has failed. The child dies with the test, however the test ends.
 */
#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"

enum { FIRST_FD = 3, NOTIFY_FD = 20 };

static void in_folder(char path[108], const char *name)
{
	CHECK((size_t)snprintf(path, 108, "%s/%s", orma_test_tmpdir(), name) < 108);
}

static void set_variables(const struct orma_test_process *process)
{
	char number[16];

	setenv("PERFETTO_PRODUCER_SOCK_NAME", process->producers, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", process->consumers, 1);
	snprintf(number, sizeof(number), "%d", NOTIFY_FD);
	setenv("TRACED_NOTIFY_FD", number, 1);
	if (process->says_listen_pid) {
		snprintf(number, sizeof(number), "%zu", process->fd_count);
		setenv("LISTEN_FDS", number, 1);
		snprintf(number, sizeof(number), "%d", (int)getpid());
		setenv("LISTEN_PID", number, 1);
	}
	for (size_t i = 0; process->variables[i]; i++)
		putenv((char *)process->variables[i]);
}

static _Noreturn void become_daemon(const struct orma_test_process *process, int notify_fd,
				    int messages_fd)
{
	const char *arguments[16] = {ORMA_BUILD_DIR "/orma", "traced"};
	size_t count = 2;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; process->options[i]; i++)
		arguments[count++] = process->options[i];
	dup2(messages_fd, STDERR_FILENO);
	dup2(notify_fd, NOTIFY_FD);
	/* Move them to high numbers first, because one may have the number that another needs. */
	for (size_t i = 0; i < process->fd_count; i++)
		dup2(process->fds[i], 30 + (int)i);
	for (size_t i = 0; i < process->fd_count; i++)
		dup2(30 + (int)i, FIRST_FD + (int)i);
	/* Pass nothing else of the test's environment. */
	for (int fd = FIRST_FD + (int)process->fd_count; fd < 64; fd++)
		if (fd != NOTIFY_FD)
			close(fd);
	set_variables(process);
	execv(arguments[0], (char **)arguments);
	_exit(127);
}

bool orma_test_process_start(struct orma_test_process *process)
{
	char path[108], byte = 0;
	int fds[2];

	if (!process->producers[0])
		in_folder(process->producers, "p.sock");
	if (!process->consumers[0])
		in_folder(process->consumers, "c.sock");
	in_folder(path, "messages");
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	int messages_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	CHECK(messages_fd >= 0);
	process->pid = fork();
	CHECK(process->pid >= 0);
	if (process->pid == 0)
		become_daemon(process, fds[1], messages_fd);
	close(messages_fd);
	close(fds[1]);
	ssize_t size = read(fds[0], &byte, 1);
	close(fds[0]);
	return size == 1 && byte == '1';
}

void orma_test_process_signal(const struct orma_test_process *process, int signal)
{
	CHECK_INT(kill(process->pid, signal), 0);
}

int orma_test_process_wait(struct orma_test_process *process)
{
	int status;

	while (waitpid(process->pid, &status, 0) < 0)
		CHECK_INT(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int orma_test_process_stop(struct orma_test_process *process)
{
	orma_test_process_signal(process, SIGTERM);
	return orma_test_process_wait(process);
}

static _Noreturn void become_program(const struct orma_test_process *process, const char *program,
				     const char *const *arguments, int messages_fd)
{
	const char *argv[16] = {program};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; arguments[i]; i++)
		argv[i + 1] = arguments[i];
	dup2(messages_fd, STDOUT_FILENO);
	dup2(messages_fd, STDERR_FILENO);
	setenv("PERFETTO_PRODUCER_SOCK_NAME", process->producers, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", process->consumers, 1);
	/* The name selects the command line. */
	execv(ORMA_BUILD_DIR "/orma", (char **)argv);
	_exit(127);
}

void orma_test_process_begin(struct orma_test_process *process, const char *program,
			     const char *const *arguments)
{
	char path[108];

	in_folder(path, "messages");
	int messages_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	CHECK(messages_fd >= 0);
	process->pid = fork();
	CHECK(process->pid >= 0);
	if (process->pid == 0)
		become_program(process, program, arguments, messages_fd);
	close(messages_fd);
}

int orma_test_process_run(const struct orma_test_process *process, const char *program,
			  const char *const *arguments)
{
	struct orma_test_process copy = *process;

	orma_test_process_begin(&copy, program, arguments);
	return orma_test_process_wait(&copy);
}

static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	ssize_t got = read(fd, text, size - 1);
	CHECK(got >= 0);
	text[got] = '\0';
	close(fd);
}

const char *orma_test_process_messages(void)
{
	static char text[1 << 16];
	char path[108];

	in_folder(path, "messages");
	read_text(path, text, sizeof(text));
	return text;
}

const char *orma_test_process_status(const struct orma_test_process *process, const char *name)
{
	static char text[1 << 13];
	char path[64];
	size_t size = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)process->pid);
	read_text(path, text, sizeof(text));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, name, size) == 0 && strncmp(line + size, ":\t", 2) == 0)
			return line + size + 2;
	orma_test_fail(__FILE__, __LINE__, "no line %s", name);
}
