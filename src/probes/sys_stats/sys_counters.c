/* SPDX-License-Identifier: Apache-2.0
 * sys_counters.c - maps the kernel's names of counters to the protocol's ids.
 *
 * Owns a hash table per file, made once. The names in /proc/vmstat are those of the enum
 * VmstatCounters in lower case without their prefix, so that table is made from the schema.
 * /proc/meminfo has no such rule, so its names are listed here. Invariant: each entry is stored
 * under the hash of its name, and a lookup compares the name too. Rejected: a generated perfect
 * hash, which 190 names do not need; a search by line number, because lines differ between kernels
 * and configurations.
 */
#include <ctype.h>
#include <errno.h>

#include "base/macros.h"
#include "probes/sys_stats/sys_stats.h"
#include "schema/gen/sys_stats_counters.pb.h"

struct orma_probes_sys_counter {
	struct orma_str name;
	uint32_t id;
};

struct meminfo_name {
	const char *name;
	uint32_t id;
};

static const struct meminfo_name meminfo_names[] = {
	{"MemTotal", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_MEM_TOTAL},
	{"MemFree", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_MEM_FREE},
	{"MemAvailable", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_MEM_AVAILABLE},
	{"Buffers", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_BUFFERS},
	{"Cached", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_CACHED},
	{"SwapCached", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SWAP_CACHED},
	{"Active", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ACTIVE},
	{"Inactive", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_INACTIVE},
	{"Active(anon)", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ACTIVE_ANON},
	{"Inactive(anon)", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_INACTIVE_ANON},
	{"Active(file)", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ACTIVE_FILE},
	{"Inactive(file)", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_INACTIVE_FILE},
	{"Unevictable", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_UNEVICTABLE},
	{"Mlocked", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_MLOCKED},
	{"SwapTotal", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SWAP_TOTAL},
	{"SwapFree", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SWAP_FREE},
	{"Dirty", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_DIRTY},
	{"Writeback", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_WRITEBACK},
	{"AnonPages", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ANON_PAGES},
	{"Mapped", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_MAPPED},
	{"Shmem", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SHMEM},
	{"Slab", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SLAB},
	{"SReclaimable", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SLAB_RECLAIMABLE},
	{"SUnreclaim", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_SLAB_UNRECLAIMABLE},
	{"KernelStack", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_KERNEL_STACK},
	{"PageTables", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_PAGE_TABLES},
	{"CommitLimit", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_COMMIT_LIMIT},
	{"Committed_AS", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_COMMITED_AS},
	{"VmallocTotal", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_VMALLOC_TOTAL},
	{"VmallocUsed", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_VMALLOC_USED},
	{"VmallocChunk", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_VMALLOC_CHUNK},
	{"CmaTotal", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_CMA_TOTAL},
	{"CmaFree", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_CMA_FREE},
	{"Gpu", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_GPU},
	{"Zram", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ZRAM},
	{"Misc", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_MISC},
	{"ION_heap", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ION_HEAP},
	{"ION_heap_pool", ORMA_PB_MEMINFO_COUNTERS_MEMINFO_ION_HEAP_POOL},
};

static uint64_t name_hash(struct orma_str name)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
}

/* `name` lives as long as the table. */
static int add(struct orma_probes_sys_counters *counters, const char *name, uint32_t id)
{
	struct orma_probes_sys_counter *counter =
		orma_base_arena_alloc(&counters->arena, sizeof(*counter));
	if (!counter)
		return -ENOMEM;
	*counter = (struct orma_probes_sys_counter){orma_base_str(name), id};
	return orma_base_map_put(&counters->by_hash, name_hash(counter->name), counter);
}

int orma_probes_sys_counters_init_meminfo(struct orma_probes_sys_counters *counters)
{
	*counters = (struct orma_probes_sys_counters){0};
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(meminfo_names) && r == 0; i++)
		r = add(counters, meminfo_names[i].name, meminfo_names[i].id);
	if (r < 0)
		orma_probes_sys_counters_done(counters);
	return r;
}

/* VMSTAT_NR_FREE_PAGES is nr_free_pages. */
static int add_vmstat(struct orma_probes_sys_counters *counters, int32_t id)
{
	char buffer[ORMA_PROTO_ENUM_NAME_BYTES];
	const char *enum_name = orma_proto_enum_name(&orma_pb_vmstat_counters_enum, id, buffer);
	char *name = orma_base_arena_strdup(&counters->arena,
					    orma_base_str(enum_name + strlen("VMSTAT_")));
	if (!name)
		return -ENOMEM;
	for (char *at = name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return add(counters, name, (uint32_t)id);
}

int orma_probes_sys_counters_init_vmstat(struct orma_probes_sys_counters *counters)
{
	const struct orma_proto_enum_desc *desc = &orma_pb_vmstat_counters_enum;
	*counters = (struct orma_probes_sys_counters){0};
	int r = 0;
	for (size_t i = 0; i < desc->value_count && r == 0; i++)
		if (desc->numbers[i] != 0)
			r = add_vmstat(counters, desc->numbers[i]);
	if (r < 0)
		orma_probes_sys_counters_done(counters);
	return r;
}

void orma_probes_sys_counters_done(struct orma_probes_sys_counters *counters)
{
	orma_base_map_done(&counters->by_hash);
	orma_base_arena_done(&counters->arena);
	*counters = (struct orma_probes_sys_counters){0};
}

uint32_t orma_probes_sys_counters_find(const struct orma_probes_sys_counters *counters,
				       struct orma_str name)
{
	const struct orma_probes_sys_counter *counter =
		orma_base_map_get(&counters->by_hash, name_hash(name));
	return counter && orma_base_str_is_equal(counter->name, name) ? counter->id : 0;
}
