/* SPDX-License-Identifier: Apache-2.0
 * heap_selection.h - which processes and heaps a HeapprofdConfig selects.
 *
 * Threads: any. Nothing is kept.
 */
#ifndef ORMA_HEAP_HEAP_SELECTION_H
#define ORMA_HEAP_HEAP_SELECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "schema/gen/heapprofd_config.pb.h"

/* Facts about the process. */
struct orma_heap_process_facts {
	pid_t pid;
	const char *command; /* the first argument of its command line */
	bool is_starting;    /* main() has not begun */
	uint64_t anonymous_kb;
};

bool orma_heap_is_selected(const struct orma_pb_heapprofd_config *config,
			   const struct orma_heap_process_facts *process);
/* 0 = the heap is not sampled. */
uint64_t orma_heap_selected_interval(const struct orma_pb_heapprofd_config *config,
				     const char *heap);
/* Compares a command with a pattern of the config. Folders, and what follows an @, are ignored. One * in the pattern stands for any
 * characters. */
bool orma_heap_command_matches(struct orma_str pattern, const char *command);

#endif
