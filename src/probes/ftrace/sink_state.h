/* SPDX-License-Identifier: Apache-2.0
 * sink_state.h - the inside of struct orma_ftrace_sink, and how a reader feeds it.
 */
#ifndef ORMA_PROBES_SINK_STATE_H
#define ORMA_PROBES_SINK_STATE_H

#include "base/buf.h"
#include "probes/ftrace/compact_sched.h"
#include "probes/ftrace/event_table.h"
#include "probes/ftrace/ftrace_cpu_reader.h"
#include "probes/ftrace/ftrace_sink.h"
#include "probes/ftrace/met.h"
#include "probes/ftrace/page_parse.h"
#include "probes/ftrace/print_filter.h"

/* The treatment of a record, by the event's id. */
enum orma_sink_action {
	ORMA_SINK_IGNORE,   /* 0, as a set of events needs it */
	ORMA_SINK_ENCODE,   /* by its plan */
	ORMA_SINK_DESCRIBE, /* a generic event that the bundle does not describe yet; then ENCODE */
	ORMA_SINK_LEGACY,
	ORMA_SINK_KPROBE,
	ORMA_SINK_PRINT,  /* if the filter keeps it */
	ORMA_SINK_SWITCH, /* into the columns */
	ORMA_SINK_WAKING,
};

/* KprobeEvent.type of a kprobe. */
struct orma_sink_kprobe {
	uint16_t id;
	uint8_t type;
};

struct orma_sink_bundle {
	bool is_open;
	uint32_t cpu;
	uint64_t end_ns; /* the last event that was written; 0 = none */
	struct orma_ftrace_clock_pair clock;
	struct orma_buf fields;    /* encoded fields of FtraceEventBundle, without the columns */
	struct orma_buf described; /* ids (uint16_t) of the generic events that it describes */
	struct orma_compact_sched sched; /* without memory when the session does not want it */
};

struct orma_ftrace_sink {
	struct orma_ftrace_events *events;
	struct orma_data_source *source;
	uint32_t instance_idx;
	uint32_t cpu_count;
	bool describe_generic, keep_broken_pages, wants_compact_sched;

	struct orma_event_set wanted; /* its actions are enum orma_sink_action */
	struct orma_buf kprobes;      /* struct orma_sink_kprobe */
	struct orma_print_filter print_filter;

	uint64_t *previous_end_ns; /* the end of each CPU's last bundle */
	bool has_dropped;          /* events, for want of memory, since the last bundle began */
	uint32_t parse_errors;     /* bit per FtraceParseStatus */
	const struct orma_kallsyms *kallsyms;
	bool needs_clear; /* the next packet begins a new incremental state */
	struct orma_met met;
	struct orma_sink_bundle bundle;
};

/* A reader calls, for each batch: page() and perhaps error() for each page; end(). */
/* Takes all records of a page. */
void orma_sink_page(struct orma_ftrace_sink *sink, uint32_t cpu,
		    const struct orma_ftrace_clock_pair *clock, struct orma_ftrace_page *page);
/* `page` is the page with the error. */
void orma_sink_error(struct orma_ftrace_sink *sink, int status, uint64_t timestamp_ns,
		     const uint8_t *page, size_t page_bytes);
/* An error that is not about a page. */
void orma_sink_count_error(struct orma_ftrace_sink *sink, int status);
void orma_sink_end(struct orma_ftrace_sink *sink);

/* ---- ftrace_bundle.c ---- */

void orma_bundle_begin(struct orma_ftrace_sink *sink, bool has_lost_events);
/* Writes the packet, if a bundle is open. */
void orma_bundle_end(struct orma_ftrace_sink *sink);
/* A bundle with so many bytes is large. */
#define ORMA_BUNDLE_BYTES (256u << 10)
static inline void orma_bundle_end_if_large(struct orma_ftrace_sink *sink)
{
	if (ORMA_UNLIKELY(sink->bundle.fields.size >= ORMA_BUNDLE_BYTES))
		orma_bundle_end(sink);
}
/* Room for `bytes` behind the fields; NULL without memory. The caller adds to fields.size what it has used. */
uint8_t *orma_bundle_reserve(struct orma_ftrace_sink *sink, size_t bytes);

#endif
