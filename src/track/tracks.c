/* SPDX-License-Identifier: Apache-2.0
 * tracks.c - tracks: what their uuids are, and how a sequence describes them.
 *
 *   uuid = base ^ hash      base: 0, the process's uuid, or that of the emitting thread
 *                           hash: the xor of name, kind and id of the track and all its parents
 *
 * Since everything is combined by xor, the part that does not depend on process and thread is
 * computed once where a track is registered, and holds in the child of a fork. Parents are walked
 * in a loop with a limit; a track with more of them, or with itself among them, counts as one
 * without any.
 *
 * A sequence describes a track in front of its first event there, parents first. Which ones it has
 * described is the set of declared.c. Rejected: a table of all tracks of the process (a lock on
 * the emit path, and tracks of requests never leave it), serialized descriptors in registered
 * tracks (a second copy of every text; describing is rare).
 */
#include "track/track.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "proto/writer.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

/* What upstream mixes into the uuids of tracks that are not for slices. */
#define COUNTER_MAGIC UINT64_C(0xb1a4a67d7970839e)
#define STATE_MAGIC   UINT64_C(0x9b6c5d2f1e3a47c8)

static_assert(sizeof(struct orma_track) == (sizeof(void *) == 8 ? 192 : sizeof(struct orma_track)),
	      "compiled into programs");
static_assert((int)ORMA_TRACK_ORDER_EXPLICIT ==
		      (int)ORMA_PB_TRACK_DESCRIPTOR_CHILD_TRACKS_ORDERING_EXPLICIT,
	      "orders have their numbers");
static_assert((int)ORMA_TRACK_UNIT_BYTES == (int)ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_SIZE_BYTES,
	      "units have their numbers");

/* Registered; written with release, read with acquire. */
static const struct orma_track *_Atomic root_track;

enum base { BASE_NONE = 1, BASE_PROCESS, BASE_THREAD };

struct path {
	enum base base;
	uint64_t hash;
};

/* --- uuids ------------------------------------------------------------------------------------ */

uint64_t orma_track_counter_hash(const char *text)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, text, strlen(text)) ^ COUNTER_MAGIC;
}

static uint64_t own_hash(const struct orma_track *track)
{
	uint64_t hash = track->id;

	if (track->name)
		hash ^= orma_base_fnv1a(ORMA_FNV1A_INIT, track->name, strlen(track->name));
	if (track->kind == ORMA_TRACK_COUNTER)
		hash ^= COUNTER_MAGIC;
	else if (track->kind == ORMA_TRACK_STATE)
		hash ^= STATE_MAGIC;
	return hash;
}

static enum base base_of_root(enum orma_track_root root)
{
	return root == ORMA_TRACK_OF_NOBODY   ? BASE_NONE
	       : root == ORMA_TRACK_OF_THREAD ? BASE_THREAD
					      : BASE_PROCESS;
}

/* True when the track ends the walk: nothing above it counts. */
static bool path_end(const struct orma_track *track, struct path *path)
{
	if (track->registered[0]) {
		path->base = (enum base)track->registered[0];
		path->hash ^= track->registered[1];
	} else if (track->uuid) {
		path->base = BASE_NONE;
		path->hash ^= track->uuid;
	} else if (track->kind == ORMA_TRACK_THREAD) {
		path->base = track->id ? BASE_PROCESS : BASE_THREAD;
		path->hash ^= (uint32_t)track->id;
	} else if (track->kind == ORMA_TRACK_PROCESS) {
		path->base = BASE_PROCESS;
	} else if (track->kind == ORMA_TRACK_GLOBAL) {
		path->base = BASE_NONE;
	} else {
		return false;
	}
	return true;
}

/* False when there are too many parents; the path is then that of a track without any. */
static bool path_find(const struct orma_track *track, struct path *ret)
{
	const struct orma_track *at = track;

	*ret = (struct path){.base = BASE_NONE};
	for (int i = 0; i <= ORMA_TRACK_PARENTS_MAX; i++, at = at->parent) {
		if (path_end(at, ret))
			return true;
		ret->hash ^= own_hash(at);
		ret->base = base_of_root(at->root);
		if (!at->parent)
			return true;
	}
	*ret = (struct path){.base = base_of_root(track->root), .hash = own_hash(track)};
	return false;
}

static uint64_t path_uuid(const struct path *path, int32_t tid)
{
	switch (path->base) {
	case BASE_PROCESS:
		return orma_track_process.uuid ^ path->hash;
	case BASE_THREAD:
		return orma_track_thread_uuid(tid) ^ path->hash;
	default:
		return path->hash;
	}
}

uint64_t orma_track_thread_uuid(int32_t tid)
{
	return orma_track_process.uuid ^ (uint32_t)tid;
}

uint64_t orma_track_uuid_at(const struct orma_track_sequence *sequence,
			    const struct orma_track *track)
{
	struct path path;

	if (!track)
		return orma_track_thread_uuid(sequence->tid);
	path_find(track, &path);
	return path_uuid(&path, sequence->tid);
}

uint64_t orma_track_uuid(const struct orma_track *track)
{
	struct path path = {.base = BASE_THREAD};

	if (track)
		path_find(track, &path);
	return path_uuid(&path, path.base == BASE_THREAD ? (int32_t)gettid() : 0);
}

/* --- describing ------------------------------------------------------------------------------- */

static void write_text(struct orma_proto_writer *writer, uint32_t field_id, const char *text)
{
	orma_track_write_text(writer, field_id, text, strlen(text));
}

static void write_list(struct orma_proto_writer *writer, uint32_t field_id, const char *list)
{
	while (list && *list) {
		size_t size = strcspn(list, ",");

		if (size > 0)
			orma_track_write_text(writer, field_id, list, size);
		list += size + (list[size] == ',');
	}
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

static void write_look(struct orma_proto_writer *writer, const struct orma_track *track)
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
	write_look(writer, track);
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
	const struct path path = {.base = base_of_root(track->root)};

	if (track->kind == ORMA_TRACK_GLOBAL)
		return 0;
	return track->parent && has_parents ? orma_track_uuid_at(sequence, track->parent)
					    : path_uuid(&path, sequence->tid);
}

/* What the track says goes before what the kernel and the thread itself say. */
static bool declare_thread(struct orma_packet *slot, const struct orma_track *track,
			   uint64_t now_ns)
{
	const struct orma_track_sequence *sequence = slot->state;
	int32_t tid = track->id ? (int32_t)track->id : sequence->tid;
	struct orma_track_thread as;

	orma_track_thread_look_at(tid, &as);
	if (track->name)
		snprintf(as.name, sizeof(as.name), "%s", track->name);
	if (track->rank)
		as.rank = track->rank;
	as.is_kept_apart = as.is_kept_apart || track->is_kept_apart;
	return orma_track_write_thread(slot, tid, &as, now_ns);
}

/* One track, which the sequence has not described. */
static bool declare_one(struct orma_packet *slot, const struct orma_track *track, uint64_t uuid,
			bool has_parents, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	struct orma_proto_writer *writer;

	if (track->kind == ORMA_TRACK_THREAD) {
		if (!declare_thread(slot, track, now_ns))
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
	/* Full: from the next event on all is described anew. */
	if (!orma_track_set_add(&sequence->tracks, uuid))
		slot->needs_state = true;
	return true;
}

/* `is_forced`: the track itself also when it is known. */
static bool declare(struct orma_packet *slot, const struct orma_track *track, bool is_forced,
		    uint64_t now_ns)
{
	const struct orma_track *chain[ORMA_TRACK_PARENTS_MAX + 1];
	uint64_t uuids[ORMA_TRACK_PARENTS_MAX + 1];
	struct orma_track_sequence *sequence = slot->state;
	struct path path;
	bool has_parents;
	int count = 0;

	has_parents = path_find(track, &path);
	for (const struct orma_track *at = track; at && count <= ORMA_TRACK_PARENTS_MAX;
	     at = has_parents ? at->parent : NULL) {
		uuids[count] = orma_track_uuid_at(sequence, at);
		if (orma_track_set_find(&sequence->tracks, uuids[count]) &&
		    !(is_forced && at == track && count == 0))
			break;
		chain[count++] = at;
		if (at->kind >= ORMA_TRACK_THREAD)
			break;
	}
	while (count-- > 0)
		if (!declare_one(slot, chain[count], uuids[count], has_parents, now_ns))
			return false;
	return true;
}

bool orma_track_declare(struct orma_packet *slot, const struct orma_track *track, uint64_t now_ns)
{
	return !track || declare(slot, track, false, now_ns);
}

uint8_t *orma_track_put_described(struct orma_track_sequence *sequence, uint8_t *at,
				  const struct orma_track *track)
{
	uint64_t uuid;

	if (!track)
		return at;
	uuid = orma_track_uuid_at(sequence, track);
	if (!orma_track_set_find(&sequence->tracks, uuid))
		return NULL;
	*at++ = ORMA_PB_TRACK_EVENT_TRACK_UUID << 3 | ORMA_PROTO_VARINT;
	return orma_proto_put_varint(at, uuid);
}

static bool announce(const void *ctx, struct orma_packet *slot, uint64_t now_ns)
{
	return declare(slot, ctx, true, now_ns);
}

void orma_track_announce(const struct orma_track *track)
{
	int saved_errno = errno;

	if (track)
		orma_track_tell(announce, track);
	errno = saved_errno;
}

bool orma_track_write_root(struct orma_packet *slot, uint64_t now_ns)
{
	const struct orma_track *track = atomic_load_explicit(&root_track, memory_order_acquire);

	return !track || declare(slot, track, true, now_ns);
}

/* --- incremental counters --------------------------------------------------------------------- */

int64_t orma_track_delta_int(struct orma_track_sequence *sequence, const struct orma_track *track,
			     uint64_t uuid, int64_t value)
{
	struct orma_track_known *known = orma_track_set_find(&sequence->tracks, uuid);
	uint64_t last;

	if (!track->is_incremental || !known)
		return value;
	last = known->last;
	known->last = (uint64_t)value;
	return (int64_t)((uint64_t)value - last);
}

double orma_track_delta_double(struct orma_track_sequence *sequence, const struct orma_track *track,
			       uint64_t uuid, double value)
{
	struct orma_track_known *known = orma_track_set_find(&sequence->tracks, uuid);
	double last;

	if (!track->is_incremental || !known)
		return value;
	memcpy(&last, &known->last, sizeof(last));
	memcpy(&known->last, &value, sizeof(value));
	return value - last;
}

/* --- registered tracks ------------------------------------------------------------------------ */

int orma_track_register(struct orma_track *track)
{
	struct path path;

	if (!track || !path_find(track, &path))
		return -EINVAL;
	track->registered[1] = path.hash;
	track->registered[0] = path.base;
	if (track->kind == ORMA_TRACK_GLOBAL)
		atomic_store_explicit(&root_track, track, memory_order_release);
	return 0;
}

/* The members that are texts, of which a copy on the heap has its own. */
#define TEXTS(track)                                                                               \
	{                                                                                          \
		&(track)->name, &(track)->merge_key, &(track)->description, &(track)->unit_name,   \
			&(track)->y_axis_share_key, &(track)->categories                           \
	}

void orma_track_free(struct orma_track *track)
{
	const struct orma_track *was_root = track;

	if (!track)
		return;
	const char **texts[] = TEXTS(track);

	atomic_compare_exchange_strong(&root_track, &was_root, NULL);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++)
		orma_base_free((char *)*texts[i]);
	orma_base_free((void *)track->fields);
	orma_base_free(track);
}

int orma_track_new(const struct orma_track *model, struct orma_track **ret)
{
	struct orma_track *track;
	bool is_whole = true;
	int r;

	if (!model || !ret || (!model->fields && model->fields_size > 0))
		return -EINVAL;
	track = orma_base_memdup(model, sizeof(*model));
	if (!track)
		return -ENOMEM;
	const char **texts[] = TEXTS(track);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts); i++) {
		bool has_text = *texts[i] != NULL;

		*texts[i] = has_text ? orma_base_strdup(*texts[i]) : NULL;
		is_whole = is_whole && has_text == (*texts[i] != NULL);
	}
	track->fields =
		model->fields_size > 0 ? orma_base_memdup(model->fields, model->fields_size) : NULL;
	is_whole = is_whole && (model->fields_size == 0 || track->fields);
	r = is_whole ? orma_track_register(track) : -ENOMEM;
	if (r < 0) {
		orma_track_free(track);
		return r;
	}
	*ret = track;
	return 0;
}
