/* SPDX-License-Identifier: Apache-2.0
 * probes_run.c - connects the probes with the library, and both with one loop.
 *
 * The caller drives the library, so its callbacks, the probes' timers and their packets all happen
 * on this loop's thread, and no probe needs a lock.
 */
#include "tool/daemon/probes_run.h"

#include <errno.h>
#include <orma/init.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "probes/heap/heap_probe.h"
#ifdef ORMA_HAVE_PERF
#include "probes/perf/perf_probe.h"
#endif
#include "probes/probe.h"
#include "probes/self_trace/self_trace.h"
#include "probes/sightings.h"

/* The same size as for upstream's probes. A scan of all processes fits between two turns of the
 * service. */
#define SHM_BYTES  (2u << 20)
#define PAGE_BYTES (32u << 10)

static const struct {
	int (*make)(const struct orma_probe_env *env, struct orma_probe **ret);
	unsigned kind;
} makers[] = {
	{orma_probe_cgroup_stats_new, ORMA_PROBES_SYSTEM},
	{orma_probe_frozen_ftrace_new, ORMA_PROBES_SYSTEM},
	{orma_probe_ftrace_new, ORMA_PROBES_SYSTEM},
	{orma_probe_inode_file_map_new, ORMA_PROBES_SYSTEM},
	{orma_probe_process_stats_new, ORMA_PROBES_SYSTEM},
	{orma_probe_sys_stats_new, ORMA_PROBES_SYSTEM},
	{orma_probe_sysfs_power_new, ORMA_PROBES_SYSTEM},
	{orma_probe_system_info_new, ORMA_PROBES_SYSTEM},
	{orma_probe_systemd_journald_new, ORMA_PROBES_SYSTEM},
	{orma_probe_self_new, ORMA_PROBES_SYSTEM},
	{orma_probe_metatrace_new, ORMA_PROBES_SYSTEM},
#ifdef ORMA_HAVE_PERF
	{orma_probe_perf_new, ORMA_PROBES_PROFILERS},
#endif
#ifdef ORMA_HAVE_PROFILERS
	{orma_probe_heap_new, ORMA_PROBES_PROFILERS},
#endif
};

struct orma_probes {
	struct orma_loop *loop;
	struct orma_watch library;
	struct orma_probe_env env;
	struct orma_self_trace self;
	struct orma_probe *all[ORMA_ARRAY_SIZE(makers)];
	bool is_initialised;
	atomic_bool must_stop; /* written by any thread, read by the loop's thread after a wake */
};

static void on_library_ready(struct orma_watch *watch, unsigned ready)
{
	struct orma_probes *probes = ORMA_CONTAINER_OF(watch, struct orma_probes, library);
	uint64_t begin_ns = orma_self_begin(&probes->self);

	(void)ready;
	(void)orma_dispatch();
	orma_self_end(&probes->self, "dispatch", begin_ns);
}

static void on_wake(void *ctx)
{
	struct orma_probes *probes = ctx;
	/* Pairs with the release in orma_tool_probes_stop(). */
	if (atomic_load_explicit(&probes->must_stop, memory_order_acquire))
		orma_base_loop_stop(probes->loop);
}

static int start_library(struct orma_probes *probes, const struct orma_probes_options *options)
{
	struct orma_init_options init = {
		.struct_size = sizeof(init),
		.producer_name =
			options->producer_name ? options->producer_name : "perfetto.traced_probes",
		.producer_socket = options->producer_socket,
		.shm_size_bytes = SHM_BYTES,
		.page_size_bytes = PAGE_BYTES,
		.caller_drives = true,
		.disable_scraping = true,
	};
	int r = orma_init(&init);
	if (r)
		return r;
	probes->is_initialised = true;
	return orma_base_loop_watch(probes->loop, &probes->library, orma_poll_fd(), ORMA_LOOP_READ,
				    on_library_ready);
}

static int start(struct orma_probes *probes, const struct orma_probes_options *options)
{
	int r = orma_base_loop_new(&probes->loop);
	if (r)
		return r;
	orma_base_loop_set_wake_handler(probes->loop, on_wake, probes);
	probes->env = (struct orma_probe_env){.loop = probes->loop,
					      .proc_path = "/proc",
					      .sys_path = "/sys",
					      .tracefs_path = getenv("ORMA_TRACEFS"),
					      .heap_socket = options->heap_socket,
					      .on_perf_failure = options->on_perf_failure,
					      .on_perf_failure_ctx = options->on_perf_failure_ctx};
	probes->env.self = &probes->self;
	r = orma_sightings_list_new(&probes->env.sightings);
	if (r)
		return r;
	r = start_library(probes, options);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(makers) && r == 0; i++)
		if (options->kinds == 0 || options->kinds & makers[i].kind)
			r = makers[i].make(&probes->env, &probes->all[i]);
	return r;
}

int orma_tool_probes_new(const struct orma_probes_options *options, struct orma_probes **ret)
{
	struct orma_probes *probes = orma_base_zalloc(sizeof(*probes));
	if (!probes)
		return -ENOMEM;
	int r = start(probes, options);
	if (r) {
		orma_tool_probes_free(probes);
		return r;
	}
	*ret = probes;
	return 0;
}

struct orma_loop *orma_tool_probes_loop(struct orma_probes *probes)
{
	return probes->loop;
}

int orma_tool_probes_run(struct orma_probes *probes)
{
	return orma_base_loop_run(probes->loop);
}

void orma_tool_probes_stop(struct orma_probes *probes)
{
	atomic_store_explicit(&probes->must_stop, true, memory_order_release);
	orma_base_loop_wake(probes->loop);
}

void orma_tool_probes_dump_heaps(struct orma_probes *probes)
{
#ifdef ORMA_HAVE_PROFILERS
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(makers); i++)
		if (probes->all[i] && makers[i].make == orma_probe_heap_new)
			orma_probe_heap_dump(probes->all[i]);
#else
	(void)probes;
#endif
}

void orma_tool_probes_free(struct orma_probes *probes)
{
	if (!probes)
		return;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(makers); i++)
		if (probes->all[i])
			orma_probe_free(probes->all[i]);
	orma_sightings_list_free(probes->env.sightings);
	orma_base_watch_remove(&probes->library);
	if (probes->is_initialised)
		orma_shutdown();
	orma_base_loop_free(probes->loop);
	orma_base_free(probes);
}
