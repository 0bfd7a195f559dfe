/* SPDX-License-Identifier: Apache-2.0
 * activity.c - makes kernel events whose number is known, and says what it did.
 *
 *	kernel_activity NAME [ARGUMENT...]
 *
 * Each name in the table at the end is one kind of activity. It prints one line, "NAME KEY=VALUE...",
 * with the threads and the numbers that a test looks for in a trace. Invariant: the numbers hold on a
 * machine of any speed, because every step waits for the one before it and never for time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "kernel_activity: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(bool is_good, const char *what)
{
	if (!is_good)
		die(what);
}

static int get_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static void move_to_cpu(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0, "sched_setaffinity");
}

static void write_all(int fd, const void *bytes, size_t size)
{
	check(write(fd, bytes, size) == (ssize_t)size, "write");
}

static void write_to_each(const int *fds, int count, const char *text)
{
	int i;

	for (i = 0; i < count; i++)
		write_all(fds[i], text, strlen(text));
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	check(fd >= 0, path);
	write_all(fd, text, strlen(text));
	close(fd);
}

/* Renames this thread to the argument on each CPU. A task_rename event marks the place on every CPU. */
static void do_mark(const char *name)
{
	unsigned int cpu, count = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	for (cpu = 0; cpu < count; cpu++) {
		move_to_cpu(cpu);
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_NAME, "between-marks");
	}
	printf("mark tid=%d name=%s cpus=%u\n", get_tid(), name, count);
}

enum { ROUNDS = 500, FIFO_PRIORITY = 10 };

struct partner {
	const char *name;
	int in, out;
	int tid;
	bool is_first;
};

/*
 * Two threads of one CPU and one real-time priority, so that neither preempts the other: each round has
 * two wakings and two switches.
 */
static void *play(void *argument)
{
	struct sched_param param = {.sched_priority = FIFO_PRIORITY};
	struct partner *partner = argument;
	char byte = 0;
	int i;

	partner->tid = get_tid();
	prctl(PR_SET_NAME, partner->name);
	move_to_cpu(0);
	check(sched_setscheduler(0, SCHED_FIFO, &param) == 0, "sched_setscheduler");
	for (i = 0; i < ROUNDS; i++) {
		if (partner->is_first)
			write_all(partner->out, &byte, 1);
		check(read(partner->in, &byte, 1) == 1, "read");
		if (!partner->is_first)
			write_all(partner->out, &byte, 1);
	}
	return NULL;
}

static void do_switches(const char *argument)
{
	int there[2], back[2];
	struct partner ping = {"ping-thread", -1, -1, 0, true};
	struct partner pong = {"pong thread", -1, -1, 0, false};
	pthread_t threads[2];

	(void)argument;
	check(pipe(there) == 0 && pipe(back) == 0, "pipe");
	ping.in = back[0];
	ping.out = there[1];
	pong.in = there[0];
	pong.out = back[1];
	check(pthread_create(&threads[1], NULL, play, &pong) == 0, "pthread_create");
	check(pthread_create(&threads[0], NULL, play, &ping) == 0, "pthread_create");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	/* The kernel's priority is 99 minus that of the system call. */
	printf("switches ping=%d pong=%d rounds=%d prio=%d\n", ping.tid, pong.tid, ROUNDS,
	       99 - FIFO_PRIORITY);
}

static void do_syscalls(const char *argument)
{
	int i, count = 300;

	(void)argument;
	for (i = 0; i < count; i++)
		syscall(SYS_getppid);
	printf("syscalls tid=%d id=%d count=%d\n", get_tid(), SYS_getppid, count);
}

static void do_forks(const char *argument)
{
	int i, status, count = 20;
	char name[24];
	pid_t pid;

	(void)argument;
	for (i = 0; i < count; i++) {
		pid = fork();
		check(pid >= 0, "fork");
		if (pid == 0) {
			snprintf(name, sizeof(name), "child-%d", i);
			prctl(PR_SET_NAME, name);
			_exit(i);
		}
		check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == i, "waitpid");
	}
	printf("forks tid=%d count=%d\n", get_tid(), count);
}

static void do_execs(const char *argument)
{
	int i, status, count = 3;
	pid_t pid;

	(void)argument;
	for (i = 0; i < count; i++) {
		pid = fork();
		check(pid >= 0, "fork");
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		check(waitpid(pid, &status, 0) == pid && status == 0, "execl");
	}
	printf("execs tid=%d count=%d\n", get_tid(), count);
}

static void do_renames(const char *argument)
{
	int count = 15;
	char name[32];

	(void)argument;
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "name=%d \"x\"", i);
		prctl(PR_SET_NAME, name);
	}
	printf("renames tid=%d count=%d\n", get_tid(), count);
}

/*
 * The argument is a list of trace_marker files, with colons. Each marker is written to all of them before
 * the next one, as the kernel does with its own events.
 */
static void do_markers(const char *paths)
{
	int i, count = 50, pid = getpid(), fds[8], fd_count = 0;
	char text[64], *list = strdup(paths), *path;

	check(list, "strdup");
	for (path = strtok(list, ":"); path && fd_count < 8; path = strtok(NULL, ":")) {
		fds[fd_count] = open(path, O_WRONLY | O_CLOEXEC);
		check(fds[fd_count++] >= 0, path);
	}
	free(list);
	for (i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "activity %d", i);
		write_to_each(fds, fd_count, text);
	}
	/* Upstream's SDKs write such markers, which begin and end slices. */
	snprintf(text, sizeof(text), "B|%d|work\n", pid);
	write_to_each(fds, fd_count, text);
	snprintf(text, sizeof(text), "C|%d|level|7", pid);
	write_to_each(fds, fd_count, text);
	write_to_each(fds, fd_count, "E");
	printf("markers tid=%d count=%d\n", get_tid(), count + 3);
}

static void do_faults(const char *argument)
{
	size_t i, pages = 256;
	long size = sysconf(_SC_PAGESIZE);
	volatile uint8_t *memory = mmap(NULL, pages * (size_t)size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argument;
	check(memory != MAP_FAILED, "mmap");
	check(madvise((void *)memory, pages * (size_t)size, MADV_NOHUGEPAGE) == 0, "madvise");
	for (i = 0; i < pages; i++)
		memory[i * (size_t)size] = 1;
	munmap((void *)memory, pages * (size_t)size);
	printf("faults tid=%d count=%zu\n", get_tid(), pages);
}

/* The argument is a number of MiB, which are filled page by page. */
static void do_grow(const char *argument)
{
	size_t i, page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)atoi(argument) << 20;
	volatile uint8_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED, "mmap");
	check(madvise((void *)memory, size, MADV_NOHUGEPAGE) == 0, "madvise");
	for (i = 0; i < size; i += page)
		memory[i] = 1;
	munmap((void *)memory, size);
	printf("grow tid=%d mib=%s\n", get_tid(), argument);
}

/* Calls with results that no other call of this program has. */
static void do_named_calls(const char *argument)
{
	int i, word = 0, count = 20;

	(void)argument;
	for (i = 0; i < count; i++) {
		check(syscall(SYS_openat, -1, "relative", O_RDONLY) < 0 && errno == EBADF,
		      "openat");
		check(syscall(SYS_futex, &word, 9999, 0) < 0 && errno == ENOSYS, "futex");
		check(getppid() > 0, "getppid");
	}
	printf("named_calls tid=%d count=%d openat=%d openat_error=%d futex=%d futex_error=%d\n",
	       get_tid(), count, SYS_openat, EBADF, SYS_futex, ENOSYS);
}

/* The argument is a block device that may be overwritten. */
static void do_blocks(const char *path)
{
	int i, count = 16, fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	void *block = aligned_alloc(4096, 4096);

	check(fd >= 0, path);
	check(block, "aligned_alloc");
	memset(block, 0x55, 4096);
	for (i = 0; i < count; i++)
		check(pwrite(fd, block, 4096, i * 4096) == 4096, "pwrite");
	for (i = 0; i < count; i++)
		check(pread(fd, block, 4096, i * 4096) == 4096, "pread");
	check(fsync(fd) == 0, "fsync");
	close(fd);
	free(block);
	printf("blocks tid=%d writes=%d reads=%d\n", get_tid(), count, count);
}

/* The argument is a folder of a mounted file system. */
static void do_files(const char *folder)
{
	char path[256], other[256], block[4096] = {0};
	int i, fd, count = 4;

	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/file-%d", folder, i);
		snprintf(other, sizeof(other), "%s/renamed-%d", folder, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		check(fd >= 0, path);
		write_all(fd, block, sizeof(block));
		check(fsync(fd) == 0, "fsync");
		close(fd);
		check(rename(path, other) == 0 && unlink(other) == 0, "rename");
	}
	printf("files tid=%d count=%d\n", get_tid(), count);
}

static int make_socket(int type, struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	check(fd >= 0, "socket");
	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	check(bind(fd, (struct sockaddr *)address, size) == 0, "bind");
	check(getsockname(fd, (struct sockaddr *)address, &size) == 0, "getsockname");
	return fd;
}

static void do_network(const char *argument)
{
	struct sockaddr_in address, own;
	int receiver = make_socket(SOCK_DGRAM, &address), sender = make_socket(SOCK_DGRAM, &own);
	int listener, client, server, i, count = 25;
	char byte = 1;

	(void)argument;
	for (i = 0; i < count; i++) {
		check(sendto(sender, &byte, 1, 0, (struct sockaddr *)&address, sizeof(address)) ==
			      1,
		      "sendto");
		check(recv(receiver, &byte, 1, 0) == 1, "recv");
	}
	listener = make_socket(SOCK_STREAM, &address);
	check(listen(listener, 1) == 0, "listen");
	client = make_socket(SOCK_STREAM, &own);
	check(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
	server = accept(listener, NULL, NULL);
	check(server >= 0, "accept");
	for (i = 0; i < count; i++) {
		write_all(client, &byte, 1);
		check(read(server, &byte, 1) == 1, "read");
	}
	close(client);
	close(server);
	printf("network tid=%d datagrams=%d writes=%d\n", get_tid(), count, count);
}

static void on_signal(int number)
{
	(void)number;
}

static void do_signals(const char *argument)
{
	struct sigaction action = {.sa_handler = on_signal};
	int i, count = 10;

	(void)argument;
	check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
	for (i = 0; i < count; i++)
		check(raise(SIGUSR1) == 0, "raise");
	printf("signals tid=%d number=%d count=%d\n", get_tid(), SIGUSR1, count);
}

static void do_timers(const char *argument)
{
	struct timespec time = {.tv_nsec = 100000};
	int i, count = 10;

	(void)argument;
	for (i = 0; i < count; i++)
		nanosleep(&time, NULL);
	printf("timers tid=%d count=%d\n", get_tid(), count);
}

static void do_migrations(const char *argument)
{
	unsigned int i, count = 10;

	(void)argument;
	move_to_cpu(0);
	for (i = 1; i <= count; i++)
		move_to_cpu(i % 2);
	printf("migrations tid=%d count=%u\n", get_tid(), count);
}

static void do_hotplug(const char *argument)
{
	static const char path[] = "/sys/devices/system/cpu/cpu1/online";

	(void)argument;
	write_text(path, "0");
	write_text(path, "1");
	printf("hotplug tid=%d cpu=1\n", get_tid());
}

static void do_oom_score(const char *argument)
{
	(void)argument;
	write_text("/proc/self/oom_score_adj", "123");
	printf("oom_score tid=%d value=123\n", get_tid());
}

/* The argument is a folder of a cgroup file system. */
static void do_cgroups(const char *folder)
{
	char path[256], file[300], pid[16];

	snprintf(path, sizeof(path), "%s/activity", folder);
	check(mkdir(path, 0755) == 0, path);
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	snprintf(pid, sizeof(pid), "%d", getpid());
	write_text(file, pid);
	snprintf(file, sizeof(file), "%s/cgroup.procs", folder);
	write_text(file, pid);
	check(rmdir(path) == 0, path);
	printf("cgroups tid=%d\n", get_tid());
}

/* A uprobe is set on this, so it keeps its name, also in the program that was stripped. */
int add_one(int value);

#ifndef __clang__
__attribute__((noclone))
#endif
__attribute__((noinline, visibility("default"))) int
add_one(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value + 1;
}

static void do_calls(const char *argument)
{
	int i, value = 0, count = 25;

	(void)argument;
	for (i = 0; i < count; i++)
		value = add_one(value);
	printf("calls tid=%d count=%d\n", get_tid(), value);
}

/* Prints where in the program's file add_one() is, as uprobe_events takes it. */
static void do_target(const char *argument)
{
	uintptr_t begin, end, offset, target = (uintptr_t)add_one;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	(void)argument;
	check(maps, "/proc/self/maps");
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxPTR, &begin, &end,
			   &offset) == 3 &&
		    begin <= target && target < end)
			printf("0x%" PRIxPTR "\n", target - begin + offset);
	}
	fclose(maps);
}

/* Two threads wake each other until the time is over, as fast as they can. */
static atomic_bool is_over;

static void *bounce(void *argument)
{
	const int *fds = argument;
	char byte = 0;

	move_to_cpu((unsigned int)fds[2]);
	if (fds[3])
		write_all(fds[1], &byte, 1);
	while (!is_over && read(fds[0], &byte, 1) == 1)
		write_all(fds[1], &byte, 1);
	write_all(fds[1], &byte, 1);
	return NULL;
}

/* The argument is a number of seconds. */
static void do_load(const char *argument)
{
	int cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1, pipes[4][2], ends[4][4];
	pthread_t threads[4];

	for (cpu = 0; cpu < cpus; cpu++) {
		int a = cpu * 2, b = cpu * 2 + 1;

		check(pipe(pipes[a]) == 0 && pipe(pipes[b]) == 0, "pipe");
		memcpy(ends[a], (int[]){pipes[b][0], pipes[a][1], cpu, 1}, sizeof(ends[a]));
		memcpy(ends[b], (int[]){pipes[a][0], pipes[b][1], cpu, 0}, sizeof(ends[b]));
		check(pthread_create(&threads[a], NULL, bounce, ends[a]) == 0, "pthread_create");
		check(pthread_create(&threads[b], NULL, bounce, ends[b]) == 0, "pthread_create");
	}
	sleep((unsigned int)atoi(argument));
	is_over = true;
	for (cpu = 0; cpu < cpus * 2; cpu++)
		pthread_join(threads[cpu], NULL);
	printf("load seconds=%s\n", argument);
}

/* Reads a CPU's trace_pipe_raw, as every recorder has to, and does nothing with it. */
static void do_pages(const char *path)
{
	static uint8_t pages[32][4096];
	int count = 0, fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct timespec begin, end;

	check(fd >= 0, path);
	memset(pages, 1, sizeof(pages));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	while (read(fd, pages[count % 32], sizeof(pages[0])) == sizeof(pages[0]))
		count++;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	close(fd);
	printf("pages count=%d ns=%lld\n", count,
	       (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
}

static const struct activity {
	const char *name;
	void (*run)(const char *argument);
	bool takes_argument;
} activities[] = {
	{"mark", do_mark, true},
	{"switches", do_switches, false},
	{"syscalls", do_syscalls, false},
	{"forks", do_forks, false},
	{"execs", do_execs, false},
	{"renames", do_renames, false},
	{"markers", do_markers, true},
	{"faults", do_faults, false},
	{"blocks", do_blocks, true},
	{"files", do_files, true},
	{"network", do_network, false},
	{"signals", do_signals, false},
	{"timers", do_timers, false},
	{"migrations", do_migrations, false},
	{"hotplug", do_hotplug, false},
	{"oom_score", do_oom_score, false},
	{"cgroups", do_cgroups, true},
	{"calls", do_calls, false},
	{"target", do_target, false},
	{"load", do_load, true},
	{"pages", do_pages, true},
	{"grow", do_grow, true},
	{"named_calls", do_named_calls, false},
};

int main(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(activities) / sizeof(*activities); i++) {
		if (strcmp(argv[1], activities[i].name) == 0 &&
		    argc == 2 + activities[i].takes_argument) {
			activities[i].run(argv[2]);
			return fflush(stdout) ? 1 : 0;
		}
	}
	fputs("usage: kernel_activity NAME [ARGUMENT]; the source lists the names\n", stderr);
	return 2;
}
