/* SPDX-License-Identifier: Apache-2.0
 * process_stats.c - the data source linux.process_stats: its instances, and when they scan and
 * poll.
 *
 * Owns the instances, one per session. They share their buffers, because everything runs on the
 * loop's thread. A scan reads all processes and threads. If the configuration asks for scans, there
 * is one at the start and one after each clearing of the incremental state. A poll reads values
 * that change, at the start and then every period. Both go through a list of processes step by step, and
 * continue in the next turn of the loop when they have used their time; a packet does not outlast a turn.
 * Rejected: sharing the result of a poll between
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
	orma_probes_process_listen(instance);
	return instance->is_scan_due || base->period_ms > 0;
}

/* ---- runs ---- */

static bool begin_scan(struct orma_probes_process_instance *instance)
{
	instance->scan_begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (!instance->is_scan_due || instance->scan_begin_ns < instance->scan_again_ns)
		return false;
	instance->is_scan_due = false;
	instance->begin_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	return orma_probes_dir_numbers(instance->probe->proc_fd, ".", "", &instance->pids) == 0;
}

static void end_scan(struct orma_probes_process_instance *instance)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	orma_probes_process_packet_end(instance);
	instance->scan_again_ns = end_ns + SCAN_PAUSE_FACTOR * (end_ns - instance->scan_begin_ns);
}

static enum orma_probes_process_step begin_poll(struct orma_probes_process_instance *instance)
{
	return instance->base.period_ms > 0 && orma_probes_process_poll_begin(instance) == 0
		       ? ORMA_PROCESS_READ
		       : ORMA_PROCESS_IDLE;
}

/* Completes a step, and returns the next one. */
static enum orma_probes_process_step next_step(struct orma_probes_process_instance *instance)
{
	switch (instance->step) {
	case ORMA_PROCESS_IDLE:
		return begin_scan(instance) ? ORMA_PROCESS_SCAN : begin_poll(instance);
	case ORMA_PROCESS_SCAN:
		if (instance->config.fds)
			return ORMA_PROCESS_SCAN_FDS;
		__attribute__((fallthrough));
	case ORMA_PROCESS_SCAN_FDS:
		end_scan(instance);
		return begin_poll(instance);
	case ORMA_PROCESS_READ:
		return ORMA_PROCESS_WRITE;
	case ORMA_PROCESS_WRITE:
		orma_probes_process_poll_end(instance);
		break;
	}
	return ORMA_PROCESS_IDLE;
}

/* Does the current step for one process. Returns false when the turn of the loop is over before it
 * is done. */
static bool do_step(struct orma_probes_process_instance *instance, uint32_t pid)
{
	struct orma_probes_process *process;

	switch (instance->step) {
	case ORMA_PROCESS_SCAN:
		return orma_probes_process_scan(instance, pid);
	case ORMA_PROCESS_READ:
		orma_probes_process_poll(instance, pid);
		return true;
	default:
		process = orma_base_map_get(&instance->processes, pid);
	}
	if (process && process->generation == instance->generation &&
	    (instance->step == ORMA_PROCESS_SCAN_FDS || process->changed ||
	     !process->is_without_memory || instance->next_fd > 0))
		return orma_probes_process_write_values(instance, pid, process);
	return true;
}

/* Continues until the scan or poll is complete or the turn of the loop is over. */
static void work(struct orma_probes_process_instance *instance)
{
	for (;;) {
		if (instance->next_pid == instance->pids.count ||
		    instance->step == ORMA_PROCESS_IDLE) {
			instance->step = next_step(instance);
			instance->next_pid = 0;
			if (instance->step == ORMA_PROCESS_IDLE)
				return;
			continue;
		}
		if (!do_step(instance, instance->pids.items[instance->next_pid]))
			return;
		instance->next_fd = instance->kept_fds = 0;
		if (++instance->next_pid % ORMA_PROBES_PROCESS_CLOCK_STEP == 0 &&
		    orma_probe_is_turn_over(&instance->base))
			return;
	}
}

/* When there are no polls, only a scan can write the names of the processes again. A scan that
 * would come too early is done with a later poll. */
static void scan_again(struct orma_probes_process_instance *instance)
{
	if (orma_base_clock_ns(CLOCK_MONOTONIC) >= instance->scan_again_ns)
		orma_probe_run_soon(&instance->base);
	else if (instance->base.period_ms == 0)
		orma_probe_run_at(&instance->base, instance->scan_again_ns);
}

static void run(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	work(instance);
	/* Between two turns, tasks that ftrace sees may be written. */
	orma_probes_process_packet_end(instance);
	base->is_unfinished = instance->step != ORMA_PROCESS_IDLE;
	if (!base->is_unfinished && instance->is_scan_due)
		scan_again(instance);
}

static void clear(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	orma_probes_process_forget(instance);
	/* The process that is being written begins again with its first descriptor. */
	instance->next_fd = instance->kept_fds = 0;
	if (!instance->config.scan_on_start)
		return;
	instance->is_scan_due = true;
	if (instance->step == ORMA_PROCESS_IDLE)
		scan_again(instance);
}

static void destroy(struct orma_probe_instance *base)
{
	struct orma_probes_process_instance *instance = to_instance(base);

	orma_sightings_unlisten(instance->seen, &instance->listener);
	orma_sightings_put(instance->seen);
	orma_probes_process_forget_all(instance);
	orma_probes_numbers_done(&instance->pids);
	orma_probes_numbers_done(&instance->tids);
	orma_probes_numbers_done(&instance->fds);
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
	if (probe->proc_fd < 0)
		return probe->proc_fd;
	probe->has_schedstat = counts_time_of_threads(probe);
	probe->has_last_pid = orma_probes_process_has_last_pid(probe);
	return 0;
}

static void close_probe(struct orma_probe *base)
{
	struct orma_probes_process_probe *probe = to_probe(base);

	orma_base_fd_close(probe->proc_fd);
	orma_base_buf_done(&probe->status_text);
	orma_base_buf_done(&probe->other_text);
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
