/* SPDX-License-Identifier: Apache-2.0
 * perf_complain.c - log lines about what the kernel refuses: the reason, and the remedy. Owns nothing.
 *
 * The kernel has the same two errors for several reasons, so the setting that decides is read, and the line names it.
 */
#include "probes/perf/perf_complain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log_message.h"
#include "probes/probe_files.h"

#define NOT_KNOWN   INT64_MIN
#define SHORT_LEAST 10u /* processes; fewer are not worth a line */

static int64_t read_paranoid(const struct orma_perf_paths *paths)
{
	char name[512];
	int64_t value;
	int size = snprintf(name, sizeof(name), "%s/sys/kernel/perf_event_paranoid", paths->proc);

	return size < 0 || (size_t)size >= sizeof(name) ||
			       orma_probes_file_read_i64(AT_FDCWD, name, &value) < 0
		       ? NOT_KNOWN
		       : value;
}

/* Returns the first event of this kind in the config; NULL = none. */
static const struct orma_perf_event *find_event(const struct orma_perf_config *config,
						enum orma_perf_event_kind kind)
{
	if (config->off_cpu)
		return NULL;
	if (config->timebase.kind == kind)
		return &config->timebase;
	for (uint32_t i = 0; i < config->follower_count; i++)
		if (config->followers[i].kind == kind)
			return &config->followers[i];
	return NULL;
}

/* Returns a process in the config that belongs to another user; 0 = none. */
static int find_foreign(const struct orma_perf_paths *paths, const struct orma_perf_config *config)
{
	struct stat facts;
	char path[512];

	for (size_t i = 0; i < config->scope.target_pid_count; i++) {
		snprintf(path, sizeof(path), "%s/%d", paths->proc,
			 (int)config->scope.target_pids[i]);
		if (stat(path, &facts) == 0 && facts.st_uid != geteuid())
			return config->scope.target_pids[i];
	}
	return 0;
}

/* True if tracefs is mounted where tracepoints are searched. */
static bool has_tracefs(const struct orma_perf_paths *paths)
{
	static const char *const usual[] = {"/sys/kernel/tracing/events",
					    "/sys/kernel/debug/tracing/events"};
	char name[512];

	if (!paths->tracefs)
		return access(usual[0], F_OK) == 0 || access(usual[1], F_OK) == 0;
	snprintf(name, sizeof(name), "%s/events", paths->tracefs);
	return access(name, F_OK) == 0;
}

static void complain_tracepoint(const struct orma_perf_paths *paths,
				const struct orma_perf_event *event)
{
	const char *remedy = "this kernel has none of this name; `ls /sys/kernel/tracing/events` "
			     "shows those that it has";

	if (geteuid() != 0)
		remedy = "only root may use tracepoints; run as root";
	else if (!has_tracefs(paths))
		remedy = "tracefs is not mounted; \"mount -t tracefs nodev /sys/kernel/tracing\"";
	orma_base_log(ORMA_LOG_ERROR, "linux.perf: the tracepoint %.*s cannot be used: %s",
		      (int)event->tracepoint.size, event->tracepoint.data, remedy);
}

static void complain_refused(const struct orma_perf_paths *paths,
			     const struct orma_perf_config *config)
{
	const struct orma_perf_event *tracepoint = find_event(config, ORMA_PERF_EVENT_TRACEPOINT);
	int64_t paranoid = read_paranoid(paths);
	int foreign = geteuid() != 0 ? find_foreign(paths, config) : 0;

	if (paranoid == NOT_KNOWN)
		orma_base_log(ORMA_LOG_ERROR, "linux.perf: this kernel has no perf events");
	else if (paranoid >= 3 && geteuid() != 0)
		orma_base_log(
			ORMA_LOG_ERROR,
			"linux.perf: kernel.perf_event_paranoid is %d, so only root may use "
			"perf events; run as root, or \"sysctl kernel.perf_event_paranoid=2\"",
			(int)paranoid);
	else if (tracepoint && geteuid() != 0)
		complain_tracepoint(paths, tracepoint);
	else if (paranoid > 0 && geteuid() != 0 &&
		 (config->cgroup_count > 0 || config->poll_ms > 0))
		orma_base_log(
			ORMA_LOG_ERROR,
			"linux.perf: %s whole CPUs to be watched, and kernel.perf_event_paranoid "
			"is %d; run as root, or \"sysctl kernel.perf_event_paranoid=0\"",
			config->cgroup_count > 0 ? "control groups need" : "polling needs",
			(int)paranoid);
	else if (foreign)
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: process %d belongs to another user; run as that user, "
			      "or as root",
			      foreign);
	else
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: the kernel refuses perf events "
			      "(kernel.perf_event_paranoid is %d); in a container, its seccomp "
			      "filter may forbid them: run it with CAP_PERFMON, or with "
			      "--security-opt seccomp=unconfined",
			      (int)paranoid);
}

static void complain_cgroup(const struct orma_perf_config *config)
{
	orma_base_log(ORMA_LOG_ERROR,
		      "linux.perf: there is no control group %.*s below /sys/fs/cgroup, or the "
		      "kernel counts no events of it; `systemd-cgls` shows those that exist",
		      (int)config->cgroups[0].size, config->cgroups[0].data);
}

/* The kernel lowers the limit by itself when samples take much time. */
static void complain_invalid(const struct orma_perf_paths *paths,
			     const struct orma_perf_config *config)
{
	char name[512];
	int64_t limit;

	snprintf(name, sizeof(name), "%s/sys/kernel/perf_event_max_sample_rate", paths->proc);
	if (config->cgroup_count > 0)
		complain_cgroup(config);
	else if (config->period == 0 && !config->off_cpu &&
		 orma_probes_file_read_i64(AT_FDCWD, name, &limit) == 0 && limit >= 0 &&
		 config->hz > (uint64_t)limit)
		orma_base_log(
			ORMA_LOG_ERROR,
			"linux.perf: the frequency %llu is above "
			"kernel.perf_event_max_sample_rate, which is %lld; choose a lower one",
			(unsigned long long)config->hz, (long long)limit);
	else
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: the kernel does not accept these numbers for the event; "
			      "choose another frequency or period");
}

static void complain_unknown(const struct orma_perf_paths *paths,
			     const struct orma_perf_config *config)
{
	const struct orma_perf_event *tracepoint = find_event(config, ORMA_PERF_EVENT_TRACEPOINT);
	const struct orma_perf_event *raw = find_event(config, ORMA_PERF_EVENT_RAW);

	if (config->cgroup_count > 0)
		complain_cgroup(config);
	else if (tracepoint)
		complain_tracepoint(paths, tracepoint);
	else if (raw && raw->pmu_name.size > 0)
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: this machine has no PMU %.*s, or not this event of it; "
			      "/sys/bus/event_source/devices has those that it has",
			      (int)raw->pmu_name.size, raw->pmu_name.data);
	else
		orma_base_log(
			ORMA_LOG_ERROR,
			"linux.perf: this machine does not count this event; virtual machines "
			"often have no hardware counters, but cpu-clock (SW_CPU_CLOCK) "
			"everywhere");
}

void orma_perf_complain_open(const struct orma_perf_paths *paths,
			     const struct orma_perf_config *config, int error)
{
	bool is_named =
		config->scope.target_pid_count > 0 || config->scope.target_cmdline_count > 0;

	switch (error) {
	case -EACCES:
		complain_refused(paths, config);
		break;
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		complain_unknown(paths, config);
		break;
	case -EINVAL:
	case -EBADF: /* a folder that is not a control group's */
		complain_invalid(paths, config);
		break;
	case -ENODATA:
		orma_base_log(
			ORMA_LOG_ERROR, "linux.perf: there is no process to profile: %s",
			is_named ? "those of the configuration have ended, or do not belong "
				   "to this user"
				 : "this user runs no other program, and only root may profile "
				   "the whole machine");
		break;
	case -EMFILE:
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: there are not enough descriptors for one event for each "
			      "thread and CPU; raise \"ulimit -n\", or name fewer processes");
		break;
	case -E2BIG:
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: more than 8192 threads would be opened one by one; name "
			      "fewer processes, or run as root");
		break;
	case -ENOBUFS:
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.perf: this user may not lock enough memory for the rings; "
			      "raise \"ulimit -l\" or kernel.perf_event_mlock_kb, or name a "
			      "smaller ring_buffer_pages or stack_bytes in a config");
		break;
	case -ENOSYS:
		orma_base_log(
			ORMA_LOG_ERROR,
			"linux.perf: perf_event_open() does not exist here: the kernel was "
			"built without CONFIG_PERF_EVENTS, or a sandbox hides it; run outside "
			"of the sandbox");
		break;
	default:
		orma_base_log(ORMA_LOG_ERROR, "linux.perf: the event cannot be opened: %s",
			      strerror(-error));
	}
}

void orma_perf_complain_tasks(const struct orma_perf_paths *paths,
			      const struct orma_perf_config *config,
			      const struct orma_perf_events *events)
{
	bool is_named =
		config->scope.target_pid_count > 0 || config->scope.target_cmdline_count > 0;

	orma_base_log(ORMA_LOG_WARNING,
		      "linux.perf: kernel.perf_event_paranoid is %d, so this user may not watch "
		      "whole CPUs: %zu %s of %s %s sampled, and their children; root sees all, and "
		      "so does everybody after \"sysctl kernel.perf_event_paranoid=0\"",
		      (int)read_paranoid(paths), events->task_count,
		      events->task_count == 1 ? "thread" : "threads",
		      is_named ? "the named processes" : "this user's processes",
		      events->task_count == 1 ? "is" : "are");
	if (config->follower_count > 0)
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.perf: followers are not counted for single tasks");
}

void orma_perf_complain_limits(const struct orma_perf_paths *paths,
			       const struct orma_perf_config *config,
			       const struct orma_perf_events *events)
{
	if (events->can & ORMA_PERF_CAN_KERNEL || config->timebase.exclude_kernel)
		return;
	if (config->off_cpu)
		orma_base_log(
			ORMA_LOG_WARNING,
			"linux.perf: how long each thread waits is seen, but not where: "
			"threads stop in the kernel, and kernel.perf_event_paranoid is %d; run "
			"as root, or \"sysctl kernel.perf_event_paranoid=1\", to see where",
			(int)read_paranoid(paths));
	else
		orma_base_log(ORMA_LOG_WARNING,
			      "linux.perf: time in the kernel is not seen, because "
			      "kernel.perf_event_paranoid is %d; run as root, or \"sysctl "
			      "kernel.perf_event_paranoid=1\"",
			      (int)read_paranoid(paths));
}

void orma_perf_complain_waits(const struct orma_perf_paths *paths,
			      const struct orma_perf_config *config)
{
	orma_base_log(
		ORMA_LOG_WARNING,
		"linux.perf: threads stop running more than %llu times a second on a CPU. Each "
		"stop is recorded and costs about 10 us, because kernel.perf_event_paranoid is "
		"%d. Set a frequency to record fewer, or run as root: then one stop in N is "
		"recorded",
		(unsigned long long)config->hz, (int)read_paranoid(paths));
}

void orma_perf_complain_short(const struct orma_perf_paths *paths,
			      const struct orma_perf_processes *processes)
{
	if (processes->unsampled_count < SHORT_LEAST ||
	    processes->unsampled_count * 2 < processes->ended_count)
		return;
	orma_base_log(
		ORMA_LOG_WARNING,
		"linux.perf: %llu of %llu processes ended before their first sample, and their "
		"time is missing: kernel.perf_event_paranoid is %d, so this user may not watch "
		"whole CPUs, and the kernel begins a period anew in each process; run as root, "
		"or \"sysctl kernel.perf_event_paranoid=0\"",
		(unsigned long long)processes->unsampled_count,
		(unsigned long long)processes->ended_count, (int)read_paranoid(paths));
}

void orma_perf_complain_late(const struct orma_perf_reader *reader)
{
	if (reader->late_count == 0)
		return;
	orma_base_log(
		ORMA_LOG_WARNING,
		"linux.perf: %llu of %llu stacks are not whole, because reading their programs "
		"took too long for the ring; fewer samples (-F, --period), or a larger "
		"ring_buffer_pages in a config, help",
		(unsigned long long)reader->late_count, (unsigned long long)reader->sample_count);
}
