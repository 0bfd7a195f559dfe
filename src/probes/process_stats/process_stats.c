/* SPDX-License-Identifier: Apache-2.0
 * process_stats.c - the data source linux.process_stats: its instances, and when they scan and
 * poll.
 *
 * Owns the instances, one per session. They share their buffers, because everything runs on the
 * loop's thread. A scan reads all processes and threads. If the configuration asks for scans, there
 * is one at the start and one after each clearing of the incremental state. A poll reads values
 * that change, at the start and then every period. Rejected: sharing the result of a poll between
 * sessions, since two sessions with the same period are rare.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "probes/process_stats/process_stats.h"

/* Repeated scans take at most 2 % of the time. The service asks for a clearing after a number of
 * bytes, and in a small ring a single scan may write that many. */
#define SCAN_PAUSE_FACTOR 49u

static struct orma_probes_process_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct orma_probes_process_instance, base);
}

static struct orma_probes_process_probe *to_probe(struct orma_probe *base)
{
	return ORMA_CONTAINER_OF(base, struct orma_probes_process_probe, base);
}

static void scan(struct orma_probes_process_instance *instance)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	orma_probes_process_scan(instance);
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	instance->scan_again_ns = end_ns + SCAN_PAUSE_FACTOR * (end_ns - begin_ns);
	instance->is_scan_due = false;
}

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct orma_probes_process_instance *instance = to_instance(base);
	int r = orma_probes_process_config_parse(config, size, &instance->config);

	instance->probe = to_probe(base->probe);
	base->period_ms = instance->config.poll_ms;
	if (r == 0 && instance->config.on_demand)
		instance->seen =
			orma_sightings_get(instance->probe->sightings, instance->config.session_id);
	return r;
}

static bool start(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	instance->is_scan_due = instance->config.scan_on_start;
	instance->is_poll_due = base->period_ms > 0;
	orma_probes_process_listen(instance);
	return instance->is_scan_due || instance->is_poll_due;
}

static void run(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	if (instance->is_scan_due &&
	    (base->is_due_now || orma_base_clock_ns(CLOCK_MONOTONIC) >= instance->scan_again_ns))
		scan(instance);
	if (instance->is_poll_due)
		orma_probes_process_poll(instance);
	instance->is_poll_due = base->period_ms > 0;
}

/* When there are no polls, only a scan can write the names of the processes again. A scan that
 * would come too early is done with a later poll. */
static void clear(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	orma_probes_process_forget(instance);
	if (!instance->config.scan_on_start)
		return;
	instance->is_scan_due = true;
	if (orma_base_clock_ns(CLOCK_MONOTONIC) >= instance->scan_again_ns)
		orma_probe_run_soon(base);
	else if (base->period_ms == 0)
		orma_probe_run_at(base, instance->scan_again_ns);
}

static void destroy(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	orma_sightings_unlisten(instance->seen, &instance->listener);
	orma_sightings_put(instance->seen);
	orma_probes_process_forget_all(instance);
}

/* Half of the descriptors that this process may have. The other half is for everything else. */
static uint32_t kept_fd_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return (uint32_t)ORMA_MIN(limit.rlim_cur / 2, (rlim_t)ORMA_PROBES_PROCESS_GUARDS_MAX);
}

/* Kernels without this accounting lack the file, or write zeros. */
static bool counts_time_of_threads(struct orma_probes_process_probe *probe)
{
	struct orma_str text;
	uint64_t run_ns;

	return orma_probes_file_read_record(probe->proc_fd, "self/schedstat", &probe->other_text,
					    &text) == 0 &&
	       orma_probes_text_next_u64(&text, &run_ns) && run_ns > 0;
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct orma_probes_process_probe *probe = to_probe(base);

	probe->ns_per_tick = orma_probe_ns_per_tick();
	probe->kept_fd_max = kept_fd_max();
	probe->sightings = env->sightings;
	probe->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
	probe->has_schedstat = probe->proc_fd >= 0 && counts_time_of_threads(probe);
	return probe->proc_fd;
}

static void close_probe(struct orma_probe *base)
{
	struct orma_probes_process_probe *probe = to_probe(base);

	orma_base_fd_close(probe->proc_fd);
	orma_base_buf_done(&probe->status_text);
	orma_base_buf_done(&probe->other_text);
	orma_probes_numbers_done(&probe->pids);
	orma_probes_numbers_done(&probe->tids);
	orma_probes_numbers_done(&probe->fds);
}

static const struct orma_probe_ops ops = {
	.name = "linux.process_stats",
	.probe_bytes = sizeof(struct orma_probes_process_probe),
	.instance_bytes = sizeof(struct orma_probes_process_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.clear = clear,
	.destroy = destroy,
};

int orma_probe_process_stats_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
