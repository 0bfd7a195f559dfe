/* SPDX-License-Identifier: Apache-2.0
 * turns.c - shares the time of a loop among the users of its connections.
 *
 * While the turns of the loop are short, connections are served as they become ready, and this code
 * only measures time. When a turn has used TURN_NS, connections that become ready have to wait. A
 * task serves them in the following turns, for TURN_NS in each. It first serves the user that has
 * used the least time. Among the connections of that user it prefers those whose last work was
 * short, but serves a costly one from time to time. A user that begins to wait after a pause starts
 * with the least used_ns of the waiting users, so that idle time cannot be saved up. As a result, a
 * turn takes a few milliseconds with any number of connections, and a user with little work is
 * served in the next turn.
 *
 * Invariants: a user is in `ready` exactly while one of its connections waits; the task is queued
 * exactly while `ready` is not empty.
 *
 * Rejected: only a budget per connection and turn (with hundreds of connections a turn takes a
 * second), shares per connection (the user that opens the most connections gets the most time), and
 * one order of all connections by used time (each step needs a search).
 */
#include "ipc/turns.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/macros.h"

#define TURN_NS   (2 * ORMA_NS_PER_MS)
#define COSTLY_NS (ORMA_NS_PER_MS / 4)

enum { CHEAP, COSTLY, CHEAP_IN_A_ROW = 4 };

struct orma_ipc_user {
	struct orma_list link, ready_link;
	uid_t uid;
	bool is_known;
	unsigned turn_count; /* references of struct orma_ipc_turn */
	unsigned cheap_in_a_row;
	uint64_t used_ns; /* virtual: raised to least_used_ns when the user begins to wait */
	struct orma_list waiting[2]; /* struct orma_ipc_turn: CHEAP, COSTLY */
};

struct orma_ipc_turns {
	struct orma_loop *loop;
	struct orma_task task;
	struct orma_list users, ready;
	uint64_t loop_turn, spent_ns; /* the turn of the loop in which spent_ns was spent */
	uint64_t thread_ns;           /* the thread's CPU time when it was last read */
	uint64_t least_used_ns;       /* initial used_ns of a user that joins; monotonic */
};

/* --- users ------------------------------------------------------------------------------------ */

static struct orma_ipc_user *find_user(struct orma_ipc_turns *turns, uid_t uid, bool is_known)
{
	struct orma_ipc_user *user;

	ORMA_LIST_FOR_EACH (user, &turns->users, link)
		if (user->is_known == is_known && (!is_known || user->uid == uid))
			return user;
	user = orma_base_zalloc(sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	user->is_known = is_known;
	orma_base_list_init(&user->waiting[CHEAP]);
	orma_base_list_init(&user->waiting[COSTLY]);
	orma_base_list_init(&user->ready_link);
	orma_base_list_append(&turns->users, &user->link);
	return user;
}

static bool has_waiting(const struct orma_ipc_user *user)
{
	return !orma_base_list_is_empty(&user->waiting[CHEAP]) ||
	       !orma_base_list_is_empty(&user->waiting[COSTLY]);
}

static void release_user(struct orma_ipc_user *user)
{
	ORMA_ASSERT(user->turn_count > 0);
	if (--user->turn_count > 0)
		return;
	ORMA_ASSERT(!has_waiting(user) && orma_base_list_is_empty(&user->ready_link));
	orma_base_list_remove(&user->link);
	orma_base_free(user);
}

static struct orma_ipc_user *pick_user(struct orma_ipc_turns *turns)
{
	struct orma_ipc_user *user, *best = NULL;

	ORMA_LIST_FOR_EACH (user, &turns->ready, ready_link)
		if (!best || user->used_ns < best->used_ns)
			best = user;
	return best;
}

static struct orma_ipc_turn *pick_turn(struct orma_ipc_user *user)
{
	ORMA_ASSERT(has_waiting(user));
	struct orma_list *cheap = &user->waiting[CHEAP], *costly = &user->waiting[COSTLY];
	bool takes_cheap =
		!orma_base_list_is_empty(cheap) &&
		(orma_base_list_is_empty(costly) || user->cheap_in_a_row < CHEAP_IN_A_ROW);

	user->cheap_in_a_row = takes_cheap ? user->cheap_in_a_row + 1 : 0;
	return ORMA_LIST_ENTRY(takes_cheap ? cheap->next : costly->next, struct orma_ipc_turn,
			       link);
}

/* --- time ------------------------------------------------------------------------------------- */

static uint64_t *spent_ns(struct orma_ipc_turns *turns)
{
	uint64_t loop_turn = orma_base_loop_turn_number(turns->loop);

	if (turns->loop_turn != loop_turn)
		turns->spent_ns = 0;
	turns->loop_turn = loop_turn;
	return &turns->spent_ns;
}

bool orma_ipc_turn_is_over(const struct orma_ipc_turn *turn)
{
	return turn->turns && *spent_ns(turn->turns) >= TURN_NS;
}

uint64_t orma_ipc_turns_begin(void)
{
	return orma_base_clock_ns(CLOCK_MONOTONIC);
}

/* Returns the CPU time since the last call. Wall-clock time would include waits for the processor
 * on a busy machine. */
static uint64_t thread_time_since(struct orma_ipc_turns *turns)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t ns = now_ns - turns->thread_ns;

	turns->thread_ns = now_ns;
	return ns;
}

void orma_ipc_turns_end(struct orma_ipc_turns *turns, struct orma_ipc_turn *turn, uint64_t begin_ns)
{
	uint64_t ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;

	if (!turns)
		return;
	*spent_ns(turns) += ns;
	if (ns >= COSTLY_NS)
		ns = ORMA_MIN(ns, thread_time_since(turns));
	if (!turn)
		return;
	turn->is_costly = ns >= COSTLY_NS;
	turn->user->used_ns += ns;
	/* While no user waits, the used times do not matter. */
	if (orma_base_list_is_empty(&turns->ready))
		turns->least_used_ns = ORMA_MAX(turns->least_used_ns, turn->user->used_ns);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void serve_one(struct orma_ipc_turns *turns)
{
	struct orma_ipc_user *user = pick_user(turns);
	struct orma_ipc_turn *turn = pick_turn(user);

	ORMA_ASSERT(turn->is_waiting && turn->user == user);
	turns->least_used_ns = ORMA_MAX(turns->least_used_ns, user->used_ns);
	orma_ipc_turn_cancel(turn);
	turn->fn(turn);
}

static void on_task(struct orma_task *task)
{
	struct orma_ipc_turns *turns = ORMA_CONTAINER_OF(task, struct orma_ipc_turns, task);

	/* Serve at least one, so that there is progress even when the rest of the turn has used all
	 * the time. */
	do
		serve_one(turns);
	while (!orma_base_list_is_empty(&turns->ready) && *spent_ns(turns) < TURN_NS);
	if (!orma_base_list_is_empty(&turns->ready))
		orma_base_loop_defer(turns->loop, &turns->task, on_task);
}

void orma_ipc_turn_wait(struct orma_ipc_turn *turn)
{
	struct orma_ipc_turns *turns = turn->turns;
	struct orma_ipc_user *user = turn->user;

	if (turn->is_waiting)
		return;
	ORMA_ASSERT(has_waiting(user) == !orma_base_list_is_empty(&user->ready_link));
	if (!has_waiting(user)) {
		user->used_ns = ORMA_MAX(user->used_ns, turns->least_used_ns);
		orma_base_list_append(&turns->ready, &user->ready_link);
	}
	orma_base_list_append(&user->waiting[turn->is_costly ? COSTLY : CHEAP], &turn->link);
	turn->is_waiting = true;
	orma_base_loop_defer(turns->loop, &turns->task, on_task);
}

void orma_ipc_turn_cancel(struct orma_ipc_turn *turn)
{
	if (!turn->is_waiting)
		return;
	turn->is_waiting = false;
	orma_base_list_remove(&turn->link);
	if (!has_waiting(turn->user))
		orma_base_list_remove(&turn->user->ready_link);
	if (orma_base_list_is_empty(&turn->turns->ready))
		orma_base_task_cancel(&turn->turns->task);
}

/* --- lifetimes -------------------------------------------------------------------------------- */

int orma_ipc_turn_init(struct orma_ipc_turn *turn, struct orma_ipc_turns *turns, uid_t uid,
		       bool is_known, void (*fn)(struct orma_ipc_turn *turn))
{
	struct orma_ipc_user *user = find_user(turns, uid, is_known);

	if (!user)
		return -ENOMEM;
	user->turn_count++;
	/* A new connection counts as costly until its first work was short. Otherwise a user could
	 * profit from opening new connections. */
	*turn = (struct orma_ipc_turn){.turns = turns, .user = user, .fn = fn, .is_costly = true};
	return 0;
}

void orma_ipc_turn_done(struct orma_ipc_turn *turn)
{
	if (!turn->turns)
		return;
	orma_ipc_turn_cancel(turn);
	release_user(turn->user);
	turn->turns = NULL;
}

int orma_ipc_turns_new(struct orma_loop *loop, struct orma_ipc_turns **ret)
{
	struct orma_ipc_turns *turns = orma_base_zalloc(sizeof(*turns));

	if (!turns)
		return -ENOMEM;
	turns->loop = loop;
	orma_base_list_init(&turns->users);
	orma_base_list_init(&turns->ready);
	*ret = turns;
	return 0;
}

void orma_ipc_turns_free(struct orma_ipc_turns *turns)
{
	if (!turns)
		return;
	ORMA_ASSERT(orma_base_list_is_empty(&turns->users));
	orma_base_task_cancel(&turns->task);
	orma_base_free(turns);
}
