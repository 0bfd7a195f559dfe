/* SPDX-License-Identifier: Apache-2.0
 * ftrace_memory.c - memory counters of processes.
 *
 * The kernel says which thread changed a counter, and its process may only be known later. Such values wait until the
 * end of the trace for their track; a thread whose process is never known gets a track of its own.
 */
#include <errno.h>

#include "base/macros.h"
#include "schema/gen/ftrace_cma.pb.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_kmem.pb.h"
#include "schema/gen/ftrace_oom.pb.h"
#include "schema/gen/ftrace_synthetic.pb.h"
#include "store/grow.h"
#include "trace/kernel_event.h"

enum counter { COUNTER_RSS, COUNTER_OOM };

#define MEMORY(type_, key_)                                                                        \
	{                                                                                          \
		.type = (type_), .name = "mem.%1",                                                 \
		.dimensions = {{(key_), false}, {"process_memory_key", true}}, .is_counter = true  \
	}
#define OOM(type_, key_)                                                                           \
	{                                                                                          \
		.type = (type_), .name = "oom_score_adj", .dimensions = {{(key_), false}},         \
		.is_counter = true                                                                 \
	}
static const struct orma_track_kind process_kinds[] = {
	[COUNTER_RSS] = MEMORY("process_memory", "upid"),
	[COUNTER_OOM] = OOM("oom_score_adj", "upid"),
};
static const struct orma_track_kind thread_kinds[] = {
	[COUNTER_RSS] = MEMORY("process_memory_thread_fallback", "utid"),
	[COUNTER_OOM] = OOM("oom_score_adj_thread_fallback", "utid"),
};
static const char *const rss_keys[] = {"rss.file",  "rss.anon",      "swap",
				       "rss.shmem", "unreclaimable", "unknown"};

/* The track of a thread's process, or of the thread. */
static int64_t find_track(struct orma_system *system, int64_t utid, unsigned counter, unsigned key,
			  bool is_final)
{
	const struct orma_thread_info *thread = &system->processes->threads[utid];
	int64_t values[] = {thread->upid,
			    orma_tables_string(system->tables, orma_base_str(rss_keys[key]))};
	if (thread->upid >= 0)
		return orma_system_track(system, thread->machine_idx, &process_kinds[counter],
					 values);
	if (!is_final)
		return -ENOENT;
	values[0] = utid;
	return orma_system_track(system, thread->machine_idx, &thread_kinds[counter], values);
}

static int count(const struct orma_kernel_call *call, int64_t utid, unsigned counter, unsigned key,
		 double value)
{
	struct orma_system *system = call->system;
	struct orma_kernel_state *kernel = &system->kernel;
	int64_t track = find_track(system, utid, counter, key, false);
	if (track == -ENOENT) {
		int r = orma_store_grow(&kernel->pending, (uint64_t)kernel->pending_count + 1,
					&kernel->pending_capacity, sizeof(*kernel->pending));
		if (r < 0)
			return r;
		kernel->pending[kernel->pending_count++] = (struct orma_pending_counter){
			orma_store_table_rows(&system->tables->all[ORMA_TABLE_COUNTER]), utid,
			(uint8_t)counter, (uint8_t)key};
		track = 0; /* until the end */
	}
	if (track < 0)
		return (int)track;
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add(&system->args, ORMA_STR("utid"), ORMA_STR("utid"), ORMA_ARG_UINT, utid);
	return orma_counters_add(system->tables, call->ts, track, value,
				 orma_system_take_args(system));
}

int orma_ftrace_resolve_counters(struct orma_system *system)
{
	struct orma_kernel_state *kernel = &system->kernel;
	int r = 0;
	for (uint32_t i = 0; i < kernel->pending_count && r == 0; i++) {
		const struct orma_pending_counter *pending = &kernel->pending[i];
		int64_t track =
			find_track(system, pending->utid, pending->kind, pending->key, true);
		r = track < 0 ? (int)track
			      : orma_store_column_set(orma_tables_column(system->tables,
									 ORMA_TABLE_COUNTER,
									 ORMA_COUNTER_TRACK_ID),
						      pending->row, track);
	}
	kernel->pending_count = 0;
	return r;
}

/* The fields of an event about an address space, which has two forms. */
struct rss {
	uint32_t member, mm;
	int64_t size;
	bool has_mm, is_current;
};

static struct rss read_rss(const struct orma_kernel_call *call)
{
	bool is_throttled = call->id == ORMA_PB_FTRACE_EVENT_RSS_STAT_THROTTLED;
	unsigned curr = is_throttled ? ORMA_PB_RSS_STAT_THROTTLED_FTRACE_EVENT_CURR
				     : ORMA_PB_RSS_STAT_FTRACE_EVENT_CURR;
	unsigned mm = is_throttled ? ORMA_PB_RSS_STAT_THROTTLED_FTRACE_EVENT_MM_ID
				   : ORMA_PB_RSS_STAT_FTRACE_EVENT_MM_ID;
	return (struct rss){
		.member = (uint32_t)orma_kernel_number(
			call, is_throttled ? ORMA_PB_RSS_STAT_THROTTLED_FTRACE_EVENT_MEMBER
					   : ORMA_PB_RSS_STAT_FTRACE_EVENT_MEMBER),
		.size = (int64_t)orma_kernel_number(
			call, is_throttled ? ORMA_PB_RSS_STAT_THROTTLED_FTRACE_EVENT_SIZE
					   : ORMA_PB_RSS_STAT_FTRACE_EVENT_SIZE),
		.mm = (uint32_t)orma_kernel_number(call, mm),
		.has_mm =
			is_throttled || (orma_kernel_has(call, mm) && orma_kernel_has(call, curr)),
		.is_current = orma_kernel_number(call, curr) != 0,
	};
}

/* Finds the thread whose address space it is: what runs, or who was seen with it. -1 = not known. */
static int64_t find_owner(const struct orma_kernel_call *call, const struct rss *rss)
{
	struct orma_system *system = call->system;
	struct orma_map *owners = &system->kernel.mm_owners;
	uint64_t key = (uint64_t)call->machine_idx << 32 | rss->mm;
	if (!rss->has_mm || rss->is_current) {
		int64_t utid = orma_kernel_thread(call, call->tid);
		if (utid >= 0 && rss->has_mm &&
		    orma_base_map_put(owners, key, (void *)((uintptr_t)utid + 1)) < 0)
			system->tables->error = -ENOMEM;
		return utid;
	}
	int64_t utid = (int64_t)(uintptr_t)orma_base_map_get(owners, key) - 1;
	/* The address space of a process that has ended may be another's by now. */
	if (utid >= 0 && system->processes->threads[utid].is_ended) {
		orma_base_map_remove(owners, key);
		return -1;
	}
	return utid;
}

int orma_ftrace_rss_stat(const struct orma_kernel_call *call)
{
	struct rss rss = read_rss(call);
	if (rss.size < 0) {
		orma_stats_add(&call->system->stats, call->machine_idx,
			       ORMA_STAT_rss_stat_negative_size, 0, 1);
		return 0;
	}
	int64_t utid = find_owner(call, &rss);
	if (utid == -1) {
		orma_stats_add(&call->system->stats, call->machine_idx,
			       ORMA_STAT_rss_stat_unknown_thread_for_mm_id, 0, 1);
		return 0;
	}
	unsigned key = ORMA_MIN(rss.member, (uint32_t)ORMA_ARRAY_SIZE(rss_keys) - 1);
	return utid < 0 ? (int)utid : count(call, utid, COUNTER_RSS, key, (double)rss.size);
}

int orma_ftrace_oom_score(const struct orma_kernel_call *call)
{
	/* Old tracers wrote a negative score with 16 bits. */
	int16_t score = (int16_t)orma_kernel_number(
		call, ORMA_PB_OOM_SCORE_ADJ_UPDATE_FTRACE_EVENT_OOM_SCORE_ADJ);
	int64_t utid = orma_kernel_thread(
		call,
		(int32_t)orma_kernel_number(call, ORMA_PB_OOM_SCORE_ADJ_UPDATE_FTRACE_EVENT_PID));
	return utid < 0 ? (int)utid : count(call, utid, COUNTER_OOM, 0, score);
}

/* The kernel's events of contiguous allocations changed with these versions. */
enum { VERSION_5_10 = 5 << 8 | 10, VERSION_6_1 = 6 << 8 | 1 };

int orma_ftrace_cma_start(const struct orma_kernel_call *call)
{
	if (call->system->sched->kernel_version < VERSION_5_10)
		return 0;
	static const char numbers[] = {'x', 'y', 'z'};
	int64_t utid = orma_kernel_thread(call, call->tid);
	for (size_t i = 0; i < sizeof(numbers) && utid >= 0; i++) {
		int64_t *number =
			orma_kernel_sum(&call->system->kernel, numbers[i], 0, (uint64_t)utid);
		if (!number)
			return -ENOMEM;
		*number = 0;
	}
	return orma_kernel_begin(call, orma_kernel_thread_track(call, call->tid), ORMA_CELL_NULL,
				 orma_tables_string(call->system->tables, ORMA_STR("mm_cma_alloc")),
				 ORMA_CELL_NULL);
}

int orma_ftrace_cma_info(const struct orma_kernel_call *call)
{
	unsigned version = call->system->sched->kernel_version;
	if (version < VERSION_5_10 || version >= VERSION_6_1)
		return 0;
	return orma_kernel_end(call, orma_kernel_thread_track(call, call->tid), ORMA_CELL_NULL,
			       ORMA_CELL_NULL);
}

/* It counts pages that were moved out of the way, until the allocation ends. */
static int64_t *migrated(const struct orma_kernel_call *call, char what)
{
	int64_t utid = orma_kernel_thread(call, call->tid);
	return utid < 0 ? NULL : orma_kernel_sum(&call->system->kernel, what, 0, (uint64_t)utid);
}

int orma_ftrace_cma_migrate(const struct orma_kernel_call *call)
{
	int64_t *moved = migrated(call, 'x'), *reclaimed = migrated(call, 'y'),
		*mapped = migrated(call, 'z');
	if (call->system->sched->kernel_version < VERSION_6_1)
		return 0;
	if (!moved || !reclaimed || !mapped)
		return -ENOMEM;
	*moved = (int64_t)orma_kernel_number(
		call, ORMA_PB_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO_FTRACE_EVENT_NR_MIGRATED);
	*reclaimed = (int64_t)orma_kernel_number(
		call, ORMA_PB_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO_FTRACE_EVENT_NR_RECLAIMED);
	*mapped = (int64_t)orma_kernel_number(
		call, ORMA_PB_MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO_FTRACE_EVENT_NR_MAPPED);
	return 0;
}

int orma_ftrace_cma_finish(const struct orma_kernel_call *call)
{
	struct orma_system *system = call->system;
	int64_t *moved = migrated(call, 'x'), *reclaimed = migrated(call, 'y'),
		*mapped = migrated(call, 'z');
	if (system->sched->kernel_version < VERSION_6_1)
		return 0;
	if (!moved || !reclaimed || !mapped)
		return -ENOMEM;
	int64_t track = orma_kernel_thread_track(call, call->tid);
	int64_t slice = track < 0 ? ORMA_NO_SLICE
				  : orma_slices_find(system->slices, (uint32_t)track,
						     ORMA_CELL_NULL, ORMA_CELL_NULL);
	int r = orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	if (r < 0 || slice == ORMA_NO_SLICE)
		return r;
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
		{"cma_pfn",
		 (int64_t)orma_kernel_number(call, ORMA_PB_CMA_ALLOC_FINISH_FTRACE_EVENT_PFN)},
		{"cma_req_pages",
		 (int64_t)orma_kernel_number(call, ORMA_PB_CMA_ALLOC_FINISH_FTRACE_EVENT_COUNT)},
		{"cma_nr_migrated", *moved},
		{"cma_nr_reclaimed", *reclaimed},
		{"cma_nr_mapped", *mapped}};
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add_string(
		&system->args, "cma_name",
		orma_kernel_text(call, ORMA_PB_CMA_ALLOC_FINISH_FTRACE_EVENT_NAME));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		orma_arg_list_add(&system->args, orma_base_str(numbers[i].key),
				  orma_base_str(numbers[i].key), ORMA_ARG_UINT, numbers[i].value);
	return orma_store_column_set(
		orma_tables_column(system->tables, ORMA_TABLE_SLICE, ORMA_SLICE_ARG_SET_ID),
		(uint64_t)slice, orma_system_take_args(system));
}
