/* SPDX-License-Identifier: Apache-2.0
 * importer.c - the two passes over a trace, and who takes what of it.
 */
#include "trace/importer.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/extension_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "store/grow.h"
#include "trace/config_advice.h"
#include "trace/descriptor_names.h"
#include "trace/import_log.h"
#include "trace/kernel_import.h"
#include "trace/system_packets.h"

enum {
	EXTENSION_SET = 1, /* a FileDescriptorSet in place */
	TYPES_MAX_BYTES = 16 << 20,
	/* Fields of TrackEvent. */
	TIMESTAMP_DELTA_US = 1,
	TIMESTAMP_ABSOLUTE_US = 16,
	KEPT_SHARE = 8, /* values of arguments have this part of the trace's bytes at most */
};

#define FIELD_BIT(id) (UINT64_C(1) << (id))

/* Descriptors of fields that programs have added to messages of Perfetto. */
int orma_importer_take_types(struct orma_importer *importer, struct orma_str content)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf unpacked = {0};
	struct orma_proto_field field;
	if (orma_proto_reader_find(content.data, content.size, EXTENSION_SET, &field) > 0)
		return orma_type_pool_add(&importer->types, field.bytes);
	if (orma_proto_reader_find(content.data, content.size,
				   ORMA_PB_EXTENSION_DESCRIPTOR_EXTENSION_SET_GZIP, &field) <= 0)
		return 0;
	int r = importer->index.unpack
			? importer->index.unpack(ORMA_PB_TRACE_PACKET_EXTENSION_DESCRIPTOR,
						 field.bytes.data, field.bytes.size,
						 TYPES_MAX_BYTES, &unpacked)
			: -ENOTSUP;
	if (r < 0) {
		importer->types.problems++;
		return r == -ENOMEM ? r : 0;
	}
	return orma_type_pool_add(&importer->types,
				  (struct orma_str){(char *)unpacked.data, unpacked.size});
}

static int take_type_packet(struct orma_importer *importer, const struct orma_packet *packet)
{
	int r = orma_store_grow(&importer->type_packets, (uint64_t)importer->type_packet_count + 1,
				&importer->type_packet_capacity, sizeof(*importer->type_packets));
	if (r < 0)
		return r;
	importer->type_packets[importer->type_packet_count++] =
		(struct orma_note){packet->address, (uint32_t)packet->bytes.size, 0};
	return orma_importer_take_types(importer, packet->content);
}

int orma_importer_file_order(void *ctx, struct orma_packet_index *index,
			     struct orma_sequence *sequence, const struct orma_packet *packet,
			     int64_t ns)
{
	struct orma_importer *importer = ctx;
	importer->system.stats.trace_file = index->trace_file;
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		return orma_descriptor_tracks_take(&importer->descriptors, sequence, packet, ns);
	if (packet->kind == ORMA_PB_TRACE_PACKET_EXTENSION_DESCRIPTOR)
		return take_type_packet(importer, packet);
	if (packet->kind == ORMA_PB_TRACE_PACKET_POWER_RAILS)
		return orma_power_rails_take(&importer->system, sequence->machine_idx, ns,
					     packet->content);
	return orma_system_packet_early(&importer->system, sequence, packet);
}

/* Track events are counted when their names are known. */
static int count_content(void *ctx, const struct orma_packet *packet, bool is_skipped)
{
	struct orma_importer *importer = ctx;
	struct orma_content_kind kind = {ORMA_CELL_NULL, ORMA_CELL_NULL, is_skipped, false};
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT && !is_skipped)
		return 0;
	return orma_proto_content_add(&importer->content, packet->bytes, &kind);
}

static int take_bundle(void *ctx, struct orma_sequence *sequence, const struct orma_packet *packet,
		       const struct orma_bundle_head *head)
{
	struct orma_importer *importer = ctx;
	importer->system.stats.trace_file = importer->index.trace_file;
	return orma_kernel_bundle_take(&importer->system, sequence, packet, head);
}

static int take_clocks(void *ctx, const struct orma_clock_reading *readings, size_t count)
{
	struct orma_importer *importer = ctx;
	return orma_clock_rows(&importer->system, readings, count);
}

int orma_importer_time_order(void *ctx, const struct orma_ordered_event *event)
{
	struct orma_importer *importer = ctx;
	if (ORMA_UNLIKELY(importer->system.power_samples.count > 0)) {
		int r = orma_power_samples_count(&importer->system, event->ns);
		if (r < 0)
			return r;
	}
	if (event->kind == ORMA_ORDERED_TRACK_EVENT) {
		int r = event->plain ? orma_importer_plain_event(importer, event) : 0;
		if (r != 0)
			return ORMA_MIN(r, 0);
		return orma_importer_track_event(importer, event);
	}
	if (event->kind == ORMA_ORDERED_SWITCH)
		return orma_kernel_switch_take(&importer->system, event);
	if (event->kind == ORMA_ORDERED_WAKING)
		return orma_kernel_waking_take(&importer->system, event);
	if (event->kind == ORMA_ORDERED_KERNEL_EVENT)
		return orma_kernel_event_take(&importer->system, event);
	if (event->packet->kind == ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		return orma_descriptor_names_apply(&importer->descriptors, event->machine_idx,
						   event->packet->content);
	if (event->packet->kind == ORMA_PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT)
		return orma_importer_concurrent_session(importer, event);
	if (event->packet->kind == ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR ||
	    event->packet->kind == ORMA_PB_TRACE_PACKET_PROCESS_DESCRIPTOR)
		return orma_descriptor_names_packet(
			&importer->descriptors, event->machine_idx, event->packet->content,
			event->packet->kind == ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR);
	uint32_t first = importer->system.stats.trace_file;
	importer->system.stats.trace_file = event->state->sequence->trace_file;
	int r = orma_profiles_packet(&importer->profiles, event);
	if (r == 0)
		r = orma_system_packet(&importer->system, event);
	importer->system.stats.trace_file = first;
	return ORMA_MIN(r, 0);
}

int orma_importer_add_machine(struct orma_importer *importer, uint32_t machine_idx)
{
	struct orma_system_machine *machine = orma_system_machine(&importer->system, machine_idx);
	if (!machine)
		return -ENOMEM;
	int64_t *cells = machine->cells;
	cells[ORMA_MACHINE_RAW_ID] = importer->index.machine_ids[machine_idx];
	int r = orma_store_table_append(&importer->tables->all[ORMA_TABLE_MACHINE], cells);
	if (r == 0)
		r = orma_processes_add_machine(&importer->processes, machine_idx);
	return r == 0 && !importer->system.has_no_idle_task
		       ? orma_processes_set_idle(&importer->processes, machine_idx)
		       : r;
}

static int add_machines(struct orma_importer *importer)
{
	int r = 0;
	for (uint32_t i = 0; i < importer->index.machine_count && r == 0; i++)
		r = orma_importer_add_machine(importer, i);
	return r;
}

/* Each machine of each file has all statistics. */
static int fill_stats(struct orma_importer *importer)
{
	struct orma_map known = {.seed = importer->seed};
	struct orma_stats *stats = &importer->system.stats;
	int r = 0;
	orma_stats_fill(stats, 0);
	for (uint32_t i = 0; i < importer->index.sequence_count && r == 0; i++) {
		const struct orma_sequence *sequence = importer->index.sequences[i];
		uint64_t key = (uint64_t)sequence->trace_file << 32 | sequence->machine_idx;
		if (orma_base_map_get(&known, key))
			continue;
		r = orma_base_map_put(&known, key, importer);
		stats->trace_file = sequence->trace_file;
		orma_stats_fill(stats, sequence->machine_idx);
	}
	orma_base_map_done(&known);
	return r;
}

static int finish(struct orma_importer *importer)
{
	int r = orma_power_samples_count(&importer->system, INT64_MAX);
	if (r == 0)
		r = orma_ftrace_resolve_counters(&importer->system);
	if (r == 0)
		r = orma_trace_facts(&importer->system);
	if (r == 0)
		r = orma_import_log_gaps(&importer->system);
	if (r == 0)
		r = orma_profiles_end(&importer->profiles);
	if (r == 0)
		orma_importer_count(importer);
	if (r == 0)
		r = orma_config_advise(&importer->system);
	if (r == 0)
		r = orma_proto_content_write(&importer->content, importer->tables, &importer->sets);
	if (r == 0)
		r = fill_stats(importer);
	return r < 0 ? r : orma_stats_write(&importer->system.stats, importer->tables);
}

static void init_args(struct orma_row_args *args, struct orma_importer *importer,
		      enum orma_table_id table, size_t column)
{
	args->tables = importer->tables;
	args->sets = &importer->sets;
	args->column = orma_tables_column(importer->tables, table, column);
}

static int end_args(struct orma_importer *importer)
{
	struct orma_row_args *all[] = {&importer->slice_args, &importer->state_args,
				       &importer->process_args, &importer->thread_args};
	int r = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && r == 0; i++)
		r = orma_row_args_end(all[i]);
	return r;
}

/* Keys of these maps are what the trace says, so it could choose them to collide. */
static void seed_maps(struct orma_importer *importer, uint64_t seed)
{
	struct orma_map *maps[] = {&importer->sets.ids,
				   &importer->tracks.ids,
				   &importer->descriptors.by_uuid,
				   &importer->descriptors.groups.by_key,
				   &importer->async_groups.by_key,
				   &importer->async_names,
				   &importer->counter_sums,
				   &importer->flows.active,
				   &importer->flows.named,
				   &importer->content.ids,
				   &importer->types.types,
				   &importer->types.fields,
				   &importer->types.values,
				   &importer->system.metadata,
				   &importer->system.disks,
				   &importer->system.stats.places,
				   &importer->system.kernel.generic,
				   &importer->system.kernel.mm_owners,
				   &importer->system.kernel.sums};
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		maps[i]->seed = seed;
	importer->seed = importer->index.seed = importer->processes.seed = seed;
}

/* The list gets longer while files are converted. */
static void take_files(struct orma_importer *importer)
{
	const struct orma_trace_files *files = importer->system.files;
	if (!files)
		return;
	importer->index.trace_file = orma_trace_files_first(files);
	importer->index.trace_file_count = files->count;
}

int orma_importer_init(struct orma_importer *importer, struct orma_tables *tables,
		       struct orma_trace_bytes *input, orma_unpack_fn *unpack)
{
	bool has_no_raw_events = importer->system.has_no_raw_events;
	const struct orma_trace_files *files = importer->system.files;
	bool crops_events = importer->system.crops_events, analyzes = importer->content.is_wanted;
	enum orma_read_threads threads = importer->index.threads;
	uint64_t seed = importer->seed;
	*importer = (struct orma_importer){.tables = tables};
	importer->sets.tables = tables;
	importer->processes.tables = tables;
	importer->processes.process_args = &importer->process_args;
	importer->processes.thread_args = &importer->thread_args;
	importer->tracks.tables = tables;
	importer->tracks.sets = &importer->sets;
	importer->slices.tables = tables;
	init_args(&importer->slice_args, importer, ORMA_TABLE_SLICE, ORMA_SLICE_ARG_SET_ID);
	init_args(&importer->state_args, importer, ORMA_TABLE_STATE, ORMA_STATE_ARG_SET_ID);
	init_args(&importer->process_args, importer, ORMA_TABLE_PROCESS, ORMA_PROCESS_ARG_SET_ID);
	init_args(&importer->thread_args, importer, ORMA_TABLE_THREAD, ORMA_THREAD_ARG_SET_ID);
	importer->states.tables = tables;
	orma_event_args_init(&importer->event_args, &importer->index, &importer->types);
	importer->kept_args.tables = tables;
	importer->flows.tables = tables;
	importer->flows.sets = &importer->sets;
	importer->sched.tables = tables;
	importer->sched.processes = &importer->processes;
	importer->sched.states.tables = tables;
	importer->sched.states.processes = &importer->processes;
	importer->descriptors.tables = tables;
	importer->descriptors.processes = &importer->processes;
	importer->descriptors.tracks = &importer->tracks;
	importer->descriptors.sets = &importer->sets;
	importer->system = (struct orma_system){
		.tables = tables,
		.index = &importer->index,
		.sets = &importer->sets,
		.processes = &importer->processes,
		.tracks = &importer->tracks,
		.groups = &importer->descriptors.groups,
		.slices = &importer->slices,
		.sched = &importer->sched,
		.has_no_raw_events = has_no_raw_events,
		.files = files,
		.crops_events = crops_events,
		.crop_ns = INT64_MIN,
		.raw_events = {.tables = tables},
	};
	importer->content.is_wanted = analyzes;
	importer->index.each = analyzes ? count_content : NULL;
	take_files(importer);
	orma_profiles_init(&importer->profiles, &importer->system);
	importer->index.threads = threads;
	importer->index.bundle = take_bundle;
	importer->index.snapshot = take_clocks;
	importer->index.input = input;
	importer->index.unpack = unpack;
	importer->index.file_order = orma_importer_file_order;
	importer->index.ctx = importer;
	seed_maps(importer, seed);
	return orma_type_pool_add_built_in(&importer->types);
}

static int log_refusal(void *ctx, enum orma_slice_count why, const struct orma_slice_begin *slice,
		       int64_t other)
{
	struct orma_importer *importer = ctx;
	if (why == ORMA_SLICES_TOO_DEEP)
		return orma_import_log_depth(&importer->system, slice, other);
	return orma_import_log_overlap(
		&importer->system, ORMA_STAT_slice_drop_overlapping_complete_event, slice, other);
}

/* All types are known. One of them might say that a field which plain events have, such as the name, is an argument as well. */
static void begin_keeping(struct orma_importer *importer)
{
	const uint64_t plain = FIELD_BIT(TIMESTAMP_DELTA_US) | FIELD_BIT(TIMESTAMP_ABSOLUTE_US) |
			       FIELD_BIT(ORMA_PB_TRACK_EVENT_TYPE) |
			       FIELD_BIT(ORMA_PB_TRACK_EVENT_TRACK_UUID) |
			       FIELD_BIT(ORMA_PB_TRACK_EVENT_NAME_IID) |
			       FIELD_BIT(ORMA_PB_TRACK_EVENT_CATEGORY_IIDS) |
			       FIELD_BIT(ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS) |
			       FIELD_BIT(ORMA_PB_TRACK_EVENT_CALLSTACK_WEIGHT);
	struct orma_kept_args *kept = &importer->kept_args;
	kept->is_on = !(orma_event_args_typed_ids(&importer->event_args) & plain);
	kept->max_bytes = importer->index.bytes / KEPT_SHARE;
}

int orma_importer_begin(struct orma_importer *importer, struct orma_tables *tables,
			struct orma_trace_bytes *input, orma_unpack_fn *unpack)
{
	int r = orma_importer_init(importer, tables, input, unpack);
	importer->system.has_log = true;
	importer->slices.on_refusal = log_refusal;
	importer->slices.on_refusal_ctx = importer;
	return r;
}

int orma_importer_take_converted(void *ctx, const struct orma_converted_packets *packets)
{
	struct orma_importer *importer = ctx;
	take_files(importer);
	return orma_packet_index_take(&importer->index, packets);
}

/* Frees what only events look up: a trace with a million tracks would keep 300 MB of it. */
static void forget_tracks(struct orma_importer *importer)
{
	orma_arg_sets_done(&importer->sets);
	orma_tracks_done(&importer->tracks);
	orma_slices_done(&importer->slices);
	orma_descriptor_tracks_done(&importer->descriptors);
	orma_track_groups_done(&importer->async_groups);
}

int orma_importer_end(struct orma_importer *importer, struct orma_error *reterr)
{
	if (importer->index.converted_end == 0)
		take_files(importer);
	int r = orma_packet_index_build(&importer->index, reterr);
	int damage = r == -EBADMSG ? r : 0;
	/* Counts of all files together stand with the first. */
	if (importer->system.files)
		importer->system.stats.trace_file = orma_trace_files_first(importer->system.files);
	if (r == 0 || damage)
		r = add_machines(importer);
	begin_keeping(importer);
	if (r == 0)
		r = orma_ordered_read(&importer->index, orma_importer_time_order, importer);
	if (r == 0)
		r = end_args(importer);
	if (r == 0)
		r = finish(importer);
	forget_tracks(importer);
	if (r == 0)
		r = orma_tables_seal(importer->tables);
	return r < 0 ? r : damage;
}

void orma_importer_done(struct orma_importer *importer)
{
	orma_arg_sets_done(&importer->sets);
	orma_processes_done(&importer->processes);
	orma_tracks_done(&importer->tracks);
	orma_slices_done(&importer->slices);
	orma_row_args_done(&importer->slice_args);
	orma_row_args_done(&importer->state_args);
	orma_row_args_done(&importer->process_args);
	orma_row_args_done(&importer->thread_args);
	orma_states_done(&importer->states);
	orma_event_args_done(&importer->event_args);
	orma_kept_args_done(&importer->kept_args);
	orma_type_pool_done(&importer->types);
	orma_flows_done(&importer->flows);
	orma_sched_done(&importer->sched);
	orma_descriptor_tracks_done(&importer->descriptors);
	orma_track_groups_done(&importer->async_groups);
	orma_profiles_done(&importer->profiles);
	orma_proto_content_done(&importer->content);
	orma_system_done(&importer->system);
	orma_base_map_done(&importer->counter_sums);
	orma_base_map_done(&importer->async_names);
	orma_base_arena_done(&importer->arena);
	orma_base_free(importer->type_packets);
	orma_packet_index_done(&importer->index);
}
