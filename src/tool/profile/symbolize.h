/* SPDX-License-Identifier: Apache-2.0
 * symbolize.h - the options of `orma symbolize`.
 *
 * Threads: the main thread.
 */
#ifndef ORMA_TOOL_PROFILE_SYMBOLIZE_H
#define ORMA_TOOL_PROFILE_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>

enum { ORMA_SYMBOLIZE_FOLDERS_MAX = 64 };

struct orma_symbolize_options {
	const char *output;
	const char *folders[ORMA_SYMBOLIZE_FOLDERS_MAX];
	size_t folder_count;
	bool is_quiet; /* says nothing about files without names */
};

/* Returns the exit status. It is not in a binary without SQLite. */
int orma_symbolize_run(const struct orma_symbolize_options *options, const char *path);

#endif
