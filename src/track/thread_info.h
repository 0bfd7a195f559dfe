/* SPDX-License-Identifier: Apache-2.0
 * thread_info.h - what the threads of this process are called.
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

struct orma_track_thread_seen {
	int32_t tid;
	struct orma_track_thread_info info;
};

/* The calling thread, which counts as described with *ret from now on. Without `asks_kernel`, *ret is the
 * last description of the thread if there was one. */
void orma_track_thread_info_self(bool asks_kernel, struct orma_track_thread_info *ret);
/* Any thread of the process. */
void orma_track_thread_info_of(int32_t tid, struct orma_track_thread_info *ret);
/* Names or ranks the calling thread. Returns its tid, or -ENOMEM. */
int orma_track_thread_info_set_name(const char *name);
int orma_track_thread_info_set_rank(int32_t rank);
/*
 * Copies up to `count_max` records behind that of *cursor, or from the first on when *cursor is 0 or
 * gone. Moves *cursor on; 0 = that was the last. Returns how many.
 */
size_t orma_track_thread_infos_next(int32_t *cursor, struct orma_track_thread_seen *ret,
				    size_t count_max);
/* Asks the kernel for the thread's name. True when the thread was described differently; `seen` then
 * says how to describe it. */
bool orma_track_thread_info_refresh(struct orma_track_thread_seen *seen);
/* Copies as much of `text` as fits, whole characters only, and a NUL. */
void orma_track_copy_text(char *to, size_t size, const char *text);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_thread_infos_forked(void);

#endif
