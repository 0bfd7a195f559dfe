/* SPDX-License-Identifier: Apache-2.0
 * importer.c - the two passes over a trace, and who takes what of it.
 */
#include "trace/importer.h"

#include <errno.h>

#include "schema/gen/trace_packet.pb.h"

static int take_in_file_order(void *ctx, struct orma_packet_index *index,
			      struct orma_sequence *sequence, const struct orma_packet *packet,
			      int64_t ns)
{
	struct orma_importer *importer = ctx;
	(void)index;
	if (packet->flags & ORMA_PACKET_IS_FIRST) {
		int r = orma_descriptor_tracks_take_first(&importer->descriptors, sequence);
		if (r < 0)
			return r;
	}
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		return orma_descriptor_tracks_take(&importer->descriptors, sequence, packet, ns);
	return 0;
}

static int take_switch(struct orma_importer *importer, const struct orma_ordered_event *event)
{
	const struct orma_compact_switch *compact = event->compact_switch;
	struct orma_sched_switch row = {
		.ts = event->ns,
		.machine_idx = event->machine_idx,
		.cpu = event->cpu,
		.prev_state = compact->prev_state,
		.next_tid = compact->next_pid,
		.next_comm = orma_tables_string(importer->tables, compact->next_comm),
		.next_prio = compact->next_prio,
		.is_compact = true,
	};
	return orma_sched_switch(&importer->sched, &row);
}

static int take_waking(struct orma_importer *importer, const struct orma_ordered_event *event)
{
	const struct orma_compact_waking *compact = event->compact_waking;
	/* Who wakes is who runs on the CPU, which the switches say. */
	int64_t waker = orma_sched_running(&importer->sched, event->machine_idx, event->cpu);
	if (waker < 0) {
		importer->sched.counts[ORMA_SCHED_WAKINGS_SKIPPED]++;
		return 0;
	}
	return orma_sched_waking(&importer->sched, event->ns, event->machine_idx, compact->pid,
				 waker, compact->has_flags ? (int32_t)compact->common_flags : -1);
}

static int take_in_time_order(void *ctx, const struct orma_ordered_event *event)
{
	struct orma_importer *importer = ctx;
	if (event->kind == ORMA_ORDERED_TRACK_EVENT)
		return orma_importer_track_event(importer, event);
	if (event->kind == ORMA_ORDERED_SWITCH)
		return take_switch(importer, event);
	if (event->kind == ORMA_ORDERED_WAKING)
		return take_waking(importer, event);
	if (event->kind == ORMA_ORDERED_PACKET &&
	    event->packet->kind == ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		return orma_descriptor_tracks_apply(&importer->descriptors, event->machine_idx,
						    event->packet->content);
	return 0;
}

static int add_machines(struct orma_importer *importer)
{
	int r = 0;
	for (uint32_t i = 0; i < importer->index.machine_count && r == 0; i++) {
		int64_t cells[ORMA_MACHINE_COLUMNS];
		for (size_t column = 0; column < ORMA_MACHINE_COLUMNS; column++)
			cells[column] = ORMA_CELL_NULL;
		cells[ORMA_MACHINE_RAW_ID] = importer->index.machine_ids[i];
		r = orma_store_table_append(&importer->tables->all[ORMA_TABLE_MACHINE], cells);
		if (r == 0)
			r = orma_processes_add_machine(&importer->processes, i);
		/* A trace of the system has tid 0 as the idle task. */
		if (r == 0 && importer->index.lane_count > 0)
			r = orma_processes_set_idle(&importer->processes, i);
	}
	return r;
}

int orma_importer_run(struct orma_importer *importer, struct orma_tables *tables,
		      struct orma_trace_bytes *input, orma_unpack_fn *unpack,
		      struct orma_error *reterr)
{
	*importer = (struct orma_importer){.tables = tables};
	importer->sets.tables = tables;
	importer->processes.tables = tables;
	importer->tracks.tables = tables;
	importer->tracks.sets = &importer->sets;
	importer->slices.tables = tables;
	importer->slice_args.tables = tables;
	importer->slice_args.sets = &importer->sets;
	importer->states.tables = tables;
	importer->event_args.index = &importer->index;
	importer->flows.tables = tables;
	importer->sched.tables = tables;
	importer->sched.processes = &importer->processes;
	importer->descriptors.tables = tables;
	importer->descriptors.processes = &importer->processes;
	importer->descriptors.tracks = &importer->tracks;
	importer->descriptors.sets = &importer->sets;
	importer->index.input = input;
	importer->index.unpack = unpack;
	importer->index.file_order = take_in_file_order;
	importer->index.ctx = importer;
	int r = orma_packet_index_build(&importer->index, reterr);
	int damage = r == -EBADMSG ? r : 0;
	if (r == 0 || damage)
		r = add_machines(importer);
	if (r == 0)
		r = orma_ordered_read(&importer->index, take_in_time_order, importer);
	if (r == 0)
		r = orma_slice_args_end(&importer->slice_args);
	if (r == 0)
		r = orma_tables_seal(tables);
	return r < 0 ? r : damage;
}

void orma_importer_done(struct orma_importer *importer)
{
	orma_arg_sets_done(&importer->sets);
	orma_processes_done(&importer->processes);
	orma_tracks_done(&importer->tracks);
	orma_slices_done(&importer->slices);
	orma_slice_args_done(&importer->slice_args);
	orma_states_done(&importer->states);
	orma_event_args_done(&importer->event_args);
	orma_flows_done(&importer->flows);
	orma_sched_done(&importer->sched);
	orma_descriptor_tracks_done(&importer->descriptors);
	orma_track_groups_done(&importer->async_groups);
	orma_base_map_done(&importer->counter_sums);
	orma_base_map_done(&importer->async_names);
	orma_base_arena_done(&importer->arena);
	orma_packet_index_done(&importer->index);
}
