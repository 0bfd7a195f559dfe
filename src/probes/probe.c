/* SPDX-License-Identifier: Apache-2.0
 * probe.c - what every probe does at its birth.
 *
 * A probe is its own struct with a struct orma_probe in front. Rejected: one struct for all with a
 * pointer to the rest (two allocations that can fail), a template of callbacks (the probes agree in
 * little but their beginning).
 */
#include "probes/probe.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"

int orma_probe_make(size_t size, orma_probe_init_fn *init, orma_probe_free_fn *free,
		    const struct orma_probe_env *env, struct orma_probe **ret)
{
	struct orma_probe *probe = orma_base_zalloc(size);
	int r;

	if (!probe)
		return -ENOMEM;
	probe->free = free;
	r = init(probe, env);
	if (r < 0) {
		probe->free(probe);
		return r;
	}
	*ret = probe;
	return 0;
}

uint64_t orma_probe_ns_per_tick(void)
{
	long ticks_per_s = sysconf(_SC_CLK_TCK);

	return ORMA_NS_PER_SEC / (uint64_t)ORMA_MAX(ticks_per_s, 1L);
}
