/* SPDX-License-Identifier: Apache-2.0
 * perf_scope.h - which processes get call stacks.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_SCOPE_H
#define ORMA_PROBES_PERF_PERF_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "probes/perf/perf_config.h"

struct orma_perf_scope {
	const struct orma_perf_scope_config *config; /* borrowed */
	uint32_t chosen_shard;
	struct orma_map additional; /* hashes of the command lines that were included by number */
};

/* `random` chooses the shard. All instances of a session pass the same. */
void orma_perf_scope_init(struct orma_perf_scope *scope,
			  const struct orma_perf_scope_config *config, uint64_t random);
void orma_perf_scope_done(struct orma_perf_scope *scope);
/* Decides for a process, once; the caller remembers the answer. `cmdline` is the content of
 * /proc/PID/cmdline, which is empty for a thread of the kernel. */
bool orma_perf_scope_includes(struct orma_perf_scope *scope, uint32_t pid, struct orma_str cmdline);
/* True if the scope names processes by ids alone, so that their events can be opened one by one. */
bool orma_perf_scope_is_pids(const struct orma_perf_scope_config *config);
/* True if the text has the form of the pattern, in which * matches any text and ? any character. */
bool orma_perf_scope_matches(struct orma_str pattern, struct orma_str text);

#endif
