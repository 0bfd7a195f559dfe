/* SPDX-License-Identifier: Apache-2.0
 * met.h - the tasks, inodes, descriptors and addresses that a session's events have named.
 */
#ifndef ORMA_PROBES_MET_H
#define ORMA_PROBES_MET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/str.h"
#include "probes/ftrace/printk_formats.h"
#include "probes/ftrace/symbol_index.h"

#define ORMA_MET_COMM_BYTES 16

enum orma_met_kind { ORMA_MET_SEEN, ORMA_MET_RENAMED, ORMA_MET_NEW, ORMA_MET_SYSCALL };

struct orma_met_task {
	enum orma_met_kind kind;
	int32_t tid, parent_tid;
	uint64_t clone_flags;
	bool has_comm;
	char comm[ORMA_MET_COMM_BYTES];
};

struct orma_met_inode {
	uint64_t device, inode;
};

#define ORMA_MET_SLOTS 1024 /* a power of two */
#define ORMA_MET_MAX   256  /* a list that is full is delivered early */

struct orma_met {
	/* The receivers; each may be NULL. */
	void *ctx;
	void (*on_task)(void *ctx, int32_t tid, struct orma_str comm);
	void (*on_task_renamed)(void *ctx, int32_t tid, struct orma_str comm);
	void (*on_new_task)(void *ctx, int32_t parent_tid, int32_t tid, uint64_t clone_flags,
			    struct orma_str comm);
	void (*on_inode)(void *ctx, uint64_t device, uint64_t inode);
	void (*on_fd)(void *ctx, int32_t tid, uint32_t fd); /* at once, and again for each call */
	int32_t own_tid; /* inodes and descriptors of this thread are left out */

	/* The last task and inode with these low bits; a task as tid * 2, plus 1 if its name was known too. */
	uint32_t task_slots[ORMA_MET_SLOTS];
	struct orma_met_inode inode_slots[ORMA_MET_SLOTS];
	bool has_inode_slots; /* one is in use */
	struct orma_met_task tasks[ORMA_MET_MAX];
	struct orma_met_inode inodes[ORMA_MET_MAX];
	uint32_t task_count, inode_count;

	struct orma_symbol_index symbols;
	const struct orma_printk_formats *printk_formats; /* borrowed; NULL = none */
};

/* Delivers what was met, and begins anew. */
void orma_met_deliver(struct orma_met *met);

/* The slow paths of the functions below. Do not call them. */
void orma_met_add_task(struct orma_met *met, int32_t tid, const uint8_t *comm);
void orma_met_add_inode(struct orma_met *met, uint64_t device, uint64_t inode);

/* `comm` has ORMA_MET_COMM_BYTES bytes, or is NULL. */
static inline void orma_met_task(struct orma_met *met, int32_t tid, const uint8_t *comm)
{
	uint32_t slot = met->task_slots[(uint32_t)tid % ORMA_MET_SLOTS];
	uint32_t wanted = (uint32_t)tid * 2 + (comm != NULL);

	/* Also true of task 0, the idle task, while the slot is empty. */
	if (ORMA_LIKELY((slot | (comm == NULL)) == (wanted | 1)))
		return;
	orma_met_add_task(met, tid, comm);
}

void orma_met_rename(struct orma_met *met, int32_t tid, const uint8_t *comm);
void orma_met_new_task(struct orma_met *met, int32_t parent_tid, int32_t tid, uint64_t clone_flags,
		       const uint8_t *comm);

/* The end of a system call. Many return a new descriptor. */
void orma_met_syscall(struct orma_met *met, int32_t tid, uint64_t number, int64_t result);

static inline void orma_met_inode(struct orma_met *met, int32_t tid, uint64_t device,
				  uint64_t inode)
{
	const struct orma_met_inode *slot = &met->inode_slots[inode % ORMA_MET_SLOTS];

	if ((slot->inode == inode && slot->device == device) || tid == met->own_tid)
		return;
	orma_met_add_inode(met, device, inode);
}

#endif
