/* SPDX-License-Identifier: Apache-2.0
 * track_memory_test.c - the memory that tracing takes besides the shared memory, per process and per thread,
 * while a session records track events; the library's thread, and what an exec inherits.
 */
#include <dirent.h>
#include <fcntl.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define PROCESS_BYTES_MAX (64 * 1024)
#define THREAD_BYTES_MAX  (4 * 1024)
#define THREADS           64

#define CONFIG "buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }"

/* A daemon in a process of its own, so that its memory is not counted. */
static pid_t start_service(struct daemon *daemon)
{
	int ready[2];
	pid_t service;
	char byte;

	daemon_addresses(daemon);
	CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
	service = fork();
	if (service == 0) {
		daemon_start(daemon);
		CHECK_INT(write(ready[1], "1", 1), 1);
		for (;;)
			pause();
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return service;
}

static void stop_service(pid_t service)
{
	kill(service, SIGKILL);
	CHECK_INT(waitpid(service, NULL, 0), service);
}

static void init_system(const struct daemon *daemon)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .producer_socket = daemon->producer};

	CHECK_INT(orma_init(&options), 0);
}

struct thread {
	pthread_t thread;
	bool emits;
	sem_t *has_emitted, *leave;
};

static void emit_some(void)
{
	for (int i = 0; i < 100; i++) {
		ORMA_SCOPE(gfx, "frame", "number", i);
		ORMA_INSTANT(gfx, "retry");
		ORMA_COUNTER(gfx, "fps", i);
	}
}

static void *emit_and_park(void *ctx)
{
	struct thread *thread = ctx;
	void *volatile allocated = malloc(100);

	/* The memory that the C library takes for each thread that allocates is not counted. */
	free(allocated);
	if (thread->emits)
		emit_some();
	sem_post(thread->has_emitted);
	wait_for(thread->leave);
	return NULL;
}

/* The heap memory of one thread, with what the C library takes for it. */
static size_t cost_of_threads(struct thread *threads, bool emits, struct orma_session *session,
			      sem_t *has_emitted, sem_t *leave)
{
	size_t begin = heap_bytes();

	for (size_t i = 0; i < THREADS; i++) {
		threads[i].emits = emits;
		threads[i].has_emitted = has_emitted;
		threads[i].leave = leave;
		CHECK_INT(pthread_create(&threads[i].thread, NULL, emit_and_park, &threads[i]), 0);
		wait_for(has_emitted);
	}
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	return (heap_bytes() - begin) / THREADS;
}

ORMA_TEST(beside_the_shared_memory_a_process_costs_64_kib_and_a_thread_4_kib)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	static struct thread threads[2 * THREADS];
	size_t begin, process, silent, thread;
	struct orma_session *session;
	struct daemon daemon;
	sem_t has_emitted, leave;
	pid_t service = start_service(&daemon);

	sem_init(&has_emitted, 0, 0);
	sem_init(&leave, 0, 0);
	options.consumer_socket = daemon.consumer;
	session = session_new(&options);
	begin = heap_bytes();
	init_system(&daemon);
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session_enable(session, CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	emit_some();
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	process = heap_bytes() - begin;
	/* Frames that are being sent are on the heap, too, but only for a short time. */
	for (int i = 0; i < 20 && process > PROCESS_BYTES_MAX; i++) {
		CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
		process = heap_bytes() - begin;
	}
	silent = cost_of_threads(threads, false, session, &has_emitted, &leave);
	thread = cost_of_threads(threads + THREADS, true, session, &has_emitted, &leave) - silent;
	printf("heap: %zu bytes per process, %zu per thread\n", process, thread);
	CHECK(process < PROCESS_BYTES_MAX);
	CHECK(thread < THREAD_BYTES_MAX);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		sem_post(&leave);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		pthread_join(threads[i].thread, NULL);
	orma_session_free(session);
	orma_shutdown();
	stop_service(service);
}

/* --- the thread ------------------------------------------------------------------------------- */

static int count_threads(char *name, size_t name_bytes, unsigned long long *ret_blocked)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(folder))) {
		char path[300], line[256];
		FILE *status;

		if (entry->d_name[0] == '.')
			continue;
		count++;
		if (atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status)) {
			if (strncmp(line, "Name:\t", 6) == 0)
				snprintf(name, name_bytes, "%.*s", (int)strcspn(line + 6, "\n"),
					 line + 6);
			if (strncmp(line, "SigBlk:\t", 8) == 0)
				*ret_blocked = strtoull(line + 8, NULL, 16);
		}
		if (status)
			fclose(status);
	}
	closedir(folder);
	return count;
}

/* A join may return before the kernel has removed the thread from the list. */
static void await_threads(int count)
{
	unsigned long long blocked;
	char name[64];

	while (count_threads(name, sizeof(name), &blocked) != count)
		sched_yield();
}

ORMA_TEST(there_is_one_thread_at_most_and_none_before_init)
{
	static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGALRM, SIGCHLD,
				      SIGUSR1, SIGUSR2, SIGPROF, SIGPIPE, SIGIO};
	unsigned long long blocked = 0;
	char name[64] = "";
	sigset_t before, after;
	struct daemon daemon;

	orma_test_skip_if_emulated("a process without threads of an emulator");
	pid_t service = start_service(&daemon);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
#if defined(__SANITIZE_THREAD__)
	/* ThreadSanitizer starts a thread of its own at some time. */
	stop_service(service);
	return;
#endif
	CHECK_INT(count_threads(name, sizeof(name), &blocked), 1);
	init_system(&daemon);
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(count_threads(name, sizeof(name), &blocked), 2);
	CHECK_STR(name, "orma");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(signals); i++)
		CHECK(blocked >> (signals[i] - 1) & 1);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	CHECK_MEM(&before, 8, &after, 8);
	orma_shutdown();
	await_threads(1);
	stop_service(service);
}

/* --- descriptors after an exec ---------------------------------------------------------------- */

ORMA_TEST(an_exec_inherits_no_descriptor)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_session *session;
	struct daemon daemon;
	pid_t service = start_service(&daemon), child;
	int output[2], status;
	char text[256];
	ssize_t size;

	/* The child has none of the library's descriptors: only the three standard ones, the folder
	 * that it lists, and those of the test's runner. */
	options.consumer_socket = daemon.consumer;
	init_system(&daemon);
	CHECK_INT(orma_track_event_register(), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(&options);
	session_enable(session, CONFIG);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	ORMA_INSTANT(gfx, "something");
	CHECK_INT(pipe2(output, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		dup2(output[1], 1);
		execl("/bin/sh", "sh", "-c", "ls -l /proc/self/fd", (char *)NULL);
		_exit(1);
	}
	close(output[1]);
	while ((size = read(output[0], text, sizeof(text) - 1)) > 0) {
		text[size] = '\0';
		CHECK(!strstr(text, "socket:") && !strstr(text, "anon_inode") &&
		      !strstr(text, "memfd"));
	}
	close(output[0]);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	orma_session_free(session);
	orma_shutdown();
	stop_service(service);
}
