/* SPDX-License-Identifier: Apache-2.0
 * perf_targets.h - the CPUs and tasks whose events are opened.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_TARGETS_H
#define ORMA_PROBES_PERF_PERF_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "probes/perf/perf_config.h"
#include "probes/perf/perf_scope.h"
#include "probes/probe_files.h"

#define ORMA_PERF_TASKS_MAX 8192u

/* Finds the CPUs that are online and that the config selects. 0, -ENODATA (there is none) or another
 * -errno. */
int orma_perf_targets_cpus(const char *sys_path, const struct orma_perf_config *config,
			   struct orma_probes_numbers *ret);
/* Finds the descendants of the target_pids, without this process and its own descendants. 0 or -errno. */
int orma_perf_targets_family(int proc_fd, const struct orma_perf_scope_config *config,
			     struct orma_probes_numbers *ret);
/* Returns the parent of a process, or 0 if it has ended. `buf` is scratch memory. */
uint32_t orma_perf_targets_parent(int proc_fd, uint32_t pid, struct orma_buf *buf);
/* Finds the threads whose events are opened one by one. If the config has target_pids, the result has the threads that
 * those processes have; with `has_family`, also the threads that their descendants have. Without target_pids, the result has
 * the threads of each process that is in the scope and belongs to this user. The calling process is left out. Returns 0, -ENODATA
 * (there is no thread), -E2BIG (there are more than ORMA_PERF_TASKS_MAX) or another -errno. */
int orma_perf_targets_tasks(int proc_fd, struct orma_perf_scope *scope, bool has_family,
			    struct orma_probes_numbers *ret);

#endif
