/* SPDX-License-Identifier: Apache-2.0
 * sys_stats.c - the data source linux.sys_stats: its instances and their files.
 *
 * Owns the instances, one per session. Each opens the files that its configuration needs once, and
 * reads them from the beginning at each tick. It counts ticks, and polls group g when the count is
 * a multiple of ticks[g]. All groups of one tick go into one packet, whose timestamp is taken
 * before the first read. Some files may be missing (slabinfo without root, pressure without
 * CONFIG_PSI, thermal zones in a virtual machine); this is logged once per session and group, at
 * the info level. Rejected: sharing one read between sessions, because sessions have buffers and
 * periods of their own.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe.h"
#include "probes/sys_stats/sys_stats.h"
#include "schema/gen/sys_stats.pb.h"
#include "schema/gen/trace_packet.pb.h"

/* Files of /proc, and the group for which each is read. */
enum sys_file {
	FILE_MEMINFO,
	FILE_VMSTAT,
	FILE_STAT,
	FILE_BUDDYINFO,
	FILE_DISKSTATS,
	FILE_PSI_CPU,
	FILE_PSI_IO,
	FILE_PSI_MEMORY,
	FILE_SLABINFO,
	FILE_COUNT,
};

static const struct {
	const char *path;
	enum orma_probes_sys_group group;
} sys_files[FILE_COUNT] = {
	[FILE_MEMINFO] = {"meminfo", ORMA_SYS_MEMINFO},
	[FILE_VMSTAT] = {"vmstat", ORMA_SYS_VMSTAT},
	[FILE_STAT] = {"stat", ORMA_SYS_STAT},
	[FILE_BUDDYINFO] = {"buddyinfo", ORMA_SYS_BUDDYINFO},
	[FILE_DISKSTATS] = {"diskstats", ORMA_SYS_DISKSTAT},
	[FILE_PSI_CPU] = {"pressure/cpu", ORMA_SYS_PSI},
	[FILE_PSI_IO] = {"pressure/io", ORMA_SYS_PSI},
	[FILE_PSI_MEMORY] = {"pressure/memory", ORMA_SYS_PSI},
	[FILE_SLABINFO] = {"slabinfo", ORMA_SYS_SLAB},
};

struct sys_probe {
	struct orma_probe base; /* first */
	int proc_fd;
	uint64_t ns_per_tick;
	struct orma_probes_sys_counters meminfo, vmstat;
	struct orma_probes_sys_devices devices;
	struct orma_buf text; /* the file that is being read */
};

struct sys_instance {
	struct orma_probe_instance base; /* first */
	struct sys_probe *probe;
	struct orma_probes_sys_config config;
	int fds[FILE_COUNT]; /* -1 = not wanted, or missing */
	uint32_t tick;       /* polls so far */
	uint32_t logged;     /* bit per group: the log already says that it is missing */
};

/* ---- one poll ---- */

static void log_missing(struct sys_instance *instance, enum orma_probes_sys_group group,
			const char *what, int error)
{
	if (instance->logged >> group & 1)
		return;
	instance->logged |= UINT32_C(1) << group;
	orma_base_log(ORMA_LOG_INFO, "linux.sys_stats: nothing for %s: %s: %s",
		      orma_probes_sys_period_name(group), what, strerror(-error));
}

static bool read_file(struct sys_instance *instance, enum sys_file file, struct orma_str *ret)
{
	if (instance->fds[file] < 0)
		return false;
	int r = orma_probes_file_reread(instance->fds[file], &instance->probe->text, ret);
	if (r < 0) {
		log_missing(instance, sys_files[file].group, sys_files[file].path, r);
		if (r != -ENOMEM)
			instance->fds[file] = orma_base_fd_close(instance->fds[file]);
	}
	return r == 0;
}

static void write_proc(struct sys_instance *instance, enum sys_file file,
		       struct orma_packet *packet)
{
	struct sys_probe *probe = instance->probe;
	const struct orma_probes_sys_config *config = &instance->config;
	struct orma_str text;
	if (!read_file(instance, file, &text))
		return;
	switch (file) {
	case FILE_MEMINFO:
		orma_probes_sys_write_meminfo(packet, text, &probe->meminfo, &config->meminfo);
		break;
	case FILE_VMSTAT:
		orma_probes_sys_write_vmstat(packet, text, &probe->vmstat, &config->vmstat);
		break;
	case FILE_STAT:
		orma_probes_sys_write_stat(packet, text, &config->stat, probe->ns_per_tick);
		break;
	case FILE_BUDDYINFO:
		orma_probes_sys_write_buddyinfo(packet, text);
		break;
	case FILE_DISKSTATS:
		orma_probes_sys_write_diskstats(packet, text);
		break;
	case FILE_PSI_CPU:
		orma_probes_sys_write_psi(
			packet, text,
			ORMA_PB_SYS_STATS_PSI_SAMPLE_PSI_RESOURCE_PSI_RESOURCE_CPU_SOME,
			ORMA_PB_SYS_STATS_PSI_SAMPLE_PSI_RESOURCE_PSI_RESOURCE_CPU_FULL);
		break;
	case FILE_PSI_IO:
		orma_probes_sys_write_psi(
			packet, text,
			ORMA_PB_SYS_STATS_PSI_SAMPLE_PSI_RESOURCE_PSI_RESOURCE_IO_SOME,
			ORMA_PB_SYS_STATS_PSI_SAMPLE_PSI_RESOURCE_PSI_RESOURCE_IO_FULL);
		break;
	case FILE_PSI_MEMORY:
		orma_probes_sys_write_psi(
			packet, text,
			ORMA_PB_SYS_STATS_PSI_SAMPLE_PSI_RESOURCE_PSI_RESOURCE_MEMORY_SOME,
			ORMA_PB_SYS_STATS_PSI_SAMPLE_PSI_RESOURCE_PSI_RESOURCE_MEMORY_FULL);
		break;
	case FILE_SLABINFO:
		orma_probes_sys_write_slabinfo(packet, text);
		break;
	case FILE_COUNT:
		break;
	}
}

typedef int device_fn(struct orma_probes_sys_devices *devices, struct orma_packet *packet);

static const struct {
	device_fn *write;
	const char *path;
} device_groups[ORMA_SYS_GROUP_COUNT] = {
	[ORMA_SYS_DEVFREQ] = {orma_probes_sys_write_devfreq, "class/devfreq"},
	[ORMA_SYS_CPUFREQ] = {orma_probes_sys_write_cpufreq, "devices/system/cpu"},
	[ORMA_SYS_THERMAL] = {orma_probes_sys_write_thermal, "class/thermal"},
	[ORMA_SYS_CPUIDLE] = {orma_probes_sys_write_cpuidle, "devices/system/cpu"},
	[ORMA_SYS_GPUFREQ] = {orma_probes_sys_write_gpufreq, "class/drm"},
};

static bool is_due(const struct sys_instance *instance, enum orma_probes_sys_group group)
{
	uint32_t ticks = instance->config.ticks[group];
	return ticks > 0 && instance->tick % ticks == 0;
}

static void write_group(struct sys_instance *instance, enum orma_probes_sys_group group,
			struct orma_packet *packet)
{
	if (device_groups[group].write) {
		int r = device_groups[group].write(&instance->probe->devices, packet);
		if (r < 0)
			log_missing(instance, group, device_groups[group].path, r);
		return;
	}
	for (int file = 0; file < FILE_COUNT; file++)
		if (sys_files[file].group == group)
			write_proc(instance, (enum sys_file)file, packet);
}

static struct sys_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct sys_instance, base);
}

static void run(struct orma_probe_instance *base)
{
	struct sys_instance *instance = to_instance(base);
	struct orma_nested nested;
	struct orma_packet *packet = orma_packet_begin(base->probe->source, base->idx);
	if (!packet)
		return;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_SYS_STATS);
	for (int group = 0; group < ORMA_SYS_GROUP_COUNT; group++)
		if (is_due(instance, (enum orma_probes_sys_group)group))
			write_group(instance, (enum orma_probes_sys_group)group, packet);
	orma_packet_varint(packet, ORMA_PB_SYS_STATS_COLLECTION_END_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
	instance->tick++;
}

/* ---- instances ---- */

static void open_files(struct sys_instance *instance)
{
	for (int i = 0; i < FILE_COUNT; i++) {
		instance->fds[i] = -1;
		if (instance->config.ticks[sys_files[i].group] == 0)
			continue;
		instance->fds[i] = orma_base_fd_avoid_standard(
			openat(instance->probe->proc_fd, sys_files[i].path,
			       O_RDONLY | O_CLOEXEC | O_NOCTTY));
		if (instance->fds[i] < 0)
			log_missing(instance, sys_files[i].group, sys_files[i].path, -errno);
	}
}

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct sys_instance *instance = to_instance(base);
	int r = orma_probes_sys_config_parse(config, size, &instance->config);

	if (r < 0)
		return r;
	instance->probe = ORMA_CONTAINER_OF(base->probe, struct sys_probe, base);
	base->period_ms = instance->config.tick_ms;
	open_files(instance);
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	return base->period_ms > 0;
}

static void destroy(struct orma_probe_instance *base)
{
	struct sys_instance *instance = to_instance(base);

	for (int i = 0; i < FILE_COUNT; i++)
		orma_base_fd_close(instance->fds[i]);
}

/* ---- the probe ---- */

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct sys_probe *probe = ORMA_CONTAINER_OF(base, struct sys_probe, base);

	probe->ns_per_tick = orma_probe_ns_per_tick();
	probe->proc_fd = probe->devices.sys_fd = -1;
	int r = orma_probes_sys_devices_init(&probe->devices, env->sys_path);
	if (r == 0)
		r = probe->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
	if (r >= 0)
		r = orma_probes_sys_counters_init_meminfo(&probe->meminfo);
	if (r >= 0)
		r = orma_probes_sys_counters_init_vmstat(&probe->vmstat);
	return r;
}

static void close_probe(struct orma_probe *base)
{
	struct sys_probe *probe = ORMA_CONTAINER_OF(base, struct sys_probe, base);

	orma_base_fd_close(probe->proc_fd);
	orma_probes_sys_devices_done(&probe->devices);
	orma_probes_sys_counters_done(&probe->meminfo);
	orma_probes_sys_counters_done(&probe->vmstat);
	orma_base_buf_done(&probe->text);
}

static const struct orma_probe_ops ops = {
	.name = "linux.sys_stats",
	.probe_bytes = sizeof(struct sys_probe),
	.instance_bytes = sizeof(struct sys_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
	.destroy = destroy,
};

int orma_probe_sys_stats_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
