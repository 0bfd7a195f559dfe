/* SPDX-License-Identifier: Apache-2.0
 * sightings.c - from the events of ftrace and linux.perf to the data sources that explain them, per session.
 *
 * Owns, for each session, a table of the tasks that the trace explains already, and arrays of what
 * was noted since the last delivery. Invariant: table[tid] is the process that a listener set, or
 * the index of the task's sighting in `tasks` with ORMA_SIGHTINGS_PENDING_BIT, or 0. A delivery
 * empties the arrays and the pending entries first and calls the listeners afterwards, so a
 * listener may forget all tasks in the middle of its call. A task that no listener could explain is
 * noted again when an event mentions it again.
 *
 * A task that ends between two drains has no folder in /proc any more. The event of its birth says
 * its parent, its name and whether it is a thread; a rename replaces the name in the same sighting.
 *
 * Memory: the table has 4 KiB per 1,024 ids that are in use, at most 16 MiB. Pending arrays have a
 * limit; what exceeds it is not noted. Inodes and descriptors repeat without end, and direct-mapped
 * caches of the latest ones drop most repetitions; the listener allows for the others. Rejected: a set of tasks by
 * hash (two cache misses per event instead of one); asking linux.process_stats directly, which
 * would tie two data sources that work alone.
 */
#include "probes/sightings.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum { INODE_CACHE_SIZE = 1024, FD_CACHE_SIZE = 1024 };

/* A growing array of sightings. */
struct pending {
	void *items;
	size_t count, capacity;
};

struct session {
	struct orma_sightings base; /* first */
	struct orma_sightings_list *list;
	uint64_t session_id;
	unsigned reference_count;
	uint32_t own_tid; /* the probes' thread */
	struct orma_sightings_listener *listeners;
	struct pending tasks, inodes, fds;
	/* Noted since the last delivery. */
	struct orma_inode_sighting inode_cache[INODE_CACHE_SIZE];
	struct orma_fd_sighting fd_cache[FD_CACHE_SIZE];
	struct session *next;
};

struct orma_sightings_list {
	struct session *sessions;
};

static struct session *to_session(struct orma_sightings *seen)
{
	return ORMA_CONTAINER_OF(seen, struct session, base);
}

/* ---- sessions ---- */

int orma_sightings_list_new(struct orma_sightings_list **ret)
{
	struct orma_sightings_list *list = orma_base_zalloc(sizeof(*list));

	if (!list)
		return -ENOMEM;
	*ret = list;
	return 0;
}

void orma_sightings_list_free(struct orma_sightings_list *list)
{
	ORMA_ASSERT(!list || !list->sessions);
	orma_base_free(list);
}

struct orma_sightings *orma_sightings_get(struct orma_sightings_list *list, uint64_t session_id)
{
	if (!list || session_id == 0)
		return NULL;
	struct session *session = list->sessions;
	while (session && session->session_id != session_id)
		session = session->next;
	if (!session) {
		session = orma_base_zalloc(sizeof(*session));
		if (!session)
			return NULL;
		session->list = list;
		session->session_id = session_id;
		session->own_tid = (uint32_t)syscall(SYS_gettid);
		session->next = list->sessions;
		list->sessions = session;
	}
	session->reference_count++;
	return &session->base;
}

void orma_sightings_put(struct orma_sightings *seen)
{
	if (!seen)
		return;
	struct session *session = to_session(seen);
	if (--session->reference_count > 0)
		return;
	ORMA_ASSERT(!session->listeners);
	struct session **at = &session->list->sessions;
	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	orma_sightings_forget_tasks(seen);
	orma_base_free(session->tasks.items);
	orma_base_free(session->inodes.items);
	orma_base_free(session->fds.items);
	orma_base_free(session);
}

/* ---- the table of tasks ---- */

/* Returns the task's entry; NULL without memory, or for an id that no task can have. */
static uint32_t *entry_of(struct orma_sightings *seen, uint32_t tid)
{
	if (tid == 0 || tid >= ORMA_SIGHTINGS_TID_MAX)
		return NULL;
	uint32_t **page = &seen->pages[tid / ORMA_SIGHTINGS_PAGE_TASKS];
	if (!*page)
		*page = orma_base_alloc_array(ORMA_SIGHTINGS_PAGE_TASKS, sizeof(**page));
	return *page ? &(*page)[tid % ORMA_SIGHTINGS_PAGE_TASKS] : NULL;
}

uint32_t orma_sightings_process_of(const struct orma_sightings *seen, uint32_t tid)
{
	uint32_t state = seen ? orma_sightings_state(seen, tid) : 0;

	return state & ORMA_SIGHTINGS_PENDING_BIT ? 0 : state;
}

void orma_sightings_set_process(struct orma_sightings *seen, uint32_t tid, uint32_t process)
{
	uint32_t *entry = seen && process < ORMA_SIGHTINGS_PENDING_BIT ? entry_of(seen, tid) : NULL;

	if (entry && !(*entry & ORMA_SIGHTINGS_PENDING_BIT))
		*entry = process;
}

void orma_sightings_forget_tasks(struct orma_sightings *seen)
{
	if (!seen)
		return;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(seen->pages); i++) {
		orma_base_free(seen->pages[i]);
		seen->pages[i] = NULL;
	}
	to_session(seen)->tasks.count = 0;
}

/* ---- notes ---- */

/* Returns room for one more item; NULL without memory, or at the limit. */
static void *pending_add(struct pending *pending, size_t item_bytes)
{
	if (pending->count == ORMA_SIGHTINGS_PENDING_MAX)
		return NULL;
	if (pending->count == pending->capacity) {
		size_t capacity = pending->capacity > 0 ? pending->capacity * 2 : 256;
		void *items = orma_base_realloc_array(pending->items, capacity, item_bytes);
		if (!items)
			return NULL;
		pending->items = items;
		pending->capacity = capacity;
	}
	return (char *)pending->items + item_bytes * pending->count++;
}

/* Returns the task's pending sighting, which is made if there is none; NULL if that is not
 * possible. */
static struct orma_task_sighting *pending_task(struct orma_sightings *seen, uint32_t tid)
{
	struct session *session = to_session(seen);
	uint32_t *entry = entry_of(seen, tid);

	if (!entry)
		return NULL;
	if (*entry & ORMA_SIGHTINGS_PENDING_BIT) {
		struct orma_task_sighting *tasks = session->tasks.items;
		return &tasks[*entry & ~ORMA_SIGHTINGS_PENDING_BIT];
	}
	struct orma_task_sighting *task = pending_add(&session->tasks, sizeof(*task));
	if (!task)
		return NULL;
	*task = (struct orma_task_sighting){.tid = tid, .process = *entry};
	*entry = (uint32_t)(session->tasks.count - 1) | ORMA_SIGHTINGS_PENDING_BIT;
	return task;
}

static void set_comm(struct orma_task_sighting *task, struct orma_str comm)
{
	size_t size = ORMA_MIN(comm.size, sizeof(task->comm) - 1);

	memset(task->comm, 0, sizeof(task->comm));
	for (size_t i = 0; i < size && comm.data[i]; i++)
		task->comm[i] = comm.data[i];
}

void orma_sightings_add_task(struct orma_sightings *seen, uint32_t tid)
{
	(void)pending_task(seen, tid);
}

void orma_sightings_note_new_task(struct orma_sightings *seen, uint32_t parent_tid, uint32_t tid,
				  uint64_t clone_flags, struct orma_str comm)
{
	if (!seen || !seen->wants_tasks)
		return;
	orma_sightings_note_task(seen, parent_tid);
	struct orma_task_sighting *task = pending_task(seen, tid);
	if (!task)
		return;
	/* The CPUs are drained one by one, so the rename of a task may be noted before its birth. */
	if (task->comm[0] == '\0' || task->parent_tid != 0)
		set_comm(task, comm);
	task->parent_tid = parent_tid;
	task->is_thread = clone_flags & ORMA_SIGHTINGS_CLONE_THREAD;
	task->process = task->is_thread ? orma_sightings_process_of(seen, parent_tid) : tid;
}

void orma_sightings_note_rename(struct orma_sightings *seen, uint32_t tid, struct orma_str comm)
{
	struct orma_task_sighting *task =
		seen && seen->wants_tasks ? pending_task(seen, tid) : NULL;

	if (task)
		set_comm(task, comm);
}

void orma_sightings_note_member(struct orma_sightings *seen, uint32_t tid, uint32_t process,
				struct orma_str comm)
{
	if (!seen || !seen->wants_tasks || orma_sightings_process_of(seen, tid) == process)
		return;
	struct orma_task_sighting *task = pending_task(seen, tid);
	if (!task)
		return;
	task->process = process;
	if (comm.size > 0 && task->comm[0] == '\0')
		set_comm(task, comm);
}

void orma_sightings_note_inode(struct orma_sightings *seen, uint32_t tid, uint64_t device,
			       uint64_t inode)
{
	if (!seen || !seen->wants_inodes || inode == 0)
		return;
	struct session *session = to_session(seen);
	struct orma_inode_sighting *cached =
		&session->inode_cache[(inode ^ inode >> 10 ^ device) % INODE_CACHE_SIZE];
	if ((cached->inode == inode && cached->device == device) || tid == session->own_tid)
		return;
	struct orma_inode_sighting *sighting = pending_add(&session->inodes, sizeof(*sighting));
	if (!sighting)
		return;
	*sighting = *cached = (struct orma_inode_sighting){.device = device, .inode = inode};
}

void orma_sightings_note_fd(struct orma_sightings *seen, uint32_t tid, uint32_t fd)
{
	if (!seen || !seen->wants_fds || tid == 0)
		return;
	struct session *session = to_session(seen);
	struct orma_fd_sighting *cached =
		&session->fd_cache[(tid * UINT32_C(31) + fd) % FD_CACHE_SIZE];
	if ((cached->tid == tid && cached->fd == fd) ||
	    session->fds.count == ORMA_SIGHTINGS_FDS_MAX)
		return;
	struct orma_fd_sighting *sighting = pending_add(&session->fds, sizeof(*sighting));
	if (!sighting)
		return;
	*sighting = *cached = (struct orma_fd_sighting){.tid = tid, .fd = fd};
}

/* ---- deliveries ---- */

static void update_wishes(struct session *session)
{
	struct orma_sightings *seen = &session->base;

	seen->wants_tasks = seen->wants_inodes = seen->wants_fds = false;
	for (const struct orma_sightings_listener *at = session->listeners; at; at = at->next) {
		seen->wants_tasks |= at->on_tasks != NULL;
		seen->wants_inodes |= at->on_inodes != NULL;
		seen->wants_fds |= at->on_fds != NULL;
	}
}

void orma_sightings_listen(struct orma_sightings *seen, struct orma_sightings_listener *listener)
{
	if (!seen)
		return;
	struct session *session = to_session(seen);
	listener->next = session->listeners;
	session->listeners = listener;
	update_wishes(session);
}

void orma_sightings_unlisten(struct orma_sightings *seen, struct orma_sightings_listener *listener)
{
	if (!seen)
		return;
	struct session *session = to_session(seen);
	struct orma_sightings_listener **at = &session->listeners;
	while (*at && *at != listener)
		at = &(*at)->next;
	if (*at)
		*at = listener->next;
	update_wishes(session);
}

static void release_pending_tasks(struct session *session)
{
	const struct orma_task_sighting *tasks = session->tasks.items;

	for (size_t i = 0; i < session->tasks.count; i++) {
		uint32_t *entry = entry_of(&session->base, tasks[i].tid);
		if (entry)
			*entry = 0;
	}
}

/* Returns whether a listener gets tasks: a spare one only if it is the first of its kind, and there is no other kind. */
static bool gets_tasks(const struct session *session, const struct orma_sightings_listener *which)
{
	const struct orma_sightings_listener *spare = NULL, *at = session->listeners;

	for (; which->is_spare && at; at = at->next) {
		if (at->on_tasks && !at->is_spare)
			return false;
		if (at->on_tasks && !spare)
			spare = at;
	}
	return which->on_tasks && (!which->is_spare || which == spare);
}

void orma_sightings_deliver(struct orma_sightings *seen)
{
	if (!seen)
		return;
	struct session *session = to_session(seen);
	struct pending tasks = session->tasks, inodes = session->inodes, fds = session->fds;
	if (tasks.count + inodes.count + fds.count == 0)
		return;
	release_pending_tasks(session);
	session->tasks = session->inodes = session->fds = (struct pending){0};
	for (const struct orma_sightings_listener *at = session->listeners; at; at = at->next) {
		if (tasks.count > 0 && gets_tasks(session, at))
			at->on_tasks(at->ctx, tasks.items, tasks.count);
		if (at->on_inodes && inodes.count > 0)
			at->on_inodes(at->ctx, inodes.items, inodes.count);
		if (at->on_fds && fds.count > 0)
			at->on_fds(at->ctx, fds.items, fds.count);
	}
	if (inodes.count > 0)
		memset(session->inode_cache, 0, sizeof(session->inode_cache));
	if (fds.count > 0)
		memset(session->fd_cache, 0, sizeof(session->fd_cache));
	/* The arrays keep their size for the next drain. Nothing was noted meanwhile. */
	tasks.count = inodes.count = fds.count = 0;
	session->tasks = tasks;
	session->inodes = inodes;
	session->fds = fds;
}
