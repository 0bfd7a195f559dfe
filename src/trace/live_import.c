/* SPDX-License-Identifier: Apache-2.0
 * live_import.c - hands each packet to the parts of the importer that see it in the order of the file and of time, one after
 * the other.
 *
 * Events of one sequence and of one CPU come in their order, so slices and states are what they are in a file. Events of
 * different sequences do not: scheduling, which looks at several CPUs, may be off by a migration, and is not shown.
 *
 * Rejected: importing the last seconds again and again, which needs each sequence's packets since its incremental state
 * began anew, and that may be for ever.
 */
#include "trace/live_import.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "trace/bundle_index.h"
#include "trace/remote_clocks.h"

enum {
	LIVE_MEMORY_BYTES = 64 << 20, /* more text of names goes to a file */
	LIVE_UNPACKED_MAX_BYTES = 64 << 20,
};

/* Tables whose rows are only of use while they are new. */
static const enum orma_table_id passing[] = {
	ORMA_TABLE_SLICE,        ORMA_TABLE_STATE, ORMA_TABLE_COUNTER,
	ORMA_TABLE_FTRACE_EVENT, ORMA_TABLE_LOG,   ORMA_TABLE_SCHED,
	ORMA_TABLE_THREAD_STATE, ORMA_TABLE_FLOW,  ORMA_TABLE_SPURIOUS_WAKEUP};
/* Tables whose rows are shown. */
static const enum orma_table_id shown[] = {ORMA_TABLE_SLICE, ORMA_TABLE_STATE, ORMA_TABLE_COUNTER,
					   ORMA_TABLE_FTRACE_EVENT, ORMA_TABLE_LOG};

static void end_slice(void *ctx, int64_t row, int64_t dur)
{
	struct orma_live_import *live = ctx;
	live->on_end(live->ctx, row, dur);
}

int orma_live_import_init(struct orma_live_import *live)
{
	live->input = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1};
	int r = orma_tables_init(&live->tables, LIVE_MEMORY_BYTES, NULL);
	live->passing = (struct orma_string_pool){.text = {.fd = -1}, .seed = live->seed};
	live->tables.passing = &live->passing;
	live->importer.seed = live->tables.strings.seed = live->states.seed = live->seed;
	if (r == 0)
		r = orma_importer_init(&live->importer, &live->tables, &live->input, live->unpack);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(passing); i++)
		orma_store_table_forget(&live->tables.all[passing[i]]);
	orma_trace_clocks_init(&live->importer.index.clocks);
	live->importer.index.trace_default_clock = ORMA_CLOCK_BOOTTIME;
	/* Notes would wait for the end of the trace. */
	live->importer.sched.states.is_direct = true;
	live->importer.slices.on_end = end_slice;
	live->importer.slices.on_end_ctx = live;
	live->importer.profiles.graphs.is_off = true; /* nobody asks for them */
	live->kernel_args.system = &live->importer.system;
	live->args.tables = &live->tables;
	return 0;
}

void orma_live_import_done(struct orma_live_import *live)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&live->states, &position))) {
		orma_sequence_state_done(slot->value);
		orma_base_free(slot->value);
	}
	orma_base_map_done(&live->states);
	orma_bundle_events_done(&live->bundle);
	orma_kernel_args_done(&live->kernel_args);
	orma_arg_list_done(&live->args);
	orma_importer_done(&live->importer);
	orma_tables_done(&live->tables);
	orma_store_pool_done(&live->passing);
}

static struct orma_sequence_state *use_state(struct orma_live_import *live,
					     const struct orma_sequence *sequence)
{
	uint64_t key = (uint64_t)sequence->machine_idx << 32 | sequence->id;
	struct orma_sequence_state *state = orma_base_map_get(&live->states, key);
	if (state)
		return state;
	state = orma_base_zalloc(sizeof(*state));
	if (!state || orma_base_map_put(&live->states, key, state) < 0) {
		orma_base_free(state);
		return NULL;
	}
	state->input = &live->input;
	state->sequence = sequence;
	return state;
}

/* Shows rows that are new; those of one table have the arguments at hand. If there are more rows than a table remembers,
 * the newest are shown. */
static int show_rows(struct orma_live_import *live, enum orma_table_id with_args)
{
	static const struct orma_arg_list no_args;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(shown); i++) {
		uint64_t end = orma_store_table_rows(&live->tables.all[shown[i]]);
		uint64_t *seen = &live->seen[shown[i]];
		if (end - *seen > ORMA_BLOCK_ROWS)
			*seen = end - ORMA_BLOCK_ROWS;
		while (*seen < end) {
			int r = live->on_row(live->ctx, shown[i], (*seen)++,
					     shown[i] == with_args ? &live->args : &no_args);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* A descriptor that names no thread or process has nothing to do in the order of time, where its parent would be looked for.
 * That may come later in the file. */
static bool is_in_time(const struct orma_packet *packet)
{
	struct orma_proto_field field;
	return packet->kind != ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR ||
	       orma_proto_reader_find(packet->content.data, packet->content.size,
				      ORMA_PB_TRACK_DESCRIPTOR_THREAD, &field) > 0 ||
	       orma_proto_reader_find(packet->content.data, packet->content.size,
				      ORMA_PB_TRACK_DESCRIPTOR_PROCESS, &field) > 0;
}

static int take_event(struct orma_live_import *live, const struct orma_ordered_event *event)
{
	bool is_packet = event->kind == ORMA_ORDERED_PACKET;
	bool is_track_event = event->kind == ORMA_ORDERED_TRACK_EVENT;
	int r = is_packet && !is_in_time(event->packet)
			? 0
			: orma_importer_time_order(&live->importer, event);
	orma_arg_list_clear(&live->args);
	if (r == 0 && is_track_event)
		r = orma_event_args_read(&live->importer.event_args, event->state,
					 event->packet->content, &live->args);
	else if (r == 0 && !is_packet)
		r = orma_kernel_args_add_ordered(&live->kernel_args, event, &live->args);
	return r < 0 ? r
		     : show_rows(live, is_track_event ? ORMA_TABLE_SLICE : ORMA_TABLE_FTRACE_EVENT);
}

/* Arguments that wait for the end of a trace would wait for ever. */
static void forget_waiting(struct orma_importer *importer)
{
	struct orma_row_args *all[] = {&importer->slice_args, &importer->state_args};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(all); i++) {
		struct orma_row_args empty = {
			.tables = all[i]->tables, .sets = all[i]->sets, .column = all[i]->column};
		if (all[i]->lists.count == 0)
			continue;
		orma_row_args_done(all[i]);
		*all[i] = empty;
	}
}

/* Takes the next kernel event of the bundle: the earliest of the three lists. False at the end. */
static bool next_of_bundle(const struct orma_bundle_events *events, uint32_t next[3],
			   struct orma_ordered_event *ret)
{
	ret->ns = INT64_MAX;
	bool has_event = false;
	if (next[0] < events->event_count) {
		has_event = true;
		ret->kind = ORMA_ORDERED_KERNEL_EVENT;
		ret->kernel_event = &events->events[next[0]];
		ret->ns = ret->kernel_event->ns;
	}
	if (next[1] < events->switch_count && events->switches[next[1]].ns < ret->ns) {
		has_event = true;
		ret->kind = ORMA_ORDERED_SWITCH;
		ret->compact_switch = &events->switches[next[1]];
		ret->ns = ret->compact_switch->ns;
	}
	if (next[2] < events->waking_count && events->wakings[next[2]].ns < ret->ns) {
		has_event = true;
		ret->kind = ORMA_ORDERED_WAKING;
		ret->compact_waking = &events->wakings[next[2]];
		ret->ns = ret->compact_waking->ns;
	}
	if (has_event)
		next[ret->kind - ORMA_ORDERED_KERNEL_EVENT]++;
	return has_event;
}

static int take_bundle(struct orma_live_import *live, struct orma_sequence *sequence,
		       const struct orma_packet *packet)
{
	struct orma_packet_index *index = &live->importer.index;
	struct orma_ordered_event event = {.machine_idx = sequence->machine_idx};
	struct orma_bundle_head head;
	uint32_t next[3] = {0};
	if (orma_bundle_head_read(packet->content, &head) < 0)
		return 0;
	event.cpu = head.cpu;
	int r = index->bundle(index->ctx, sequence, packet, &head);
	if (r == 0)
		r = orma_bundle_events_read(&live->bundle, &index->clocks, sequence, packet,
					    index->clocks.snapshot_count);
	while (r == 0 && next_of_bundle(&live->bundle, next, &event)) {
		index->max_ns = ORMA_MAX(index->max_ns, event.ns);
		r = take_event(live, &event);
	}
	return r;
}

static int take_other(struct orma_live_import *live, struct orma_sequence *sequence,
		      struct orma_sequence_state *state, const struct orma_packet *packet)
{
	struct orma_packet_index *index = &live->importer.index;
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	bool is_known = orma_sequence_time_source(&sequence->time, packet) == ORMA_TIME_IS_KNOWN;
	struct orma_ordered_event event = {.kind = is_event ? ORMA_ORDERED_TRACK_EVENT
							    : ORMA_ORDERED_PACKET,
					   .ns = index->max_ns,
					   .machine_idx = sequence->machine_idx,
					   .packet = packet,
					   .state = state};
	if (is_known && orma_sequence_time_of(
				&sequence->time, &index->clocks, index->trace_default_clock, packet,
				index->clocks.snapshot_count, &event.ns) != ORMA_CLOCK_CONVERTED)
		return 0;
	if (is_event && !is_known)
		return 0;
	int r = is_event ? 0
			 : orma_importer_file_order(&live->importer, index, sequence, packet,
						    event.ns);
	index->max_ns = ORMA_MAX(index->max_ns, event.ns);
	return r < 0 ? r : take_event(live, &event);
}

static int take_packet(struct orma_live_import *live, const struct orma_packet *packet)
{
	struct orma_packet_index *index = &live->importer.index;
	struct orma_sequence *sequence;
	int r = orma_packet_index_sequence(index, packet, &sequence);
	while (r == 0 && live->machine_count < index->machine_count)
		r = orma_importer_add_machine(&live->importer, live->machine_count++);
	if (r == 0)
		r = orma_sequence_time_take(&sequence->time, packet);
	struct orma_sequence_state *state = r == 0 ? use_state(live, sequence) : NULL;
	if (r == 0 && !state)
		r = -ENOMEM;
	if (r == 0)
		r = orma_sequence_state_take(state, packet, sequence->time.is_valid);
	if (r < 0)
		return r;
	if (packet->kind == ORMA_PB_TRACE_PACKET_FTRACE_EVENTS)
		return take_bundle(live, sequence, packet);
	if (packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT)
		return orma_packet_index_snapshot(index, sequence, packet->content);
	if (packet->kind == ORMA_PB_TRACE_PACKET_REMOTE_CLOCK_SYNC)
		return orma_remote_clocks_take(index, sequence, packet->content);
	if (packet->kind == 0 || !orma_sequence_time_accepts(&sequence->time, packet))
		return 0;
	return take_other(live, sequence, state, packet);
}

static int take_compressed(struct orma_live_import *live, const struct orma_packet *packet)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf unpacked = {0};
	int r = live->unpack
			? live->unpack(packet->kind, packet->content.data, packet->content.size,
				       LIVE_UNPACKED_MAX_BYTES, &unpacked)
			: -ENOTSUP;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t at = 0; r >= 0 && at < unpacked.size;) {
		struct orma_str bytes;
		struct orma_packet inner;
		uint64_t size;
		r = orma_trace_entry_read(unpacked.data + at, unpacked.size - at, &bytes, &size);
		if (r < 0)
			return 0; /* damage */
		at += (size_t)size;
		/* There is no deeper nesting. */
		if (r > 0 && orma_trace_packet_read(bytes.data, bytes.size, &inner) == 0)
			r = take_packet(live, &inner);
	}
	return ORMA_MIN(r, 0);
}

int orma_live_import_packet(struct orma_live_import *live, struct orma_str bytes)
{
	struct orma_packet packet;
	(void)orma_tables_forget_passing(&live->tables);
	if (orma_trace_packet_read(bytes.data, bytes.size, &packet) < 0)
		return 0;
	bool is_compressed = packet.kind == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS ||
			     packet.kind == ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS;
	int r = is_compressed ? take_compressed(live, &packet) : take_packet(live, &packet);
	forget_waiting(&live->importer);
	return r;
}
