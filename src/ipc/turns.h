/* SPDX-License-Identifier: Apache-2.0
 * turns.h - chooses the connection that is served next when there is more work than one turn of the
 * loop should take; see turns.c.
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

/* The state of one connection. A connection with {0} never waits. */
struct orma_ipc_turn {
	struct orma_list link; /* in a list of its user, while it waits */
	struct orma_ipc_turns *turns;
	struct orma_ipc_user *user;
	void (*fn)(struct orma_ipc_turn *turn);
	bool is_waiting;
	bool is_costly; /* its last work took long */
};

/* Makes the scheduler that all hosts of a loop share. */
int orma_ipc_turns_new(struct orma_loop *loop, struct orma_ipc_turns **ret);
/* Call it after orma_ipc_turn_done() for all connections. */
void orma_ipc_turns_free(struct orma_ipc_turns *turns);

/* `is_known` means that uid comes from the kernel; all other connections count as one user. 0 or
 * -ENOMEM. */
int orma_ipc_turn_init(struct orma_ipc_turn *turn, struct orma_ipc_turns *turns, uid_t uid,
		       bool is_known, void (*fn)(struct orma_ipc_turn *turn));
void orma_ipc_turn_done(struct orma_ipc_turn *turn);

/* Returns true when this turn of the loop has used its time, so that further work must wait. */
bool orma_ipc_turn_is_over(const struct orma_ipc_turn *turn);
/* Calls `fn` in another turn of the loop. Does nothing when the connection waits already. */
void orma_ipc_turn_wait(struct orma_ipc_turn *turn);
void orma_ipc_turn_cancel(struct orma_ipc_turn *turn);

/* Call both around work that is done without waiting. `turn` is NULL when that work has freed the
 * connection. */
uint64_t orma_ipc_turns_begin(void);
void orma_ipc_turns_end(struct orma_ipc_turns *turns, struct orma_ipc_turn *turn,
			uint64_t begin_ns);

#endif
