/* SPDX-License-Identifier: Apache-2.0
 * trace_file.h - reads the packets of a trace file; the summary of a trace.
 */
#ifndef ORMA_TOOL_TRACE_FILE_H
#define ORMA_TOOL_TRACE_FILE_H

#include <orma/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"

/* The largest packet that is read: the nested lengths of a fragmented packet have four bytes. */
#define ORMA_TOOL_PACKET_MAX_BYTES (256u << 20)

/* Gets each packet (serialized TracePacket), including those inside compressed packets. A negative
 * return value ends the walk as an error, a positive one without an error. */
typedef int orma_tool_packet_fn(void *ctx, const void *data, size_t size);

/*
 * Reads a trace from a descriptor (file or pipe) to its end. Fields of Trace other than `packet`
 * are skipped. 0, or the callback's return value. -EBADMSG: the trace is cut or damaged; `reterr`
 * says at which byte. -EPROTO: the file is something else than a trace; `reterr` says what. -EIO and
 * other errors of read().
 */
int orma_tool_trace_read(int fd, orma_tool_packet_fn *fn, void *ctx, struct orma_error *reterr);

/* Bytes of a file that are not whole packets. */
struct orma_tool_damage {
	uint64_t begin, end;
	bool is_cut; /* at the end of the file */
	/* Compressed packets: those before the damage, their bytes, and the bytes behind them that could
	 * be decompressed in vain. */
	uint64_t rescued_packets, rescued_bytes, lost_bytes;
};

/* Learns that bytes of the file were skipped. */
typedef int orma_tool_gap_fn(void *ctx, const struct orma_tool_damage *damage);
/*
 * Does the same with a file that may be damaged: skips to the next packet that can be told from other
 * bytes, calls `gap_fn`, and goes on. Both functions get `ctx` and end the walk alike. -EBADMSG: there
 * is no packet in the file. -EPROTO as above.
 */
int orma_tool_trace_repair(int fd, orma_tool_packet_fn *fn, orma_tool_gap_fn *gap_fn, void *ctx,
			   struct orma_error *reterr);

/* Returns how many of these bytes, which begin with a packet of a trace, are whole packets. */
size_t orma_tool_trace_whole_bytes(const void *data, size_t size);
/* Returns the packet that begins there, and the number of bytes up to the next one; 0 = it is not
 * whole. */
size_t orma_tool_trace_next_packet(const void *data, size_t size, struct orma_str *ret);

struct orma_tool_source_count {
	const char *name; /* static */
	uint64_t packets;
};

#define ORMA_TOOL_SOURCES_MAX    16
#define ORMA_TOOL_SOURCE_OTHER   "other" /* packets that no known source writes */
#define ORMA_TOOL_SOURCE_SERVICE "service"

/* One buffer of the session, as described by the trace. */
struct orma_tool_buffer {
	uint64_t size_bytes, written_bytes, padding_bytes;
	uint64_t used_bytes;      /* at the time of the statistics */
	uint64_t written_packets; /* 0 also when the service does not count them */
	uint64_t written_chunks, overwritten_chunks, discarded_chunks;
	uint64_t lost_packets; /* trace_writer_packet_loss */
	/* The packets that are left lie in this period of CLOCK_BOOTTIME; 0 = not known. */
	uint64_t first_ns, last_ns;
};

#define ORMA_TOOL_BUFFERS_MAX 128

struct orma_tool_summary {
	uint64_t packets;
	struct orma_tool_source_count sources[ORMA_TOOL_SOURCES_MAX];
	size_t source_count;
	struct orma_tool_buffer buffers[ORMA_TOOL_BUFFERS_MAX];
	size_t buffer_count;
	bool is_streamed; /* the config says write_into_file */
	/* The statistics name a sequence of which the trace has no packet. */
	bool lacks_sequences;
	bool has_stats; /* there are trace_stats; without them most losses are not known */
	/* There are events of the service, among them that at the end: the trace is not cut. */
	bool has_service_events, has_end;
	bool is_full; /* the file reached its maximum size; set by who knows that size */
	uint64_t first_ns, last_ns; /* the period of all packets; 0 = not known */
	/* trace_stats: discarded before a session was known; of all sessions, since the service began */
	uint64_t service_discarded;
	uint64_t lost_chunks;  /* trace_stats: discarded before they were read */
	uint64_t lost_packets; /* trace_stats: trace_writer_packet_loss */
	/* Packets flagged previous_packet_dropped, except those where a ring was overwritten. */
	uint64_t gaps;      /* all other causes */
	uint64_t full_gaps; /* shared memory was full */
	uint64_t invalid_packets;
	uint64_t late_flushes; /* trace_stats: flushes that some data source did not answer */
	/* FtraceStats: events of the kernel that are missing, and the reason; "" = none */
	char ftrace_problem[512];
};

/* The meaning of TracePacket.previous_packet_dropped. */
enum orma_tool_gap {
	ORMA_TOOL_GAP_NONE, /* nothing is lost, or this is the first packet of its sequence */
	ORMA_TOOL_GAP_FULL, /* shared memory was full */
	ORMA_TOOL_GAP_OVERWRITTEN,
	ORMA_TOOL_GAP_OTHER,
	ORMA_TOOL_GAP_KINDS,
};
enum orma_tool_gap orma_tool_gap_of(uint64_t previous_packet_dropped);
/* Returns the data source that writes this field of TracePacket, or NULL. */
const char *orma_tool_source_of(uint32_t field_id);
/* Returns true when packets of this data source can be told from those of others. */
bool orma_tool_is_known_source(struct orma_str name);

/* The time that the packets cover; 0 = not known. */
double orma_tool_summary_seconds(const struct orma_tool_summary *summary);
int orma_tool_trace_summarize(int fd, struct orma_tool_summary *ret, struct orma_error *reterr);
/* One kind of loss, with its name for programs and what people read after the count. */
struct orma_tool_loss {
	uint64_t count;
	const char *key, *one, *many;
};

enum { ORMA_TOOL_LOSS_KINDS = 7 };

void orma_tool_summary_get_losses(const struct orma_tool_summary *summary,
				  struct orma_tool_loss ret[ORMA_TOOL_LOSS_KINDS]);
/* Prints "3 chunks overwritten, 1 gap", or nothing. Returns false when there are no losses. */
bool orma_tool_summary_print_losses(const struct orma_tool_summary *summary, FILE *out);
/* Takes the losses, and the sizes of buffers, of another summary of the same session. */
void orma_tool_summary_take_losses(struct orma_tool_summary *summary,
				   const struct orma_tool_summary *stats);
void orma_tool_summary_print(const struct orma_tool_summary *summary, FILE *out);

#endif
