/* SPDX-License-Identifier: Apache-2.0
 * plain_event_import.c - the short way of the events that most traces are made of: ends of slices and instants with interned
 * names, on described tracks that are one row each.
 *
 * Invariant: what an event becomes here is what track_event_import.c makes of it. Whatever is rare, an event for the first time
 * as well, is left to it: names that are not yet strings of the engine, tracks without a row, sequences that lost packets.
 */
#include "trace/importer.h"

#include "base/macros.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/track_event_read.h"

/* Finds the cell of an interned string that was met before; 0 is the number of none. False when it was not. */
static bool find_cell(const struct orma_interning *interning, uint32_t field, uint64_t iid,
		      int64_t *ret)
{
	uint32_t id = orma_interning_string(interning, field, iid);
	*ret = iid == 0 ? ORMA_CELL_NULL : (int64_t)id;
	return iid == 0 || id > 0;
}

/* Finds the row of the event's track, when the event's thread is the track's. False when the long way has to find it. */
static bool find_track(struct orma_importer *importer, const struct orma_ordered_event *event,
		       uint32_t *ret)
{
	const struct orma_plain_event *plain = event->plain;
	uint64_t uuid = plain->flags & ORMA_EVENT_HAS_TRACK ? plain->track_uuid
							    : event->state->default_track;
	enum orma_track_scope scope;
	int64_t track =
		uuid == 0 ? -1
			  : orma_descriptor_tracks_find_row(&importer->descriptors, uuid, &scope);
	if (track < 0 || track > UINT32_MAX ||
	    (scope != ORMA_SCOPE_THREAD && event->state->thread.is_known))
		return false;
	*ret = (uint32_t)track;
	return true;
}

static int begin_slice(struct orma_importer *importer, const struct orma_ordered_event *event,
		       struct orma_slice_begin *begin)
{
	const struct orma_plain_event *plain = event->plain;
	int64_t id;
	begin->ts = event->ns;
	begin->dur = plain->type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT ? 0 : -1;
	begin->arg_set_id = begin->passed_utid = begin->thread_ts = begin->thread_dur =
		begin->thread_instruction_count = begin->thread_instruction_delta = ORMA_CELL_NULL;
	begin->begin_packet = plain->flags & ORMA_EVENT_HAS_ARGS
				      ? (int64_t)(event->address - event->packet->header)
				      : ORMA_CELL_NULL;
	int r = orma_slices_begin(&importer->slices, begin, &id);
	if (r > 0 && ORMA_UNLIKELY(importer->flows.endings.count > 0))
		r = orma_flows_take_endings(&importer->flows, begin->track_id, id);
	if (r >= 0 && event->args && id != ORMA_NO_SLICE)
		r = orma_kept_args_add(&importer->kept_args, &event->state->interning, event->args,
				       (uint64_t)id);
	return ORMA_MIN(r, 0);
}

static int end_slice(struct orma_importer *importer, const struct orma_ordered_event *event,
		     const struct orma_slice_begin *end)
{
	int64_t slice;
	int r = orma_slices_end(&importer->slices, event->ns, end->track_id, end->category,
				end->name, &slice);
	if (r < 0 || slice == ORMA_NO_SLICE || !(event->plain->flags & ORMA_EVENT_HAS_ARGS))
		return r;
	return orma_store_column_set(
		orma_tables_column(importer->tables, ORMA_TABLE_SLICE, ORMA_SLICE_END_PACKET),
		(uint64_t)slice, (int64_t)(event->address - event->packet->header));
}

int orma_importer_plain_event(struct orma_importer *importer,
			      const struct orma_ordered_event *event)
{
	const struct orma_plain_event *plain = event->plain;
	const struct orma_sequence_state *state = event->state;
	struct orma_slice_begin slice;
	uint64_t category = plain->categories > 0 ? plain->category_iid : 0;
	if (!state->is_loaded || state->sequence->losses > 0 || importer->content.is_wanted ||
	    event->ns < importer->system.crop_ns || (plain->categories > 0 && category == 0) ||
	    !find_cell(&state->interning, ORMA_PB_INTERNED_DATA_EVENT_NAMES, plain->name_iid,
		       &slice.name) ||
	    !find_cell(&state->interning, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES, category,
		       &slice.category) ||
	    !find_track(importer, event, &slice.track_id))
		return 0;
	int r = plain->type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END
			? end_slice(importer, event, &slice)
			: begin_slice(importer, event, &slice);
	return r < 0 ? r : 1;
}
