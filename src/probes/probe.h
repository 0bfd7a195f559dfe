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

struct orma_probe {
	void (*free)(struct orma_probe *probe);
};

/* Each registers its data sources: 0, -ENOMEM, or what orma_data_source_register() says. `env`
 * strings must outlive it. */
int orma_probe_process_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_sys_stats_new(const struct orma_probe_env *env, struct orma_probe **ret);
int orma_probe_system_info_new(const struct orma_probe_env *env, struct orma_probe **ret);

#endif
