/* SPDX-License-Identifier: Apache-2.0
 * top_decoder.c - reads packets in the order in which they arrive, each once.
 *
 * It uses the engine's readers of packets, interned data and events (src/trace), but fills rows instead of tables. A time is only
 * compared with times of the same track, and those are on one clock. So no clock is converted, and no clock snapshot is kept.
 *
 * Everything that a producer can make grow has a limit: sequences, interned data, tracks, producers and CPUs. A sequence whose
 * interned data exceeds the limit is treated as one that lost data. Its events are counted as not decoded until it clears its
 * incremental state, which the session requests every few seconds.
 */
#include "tool/top/top_decoder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/bundle_read.h"
#include "trace/track_event_read.h"

enum { VALUE_SCALE = 1000 };

struct cpu {
	int64_t since_ns; /* when the running task began to run */
	int32_t pid;
	bool is_known;
};

/* The state for scheduling events. */
struct orma_top_kernel {
	struct orma_clocks clocks; /* empty: only differences of times are asked for */
	struct orma_bundle_events bundle;
	struct cpu cpus[ORMA_TOP_CPUS_MAX];
};

/* One event on its way to a row. */
struct event {
	struct orma_top_decoder *decoder;
	struct orma_top_sequence *sequence;
	const struct orma_packet *packet;
	struct orma_track_event read;
	struct orma_legacy_event legacy;
	struct orma_top_track *track;
	int64_t ns;
};

/* --- rows ------------------------------------------------------------------------------------- */

static struct orma_str interned_text(const struct event *event, uint32_t field, uint64_t iid)
{
	const struct orma_interned *entry =
		orma_interning_find(&event->sequence->state.interning, field, iid);
	return entry ? entry->text : (struct orma_str){NULL, 0};
}

static struct orma_str name_of(const struct event *event)
{
	uint64_t iid = event->read.name_iid ? event->read.name_iid : event->legacy.name_iid;
	struct orma_str name = event->read.name;
	if (iid)
		name = interned_text(event, ORMA_PB_INTERNED_DATA_EVENT_NAMES, iid);
	else if (!(event->read.flags & ORMA_EVENT_HAS_NAME))
		name.size = 0;
	return name.size > 0 ? name : ORMA_STR("(no name)");
}

/* Returns the first of several categories. */
static struct orma_str category_of(const struct event *event)
{
	struct orma_str text = {NULL, 0};
	struct orma_proto_field field;
	if (event->read.category_iid)
		text = interned_text(event, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES,
				     event->read.category_iid);
	else if (event->read.categories > 0 &&
		 orma_proto_reader_find(event->read.bytes.data, event->read.bytes.size,
					ORMA_PB_TRACK_EVENT_CATEGORIES, &field) > 0)
		text = field.bytes;
	return text.size > 0 ? text : ORMA_STR("(no category)");
}

const char *orma_top_producer_label(const struct orma_top_decoder *decoder, int32_t pid,
				    char buffer[ORMA_TOP_LABEL_BYTES])
{
	const char *name = orma_top_tracks_process(&decoder->tracks, pid);
	/* Probes in this process write no process descriptor. */
	if (!name)
		name = pid == getpid() ? "orma top" : "process";
	snprintf(buffer, ORMA_TOP_LABEL_BYTES, "%s %" PRId32, name, pid);
	return buffer;
}

static struct orma_top_row *row_of(const struct event *event)
{
	struct orma_top_decoder *decoder = event->decoder;
	char label[ORMA_TOP_LABEL_BYTES];
	switch (decoder->by) {
	case ORMA_TOP_BY_NAME:
		return orma_top_rows_get(&decoder->rows, name_of(event));
	case ORMA_TOP_BY_CATEGORY:
		return orma_top_rows_get(&decoder->rows, category_of(event));
	case ORMA_TOP_BY_THREAD:
		return orma_top_rows_get(
			&decoder->rows,
			orma_base_str(orma_top_track_owner(&decoder->tracks, event->track, label)));
	case ORMA_TOP_BY_PRODUCER:
		return orma_top_rows_get(
			&decoder->rows,
			orma_base_str(orma_top_producer_label(decoder, event->packet->pid, label)));
	default:
		return NULL;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static void begin_slice(const struct event *event)
{
	struct orma_top_row *row = row_of(event);
	if (row)
		orma_top_track_begin(event->track, event->ns, row, event->sequence->id);
}

static void end_slice(const struct event *event, int64_t ns)
{
	uint64_t duration = 0;
	struct orma_top_row *row = orma_top_track_end(event->track, ns, &duration);
	if (!row)
		return;
	row->running.events++;
	orma_top_row_add_value(&event->decoder->rows, row, duration);
}

static void add_instant(const struct event *event)
{
	struct orma_top_row *row = row_of(event);
	if (row)
		row->running.events++;
}

static void add_counter(const struct event *event)
{
	struct orma_top_decoder *decoder = event->decoder;
	struct orma_top_track *track = event->track;
	char owner[ORMA_TOP_LABEL_BYTES], label[2 * ORMA_TOP_LABEL_BYTES];
	double value = event->read.value * track->multiplier;
	if (decoder->by != ORMA_TOP_BY_COUNTER || !(event->read.flags & ORMA_EVENT_HAS_VALUE))
		return;
	track->value = track->is_incremental ? track->value + value : value;
	orma_top_producer_label(decoder, event->packet->pid, owner);
	snprintf(label, sizeof(label), "%s (%s)", track->name ? track->name : "counter", owner);
	struct orma_top_row *row = orma_top_rows_get(&decoder->rows, orma_base_str(label));
	row->running.events++;
	row->running.last_value = track->value;
	/* Negative values count as 0. */
	double scaled = track->value * VALUE_SCALE;
	orma_top_row_add_value(&decoder->rows, row,
			       scaled >= 0x1p63 ? UINT64_C(1) << 63
			       : scaled > 0     ? (uint64_t)scaled
						: 0);
}

/* An event of the older kind, from macros that say its phase. Asynchronous ones have no track of their own. */
static void add_legacy(const struct event *event)
{
	int64_t end_ns;
	switch (event->legacy.phase) {
	case 'B':
		begin_slice(event);
		break;
	case 'E':
		end_slice(event, event->ns);
		break;
	case 'X':
		if (__builtin_add_overflow(event->ns, event->legacy.duration_ns, &end_ns))
			end_ns = event->ns;
		begin_slice(event);
		end_slice(event, end_ns);
		break;
	case 'I':
	case 'i':
	case 'R':
		add_instant(event);
		break;
	default:
		break;
	}
}

static void add_event(const struct event *event)
{
	if (event->legacy.has_phase) {
		add_legacy(event);
		return;
	}
	switch (event->read.type) {
	case ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN:
		begin_slice(event);
		break;
	case ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END:
		end_slice(event, event->ns);
		break;
	case ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT:
		add_instant(event);
		break;
	case ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER:
		add_counter(event);
		break;
	default:
		break;
	}
}

/* An event without a track is on the default track of its sequence. A sequence without a default gets a track of its own, which has
 * the sequence's id. No program uses such a number for a track, because those are hashes. */
static uint64_t track_of(const struct event *event)
{
	if (event->read.flags & ORMA_EVENT_HAS_TRACK && event->read.track_uuid)
		return event->read.track_uuid;
	return event->sequence->state.default_track ? event->sequence->state.default_track
						    : event->sequence->id;
}

static int take_event(struct orma_top_decoder *decoder, struct orma_top_sequence *sequence,
		      const struct orma_packet *packet)
{
	struct event event = {.decoder = decoder, .sequence = sequence, .packet = packet};
	/* First, because the timestamp of a malformed event advances an incremental clock, too. */
	event.ns = orma_top_sequence_time(sequence, packet);
	int r = orma_track_event_read(packet->content, &event.read);
	if (r < 0)
		return r;
	if (event.read.legacy.data)
		orma_legacy_event_read(event.read.legacy, &event.legacy);
	event.track = orma_top_tracks_get(&decoder->tracks, track_of(&event));
	if (!event.track)
		return -ENOMEM;
	add_event(&event);
	return 0;
}

/* --- scheduling ------------------------------------------------------------------------------- */

static void take_switch(struct orma_top_decoder *decoder, uint32_t number,
			const struct orma_compact_switch *next)
{
	struct cpu *cpu = &decoder->kernel->cpus[number];
	char label[32];
	snprintf(label, sizeof(label), "CPU %" PRIu32, number);
	struct orma_top_row *row = orma_top_rows_get(&decoder->rows, orma_base_str(label));
	row->running.events++;
	/* Task 0 is idle. */
	if (cpu->is_known && cpu->pid != 0 && next->ns > cpu->since_ns) {
		uint64_t ran_ns = (uint64_t)next->ns - (uint64_t)cpu->since_ns;
		row->running.self_ns += (double)ran_ns;
		orma_top_row_add_value(&decoder->rows, row, ran_ns);
	}
	*cpu = (struct cpu){next->ns, next->next_pid, true};
}

static int take_bundle(struct orma_top_decoder *decoder, const struct orma_packet *packet)
{
	const struct orma_sequence host = {0};
	struct orma_bundle_head head;
	if (decoder->by != ORMA_TOP_BY_CPU)
		return 0;
	int r = orma_bundle_head_read(packet->content, &head);
	if (r == 0 && head.cpu >= ORMA_TOP_CPUS_MAX)
		r = -EBADMSG;
	struct orma_top_kernel *kernel = decoder->kernel;
	if (r == 0)
		r = orma_bundle_events_read(&kernel->bundle, &kernel->clocks, &host, packet, 0);
	for (uint32_t i = 0; r == 0 && i < kernel->bundle.switch_count; i++)
		take_switch(decoder, head.cpu, &kernel->bundle.switches[i]);
	decoder->running.events += r == 0 ? kernel->bundle.switch_count : 0;
	return r;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* The lost packets may have had begins and ends of slices. */
static void lose(struct orma_top_decoder *decoder, const struct orma_top_sequence *sequence,
		 const struct orma_packet *packet)
{
	struct event event = {.decoder = decoder, .packet = packet};
	event.track = orma_base_map_get(
		&decoder->tracks.by_uuid,
		sequence->state.default_track ? sequence->state.default_track : sequence->id);
	if (!event.track)
		return;
	orma_top_track_lose(event.track, sequence->id);
	struct orma_top_row *row =
		decoder->by == ORMA_TOP_BY_THREAD || decoder->by == ORMA_TOP_BY_PRODUCER
			? row_of(&event)
			: NULL;
	if (row)
		row->running.lost++;
}

static void count_loss(struct orma_top_decoder *decoder, struct orma_top_producer *producer,
		       enum orma_tool_gap gap)
{
	decoder->running.losses[gap]++;
	if (producer)
		producer->running.losses[gap]++;
}

static int take_of_sequence(struct orma_top_decoder *decoder, struct orma_top_sequence *sequence,
			    const struct orma_packet *packet)
{
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	sequence->interval = decoder->sequences.interval;
	int r = orma_sequence_time_take(&sequence->time, packet);
	if (r == 0)
		r = orma_top_sequence_take_state(&decoder->sequences, sequence, packet);
	if (r < 0 || !orma_sequence_time_accepts(&sequence->time, packet))
		return r < 0 ? r : is_event ? -EBADMSG : 0;
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR)
		orma_top_tracks_describe(&decoder->tracks, packet->content);
	return is_event ? take_event(decoder, sequence, packet) : 0;
}

static void take(struct orma_top_decoder *decoder, const struct orma_packet *packet)
{
	bool is_first = (packet->flags & ORMA_PACKET_IS_FIRST) != 0;
	enum orma_tool_gap gap = is_first ? ORMA_TOOL_GAP_NONE : orma_tool_gap_of(packet->dropped);
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	struct orma_top_producer *producer =
		packet->flags & ORMA_PACKET_HAS_PID
			? orma_top_producers_get(&decoder->producers, packet->pid)
			: NULL;
	struct orma_top_sequence *sequence =
		packet->flags & ORMA_PACKET_HAS_SEQUENCE
			? orma_top_sequences_get(&decoder->sequences, packet->sequence)
			: NULL;
	int r = 0;
	if (gap != ORMA_TOOL_GAP_NONE)
		count_loss(decoder, producer, gap);
	if (sequence && gap != ORMA_TOOL_GAP_NONE)
		lose(decoder, sequence, packet);
	if (packet->kind == ORMA_PB_TRACE_PACKET_FTRACE_EVENTS)
		r = take_bundle(decoder, packet);
	else if (sequence)
		r = take_of_sequence(decoder, sequence, packet);
	decoder->running.undecoded += r < 0 || (is_event && !sequence);
	decoder->running.events += is_event;
	if (!producer)
		return;
	producer->running.packets++;
	producer->running.bytes += packet->bytes.size;
	producer->running.events += is_event;
}

void orma_top_decoder_take(struct orma_top_decoder *decoder, const void *data, size_t size)
{
	struct orma_packet packet;
	decoder->running.packets++;
	decoder->running.bytes += size;
	if (orma_trace_packet_read(data, size, &packet) < 0)
		decoder->running.undecoded++;
	else
		take(decoder, &packet);
}

/* --- intervals -------------------------------------------------------------------------------- */

void orma_top_decoder_end_interval(struct orma_top_decoder *decoder)
{
	decoder->sequences.interval++;
	orma_top_rows_end_interval(&decoder->rows);
	orma_top_traffic_end_interval(&decoder->running, &decoder->last, &decoder->all);
	orma_top_producers_end_interval(&decoder->producers);
}

void orma_top_decoder_zero(struct orma_top_decoder *decoder)
{
	orma_top_rows_zero(&decoder->rows);
	decoder->running = decoder->last = decoder->all = (struct orma_top_traffic){0};
	orma_top_producers_zero(&decoder->producers);
}

int orma_top_decoder_set_by(struct orma_top_decoder *decoder, enum orma_top_by by)
{
	struct orma_top_rows rows;
	int r = orma_top_rows_init(&rows, ORMA_TOP_ROWS_MAX, decoder->seed);
	if (r < 0) {
		orma_top_rows_done(&rows);
		return r;
	}
	orma_top_tracks_release(&decoder->tracks);
	orma_top_rows_done(&decoder->rows);
	decoder->rows = rows;
	decoder->by = by;
	return 0;
}

void orma_top_decoder_forget_session(struct orma_top_decoder *decoder)
{
	orma_top_tracks_release(&decoder->tracks);
	orma_top_sequences_clear(&decoder->sequences);
	memset(decoder->kernel->cpus, 0, sizeof(decoder->kernel->cpus));
}

int orma_top_decoder_init(struct orma_top_decoder *decoder, enum orma_top_by by, uint64_t seed)
{
	*decoder = (struct orma_top_decoder){.by = by, .seed = seed};
	decoder->sequences.by_id.seed = decoder->producers.seed = seed;
	decoder->tracks.by_uuid.seed = decoder->tracks.processes.seed = seed;
	decoder->kernel = orma_base_zalloc(sizeof(*decoder->kernel));
	if (!decoder->kernel)
		return -ENOMEM;
	orma_trace_clocks_init(&decoder->kernel->clocks);
	return orma_top_rows_init(&decoder->rows, ORMA_TOP_ROWS_MAX, seed);
}

void orma_top_decoder_done(struct orma_top_decoder *decoder)
{
	orma_top_sequences_clear(&decoder->sequences);
	orma_top_producers_done(&decoder->producers);
	orma_top_tracks_done(&decoder->tracks);
	orma_top_rows_done(&decoder->rows);
	if (decoder->kernel) {
		orma_bundle_events_done(&decoder->kernel->bundle);
		orma_trace_clocks_done(&decoder->kernel->clocks);
	}
	orma_base_free(decoder->kernel);
}
