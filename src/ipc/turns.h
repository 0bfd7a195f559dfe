/* SPDX-License-Identifier: Apache-2.0
 * turns.h - whose connection is served next, when there is more to do than one turn of the loop
 * should take; see turns.c.
 */
#ifndef ORMA_IPC_TURNS_H
#define ORMA_IPC_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"

struct orma_ipc_turns;
struct orma_ipc_user;

/* Of one connection; {0} is one that never waits. */
struct orma_ipc_turn {
	struct orma_list link; /* of its user, while it waits */
	struct orma_ipc_turns *turns;
	struct orma_ipc_user *user;
	void (*fn)(struct orma_ipc_turn *turn);
	bool is_waiting;
	bool is_costly; /* what was done for it last took long */
};

/* One for all hosts of a loop. */
int orma_ipc_turns_new(struct orma_loop *loop, struct orma_ipc_turns **ret);
/* After all turns of it. */
void orma_ipc_turns_free(struct orma_ipc_turns *turns);

/* `is_known`: the kernel vouches for the user; all others are one user together. 0 or -ENOMEM. */
int orma_ipc_turn_init(struct orma_ipc_turn *turn, struct orma_ipc_turns *turns, uid_t uid,
		       bool is_known, void (*fn)(struct orma_ipc_turn *turn));
void orma_ipc_turn_done(struct orma_ipc_turn *turn);

/* This turn of the loop has had its time: what is not done yet is to wait. */
bool orma_ipc_turn_is_over(const struct orma_ipc_turn *turn);
/* fn is called in another turn of the loop. Harmless when it waits already. */
void orma_ipc_turn_wait(struct orma_ipc_turn *turn);
void orma_ipc_turn_cancel(struct orma_ipc_turn *turn);

/* Around work that did not wait. The turn may be gone at the end of it: NULL then. */
uint64_t orma_ipc_turns_begin(void);
void orma_ipc_turns_end(struct orma_ipc_turns *turns, struct orma_ipc_turn *turn,
			uint64_t begin_ns);

#endif
