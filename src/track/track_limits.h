/* SPDX-License-Identifier: Apache-2.0
 * track_limits.h - how much track events remember.
 */
#ifndef ORMA_TRACK_LIMITS_H
#define ORMA_TRACK_LIMITS_H

#include "client/client_limits.h"

/* Interned names and categories, per process. Beyond these limits texts are written out each
 * time. */
#define ORMA_TRACK_NAMES_MAX           2048
#define ORMA_TRACK_CATEGORIES_MAX      512
#define ORMA_TRACK_CATEGORY_NAME_BYTES 1024
#define ORMA_TRACK_NAME_BYTES          4096
#define ORMA_TRACK_DYNAMIC_NAME_BYTES  256 /* a name that is known only at run time */
/* Call stacks of events, per process: stacks, their frames, the modules that these lie in, and the
 * frames of one stack. Beyond the first three limits events have no stack; longer stacks lose their
 * outermost frames. */
#define ORMA_TRACK_STACKS_MAX        8192
#define ORMA_TRACK_STACK_FRAMES_MAX  16384
#define ORMA_TRACK_STACK_MODULES_MAX 512
#define ORMA_TRACK_STACK_DEPTH_MAX   128
/* Call sites whose events are pre-encoded. Events of further sites take the slow path. */
#define ORMA_TRACK_SITES_MAX 2048
/* Dictionaries and arrays within each other. Anything nested deeper is replaced by a text. */
#define ORMA_TRACK_NESTING_MAX 16
/* The descriptor that lists the categories. Categories that do not fit work, but are not listed. */
#define ORMA_TRACK_DESCRIPTION_BYTES (ORMA_CLIENT_DESCRIPTOR_MAX - 64)
/* A sequence remembers 1 << this many decisions about categories that events name themselves. */
#define ORMA_TRACK_DYNAMIC_BITS 4
/* Gaps among the open slices of a thread and instance, or of a track; see nesting.h. The embedded
 * ones need no heap. Beyond the maximum, slices are lost until the last gap has ended. */
#define ORMA_TRACK_GAPS_EMBEDDED 2
#define ORMA_TRACK_GAPS_MAX      65536
/* Pending ends of a thread and instance. The embedded ones need no heap. An end beyond the
 * maximum joins another one. One slot is reserved for the thread's own track. */
#define ORMA_TRACK_PENDING_ENDS_MAX      512
#define ORMA_TRACK_PENDING_ENDS_EMBEDDED 4
/* Encoded items of pending ends: of each of them, and of all together. */
#define ORMA_TRACK_PENDING_END_BYTES  1024
#define ORMA_TRACK_PENDING_ENDS_BYTES 4096
/* Categories whose losses a thread counts. The last slot is for all further ones. */
#define ORMA_TRACK_LOSSES_MAX 6
/* Tracks with slices whose begins were lost, of all instances. On further tracks the end of a lost
 * begin is in the trace. */
#define ORMA_TRACK_ASYNC_MAX 65536
/* Tracks that a sequence has described: 1 << this many. Beyond the maximum it describes all of them
 * anew. */
#define ORMA_TRACK_SET_EMBEDDED_BITS  5
#define ORMA_TRACK_SET_BITS_MAX       13
#define ORMA_TRACK_CMDLINE_BYTES      4096
#define ORMA_TRACK_COMM_BYTES         16 /* the kernel's limit for a thread's name, with the NUL */
#define ORMA_TRACK_THREAD_NAME_BYTES  64
#define ORMA_TRACK_PROCESS_NAME_BYTES 128
/* Categories or tags of two configs that are compared. Longer lists never match. */
#define ORMA_TRACK_STARTUP_MATCH_MAX 1024

#endif
