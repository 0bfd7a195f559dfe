/* SPDX-License-Identifier: Apache-2.0
 * process.c - starts daemons and producers, each with sockets in a folder of its own, and reads
 * their CPU time, context switches and memory.
 *
 * Invariant: every child started here is ended and waited for here. CPU time is the kernel's
 * process clock (nanoseconds), not the ticks of /proc/PID/stat.
 *
 * Rejected: perf counters (often forbidden in containers); systemd or cgroup accounting (not
 * everywhere).
 */
#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS 10000

/* Reads a line; waits at most `timeout_ms` for each part. The rest of the output is ignored. */
static int read_line(int fd, int timeout_ms, char *line, size_t size)
{
	size_t used = 0;

	while (used + 1 < size) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int r = poll(&wait, 1, timeout_ms);

		if (r == 0)
			return -ETIMEDOUT;
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (read(fd, line + used, 1) != 1)
			return -EPIPE;
		if (line[used] == '\n')
			break;
		used++;
	}
	line[used] = 0;
	return 0;
}

static void end_child(pid_t pid)
{
	for (int i = 0; i < 200; i++) {
		struct timespec pause = {.tv_nsec = 10000000};

		if (waitpid(pid, NULL, WNOHANG) != 0)
			return;
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void remove_folder(const char *folder)
{
	char path[2 * BENCH_PATH_BYTES];
	static const char *const names[] = {"producer", "consumer"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static _Noreturn void run_daemon(const struct bench_daemon *daemon, const char *program,
				 const char *part, int notify_fd)
{
	int null_fd = open("/dev/null", O_RDWR);
	char number[16];

	snprintf(number, sizeof(number), "%d", notify_fd);
	setenv("PERFETTO_PRODUCER_SOCK_NAME", daemon->producer_socket, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", daemon->consumer_socket, 1);
	setenv("TRACED_NOTIFY_FD", number, 1);
	/* Other children must not inherit the end of the pipe, or it would never close. */
	fcntl(notify_fd, F_SETFD, 0);
	dup2(null_fd, STDIN_FILENO);
	dup2(null_fd, STDOUT_FILENO);
	if (!getenv("BENCH_VERBOSE"))
		dup2(null_fd, STDERR_FILENO);
	execl(program, program, part, (char *)NULL);
	_exit(127);
}

int bench_daemon_start(const char *program, const char *part, struct bench_daemon *ret)
{
	int notify[2], r;
	char byte;

	*ret = (struct bench_daemon){0};
	snprintf(ret->folder, sizeof(ret->folder), "/tmp/orma-bench-XXXXXX");
	if (!mkdtemp(ret->folder))
		return -errno;
	snprintf(ret->producer_socket, sizeof(ret->producer_socket), "%s/producer", ret->folder);
	snprintf(ret->consumer_socket, sizeof(ret->consumer_socket), "%s/consumer", ret->folder);
	if (pipe2(notify, O_CLOEXEC) < 0)
		return -errno;
	ret->pid = fork();
	if (ret->pid == 0)
		run_daemon(ret, program, part, notify[1]);
	close(notify[1]);
	r = ret->pid < 0 ? -errno : 0;
	if (r == 0) {
		struct pollfd wait = {.fd = notify[0], .events = POLLIN};

		if (poll(&wait, 1, START_MS) != 1 || read(notify[0], &byte, 1) != 1)
			r = -ETIMEDOUT;
	}
	close(notify[0]);
	if (r < 0)
		bench_daemon_stop(ret);
	return r;
}

int bench_daemon_stop(struct bench_daemon *daemon)
{
	int r = 0;

	if (daemon->pid > 0) {
		if (waitpid(daemon->pid, NULL, WNOHANG) != 0) {
			r = -EPIPE;
		} else {
			kill(daemon->pid, SIGTERM);
			end_child(daemon->pid);
		}
	}
	remove_folder(daemon->folder);
	daemon->pid = 0;
	return r;
}

static void read_status(const char *path, struct bench_usage *usage)
{
	char line[256];
	unsigned long long value;
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmRSS: %llu", &value) == 1)
			usage->rss_kib = value;
		else if (sscanf(line, "RssAnon: %llu", &value) == 1)
			usage->rss_anon_kib = value;
		else if (sscanf(line, "voluntary_ctxt_switches: %llu", &value) == 1)
			usage->voluntary_switches += value;
	}
	fclose(file);
}

int bench_usage_read(pid_t pid, struct bench_usage *ret)
{
	char path[64 + 256];
	struct timespec time;
	struct dirent *entry;
	clockid_t clock;
	DIR *tasks;

	*ret = (struct bench_usage){0};
	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0)
		return -ESRCH;
	ret->cpu_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return -errno;
	while ((entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, entry->d_name);
		read_status(path, ret);
	}
	closedir(tasks);
	return 0;
}

static _Noreturn void run_producer(const struct bench_daemon *daemon, char *const argv[], int in_fd,
				   int out_fd)
{
	setenv("PERFETTO_PRODUCER_SOCK_NAME", daemon->producer_socket, 1);
	dup2(in_fd, STDIN_FILENO);
	dup2(out_fd, STDOUT_FILENO);
	execv(argv[0], argv);
	_exit(127);
}

int bench_producer_start(const struct bench_daemon *daemon, char *const argv[],
			 struct bench_producer *ret)
{
	int in[2], out[2];
	char line[64];

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		int r = -errno;

		close(in[0]);
		close(in[1]);
		return r;
	}
	*ret = (struct bench_producer){.pid = fork(), .to_fd = in[1], .from_fd = out[0]};
	if (ret->pid == 0)
		run_producer(daemon, argv, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	if (ret->pid < 0 || read_line(ret->from_fd, START_MS, line, sizeof(line)) < 0 ||
	    strcmp(line, "ready") != 0) {
		bench_producer_stop(ret);
		return -ECONNREFUSED;
	}
	return 0;
}

int bench_producer_wait(struct bench_producer *producer, int timeout_ms, struct bench_emitted *ret)
{
	unsigned long long packets, bytes, wall_ns, cpu_ns, dropped;
	char line[256];
	int r = read_line(producer->from_fd, timeout_ms, line, sizeof(line));

	if (r < 0)
		return r;
	if (sscanf(line, "result packets=%llu bytes=%llu wall_ns=%llu cpu_ns=%llu dropped=%llu",
		   &packets, &bytes, &wall_ns, &cpu_ns, &dropped) != 5)
		return -EPROTO;
	*ret = (struct bench_emitted){packets, bytes, wall_ns, cpu_ns, dropped};
	return 0;
}

void bench_producer_stop(struct bench_producer *producer)
{
	close(producer->to_fd);
	close(producer->from_fd);
	if (producer->pid > 0)
		end_child(producer->pid);
}
