/* SPDX-License-Identifier: Apache-2.0
 * heap_subject.c - a program that is profiled: it allocates blocks of known sizes, in the way that its first argument names.
 *
 * Sizes above 7000 are unlike any that the C library asks for, so a test recognises them.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

static void run_exact(void)
{
	void *block, *kept[100];

	for (unsigned i = 0; i < 100; i++)
		kept[i] = malloc(7001);
	for (unsigned i = 0; i < 60; i++)
		free(kept[i]);
	block = realloc(calloc(7, 1001), 7003);
	block = realloc(block, 7004);
	if (!block || posix_memalign(&block, 64, 7005) != 0 || !aligned_alloc(64, 7040) ||
	    !valloc(7006))
		exit(1);
}

/* Runs before any library has begun, so the profiler does not know these blocks. */
static void *unknown[2];

static void before_libraries(void)
{
	unknown[0] = malloc(7711);
	unknown[1] = malloc(7711);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit[])(void) = {
	before_libraries};

/* Runs before main(), in each mode. */
__attribute__((constructor)) static void before_main(void)
{
	for (unsigned i = 0; i < 3; i++)
		sink = malloc(7712);
	free(sink);
	free(unknown[0]);
}

__attribute__((destructor)) static void after_main(void)
{
	free(unknown[1]);
}

static void run_many(void)
{
	for (unsigned i = 0; i < 200000; i++) {
		sink = malloc(7101);
		free(sink);
		/* The library's thread makes tables of unwinding meanwhile, also on a busy machine. */
		if (i % 10000 == 0)
			usleep(1000);
	}
}

/* The child allocates a hundred blocks, or until the file is there, and says then how many these were. */
static void run_fork(const char *end_path)
{
	uint32_t count = 0;
	pid_t child;

	sink = malloc(7201);
	child = fork();
	if (child == 0) {
		/* A child that follows connects after a step, and is told of the session then. */
		free(sink);
		int fd = -1;
		while (end_path ? (fd = open(end_path, O_WRONLY)) < 0 : count < 100) {
			sink = malloc(7202);
			count++;
			usleep(10000);
		}
		if (end_path && write(fd, &count, sizeof(count)) != sizeof(count))
			exit(1);
		exit(0);
	}
	waitpid(child, NULL, 0);
	free(sink);
	sink = malloc(7203);
}

/* No handlers of pthread_atfork() run. */
static void run_clone(void)
{
	void *block = malloc(7211);
	pid_t child;

	sink = malloc(7214);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		free(block);
		for (unsigned i = 0; i < 1000; i++)
			sink = malloc(7212);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < 1000; i++)
		sink = malloc(7213);
	free(block);
}

static void run_vfork(char *program)
{
	pid_t child;

	sink = malloc(7301);
	child = vfork();
	if (child == 0) {
		free(sink);
		sink = malloc(7302);
		execl(program, program, "nothing", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	free(sink);
	sink = malloc(7303);
}

/* Nothing of this is for a child: it executes the program at its own risk. */
static void run_child(char *program)
{
	sink = malloc(7600);
	if (fork() == 0) {
		execl(program, program, "exec_each", "child", (char *)NULL);
		_exit(1);
	}
	wait(NULL);
}

/* glibc has it since 2.34, musl has not. The profiler's is found where neither has. */
static void execute_at(const char *path, char *const arguments[], char *const environment[])
{
	int (*function)(int, const char *, char *const *, char *const *, int);
	void *address = dlsym(RTLD_DEFAULT, "execveat");

	memcpy(&function, &address, sizeof(function));
	if (address)
		function(AT_FDCWD, path, arguments, environment, 0);
}

/* Executes the program again, each time with another function. */
static void run_exec_each(char **arguments)
{
	char *program = arguments[0], *variables[] = {(char *)"MARK=1", NULL};
	unsigned number = (unsigned)arguments[2][0] - '0';
	char digit[] = {(char)('1' + number), '\0'};
	char *const next[] = {program, arguments[1], digit, NULL};

	if (arguments[2][0] == 'c') {
		sink = malloc(7600);
		return;
	}
	if (getenv("LD_PRELOAD") || getenv("ORMA_HEAP_EXEC") || (number >= 6 && !getenv("MARK")))
		_exit(2);
	sink = malloc(7500 + number);
	if (execl("/nowhere/program", "program", (char *)NULL) == 0 || errno != ENOENT)
		_exit(3);
	if (number == 0)
		execl(program, program, arguments[1], digit, (char *)NULL);
	else if (number == 1)
		execlp(program, program, arguments[1], digit, (char *)NULL);
	else if (number == 2)
		execv(program, next);
	else if (number == 3)
		execvp(program, next);
	else if (number == 4)
		execvpe(program, next, environ);
	else if (number == 5)
		execle(program, program, arguments[1], digit, (char *)NULL, variables);
	else if (number == 6)
		execve(program, next, variables);
	else if (number == 7)
		fexecve(open(program, O_RDONLY | O_CLOEXEC), next, variables);
	else if (number == 8)
		execute_at(program, next, variables);
	else
		run_child(program);
}

static void *in_thread(void *unused)
{
	(void)unused;
	free(malloc(7401));
	return malloc(7402);
}

static void run_threads(unsigned at_once, unsigned rounds)
{
	pthread_attr_t attributes;
	pthread_t *threads = malloc(at_once * sizeof(*threads));

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	while (rounds-- > 0) {
		for (unsigned i = 0; i < at_once; i++)
			if (pthread_create(&threads[i], &attributes, in_thread, NULL) != 0)
				exit(1);
		for (unsigned i = 0; i < at_once; i++) {
			void *block;

			pthread_join(threads[i], &block);
			free(block);
		}
	}
	free(threads);
}

static pthread_key_t early_key, late_key;

/* Runs in three rounds when its thread ends, also behind the profiler's own destructor. */
static void at_end_of_thread(void *block)
{
	static __thread unsigned rounds;

	free(block);
	free(malloc(7723));
	if (rounds++ < 2)
		pthread_setspecific(late_key, malloc(7722));
}

static void *with_destructors(void *unused)
{
	(void)unused;
	pthread_setspecific(early_key, malloc(7721));
	pthread_setspecific(late_key, malloc(7722));
	return NULL;
}

static void run_destructors(void)
{
	pthread_key_create(&early_key, free);
	pthread_key_create(&late_key, at_end_of_thread);
	for (unsigned i = 0; i < 100; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, with_destructors, NULL) != 0)
			exit(1);
		pthread_join(thread, NULL);
	}
}

static void run_dlclose(const char *module)
{
	for (unsigned i = 0; i < 3; i++) {
		void *handle = dlopen(module, RTLD_NOW);
		void *(*allocate)(void);
		void *address = handle ? dlsym(handle, "allocate") : NULL;

		if (!address)
			exit(1);
		memcpy(&allocate, &address, sizeof(allocate));
		sink = allocate();
		dlclose(handle);
		free(sink);
	}
}

static void on_signal(int signal)
{
	(void)signal;
	/* The main thread may be inside of malloc(): a program must not do this, but some do. Here it never is. */
	free(malloc(7501));
}

static void run_signal(void)
{
	signal(SIGUSR1, on_signal);
	for (unsigned i = 0; i < 100; i++)
		raise(SIGUSR1);
}

static sigjmp_buf loop;
static volatile unsigned jumps;

static void jump(int signal)
{
	(void)signal;
	jumps = jumps + 1;
	siglongjmp(loop, 1);
}

/* A heap of this program, whose reports do not enter the C library: a jump out of malloc() would leave that broken. */
static struct {
	uint32_t id;
	bool (*report)(uint32_t heap, uint64_t block, uint64_t size);
	void (*report_free)(uint32_t heap, uint64_t block);
} pool;

static void load(const char *name, void *ret_function)
{
	void *address = dlsym(RTLD_DEFAULT, name);

	if (!address)
		exit(1);
	memcpy(ret_function, &address, sizeof(address));
}

static void pool_init(void)
{
	void *(*make)(const char *);
	uint32_t (*add)(void *);

	load("orma_heap_new", &make);
	load("orma_heap_register", &add);
	load("orma_heap_report_sample", &pool.report);
	load("orma_heap_report_free", &pool.report_free);
	pool.id = add(make("subject.pool"));
	/* The profiler takes the new heap into account after a moment. */
	for (unsigned i = 0; i < 500 && !pool.report(pool.id, 16, 7900); i++)
		usleep(10000);
}

static __attribute__((noinline)) void report_for_ever(void)
{
	for (uint64_t block = 32;; block += 16) {
		pool.report(pool.id, block, 7901);
		pool.report_free(pool.id, block);
	}
}

static __attribute__((noinline)) void allocate_deep(unsigned depth)
{
	volatile char room[256];

	memset((void *)room, (int)depth, sizeof(room));
	if (depth > 0)
		allocate_deep(depth - 1);
	for (unsigned i = 0; i < 20; i++)
		sink = malloc(7903);
}

static void run_jump(void)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	pool_init();
	signal(SIGALRM, jump);
	sigsetjmp(loop, 1);
	if (jumps == 0)
		setitimer(ITIMER_REAL, &often, NULL);
	if (jumps < 60)
		report_for_ever();
	setitimer(ITIMER_REAL, &never, NULL);
	/* A thread that believes that it is inside looks again after a step of 1 MiB. */
	for (unsigned i = 0; i < 40; i++)
		free(malloc(100000));
	for (unsigned i = 0; i < 100; i++)
		sink = malloc(7902);
	allocate_deep(4);
}

/* Closes everything as daemons do, in all ways, and takes the numbers that this made free. */
static void run_close(const char *way)
{
	int (*close_range_of_libc)(unsigned, unsigned, int);
	void (*closefrom_of_libc)(int);

	sink = malloc(7801);
	if (strcmp(way, "loop") == 0)
		for (int fd = 0; fd < 4096; fd++)
			close(fd);
	if (strcmp(way, "range") == 0) {
		load("close_range", &close_range_of_libc);
		if (close_range_of_libc(3, ~0U, 0) != 0 || close_range_of_libc(5, 4, 0) == 0)
			exit(1);
	}
	if (strcmp(way, "from") == 0) {
		load("closefrom", &closefrom_of_libc);
		closefrom_of_libc(0);
	}
	for (unsigned i = 0; i < 1100; i++)
		if (open("/dev/null", O_RDWR) < 0)
			break;
	for (unsigned i = 0; i < 100; i++)
		sink = malloc(7802);
	usleep(200000);
	for (unsigned i = 0; i < 100; i++)
		sink = malloc(7803);
}

static off_t size_of(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 ? info.st_size : -1;
}

/* Closes everything behind the C library's back, and has a file of its own in all places. */
static void run_close_by_call(const char *path)
{
	int fd;

	sink = malloc(7801);
	if (syscall(SYS_close_range, 3, ~0U, 0) != 0)
		exit(1);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	for (int i = 3; i < 1024; i++)
		if (i != fd)
			(void)dup2(fd, i);
	/* A connection follows after a second at most. It gets numbers that are free again. */
	for (int i = 500; i < 1024; i++)
		(void)syscall(SYS_close, i);
	for (unsigned i = 0; i < 500; i++) {
		sink = malloc(7804);
		usleep(10000);
	}
	if (size_of(fd) != 0 || lseek(fd, 0, SEEK_CUR) != 0)
		exit(2);
}

int main(int argument_count, char **arguments)
{
	const char *mode = argument_count > 1 ? arguments[1] : "";

	if (strcmp(mode, "exact") == 0)
		run_exact();
	else if (strcmp(mode, "many") == 0)
		run_many();
	else if (strcmp(mode, "fork") == 0)
		run_fork(argument_count > 2 ? arguments[2] : NULL);
	else if (strcmp(mode, "clone") == 0)
		run_clone();
	else if (strcmp(mode, "vfork") == 0)
		run_vfork(arguments[0]);
	else if (strcmp(mode, "exec") == 0)
		execl(arguments[0], arguments[0], "exact", (char *)NULL);
	else if (strcmp(mode, "exec_each") == 0)
		run_exec_each(arguments);
	else if (strcmp(mode, "threads") == 0)
		run_threads(100, 20);
	else if (strcmp(mode, "storm") == 0) {
		/* Says that the program has begun. */
		if (argument_count > 2)
			mkdir(arguments[2], 0700);
		run_threads(500, 20);
	} else if (strcmp(mode, "two storms") == 0) {
		/* The second one comes when somebody has removed the folder. */
		mkdir(arguments[2], 0700);
		run_threads(500, 20);
		while (access(arguments[2], F_OK) == 0)
			usleep(1000);
		run_threads(50, 20);
	} else if (strcmp(mode, "dlclose") == 0)
		run_dlclose(arguments[2]);
	else if (strcmp(mode, "destructors") == 0)
		run_destructors();
	else if (strcmp(mode, "signal") == 0)
		run_signal();
	else if (strcmp(mode, "environment") == 0)
		return getenv("LD_PRELOAD") || getenv("ORMA_HEAP_SOCK") || getenv("ORMA_HEAP_WAIT");
	else if (strcmp(mode, "pause") == 0) {
		mkdir(arguments[2], 0700);
		pause();
	} else if (strcmp(mode, "jump") == 0)
		run_jump();
	else if (strcmp(mode, "close") == 0)
		run_close(arguments[2]);
	else if (strcmp(mode, "close by call") == 0)
		run_close_by_call(arguments[2]);
	else if (strcmp(mode, "kill") == 0) {
		sink = malloc(7601);
		/* The library's thread has to tell the service that this thread has a sequence. */
		usleep(100000);
		sink = malloc(7602);
		raise(SIGKILL);
	} else if (strcmp(mode, "die") == 0) {
		sink = malloc(7603);
		raise(SIGKILL);
	}
	return 0;
}
