/* SPDX-License-Identifier: Apache-2.0
 * rename_watch.c - describes threads and the process anew when they have been renamed.
 *
 * The kernel does not report renames. So while an instance runs, the loop thread compares the
 * records of threads with /proc, a few hundred at a time: every half second, at flushes, and when
 * an instance stops. It describes what has changed in its own sequence, because a track belongs to
 * the trace and not to the sequence that describes it. The threads that emit notice nothing.
 *
 * Rejected: asking for the name at each event (a system call), wrapping pthread_setname_np()
 * (misses prctl(), and takes one of the program's symbols), marks that make threads describe
 * themselves again (a thread that no longer emits would keep its old name).
 */
#include "track/rename_watch.h"

#include "base/assert.h"
#include "base/clock_ns.h"
#include "client/engine.h"
#include "track/announce.h"
#include "track/process_info.h"

#define CHECK_NS        (ORMA_NS_PER_SEC / 2)
#define CHECKED_AT_ONCE 256

/* All for the loop thread only. */
static struct orma_timer timer;
static unsigned running;    /* instances */
static int32_t checked_tid; /* the last record that was compared; 0 = start with the first */

void orma_track_rename_watch_check(void)
{
	static struct orma_track_thread_seen seen[CHECKED_AT_ONCE];
	size_t count;

	if (running == 0)
		return;
	count = orma_track_thread_infos_next(&checked_tid, seen, CHECKED_AT_ONCE);
	ORMA_ASSERT(count <= CHECKED_AT_ONCE);
	for (size_t i = 0; i < count; i++)
		if (orma_track_thread_info_refresh(&seen[i]))
			orma_track_announce_thread(&seen[i]);
	if (orma_track_process_read_cmdline())
		orma_track_announce_process();
}

static void on_timer(struct orma_timer *at)
{
	orma_track_rename_watch_check();
	orma_base_loop_arm_in(orma_client.loop, at, CHECK_NS, on_timer);
}

void orma_track_rename_watch_start(void)
{
	if (running++ == 0 && orma_client.loop)
		orma_base_loop_arm_in(orma_client.loop, &timer, CHECK_NS, on_timer);
}

void orma_track_rename_watch_stop(void)
{
	if (running == 0)
		return;
	orma_track_rename_watch_check();
	if (--running == 0)
		orma_base_timer_disarm(&timer);
}

void orma_track_rename_watch_forked(void)
{
	timer = (struct orma_timer){0};
	running = 0;
}
