/* SPDX-License-Identifier: Apache-2.0
 * sys_stats.c - the data source linux.sys_stats: its instances, their files and their timers.
 *
 * Owns the instances, one per session; each has its own descriptors of the files that its
 * configuration needs, opened once and read from the beginning at each poll, and a counter of
 * ticks. Group g is polled when the counter is a multiple of ticks[g]; all groups of one tick go
 * into one packet, whose timestamp is taken before the first read. The first poll happens in the
 * loop's next turn after the start (a flush that comes earlier does it first), later ones at
 * multiples of the tick on CLOCK_MONOTONIC. What a machine does not have (slabinfo without root,
 * pressure without CONFIG_PSI, thermal zones in a virtual machine) is said once per session at the
 * level of information. Rejected: sharing one read between sessions, since the service's buffers
 * belong to sessions and periods differ.
 */
#include <errno.h>
#include <fcntl.h>
#include <orma/data_source.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/poll.h"
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
	struct orma_probe probe; /* first */
	struct orma_loop *loop;
	struct orma_data_source *source;
	int proc_fd;
	uint64_t ns_per_tick;
	struct orma_probes_sys_counters meminfo, vmstat;
	struct orma_probes_sys_devices devices;
	struct orma_buf text; /* of the file that is being read */
};

struct sys_instance {
	struct sys_probe *probe;
	uint32_t idx;
	struct orma_probes_sys_config config;
	struct orma_timer timer;
	int fds[FILE_COUNT]; /* -1 = not wanted or not to be had */
	uint32_t tick;       /* polls so far */
	uint32_t told;       /* bit per group: somebody was told that it is missing */
};

/* ---- one poll ---- */

static void tell_missing(struct sys_instance *instance, enum orma_probes_sys_group group,
			 const char *what, int error)
{
	if (instance->told >> group & 1)
		return;
	instance->told |= UINT32_C(1) << group;
	orma_base_log(ORMA_LOG_INFO, "linux.sys_stats: nothing for %s: %s: %s",
		      orma_probes_sys_period_name(group), what, strerror(-error));
}

static bool read_file(struct sys_instance *instance, enum sys_file file, struct orma_str *ret)
{
	if (instance->fds[file] < 0)
		return false;
	int r = orma_probes_file_reread(instance->fds[file], &instance->probe->text, ret);
	if (r < 0) {
		tell_missing(instance, sys_files[file].group, sys_files[file].path, r);
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
			tell_missing(instance, group, device_groups[group].path, r);
		return;
	}
	for (int file = 0; file < FILE_COUNT; file++)
		if (sys_files[file].group == group)
			write_proc(instance, (enum sys_file)file, packet);
}

static void poll(struct sys_instance *instance)
{
	struct orma_nested nested;
	struct orma_packet *packet = orma_packet_begin(instance->probe->source, instance->idx);
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

static void on_timer(struct orma_timer *timer)
{
	struct sys_instance *instance = ORMA_CONTAINER_OF(timer, struct sys_instance, timer);
	uint64_t deadline_ns = timer->deadline_ns;
	poll(instance);
	/* From now on rather than from the deadline: polls that this one was too slow for are left
	 * out. */
	deadline_ns = ORMA_MAX(deadline_ns, orma_base_clock_ns(CLOCK_MONOTONIC));
	orma_base_loop_arm(instance->probe->loop, timer,
			   orma_probes_next_poll_ns(deadline_ns, instance->config.tick_ms),
			   on_timer);
}

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
			tell_missing(instance, sys_files[i].group, sys_files[i].path, -errno);
	}
}

static void on_setup(void *ctx, const struct orma_instance *from, void **ret_instance_ctx)
{
	struct sys_instance *instance = orma_base_zalloc(sizeof(*instance));
	int r = instance ? orma_probes_sys_config_parse(from->config, from->config_size,
							&instance->config)
			 : -ENOMEM;
	if (r < 0) {
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.sys_stats: the configuration is not usable: %s", strerror(-r));
		orma_base_free(instance);
		return;
	}
	instance->probe = ctx;
	instance->idx = from->idx;
	open_files(instance);
	*ret_instance_ctx = instance;
}

static void on_start(void *ctx, const struct orma_instance *from)
{
	struct sys_instance *instance = from->instance_ctx;
	struct sys_probe *probe = ctx;
	if (instance && instance->config.tick_ms > 0 &&
	    orma_base_loop_arm_in(probe->loop, &instance->timer, 0, on_timer) < 0)
		orma_base_log(ORMA_LOG_ERROR, "linux.sys_stats: no memory for a timer");
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *from)
{
	struct sys_instance *instance = from->instance_ctx;
	(void)ctx;
	if (instance)
		orma_base_timer_disarm(&instance->timer);
	return ORMA_COMPLETE;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *from)
{
	struct sys_instance *instance = from->instance_ctx;
	struct sys_probe *probe = ctx;
	if (instance && instance->tick == 0 && instance->timer.is_armed)
		on_timer(&instance->timer);
	orma_data_source_flush_thread(probe->source, from->idx);
	return ORMA_COMPLETE;
}

static void on_destroy(void *ctx, const struct orma_instance *from)
{
	struct sys_instance *instance = from->instance_ctx;
	(void)ctx;
	if (!instance)
		return;
	orma_base_timer_disarm(&instance->timer);
	for (int i = 0; i < FILE_COUNT; i++)
		orma_base_fd_close(instance->fds[i]);
	orma_base_free(instance);
}

/* ---- the probe ---- */

static void probe_free(struct orma_probe *probe)
{
	struct sys_probe *self = (void *)probe;
	if (self->source)
		orma_data_source_unregister(self->source);
	orma_base_fd_close(self->proc_fd);
	orma_probes_sys_devices_done(&self->devices);
	orma_probes_sys_counters_done(&self->meminfo);
	orma_probes_sys_counters_done(&self->vmstat);
	orma_base_buf_done(&self->text);
	orma_base_free(self);
}

static int probe_init(struct orma_probe *probe, const struct orma_probe_env *env)
{
	struct sys_probe *self = (void *)probe;
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "linux.sys_stats",
		.policy = ORMA_EXHAUSTED_STALL,
		.ctx = self,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_destroy = on_destroy,
	};
	self->loop = env->loop;
	self->ns_per_tick = orma_probe_ns_per_tick();
	self->proc_fd = self->devices.sys_fd = -1;
	int r = orma_probes_sys_devices_init(&self->devices, env->sys_path);
	if (r == 0)
		r = self->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
	if (r >= 0)
		r = orma_probes_sys_counters_init_meminfo(&self->meminfo);
	if (r >= 0)
		r = orma_probes_sys_counters_init_vmstat(&self->vmstat);
	return r < 0 ? r : orma_data_source_register(&options, &self->source);
}

int orma_probe_sys_stats_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(sizeof(struct sys_probe), probe_init, probe_free, env, ret);
}
