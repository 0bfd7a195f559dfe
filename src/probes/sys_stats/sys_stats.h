/* SPDX-License-Identifier: Apache-2.0
 * sys_stats.h - the parts of the data source linux.sys_stats: its configuration, and a writer for
 * each group of values.
 */
#ifndef ORMA_PROBES_SYS_STATS_H
#define ORMA_PROBES_SYS_STATS_H

#include <orma/packet.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "probes/probe_files.h"

#define ORMA_PROBES_SYS_PERIOD_MS_MIN 10

enum orma_probes_sys_group {
	ORMA_SYS_MEMINFO,
	ORMA_SYS_VMSTAT,
	ORMA_SYS_STAT,
	ORMA_SYS_DEVFREQ,
	ORMA_SYS_CPUFREQ,
	ORMA_SYS_BUDDYINFO,
	ORMA_SYS_DISKSTAT,
	ORMA_SYS_PSI,
	ORMA_SYS_THERMAL,
	ORMA_SYS_CPUIDLE,
	ORMA_SYS_GPUFREQ,
	ORMA_SYS_SLAB,
	ORMA_SYS_GROUP_COUNT,
};

/* ---- configuration (sys_config.c) ---- */

#define ORMA_PROBES_SYS_COUNTERS_MAX 256 /* above the largest id of a counter */

/* A set of counter ids. */
struct orma_probes_sys_set {
	uint64_t words[ORMA_PROBES_SYS_COUNTERS_MAX / 64];
};

static inline bool orma_probes_sys_set_has(const struct orma_probes_sys_set *set, uint32_t id)
{
	return id < ORMA_PROBES_SYS_COUNTERS_MAX && set->words[id / 64] >> id % 64 & 1;
}

struct orma_probes_sys_config {
	uint32_t tick_ms;                     /* smallest period; 0 = nothing is polled */
	uint32_t ticks[ORMA_SYS_GROUP_COUNT]; /* period of each group in ticks; 0 = off */
	struct orma_probes_sys_set meminfo, vmstat;
	struct orma_probes_sys_set stat; /* SysStatsConfig.StatCounters */
};

/*
 * Raises periods to the minimum, and refuses periods that are not multiples of the smallest one.
 * After a refusal nothing is polled. Logs both. 0, -EBADMSG or -ENOMEM.
 */
int orma_probes_sys_config_parse(const void *config, size_t size,
				 struct orma_probes_sys_config *ret);
/* "meminfo_period_ms" and so on. */
const char *orma_probes_sys_period_name(enum orma_probes_sys_group group);

/* ---- names of counters (sys_counters.c) ---- */

/* Maps the names of lines of /proc/meminfo and /proc/vmstat to the ids of the protocol. */
struct orma_probes_sys_counters {
	struct orma_map by_hash; /* hash of the name -> struct orma_probes_sys_counter */
	struct orma_arena arena;
};

int orma_probes_sys_counters_init_meminfo(struct orma_probes_sys_counters *counters);
int orma_probes_sys_counters_init_vmstat(struct orma_probes_sys_counters *counters);
void orma_probes_sys_counters_done(struct orma_probes_sys_counters *counters);
/* Returns 0 when there is none. */
uint32_t orma_probes_sys_counters_find(const struct orma_probes_sys_counters *counters,
				       struct orma_str name);

/* ---- text of /proc into fields of an open SysStats message (sys_proc.c) ---- */

void orma_probes_sys_write_meminfo(struct orma_packet *packet, struct orma_str text,
				   const struct orma_probes_sys_counters *counters,
				   const struct orma_probes_sys_set *wanted);
void orma_probes_sys_write_vmstat(struct orma_packet *packet, struct orma_str text,
				  const struct orma_probes_sys_counters *counters,
				  const struct orma_probes_sys_set *wanted);
void orma_probes_sys_write_stat(struct orma_packet *packet, struct orma_str text,
				const struct orma_probes_sys_set *wanted, uint64_t ns_per_tick);
void orma_probes_sys_write_buddyinfo(struct orma_packet *packet, struct orma_str text);
void orma_probes_sys_write_diskstats(struct orma_packet *packet, struct orma_str text);
/* `some` and `full` are the resource ids of the two lines. */
void orma_probes_sys_write_psi(struct orma_packet *packet, struct orma_str text, int some,
			       int full);
void orma_probes_sys_write_slabinfo(struct orma_packet *packet, struct orma_str text);

/* ---- devices below /sys (sys_devices.c) ---- */

struct orma_probes_sys_devices {
	int sys_fd;
	struct orma_map idle_names; /* cpu << 32 | state, to the state's name */
	struct orma_buf text, names;
	struct orma_probes_numbers numbers, states;
};

/* 0 or -errno: no such folder. */
int orma_probes_sys_devices_init(struct orma_probes_sys_devices *devices, const char *sys_path);
void orma_probes_sys_devices_done(struct orma_probes_sys_devices *devices);
/* 0, or -errno when the machine has no such device. */
int orma_probes_sys_write_devfreq(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet);
int orma_probes_sys_write_cpufreq(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet);
int orma_probes_sys_write_thermal(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet);
int orma_probes_sys_write_cpuidle(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet);
int orma_probes_sys_write_gpufreq(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet);
/* Finds the frequency in the line with a star, from pp_dpm_sclk of amdgpu. Returns false when there
 * is none. */
bool orma_probes_sys_amdgpu_parse(struct orma_str text, uint64_t *ret_mhz);

#endif
