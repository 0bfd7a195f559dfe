/* SPDX-License-Identifier: Apache-2.0
 * loop_test.c - watches, timers, tasks, wakes, and removal from inside callbacks.
 */
#include "base/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "harness.h"

struct pair {
	int ends[2];
	struct orma_watch watch;
	struct pair *victim;
	unsigned ready;
	int calls;
};

static struct orma_loop *new_loop(void)
{
	struct orma_loop *loop = NULL;
	CHECK_INT(orma_base_loop_new(&loop), 0);
	return loop;
}

static void on_ready(struct orma_watch *watch, unsigned ready)
{
	struct pair *pair = ORMA_CONTAINER_OF(watch, struct pair, watch);
	pair->ready = ready;
	pair->calls++;
	if (pair->victim)
		orma_base_watch_remove(&pair->victim->watch);
}

static void open_pair(struct pair *pair, struct orma_loop *loop, unsigned interest)
{
	*pair = (struct pair){0};
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair->ends), 0);
	CHECK_INT(orma_base_loop_watch(loop, &pair->watch, pair->ends[0], interest, on_ready), 0);
}

static void close_pair(struct pair *pair)
{
	orma_base_watch_remove(&pair->watch);
	orma_base_fd_close(pair->ends[0]);
	orma_base_fd_close(pair->ends[1]);
}

ORMA_TEST(a_watch_reports_what_it_is_interested_in)
{
	struct orma_loop *loop = new_loop();
	struct pair pair;
	open_pair(&pair, loop, ORMA_LOOP_READ);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK_INT(orma_base_fd_write_all(pair.ends[1], "a", 1), 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(pair.ready, ORMA_LOOP_READ);
	CHECK_INT(orma_base_watch_set_interest(&pair.watch, ORMA_LOOP_READ | ORMA_LOOP_WRITE), 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(pair.ready, ORMA_LOOP_READ | ORMA_LOOP_WRITE);
	CHECK_INT(orma_base_watch_set_interest(&pair.watch, 0), 0);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	pair.ends[1] = orma_base_fd_close(pair.ends[1]);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(pair.ready, ORMA_LOOP_HANGUP);
	close_pair(&pair);
	CHECK_INT(orma_base_watch_set_interest(&pair.watch, 0), -EINVAL);
	orma_base_loop_free(loop);
}

ORMA_TEST(descriptors_that_cannot_be_watched_are_refused)
{
	struct orma_loop *loop = new_loop();
	struct orma_watch watch = {0};
	CHECK_INT(orma_base_loop_watch(loop, &watch, -1, ORMA_LOOP_READ, on_ready), -EBADF);
	CHECK(!watch.loop);
	orma_base_watch_remove(&watch);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_watch_removed_by_another_callback_of_the_same_turn_is_not_called)
{
	struct orma_loop *loop = new_loop();
	struct pair pairs[2];
	for (int i = 0; i < 2; i++) {
		open_pair(&pairs[i], loop, ORMA_LOOP_WRITE);
		pairs[i].victim = &pairs[1 - i];
	}
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(pairs[0].calls + pairs[1].calls, 1);
	close_pair(&pairs[0]);
	close_pair(&pairs[1]);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_watch_may_remove_itself)
{
	struct orma_loop *loop = new_loop();
	struct pair pair;
	open_pair(&pair, loop, ORMA_LOOP_WRITE);
	pair.victim = &pair;
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK(!pair.watch.loop);
	close_pair(&pair);
	orma_base_loop_free(loop);
}

ORMA_TEST(more_descriptors_than_fit_one_wait_all_get_their_turn)
{
	enum { PAIRS = 200 };
	static struct pair pairs[PAIRS];
	struct orma_loop *loop = new_loop();
	for (int i = 0; i < PAIRS; i++)
		open_pair(&pairs[i], loop, ORMA_LOOP_WRITE);
	for (int turn = 0; turn < 10; turn++)
		CHECK(orma_base_loop_turn(loop, 0) > 0);
	for (int i = 0; i < PAIRS; i++) {
		CHECK(pairs[i].calls > 0);
		close_pair(&pairs[i]);
	}
	orma_base_loop_free(loop);
}

struct alarm {
	struct orma_timer timer;
	int calls;
	struct orma_timer *victim;
	bool is_repeating;
};

static int fired[64], fired_count;

static void on_alarm(struct orma_timer *timer)
{
	struct alarm *alarm = ORMA_CONTAINER_OF(timer, struct alarm, timer);
	alarm->calls++;
	if (fired_count < 64)
		fired[fired_count++] = (int)timer->deadline_ns;
	if (alarm->victim)
		orma_base_timer_disarm(alarm->victim);
	if (alarm->is_repeating)
		CHECK_INT(orma_base_loop_arm(timer->loop, timer, timer->deadline_ns, on_alarm), 0);
}

ORMA_TEST(timers_fire_in_the_order_of_their_deadlines)
{
	static struct alarm alarms[64];
	struct orma_loop *loop = new_loop();
	for (int i = 0; i < 64; i++)
		CHECK_INT(orma_base_loop_arm(loop, &alarms[i].timer, (uint64_t)(i * 37 % 64),
					     on_alarm),
			  0);
	for (int i = 0; i < 64; i += 4)
		orma_base_timer_disarm(&alarms[i].timer);
	orma_base_timer_disarm(&alarms[0].timer);
	CHECK_INT(orma_base_loop_turn(loop, -1), 48);
	CHECK_INT(fired_count, 48);
	for (int i = 1; i < 48; i++)
		CHECK(fired[i - 1] < fired[i]);
	for (int i = 0; i < 64; i++)
		CHECK(!alarms[i].timer.is_armed && alarms[i].calls == (i % 4 != 0));
	orma_base_loop_free(loop);
}

ORMA_TEST(a_timer_that_is_armed_again_moves)
{
	struct orma_loop *loop = new_loop();
	struct alarm late = {0}, early = {0};
	CHECK_INT(orma_base_loop_arm(loop, &early.timer, 1, on_alarm), 0);
	CHECK_INT(orma_base_loop_arm_in(loop, &late.timer, UINT64_MAX, on_alarm), 0);
	CHECK(late.timer.deadline_ns == UINT64_MAX);
	CHECK_INT(orma_base_loop_arm_in(loop, &early.timer, 3600 * ORMA_NS_PER_SEC, on_alarm), 0);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK_INT(orma_base_loop_arm_in(loop, &late.timer, ORMA_NS_PER_MS, on_alarm), 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(late.calls, 1);
	CHECK_INT(early.calls, 0);
	orma_base_timer_disarm(&early.timer);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_timer_without_memory_stays_as_it_was)
{
	struct orma_loop *loop = new_loop();
	struct alarm alarm = {0};
	orma_test_fail_allocation(1);
	CHECK_INT(orma_base_loop_arm(loop, &alarm.timer, 1, on_alarm), -ENOMEM);
	CHECK(!alarm.timer.is_armed);
	orma_base_timer_disarm(&alarm.timer);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_timer_may_disarm_another_that_is_due)
{
	struct orma_loop *loop = new_loop();
	struct alarm second = {0}, first = {.victim = &second.timer};
	CHECK_INT(orma_base_loop_arm(loop, &first.timer, 1, on_alarm), 0);
	CHECK_INT(orma_base_loop_arm(loop, &second.timer, 2, on_alarm), 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(second.calls, 0);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_timer_that_always_arms_itself_for_the_past_does_not_hold_the_loop)
{
	struct orma_loop *loop = new_loop();
	struct alarm alarm = {.is_repeating = true};
	CHECK_INT(orma_base_loop_arm(loop, &alarm.timer, 1, on_alarm), 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(alarm.calls, 2);
	orma_base_timer_disarm(&alarm.timer);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	orma_base_loop_free(loop);
}

struct job {
	struct orma_task task;
	struct orma_loop *loop;
	struct job *victim;
	int calls;
	bool is_repeating, is_stopping;
};

static void on_job(struct orma_task *task)
{
	struct job *job = ORMA_CONTAINER_OF(task, struct job, task);
	job->calls++;
	if (job->victim)
		orma_base_task_cancel(&job->victim->task);
	if (job->is_repeating)
		orma_base_loop_defer(job->loop, task, on_job);
	if (job->is_stopping)
		orma_base_loop_stop(job->loop);
}

ORMA_TEST(a_task_runs_once_at_the_next_turn)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop};
	orma_base_loop_defer(loop, &job.task, on_job);
	orma_base_loop_defer(loop, &job.task, on_job);
	CHECK_INT(job.calls, 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK_INT(job.calls, 1);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_task_that_queues_itself_runs_once_per_turn)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop, .is_repeating = true};
	orma_base_loop_defer(loop, &job.task, on_job);
	for (int turn = 1; turn <= 3; turn++) {
		CHECK_INT(orma_base_loop_turn(loop, -1), 1);
		CHECK_INT(job.calls, turn);
	}
	orma_base_task_cancel(&job.task);
	orma_base_task_cancel(&job.task);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	orma_base_loop_free(loop);
}

ORMA_TEST(a_cancelled_task_of_the_same_turn_does_not_run)
{
	struct orma_loop *loop = new_loop();
	struct job second = {.loop = loop}, first = {.loop = loop, .victim = &second};
	orma_base_loop_defer(loop, &first.task, on_job);
	orma_base_loop_defer(loop, &second.task, on_job);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(second.calls, 0);
	orma_base_loop_free(loop);
}

ORMA_TEST(stopping_ends_the_run_and_keeps_what_is_left_for_the_next)
{
	struct orma_loop *loop = new_loop();
	struct job first = {.loop = loop, .is_stopping = true}, second = first;
	orma_base_loop_defer(loop, &first.task, on_job);
	orma_base_loop_defer(loop, &second.task, on_job);
	CHECK_INT(orma_base_loop_run(loop), 0);
	CHECK_INT(first.calls, 1);
	CHECK_INT(second.calls, 0);
	CHECK_INT(orma_base_loop_run(loop), 0);
	CHECK_INT(second.calls, 1);
	orma_base_loop_free(loop);
}

struct nested {
	struct orma_task task;
	struct orma_loop *loop;
	int r;
};

static void on_nested(struct orma_task *task)
{
	struct nested *nested = ORMA_CONTAINER_OF(task, struct nested, task);
	nested->r = orma_base_loop_turn(nested->loop, 0);
}

ORMA_TEST(a_turn_inside_a_turn_is_refused)
{
	struct orma_loop *loop = new_loop();
	struct nested nested = {.loop = loop};
	orma_base_loop_defer(loop, &nested.task, on_nested);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(nested.r, -EBUSY);
	orma_base_loop_free(loop);
}

static void on_wake(void *ctx)
{
	struct job *job = ctx;
	job->calls++;
	orma_base_loop_stop(job->loop);
}

static void *wake_from_thread(void *loop)
{
	orma_base_loop_wake(loop);
	return NULL;
}

ORMA_TEST(a_wake_from_another_thread_ends_the_wait)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop};
	pthread_t thread;
	orma_base_loop_set_wake_handler(loop, on_wake, &job);
	CHECK_INT(pthread_create(&thread, NULL, wake_from_thread, loop), 0);
	CHECK_INT(orma_base_loop_run(loop), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(job.calls, 1);
	orma_base_loop_free(loop);
}

ORMA_TEST(several_wakes_become_one_call_and_one_before_the_wait_is_not_lost)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop};
	orma_base_loop_set_wake_handler(loop, on_wake, &job);
	errno = EDOM;
	for (int i = 0; i < 3; i++)
		orma_base_loop_wake(loop);
	CHECK_INT(errno, EDOM);
	CHECK_INT(orma_base_loop_run(loop), 0);
	CHECK_INT(job.calls, 1);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	orma_base_loop_free(loop);
}

/* The epoll set, the timer, the event descriptor and the two ends of the guard. */
enum { LOOP_FDS = 5 };

ORMA_TEST(a_loop_whose_descriptors_somebody_has_closed_says_so_and_gets_others)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop};
	int taken[LOOP_FDS], count = 0;
	orma_base_loop_set_close_on_fork(loop);
	orma_base_loop_set_wake_handler(loop, on_wake, &job);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK(orma_base_loop_can_wake(loop));
	for (int fd = 0; (fd = orma_base_fd_next_kept(fd)) < ORMA_BASE_CLOSE_ON_FORK_MAX; fd++) {
		CHECK(count < LOOP_FDS);
		CHECK_INT(dup2(STDERR_FILENO, fd), fd);
		taken[count++] = fd;
	}
	CHECK_INT(count, LOOP_FDS);
	CHECK(!orma_base_loop_can_wake(loop));
	CHECK_INT(orma_base_loop_turn(loop, -1), -EBADF);
	CHECK_INT(orma_base_loop_run(loop), -EBADF);
	/* A stop is not forgotten. */
	orma_base_loop_stop(loop);
	CHECK_INT(orma_base_loop_run(loop), 0);
	CHECK_INT(orma_base_loop_reopen(loop), 0);
	CHECK(orma_base_loop_can_wake(loop));
	orma_base_loop_wake(loop);
	CHECK_INT(orma_base_loop_run(loop), 0);
	CHECK_INT(job.calls, 1);
	orma_base_loop_free(loop);
	for (int i = 0; i < count; i++)
		CHECK_INT(close(taken[i]), 0);
}

/* A thread that waits for much longer than the test may take. */
enum { LONG_WAIT_MS = 20000, SHORT_MS = 10000 };
struct waiting {
	struct orma_loop *loop;
	pthread_t thread;
	_Atomic int tid;
	int result;
	uint64_t waited_ms;
};

static void *wait_long(void *ctx)
{
	struct waiting *waiting = ctx;
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	waiting->tid = (int)syscall(SYS_gettid);
	waiting->result = orma_base_loop_turn(waiting->loop, LONG_WAIT_MS);
	waiting->waited_ms = (orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / ORMA_NS_PER_MS;
	return NULL;
}

static bool is_asleep(int tid)
{
	struct orma_buf stat = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, 4096, &stat), 0);
	bool ret = strstr(orma_base_buf_cstr(&stat), ") S ");
	orma_base_buf_done(&stat);
	return ret;
}

static void begin_wait(struct waiting *waiting)
{
	waiting->loop = new_loop();
	orma_base_loop_set_close_on_fork(waiting->loop);
	CHECK_INT(pthread_create(&waiting->thread, NULL, wait_long, waiting), 0);
	while (waiting->tid == 0 || !is_asleep(waiting->tid))
		sched_yield();
}

static void end_wait(struct waiting *waiting)
{
	CHECK_INT(pthread_join(waiting->thread, NULL), 0);
	CHECK_INT(waiting->result, -EBADF);
	CHECK(waiting->waited_ms < SHORT_MS);
	orma_base_loop_free(waiting->loop);
}

ORMA_TEST(a_wait_ends_when_somebody_closes_all_descriptors)
{
	struct waiting waiting = {0};
	int count = 0;

	begin_wait(&waiting);
	for (int fd = 0; (fd = orma_base_fd_next_kept(fd)) < ORMA_BASE_CLOSE_ON_FORK_MAX; fd++)
		count += close(fd) == 0;
	CHECK_INT(count, LOOP_FDS);
	end_wait(&waiting);
}

ORMA_TEST(a_wake_ends_the_wait_of_a_loop_that_has_lost_its_event_descriptor)
{
	struct waiting waiting = {0};
	int count = 0;

	begin_wait(&waiting);
	for (int fd = 0; (fd = orma_base_fd_next_kept(fd)) < ORMA_BASE_CLOSE_ON_FORK_MAX; fd++) {
		char path[64], name[64] = "";
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		CHECK(readlink(path, name, sizeof(name) - 1) > 0);
		if (strstr(name, "eventfd"))
			count += close(fd) == 0;
	}
	CHECK_INT(count, 1);
	errno = EDOM;
	orma_base_loop_wake(waiting.loop);
	CHECK_INT(errno, EDOM);
	end_wait(&waiting);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, timeout_ms) > 0;
}

ORMA_TEST(an_embedded_loop_is_readable_exactly_when_it_has_something_to_do)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop};
	struct alarm alarm = {0};
	int fd = orma_base_loop_fd(loop);
	CHECK(!is_readable(fd, 0));
	orma_base_loop_defer(loop, &job.task, on_job);
	CHECK(is_readable(fd, -1));
	CHECK_INT(orma_base_loop_turn(loop, 0), 1);
	CHECK(!is_readable(fd, 0));
	CHECK_INT(orma_base_loop_arm_in(loop, &alarm.timer, ORMA_NS_PER_MS, on_alarm), 0);
	CHECK(is_readable(fd, -1));
	while (alarm.calls == 0)
		CHECK(orma_base_loop_turn(loop, 0) >= 0);
	CHECK(!is_readable(fd, 0));
	CHECK_INT(orma_base_loop_arm(loop, &alarm.timer, 1, on_alarm), 0);
	orma_base_timer_disarm(&alarm.timer);
	CHECK(!is_readable(fd, 0));
	orma_base_loop_free(loop);
}

static void on_slow(struct orma_timer *timer)
{
	(void)timer;
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + 3 * ORMA_NS_PER_MS;
	while (orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns)
		;
}

ORMA_TEST(turns_are_measured_without_the_time_that_they_wait)
{
	struct orma_loop *loop = new_loop();
	struct orma_loop_times times = {0};
	struct orma_timer timer = {0};
	orma_base_loop_set_times(loop, &times);
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	CHECK_INT(orma_base_loop_turn(loop, 30), 0);
	uint64_t waited_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	CHECK_INT(times.count, 1);
	CHECK(waited_ns >= 29 * ORMA_NS_PER_MS &&
	      times.longest_ns + 29 * ORMA_NS_PER_MS < waited_ns + ORMA_NS_PER_MS);
	CHECK_INT(orma_base_loop_arm(loop, &timer, 1, on_slow), 0);
	CHECK_INT(orma_base_loop_turn(loop, -1), 1);
	CHECK_INT(times.count, 2);
	CHECK(times.longest_ns >= 3 * ORMA_NS_PER_MS);
	orma_base_loop_set_times(loop, NULL);
	CHECK_INT(orma_base_loop_turn(loop, 0), 0);
	CHECK_INT(times.count, 2);
	orma_base_loop_free(loop);
}

ORMA_TEST(what_is_still_armed_or_queued_may_be_cancelled_after_the_loop_is_gone)
{
	struct orma_loop *loop = new_loop();
	struct job job = {.loop = loop};
	struct alarm alarm = {0};
	orma_base_loop_defer(loop, &job.task, on_job);
	CHECK_INT(orma_base_loop_arm(loop, &alarm.timer, 1, on_alarm), 0);
	orma_base_loop_free(loop);
	orma_base_task_cancel(&job.task);
	orma_base_timer_disarm(&alarm.timer);
	orma_base_loop_free(NULL);
}

ORMA_TEST(a_loop_without_memory_or_descriptors_leaves_nothing_behind)
{
	struct orma_loop *loop = NULL;
	orma_test_fail_allocation(1);
	CHECK_INT(orma_base_loop_new(&loop), -ENOMEM);
	int held[1024], count = 0;
	while (count < 1024 && (held[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	for (int room = 0; count == 1024 ? false : room < 3; room++) {
		CHECK_INT(orma_base_loop_new(&loop), -EMFILE);
		orma_base_fd_close(held[--count]);
	}
	CHECK(!loop);
	while (count > 0)
		orma_base_fd_close(held[--count]);
}
