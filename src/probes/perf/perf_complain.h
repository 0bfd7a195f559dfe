/* SPDX-License-Identifier: Apache-2.0
 * perf_complain.h - says what the kernel does not grant, why, and what helps.
 */
#ifndef ORMA_PROBES_PERF_PERF_COMPLAIN_H
#define ORMA_PROBES_PERF_PERF_COMPLAIN_H

#include "probes/perf/perf_config.h"
#include "probes/perf/perf_events.h"
#include "probes/perf/perf_processes.h"
#include "probes/perf/perf_reader.h"

/* Nothing could be opened. */
void orma_perf_complain_open(const struct orma_perf_paths *paths,
			     const struct orma_perf_config *config, int error);
/* Single tasks were opened, because whole CPUs were refused. */
void orma_perf_complain_tasks(const struct orma_perf_paths *paths,
			      const struct orma_perf_config *config,
			      const struct orma_perf_events *events);
/* Says what the open events lack. */
void orma_perf_complain_limits(const struct orma_perf_paths *paths,
			       const struct orma_perf_config *config,
			       const struct orma_perf_events *events);
/* Single tasks wait more often than the budget permits, and whole CPUs must not be watched. */
void orma_perf_complain_waits(const struct orma_perf_paths *paths,
			      const struct orma_perf_config *config);
/* Most processes ended before their first sample, because single tasks were watched. */
void orma_perf_complain_short(const struct orma_perf_paths *paths,
			      const struct orma_perf_processes *processes);
/* At the end: stacks that are not whole because a file was not read in time. */
void orma_perf_complain_late(const struct orma_perf_reader *reader);

#endif
