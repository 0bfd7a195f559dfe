/* SPDX-License-Identifier: Apache-2.0
 * packet_cut.c - decides what of each packet stays, and writes the rest of the packet again.
 *
 * A packet is more than its event: it declares names, defaults and clocks for later packets of its
 * sequence, it says that data was lost, and its timestamp may be the one to which the next is the
 * difference. So an event that is cut off leaves behind
 *   - a packet with the declarations and the flags alone, if it has any;
 *   - the difference of its timestamp, which is added to the next packet of the sequence that stays.
 * INVARIANT: for a reader, the state of a sequence (names, defaults, clocks, loss) before each packet
 * that stays is the same as in the whole trace.
 *
 * Track events are cut by slices: the end of a slice whose begin was cut off is cut off too. Per track
 * there are two numbers, how many begins stayed and were cut off without their ends. Slices of a track
 * nest, and all begins that were cut off are before those that stay, so an end belongs to one that
 * stayed as long as there is one.
 *
 * Packets that describe something (orma_packet_is_event() is false) stay whatever their time.
 *
 * Sequences of a second trace get ids above those of the first, because ids only differ within one trace.
 * Rejected: keeping the ids (names of two writers would mix), and ids in the order of appearance
 * (packets of the first trace would have to be rewritten too).
 */
#include "tool/trace/packet_cut.h"

#include <errno.h>

#include "base/alloc.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_event.pb.h"

struct cut_sequence {
	uint64_t pending_ticks; /* differences of timestamps that were cut off */
	uint64_t default_track;
	unsigned gap_count; /* gaps that its packets have reported */
	bool has_track_events;
};

struct cut_track {
	uint64_t kept_begins, cut_begins; /* slices that are open */
};

/* Says how one packet is written. */
struct plan {
	const struct orma_packet_view *packet;
	struct cut_sequence *sequence;
	bool is_stripped; /* only declarations and flags stay */
	bool adds_ticks;  /* its timestamp takes the pending ones */
	bool reports_gap;
};

static void free_values(struct orma_map *map)
{
	struct orma_map_slot *slot;

	for (size_t at = 0; (slot = orma_base_map_next(map, &at));)
		orma_base_free(slot->value);
	orma_base_map_done(map);
}

void orma_packet_cut_done(struct orma_packet_cut *cut)
{
	orma_packet_clocks_done(&cut->clocks);
	free_values(&cut->sequences);
	free_values(&cut->tracks);
	orma_base_buf_done(&cut->result);
}

void orma_packet_cut_begin_trace(struct orma_packet_cut *cut)
{
	orma_packet_clocks_done(&cut->clocks);
	cut->clocks = (struct orma_packet_clocks){0};
	free_values(&cut->sequences);
	free_values(&cut->tracks);
	cut->gap_count = 0;
	cut->trace_count++;
	cut->sequence_shift = cut->last_sequence;
}

void orma_packet_cut_note_gap(struct orma_packet_cut *cut)
{
	cut->gap_count++;
}

/* Returns the zeroed value of a new key. NULL when out of memory. */
static void *get_or_add(struct orma_map *map, uint64_t key, size_t size)
{
	void *value = orma_base_map_get(map, key);

	if (value)
		return value;
	value = orma_base_zalloc(size);
	if (value && orma_base_map_put(map, key, value) < 0) {
		orma_base_free(value);
		return NULL;
	}
	return value;
}

/* --- which packets ---------------------------------------------------------------------------- */

/* Does a program write this about itself, and not about the machine? */
static bool is_of_its_writer(const struct orma_packet_view *packet,
			     const struct cut_sequence *sequence)
{
	switch (packet->kind) {
	case ORMA_PB_TRACE_PACKET_TRACK_EVENT:
	case ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR:
	case ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR:
	case ORMA_PB_TRACE_PACKET_PROCESS_DESCRIPTOR:
		return true;
	case ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT:
	case 0:
		return sequence->has_track_events;
	default:
		return false;
	}
}

/* False when nothing of the packet stays, not even its declarations. */
static bool is_of_interest(const struct orma_packet_select *select,
			   const struct orma_packet_view *packet,
			   const struct cut_sequence *sequence)
{
	if (packet->has_pid && is_of_its_writer(packet, sequence) &&
	    !orma_packet_select_wants_process(select, packet))
		return false;
	return orma_packet_select_wants_sequence(select, packet->sequence) ||
	       (!orma_packet_is_event(packet->kind) && packet->kind != 0 &&
		!is_of_its_writer(packet, sequence));
}

/* --- slices ----------------------------------------------------------------------------------- */

static uint64_t find_number(struct orma_str message, uint32_t id, uint64_t otherwise)
{
	struct orma_proto_field field;

	return orma_proto_reader_find(message.data, message.size, id, &field) > 0 &&
			       field.type != ORMA_PROTO_BYTES
		       ? field.value
		       : otherwise;
}

static void learn_default_track(struct cut_sequence *sequence, struct orma_str defaults)
{
	struct orma_proto_field field;

	if (orma_proto_reader_find(defaults.data, defaults.size,
				   ORMA_PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS,
				   &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES)
		sequence->default_track =
			find_number(field.bytes, ORMA_PB_TRACK_EVENT_DEFAULTS_TRACK_UUID, 0);
}

/*
 * Follows the slices of the event's track. `is_cut` says that the event is outside of the period.
 * Returns 1 when the event is cut off, 0 when it stays, or -ENOMEM.
 */
static int follow_slices(struct orma_packet_cut *cut, const struct orma_packet_view *packet,
			 const struct cut_sequence *sequence, bool is_cut)
{
	uint64_t type = find_number(packet->content, ORMA_PB_TRACK_EVENT_TYPE, 0);
	uint64_t uuid = find_number(packet->content, ORMA_PB_TRACK_EVENT_TRACK_UUID,
				    sequence->default_track);
	uint64_t key = uuid ? uuid : orma_packet_sequence_key(packet);

	if (type != ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN &&
	    type != ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END)
		return is_cut;
	struct cut_track *track = get_or_add(&cut->tracks, key, sizeof(*track));
	if (!track)
		return -ENOMEM;
	if (type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN) {
		if (is_cut)
			track->cut_begins++;
		else
			track->kept_begins++;
		return is_cut;
	}
	if (track->kept_begins > 0) {
		track->kept_begins--;
		return is_cut;
	}
	if (track->cut_begins > 0) {
		track->cut_begins--;
		return 1;
	}
	return is_cut;
}

/* Returns 1 when the packet's content is cut off, 0 when it stays, or -ENOMEM. */
static int is_cut_off(struct orma_packet_cut *cut, const struct orma_packet_view *packet,
		      const struct cut_sequence *sequence, const struct orma_packet_times *times,
		      bool has_time)
{
	const struct orma_packet_select *select = cut->select;

	if (!orma_packet_is_event(packet->kind))
		return 0;
	if (!orma_packet_select_wants_kind(select, packet->kind))
		return 1;
	if (!orma_packet_select_has_time(select))
		return 0;
	bool is_outside = has_time && !orma_packet_select_overlaps(select, times);
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT)
		return follow_slices(cut, packet, sequence, is_outside);
	return is_outside;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int put_varint(struct orma_buf *buf, uint64_t value)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];

	return orma_base_buf_append(buf, bytes,
				    (size_t)(orma_proto_put_varint(bytes, value) - bytes));
}

static int put_number(struct orma_buf *buf, uint32_t id, uint64_t value)
{
	int r = put_varint(buf, orma_proto_tag(id, ORMA_PROTO_VARINT));

	return r < 0 ? r : put_varint(buf, value);
}

/* Writes one field as the plan says. */
static int write_field(struct orma_packet_cut *cut, const struct plan *plan,
		       const struct orma_proto_field *field, const uint8_t *end)
{
	struct orma_buf *buf = &cut->result;
	uint64_t value = field->value;

	switch (field->id) {
	case ORMA_PB_TRACE_PACKET_TIMESTAMP:
		if (plan->is_stripped)
			return 0;
		if (plan->adds_ticks)
			return put_number(buf, field->id, value + plan->sequence->pending_ticks);
		break;
	case ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
		return put_number(buf, field->id, (uint32_t)value + cut->sequence_shift);
	case ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		if (plan->reports_gap)
			return 0; /* another follows */
		break;
	default:
		if (plan->is_stripped && field->id == plan->packet->kind)
			return 0;
		break;
	}
	return orma_base_buf_append(buf, field->begin, (size_t)(end - field->begin));
}

static int write_packet(struct orma_packet_cut *cut, const struct plan *plan)
{
	const struct orma_packet_view *packet = plan->packet;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;

	cut->result.size = 0;
	orma_proto_reader_init(&reader, packet->bytes.data, packet->bytes.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		r = write_field(cut, plan, &field, reader.at);
	if (r == 0 && plan->reports_gap)
		r = put_number(&cut->result, ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED,
			       packet->dropped |
				       ORMA_PB_TRACE_PACKET_DATA_LOSS_REASON_DATA_LOSS_PRESENT);
	return r;
}

/* Does a packet without its content say anything? */
static bool has_declarations(const struct orma_packet_view *packet)
{
	return packet->interned.data || packet->defaults.data || packet->dropped ||
	       packet->is_first_on_sequence ||
	       (packet->flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED);
}

/* Returns 1 and the packet as the plan has it, or 0 when nothing of it is left. */
static int carry_out(struct orma_packet_cut *cut, struct plan *plan, bool is_difference,
		     struct orma_str *ret)
{
	const struct orma_packet_view *packet = plan->packet;
	struct cut_sequence *sequence = plan->sequence;

	if (plan->is_stripped && is_difference)
		sequence->pending_ticks += packet->timestamp;
	if (plan->is_stripped && !has_declarations(packet) && !plan->reports_gap)
		return 0;
	plan->adds_ticks = !plan->is_stripped && is_difference && sequence->pending_ticks > 0;
	*ret = packet->bytes;
	if (plan->is_stripped || plan->adds_ticks || plan->reports_gap || cut->sequence_shift > 0) {
		int r = write_packet(cut, plan);
		if (r < 0)
			return r;
		*ret = (struct orma_str){(const char *)cut->result.data, cut->result.size};
	}
	if (plan->adds_ticks)
		sequence->pending_ticks = 0;
	sequence->gap_count = cut->gap_count;
	return 1;
}

static void learn(struct cut_sequence *sequence, const struct orma_packet_view *packet)
{
	if (packet->flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED) {
		sequence->pending_ticks = 0;
		sequence->default_track = 0;
	}
	if (packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT)
		sequence->pending_ticks = 0; /* the clock starts anew */
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT ||
	    packet->kind == ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		sequence->has_track_events = true;
	if (packet->defaults.data)
		learn_default_track(sequence, packet->defaults);
}

int orma_packet_cut_take(struct orma_packet_cut *cut, const void *data, size_t size,
			 struct orma_str *ret)
{
	struct orma_packet_view packet;
	struct orma_packet_times times;
	struct plan plan = {.packet = &packet};
	uint32_t sequence_id;
	int r = orma_packet_view_read(data, size, &packet);

	if (r < 0)
		return r;
	if (__builtin_add_overflow(packet.sequence, cut->sequence_shift, &sequence_id))
		return -EOVERFLOW;
	r = orma_packet_clocks_take(&cut->clocks, &packet, &times);
	if (r < 0)
		return r;
	bool has_time = r > 0;
	plan.sequence = get_or_add(&cut->sequences, orma_packet_sequence_key(&packet),
				   sizeof(*plan.sequence));
	if (!plan.sequence)
		return -ENOMEM;
	learn(plan.sequence, &packet);
	/* The whole has one id. */
	if (cut->trace_count > 1 && packet.kind == ORMA_PB_TRACE_PACKET_TRACE_UUID)
		return 0;
	if (!is_of_interest(cut->select, &packet, plan.sequence))
		return 0;
	r = is_cut_off(cut, &packet, plan.sequence, &times, has_time);
	if (r < 0)
		return r;
	plan.is_stripped = r > 0;
	plan.reports_gap =
		plan.sequence->gap_count != cut->gap_count && !packet.is_first_on_sequence;
	r = carry_out(cut, &plan, times.is_difference, ret);
	if (r > 0 && sequence_id > cut->last_sequence)
		cut->last_sequence = sequence_id;
	return r;
}
