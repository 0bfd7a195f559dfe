/* SPDX-License-Identifier: Apache-2.0
 * ctf_trace.h - one trace of a recording: its metadata with a plan for each class of events.
 */
#ifndef ORMA_FORMATS_CTF_TRACE_H
#define ORMA_FORMATS_CTF_TRACE_H

#include "base/macros.h"
#include "formats/ctf_reader.h"

struct orma_ctf_event {
	const struct orma_ctf_event_class *declared;
	struct orma_ctf_plan plan; /* contexts and fields */
	uint32_t number;           /* among the events of the trace */
	/* The steps from which on there are the event's own context and the fields; an absent context has none. */
	uint32_t context_step, fields_step;
};

struct orma_ctf_stream_plan {
	const struct orma_ctf_stream_class *declared;
	struct orma_ctf_plan packet_context, event_header;
	struct orma_map events_by_id;          /* struct orma_ctf_event by id + 1 */
	struct orma_ctf_event *few_events[64]; /* the same for small numbers */
	struct orma_ctf_clock clock;
};

/* {0} is empty. */
struct orma_ctf_trace {
	struct orma_ctf_metadata metadata;
	struct orma_buf text; /* the metadata's */
	struct orma_ctf_names names;
	struct orma_ctf_plan packet_header;
	struct orma_ctf_stream_plan *streams;
	struct orma_ctf_event *events;
	uint8_t uuid[16];
	bool has_uuid;
};

/* `file` is what the metadata file of this name holds. 0, -ENOMEM, or -EBADMSG with reterr. */
int orma_ctf_trace_open(struct orma_ctf_trace *trace, const char *name, struct orma_str file,
			struct orma_error *reterr);
void orma_ctf_trace_done(struct orma_ctf_trace *trace);
/* NULL: there is none of this id. */
struct orma_ctf_stream_plan *orma_ctf_trace_stream(const struct orma_ctf_trace *trace, uint64_t id);

static inline struct orma_ctf_event *
orma_ctf_stream_event(const struct orma_ctf_stream_plan *stream, uint64_t id)
{
	return id < ORMA_ARRAY_SIZE(stream->few_events)
		       ? stream->few_events[id]
		       : orma_base_map_get(&stream->events_by_id, id + 1);
}

/* Nanoseconds of a clock's reading, without its offset; and the offset. */
uint64_t orma_ctf_clock_ns(const struct orma_ctf_clock *clock, uint64_t cycles);
int64_t orma_ctf_clock_offset_ns(const struct orma_ctf_clock *clock);

#endif
