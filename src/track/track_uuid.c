/* SPDX-License-Identifier: Apache-2.0
 * track_uuid.c - the uuid of a track.
 *
 *   uuid = base ^ hash      base: 0, the process's uuid, or that of the emitting thread
 *                           hash: the xor of name, kind and id of the track and all its parents
 *
 * Everything is combined by xor. So the part that does not depend on process and thread, the path,
 * is computed once where a track is registered, and stays valid in the child of a fork. Parents are
 * walked in a loop with a limit; a track with more of them, or with itself among them, counts as
 * one without any.
 */
#include "track/track_uuid.h"

#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "track/process_info.h"

/* Upstream mixes these into the uuids of tracks that are not for slices. */
#define COUNTER_MAGIC UINT64_C(0xb1a4a67d7970839e)
#define STATE_MAGIC   UINT64_C(0x9b6c5d2f1e3a47c8)

uint64_t orma_track_counter_hash(const char *text)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text)) ^ COUNTER_MAGIC;
}

static uint64_t own_hash(const struct orma_track *track)
{
	uint64_t hash = track->id;

	if (track->name)
		hash ^= orma_base_fnv1a(ORMA_FNV1A_INIT, track->name, strlen(track->name));
	if (track->kind == ORMA_TRACK_COUNTER)
		hash ^= COUNTER_MAGIC;
	else if (track->kind == ORMA_TRACK_STATE)
		hash ^= STATE_MAGIC;
	return hash;
}

enum orma_track_base orma_track_base_of_root(enum orma_track_root root)
{
	return root == ORMA_TRACK_OF_NOBODY   ? ORMA_TRACK_BASE_NONE
	       : root == ORMA_TRACK_OF_THREAD ? ORMA_TRACK_BASE_THREAD
					      : ORMA_TRACK_BASE_PROCESS;
}

/* True when the walk ends here: the parents of this track do not count. */
static bool path_end(const struct orma_track *track, struct orma_track_path *path)
{
	if (track->registered[0]) {
		path->base = (enum orma_track_base)track->registered[0];
		path->hash ^= track->registered[1];
	} else if (track->uuid) {
		path->base = ORMA_TRACK_BASE_NONE;
		path->hash ^= track->uuid;
	} else if (track->kind == ORMA_TRACK_THREAD) {
		path->base = track->id ? ORMA_TRACK_BASE_PROCESS : ORMA_TRACK_BASE_THREAD;
		path->hash ^= (uint32_t)track->id;
	} else if (track->kind == ORMA_TRACK_PROCESS) {
		path->base = ORMA_TRACK_BASE_PROCESS;
	} else if (track->kind == ORMA_TRACK_GLOBAL) {
		path->base = ORMA_TRACK_BASE_NONE;
	} else {
		return false;
	}
	return true;
}

bool orma_track_path_find(const struct orma_track *track, struct orma_track_path *ret)
{
	const struct orma_track *at = track;

	*ret = (struct orma_track_path){.base = ORMA_TRACK_BASE_NONE};
	for (int i = 0; i <= ORMA_TRACK_PARENTS_MAX; i++, at = at->parent) {
		if (path_end(at, ret))
			return true;
		ret->hash ^= own_hash(at);
		ret->base = orma_track_base_of_root(at->root);
		if (!at->parent)
			return true;
	}
	*ret = (struct orma_track_path){.base = orma_track_base_of_root(track->root),
					.hash = own_hash(track)};
	return false;
}

uint64_t orma_track_path_uuid(const struct orma_track_path *path, int32_t tid)
{
	switch (path->base) {
	case ORMA_TRACK_BASE_PROCESS:
		return orma_track_process.uuid ^ path->hash;
	case ORMA_TRACK_BASE_THREAD:
		return orma_track_thread_uuid(tid) ^ path->hash;
	default:
		return path->hash;
	}
}

uint64_t orma_track_thread_uuid(int32_t tid)
{
	return orma_track_process.uuid ^ (uint32_t)tid;
}

uint64_t orma_track_uuid_at(int32_t tid, const struct orma_track *track)
{
	struct orma_track_path path;

	if (!track)
		return orma_track_thread_uuid(tid);
	orma_track_path_find(track, &path);
	return orma_track_path_uuid(&path, tid);
}

uint64_t orma_track_uuid(const struct orma_track *track)
{
	struct orma_track_path path = {.base = ORMA_TRACK_BASE_THREAD};

	if (track)
		orma_track_path_find(track, &path);
	return orma_track_path_uuid(&path,
				    path.base == ORMA_TRACK_BASE_THREAD ? (int32_t)gettid() : 0);
}
