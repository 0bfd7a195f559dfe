/* SPDX-License-Identifier: Apache-2.0
 * summary.c - what is in a trace, in a few lines: packets per data source, and losses.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/map.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "tool/trace_counter.h"

/* Which data source writes which payload field of TracePacket. */
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
	{ORMA_PB_TRACE_PACKET_FTRACE_STATS, "linux.ftrace"},
	{ORMA_PB_TRACE_PACKET_TRACK_EVENT, "track_event"},
	{ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR, "track_event"},
};

#define SERVICE_SEQUENCE_ID 1

struct packet_facts {
	uint64_t sequence_id, dropped;
	bool is_clock_sync; /* the service's, but of no sequence */
	const char *source;
	struct orma_str stats;
};

static int get_facts(const void *data, size_t size, struct packet_facts *facts)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int result;
	orma_proto_reader_init(&reader, data, size);
	while ((result = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID)
			facts->sequence_id = field.value;
		else if (field.id == ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED)
			facts->dropped = field.value;
		else if (field.id == ORMA_PB_TRACE_PACKET_TRACE_STATS)
			facts->stats = field.bytes;
		else if (field.id == ORMA_PB_TRACE_PACKET_REMOTE_CLOCK_SYNC)
			facts->is_clock_sync = true;
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(payloads); i++)
			if (payloads[i].field_id == field.id && field.type == ORMA_PROTO_BYTES)
				facts->source = payloads[i].source;
	}
	return result;
}

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

/* The last trace_stats of a trace counts: each one is cumulative. */
static int take_stats(struct orma_tool_summary *summary, struct orma_str bytes)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	int result = orma_proto_decode(&orma_pb_trace_stats_desc, bytes.data, bytes.size, &arena,
				       &stats);
	if (result == 0) {
		summary->has_stats = true;
		summary->lost_chunks = stats->chunks_discarded;
		summary->lost_packets = 0;
		summary->invalid_packets = stats->invalid_packets;
		summary->late_flushes = stats->flushes_failed;
		for (size_t i = 0; i < stats->buffer_stats.count; i++) {
			const struct orma_pb_trace_stats_buffer_stats *buffer =
				stats->buffer_stats.items[i];
			summary->lost_chunks +=
				buffer->chunks_overwritten + buffer->chunks_discarded;
			summary->lost_packets += buffer->trace_writer_packet_loss;
		}
	}
	orma_base_arena_done(&arena);
	return result;
}

/*
 * Packets without a payload of their own (clock snapshots, interned data) belong to the source that
 * their sequence's other packets name; until one does, they wait.
 */
struct sequence {
	const char *source;
	uint64_t waiting;
};

static int count_in_sequence(struct orma_tool_counter *counter, const struct packet_facts *facts)
{
	struct sequence *sequence = orma_base_map_get(&counter->sequences, facts->sequence_id);
	if (!sequence) {
		sequence = orma_base_zalloc(sizeof(*sequence));
		if (!sequence ||
		    orma_base_map_put(&counter->sequences, facts->sequence_id, sequence)) {
			orma_base_free(sequence);
			return -ENOMEM;
		}
	}
	if (facts->source)
		sequence->source = facts->source;
	sequence->waiting++;
	if (sequence->source) {
		count_source(&counter->summary, sequence->source, sequence->waiting);
		sequence->waiting = 0;
	}
	return 0;
}

static int count_packet(void *ctx, const void *data, size_t size)
{
	struct orma_tool_counter *counter = ctx;
	struct orma_tool_summary *summary = &counter->summary;
	struct packet_facts facts = {0};
	int result = get_facts(data, size, &facts);
	if (result)
		return result;
	summary->packets++;
	if (facts.sequence_id == SERVICE_SEQUENCE_ID ||
	    (facts.sequence_id == 0 && facts.is_clock_sync))
		count_source(summary, ORMA_TOOL_SOURCE_SERVICE, 1);
	else if ((result = count_in_sequence(counter, &facts)))
		return result;
	if (facts.dropped & ORMA_PB_TRACE_PACKET_DATA_LOSS_REASON_DATA_LOSS_SMB_FULL)
		summary->full_gaps++;
	else if (facts.dropped > 1)
		summary->gaps++;
	return facts.stats.data ? take_stats(summary, facts.stats) : 0;
}

void orma_tool_counter_add(struct orma_tool_counter *counter, const void *packet, size_t size)
{
	/* A packet that cannot be looked into is one of the trace all the same. */
	if (orma_tool_unpack(&counter->unpacker, packet, size, count_packet, counter) < 0)
		count_source(&counter->summary, ORMA_TOOL_SOURCE_OTHER, 1);
}

int orma_tool_counter_add_stats(struct orma_tool_counter *counter, const void *stats, size_t size)
{
	return take_stats(&counter->summary, (struct orma_str){stats, size});
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
		orma_base_free(sequence);
	}
	orma_base_map_done(&counter->sequences);
	orma_tool_unpacker_done(&counter->unpacker);
}

int orma_tool_trace_summarize(int fd, struct orma_tool_summary *ret, struct orma_error *reterr)
{
	struct orma_tool_counter counter = {0};
	int result = orma_tool_counter_add_file(&counter, fd, reterr);

	orma_tool_counter_done(&counter);
	*ret = counter.summary;
	return result;
}

static void print_loss(FILE *out, uint64_t count, const char *what, const char **separator)
{
	if (count == 0)
		return;
	fprintf(out, "%s%" PRIu64 " %s", *separator, count, what);
	*separator = ", ";
}

void orma_tool_summary_print(const struct orma_tool_summary *summary, FILE *out)
{
	const char *separator = "";
	for (size_t i = 0; i < summary->source_count; i++)
		fprintf(out, "  %-22s %8" PRIu64 " packet%s\n", summary->sources[i].name,
			summary->sources[i].packets, summary->sources[i].packets == 1 ? "" : "s");
	fputs("  lost: ", out);
	print_loss(out, summary->lost_packets, "packets that found no room in shared memory",
		   &separator);
	print_loss(out, summary->lost_chunks, "chunks overwritten or discarded", &separator);
	print_loss(out, summary->full_gaps, "gaps where shared memory was full", &separator);
	print_loss(out, summary->gaps, "gaps", &separator);
	print_loss(out, summary->invalid_packets, "invalid packets", &separator);
	print_loss(out, summary->late_flushes, "flushes not answered in time", &separator);
	if (*separator)
		fputs("\n", out);
	else
		fputs(summary->has_stats ? "nothing\n"
					 : "unknown, as the trace has no statistics\n",
		      out);
}
