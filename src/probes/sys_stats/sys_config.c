/* SPDX-License-Identifier: Apache-2.0
 * sys_config.c - converts SysStatsConfig: periods to ticks, lists of counters to sets.
 *
 * One timer serves all groups of an instance, so every period must be a multiple of the smallest
 * one. Otherwise the whole configuration is refused, because other periods are not what the user
 * asked for. Rejected: a timer per group (values that a reader compares would have different
 * times); a tick of the greatest common divisor (periods of 100 and 101 ms would need a thousand
 * wake-ups a second).
 */
#include <errno.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "probes/sys_stats/sys_stats.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/sys_stats_config.pb.h"
#include "schema/gen/sys_stats_counters.pb.h"

static const char *const period_names[ORMA_SYS_GROUP_COUNT] = {
	[ORMA_SYS_MEMINFO] = "meminfo_period_ms",   [ORMA_SYS_VMSTAT] = "vmstat_period_ms",
	[ORMA_SYS_STAT] = "stat_period_ms",         [ORMA_SYS_DEVFREQ] = "devfreq_period_ms",
	[ORMA_SYS_CPUFREQ] = "cpufreq_period_ms",   [ORMA_SYS_BUDDYINFO] = "buddyinfo_period_ms",
	[ORMA_SYS_DISKSTAT] = "diskstat_period_ms", [ORMA_SYS_PSI] = "psi_period_ms",
	[ORMA_SYS_THERMAL] = "thermal_period_ms",   [ORMA_SYS_CPUIDLE] = "cpuidle_period_ms",
	[ORMA_SYS_GPUFREQ] = "gpufreq_period_ms",   [ORMA_SYS_SLAB] = "slab_period_ms",
};

const char *orma_probes_sys_period_name(enum orma_probes_sys_group group)
{
	return period_names[group];
}

/* An empty list means all. */
static void set_counters(struct orma_probes_sys_set *set, const char *field, const int32_t *ids,
			 size_t count, const struct orma_proto_enum_desc *desc)
{
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];

	if (count == 0)
		memset(set, 0xff, sizeof(*set));
	for (size_t i = 0; i < count; i++) {
		/* An unknown counter comes from a newer configuration, or is 0. */
		if (ids[i] <= 0 || ids[i] >= ORMA_PROBES_SYS_COUNTERS_MAX ||
		    !orma_proto_enum_name(desc, ids[i], buffer))
			orma_base_log(ORMA_LOG_WARNING, "linux.sys_stats: %s: %d is not a counter",
				      field, ids[i]);
		else
			set->words[ids[i] / 64] |= UINT64_C(1) << ids[i] % 64;
	}
}

static uint32_t clamp(enum orma_probes_sys_group group, uint32_t period_ms)
{
	if (period_ms == 0 || period_ms >= ORMA_PROBES_SYS_PERIOD_MS_MIN)
		return period_ms;
	orma_base_log(ORMA_LOG_INFO, "linux.sys_stats: %s: %u is below the minimum; %u is used",
		      period_names[group], period_ms, ORMA_PROBES_SYS_PERIOD_MS_MIN);
	return ORMA_PROBES_SYS_PERIOD_MS_MIN;
}

static void set_ticks(struct orma_probes_sys_config *config,
		      const uint32_t periods_ms[ORMA_SYS_GROUP_COUNT])
{
	int smallest = -1;
	for (int i = 0; i < ORMA_SYS_GROUP_COUNT; i++)
		if (periods_ms[i] && (smallest < 0 || periods_ms[i] < periods_ms[smallest]))
			smallest = i;
	if (smallest < 0)
		return;
	uint32_t tick_ms = periods_ms[smallest];
	for (int i = 0; i < ORMA_SYS_GROUP_COUNT; i++) {
		if (periods_ms[i] % tick_ms == 0)
			continue;
		orma_base_log(ORMA_LOG_ERROR,
			      "linux.sys_stats: %s: %u is not a multiple of %s, the smallest "
			      "period (%u); "
			      "nothing is recorded",
			      period_names[i], periods_ms[i], period_names[smallest], tick_ms);
		return;
	}
	config->tick_ms = tick_ms;
	for (int i = 0; i < ORMA_SYS_GROUP_COUNT; i++)
		config->ticks[i] = periods_ms[i] / tick_ms;
}

int orma_probes_sys_config_parse(const void *config, size_t size,
				 struct orma_probes_sys_config *ret)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_data_source_config *source;
	int r = orma_pb_data_source_config_decode(config, size, &arena, &source);
	if (r < 0)
		return r;
	*ret = (struct orma_probes_sys_config){0};
	const struct orma_pb_sys_stats_config *wanted = source->sys_stats_config;
	if (!wanted)
		return 0;
	uint32_t periods_ms[ORMA_SYS_GROUP_COUNT] = {
		[ORMA_SYS_MEMINFO] = wanted->meminfo_period_ms,
		[ORMA_SYS_VMSTAT] = wanted->vmstat_period_ms,
		[ORMA_SYS_STAT] = wanted->stat_period_ms,
		[ORMA_SYS_DEVFREQ] = wanted->devfreq_period_ms,
		[ORMA_SYS_CPUFREQ] = wanted->cpufreq_period_ms,
		[ORMA_SYS_BUDDYINFO] = wanted->buddyinfo_period_ms,
		[ORMA_SYS_DISKSTAT] = wanted->diskstat_period_ms,
		[ORMA_SYS_PSI] = wanted->psi_period_ms,
		[ORMA_SYS_THERMAL] = wanted->thermal_period_ms,
		[ORMA_SYS_CPUIDLE] = wanted->cpuidle_period_ms,
		[ORMA_SYS_GPUFREQ] = wanted->gpufreq_period_ms,
		[ORMA_SYS_SLAB] = wanted->slab_period_ms,
	};
	for (int i = 0; i < ORMA_SYS_GROUP_COUNT; i++)
		periods_ms[i] = clamp((enum orma_probes_sys_group)i, periods_ms[i]);
	set_ticks(ret, periods_ms);
	set_counters(&ret->meminfo, "meminfo_counters", wanted->meminfo_counters.items,
		     wanted->meminfo_counters.count, &orma_pb_meminfo_counters_enum);
	set_counters(&ret->vmstat, "vmstat_counters", wanted->vmstat_counters.items,
		     wanted->vmstat_counters.count, &orma_pb_vmstat_counters_enum);
	set_counters(&ret->stat, "stat_counters", wanted->stat_counters.items,
		     wanted->stat_counters.count, &orma_pb_sys_stats_config_stat_counters_enum);
	return 0;
}
