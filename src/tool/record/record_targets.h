/* SPDX-License-Identifier: Apache-2.0
 * record_targets.h - processes that run already, and whose end is the end of the recording.
 */
#ifndef ORMA_TOOL_RECORD_TARGETS_H
#define ORMA_TOOL_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORMA_RECORD_TARGETS_MAX = 64 };

/* {0} has none. */
struct orma_record_targets {
	const uint32_t *pids; /* borrowed */
	size_t count;
	int fds[ORMA_RECORD_TARGETS_MAX]; /* -1 = it has ended */
};

/* Returns ORMA_EXIT_OK, or reports which process does not exist. More than ORMA_RECORD_TARGETS_MAX
 * are not watched. */
int orma_record_targets_open(struct orma_record_targets *targets, const uint32_t *pids,
			     size_t count);
/* Readable when orma_record_targets_step() has something to do; -1 = never. */
int orma_record_targets_fd(const struct orma_record_targets *targets);
/* Forgets those that have ended. True when that was the last one, which it says. */
bool orma_record_targets_step(struct orma_record_targets *targets);
void orma_record_targets_done(struct orma_record_targets *targets);

#endif
