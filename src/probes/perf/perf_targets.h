/* SPDX-License-Identifier: Apache-2.0
 * perf_targets.h - the CPUs and tasks whose events are opened.
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

/* The CPUs that are online and that the configuration wants. 0, -ENODATA (none of them) or another
 * -errno. */
int orma_perf_targets_cpus(const char *sys_path, const struct orma_perf_config *config,
			   struct orma_probes_numbers *ret);
/* The children of the target_pids, theirs, and so on, without this process and its own. 0 or -errno. */
int orma_perf_targets_family(int proc_fd, const struct orma_perf_scope_config *config,
			     struct orma_probes_numbers *ret);
/* The parent of a process, or 0 if it has ended. `buf` is scratch memory. */
uint32_t orma_perf_targets_parent(int proc_fd, uint32_t pid, struct orma_buf *buf);
/*
 * The tasks to open one by one: all threads of the target_pids and, if `has_family`, of
 * their families, or else of this user's processes that the scope includes, without this process itself. 0, -ENODATA (there is none), -E2BIG (more
 * than ORMA_PERF_TASKS_MAX) or another -errno.
 */
int orma_perf_targets_tasks(int proc_fd, struct orma_perf_scope *scope, bool has_family,
			    struct orma_probes_numbers *ret);

#endif
