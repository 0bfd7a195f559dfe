/* SPDX-License-Identifier: Apache-2.0
 * revival.h - the state of a forked child, and how the child becomes a producer of its own.
 *
 *   NONE --fork while the client is on--> POSSIBLE --one thread wins--> RUNNING --> NONE
 *
 * Invariant: orma_client_is_forked is set from the fork until the revival has succeeded; it stays set
 * when the revival failed, and then the process stays silent. fork.c explains the rest.
 */
#ifndef ORMA_CLIENT_REVIVAL_H
#define ORMA_CLIENT_REVIVAL_H

#include <orma/init.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Set in the child of a fork until it is a producer of its own: everything there is belongs to threads
 * that do not exist in this process. Relaxed: a thread that sees the change late finds a client that is
 * OFF or CHANGING.
 */
extern _Atomic bool orma_client_is_forked;
/* The number of forks between the first process and this one. The child increments it before it has a
 * second thread. An object that remembers another number belongs to the parent. */
extern uint32_t orma_client_fork_count;

static inline bool orma_client_is_silent_child(void)
{
	return atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed);
}

/* Begins anew in the child, with these options (NULL = the parent's). 0 or -errno. */
typedef int orma_client_restart_fn(const struct orma_init_options *options);

/* Sets the function that orma_client_revive() calls. */
void orma_client_revival_init(orma_client_restart_fn *restart);
/* In the child, by the handler of the fork: silent from now on when a revival is possible. */
void orma_client_revival_allow(bool is_possible);
/* In the child, by the handler of the fork: the parent was itself reviving. */
bool orma_client_revival_is_running(void);
/* True: this is the child of a fork, and the caller carries on until orma_client_revival_end(). */
bool orma_client_revival_begin(void);
/* Negative: the revival failed, and the process stays silent. */
void orma_client_revival_end(int error);
/* Makes the child of a fork a producer of its own, once; does nothing elsewhere. Keeps errno. */
void orma_client_revive(void);
/* An object that is never to be freed, as those of the parent in the child, stays reachable, so that leak checkers do not
 * report it. NULL is ignored. Any thread; async-signal-safe. */
void orma_client_keep_reachable(void *object);

#endif
