/* SPDX-License-Identifier: Apache-2.0
 * trace_sequence.c - what must hold for each packet sequence: owner, time, incremental state,
 * slices, loss.
 *
 * Owns the state of each sequence and track. Invariant: a check depends only on the packet and on
 * earlier ones, so that the order of the file is tested too. Rejected: sorting by time first, as
 * viewers do (it would hide packets that were read back out of order), tables that grow (traces of
 * the tests are small; one that exceeds a table is a failure).
 */
#include "trace_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_SEQUENCES = 512,
	MAX_TRACKS = 1024,
	MAX_IIDS = 4096,
	SERVICE_SEQUENCE = 1,
	FIRST_PRODUCER_SEQUENCE = 2,
	CLOCK_BOOT = 6,
	FIRST_SEQUENCE_CLOCK = 64,
	LAST_SEQUENCE_CLOCK = 127,
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	TRACK_EVENT_CATEGORY_IID = 3,
	TRACK_EVENT_TYPE = 9,
	TRACK_EVENT_NAME_IID = 10,
	TRACK_EVENT_TRACK = 11,
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
};

struct sequence_rules sequence_rules = {.max_open_slices = -1};

struct iid_set {
	uint8_t bits[MAX_IIDS / 8];
};

struct sequence {
	uint64_t id, packets, clock, last_time, last_clock;
	int64_t uid, pid;
	bool has_state, has_time, clock_is_incremental;
	/* The sequence's own clock, if it has one. */
	uint64_t own_clock, own_value, own_unit_ns, own_base, own_base_ns;
	uint64_t default_track;
	struct iid_set names, categories;
};

struct track {
	uint64_t uuid, sequence_id;
	int64_t depth, extra_ends;
};

static struct sequence sequences[MAX_SEQUENCES];
static int sequence_count;
static struct track tracks[MAX_TRACKS];
static int track_count;
/* The statistics that were read last; .at is NULL before the first. */
static struct wire_span last_stats;

static struct sequence *get_sequence(const struct packet *packet)
{
	struct sequence *sequence;
	int i;

	for (i = 0; i < sequence_count; i++) {
		if (sequences[i].id == packet->sequence_id)
			return &sequences[i];
	}
	if (sequence_count == MAX_SEQUENCES) {
		fprintf(stderr, "trace_check: %s: more than %d sequences\n", trace_check.file,
			MAX_SEQUENCES);
		exit(1);
	}
	sequence = &sequences[sequence_count++];
	sequence->id = packet->sequence_id;
	sequence->uid = packet->uid;
	sequence->pid = packet->pid;
	sequence->clock = CLOCK_BOOT;
	return sequence;
}

static void check_trusted(const struct packet *packet, const struct sequence *sequence)
{
	bool is_service = packet->sequence_id == SERVICE_SEQUENCE;

	if (packet->uid_count != 1 || packet->sequence_count != 1)
		fail("packet %" PRIu64 ": %d trusted uids and %d sequence ids", trace_check.packets,
		     packet->uid_count, packet->sequence_count);
	if (packet->sequence_id < SERVICE_SEQUENCE || packet->sequence_id > UINT32_MAX)
		fail("packet %" PRIu64 ": sequence id %" PRIu64, trace_check.packets,
		     packet->sequence_id);
	if (!is_service && (packet->pid_count != 1 || packet->pid <= 0))
		fail("packet %" PRIu64 " of sequence %" PRIu64 ": %d trusted pids, value %" PRId64,
		     trace_check.packets, packet->sequence_id, packet->pid_count, packet->pid);
	if (packet->uid != sequence_rules.uid && (is_service || !sequence_rules.owners))
		fail("packet %" PRIu64 " of sequence %" PRIu64 ": trusted uid %" PRId64
		     ", expected %" PRId64,
		     trace_check.packets, packet->sequence_id, packet->uid, sequence_rules.uid);
	if (packet->pid != sequence->pid || packet->uid != sequence->uid)
		fail("packet %" PRIu64 ": sequence %" PRIu64 " changes its owner",
		     trace_check.packets, packet->sequence_id);
}

static bool is_sequence_clock(uint64_t clock)
{
	return clock >= FIRST_SEQUENCE_CLOCK && clock <= LAST_SEQUENCE_CLOCK;
}

/* A snapshot on a producer's sequence relates the sequence's own clock to a clock of the machine. */
static void learn_clock(struct sequence *sequence, struct wire_span snapshot)
{
	struct wire_field field;
	uint64_t clock, time, machine_ns = 0;
	bool defines_own = false;

	while (wire_next(&snapshot, &field) > 0) {
		if (field.id != 1 || field.type != WIRE_BYTES)
			continue;
		clock = wire_get(field.bytes, 1, 0);
		time = wire_get(field.bytes, 2, 0);
		if (!is_sequence_clock(clock)) {
			machine_ns = clock == CLOCK_BOOT || machine_ns == 0 ? time : machine_ns;
			continue;
		}
		sequence->own_clock = clock;
		sequence->own_value = sequence->own_base = time;
		sequence->clock_is_incremental = wire_get(field.bytes, 3, 0) != 0;
		sequence->own_unit_ns = wire_get(field.bytes, 4, 1);
		defines_own = true;
	}
	if (defines_own)
		sequence->own_base_ns = machine_ns;
}

static uint64_t resolve_time(struct sequence *sequence, const struct packet *packet, uint64_t clock)
{
	if (!is_sequence_clock(clock))
		return packet->timestamp;
	if (clock != sequence->own_clock) {
		fail("packet %" PRIu64 " of sequence %" PRIu64 ": clock %" PRIu64
		     " was never declared",
		     trace_check.packets, sequence->id, clock);
		return packet->timestamp;
	}
	if (sequence->clock_is_incremental)
		sequence->own_value += packet->timestamp;
	else
		sequence->own_value = packet->timestamp;
	return sequence->own_base_ns +
	       (sequence->own_value - sequence->own_base) * sequence->own_unit_ns;
}

/* Whether the program gave the event a time, on a clock that the packet names. */
static bool brings_its_time(const struct packet *packet)
{
	struct wire_span event;

	return packet->has_clock && !(packet->flags & SEQUENCE_STATE_CLEARED) &&
	       wire_get_bytes(packet->body, PACKET_TRACK_EVENT, &event);
}

static void check_time(struct sequence *sequence, const struct packet *packet)
{
	uint64_t clock = packet->has_clock ? packet->clock : sequence->clock, time;

	if (packet->clock_snapshot.at)
		learn_clock(sequence, packet->clock_snapshot);
	if (!packet->has_timestamp || packet->clock_snapshot.at || brings_its_time(packet))
		return;
	time = resolve_time(sequence, packet, clock);
	if (is_sequence_clock(clock))
		clock = CLOCK_BOOT;
	if (sequence->has_time && sequence->last_clock == clock && time < sequence->last_time)
		fail("packet %" PRIu64 " of sequence %" PRIu64 ": time goes back by %" PRIu64 " ns",
		     trace_check.packets, sequence->id, sequence->last_time - time);
	sequence->last_time = time;
	sequence->last_clock = clock;
	sequence->has_time = true;
}

static void declare_iids(struct wire_span interned, uint32_t id, struct iid_set *set)
{
	struct wire_field field;

	while (wire_next(&interned, &field) > 0) {
		uint64_t iid;

		if (field.id != id || field.type != WIRE_BYTES)
			continue;
		iid = wire_get(field.bytes, 1, 0);
		if (iid == 0 || iid >= MAX_IIDS)
			fail("packet %" PRIu64 ": interning id %" PRIu64, trace_check.packets, iid);
		else
			set->bits[iid / 8] |= (uint8_t)(1u << (iid % 8));
	}
}

static void check_iid(const struct sequence *sequence, const struct iid_set *set, uint64_t iid,
		      const char *what)
{
	if (iid >= MAX_IIDS || !(set->bits[iid / 8] & (1u << (iid % 8))))
		fail("packet %" PRIu64 " of sequence %" PRIu64 ": %s %" PRIu64 " was not declared",
		     trace_check.packets, sequence->id, what, iid);
}

static void check_interning(struct sequence *sequence, const struct packet *packet)
{
	struct wire_span event;
	struct wire_field field;

	if (packet->interned.at) {
		declare_iids(packet->interned, INTERNED_NAMES, &sequence->names);
		declare_iids(packet->interned, INTERNED_CATEGORIES, &sequence->categories);
	}
	if (!wire_get_bytes(packet->body, PACKET_TRACK_EVENT, &event))
		return;
	while (wire_next(&event, &field) > 0) {
		if (field.id == TRACK_EVENT_NAME_IID)
			check_iid(sequence, &sequence->names, field.value, "name");
		else if (field.id == TRACK_EVENT_CATEGORY_IID && field.type == WIRE_VARINT)
			check_iid(sequence, &sequence->categories, field.value, "category");
	}
}

static void check_flags(struct sequence *sequence, const struct packet *packet)
{
	bool is_first = sequence->packets == 1;

	if (packet->first_on_sequence && !is_first)
		fail("packet %" PRIu64 ": marked as the first of sequence %" PRIu64 ", %" PRIu64
		     " came before",
		     trace_check.packets, sequence->id, sequence->packets - 1);
	if (packet->flags & SEQUENCE_STATE_CLEARED) {
		sequence->has_state = true;
		memset(&sequence->names, 0, sizeof(sequence->names));
		memset(&sequence->categories, 0, sizeof(sequence->categories));
	}
	if ((packet->flags & SEQUENCE_NEEDS_STATE) && !sequence->has_state)
		fail("packet %" PRIu64 " of sequence %" PRIu64
		     " needs incremental state that was never begun",
		     trace_check.packets, sequence->id);
}

static void learn_defaults(struct sequence *sequence, const struct packet *packet)
{
	struct wire_span event_defaults;

	if (!packet->defaults.at)
		return;
	sequence->clock = wire_get(packet->defaults, PACKET_TIMESTAMP_CLOCK, CLOCK_BOOT);
	if (wire_get_bytes(packet->defaults, PACKET_TRACK_EVENT, &event_defaults))
		sequence->default_track = wire_get(event_defaults, TRACK_EVENT_TRACK, 0);
}

static struct track *get_track(uint64_t uuid, uint64_t sequence_id)
{
	struct track *track;
	int i;

	for (i = 0; i < track_count; i++) {
		if (tracks[i].uuid == uuid && tracks[i].sequence_id == sequence_id)
			return &tracks[i];
	}
	if (track_count == MAX_TRACKS) {
		fprintf(stderr, "trace_check: %s: more than %d tracks\n", trace_check.file,
			MAX_TRACKS);
		exit(1);
	}
	track = &tracks[track_count++];
	track->uuid = uuid;
	track->sequence_id = sequence_id;
	return track;
}

static void follow_slices(const struct sequence *sequence, const struct packet *packet)
{
	struct wire_span event;
	struct track *track;
	uint64_t type;

	if (!wire_get_bytes(packet->body, PACKET_TRACK_EVENT, &event))
		return;
	type = wire_get(event, TRACK_EVENT_TYPE, 0);
	track = get_track(wire_get(event, TRACK_EVENT_TRACK, sequence->default_track),
			  sequence->id);
	if (type == TYPE_SLICE_BEGIN)
		track->depth++;
	else if (type == TYPE_SLICE_END && track->depth > 0)
		track->depth--;
	else if (type == TYPE_SLICE_END)
		track->extra_ends++;
}

static void judge_slices(void)
{
	int i;

	for (i = 0; i < track_count; i++) {
		const struct track *track = &tracks[i];

		if (track->depth + track->extra_ends > sequence_rules.max_open_slices)
			fail("track %" PRIu64 " of sequence %" PRIu64 ": %" PRId64
			     " slices never end, %" PRId64 " ends have no begin",
			     track->uuid, track->sequence_id, track->depth, track->extra_ends);
	}
}

/* The older of Perfetto's two trace buffers marks the first packet that it reads from a sequence.
 */
static void check_dropped(const struct sequence *sequence, const struct packet *packet)
{
	bool may_mark =
		!sequence_rules.no_loss_marks && sequence->packets == 1 && packet->dropped == 1;

	if (packet->has_dropped && packet->dropped != 0 && !may_mark)
		fail("packet %" PRIu64 ", number %" PRIu64 " of sequence %" PRIu64
		     ": previous_packet_dropped is %" PRIu64,
		     trace_check.packets, sequence->packets, sequence->id, packet->dropped);
}

struct counter {
	uint32_t id;
	const char *name;
};

static void check_zero(struct wire_span message, const struct counter *counters, size_t count,
		       const char *of)
{
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t value = wire_get(message, counters[i].id, 0);

		if (value != 0)
			fail("trace_stats%s: %s is %" PRIu64, of, counters[i].name, value);
	}
}

static void judge_stats(void)
{
	/* readaheads_failed counts packets whose end had not arrived when the buffer was read, which
	 * is not a loss. */
	static const struct counter buffer_counters[] = {
		{3, "chunks_overwritten"}, {13, "bytes_overwritten"},
		{18, "chunks_discarded"},  {6, "patches_failed"},
		{9, "abi_violations"},     {19, "trace_writer_packet_loss"},
	};
	static const struct counter counters[] = {
		{8, "chunks_discarded"},
		{9, "patches_discarded"},
		{10, "invalid_packets"},
		{14, "flushes_failed"},
	};
	struct wire_span stats = last_stats;
	struct wire_field field;
	uint64_t buffers = 0;

	if (!stats.at) {
		fail("no trace_stats packet");
		return;
	}
	check_zero(stats, counters, sizeof(counters) / sizeof(counters[0]), "");
	if (wire_get(stats, 15, 1) == 2)
		fail("trace_stats: final_flush_outcome is FAILED");
	/* Perfetto's daemon may write its last statistics into a file before it has counted the last flush; ours may not. */
	if (wire_get(stats, 12, 0) - wire_get(stats, 13, 0) >
	    (sequence_rules.no_loss_marks ? 0 : 1))
		fail("trace_stats: %" PRIu64 " flushes requested, %" PRIu64 " succeeded",
		     wire_get(stats, 12, 0), wire_get(stats, 13, 0));
	while (wire_next(&stats, &field) > 0) {
		if (field.id != 1 || field.type != WIRE_BYTES)
			continue;
		buffers++;
		check_zero(field.bytes, buffer_counters,
			   sizeof(buffer_counters) / sizeof(buffer_counters[0]), " of a buffer");
	}
	if (buffers == 0)
		fail("trace_stats: no buffer's statistics");
}

/* Takes PID[=UID] off the list. Returns false at its end. */
static bool next_owner(const char **list, int64_t *ret_pid, int64_t *ret_uid)
{
	char *end;

	if (!**list)
		return false;
	*ret_pid = strtoll(*list, &end, 10);
	*ret_uid = *end == '=' ? strtoll(end + 1, &end, 10) : sequence_rules.uid;
	*list = *end == ',' ? end + 1 : end + strlen(end);
	return true;
}

static bool is_owned_as_listed(const struct sequence *sequence)
{
	const char *list = sequence_rules.owners;
	int64_t pid, uid;

	while (next_owner(&list, &pid, &uid)) {
		if (pid == sequence->pid)
			return uid == sequence->uid;
	}
	return false;
}

static bool owns_sequence(int64_t pid)
{
	int i;

	for (i = 0; i < sequence_count; i++) {
		if (sequences[i].id >= FIRST_PRODUCER_SEQUENCE && sequences[i].pid == pid)
			return true;
	}
	return false;
}

static void judge_owners(void)
{
	const char *list = sequence_rules.owners;
	int64_t pid, uid;
	int i;

	for (i = 0; i < sequence_count; i++) {
		const struct sequence *sequence = &sequences[i];

		if (sequence->id >= FIRST_PRODUCER_SEQUENCE && !is_owned_as_listed(sequence))
			fail("sequence %" PRIu64 " belongs to process %" PRId64 " of user %" PRId64
			     ", expected one of %s",
			     sequence->id, sequence->pid, sequence->uid, sequence_rules.owners);
	}
	while (next_owner(&list, &pid, &uid)) {
		if (!owns_sequence(pid))
			fail("process %" PRId64 " has no sequence", pid);
	}
}

void sequences_check(const struct packet *packet)
{
	struct sequence *sequence = get_sequence(packet);

	sequence->packets++;
	if (sequence_rules.trusted)
		check_trusted(packet, sequence);
	learn_defaults(sequence, packet);
	if (sequence_rules.sequences && packet->sequence_id >= FIRST_PRODUCER_SEQUENCE) {
		check_flags(sequence, packet);
		check_time(sequence, packet);
		check_interning(sequence, packet);
	}
	if (sequence_rules.max_open_slices >= 0)
		follow_slices(sequence, packet);
	if (sequence_rules.no_loss) {
		check_dropped(sequence, packet);
		wire_get_bytes(packet->body, PACKET_TRACE_STATS, &last_stats);
	}
}

void sequences_judge(void)
{
	if (sequence_rules.no_loss)
		judge_stats();
	if (sequence_rules.max_open_slices >= 0)
		judge_slices();
	if (sequence_rules.owners)
		judge_owners();
}
