/* SPDX-License-Identifier: Apache-2.0
 * sightings.h - tasks, descriptors and inodes that ftrace or linux.perf has seen in a session, for
 * the data sources of the same session that say what they are: linux.process_stats names tasks and
 * descriptors, and linux.inode_file_map names inodes. It is linux.perf that names
 * tasks in sessions without linux.process_stats.
 *
 * The side that sees gets the sightings of its session once, notes what its events contain, and
 * delivers after each drain. Notes cost a load and a comparison when the task is known already, and
 * one load when nobody listens. Every function takes NULL for the sightings and does nothing then.
 *
 *	struct orma_sightings *seen = orma_sightings_get(env->sightings, config->tracing_session_id);
 *	...
 *	orma_sightings_note_task(seen, pid);                  for each pid in an event
 *	orma_sightings_note_new_task(seen, pid, child, clone_flags, comm);              task_newtask
 *	orma_sightings_note_rename(seen, pid, newcomm);                                 task_rename
 *	orma_sightings_note_member(seen, tid, pid, comm);     when the event says the process, too
 *	orma_sightings_note_inode(seen, pid, device, inode);
 *	orma_sightings_note_fd(seen, pid, fd);                open() and the like have returned it
 *	...
 *	orma_sightings_deliver(seen);                         after a drain and in a flush
 *	...
 *	orma_sightings_put(seen);
 *
 * Everything happens on the thread of the probes' loop.
 */
#ifndef ORMA_PROBES_SIGHTINGS_H
#define ORMA_PROBES_SIGHTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define ORMA_SIGHTINGS_TID_MAX     (1u << 22) /* the kernel's limit on pids */
#define ORMA_SIGHTINGS_PENDING_MAX (1u << 16) /* sightings of one kind between two deliveries */
/* Descriptors between two deliveries: looking up so many takes 10 ms. A poll finds the others. */
#define ORMA_SIGHTINGS_FDS_MAX     4096u
#define ORMA_SIGHTINGS_COMM_BYTES  16 /* with the NUL, as in the kernel */
#define ORMA_SIGHTINGS_PAGE_TASKS  1024u
#define ORMA_SIGHTINGS_PENDING_BIT (1u << 31)
#define ORMA_SIGHTINGS_CLONE_THREAD                                                                \
	UINT64_C(0x10000) /* in clone_flags: shares its parent's process */

struct orma_task_sighting {
	uint32_t tid;
	uint32_t process;    /* the id of its process; 0 = not known */
	uint32_t parent_tid; /* the task that made this one; 0 = not known */
	bool is_thread;      /* a new task in the process of its parent */
	/* The name from a new task or a rename; "" = not known. */
	char comm[ORMA_SIGHTINGS_COMM_BYTES];
};

struct orma_inode_sighting {
	uint64_t device; /* as stat() gives it */
	uint64_t inode;
};

struct orma_fd_sighting {
	uint32_t tid, fd;
};

/* A member of the listener's own struct. Functions may be NULL. The sightings are in the order in
 * which they were noted, and valid during the call. */
struct orma_sightings_listener {
	void (*on_tasks)(void *ctx, const struct orma_task_sighting *tasks, size_t count);
	void (*on_inodes)(void *ctx, const struct orma_inode_sighting *inodes, size_t count);
	/* Called after on_tasks. */
	void (*on_fds)(void *ctx, const struct orma_fd_sighting *fds, size_t count);
	void *ctx;
	bool is_spare; /* its on_tasks is called only if no other listener has one */
	struct orma_sightings_listener *next; /* owned by sightings.c */
};

struct orma_sightings;
struct orma_sightings_list;

/* All sessions of a process; free it when nobody holds sightings of it any more. 0 or -ENOMEM. */
int orma_sightings_list_new(struct orma_sightings_list **ret);
void orma_sightings_list_free(struct orma_sightings_list *list);

/* Returns the sightings of a session, which live until each get has had its put. NULL without
 * memory, for a list that is NULL, or for the session id 0, which no session has. */
struct orma_sightings *orma_sightings_get(struct orma_sightings_list *list, uint64_t session_id);
void orma_sightings_put(struct orma_sightings *seen);

/* ---- for those that see ---- */

/* The members that the inline functions need. */
struct orma_sightings {
	bool wants_tasks, wants_inodes, wants_fds;
	/* Holds for each tid the task's process, or the index of its pending sighting with
	 * ORMA_SIGHTINGS_PENDING_BIT; 0 = not seen yet. */
	uint32_t *pages[ORMA_SIGHTINGS_TID_MAX / ORMA_SIGHTINGS_PAGE_TASKS];
};

static inline uint32_t orma_sightings_state(const struct orma_sightings *seen, uint32_t tid)
{
	if (tid >= ORMA_SIGHTINGS_TID_MAX)
		return 0;
	const uint32_t *page = seen->pages[tid / ORMA_SIGHTINGS_PAGE_TASKS];
	return page ? page[tid % ORMA_SIGHTINGS_PAGE_TASKS] : 0;
}

void orma_sightings_add_task(struct orma_sightings *seen, uint32_t tid);

/* A task that an event mentions. Tid 0 is ignored. */
static inline void orma_sightings_note_task(struct orma_sightings *seen, uint32_t tid)
{
	if (seen && seen->wants_tasks && orma_sightings_state(seen, tid) == 0)
		orma_sightings_add_task(seen, tid);
}

/* A task that begins: its name and kind are known even if it has ended before anybody can look.
 * `comm` needs no NUL. */
void orma_sightings_note_new_task(struct orma_sightings *seen, uint32_t parent_tid, uint32_t tid,
				  uint64_t clone_flags, struct orma_str comm);
void orma_sightings_note_rename(struct orma_sightings *seen, uint32_t tid, struct orma_str comm);
/* A task of which the process is known, and perhaps the name; an empty name replaces none. */
void orma_sightings_note_member(struct orma_sightings *seen, uint32_t tid, uint32_t process,
				struct orma_str comm);
/* `tid` is the task in whose context the event was; the probes' own accesses are ignored. */
void orma_sightings_note_inode(struct orma_sightings *seen, uint32_t tid, uint64_t device,
			       uint64_t inode);
void orma_sightings_note_fd(struct orma_sightings *seen, uint32_t tid, uint32_t fd);
/* Passes on what was noted. Call it while no packet of ftrace is open. */
void orma_sightings_deliver(struct orma_sightings *seen);

/* ---- for listeners ---- */

void orma_sightings_listen(struct orma_sightings *seen, struct orma_sightings_listener *listener);
/* Does nothing for a listener that does not listen. */
void orma_sightings_unlisten(struct orma_sightings *seen, struct orma_sightings_listener *listener);

/* The process of a task that was written to the trace; 0 = not known. */
uint32_t orma_sightings_process_of(const struct orma_sightings *seen, uint32_t tid);
/* The task was written to the trace as one of this process; it is not delivered again before a
 * rename. */
void orma_sightings_set_process(struct orma_sightings *seen, uint32_t tid, uint32_t process);
/* Forgets all tasks, because the reader of the trace has forgotten them too. */
void orma_sightings_forget_tasks(struct orma_sightings *seen);

#endif
