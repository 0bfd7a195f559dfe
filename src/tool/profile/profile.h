/* SPDX-License-Identifier: Apache-2.0
 * profile.h - the parts of `orma profile`.
 *
 * Threads: the main thread.
 */
#ifndef ORMA_TOOL_PROFILE_H
#define ORMA_TOOL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { ORMA_PROFILE_PIDS_MAX = 64, ORMA_PROFILE_EVENTS_MAX = 16 };

enum orma_profile_stacks {
	ORMA_PROFILE_STACKS_DWARF,
	ORMA_PROFILE_STACKS_FP,
	ORMA_PROFILE_STACKS_NONE,
};

struct orma_profile_options {
	const char *path;  /* where the result goes; its ending says what it is */
	char *const *argv; /* the program to start; NULL = none */
	uint32_t pids[ORMA_PROFILE_PIDS_MAX];
	size_t pid_count;
	uint32_t duration_ms; /* 0 = until Ctrl-C, or until the program or all processes end */
	uint32_t hz;
	uint64_t period; /* 0 = hz */
	/* The first event is the timebase. The others are counted with it. */
	const char *events[ORMA_PROFILE_EVENTS_MAX];
	size_t event_count;
	enum orma_profile_stacks stacks;
	const char *cgroup; /* NULL = none */
	bool off_cpu, is_without_kernel, is_quiet;
	uint64_t top;
};

/* Appends the text of a TraceConfig. 0, -ENOMEM, or -EINVAL and the unknown event. */
int orma_profile_append_config(const struct orma_profile_options *options, struct orma_buf *text,
			       const char **ret_wrong);
/* Checks before the program runs that the file can be written. Returns ORMA_EXIT_OK, or prints a message and returns an exit status. */
int orma_profile_check_output(const char *path);
/* Records, writes the result, and prints the functions that cost most. Returns the exit status. */
int orma_profile_run(const struct orma_profile_options *options);

#endif
