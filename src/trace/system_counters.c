/* SPDX-License-Identifier: Apache-2.0
 * system_counters.c - the counters of the whole system: memory, CPU times, interrupts, disks, pressure and the rest of
 * SysStats.
 */
#include <ctype.h>
#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/sys_stats.pb.h"
#include "schema/gen/sys_stats_counters.pb.h"
#include "trace/system_packets.h"

enum { PAGE_BYTES_DEFAULT = 4096, SECTORS_PER_MB = 2048, ORDERS_MAX = 32 };

struct sample {
	struct orma_system *system;
	uint32_t machine_idx;
	int64_t ts;
};

static int count(const struct sample *sample, const struct orma_track_kind *kind,
		 const int64_t *values, double value)
{
	return orma_system_count(sample->system, sample->machine_idx, sample->ts, kind, values,
				 value, ORMA_CELL_NULL);
}

static int64_t text(const struct sample *sample, struct orma_str value)
{
	return orma_system_text(sample->system, value);
}

static int64_t constant(const struct sample *sample, const char *value)
{
	return orma_tables_string(sample->system->tables, orma_base_str(value));
}

#define KIND(name_, type_, unit_, format, ...)                                                     \
	static const struct orma_track_kind name_ = {.type = type_,                                \
						     .unit = unit_,                                \
						     .name = format,                               \
						     .dimensions = {__VA_ARGS__},                  \
						     .is_counter = true}
KIND(meminfo_kind, "meminfo", "bytes", "%0", {"meminfo_key", true});
KIND(vmstat_kind, "vmstat", NULL, "%0", {"vmstat_key", true});
KIND(cpustat_kind, "cpustat", NULL, "cpu.times.%1", {"cpu", false}, {"cpustat_key", true});
KIND(irq_kind, "num_irq", NULL, "num_irq (id: %0)", {"irq", false});
KIND(softirq_kind, "num_softirq", NULL, "num_softirq (id: %0)", {"irq", false});
KIND(forks_kind, "num_forks", NULL, "num_forks", {NULL, false});
KIND(irqs_kind, "num_irq_total", NULL, "num_irq_total", {NULL, false});
KIND(softirqs_kind, "num_softirq_total", NULL, "num_softirq_total", {NULL, false});
KIND(buddy_kind, "buddyinfo", NULL, "mem.buddyinfo[%0][%1][%2 kB]", {"buddyinfo_node", true},
     {"buddyinfo_zone", true}, {"buddyinfo_chunk_size_kb", false});
KIND(psi_kind, "psi", NULL, "psi.%0", {"psi_resource", true});
KIND(thermal_kind, "thermal_temperature_sys", "C", "%0", {"thermal_zone", true});
KIND(idle_kind, "cpu_idle_state", "us", "cpuidle%0.%1", {"cpu", false}, {"state", true});
KIND(slab_kind, "slabinfo", "bytes", "mem.slab.%0", {"slab_name", true});
KIND(devfreq_kind, "clock_frequency", NULL, "%0 Frequency", {"linux_device", true});
KIND(cpufreq_kind, "cpu_frequency", NULL, "cpufreq", {"cpu", false});
KIND(gpufreq_kind, "gpu_frequency", "kHz", "gpufreq", {"ugpu", false}, {"gpu", false});

static const char *meminfo_key(int32_t key)
{
	static const char *const names[] = {
		"MemUnspecified", "MemTotal",     "MemFree",        "MemAvailable", "Buffers",
		"Cached",         "SwapCached",   "Active",         "Inactive",     "Active(anon)",
		"Inactive(anon)", "Active(file)", "Inactive(file)", "Unevictable",  "Mlocked",
		"SwapTotal",      "SwapFree",     "Dirty",          "Writeback",    "AnonPages",
		"Mapped",         "Shmem",        "Slab",           "SReclaimable", "SUnreclaim",
		"KernelStack",    "PageTables",   "CommitLimit",    "Committed_AS", "VmallocTotal",
		"VmallocUsed",    "VmallocChunk", "CmaTotal",       "CmaFree",      "Gpu",
		"Zram",           "Misc",         "ION_heap",       "ION_heap_pool"};
	return key >= 0 && (size_t)key < ORMA_ARRAY_SIZE(names) ? names[key] : NULL;
}

static int take_meminfo(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	int r = 0;
	for (size_t i = 0; i < stats->meminfo.count && r == 0; i++) {
		const struct orma_pb_sys_stats_meminfo_value *value = stats->meminfo.items[i];
		const char *key = meminfo_key(value->key);
		if (!key)
			orma_stats_add(&sample->system->stats, sample->machine_idx,
				       ORMA_STAT_meminfo_unknown_keys, 0, 1);
		else
			r = count(sample, &meminfo_kind, ORMA_DIMENSIONS(constant(sample, key)),
				  (double)value->value * 1024);
	}
	return r;
}

/* The names are those of the schema in lower case without their prefix. */
static int take_vmstat(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	static const char prefix[] = "VMSTAT_";
	int r = 0;
	for (size_t i = 0; i < stats->vmstat.count && r == 0; i++) {
		const struct orma_pb_sys_stats_vmstat_value *value = stats->vmstat.items[i];
		char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
		const char *name =
			orma_proto_enum_name(&orma_pb_vmstat_counters_enum, value->key, buffer);
		char key[ORMA_PROTO_ENUM_NAME_BYTES];
		size_t size = 0;
		if (!name) {
			orma_stats_add(&sample->system->stats, sample->machine_idx,
				       ORMA_STAT_vmstat_unknown_keys, 0, 1);
			continue;
		}
		for (name += sizeof(prefix) - 1; *name && size < sizeof(key); name++)
			key[size++] = (char)tolower((unsigned char)*name);
		r = count(sample, &vmstat_kind,
			  ORMA_DIMENSIONS(text(sample, (struct orma_str){key, size})),
			  (double)value->value);
	}
	return r;
}

static int take_cpu_times(const struct sample *sample,
			  const struct orma_pb_sys_stats_cpu_times *times)
{
	const struct {
		const char *key;
		uint64_t value;
	} values[] = {{"user_ns", times->user_ns},
		      {"user_nice_ns", times->user_nice_ns},
		      {"system_mode_ns", times->system_mode_ns},
		      {"idle_ns", times->idle_ns},
		      {"io_wait_ns", times->io_wait_ns},
		      {"irq_ns", times->irq_ns},
		      {"softirq_ns", times->softirq_ns},
		      {"steal_ns", times->steal_ns}};
	int r = 0;
	if (!orma_pb_sys_stats_cpu_times_has_cpu_id(times)) {
		orma_stats_add(&sample->system->stats, sample->machine_idx,
			       ORMA_STAT_invalid_cpu_times, 0, 1);
		return 0;
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(values) && r == 0; i++)
		r = count(sample, &cpustat_kind,
			  ORMA_DIMENSIONS(times->cpu_id, constant(sample, values[i].key)),
			  (double)values[i].value);
	return r;
}

static int take_interrupts(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	int r = 0;
	for (size_t i = 0; i < stats->num_irq.count && r == 0; i++)
		r = count(sample, &irq_kind, ORMA_DIMENSIONS(stats->num_irq.items[i]->irq),
			  (double)stats->num_irq.items[i]->count);
	for (size_t i = 0; i < stats->num_softirq.count && r == 0; i++)
		r = count(sample, &softirq_kind, ORMA_DIMENSIONS(stats->num_softirq.items[i]->irq),
			  (double)stats->num_softirq.items[i]->count);
	if (r == 0 && orma_pb_sys_stats_has_num_forks(stats))
		r = count(sample, &forks_kind, NULL, (double)stats->num_forks);
	if (r == 0 && orma_pb_sys_stats_has_num_irq_total(stats))
		r = count(sample, &irqs_kind, NULL, (double)stats->num_irq_total);
	if (r == 0 && orma_pb_sys_stats_has_num_softirq_total(stats))
		r = count(sample, &softirqs_kind, NULL, (double)stats->num_softirq_total);
	return r;
}

static uint32_t page_bytes(const struct sample *sample)
{
	const struct orma_system_machine *machine =
		orma_system_machine(sample->system, sample->machine_idx);
	return machine && machine->page_bytes ? machine->page_bytes : PAGE_BYTES_DEFAULT;
}

static int take_buddy(const struct sample *sample, const struct orma_pb_sys_stats_buddy_info *info)
{
	int r = 0;
	for (size_t i = 0; i < info->order_pages.count && i < ORDERS_MAX && r == 0; i++)
		r = count(sample, &buddy_kind,
			  ORMA_DIMENSIONS(text(sample, info->node), text(sample, info->zone),
					  (uint32_t)(((uint64_t)page_bytes(sample) << i) / 1024)),
			  info->order_pages.items[i]);
	return r;
}

/* The numbers of the sample before. */
struct orma_disk {
	int64_t last[8];
};

static double throughput(double amount, int64_t ms)
{
	return ms == 0 ? 0 : amount * 1000 / (double)ms;
}

static int count_disk(const struct sample *sample, struct orma_str device, const char *name,
		      const char *unit, double value)
{
	struct orma_track_kind kind = {
		.type = "diskstat",
		.unit = unit,
		.name = "diskstat.[%0].%1",
		.dimensions = {{"device_name", true}, {"counter_name", true}},
		.is_counter = true};
	return count(sample, &kind, ORMA_DIMENSIONS(text(sample, device), constant(sample, name)),
		     value);
}

/* Counters are differences, so the first sample of a disk gives none. */
static int take_disk(const struct sample *sample, const struct orma_pb_sys_stats_disk_stat *stat)
{
	struct orma_system *system = sample->system;
	static const char *const amounts[] = {"read_amount", "write_amount", "discard_amount"};
	static const char *const rates[] = {"read_throughput", "write_throughput",
					    "discard_throughput"};
	int64_t now[] = {(int64_t)stat->read_sectors,    (int64_t)stat->read_time_ms,
			 (int64_t)stat->write_sectors,   (int64_t)stat->write_time_ms,
			 (int64_t)stat->discard_sectors, (int64_t)stat->discard_time_ms,
			 (int64_t)stat->flush_count,     (int64_t)stat->flush_time_ms};
	uint64_t key =
		(uint64_t)sample->machine_idx << 32 | (uint64_t)text(sample, stat->device_name);
	struct orma_disk *disk = orma_base_map_get(&system->disks, key);
	bool is_first = disk == NULL;
	int64_t change[ORMA_ARRAY_SIZE(now)];
	int r = 0;
	if (is_first) {
		disk = orma_base_arena_alloc(&system->arena, sizeof(*disk));
		if (!disk || orma_base_map_put(&system->disks, key, disk) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(now); i++) {
		change[i] = (int64_t)((uint64_t)now[i] - (uint64_t)disk->last[i]);
		disk->last[i] = now[i];
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(amounts) && r == 0 && !is_first; i++) {
		double amount = (double)change[2 * i] / SECTORS_PER_MB;
		r = count_disk(sample, stat->device_name, amounts[i], "MB", amount);
		if (r == 0)
			r = count_disk(sample, stat->device_name, rates[i], "MB/s",
				       throughput(amount, change[2 * i + 1]));
	}
	if (r == 0 && !is_first)
		r = count_disk(sample, stat->device_name, "flush_amount", "count",
			       (double)change[6]);
	if (r == 0 && !is_first)
		r = count_disk(sample, stat->device_name, "flush_time", "ms", (double)change[7]);
	return r;
}

static int take_pressure(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	static const char *const resources[] = {"resource.unspecified",
						"cpu.some",
						"cpu.full",
						"io.some",
						"io.full",
						"mem.some",
						"mem.full"};
	int r = 0;
	for (size_t i = 0; i < stats->psi.count && r == 0; i++) {
		const struct orma_pb_sys_stats_psi_sample *psi = stats->psi.items[i];
		if (psi->resource < 0 || (size_t)psi->resource >= ORMA_ARRAY_SIZE(resources))
			orma_stats_add(&sample->system->stats, sample->machine_idx,
				       ORMA_STAT_psi_unknown_resource, 0, 1);
		else
			r = count(sample, &psi_kind,
				  ORMA_DIMENSIONS(constant(sample, resources[psi->resource])),
				  (double)psi->total_ns);
	}
	return r;
}

static int take_idle(const struct sample *sample,
		     const struct orma_pb_sys_stats_cpu_idle_state *idle)
{
	int r = 0;
	for (size_t i = 0; i < idle->cpuidle_state_entry.count && r == 0; i++)
		r = count(sample, &idle_kind,
			  ORMA_DIMENSIONS(idle->cpu_id,
					  text(sample, idle->cpuidle_state_entry.items[i]->state)),
			  (double)idle->cpuidle_state_entry.items[i]->duration_us);
	return r;
}

static int take_slab(const struct sample *sample, const struct orma_pb_sys_stats_slab_info *slab)
{
	struct orma_arg_list *args = &sample->system->args;
	args->tables = sample->system->tables;
	orma_arg_list_clear(args);
	orma_arg_list_add(args, ORMA_STR("pages_per_slab"), ORMA_STR("pages_per_slab"),
			  ORMA_ARG_UINT, slab->pages_per_slab);
	orma_arg_list_add(args, ORMA_STR("num_slabs"), ORMA_STR("num_slabs"), ORMA_ARG_UINT,
			  slab->num_slabs);
	return orma_system_count(sample->system, sample->machine_idx, sample->ts, &slab_kind,
				 ORMA_DIMENSIONS(text(sample, slab->name)),
				 (double)slab->pages_per_slab * (double)slab->num_slabs *
					 (double)page_bytes(sample),
				 orma_system_take_args(sample->system));
}

static int take_frequencies(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	int r = 0;
	for (size_t i = 0; i < stats->devfreq.count && r == 0; i++)
		r = count(sample, &devfreq_kind,
			  ORMA_DIMENSIONS(text(sample, stats->devfreq.items[i]->key)),
			  (double)stats->devfreq.items[i]->value);
	for (size_t i = 0; i < stats->cpufreq_khz.count && r == 0; i++)
		r = count(sample, &cpufreq_kind, ORMA_DIMENSIONS((int64_t)i),
			  stats->cpufreq_khz.items[i]);
	return r;
}

static int take_devices(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	int r = 0;
	for (size_t i = 0; i < stats->thermal_zone.count && r == 0; i++)
		r = count(sample, &thermal_kind,
			  ORMA_DIMENSIONS(text(sample, stats->thermal_zone.items[i]->type)),
			  (double)stats->thermal_zone.items[i]->temp);
	for (size_t i = 0; i < stats->cpuidle_state.count && r == 0; i++)
		r = take_idle(sample, stats->cpuidle_state.items[i]);
	for (size_t i = 0; i < stats->gpufreq_mhz.count && r == 0; i++)
		r = count(sample, &gpufreq_kind, ORMA_DIMENSIONS(0, 0),
			  (double)stats->gpufreq_mhz.items[i]);
	for (size_t i = 0; i < stats->slab_info.count && r == 0; i++)
		r = take_slab(sample, stats->slab_info.items[i]);
	return r;
}

static int take_all(const struct sample *sample, const struct orma_pb_sys_stats *stats)
{
	int r = take_meminfo(sample, stats);
	if (r == 0)
		r = take_frequencies(sample, stats);
	if (r == 0)
		r = take_vmstat(sample, stats);
	for (size_t i = 0; i < stats->cpu_stat.count && r == 0; i++)
		r = take_cpu_times(sample, stats->cpu_stat.items[i]);
	if (r == 0)
		r = take_interrupts(sample, stats);
	for (size_t i = 0; i < stats->buddy_info.count && r == 0; i++)
		r = take_buddy(sample, stats->buddy_info.items[i]);
	for (size_t i = 0; i < stats->disk_stat.count && r == 0; i++)
		r = take_disk(sample, stats->disk_stat.items[i]);
	if (r == 0)
		r = take_pressure(sample, stats);
	return r < 0 ? r : take_devices(sample, stats);
}

int orma_sys_stats(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		   struct orma_str content)
{
	struct sample sample = {system, machine_idx, ts};
	struct orma_pb_sys_stats *stats;
	struct orma_arena arena = {0};
	int r = orma_pb_sys_stats_decode(content.data, content.size, &arena, &stats);
	if (r == 0)
		r = take_all(&sample, stats);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}
