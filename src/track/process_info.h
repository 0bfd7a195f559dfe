/* SPDX-License-Identifier: Apache-2.0
 * process_info.h - this process, as traces describe it.
 */
#ifndef ORMA_TRACK_PROCESS_INFO_H
#define ORMA_TRACK_PROCESS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/track_limits.h"

/* Does not change in the life of a process; the child of a fork has another. */
struct orma_track_process {
	uint64_t uuid;
	int32_t pid;
	int32_t parent_pid; /* the process that forked this one; 0 = not the child of a traced one */
	uint64_t start_ns;  /* since boot; 0 = unknown */
};

extern struct orma_track_process orma_track_process;

/* The part that can change, guarded by the mutex of process_info.c. */
struct orma_track_process_texts {
	char name[ORMA_TRACK_PROCESS_NAME_BYTES]; /* "" = the first argument of `cmdline` */
	int32_t rank;
	size_t cmdline_size;
	char cmdline[ORMA_TRACK_CMDLINE_BYTES]; /* arguments, each with its NUL */
};

/* Reads everything anew. `parent_pid` as above. */
void orma_track_process_init(int32_t parent_pid);
void orma_track_process_texts_get(struct orma_track_process_texts *ret);
/* Reads the command line. True when it has changed. */
bool orma_track_process_read_cmdline(void);
void orma_track_process_set_name(const char *name);
void orma_track_process_set_rank(int32_t rank);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_process_forked(void);

#endif
