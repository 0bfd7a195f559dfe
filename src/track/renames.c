/* SPDX-License-Identifier: Apache-2.0
 * renames.c - what threads and the process are called, and what readers are told when that changes.
 *
 * A thread has a record from its first description on: its name as the reader knows it, the longer
 * one that it gave itself, its rank. The kernel tells nobody when a thread is renamed. So while an
 * instance runs, the loop thread compares the records with /proc, a few hundred at a time, every
 * half second, at flushes and at the end; what has changed it describes in its own sequence,
 * because a track belongs to the trace and not to the sequence that describes it. The threads that
 * emit notice nothing.
 *
 * Invariant: the mutex is held over no system call and no packet.
 *
 * Rejected: asking for the name at each event (a system call), wrapping pthread_setname_np()
 * (misses prctl(), and takes a symbol of the program's), marks that make threads describe
 * themselves again (a thread that has ceased to emit would keep its old name).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "track/event.h"

#define CHECK_NS        (ORMA_NS_PER_SEC / 2)
#define CHECKED_AT_ONCE 256

struct thread {
	struct orma_list item;
	int32_t tid;
	struct orma_track_thread as;              /* as it was described last */
	char given[ORMA_TRACK_THREAD_NAME_BYTES]; /* by orma_thread_set_name() */
	char given_kernel[ORMA_TRACK_COMM_BYTES]; /* what the kernel made of it */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct orma_list threads = {&threads, &threads}; /* struct thread; mutex */
static struct orma_track_process_texts texts;           /* mutex */
static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

/* The loop thread's. */
static struct orma_timer timer;
static unsigned running;    /* instances */
static int32_t checked_tid; /* the last that was compared; 0 = begin anew */

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

/* The calling thread's; NULL without memory. */
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

/* The given name holds until the kernel has another than it was given with it. */
static void name_locked(const struct thread *thread, const char *comm,
			struct orma_track_thread *ret)
{
	bool is_given = thread->given[0] && strcmp(thread->given_kernel, comm) == 0;

	*ret = thread->as;
	if (is_given)
		memcpy(ret->name, thread->given, sizeof(thread->given));
	else
		memcpy(ret->name, comm, ORMA_TRACK_COMM_BYTES);
}

void orma_track_thread_look(bool asks_kernel, struct orma_track_thread *ret)
{
	struct thread *thread = self_get();
	char comm[ORMA_TRACK_COMM_BYTES] = "";

	if (thread && !asks_kernel) {
		pthread_mutex_lock(&mutex);
		*ret = thread->as;
		pthread_mutex_unlock(&mutex);
		if (ret->name[0])
			return;
	}
	prctl(PR_GET_NAME, comm);
	comm[sizeof(comm) - 1] = '\0';
	*ret = (struct orma_track_thread){0};
	memcpy(ret->name, comm, sizeof(comm));
	if (!thread)
		return;
	pthread_mutex_lock(&mutex);
	name_locked(thread, comm, ret);
	thread->as = *ret;
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

void orma_track_thread_look_at(int32_t tid, struct orma_track_thread *ret)
{
	char comm[ORMA_TRACK_COMM_BYTES] = "";
	const struct thread *thread;

	comm_read(tid, comm);
	*ret = (struct orma_track_thread){0};
	memcpy(ret->name, comm, sizeof(comm));
	pthread_mutex_lock(&mutex);
	thread = find_locked(tid);
	if (thread)
		name_locked(thread, comm, ret);
	pthread_mutex_unlock(&mutex);
}

/* --- the process ------------------------------------------------------------------------------ */

void orma_track_process_look(struct orma_track_process_texts *ret)
{
	pthread_mutex_lock(&mutex);
	memcpy(ret->name, texts.name, sizeof(ret->name));
	ret->rank = texts.rank;
	ret->cmdline_size = texts.cmdline_size;
	memcpy(ret->cmdline, texts.cmdline, texts.cmdline_size);
	pthread_mutex_unlock(&mutex);
}

/* True when it is another than before. A longer one is cut. */
bool orma_track_process_read_cmdline(void)
{
	char cmdline[sizeof(texts.cmdline)];
	int fd = orma_base_fd_avoid_standard(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
	ssize_t size = 0;
	bool is_changed;

	if (fd >= 0)
		size = read(fd, cmdline, sizeof(cmdline));
	orma_base_fd_close(fd);
	if (size <= 0)
		return false;
	pthread_mutex_lock(&mutex);
	is_changed = (size_t)size != texts.cmdline_size ||
		     memcmp(cmdline, texts.cmdline, (size_t)size) != 0;
	memcpy(texts.cmdline, cmdline, (size_t)size);
	texts.cmdline_size = (size_t)size;
	pthread_mutex_unlock(&mutex);
	return is_changed;
}

/* --- telling ---------------------------------------------------------------------------------- */

static void tell_one(struct orma_packet *slot, uint32_t idx, orma_track_tell_fn *fn,
		     const void *ctx)
{
	uint64_t now_ns = orma_track_now_ns();

	if ((slot->needs_state && !orma_track_prepare(slot, idx, now_ns)) || !fn(ctx, slot, now_ns))
		slot->needs_state = true;
	if (slot->needs_state)
		orma_track_become_not_plain(slot->state);
}

void orma_track_tell(orma_track_tell_fn *fn, const void *ctx)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint32_t instances = source ? orma_data_source_started(source) : 0;

	for (; instances; instances &= instances - 1) {
		uint32_t idx = (uint32_t)__builtin_ctz(instances);
		struct orma_packet *slot = orma_client_slot_get(source, idx);

		if (slot) {
			tell_one(slot, idx, fn, ctx);
			orma_client_slot_leave(slot);
		}
	}
}

static bool write_process(const void *ctx, struct orma_packet *slot, uint64_t now_ns)
{
	(void)ctx;
	return orma_track_write_process(slot, now_ns);
}

struct seen {
	int32_t tid;
	struct orma_track_thread as;
};

static bool write_thread(const void *ctx, struct orma_packet *slot, uint64_t now_ns)
{
	const struct seen *seen = ctx;

	return orma_track_write_thread(slot, seen->tid, &seen->as, now_ns);
}

/* The next ones behind those that were compared last. */
static size_t take_some(struct seen *ret_seen, size_t count_max)
{
	const struct thread *thread;
	bool is_behind = false;
	size_t count = 0;

	pthread_mutex_lock(&mutex);
	is_behind = checked_tid == 0 || !find_locked(checked_tid);
	ORMA_LIST_FOR_EACH (thread, &threads, item) {
		if (is_behind && count < count_max)
			ret_seen[count++] = (struct seen){thread->tid, thread->as};
		is_behind = is_behind || thread->tid == checked_tid;
	}
	pthread_mutex_unlock(&mutex);
	checked_tid = count == count_max ? ret_seen[count - 1].tid : 0;
	return count;
}

/* True when it is called differently now, which it sets. */
static bool is_renamed(struct seen *seen)
{
	char comm[ORMA_TRACK_COMM_BYTES];
	struct thread *thread;
	bool is_renamed = false;

	if (!comm_read(seen->tid, comm))
		return false;
	pthread_mutex_lock(&mutex);
	thread = find_locked(seen->tid);
	if (thread) {
		name_locked(thread, comm, &seen->as);
		is_renamed = strcmp(thread->as.name, seen->as.name) != 0;
		thread->as = seen->as;
	}
	pthread_mutex_unlock(&mutex);
	return is_renamed;
}

void orma_track_renames_check(void)
{
	static struct seen seen[CHECKED_AT_ONCE];
	size_t count;

	if (running == 0)
		return;
	count = take_some(seen, CHECKED_AT_ONCE);
	for (size_t i = 0; i < count; i++)
		if (is_renamed(&seen[i]))
			orma_track_tell(write_thread, &seen[i]);
	if (orma_track_process_read_cmdline())
		orma_track_tell(write_process, NULL);
}

static void on_timer(struct orma_timer *at)
{
	orma_track_renames_check();
	orma_base_loop_arm_in(orma_client.loop, at, CHECK_NS, on_timer);
}

void orma_track_renames_start(void)
{
	if (running++ == 0 && orma_client.loop)
		orma_base_loop_arm_in(orma_client.loop, &timer, CHECK_NS, on_timer);
}

void orma_track_renames_stop(void)
{
	if (running == 0)
		return;
	orma_track_renames_check();
	if (--running == 0)
		orma_base_timer_disarm(&timer);
}

void orma_track_renames_forked(void)
{
	pthread_mutex_init(&mutex, NULL);
	timer = (struct orma_timer){0};
	running = 0;
	/* The records of threads that are not there: those before this thread's, those behind it. */
	orma_client_fork_leave(threads.next);
	orma_base_list_init(&threads);
	if (self) {
		orma_client_fork_leave(self->item.next);
		orma_base_list_init(&self->item);
		self->tid = 0;
	}
}

/* --- what programs say ------------------------------------------------------------------------ */

/* As much as fits, without the beginning of a character. */
static void copy_text(char *to, size_t size, const char *text)
{
	size_t length = strnlen(text, size);

	if (length == size)
		for (length--; length > 0 && (text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(to, text, length);
	to[length] = '\0';
}

static void tell_self(const struct thread *thread)
{
	struct seen seen = {.tid = thread->tid};

	orma_track_thread_look(true, &seen.as);
	orma_track_tell(write_thread, &seen);
}

int orma_thread_set_name(const char *name)
{
	struct thread *thread;
	char comm[ORMA_TRACK_COMM_BYTES] = "";
	int saved_errno = errno;

	if (!name)
		return -EINVAL;
	thread = self_get();
	if (!thread)
		return -ENOMEM;
	copy_text(comm, sizeof(comm), name);
	prctl(PR_SET_NAME, comm);
	pthread_mutex_lock(&mutex);
	copy_text(thread->given, sizeof(thread->given), name);
	memcpy(thread->given_kernel, comm, sizeof(comm));
	pthread_mutex_unlock(&mutex);
	tell_self(thread);
	errno = saved_errno;
	return 0;
}

int orma_thread_set_rank(int32_t rank)
{
	struct thread *thread = self_get();

	if (!thread)
		return -ENOMEM;
	pthread_mutex_lock(&mutex);
	thread->as.rank = rank;
	pthread_mutex_unlock(&mutex);
	tell_self(thread);
	return 0;
}

void orma_process_set_name(const char *name)
{
	pthread_mutex_lock(&mutex);
	copy_text(texts.name, sizeof(texts.name), name ? name : "");
	pthread_mutex_unlock(&mutex);
	orma_track_tell(write_process, NULL);
}

void orma_process_set_rank(int32_t rank)
{
	pthread_mutex_lock(&mutex);
	texts.rank = rank;
	pthread_mutex_unlock(&mutex);
	orma_track_tell(write_process, NULL);
}
