/* SPDX-License-Identifier: Apache-2.0
 * incremental_state.c - finds the state of any packet from the notes that the first pass made.
 *
 * The interned data of a generation is read as a whole when the first name is asked for, so a packet may be looked at in any
 * order, as sorting a disordered sequence and showing one slice's arguments do. A packet therefore sees definitions that come
 * later in its generation too. Tracers define before they use, so this makes a difference for damaged traces only.
 *
 * Invariant: notes[begin .. end) are those of the generation, where only the first one may be a clear; `next` is in there. The
 * note before `next` is at `since` and that one at `until`; both are 0 before the first move and after a failure.
 */
#include "trace/incremental_state.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_event.pb.h"

void orma_sequence_state_done(struct orma_sequence_state *state)
{
	orma_interning_clear(&state->interning);
	orma_base_buf_done(&state->defaults);
	orma_trace_window_done(&state->window);
}

/* `ahead` is how much is worth reading from the note on. */
static int read_packet(struct orma_sequence_state *state, const struct orma_note *note,
		       size_t ahead, struct orma_packet *ret)
{
	const uint8_t *data;
	int r = orma_trace_window_read(&state->window, state->input, note->address, note->size,
				       ahead, &data);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	return orma_trace_packet_read(data, note->size, ret) < 0 ? -EIO : 0;
}

static int keep(struct orma_buf *buf, struct orma_str bytes)
{
	buf->size = 0;
	return orma_base_buf_append(buf, bytes.data, bytes.size);
}

static void find_generation_end(struct orma_sequence_state *state)
{
	const struct orma_sequence *sequence = state->sequence;
	state->end = state->begin + 1;
	while (state->end < sequence->note_count &&
	       !(sequence->notes[state->end].flags & ORMA_NOTE_CLEARED))
		state->end++;
}

static void begin_generation(struct orma_sequence_state *state, uint32_t begin)
{
	state->begin = begin;
	find_generation_end(state);
	orma_interning_clear(&state->interning);
	state->is_loaded = false;
	state->generation++;
	state->defaults.size = 0;
	state->default_track = 0;
}

static uint64_t find_default_track(struct orma_str defaults)
{
	struct orma_proto_field field;
	if (orma_proto_reader_find(defaults.data, defaults.size,
				   ORMA_PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS,
				   &field) <= 0 ||
	    field.type != ORMA_PROTO_BYTES)
		return 0;
	struct orma_str events = field.bytes;
	if (orma_proto_reader_find(events.data, events.size,
				   ORMA_PB_TRACK_EVENT_DEFAULTS_TRACK_UUID, &field) <= 0)
		return 0;
	return field.value;
}

static void read_thread(struct orma_str descriptor, struct orma_sequence_thread *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	*ret = (struct orma_sequence_thread){.is_known = true};
	orma_proto_reader_init(&reader, descriptor.data, descriptor.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.id == ORMA_PB_THREAD_DESCRIPTOR_PID)
			ret->pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_TID)
			ret->tid = (int64_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_REFERENCE_THREAD_TIME_US)
			ret->time_us = (int64_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_REFERENCE_THREAD_INSTRUCTION_COUNT)
			ret->instructions = (int64_t)field.value;
	}
}

/* Takes the defaults and the thread of a note. */
static int apply_note(struct orma_sequence_state *state, const struct orma_note *note)
{
	struct orma_packet packet;
	if (!(note->flags & (ORMA_NOTE_DEFAULTS | ORMA_NOTE_THREAD)))
		return 0;
	int r = read_packet(state, note, note->size, &packet);
	if (r == 0 && note->flags & ORMA_NOTE_DEFAULTS) {
		r = keep(&state->defaults, packet.defaults);
		state->default_track = find_default_track(packet.defaults);
	}
	if (r == 0 && note->flags & ORMA_NOTE_THREAD)
		read_thread(orma_trace_packet_thread(&packet), &state->thread);
	return r;
}

/* Returns the first note behind an address. */
static uint32_t find_next(const struct orma_sequence *sequence, uint64_t address)
{
	uint32_t low = 0, high = sequence->note_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (sequence->notes[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Goes back: takes again the notes that decide the state before `next`. */
static int rebuild(struct orma_sequence_state *state, uint32_t next)
{
	const struct orma_note *notes = state->sequence->notes;
	uint32_t begin = next, thread;
	while (begin > 0 && !(notes[--begin].flags & ORMA_NOTE_CLEARED))
		;
	/* A thread stays when the state is cleared. */
	for (thread = begin; thread > 0 && !(notes[thread - 1].flags & ORMA_NOTE_THREAD);)
		thread--;
	state->thread.is_known = false;
	state->defaults.size = 0;
	state->default_track = 0;
	if (begin != state->begin)
		begin_generation(state, begin);
	int r = thread > 0 ? apply_note(state, &notes[thread - 1]) : 0;
	state->defaults.size = 0;
	for (uint32_t i = begin; r == 0 && i < next; i++)
		r = apply_note(state, &notes[i]);
	state->next = next;
	return r;
}

static int move(struct orma_sequence_state *state, uint64_t address)
{
	const struct orma_sequence *sequence = state->sequence;
	bool is_back = state->next > 0 && sequence->notes[state->next - 1].address > address;
	if (is_back)
		return rebuild(state, find_next(sequence, address));
	while (state->next < sequence->note_count &&
	       sequence->notes[state->next].address <= address) {
		const struct orma_note *note = &sequence->notes[state->next];
		if (note->flags & ORMA_NOTE_CLEARED || state->next == 0)
			begin_generation(state, state->next);
		int r = apply_note(state, note);
		if (r < 0)
			return r;
		state->next++;
	}
	return 0;
}

int orma_sequence_state_go(struct orma_sequence_state *state, uint64_t address)
{
	const struct orma_sequence *sequence = state->sequence;
	state->since = state->until = 0;
	int r = move(state, address);
	if (r < 0)
		return r;
	state->since = state->next > 0 ? sequence->notes[state->next - 1].address : 0;
	state->until = state->next < sequence->note_count ? sequence->notes[state->next].address
							  : UINT64_MAX;
	return 0;
}

/* Returns how far notes go on from one that is read next, with small gaps. Where names are new, they are a packet or a few apart. */
static size_t span_of(const struct orma_sequence_state *state, uint32_t idx)
{
	enum { SPAN_MAX_BYTES = 16 << 10, GAP_MAX_BYTES = 1 << 10 };
	const struct orma_note *notes = state->sequence->notes;
	uint64_t begin = notes[idx].address, end = begin + notes[idx].size;
	for (uint32_t i = idx + 1; i < state->end && notes[i].address - end <= GAP_MAX_BYTES &&
				   notes[i].address + notes[i].size - begin <= SPAN_MAX_BYTES;
	     i++)
		end = notes[i].address + notes[i].size;
	return (size_t)(end - begin);
}

int orma_sequence_state_load(struct orma_sequence_state *state)
{
	uint64_t end = 0; /* where the bytes in the window end */
	state->interning.seed = state->sequence->seed;
	for (uint32_t i = state->begin; i < state->end && !state->is_loaded; i++) {
		const struct orma_note *note = &state->sequence->notes[i];
		struct orma_packet packet;
		if (!(note->flags & ORMA_NOTE_INTERNED))
			continue;
		size_t ahead = note->address + note->size <= end ? note->size : span_of(state, i);
		end = ORMA_MAX(end, note->address + ahead);
		int r = read_packet(state, note, ahead, &packet);
		if (r == 0)
			r = orma_interning_take(&state->interning, packet.interned);
		if (r < 0)
			return r;
	}
	/* The window may be larger than any that is needed from here on, and there is one for each sequence. */
	if (!state->is_loaded)
		orma_trace_window_done(&state->window);
	state->is_loaded = true;
	return 0;
}

int orma_sequence_state_take(struct orma_sequence_state *state, const struct orma_packet *packet,
			     bool is_valid)
{
	int r = 0;
	state->since = 0;
	state->until = UINT64_MAX;
	if (packet->flags & ORMA_PACKET_IS_CLEARED) {
		orma_interning_clear(&state->interning);
		state->generation++;
		state->defaults.size = 0;
		state->default_track = 0;
	}
	state->is_loaded = true;
	if (packet->flags & ORMA_PACKET_HAS_DEFAULTS) {
		r = keep(&state->defaults, packet->defaults);
		state->default_track = find_default_track(packet->defaults);
	}
	if (r == 0 && is_valid && packet->flags & ORMA_PACKET_HAS_INTERNED)
		r = orma_interning_take(&state->interning, packet->interned);
	struct orma_str thread = orma_trace_packet_thread(packet);
	if (r == 0 && is_valid && thread.data)
		read_thread(thread, &state->thread);
	return r;
}
