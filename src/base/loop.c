/* SPDX-License-Identifier: Apache-2.0
 * loop.c - one epoll set, with a timer descriptor for the earliest timer and an event descriptor
 * for wakes.
 *
 * A turn runs the tasks that were queued when it began, waits, calls the watches that are ready,
 * and then the timers that are due. Callbacks may remove anything safely: the events of the current
 * wait are stored in the loop, and removing a watch clears its entries that were not delivered yet;
 * timers and tasks are removed from the heap and the list before they are called.
 *
 * Timers (timer_heap.c) use a descriptor and not epoll's timeout, because that has a resolution of a millisecond
 * and is unknown to an outer loop. The descriptor is set at most once per turn. Only a loop that is
 * embedded in another one (its descriptor was asked for) sets it between turns as well. Rejected: a
 * timer descriptor per timer, because it takes a system call to create, arm and destroy each.
 */
#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/loop_guard.h"
#include "base/macros.h"
#include "base/timer_heap.h"

enum { EVENTS_PER_TURN = 64 };

/* Values of programmed_ns other than a deadline. */
#define TIMER_OFF   UINT64_C(0)
#define TIMER_FIRED UINT64_MAX

struct orma_loop {
	int epoll_fd, timer_fd;
	_Atomic int
		wake_fd; /* relaxed: a wake of the descriptor before is lost, and finds the loop awake */
	bool is_stopped, is_in_turn, is_embedded;
	struct orma_loop_guard guard;
	uint64_t turn_number;
	pthread_t thread; /* the thread that takes the current turn; only assertions read it */

	/* Events of the current turn; data.ptr == NULL: the watch was removed. */
	struct epoll_event events[EVENTS_PER_TURN];
	int event_count, event_idx;

	struct orma_timer_heap timers;
	uint64_t programmed_ns; /* the setting of timer_fd */

	struct orma_list tasks; /* links of struct orma_task */

	void (*wake_fn)(void *ctx);
	void *wake_ctx;
	struct orma_fd_closer *closer;
	struct orma_loop_times *times; /* borrowed; NULL = not measured */
};

/* During a turn the loop belongs to the thread that takes the turn. */
static inline bool is_on_loop_thread(const struct orma_loop *loop)
{
	return !loop->is_in_turn || pthread_equal(loop->thread, pthread_self());
}

/* ---- timers ---- */

static void timer_fd_set(struct orma_loop *loop, uint64_t deadline_ns)
{
	struct itimerspec spec = {.it_value = {
					  .tv_sec = (time_t)(deadline_ns / ORMA_NS_PER_SEC),
					  .tv_nsec = (long)(deadline_ns % ORMA_NS_PER_SEC),
				  }};
	/* Setting the timer also clears an expiry that was not read, so the descriptor is never
	 * read. */
	timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
	loop->programmed_ns = deadline_ns;
}

/* Sets the timer descriptor to the earliest deadline. In an embedded loop, queued tasks count as a
 * timer that is due. */
static void program_timer(struct orma_loop *loop)
{
	uint64_t wanted = TIMER_OFF;
	if (loop->is_embedded && !orma_base_list_is_empty(&loop->tasks))
		wanted = 1;
	else if (loop->timers.count > 0)
		/* 0 would switch the descriptor off. A larger value would be negative as
		 * int64_t. */
		wanted = ORMA_MIN(ORMA_MAX(loop->timers.timers[0]->deadline_ns, UINT64_C(1)),
				  (uint64_t)INT64_MAX);
	if (wanted != loop->programmed_ns)
		timer_fd_set(loop, wanted);
}

static void program_timer_if_embedded(struct orma_loop *loop)
{
	if (loop->is_embedded && !loop->is_in_turn)
		program_timer(loop);
}

static void disarm(struct orma_timer *timer)
{
	struct orma_loop *loop = timer->loop;
	ORMA_ASSERT(is_on_loop_thread(loop));
	orma_timer_heap_remove(&loop->timers, timer);
	timer->is_armed = false;
}

int orma_base_loop_arm(struct orma_loop *loop, struct orma_timer *timer, uint64_t deadline_ns,
		       orma_timer_fn *fn)
{
	ORMA_ASSERT(is_on_loop_thread(loop));
	bool is_new = !timer->is_armed || timer->loop != loop;
	if (is_new) {
		int r = orma_timer_heap_reserve_one(&loop->timers);
		if (r < 0)
			return r;
		orma_base_timer_disarm(timer);
		timer->loop = loop;
		timer->is_armed = true;
	}
	timer->deadline_ns = deadline_ns;
	timer->fn = fn;
	if (is_new)
		orma_timer_heap_add(&loop->timers, timer);
	else
		orma_timer_heap_update(&loop->timers, timer);
	program_timer_if_embedded(loop);
	return 0;
}

int orma_base_loop_arm_in(struct orma_loop *loop, struct orma_timer *timer, uint64_t delay_ns,
			  orma_timer_fn *fn)
{
	uint64_t deadline_ns;
	if (__builtin_add_overflow(orma_base_clock_ns(CLOCK_MONOTONIC), delay_ns, &deadline_ns))
		deadline_ns = UINT64_MAX;
	return orma_base_loop_arm(loop, timer, deadline_ns, fn);
}

void orma_base_timer_disarm(struct orma_timer *timer)
{
	if (!timer->is_armed)
		return;
	disarm(timer);
	program_timer_if_embedded(timer->loop);
}

static int run_due_timers(struct orma_loop *loop)
{
	if (loop->timers.count == 0 || loop->is_stopped)
		return 0;
	int called = 0;
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	/* Bounded, because a timer may re-arm itself for a time that is already past. */
	for (uint32_t left = loop->timers.count; left > 0 && loop->timers.count > 0; left--) {
		struct orma_timer *timer = loop->timers.timers[0];
		if (timer->deadline_ns > now_ns || loop->is_stopped)
			break;
		disarm(timer);
		timer->fn(timer);
		called++;
	}
	return called;
}

/* ---- watches ---- */

static uint32_t epoll_bits(unsigned interest)
{
	return (interest & ORMA_LOOP_READ ? (uint32_t)EPOLLIN : 0) |
	       (interest & ORMA_LOOP_WRITE ? (uint32_t)EPOLLOUT : 0);
}

static unsigned ready_bits(uint32_t events)
{
	return (events & EPOLLIN ? ORMA_LOOP_READ : 0u) |
	       (events & EPOLLOUT ? ORMA_LOOP_WRITE : 0u) |
	       (events & (EPOLLHUP | EPOLLERR) ? ORMA_LOOP_HANGUP : 0u);
}

int orma_base_loop_watch(struct orma_loop *loop, struct orma_watch *watch, int fd,
			 unsigned interest, orma_watch_fn *fn)
{
	ORMA_ASSERT(is_on_loop_thread(loop) && fn);
	struct epoll_event event = {.events = epoll_bits(interest), .data.ptr = watch};
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	*watch = (struct orma_watch){.fd = fd, .interest = interest, .fn = fn, .loop = loop};
	return 0;
}

int orma_base_watch_set_interest(struct orma_watch *watch, unsigned interest)
{
	if (!watch->loop)
		return -EINVAL;
	if (watch->interest == interest)
		return 0;
	struct epoll_event event = {.events = epoll_bits(interest), .data.ptr = watch};
	if (epoll_ctl(watch->loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0)
		return -errno;
	watch->interest = interest;
	return 0;
}

void orma_base_watch_remove(struct orma_watch *watch)
{
	struct orma_loop *loop = watch->loop;
	if (!loop)
		return;
	ORMA_ASSERT(is_on_loop_thread(loop));
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	for (int i = loop->event_idx; i < loop->event_count; i++)
		if (loop->events[i].data.ptr == watch)
			loop->events[i].data.ptr = NULL;
	watch->loop = NULL;
}

static int get_wake_fd(const struct orma_loop *loop)
{
	return atomic_load_explicit(&loop->wake_fd, memory_order_relaxed);
}

static int handle_wake(struct orma_loop *loop)
{
	uint64_t count;
	if (read(get_wake_fd(loop), &count, sizeof(count)) < 0 || !loop->wake_fn)
		return 0;
	loop->wake_fn(loop->wake_ctx);
	return 1;
}

static int handle_event(struct orma_loop *loop, const struct epoll_event *event)
{
	if (!event->data.ptr)
		return 0;
	if (event->data.ptr == &loop->wake_fd)
		return handle_wake(loop);
	if (event->data.ptr == &loop->timer_fd) {
		loop->programmed_ns = TIMER_FIRED;
		return 0;
	}
	struct orma_watch *watch = event->data.ptr;
	ORMA_ASSERT(watch->loop == loop);
	/* A callback of this turn may have removed an interest since the wait. */
	unsigned ready = ready_bits(event->events) & (watch->interest | ORMA_LOOP_HANGUP);
	if (ready == 0)
		return 0;
	watch->fn(watch, ready);
	return 1;
}

static int run_events(struct orma_loop *loop)
{
	int called = 0;
	while (loop->event_idx < loop->event_count && !loop->is_stopped) {
		/* Copy the entry, because the callback may clear it. */
		struct epoll_event event = loop->events[loop->event_idx++];
		called += handle_event(loop, &event);
	}
	loop->event_idx = loop->event_count = 0;
	return called;
}

/* ---- tasks ---- */

void orma_base_loop_defer(struct orma_loop *loop, struct orma_task *task, orma_task_fn *fn)
{
	ORMA_ASSERT(is_on_loop_thread(loop));
	task->fn = fn;
	if (task->is_queued)
		return;
	task->is_queued = true;
	orma_base_list_append(&loop->tasks, &task->link);
	program_timer_if_embedded(loop);
}

void orma_base_task_cancel(struct orma_task *task)
{
	if (!task->is_queued)
		return;
	task->is_queued = false;
	orma_base_list_remove(&task->link);
}

static int run_tasks(struct orma_loop *loop)
{
	int called = 0;
	/* Tasks that are queued from now on are behind the mark, and run in the next turn. */
	struct orma_list mark;
	orma_base_list_append(&loop->tasks, &mark);
	while (loop->tasks.next != &mark && !loop->is_stopped) {
		struct orma_task *task = ORMA_LIST_ENTRY(loop->tasks.next, struct orma_task, link);
		orma_base_task_cancel(task);
		task->fn(task);
		called++;
	}
	orma_base_list_remove(&mark);
	return called;
}

/* ---- the loop ---- */

/* `place` names the descriptor in its events. */
static int add_own_fd(struct orma_loop *loop, int fd, void *place)
{
	if (fd < 0)
		return -errno;
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = place};
	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_fds(struct orma_loop *loop)
{
	loop->epoll_fd = orma_base_fd_avoid_standard(epoll_create1(EPOLL_CLOEXEC));
	if (loop->epoll_fd < 0)
		return -errno;
	loop->timer_fd = orma_base_fd_avoid_standard(
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	int r = add_own_fd(loop, loop->timer_fd, &loop->timer_fd);
	if (r < 0)
		return r;
	int wake_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	r = add_own_fd(loop, wake_fd, &loop->wake_fd);
	atomic_store_explicit(&loop->wake_fd, wake_fd, memory_order_relaxed);
	return r;
}

static void close_fds(struct orma_loop *loop)
{
	orma_base_fd_close(get_wake_fd(loop));
	atomic_store_explicit(&loop->wake_fd, -1, memory_order_relaxed);
	loop->timer_fd = orma_base_fd_close(loop->timer_fd);
	loop->epoll_fd = orma_base_fd_close(loop->epoll_fd);
	orma_loop_guard_close(&loop->guard);
}

int orma_base_loop_new(struct orma_loop **ret)
{
	struct orma_loop *loop = orma_base_zalloc(sizeof(*loop));
	if (!loop)
		return -ENOMEM;
	loop->epoll_fd = loop->timer_fd = -1;
	atomic_init(&loop->wake_fd, -1);
	orma_loop_guard_init(&loop->guard);
	orma_base_list_init(&loop->tasks);
	int r = open_fds(loop);
	if (r < 0) {
		orma_base_loop_free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

void orma_base_loop_free(struct orma_loop *loop)
{
	if (!loop)
		return;
	/* Owners that outlive the loop may still disarm timers and cancel tasks. */
	while (loop->timers.count > 0)
		loop->timers.timers[--loop->timers.count]->is_armed = false;
	while (!orma_base_list_is_empty(&loop->tasks))
		orma_base_task_cancel(ORMA_LIST_ENTRY(loop->tasks.next, struct orma_task, link));
	close_fds(loop);
	orma_timer_heap_done(&loop->timers);
	orma_base_free(loop);
}

void orma_base_loop_set_closer(struct orma_loop *loop, struct orma_fd_closer *closer)
{
	loop->closer = closer;
}

struct orma_fd_closer *orma_base_loop_closer(const struct orma_loop *loop)
{
	return loop->closer;
}

void orma_base_loop_set_wake_handler(struct orma_loop *loop, void (*fn)(void *ctx), void *ctx)
{
	loop->wake_fn = fn;
	loop->wake_ctx = ctx;
}

void orma_base_loop_wake(struct orma_loop *loop)
{
	orma_base_fd_wake(get_wake_fd(loop));
	if (!orma_base_loop_can_wake(loop))
		orma_loop_guard_hang_up(&loop->guard);
}

bool orma_base_loop_can_wake(const struct orma_loop *loop)
{
	return orma_base_fd_is_own(get_wake_fd(loop));
}

/* Lost descriptors are looked for before and after the wait, as they may be used then. */
static int wait_for_events(struct orma_loop *loop, int timeout_ms)
{
	if (orma_loop_guard_has_lost_fds(&loop->guard))
		return -EBADF;
	program_timer(loop);
	if (loop->guard.is_on)
		orma_loop_guard_wait(&loop->guard, loop->epoll_fd, timeout_ms);
	int count = epoll_wait(loop->epoll_fd, loop->events, EVENTS_PER_TURN,
			       loop->guard.is_on ? 0 : timeout_ms);
	int error = count < 0 && errno != EINTR ? errno : 0;
	if (orma_loop_guard_has_lost_fds(&loop->guard))
		return -EBADF;
	if (count < 0)
		return -error;
	loop->event_idx = 0;
	loop->event_count = count;
	return 0;
}

void orma_base_loop_set_times(struct orma_loop *loop, struct orma_loop_times *times)
{
	loop->times = times;
}

static uint64_t time_if_measured(const struct orma_loop *loop)
{
	return loop->times ? orma_base_clock_ns(CLOCK_MONOTONIC) : 0;
}

/* `begin_ns` is when the turn would have begun if it had not waited. */
static void add_turn(const struct orma_loop *loop, uint64_t begin_ns)
{
	/* The measurement may have begun or ended in this turn. */
	if (begin_ns == 0 || !loop->times)
		return;
	loop->times->count++;
	loop->times->longest_ns =
		ORMA_MAX(loop->times->longest_ns, time_if_measured(loop) - begin_ns);
}

int orma_base_loop_turn(struct orma_loop *loop, int timeout_ms)
{
	if (loop->is_in_turn)
		return -EBUSY;
	loop->is_in_turn = true;
	loop->thread = pthread_self();
	loop->turn_number++;
	uint64_t begin_ns = time_if_measured(loop);
	int called = run_tasks(loop);
	if (called > 0 || loop->is_stopped || !orma_base_list_is_empty(&loop->tasks))
		timeout_ms = 0;
	if (begin_ns)
		begin_ns -= time_if_measured(loop);
	int r = wait_for_events(loop, timeout_ms);
	if (begin_ns)
		begin_ns += time_if_measured(loop);
	if (r == 0) {
		called += run_events(loop);
		called += run_due_timers(loop);
	}
	add_turn(loop, begin_ns);
	loop->is_in_turn = false;
	program_timer_if_embedded(loop);
	return r < 0 ? r : called;
}

uint64_t orma_base_loop_turn_number(const struct orma_loop *loop)
{
	return loop->turn_number;
}

bool orma_base_loop_is_in_turn(const struct orma_loop *loop)
{
	return loop->is_in_turn;
}

int orma_base_loop_run(struct orma_loop *loop)
{
	int r = 0;
	while (!loop->is_stopped && r >= 0)
		r = orma_base_loop_turn(loop, -1);
	r = loop->is_stopped ? 0 : r;
	loop->is_stopped = false;
	return r < 0 ? r : 0;
}

void orma_base_loop_stop(struct orma_loop *loop)
{
	loop->is_stopped = true;
}

void orma_base_loop_set_close_on_fork(struct orma_loop *loop)
{
	orma_base_fd_set_close_on_fork(loop->epoll_fd);
	orma_base_fd_set_close_on_fork(loop->timer_fd);
	orma_base_fd_set_close_on_fork(get_wake_fd(loop));
	orma_loop_guard_start(&loop->guard);
}

int orma_base_loop_reopen(struct orma_loop *loop)
{
	ORMA_ASSERT(!loop->is_in_turn);
	close_fds(loop);
	loop->programmed_ns = TIMER_OFF;
	int r = open_fds(loop);
	if (r == 0)
		orma_base_loop_set_close_on_fork(loop);
	return r;
}

int orma_base_loop_fd(struct orma_loop *loop)
{
	loop->is_embedded = true;
	program_timer_if_embedded(loop);
	return loop->epoll_fd;
}
