/* SPDX-License-Identifier: Apache-2.0
 * perf_complain.h - log lines about what the kernel refuses: the reason, and the remedy.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_COMPLAIN_H
#define ORMA_PROBES_PERF_PERF_COMPLAIN_H

#include "probes/perf/perf_config.h"
#include "probes/perf/perf_events.h"
#include "probes/perf/perf_processes.h"
#include "probes/perf/perf_reader.h"

/* Says why no events could be opened. */
void orma_perf_complain_open(const struct orma_perf_paths *paths,
			     const struct orma_perf_config *config, int error);
/* Says that single tasks were opened, because the kernel refuses whole CPUs. */
void orma_perf_complain_tasks(const struct orma_perf_paths *paths,
			      const struct orma_perf_config *config,
			      const struct orma_perf_events *events);
/* Says what the open events lack. */
void orma_perf_complain_limits(const struct orma_perf_paths *paths,
			       const struct orma_perf_config *config,
			       const struct orma_perf_events *events);
/* Says that single tasks wait more often than the budget permits, and that the kernel refuses whole CPUs. */
void orma_perf_complain_waits(const struct orma_perf_paths *paths,
			      const struct orma_perf_config *config);
/* Says that most processes ended before their first sample, if that is so, because single tasks were
 * watched. */
void orma_perf_complain_short(const struct orma_perf_paths *paths,
			      const struct orma_perf_processes *processes);
/* Says at the end how many stacks are incomplete because a file was not read in time. */
void orma_perf_complain_late(const struct orma_perf_reader *reader);

#endif
