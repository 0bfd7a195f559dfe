/* SPDX-License-Identifier: Apache-2.0
 * ctf_trace.c - plans for all that the metadata of a trace declares.
 */
#include "formats/ctf_trace.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/macros.h"

enum { NS_PER_S = 1000000000 };

void orma_ctf_trace_done(struct orma_ctf_trace *trace)
{
	for (uint32_t i = 0; trace->streams && i < trace->metadata.streams.count; i++)
		orma_base_map_done(&trace->streams[i].events_by_id);
	orma_base_map_done(&trace->names.by_hash);
	orma_base_buf_done(&trace->text);
	orma_ctf_metadata_done(&trace->metadata);
	*trace = (struct orma_ctf_trace){0};
}

struct orma_ctf_stream_plan *orma_ctf_trace_stream(const struct orma_ctf_trace *trace, uint64_t id)
{
	for (uint32_t i = 0; i < trace->metadata.streams.count; i++)
		if (trace->metadata.streams.items[i].id == id)
			return &trace->streams[i];
	return NULL;
}

uint64_t orma_ctf_clock_ns(const struct orma_ctf_clock *clock, uint64_t cycles)
{
	if (clock->frequency == NS_PER_S)
		return cycles;
	uint64_t seconds = cycles / clock->frequency, rest = cycles % clock->frequency;
	/* The rest may be too large for 64 bits. */
	double part = (double)rest * NS_PER_S / (double)clock->frequency;
	uint64_t exact =
		rest <= UINT64_MAX / NS_PER_S ? rest * NS_PER_S / clock->frequency : (uint64_t)part;
	return seconds * NS_PER_S + exact;
}

int64_t orma_ctf_clock_offset_ns(const struct orma_ctf_clock *clock)
{
	bool is_negative = clock->offset < 0;
	uint64_t cycles = is_negative ? 0 - (uint64_t)clock->offset : (uint64_t)clock->offset;
	uint64_t ns = orma_ctf_clock_ns(clock, cycles);
	return (int64_t)((uint64_t)clock->offset_s * NS_PER_S + (is_negative ? 0 - ns : ns));
}

/* The clock that a stream's times are of: the one that its fields name, else the only one. */
static struct orma_ctf_clock find_clock(const struct orma_ctf_metadata *metadata,
					const struct orma_ctf_plan *plan)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct orma_ctf_type *type = plan->steps[i].type;
		for (uint32_t k = 0; type && type->clock.size > 0 && k < metadata->clocks.count;
		     k++)
			if (orma_base_str_is_equal(metadata->clocks.items[k].name, type->clock))
				return metadata->clocks.items[k];
	}
	return metadata->clocks.count > 0 ? metadata->clocks.items[0]
					  : (struct orma_ctf_clock){.frequency = NS_PER_S};
}

static int plan_stream(struct orma_ctf_planner *planner, struct orma_ctf_stream_plan *stream)
{
	int r = orma_ctf_plan_add(planner, &stream->packet_context, ORMA_CTF_PACKET_CONTEXT,
				  stream->declared->packet_context);
	if (r == 0)
		r = orma_ctf_plan_add(planner, &stream->event_header, ORMA_CTF_EVENT_HEADER,
				      stream->declared->event_header);
	stream->clock = find_clock(planner->metadata, &stream->event_header);
	return r;
}

static int plan_event(struct orma_ctf_planner *planner, struct orma_ctf_event *event,
		      const struct orma_ctf_stream_plan *stream)
{
	planner->own_slots = 0;
	int r = orma_ctf_plan_add(planner, &event->plan, ORMA_CTF_STREAM_CONTEXT,
				  stream->declared->event_context);
	event->context_step = event->plan.count;
	if (r == 0)
		r = orma_ctf_plan_add(planner, &event->plan, ORMA_CTF_EVENT_CONTEXT,
				      event->declared->context);
	event->fields_step = event->plan.count;
	return r < 0 ? r
		     : orma_ctf_plan_add(planner, &event->plan, ORMA_CTF_EVENT_FIELDS,
					 event->declared->fields);
}

/* All events of a stream, whose scopes the planner knows. */
static int plan_events(struct orma_ctf_trace *trace, struct orma_ctf_planner *planner,
		       struct orma_ctf_stream_plan *stream)
{
	int r = 0;
	for (uint32_t i = 0; i < trace->metadata.events.count && r == 0; i++) {
		const struct orma_ctf_event_class *declared = &trace->metadata.events.items[i];
		struct orma_ctf_event *event = &trace->events[i];
		if (declared->stream_id != stream->declared->id || event->declared ||
		    declared->id == UINT64_MAX)
			continue;
		*event = (struct orma_ctf_event){.declared = declared, .number = i};
		r = plan_event(planner, event, stream);
		if (r == 0)
			r = orma_base_map_put(&stream->events_by_id, declared->id + 1, event);
		if (declared->id < ORMA_ARRAY_SIZE(stream->few_events))
			stream->few_events[declared->id] = event;
	}
	return r;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
	return at ? (int)(at - digits) : -1;
}

static bool read_uuid(struct orma_str text, uint8_t ret[16])
{
	unsigned count = 0;
	for (size_t i = 0; i < text.size; i++) {
		int digit = hex_digit(text.data[i]);
		if (digit < 0)
			continue;
		if (count == 32)
			return false;
		ret[count / 2] = (uint8_t)(ret[count / 2] << 4 | digit);
		count++;
	}
	return count == 32;
}

static int plan_all(struct orma_ctf_trace *trace, struct orma_error *reterr)
{
	struct orma_ctf_metadata *metadata = &trace->metadata;
	struct orma_ctf_planner planner = {.metadata = metadata,
					   .arena = &metadata->arena,
					   .names = &trace->names,
					   .reterr = reterr};
	trace->names.arena = &metadata->arena;
	trace->streams = orma_base_arena_alloc(&metadata->arena, (metadata->streams.count + 1) *
									 sizeof(*trace->streams));
	trace->events = orma_base_arena_alloc(&metadata->arena, (metadata->events.count + 1) *
									sizeof(*trace->events));
	if (!trace->streams || !trace->events)
		return -ENOMEM;
	int r = orma_ctf_plan_add(&planner, &trace->packet_header, ORMA_CTF_PACKET_HEADER,
				  metadata->packet_header);
	for (uint32_t i = 0; i < metadata->streams.count && r == 0; i++) {
		trace->streams[i].declared = &metadata->streams.items[i];
		r = plan_stream(&planner, &trace->streams[i]);
		if (r == 0)
			r = plan_events(trace, &planner, &trace->streams[i]);
	}
	return r;
}

int orma_ctf_trace_open(struct orma_ctf_trace *trace, const char *name, struct orma_str file,
			struct orma_error *reterr)
{
	int r = orma_ctf_metadata_unpack(file, &trace->text, reterr);
	if (r == -EBADMSG)
		orma_base_error_prefix(reterr, "%s", name);
	if (r == 0)
		r = orma_ctf_metadata_parse(
			&trace->metadata, name,
			(struct orma_str){(const char *)trace->text.data, trace->text.size},
			reterr);
	/* Streams need not be declared when the trace has only one. */
	if (r == 0 && trace->metadata.streams.count == 0)
		r = orma_ctf_list_add(&trace->metadata.arena, &trace->metadata.streams.items,
				      &trace->metadata.streams.count,
				      &trace->metadata.streams.capacity,
				      sizeof(*trace->metadata.streams.items))
			    ? 0
			    : -ENOMEM;
	if (r == 0) {
		r = plan_all(trace, reterr);
		if (r == -EBADMSG)
			orma_base_error_prefix(reterr, "%s", name);
	}
	trace->has_uuid = r == 0 && read_uuid(trace->metadata.uuid, trace->uuid);
	return r;
}
