/* SPDX-License-Identifier: Apache-2.0
 * summary.c - summarises a trace in a few lines: packets per data source, losses, and the time that
 * a ring buffer which has wrapped still covers.
 *
 * The time that a trace or a buffer covers is the difference between the first and the last timestamp
 * of its sequences, on the trace's clock (packet_time.h). Behind a gap of a sequence, timestamps that
 * are differences do not count until its next incremental state, because the sum lacks what is lost.
 * Packets of the service do not count, because it writes some of them while the trace is read.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "base/map.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_stats.pb.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "tool/print.h"
#include "tool/record/trace_counter.h"

/* The data source that writes each payload field of TracePacket. */
static const struct payload {
	uint32_t field_id;
	const char *source;
} payloads[] = {
	{ORMA_PB_TRACE_PACKET_PROCESS_TREE, "linux.process_stats"},
	{ORMA_PB_TRACE_PACKET_PROCESS_STATS, "linux.process_stats"},
	{ORMA_PB_TRACE_PACKET_SYS_STATS, "linux.sys_stats"},
	{ORMA_PB_TRACE_PACKET_CPU_INFO, "linux.system_info"},
	{ORMA_PB_TRACE_PACKET_INTERRUPT_INFO, "linux.system_info"},
	{ORMA_PB_TRACE_PACKET_FTRACE_EVENTS, "linux.ftrace"},
	/* Counted like the service's own statistics: they are written even when there are no events. */
	{ORMA_PB_TRACE_PACKET_FTRACE_STATS, ORMA_TOOL_SOURCE_SERVICE},
	{ORMA_PB_TRACE_PACKET_TRACK_EVENT, "track_event"},
	{ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR, "track_event"},
};

const char *orma_tool_source_of(uint32_t field_id)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(payloads); i++)
		if (payloads[i].field_id == field_id)
			return payloads[i].source;
	return NULL;
}

bool orma_tool_is_known_source(struct orma_str name)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(payloads); i++)
		if (orma_base_str_is(name, payloads[i].source))
			return true;
	return false;
}

#define SERVICE_SEQUENCE_ID  1
#define FTRACE_PROBLEM_BYTES sizeof(((struct orma_tool_summary *)0)->ftrace_problem)

static void count_source(struct orma_tool_summary *summary, const char *name, uint64_t packets)
{
	size_t i = 0;

	if (packets == 0)
		return;
	while (i < summary->source_count && strcmp(summary->sources[i].name, name) != 0)
		i++;
	if (i == summary->source_count) {
		if (i == ORMA_TOOL_SOURCES_MAX)
			return;
		summary->sources[summary->source_count++].name = name;
	}
	summary->sources[i].packets += packets;
}

/*
 * Packets without a payload of their own (clock snapshots, interned data) belong to the source that
 * other packets of the sequence name. Until one does, they are counted separately.
 */
struct sequence {
	const char *source;
	uint64_t waiting;
	uint64_t first_ns, last_ns; /* 0 = not known */
	size_t buffer;              /* index + 1; 0 = not known */
	bool has_state;             /* no packet is missing since the last incremental state */
};

static struct orma_tool_buffer describe_buffer(const struct orma_pb_trace_stats_buffer_stats *stats)
{
	uint64_t in = stats->bytes_written + stats->padding_bytes_written;
	uint64_t out = stats->bytes_overwritten + stats->bytes_read + stats->padding_bytes_cleared;

	uint64_t held = in - ORMA_MIN(in, out);

	return (struct orma_tool_buffer){
		.size_bytes = stats->buffer_size,
		.written_bytes = stats->bytes_written,
		.written_packets = stats->packets_written,
		.padding_bytes = stats->padding_bytes_written,
		.used_bytes = ORMA_MIN(held, stats->buffer_size),
		.written_chunks = stats->chunks_written,
		.overwritten_chunks = stats->chunks_overwritten,
		.discarded_chunks = stats->chunks_discarded,
		.lost_packets = stats->trace_writer_packet_loss,
	};
}

static void take_buffers(struct orma_tool_counter *counter, const struct orma_pb_trace_stats *stats)
{
	struct orma_tool_summary *summary = &counter->summary;

	summary->lacks_sequences = false;
	summary->buffer_count = ORMA_MIN(stats->buffer_stats.count, (size_t)ORMA_TOOL_BUFFERS_MAX);
	for (size_t i = 0; i < summary->buffer_count; i++)
		summary->buffers[i] = describe_buffer(stats->buffer_stats.items[i]);
	for (size_t i = 0; i < stats->writer_stats.count; i++) {
		const struct orma_pb_trace_stats_writer_stats *writer =
			stats->writer_stats.items[i];
		struct sequence *sequence =
			orma_base_map_get(&counter->sequences, writer->sequence_id);

		if (sequence)
			sequence->buffer = (size_t)writer->buffer + 1;
		else
			summary->lacks_sequences = true;
	}
}

/* The last trace_stats of a trace counts, because each one is cumulative. */
static int take_stats(struct orma_tool_counter *counter, struct orma_str bytes)
{
	struct orma_tool_summary *summary = &counter->summary;
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	int r = orma_proto_decode(&orma_pb_trace_stats_desc, bytes.data, bytes.size, &arena,
				  &stats);
	if (r == 0) {
		summary->has_stats = true;
		summary->service_discarded = stats->chunks_discarded;
		summary->lost_chunks = 0;
		summary->lost_packets = 0;
		summary->invalid_packets = stats->invalid_packets;
		summary->late_flushes = stats->flushes_failed;
		for (size_t i = 0; i < stats->buffer_stats.count; i++) {
			const struct orma_pb_trace_stats_buffer_stats *buffer =
				stats->buffer_stats.items[i];
			summary->lost_chunks += buffer->chunks_discarded;
			summary->lost_packets += buffer->trace_writer_packet_loss;
		}
		take_buffers(counter, stats);
	}
	orma_base_arena_done(&arena);
	return r;
}

static void add_names(struct orma_buf *text, const char *what, const struct orma_str *names,
		      size_t count)
{
	for (size_t i = 0; i < count && text->size < FTRACE_PROBLEM_BYTES; i++)
		(void)orma_base_buf_printf(text, "%s%s%.*s",
					   i            ? ", "
					   : text->size ? "; "
							: "",
					   i ? "" : what, (int)names[i].size, names[i].data);
}

/* The probes have only this packet to say what they could not do. Each one repeats those before. */
static int take_ftrace_stats(struct orma_tool_summary *summary, struct orma_str bytes)
{
	struct orma_arena arena = {0};
	struct orma_buf text = {0};
	struct orma_pb_ftrace_stats *stats;
	int r = orma_proto_decode(&orma_pb_ftrace_stats_desc, bytes.data, bytes.size, &arena,
				  &stats);
	if (r == 0) {
		add_names(&text, "", &stats->atrace_errors, stats->atrace_errors.size > 0);
		add_names(&text, "", &stats->exclusive_feature_error,
			  stats->exclusive_feature_error.size > 0);
		add_names(&text, "this kernel has no event ", stats->unknown_ftrace_events.items,
			  stats->unknown_ftrace_events.count);
		add_names(&text, "the kernel refused ", stats->failed_ftrace_events.items,
			  stats->failed_ftrace_events.count);
		if (text.size && orma_base_buf_cstr(&text))
			snprintf(summary->ftrace_problem, FTRACE_PROBLEM_BYTES, "%s",
				 orma_base_buf_cstr(&text));
	}
	orma_base_buf_done(&text);
	orma_base_arena_done(&arena);
	return r;
}

static void widen(uint64_t *first_ns, uint64_t *last_ns, uint64_t begin_ns, uint64_t end_ns)
{
	if (*first_ns == 0 || begin_ns < *first_ns)
		*first_ns = begin_ns;
	*last_ns = ORMA_MAX(*last_ns, end_ns);
}

static void take_time(struct sequence *sequence, const struct orma_packet_view *packet,
		      const struct orma_packet_times *times)
{
	bool needs_state =
		times->is_difference ||
		(packet->clock == 0 &&
		 packet->flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE);

	if (packet->dropped)
		sequence->has_state = false;
	if (packet->flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED)
		sequence->has_state = true;
	if (times->first_ns && (sequence->has_state || !needs_state))
		widen(&sequence->first_ns, &sequence->last_ns, times->first_ns, times->last_ns);
}

static int count_in_sequence(struct orma_tool_counter *counter,
			     const struct orma_packet_view *packet,
			     const struct orma_packet_times *times)
{
	struct sequence *sequence = orma_base_map_get(&counter->sequences, packet->sequence);
	const char *source = orma_tool_source_of(packet->kind);

	if (!sequence) {
		sequence = orma_base_zalloc(sizeof(*sequence));
		if (!sequence ||
		    orma_base_map_put(&counter->sequences, packet->sequence, sequence)) {
			orma_base_free(sequence);
			return -ENOMEM;
		}
	}
	if (source)
		sequence->source = source;
	take_time(sequence, packet, times);
	sequence->waiting++;
	if (sequence->source) {
		count_source(&counter->summary, sequence->source, sequence->waiting);
		sequence->waiting = 0;
	}
	return 0;
}

enum orma_tool_gap orma_tool_gap_of(uint64_t reasons)
{
	if (reasons & ORMA_PB_TRACE_PACKET_DATA_LOSS_REASON_DATA_LOSS_SMB_FULL)
		return ORMA_TOOL_GAP_FULL;
	if (reasons & ORMA_PB_TRACE_PACKET_DATA_LOSS_REASON_DATA_LOSS_OVERWRITE)
		return ORMA_TOOL_GAP_OVERWRITTEN;
	return reasons > ORMA_PB_TRACE_PACKET_DATA_LOSS_REASON_DATA_LOSS_PRESENT
		       ? ORMA_TOOL_GAP_OTHER
		       : ORMA_TOOL_GAP_NONE;
}

static void count_gap(struct orma_tool_summary *summary, uint64_t reasons)
{
	enum orma_tool_gap gap = orma_tool_gap_of(reasons);

	summary->full_gaps += gap == ORMA_TOOL_GAP_FULL;
	summary->gaps += gap == ORMA_TOOL_GAP_OTHER;
}

static bool is_set(struct orma_str message, uint32_t field_id)
{
	struct orma_proto_field field;

	return orma_proto_reader_find(message.data, message.size, field_id, &field) == 1 &&
	       field.value != 0;
}

/* Takes a packet that the service wrote itself. */
static void take_own(struct orma_tool_summary *summary, const struct orma_packet_view *packet)
{
	count_source(summary, ORMA_TOOL_SOURCE_SERVICE, 1);
	if (packet->sequence != SERVICE_SEQUENCE_ID)
		return;
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACE_CONFIG)
		summary->is_streamed =
			is_set(packet->content, ORMA_PB_TRACE_CONFIG_WRITE_INTO_FILE);
	if (packet->kind != ORMA_PB_TRACE_PACKET_SERVICE_EVENT)
		return;
	summary->has_service_events = true;
	summary->has_end |= is_set(packet->content, ORMA_PB_TRACING_SERVICE_EVENT_TRACING_DISABLED);
}

static int count_packet(void *ctx, const void *data, size_t size)
{
	struct orma_tool_counter *counter = ctx;
	struct orma_tool_summary *summary = &counter->summary;
	struct orma_packet_times times = {0};
	struct orma_packet_view packet;
	int r = orma_packet_view_read(data, size, &packet);

	if (r == 0)
		r = orma_packet_clocks_take(&counter->clocks, &packet, &times);
	if (r < 0)
		return r;
	if (r == 0)
		times.first_ns = 0;
	summary->packets++;
	if (packet.sequence == SERVICE_SEQUENCE_ID ||
	    (packet.sequence == 0 && packet.kind == ORMA_PB_TRACE_PACKET_REMOTE_CLOCK_SYNC))
		take_own(summary, &packet);
	else if ((r = count_in_sequence(counter, &packet, &times)))
		return r;
	count_gap(summary, packet.dropped);
	if (packet.kind == ORMA_PB_TRACE_PACKET_FTRACE_STATS)
		return take_ftrace_stats(summary, packet.content);
	return packet.kind == ORMA_PB_TRACE_PACKET_TRACE_STATS ? take_stats(counter, packet.content)
							       : 0;
}

static void count_times(struct orma_tool_summary *summary, const struct sequence *sequence)
{
	struct orma_tool_buffer *buffer;

	if (sequence->first_ns == 0)
		return;
	widen(&summary->first_ns, &summary->last_ns, sequence->first_ns, sequence->last_ns);
	if (sequence->buffer == 0 || sequence->buffer > summary->buffer_count)
		return;
	buffer = &summary->buffers[sequence->buffer - 1];
	widen(&buffer->first_ns, &buffer->last_ns, sequence->first_ns, sequence->last_ns);
}

void orma_tool_counter_add(struct orma_tool_counter *counter, const void *packet, size_t size)
{
	/* A packet that cannot be decoded still counts as a packet of the trace. */
	if (orma_tool_unpack(&counter->unpacker, packet, size, count_packet, counter) < 0)
		count_source(&counter->summary, ORMA_TOOL_SOURCE_OTHER, 1);
}

int orma_tool_counter_add_stats(struct orma_tool_counter *counter, const void *stats, size_t size)
{
	return take_stats(counter, (struct orma_str){stats, size});
}

int orma_tool_counter_add_file(struct orma_tool_counter *counter, int fd, struct orma_error *reterr)
{
	return orma_tool_trace_read(fd, count_packet, counter, reterr);
}

void orma_tool_counter_done(struct orma_tool_counter *counter)
{
	size_t position = 0;
	struct orma_map_slot *slot;

	while ((slot = orma_base_map_next(&counter->sequences, &position))) {
		struct sequence *sequence = slot->value;
		count_source(&counter->summary, ORMA_TOOL_SOURCE_OTHER, sequence->waiting);
		count_times(&counter->summary, sequence);
		orma_base_free(sequence);
	}
	orma_base_map_done(&counter->sequences);
	orma_packet_clocks_done(&counter->clocks);
	orma_tool_unpacker_done(&counter->unpacker);
}

void orma_tool_summary_take_losses(struct orma_tool_summary *summary,
				   const struct orma_tool_summary *stats)
{
	summary->has_stats = stats->has_stats;
	summary->service_discarded = stats->service_discarded;
	summary->lost_chunks = stats->lost_chunks;
	summary->lost_packets = stats->lost_packets;
	summary->invalid_packets = stats->invalid_packets;
	summary->late_flushes = stats->late_flushes;
	memcpy(summary->buffers, stats->buffers, sizeof(summary->buffers));
	summary->buffer_count = stats->buffer_count;
}

int orma_tool_trace_summarize(int fd, struct orma_tool_summary *ret, struct orma_error *reterr)
{
	struct orma_tool_counter counter = {0};
	int r = orma_tool_counter_add_file(&counter, fd, reterr);

	orma_tool_counter_done(&counter);
	*ret = counter.summary;
	return r;
}

double orma_tool_summary_seconds(const struct orma_tool_summary *summary)
{
	return (double)(summary->last_ns - summary->first_ns) / 1e9;
}

static uint64_t count_overwritten(const struct orma_tool_summary *summary)
{
	uint64_t chunks = 0;

	for (size_t i = 0; i < summary->buffer_count; i++)
		chunks += summary->buffers[i].overwritten_chunks;
	return chunks;
}

void orma_tool_summary_get_losses(const struct orma_tool_summary *summary,
				  struct orma_tool_loss ret[ORMA_TOOL_LOSS_KINDS])
{
	const struct orma_tool_loss losses[] = {
		{summary->lost_packets, "packets_without_room",
		 "packet that found no room in shared memory",
		 "packets that found no room in shared memory"},
		{count_overwritten(summary), "chunks_overwritten", "chunk overwritten",
		 "chunks overwritten"},
		{summary->lost_chunks + summary->service_discarded, "chunks_discarded",
		 "chunk discarded", "chunks discarded"},
		{summary->full_gaps, "gaps_of_full_memory", "gap where shared memory was full",
		 "gaps where shared memory was full"},
		{summary->gaps, "gaps", "gap", "gaps"},
		{summary->invalid_packets, "invalid_packets", "invalid packet", "invalid packets"},
		{summary->late_flushes, "late_flushes", "flush not answered in time",
		 "flushes not answered in time"},
	};

	_Static_assert(ORMA_ARRAY_SIZE(losses) == ORMA_TOOL_LOSS_KINDS, "each kind has a row");
	memcpy(ret, losses, sizeof(losses));
}

bool orma_tool_summary_print_losses(const struct orma_tool_summary *summary, FILE *out)
{
	struct orma_tool_loss losses[ORMA_TOOL_LOSS_KINDS];
	const char *separator = "";

	if (summary->is_full) {
		orma_tool_print(out, "everything after the first %.1f s, when the file was full",
				orma_tool_summary_seconds(summary));
		separator = ", ";
	}
	orma_tool_summary_get_losses(summary, losses);
	for (size_t i = 0; i < ORMA_TOOL_LOSS_KINDS; i++) {
		if (losses[i].count == 0)
			continue;
		orma_tool_print(out, "%s%" PRIu64 " %s", separator, losses[i].count,
				orma_base_noun(losses[i].count, losses[i].one, losses[i].many));
		separator = ", ";
	}
	return *separator;
}

static void print_coverage(uint64_t ns, FILE *out)
{
	bool is_short = ns < ORMA_NS_PER_SEC;

	orma_tool_print(out, "the trace covers its last %.1f %s. ",
			(double)ns / (is_short ? 1e6 : 1e9), is_short ? "ms" : "s");
}

/* Explains what overwritten chunks of a ring buffer mean, and what to do about them. */
static void print_ring(const struct orma_tool_summary *summary, size_t idx, FILE *out)
{
	const struct orma_tool_buffer *buffer = &summary->buffers[idx];

	if (buffer->overwritten_chunks == 0)
		return;
	orma_tool_print(
		out, "  Buffer %zu (%" PRIu64 " KB) was full and overwrote its oldest data: ", idx,
		buffer->size_bytes / 1024);
	if (summary->is_streamed) {
		fputs("it was filled faster than the file took it. Record with a larger buffer (-b "
		      "SIZE) or a shorter file_write_period_ms to lose nothing.\n",
		      out);
		return;
	}
	if (buffer->first_ns)
		print_coverage(buffer->last_ns - buffer->first_ns, out);
	else
		fputs("the trace has the newest. ", out);
	fputs("A larger buffer (-b SIZE) keeps more, --stream keeps all.\n", out);
}

void orma_tool_summary_print(const struct orma_tool_summary *summary, FILE *out)
{
	const char *none =
		summary->has_stats ? "nothing" : "unknown, as the trace has no statistics";

	for (size_t i = 0; i < summary->source_count; i++)
		orma_tool_print_line(
			out, "  %-22s %8" PRIu64 " %s", summary->sources[i].name,
			summary->sources[i].packets,
			orma_base_noun(summary->sources[i].packets, "packet", "packets"));
	fputs("  lost: ", out);
	bool has_losses = orma_tool_summary_print_losses(summary, out);
	orma_tool_print_line(out, "%s", has_losses ? "" : none);
	for (size_t i = 0; i < summary->buffer_count; i++)
		print_ring(summary, i, out);
}
