/* SPDX-License-Identifier: Apache-2.0
 * top_tracks.c - a stack of open slices per track.
 *
 * The time between two neighbouring events of a track belongs to the innermost slice that is open between them, and is
 * added to the row of that slice when the second event comes. So the self times of the slices of a track never overlap,
 * and a slice of an hour gets its time while it lasts if there are slices in it.
 *
 * Always: row->held is the number of frames that point to the row. Names, depth and numbers of tracks and processes have
 * limits. When there are too many tracks, those go that no slice is open on: first those without a descriptor, which a
 * program makes by the million for asynchronous work, and if that is not enough all of them. Programs describe their tracks
 * again when the session clears the incremental state, every few seconds (top_session.c).
 */
#include "tool/top/top_tracks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/track_descriptor.pb.h"

enum { PARENTS_MAX = 8, NAME_MAX_BYTES = 100 };

/* --- slices ----------------------------------------------------------------------------------- */

static void advance(struct orma_top_track *track, int64_t ns)
{
	if (track->depth > 0 && ns > track->last_ns)
		track->frames[track->depth - 1].row->running.self_ns +=
			(double)ns - (double)track->last_ns;
	track->last_ns = ns;
}

static bool has_room(struct orma_top_track *track)
{
	if (track->depth < track->capacity)
		return true;
	if (track->depth == ORMA_TOP_DEPTH_MAX)
		return false;
	uint32_t capacity = ORMA_MAX(track->capacity * 2, 4u);
	struct orma_top_frame *frames =
		orma_base_realloc_array(track->frames, capacity, sizeof(*frames));
	if (!frames)
		return false;
	track->frames = frames;
	track->capacity = capacity;
	return true;
}

void orma_top_track_begin(struct orma_top_track *track, int64_t ns, struct orma_top_row *row,
			  uint32_t sequence)
{
	advance(track, ns);
	if (track->beyond > 0 || !has_room(track)) {
		track->beyond++;
		return;
	}
	row->held++;
	track->frames[track->depth++] = (struct orma_top_frame){ns, row, sequence};
}

struct orma_top_row *orma_top_track_end(struct orma_top_track *track, int64_t ns, uint64_t *ret_ns)
{
	advance(track, ns);
	if (track->beyond > 0) {
		track->beyond--;
		return NULL;
	}
	if (track->depth == 0)
		return NULL;
	const struct orma_top_frame *frame = &track->frames[--track->depth];
	*ret_ns = ns > frame->begin_ns ? (uint64_t)ns - (uint64_t)frame->begin_ns : 0;
	frame->row->held--;
	return frame->row;
}

void orma_top_track_lose(struct orma_top_track *track, uint32_t sequence)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < track->depth; i++) {
		if (track->frames[i].sequence != sequence) {
			track->frames[kept++] = track->frames[i];
			continue;
		}
		track->frames[i].row->held--;
		track->frames[i].row->running.lost++;
	}
	track->depth = kept;
	track->beyond = 0;
}

static void release(struct orma_top_track *track)
{
	while (track->depth > 0)
		track->frames[--track->depth].row->held--;
	track->beyond = 0;
}

void orma_top_tracks_release(struct orma_top_tracks *tracks)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&tracks->by_uuid, &position)))
		release(slot->value);
}

/* --- tracks ----------------------------------------------------------------------------------- */

static void free_track(struct orma_top_track *track)
{
	orma_base_free(track->name);
	orma_base_free(track->frames);
	orma_base_free(track);
}

void orma_top_tracks_done(struct orma_top_tracks *tracks)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&tracks->by_uuid, &position)))
		free_track(slot->value);
	position = 0;
	while ((slot = orma_base_map_next(&tracks->processes, &position)))
		orma_base_free(slot->value);
	orma_base_map_done(&tracks->by_uuid);
	orma_base_map_done(&tracks->processes);
}

/* Removes the tracks without open slices: those without a descriptor, or all. A map must not change while it is walked, so
 * a new one is made; without memory for it nothing is removed. */
static void remove_idle(struct orma_top_tracks *tracks, bool is_all)
{
	struct orma_map kept = {.seed = tracks->by_uuid.seed};
	struct orma_map_slot *slot;
	size_t position = 0;
	int r = 0;
	while (r == 0 && (slot = orma_base_map_next(&tracks->by_uuid, &position))) {
		const struct orma_top_track *track = slot->value;
		if (track->depth > 0 || (track->is_described && !is_all))
			r = orma_base_map_put(&kept, slot->key, slot->value);
	}
	position = 0;
	while (r == 0 && (slot = orma_base_map_next(&tracks->by_uuid, &position)))
		if (!orma_base_map_get(&kept, slot->key))
			free_track(slot->value);
	if (r < 0) {
		orma_base_map_done(&kept);
		return;
	}
	orma_base_map_done(&tracks->by_uuid);
	tracks->by_uuid = kept;
}

/* Frees an eighth of the tracks or more, so that the next tracks need not look for room one by one. */
static void make_room(struct orma_top_tracks *tracks)
{
	remove_idle(tracks, false);
	if (tracks->by_uuid.count > (size_t)ORMA_TOP_TRACKS_MAX / 8 * 7)
		remove_idle(tracks, true);
}

struct orma_top_track *orma_top_tracks_get(struct orma_top_tracks *tracks, uint64_t uuid)
{
	struct orma_top_track *track = orma_base_map_get(&tracks->by_uuid, uuid);
	if (track)
		return track;
	if (tracks->by_uuid.count >= ORMA_TOP_TRACKS_MAX)
		make_room(tracks);
	track = tracks->by_uuid.count < ORMA_TOP_TRACKS_MAX ? orma_base_zalloc(sizeof(*track))
							    : NULL;
	if (!track)
		return NULL;
	track->uuid = uuid;
	track->pid = track->tid = -1;
	track->multiplier = 1;
	if (orma_base_map_put(&tracks->by_uuid, uuid, track) < 0) {
		orma_base_free(track);
		return NULL;
	}
	return track;
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* A name without memory for it stays the old one. */
static void set_name(char **name, struct orma_str text)
{
	text.size = ORMA_MIN(text.size, (size_t)NAME_MAX_BYTES);
	if (text.size == 0 || (*name && orma_base_str_is_equal(orma_base_str(*name), text)))
		return;
	char *copy = orma_base_str_dup(text);
	if (!copy)
		return;
	orma_base_free(*name);
	*name = copy;
}

/* Returns the last part of a path. */
static struct orma_str base_of(struct orma_str path)
{
	for (size_t i = path.size; i > 1; i--)
		if (path.data[i - 2] == '/')
			return (struct orma_str){path.data + i - 1, path.size - i + 1};
	return path;
}

static void name_process(struct orma_top_tracks *tracks, int64_t pid, struct orma_str name)
{
	uint64_t key = (uint64_t)pid + 1;
	name = base_of(name);
	char *old = orma_base_map_get(&tracks->processes, key), *text = NULL;
	if (!old && tracks->processes.count >= ORMA_TOP_PROCESSES_MAX)
		return;
	if (old && orma_base_str_is_equal(orma_base_str(old), name))
		return;
	set_name(&text, name);
	if (text && orma_base_map_put(&tracks->processes, key, text) == 0)
		text = old;
	orma_base_free(text);
}

static void read_process(struct orma_top_tracks *tracks, struct orma_top_track *track,
			 struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_str name = {NULL, 0};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_PROCESS_DESCRIPTOR_PID && field.type == ORMA_PROTO_VARINT)
			track->pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_PROCESS_DESCRIPTOR_PROCESS_NAME)
			name = field.bytes;
	if (track->pid >= 0 && name.size > 0)
		name_process(tracks, track->pid, name);
}

static void read_thread(struct orma_top_track *track, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_THREAD_DESCRIPTOR_PID && field.type == ORMA_PROTO_VARINT)
			track->pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_TID &&
			 field.type == ORMA_PROTO_VARINT)
			track->tid = (int64_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_THREAD_NAME)
			set_name(&track->name, field.bytes);
}

static void read_counter(struct orma_top_track *track, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	track->is_counter = true;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER &&
		    (int64_t)field.value > 0)
			track->multiplier = (double)(int64_t)field.value;
		else if (field.id == ORMA_PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL)
			track->is_incremental = field.value != 0;
}

static void read_fields(struct orma_top_tracks *tracks, struct orma_top_track *track,
			struct orma_str descriptor)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, descriptor.data, descriptor.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID)
			track->parent = field.value;
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == ORMA_PB_TRACK_DESCRIPTOR_NAME ||
		    field.id == ORMA_PB_TRACK_DESCRIPTOR_STATIC_NAME)
			set_name(&track->name, field.bytes);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_THREAD)
			read_thread(track, field.bytes);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_PROCESS)
			read_process(tracks, track, field.bytes);
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_COUNTER)
			read_counter(track, field.bytes);
	}
}

void orma_top_tracks_describe(struct orma_top_tracks *tracks, struct orma_str descriptor)
{
	struct orma_proto_field field;
	if (orma_proto_reader_find(descriptor.data, descriptor.size, ORMA_PB_TRACK_DESCRIPTOR_UUID,
				   &field) <= 0)
		return;
	struct orma_top_track *track = orma_top_tracks_get(tracks, field.value);
	if (!track)
		return;
	track->is_described = true;
	read_fields(tracks, track, descriptor);
}

/* --- owners ----------------------------------------------------------------------------------- */

const char *orma_top_tracks_process(const struct orma_top_tracks *tracks, int64_t pid)
{
	return orma_base_map_get(&tracks->processes, (uint64_t)pid + 1);
}

static void label_thread(const struct orma_top_tracks *tracks, const struct orma_top_track *track,
			 char buffer[ORMA_TOP_LABEL_BYTES])
{
	const char *process = orma_top_tracks_process(tracks, track->pid);
	snprintf(buffer, ORMA_TOP_LABEL_BYTES, "%s/%s %" PRId64, process ? process : "",
		 track->name ? track->name : "", track->tid);
}

const char *orma_top_track_owner(const struct orma_top_tracks *tracks,
				 const struct orma_top_track *track,
				 char buffer[ORMA_TOP_LABEL_BYTES])
{
	const struct orma_top_track *at = track;
	for (int i = 0; i < PARENTS_MAX; i++) {
		const char *process = orma_top_tracks_process(tracks, at->pid);
		if (at->tid >= 0) {
			label_thread(tracks, at, buffer);
			return buffer;
		}
		if (at->pid >= 0) {
			snprintf(buffer, ORMA_TOP_LABEL_BYTES, "%s %" PRId64,
				 process ? process : "process", at->pid);
			return buffer;
		}
		const struct orma_top_track *parent =
			at->parent ? orma_base_map_get(&tracks->by_uuid, at->parent) : NULL;
		if (!parent)
			break;
		at = parent;
	}
	snprintf(buffer, ORMA_TOP_LABEL_BYTES, "%s", track->name ? track->name : "(no thread)");
	return buffer;
}
