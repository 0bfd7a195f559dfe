/* SPDX-License-Identifier: Apache-2.0
 * heap.h - the parts of `orma heap`.
 *
 * Threads: the main thread.
 */
#ifndef ORMA_TOOL_PROFILE_HEAP_H
#define ORMA_TOOL_PROFILE_HEAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum { ORMA_HEAP_NAMES_MAX = 64 };
/* The exit status of --fail-on-leak, as LeakSanitizer's. */
enum { ORMA_EXIT_LEAK = 23 };

struct orma_heap_options {
	char *const *app_argv; /* NULL = none */
	pid_t pid;             /* 0 = none */
	const char *
		out_path; /* a trace, or a report when it ends with .html; NULL = only the summary */
	const char *library;     /* NULL = the one beside the binary */
	uint64_t interval_bytes; /* between samples, on average; 1 records each allocation */
	uint32_t duration_ms, dump_interval_ms;
	bool has_all_heaps, follows_children, dumps_at_max, is_quiet;
	bool fails_on_leak;
	uint64_t leak_bytes; /* more than this is a leak */
	const char *heaps[ORMA_HEAP_NAMES_MAX];
	size_t heap_count;
	uint64_t top;
};

/* Records a profile, and prints the summary. Returns the exit status, which is the program's if that is not 0. */
int orma_heap_run(const struct orma_heap_options *options);

/* Finds liborma-heap.so: the one of --library, or else the one beside the binary, in ../lib, or in the build folder. Returns
 * ORMA_EXIT_OK, or prints a message and returns 1. */
int orma_heap_find_library(const char *wanted, struct orma_buf *ret_path);
/* Checks that liborma-heap.so can be preloaded into a program. Returns ORMA_EXIT_OK, or prints a message and returns an exit status. */
int orma_heap_check_program(const char *name, const char *library);

/* The sums of a trace. */
struct orma_heap_result {
	int64_t live_bytes, live_count, bytes, count;
	bool is_incomplete; /* samples or frees were lost */
	bool has_no_data;   /* no process was connected */
};
/* Prints the sums and call stacks of the heaps in a trace. Returns ORMA_EXIT_OK, or prints a message and returns 1. */
int orma_heap_summarize(const char *trace_path, const struct orma_heap_options *options,
			struct orma_heap_result *ret);

#endif
