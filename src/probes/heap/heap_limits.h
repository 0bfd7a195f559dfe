/* SPDX-License-Identifier: Apache-2.0
 * heap_limits.h - the limits of everything that a profiled process can make grow in the profiler.
 */
#ifndef ORMA_PROBES_HEAP_LIMITS_H
#define ORMA_PROBES_HEAP_LIMITS_H

/* Each process has these limits. Everything beyond them is counted and left out. */
#define ORMA_HEAP_LIVE_MAX         (1u << 20) /* sampled blocks, and frees that wait for their sample */
#define ORMA_HEAP_SITES_MAX        (256u << 10)
#define ORMA_HEAP_NODES_MAX        (4u << 20)
#define ORMA_HEAP_FRAMES_MAX       (1u << 20) /* different frames of all stacks */
#define ORMA_HEAP_STACK_FRAMES_MAX 1000u
#define ORMA_HEAP_HEAPS_MAX        256u
#define ORMA_HEAP_NAME_BYTES       64u
#define ORMA_HEAP_COMMAND_BYTES    4096u
#define ORMA_HEAP_MAPS_BYTES       (16u << 20)
#define ORMA_HEAP_MODULES_MAX      (128u << 10)
#define ORMA_HEAP_JIT_NAMES_BYTES  (16u << 20)

/* Each instance has this limit. */
#define ORMA_HEAP_PROCESSES_MAX 1024u

#endif
