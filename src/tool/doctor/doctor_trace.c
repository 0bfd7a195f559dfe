/* SPDX-License-Identifier: Apache-2.0
 * doctor_trace.c - examines a trace: finds losses, their causes, and settings that would have
 * prevented them.
 *
 *   packets --+--> trace_counter.h    losses that the service has counted, data sources
 *             |      buffer_losses.h  what its buffers have lost
 *             +--> decodability.h     gaps per sequence, undecodable events, slices, clocks
 *             +--> ftrace_losses.h    losses in the kernel
 *
 * A loss usually shows twice: as a number in the statistics, and as gaps of the sequences that lost
 * data. Both are reported: the number shows the amount, and the sequence shows the program. Slices
 * whose begin a full ring has overwritten are notes, because a ring is meant to drop its oldest
 * data.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "proto/reader.h"
#include "schema/gen/conversion_report.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/doctor/buffer_losses.h"
#include "tool/doctor/decodability.h"
#include "tool/doctor/doctor.h"
#include "tool/doctor/ftrace_losses.h"
#include "tool/record/trace_counter.h"
#include "trace/conversion_fields.h"

#define LISTED_MAX 10

struct examination {
	struct orma_tool_counter counter;
	struct orma_decodability decodability;
	struct orma_ftrace_losses ftrace;
	struct orma_arena arena;
	struct orma_pb_trace_config *config;          /* NULL = the trace has none */
	struct orma_pb_conversion_report *conversion; /* NULL = the trace was recorded as it is */
	bool is_damaged;
};

static int take_config(struct examination *examination, struct orma_str bytes)
{
	if (examination->config)
		return 0;
	/* The packet's memory is reused, but the config is needed later. */
	void *copy = orma_base_arena_memdup(&examination->arena, bytes.data, bytes.size);
	return copy ? orma_proto_decode(&orma_pb_trace_config_desc, copy, bytes.size,
					&examination->arena, &examination->config)
		    : -ENOMEM;
}

static int take_conversion(struct examination *examination, struct orma_str bytes)
{
	int r = orma_proto_decode_copy(&orma_pb_conversion_report_desc, bytes.data, bytes.size,
				       &examination->arena, &examination->conversion);
	return r == -EBADMSG ? 0 : r;
}

static int take_packet(void *ctx, const void *data, size_t size)
{
	struct examination *examination = ctx;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = orma_decodability_add(&examination->decodability, data, size);

	if (r)
		return r;
	orma_tool_counter_add(&examination->counter, data, size);
	orma_proto_reader_init(&reader, data, size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == ORMA_PB_TRACE_PACKET_FTRACE_EVENTS)
			r = orma_ftrace_losses_add_bundle(&examination->ftrace, field.bytes);
		else if (field.id == ORMA_PB_TRACE_PACKET_FTRACE_STATS)
			r = orma_ftrace_losses_add_stats(&examination->ftrace, field.bytes);
		else if (field.id == ORMA_PB_TRACE_PACKET_TRACE_CONFIG)
			r = take_config(examination, field.bytes);
		else if (field.id == ORMA_PACKET_CONVERSION_REPORT)
			r = take_conversion(examination, field.bytes);
	}
	return r;
}

/* --- statistics of the service ---------------------------------------------------------------- */

static void report_statistics(const struct examination *examination, struct orma_findings *findings)
{
	const struct orma_decodability *times = &examination->decodability;
	const struct orma_tool_summary *summary = &examination->counter.summary;

	if (!summary->has_stats && summary->packets > 0 && !examination->conversion)
		orma_findings_add_note(findings, "no_statistics",
				       "The trace has no statistics of its service, so not every "
				       "loss is known.");
	orma_buffer_losses_report(summary, examination->config,
				  (double)(times->last_ns - times->first_ns) / ORMA_NS_PER_SEC,
				  findings);
	if (summary->invalid_packets)
		orma_findings_add(findings, "invalid_packets",
				  "The service refused %" PRIu64
				  " %s, because a program wrote invalid data.",
				  summary->invalid_packets,
				  orma_base_noun(summary->invalid_packets, "packet", "packets"));
	if (summary->late_flushes) {
		orma_findings_add(
			findings, "late_flushes",
			"%" PRIu64 " %s not answered in time, so the last data of a "
			"program may be missing.",
			summary->late_flushes,
			orma_base_noun(summary->late_flushes, "flush was", "flushes were"));
		orma_findings_advise(findings, "A stopped or overloaded program answers late; a "
					       "longer flush_timeout_ms waits for it.");
	}
}

/* Returns the value of a number of the conversion. */
static int64_t converted(const struct orma_pb_conversion_report *report, const char *name)
{
	for (size_t i = 0; i < report->stats.count; i++)
		if (orma_base_str_is(report->stats.items[i]->name, name))
			return report->stats.items[i]->value;
	return 0;
}

/* Reports the losses of a tracer whose trace was converted. */
static void report_conversion(const struct examination *examination, struct orma_findings *findings)
{
	static const struct {
		const char *name, *before, *one, *many, *behind, *advice;
	} losses[] = {
		{"ctf_events_discarded", "The tracer discarded", "event", "events",
		 ", because its buffers were full",
		 "Larger or more buffers help: --subbuf-size and --num-subbuf of `lttng "
		 "enable-channel`."},
		{"ctf_packets_lost", "The recording lacks", "packet", "packets", " of its streams",
		 NULL},
		{"ctf_packets_damaged", "Damage hides some or all of", "packet", "packets",
		 " of the recording", NULL},
	};
	for (size_t i = 0; examination->conversion && i < ORMA_ARRAY_SIZE(losses); i++) {
		int64_t count = converted(examination->conversion, losses[i].name);
		if (count <= 0)
			continue;
		orma_findings_add(findings, losses[i].name, "%s %" PRId64 " %s%s.",
				  losses[i].before, count,
				  orma_base_noun((uint64_t)count, losses[i].one, losses[i].many),
				  losses[i].behind);
		if (losses[i].advice)
			orma_findings_advise(findings, "%s", losses[i].advice);
	}
}

/* --- sequences -------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
	const struct orma_doctor_sequence *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

/* Returns the sequences in the order of their ids, in the arena; NULL when there is no memory. */
static const struct orma_doctor_sequence **sort_sequences(struct examination *examination)
{
	const struct orma_map *map = &examination->decodability.sequences;
	const struct orma_doctor_sequence **sorted = orma_base_arena_alloc(
		&examination->arena, (map->count + 1) * sizeof(struct orma_doctor_sequence *));
	struct orma_map_slot *slot;
	size_t position = 0, count = 0;

	while (sorted && (slot = orma_base_map_next(map, &position)))
		sorted[count++] = slot->value;
	if (sorted)
		qsort(sorted, count, sizeof(sorted[0]), compare_ids);
	return sorted;
}

/* "Sequence 5 (track_event, process 123)" */
static void name_sequence(const struct orma_doctor_sequence *sequence, char *ret, size_t size)
{
	int at = snprintf(ret, size, "Sequence %" PRIu64 " (%s", sequence->id,
			  sequence->source ? sequence->source : "other data");

	if (at > 0 && (size_t)at < size)
		snprintf(ret + at, size - (size_t)at,
			 sequence->pid ? ", process %" PRIu64 ")" : ")", sequence->pid);
}

static void report_gaps(const struct orma_doctor_sequence *sequence, const char *name,
			struct orma_findings *findings)
{
	static const char *const causes[ORMA_TOOL_GAP_KINDS] = {
		[ORMA_TOOL_GAP_FULL] = "because shared memory was full",
		[ORMA_TOOL_GAP_OVERWRITTEN] = "because newer data overwrote it in the buffer",
		[ORMA_TOOL_GAP_OTHER] = "because chunks are missing or damaged",
	};

	for (size_t kind = ORMA_TOOL_GAP_FULL; kind < ORMA_TOOL_GAP_KINDS; kind++)
		if (sequence->gaps[kind])
			orma_findings_add(findings, "sequence_gaps",
					  "%s lost data at %" PRIu64 " %s, %s.", name,
					  sequence->gaps[kind],
					  orma_base_noun(sequence->gaps[kind], "place", "places"),
					  causes[kind]);
}

static void report_undecodable(const struct orma_doctor_sequence *sequence, const char *name,
			       struct orma_findings *findings)
{
	if (sequence->stateless_packets)
		orma_findings_add(findings, "missing_state",
				  "%s has %" PRIu64 " %s that cannot be decoded, because earlier "
				  "packets are lost.",
				  name, sequence->stateless_packets,
				  orma_base_noun(sequence->stateless_packets, "packet", "packets"));
	if (sequence->nameless_events)
		orma_findings_add(findings, "unknown_names",
				  "%s has %" PRIu64 " %s whose names, categories or arguments are "
				  "not declared (unknown interned ids).",
				  name, sequence->nameless_events,
				  orma_base_noun(sequence->nameless_events, "event", "events"));
	if (sequence->clockless_packets)
		orma_findings_add(
			findings, "unknown_clock",
			"%s has %" PRIu64 " %s in a clock of its own that has no snapshot, "
			"so the times are not known.",
			name, sequence->clockless_packets,
			orma_base_noun(sequence->clockless_packets, "timestamp", "timestamps"));
}

static bool is_bad(const struct orma_doctor_sequence *sequence)
{
	return sequence->gaps[ORMA_TOOL_GAP_FULL] || sequence->gaps[ORMA_TOOL_GAP_OVERWRITTEN] ||
	       sequence->gaps[ORMA_TOOL_GAP_OTHER] || sequence->stateless_packets ||
	       sequence->nameless_events || sequence->clockless_packets;
}

static void report_sequences(struct examination *examination, struct orma_findings *findings)
{
	const struct orma_doctor_sequence **sorted = sort_sequences(examination);
	size_t bad = 0;
	char name[128];

	for (size_t i = 0; sorted && sorted[i]; i++) {
		if (!is_bad(sorted[i]) || bad++ >= LISTED_MAX)
			continue;
		name_sequence(sorted[i], name, sizeof(name));
		report_gaps(sorted[i], name, findings);
		report_undecodable(sorted[i], name, findings);
	}
	if (bad > LISTED_MAX)
		orma_findings_add(findings, "more_sequences",
				  "%zu more %s lost data or cannot be decoded in part.",
				  bad - LISTED_MAX,
				  orma_base_noun(bad - LISTED_MAX, "sequence", "sequences"));
}

static bool has_overwritten(const struct orma_tool_summary *summary)
{
	for (size_t i = 0; i < summary->buffer_count; i++)
		if (summary->buffers[i].overwritten_chunks)
			return true;
	return false;
}

static bool has_discarded(const struct orma_tool_summary *summary)
{
	for (size_t i = 0; i < summary->buffer_count; i++)
		if (summary->buffers[i].discarded_chunks)
			return true;
	return false;
}

static void report_slices(const struct examination *examination, struct orma_findings *findings)
{
	const struct orma_tool_summary *summary = &examination->counter.summary;
	struct orma_map_slot *slot;
	size_t position = 0;
	uint64_t open = 0, lossy = 0, beginless = 0;

	while ((slot = orma_base_map_next(&examination->decodability.tracks, &position))) {
		const struct orma_doctor_track *track = slot->value;
		bool is_lossy = is_bad(track->sequence) || examination->is_damaged;
		lossy += is_lossy ? track->open_slices : 0;
		open += is_lossy ? 0 : track->open_slices;
		beginless += track->ends_without_begin;
	}
	if (lossy)
		orma_findings_add(findings, "unclosed_slices",
				  "%" PRIu64 " %s no end, in sequences that lost data.", lossy,
				  orma_base_noun(lossy, "slice has", "slices have"));
	if (open)
		orma_findings_add_note(findings, "unclosed_slices",
				       "%" PRIu64 " %s still open when the recording ended.", open,
				       orma_base_noun(open, "slice was", "slices were"));
	if (beginless && has_overwritten(summary))
		orma_findings_add_note(findings, "ends_without_begin",
				       "The buffer overwrote the begin of %" PRIu64 " %s.",
				       beginless, orma_base_noun(beginless, "slice", "slices"));
	else if (beginless)
		orma_findings_add(findings, "ends_without_begin", "%" PRIu64 " %s no begin.",
				  beginless, orma_base_noun(beginless, "slice has", "slices have"));
}

/* --- counters and samples --------------------------------------------------------------------- */

/* A reader leaves such values out. */
static void report_values(const struct examination *examination, struct orma_findings *findings)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	uint64_t count = 0;

	while ((slot = orma_base_map_next(&examination->decodability.tracks, &position))) {
		const struct orma_doctor_track *track = slot->value;
		count += track->is_counter ? 0 : track->values;
	}
	if (count == 0)
		return;
	orma_findings_add(findings, "values_without_counter",
			  "%" PRIu64
			  " %s of counters cannot be shown, because no description says that their "
			  "tracks are counters.",
			  count, orma_base_noun(count, "value", "values"));
	orma_findings_advise(findings, "orma_track_counter() makes a track of a counter.");
}

static void report_samples(const struct examination *examination, struct orma_findings *findings)
{
	uint64_t count = examination->decodability.lost_samples;

	if (count == 0)
		return;
	orma_findings_add(findings, "lost_samples",
			  "The kernel dropped %" PRIu64
			  " %s of perf events, which came faster than they were read.",
			  count, orma_base_noun(count, "record", "records"));
	orma_findings_advise(findings, "A lower frequency, a longer period or a larger "
				       "ring_buffer_pages helps.");
}

/* --- clocks, and what is there ---------------------------------------------------------------- */

static const char *clock_name(unsigned id)
{
	static const char *const names[] = {
		"",          "REALTIME",         "REALTIME_COARSE",
		"MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW",
		"BOOTTIME",
	};

	return id < ORMA_ARRAY_SIZE(names) ? names[id] : "another clock";
}

static void report_clocks(const struct examination *examination, struct orma_findings *findings)
{
	const struct orma_decodability *clocks = &examination->decodability;
	uint64_t unknown = clocks->used_clocks & ~clocks->snapshot_clocks & ~(UINT64_C(1) << 6);
	char list[160] = "";
	size_t at = 0;

	for (unsigned id = 1; id < 64; id++) {
		if (unknown >> id & 1)
			orma_findings_add(
				findings, "unknown_clock",
				"Timestamps are in %s (clock %u), of which the trace has no "
				"snapshot, so they cannot be compared with others.",
				clock_name(id), id);
		if ((clocks->snapshot_clocks >> id & 1) && id < 7 && at < sizeof(list))
			at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", at ? ", " : "",
					       clock_name(id));
	}
	if (clocks->clock_snapshots)
		orma_findings_add_note(
			findings, "clocks", "%" PRIu64 " %s of the clocks %s.",
			clocks->clock_snapshots,
			orma_base_noun(clocks->clock_snapshots, "snapshot", "snapshots"),
			at ? list : "of sequences");
}

static bool is_recorded(const struct orma_tool_summary *summary, struct orma_str name)
{
	for (size_t i = 0; i < summary->source_count; i++)
		if (orma_base_str_is(name, summary->sources[i].name))
			return true;
	return false;
}

/* Returns true when the file lacks a part of what was recorded. */
static bool is_partial(const struct examination *examination)
{
	const struct orma_tool_summary *summary = &examination->counter.summary;
	const struct orma_pb_trace_config *config = examination->config;

	return examination->is_damaged || !summary->has_stats || summary->lacks_sequences ||
	       has_overwritten(summary) || has_discarded(summary) ||
	       (config && config->max_file_count > 0);
}

static void report_source(const struct examination *examination, struct orma_str name,
			  struct orma_findings *findings)
{
	const struct orma_tool_summary *summary = &examination->counter.summary;

	if (!orma_tool_is_known_source(name) || is_recorded(summary, name))
		return;
	if (orma_base_str_is(name, "track_event")) {
		orma_findings_add_note(findings, "silent_source",
				       "No program wrote track events that the config enables.");
		orma_findings_advise(findings, "While a program runs, `orma status --long` shows "
					       "whether it is connected, and its categories.");
	} else if (is_partial(examination)) {
		orma_findings_add_note(
			findings, "silent_source",
			"Nothing of the data source \"%.*s\" is in the file, which has "
			"only a part of what was recorded.",
			(int)name.size, name.data);
	} else {
		orma_findings_add(
			findings, "silent_source",
			"The config asks for the data source \"%.*s\", which wrote nothing.",
			(int)name.size, name.data);
		orma_findings_advise(findings, "`orma status` shows who offers it, and `orma "
					       "doctor` why nobody may.");
	}
}

static void report_content(const struct examination *examination, struct orma_findings *findings)
{
	const struct orma_tool_summary *summary = &examination->counter.summary;
	const struct orma_pb_trace_config *config = examination->config;

	if (summary->packets == 0) {
		if (examination->is_damaged)
			return;
		orma_findings_add(findings, "empty",
				  "The trace has no packets: nothing was recorded, or the recorder "
				  "was killed before it wrote.");
		orma_findings_advise(findings, "`orma doctor` examines this machine, and `orma "
					       "doctor --config FILE` a config.");
		return;
	}
	for (size_t i = 0; config && i < config->data_sources.count; i++)
		if (config->data_sources.items[i]->config)
			report_source(examination, config->data_sources.items[i]->config->name,
				      findings);
}

static void report_unreadable(int r, const struct orma_error *error, struct orma_findings *findings)
{
	const char *words = error->message[0] ? error->message : strerror(-r);

	if (r == -EPROTO) {
		orma_findings_add(findings, "not_a_trace", "The file is not a trace: %s.", words);
		return;
	}
	orma_findings_add(findings, r == -EBADMSG ? "damaged" : "unreadable",
			  "The trace can be read only in part: %s.", words);
	if (r == -EBADMSG)
		orma_findings_advise(findings, "`orma cat --repair` copies the packets that are "
					       "whole.");
}

static void report_all(struct examination *examination, struct orma_findings *findings)
{
	report_content(examination, findings);
	report_statistics(examination, findings);
	report_conversion(examination, findings);
	orma_ftrace_losses_report(&examination->ftrace, findings);
	report_sequences(examination, findings);
	report_slices(examination, findings);
	report_values(examination, findings);
	report_samples(examination, findings);
	report_clocks(examination, findings);
}

void orma_doctor_examine_trace(int fd, struct orma_findings *findings)
{
	struct examination examination = {0};
	struct orma_error error = {0};
	int r = orma_tool_trace_read(fd, take_packet, &examination, &error);

	examination.is_damaged = r < 0;
	orma_tool_counter_done(&examination.counter);
	if (r < 0)
		report_unreadable(r, &error, findings);
	if (r != -EPROTO)
		report_all(&examination, findings);
	orma_decodability_done(&examination.decodability);
	orma_ftrace_losses_done(&examination.ftrace);
	orma_base_arena_done(&examination.arena);
}
