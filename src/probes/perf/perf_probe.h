/* SPDX-License-Identifier: Apache-2.0
 * perf_probe.h - the data source linux.perf.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_PROBE_H
#define ORMA_PROBES_PERF_PERF_PROBE_H

#include "probes/probe.h"

/* Makes the probe, as the functions in probe.h do. */
int orma_probe_perf_new(const struct orma_probe_env *env, struct orma_probe **ret);

#endif
