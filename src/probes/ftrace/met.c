/* SPDX-License-Identifier: Apache-2.0
 * met.c - collects tasks and inodes for the data sources that look them up.
 *
 * A task is in most events, so what the encoder asks first is a table of 1024 slots, indexed by the low bits of the
 * number, that holds the task met last in each. Only a task that is not there is put on a list; the list is delivered
 * when a CPU has been drained. Invariant: a slot's task is on the list, or was delivered since the slots were cleared.
 * Two tasks with the same low bits may both be delivered more than once, which their receivers allow for.
 *
 * Rejected: a bitmap of all possible numbers (512 KiB that the encoder would keep in the cache); a set without false
 * repetitions (a receiver knows for longer than a drain which tasks it has looked up).
 */
#include "probes/ftrace/met.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

static struct orma_str comm_of(const struct orma_met_task *task)
{
	return (struct orma_str){task->comm,
				 task->has_comm ? strnlen(task->comm, sizeof(task->comm)) : 0};
}

static void deliver_tasks(struct orma_met *met)
{
	for (uint32_t i = 0; i < met->task_count; i++) {
		const struct orma_met_task *task = &met->tasks[i];
		if (task->kind == ORMA_MET_SEEN)
			met->on_task(met->ctx, task->tid, comm_of(task));
		else if (task->kind == ORMA_MET_RENAMED)
			met->on_task_renamed(met->ctx, task->tid, comm_of(task));
		else
			met->on_new_task(met->ctx, task->parent_tid, task->tid, task->clone_flags,
					 comm_of(task));
	}
	met->task_count = 0;
}

static void deliver_inodes(struct orma_met *met)
{
	for (uint32_t i = 0; i < met->inode_count && met->on_inode; i++)
		met->on_inode(met->ctx, met->inodes[i].device, met->inodes[i].inode);
	met->inode_count = 0;
}

void orma_met_deliver(struct orma_met *met)
{
	deliver_tasks(met);
	deliver_inodes(met);
	memset(met->task_slots, 0, sizeof(met->task_slots));
	if (met->has_inode_slots)
		memset(met->inode_slots, 0, sizeof(met->inode_slots));
	met->has_inode_slots = false;
}

static struct orma_met_task *append_task(struct orma_met *met, enum orma_met_kind kind, int32_t tid,
					 const uint8_t *comm)
{
	if (met->task_count == ORMA_MET_MAX)
		deliver_tasks(met);
	struct orma_met_task *task = &met->tasks[met->task_count++];
	*task = (struct orma_met_task){.kind = kind, .tid = tid, .has_comm = comm != NULL};
	if (comm)
		memcpy(task->comm, comm, sizeof(task->comm));
	return task;
}

void orma_met_add_task(struct orma_met *met, int32_t tid, const uint8_t *comm)
{
	met->task_slots[(uint32_t)tid % ORMA_MET_SLOTS] = (uint32_t)tid * 2 + (comm != NULL);
	if (tid > 0 && met->on_task)
		append_task(met, ORMA_MET_SEEN, tid, comm);
}

void orma_met_rename(struct orma_met *met, int32_t tid, const uint8_t *comm)
{
	if (tid > 0 && met->on_task_renamed)
		append_task(met, ORMA_MET_RENAMED, tid, comm);
}

void orma_met_new_task(struct orma_met *met, int32_t parent_tid, int32_t tid, uint64_t clone_flags,
		       const uint8_t *comm)
{
	if (tid <= 0 || !met->on_new_task)
		return;
	struct orma_met_task *task = append_task(met, ORMA_MET_NEW, tid, comm);
	task->parent_tid = parent_tid;
	task->clone_flags = clone_flags;
}

/* Programs of another word size have other numbers; then a descriptor that is not new is looked up, or none. */
static bool returns_fd(uint64_t number)
{
	switch (number) {
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_dup2:
#endif
#ifdef SYS_openat2
	case SYS_openat2:
#endif
#ifdef SYS_accept
	case SYS_accept:
#endif
	case SYS_openat:
	case SYS_socket:
	case SYS_accept4:
	case SYS_dup:
	case SYS_dup3:
		return true;
	default:
		return false;
	}
}

void orma_met_syscall(struct orma_met *met, int32_t tid, uint64_t number, int64_t result)
{
	if (met->on_fd && tid > 0 && tid != met->own_tid && result >= 0 && result <= INT_MAX &&
	    returns_fd(number))
		met->on_fd(met->ctx, tid, (uint32_t)result);
}

void orma_met_add_inode(struct orma_met *met, uint64_t device, uint64_t inode)
{
	struct orma_met_inode new_inode = {device, inode};

	met->inode_slots[inode % ORMA_MET_SLOTS] = new_inode;
	met->has_inode_slots = true;
	if (!met->on_inode || inode == 0)
		return;
	if (met->inode_count == ORMA_MET_MAX)
		deliver_inodes(met);
	met->inodes[met->inode_count++] = new_inode;
}
