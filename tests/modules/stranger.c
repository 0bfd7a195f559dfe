/* SPDX-License-Identifier: Apache-2.0
 * stranger.c - a program that knows nothing of tracing and loads libraries that do it, each for
 * itself.
 *
 * Libraries with the shared liborma have one client together: one is the first to initialise it,
 * and there is one thread. A library that has the archive inside has a client of its own. All of
 * them are unloaded with their threads running, and another thread that has emitted ends
 * afterwards.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) check(condition, __LINE__, #condition)

static void check(bool is_true, int line, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "stranger.c:%d: %s\n", line, what);
	exit(1);
}

struct guest {
	void *handle;
	int (*begin)(void);
	void (*emit)(void);
};

static struct guest load(const char *name)
{
	struct guest guest;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.so", MODULES, name);
	guest.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!guest.handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(guest.handle);
	*(void **)&guest.begin = dlsym(guest.handle, "guest_begin");
	*(void **)&guest.emit = dlsym(guest.handle, "guest_emit");
	CHECK(guest.begin && guest.emit);
	return guest;
}

static bool is_loaded(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.so", MODULES, name);
	return dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

static int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;

	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

static struct guest first, second, whole;
static sem_t has_emitted, may_end;

static void *emit_and_end_later(void *ctx)
{
	(void)ctx;
	first.emit();
	second.emit();
	whole.emit();
	sem_post(&has_emitted);
	sem_wait(&may_end);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	sem_init(&has_emitted, 0, 0);
	sem_init(&may_end, 0, 0);
	first = load("guest_first");
	second = load("guest_second");
	whole = load("guest_whole");
	CHECK(count_threads() == 1);
	CHECK(first.begin() == 0);
	CHECK(count_threads() == 2);
	CHECK(second.begin() == -EALREADY);
	CHECK(count_threads() == 2);
	CHECK(whole.begin() == 0);
	CHECK(count_threads() == 3);
	CHECK(whole.begin() == -EALREADY);
	CHECK(pthread_create(&thread, NULL, emit_and_end_later, NULL) == 0);
	sem_wait(&has_emitted);
	CHECK(dlclose(whole.handle) == 0);
	CHECK(dlclose(first.handle) == 0);
	CHECK(dlclose(second.handle) == 0);
	/* The threads run in liborma.so and in the last one: those stay. */
	CHECK(!is_loaded("guest_first"));
	CHECK(!is_loaded("guest_second"));
	CHECK(is_loaded("guest_whole"));
	/* The thread's state of these libraries is freed when it ends. */
	sem_post(&may_end);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(count_threads() == 3);
	/* They can be loaded again. */
	first = load("guest_first");
	CHECK(first.begin() == -EALREADY);
	first.emit();
	return 0;
}
