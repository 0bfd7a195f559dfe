/* SPDX-License-Identifier: Apache-2.0
 * limits.h - how much track events remember.
 */
#ifndef ORMA_TRACK_LIMITS_H
#define ORMA_TRACK_LIMITS_H

#include "client/limits.h"

/* Names and categories that are interned, per process; later ones are written out each time. */
#define ORMA_TRACK_NAMES_MAX           2048
#define ORMA_TRACK_CATEGORIES_MAX      512
#define ORMA_TRACK_CATEGORY_NAME_BYTES 1024 /* longer ones are written out each time */
/* Bytes of a name that is interned; of one that is known only at run time. Longer: as above. */
#define ORMA_TRACK_NAME_BYTES         4096
#define ORMA_TRACK_DYNAMIC_NAME_BYTES 256
/* Places in the code whose events are pre-encoded; others are encoded each time. */
#define ORMA_TRACK_SITES_MAX 2048
/* Dictionaries and arrays in one another; what is deeper is replaced by a text. */
#define ORMA_TRACK_NESTING_MAX 16
/* Of the descriptor that lists the categories; what does not fit works, but is not announced. */
#define ORMA_TRACK_DESCRIPTION_BYTES (ORMA_CLIENT_DESCRIPTOR_MAX - 64)
/* Names of categories that a thread knows the decision about: 1 << this. */
#define ORMA_TRACK_DYNAMIC_BITS 4
/* Gaps among the open slices of a thread and instance, or of a track: see nesting.h. The first few
 * need no memory from the heap. Beyond the last one, slices are lost until that gap has ended. */
#define ORMA_TRACK_GAPS_FEW 2
#define ORMA_TRACK_GAPS_MAX 65536
/* Ends of a thread and instance that wait for room, the first few without memory from the heap; of
 * more than that only the last time is kept. One place is for the thread's own track. */
#define ORMA_TRACK_LATE_ENDS_MAX 512
#define ORMA_TRACK_LATE_ENDS_FEW 4
/* What they carry, encoded: of one end, and of all of them. */
#define ORMA_TRACK_LATE_END_BYTES 1024
#define ORMA_TRACK_LATE_BYTES     4096
/* Categories of which a thread counts the losses, the last of them for all others. */
#define ORMA_TRACK_LOSSES_MAX 6
/* Tracks with slices whose begins were lost, of all instances. On a further track the end of a lost
 * begin is in the trace. */
#define ORMA_TRACK_ASYNC_MAX 65536
/* Tracks that a thread has described to an instance: 1 << this; beyond it describes all of them
 * anew. */
#define ORMA_TRACK_SET_BITS_MAX       13
#define ORMA_TRACK_CMDLINE_BYTES      4096
#define ORMA_TRACK_COMM_BYTES         16 /* what the kernel keeps of a thread's name */
#define ORMA_TRACK_THREAD_NAME_BYTES  64
#define ORMA_TRACK_PROCESS_NAME_BYTES 128
/* Categories or tags of a config that is compared with another; more are never the same. */
#define ORMA_TRACK_ADOPTED_MAX 1024

#endif
