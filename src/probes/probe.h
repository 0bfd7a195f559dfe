/* SPDX-License-Identifier: Apache-2.0
 * probe.h - what a probe of the operating system is: one or more data sources on orma's public API
 * that read /proc and /sys from timers of the caller's loop.
 *
 * A probe belongs to the thread of its loop; the library must have been started with caller_drives
 * and be dispatched from the same loop, so that callbacks and timers never meet.
 */
#ifndef ORMA_PROBES_PROBE_H
#define ORMA_PROBES_PROBE_H

#include "base/loop.h"

struct orma_probe_env {
	struct orma_loop *loop;
	const char *proc_path; /* "/proc"; tests point it at a made-up tree */
	const char *sys_path;  /* "/sys" */
};

struct orma_probe;
typedef void orma_probe_free_fn(struct orma_probe *probe);
/* Makes what zeroed memory does not make; what it leaves behind on failure is freed. */
typedef int orma_probe_init_fn(struct orma_probe *probe, const struct orma_probe_env *env);

/* The first member of each probe's struct. */
struct orma_probe {
	orma_probe_free_fn *free;
};

/* For probes: a new one of `size` bytes. 0, -ENOMEM, or what `init` says. */
int orma_probe_make(size_t size, orma_probe_init_fn *init, orma_probe_free_fn *free,
		    const struct orma_probe_env *env, struct orma_probe **ret);
/* The unit of times in /proc. */
uint64_t orma_probe_ns_per_tick(void);

/* Each registers its data sources: 0, -ENOMEM, or what orma_data_source_register() says. `env`
 * strings must outlive it. */
int orma_probe_process_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_sys_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_system_info_new(const struct orma_probe_env *env, struct orma_probe **ret);

#endif
