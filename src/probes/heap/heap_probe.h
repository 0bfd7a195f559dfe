/* SPDX-License-Identifier: Apache-2.0
 * heap_probe.h - the data source android.heapprofd, beyond what all probes have (probes/probe.h).
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_PROBE_H
#define ORMA_PROBES_HEAP_PROBE_H

#include "probes/probe.h"

int orma_probe_heap_new(const struct orma_probe_env *env, struct orma_probe **ret);
/* Writes a dump of all processes of all instances, soon. Runs on the loop's thread. */
void orma_probe_heap_dump(struct orma_probe *probe);

#endif
