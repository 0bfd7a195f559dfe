/* SPDX-License-Identifier: Apache-2.0
 * announce.c - describes a track, or the name and rank of a thread or the process, at once, without
 * waiting for an event.
 */
#include "track/announce.h"

#include <errno.h>

#include "track/instances.h"
#include "track/process_info.h"
#include "track/thread_descriptor.h"
#include "track/track_descriptor.h"

static bool write_track(const void *ctx, struct orma_packet *slot, uint64_t now_ns)
{
	return orma_track_describe_anew(slot, ctx, now_ns);
}

static bool write_thread(const void *ctx, struct orma_packet *slot, uint64_t now_ns)
{
	const struct orma_track_thread_seen *seen = ctx;

	return orma_track_write_thread(slot, seen->tid, &seen->info, now_ns);
}

void orma_track_announce_thread(const struct orma_track_thread_seen *seen)
{
	orma_track_write_to_instances(write_thread, seen);
}

static bool write_process(const void *ctx, struct orma_packet *slot, uint64_t now_ns)
{
	(void)ctx;
	return orma_track_write_process(slot, now_ns);
}

void orma_track_announce_process(void)
{
	orma_track_write_to_instances(write_process, NULL);
}

/* --- the public functions --------------------------------------------------------------------- */

void orma_track_announce(const struct orma_track *track)
{
	int saved_errno = errno;

	if (track)
		orma_track_write_to_instances(write_track, track);
	errno = saved_errno;
}

static void announce_self(int32_t tid)
{
	struct orma_track_thread_seen seen = {.tid = tid};

	orma_track_thread_info_self(true, &seen.info);
	orma_track_announce_thread(&seen);
}

int orma_thread_set_name(const char *name)
{
	int saved_errno = errno, r;

	if (!name)
		return -EINVAL;
	r = orma_track_thread_info_set_name(name);
	if (r < 0)
		return r;
	announce_self(r);
	errno = saved_errno;
	return 0;
}

int orma_thread_set_rank(int32_t rank)
{
	int r = orma_track_thread_info_set_rank(rank);

	if (r < 0)
		return r;
	announce_self(r);
	return 0;
}

void orma_process_set_name(const char *name)
{
	orma_track_process_set_name(name);
	orma_track_announce_process();
}

void orma_process_set_rank(int32_t rank)
{
	orma_track_process_set_rank(rank);
	orma_track_announce_process();
}
