/* SPDX-License-Identifier: Apache-2.0
 * profiles.c - see profiles.h.
 */
#include "trace/profiles.h"

#include "schema/gen/trace_packet.pb.h"
#include "trace/art_process.h"
#include "trace/smaps.h"
#include "trace/symbols.h"

enum { SMAPS_PACKET = 68 }; /* in TracePacket */

void orma_profiles_init(struct orma_profiles *profiles, struct orma_system *system)
{
	*profiles = (struct orma_profiles){
		.system = system,
		.stacks = {.tables = system->tables},
		.interned = {.system = system, .stacks = &profiles->stacks},
		.profiler = {.system = system,
			     .stacks = &profiles->stacks,
			     .interned = &profiles->interned},
		.streaming = {.profiler = &profiles->profiler},
		.heaps = {.system = system, .interned = &profiles->interned},
		.graphs = {.system = system},
		.packages = {.system = system},
		.deobfuscation = {.system = system,
				  .graphs = &profiles->graphs,
				  .stacks = &profiles->stacks,
				  .packages = &profiles->packages},
	};
}

void orma_profiles_done(struct orma_profiles *profiles)
{
	orma_call_stacks_done(&profiles->stacks);
	orma_interned_stacks_done(&profiles->interned);
	orma_profiler_done(&profiles->profiler);
	orma_streaming_samples_done(&profiles->streaming);
	orma_heap_profiles_done(&profiles->heaps);
	orma_heap_graphs_done(&profiles->graphs);
	orma_packages_done(&profiles->packages);
	orma_deobfuscation_done(&profiles->deobfuscation);
	*profiles = (struct orma_profiles){0};
}

int orma_profiles_packet(struct orma_profiles *profiles, const struct orma_ordered_event *event)
{
	/* Samples stay in the order of time. */
	int r = profiles->streaming.count > 0
			? orma_streaming_samples_write(&profiles->streaming, event->ns)
			: 0;
	if (r < 0)
		return r;
	switch (event->packet->kind) {
	case ORMA_PB_TRACE_PACKET_STREAMING_PROFILE_PACKET:
		r = orma_streaming_samples_take(&profiles->streaming, event);
		break;
	case ORMA_PB_TRACE_PACKET_PERF_SAMPLE:
		r = orma_perf_sample_take(&profiles->profiler, event);
		break;
	case ORMA_PB_TRACE_PACKET_STACK_SAMPLE:
		r = orma_stack_sample_take(&profiles->profiler, event);
		break;
	case ORMA_PB_TRACE_PACKET_PROFILE_PACKET:
		r = orma_heap_profile_take(&profiles->heaps, event);
		break;
	case ORMA_PB_TRACE_PACKET_MODULE_SYMBOLS:
		r = orma_module_symbols_take(profiles->system, &profiles->stacks, event);
		break;
	case ORMA_PB_TRACE_PACKET_HEAP_GRAPH:
		r = orma_heap_graph_take(&profiles->graphs, event);
		break;
	case ORMA_PB_TRACE_PACKET_ART_PROCESS_METADATA:
		r = orma_art_process_take(&profiles->graphs, &profiles->packages, &profiles->stacks,
					  event);
		break;
	case ORMA_PB_TRACE_PACKET_PACKAGES_LIST:
		r = orma_packages_take(&profiles->packages, event);
		break;
	case ORMA_PB_TRACE_PACKET_DEOBFUSCATION_MAPPING:
		r = orma_deobfuscation_take(&profiles->deobfuscation, event);
		break;
	case SMAPS_PACKET:
		r = orma_smaps_take(profiles->system, event);
		break;
	default:
		return 0;
	}
	return r < 0 ? r : 1;
}

/* Files in this folder of Android are built by hand, and their symbols can only be found with a build id. */
static void count_files_without_build_id(struct orma_profiles *profiles)
{
	static const char folder[] = "/data/local/tmp/";
	const struct orma_call_stacks *stacks = &profiles->stacks;
	struct orma_tables *tables = profiles->system->tables;
	for (uint32_t i = 0; i < stacks->mapping_count; i++) {
		const struct orma_mapping_entry *entry = &stacks->mapping_entries[i];
		struct orma_str name = orma_store_pool_get(&tables->strings, (uint32_t)entry->name);
		if (name.size >= sizeof(folder) - 1 &&
		    memcmp(name.data, folder, sizeof(folder) - 1) == 0 &&
		    entry->build_id == orma_tables_string(tables, ORMA_STR("")))
			orma_stats_add(&profiles->system->stats, 0,
				       ORMA_STAT_symbolization_tmp_build_id_not_found, 0, 1);
	}
}

int orma_profiles_end(struct orma_profiles *profiles)
{
	int r = orma_streaming_samples_write(&profiles->streaming, INT64_MAX);
	if (r == 0)
		r = orma_heap_graphs_end(&profiles->graphs);
	count_files_without_build_id(profiles);
	if (r == 0)
		r = orma_deobfuscation_end(&profiles->deobfuscation);
	return r < 0 ? r : orma_heap_graphs_write(&profiles->graphs);
}
