/* SPDX-License-Identifier: Apache-2.0
 * thread_info.h - the names and ranks of the threads of this process.
 */
#ifndef ORMA_TRACK_THREAD_INFO_H
#define ORMA_TRACK_THREAD_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/track_limits.h"

/* The contents of a thread's descriptor. */
struct orma_track_thread_info {
	char name[ORMA_TRACK_THREAD_NAME_BYTES]; /* "" = none */
	int32_t rank;
	bool is_kept_apart; /* viewers do not merge it with the kernel's track of the thread */
};

/* A thread and its recorded description. */
struct orma_track_thread_seen {
	int32_t tid;
	struct orma_track_thread_info info;
};

/* Returns the description of the calling thread, and records that the thread was described with it.
 * Without `asks_kernel`, it is the last recorded description, if there is one. */
void orma_track_thread_info_self(bool asks_kernel, struct orma_track_thread_info *ret);
/* Returns the description of any thread of the process. Records nothing. */
void orma_track_thread_info_of(int32_t tid, struct orma_track_thread_info *ret);
/* Names or ranks the calling thread. Returns its tid, or -ENOMEM. */
int orma_track_thread_info_set_name(const char *name);
int orma_track_thread_info_set_rank(int32_t rank);
/*
 * Copies up to `count_max` records that follow the thread *cursor. It begins with the first record
 * when *cursor is 0 or has none. Sets *cursor to the last copied thread, or to 0 at the end.
 * Returns the number of copied records.
 */
size_t orma_track_thread_infos_next(int32_t *cursor, struct orma_track_thread_seen *ret,
				    size_t count_max);
/* Asks the kernel for the thread's name. Returns true when the name differs from the recorded one,
 * and updates `seen`. */
bool orma_track_thread_info_refresh(struct orma_track_thread_seen *seen);
/* Copies as much of `text` as fits, whole characters only, and a NUL. */
void orma_track_copy_text(char *to, size_t size, const char *text);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_thread_infos_forked(void);

#endif
