/* SPDX-License-Identifier: Apache-2.0
 * track_descriptor.c - how a sequence describes tracks.
 *
 * A sequence describes a track in front of its first event there, parents first. track_set.c
 * remembers which ones it has described.
 *
 * Rejected: a table of all tracks of the process (a lock on the emit path, and tracks of requests
 * would never leave it), serialized descriptors in registered tracks (a second copy of every text,
 * although describing is rare).
 */
#include "track/track_descriptor.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "proto/writer.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "track/category_rule.h"
#include "track/sanitize_text.h"
#include "track/thread_descriptor.h"
#include "track/track_uuid.h"

static_assert((int)ORMA_TRACK_ORDER_EXPLICIT ==
		      (int)ORMA_PB_TRACK_DESCRIPTOR_CHILD_TRACKS_ORDERING_EXPLICIT,
	      "orders have the numbers of the schema");
static_assert((int)ORMA_TRACK_UNIT_BYTES == (int)ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_SIZE_BYTES,
	      "units have the numbers of the schema");

const struct orma_track *_Atomic orma_track_root;

static void write_text(struct orma_proto_writer *writer, uint32_t field_id, const char *text)
{
	orma_track_write_text(writer, field_id, text, strlen(text));
}

static void write_list(struct orma_proto_writer *writer, uint32_t field_id, const char *list)
{
	struct orma_str text;

	while (orma_track_list_next(&list, &text))
		orma_track_write_text(writer, field_id, text.data, text.size);
}

static void write_counter(struct orma_proto_writer *writer, const struct orma_track *track)
{
	struct orma_proto_nested counter;

	orma_proto_nested_begin(writer, &counter, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
	write_list(writer, ORMA_PB_COUNTER_DESCRIPTOR_CATEGORIES, track->categories);
	if (track->unit)
		orma_proto_write_int(writer, ORMA_PB_COUNTER_DESCRIPTOR_UNIT, track->unit);
	if (track->unit_multiplier != 0 && track->unit_multiplier != 1)
		orma_proto_write_int(writer, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER,
				     track->unit_multiplier);
	if (track->is_incremental)
		orma_proto_write_bool(writer, ORMA_PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL, true);
	if (track->unit_name)
		write_text(writer, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_NAME, track->unit_name);
	if (track->y_axis_share_key)
		write_text(writer, ORMA_PB_COUNTER_DESCRIPTOR_Y_AXIS_SHARE_KEY,
			   track->y_axis_share_key);
	orma_proto_nested_end(writer, &counter);
}

static void write_merge(struct orma_proto_writer *writer, const struct orma_track *track)
{
	if (!track->merge)
		return;
	orma_proto_write_int(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR, track->merge);
	if (track->merge != ORMA_TRACK_MERGE_BY_KEY)
		return;
	if (track->merge_key)
		write_text(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY, track->merge_key);
	else
		orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_MERGE_KEY_INT,
					track->merge_key_id);
}

static void write_appearance(struct orma_proto_writer *writer, const struct orma_track *track)
{
	if (track->child_order)
		orma_proto_write_int(writer, ORMA_PB_TRACK_DESCRIPTOR_CHILD_ORDERING,
				     track->child_order);
	if (track->rank)
		orma_proto_write_int(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK,
				     track->rank);
	if (track->description)
		write_text(writer, ORMA_PB_TRACK_DESCRIPTOR_DESCRIPTION, track->description);
	write_merge(writer, track);
	if (track->is_process_order_explicit)
		orma_proto_write_int(
			writer, ORMA_PB_TRACK_DESCRIPTOR_PROCESS_ORDERING,
			ORMA_PB_TRACK_DESCRIPTOR_PROCESS_ORDERING_PROCESS_ORDERING_EXPLICIT);
	if (track->is_thread_order_explicit)
		orma_proto_write_int(
			writer, ORMA_PB_TRACK_DESCRIPTOR_THREAD_ORDERING,
			ORMA_PB_TRACK_DESCRIPTOR_THREAD_ORDERING_THREAD_ORDERING_EXPLICIT);
}

static void write_track(struct orma_proto_writer *writer, const struct orma_track *track,
			uint64_t uuid, uint64_t parent_uuid)
{
	struct orma_proto_nested nested, state;

	orma_proto_nested_begin(writer, &nested, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, uuid);
	if (track->name)
		write_text(writer,
			   track->is_name_static ? ORMA_PB_TRACK_DESCRIPTOR_STATIC_NAME
						 : ORMA_PB_TRACK_DESCRIPTOR_NAME,
			   track->name);
	if (parent_uuid)
		orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID, parent_uuid);
	if (track->kind == ORMA_TRACK_COUNTER)
		write_counter(writer, track);
	write_appearance(writer, track);
	if (track->kind == ORMA_TRACK_STATE) {
		orma_proto_nested_begin(writer, &state, ORMA_PB_TRACK_DESCRIPTOR_STATE);
		orma_proto_nested_end(writer, &state);
	}
	if (track->fields)
		orma_proto_write_raw(writer, track->fields, track->fields_size);
	orma_proto_nested_end(writer, &nested);
}

static uint64_t parent_uuid(const struct orma_track_sequence *sequence,
			    const struct orma_track *track, bool has_parents)
{
	const struct orma_track_path path = {.base = orma_track_base_of_root(track->root)};

	if (track->kind == ORMA_TRACK_GLOBAL)
		return 0;
	return track->parent && has_parents ? orma_track_uuid_at(sequence->tid, track->parent)
					    : orma_track_path_uuid(&path, sequence->tid);
}

/* Name and rank of the track take precedence over those of the kernel and of the thread itself. */
static bool describe_thread(struct orma_packet *slot, const struct orma_track *track,
			    uint64_t now_ns)
{
	const struct orma_track_sequence *sequence = slot->state;
	int32_t tid = track->id ? (int32_t)track->id : sequence->tid;
	struct orma_track_thread_info info;

	orma_track_thread_info_of(tid, &info);
	if (track->name)
		snprintf(info.name, sizeof(info.name), "%s", track->name);
	if (track->rank)
		info.rank = track->rank;
	info.is_kept_apart = info.is_kept_apart || track->is_kept_apart;
	return orma_track_write_thread(slot, tid, &info, now_ns);
}

/* Describes one track that the sequence has not described, or that is to be described anew. */
static bool describe_one(struct orma_packet *slot, const struct orma_track *track, uint64_t uuid,
			 bool has_parents, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	struct orma_proto_writer *writer;

	if (track->kind == ORMA_TRACK_THREAD) {
		if (!describe_thread(slot, track, now_ns))
			return false;
	} else if (track->kind == ORMA_TRACK_PROCESS) {
		if (!orma_track_write_process(slot, now_ns))
			return false;
	} else {
		writer = orma_track_packet_begin(slot, now_ns);
		write_track(writer, track, uuid, parent_uuid(sequence, track, has_parents));
		if (!orma_track_packet_end(slot))
			return false;
	}
	/* The set is full: the next event begins the sequence anew. */
	if (!orma_track_set_add(&sequence->tracks, uuid))
		slot->needs_state = true;
	return true;
}

/* `is_forced`: describes the track itself even if the sequence has described it. */
static bool describe(struct orma_packet *slot, const struct orma_track *track, bool is_forced,
		     uint64_t now_ns)
{
	const struct orma_track *chain[ORMA_TRACK_PARENTS_MAX + 1];
	uint64_t uuids[ORMA_TRACK_PARENTS_MAX + 1];
	struct orma_track_sequence *sequence = slot->state;
	struct orma_track_path path;
	bool has_parents = orma_track_path_find(track, &path);
	int count = 0;

	for (const struct orma_track *at = track; at && count <= ORMA_TRACK_PARENTS_MAX;
	     at = has_parents ? at->parent : NULL) {
		uuids[count] = orma_track_uuid_at(sequence->tid, at);
		if (orma_track_set_find(&sequence->tracks, uuids[count]) &&
		    !(is_forced && at == track && count == 0))
			break;
		chain[count++] = at;
		if (at->kind >= ORMA_TRACK_THREAD)
			break;
	}
	while (count-- > 0)
		if (!describe_one(slot, chain[count], uuids[count], has_parents, now_ns))
			return false;
	return true;
}

bool orma_track_describe(struct orma_packet *slot, const struct orma_track *track, uint64_t now_ns)
{
	return describe(slot, track, false, now_ns);
}

bool orma_track_describe_anew(struct orma_packet *slot, const struct orma_track *track,
			      uint64_t now_ns)
{
	return describe(slot, track, true, now_ns);
}
