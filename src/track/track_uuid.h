/* SPDX-License-Identifier: Apache-2.0
 * track_uuid.h - the uuid of a track, from its name, kind, id and parents.
 */
#ifndef ORMA_TRACK_TRACK_UUID_H
#define ORMA_TRACK_TRACK_UUID_H

#include <orma/track.h>
#include <stdbool.h>
#include <stdint.h>

/* A hash is combined with this. Registered tracks keep the number, so it must not be 0. */
enum orma_track_base { ORMA_TRACK_BASE_NONE = 1, ORMA_TRACK_BASE_PROCESS, ORMA_TRACK_BASE_THREAD };

/* A uuid without the part that depends on the process and the thread. */
struct orma_track_path {
	enum orma_track_base base;
	uint64_t hash;
};

/* False: there are too many parents, and *ret is the path of the same track without any. */
bool orma_track_path_find(const struct orma_track *track, struct orma_track_path *ret);
uint64_t orma_track_path_uuid(const struct orma_track_path *path, int32_t tid);
enum orma_track_base orma_track_base_of_root(enum orma_track_root root);

uint64_t orma_track_thread_uuid(int32_t tid);
/* The same as orma_track_uuid(), for a caller that knows its thread id. NULL is the thread's
 * track. */
uint64_t orma_track_uuid_at(int32_t tid, const struct orma_track *track);
/* The hash of a counter track whose name is `text` and which belongs to the process. */
uint64_t orma_track_counter_hash(const char *text);

#endif
