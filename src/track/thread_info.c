/* SPDX-License-Identifier: Apache-2.0
 * thread_info.c - what the threads of this process are called, and what readers were told.
 *
 * A thread has a record from its first description on: its name as the reader knows it, the longer
 * name that it gave itself, and its rank. The kernel limits names to 15 bytes and does not report
 * when a thread is renamed, so the record is compared with the kernel's name whenever the thread is
 * described, and from time to time by rename_watch.c.
 *
 * Invariant: the mutex is held over no system call and no packet.
 */
#include "track/thread_info.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/cancel.h"
#include "base/fd.h"
#include "base/list.h"
#include "client/revival.h"

struct thread {
	struct orma_list item;
	int32_t tid;
	struct orma_track_thread_info info;       /* as it was described last */
	char given[ORMA_TRACK_THREAD_NAME_BYTES]; /* the argument of orma_thread_set_name() */
	char given_kernel[ORMA_TRACK_COMM_BYTES]; /* the kernel's name, cut from `given` */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct orma_list threads = {&threads, &threads}; /* struct thread; mutex */
static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

/* --- records ---------------------------------------------------------------------------------- */

static void on_thread_exit(void *ctx)
{
	struct thread *thread = ctx;

	self = NULL;
	pthread_mutex_lock(&mutex);
	orma_base_list_remove(&thread->item);
	pthread_mutex_unlock(&mutex);
	orma_base_free(thread);
}

static void make_key(void)
{
	has_key = pthread_key_create(&key, on_thread_exit) == 0;
}

/* The record of the calling thread; NULL without memory. */
static struct thread *self_get(void)
{
	struct thread *thread = self;
	int32_t tid;

	if (thread && thread->tid != 0)
		return thread;
	tid = (int32_t)gettid();
	pthread_once(&key_once, make_key);
	if (!thread && has_key) {
		thread = orma_base_zalloc(sizeof(*thread));
		if (!thread)
			return NULL;
		if (pthread_setspecific(key, thread) != 0) {
			orma_base_free(thread);
			return NULL;
		}
		orma_base_list_init(&thread->item);
	}
	if (thread) {
		pthread_mutex_lock(&mutex);
		thread->tid = tid;
		orma_base_list_remove(&thread->item);
		orma_base_list_append(&threads, &thread->item);
		pthread_mutex_unlock(&mutex);
	}
	self = thread;
	return thread;
}

static struct thread *find_locked(int32_t tid)
{
	struct thread *thread;

	ORMA_LIST_FOR_EACH (thread, &threads, item)
		if (thread->tid == tid)
			return thread;
	return NULL;
}

/* The given name is valid as long as the kernel has the name that was set together with it. */
static void name_locked(const struct thread *thread, const char *comm,
			struct orma_track_thread_info *ret)
{
	bool is_given = thread->given[0] && strcmp(thread->given_kernel, comm) == 0;

	*ret = thread->info;
	if (is_given)
		memcpy(ret->name, thread->given, sizeof(thread->given));
	else
		memcpy(ret->name, comm, ORMA_TRACK_COMM_BYTES);
}

void orma_track_thread_info_self(bool asks_kernel, struct orma_track_thread_info *ret)
{
	struct thread *thread = self_get();
	char comm[ORMA_TRACK_COMM_BYTES] = "";

	if (thread && !asks_kernel) {
		pthread_mutex_lock(&mutex);
		*ret = thread->info;
		pthread_mutex_unlock(&mutex);
		if (ret->name[0])
			return;
	}
	prctl(PR_GET_NAME, comm);
	comm[sizeof(comm) - 1] = '\0';
	*ret = (struct orma_track_thread_info){0};
	memcpy(ret->name, comm, sizeof(comm));
	if (!thread)
		return;
	pthread_mutex_lock(&mutex);
	name_locked(thread, comm, ret);
	thread->info = *ret;
	pthread_mutex_unlock(&mutex);
}

static bool comm_read(int32_t tid, char comm[ORMA_TRACK_COMM_BYTES])
{
	ORMA_NO_CANCEL();
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	fd = orma_base_fd_avoid_standard(open(path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return false;
	size = read(fd, comm, ORMA_TRACK_COMM_BYTES - 1);
	orma_base_fd_close(fd);
	comm[size > 0 ? size : 0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	return size > 0;
}

void orma_track_thread_info_of(int32_t tid, struct orma_track_thread_info *ret)
{
	char comm[ORMA_TRACK_COMM_BYTES] = "";
	const struct thread *thread;

	comm_read(tid, comm);
	*ret = (struct orma_track_thread_info){0};
	memcpy(ret->name, comm, sizeof(comm));
	pthread_mutex_lock(&mutex);
	thread = find_locked(tid);
	if (thread)
		name_locked(thread, comm, ret);
	pthread_mutex_unlock(&mutex);
}

/* --- for the watch ---------------------------------------------------------------------------- */

size_t orma_track_thread_infos_next(int32_t *cursor, struct orma_track_thread_seen *ret,
				    size_t count_max)
{
	const struct thread *thread;
	bool is_behind;
	size_t count = 0;

	pthread_mutex_lock(&mutex);
	is_behind = *cursor == 0 || !find_locked(*cursor);
	ORMA_LIST_FOR_EACH (thread, &threads, item) {
		if (is_behind && count < count_max)
			ret[count++] = (struct orma_track_thread_seen){thread->tid, thread->info};
		is_behind = is_behind || thread->tid == *cursor;
	}
	pthread_mutex_unlock(&mutex);
	*cursor = count == count_max ? ret[count - 1].tid : 0;
	return count;
}

bool orma_track_thread_info_refresh(struct orma_track_thread_seen *seen)
{
	char comm[ORMA_TRACK_COMM_BYTES];
	struct thread *thread;
	bool is_renamed = false;

	if (!comm_read(seen->tid, comm))
		return false;
	pthread_mutex_lock(&mutex);
	thread = find_locked(seen->tid);
	if (thread) {
		name_locked(thread, comm, &seen->info);
		is_renamed = strcmp(thread->info.name, seen->info.name) != 0;
		thread->info = seen->info;
	}
	pthread_mutex_unlock(&mutex);
	return is_renamed;
}

/* --- names and ranks that programs set -------------------------------------------------------- */

void orma_track_copy_text(char *to, size_t size, const char *text)
{
	size_t length = strnlen(text, size);

	if (length == size)
		for (length--; length > 0 && (text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(to, text, length);
	to[length] = '\0';
}

int orma_track_thread_info_set_name(const char *name)
{
	struct thread *thread = self_get();
	char comm[ORMA_TRACK_COMM_BYTES] = "";

	if (!thread)
		return -ENOMEM;
	orma_track_copy_text(comm, sizeof(comm), name);
	prctl(PR_SET_NAME, comm);
	pthread_mutex_lock(&mutex);
	orma_track_copy_text(thread->given, sizeof(thread->given), name);
	memcpy(thread->given_kernel, comm, sizeof(comm));
	pthread_mutex_unlock(&mutex);
	return thread->tid;
}

int orma_track_thread_info_set_rank(int32_t rank)
{
	struct thread *thread = self_get();

	if (!thread)
		return -ENOMEM;
	pthread_mutex_lock(&mutex);
	thread->info.rank = rank;
	pthread_mutex_unlock(&mutex);
	return thread->tid;
}

void orma_track_thread_infos_forked(void)
{
	pthread_mutex_init(&mutex, NULL);
	/* Forget the records of threads that do not exist here: those in front of this thread's
	 * record and those behind it. */
	orma_client_keep_reachable(threads.next);
	orma_base_list_init(&threads);
	if (self) {
		orma_client_keep_reachable(self->item.next);
		orma_base_list_init(&self->item);
		self->tid = 0;
	}
}
