/* SPDX-License-Identifier: Apache-2.0
 * compact_search.c - finds compact events by their time and CPU.
 *
 * There may be many millions of compact events, so their rows do not say where they lie. Bundles of a lane are in the order of
 * time, and so are the events of a bundle. Nearly always the CPU has one event of a kind at a time; if it has more, they are in
 * the order of their rows. Rejected: the address of the bundle and the place in it as cells of the row, which takes a fifth of what
 * a switch takes in memory.
 */
#include "trace/compact_search.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/macros.h"

enum { SAME_TIME_MAX = 1024 }; /* events of one CPU that are told apart */

static int64_t cell_of(const struct orma_tables *tables, size_t column, uint64_t row)
{
	return orma_store_column_get(&tables->all[ORMA_TABLE_FTRACE_EVENT].columns[column], row);
}

static int load_bundle(struct orma_kernel_args *args, const struct orma_bundle *bundle)
{
	struct orma_packet_index *index = args->system->index;
	struct orma_sequence_state *state;
	struct orma_packet packet;
	const uint8_t *data;
	if (args->bundle == bundle->address + 1)
		return 0;
	args->bundle = 0;
	/* The events' texts stay in this window. */
	int r = orma_trace_window_read(&args->bundle_window, index->input, bundle->address,
				       bundle->size, bundle->size, &data);
	if (r <= 0 || orma_trace_packet_read(data, bundle->size, &packet) < 0)
		return r < 0 ? r : -EIO;
	r = orma_kernel_find_state(&args->system->kernel, index->input, bundle->address, &state);
	if (r == 0 && state)
		r = orma_bundle_events_read(&args->compact, &index->clocks, state->sequence,
					    &packet, bundle->snapshots);
	if (r < 0 || !state)
		return r < 0 ? r : -EIO;
	args->bundle = bundle->address + 1;
	return 0;
}

/* The times of a bundle's switches or wakings. */
struct times {
	const void *rows;
	size_t row_bytes;
	uint32_t count;
};

static struct times times_of(const struct orma_bundle_events *events, bool is_waking)
{
	_Static_assert(offsetof(struct orma_compact_switch, ns) == 0 &&
			       offsetof(struct orma_compact_waking, ns) == 0,
		       "the time comes first");
	return is_waking ? (struct times){events->wakings, sizeof(*events->wakings),
					  events->waking_count}
			 : (struct times){events->switches, sizeof(*events->switches),
					  events->switch_count};
}

static int64_t time_at(const struct times *times, uint32_t idx)
{
	int64_t ns;
	memcpy(&ns, (const uint8_t *)times->rows + idx * times->row_bytes, sizeof(ns));
	return ns;
}

/* Returns the first event that is not before a time. */
static uint32_t first_event(const struct times *times, int64_t ns)
{
	uint32_t low = 0, high = times->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (time_at(times, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the lane's first bundle that ends at a time or behind it. */
static uint32_t first_bundle(const struct orma_lane *lane, int64_t ns)
{
	uint32_t low = 0, high = lane->bundle_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (lane->bundles[middle].last_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Goes to the event with this number, from 0. Returns how many there are up to it, or a negative errno value. */
static int find_compact(struct orma_kernel_args *args, struct orma_compact_search *search,
			int number)
{
	int count = 0;
	for (search->lane = search->lanes; search->lane; search->lane = search->lane->next) {
		const struct orma_lane *lane = search->lane;
		uint32_t i = first_bundle(lane, search->ns);
		for (; i < lane->bundle_count && lane->bundles[i].first_ns <= search->ns; i++) {
			int r = load_bundle(args, &lane->bundles[i]);
			if (r < 0)
				return r;
			struct times times = times_of(&args->compact, search->is_waking);
			search->bundle_idx = i;
			search->idx = first_event(&times, search->ns);
			for (; search->idx < times.count &&
			       time_at(&times, search->idx) == search->ns;
			     search->idx++)
				if (count++ == number)
					return count;
		}
	}
	return count;
}

/* Returns how many rows of compact events of this time, CPU and name come behind a row. The first events may lack rows, so
 * they are counted from the last. */
static int count_rows_behind(const struct orma_tables *tables, uint64_t row)
{
	static const size_t same[] = {ORMA_FTRACE_EVENT_NAME, ORMA_FTRACE_EVENT_UCPU,
				      ORMA_FTRACE_EVENT_PACKET};
	uint64_t rows = orma_store_table_rows(&tables->all[ORMA_TABLE_FTRACE_EVENT]);
	int64_t ts = cell_of(tables, ORMA_FTRACE_EVENT_TS, row);
	int count = 0;
	for (uint64_t i = row + 1;
	     i < rows && i - row < SAME_TIME_MAX && cell_of(tables, ORMA_FTRACE_EVENT_TS, i) == ts;
	     i++) {
		bool is_same = true;
		for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++)
			is_same = is_same &&
				  cell_of(tables, same[k], i) == cell_of(tables, same[k], row);
		count += is_same;
	}
	return count;
}

int orma_compact_last_prio(struct orma_kernel_args *args, const struct orma_compact_search *search,
			   int32_t *ret)
{
	*ret = 0;
	if (search->idx > 0) {
		*ret = args->compact.switches[search->idx - 1].next_prio;
		return 0;
	}
	if (search->bundle_idx == 0)
		return 0;
	int r = load_bundle(args, &search->lane->bundles[search->bundle_idx - 1]);
	if (r == 0 && args->compact.switch_count > 0)
		*ret = args->compact.switches[args->compact.switch_count - 1].next_prio;
	return r < 0 ? r : load_bundle(args, &search->lane->bundles[search->bundle_idx]);
}

int orma_compact_search_row(struct orma_kernel_args *args, uint64_t row,
			    struct orma_compact_search *ret)
{
	const struct orma_system *system = args->system;
	int64_t ucpu = cell_of(system->tables, ORMA_FTRACE_EVENT_UCPU, row);
	uint64_t key = (uint64_t)(ucpu / ORMA_CPUS_PER_MACHINE) << 32 |
		       (uint64_t)(ucpu % ORMA_CPUS_PER_MACHINE);
	/* The names that the importer has noted are not there when an index was opened. */
	int64_t waking = orma_store_pool_find(&system->tables->strings, ORMA_STR("sched_waking"));
	*ret = (struct orma_compact_search){
		.lanes = orma_base_map_get(&system->index->cpus, key),
		.ns = cell_of(system->tables, ORMA_FTRACE_EVENT_TS, row),
		.is_waking = cell_of(system->tables, ORMA_FTRACE_EVENT_NAME, row) == waking,
	};
	int behind = count_rows_behind(system->tables, row);
	int all = find_compact(args, ret, SAME_TIME_MAX);
	/* Times that clocks which jump have made may be in no bundle. */
	if (all < 0 || behind >= all || all > SAME_TIME_MAX)
		return ORMA_MIN(all, 0);
	int r = find_compact(args, ret, all - 1 - behind);
	return r < 0 ? r : 1;
}
